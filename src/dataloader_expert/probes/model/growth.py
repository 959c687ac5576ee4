"""How the tensors of a batch grow with its samples: a few are collated together, and each alone.

A dimension that adds up is the batch's (one of each sample), or that of rows of all samples one after the other, as of points or
of a graph's nodes. One that is that of the longest is padded, or the same in any batch.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dataloader_expert.facts import Json, Quantity
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.unsigned import countable
from dataloader_expert.probes.serving import Serving

GROWTH = Quantity("batch_growth", "", "by field of a batch, what each dimension is in batches of other sizes")
BATCH_DIMENSION = "B"
ROWS, MOST = "rows", "most"
FEW = 3
"""Samples that are collated together, and each alone."""
Dimension = int | float | str | None
"""A number; so many for each sample (a float); ``"B"``, the batch; None: not known."""


@dataclass(frozen=True)
class Growth:
    """``shape``: of a batch, with the largest dimensions seen; ``places``: so many of each sample, if the values are places of rows
    within the batch."""

    shape: tuple[Dimension, ...]
    places: float | None = None

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "shape": list(self.shape)}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Growth:
        return Growth(tuple(data["shape"]), data["places"])


def grown(
    served: Serving, indices: Sequence[int], batches: Sequence[Mapping[str, Any]], sizes: Sequence[int]
) -> dict[str, Growth]:
    """By name, of the tensors in all ``batches``, whose samples ``sizes`` counts; ``indices``: of the samples to try."""
    tried = _tried(served, indices)
    full = [(b, n) for b, n in zip(batches, sizes, strict=True) if n == max(sizes)]
    found = {}
    for name in batches[0]:
        seen = [(b[name], n) for b, n in zip(batches, sizes, strict=True) if hasattr(b.get(name), "element_size")]
        if len({v.ndim for v, _ in seen}) != 1:
            continue
        kinds, placed = tried.get(name, ((None,) * seen[0][0].ndim, False))
        if len(kinds) != seen[0][0].ndim:
            continue
        of_full = [(b[name], n) for b, n in full if hasattr(b.get(name), "element_size")] or seen
        shape: list[Dimension] = []
        for i, kind in enumerate(kinds):
            if kind == ROWS:
                shape.append(max(float(v.shape[i] / n) for v, n in of_full))
            else:
                shape.append(_by_size(i, kind, [(int(v.shape[i]), n) for v, n in seen]))
        places = max(float((int(countable(v).max()) + 1) / n) for v, n in of_full if v.numel()) if placed else None
        found[name] = Growth(tuple(shape), places)
    return found


def _by_size(axis: int, kind: str | None, seen: list[tuple[int, int]]) -> Dimension:
    """What is not known from samples alone is told by batches of several sizes."""
    dims, sizes = {d for d, _ in seen}, {n for _, n in seen}
    if kind == BATCH_DIMENSION:
        return BATCH_DIMENSION
    if kind is None and all(d == n for d, n in seen) and (axis == 0 or len(sizes) > 1):
        return BATCH_DIMENSION
    told = kind == MOST or axis > 0 or (len(dims) == 1 and len(sizes) > 1)
    return max(dims) if told else None


def _tried(served: Serving, indices: Iterable[int]) -> dict[str, tuple[tuple[str | None, ...], bool]]:
    """By name the kind of each dimension, and whether the values are places within the batch; empty if nothing can be tried."""
    from torch.utils.data import IterableDataset

    if not served.batched:
        return {}
    try:
        if isinstance(served.dataset, IterableDataset):
            samples = list(itertools.islice(served.dataset, FEW))
        else:
            samples = [served.dataset[i] for i in indices]
        alone = [dict(flat(served.collate(copy.deepcopy([s])), n=1)) for s in samples]  # collate may change its samples
        together = dict(flat(served.collate(copy.deepcopy(samples)), n=len(samples)))
    except Exception:  # of the user's collate function or dataset: other probes tell
        return {}
    if len(samples) < 2:
        return {}
    names = [n for n, v in together.items() if all(hasattr(b.get(n), "element_size") for b in (together, *alone))]
    names = [n for n in names if {b[n].ndim for b in alone} == {together[n].ndim}]
    kinds = {n: tuple(_kind(together[n], [b[n] for b in alone], i) for i in range(together[n].ndim)) for n in names}
    rows = [max((_rows(b[n], kinds[n]) for n in names), default=0) for b in (together, *alone)]
    found = {}
    for n in names:
        every = [b[n] for b in (together, *alone)]
        whole = not every[0].is_floating_point() and not every[0].is_complex() and all(v.numel() for v in every)
        most = [int(countable(v).max()) for v in every] if whole else []
        # of a batch alone they begin anew
        placed = whole and most[0] > max(most[1:]) and all(m < r for m, r in zip(most, rows, strict=True))
        found[n] = kinds[n], placed
    return found


def _kind(whole: Any, alone: list[Any], axis: int) -> str | None:
    got, each = whole.shape[axis], [v.shape[axis] for v in alone]
    if got == max(each):
        return MOST if got != sum(each) else None  # the others have none of it
    if got != sum(each):
        return None
    return BATCH_DIMENSION if max(each) == 1 else ROWS


def _rows(value: Any, kinds: tuple[str | None, ...]) -> int:
    adding = (BATCH_DIMENSION, ROWS)
    return max((d for d, kind in zip(value.shape, kinds, strict=True) if kind in adding), default=0)
