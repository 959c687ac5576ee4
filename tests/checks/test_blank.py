"""Samples of one value throughout equal no other, in whatever fields the others vary."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged


def test_arrays_side_by_side_of_which_none_is_constant() -> None:
    rng = np.random.default_rng()
    x, z = rng.normal(0, 1, (60, 8, 8)), rng.normal(0, 1, (60, 5, 4))
    x[7], z[7] = x[3], z[3]
    assert judged("duplicates", Data({"x": x, "z": z}))["duplicate-samples"].count == 1


def test_what_is_constant_in_all_fields_is_no_copy() -> None:
    rng = np.random.default_rng()
    x, z = rng.normal(0, 1, (60, 8, 8)), rng.normal(0, 1, (60, 5, 4))
    x[40:], z[40:] = 0, 0
    assert judged("duplicates", Data({"x": x, "z": z})) == {}
    z[40:] = z[0]  # one of both varies
    assert judged("duplicates", Data({"x": x, "z": z}))["duplicate-samples"].count == 19


def test_blank_texts_are_no_copies_and_hide_no_contradiction() -> None:
    texts = [f"what sample {i} says of it" for i in range(60)]
    texts[10:20] = ["", " "] * 5
    texts[50] = texts[40]
    labels = ["one", "other"] * 30
    labels[40], labels[50] = "one", "other"
    found = judged("duplicates", Data({"text": texts, "label": labels}, "label", kinds={"text": "text"}))
    assert {code: f.count for code, f in found.items()} == {"duplicate-samples": 1, "label-conflict": 1}
    assert [place["sample"] for place in found["label-conflict"].where] == [40, 50]
