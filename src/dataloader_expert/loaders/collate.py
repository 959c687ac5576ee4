"""Batches that were read as a whole, and collate functions that take these and lists of samples.

The functions are importable, so that workers of every start method find them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch.utils.data import default_collate

from dataloader_expert.loaders.plain import as_mapping, pad, tensor_of


class Gathered(Sequence[Any]):
    """A batch of ``size`` B that ``__getitems__`` of a dataset read as a whole; as a sequence, its samples.

    ``batch`` is key to tensor [B, …] or list of length B, of samples that are dictionaries; or tensors [B, …], of tuples.
    """

    def __init__(self, batch: Any, size: int) -> None:
        self.batch, self.size = batch, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        return self._samples[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[Any]:
        """Made once: torch's collate function iterates over all samples for every key."""
        columns = self.batch.values() if isinstance(self.batch, dict) else self.batch
        rows = zip(*(v.unbind() if isinstance(v, torch.Tensor) else v for v in columns), strict=True)
        return [dict(zip(self.batch, row, strict=True)) for row in rows] if isinstance(self.batch, dict) else list(rows)


def collate_gathered(samples: Any) -> Any:
    """A gathered batch as it is; anything else stacked as torch does."""
    return samples.batch if isinstance(samples, Gathered) else default_collate(samples)


def pad_collate(samples: Sequence[Any], varying: Collection[str] = ()) -> Any:
    """Stacks what stacks, pads tensors of varying first dimension, and leaves the rest as lists.

    Padding is 0; of integer fields named as labels (``labels``, ``ner_tags``) it is -100, which
    ``torch.nn.functional.cross_entropy`` ignores by default.

    Samples are mappings, tuples or dataclasses (which become mappings), nested or not, of tensors, arrays, numbers and other
    values. A padded ``x`` of a mapping has shape [batch, longest, …], and ``x_lengths``, int64 [batch], is added; of a tuple, it
    becomes a pair with its lengths. Keys that not all samples have are left out, with a warning. Tensors in a mapping that differ in more
    than their first dimension, such as images of several sizes, are a ``ValueError``.

    Args:
        varying: fields (``"x"``, ``"target.boxes"``, ``"0"``) that are padded and have lengths in every batch, also where all
            samples of it are equally long; give them by ``functools.partial``. Others have them in batches that need them.
    """
    if not len(samples):
        raise ValueError("there are no samples to collate")
    if isinstance(samples, Gathered):
        batch: Any = samples.batch
        here = [n for n in varying if isinstance(batch, dict) and isinstance(batch.get(n), torch.Tensor)]
        lengths = {f"{n}_lengths": torch.full((len(batch[n]),), batch[n].shape[1]) for n in here if batch[n].ndim > 1}
        return {**batch, **lengths} if lengths else batch
    _tell_left_out(samples)
    for name, first in samples[0].items() if isinstance(samples[0], Mapping) else ():
        if not isinstance(first, torch.Tensor) or first.ndim < 2:
            continue
        there = [s[name] for s in samples if name in s]
        shapes = {tuple(v.shape) for v in there if isinstance(v, torch.Tensor) and v.numel()}
        if len({shape[1:] for shape in shapes}) > 1:
            cure = "give them one shape with transform="
            cure = f"resize images with size=(height, width), or {cure}" if first.ndim > 2 else cure
            raise ValueError(f"{name} has the shapes {sorted(shapes)[:4]}, which neither stack nor pad: {cure}")
    return pad(samples, frozenset(varying))


def _tell_left_out(samples: Sequence[Any]) -> None:
    """Warns of keys that only some samples have, such as the masks of labelled splits."""
    named = [sample for sample in samples if isinstance(sample, Mapping)] if isinstance(samples[0], Mapping) else []
    having = Counter(name for sample in named for name in sample)
    for name, n in having.items():
        if n < len(samples):
            text = f"{name} is left out of a batch, since only {n} of its {len(samples)} samples have it"
            warnings.warn(f"{text}: load each split on its own (split=), or add it with transform=", stacklevel=3)


def padding(varying: Collection[str]) -> Callable[[Sequence[Any]], Any]:
    """:func:`pad_collate` with the lengths of these fields in every batch."""
    return partial(pad_collate, varying=tuple(sorted(varying))) if varying else pad_collate


def varying_in(samples: Iterable[Any]) -> set[str]:
    """The fields, named as in :func:`pad_collate`, of which these samples differ in length."""
    lengths: dict[str, set[int]] = {}
    for sample in samples:
        for name, length in _lengths(sample, ""):
            lengths.setdefault(name, set()).add(length)
    return {name for name, found in lengths.items() if len(found) > 1}


def _lengths(value: Any, name: str) -> Iterator[tuple[str, int]]:
    value = as_mapping(value) if hasattr(value, "__dataclass_fields__") else value
    if isinstance(value, Mapping | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _lengths(inner, f"{name}.{key}" if name else str(key))
        return
    tensor = tensor_of(value)
    if isinstance(tensor, torch.Tensor) and tensor.ndim:
        yield name, len(tensor)
