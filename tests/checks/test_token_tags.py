"""Tags of tokens that words contradict in one part, tags of another scheme in one split, and sentences that run together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N, TRAIN = 400, 280
SPLITS = ["train"] * TRAIN + ["dev"] * (N - TRAIN)
FIRST, LAST = ["Ann", "Bo", "Cem", "Dana", "Emil"], ["Kern", "Lund", "Mori", "Nagy", "Ortiz"]
PLACES, FIRMS = ["Bern", "Lagos", "Ohio", "New Delhi", "Cape Town"], ["Acme", "Nokia", "Red Cross", "World Bank"]
FORMS = ["{P} joined {O} in {L} .", "{O} left {L} on Monday .", "{P} met {P} near {L} .", "Rain fell again on Monday ."]
Sentence = list[tuple[str, str]]


def sentences(forms: list[str] = FORMS, seed: int = 31) -> list[Sentence]:
    """Sentences of a few forms, with persons, firms and places, tagged in IOB2."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(N):
        one: Sentence = []
        for word in str(rng.choice(forms)).split():
            name = {
                "{P}": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
                "{L}": str(rng.choice(PLACES)),
                "{O}": str(rng.choice(FIRMS)),
            }.get(word)
            kind = {"{P}": "PER", "{L}": "LOC", "{O}": "ORG"}.get(word, "")
            words = (name or word).split()
            one += [(w, f"{'I' if k else 'B'}-{kind}" if kind else "O") for k, w in enumerate(words)]
        made.append(one)
    return made


def tagged(change: Callable[[int, Sentence], Sentence] = lambda i, s: s, ids: bool = False, **more: Any) -> Data:
    """Sentences as lists of tokens and of tags, or of the numbers of these, each changed."""
    made = [change(i, one) for i, one in enumerate(more.pop("of", None) or sentences())]
    tags: list[Any] = [[tag for _, tag in one] for one in made]
    if ids:
        names = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
        tags = [np.array([names.index(tag) for tag in one]) for one in tags]
    columns = {"tokens": [[word for word, _ in one] for one in made], "tags": tags}
    kinds = {"tokens": "other", "tags": "tokens" if ids else "other"}
    return Data(columns, splits=more.pop("splits", SPLITS), kinds=kinds, **more)


def swapped(i: int, one: Sentence) -> Sentence:
    swap = {"PER": "ORG", "ORG": "PER"}
    return [(w, t[:2] + swap.get(t[2:], t[2:])) for w, t in one] if i >= TRAIN else one


def without(i: int, one: Sentence) -> Sentence:
    return [(w, "O" if t.endswith("LOC") else t) for w, t in one] if i >= TRAIN else one


def blank(i: int, one: Sentence) -> Sentence:
    return [(w, "O") for w, _ in one] if 60 <= i < 110 else one


def shifted(i: int, one: Sentence) -> Sentence:
    tags = ["O", *(t for _, t in one)]
    return [(w, t) for (w, _), t in zip(one, tags, strict=False)] if i % 12 == 5 else one


def iob1(i: int, one: Sentence) -> Sentence:
    return [(w, t.replace("B-", "I-")) for w, t in one] if i >= TRAIN else one


def of_others(i: int, one: Sentence) -> Sentence:
    """A split about other people, places and firms."""
    return [(w if t == "O" else w[::-1].capitalize(), t) for w, t in one] if i >= TRAIN else one


