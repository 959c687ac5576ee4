"""Codes in the names of files, such as ``03-01-05-01-02-01-12.wav`` of RAVDESS: which parts of one pattern may say what a sample is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from dataloader_expert.errors import escaped
from dataloader_expert.sources.layout import split_in_name

FEWEST, FEWEST_PARTS, MOST_VALUES = 20, 3, 100
"""The fewest files, the fewest parts of a pattern, and the most values of a part that may be classes."""
RECUR = 5
"""How often a value occurs at least, on average."""
MOST_TOLD, MOST_NAMED, LONGEST = 4, 3, 12
"""Parts that are told, values of one that are named, and their letters."""
_SEPARATOR = re.compile(r"(?<=[^_\-. ])[_\-. ]+")


def codes_in_names(paths: Sequence[str]) -> str | None:
    """What is told of names that all have as many parts, of which some have few values; None of others. It is told and not taken: a
    part may be a class as well as a person, a camera or a date."""
    names = [path.rpartition("/")[2].rpartition(".")[0] for path in paths]
    parts = [_SEPARATOR.split(name) for name in names]
    if len(paths) < FEWEST or len({len(of) for of in parts}) != 1:
        return None
    values = [{of[i] for of in parts} for i in range(len(parts[0]))]
    crossed = len(values) > 1 and math.prod(map(len, values)) == len(paths)  # each of one with each of the others
    if len(values) < FEWEST_PARTS and not crossed:
        return None
    most = min(MOST_VALUES, len(paths) // RECUR)
    few = [(i + 1, of) for i, of in enumerate(values) if 1 < len(of) <= most and not all(map(split_in_name, of))]
    if not few:
        return None
    said = [f"part {i} has {len(of)} values{_such_as(of)}" for i, of in few[:MOST_TOLD]]
    told = ", ".join(said) + (", …" if len(few) > MOST_TOLD else "")
    return (
        f"file names follow one pattern, such as {names[0][:60]}: {told}; one part may be the label or a group; parse it from "
        "the name in your own Dataset class"
    )


def _such_as(values: set[str]) -> str:
    """The values themselves, if they are few words: numbers say no more than how many there are."""
    worded = len(values) <= MOST_NAMED and all(
        re.search(r"[^\W\d_]{2}", value) and len(value) <= LONGEST for value in values
    )
    return f" ({escaped(', '.join(sorted(values)))})" if worded else ""
