"""A JASPER directory's tensors: which files hold them, in which of two formats, and opened once for all who read."""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from dataloader_expert.loaders.jasper import hdf5
from dataloader_expert.loaders.jasper.artifacts import load_tensor_artifact, require_shape
from dataloader_expert.loaders.jasper.stored import KEYWORDS, NEGATIVES, SPLITS, STEERING, TENSORS
from dataloader_expert.samplers.rules import position


class KeywordLists(Sequence[list[int]]):
    """Keyword rows per pair, kept as one flat tensor: no million of Python lists that workers would copy on touch.

    ``flat`` holds all, int64 [all]; ``ends`` where each pair's end, int64 [pairs].
    """

    def __init__(self, flat: torch.Tensor, ends: torch.Tensor) -> None:
        self.flat, self.ends = flat, ends

    @staticmethod
    def of(lists: Any) -> KeywordLists:
        """Lists of keyword rows, one per pair, laid end to end; a ``ValueError`` if they are not lists of ``int``."""
        kinds = {type(row) for row in lists} if isinstance(lists, list) else {None}
        if not kinds <= {list} or not {type(k) for row in lists for k in row} <= {int}:
            raise ValueError(f"{KEYWORDS} must hold a list of lists of keyword rows, which are integers")
        sizes = torch.tensor([len(row) for row in lists], dtype=torch.int64)
        flat = torch.tensor([k for row in lists for k in row], dtype=torch.int64)
        return KeywordLists(flat, torch.cumsum(sizes, 0))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = position(index, len(self))
        return self.flat[int(self.ends[at - 1]) if at else 0 : int(self.ends[at])].tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # equal to lists, so unhashable as they are


