"""In which order units are read, so that wherever the time ends what was read is like the whole."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from dataloader_expert.sources.base import Unit

FEW = 4
"""One of so many units may be read first for the sake of its stratum."""


def stratified(units: Sequence[Unit], seed: int) -> list[int]:
    """A random order of the units in which each stratum's are spread evenly: proportional stratified sampling.

    A stratum is a split and, where units have labels, a label; else a file. One unit of each comes first, unless there are
    too many strata for that.
    """
    import numpy as np

    labelled = any(unit.label is not None for unit in units)
    strata: dict[Hashable, list[int]] = {}
    for i, unit in enumerate(units):
        label = unit.label if isinstance(unit.label, Hashable) else str(unit.label)
        strata.setdefault((unit.split, label if labelled else unit.file), []).append(i)
    rng = np.random.default_rng(seed)
    first = len(strata) * FEW <= len(units)
    place = np.empty(len(units))
    for members in strata.values():
        order = rng.permutation(len(members))
        place[members] = (order + rng.random(len(members))) / len(members)
        if first:
            place[members[int(order.argmin())]] -= 1
    return list(np.argsort(place, kind="stable").tolist())


def in_turn(
    order: Sequence[int], tried: int, together: int, seed: int, in_time: Callable[[int], bool]
) -> Iterator[int]:
    """The samples in this order, which is random; once so many were ``tried`` and the rest is read ``in_time``, neighbours in runs of so
    many ``together``, which costs less to look at, the runs in random order."""
    import numpy as np

    for count, sample in enumerate(order):
        if count == tried and in_time(len(order) - count):
            rest = sorted(order[count:])
            runs = [rest[at : at + together] for at in range(0, len(rest), together)]
            for run in np.random.default_rng(seed).permutation(len(runs)).tolist():
                yield from runs[run]
            return
        yield sample
