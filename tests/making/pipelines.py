"""Datasets over real files whose cost sits in a function of their own: each with the share that it is planted to take."""

from __future__ import annotations

import hashlib
import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

HASHED, DECODED = 0.008, 0.002
"""Seconds of the processor for which a sample's description is hashed, and its picture decoded."""


def write_pictures(folder: Path, n: int = 48) -> Path:
    """Pictures as PNG, each with a description as JSON beside it."""
    from PIL import Image

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)).save(folder / f"{i:03}.png")
        boxes = [{"x": int(x), "tags": ["tree", "car"]} for x in rng.integers(0, 99, 12)]
        (folder / f"{i:03}.json").write_text(json.dumps({"id": i, "boxes": boxes}))
    return folder


def digest_of(document: Any) -> str:
    """What makes this pipeline slow: the description is written and hashed over and over."""
    until, found = time.thread_time() + HASHED, ""
    while time.thread_time() < until:
        found = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return found


def pixels_of(raw: bytes) -> Any:
    from PIL import Image

    until, found = time.thread_time() + DECODED, None
    while time.thread_time() < until:
        found = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    return found


class Hashes(Dataset[Any]):
    """``decode`` takes all of a sample's time: four fifths of it in ``digest_of``, one in ``pixels_of``."""

    def __init__(self, folder: str) -> None:
        self.pictures = sorted(Path(folder).glob("*.png"))

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> Any:
        return self.decode(self.pictures[index])

    def decode(self, path: Path) -> Any:
        document = json.loads(path.with_suffix(".json").read_text())
        first = int(digest_of(document)[:8], 16)
        return torch.from_numpy(pixels_of(path.read_bytes())), first % 10


class Fields(Dataset[Any]):
    """Rows in memory, each value a tensor of its own; ``packed``: all in one."""

    def __init__(self, fields: int = 32, n: int = 512, packed: bool = False) -> None:
        self.rows = torch.rand(n, fields, generator=torch.Generator().manual_seed(0))
        self.packed = packed

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        row = self.rows[index]
        return {"x": row} if self.packed else {f"f{i}": row[i : i + 1] for i in range(len(row))}


class FieldsOfDearSamples(Fields):
    """As many tensors, and samples so dear that bringing them costs nothing beside."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.05)
        return super().__getitem__(index)
