"""Whether labels that are whole numbers are quantities, such as counts, and no classes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from dataloader_expert.sources.label_names import COUNTS, PREDICTED
from dataloader_expert.sources.roles import GROUP_WORDS, words

FEW_NUMBERS = 30
"""So many distinct whole numbers may be classes, however they are numbered: grades, ages in years, codes."""
LEAST_HEAP, LEAST_TOP, NO_GAPS = 12, 60, 0.8
"""Numbers, samples of the most frequent, and the share of their range that they fill, from which on it is no chance that they are heaped
around one."""
DENSE = 0.5
"""The least share of their range that numbers of classes fill."""
THIN = 0.5
"""How frequent the largest or the smallest tenth of the values may be to count as rare, against the mean."""
CLASS_WORDS = GROUP_WORDS | {
    "label", "labels", "class", "classes", "category", "categories", "cls", "id", "type", "species", "code", "identity",
}  # fmt: skip
"""Words in the name of a field whose numbers name classes."""


def quantities(name: str, counts: Mapping[Any, int]) -> bool:
    """Whether whole numbers are quantities, such as prices or counts, and not numbers of classes: there are many, and most of them
    occur once, or those at the ends are rarer than those between, or the name says so; or there are few, heaped around one in the middle. A field
    that is named after classes, or after whom samples are from, has classes."""
    if set(words(name)) & CLASS_WORDS or not all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in counts
    ):
        return False
    if len(words(name)) == 1 and words(name)[0] in COUNTS:
        return True
    if len(counts) <= FEW_NUMBERS:
        return heaped(counts)
    if {*words(name)[-1:]} & (PREDICTED | COUNTS):
        return True
    values = sorted(counts)
    tenth, mean = max(1, len(values) // 10), sum(counts.values()) / len(counts)
    thin = [sum(counts[v] for v in end) <= THIN * mean * tenth for end in (values[:tenth], values[-tenth:])]
    if values[0] in (0, 1) and len(values) >= DENSE * (values[-1] - values[0] + 1):
        return all(thin)  # as of classes, unless those in the middle are the most frequent
    return thin[1] or 2 * sum(n == 1 for n in counts.values()) > len(counts)


def heaped(counts: Mapping[Any, int]) -> bool:
    """Whether numbers with hardly a gap become more frequent up to one in the middle and rarer from there, as counts of things do: classes
    that are numbered in any order are not by chance, and those numbered by frequency have the largest first or last."""
    values = sorted(counts)
    if len(values) < LEAST_HEAP or len(values) < NO_GAPS * (values[-1] - values[0] + 1):
        return False
    row = [counts.get(v, 0) for v in range(int(values[0]), int(values[-1]) + 1)]
    top, most = row.index(max(row)), max(row)
    inside = len(row) // 5 <= top < len(row) - len(row) // 5
    thin = most >= LEAST_TOP and max(row[0], row[-1]) <= most / 5
    slopes = (row[: top + 1], row[: top - 1 if top else None : -1])
    return inside and thin and all(b >= a - 2 * math.sqrt(a + b) for of in slopes for a, b in itertools.pairwise(of))
