"""Which texts are far shorter than what they belong to has it: a translation or a transcript of which a part is missing.

Method: of two texts of one content, the length of one is about in proportion to that of the other, with a variance in proportion to
it as well (Gale and Church, "A program for aligning sentences in bilingual corpora", 1993). Chance makes texts too long as well as too
short; only what cuts makes them short alone.
"""

from __future__ import annotations

from typing import Any

LEAST, FEWEST = 50, 3
"""The fewest pairs, and the fewest of them that are cut."""
RELATED = 0.8
"""The least rank correlation of two lengths of which one tells the other."""
BEYOND = 3.0
"""Interquartile ranges beyond the quartiles."""
ONE_SIDED = 20
"""So many times as many must be too short as are too long."""


def cut_short(x: Any, y: Any) -> Any:
    """Where ``y`` has less than half the length that ``x`` has it, far beyond the spread of the others; bool [n]."""
    import numpy as np

    there = (x > 0) & (y > 0)
    found = np.zeros(len(x), bool)
    if there.sum() < LEAST:
        return found
    a, b = x[there], y[there]
    usual = float(np.median(b / a))
    off = (b - usual * a) / np.sqrt(a)
    q1, q3 = np.quantile(off, [0.25, 0.75])
    short = (off < q1 - BEYOND * (q3 - q1)) & (2 * b < usual * a)
    long = (off > q3 + BEYOND * (q3 - q1)) & (b > 2 * usual * a)
    if short.sum() < FEWEST or ONE_SIDED * long.sum() > short.sum() or ONE_SIDED * short.sum() > len(a):
        return found
    rest = ~(short | long)
    if _ranked_alike(a[rest], b[rest]) >= RELATED:
        found[there] = short
    return found


def _ranked_alike(a: Any, b: Any) -> float:
    import numpy as np

    ranks = [np.argsort(np.argsort(v, kind="stable")).astype(np.float64) for v in (a, b)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1]) if a.std() and b.std() else 0.0
