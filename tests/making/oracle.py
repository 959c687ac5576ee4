"""Statistics by numpy alone: reads every format with its own library and shares no line with what it judges.

``read`` gives the values of each field, or of each ``(field, channel)`` of pictures, as one flat array; texts
by their length; absent values left out.
"""

from __future__ import annotations

import csv
import io
import json
import tarfile
import wave
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

Key = str | tuple[str, str]
Values = dict[Key, Any]
QUANTILES = (1, 5, 25, 50, 75, 95, 99)
ABSENT = {"", "NA"}


def statistics(values: Any) -> dict[str, float | None]:
    """The contract's numbers of a flat array."""
    x = np.asarray(values, np.float64)
    x, nan, inf = x[np.isfinite(x)], int(np.isnan(x).sum()), int(np.isinf(x).sum())
    near = x - x[0]  # a large common offset would cost the moments their digits
    mean, std = x[0] + near.mean(), near.std()
    off = near - near.mean()
    flat = x.min() == x.max()
    out: dict[str, float | None] = {
        "n": x.size,
        "mean": float(mean),
        "std": 0.0 if flat else float(std),
        "min": float(x.min()),
        "max": float(x.max()),
        "skewness": None if flat else float((off**3).mean() / std**3),
        "kurtosis": None if flat else float((off**4).mean() / std**4 - 3),
        "zeros": int((x == 0).sum()),
        "nan": nan,
        "inf": inf,
    }
    levels = np.quantile(x, [q / 100 for q in QUANTILES])
    return {**out, **{f"p{q}": float(v) for q, v in zip(QUANTILES, levels, strict=True)}}


def read(format: str, files: list[Path]) -> Values:
    """All values of the files of one data set."""
    parts: dict[Key, list[Any]] = {}
    for file in files:
        for key, values in READERS[format](file):
            parts.setdefault(key, []).append(np.asarray(values).reshape(-1))
    return {key: np.concatenate(of) for key, of in parts.items()}


Found = Iterator[tuple[Key, Any]]


def channels(name: str, pixels: Any) -> Found:
    """The channels of pictures, shape [..., channels] after conversion to RGB."""
    for i, color in enumerate(("red", "green", "blue")):
        yield (name, color), pixels[..., i]


def picture(name: str, data: bytes) -> Found:
    yield from channels(name, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


def images(file: Path) -> Found:
    yield from picture("image", file.read_bytes())


def texts(file: Path) -> Found:
    yield "text", [len(file.read_bytes().decode("utf-8"))]


def sounds(file: Path) -> Found:
    with wave.open(str(file), "rb") as f:
        yield "audio", np.frombuffer(f.readframes(f.getnframes()), "<i2")
        yield "sample_rate", [f.getframerate()]


def arrays(named: Iterable[tuple[str, Any]]) -> Found:
    for name, value in named:
        if value.dtype == np.uint8 and value.ndim == 4 and value.shape[-1] == 3:
            yield from channels(name, value)
        elif value.dtype == np.uint8 and value.ndim == 3:
            yield (name, "gray"), value
        elif value.dtype.kind == "U":
            yield name, [len(v) for v in value.tolist()]
        else:
            yield name, value


def npz(file: Path) -> Found:
    with np.load(file, allow_pickle=False) as held:
        yield from arrays((name, held[name]) for name in held.files)


def npy(file: Path) -> Found:
    yield from arrays([("data", np.load(file, allow_pickle=False))])


def pt(file: Path) -> Found:
    import torch

    yield from arrays((name, value.numpy()) for name, value in torch.load(file, weights_only=True).items())


def safetensors(file: Path) -> Found:
    from safetensors.numpy import load_file

    yield from arrays(load_file(file).items())


def hdf5(file: Path) -> Found:
    import h5py

    with h5py.File(file) as held:
        yield from arrays((name, held[name][()]) for name in held)


def cells(rows: Iterable[dict[str, Any]]) -> Found:
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                columns.setdefault(name, []).append(value)
    for name, values in columns.items():
        if isinstance(values[0], str):
            yield name, [len(v) for v in values]
        else:
            yield name, np.asarray([np.asarray(v).reshape(-1) for v in values], np.float64)


def number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


def separated(delimiter: str, quoting: Literal[0, 1, 2, 3], header: bool) -> Callable[[Path], Found]:
    def columns(file: Path) -> Found:
        with file.open(encoding="utf-8", newline="") as f:
            rows = list(csv.reader(f, delimiter=delimiter, quoting=quoting))
        names = rows.pop(0) if header else [f"f{i}" for i in range(len(rows[0]))]
        for i, name in enumerate(names):
            kept = [row[i] for row in rows if row[i] not in ABSENT]
            if all(isinstance(number(c), float) for c in kept):
                yield name, [number(c) for c in kept]
            else:
                yield name, [len(c) for c in kept]

    return columns


def jsonl(file: Path) -> Found:
    yield from cells(json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line)


def json_(file: Path) -> Found:
    yield from cells(json.loads(file.read_text(encoding="utf-8")))


def columns(table: Any) -> Found:
    for name in table.column_names:
        values = [v for v in table[name].to_pylist() if v is not None]
        if isinstance(values[0], dict):
            for value in values:
                yield from picture(name, value["bytes"])
        elif hasattr(values[0], "timestamp"):
            yield name, table[name].cast("int64").to_numpy() / 1e6
        else:
            yield from cells({name: v} for v in values)


def parquet(file: Path) -> Found:
    import pyarrow.parquet as pq

    yield from columns(pq.ParquetFile(file).read())


def arrow(file: Path) -> Found:
    import pyarrow as pa

    data = file.read_bytes()
    opened = pa.ipc.open_file if data.startswith(b"ARROW1") else pa.ipc.open_stream
    with opened(data) as reader:
        yield from columns(reader.read_all())


def tar(file: Path) -> Found:
    with tarfile.open(file) as held:
        for member in held:
            suffix = member.name.rpartition(".")[2]
            opened = held.extractfile(member)
            assert opened is not None
            if suffix == "cls":
                yield suffix, [int(opened.read())]
            else:
                yield from picture(suffix, opened.read())


READERS: dict[str, Callable[[Path], Found]] = {
    "image-folder": images,
    "text": texts,
    "audio-folder": sounds,
    "npz": npz,
    "npy": npy,
    "pt": pt,
    "safetensors": safetensors,
    "hdf5": hdf5,
    "csv": separated(",", csv.QUOTE_MINIMAL, True),
    "tsv": separated("\t", csv.QUOTE_NONE, False),
    "tsv, with a header": separated("\t", csv.QUOTE_MINIMAL, True),
    "jsonl": jsonl,
    "json": json_,
    "parquet": parquet,
    "arrow": arrow,
    "hf-disk": arrow,
    "webdataset": tar,
}
