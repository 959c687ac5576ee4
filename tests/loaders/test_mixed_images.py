"""Images of unequal channels and depth in one folder: one form for all, or a clear refusal, never zeros for channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders.creating import create_loader


def images(folder: Path, deep: bool) -> str:
    rng = np.random.default_rng(3)
    for i in range(8):
        colour = rng.integers(0, 256, (12, 16, 3), np.uint8)
        grey = rng.integers(0, 40_000, (12, 16), np.uint16) if deep else colour[..., 0]
        Image.fromarray(colour if i % 2 else grey).save(folder / f"{i:02}.png")
    return str(folder)


def test_grey_images_beside_colour_have_three_equal_channels(tmp_path: Path) -> None:
    """Our promise: as it is usual, a grey image among images in colour is expanded."""
    batch = next(iter(create_loader(images(tmp_path, deep=False), split=None, batch_size=8, shuffle=False)))
    assert batch["image"].shape == (8, 3, 12, 16) and batch["image"].dtype == torch.uint8
    assert torch.equal(batch["image"][0, 0], batch["image"][0, 2])


def test_deep_greys_beside_colour_are_refused_unless_three_channels_are_asked_for(tmp_path: Path) -> None:
    """Seen: depth maps among photographs were padded with zeros to three channels."""
    source = images(tmp_path, deep=True)
    with pytest.raises(ValueError, match=r"others are grey of more than 8 bits: pass channels=3"):
        next(iter(create_loader(source, split=None, batch_size=8)))
    batch = next(iter(create_loader(source, split=None, batch_size=8, channels=3)))
    assert batch["image"].shape == (8, 3, 12, 16) and batch["image"].dtype == torch.uint8


def test_a_folder_of_deep_greys_alone_keeps_its_values(tmp_path: Path) -> None:
    """Our promise: values of more than 8 bits stay as stored."""
    for i in range(4):
        Image.fromarray(np.full((6, 6), 30_000 + i, np.uint16)).save(tmp_path / f"{i}.png")
    batch = next(iter(create_loader(str(tmp_path), split=None, batch_size=4, shuffle=False)))
    assert batch["image"].shape == (4, 1, 6, 6) and batch["image"].max() == 30_003
