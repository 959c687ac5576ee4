"""Opening a JASPER directory in one of its two formats; its tensors are read and checked once, and shared."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import torch

from dataloader_expert.loaders.jasper import hdf5
from dataloader_expert.loaders.jasper.hdf5 import newer_than
from dataloader_expert.loaders.jasper.integrity import check
from dataloader_expert.loaders.jasper.stored import KEYWORDS, NEGATIVES, TENSORS
from dataloader_expert.loaders.jasper.tables import Tables, read_tables

logger = logging.getLogger(__name__)


def chosen_format(directory: Path, asked: str) -> str:
    """``pt`` or ``hdf5``: as asked, else the newer one.

    A ``ValueError`` if the format is unknown, its files or h5py are missing, or HDF5, asked for or alone, is older than
    PT files.
    """
    if asked not in ("auto", "pt", "hdf5"):
        raise ValueError(f"Invalid storage_format {asked!r}; it is auto, pt or hdf5")
    archive, first = directory / hdf5.FILE, directory / "question_embs.pt"
    if asked == "hdf5":
        if not hdf5.available():
            raise ValueError("h5py is not installed: pip install 'dataloader-expert[hdf5]', or use storage_format='pt'")
        if not archive.exists():
            raise ValueError(f"HDF5 file not found: {archive}. Write it with convert_pt_to_hdf5, or use 'pt'")
        newer = newer_than(archive, directory)
        if newer:
            raise ValueError(
                f"{archive} is older than {', '.join(newer)}: run convert_pt_to_hdf5 again, or use storage_format='pt'"
            )
        return "hdf5"
    if asked == "auto" and archive.exists() and hdf5.available():
        newer = newer_than(archive, directory)
        if not newer:
            return "hdf5"
        if not first.exists():
            raise ValueError(
                f"{archive} is older than {', '.join(newer)}, and {first.name} is missing: put all PT files there and "
                "run convert_pt_to_hdf5, or remove the existing ones"
            )
        logger.warning("%s is older than %s: the PT files are read", archive, ", ".join(newer))
    if not first.exists():
        raise ValueError(f"No dataset files found in {directory}: neither question_embs.pt nor a readable {hdf5.FILE}")
    return "pt"


_opened: WeakValueDictionary[tuple[Any, ...], Tables] = WeakValueDictionary()


def identity(directory: Path, storage_format: str) -> tuple[Any, ...]:
    """The files by path, inode, size and modification time: if it is equal, nothing needs to be read again."""
    paths = (
        [directory / hdf5.FILE] if storage_format == "hdf5" else [directory / f"{n}.pt" for n in (*TENSORS, KEYWORDS)]
    )
    stats = [(p.name, *((s := p.stat()).st_ino, s.st_size, s.st_mtime_ns)) if p.exists() else (p.name,) for p in paths]
    return (str(directory.resolve()), *stats)


def open_tables(directory: Path, storage_format: str, mapped: bool, device: torch.device) -> tuple[Tables, bool]:
    """The tables of a directory, shared while somebody holds them, and whether they were read just now.

    ``mapped``: PT files are mapped into memory: pages come when touched, and the system may drop them again. A missing
    file is a ``FileNotFoundError``, a broken rule a ``ValueError``.
    """
    key = (*identity(directory, storage_format), storage_format, mapped, str(device))
    held = _opened.get(key)
    if held is not None:
        return held, False
    tables = read_tables(directory, storage_format, mapped)
    check(tables)
    if mapped:  # the check has touched every page: mapped anew, none is held
        tables = read_tables(directory, storage_format, mapped)
    if device.type != "cpu":
        tables = tables.on(device)
    _opened[key] = tables
    return tables, True


def with_negatives(tables: Tables, directory: Path, storage_format: str, negatives: Mapping[str, Any]) -> Tables:
    """The tables with other negatives, which were just read from ``directory``; all else is the same tensors.

    Who opens the directory next shares them, unless files other than those of the negatives were written as well.
    """
    changed = replace(tables, **negatives)
    for key, held in list(_opened.items()):
        now = (*identity(directory, storage_format), *key[-3:])
        if held is tables and _but_negatives(now) == _but_negatives(key):
            _opened[now] = changed
    return changed


def _but_negatives(key: tuple[Any, ...]) -> list[Any]:
    return [part for part in key if not (isinstance(part, tuple) and part[0].removesuffix(".pt") in NEGATIVES)]
