"""Samples that show one thing from several sides or at several times: told, as each is read as a sample of its own."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence

from dataloader_expert.errors import listed
from dataloader_expert.sources.layout import split_of_folder
from dataloader_expert.sources.scenes import MOST_ROLES, SURE, VIEWS, counted

_PART = re.compile(r"[_\-. ]+")


def several_views(paths: Sequence[str]) -> str | None:
    """What to tell of samples that are several views of each scene, by a word in their names, such as ``pre`` and ``post``, or by folders
    of which each holds the same names, such as those of two cameras; None of others."""
    words = _complete(_by_word(path) for path in paths)
    if words:
        return f"{listed(words)} in the names of files tell several images of a scene apart: each is read as its own sample"
    if counted(path.rpartition("/")[2].rpartition(".")[0] for path in paths):
        return None
    parts = [path.split("/") for path in paths]
    depth = {len(of) for of in parts}
    for level in range(min(depth, default=1) - 1) if len(depth) == 1 else ():
        names = {of[level] for of in parts}
        if 1 < len(names) <= MOST_ROLES and not any(map(split_of_folder, names)):
            if _complete(((*of[:level], *of[level + 1 :]), of[level]) for of in parts):
                return f"{listed(sorted(names))} hold files of the same names, such as several views of a scene: each is read as its own sample"
    return None


def _by_word(path: str) -> tuple[Hashable, str]:
    """The name without a word for one of several views, and this word, '' if there is none."""
    folder, _, name = path.rpartition("/")
    parts = _PART.split(name.rpartition(".")[0])
    at = next((i for i, part in enumerate(parts) if part.lower() in VIEWS), None)
    return (folder, path, "") if at is None else (
        folder,
        at,
        *parts[:at],
        *parts[at + 1 :],
    ), "" if at is None else parts[at]


def _complete(told: Iterable[tuple[Hashable, str]]) -> list[str]:
    """The words, if there are several and nearly all scenes have each of them."""
    scenes: dict[Hashable, set[str]] = {}
    for scene, word in told:
        scenes.setdefault(scene, set()).add(word)
    words = set[str]().union(*scenes.values())
    whole = sum(of == words for of in scenes.values())
    return sorted(words) if len(words) > 1 and "" not in words and whole >= SURE * len(scenes) else []
