"""What speaks against reading folders as classes: each is a split of its own, a sequence of frames, a person, a role or a stream.

Names of files decide, never what is in them, and only what no folders of classes have in common: equal names such as ``001.jpg`` in
each folder say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dataloader_expert.sources.layout import tokens
from dataloader_expert.sources.levels import counted_from_zero, numbered_alike
from dataloader_expert.sources.pairing import PARTNERS, SAMPLES

FEWEST = 2
DIGITS, DIGITS_ALONE = 4, 6
"""The fewest digits of the numbers of frames, in folders of which each is in one split, and where there are no splits."""
SHARED = 0.9
"""The least share of the names that folders of roles have in common."""
MIXED = {"mix", "mixed", "mixture", "mixtures", "noisy"}
SOUNDED = MIXED | {
    "clean", "speech", "noise", "source", "sources", "target", "targets", "vocals", "accompaniment", "reverb", "reverberant", "dry",
    "wet", "enhanced", "interference", "single", "both", "max", "min", "s",
}  # fmt: skip
"""Words that say what part of a mixture a recording is: ``mix_clean``, ``s1``, ``s2``, ``noise``."""
COUNTED = {"s", "source", "target"}
"""Those of which a mixture has several, each with its number behind."""
_DATE = re.compile(
    r"(?:19|20)\d\d(?:([-_. ])(?:0?[1-9]|1[0-2]|[WQ]\d{1,2})(?:\1(?:0?[1-9]|[12]\d|3[01]))?|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))"
    r"(?:[T_ -]\d{1,2}[-_:h.]?\d\d(?:[-_:m.]?\d\d)?)?"
)
"""A month or a day, perhaps with the time: years alone may be classes."""
_FRAME = re.compile(r"\d+")
_REPEATS = re.compile(r"(\d+)_\D.*")
"""How often the images of a folder are taken, and what they show, as trainers of image generators read it: ``10_sks dog``."""
_PART = re.compile(r"[_\-. ]+")


@dataclass(frozen=True)
class Against:
    """``why``: in words, None where nothing need be told. ``groups``: the folders say what samples were taken of."""

    why: str | None = None
    groups: bool = False


def against_classes(
    paths: Sequence[str], splits: Sequence[str | None], labels: Sequence[str | None], value: str
) -> Against | None:
    """Why these folders are no classes; None if nothing speaks against it. ``value``: what samples are, such as ``image``."""
    held: dict[str, list[str]] = {}
    for path, label in zip(paths, labels, strict=True):
        if label is not None:
            held.setdefault(label, []).append(path.rpartition("/")[2].rpartition(".")[0])
    if len(held) < FEWEST:
        return None
    if all(map(_DATE.fullmatch, held)) or _are_nested_ids(paths, labels):
        return Against(groups=True)
    both = {pair for pair in zip(splits, labels, strict=True) if pair[1] is not None}
    apart = None not in splits and len(both) == len(held) and len({split for split, _ in both}) == len({*splits}) > 1
    if apart and len(both) == len({*splits}):
        return Against()  # each split has a folder of its own
    if value == "image" and _are_sequences(held, apart, any(splits)):
        return Against(groups=True)
    if _are_within_names(held):
        return Against(groups=True)
    if value == "audio" and _are_parts_of_mixtures(held):
        text = "hold recordings of the same names, so they are parts of one scene: each is read as its own sample"
        return Against(text)
    return None


def are_repeats(names: Collection[str]) -> bool:
    """Whether folders of captioned images are called by how often these are taken, and do not just count the classes."""
    found = [_REPEATS.fullmatch(name) for name in names]
    numbers = sorted(int(match[1]) for match in found if match is not None)
    return len(numbers) == len(found) and numbers != [*range(numbers[0], numbers[0] + len(numbers))]


def _are_sequences(held: Mapping[str, Collection[str]], apart: bool, divided: bool) -> bool:
    """Whether folders are numbered alike, and the frames in each are numbered from the same number on without a gap."""
    if not all(map(re.compile("[A-Za-z]").search, held)) or not numbered_alike(held) or (divided and not apart):
        return False
    digits = DIGITS if apart else DIGITS_ALONE
    begin = set[int]()
    for stems in held.values():
        if not all(_FRAME.fullmatch(stem) and len(stem) >= digits for stem in stems):
            return False
        numbers = sorted(map(int, stems))
        if len(numbers) < FEWEST or numbers[-1] - numbers[0] != len(numbers) - 1:
            return False
        begin.add(numbers[0])
    return len(begin) == 1


def _are_nested_ids(paths: Sequence[str], labels: Sequence[str | None]) -> bool:
    """Whether folders are called by numbers, each after the one above it, and their files after them, as ``a01/a01-000u/a01-000u-01.png``
    of a page of a writer."""
    for path, label in zip(paths, labels, strict=True):
        *_, above, folder, name = ("", "", *path.split("/"))
        nested = name.startswith(folder) and folder.startswith(above) and above not in ("", folder)
        if label is not None and not (nested and label == folder and any(map(str.isdigit, folder[len(above) :]))):
            return False
    return True


def _are_within_names(held: Mapping[str, Collection[str]]) -> bool:
    """Whether each name repeats the number of its folder behind a first part that has the same several values in each folder, as the
    digit in ``01/7_01_3.wav`` of the speaker 01: a class that names repeat comes first. Numbers from 0 on are those of classes."""
    if not all(map(_FRAME.fullmatch, held)) or counted_from_zero(held):
        return False
    firsts: list[set[str]] = []
    for folder, stems in held.items():
        parts = [_PART.split(stem) for stem in stems]
        if not all(folder in of[1:] and of[0] != folder for of in parts):
            return False
        firsts.append({of[0] for of in parts})
        if 2 * len(firsts[-1]) > len(parts):  # a number of its own for each
            return False
    shared = set[str].intersection(*firsts)
    return len(shared) >= FEWEST and all(len(shared) >= SHARED * len(of) for of in firsts)


def _are_parts_of_mixtures(held: Mapping[str, Collection[str]]) -> bool:
    """Whether folders of recordings are called by parts of a mixture, one of them by the mixture, and hold the same names; of several such
    scenes, each has a name of its own beside, as ``clean_testset_wav`` and ``noisy_testset_wav``."""
    scenes: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for folder in held:
        part, rest = part_of_mixture(folder)
        scenes.setdefault(tuple(word for word in rest if not word.isdigit()), {})[folder] = part
    return all(
        len(parts) >= FEWEST
        and all(parts.values())
        and any({*part} & MIXED for part in parts.values())
        and same_names([held[folder] for folder in parts])
        for parts in scenes.values()
    )


def part_of_mixture(folder: str) -> tuple[list[str], list[str]]:
    """The words by which a folder says what part of a mixture its recordings are, such as ``noisy`` or ``s1``, and its other words."""
    part, rest, before = list[str](), list[str](), ""
    for word in tokens(folder):
        if word.isdigit() and before in COUNTED:
            part[-1] += word
        else:
            (part if word in SOUNDED else rest).append(word)
        before = word
    return part, rest


def same_names(held: Sequence[Iterable[Hashable]]) -> bool:
    """Whether these hold nearly the same names."""
    names = [{*of} for of in held]
    return len(set.intersection(*names)) >= max(FEWEST, SHARED * max(map(len, names)))


def streams(folders: Collection[str]) -> tuple[list[str], list[str]] | None:
    """Of folders that are all called by what they hold of a scene, such as ``rgb`` and ``depth``, those of the samples and the others."""
    said = {folder: {*tokens(folder)} for folder in folders}
    own = [folder for folder, of in said.items() if of and of <= SAMPLES]
    others = [folder for folder, of in said.items() if of and all(PARTNERS.get(t, "text") != "text" for t in of)]
    return (own, others) if len(own) == 1 and others and len(own) + len(others) == len(said) else None
