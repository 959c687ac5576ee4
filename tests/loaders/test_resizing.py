"""Images that are resized take their boxes with them; images of more than 8 bits keep their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders import open_dataset
from tests.sources.test_annotations import WRITE


@pytest.mark.parametrize("write", ["voc", "coco", "jsonl", "yolo"])
def test_boxes_are_resized_with_their_image(write: str, tmp_path: Path) -> None:
    """One box over the middle half of each image, whose sizes differ; YOLO's are shares, of which 32 x 24 was the image."""
    sizes = [(32, 24), (64, 48), (96, 40)]
    names, boxes = [f"{i}.png" for i in range(9)], []
    (tmp_path / "images").mkdir()
    for i, name in enumerate(names):
        width, height = (32, 24) if write == "yolo" else sizes[i % 3]
        Image.fromarray(np.zeros((*sizes[i % 3][::-1], 3), np.uint8)).save(tmp_path / "images" / name)
        boxes.append([] if i == 4 else [[width // 4, height // 4, width // 2, height // 2]])
    WRITE[write](tmp_path, names, boxes)
    dataset = open_dataset(tmp_path, size=(40, 80))
    wanted = [0.25, 0.25, 0.75, 0.75] if write == "yolo" else [20.0, 10.0, 60.0, 30.0]
    for i in range(9):
        sample = dataset[i]
        assert sample["image"].shape == (3, 40, 80)
        assert sample["boxes"].dtype == torch.float64
        missing = i == 4 or (write == "yolo" and i == 5)  # which has no file
        assert np.allclose(sample["boxes"].reshape(-1, 4), np.array([] if missing else [wanted]).reshape(-1, 4))


@pytest.mark.parametrize(("dtype", "stored"), [(np.uint16, torch.int32), (np.float32, torch.float32)])
def test_images_of_more_bits_keep_their_values(dtype: type, stored: torch.dtype, tmp_path: Path) -> None:
    rng = np.random.default_rng()
    suffix = "png" if dtype is np.uint16 else "tiff"
    held: list[Any] = [rng.integers(0, 4096, (24, 32)).astype(dtype) for _ in range(4)]
    for i, pixels in enumerate(held):
        Image.fromarray(pixels).save(tmp_path / f"{i}.{suffix}")
    dataset = open_dataset(tmp_path)
    for i, pixels in enumerate(held):
        assert dataset[i]["image"].dtype == stored
        assert np.array_equal(dataset[i]["image"][0].numpy(), pixels)
    resized = open_dataset(tmp_path, size=(12, 16))[0]["image"]
    assert resized.shape == (1, 12, 16)
    assert resized.dtype == stored
    assert abs(float(resized.double().mean()) - held[0].mean()) < 100
