"""Tables with several rows of a file, and with columns of which one says what a file shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.sources.tables import opened, put

RNG = np.random.default_rng(11)


def images(folder: Path, n: int) -> list[str]:
    folder.mkdir(parents=True)
    names = [f"{i:03}.png" for i in range(n)]
    for name in names:
        Image.fromarray(RNG.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / name)
    return names


def captions(path: Path, split_of_row: list[str]) -> None:
    names = images(path / "images", len(split_of_row) // 3)
    rows = [[names[i // 3], f"a dog runs over field {i}", split] for i, split in enumerate(split_of_row)]
    put(path / "captions.csv", ["image", "caption", "split"], rows)


def test_an_image_whose_captions_are_in_several_splits_is_told(tmp_path: Path) -> None:
    """Seen: captions were divided at random, so that nearly every image was trained on and tested on, and nothing was said."""
    captions(tmp_path, ["train"] * 60 + ["test", "train", "test"] * 5 + ["val"] * 15)
    source = opened(tmp_path)
    found = [p for p in source.problems if p.code == "splits-overlap"]
    assert [p.where["file"] for p in found] == [f"images/{i:03}.png" for i in range(20, 25)]
    assert found[0].message == "its rows in captions.csv belong to test and train; the split of the first row is used"
    assert source.roles is not None and source.roles.split is not None and source.roles.split.field == "split"


def test_captions_dealt_out_at_random_are_told_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: all rows of an image are in one split, but not each of a hundred thousand images is told."""
    monkeypatch.setattr("dataloader_expert.sources.annotations.divided.MOST_TOLD", 4)  # instead of thousands of images
    captions(tmp_path, ["train", "test", "train"] * 20)
    source = opened(tmp_path)
    assert [p.code for p in source.problems] == ["splits-overlap"] * 4
    splits = {source.decode(unit, source.read(unit)).columns["split"].values[0] for unit in source.units}
    assert splits == {"train"}


def test_captions_in_the_split_of_their_image_are_no_fault(tmp_path: Path) -> None:
    captions(tmp_path, ["train"] * 60 + ["test"] * 15)
    assert not opened(tmp_path).problems


def test_a_kind_says_more_than_the_last_column(tmp_path: Path) -> None:
    """Seen: the number of pages was taken for the label of documents whose type a column named."""
    names = images(tmp_path / "scans", 60)
    kinds = ["invoice", "letter", "form"]
    rows = [[name, kinds[i % 3], 1 + i * 7 % 4, "train" if i % 5 else "test"] for i, name in enumerate(names)]
    put(tmp_path / "labels.csv", ["file", "doc_type", "pages", "split"], rows)
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("doc_type", ("form", "invoice", "letter"))
