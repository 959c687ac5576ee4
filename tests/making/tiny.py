"""Builders of tiny data sets, one or more per format. The truth is what was put in: nothing of ours computes it."""

from __future__ import annotations

import atexit
import csv
import functools
import io
import json
import shutil
import tarfile
import tempfile
import wave
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CLASSES = ("cat", "dog", "owl")
SPLITS = {"train": 30, "test": 12}
TEXT = "the {0} sat on mat {1} and thought of number {2}"


@dataclass(frozen=True)
class Made:
    """A data set and its truth. ``classes`` are samples by class name, ``missing`` samples without a value by field.

    ``label`` is to be passed where nothing announces it; ``group``: sets of one group hold the same samples.
    """

    source: str
    root: Path
    format: str
    modality: str
    samples: int
    files: int
    splits: dict[str, int] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    label: str | None = None
    code: bool = False
    group: str = ""


Rows = dict[str, list[Any]]
TINY: dict[str, Callable[[Path], Made]] = {}


def tiny(name: str) -> Callable[[Callable[[Path], Made]], Callable[[Path], Made]]:
    """Registers a builder as ``format`` or ``format, how it lies``."""

    def keep(build: Callable[[Path], Made]) -> Callable[[Path], Made]:
        TINY[name] = build
        return build

    return keep


@functools.cache
def made_once(name: str) -> Made:
    """The tiny data set of this name, for tests that only read it; it goes with the process."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return TINY[name](Path(folder))


def labels_of(split: str) -> list[int]:
    """Class indices of a split's samples: uneven on purpose."""
    n = SPLITS[split]
    return [0 if i % 2 else 1 if i % 3 else 2 for i in range(n)]


def class_counts(splits: Iterable[str] = SPLITS) -> dict[str, int]:
    return dict(Counter(CLASSES[c] for split in splits for c in labels_of(split)))


