"""The splits that a data set card declares: ``configs`` at the top of a README.md, as on the Hugging Face Hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.files import Listing

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
