"""Several columns of 0 and 1 as the labels of a sample."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.sources.base import LabelColumns
from tests.sources.tables import opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))
NAMES = ["toxic", "obscene", "threat", "insult"]


def told(n: int = 80) -> list[list[int]]:
    return [[int(v) for v in row] for row in RNG.random((n, len(NAMES))) < 0.3]


def test_columns_that_say_what_a_text_is(tmp_path: Path) -> None:
    put(tmp_path / "train.csv", ["id", "comment", *NAMES], [[f"c{i:04}", said(RNG), *t] for i, t in enumerate(told())])
    source = opened(tmp_path)
    assert (source.label, source.label_columns, source.modality) == (None, LabelColumns(tuple(NAMES), 0), "text")
    assert "pass label= for one of them" in source.label_how


def test_columns_of_a_table_that_say_what_an_image_is(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    rows = told(40)
    for i in range(40):
        Image.fromarray(RNG.integers(0, 255, (16, 16, 3), np.uint8)).save(tmp_path / "images" / f"{i:03}.png")
    put(tmp_path / "labels.csv", ["image", *NAMES], [[f"{i:03}.png", *t] for i, t in enumerate(rows)])
    source = opened(tmp_path)
    assert (source.label, source.label_columns, source.samples) == (None, LabelColumns(tuple(NAMES), 0), 40)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["age", "note", "smokes", "drinks", "works"], lambda t: [RNG.integers(20, 90), said(RNG), *t[:3]]),
        (["comment", "toxic", "insult"], lambda t: [said(RNG), *t[:2]]),
        (["a", "b", "c", "label"], lambda t: t),
        (["comment", "caps", "links", "bold", "label"], lambda t: [said(RNG), *t[:3], RNG.choice(["ham", "spam"])]),
    ],
)
def test_other_columns_of_zeros_and_ones_are_none(tmp_path: Path, header: list[str], row: Any) -> None:
    put(tmp_path / "rows.csv", header, [row(t) for t in told()])
    assert opened(tmp_path).label_columns is None


def test_some_labels_are_uncertain_in_places(tmp_path: Path) -> None:
    """Seen: the view of an X-ray taken for its label, as -1 (uncertain) does not occur in each column of findings."""
    rows = [
        [f"{i:03}.png", "Frontal" if i % 2 else "Lateral", -1 if i % 9 == 0 else i % 2, *told(1)[0][:3]]
        for i in range(40)
    ]
    for row in rows:
        Image.fromarray(RNG.integers(0, 255, (16, 16), np.uint8)).save(tmp_path / str(row[0]))
    put(tmp_path / "train.csv", ["Path", "View", "Edema", "Effusion", "Opacity", "Pneumonia"], rows)
    assert opened(tmp_path).label_columns == LabelColumns(("Edema", "Effusion", "Opacity", "Pneumonia"), 0)