def pictures(split: str, size: tuple[int, int] = (24, 32)) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Smooth pictures that differ from each other, shape [n, h, w, 3]."""
    rng = np.random.default_rng([3, len(split)])
    coarse = rng.integers(0, 256, (SPLITS[split], 6, 8, 3), np.uint8)
    return coarse.repeat(size[0] // 6, 1).repeat(size[1] // 8, 2)


def vectors(split: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    rng = np.random.default_rng([5, len(split)])
    return rng.normal(2, 3, (SPLITS[split], 4)).astype(np.float32)


def sequences(split: str) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    rng = np.random.default_rng([7, len(split)])
    return [rng.normal(0, 1, (int(rng.integers(3, 9)), 2)).astype(np.float32) for _ in range(SPLITS[split])]


def records(split: str) -> Rows:
    """A table with whole numbers, decimals, texts and a class; every seventh weight is absent."""
    rng = np.random.default_rng([11, len(split)])
    n = SPLITS[split]
    weights = [round(float(x), 3) for x in rng.normal(50, 9, n)]
    return {
        "age": [int(x) for x in rng.integers(1, 90, n)],
        "weight": [None if i % 7 == 3 else w for i, w in enumerate(weights)],
        "town": [("Ulm", "Bern", "Graz")[int(i)] for i in rng.integers(0, 3, n)],
        "label": [CLASSES[c] for c in labels_of(split)],
    }


def texts(split: str) -> list[str]:
    return [TEXT.format(CLASSES[c], i, i * len(split)) for i, c in enumerate(labels_of(split))]


MISSING = {"weight": sum(x is None for split in SPLITS for x in records(split)["weight"])}
TOTAL = sum(SPLITS.values())


def named(folder: Path, format: str, modality: str, files: int, **more: Any) -> Made:
    """The usual truth: both splits, three classes."""
    given = {"samples": TOTAL, "splits": SPLITS, "classes": class_counts(), **more}
    return Made(str(folder), folder, format, modality, files=files, **given)


def numbered(folder: Path) -> None:
    (folder / "classes.json").write_text(json.dumps(CLASSES), encoding="utf-8")


def picture_bytes(pixels: Any, format: str = "PNG", **how: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format, **how)
    return buffer.getvalue()


def by_class(folder: Path, split: str, suffix: str) -> list[Path]:
    """One path a sample, ``split/class/0000.suffix``, its folder made."""
    paths = []
    for i, c in enumerate(labels_of(split)):
        path = folder / split / CLASSES[c] / f"{i:04}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.append(path)
    return paths


@tiny("image-folder")
def image_folder(folder: Path) -> Made:
    for split in SPLITS:
        for path, pixels in zip(by_class(folder, split, ".png"), pictures(split), strict=True):
            path.write_bytes(picture_bytes(pixels))
    return named(folder, "image-folder", "image", TOTAL, group="pictures")


@tiny("image-folder, jpeg of several sizes, no class, no split")
def flat_images(folder: Path) -> Made:
    folder.mkdir(exist_ok=True)
    for i, pixels in enumerate(pictures("train")):
        Image.fromarray(pixels[:, : 32 - i % 3]).save(folder / f"{i}.jpg", quality=95)
    return named(folder, "image-folder", "image", SPLITS["train"], samples=SPLITS["train"], splits={}, classes={})


@tiny("npz, shards")
def npz_shards(folder: Path) -> Made:
    numbered(folder)
    for split, n in SPLITS.items():
        for at in range(0, n, 12):
            part = slice(at, at + 12)
            np.savez_compressed(
                folder / f"{split}-{at // 12:03}.npz",
                images=pictures(split)[part],
                labels=np.array(labels_of(split)[part]),
                ids=np.array([f"{split}{i}" for i in range(n)][part]),
            )
    return named(folder, "npz", "image", 5, group="pictures")


@tiny("npz, one sample a file")
def npz_samples(folder: Path) -> Made:
    for split in SPLITS:
        for path, values, sequence in zip(
            by_class(folder, split, ".npz"), vectors(split), sequences(split), strict=True
        ):
            np.savez(path, vector=values, sequence=sequence)
    return named(folder, "npz", "sequence", TOTAL)


@tiny("npz, ragged by offsets")
def npz_ragged(folder: Path) -> Made:
    numbered(folder)
    for split in SPLITS:
        steps = sequences(split)
        ends = np.cumsum([0, *map(len, steps)])
        np.savez(folder / f"{split}.npz", values=np.concatenate(steps), offsets=ends, labels=labels_of(split))
    return named(folder, "npz", "sequence", 3, group="sequences")


@tiny("npy, side by side")
def npy_columns(folder: Path) -> Made:
    numbered(folder)
    for split in SPLITS:
        np.save(folder / f"x_{split}.npy", vectors(split))
        np.save(folder / f"y_{split}.npy", np.array(labels_of(split)))
    return named(folder, "npy", "embedding", 5, group="vectors")


@tiny("idx")
def idx_columns(folder: Path) -> Made:
    numbered(folder)
    for split in SPLITS:
        for name, kind, array in (
            ("x", 13, vectors(split).astype(">f4")),
            ("y", 11, np.array(labels_of(split), ">i2")),
        ):
            head = bytes([0, 0, kind, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape)
            word = "float" if name == "x" else "short"
            (folder / f"{split}-{name}-idx{array.ndim}-{word}").write_bytes(head + array.tobytes())
    return named(folder, "idx", "embedding", 5, group="vectors")


@tiny("token-bin")
def token_streams(folder: Path) -> Made:
    """Windows of 1,024 ids, and a few more that fill none."""
    for split, n in SPLITS.items():
        ids = np.random.default_rng(len(split)).integers(1, 500, 1024 * n + 77)
        ids.astype("<u2").tofile(folder / f"{split}.bin")
    (folder / "meta.json").write_text(json.dumps({"vocab_size": 500, "dtype": "uint16"}), encoding="utf-8")
    return named(folder, "token-bin", "tokens", 3, classes={})


@tiny("npy, one sample a file")
def npy_samples(folder: Path) -> Made:
    for split in SPLITS:
        for path, values in zip(by_class(folder, split, ".npy"), sequences(split), strict=True):
            np.save(path, values)
    return named(folder, "npy", "sequence", TOTAL, group="sequences")


@tiny("pt")
def pt_tensors(folder: Path) -> Made:
    import torch

    numbered(folder)
    for split in SPLITS:
        torch.save({"x": torch.from_numpy(vectors(split)), "y": torch.tensor(labels_of(split))}, folder / f"{split}.pt")
    return named(folder, "pt", "embedding", 3, group="vectors")


@tiny("safetensors")
def safetensors_files(folder: Path) -> Made:
    from safetensors.numpy import save_file

    numbered(folder)
    for split in SPLITS:
        save_file({"x": vectors(split), "y": np.array(labels_of(split))}, folder / f"{split}.safetensors")
    return named(folder, "safetensors", "embedding", 3, group="vectors")


@tiny("hdf5")
def hdf5_files(folder: Path) -> Made:
    import h5py

    numbered(folder)
    for split in SPLITS:
        with h5py.File(folder / f"{split}.h5", "w") as file:
            file.create_dataset("x", data=vectors(split), chunks=(4, 4), compression="gzip")
            file["y"] = labels_of(split)
    return named(folder, "hdf5", "embedding", 3, group="vectors")


@tiny("hdf5, a group of datasets per split")
def hdf5_splits(folder: Path) -> Made:
    import h5py

    with h5py.File(folder / "all.h5", "w") as file:
        for split in SPLITS:
            file[f"{split}/x"] = vectors(split)
            file[f"{split}/label"] = [CLASSES[c] for c in labels_of(split)]
        file["version"] = 3
        file["best"] = h5py.SoftLink("/train/x")
    return named(folder, "hdf5", "embedding", 1, group="vectors")


@tiny("hdf5, a group per sample")
def hdf5_groups(folder: Path) -> Made:
    import h5py

    for split in SPLITS:
        with h5py.File(folder / f"{split}.hdf5", "w") as file:
            for i, (values, c) in enumerate(zip(sequences(split), labels_of(split), strict=True)):
                file[f"data/demo_{i}/x"] = values
                file[f"data/demo_{i}/label"] = CLASSES[c]
    return named(folder, "hdf5", "sequence", 2)


def table(split: str) -> Any:
    import pyarrow as pa

    return pa.table(records(split))


@tiny("parquet, one file")
def parquet_file(folder: Path) -> Made:
    import pyarrow.parquet as pq

    folder.mkdir(exist_ok=True)
    pq.write_table(table("train"), folder / "rows.parquet", row_group_size=7)
    missing = {"weight": sum(x is None for x in records("train")["weight"])}
    return Made(
        str(folder / "rows.parquet"),
        folder,
        "parquet",
        "tabular",
        SPLITS["train"],
        files=1,
        classes=class_counts(["train"]),
        missing=missing,
    )


@tiny("parquet, a folder of files")
def parquet_folder(folder: Path) -> Made:
    import pyarrow.parquet as pq

    for split in SPLITS:
        pq.write_table(table(split), folder / f"{split}-00000-of-00001.parquet", row_group_size=11)
    return named(folder, "parquet", "tabular", 2, missing=MISSING, group="table")


@tiny("parquet, hive partitions")
def parquet_hive(folder: Path) -> Made:
    import pyarrow.parquet as pq

    for split in SPLITS:
        (folder / f"split={split}").mkdir()
        pq.write_table(table(split), folder / f"split={split}" / "part-0.parquet")
    return named(folder, "parquet", "tabular", 2, missing=MISSING, group="table")


@tiny("parquet, images inside")
def parquet_images(folder: Path) -> Made:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbered(folder)
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    for split in SPLITS:
        cells = [{"bytes": picture_bytes(p), "path": f"{i}.png"} for i, p in enumerate(pictures(split))]
        made = pa.table({"image": pa.array(cells, kind), "label": labels_of(split)})
        pq.write_table(made, folder / f"{split}.parquet", row_group_size=8)
    return named(folder, "parquet", "image", 3, group="pictures")


@tiny("parquet, lists inside")
def parquet_lists(folder: Path) -> Made:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbered(folder)
    for split in SPLITS:
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(vectors(split).reshape(-1)), 4)
        pq.write_table(pa.table({"x": fixed, "y": labels_of(split)}), folder / f"{split}.parquet")
    return named(folder, "parquet", "embedding", 3, group="vectors")


def write_separated(path: Path, rows: Rows, delimiter: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, delimiter=delimiter, lineterminator="\n")
        writer.writerow(rows)
        writer.writerows(["" if v is None else v for v in row] for row in zip(*rows.values(), strict=True))


@tiny("csv")
def csv_files(folder: Path) -> Made:
    for split in SPLITS:
        write_separated(folder / f"{split}.csv", records(split), ",")
    return named(folder, "csv", "tabular", 2, missing=MISSING, group="table")


@tiny("tsv")
def tsv_files(folder: Path) -> Made:
    for split in SPLITS:
        write_separated(folder / f"{split}.tsv", records(split), "\t")
    return named(folder, "tsv", "tabular", 2, missing=MISSING, group="table")


@tiny("delimited")
def delimited_files(folder: Path) -> Made:
    for split in SPLITS:
        write_separated(folder / f"{split}.txt", records(split), "\t")
    return named(folder, "delimited", "tabular", 2, missing=MISSING, group="table")


@tiny("delimited, labels in a file of their own")
def blanks(folder: Path) -> Made:
    for split in SPLITS:
        rows = np.stack([np.asarray(picture, np.float64).mean((0, 1)) for picture in pictures(split)])
        np.savetxt(folder / f"X_{split}.txt", rows, fmt="%16.7e")
        np.savetxt(folder / f"y_{split}.txt", labels_of(split), fmt="%d")
    numbered(folder)
    return named(folder, "delimited", "tabular", 5)


@tiny("csv, labels in the order of the rows")
def csv_in_order(folder: Path) -> Made:
    for split in SPLITS:
        rows = records(split)
        write_separated(folder / f"y_{split}.csv", {"label": rows.pop("label")}, ",")
        write_separated(folder / f"X_{split}.csv", rows, ",")
    return named(folder, "csv", "tabular", 4, missing=MISSING, group="table")


@tiny("csv, labels by a key")
def csv_by_key(folder: Path) -> Made:
    for split in SPLITS:
        rows = records(split)
        n = len(rows["label"])
        keys = [f"{split}{i:04d}" for i in range(n)]
        backwards = {"sample_id": keys[::-1], "label": list(rows.pop("label"))[::-1]}
        write_separated(folder / f"{split}_labels.csv", backwards, ",")
        write_separated(folder / f"{split}_values.csv", {"sample_id": keys, **rows}, ",")
    return named(folder, "csv", "tabular", 4, missing=MISSING)


def dicts(rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]


@tiny("json")
def json_files(folder: Path) -> Made:
    for split in SPLITS:
        (folder / f"{split}.json").write_text(json.dumps(dicts(records(split))), encoding="utf-8")
    return named(folder, "json", "tabular", 2, missing=MISSING, group="table")


@tiny("jsonl")
def jsonl_files(folder: Path) -> Made:
    for split in SPLITS:
        lines = "".join(json.dumps(r) + "\n" for r in dicts(records(split)))
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return named(folder, "jsonl", "tabular", 2, missing=MISSING, group="table")


@tiny("jsonl, texts")
def jsonl_texts(folder: Path) -> Made:
    for split in SPLITS:
        pairs = zip(texts(split), labels_of(split), strict=True)
        lines = "".join(json.dumps({"text": t, "label": CLASSES[c]}) + "\n" for t, c in pairs)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return named(folder, "jsonl", "text", 2, group="texts")


def objects(split: str) -> list[dict[str, Any]]:
    """Records whose measurements lie in an object within each, and one of them in an object within that."""
    return [
        {"of": {"weight": r["weight"], "more": {"town": r["town"]}}, "age": r["age"], "label": r["label"]}
        for r in dicts(records(split))
    ]


OBJECTS_MISSING = {f"of.{name}": n for name, n in MISSING.items()}


@tiny("jsonl, objects")
def jsonl_objects(folder: Path) -> Made:
    for split in SPLITS:
        lines = "".join(json.dumps(r) + "\n" for r in objects(split))
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    return named(folder, "jsonl", "tabular", 2, missing=OBJECTS_MISSING, group="objects")


@tiny("parquet, objects")
def parquet_objects(folder: Path) -> Made:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for split in SPLITS:
        pq.write_table(pa.Table.from_pylist(objects(split)), folder / f"{split}.parquet", row_group_size=9)
    return named(folder, "parquet", "tabular", 2, missing=OBJECTS_MISSING, group="objects")


@tiny("arrow, file")
def arrow_file(folder: Path) -> Made:
    import pyarrow as pa

    for split in SPLITS:
        made = table(split)
        with pa.OSFile(str(folder / f"{split}.arrow"), "wb") as f, pa.ipc.new_file(f, made.schema) as writer:
            writer.write_table(made, max_chunksize=9)
    return named(folder, "arrow", "tabular", 2, missing=MISSING, group="table")


@tiny("arrow, stream")
def arrow_stream(folder: Path) -> Made:
    import pyarrow as pa

    for split in SPLITS:
        made = table(split)
        with pa.OSFile(str(folder / f"{split}.arrow"), "wb") as f, pa.ipc.new_stream(f, made.schema) as writer:
            writer.write_table(made, max_chunksize=9)
    return named(folder, "arrow", "tabular", 2, missing=MISSING, group="table")


@tiny("hf-disk")
def hf_disk(folder: Path) -> Made:
    import datasets

    datasets.disable_progress_bars()
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=list(CLASSES))})
    made = {}
    for split in SPLITS:
        cells = [{"bytes": picture_bytes(p), "path": None} for p in pictures(split)]
        made[split] = datasets.Dataset.from_dict({"image": cells, "label": labels_of(split)}, features=features)
    datasets.DatasetDict(made).save_to_disk(str(folder), num_shards={"train": 2, "test": 1})
    return named(folder, "hf-disk", "image", sum(p.is_file() for p in folder.rglob("*")), group="pictures")


@tiny("webdataset")
def webdataset(folder: Path) -> Made:
    numbered(folder)
    for split in SPLITS:
        with tarfile.open(folder / f"{split}-000000.tar", "w") as tar:
            for i, (pixels, c) in enumerate(zip(pictures(split), labels_of(split), strict=True)):
                for suffix, data in (("png", picture_bytes(pixels)), ("cls", str(c).encode())):
                    add_member(tar, f"{split}{i:04}.{suffix}", data)
    return named(folder, "webdataset", "image", 3, group="pictures")


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


@tiny("text")
def text_files(folder: Path) -> Made:
    for split in SPLITS:
        for path, text in zip(by_class(folder, split, ".txt"), texts(split), strict=True):
            path.write_text(text, encoding="utf-8")
    return named(folder, "text", "text", TOTAL, group="texts")


@tiny("lines")
def text_lines(folder: Path) -> Made:
    for split in SPLITS:
        (folder / f"{split}.txt").write_text("".join(f"{text}\n" for text in texts(split)), encoding="utf-8")
    return named(folder, "lines", "text", 2, classes={}, group="lines")


@tiny("lines, languages")
def parallel_lines(folder: Path) -> Made:
    for split in SPLITS:
        for language, end in (("de", " und mehr"), ("en", "")):
            lines = "".join(f"{text}{end}\n" for text in texts(split))
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return named(folder, "lines", "text", 4, classes={})


def wav(path: Path, sound: Any, rate: int = 8000) -> None:
    """Sound as 16-bit PCM, shape [frames] or [frames, channels]."""
    values = np.asarray(sound, "<i2")
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1 if values.ndim == 1 else values.shape[1])
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(values.tobytes())


@tiny("audio-folder")
def audio_folder(folder: Path) -> Made:
    rng = np.random.default_rng(13)
    for split in SPLITS:
        for path in by_class(folder, split, ".wav"):
            wav(path, rng.normal(0, 4000, int(rng.integers(300, 500))).clip(-30000, 30000))
    return named(folder, "audio-folder", "audio", TOTAL)


REFERENCE = """
import numpy as np

class Rows:
    classes = ["cat", "dog", "owl"]

    def __init__(self, n=30):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        label = 0 if i % 2 else 1 if i % 3 else 2
        return {"x": np.random.default_rng(i).normal(2, 3, 4).astype("float32"), "label": label}
"""


@tiny("reference")
def reference(folder: Path) -> Made:
    folder.mkdir(exist_ok=True)
    path = folder / "tiny_rows_of_a_user.py"
    path.write_text(REFERENCE, encoding="utf-8")
    classes = class_counts(["train"])
    return Made(
        f"{path}:Rows", folder, "reference", "embedding", samples=SPLITS["train"], files=0, classes=classes, code=True
    )
