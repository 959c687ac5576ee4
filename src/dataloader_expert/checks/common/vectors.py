"""A vector of each sample, by which samples are close to or far from each other."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import Any

from dataloader_expert.checks.common.picture_hashes import Looks, looks
from dataloader_expert.sources.base import Block

WORDS = 64
AT_ONCE = 1 << 16
"""Numbers of arrays that are worked on at a time: what is made of them stays in the cache."""


def vectors(block: Block, names: list[str], whole: bool = False) -> Any:
    """A short vector a sample for diversity, shape [samples, d], float64; NaN where a value is absent; made once a block.

    ``whole``: arrays of one shape give their own components instead of a summary.
    """
    key = f"vectors {whole} {' '.join(names)}"
    if key not in block.views:
        block.views[key] = _vectors(block, names, whole)
    return block.views[key]


def most_of(block: Block, rows: Any) -> tuple[Block, Any]:
    """A block of which something is to be made for these rows, and the rows in it: the block itself, of which it is made once for all, where
    they are most of it."""
    return (block, rows) if 2 * len(rows) >= block.samples else (block.take(rows), slice(None))


def _vectors(block: Block, names: list[str], whole: bool) -> Any:
    import numpy as np

    n, parts = block.samples, []
    for name in names:
        column = block.columns.get(name)
        if column is None:
            continue
        values = column.values
        if whole and not isinstance(values, np.ndarray):
            values = _stacked(values)
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            if values.ndim == 1:
                part = values.astype(np.float64)[:, None]
            elif values.ndim >= 3 and values.dtype == np.uint8:
                part = pooled(looks(block, name))
            else:
                flat = values.reshape(len(values), -1)
                part = (flat if flat.shape[1] <= 256 else flat[:, :: -(-flat.shape[1] // 256)]).astype(np.float64)
        else:
            pictures = any(hasattr(v, "getbands") for v in values)
            if pictures:
                made = list(pooled(looks(block, name)))
            elif column.stacked is not None and _is_wide(column.stacked[:1]):
                made = list(_means_and_spreads(column.stacked))
            else:
                made = [_vector(v) for v in values]
            sizes = Counter(map(len, made)).most_common(1)
            size = sizes[0][0] if sizes else 1  # a value of another kind than its neighbours has another size
            made = [v if len(v) == size else np.full(size, np.nan) for v in made]
            part = np.stack(made) if made else np.zeros((0, 1))
        if column.nulls is not None:
            part = part.copy()
            part[column.nulls] = np.nan
        parts.append(part[:n])
    return np.concatenate(parts, 1) if parts else np.zeros((n, 0))


def _stacked(values: list[Any]) -> Any:
    """Arrays of the commonest shape in one; what has another shape, or is none, is NaN. The list itself without arrays."""
    import numpy as np

    shapes = Counter(v.shape for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "biuf")
    if not shapes:
        return values
    common = shapes.most_common(1)[0][0]
    blank = np.full(common, np.nan)
    return np.stack(
        [v if isinstance(v, np.ndarray) and v.shape == common and v.dtype.kind in "biuf" else blank for v in values]
    )


def distances(some: Any, others: Any) -> Any:
    """Squared distances of rows, [n, m]."""
    return (some * some).sum(1)[:, None] + (others * others).sum(1) - 2 * some @ others.T


def pooled(seen: Looks) -> Any:
    """64 numbers of each 32 x 32 picture, the means of 4 x 4 pixels; NaN where there is none."""
    import numpy as np

    lines = sum(seen.small[:, k::4] for k in range(4))
    means = (sum(lines[:, :, k::4] for k in range(4)) / 16).reshape(-1, 64).astype(np.float64)
    means[~seen.there] = np.nan
    return means


def _is_wide(values: Any) -> bool:
    """Whether arrays, [n, ...], are more than a sequence of one or two numbers at a time."""
    return (
        values.size and values.dtype.kind in "biuf" and (values.ndim > 3 or (values.ndim == 3 and values.shape[2] > 2))
    )


def _means_and_spreads(values: Any) -> Any:
    """Of the first 64 components on the last axis of arrays, [n, ..., components]."""
    import numpy as np

    flat = values.reshape(len(values), -1, values.shape[-1])[:, :, :64]
    step = max(1, AT_ONCE // max(1, flat[0].size)) if len(flat) else 1
    made = [np.zeros((0, 2 * flat.shape[2]))]
    with np.errstate(invalid="ignore", over="ignore"):  # an infinity makes these NaN, and NaN is left out
        for at in range(0, len(flat), step):
            part = flat[at : at + step].astype(np.float64)
            means = part.mean(1)
            part -= means[:, None]
            spreads = np.sqrt(np.einsum("nij,nij->nj", part, part) / part.shape[1])
            made.append(np.concatenate([means, spreads], 1))
    return np.concatenate(made)


def _vector(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "biuf":
        if _is_wide(value[None]):
            return _means_and_spreads(value[None])[0]
        signal = value.reshape(len(value), -1).astype(np.float64).mean(1)
        edges = np.linspace(0, len(signal), 33).astype(int)
        power = np.add.reduceat(signal * signal, np.minimum(edges[:-1], len(signal) - 1))
        return np.log1p(power)
    if isinstance(value, str):
        words = value.casefold().encode("utf-8", "surrogatepass").split()[:100_000]
        hashed = np.fromiter(map(zlib.crc32, words), np.int64, len(words))
        return np.bincount(hashed % WORDS, minlength=WORDS).astype(np.float64)
    return np.zeros(1)
