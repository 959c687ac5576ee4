"""Names of the classes of objects: one class in several spellings."""

from __future__ import annotations

import numpy as np
import pytest

from dataloader_expert.checks.common.alike import meant_by, spellings
from dataloader_expert.conclusions import Finding
from dataloader_expert.sources.base import Objects
from tests.checks.looking import Data, judged


def told(counts: dict[str, int]) -> dict[str, Finding]:
    """Images of one object each."""
    names = dict(enumerate(counts))
    classes = [k for k, n in enumerate(counts.values()) for _ in range(n)]
    boxes = [np.array([[5.0, 5, 20, 20]])] * len(classes)
    columns = {"boxes": boxes, "classes": [np.array([k], np.int64) for k in classes]}
    return judged("objects", Data(columns, context={"objects": Objects("classes", names)}))


SOUND: dict[str, dict[str, int]] = {
    "other words": {"horse": 300, "house": 8, "mouse": 8},
    "codes": {"type12": 300, "type21": 4},
    "letters that are read": {"a": 60, "A": 8, "b": 50, "B": 9},
    "too short": {"cat": 300, "act": 2},
    "two classes of one kind": {"trial": 60, "trail": 40},
}


@pytest.mark.parametrize("counts", SOUND.values(), ids=SOUND)
def test_classes_of_their_own_stay_so(counts: dict[str, int]) -> None:
    assert "label-twins" not in told(counts)


@pytest.mark.parametrize(
    ("right", "wrong"), [("dog", "Dog"), ("horse", "hosre"), ("traffic light", "trafic light"), ("dog", "dog.")]
)
def test_a_class_spelt_otherwise_is_told(right: str, wrong: str) -> None:
    found = told({right: 220, "sheep": 50, wrong: 4})
    twins = found["label-twins"]
    assert (twins.severity, twins.count) == ("warning", 4)
    assert [place["sample"] for place in twins.where] == [270, 271, 272, 273]
    assert "severe-imbalance" not in found, "the rarer spelling is no class"


def test_a_split_lacks_no_class_that_is_only_a_spelling() -> None:
    names = {0: "dog", 1: "cat", 2: "Dog"}
    classes = [0, 1] * 40 + [2] * 6 + [0, 1] * 20
    columns = {"boxes": [np.array([[5.0, 5, 20, 20]])] * 126, "classes": [np.array([k], np.int64) for k in classes]}
    data = Data(columns, splits=["train"] * 86 + ["val"] * 40, context={"objects": Objects("classes", names)})
    assert set(judged("objects", data)) == {"label-twins"}


def test_slips_and_other_spellings_of_one_name_are_one_class() -> None:
    counts = {"horse": 1000, "Horse": 1500, "hosre": 5, "hores": 3, "owl": 90}
    assert meant_by(counts) == dict.fromkeys(("horse", "Horse", "hosre", "hores"), "Horse") | {"owl": "owl"}
    assert spellings(counts) == {"Horse": ["Horse", "horse", "hosre", "hores"]}
