"""Rules with a single field that tell a label: the commonest class at the nearest value, a rank interpolated between the nearest values,
a value that comes with one class alone, and a mark that only samples of one class have."""

from __future__ import annotations

from typing import Any

CLASSES = 100
"""A label with more distinct numbers is continuous."""
PURE, CHANCE, PART = 0.995, 1e-9, 0.05
"""The share of one class from which samples with a field, or without it, are said to be of that class alone; how unlikely that must be
by chance; and the least share of the class that they are."""
OFTENER, FAR_OFTENER = 0.5, 0.8
"""By how much the share of missing values may differ between a class and all others before it is told, and before it is a warning: whoever
looks worse is measured more often, but hardly ever are all measured of one class and next to none of the other."""
NEARLY = 0.95
"""The share of both, of the marked samples that have the class and of the class that is marked, from which the mark is the label."""
LEAST, RARE = 30, 5
"""The fewest rows to test on, and the fewest of them that a constant guess must get wrong."""


def together_only(values: Any, target: Any) -> tuple[int, Any, int] | None:
    """A class and a value that always come together, where other values come with several classes, and in how many samples."""
    import numpy as np

    known, at = np.unique(_clean(values), return_inverse=True)
    if not 2 <= len(known) <= CLASSES:
        return None
    table = np.zeros((len(known), int(target.max()) + 1), np.int64)
    np.add.at(table, (at, target), 1)
    alone = [
        (v, c) for v, c in np.argwhere(table >= LEAST).tolist() if table[v].sum() == table[v, c] == table[:, c].sum()
    ]
    mixed = ((table > 0).sum(1) > 1).any()
    if len(alone) != 1 or not mixed:
        return None  # of several, the field is a second form of the label
    v, c = alone[0]
    return c, known[v], int(table[v, c])


def one_sided(present: Any, numbers: Any, target: Any, chance: float) -> tuple[str, int, int, int, float, bool] | None:
    """How samples are marked that have one class, the class, how many of them have it, how many there are, its share of all, and
    whether nearly all of that class are marked."""
    import numpy as np

    marks = {"is not missing": present, "is missing": ~present}
    if numbers is not None and (numbers[present] == 0).any():
        marks["is other than 0"] = present & (numbers != 0)
    for how, mark in marks.items():
        n = int(mark.sum())
        if not LEAST <= n <= len(target) / 2:
            continue
        counts = np.bincount(target[mark])
        k, every = int(counts.argmax()), np.bincount(target)
        base = float(every[k] / len(target))
        nearly_all = bool(counts[k] >= NEARLY * every[k])
        pure = counts[k] >= (NEARLY if nearly_all else PURE) * n
        if pure and n * np.log(base) <= np.log(chance) and counts[k] >= PART * every[k]:
            return how, k, int(counts[k]), n, base, nearly_all
    return None


def by_class(absent: Any, target: Any) -> tuple[int, float, float, int] | None:
    """The class whose share of missing values differs the most from that of all others, both shares, and how many are missing; None if
    none differs by much."""
    import numpy as np

    sizes, gone = np.bincount(target), np.bincount(target, absent)
    rest = len(target) - sizes
    known = (sizes >= LEAST) & (rest >= LEAST)
    own, others = gone / np.maximum(sizes, 1), (gone.sum() - gone) / np.maximum(rest, 1)
    apart = np.where(known, np.abs(own - others), 0.0)
    k = int(apart.argmax())
    return (k, float(own[k]), float(others[k]), int(gone.sum())) if apart[k] >= OFTENER else None


def _nearest(values: Any, learns: Any) -> tuple[Any, Any]:
    """The distinct values of the learning half, and for each value the index of the nearest one; -1 for an unseen text."""
    import numpy as np

    known = np.unique(values[learns])
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    if values.dtype.kind == "u":
        return known, np.where(known[at] == values, at, -1)
    below = np.maximum(at - 1, 0)
    return known, np.where(np.abs(values - known[below]) <= np.abs(known[at] - values), below, at)


def _clean(values: Any) -> Any:
    """NaN as a number below all others: missing values may give the label away as well."""
    import numpy as np

    if values.dtype.kind != "f":
        return values
    finite = values[np.isfinite(values)]
    least = float(finite.min()) if len(finite) else 0.0
    return np.where(np.isnan(values), least - max(1.0, abs(least)), values)


def of_classes(values: Any, target: Any, learns: Any) -> tuple[float, float, float] | None:
    """Score, accuracy of the rule, and accuracy of the best constant guess, on the held-out rows."""
    import numpy as np

    tests = ~learns
    if tests.sum() < LEAST or learns.sum() < LEAST or len(np.unique(target)) < 2:
        return None
    known, at = _nearest(_clean(values), learns)
    classes = int(target.max()) + 1
    usual = int(np.bincount(target[learns], minlength=classes).argmax())
    guess = float(np.bincount(target[tests]).max() / tests.sum())
    if (1 - guess) * tests.sum() < RARE:
        return None
    table = np.zeros((len(known) + 1, classes), np.int64)  # the last one is for unseen values
    np.add.at(table, (at[learns], target[learns]), 1)
    rule = np.where(table.any(1), table.argmax(1), usual)
    right = float((rule[at[tests]] == target[tests]).mean())
    return (right - guess) / (1 - guess), right, guess


def renames(values: Any, target: Any) -> bool:
    """Whether texts, or numbers counted without a gap, stand for the classes one to one. Of two classes that says little: a column of
    yes and no that goes with them may be a consequence of the label as well as its name."""
    import numpy as np

    known, at = np.unique(_clean(values), return_inverse=True)
    if not 2 < len(known) == int(target.max()) + 1:
        return False
    counted = known.dtype.kind == "u" or bool((np.diff(known) == 1).all())
    table = np.zeros((len(known), len(known)), np.int64)
    np.add.at(table, (at, target), 1)
    return counted and len({*table.argmax(1).tolist()}) == len(known)


def of_ranks(values: Any, target: Any, learns: Any) -> tuple[float, float, float] | None:
    """The share of the variance of the label's ranks that the field explains."""
    import numpy as np

    tests = ~learns
    if tests.sum() < LEAST or learns.sum() < LEAST or values.dtype.kind != "f":
        return None
    clean, ranks = _clean(values), target.astype(np.float64)
    known, at = _nearest(clean, learns)
    means = np.bincount(at[learns], ranks[learns], minlength=len(known)) / np.bincount(at[learns], minlength=len(known))
    variance = float(((ranks[tests] - ranks[learns].mean()) ** 2).mean())
    left = float(((ranks[tests] - np.interp(clean[tests], known, means)) ** 2).mean())
    return (1 - left / variance, 0.0, 0.0) if variance > 0 else None
