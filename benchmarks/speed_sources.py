"""Our sources' loaders compared with the Dataset that one would write by hand for the same files."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import CACHE, keep
from benchmarks.speed_jasper import _drain, _said, _spread, cpu

ROWS, FEATURES, PICTURES, BATCH = 20_000, 32, 1_000, 64


def made(folder: Path) -> Path:
    """The same rows as Parquet, CSV, JSONL, NPY and NPZ; pictures as JPEG in class folders."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    from PIL import Image

    if (folder / "complete").exists():
        return folder
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = rng.integers(0, 10, ROWS)
    table = pa.table({**{f"f{i:02d}": x[:, i] for i in range(FEATURES)}, "label": y})
    for name in ("parquet", "csv", "jsonl", "npy", "npz", "pictures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    pa.parquet.write_table(table, folder / "parquet" / "train.parquet", row_group_size=2_000)
    pa.csv.write_csv(table, folder / "csv" / "train.csv")
    table.to_pandas().to_json(folder / "jsonl" / "train.jsonl", orient="records", lines=True)
    np.save(folder / "npy" / "x_train.npy", x)
    np.save(folder / "npy" / "y_train.npy", y)
    np.savez(folder / "npz" / "train.npz", x=x, y=y)
    for i in range(PICTURES):
        target = folder / "pictures" / f"class_{i % 10}" / f"{i:04d}.jpg"
        target.parent.mkdir(exist_ok=True)
        pixels = rng.integers(0, 255, (20, 15, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((240, 320), Image.Resampling.BICUBIC).save(target, quality=85)
    (folder / "complete").touch()
    return folder


class TableByHand:
    """A table read whole by pandas, a row at a time."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self.frame = read()

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> Any:
        import torch

        row = self.frame.iloc[index]
        return torch.tensor(row.iloc[:FEATURES].to_numpy(dtype="float32")), int(row["label"])


class ArraysByHand:
    """Two arrays, an item at a time."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Any:
        import numpy as np
        import torch

        return torch.from_numpy(np.array(self.x[index])), int(self.y[index])


class PicturesByHand:
    """Class folders of pictures, opened by Pillow."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.rglob("*.jpg"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        import numpy as np
        import torch
        from PIL import Image

        with Image.open(self.files[index]) as image:
            pixels = np.array(image.convert("RGB"))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()), int(self.files[index].parent.name[-1])


def by_hand(folder: Path, name: str) -> Any:
    import numpy as np
    import pandas as pd

    if name == "parquet":
        return TableByHand(lambda: pd.read_parquet(folder / name / "train.parquet"))
    if name == "csv":
        return TableByHand(lambda: pd.read_csv(folder / name / "train.csv"))
    if name == "jsonl":
        return TableByHand(lambda: pd.read_json(folder / name / "train.jsonl", lines=True))
    if name == "npy":
        return ArraysByHand(*(np.load(folder / name / f"{k}_train.npy", mmap_mode="r") for k in "xy"))
    if name == "npz":
        with np.load(folder / name / "train.npz") as held:
            return ArraysByHand(held["x"], held["y"])
    return PicturesByHand(folder / name)


def run(repeats: int) -> None:
    """Prints and keeps CPU seconds of a shuffled epoch, opening included and apart."""
    import torch

    torch.set_num_threads(1)
    folder = made(CACHE / "sources")
    result: dict[str, Any] = {}
    for name in ("parquet", "csv", "jsonl", "npy", "npz", "pictures"):
        rounds = _rounds(folder, name, repeats)
        ratios = [a / b for a, b in zip(rounds["by hand"], rounds["ours"], strict=True)]
        result[name] = {k: _spread(v) for k, v in rounds.items()} | {"times_as_fast": _spread(ratios)}
        opened = " to ".join(f"{statistics.median(rounds[k]):.2f}" for k in ("open by hand", "open ours"))
        epoch = " to ".join(f"{statistics.median(rounds[k]):.2f}" for k in ("by hand", "ours"))
        print(f"{name:9} an epoch {epoch} CPU s, {_said(ratios)} times as fast; opening {opened} CPU s")
    keep("speed-sources", {"complete": repeats >= 15, "repeats": repeats, "formats": result})


def _rounds(folder: Path, name: str, repeats: int) -> dict[str, list[float]]:
    from torch.utils.data import DataLoader

    from dataloader_expert.loaders import create_loader

    split = None if name == "pictures" else "train"
    held: dict[str, Any] = {}

    def open_ours() -> None:
        held["ours"] = create_loader(folder / name, split, BATCH, num_workers=0, pin_memory=False, drop_last=False)

    def open_by_hand() -> None:
        held["by hand"] = DataLoader(by_hand(folder, name), BATCH, shuffle=split == "train")

    rounds: dict[str, list[float]] = {k: [] for k in ("open ours", "open by hand", "ours", "by hand")}
    for _ in range(repeats):
        rounds["open ours"].append(cpu(open_ours))
        rounds["open by hand"].append(cpu(open_by_hand))
        rounds["ours"].append(cpu(lambda: _drain(held["ours"])))
        rounds["by hand"].append(cpu(lambda: _drain(held["by hand"])))
    return rounds
