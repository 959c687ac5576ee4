"""What stands beside images and names their classes, or says of whom they are; and names of fields that folders have taken."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.sources.noise import picture
from tests.sources.tables import opened

RNG = np.random.default_rng()


def test_a_column_keeps_its_name_where_folders_are_no_classes(tmp_path: Path) -> None:
    """Seen: the user's column label became label_2, as the folders of hashes were taken for classes at first."""
    names = [f"media/{h[:2]}/{h}.png" for h in (RNG.bytes(8).hex() for _ in range(60))]
    for name in names:
        picture(tmp_path / name, RNG)
    with (tmp_path / "manifest.csv").open("w", newline="") as out:
        rows = [[f"s3://bucket/{name}", ("safe", "adult", "violence")[i % 3]] for i, name in enumerate(names)]
        csv.writer(out).writerows([["uri", "label"], *rows])
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("label", ("adult", "safe", "violence"))


def test_lists_of_classes_in_the_folder_of_each_split_are_read(tmp_path: Path) -> None:
    """Seen: classes were 0, 1 and 2, and the files with their names were called foreign."""
    for split in ("train", "valid"):
        for i in range(8):
            picture(tmp_path / "boxes" / split / f"{i}.png", RNG)
            (tmp_path / "boxes" / split / f"{i}.txt").write_text(f"{i % 2} 0.5 0.5 0.25 0.25\n")
            picture(tmp_path / "masks" / split / f"{i}.png", RNG)
            Image.fromarray(RNG.integers(0, 2, (16, 16), np.uint8)).save(tmp_path / "masks" / split / f"{i}_mask.png")
        (tmp_path / "boxes" / split / "_darknet.labels").write_text("helmet\nvest\n")
        (tmp_path / "masks" / split / "_classes.csv").write_text("Pixel Value, Class\n0, background\n1, helmet\n")
    boxes, masks = opened(tmp_path / "boxes"), opened(tmp_path / "masks")
    assert boxes.objects is not None
    assert boxes.objects.names == {0: "helmet", 1: "vest"}
    assert masks.classes == ("background", "helmet")
    assert not [*boxes.problems, *masks.problems]


@pytest.mark.parametrize(("name", "told"), [("ATTRIBUTION.txt", 0), ("imagelabels.mat", 1)])
def test_what_keeps_company_with_images_is_no_fault(tmp_path: Path, name: str, told: int) -> None:
    """Seen: a licence was called foreign, and so were labels in a format that is not read, which are told as such."""
    for i in range(12):
        picture(tmp_path / f"image_{i:05}.png", RNG)
    (tmp_path / name).write_bytes(b"MATLAB 5.0 MAT-file" + bytes(900) if told else b"Pictures by A and B.\n")
    problems = opened(tmp_path).problems
    assert [getattr(problem, "what", "") for problem in problems] == ["note"] * told
