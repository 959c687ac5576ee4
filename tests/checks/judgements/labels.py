"""Where the checks of labels say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataloader_expert.sources.base import LabelColumns
from tests.checks import (
    test_annotators,
    test_canned_texts,
    test_class_looks,
    test_labels_stopped,
    test_misfiled,
    test_other_scales,
    test_unfit_labels,
)
from tests.checks.judgements.common import CLASS, HALVES, LARGE_HALVES, MORE, NOISE, objects, tabled
from tests.checks.looking import Data, first_rows, one_a_code


def numbered_by_site(numbers: Callable[[Any, Any], Any], sites: int = 3, n: int = 900) -> Data:
    """Samples of several sites, with class numbers made of the site and of classes from 0 to 4."""
    site, y = np.arange(n) % sites, np.random.default_rng(30).integers(0, 5, n)
    columns = {"x": MORE[:n], "site": [f"site {s}" for s in site], "label": numbers(site, y)}
    return Data(columns, "label", kinds={"site": "category"})


def flags(rows: Any, splits: str | list[str] = "") -> Data:
    """Rows of zeros and ones as a column each, the labels of a sample."""
    names = tuple("abcd"[: rows.shape[1]])
    return Data(
        {name: rows[:, k].astype(int) for k, name in enumerate(names)},
        splits=splits,
        context={"label_columns": LabelColumns(names, 0)},
    )


def tags(*of: list[str], splits: str | list[str] = "") -> Data:
    return Data({"tags": list(of)}, splits=splits, kinds={"tags": "other"})


QUARTERS = [f"s{i // 100}" for i in range(400)]
RARE = (np.random.default_rng(6).permutation(400) < 12).astype(int)


def runs_of(label: Any, **more: Any) -> Data:
    """Samples with these labels, in this order."""
    return Data({**more, "x": np.arange(len(label)) * 7919 % 1009 / 7, "label": label}, "label")


def classed(
    shift_from: int | None = None,
    by: int = 1,
    noise: float = 0.2,
    order: str = "mixed",
    scrambled: bool = False,
    k: int = 4,
    renumbered: bool = False,
) -> Data:
    """Vectors that tell their class; from one row on, labels are those of another row, or of the next class."""
    draw = np.random.default_rng(8)
    label = draw.integers(0, k, 200) if order == "mixed" else np.sort(draw.integers(0, k, 200))
    x = np.eye(4)[label] + noise * draw.normal(size=(200, 4))
    if shift_from is not None:
        label[shift_from:] = np.roll(label[shift_from:], by)
        if scrambled:
            label[shift_from:] = draw.permutation(label[shift_from:])
        if renumbered:
            label[shift_from:] = (label[shift_from:] + 1) % k
    return Data({"x": x, "label": label}, "label", kinds={"x": "embedding", "label": "category"})


def from_sources(by: int = 0, of: int = 1, random: bool = False, runs: bool = False) -> Data:
    """Vectors of three sources, mixed; of one of these labels are those of its row before, or any, or classes come in runs."""
    draw = np.random.default_rng(9)
    label, source = draw.integers(0, 3, 900), draw.integers(0, 3, 900)
    if runs:
        label = np.repeat(np.arange(90) % 3, 10)
    x = np.eye(4)[label] + 0.3 * draw.normal(size=(900, 4))
    own = np.flatnonzero(source == of)
    label[own] = draw.permutation(label[own]) if random else np.roll(label[own], by)
    columns = {"x": x, "label": label, "source": [f"source {s}" for s in source]}
    return Data(columns, "label", kinds={"x": "embedding", "label": "category", "source": "category"})


SHOPS = [f"shop {i}" for i in np.arange(400) % 20]
DAYS = [f"2024-03-{1 + i:02d}" for i in np.arange(400) // 20]
SILENT: dict[str, dict[str, Any]] = {
    "label_runs": {
        "one class in training, several in the test": runs_of(
            np.r_[np.zeros(300, int), RARE], split=["train"] * 300 + ["test"] * 400
        ),
        "one class in training, by files": Data(
            {"x": np.arange(700) * 7919 % 1009 / 7, "label": np.r_[np.zeros(300, int), RARE]},
            "label",
            ["train"] * 300 + ["test"] * 400,
        ),
        "classes by chance": runs_of(RARE),
        "rows that are sorted by class": runs_of(np.sort(RARE)),
        "two parts that are sorted by class": runs_of(np.r_[np.sort(RARE), np.sort(RARE[:60])]),
        "a series that stays in one class": runs_of(np.arange(400) // np.r_[[20] * 200, [40] * 200] % 2),
        "one long series of many": runs_of(
            np.where(np.arange(400) // 20 == 3, 1, RARE), device=[f"d{i}" for i in np.arange(400) // 20]
        ),
        "every shop on one day": runs_of(np.where(np.arange(400) // 20 == 3, 1, RARE), shop=SHOPS, date=DAYS),
    },
    "moved_labels": {
        "labels of their own rows": classed(),
        "stored by class, of which a shift changes next to nothing": classed(150, order="sorted"),
        "vectors that tell no class": classed(150, noise=3.0),
        "labels of any row in a stretch": classed(150, by=0, scrambled=True),
        "a few rows": classed(196),
        "labels of their own in all sources": from_sources(),
        "labels of any row in one source": from_sources(random=True),
        "classes in runs": from_sources(1, runs=True),
    },
    "class_looks": test_class_looks.SILENT,
    "labels_stopped": test_labels_stopped.SILENT,
    "rating_scales": test_other_scales.MARKS_SILENT,
    "misfiled": test_misfiled.FILED_SILENT,
    "unfit_targets": test_misfiled.TARGETS_SILENT,
    "unfit_labels": first_rows(test_unfit_labels.SILENT),
    "classes": {
        "a rare class that a small split lacks by chance": tabled(
            ["a", "b"] * 12 + ["c"] * 3, splits=["test"] * 6 + ["train"] * 21
        ),
        "counts of what was sold": Data(
            {"sold": np.repeat(np.arange(2, 17), [1, 3, 9, 20, 36, 55, 68, 70, 61, 47, 31, 18, 9, 4, 1])}, "sold"
        ),
        "ten to one": tabled(["a"] * 20 + ["b"] * 2),
        "prices in whole numbers": Data({"price": 200 + (NOISE * 31).astype(int)}, "price", splits=LARGE_HALVES),
        "a count of each day": Data({"sold": np.rint(90 + 25 * NOISE).astype(int)}, "sold", splits=LARGE_HALVES),
        "a count from nothing on": Data(
            {"sold": np.rint(25 * (NOISE - NOISE.min())).astype(int)}, "sold", splits=LARGE_HALVES
        ),
        "a split that is left unlabelled": tabled(["a", "b"] * 3 + [None] * 6, splits=HALVES),
        "a split whose labels are withheld as -1": tabled(np.array([0, 1] * 3 + [-1] * 6), splits=HALVES),
        "a split whose labels of three classes are withheld as -1": tabled(
            np.array([0, 1, 2] * 2 + [-1] * 6), splits=HALVES
        ),
        "names that differ in more than case": tabled(["cat", "cats", "Dog", "owl"] * 3),
        "numbers within the declared classes": tabled(np.array([0, 1, 2] * 4), classes=("a", "b", "c")),
        "every class in every split": tabled(["a", "b"] * 6, splits=HALVES),
        "a target that is no class": tabled(NOISE[:12]),
        "a scale from -1 to 1": tabled(np.array([0, 1, -1, 1] * 6)),
        "plus, minus and zero": tabled(["+", "-", "0"] * 8),
        "a defect that is called missing": tabled(["scratch", "broken", "missing"] * 8),
    },
    "canned_texts": test_canned_texts.SOUND,
    "annotators": test_annotators.SILENT,
    "label_base": {
        "files with the same classes": Data({"x": NOISE, "label": np.arange(400) % 5}, "label", splits=QUARTERS),
        "a class to each file": Data({"x": NOISE, "label": np.arange(400) // 100}, "label", splits=QUARTERS),
        "two classes to each file": Data({"x": NOISE, "label": np.arange(400) // 50}, "label", splits=QUARTERS),
        "a split whose first rows have far more labels": Data(
            {"label": np.r_[np.arange(1100), np.arange(550) % 5 + 1, np.arange(550) % 5]},
            "label",
            splits=["train"] * 1650 + ["test"] * 550,
        ),
        "sites with the same classes": numbered_by_site(lambda site, y: y),
        "a site without the first class": numbered_by_site(lambda site, y: np.where((site == 1) & (y == 0), 4, y)),
        "a site with a class of its own": numbered_by_site(lambda site, y: np.where((site == 1) & (y == 4), 5, y)),
        "sites of a few classes each": numbered_by_site(lambda site, y: 2 * site + y % 2),
        "two sites, either of which may be meant": numbered_by_site(lambda site, y: y + (site == 1), sites=2),
        "a site that sees neutral and good where the others see bad and neutral": numbered_by_site(
            lambda site, y: y % 2 + (site == 1)
        ),
        "degrees that are higher at one site": numbered_by_site(
            lambda site, y: np.clip(np.rint(2 + 0.9 * MORE), 0, 4).astype(int) + (site == 1)
        ),
        "counts that are higher at one site": numbered_by_site(
            lambda site, y: np.floor(MORE**2).astype(int) + (site == 1)
        ),
        "sites of few samples": numbered_by_site(lambda site, y: y + (site == 1), n=30),
        "a rare class in one file": Data(
            {"x": NOISE, "label": np.where(np.arange(400) == 399, 5, np.arange(400) % 5)}, "label", splits=QUARTERS
        ),
    },
    "odd_labels": {
        "classes apart": Data({"a": CLASS * 6 + NOISE, "b": NOISE[::-1].copy(), "label": CLASS}, "label"),
        "classes that overlap": Data({"a": CLASS + NOISE, "b": NOISE[::-1].copy(), "label": CLASS}, "label"),
    },
    "label_sets": {
        "tags, some samples without any": tags(*[["sun", "sea"], ["sun"], []] * 40),
        "labels of tokens, which repeat": tags(*[["O", "O", "PER"], ["O"], ["PER", "O"]] * 40),
        "one label each, with commas": tabled(["Smith, John", "Doe, Jane", "Roe, Ann"] * 40),
        "tags that hardly recur": tags(*[[f"t{i}", f"u{i}"] for i in range(120)]),
        "a row of zeros and ones that is no label": Data({"mask": np.eye(4)[np.arange(120) % 4]}),
        "several labels or none now and then": Data(
            {"y": np.r_[np.eye(4)[np.arange(100) % 4], np.zeros((10, 4)), np.ones((10, 4))]}
        ),
        "a column for each of several labels": flags(np.arange(120)[:, None] % [2, 3, 5, 7] == 0),
        "one label each, which joins some in no sample": tabled(["Edema", "Mass"] * 125),
        "labels of boxes": objects([[0, 1], [0], []] * 40),
        "a rare tag that validation lacks": tags(
            *[["a", "b"]] * 59, ["b", "c"], *[["a", "b"]] * 60, splits=["train"] * 60 + ["val"] * 60
        ),
        "beside a label": Data(
            {"tags": [["a", "b"], ["a"]] * 20, "label": np.arange(40) % 2}, label="label", kinds={"tags": "other"}
        ),
    },
    "clusters": {"groups of samples": Data({"patient": [f"P{i // 4}" for i in range(400)], "x": NOISE})},
    "labels": {"anything, for it only keeps": tabled(["a", "b"] * 6)},
}

SPEAKS: dict[str, dict[str, Any]] = {
    "labels_stopped": {
        name: (data, "label-odd-one-out", "warning") for name, data in test_labels_stopped.SPEAKS.items()
    },
    "class_looks": {name: (data, code, "warning") for name, (data, code) in test_class_looks.SPEAKS.items()},
    "unfit_labels": one_a_code(
        {name: (data, code, "warning") for name, (data, code, _) in test_unfit_labels.SPEAKS.items()}
    ),
    "rating_scales": test_other_scales.MARKS_SPEAK,
    "misfiled": test_misfiled.FILED,
    "unfit_targets": test_misfiled.TARGETS,
    "classes": {
        "a dash beside words": (tabled(["yes", "no", "-"] * 8), "label-out-of-range", "warning"),
        "-1 beside classes from 0 on": (tabled(np.array([0, 1, 2, -1] * 6)), "label-out-of-range", "warning"),
        "a dash beside names": (
            tabled(["entailed", "neutral", "contrary"] * 8 + ["-"]),
            "label-out-of-range",
            "warning",
        ),
        "eleven to one": (tabled(["a"] * 22 + ["b"] * 2), "severe-imbalance", "warning"),
        "a class of one sample in a long tail": (
            Data({"target": np.repeat(np.arange(40), [40 - k for k in range(40)])}, "target"),
            "label-singleton",
            "info",
        ),
        "the rarest of many that speak": (
            Data({"voice": np.append(np.resize(np.arange(19, 4000, 97), 399), 5555)}, "voice"),
            "label-singleton",
            "info",
        ),
        "a class of one sample among many": (
            Data({"label": np.append(np.arange(399) % 57, 300)}, "label"),
            "label-singleton",
            "info",
        ),
        "a class of one sample": (tabled(["a", "b"] * 5 + ["c"]), "label-singleton", "info"),
        "a letter that is missing": (
            tabled(["contradiction", "neutral"] * 60 + ["contradicton"]),
            "label-twins",
            "warning",
        ),
        "case and blanks": (tabled(["cat", "Cat ", "dog", "dog"] * 3), "label-twins", "warning"),
        "a sample without a label": (tabled(["a", "b", None, "a", "b", "b"] * 2), "label-blank", "error"),
        "a class beside its rarer spelling": (tabled(["cat"] * 22 + ["dog"] * 22 + ["Dog"]), "label-twins", "warning"),
        "a blank": (tabled(["a", " ", "b"] * 4), "label-blank", "error"),
        "beyond the declared classes": (
            tabled(np.array([0, 1, 7] * 4), classes=("a", "b", "c")),
            "label-out-of-range",
            "error",
        ),
        "a class in one split only": (
            tabled(["a", "b"] * 3 + ["a"] * 6, splits=HALVES),
            "class-missing-in-split",
            "warning",
        ),
        "a training split of one class": (
            tabled(["a"] * 6 + ["a", "b"] * 3, splits=HALVES),
            "class-missing-in-split",
            "warning",
        ),
        "a training split of sound samples": (
            tabled(["good"] * 6 + ["good", "scratch"] * 3, splits=HALVES),
            "class-missing-in-split",
            "info",
        ),
    },
    "canned_texts": test_canned_texts.SPEAKS,
    "odd_labels": {
        "one amid the other class": (
            Data({"a": CLASS * 9 + NOISE, "b": NOISE[::-1].copy(), "label": np.r_[1 - CLASS[:1], CLASS[1:]]}, "label"),
            "label-odd-one-out",
            "info",
        ),
    },
    "label_runs": {
        "a rare class for a while": (
            runs_of(np.where(np.arange(400) // 20 == 3, 1, RARE)),
            "label-odd-one-out",
            "warning",
        ),
        "one class on a day": (
            runs_of(np.where(np.arange(400) // 20 == 3, 1, RARE), date=DAYS),
            "label-odd-one-out",
            "warning",
        ),
        "one class on a day, of readings that all differ": (
            runs_of(np.where(np.arange(400) // 20 == 3, 1, RARE), date=DAYS, price=np.arange(400) * 37 % 251),
            "label-odd-one-out",
            "warning",
        ),
        "one of many classes for a while": (
            runs_of(np.where(np.arange(400) // 100 == 3, 1, np.arange(400) * 7 % 11 % 4)),
            "label-odd-one-out",
            "warning",
        ),
    },
    "moved_labels": {
        "from one row on those of the row before": (classed(150), "rows-shifted", "warning"),
        "from one row on those of the row after": (classed(120, by=-1), "rows-shifted", "warning"),
        "of two classes": (classed(130, k=2), "rows-shifted", "warning"),
        "of the row before in one source": (from_sources(1), "rows-shifted", "warning"),
        "of the row after in another": (from_sources(-1, 2), "rows-shifted", "warning"),
        "with numbers from another list": (classed(150, by=0, renumbered=True), "label-odd-one-out", "warning"),
    },
    "label_sets": {
        "a column that is never 1": (
            flags(np.arange(120)[:, None] % [2, 3, 5, 200] == [1, 1, 1, 150]),
            "empty-class",
            "warning",
        ),
        "columns of one label each, and a row of two": (
            flags(np.r_[np.eye(4)[np.arange(119) % 4], [[0, 1, 1, 0]]]),
            "label-conflict",
            "warning",
        ),
        "a place that is never 1": (
            Data({"y": np.eye(4)[np.arange(120) % 3] + np.eye(4)[np.arange(120) % 2] > 0}),
            "empty-class",
            "warning",
        ),
        "a one-hot row of zeros": (
            Data({"y": np.r_[np.eye(4)[np.arange(119) % 4], np.zeros((1, 4))]}),
            "label-blank",
            "warning",
        ),
        "a one-hot row of two": (
            Data({"y": np.r_[np.eye(4)[np.arange(119) % 4], [[0, 1, 1, 0]]]}),
            "label-conflict",
            "warning",
        ),
        "a rare one of joined labels": (
            tabled(["Edema|Mass", "Mass", "Edema", "Edema|Cyst", "Cyst|Mass"] * 25 + ["Hernia"]),
            "severe-imbalance",
            "info",
        ),
        "joined labels in sorted rows": (
            tabled(["Cyst|Mass", "Edema|Cyst", "Edema|Mass"] * 20 + ["Hernia"] + ["Mass"] * 300),
            "severe-imbalance",
            "info",
        ),
        "a rare tag": (tags(*[["a", "b"]] * 118, ["c"], ["c", "a"]), "severe-imbalance", "info"),
        "a tag that training never sees": (
            tags(*[["a", "b"]] * 60, *[["a", "c"]] * 60, splits=["train"] * 60 + ["val"] * 60),
            "class-missing-in-split",
            "warning",
        ),
    },
    "annotators": test_annotators.SPEAKS,
    "label_base": {
        "the last file from one on": (
            Data({"x": NOISE, "label": np.arange(400) % 5 + (np.arange(400) >= 300)}, "label", splits=QUARTERS),
            "label-out-of-range",
            "warning",
        ),
        "a split from one on": (
            Data(
                {"x": NOISE, "label": np.arange(400) % 5 + (np.arange(400) >= 300)},
                "label",
                splits=["train"] * 300 + ["test"] * 100,
            ),
            "label-out-of-range",
            "warning",
        ),
        "one site from one on": (numbered_by_site(lambda site, y: y + (site == 1)), "label-out-of-range", "warning"),
        "one site, by its number, from one on": (
            Data(
                {"x": MORE, "site": np.arange(900) % 3, "label": np.arange(900) // 3 % 5 + (np.arange(900) % 3 == 1)},
                "label",
            ),
            "label-out-of-range",
            "warning",
        ),
        "one site from zero on": (numbered_by_site(lambda site, y: y + (site != 1)), "label-out-of-range", "warning"),
        "the last file from zero on": (
            Data({"x": NOISE, "label": 1 + np.arange(400) % 5 - (np.arange(400) >= 300)}, "label", splits=QUARTERS),
            "label-out-of-range",
            "warning",
        ),
    },
}
