"""Pairs of images whose perceptual hashes are near: candidates for copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from dataloader_expert.checks.common.picture_hashes import WAYS

CANDIDATE, FAR = 14, 18
"""The most bits of 64 in which the hashes of candidates may differ, and of those that must agree more after alignment: a crop away
from the middle changes many. Of unlike images, one pair in 200,000 and one in 3,000 differ in no more."""
TURNED = 2
"""The first of ``WAYS`` that is a turn: these must agree more, since there are three."""
LIKENESS = 0.75
"""The least correlation before alignment of candidates that differ in more than ``CANDIDATE`` bits."""
AT_ONCE, IN_CACHE = 256, 1 << 17
"""Hashes with others that are near in one part, and pairs of all, that are compared together."""
DENSE = 1 / 16
"""The share of pairs from which on the likeness of all takes less time than that of some."""
CONFIRMED, FOUND = 4_000, 200_000
"""The most candidates that are aligned, closest first, at some milliseconds each; and the most pairs kept without alignment."""
Candidate = tuple[int, int, int, int]
"""Two images, in which of ``WAYS`` the second is like the first, and the number of bits in which their hashes differ."""


def candidates(hashes: Any, grey: Any) -> Iterator[Any]:
    """Some at a time, int64 [4, n] as of ``Candidate``: pairs whose hashes ([n, WAYS], as in ``NearPictures``) differ in at most
    ``CANDIDATE`` bits, or in ``FAR`` if the images, [n, 32, 32], are somewhat alike and not turned."""
    import numpy as np

    if len(hashes) < 2:
        return
    of = [np.ascontiguousarray(hashes[:, way]) for way in range(WAYS)]
    small = grey.reshape(-1, 16, 2, 16, 2).mean((2, 4), dtype=np.float32)
    upright, mirrored = unit(small), unit(small[:, :, ::-1])
    step = max(1, IN_CACHE // len(hashes))
    for first in range(0, len(hashes) - 1, step):
        own, rest = of[0][first : first + step, None], slice(first + 1, None)
        for way, other in enumerate(of):
            apart = bits(other[rest] ^ own).ravel()
            at = np.flatnonzero(apart <= (FAR if way < TURNED else CANDIDATE))
            if not len(at):
                continue
            a, b = first + at // len(other[rest]), first + 1 + at % len(other[rest])
            alike = apart[at] <= CANDIDATE
            far = np.flatnonzero(~alike)
            seen = mirrored if way else upright
            if len(far) > DENSE * len(apart):
                every = upright[first : first + step] @ seen[rest].T
                alike[far] = every.ravel()[at[far]] >= LIKENESS
            elif len(far):
                alike[far] = (upright[a[far]] * seen[b[far]]).sum(1) >= LIKENESS
            yield np.stack([a, b, np.full(len(at), way), apart[at].astype(np.int64)])[:, alike & (a < b)]


def nearest(found: Iterable[Any], rest: Any, labels: Any) -> tuple[list[Candidate], int]:
    """The ``CONFIRMED`` closest candidates with equal ``rest``, and how many more there are. An image of another label that is
    mirrored or turned is no copy: left is not right, and 6 is not 9."""
    import numpy as np

    total, held = 0, [np.zeros((4, 0), np.int64)]
    for some in found:
        a, b, way, _ = some
        unlike = (way > 0) & (labels[a] != labels[b]) & (labels[a] != 0) & (labels[b] != 0)  # 0: without a label
        some = some[:, (rest[a] == rest[b]) & ~unlike]
        total += some.shape[1]
        held.append(some)
        if sum(part.shape[1] for part in held) >= 4 * CONFIRMED:
            held = [_closest(held)]
    kept = _closest(held)
    return [(a, b, way, apart) for a, b, way, apart in kept.T.tolist()], total - kept.shape[1]


def _closest(parts: list[Any]) -> Any:
    """The ``CONFIRMED`` closest of these candidates, int64 [4, n]."""
    import numpy as np

    every = np.concatenate(parts, 1)
    a, b, way, apart = every
    return every[:, np.lexsort((b, way, a, apart))[:CONFIRMED]]


def close(hashes: Any, most: int) -> list[tuple[int, int]]:
    """Pairs of very many hashes, uint64 [n], that differ in at most ``most`` (under 10) bits, ``FOUND`` at most: such two differ in at most one
    bit in one of five parts, so only those are compared."""
    import numpy as np

    found: set[tuple[int, int]] = set()
    for shift, width in ((0, 13), (13, 13), (26, 13), (39, 13), (52, 12)):
        keys = ((hashes >> np.uint64(shift)) & np.uint64((1 << width) - 1)).astype(np.int64)
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange((1 << width) + 1))
        members = [order[starts[k] : starts[k + 1]] for k in range(1 << width)]
        for k, mine in enumerate(members):
            if not len(mine):
                continue
            for other in (k, *(k ^ (1 << b) for b in range(width) if k < k ^ (1 << b))):
                theirs = members[other]
                for at in range(0, len(mine), AT_ONCE):
                    few = mine[at : at + AT_ONCE]
                    a, b = np.nonzero(bits(hashes[few][:, None] ^ hashes[theirs][None]) <= most)
                    pairs = zip(few[a].tolist(), theirs[b].tolist(), strict=True)
                    found.update((min(p), max(p)) for p in pairs if p[0] != p[1])
                    if len(found) >= FOUND:
                        return sorted(found)
    return sorted(found)


def bits(x: Any) -> Any:
    """The number of set bits of each uint64."""
    import numpy as np

    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(x)
    table, low = _set_bits(), np.uint64(0xFFFF)
    d = table[x & low] + table[(x >> np.uint64(16)) & low]
    return d + table[(x >> np.uint64(32)) & low] + table[x >> np.uint64(48)]


@cache
def _set_bits() -> Any:
    """The number of set bits of each 16-bit number."""
    import numpy as np

    table = np.zeros(1, np.uint8)
    for _ in range(16):
        table = np.concatenate([table, table + 1])
    return table


def unit(images: Any) -> Any:
    """Images as vectors of zero mean and unit length, [n, pixels]."""
    import numpy as np

    flat = images.reshape(len(images), -1)
    flat = flat - flat.mean(1, keepdims=True)
    return flat / (np.sqrt((flat * flat).sum(1, keepdims=True)) + 1e-6)
