"""An HDF5 file: opened safely, its arrays found without following a link, rows taken from them."""

from __future__ import annotations

import atexit
import re
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.arrays import Header, as_labels
from dataloader_expert.sources.bombs import DEFLATE_TIMES, no_inflation
from dataloader_expert.sources.files import Listing

FAILS = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""What h5py raises on damaged files."""
TEXT = "<U1"
NOT_READ = (
    "its type in HDF5 is not read: only numbers, texts, tables of these and rows of numbers of varying length are"
)
VARYING = -1
"""The length of an axis that differs from row to row."""


@dataclass(frozen=True)
class Stored:
    """An array in a file: its dataset, its column if that is a table, and how many rows are stored together.

    ``file``: the file that holds it, if another one holds the first fields of the same rows. ``scale``: whether it is declared to be
    the values along an axis of others, as the times of netCDF.
    """

    dataset: str
    column: str | None
    header: Header
    chunk: int
    file: str | None = None
    scale: bool = False


def row_bytes(array: Stored) -> int:
    """Bytes of a row as declared."""
    import numpy as np

    return int(np.dtype(array.header[0]).itemsize * np.prod(np.abs(array.header[1][1:])))


def opened(listing: Listing, path: str, problems: list[Unreadable]) -> Any:
    """The file through h5py; bytes after its end are added to ``problems``.

    Raises:
        Unreadable: ``empty-file``, ``truncated``, ``not-the-format`` or ``unreadable``.
    """
    import h5py

    held = listing.open(path)
    if not held.size:
        held.close()
        raise Unreadable("empty-file", "0 bytes", file=path)
    head = held.upto(0, 64)
    try:
        file = h5py.File(held, "r")
    except FAILS as e:
        held.close()
        text = str(e)
        code = "truncated" if "truncated file" in text else "unreadable"
        if "signature not found" in text:
            code, text = "not-the-format", f"begins with {head[:12]!r}"
        raise Unreadable(code, _said(text), file=path) from None
    end = end_of(head)
    if end is not None and held.size > end:
        problems.append(
            Unreadable("trailing-bytes", f"{held.size - end} bytes after the end of the HDF5 data", file=path)
        )
    _open.add(file)
    return file


_open: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close() -> None:
    """The library closes files that are left open after the interpreter has gone, through which it reads them: that crashes."""
    for file in list(_open):
        file.close()


def end_of(head: bytes) -> int | None:
    """Where the HDF5 data end, by the superblock (HDF5 File Format Specification, section II.A); None if that is not at the
    file's start or of an unusual size."""
    if head[:4] != b"\x89HDF" or len(head) < 64:
        return None
    version = head[8]
    at = {0: 40, 1: 44, 2: 28, 3: 28}.get(version)
    wide = head[13] if version in (0, 1) else head[9]
    return None if at is None or wide != 8 else int.from_bytes(head[at : at + 8], "little")


def walked(file: Any, name: str, problems: list[Unreadable], unread: dict[str, str]) -> dict[str, Stored]:
    """All arrays in the file, by path. What is damaged or leads elsewhere is added to ``problems``, what has a type that is not
    read to ``unread``.

    Raises:
        Unreadable: if the file's structure is damaged.
    """
    import h5py

    found: dict[str, Stored] = {}
    paths: set[str] = {""}
    links: list[tuple[str, str]] = []
    visited: set[int] = set()

    def visit(group: Any, path: str) -> None:
        address = h5py.h5o.get_info(group.id).addr
        if address in visited:
            return  # a hard link to a group that was visited
        visited.add(address)
        for key in group:
            inner = f"{path}/{key}" if path else key
            link = group.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                text = f"{escaped(inner)} is a link to {escaped(link.filename)}; not followed"
                problems.append(Unreadable("outside-root", text, file=name, field=inner))
            elif isinstance(link, h5py.SoftLink):
                links.append((inner, _target(path, link.path)))
            else:
                paths.add(inner)
                held: Any = None
                try:
                    held = group[key]
                    if isinstance(held, h5py.Dataset):
                        arrays = stored(held, inner, name)
                        found.update({key: array for key, array in arrays.items() if array is not None})
                        unread.update({key: NOT_READ for key, array in arrays.items() if array is None})
                except Unreadable as problem:
                    problems.append(problem)
                except FAILS as e:  # the others may be sound
                    text = f"{escaped(inner)}: {_said(str(e))}"
                    problems.append(Unreadable("unreadable", text, file=name, field=inner))
                if isinstance(held, h5py.Group):
                    visit(held, inner)

    try:
        visit(file, "")
    except RecursionError:
        raise Unreadable("bomb", "groups are nested too deeply", file=name) from None
    except FAILS as e:
        raise Unreadable("unreadable", _said(str(e)), file=name) from None
    paths |= {inner for inner, _ in links}
    for inner, target in links:
        if target not in paths:
            text = f"{escaped(inner)} is a link to {escaped(target)}, which the file does not contain"
        elif not target or inner.startswith(target + "/"):
            text = f"{escaped(inner)} is a link to a group that contains it"
        else:
            continue  # another name of what is read anyway
        problems.append(Unreadable("broken-link", text, file=name, field=inner))
    return found


