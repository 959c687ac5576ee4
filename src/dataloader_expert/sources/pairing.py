"""Files that form one sample together: an image and its mask, a recording and its transcript.

Partners have the same path as their sample except for the suffix and for words such as ``images`` and ``masks``, in the name
of a folder (``images/train/7.jpg``, ``masks/train/7.png``) or at the end of the file's name (``7_mask.png``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.files import SIDE_FILES, Entry, is_about

SAMPLES = {"images", "image", "imgs", "img", "jpegimages", "photos", "photo", "pictures", "inputs", "input", "rgb"} | {
    "audio", "wavs", "wav", "clips", "sounds",
}  # fmt: skip
"""Words that name the folder of the samples themselves."""
PARTNERS = {
    **dict.fromkeys(("masks", "mask", "segmentation", "segmentations", "segmentationclass", "seg", "segs"), "mask"),
    **dict.fromkeys(("trimaps", "trimap", "gt", "groundtruth"), "mask"),
    **dict.fromkeys(("labels", "label", "annotations", "annotation", "annots", "annot", "ann", "targets"), "target"),
    **dict.fromkeys(("depth", "depths", "disparity"), "depth"),
    **dict.fromkeys(("transcripts", "transcript", "transcriptions", "captions", "caption", "texts", "text"), "text"),
}
"""Words that name what belongs to a sample, and the name of the field that it becomes."""
READ = ("image", "text")
"""Kinds of partners whose content is read. Others are only checked for existence, and only if the format was requested."""
_WORD = re.compile(r"[_\-. ]+")
_MAY_PAIR = re.compile(rf"(?:^|[/_\-. ])(?:{'|'.join(PARTNERS)})(?:[/_\-. ]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Pairing:
    """``partners``: the partners of each sample's path, by field. ``problems``: files without a partner."""

    samples: list[Entry]
    partners: dict[str, dict[str, Entry]] = field(default_factory=dict)
    problems: list[Unreadable] = field(default_factory=list)

    @property
    def fields(self) -> dict[str, str]:
        """The fields that partners become, and the kind of their files."""
        kinds: dict[str, Counter[str]] = {}
        for found in self.partners.values():
            for name, entry in found.items():
                kinds.setdefault(name, Counter())[str(entry.kind)] += 1
        return {name: counts.most_common(1)[0][0] for name, counts in sorted(kinds.items())}

    @property
    def beside(self) -> set[str]:
        """The paths of all partners, and of files of their kinds without a sample."""
        there = {entry.path for found in self.partners.values() for entry in found.values()}
        return there | {str(p.where["file"]) for p in self.problems}


def pair(entries: Iterable[Entry], kinds: frozenset[str]) -> Pairing:
    """Which of the files are samples of ``kinds``, and which files belong to each.

    Files count as partners if at least half of them have a sample and at least half of the samples have one; names alone may
    be coincidence, such as classes called ``masks`` and ``faces``.
    """
    own: list[Entry] = []
    others: dict[str, dict[str, Entry]] = {}
    by_word: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        if is_about(entry.path) or entry.path.rsplit("/", 1)[-1] in SIDE_FILES:
            continue
        if entry.kind not in kinds:
            key, word = key_of(entry.path)
            name = "text" if entry.kind == "text" and word in (None, "target") else word or f"{entry.kind}"
            others.setdefault(name, {}).setdefault(key, entry)
        elif _MAY_PAIR.search(entry.path.rsplit(".", 1)[0]) and (found := key_of(entry.path))[1] is not None:
            by_word.setdefault(str(found[1]), {})[found[0]] = entry
        else:
            own.append(entry)
    keys = {key_of(entry.path)[0]: entry for entry in own} if others or by_word else {}
    partners: dict[str, dict[str, Entry]] = {}
    problems: list[Unreadable] = []
    for name, files in by_word.items():
        if not _belong(keys, files):
            own += files.values()  # they are samples themselves
            continue
        _join(name, keys, files, partners, problems)
    for name, files in others.items():
        if _belong(keys, files):
            _join(name, keys, files, partners, problems)
    return Pairing(sorted(own, key=lambda e: e.path), partners, problems)


def _belong(samples: dict[str, Entry], files: dict[str, Entry]) -> bool:
    both = len(samples.keys() & files.keys())
    return both > 1 and 2 * both >= max(len(samples), len(files))


def _join(
    name: str,
    samples: dict[str, Entry],
    files: dict[str, Entry],
    partners: dict[str, dict[str, Entry]],
    problems: list[Unreadable],
) -> None:
    for key, entry in files.items():
        sample = samples.get(key)
        if sample is None:
            problems.append(Unreadable("missing-pair", f"{_called(name)} has no matching sample", file=entry.path))
        else:
            partners.setdefault(sample.path, {})[name] = entry
    for key, entry in samples.items():
        if key not in files:
            example = next(iter(files.values())).path
            text = f"has no matching {_called(name)}, such as {escaped(example)}"
            problems.append(Unreadable("missing-pair", text, file=entry.path))


def _called(name: str) -> str:
    return name if name in PARTNERS.values() else f"{name} file"


def key_of(path: str) -> tuple[str, str | None]:
    """The path without its suffix and without words for samples and partners; and the partner's field that a word names."""
    *folders, name = path.split("/")
    stem = name.rsplit(".", 1)[0]
    word: str | None = None
    kept = []
    for folder in folders:
        parts = [p for p in _WORD.split(folder) if p]
        named = [PARTNERS[p.lower()] for p in parts if p.lower() in PARTNERS]
        word = named[0] if named else word
        rest = [p for p in parts if p.lower() not in PARTNERS and p.lower() not in SAMPLES]
        if rest:
            kept.append("_".join(rest))
    parts = [p for p in _WORD.split(stem) if p]
    if len(parts) > 1 and parts[-1].lower() in PARTNERS:
        word, stem = PARTNERS[parts.pop().lower()], "_".join(parts)
    elif len(parts) > 1 and parts[-1].lower() in SAMPLES:
        stem = "_".join(parts[:-1])
    else:
        stem = "_".join(parts) or stem
    return "/".join([*kept, stem]), word
