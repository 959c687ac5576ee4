"""Files that form one sample together: an image and its mask, a recording and its transcript.

Partners have the same path as their sample except for the suffix and for words such as ``images`` and ``masks``, in the name
of a folder (``images/train/7.jpg``, ``masks/train/7.png``) or at either end of the file's name (``7_mask.png``, ``depth_7.png``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.files import Entry, is_beside
from dataloader_expert.sources.layout import split_of_folder
from dataloader_expert.sources.magic import SUFFIXES

SAMPLES = {"images", "image", "imgs", "img", "jpegimages", "leftimg8bit", "photos", "photo", "pictures", "inputs", "input", "rgb"} | {
    "audio", "wavs", "wav", "wav48", "wav16", "flac", "clips", "sounds", "document", "documents", "article", "articles",
}  # fmt: skip
"""Words that name the folder of the samples themselves."""
PARTNERS = {
    **dict.fromkeys(("msks", "msk", "segm"), "mask"),
    **dict.fromkeys(("masks", "mask", "segmentation", "segmentations", "segmentationclass", "seg", "segs"), "mask"),
    **dict.fromkeys(("segmentationobject", "instances", "instance"), "instances"),
    "panoptic": "panoptic",
    **dict.fromkeys(("gtfine", "gtcoarse"), "mask"),  # of Cityscapes
    **dict.fromkeys(("trimaps", "trimap", "gt", "groundtruth"), "mask"),
    **dict.fromkeys(
        ("labels", "label", "annotations", "annotation", "annots", "annot", "ann", "targets", "labeltxt"), "target"
    ),
    **dict.fromkeys(("depth", "depths", "disparity"), "depth"),
    **dict.fromkeys(
        ("transcripts", "transcript", "transcriptions", "captions", "caption", "texts", "text", "txt"), "text"
    ),
    **dict.fromkeys(("summary", "summaries", "highlights"), "summary"),
}
"""Words that name what belongs to a sample, and the name of the field that it becomes."""
PARTIAL = {"segmentationclass", "segmentationobject"}
"""Folders of Pascal VOC, which has masks of some images only; their names mean nothing else."""
READ = ("image", "text")
"""Kinds of partners whose content is read. Others are only checked for existence, and only if the format was requested."""
MOST_VIEWS = 4
"""The most recordings or pictures of one thing that are called after it, such as those of several microphones."""
_WORD = re.compile(r"[_\-. ]+")
_SPLIT_BEHIND = re.compile(r"(?<=[a-z])(Tr|Ts|Val|Train|Test)$")
"""A word for a split right behind another word, as in ``imagesTr`` and ``labelsTr``."""
COMPANIONS = {
    **PARTNERS,
    **dict.fromkeys(("normal", "normals"), "normal"),
    **dict.fromkeys(("occlusion", "occlusions"), "occlusion"),
    **{word: word for word in ("albedo", "alpha", "semantic", "specular", "roughness")},
}
"""The same with words for maps that stand between the name of a sample and a number; alone, ``normal`` may be a class."""
_NUMBERED = re.compile(rf"[_\-. ]({'|'.join(COMPANIONS)})[_\-. ]*\d+$", re.IGNORECASE)
_MAY_PAIR = re.compile(
    rf"(?:^|[/_\-. ])(?:{'|'.join(PARTNERS)})(?:[/_\-. ]|(?:tr|ts|val|train|test)/|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class Pairing:
    """``partners``: the partners of each sample's path, by field. ``problems``: files without a partner."""

    samples: list[Entry]
    partners: dict[str, dict[str, Entry]] = field(default_factory=dict)
    problems: list[Unreadable] = field(default_factory=list)
    partial: dict[str, list[Entry]] = field(default_factory=dict)
    """What few samples have, by field: known, but not read."""
    without: dict[str, list[str]] = field(default_factory=dict)
    """By field: folders of which no sample has one, beside some in the same split that have one."""
    further: dict[str, str] = field(default_factory=dict)
    """The paths of further partners of samples that have one already, and their field: known, but not read."""
    pictures: frozenset[str] = frozenset()
    """The fields that are images as well, not masks."""
    streams: dict[str, list[Entry]] = field(default_factory=dict)
    """By name the files of further streams of the same scenes, such as depth: known, but not read."""
    called: dict[str, str] = field(default_factory=dict)
    """What samples are called whose folder holds nothing but their parts: by their paths, a path beside that folder."""

    @property
    def fields(self) -> dict[str, str]:
        """The fields that partners become, and the kind of their files."""
        kinds: dict[str, Counter[str]] = {}
        for found in self.partners.values():
            for name, entry in found.items():
                kinds.setdefault(name, Counter())[_kind_in_words(entry)] += 1
        return {name: counts.most_common(1)[0][0] for name, counts in sorted(kinds.items())}

    @property
    def beside(self) -> set[str]:
        """The paths of all partners, and of files of their kinds without a sample."""
        there = {entry.path for found in self.partners.values() for entry in found.values()}
        there |= {entry.path for found in (*self.partial.values(), *self.streams.values()) for entry in found}
        return there | {str(p.where["file"]) for p in self.problems} | self.further.keys()


