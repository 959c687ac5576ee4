"""Pairs of alike sets of hashes, such as the runs of words of texts: candidates, and the Jaccard index of each.

Method: prefix filtering (Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in data cleaning", ICDE 2006). Of two sets
of which a share of at least ``least`` is in both, the elements of each that are the rarest have one in common. First, sets are left out of
which too few elements occur in any other; in most data hardly one remains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LARGE = 30
"""The most sets with one rare element that are compared with each other; of more, each is with the first and its neighbour."""
FEWEST_BITS, MOST_BITS = 16, 26
"""Bits of hashes by which elements are counted."""
OFTEN = 255
"""More often an element is not counted."""
AT_ONCE = 1 << 20
"""Elements of pairs that are compared at once."""
BEGIN, SHARED = 24, 8
"""The smallest elements of two sets that are looked at first, and how many of them both must have: of alike sets, 19 on average; 7 or fewer are
as likely as one in a million."""
MOST_SETS = 1 << 24
"""More sets are not compared."""


def starts_of(lengths: Any) -> Any:
    """Where runs of these lengths begin, one after the other."""
    import numpy as np

    return np.cumsum(lengths) - lengths


def within(lengths: Any) -> Any:
    """0, 1, 2 … for each run of these lengths."""
    import numpy as np

    return np.arange(int(lengths.sum())) - np.repeat(starts_of(lengths), lengths)


def _firsts(values: Any) -> Any:
    """Where each run of equal values begins; bool [n]."""
    import numpy as np

    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


@dataclass(frozen=True)
class Sets:
    """Sets of distinct hashes, sorted, uint32: all of them concatenated, and the number of each, int64."""

    hashes: Any
    lengths: Any

    def of(self, chosen: Any) -> Sets:
        """Those that are marked."""
        import numpy as np

        return self if chosen.all() else Sets(self.hashes[np.repeat(chosen, self.lengths)], self.lengths[chosen])

    def salted(self, salts: Any) -> Sets:
        """With hashes that those of other salts, uint32, do not have."""
        import numpy as np

        return Sets(self.hashes ^ np.repeat(salts, self.lengths), self.lengths)


class _Counts:
    """How often elements occur: never less often than they do, sometimes more."""

    def __init__(self, elements: int) -> None:
        import numpy as np

        bits = min(max(elements.bit_length() + 2, FEWEST_BITS), MOST_BITS)
        self.shift = np.uint32(32 - bits)
        self.times = np.zeros(1 << bits, np.uint8)

    def add(self, hashes: Any) -> None:
        import numpy as np

        at = np.sort(hashes >> self.shift)
        first = np.flatnonzero(_firsts(at))
        many = np.diff(first, append=len(at))
        at = at[first]
        self.times[at] = np.minimum(self.times[at] + many, OFTEN)

    def of(self, hashes: Any) -> Any:
        return self.times[hashes >> self.shift]


def pairs(parts: list[Sets], chosen: Any, salts: Any, least: float, sketch: int) -> Any:
    """Positions of two sets whose Jaccard index is at least ``least``, the first before the second, int64 [n, 2].

    Args:
        chosen: which of all sets are compared; bool.
        salts: only sets of the same salt are compared, uint32; None: all are.
        sketch: sets of so many hashes are the smallest ones of larger sets.
    """
    import numpy as np

    def own() -> Iterator[tuple[Sets, Any]]:
        at = 0
        for part in parts:
            here = slice(at, at + len(part.lengths))
            at = here.stop
            kept = np.flatnonzero(chosen[here]) + here.start
            yield part.of(chosen[here]), kept

    def marked(sets: Sets, rows: Any) -> Any:
        return (sets if salts is None else sets.salted(salts[rows])).hashes

    counts = _Counts(sum(len(part.hashes) for part in parts))
    for sets, rows in own():
        counts.add(marked(sets, rows))
    kept: list[tuple[Sets, Any]] = []
    for sets, rows in own():
        twice = np.concatenate([[0], np.cumsum(counts.of(marked(sets, rows)) > 1)])
        ends = np.cumsum(sets.lengths)
        again = twice[ends] - twice[ends - sets.lengths]
        several = (sets.lengths > 0) & (again >= least * sets.lengths)
        kept.append((sets.of(several), rows[several]))
    sets = Sets(
        np.concatenate([s.hashes for s, _ in kept] or [np.zeros(0, np.uint32)]),
        np.concatenate([s.lengths for s, _ in kept] or [np.zeros(0, np.int64)]),
    )
    rows = np.concatenate([r for _, r in kept] or [np.zeros(0, np.int64)])
    del kept
    if len(rows) > MOST_SETS:
        sets, rows = (
            Sets(sets.hashes[: int(sets.lengths[:MOST_SETS].sum())], sets.lengths[:MOST_SETS]),
            rows[:MOST_SETS],
        )
    hashes = marked(sets, rows)
    rare, of = _rarest(hashes, counts.of(hashes), sets.lengths, least)
    found = [np.zeros((0, 2), np.int64)]
    for step in _candidates(rare, of):
        for both in np.array_split(step, max(1, len(step) * 2 * BEGIN // AT_ONCE)):
            alike = both[_lengths_fit(sets, both, least, sketch)]
            alike = alike[_begin_alike(sets, alike)]
            found.append(alike[_alike(sets, alike, least, sketch)])
    return np.unique(rows[np.concatenate(found)], axis=0)


def _rarest(hashes: Any, times: Any, lengths: Any, least: float) -> tuple[Any, Any]:
    """Of each set the rarest elements, of which alike sets share one, and the set of each, sorted by elements; those of one set only
    left out."""
    import numpy as np

    of = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    order = np.sort(of << np.uint64(40) | times.astype(np.uint64) << np.uint64(32) | hashes)
    needed = np.ceil(least * lengths - 1e-9).astype(np.int64)
    first = within(lengths) < np.repeat(lengths - needed + 1, lengths)
    order = order[first & ((order >> np.uint64(32) & np.uint64(0xFF)) > 1)]
    order = np.sort(order << np.uint64(32) | order >> np.uint64(40))
    return order >> np.uint64(32), (order & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _candidates(rare: Any, of: Any) -> Iterator[Any]:
    """Pairs of sets with a rare element in common, int64 [n, 2], the first before the second; a pair may come again."""
    import numpy as np

    if not len(rare):
        return
    sizes = np.diff(np.flatnonzero(_firsts(rare)), append=len(rare))
    place = within(sizes)
    size = np.repeat(sizes, sizes)
    for step in range(1, LARGE):
        later = np.flatnonzero((place >= step) & ((size <= LARGE) | (step == 1)))
        if not len(later):
            break
        ends = [of[later - step] << 32 | of[later]]
        if step == 1:
            large = np.flatnonzero((place > 1) & (size > LARGE))
            ends.append(of[large - place[large]] << 32 | of[large])
        made = np.unique(np.concatenate(ends))
        yield np.column_stack([made >> 32, made & 0xFFFFFFFF])


def _lengths_fit(sets: Sets, both: Any, least: float, sketch: int) -> Any:
    """Whether the sizes of two sets allow a Jaccard index of ``least``; bool."""
    lengths = sets.lengths[both]
    return (lengths.max(1) == sketch) | (lengths.min(1) >= least * lengths.max(1))


def _begin_alike(sets: Sets, both: Any) -> Any:
    """Whether two sets have enough of their smallest elements in common to be alike; bool. Of small sets that is not asked."""
    import numpy as np

    possible = (sets.lengths[both] < 2 * BEGIN).any(1)
    large = np.flatnonzero(~possible)
    if len(large):
        begins = sets.hashes[starts_of(sets.lengths)[both[large]][:, :, None] + np.arange(BEGIN)].reshape(
            len(large), -1
        )
        begins.sort(1)
        possible[large] = (begins[:, 1:] == begins[:, :-1]).sum(1) >= SHARED
    return possible


def _alike(sets: Sets, both: Any, least: float, sketch: int) -> Any:
    """Whether the Jaccard index of two sets, estimated where they are sketches, is at least ``least``; bool."""
    import numpy as np

    lengths = sets.lengths[both].sum(1)
    cuts = np.flatnonzero(np.diff(np.cumsum(lengths) // AT_ONCE, prepend=0))
    return np.concatenate([_index(sets, some, sketch) >= least for some in np.split(both, cuts)])


def _index(sets: Sets, both: Any, sketch: int) -> Any:
    import numpy as np

    lengths = sets.lengths[both]
    starts = starts_of(sets.lengths)[both]
    flat = lengths.reshape(-1)
    hashes = sets.hashes[np.repeat(starts.reshape(-1), flat) + within(flat)]
    pair = np.repeat(np.arange(len(both), dtype=np.uint64), lengths.sum(1))
    keys = np.sort(pair << np.uint64(32) | hashes)
    new = _firsts(keys)
    shared = np.concatenate([~new[1:], [False]])[: len(keys)][new]
    of = (keys[new] >> np.uint64(32)).astype(np.int64)
    union = np.bincount(of, minlength=len(both))
    rank = within(union)
    estimated = lengths.max(1) == sketch if len(both) else np.zeros(0, bool)
    counted = (rank < sketch) | ~estimated[of]
    shared = np.bincount(of[shared & counted], minlength=len(both))
    return shared / np.maximum(np.where(estimated, np.minimum(union, sketch), union), 1)
