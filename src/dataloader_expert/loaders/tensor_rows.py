"""Tensors as datasets that are gathered by the batch rather than sample by sample."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import Subset, TensorDataset, get_worker_info

from dataloader_expert.loaders.collate import Gathered
from dataloader_expert.samplers.base import IndexSampler, portions


class TensorRows(TensorDataset):
    """A ``TensorDataset`` that gathers a batch at a time, from tensors [N, …] whose memory it shares; none: no samples."""

    def __init__(self, *tensors: torch.Tensor) -> None:
        super().__init__(*(tensors or (torch.empty(0),)))

    def __getitems__(self, indices: Any) -> Gathered:
        """Rows ``indices`` as one batch: a list, in which negative ones count from the end, or an array."""
        at = np.asarray(indices)
        if isinstance(indices, list) and indices and min(indices) < 0:
            at = np.where(at < 0, at + len(self), at)
        rows = torch.from_numpy(at)
        return Gathered([_gathered(tensor, rows) for tensor in self.tensors], len(rows))


def _gathered(tensor: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """``tensor[rows]``; in a worker in shared memory, as torch's collation does, so that it is sent without a copy."""
    if tensor.device.type != "cpu" or get_worker_info() is None or not tensor.numel() or tensor.requires_grad:
        return tensor.index_select(0, rows.to(tensor.device))
    count = len(rows) * tensor[0].numel()
    shared = torch.UntypedStorage._new_shared(count * tensor.element_size())  # type: ignore[no-untyped-call]  # torch's own
    out = torch.empty(0, dtype=tensor.dtype).set_(shared).view(len(rows), *tensor.shape[1:])
    return torch.index_select(tensor, 0, rows, out=out)


def stacked(tensors: list[torch.Tensor]) -> TensorRows:
    """Tensors of one shape and dtype as a dataset of one-tuples."""
    kinds = {f"{list(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in tensors}
    if len(kinds) > 1:
        raise ValueError(
            f"a list of tensors of several shapes or dtypes: {', '.join(sorted(kinds)[:4])}; pass a collate function that "
            "pads them, or dictionaries and CollatorRegistry.get_instance().get_collator(collator_name='sequence')"
        )
    return TensorRows(torch.stack(tensors)) if tensors else TensorRows()


def by_batch(dataset: Any) -> Any:
    """The same dataset, read by the batch if it is a ``TensorDataset`` or a ``Subset`` of one."""
    if type(dataset) is Subset and type(dataset.dataset) is TensorDataset:
        return Subset(by_batch(dataset.dataset), dataset.indices)
    return TensorRows(*dataset.tensors) if type(dataset) is TensorDataset else dataset


class Slices:
    """The batches of an epoch as arrays of indices, which are cheaper to make, send and gather than lists."""

    def __init__(self, sampler: IndexSampler, size: int, drop_last: bool) -> None:
        self.sampler, self.size, self.drop_last = sampler, size, drop_last

    def __len__(self) -> int:
        return portions(len(self.sampler), self.size, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        rest: Any = None
        for block in self.sampler.blocks():
            whole = block if rest is None else np.concatenate([rest, block])
            end = len(whole) - len(whole) % self.size
            for at in range(0, end, self.size):
                yield whole[at : at + self.size]
            rest = whole[end:] if end < len(whole) else None
        if rest is not None and not self.drop_last:
            yield rest


def gathers(dataset: Any) -> bool:
    """Whether ``dataset`` is :class:`TensorRows` or a ``Subset`` of it."""
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return isinstance(dataset, TensorRows)
