"""Which fields say where or by what samples were recorded: rows of one site, device or file may be recorded otherwise than those of all
others, while kinds of things differ by nature."""

from __future__ import annotations

from typing import Any

from dataloader_expert.sources.roles import GROUP_WORDS, words

RECORDED_BY = GROUP_WORDS | {
    "site", "device", "sensor", "station", "source", "lab", "machine", "meter", "city", "region", "country", "scanner", "camera",
    "batch", "shop", "store", "center", "centre", "instrument", "agency", "provider", "hospital", "clinic", "laboratory", "supplier", "operator", "observer", "recorder",
    "rater", "annotator", "host", "node", "logger", "plant", "facility", "platform", "vendor", "location", "unit", "file", "shard", "year", "month",
    "district", "county", "province", "borough", "municipality", "town", "village", "gauge", "buoy", "reader", "analyser", "analyzer", "farm",
    "school", "branch", "institution", "institute", "organization", "organisation", "run", "session", "season", "survey", "campaign", "cruise", "collector", "recorded",
    "wave", "acquirer", "gateway", "marketplace",
}  # fmt: skip
"""Words in the names of fields that say where or by what samples were recorded, and not what they are."""
FILE = "the file"
"""Stands for the field whose values are the names of files."""
FEWEST = 3
"""The fewest groups that are compared; and of how many one may be odd."""


def is_place(group: str) -> bool:
    """Whether the values of a field, or the files, say where or by what samples were recorded."""
    return group == FILE or bool(set(words(group)) & RECORDED_BY)


def few(odd: int, groups: int) -> bool:
    """Whether so many groups are odd ones among others that tell what is usual."""
    return groups >= FEWEST and 0 < odd * FEWEST <= groups


def quantiles(numbers: Any) -> Any:
    """Five quantiles that tell a distribution without its tails."""
    import numpy as np

    return np.quantile(numbers, [0.1, 0.25, 0.5, 0.75, 0.9])


def distance(one: Any, two: Any) -> float:
    """The largest difference of :func:`quantiles`, in interquartile ranges of the narrower; infinite where one has none."""
    import numpy as np

    spread = float(min(one[3] - one[1], two[3] - two[1]))
    return float(np.abs(one - two).max()) / spread if spread > 0 else float("inf")
