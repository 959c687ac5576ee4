"""Sound data sets to be damaged: nothing is wrong with them, so whatever is found was planted."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.making.tiny import CLASSES, add_member, picture_bytes, wav, write_separated

SPLITS = {"train": 24, "test": 12}
WORDS = ["cat", "dog", "owl", "mat", "hat", "tree", "road", "house", "sees", "likes", "finds", "takes", "old", "new"]


def numbers(split: str) -> np.random.Generator:
    return np.random.default_rng([17, len(split)])


def labels(split: str) -> list[int]:
    return [i % 3 for i in range(SPLITS[split])]


def jpegs(split: str) -> Iterator[bytes]:
    """Smooth colour pictures of 64 x 64 that no two share."""
    rng = numbers(split)
    for _ in range(SPLITS[split]):
        coarse = rng.integers(0, 256, (9, 9, 3)).astype(np.float64)
        at = np.linspace(0, 8, 64)
        rows = np.stack([np.interp(at, range(9), coarse[:, i, c]) for i in range(9) for c in range(3)])
        rows = rows.reshape(9, 3, 64).transpose(2, 0, 1)
        pixels = np.stack([np.stack([np.interp(at, range(9), rows[i, :, c]) for c in range(3)], 1) for i in range(64)])
        yield picture_bytes((pixels + rng.normal(0, 6, pixels.shape)).clip(0, 255).astype(np.uint8), "JPEG", quality=92)


def filed(folder: Path, suffix: str) -> Iterator[tuple[str, Path]]:
    for split in SPLITS:
        for i, c in enumerate(labels(split)):
            path = folder / split / CLASSES[c] / f"{i:04}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            yield split, path


def image_folder(folder: Path) -> None:
    made = {split: jpegs(split) for split in SPLITS}
    for split, path in filed(folder, ".jpg"):
        path.write_bytes(next(made[split]))


def wavs(folder: Path) -> None:
    rng = np.random.default_rng(19)
    for _, path in filed(folder, ".wav"):
        frames = int(rng.integers(2400, 3600))
        tone = np.sin(np.arange(frames) * rng.uniform(0.05, 0.4)) * rng.uniform(3000, 9000)
        wav(path, tone + rng.normal(0, 300, frames))


def npys(folder: Path) -> None:
    rng = np.random.default_rng(23)
    for _, path in filed(folder, ".npy"):
        np.save(path, rng.normal(0, 1, (int(rng.integers(8, 20)), 12)).astype(np.float32))


def npzs(folder: Path) -> None:
    for split, n in SPLITS.items():
        x, y = numbers(split).normal(0, 1, (n, 8, 5)).astype(np.float32), np.array(labels(split))
        for at in range(0, n, 6):
            np.savez_compressed(folder / f"{split}-{at // 6:03}.npz", x=x[at : at + 6], y=y[at : at + 6])
    (folder / "classes.json").write_text(json.dumps(CLASSES), encoding="utf-8")


def sentences(split: str) -> list[str]:
    rng = numbers(split)
    return [" ".join(rng.choice(WORDS, int(rng.integers(9, 16)))) + f" {split} {i}" for i in range(SPLITS[split])]


def jsonls(folder: Path) -> None:
    for split in SPLITS:
        lines = [
            json.dumps({"text": t, "label": CLASSES[c], "score": round(float(s), 3)})
            for t, c, s in zip(sentences(split), labels(split), numbers(split).normal(5, 1, SPLITS[split]), strict=True)
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(split: str) -> dict[str, list[Any]]:
    rng = numbers(split)
    n = SPLITS[split]
    return {
        "length": [round(float(v), 3) for v in rng.normal(40, 4, n)],
        "mass": [round(float(v), 2) for v in rng.normal(900, 60, n)],
        "age": [int(v) for v in rng.integers(1, 60, n)],
        "place": [("Ulm", "Bern", "Graz")[int(v)] for v in rng.integers(0, 3, n)],
        "label": [CLASSES[c] for c in labels(split)],
    }


def csvs(folder: Path) -> None:
    for split in SPLITS:
        write_separated(folder / f"{split}.csv", table(split), ",")


def parquets(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    for split in SPLITS:
        cells = [{"bytes": b, "path": f"{i}.jpg"} for i, b in enumerate(jpegs(split))]
        columns = {"image": pa.array(cells, kind), **table(split), "label": labels(split)}
        pq.write_table(pa.table(columns), folder / f"{split}-00000-of-00001.parquet", row_group_size=12)
    (folder / "classes.json").write_text(json.dumps(CLASSES), encoding="utf-8")


def tars(folder: Path) -> None:
    for split in SPLITS:
        with tarfile.open(folder / f"{split}-000000.tar", "w") as tar:
            for i, (data, c) in enumerate(zip(jpegs(split), labels(split), strict=True)):
                add_member(tar, f"{split}{i:04}.jpg", data)
                add_member(tar, f"{split}{i:04}.cls", str(c).encode())
    (folder / "classes.json").write_text(json.dumps(CLASSES), encoding="utf-8")


def tensors(split: str) -> dict[str, Any]:
    return {"x": numbers(split).normal(0, 1, (SPLITS[split], 16)).astype(np.float32), "y": np.array(labels(split))}


def safetensors(folder: Path) -> None:
    from safetensors.numpy import save_file

    for split in SPLITS:
        save_file(tensors(split), folder / f"{split}.safetensors")


def pts(folder: Path) -> None:
    import torch

    for split in SPLITS:
        torch.save({k: torch.from_numpy(v) for k, v in tensors(split).items()}, folder / f"{split}.pt")


def h5s(folder: Path) -> None:
    import h5py

    for split in SPLITS:
        with h5py.File(folder / f"{split}.h5", "w") as file:
            for name, values in tensors(split).items():
                file.create_dataset(name, data=values, chunks=(8, *values.shape[1:]), compression="gzip")


def feathers(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.feather as pf

    for split in SPLITS:
        pf.write_feather(pa.table(table(split)), str(folder / f"{split}.feather"))


SOUND: dict[str, Callable[[Path], None]] = {
    "image_folder": image_folder,
    "wav": wavs,
    "npy": npys,
    "npz": npzs,
    "jsonl": jsonls,
    "csv": csvs,
    "parquet": parquets,
    "tar": tars,
    "safetensors": safetensors,
    "pt": pts,
    "h5": h5s,
    "feather": feathers,
}
"""By the names that the generator of defects gives the formats."""
