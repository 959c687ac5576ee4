"""Recordings of one scene: the tracks of a song in one folder, or a mixture and its parts in folders named after them, as
``noisy/7.wav`` and ``clean/7.wav``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import tokens
from dataloader_expert.sources.no_classes import MIXED, SHARED, SOUNDED, part_of_mixture
from dataloader_expert.sources.pairing import Pairing
from dataloader_expert.sources.sounds import decode_audio

TRACKS = SOUNDED | {
    "vocal", "bass", "drum", "drums", "other", "others", "piano", "guitar", "strings", "keys", "instrumental", "backing", "lead",
}  # fmt: skip
"""Words that say what part of a song a recording is."""
MOST_PARTS, MOST_ROLES = 8, 8
LOOKED_AT = 8
"""Pairs that are compared."""
STEPS = 200
"""Parts of a recording whose loudness is compared."""
_PART = re.compile(r"[A-Za-z]{3,}(?:[_-][A-Za-z]+)*")
T = TypeVar("T")
Role = dict[tuple[str, ...], Entry]
"""The recordings of one role by their keys, which those of one scene share."""


def with_parts(pairing: Pairing, listing: Listing) -> Pairing:
    """The pairing, with recordings of one scene among its samples joined: the mixture is the sample, and its parts are fields."""
    return _of_folders(pairing, listing) or _of_roles(pairing, listing) or pairing


def _of_folders(pairing: Pairing, listing: Listing) -> Pairing | None:
    """The pairing where each of several folders holds the same few files of one length, of which at least half are called like parts of a
    song."""
    held: dict[str, dict[str, Entry]] = {}
    for entry in pairing.samples:
        folder, _, name = entry.path.rpartition("/")
        held.setdefault(folder, {})[name.rpartition(".")[0]] = entry
    names = sorted(next(iter(held.values()), ()))
    alike = len(held) > 1 and all(sorted(of) == names for of in held.values())
    if not alike or not 1 < len(names) <= MOST_PARTS or not all(map(_PART.fullmatch, names)):
        return None
    said = [{*tokens(name)} & TRACKS for name in names]
    if 2 * sum(map(bool, said)) < len(names):  # words that each of several persons says
        return None
    mixture = next((name for name in names if {*tokens(name)} & MIXED), None)
    if not _as_long(listing, [*held.values()], mixture is None):
        return None
    if mixture is not None and not any(
        _sound_alike(listing, [(of[mixture], of[name]) for of in held.values()]) for name in names if name != mixture
    ):
        return None
    own = mixture or names[0]
    partners = {of[own].path: {name: e for name, e in of.items() if name != own} for of in held.values()}
    called = {of[own].path: f"{folder}.{of[own].path.rpartition('.')[2]}" for folder, of in held.items()}
    return _joined(pairing, [of[own] for of in held.values()], partners, called)


def _of_roles(pairing: Pairing, listing: Listing) -> Pairing | None:
    """The pairing where folders called by what is heard hold files of the same names, of which a few are as loud at the same times."""
    roles: dict[str, Role] = {}
    for entry in pairing.samples:
        role, key = _place(entry.path)
        if not role or roles.setdefault(role, {}).setdefault(key, entry) is not entry:
            return None
    if not 1 < len(roles) <= MOST_ROLES:
        return None
    own = min(roles, key=lambda role: (not {*tokens(role)} & MIXED, -len(roles[role]), role))
    others = {role: of for role, of in roles.items() if role != own}
    if any(len(of.keys() & roles[own].keys()) < SHARED * max(len(of), len(roles[own])) for of in others.values()):
        return None
    if not any(
        _sound_alike(listing, [(roles[own][key], of[key]) for key in of if key in roles[own]]) for of in others.values()
    ):
        return None
    partners = {
        entry.path: {role: of[key] for role, of in others.items() if key in of} for key, entry in roles[own].items()
    }
    alone = [entry for of in others.values() for key, entry in of.items() if key not in roles[own]]
    return _joined(pairing, [*roles[own].values(), *alone], partners, {})


def _place(path: str) -> tuple[str, tuple[str, ...]]:
    """What the innermost folder called by a role says, and the rest of the path; no role if there is no such folder."""
    *folders, name = path.split("/")
    for i in reversed(range(len(folders))):
        part, rest = part_of_mixture(folders[i])
        if part:
            return "_".join(part), (*folders[:i], "_".join(rest), *folders[i + 1 :], name.rpartition(".")[0])
    return "", ()


def _as_long(listing: Listing, folders: Sequence[Mapping[str, Entry]], by_chance: bool) -> bool:
    """Whether the files of most folders are of one length; ``by_chance``: it must differ between folders, as sounds cut to one length say
    nothing."""
    found = [
        {len(sound) for entry in of.values() if (sound := _sound(listing, entry)) is not None}
        for of in _some(folders, LOOKED_AT // 2)
    ]
    alike = [lengths for lengths in found if len(lengths) == 1]
    varied = len(set[int]().union(*alike)) > 1
    return 4 * len(alike) >= 3 * len(found) and (varied or not by_chance)


def _sound_alike(listing: Listing, pairs: Sequence[tuple[Entry, Entry]]) -> bool:
    """Whether most recordings are as long as their partners, and resemble them in loudness more than the partners of others."""
    import numpy as np

    found: list[tuple[Any, Any]] = []
    others = 0
    for one, other in _some(pairs, LOOKED_AT):
        a, b = _sound(listing, one), _sound(listing, other)
        if a is None or b is None:
            continue
        if len(a) != len(b) or len(a) < STEPS:
            others += 1
            continue
        loud = _loudness(a), _loudness(b)
        if all(np.ptp(of) > 0 for of in loud):  # what is silent resembles nothing
            found.append(loud)
    if len(found) < 2:
        return False
    alike = np.corrcoef(np.array([a for a, _ in found]), np.array([b for _, b in found]))[: len(found), len(found) :]
    return 4 * int((alike.argmax(1) == np.arange(len(found))).sum()) >= 3 * (len(found) + others)


def _some(of: Sequence[T], most: int) -> Sequence[T]:
    return of[:: max(1, len(of) // most)][:most]


def _sound(listing: Listing, entry: Entry) -> Any:
    """The samples of a recording, None where they cannot be read."""
    try:
        return decode_audio(listing.read(entry.path), entry.path)[0]
    except Unreadable:
        return None  # the scan reports it


def _loudness(samples: Any) -> Any:
    """How loud each of equal parts is, float64 [STEPS]."""
    import numpy as np

    mono = samples.astype(np.float64).mean(1)
    return np.abs(mono[: len(mono) // STEPS * STEPS] - mono.mean()).reshape(STEPS, -1).mean(1)


def _joined(
    pairing: Pairing, samples: list[Entry], partners: Mapping[str, dict[str, Entry]], called: dict[str, str]
) -> Pairing:
    known = {path: {**pairing.partners.get(path, {}), **of} for path, of in partners.items()}
    texts = {path: of for path, of in pairing.partners.items() if path not in known}
    kept = {entry.path for entry in samples}
    return replace(
        pairing,
        samples=sorted(samples, key=lambda entry: entry.path),
        partners={path: of for path, of in {**texts, **known}.items() if path in kept},
        problems=[problem for problem in pairing.problems if problem.where.get("file") in kept],
        called=called,
    )
