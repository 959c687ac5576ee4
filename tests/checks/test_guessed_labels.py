"""What is found of a label or a group that is only guessed is a warning where the evidence is overwhelming, and says what is guessed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.common.guessed_labels import follows, is_outcome
from dataloader_expert.checks.splits.likely_groups import are_likely
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts
from dataloader_expert.sources.base import Role
from dataloader_expert.sources.roles import OTHER_ID
from tests.checks.looking import CHECKS, Data, blocks_of, context_of
from tests.making.scanning import scan

DRAW = random.Random(5)
N = 400
OUTCOMES = [DRAW.choice(["upheld", "quashed", "remanded"]) for _ in range(N)]
WORDS = ["lorry", "gate", "clerk", "barrel", "permit", "ferry", "tariff", "meadow", "ledger", "anchor"]
TEXTS = [" ".join(DRAW.choices(WORDS, k=12)) for _ in range(N)]


def guessed(columns: dict[str, Any], label: str) -> Data:
    kinds = {"text": "text"} if "text" in columns else {}
    return Data(columns, label, kinds=kinds, context={"placed": True, "guessed": True})


def told(name: str, data: Data, code: str) -> Finding:
    """The first finding of a check with this code, as a guess of the label lets it stand."""
    check = CHECKS[name](context_of(data).with_features() if CHECKS[name].of_features else context_of(data))
    for block in blocks_of(data):
        check.see(check.view(block))
    return next(f for f in check.told(Facts(tuple(check.facts()))) if f.code == code)


@pytest.mark.parametrize(
    ("label", "severity"),
    [("ruling", "warning"), ("newspaper_source", "info")],
)
def test_the_last_word_of_a_text_that_tells_a_guessed_label(label: str, severity: str) -> None:
    """Seen: texts that end with the ruling were a note, as the ruling was only guessed to be the label. Where a text is from, it may say."""
    data = guessed({"text": [f"{t} hereby {o}" for t, o in zip(TEXTS, OUTCOMES, strict=True)], label: OUTCOMES}, label)
    found = told("giveaway", data, "label-leaked-by-field")
    assert found.severity == severity
    assert found.message.endswith(f"; {label} is only guessed to be the label")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            guessed({"x": np.arange(400), "remark": ["yes", "no", "No", "later"] * 100}, "remark"),
            "remark has one value",
        ),
        (Data({"x": np.arange(400), "answer": ["yes", "no", "No", "later"] * 100}, "answer"), "one label"),
    ],
    ids=["guessed", "named"],
)
def test_spellings_in_a_guessed_label_are_those_of_a_field(data: Data, said: str) -> None:
    """Seen: "one label in several spellings" of the remarks in the last column of a survey."""
    assert told("classes", data, "label-twins").message == f"{said} in several spellings: 'No', 'no'"


@pytest.mark.parametrize(
    ("field", "label", "named"),
    [
        ("deferral_reason", "deferral", True),
        ("hours_to_fault", "fault_24h", True),
        ("rejected_date", "rejection", True),
        ("garage_area", "has_garage", False),
        ("district", "region", False),
        ("city_id", "city", False),
        ("site_note", "site", False),
    ],
)
def test_fields_called_after_what_is_known_later(field: str, label: str, named: bool) -> None:
    """Our promise: a field that is named as what follows from a label leaks it, whether that is the label or not; an attribute does not."""
    assert follows(field, label) == named


def test_a_number_of_an_inquiry_that_one_class_has(tmp_path: Path) -> None:
    """Seen: numbers of cases that only rows of one class have were set aside as keys, and nobody said that they tell the label."""
    rows = [f"{i},{DRAW.random():.3f},{f'INQ-{i:05d}' if i % 9 == 0 else ''},{int(i % 9 == 0)}" for i in range(N)]
    (tmp_path / "t.csv").write_text("amount_no,size,inquiry_no,fraud\n" + "\n".join(rows) + "\n")
    found = [f for f in scan(tmp_path, tmp_path).findings if f.code == "label-leaked-by-field"]
    assert [(f.severity, "inquiry_no" in f.message) for f in found] == [("warning", True)]


@pytest.mark.parametrize(
    ("classes", "late", "severity"),
    [(4, 15, "warning"), (4, 4, "info"), (2, 15, "info")],
    ids=["one of four", "too few to tell", "one of two"],
)
def test_a_class_that_training_lacks(classes: int, late: int, severity: str) -> None:
    """Seen: a class that only the test split has was a note. Few samples are so by chance; of two values, one split may be of one."""
    split = ["train"] * 280 + ["test"] * 120
    values = [DRAW.randrange(classes - 1) if i < N - late else classes - 1 for i in range(N)]
    data = Data({"x": [*range(N)], "kind": values}, "kind", split, context={"placed": True, "guessed": True})
    assert told("classes", data, "class-missing-in-split").severity == severity


def test_class_numbers_that_begin_at_one_in_one_file_are_told_once(tmp_path: Path) -> None:
    """Seen: one cause made four notes: moved numbers, a class missing in either split, and a drift of classes."""
    for name, base in (("X_TRAIN.tsv", 1), ("X_TEST.tsv", 0)):
        rows = [[str(i % 3 + base), *(f"{DRAW.gauss(0, 1):.4f}" for _ in range(12))] for i in range(150)]
        (tmp_path / name).write_text("\n".join("\t".join(row) for row in rows) + "\n")
    found = [(f.code, f.severity) for f in scan(tmp_path, tmp_path).findings if "class" in f.message]
    assert found == [("label-out-of-range", "warning")]


@pytest.mark.parametrize(
    ("field", "groups", "samples", "other", "likely"),
    [
        ("policy_id", 300, 900, "x", True),
        ("policy_id", 8, 900, "x", False),
        ("policy_id", 300, 90_000, "x", False),
        ("product_id", 300, 900, "x", False),
        ("policy_id", 300, 900, "agent_id", False),
    ],
    ids=["many small ones", "a few", "large ones", "goods", "one of two ids"],
)
def test_ids_of_many_small_groups(field: str, groups: int, samples: int, other: str, likely: bool) -> None:
    """Seen: policies dealt out row by row were a note, as only their name tells them. A shop or a product is rather an input."""
    context = context_of(Data({field: [1, 2, 3], other: [0, 0, 1]}))
    context.roles = type(context.roles)(group=Role(field, OTHER_ID, False))
    assert are_likely(context, groups, samples, 50) == likely


def test_where_samples_are_from_is_no_outcome() -> None:
    """Our promise: a guess that names sites or cameras stays a guess."""
    assert is_outcome("verdict") and not is_outcome("camera_id") and not is_outcome(None)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([f"doc-{i}" for i in range(40)], False),
        (list(range(40)), False),
        (["a", "b"] * 20, True),
        (list(range(5)) * 8, True),
    ],
)
def test_a_key_at_the_end_of_a_sample_is_no_class(values: list[Any], classes: bool) -> None:
    """Seen: the names of documents, which came last in a sample, were 500 classes of one sample each."""
    check = CHECKS["classes"](
        context_of(Data({"x": np.zeros((40, 3)), "doc": values}, "doc", context={"guessed": True}))
    )
    for block in blocks_of(Data({"x": np.zeros((40, 3)), "doc": values}, "doc")):
        check.see(check.view(block))
    assert bool(tuple(check.facts())) is classes
    assert [u.why for u in check.unknowns()] == (
        [] if classes else ["doc is not a class label: most samples have a value of their own"]
    )


@pytest.mark.parametrize(("lacking", "severity"), [(26, "info"), (60, "warning")])
def test_more_rare_classes_may_be_absent_than_chance_leaves_out(lacking: int, severity: str) -> None:
    """Seen: validation data without 60 of 100 classes was a note, since each of them might be absent by chance; about 26 would be."""
    classes = [i // 7 for i in range(700)]
    free = [i for i in range(700) if classes[i] >= lacking]
    val = set(sorted(free, key=lambda i: (i % 7, i))[:120])
    split = ["val" if i in val else "train" for i in range(700)]
    found = told(
        "classes",
        Data({"x": [*range(700)], "kind": [f"c{k}" for k in classes]}, "kind", split),
        "class-missing-in-split",
    )
    assert (found.severity, found.count) == (severity, lacking)
    assert ("a random split of this size often misses a class of at most 7 samples" in found.message) == (
        severity == "info"
    )