def loosely(i: int, one: Sentence) -> Sentence:
    """Tags that are missing now and then, everywhere."""
    return [(w, "O" if (i * 7 + k) % 5 == 0 else t) for k, (w, t) in enumerate(one)]


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "two types swapped in a split": (tagged(swapped), "label-odd-one-out", "swapped in dev: "),
    "numbers of tags swapped in a split": (tagged(swapped, ids=True), "label-odd-one-out", "swapped in dev: "),
    "a type that a split lacks": (tagged(without), "class-missing-in-split", "LOC is not tagged in dev"),
    "a stretch without tags": (tagged(blank), "label-odd-one-out", "no entity is tagged in samples 60 to about 109"),
    "a stretch without tags, no splits": (tagged(blank, splits=""), "label-odd-one-out", "samples 60 to about 109"),
    "a type that a stretch lacks": (
        tagged(lambda i, one: without(TRAIN, one) if 60 <= i < 130 else one),
        "label-odd-one-out",
        "LOC is not tagged in samples 6",
    ),
    "two types swapped in a fifth": (
        tagged(lambda i, one: swapped(TRAIN, one) if 60 <= i < 140 else one, splits=""),
        "label-odd-one-out",
        "swapped in samples 60 to about 13",
    ),
    "tags one token late in some": (tagged(shifted), "shifted-labels", "tags of the tokens before them"),
}
SILENT: dict[str, Data] = {
    "tags of their own": tagged(),
    "numbers of tags": tagged(ids=True),
    "other names in a split": tagged(of_others),
    "a split that names no places": tagged(of=[*sentences()[:TRAIN], *sentences([FORMS[0][:-8], FORMS[3]])[TRAIN:]]),
    "tags missing now and then": tagged(loosely),
    "lists that are no tags": Data(
        {"tokens": [["a", "b"]] * N, "others": [[f"x{i}", f"y{i}"] for i in range(N)]}, kinds={"others": "other"}
    ),
}


@pytest.mark.parametrize("name", SPEAKS)
def test_tags_that_words_contradict_in_a_part_are_told(name: str) -> None:
    """Our promise: names that are tagged everywhere else tell what a part lacks, swaps or shifts."""
    data, code, told = SPEAKS[name]
    found = judged_alone("token_tags", data)[code]
    assert found.severity == "warning" and told in found.message


@pytest.mark.parametrize("name", SILENT)
def test_parts_with_other_words_are_not(name: str) -> None:
    assert judged_alone("token_tags", SILENT[name]) == {}


def test_another_scheme_in_one_split_is_told_however_large_it_is() -> None:
    """Seen: IOB1 in all of a development set went unmentioned, as more than one sample in twenty had it."""
    found = judged_alone("tag_schemes", tagged(iob1))["tag-order"]
    assert "in dev, and 0 of" in found.message


def test_one_scheme_everywhere_is_how_the_set_is() -> None:
    assert judged_alone("tag_schemes", tagged(lambda i, one: iob1(N, one))) == {}


def test_another_scheme_in_a_stretch_is_told() -> None:
    found = judged_alone("tag_schemes", tagged(lambda i, one: iob1(N, one) if 90 <= i < 180 else one, splits=""))
    assert "samples 90 to about" in found["tag-order"].message


def joined(rows: range, splits: Any = SPLITS) -> Data:
    made, lost = sentences(), set(rows)
    kept: list[Sentence] = []
    for i, one in enumerate(made):
        kept = [*kept[:-1], kept[-1] + one] if i in lost and i % 4 else [*kept, one]
    kept += made[: N - len(kept)]
    return tagged(of=kept, splits=splits)


JOINED: dict[str, tuple[Data, str, str]] = {
    "blank lines lost in a split": (joined(range(200)), "suspicious-text", "in train")
}
APART: dict[str, Data] = {"one sentence a sample": joined(range(0)), "some that hold two": joined(range(0, N, 9), "")}


def test_sentences_that_run_together_in_a_split_are_told() -> None:
    """Our promise: blank lines that were lost in one file make long samples of several sentences, which are told."""
    data, code, told = JOINED["blank lines lost in a split"]
    assert told in judged_alone("joined_sentences", data)[code].message


@pytest.mark.parametrize("name", APART)
def test_sentences_by_themselves_are_not(name: str) -> None:
    assert judged_alone("joined_sentences", APART[name]) == {}
