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


def write_tables(folder: Path, columns: int = 24, rows: int = 4000, group: int = 500) -> Path:
    """One table of vectors and a label as Parquet, Arrow and HDF5, of which a sample needs two columns."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    values = {f"f{i}": rng.random((rows, 8)).astype(np.float32) for i in range(columns)}
    arrays = {n: pa.FixedSizeListArray.from_arrays(pa.array(v.reshape(-1)), 8) for n, v in values.items()}
    table = pa.table({**arrays, "label": rng.integers(0, 4, rows)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=group)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(folder / "rows.arrow"), table.schema, options=options) as file:
        file.write_table(table, max_chunksize=group)
    with h5py.File(folder / "rows.h5", "w") as file:
        for name, value in values.items():
            file[name] = value
        file["label"] = table["label"].to_numpy()
    return folder


class ReadsRows(Dataset[Any]):
    """Reads a group of rows for each sample, or those ``columns`` of it, and gives a vector and a label."""

    def __init__(self, folder: str, columns: list[str] | None = None, n: int = 4000, group: int = 500) -> None:
        self.folder, self.columns, self.n, self.group = folder, columns, n, group

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        table, row = self.read(index // self.group), index % self.group
        return torch.tensor(table.column("f3")[row].as_py()), table.column("label")[row].as_py()

    def read(self, group: int) -> Any:
        raise NotImplementedError


class ParquetRows(ReadsRows):
    """The file is opened once in each process."""

    file: Any = None

    def read(self, group: int) -> Any:
        import pyarrow.parquet as pq

        self.file = self.file or pq.ParquetFile(f"{self.folder}/rows.parquet")
        return self.file.read_row_group(group, columns=self.columns)


class ParquetRowsKept(ParquetRows):
    """The last group is kept: most samples of a run of neighbours read nothing."""

    kept: tuple[int, Any] = (-1, None)

    def read(self, group: int) -> Any:
        if self.kept[0] != group:
            self.kept = group, super().read(group)
        return self.kept[1]


class ParquetClosed(ReadsRows):
    """The file is opened and closed for each sample."""

    def read(self, group: int) -> Any:
        import pyarrow.parquet as pq

        with pq.ParquetFile(f"{self.folder}/rows.parquet") as file:
            return file.read_row_group(group, columns=self.columns)


class ArrowRows(ReadsRows):
    def read(self, group: int) -> Any:
        import pyarrow as pa

        names = None if self.columns is None else [0, 1] if self.columns == ["f0", "f1"] else [3, 24]
        options = pa.ipc.IpcReadOptions(included_fields=names)
        with pa.OSFile(f"{self.folder}/rows.arrow") as file:
            return pa.ipc.open_file(file, options=options).get_batch(group)


class Hdf5Rows(ReadsRows):
    """Every dataset of the file is read for a sample, or ``columns``."""

    file: Any = None

    def __getitem__(self, index: int) -> Any:
        import h5py

        self.file = self.file or h5py.File(f"{self.folder}/rows.h5")
        row = {name: self.file[name][index] for name in self.columns or self.file}
        return {"x": torch.from_numpy(row["f3"]), "y": int(row["label"])}


class TableInMemory(ReadsRows):
    """The whole table is read when the dataset is made."""

    def __init__(self, folder: str) -> None:
        import pyarrow.parquet as pq

        super().__init__(folder)
        self.table = pq.read_table(f"{folder}/rows.parquet")

    def read(self, group: int) -> Any:
        return self.table.slice(group * self.group, self.group)
