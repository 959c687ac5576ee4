"""Which level of folders names the classes, and which one says what samples were taken of: patients, clips, parts of a download.

The innermost folder names the class, unless its level is numbered alike and one above it has better names: the level that is left out
is then the group. ``dog/clip01`` is of the class dog, ``id10001/1zcIwhmdeo4`` of the speaker id10001, ``adenosis/SOB_B_A_14-22549/40X``
of adenosis.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

_TAKEN = re.compile(
    r"(actor|patient|subject|speaker|person|participant|user|animal|scene|session|video|clip|take|case|study|visit|exam|trial|episode"
    r"|recording|sequence|track|site|hospital)s?[_\- ]?\d+",
    re.I,
)
"""Folders that are called after what their samples were taken of: fewer words than of columns (``roles.GROUP_WORDS``), as a folder is
a class far more often."""
_PART = re.compile(
    r"(image|img|photo|picture|file|part|batch|delivery|upload|chunk|shard|archive)s?(?:[_\- ]?\d+)+", re.I
)
"""The parts of a download, perhaps with the year and month of a delivery."""
_MEASURED = re.compile(r"\d+(?:\.\d+)?(x|p|px|k|hz|khz|mm|um|nm|dpi|fps)", re.I)
"""A magnification, a resolution or a rate: how samples were taken."""
_SYMBOL = re.compile(r"(character|char|glyph|letter|symbol)s?[_\- ]?\d+", re.I)
"""Numbered in each alphabet anew, as of Omniglot."""
_KIND = re.compile(r"n\d{8}|(class|category|label|type|species|grade|stage|level|digit|c)[_\- ]?\d+", re.I)
"""Numbers of classes, or of WordNet's meanings."""
_CODE = re.compile(r"[\w\-]{8,}")
_HEXADECIMAL = re.compile(r"(?<![A-Za-z])(?=[a-f]*\d)[0-9a-f]{8,}(?![A-Za-z])")
_NUMBER = re.compile(r"\d+[A-Za-z]{0,2}(?![A-Za-z])")
MOSTLY = 0.7
"""The least share of codes with a digit."""
FEWEST = 2
"""The fewest takes of a class, on average."""


@dataclass(frozen=True)
class Levels:
    """The folders, by their place from the outermost on, that together name a class, and those that together name a group."""

    classes: tuple[int, ...] = ()
    groups: tuple[int, ...] = ()

    def class_of(self, folders: Sequence[str]) -> str | None:
        return _called(folders, self.classes)

    def group_of(self, folders: Sequence[str]) -> str | None:
        return _called(folders, self.groups)


def levels_of(paths: Sequence[Sequence[str]]) -> Levels | None:
    """The levels of these files' folders; None where the innermost folder of each may name its class, whatever lies above."""
    depth, often = max(Counter(map(len, paths)).items(), key=lambda item: item[1], default=(0, 0))
    if not depth or 2 * often < len(paths):
        return None
    folders = {tuple(p) for p in paths if len(p) == depth}
    levels = [i for i in range(depth) if len({of[i] for of in folders}) > 1]
    if not levels or levels[-1] != depth - 1:
        return None
    groups: tuple[int, ...] = ()
    while levels:
        *above, level = levels
        names = {of[level] for of in folders}
        if above and _all(_SYMBOL, names) and not _nested(folders, level):
            return Levels((above[-1], level), groups)
        better = any(_worded({of[i] for of in folders}) for i in above)
        if _all(_TAKEN, names) and (above or len(names) > FEWEST):
            groups = (level,) if not better or _nested(folders, level) else (*above, level)
            above = above if better else []
        elif above and better and _takes(folders, level, above[-1]):
            groups = (level,)
        elif not _all(_PART, names) and not (above and _one_unit(names)):
            break
        levels = above
    return None if levels[-1:] == [depth - 1] else Levels(tuple(levels[-1:]), groups)


