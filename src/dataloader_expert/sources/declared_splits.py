"""The splits that stand beside the data: those that its card declares (``configs`` at the top of a README.md, as on the Hugging Face Hub),
and those of lists of files that hold a sample each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.annotations.divided import join_divided
from dataloader_expert.sources.annotations.listed import join_lists
from dataloader_expert.sources.annotations.record import Annotations
from dataloader_expert.sources.base import Source, Unit
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.samples import FileSamples

FEWEST = 4
"""The fewest samples that lists may divide."""
CARD, MOST = "README.md", 1 << 16
_TOP = re.compile(r"\A---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
_SPLIT = re.compile(r"^\s*-?\s*split:\s*[\"']?([\w.-]+)[\"']?\s*$")
_PATH = re.compile(r"^\s*-?\s*(?:path:\s*)?[\"']?([^\"':\s\[\]]+)[\"']?\s*$")


def with_declared(units: Sequence[Unit], listing: Listing) -> list[Unit]:
    """The units in the splits that the card declares, where these are more than their files' names tell: ``train_sft`` and ``train_gen`` of
    which both would pass for ``train``. As they are where the card leaves a file out or names it twice."""
    declared = _declared(listing) if len({unit.file for unit in units}) > 1 else []
    found: dict[str, str] = {}
    for unit in units:
        names = {split for split, path in declared if fnmatchcase(unit.file, path)}
        if len(names) != 1:
            return list(units)
        [found[unit.file]] = names
    named = {unit.split for unit in units}
    return (
        [replace(unit, split=found[unit.file]) for unit in units]
        if len({*found.values()}) > len(named)
        else list(units)
    )


def with_listed(source: Source, listing: Listing) -> list[str]:
    """Divides arrays of a file each by lists that name most of them, as ``train.list`` and ``val.list``, which are returned; images, recordings
    and texts are divided where they are annotated."""
    paths = [unit.file for unit in source.units]
    each = len({*paths}) == len(paths) >= FEWEST and all(unit.samples == 1 for unit in source.units)
    if not each or source.splits or source.roles is not None or isinstance(source, FileSamples):
        return []
    found = Annotations(images=False)
    for join in (join_lists, join_divided):
        join(found, listing, paths)
    if len({*found.splits.values()}) < 2:
        return []
    source.units = [replace(unit, split=found.splits.get(unit.file)) for unit in source.units]
    source.problems += found.problems
    return found.lists


def _declared(listing: Listing) -> list[tuple[str, str]]:
    """Splits, each with a pattern of its files."""
    try:
        text = listing.head(CARD, MOST).decode("utf-8", "replace")
    except (Unreadable, OSError):
        return []
    top = _TOP.match(text)
    found, split = [], None
    for line in top[1].splitlines() if top else ():
        if (told := _SPLIT.match(line)) is not None:
            split = told[1]
        elif split is not None and (path := _PATH.match(line)) is not None:
            found.append((split, path[1]))
        elif line.strip() != "path:":
            split = None
    return found
