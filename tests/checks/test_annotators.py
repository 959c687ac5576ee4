"""One of several annotators whose labels of shared samples tell nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.labels.annotators import ItemsKept, is_rater
from dataloader_expert.sources.base import Block, Column, Field, Unit
from tests.checks.looking import Data, judged

Labelling = Callable[[int, int, Any], int]
"""What an annotator says of an item of this class: annotator, class, generator."""


def labelled(
    says: Labelling,
    by: str = "annotator",
    items: int = 300,
    of: int = 8,
    each: int = 3,
    share: float = 0.3,
    numbered: bool = False,
    more: Callable[[int, int], dict[str, Any]] = lambda item, who: {},
) -> Data:
    """Items that some of several annotators label, a row for each label; ``more``: further columns by item and annotator."""
    rng = np.random.default_rng(5)
    rows: list[dict[str, Any]] = []
    for item in range(items):
        truth = int(rng.random() < share)
        for who in rng.permutation(of)[:each].tolist():
            what = {"item_id": 1000 + item} if numbered else {"text": f"what was said in the comment of number {item}"}
            rows.append(what | {by: f"a{who}"} | more(item, who) | {"label": says(who, truth, rng)})
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["label"] = np.array(columns["label"])
    if numbered:
        columns["item_id"] = np.array(columns["item_id"])
    return Data(columns, "label", kinds={} if numbered else {"text": "text"})


def careful(who: int, truth: int, rng: Any, wrong: float = 0.08) -> int:
    return truth ^ int(rng.random() < wrong)


def reversed_by(*odd: int) -> Labelling:
    return lambda who, truth, rng: careful(who, truth, rng) ^ int(who in odd)


def constant(who: int, truth: int, rng: Any) -> int:
    return 0 if who == 3 else careful(who, truth, rng)


def guessed(who: int, truth: int, rng: Any) -> int:
    return int(rng.random() < 0.3) if who == 3 else careful(who, truth, rng)


def careless(who: int, truth: int, rng: Any) -> int:
    return careful(who, truth, rng, 0.2 if who == 3 else 0.08)


def lost(who: int, truth: int, rng: Any) -> int:
    return int(rng.random() < 0.5)


def of_levels(who: int, truth: int, rng: Any) -> int:
    """From nearly careful to nearly guessed."""
    return careful(who, truth, rng, 0.06 * who)


def adjudicated() -> Data:
    """Items that two of five label, and an expert those on which they disagree."""
    rng = np.random.default_rng(6)
    rows = []
    for item in range(900):
        truth = int(rng.random() < 0.4)
        said = [(f"a{who}", careful(who, truth, rng, 0.12)) for who in rng.permutation(5)[:2].tolist()]
        rows += [(item, *one) for one in said]
        if said[0][1] != said[1][1]:
            rows.append((item, "expert", truth))
    columns = {"text": [f"text of number {i}, to be labelled" for i, _, _ in rows], "annotator": [r[1] for r in rows]}
    return Data(columns | {"label": np.array([r[2] for r in rows])}, "label", kinds={"text": "text"})


def reviewed() -> Data:
    """The same, but the expert sees what both called positive, and refuses half of it."""
    rng = np.random.default_rng(6)
    rows = []
    for item in range(600):
        truth = int(rng.random() < 0.4)
        said = [(f"a{who}", careful(who, truth, rng, 0.05)) for who in rng.permutation(5)[:2].tolist()]
        rows += [(item, *one) for one in said]
        if all(label for _, label in said):
            rows.append((item, "expert", int(rng.random() < 0.5)))
    columns = {"text": [f"text of number {i}, to be labelled" for i, _, _ in rows], "annotator": [r[1] for r in rows]}
    return Data(columns | {"label": np.array([r[2] for r in rows])}, "label", kinds={"text": "text"})


SILENT = {
    "careful ones": labelled(careful),
    "one a little less careful": labelled(careless),
    "none who agrees with another": labelled(lost),
    "from careful ones to careless ones": labelled(of_levels),
    "one who says the usual class of a rare one": labelled(constant, share=0.01),
    "few shared samples": labelled(reversed_by(3), items=50),
    "two, of whom either may be wrong": labelled(reversed_by(1), of=2, each=2),
    "samples of their own": labelled(reversed_by(3), each=1),
    "an expert for what is disputed": adjudicated(),
    "an expert for what is called positive": reviewed(),
    "models, one of which cannot do it": labelled(guessed, by="model"),
    "emotions, one of which is the absence of others": labelled(reversed_by(3), by="emotion", each=8),
    "another question to one of them": labelled(
        reversed_by(3), more=lambda item, who: {"question": "is it safe?" if who == 3 else "is it toxic?"}
    ),
    "workers by day, one of whom works when the others rest": Data(
        {"day": np.repeat(np.arange(200), 6), "worker": [f"w{i % 6}" for i in range(1200)]}
        | {"label": np.array([int((i // 6) % 7 < 5) ^ int(i % 6 == 3) for i in range(1200)])},
        "label",
    ),
    "two who read the labels another way together": labelled(reversed_by(3, 5), items=600),
    "labels that are all of one class": labelled(lambda who, truth, rng: 1),
}
SPEAKS = {
    "one who reverses": (labelled(reversed_by(3)), "label-odd-one-out", "warning"),
    "one who says the same of all": (labelled(constant, items=600), "label-odd-one-out", "warning"),
    "one who guesses": (labelled(guessed, items=600), "label-odd-one-out", "warning"),
    "one who reverses, by numbers of items": (
        labelled(reversed_by(3), by="rater_id", numbered=True),
        "label-odd-one-out",
        "warning",
    ),
    "one who reverses, of two to each sample": (
        labelled(reversed_by(3), by="labeled_by", each=2, items=600),
        "label-odd-one-out",
        "warning",
    ),
}


@pytest.mark.parametrize(
    ("says", "how"),
    [
        pytest.param(reversed_by(3), "swapped", id="reversed"),
        pytest.param(constant, "always the same", id="constant"),
        pytest.param(guessed, "no better than chance", id="guessed"),
    ],
)
def test_it_is_told_who_and_how(says: Labelling, how: str) -> None:
    """Our promise: the annotator, how many samples, and what its labels are like."""
    found = judged("annotators", labelled(says, items=900))["label-odd-one-out"]
    assert "annotator a3" in found.message
    assert how in found.message
    assert found.where


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("annotator", True),
        ("RaterID", True),
        ("worker_id", True),
        ("labelled_by", True),
        ("created_by", False),
        ("annotator_age", False),
        ("rater_confidence", False),
        ("read", False),
        ("model", False),
    ],
)
def test_a_name_says_who_labelled(name: str, expected: bool) -> None:
    """Our promise: only annotators are expected to agree."""
    assert is_rater(Field(name, "category", "str", ())) is expected


@pytest.mark.parametrize("backwards", [False, True], ids=["in order", "backwards"])
@pytest.mark.parametrize("size", [40, 300, 3000])
def test_items_are_kept_whole_and_the_same_however_rows_come(size: int, backwards: bool) -> None:
    """Our promise: what is found of many rows does not depend on how they are dealt out."""
    items = np.random.default_rng(1).integers(0, 2**63, 900).astype(np.uint64)[np.arange(3000) % 900]
    kept = ItemsKept(200)
    for at in range(0, 3000, size)[:: -1 if backwards else 1]:
        n = min(size, 3000 - at)
        block = Block(Unit(at, "part", at, n, 0, None), {"x": Column(np.arange(n))})
        part = ItemsKept(200)
        part.add(block, items[at : at + n], np.arange(n), {})
        kept.merge(part)
    found = kept.all()
    assert found is not None
    ordered = np.sort(items)
    assert found["item"].tolist() == ordered[ordered < ordered[200]].tolist()
