# mypy: ignore-errors
"""Sound data sets of each format, made from a seed."""

from __future__ import annotations

import csv
import io
import json
import random
import struct
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.plants.tree import TABLES, Tree

ROWS = 240
PER_CLASS = 14
RATE = 8000


def picture(rng: random.Random, side: int = 64, grey: bool = False) -> Image.Image:
    """Smooth random shapes with a little noise: alike to none other."""
    own = np.random.default_rng(rng.getrandbits(64))
    rough = own.integers(20, 236, (7, 7, 3), np.uint8)
    smooth = np.asarray(Image.fromarray(rough).resize((side, side), Image.Resampling.BICUBIC), np.int16)
    made = Image.fromarray(np.clip(smooth + own.integers(-12, 13, smooth.shape), 0, 255).astype(np.uint8))
    return made.convert("L") if grey else made


def sound_pictures(tree: Tree) -> None:
    for split, n in (("train", PER_CLASS), ("val", PER_CLASS // 2)):
        for kind in ("fern", "moss", "reed"):
            folder = tree.root / split / kind
            folder.mkdir(parents=True)
            for i in range(n):
                if tree.format == "jpg":
                    picture(tree.rng).save(folder / f"{i:03}.jpg", quality=92)
                else:
                    picture(tree.rng).save(folder / f"{i:03}.png")


def sound_table(tree: Tree) -> None:
    """Numbers, a category, a text and a class; a column names the split."""
    rng = tree.rng
    words = [
        "amber",
        "basil",
        "cedar",
        "delta",
        "ember",
        "fjord",
        "grove",
        "heath",
        "inlet",
        "jetty",
        "knoll",
        "ledge",
        "mesa",
        "north",
        "olive",
        "pine",
    ]
    for i in range(ROWS):
        tree.rows.append(
            {
                "key": f"r{i:05}",
                "split": "train" if i < ROWS * 3 // 4 else "val",
                "width": round(rng.gauss(4.0, 1.0), 4),
                "height": round(rng.gauss(40.0, 9.0), 4),
                "count": rng.randrange(100),
                "note": " ".join(rng.choices(words, k=9)),
                "label": ("ant", "bee", "fly")[i % 3],
            }
        )


def sound_arrays(tree: Tree) -> None:
    for i in range(60):
        own = np.random.default_rng(tree.rng.getrandbits(64))
        x, y = own.normal(0, 1, (12, 5)).astype(np.float32), np.int64(i % 3)
        if tree.format == "npz":
            np.savez_compressed(tree.root / f"{i:03}.npz", x=x, y=y)
        else:
            np.save(tree.root / f"{i:03}.npy", x)


def wave_bytes(samples: np.ndarray, rate: int = RATE) -> bytes:
    data = samples.astype("<i2").tobytes()
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    head = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def sound_of(rng: random.Random, n: int = RATE) -> np.ndarray:
    own = np.random.default_rng(rng.getrandbits(64))
    t = np.arange(n) / RATE
    tones = sum(
        own.uniform(0.05, 0.2) * np.sin(2 * np.pi * own.uniform(80, 2000) * t + own.uniform(0, 6)) for _ in range(5)
    )
    return (tones + own.normal(0, 0.01, n)) * 12000


def sound_sounds(tree: Tree) -> None:
    for kind in ("low", "high"):
        (tree.root / kind).mkdir()
        for i in range(16):
            (tree.root / kind / f"{i:03}.wav").write_bytes(wave_bytes(sound_of(tree.rng)))


def members(tree: Tree, shard: int) -> list[tuple[str, bytes]]:
    found = []
    for i in range(20):
        image = io.BytesIO()
        picture(tree.rng).save(image, "JPEG", quality=92)
        key = f"s{shard}_{i:03}"
        found += [(f"{key}.jpg", image.getvalue()), (f"{key}.cls", str(i % 3).encode())]
    return found


def write_tar(path: Path, parts: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as out:
        for name, data in parts:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))


def sound_shards(tree: Tree) -> None:
    for shard in range(4):
        write_tar(tree.root / f"part-{shard:04}.tar", members(tree, shard))


def read_tar(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as opened:
        return [(m.name, opened.extractfile(m).read()) for m in opened]


SOUND = {
    "jpg": sound_pictures,
    "png": sound_pictures,
    **dict.fromkeys(TABLES, sound_table),
    "npz": sound_arrays,
    "npy": sound_arrays,
    "wav": sound_sounds,
    "tar": sound_shards,
}


def write_table(tree: Tree) -> None:
    """The rows in the tree's format; None is an absent value."""
    if tree.written or tree.format not in TABLES:
        return
    names = list(dict.fromkeys(k for row in tree.rows for k in row))
    if tree.format in ("csv", "tsv"):
        with tree.table.open("w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, names, delimiter="," if tree.format == "csv" else "\t")
            out.writeheader()
            out.writerows(tree.rows)
    elif tree.format == "jsonl":
        tree.table.write_text("".join(json.dumps(row) + "\n" for row in tree.rows), encoding="utf-8")
    elif tree.format == "json":
        tree.table.write_text(json.dumps(tree.rows), encoding="utf-8")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = pa.table({name: [row.get(name) for row in tree.rows] for name in names})
        if tree.format == "parquet":
            pq.write_table(whole, tree.table, row_group_size=64)
        else:
            with pa.ipc.new_file(str(tree.table), whole.schema) as out:
                out.write_table(whole, max_chunksize=64)
