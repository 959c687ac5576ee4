"""Where the checks of what gives the label away say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataloader_expert.sources.base import Role, Roles
from tests.checks import (
    test_bands,
    test_choice_tells,
    test_extents,
    test_marks,
    test_recordings,
    test_rolling,
    test_set_phrases,
)
from tests.checks.judgements.common import CLASS, NOISE
from tests.checks.looking import Data, first_rows, one_a_code


def missing_by_class(usual: float, rare: float, n: int = 1200) -> Data:
    """A measurement that is missing in such shares of two classes, of which one has a seventh of the samples."""
    drawn = np.random.default_rng(36)
    y = (np.arange(n) % 7 == 0).astype(int)
    gone = drawn.random(n) < np.where(y == 1, rare, usual)
    return Data({"x": np.where(gone, np.nan, drawn.normal(0, 1, n)), "z": drawn.normal(0, 1, n), "label": y}, "label")


def coded(code: Callable[[bool, int], str]) -> Data:
    """Events, of which one in twelve has the other label, with a code made of whether it has it and of a number."""
    drawn = np.random.default_rng(33).integers(0, 10_000, 900).tolist()
    rare = [i % 12 == 0 for i in range(900)]
    codes = [code(r, k) for r, k in zip(rare, drawn, strict=True)]
    return Data({"code": codes, "label": np.array(rare).astype(int)}, "label", kinds={"code": "category"})


def ending_in(end: str, which: Callable[[int, int], Any]) -> Data:
    """Texts of two classes, some of which end so: told by the number of a row and its class."""
    words = ["the", "view", "from", "our", "room", "was", "not", "what", "we", "had", "seen", "before", "it", "rained"]
    order = np.random.default_rng(14)
    said = [" ".join(order.permutation(words)) + (end if which(i, c) else "") for i, c in enumerate(CLASS.tolist())]
    return Data({"text": said, "label": CLASS}, "label", kinds={"text": "text"})


SAID = [
    *("we went to the lake today", "nobody had seen it before", "it rained all of the morning", "they sang until late"),
    *("the road was long and dry", "she asked for more of it", "all of this was in vain"),
]


def told_by(
    text: Callable[[int, int], str],
    ids: Callable[[int, int], str] | None = None,
    names: tuple[str, str] = ("cat", "dog"),
) -> Data:
    """Four hundred texts, made of the class and the row, and identifiers if they are asked for."""
    made: dict[str, Any] = {"text": [text(c, i) for i, c in enumerate(CLASS.tolist())]}
    made |= {} if ids is None else {"id": [ids(c, i) for i, c in enumerate(CLASS.tolist())]}
    roles = Roles(keys=() if ids is None else (Role("id", "by its name and its values"),))
    kinds = {"text": "text", "id": "category"}
    return Data(made | {"label": [names[c] for c in CLASS]}, "label", kinds=kinds, context={"roles": roles})


SILENT: dict[str, dict[str, Any]] = {
    "marks": {name: test_marks.SOUND[name] for name in ("scenes", "a class on a white ground")},
    "bands": {name: test_bands.SOUND[name] for name in ("voices", "a class of one tone", "muffled")},
    "extents": first_rows(test_extents.SILENT),
    "formulas": test_recordings.FORMULAS_SILENT,
    "rolling": first_rows(test_rolling.SILENT),
    "giveaway": {
        "a class that other devices have too": Data(
            {
                "device": ["new" if i % 3 == 0 else f"old {i % 2}" for i in range(400)],
                "label": ["cyst" if i % 3 == 0 and i % 21 else f"class {i % 5 % 3}" for i in range(400)],
            },
            "label",
        ),
        "a test that the sick have more often": missing_by_class(0.2, 0.6),
        "missing in nearly all samples of each class": missing_by_class(0.95, 0.85),
        "missing at one site, where the classes are as elsewhere": Data(
            {"x": np.where(np.arange(400) % 5 == 0, np.nan, NOISE), "label": CLASS}, "label"
        ),
        "fields that know nothing": Data({"x": NOISE, "y": NOISE[::-1].copy(), "label": CLASS}, "label"),
        "a good field": Data({"x": CLASS + NOISE / 2, "label": CLASS}, "label"),
        "texts of which some of a class end in a blank": ending_in(" ", lambda i, c: c and i % 5),
        "texts of which others end in a blank": ending_in("\n", lambda i, _: i % 2),
        "a key of the rows of sorted classes": Data({"id": np.arange(400), "label": np.sort(CLASS)}, "label"),
        "a field of as many values as rows": Data({"x": [f"v {i} w" for i in range(400)], "label": CLASS}, "label"),
        "texts that may speak of a class": told_by(
            lambda c, i: f"{SAID[i % 7]} {['cat', 'dog'][c if i % 3 else 1 - c]} {i}"
        ),
        "names of classes that are short": told_by(lambda c, i: f"{SAID[i % 7]} a b {i}", names=("a", "b")),
        "texts in which both classes are named": told_by(lambda c, i: f"is it a cat or a dog? {SAID[i % 7]} {i}"),
        "paths through folders of classes": told_by(
            lambda c, i: SAID[i % 7], ids=lambda c, i: f"images/{['cat', 'dog'][c]}/{i:04d}.jpg"
        ),
        "identifiers of one form": told_by(lambda c, i: SAID[i % 7], ids=lambda c, i: f"P-{i:04d}"),
    },
    "set_phrases": first_rows(test_set_phrases.SOUND),
    "choice_tells": test_choice_tells.SOUND,
    "code_parts": {
        "codes that know nothing": coded(lambda rare, k: f"E{k % 9}{k % 83}"),
        "one code of a class": coded(lambda rare, k: "E91" if rare else f"E1{k % 83}"),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "rolling": one_a_code(test_rolling.SPEAKS),
    "extents": one_a_code(
        {name: (data, "length-mismatch", "warning") for name, (data, _) in test_extents.SPEAKS.items()}
    ),
    "formulas": test_recordings.FORMULAS_SPEAK,
    "giveaway": {
        "a value that is there where the rare class is": (
            missing_by_class(0.88, 0.02),
            "label-leaked-by-field",
            "warning",
        ),
        "and far oftener": (missing_by_class(0.7, 0.1), "label-leaked-by-field", "info"),
        "a class of one device alone": (
            Data(
                {
                    "device": ["new" if i % 3 == 0 else f"old {i % 2}" for i in range(400)],
                    "label": ["cyst" if i % 3 == 0 else f"class {i % 5 % 2}" for i in range(400)],
                },
                "label",
            ),
            "label-leaked-by-field",
            "warning",
        ),
        "a blank at the end of a class's texts": (
            ending_in(" ", lambda _, c: c),
            "label-leaked-by-field",
            "warning",
        ),
        "the country of each of four classes": (
            Data(
                {"cls": np.arange(400) % 4, "country": [["Peru", "Mali", "Fiji", "Oman"][i % 4] for i in range(400)]},
                "cls",
            ),
            "label-leaked-by-field",
            "info",
        ),
        "a measurement of each of four classes": (
            Data({"cls": np.arange(400) % 4, "x": np.array([0.3, 0.9, 2.2, 7.1])[np.arange(400) % 4]}, "cls"),
            "label-leaked-by-field",
            "warning",
        ),
        "an amount that only one class has": (
            Data(
                {"recovered": np.where((CLASS == 1) & (np.arange(400) % 3 > 0), np.abs(NOISE), 0.0), "label": CLASS},
                "label",
            ),
            "label-leaked-by-field",
            "info",
        ),
        "a rating that is asked for when they leave": (
            Data(
                {"rating": np.where((CLASS == 1) ^ (np.arange(400) % 80 == 3), np.abs(NOISE), np.nan), "label": CLASS},
                "label",
            ),
            "label-leaked-by-field",
            "warning",
        ),
        "a date of death": (
            Data(
                {
                    "died": np.where((CLASS == 1) & (np.arange(400) % 3 > 0), 1.0 + np.abs(NOISE), np.nan),
                    "label": CLASS,
                },
                "label",
            ),
            "label-leaked-by-field",
            "info",
        ),
        "ten times the label and three": (
            Data({"x": NOISE, "y": 10.0 * CLASS + 3, "label": CLASS}, "label"),
            "label-leaked-by-field",
            "warning",
        ),
        "a score on either side of a threshold": (
            Data({"score": CLASS + np.abs(NOISE) / 9, "label": CLASS}, "label"),
            "label-leaked-by-field",
            "warning",
        ),
        "a word for each class": (
            Data({"x": NOISE, "finding": [["none", "tumour"][c] for c in CLASS], "label": CLASS}, "label"),
            "label-leaked-by-field",
            "warning",
        ),
        "a continuous label in another unit": (
            Data({"x": NOISE[::-1].copy(), "feet": NOISE * 3.28, "target": NOISE}, "target"),
            "label-leaked-by-field",
            "warning",
        ),
        "texts that begin with the class": (
            told_by(lambda c, i: f"{['good', 'bad'][c]} {SAID[i % 7]} {i}"),
            "label-leaked-by-field",
            "warning",
        ),
        "texts that end with the class": (
            told_by(lambda c, i: f"{SAID[i % 7]} {i} {['up', 'down'][c]}!"),
            "label-leaked-by-field",
            "warning",
        ),
        "texts in which the class is named": (
            told_by(lambda c, i: f"{SAID[i % 7]} A {['Cat', 'Dog'][c]}, number {i}, {SAID[i % 5]}"),
            "label-leaked-by-field",
            "warning",
        ),
        "identifiers that begin with the class": (
            told_by(lambda c, i: SAID[i % 7], ids=lambda c, i: f"{'NP'[c]}{i:04d}"),
            "label-leaked-by-field",
            "info",
        ),
        "the classes' names": (
            Data({"class_name": [["cat", "dog"][c] for c in CLASS], "label": CLASS}, "label"),
            "label-leaked-by-field",
            "info",
        ),
    },
    "choice_tells": test_choice_tells.SPEAKS,
    "set_phrases": {
        "a line before a class in training": (
            test_set_phrases.texts(test_set_phrases.forwarded),
            "label-leaked-by-field",
            "warning",
        ),
    },
    "marks": {"a stamp": (test_marks.SPOILT["a stamp"], "label-leaked-by-field", "warning")},
    "bands": {"hum": (test_bands.SPOILT["50 Hz"][0], "label-leaked-by-field", "warning")},
    "code_parts": {
        "codes of which those of one class begin alike": (
            coded(lambda rare, k: f"E9{k % 50}" if rare else f"E{1 + k % 8}{k % 50}"),
            "label-leaked-by-field",
            "warning",
        ),
    },
}
