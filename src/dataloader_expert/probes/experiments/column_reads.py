"""Records the columns that the user's code reads with pyarrow and the datasets that it reads with h5py, and withholds
some.

The libraries' methods are patched for a limited time, in this process and in those forked meanwhile; a library that the
user's code has not imported is not imported here. Reads that bypass them (C++ scanners, memory maps) are not seen.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

PARQUET_FILE = ("read", "read_row_group", "read_row_groups", "iter_batches")
ARROW_FILE = ("get_batch", "get_record_batch", "read_all")
MAGIC = {"Parquet": b"PAR1", "Arrow": b"ARROW1"}


@dataclass(frozen=True)
class Read:
    """A call that read these columns. ``again`` reads the same rows with some of them; None if that is not possible."""

    format: str
    columns: tuple[str, ...]
    seconds: float
    file: str = ""
    again: Callable[[frozenset[str]], Any] | None = None


@dataclass
class ColumnWatch:
    """``without``: columns withheld from the user's code; ``live``: files are identified and calls can be repeated."""

    without: frozenset[str] = frozenset()
    live: bool = False
    reads: list[Read] = field(default_factory=list)

    def table(self, found: Any, kind: str, seconds: float, file: str, again: Any) -> Any:
        """Records the columns of a table or record batch; returns it without those withheld."""
        names = tuple(found.schema.names)
        self.reads.append(Read(kind, names, seconds, file, again))
        left = [n for n in names if n not in self.without]
        return found if len(left) == len(names) else found.select(left)

    @contextmanager
    def watching(self) -> Iterator[None]:
        put: list[tuple[Any, str, Any]] = []
        try:
            for kind, name, wrap in _methods(self):
                put.append((kind, name, kind.__dict__.get(name)))
                setattr(kind, name, wrap(getattr(kind, name)))
            yield
        finally:
            for kind, name, own in put:
                if own is None:  # inherited
                    delattr(kind, name)
                else:
                    setattr(kind, name, own)


def watchable() -> bool:
    """Whether the user's code has imported any of the libraries."""
    return any(name in sys.modules for name in ("pyarrow.parquet.core", "pyarrow.ipc", "h5py"))


def _methods(watch: ColumnWatch) -> Iterator[tuple[Any, str, Any]]:
    """Classes, method names, and factories of the replacement methods."""
    parquet, ipc, h5 = (sys.modules.get(name) for name in ("pyarrow.parquet.core", "pyarrow.ipc", "h5py"))
    if parquet is not None:
        for name in PARQUET_FILE:
            yield parquet.ParquetFile, name, lambda plain: _of_tables(watch, plain, "Parquet", _parquet_again)
        yield parquet.ParquetDataset, "read", lambda plain: _of_tables(watch, plain, "Parquet", _parquet_again)
    if ipc is not None:
        for name in ARROW_FILE:
            yield ipc.RecordBatchFileReader, name, lambda plain: _of_tables(watch, plain, "Arrow", _arrow_again)
    if h5 is not None:
        yield h5.Dataset, "__getitem__", lambda plain: _of_datasets(watch, plain)


def _of_tables(watch: ColumnWatch, plain: Any, kind: str, make_again: Any) -> Any:
    def read(self: Any, *args: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        found = plain(self, *args, **named)
        file = file_of(self, kind) if watch.live else ""
        again = make_again(plain, self, args, named, file) if watch.live else None
        if hasattr(found, "__next__"):
            return _each(watch, found, kind, file, again)
        return watch.table(found, kind, time.perf_counter() - begun, file, again)

    return read


def _each(watch: ColumnWatch, batches: Iterator[Any], kind: str, file: str, again: Any) -> Iterator[Any]:
    while True:
        begun = time.perf_counter()
        batch = next(batches, None)
        if batch is None:
            return
        yield watch.table(batch, kind, time.perf_counter() - begun, file, again)


def _parquet_again(plain: Any, reader: Any, args: Any, named: Any, file: str) -> Any:
    if not file:
        return None
    given, opened = inspect.signature(plain).bind(reader, *args, **named).arguments, [reader]

    def again(keep: frozenset[str]) -> Any:
        if getattr(opened[0], "closed", False):  # the user's code has closed it
            opened[0] = type(reader)(file)
        found = plain(**{**given, "self": opened[0], "columns": sorted(keep)})
        return next(found, None) if hasattr(found, "__next__") else found

    return again


def _arrow_again(plain: Any, reader: Any, args: Any, named: Any, file: str) -> Any:
    """For Arrow files the columns to read are set when the file is opened."""
    if not file:
        return None
    import pyarrow as pa

    names, mapped = reader.schema.names, file in _mapped()
    opened: dict[frozenset[str], Any] = {}

    def again(keep: frozenset[str]) -> Any:
        if keep not in opened:
            included = [i for i, name in enumerate(names) if name in keep]
            source = pa.memory_map(file) if mapped else pa.OSFile(file)
            opened[keep] = type(reader)(source, options=pa.ipc.IpcReadOptions(included_fields=included))
        return plain(opened[keep], *args, **named)

    return again


def _of_datasets(watch: ColumnWatch, plain: Any) -> Any:
    def read(self: Any, *args: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        found, name = plain(self, *args, **named), str(self.name)
        took = time.perf_counter() - begun
        again = (lambda keep: plain(self, *args, **named) if name in keep else None) if watch.live else None
        watch.reads.append(Read("HDF5", (name,), took, str(self.file.filename), again))
        return other_than(found) if name in watch.without else found

    return read


def other_than(value: Any) -> Any:
    """Different numbers of the same dtype and shape: a sample that stays the same has not used them. They differ from the others by no constant and
    no factor, which a sample that is standardised loses."""
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "iufc":
            by = np.random.default_rng(0).integers(1, 100, value.shape).astype(value.dtype)
            with np.errstate(all="ignore"):
                known = np.nan_to_num(value)
                return (known + by * (1 + abs(known) if value.dtype.kind in "fc" else 1)).astype(value.dtype)
        return np.logical_not(value) if value.dtype.kind == "b" else np.zeros_like(value)
    return type(value)()


def file_of(reader: Any, kind: str) -> str:
    """The file behind a reader: as its dataset names it, else the only open file with the same metadata."""
    files = getattr(reader, "files", None)
    if files is not None:
        return str(files[0]) if len(files) == 1 else os.path.commonpath(files)
    alike = [path for path in _open_files() if _begins(path, MAGIC[kind]) and _alike(reader, path, kind)]
    return alike[0] if len(alike) == 1 else ""


def _alike(reader: Any, path: str, kind: str) -> bool:
    import pyarrow as pa

    with suppress(pa.ArrowException, OSError):
        if kind == "Parquet":
            with type(reader)(path) as other:
                return bool(other.metadata.equals(reader.metadata))
        with pa.memory_map(path) as source:
            arrow = type(reader)(source)
            same = arrow.num_record_batches == reader.num_record_batches
            return bool(same and arrow.schema.equals(reader.schema))
    return False


def _begins(path: str, magic: bytes) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        return file.read(len(magic)) == magic
    return False


def _open_files() -> list[str]:
    found = list(_mapped())
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return [path for path in dict.fromkeys(found) if os.path.isfile(path)]


def _mapped() -> set[str]:
    """Data files that are mapped into this process's memory."""
    with suppress(OSError), open("/proc/self/maps") as file:
        parts = [line.split(maxsplit=5) for line in file]
        return {p[5].strip() for p in parts if len(p) > 5 and p[5].startswith("/") and ".so" not in p[5]}
    return set()
