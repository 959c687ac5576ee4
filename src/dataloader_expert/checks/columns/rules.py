"""Rules that two columns may keep to in every row: the order of two numbers, and a class that a number, the difference of two, or another
column decides. A rule says of each row whether it is broken; one that the columns would keep to by their distributions alone is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dataloader_expert.checks.common.ranges import many_values

LEAST, VALUES = 100, 10
"""The fewest rows, and distinct values of numbers that are compared."""
USUAL = 0.6
"""The least share of rows that keep to a rule."""
CHANCE = 0.025
"""The least share of pairs drawn at random that would break an order which hardly any row breaks."""
AS_FAR, CROSSING, HALF = 0.25, 0.1, 0.5
"""The least share of the usual rows in which two numbers lie closer together than they do in the odd ones, in the median; and the share of
rows in which those lie closest, at half the distance of the usual ones at least: what only crosses now and then comes close."""
FEWEST, RARE, STRAY, CLEAR, ALIKE = 5, 0.1, 0.005, 0.1, 0.3
"""The fewest stray rows, and the most, as a share of the others; the share of these that may be closer; how far the two numbers of a row lie
apart at least, as a share of the median; and the least mean rank among the others of how far they do in stray rows."""
AMONG = 0.8
"""The least share of stray rows in which each number is among the usual ones of the other."""
MOSTLY, OFTEN = 0.8, 0.3
"""The least share of odd rows that are of one kind, and of the rows of a kind that are odd, if the kind is what they have in common."""
CLASSES, RAREST = 4, 0.02
"""The most values of a class that numbers decide, and the least share of one."""
MOST = 0.9
"""The largest share of rows with one class: what is mostly one is decided by anything."""
NAMES = 100
"""The most classes that another column decides."""
REPEATED = 3
"""The fewest rows of each value that decides, on average."""
SOME, NEARLY_ONE = 2_000, (1 + MOST) / 2


@dataclass(frozen=True)
class Rule:
    """``broken`` and ``known``: bool [n]."""

    kind: str
    fields: tuple[str, ...]
    says: str
    broken: Any
    known: Any


def orders(numbers: dict[str, Any]) -> Iterator[Rule]:
    """Pairs of numbers of which one is nearly always the larger."""
    import numpy as np

    for a, b in combinations(numbers, 2):
        x, y = numbers[a], numbers[b]
        known = np.isfinite(x) & np.isfinite(y)
        if known.sum() < LEAST or not (many_values(x[known], VALUES) and many_values(y[known], VALUES)):
            continue
        small, large = (a, b) if (x[known] < y[known]).sum() >= (x[known] > y[known]).sum() else (b, a)
        broken = known & (numbers[small] > numbers[large])
        if 0 < broken.sum() <= (1 - USUAL) * known.sum():
            yield Rule("order", (small, large), "", broken, known)


def runs_backward(small: Any, large: Any, odd: Any, usual: Any, strata: Any) -> bool:
    """Whether rows keep to an order more than their distributions do, and odd ones have it the other way round as clearly: within each
    of the ``strata``, numbers of other rows would break it here and there; the odd ones are as far apart as the others, and do not only
    cross, as a warm day among cold ones."""
    import numpy as np

    rng = np.random.default_rng(0)
    at = np.flatnonzero(usual)
    by = at[np.lexsort((rng.random(len(at)), strata[at]))]
    own = at[np.argsort(strata[at], kind="stable")]
    if (small[own] > large[by]).mean() < CHANCE:
        return False
    apart = np.abs(large - small)
    (far, near), (odd_far, odd_near) = (
        (np.quantile(apart[mask], share), np.quantile(apart[mask], CROSSING))
        for mask, share in ((usual, AS_FAR), (odd, 0.5))
    )
    return bool(odd_far >= far > 0 and odd_near >= HALF * near)


def strays(small: Any, large: Any, odd: Any, usual: Any) -> bool:
    """Whether a few odd rows have two numbers swapped, wherever they are: the larger one is so by as much as in the usual rows, all of which
    keep clear of the line where both are equal, and each is among the other's usual numbers, which a fare that was paid back is not. What
    exceeds another only mostly comes close to it, on both sides."""
    import numpy as np

    for own, other in ((small[odd], large[usual]), (large[odd], small[usual])):
        if not len(own) or ((own >= other.min()) & (own <= other.max())).mean() < AMONG:
            return False
    if not FEWEST <= odd.sum() <= RARE * usual.sum() or not all(many_values(v[odd], FEWEST) for v in (small, large)):
        return False
    either = odd | usual
    positive = bool((small[either] > 0).all() and (large[either] > 0).all())
    own, others = (
        np.log(large[mask] / small[mask]) if positive else large[mask] - small[mask] for mask in (odd, usual)
    )
    middle = float(np.median(others))
    ranks = np.searchsorted(np.sort(others), -own) / len(others)
    clear = min(float(np.quantile(others, STRAY)), float(-own.max())) >= CLEAR * middle
    return bool(clear and ALIKE <= ranks.mean() <= 1 - ALIKE and -own.min() <= others.max())


def of_kind(odd: Any, known: Any, which: Any) -> bool:
    """Whether odd rows are those of one kind, of the codes ``which``: many of its rows are odd, and most odd ones are of it."""
    import numpy as np

    sizes, counts = (np.bincount(which[mask], minlength=int(which.max()) + 1) for mask in (known, odd))
    k = int(counts.argmax())
    return bool(counts[k] >= MOSTLY * counts.sum() and counts[k] >= OFTEN * sizes[k])


def decided(numbers: dict[str, Any], classes: dict[str, Any]) -> Iterator[Rule]:
    """Classes, codes from 0 on with -1 for none, that a number or the difference of two decides by limits: the best rule of each class."""
    import numpy as np

    signals: list[tuple[tuple[str, ...], Any]] = [((name,), x) for name, x in numbers.items()]
    signals += [((a, b), numbers[a] - numbers[b]) for a, b in combinations(numbers, 2)]
    for name, codes in classes.items():
        sizes = np.bincount(codes[codes >= 0])
        if not 1 < len(sizes) <= CLASSES or not RAREST * sizes.sum() <= sizes.min() or sizes.max() > MOST * sizes.sum():
            continue
        best: tuple[float, Rule] | None = None
        for of, x in signals:
            known = np.isfinite(x) & (codes >= 0)
            if name in of or known.sum() < max(LEAST, USUAL * len(x)):
                continue
            some = np.flatnonzero(known)[:: 1 + int(known.sum()) // SOME]
            share, values, says = limits(x[some], codes[some], len(sizes))
            told = codes[some][says[np.searchsorted(values, x[some])] == codes[some]]
            if share < USUAL or np.bincount(told).max() > NEARLY_ONE * len(told):
                continue
            share, values, says = limits(x[known], codes[known], len(sizes))
            # one number rather than two that tell as much
            if share >= USUAL and share < 1 and (best is None or share > best[0] + 0.001):
                broken = np.zeros(len(x), bool)
                broken[known] = says[np.searchsorted(values, x[known])] != codes[known]
                if varies(codes[known & ~broken]):  # what is the same in all other rows is decided by nothing
                    best = share, Rule("decided", (name, *of), "", broken, known)
        if best is not None:
            yield best[1]


def varies(codes: Any) -> bool:
    """Whether rows are not mostly of one class."""
    import numpy as np

    return len(codes) > 0 and bool(np.bincount(codes).max() <= MOST * len(codes))


def limits(x: Any, codes: Any, n: int) -> tuple[float, Any, Any]:
    """The share of rows whose class follows from between which limits ``x`` lies, each class in one range; the distinct numbers and the
    class that each decides."""
    import numpy as np

    values, at = np.unique(x, return_inverse=True)
    table = np.zeros((n, len(values) + 1))
    np.add.at(table, (codes, at + 1), 1)
    upward = np.argsort([np.median(x[codes == k]) if (codes == k).any() else np.inf for k in range(n)], kind="stable")
    below = table.cumsum(1)[upward]
    # the best place of each limit, given that of the next one: right rows below it are of the class before, above of the class after
    found, tops = np.zeros(len(values) + 1), []
    for gain in below[:-1] - below[1:]:
        found = gain + np.maximum.accumulate(found)
        tops.append(found)
    says, end = np.full(len(values), upward[-1]), len(values)
    for k in reversed(range(n - 1)):
        end = int(tops[k][: end + 1].argmax())
        says[:end] = upward[k]
    return float((says[at] == codes).mean()) if len(x) else 0.0, values, says


def mapped(keys: dict[str, Any], classes: dict[str, Any], teach: Any) -> Iterator[Rule]:
    """Classes that another column decides value by value, as the rows of ``teach``, bool [n], have it; both codes from 0 on, -1 for none."""
    import numpy as np

    for name, codes in classes.items():
        sizes = np.bincount(codes[codes >= 0]) if (codes >= 0).any() else np.zeros(0, int)
        if not 1 < np.count_nonzero(sizes) <= NAMES or sizes.max() > MOST * sizes.sum():
            continue
        for key, of in keys.items():
            known = (of >= 0) & (codes >= 0)
            taught = known & teach
            if key == name or taught.sum() < LEAST:
                continue
            totals = np.bincount(of[taught], minlength=int(of.max()) + 1)
            if np.count_nonzero(totals) < 2 or np.count_nonzero(totals) * REPEATED > taught.sum():
                continue
            cells, counts = np.unique(of[taught].astype(np.int64) * len(sizes) + codes[taught], return_counts=True)
            rising = np.argsort(counts, kind="stable")
            usual, most = np.full(len(totals), -1), np.zeros(len(totals), np.int64)
            usual[cells[rising] // len(sizes)], most[cells[rising] // len(sizes)] = (
                cells[rising] % len(sizes),
                counts[rising],
            )
            sure = (most > 1) & (most >= USUAL * totals)
            known &= sure[of]  # of -1 too, which is not known anyway
            broken = known & (usual[of] != codes)
            if (
                known.sum() >= LEAST
                and 0 < broken.sum() <= (1 - USUAL) * known.sum()
                and len({*usual[sure].tolist()}) > 1
                and varies(codes[known & ~broken])
            ):
                yield Rule("mapped", (key, name), "", broken, known)
