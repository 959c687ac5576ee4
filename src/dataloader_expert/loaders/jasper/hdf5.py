"""The same tensors in one HDF5 file, which is read fully and closed, so that no open file is pickled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dataloader_expert.loaders.jasper.atomic import replacing
from dataloader_expert.loaders.jasper.stored import TENSORS

FILE = "dataset.h5"
PATHS = {name: stored.place for name, stored in TENSORS.items()} | {
    "keyword_flat": "pair_data/keywords/flat",
    "keyword_ends": "pair_data/keywords/ends",
}
OLD_LISTS = "pair_data/keyword_ids"
"""Where older files have one small dataset per pair: read where there is nothing better, slow as that is."""


def available() -> bool:
    """Whether h5py is installed (extra ``hdf5``)."""
    return find_spec("h5py") is not None


def _file(path: Path, mode: str = "r") -> Any:
    import h5py

    return h5py.File(path, mode)


def newer_than(archive: Path, directory: Path) -> list[str]:
    """PT files written after ``archive``."""
    made = archive.stat().st_mtime_ns
    return sorted(p.name for p in directory.glob("*.pt") if p.stat().st_mtime_ns > made)


def read(path: Path, names: Iterable[str] | None = None) -> dict[str, torch.Tensor]:
    """The tensors of ``names`` (None: all); a ``ValueError`` if one is missing."""
    found = {}
    with _file(path) as file:
        for name in PATHS if names is None else names:
            if PATHS[name] in file:
                found[name] = _tensor(file[PATHS[name]])
            elif name in ("keyword_flat", "keyword_ends") and OLD_LISTS in file:
                if name not in found:
                    found.update(_old_lists(file[OLD_LISTS]))
            else:
                raise ValueError(f"{path} has no {PATHS[name]}: run convert_pt_to_hdf5 again")
    narrow = (torch.int8, torch.int16, torch.int32)
    return {n: t.to(torch.int64) if t.dtype in narrow else t for n, t in found.items()}


def splits(path: Path) -> list[str]:
    """The names of the splits that the file ``path`` holds."""
    with _file(path) as file:
        return list(file["splits"]) if "splits" in file else []


def read_split(path: Path, split: str) -> torch.Tensor:
    """Pair rows of a split, as stored."""
    with _file(path) as file:
        return _tensor(file[f"splits/{split}"])


def write(
    path: Path, tensors: Mapping[str, torch.Tensor], rows: Mapping[str, torch.Tensor], how: str | None, as_of: int
) -> None:
    """Writes all of :data:`PATHS` and the splits' ``rows``, compressed by ``how``; whole or not at all.

    ``as_of``, in nanoseconds, becomes the file's time of writing, so that what was written since then is newer.
    """
    named = {PATHS[name]: tensor for name, tensor in tensors.items()}
    named |= {f"splits/{split}": of_split for split, of_split in rows.items()}
    with replacing(path) as partial:
        with _file(partial, "w") as file:
            for place, tensor in named.items():
                values = tensor.cpu().numpy()
                file.create_dataset(place, data=values, compression=how if values.size else None)
        os.utime(partial, ns=(as_of, as_of))


def _tensor(dataset: Any) -> torch.Tensor:
    values = np.empty(dataset.shape, dataset.dtype)
    if values.size:
        dataset.read_direct(values)
    return torch.from_numpy(values)


def _old_lists(group: Any) -> dict[str, torch.Tensor]:
    rows = [np.asarray(group[str(i)], np.int64) for i in range(len(group))]
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    flat = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return {"keyword_flat": torch.from_numpy(flat), "keyword_ends": torch.from_numpy(ends)}