def _target(path: str, link: str) -> str:
    """The path that a soft link in group ``path`` names, without slashes at its ends."""
    whole = link if link.startswith("/") else f"{path}/{link}"
    return "/".join(part for part in whole.split("/") if part not in ("", "."))


def stored(dataset: Any, path: str, name: str) -> dict[str, Stored | None]:
    """The arrays of a dataset: one, or one for each column of a table, None if its type is not read; none if it has no
    values.

    Raises:
        Unreadable: ``outside-root`` if its values are in other files, ``bomb`` if it claims far more than is stored.
    """
    import h5py

    if dataset.shape is None:
        return {}
    if dataset.external or dataset.is_virtual:
        text = f"{escaped(path)} takes its values from elsewhere (external storage, or a virtual dataset); not read"
        raise Unreadable("outside-root", text, file=name, field=path)
    kept, claimed = dataset.id.get_storage_size(), dataset.size * dataset.dtype.itemsize
    if dataset.chunks and kept:  # chunks that were never written are filled with one value, and take nothing
        claimed = min(claimed, dataset.id.get_num_chunks() * chunk_bytes(dataset))
    no_inflation(claimed, kept, f"dataset {escaped(path)}", name, DEFLATE_TIMES)
    shape, chunk = tuple(dataset.shape), dataset.chunks[0] if dataset.chunks else 1

    def header(dtype: Any) -> Header | None:
        if h5py.check_string_dtype(dtype) is not None:
            return TEXT, shape
        inner = h5py.check_vlen_dtype(dtype)
        if inner is not None:
            return (inner.str, (*shape, VARYING)) if len(shape) == 1 and inner.kind in "biuf" else None
        base, more = (dtype.base, dtype.shape) if dtype.subdtype else (dtype, ())
        return (base.str, (*shape, *more)) if base.kind in "biufc" else None

    columns = dataset.dtype.names or (None,)
    found: dict[str, Stored | None] = {}
    for column in columns:
        told = header(dataset.dtype if column is None else dataset.dtype[column])
        key = path if column is None else f"{path}.{column}"
        if told is not None:
            told = told[0], as_labels(key.rpartition("/")[2], told[0], told[1])
        found[key] = None if told is None else Stored(path, column, told, chunk, scale=h5py.h5ds.is_scale(dataset.id))
    return found


def chunk_bytes(dataset: Any) -> int:
    """Bytes of an inflated chunk."""
    import numpy as np

    return int(np.prod(dataset.chunks or (0,), dtype=np.float64)) * int(dataset.dtype.itemsize)


def taken(file: Any, arrays: Mapping[str, Stored], rows: slice, name: str, most: int) -> dict[str, Any]:
    """These rows of the arrays of one dataset, by key; texts and arrays of varying length as a list.

    Raises:
        Unreadable: ``checksum-mismatch`` if a chunk's checksum fails, ``unreadable`` if it cannot be read, or if over ``most``
            bytes would have to be held.
    """
    path = next(iter(arrays.values())).dataset
    place = escaped(path)
    try:
        dataset = file[path]
        picked = rows if dataset.shape else ()
        share = len(range(*rows.indices(dataset.shape[0]))) / max(1, dataset.shape[0]) if dataset.shape else 1.0
        needs = max(int(share * dataset.size * dataset.dtype.itemsize), chunk_bytes(dataset))
        if needs > most:
            text = f"dataset {place}: {needs:,} bytes must be read at once, but only {most:,} may be held; "
            text += "write smaller chunks, or raise --memory-limit"
            raise Unreadable("unreadable", text, file=name, field=path)
        columns = [array.column for array in arrays.values() if array.column is not None]
        if columns:
            table = dataset.fields(columns)[picked]
            values = {key: table[array.column] for key, array in arrays.items()}
        else:
            texts = {array.header[0] for array in arrays.values()} == {TEXT}
            values = dict.fromkeys(arrays, (dataset.asstr(errors="replace") if texts else dataset)[picked])
    except FAILS as e:
        said = _said(str(e))
        code = "unreadable"
        if "plugin" in said or "required filter" in said:
            said = "its compression filter is not installed (pip install hdf5plugin has most of them)"
        elif any(word in said for word in ("filter returned failure", "inflate", "checksum")):
            code = "checksum-mismatch"
        raise Unreadable(code, f"dataset {place}: {said}", file=name, field=path) from None
    return {key: _plain(value, arrays[key]) for key, value in values.items()}


def _plain(values: Any, array: Stored) -> Any:
    import numpy as np

    if array.header[0] == TEXT:
        texts = np.asarray(values, dtype=object)
        plain = [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in texts.reshape(-1).tolist()]
        return plain if texts.ndim == 1 else np.array(plain).reshape(texts.shape)
    if values.dtype == object:
        return list(values)
    wanted = array.header[1]
    return values.reshape(-1) if len(wanted) == 1 and values.ndim > 1 and VARYING not in wanted else values


def _said(text: str) -> str:
    """h5py's words without the addresses in front of them."""
    inner = re.search(r"\((.*)\)$", text.strip(), re.DOTALL)
    return escaped((inner.group(1) if inner else text).strip()[:160])