def _kind_in_words(entry: Entry) -> str:
    """The kind of a file; of one that no reader knows, what its suffix says, such as ``midi``."""
    return entry.kind or entry.path.rpartition("/")[2].rpartition(".")[2].lower() or "file"


def pair(entries: Iterable[Entry], kinds: frozenset[str]) -> Pairing:
    """Which of the files are samples of ``kinds``, and which files belong to each.

    Files count as partners if at least half of them have a sample and at least half of the samples have one; names alone may
    be coincidence, such as classes called ``masks`` and ``faces``.
    """
    own: list[Entry] = []
    others: dict[str, dict[str, Entry]] = {}
    by_word: dict[str, dict[str, Entry]] = {}
    beside: dict[str, Entry] = {}
    """Texts that no word and no usual suffix says to be what a sample says, by key."""
    entries = [entry for entry in entries if not is_beside(entry.path)]
    around = _around([entry.path for entry in entries if entry.kind in kinds])
    for entry in entries:
        if entry.kind not in kinds:
            key, word = key_of(entry.path, around)
            word = None if entry.kind == "text" and word in ("target", "mask") else word
            if entry.kind == "text" and word is None and not entry.path.lower().endswith(".txt"):
                beside.setdefault(key, entry)
                continue
            name = "text" if entry.kind == "text" and word is None else word or _kind_in_words(entry)
            name = "json" if entry.kind == "json" else name
            others.setdefault(name, {}).setdefault(key, entry)
        elif _MAY_PAIR.search(entry.path.rsplit(".", 1)[0]) and (found := key_of(entry.path, around))[1] is not None:
            by_word.setdefault(str(found[1]), {})[found[0]] = entry
        else:
            own.append(entry)
    keys = {key_of(entry.path)[0]: entry for entry in own} if others or by_word or beside else {}
    others = {name: _in_like_folders(keys, files) for name, files in others.items()}
    if beside and not _belong(keys, others.get("text", {})):  # else, as TIMIT's .PHN and .WRD, they say more of it
        others["text"] = beside | others.get("text", {})
    partners: dict[str, dict[str, Entry]] = {}
    problems: list[Unreadable] = []
    partial: dict[str, list[Entry]] = {}
    without: dict[str, list[str]] = {}
    for name, files in _by_ending(keys, by_word):
        files = _in_any_split(keys, files)
        if not _belong(keys, files):
            folders = {key.rpartition("/")[0] for key in keys}
            some = [
                e for e in files.values() if PARTIAL & {p.lower() for p in e.path.split("/")} or _several(e, folders)
            ]
            partial |= {name: some} if some else {}
            own += [entry for entry in files.values() if entry not in some]  # they are samples themselves
            continue
        without |= _join(name, keys, files, partners, problems)
    for name, files in _by_ending(keys, others):
        if _belong(keys, files):
            without |= _join(name, keys, files, partners, problems)
    further = _further(own, partners)
    own = [entry for entry in own if entry.path not in further]
    problems = [problem for problem in problems if problem.where["file"] not in further]
    return Pairing(sorted(own, key=lambda e: e.path), partners, problems, partial, without, further)


