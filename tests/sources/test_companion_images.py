"""Images that accompany samples, and several images of one scene: the first are no samples, the second are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.sources.noise import picture

RNG = np.random.default_rng(4)


def opened(tmp_path: Path, names: list[str]) -> Any:
    for name in names:
        picture(tmp_path / name, RNG)
    return open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])


def test_maps_of_one_split_alone_are_no_samples(tmp_path: Path) -> None:
    """Seen: depth and normal maps beside the renderings of a test split were told as two thirds of its samples."""
    renderings = [f"{split}/r_{i}.png" for split, n in (("train", 30), ("test", 10)) for i in range(n)]
    maps = [f"test/r_{i}_{what}_0001.png" for i in range(10) for what in ("depth", "normal")]
    source = opened(tmp_path, renderings + maps)
    assert source.splits == {"test": 10, "train": 30}
    assert {"further depth", "further normal"} <= source.unread.keys()


def test_a_class_called_normal_keeps_its_files(tmp_path: Path) -> None:
    """Our promise: a word between a name and a number says nothing where no sample has that name."""
    names = [f"{label}/p{i}_{label}_{i:02}.png" for label in ("normal", "pneumonia") for i in range(12)]
    source = opened(tmp_path, names)
    assert (source.samples, source.classes) == (24, ("normal", "pneumonia"))


@pytest.mark.parametrize("few", [True, False])
def test_further_folders_beside_those_of_roles_are_no_samples(tmp_path: Path, few: bool) -> None:
    """Seen: the occlusions of frames were told as samples, with an error for the partner that they lack."""
    for i in range(16):
        name = f"{('alley', 'cave')[i % 2]}/frame_{i:04}.png"
        pixels = np.kron(RNG.integers(0, 256, (6, 6, 3), np.uint8), np.ones((6, 6, 1), np.uint8))
        hidden = (RNG.random((36, 36)) < 0.3) * 255 if few else RNG.integers(0, 256, (36, 36))
        for folder, values in (("clean", pixels), ("final", pixels // 2 + 20), ("occlusions", hidden)):
            (tmp_path / "training" / folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(values.astype(np.uint8)).save(tmp_path / "training" / folder / name)
    source = opened(tmp_path, [])
    assert source.samples == 16 and not source.problems
    assert ("occlusions" in {f.name for f in source.partners}) is few
    assert ("occlusions" in source.unread) is not few


VIEWS = {
    "words in names": [f"site_{i * 37:08}_{when}_disaster.png" for i in range(9) for when in ("pre", "post")],
    "folders of cameras": [f"mav/cam{c}/data/{1403 + i * 997}.png" for i in range(9) for c in (0, 1)],
}
NO_VIEWS = {
    "turns": [f"turn_{('left', 'right')[i % 2]}_{i}.png" for i in range(18)],
    "counted frames of two clips": [f"mav/clip{c}/{i:04}.png" for i in range(9) for c in (0, 1)],
    "classes": [f"{c}/{1403 + i * 997}.png" for i in range(9) for c in ("real", "fake")],
}


@pytest.mark.parametrize("names", VIEWS.values(), ids=VIEWS)
def test_several_images_of_each_scene_are_told(tmp_path: Path, names: list[str]) -> None:
    """Seen: pairs before and after, and two cameras, were told as so many samples, and nothing of the pairs."""
    assert "read as its own sample" in opened(tmp_path, names).unread["views"]


@pytest.mark.parametrize("names", NO_VIEWS.values(), ids=NO_VIEWS)
def test_other_names_tell_no_views(tmp_path: Path, names: list[str]) -> None:
    """Our promise: words and numbers that any files may have are no pairs."""
    assert "views" not in opened(tmp_path, names).unread
