"""The groups and classes of samples that the names of their files tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dataloader_expert.sources.base import FILE_NAME, Role
from dataloader_expert.sources.roles import FEWEST_GROUPS, GROUP_WORDS, MOSTLY, words

WHOLE = -1
"""The parts of a file's name where each file is a group."""
SHORT = {"p", "pt", "pat", "subj", "sub", "s", "spk", "vid", "seq"}
"""``GROUP_WORDS``, abbreviated, in names of files."""
_DATED = re.compile(r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d")
_CLASSED = re.compile(r"([^\W\d_][^\W\d]*[._ -]*\(?)\d+\)?")
FEWEST_OF_CLASS = 8
"""The fewest files of a class that their names tell."""
NO_CLASS = {
    *("img", "image", "images", "dsc", "dscn", "photo", "pic", "picture", "frame", "scan", "screenshot", "pxl", "mvi", "wa"),
    *("canon", "nikon", "sony", "iphone", "phone", "orig", "original", "aug", "augmented", "ref", "copy", "new", "old", "query"),
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "day", "night"),
    *("file", "sample", "clip", "track", "page", "part", "tile", "patch", "crop", "cam", "camera", "view", "left", "right"),
    *("train", "training", "val", "valid", "validation", "test", "testing", "dev", "mask", "label", "depth"),
}  # fmt: skip
"""Words before a number that tell no class."""
_PART = re.compile(r"[_\-. ]+")
_NUMBERED = re.compile(r"[A-Za-z]{0,12}\d{1,12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,40}")
"""What a part of a file's name is that tells a group: a prefix with a number, or a hash."""
_NUMBERED_GROUP = re.compile(r"(\D*)(\d{1,12})")


def group_in_names(paths: Sequence[str], labels: Sequence[Any]) -> tuple[Role | None, int]:
    """The group that names of files tell, such as ``p012`` of ``p012_03.png``, and of how many parts of a name it consists.

    A group has a number, and in most groups are several files. What tells the class and nothing else
    is none, nor is the number of a file in its folder.
    """
    for parts in (1, 2):
        groups = [part_of_name(path, parts) for path in paths]
        if sum(group is not None for group in groups) < MOSTLY * len(groups):
            continue
        sizes = Counter(groups)
        if len(sizes) < FEWEST_GROUPS or sum(n > 1 for n in sizes.values()) * 2 < len(sizes):
            continue
        if None not in labels and len({*zip(groups, labels, strict=True)}) == len({*labels}) > 1:
            continue  # each class has one: it says the class once more, or a part of its name
        if len({*zip(groups, labels, strict=True)}) == len(sizes) == len({*labels}):
            continue
        if _counted(paths, groups):
            continue
        if 2 * sum(group == label for group, label in zip(groups, labels, strict=True)) >= len(groups):
            continue  # most files are called after their class
        example = next(i for i, group in enumerate(groups) if group is not None and sizes[group] > 1)
        name, group = paths[example].rsplit("/", 1)[-1], str(groups[example])
        return Role(FILE_NAME, f"by the names of files: {group} in {name}", _called_a_group(group)), parts
    return None, 0


def _called_a_group(name: str) -> bool:
    """Whether a file or a folder is called after what samples were taken of, such as ``patient01`` or ``s01``."""
    return bool({*words(name)} & (GROUP_WORDS | SHORT))


def _counted(paths: Sequence[str], groups: Sequence[str | None]) -> bool:
    """Whether they are the numbers of the samples of each folder, from 0 or 1 on and hardly with a gap: of one file each, as in the Large
    Movie Review Dataset, or of the same files each in folders called after groups, such as ``slice_000_img.npy`` and
    ``slice_000_msk.npy`` of a patient. What is called after a group, such as ``patient01_left.png``, is one."""
    counts: dict[str, dict[int, set[str]]] = {}
    heads, files = set[str](), 0
    folders = {path.rpartition("/")[0].rpartition("/")[2] for path in paths}
    for path, group in zip(paths, groups, strict=True):
        if group is None:
            continue
        numbered = _NUMBERED_GROUP.fullmatch(group)
        if numbered is None:
            return False
        heads.add(numbered[1])
        files += 1
        folder, _, name = path.rpartition("/")
        counts.setdefault(folder, {}).setdefault(int(numbered[2]), set()).add(name.removeprefix(group))
    endings = [ends for own in counts.values() for ends in own.values()]
    one_each = heads == {""} and len(endings) == files
    same_each = (
        len(heads) == 1
        and not any(map(_called_a_group, heads))
        and len(counts) > 1
        and all(_called_a_group(name) and any(map(str.isdigit, name)) for name in folders)
        and all(ends == endings[0] for ends in endings)
    )
    gapless = (min(own) <= 1 and len(own) >= MOSTLY * (max(own) - min(own) + 1) for own in counts.values())
    return (one_each or same_each) and all(gapless)


def classes_in_names(paths: Sequence[str]) -> list[str | None]:
    """The class that a word before a number tells, such as ``cat`` of ``cat.12.jpg``; nothing if few names are of this form, or
    the words are as a camera writes them or nearly as many as the files."""
    found = [_CLASSED.fullmatch(path.rsplit("/", 1)[-1].rsplit(".", 1)[0]) for path in paths]
    names = [match[1].strip(" ._-(") if match is not None else None for match in found]
    sizes = Counter(name for name in names if name)
    said = {word for name in sizes for word in words(name)}
    few = 2 <= len(sizes) <= max(2, len(paths) // 10) and min(sizes.values()) >= FEWEST_OF_CLASS
    few = few and sizes.total() >= MOSTLY * len(paths) and not all(name.isupper() for name in sizes)  # as cameras write
    if not few or said & (NO_CLASS | SHORT | GROUP_WORDS):
        return [None] * len(paths)
    return names


def group_of_files(paths: Iterable[str]) -> Role:
    """The group of rows each of whose files is a recording, a person or another thing of its own."""
    return Role(FILE_NAME, f"by the files, each of which holds the rows of one of {len({*paths})}", False)


def part_of_name(path: str, parts: int) -> str | None:
    """The first parts of a file's name if the last of them has a number and more follows, None otherwise; of ``WHOLE`` the path."""
    if parts == WHOLE:
        return path.rpartition(".")[0]
    if _DATED.match(path.rsplit("/", 1)[-1]):
        return None
    found = [part for part in _PART.split(path.rsplit("/", 1)[-1].rsplit(".", 1)[0]) if part]
    return "_".join(found[:parts]) if len(found) > parts and _NUMBERED.fullmatch(found[parts - 1]) else None
