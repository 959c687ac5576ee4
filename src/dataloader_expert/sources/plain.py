"""Readers in little but the standard library and numpy: their source is handed over, so that checks run without this package.

Each takes a file and yields its samples as dictionaries. They are strict only where that takes no code: the readers beside
this module see more. Every function imports what it needs, since it is read apart from this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dataloader_expert.sources.items import items_of

Sample = dict[str, Any]
ROWS = True
"""Whether files hold many samples, a row each, or one."""
PATHS: tuple[str, ...] = ()
MODULE, NAME = "", ""
ARGUMENTS: dict[str, Any] = {}
"""What a reference to a Dataset names, written above the functions that read it."""


def read_image(path: Path) -> Iterator[Sample]:
    import numpy as np
    from PIL import Image

    with Image.open(path) as image:
        image.load()  # an image that was cut off raises here
        yield {"image": np.asarray(image)}


def read_audio(path: Path) -> Iterator[Sample]:
    import wave

    import numpy as np

    if path.suffix.lower() != ".wav":
        import soundfile  # pip install soundfile

        yield {"audio": soundfile.read(path, always_2d=True)[0]}
        return
    with wave.open(str(path)) as sound:
        frames, width, channels = sound.getnframes(), sound.getsampwidth(), sound.getnchannels()
        data = sound.readframes(frames)
        if len(data) < frames * width * channels:
            raise ValueError(f"cut off: {len(data)} bytes of {frames * width * channels}")
        dtype = {1: "u1", 2: "<i2", 4: "<i4"}.get(width)
        values = np.frombuffer(data, dtype) if dtype else np.frombuffer(data, "u1")
        yield {"audio": values.reshape(frames, -1)}


def read_text(path: Path) -> Iterator[Sample]:
    yield {"text": path.read_text(encoding="utf-8-sig")}


def read_csv(path: Path) -> Iterator[Sample]:
    import csv

    def value(text: str | None) -> Any:
        if text is None or not text.strip():
            return None
        for number in (int, float):
            try:
                return number(text)
            except ValueError:
                continue
        return text

    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file, delimiter=delimiter, strict=True):
            if None in row:
                raise ValueError(f"a row has more cells than the header: {row[None]}")
            yield {name: value(text) for name, text in row.items()}


def read_jsonl(path: Path) -> Iterator[Sample]:
    import json

    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def read_json(path: Path) -> Iterator[Sample]:
    import json

    held = json.loads(path.read_text(encoding="utf-8-sig"))
    if isinstance(held, dict):
        held = next(v for v in held.values() if isinstance(v, list))
    yield from held


def read_parquet(path: Path) -> Iterator[Sample]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


def read_arrow(path: Path) -> Iterator[Sample]:
    import pyarrow as pa

    try:
        opened = pa.ipc.open_file(str(path))
    except pa.ArrowInvalid:
        opened = pa.ipc.open_stream(str(path))
    yield from opened.read_all().to_pylist()


def read_npz(path: Path) -> Iterator[Sample]:
    import numpy as np

    with np.load(path, allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    yield from rows_of(arrays)


def read_pt(path: Path) -> Iterator[Sample]:
    import torch

    held = torch.load(path, weights_only=True, map_location="cpu")
    yield from rows_of({name: value.numpy() for name, value in held.items()})


def read_safetensors(path: Path) -> Iterator[Sample]:
    from safetensors.numpy import load_file  # pip install safetensors

    yield from rows_of(load_file(path))


def rows_of(arrays: Sample) -> Iterator[Sample]:
    """One sample a row where files hold many and all arrays have as many rows; else the file is one sample."""
    lengths = {len(array) if getattr(array, "ndim", 0) else None for array in arrays.values()}
    if not ROWS or len(lengths) > 1 or None in lengths or not arrays:
        yield arrays
        return
    for i in range(lengths.pop() or 0):
        yield {name: array[i] for name, array in arrays.items()}


def read_webdataset(path: Path) -> Iterator[Sample]:
    import io
    import json
    import tarfile

    import numpy as np
    from PIL import Image

    def value(suffix: str, data: bytes) -> Any:
        if suffix in ("jpg", "jpeg", "png", "webp", "bmp", "gif"):
            with Image.open(io.BytesIO(data)) as image:
                image.load()
                return np.asarray(image)
        if suffix == "npy":
            return np.load(io.BytesIO(data), allow_pickle=False)
        if suffix == "json":
            return json.loads(data)
        return int(data) if suffix in ("cls", "index") else data.decode() if suffix in ("txt", "text") else data

    with tarfile.open(path) as archive:
        key, sample = None, Sample()
        for member in archive:
            if not member.isfile():
                continue
            folder, _, name = member.name.rpartition("/")
            stem, _, suffix = name.partition(".")
            if (folder, stem) != key and sample:
                yield sample
                sample = Sample()
            key = (folder, stem)
            held = archive.extractfile(member)
            assert held is not None
            sample[suffix.lower()] = value(suffix.lower().rpartition(".")[2], held.read())
        if sample:
            yield sample


def read_dataset(path: Path) -> Iterator[Sample]:
    import importlib
    import sys

    sys.path[:0] = [p for p in PATHS if p not in sys.path]
    named = getattr(importlib.import_module(MODULE), NAME)
    plain_object = not isinstance(named, type) and hasattr(
        named, "__getitem__" if hasattr(named, "__len__") else "__iter__"
    )
    made = named if plain_object else named(**ARGUMENTS)
    dataset = made.dataset if hasattr(made, "batch_sampler") else made
    for i in range(len(dataset)):
        yield {name: value.numpy() if hasattr(value, "numpy") else value for name, value in items_of(dataset[i])}
