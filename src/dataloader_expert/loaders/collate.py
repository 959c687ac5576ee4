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
    """Stacks what stacks, pads tensors of varying first dimension (or of the one that ``varying`` names), and leaves the rest as lists.

    Padding is 0; of integer fields named as labels (``labels``, ``ner_tags``) it is -100, which
    ``torch.nn.functional.cross_entropy`` ignores by default.

    Samples are mappings, tuples or dataclasses (which become mappings), nested or not, of tensors, arrays, numbers and other
    values. A padded ``x`` of a mapping has shape [batch, longest, …], and ``x_lengths``, int64 [batch], is added; of a tuple, it
    becomes a pair with its lengths. Keys that not all samples have are left out, with a warning. Tensors in a mapping that differ in more
    than this dimension, such as images of several sizes, are a ``ValueError``.

    Args:
        varying: fields (``"x"``, ``"target.boxes"``, ``"0"``) that are padded and have lengths in every batch, also where all
            samples of it are equally long; give them by ``functools.partial``. Others have them in batches that need them. A mapping
            names the dimension of each: ``{"mel": 1}`` for spectrograms [80, T].
    """
    if not len(samples):
        raise ValueError("there are no samples to collate")
    if isinstance(samples, Gathered):
        batch: Any = samples.batch
        at = {
            n: d + 1
            for n, d in dimensions(varying).items()
            if isinstance(batch, dict) and hasattr(batch.get(n), "ndim")
        }
        lengths = {
            f"{n}_lengths": torch.full((len(batch[n]),), batch[n].shape[d]) for n, d in at.items() if batch[n].ndim > d
        }
        return {**batch, **lengths} if lengths else batch
    _tell_left_out(samples)
    for name, first in samples[0].items() if isinstance(samples[0], Mapping) else ():
        if not isinstance(first, torch.Tensor) or first.ndim < 2:
            continue
        there = [s[name] for s in samples if name in s]
        shapes = {tuple(v.shape) for v in there if isinstance(v, torch.Tensor) and v.numel()}
        along = dimensions(varying).get(name, 0)
        if len({(*shape[:along], *shape[along + 1 :]) for shape in shapes}) > 1:
            cure = "give them one shape with transform="
            cure = f"resize images with size=(height, width), or {cure}" if first.ndim > 2 else cure
            raise ValueError(f"{name} has the shapes {sorted(shapes)[:4]}, which neither stack nor pad: {cure}")
    return pad(samples, dimensions(varying))


def _tell_left_out(samples: Sequence[Any]) -> None:
    """Warns of keys that only some samples have, such as the masks of labelled splits."""
    named = [sample for sample in samples if isinstance(sample, Mapping)] if isinstance(samples[0], Mapping) else []
    having = Counter(name for sample in named for name in sample)
    for name, n in having.items():
        if n < len(samples):
            text = f"{name} is left out of a batch, since only {n} of its {len(samples)} samples have it"
            warnings.warn(f"{text}: load each split on its own (split=), or add it with transform=", stacklevel=3)


def padding(varying: Mapping[str, int]) -> Callable[[Sequence[Any]], Any]:
    """:func:`pad_collate` with the lengths of these fields in every batch."""
    return partial(pad_collate, varying=varying_argument(varying)) if varying else pad_collate


def varying_argument(varying: Mapping[str, int]) -> dict[str, int] | list[str]:
    """The fields as :func:`pad_collate` takes them: with their dimensions only if one is not the first."""
    return dict(sorted(varying.items())) if any(varying.values()) else sorted(varying)


def dimensions(varying: Collection[str]) -> Mapping[str, int]:
    """The dimension of each field, without that of the batch; the first where none is given."""
    return varying if isinstance(varying, Mapping) else dict.fromkeys(varying, 0)


def varying_in(samples: Iterable[Any]) -> dict[str, int]:
    """The fields, named as in :func:`pad_collate`, whose samples differ in length, and the dimension that this is."""
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for sample in samples:
        for name, shape in _shapes(sample, ""):
            shapes.setdefault(name, set()).add(shape)
    found = {name: varying_dimension(seen) for name, seen in shapes.items()}
    return {name: at for name, at in found.items() if at is not None}


def varying_dimension(shapes: Collection[tuple[int, ...]]) -> int | None:
    """The dimension of length, if samples of these shapes differ in one: the second of spectrograms [80, T] of one height, else the first.

    With three dimensions, some images that differ in width alone would not tell that others differ in height.
    """
    full = {shape for shape in shapes if all(shape)}  # an empty one may lack the others' further dimensions
    if {len(shape) for shape in full} == {2} and len({shape[0] for shape in full}) == 1 < len(full):
        return 1
    return 0 if len({shape[0] for shape in shapes}) > 1 else None


def _shapes(value: Any, name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    value = as_mapping(value) if hasattr(value, "__dataclass_fields__") else value
    if isinstance(value, Mapping | tuple):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _shapes(inner, f"{name}.{key}" if name else str(key))
        return
    tensor = tensor_of(value)
    if isinstance(tensor, torch.Tensor) and tensor.ndim:
        yield name, tuple(tensor.shape)
