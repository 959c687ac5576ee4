"""The longest stretch of tokens that stands twice: a shard, or a part of one, that was written again."""

from __future__ import annotations

from typing import Any

GAP = 1_024
"""Tokens between hashes that were kept, of one in a few, up to which both are in one stretch."""


def copied(hashes: Any, at: Any) -> tuple[int, int, int] | None:
    """The first token of a stretch, the first one of its copy, and how many tokens it is; None if nothing stands just twice.

    Args:
        hashes: of runs of tokens, uint64 [n].
        at: the first token of each run, int64 [n].
    """
    import numpy as np

    order = np.lexsort((at, hashes))
    hashes, at = hashes[order], at[order]
    starts = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    twice = starts[np.diff(np.append(starts, len(hashes))) == 2]
    if not len(twice):
        return None
    apart, counts = np.unique(at[twice + 1] - at[twice], return_counts=True)
    by = int(apart[counts.argmax()])
    own = np.sort(at[twice][at[twice + 1] - at[twice] == by])
    ends = np.flatnonzero(np.append(np.diff(own) > GAP, True))
    begins = np.concatenate([[0], ends[:-1] + 1])
    best = int((own[ends] - own[begins]).argmax())
    first, last = int(own[begins[best]]), int(own[ends[best]])
    return first, first + by, last - first