def numbered_alike(names: Collection[str]) -> bool:
    """Whether names differ in their numbers and in little else, as ``TCGA_CS_4941_19960909`` and ``TCGA_DU_5849_19950405``."""
    forms = {_form(name) for name in names}
    return all("#" in form for form in forms) and 2 * len(forms) <= len({*names}) and not _all(_KIND, names)


def numbered_anew(groups: Mapping[str, str], files: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The groups by folder, with its split in the name of each where splits number them anew: ``clip_000`` of training and ``clip_000`` of
    validation hold files of the same names, so they are two clips; the frames of one that was divided have other numbers.

    Args:
        files: the path of each file, and its split.
    """
    held: dict[str, dict[str, set[str]]] = {}
    folders: dict[str, str] = {}
    for path, split in files:
        folder, _, name = path.rpartition("/")
        if split is not None and folder in groups:
            folders[folder] = split
            held.setdefault(groups[folder], {}).setdefault(split, set()).add(name)
    several = [[*of.values()] for of in held.values() if len(of) > 1]
    anew = sum(2 * len(set.intersection(*of)) > min(map(len, of)) > 1 for of in several)
    if not several or anew < MOSTLY * len(several):
        return dict(groups)
    return {folder: f"{folders[folder]}/{name}" if folder in folders else name for folder, name in groups.items()}


def _called(folders: Sequence[str], levels: tuple[int, ...]) -> str | None:
    return "/".join(folders[i] for i in levels) if levels and levels[-1] < len(folders) else None


def _takes(folders: set[tuple[str, ...]], level: int, above: int) -> bool:
    """Whether the folders of a level are takes of those above: several each, in one of these only, numbered alike there."""
    names = {of[level] for of in folders}
    takes: dict[str, set[str]] = {}
    for of in folders:
        takes.setdefault(of[above], set()).add(of[level])
    several = len(takes) > 1 and len(names) >= FEWEST * len(takes)
    if not several or sum(map(len, takes.values())) > len(names) or _all(_KIND, names) or _counted(names):
        return False
    return _codes(names) or all(
        len({_form(name) for name in of}) == 1 and "#" in _form(min(of)) for of in takes.values()
    )


def _nested(folders: set[tuple[str, ...]], level: int) -> bool:
    """Whether each name of a level stands in one folder only."""
    return len({of[: level + 1] for of in folders}) == len({of[level] for of in folders})


def counted_from_zero(names: Collection[str]) -> bool:
    """Whether these are the numbers from 0 on, as of classes."""
    return _counted({*names}) and min(map(int, names)) == 0


def _counted(names: set[str]) -> bool:
    """Whether these are the numbers from 0 or 1 on, as of classes."""
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return len(numbers) == len(names) and numbers[0] <= 1 and numbers[-1] - numbers[0] == len(numbers) - 1


def _codes(names: Collection[str]) -> bool:
    """Whether names are codes without a word, such as YouTube's."""
    mixed = sum(bool(re.search(r"[A-Za-z]", name) and re.search(r"\d", name)) for name in names)
    return len({len(name) for name in names}) == 1 and _all(_CODE, names) and mixed >= MOSTLY * len(names)


def _worded(names: Collection[str]) -> bool:
    """Whether names are words, or numbers behind one that is none of a take."""
    return all(re.search(r"[^\W\d_]{2}", name) for name in names) and not _all(_PART, names)


def _one_unit(names: Collection[str]) -> bool:
    """Whether all are measures in the same unit, as 40X and 100X."""
    found = [_MEASURED.fullmatch(name) for name in names]
    return len({None if match is None else match[1].lower() for match in found} - {None}) == 1 and all(found)


def _form(name: str) -> str:
    """The name with a sign in place of each number."""
    return _NUMBER.sub("#", _HEXADECIMAL.sub("#", name))


def _all(pattern: re.Pattern[str], names: Collection[str]) -> bool:
    return bool(names) and all(map(pattern.fullmatch, names))