def _around(paths: list[str]) -> frozenset[str]:
    """The folders whose names say nothing of the files below: all files lie there, or samples and their partners alike, as the images
    and the masks of ``Kvasir-SEG/images`` and ``Kvasir-SEG/masks``."""
    below: dict[str, list[str]] = {}
    for folder in {path.rpartition("/")[0] for path in paths}:
        for above, own in _folders_above(folder):
            if _key_of_folder(own)[1] is not None:
                below.setdefault(above, [])
    for path in paths if below else ():
        for above, _ in _folders_above(path.rpartition("/")[0]):
            if above in below:
                below[above].append(path)
    return frozenset(above for above, of in below.items() if len(of) == len(paths) or _holds_both(above, of))


def _folders_above(folder: str) -> list[tuple[str, str]]:
    """The folder and those that it lies in, each as its path and its name."""
    parts = folder.split("/") if folder else []
    return [("/".join(parts[: i + 1]), part) for i, part in enumerate(parts)]


def _holds_both(folder: str, paths: list[str]) -> bool:
    """Whether samples and partners lie below the folder, told by the rest of their paths."""
    told = [key_of(path[len(folder) + 1 :]) for path in paths]
    plain = {key for key, word in told if word is None}
    named = {key for key, word in told if word is not None}
    return len(plain & named) > 1 and 2 * len(plain & named) >= len(named)


def _further(own: list[Entry], partners: dict[str, dict[str, Entry]]) -> dict[str, str]:
    """Files called after a partner with a number behind, such as ``7_mask_1`` beside ``7_mask``, and the field of that one; or those
    called so after samples, ``7_mask_0`` and ``7_mask_1`` or ``7_depth_0001``, of which most in a folder have some."""
    stems = {entry.path.rpartition(".")[0]: entry.path for entry in own}
    found = {path: m for stem, path in stems.items() if (m := _NUMBERED.search(stem)) is not None}
    known = {e.path.rpartition(".")[0]: name for of in partners.values() for name, e in of.items()} if found else {}
    more = {path: known[first] for path, m in found.items() if (first := m.string[: m.end(1)]) in known}
    several = {path: m for path, m in found.items() if path not in more and m.string[: m.start()] in stems}
    due = Counter(stem.rpartition("/")[0] for stem, path in stems.items() if path not in several)
    having = Counter(stem.rpartition("/")[0] for stem in {m.string[: m.start()] for m in several.values()})
    sure = {folder for folder, n in having.items() if n > 1 and 2 * n >= due[folder]}
    return more | {path: COMPANIONS[m[1].lower()] for path, m in several.items() if path.rpartition("/")[0] in sure}


def _in_any_split(samples: dict[str, Entry], files: dict[str, Entry]) -> dict[str, Entry]:
    """The files by the keys of their samples, where a folder of theirs stands in place of the split's: ``ground_truth/crack/7_mask.png``
    of ``test/crack/7.png``, if no other split has such a sample."""
    if _belong(samples, files):
        return files
    bare: dict[str, list[str]] = {}
    for key in samples:
        bare.setdefault(_without_splits(key), []).append(key)
    named = {key: bare.get(key, ()) for key in files if key not in samples}
    found = {of[0]: files[key] for key, of in named.items() if len(of) == 1}
    return {**{key: entry for key, entry in files.items() if len(named.get(key, ())) != 1}, **found}


def _in_like_folders(samples: dict[str, Entry], files: dict[str, Entry]) -> dict[str, Entry]:
    """The files by keys in the folders of samples, where a word says what they are and their folders differ in those alone that all
    samples or all files share: ``txt/p225/p225_001.txt`` of ``wav48_silence_trimmed/p225/p225_001_mic1.flac``."""
    named = [key for key, entry in files.items() if key_of(entry.path)[1] is not None]
    if not named or _belong(samples, files):
        return files
    own = {short: folder for folder, short in _unshared(samples).items()}
    theirs = {folder: own.get(short, folder) for folder, short in _unshared(named).items()}
    moved = {key: theirs[key[: key.rfind("/") + 1]] + key[key.rfind("/") + 1 :] for key in named}
    return {moved.get(key, key): entry for key, entry in files.items()}


