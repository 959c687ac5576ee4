"""Samples from the whole range of a dataset: the largest, the smallest, and those that are unlike the others."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.probes.model.unsigned import countable

MOST = 4096
COLUMNS = 8
"""The most columns of ids of several kinds."""
ODD_SHARE = 0.1
"""Samples of a kind rarer than this are odd."""
WHOLE_KINDS = ("int", "uint16", "uint32", "uint64")
"""Beginnings of the dtypes of whole numbers that may be ids."""
WHOLE = -1
"""The column that stands for all of a leaf."""


@dataclass(frozen=True)
class Extremes:
    """Indices: ``largest`` and ``smallest`` first to last by bytes, ``odd`` with what is unlike the rest."""

    looked: int
    largest: tuple[int, ...]
    smallest: tuple[int, ...]
    odd: tuple[tuple[int, str], ...]
    highest: tuple[int, ...] = ()
    """Those with the largest and with the least of their whole numbers: of each leaf, then of each column. Ids may lie beyond a
    model's table, and some classes be rare."""
    apart: Apart | None = None
    """The few samples that are far larger than all others."""


@dataclass(frozen=True)
class Apart:
    """``samples``: the largest first, of which the smallest has ``least`` bytes; the largest of the others has ``others``."""

    samples: tuple[int, ...]
    most: float
    least: float
    others: float


FEW_LARGE, TIMES = 0.01, 2.0
"""The share of the samples that are far larger than the others, at most, and how many times as large they are at least."""


def far_larger(weights: dict[int, float]) -> Apart | None:
    """The few samples between which and all others is a gap: a batch is padded to one of them, and its memory is set by it."""
    ranked = sorted(weights, key=lambda i: (-weights[i], i))
    most = int(FEW_LARGE * len(ranked))
    gaps = [(weights[ranked[k - 1]] / max(1.0, weights[ranked[k]]), k) for k in range(1, most + 1)]
    ratio, k = max(gaps, default=(0.0, 0))
    if ratio < TIMES:
        return None
    return Apart(tuple(ranked[:k]), weights[ranked[0]], weights[ranked[k - 1]], weights[ranked[k]])


def extremes(
    dataset: Any, n: int, lengths: Any, until: float, seed: int, at: Callable[[int], None], size: int
) -> Extremes:
    """Looks at samples spread over all ``n``; ``lengths``: of every sample, where they are known, which then decide.

    Samples that raise are passed over: the scan tells them.
    """
    import numpy as np

    looked = np.unique(np.concatenate([np.linspace(0, n - 1, MOST // 2).astype(int), _random(n, seed)]))
    by_length = None if lengths is None or len(lengths) != n else np.argsort(np.asarray(lengths), kind="stable")
    weights: dict[int, float] = {}
    kinds: dict[int, str] = {}
    most: dict[tuple[int, str], tuple[int, int]] = {}
    least: dict[tuple[int, str], tuple[int, int]] = {}
    shapes: defaultdict[str, set[tuple[int, ...]]] = defaultdict(set)
    order = [int(i) for i in np.random.default_rng(seed).permutation(looked)]
    if by_length is not None:
        order = [int(by_length[-1]), int(by_length[0]), *order]
    for index in order:
        at(index)
        try:
            sample = dataset[index]
        except Exception:  # of the user's code; the scan tells which
            continue
        weights[index], kinds[index] = bytes_of(sample), kind_of(sample)
        for name, shape, numbers in whole_numbers(sample):
            shapes[name].add(shape)
            for column, low, high in numbers:
                place = column, name
                most[place] = max(most.get(place, (high, index)), (high, index))
                least[place] = min(least.get(place, (low, index)), (low, index))
        if time.monotonic() > until:
            break
    at(-1)
    ranked = sorted(weights, key=lambda i: (weights[i], i))
    if by_length is not None:
        ranked = [int(i) for i in by_length]
    counts = Counter(kinds.values())
    rare = {k for k, c in counts.items() if c < ODD_SHARE * len(kinds)}
    odd = tuple((i, k) for i, k in sorted(kinds.items()) if k in rare)[:20]
    # places of rows that differ in length are no columns
    places = [p for p in sorted(most) if p[0] == WHOLE or len(shapes[p[1]]) == 1]
    highest = tuple(dict.fromkeys(index for p in places for _, index in (most[p], least[p])))
    return Extremes(len(weights), tuple(ranked[::-1][:size]), tuple(ranked[:size]), odd, highest, far_larger(weights))


def whole_numbers(sample: Any) -> Iterator[tuple[str, tuple[int, ...], list[tuple[int, int, int]]]]:
    """Of each leaf with whole numbers its name, its shape, and the least and the largest: of all of it, and of each column, which
    may be ids of several kinds, where it has a few."""
    from dataloader_expert.probes.batch_parts import flat

    for name, value in flat(sample):
        if isinstance(value, int):
            yield name, (), [(WHOLE, int(value), int(value))]
        elif str(getattr(value, "dtype", "")).removeprefix("torch.").startswith(WHOLE_KINDS):
            if 0 not in value.shape:
                value = countable(value)
                few = value.ndim == 1 and len(value) <= COLUMNS
                columns = [(j, int(x), int(x)) for j, x in enumerate(value.tolist())] if few else []
                yield name, tuple(value.shape), [(WHOLE, int(value.min()), int(value.max())), *columns]


def _random(n: int, seed: int) -> Any:
    import numpy as np

    return np.random.default_rng(seed).integers(0, n, MOST // 2)


def bytes_of(sample: Any) -> float:
    from dataloader_expert.probes.batch_parts import flat

    return float(sum(_bytes(v) for _, v in flat(sample)))


def _bytes(value: Any) -> int:
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, list | tuple):
        return 8 * len(value)
    return len(value) if isinstance(value, str | bytes) else 8


def kind_of(sample: Any) -> str:
    """Names, ranks and dtypes of a sample's leaves; lengths do not count."""
    from dataloader_expert.probes.batch_parts import flat

    return ", ".join(
        f"{name}: {str(v.dtype).removeprefix('torch.')} of {v.ndim} dimensions"
        if hasattr(v, "dtype") and hasattr(v, "ndim")
        else f"{name}: {type(v).__name__}"
        for name, v in flat(sample)
    )