@dataclass(frozen=True, eq=False)
class Tables:
    """Embeddings float [rows, D], one row per pair in all others; see :data:`TENSORS`.

    ``steering`` holds centroid, keyword and residual vectors and one row of zeros, [3 * pairs + 1, D]; None where
    they are mapped from files, which cannot be laid end to end.
    """

    question_embs: torch.Tensor
    source_embs: torch.Tensor
    keyword_embs: torch.Tensor
    centroid_embs: torch.Tensor
    pair_index: torch.Tensor
    pair_cluster_id: torch.Tensor
    pair_relevance: torch.Tensor
    hard_negatives: torch.Tensor
    negative_tiers: torch.Tensor
    steering_centroid: torch.Tensor
    steering_keyword_weighted: torch.Tensor
    steering_residual: torch.Tensor
    centroid_distances: torch.Tensor
    pair_keyword_ids: KeywordLists
    steering: torch.Tensor | None = None

    def tensors(self) -> dict[str, torch.Tensor]:
        """Each of :data:`TENSORS`."""
        return {name: getattr(self, name) for name in TENSORS}

    def steered(self) -> tuple[torch.Tensor, ...]:
        """The steering vectors of variants 1 to 3, [pairs, D] each."""
        return self.steering_centroid, self.steering_keyword_weighted, self.steering_residual

    def on(self, device: torch.device) -> Tables:
        """All tensors on ``device``; steering there is again one tensor and its three views."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        steering = _laid_end_to_end({name: moved.pop(name) for name in STEERING})
        lists = KeywordLists(self.pair_keyword_ids.flat.to(device), self.pair_keyword_ids.ends.to(device))
        return replace(self, **moved, **steering, pair_keyword_ids=lists)

    def __getstate__(self) -> dict[str, Any]:
        """Without the views of ``steering``: a pickle of a view holds all that it is a view of."""
        return {k: v for k, v in vars(self).items() if self.steering is None or k not in STEERING}

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = state["steering"]
        vars(self).update(state if whole is None else state | _views(whole, (len(whole) - 1) // len(STEERING)))

    def bytes(self) -> int:
        """Held by the tensors, in bytes."""
        lists = self.pair_keyword_ids
        return lists.flat.nbytes + lists.ends.nbytes + sum(tensor.nbytes for tensor in self.tensors().values())


def read_tables(directory: Path, storage_format: str, mapped: bool) -> Tables:
    """The tensors of a JASPER directory, from ``"hdf5"`` or ``"pt"`` files; of the latter mapped into memory if asked."""
    if storage_format == "hdf5":
        stored = hdf5.read(directory / hdf5.FILE)
        lists = KeywordLists(*(_integers(stored[name], name) for name in ("keyword_flat", "keyword_ends")))
        read = {name: _shaped(stored[name], name) for name in TENSORS}
    else:
        read = {name: _tensor(directory, name, mapped) for name in TENSORS}
        lists = KeywordLists.of(load_tensor_artifact(directory, f"{KEYWORDS}.pt"))
    parts = {name: read.pop(name) for name in STEERING}
    whole = parts if mapped else _laid_end_to_end(parts)
    return Tables(**read, **whole, pair_keyword_ids=lists)


def read_negatives(directory: Path, storage_format: str) -> dict[str, torch.Tensor]:
    """Hard negatives and their tiers alone, from whichever of the two formats is newer."""
    archive, files = directory / hdf5.FILE, {f"{name}.pt" for name in NEGATIVES}
    if storage_format == "hdf5" and files.isdisjoint(hdf5.newer_than(archive, directory)):
        return {name: _shaped(tensor, name) for name, tensor in hdf5.read(archive, NEGATIVES).items()}
    return {name: _tensor(directory, name, mapped=False) for name in NEGATIVES}


def read_split(directory: Path, split: str, storage_format: str) -> torch.Tensor:
    """Pair rows of a split, int64 [split]: from its own file, or from the HDF5 file, which is enough by itself.

    A ``ValueError`` if there is no such split, or it is not one-dimensional.
    """
    path = directory / f"{split}_idx.pt"
    if storage_format == "hdf5" and split in hdf5.splits(directory / hdf5.FILE):
        return _integers(hdf5.read_split(directory / hdf5.FILE, split).view(-1), f"splits/{split}")
    if not path.exists():
        raise ValueError(f"Split file not found: {path}. Valid splits are: {', '.join(SPLITS)}")
    rows = load_tensor_artifact(directory, path.name, expected_shape=(None,))
    return _integers(rows, path.name)


def read_config(directory: Path) -> dict[str, Any]:
    """``config.json`` of a directory; a ``ValueError`` if either is missing, or the file is not a JSON object."""
    if not directory.is_dir():
        raise ValueError(f"Dataset directory not found: {directory}")
    path = directory / "config.json"
    if not path.exists():
        raise ValueError(f"Config file not found: {path}")
    config = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds {type(config).__name__}; a JSON object with embedding_dim and n_neg is needed")
    return config


def is_jasper(directory: Path, format: str | None) -> bool:
    """A JASPER directory, or what is to be one: its files, or a ``config.json`` of it, tell it from any other folder.

    A path that is not there is taken for one, unless it is a pattern or names a file.
    """
    if format is not None or directory.is_file():
        return False
    if not directory.exists():
        return not (glob.has_magic(str(directory)) or directory.suffix)
    if any((directory / name).exists() for name in ("question_embs.pt", "train_idx.pt")):
        return True
    try:
        config = read_config(directory)
    except ValueError:
        return False
    return bool({"embedding_dim", "n_neg", "steering_probabilities"} & config.keys())


def _tensor(directory: Path, name: str, mapped: bool) -> torch.Tensor:
    return _shaped(load_tensor_artifact(directory, f"{name}.pt", mmap=mapped), name, f"{name}.pt")


def _shaped(tensor: torch.Tensor, name: str, told: str | None = None) -> torch.Tensor:
    """A tensor of the table's shape and kind; messages call it ``told``."""
    stored = TENSORS[name]
    require_shape(tensor, told or name, stored.shape)
    return _integers(tensor, name) if stored.holds == "integers" else tensor


def _integers(tensor: torch.Tensor, name: str) -> torch.Tensor:
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} is {tensor.dtype}; it holds row numbers or codes, which are integers")
    return tensor.to(torch.int64)


def _laid_end_to_end(parts: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The three steering tensors as views of one, with a row of zeros after them: one gather serves all variants."""
    if len({(tensor.shape, tensor.dtype) for tensor in parts.values()}) > 1:
        return parts  # the check of integrity says what is wrong
    first = parts[STEERING[0]]
    rows, width = first.shape
    whole = torch.zeros((3 * rows + 1, width), dtype=first.dtype, device=first.device)
    views = _views(whole, rows)
    for name, view in views.items():
        view.copy_(parts[name])
    return {"steering": whole, **views}


def _views(whole: torch.Tensor, rows: int) -> dict[str, torch.Tensor]:
    return {name: whole[i * rows : (i + 1) * rows] for i, name in enumerate(STEERING)}