def _unshared(keys: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The folders of the keys, each with its parts that not all have."""
    folders = {key[: key.rfind("/") + 1] for key in keys}
    shared = set[str].intersection(*(set(folder.split("/")) for folder in folders)) if folders else set[str]()
    return {folder: tuple(part for part in folder.split("/") if part not in shared) for folder in folders}


def _without_splits(key: str) -> str:
    *folders, name = key.split("/")
    return "/".join([*(folder for folder in folders if split_of_folder(folder) is None), name])


def _by_ending(
    samples: dict[str, Entry], groups: dict[str, dict[str, Entry]]
) -> Iterator[tuple[str, dict[str, Entry]]]:
    """The groups, one that has no sample's keys divided by what follows these: ``f1_L`` is of ``f1``, and ``f1_gtFine_labelIds``
    of ``f1_leftImg8bit``, as all samples end so."""
    endings = [key.rpartition("/")[2] for key in samples]
    same = _common_end(endings) if len(endings) > 1 else ""
    same = same[same.find("_") :] if "_" in same else ""
    bases = {key[: len(key) - len(same)]: key for key in samples}
    for name, files in groups.items():
        files = files if _belong(samples, files) else _of_views(samples, files)
        if _belong(samples, files):
            yield name, files
            continue
        parts: dict[str, dict[str, Entry]] = {}
        left: dict[str, Entry] = {}
        for key, entry in files.items():
            ends = [m.start() for m in re.finditer("_", key) if m.start() > key.rfind("/")]
            at = len(key) if key in bases else next((i for i in reversed(ends) if key[:i] in bases), None)
            if at is None:
                left[key] = entry
            else:
                parts.setdefault(key[at + 1 :], {})[bases[key[:at]]] = entry
        own = {ending: part for ending, part in parts.items() if _belong(samples, part)}
        if not own:
            yield name, files
            continue
        for ending, part in own.items():
            yield name if len(own) == 1 or not ending else f"{name}_{ending.rpartition('_')[2]}", part
        left |= {
            f"{key}_{ending}".rstrip("_"): e
            for ending, part in parts.items()
            if ending not in own
            for key, e in part.items()
        }
        if left:
            yield name, left


def _of_views(samples: dict[str, Entry], files: dict[str, Entry]) -> dict[str, Entry]:
    """The files by the keys of all samples that are called after them, if those end in one of a few words: ``p225_001.txt`` is of
    ``p225_001_mic1`` and ``p225_001_mic2``."""
    ends = {key.rpartition("_")[2] for key in samples}
    if len(ends) > MOST_VIEWS or not all("_" in key for key in samples) or any(end.isdigit() for end in ends):
        return files
    found = {key: files[base] for key in samples if (base := key.rpartition("_")[0]) in files}
    used = {entry.path for entry in found.values()}
    return {**{key: entry for key, entry in files.items() if entry.path not in used}, **found}


def _common_end(texts: list[str]) -> str:
    one, other = min(text[::-1] for text in texts), max(text[::-1] for text in texts)
    return "".join(a for a, _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False)))[::-1]


def _several(entry: Entry, folders: set[str]) -> bool:
    """Whether a mask is one of several of the image in the folder beside its own: ``7/masks/3.png`` of ``7/images/7.png``."""
    above, _, own = entry.path.rpartition("/")[0].rpartition("/")
    return own.lower() in ("masks", "mask") and bool(above) and key_of(f"{above}/x")[0].rpartition("/")[0] in folders


def _belong(samples: dict[str, Entry], files: dict[str, Entry]) -> bool:
    both = samples.keys() & files.keys()
    splits = {_split_in(samples[key].path) for key in both}
    due = sum(_split_in(entry.path) in splits for entry in samples.values())  # a split may lack them on purpose
    return len(both) > 1 and 2 * len(both) >= max(due, len(files))


def _join(
    name: str,
    samples: dict[str, Entry],
    files: dict[str, Entry],
    partners: dict[str, dict[str, Entry]],
    problems: list[Unreadable],
) -> dict[str, list[str]]:
    """Notes the partners and what lacks one, and returns the folders that have none at all: good parts have no mask of a defect."""
    homes = {entry.path.rpartition("/")[0] for key, entry in files.items() if key in samples}
    bare = any("." not in entry.path.rpartition("/")[2] for key, entry in files.items() if key in samples)
    for key, entry in files.items():
        sample = samples.get(key)
        folder, _, called = entry.path.rpartition("/")
        if sample is None and (folder not in homes or ("." not in called and not bare)):
            continue  # it lies apart from the others, or has no suffix as they have: a note
        if sample is None:
            problems.append(Unreadable("missing-pair", f"{_called(name)} has no matching sample", file=entry.path))
        else:
            partners.setdefault(sample.path, {})[name] = entry
    splits = {_split_in(entry.path) for key, entry in samples.items() if key in files}
    with_any = {entry.path.rpartition("/")[0] for key, entry in samples.items() if key in files}
    held = Counter(entry.path.rpartition("/")[0] for entry in samples.values())
    without: dict[str, None] = {}
    example = next((files[other].path for other in samples if other in files), "")
    for key, entry in samples.items():
        if key in files or _split_in(entry.path) not in splits:  # a split may lack them on purpose
            continue
        folder = entry.path.rpartition("/")[0]
        if folder not in with_any and held[folder] > 1:  # a folder each would make every lost one a purpose
            without[folder] = None
        else:
            text = f"has no matching {_called(name)}, such as {escaped(example)}"
            problems.append(Unreadable("missing-pair", text, file=entry.path))
    return {name: list(without)} if without else {}


def _split_in(path: str) -> str | None:
    return next((split for part in path.split("/")[:-1] if (split := split_of_folder(part)) is not None), None)


def _called(name: str) -> str:
    return name if name in PARTNERS.values() else f"{name} file"


def key_of(path: str, around: frozenset[str] = frozenset()) -> tuple[str, str | None]:
    """The path without its suffix and without words for samples and partners; and the partner's field that a word names, in its name
    or in that of a folder that is not among those around it."""
    folder, _, name = path.rpartition("/")
    stem = stem_of(name)
    above, word = _key_of_folder(folder, around)
    parts = [p for p in _WORD.split(stem) if p]
    if len(parts) > 1 and parts[-1].lower() in PARTNERS:
        word = PARTNERS[parts.pop().lower()]
    elif len(parts) > 1 and parts[-1].lower() in SAMPLES:
        parts.pop()
    while len(parts) > 1 and parts[-1].isdigit() and (first := parts[0].lower()) in PARTNERS.keys() | SAMPLES:
        word = word or PARTNERS.get(first)
        del parts[0]
    return above + ("_".join(parts) or stem), word


def stem_of(name: str) -> str:
    """A file's name without its suffix, and that of the sample that it is called after: ``7`` of ``7.jpeg.json``."""
    stem = name.rsplit(".", 1)[0]
    while "." in stem and SUFFIXES.get(f".{stem.rsplit('.', 1)[1].lower()}") in ("image", "audio"):
        stem = stem.rsplit(".", 1)[0]
    return stem


@lru_cache(1 << 14)
def _key_of_folder(path: str, around: frozenset[str] = frozenset()) -> tuple[str, str | None]:
    """Its part of the key, with a slash at the end unless it is empty, and the field that a word names: many files share it."""
    word: str | None = None
    kept = []
    for above, folder in _folders_above(path):
        parts = [p for p in _WORD.split(_SPLIT_BEHIND.sub(r"_\1", folder)) if p]
        if "".join(parts).lower() in PARTNERS:
            parts = ["".join(parts)]  # ground_truth
        named = [PARTNERS[p.lower()] for p in parts if p.lower() in PARTNERS]
        word = named[0] if named and above not in around else word
        rest = [p for p in parts if p.lower() not in PARTNERS and p.lower() not in SAMPLES]
        if rest:
            kept.append("_".join(rest) + "/")
    return "".join(kept), word
