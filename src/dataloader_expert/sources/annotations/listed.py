"""Lists of splits: text files called after a split, such as ``train.txt`` or ``train.list``, that name a sample in each line, or such lists
in JSON.

Darknet and Ultralytics list paths, Pascal VOC (``ImageSets/Main``) names without suffix, others either with a label behind it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import (
    MOST_TOLD,
    NEARLY_ALL,
    ODD,
    Annotations,
    Names,
    folder_of,
    folds_told,
)
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import AROUND, read_folders, split_in_name, split_of_folder
from dataloader_expert.sources.magic import suffix_of
from dataloader_expert.sources.pairing import key_of

MOST_BYTES = 1 << 26
WRITTEN = {("text", ".txt"), ("text", ".list"), ("text", ".lst"), ("json", ".json")}
"""Kinds of files with lists, and how their names end."""
HEAD = 1 << 10
_OF_TEXTS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\[\s*"')
_LIST = re.compile(r"(?<=[a-z])lists?(?![a-z])", re.I)
"""The end of a word, as in ``trainlist01.txt``."""
FLAGS = frozenset({"-1", "0", "1"})
"""What stands behind the names in Pascal VOC's lists of each class."""
CLASSES = 3
"""The fewest names of each class, on average."""
BOTH = "trainval"
"""A list of what both train and validation consist of."""


@dataclass(frozen=True)
class List:
    """What a list of a split says."""

    path: str
    there: list[str]
    """The samples that it names."""
    lost: list[str]
    """Lines that name none."""
    above: dict[str, str] = field(default_factory=dict)
    """What each of these is called below in its line, as ``Archery`` in ``Archery/v_Archery_g01_c01.avi``."""
    behind: dict[str, str] = field(default_factory=dict)
    """The last word behind each of these: in a list of clips the number of the class."""


def join_lists(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Takes the splits from the folder whose lists name most samples; one folder, as another may divide them otherwise."""
    further: dict[str, list[str]] = {}
    folders: dict[str, dict[str, Entry]] = {}
    loosely: dict[str, dict[str, Entry]] = {}
    """By a word of their names, such as ``Flickr_8k.trainImages``."""
    for entry in sorted(listing.entries, key=lambda entry: entry.kind == "json"):  # the first list of a split counts
        if (entry.kind, suffix_of(entry.path)) in WRITTEN and 0 < entry.size <= MOST_BYTES:
            folder, name = folder_of(entry.path), entry.path.rsplit("/", 1)[-1].rpartition(".")[0]
            split, loose = _split_of(name), split_in_name(f"{name}.txt")
            if (split or loose) is None or not _may_list(listing, entry):
                continue
            if split is not None:
                first = folders.setdefault(folder, {}).setdefault(split, entry)
            else:
                first = loosely.setdefault(folder, {}).setdefault(str(loose), entry)
            if first is not entry and _any_number(first.path) == _any_number(entry.path):
                further.setdefault(first.path, []).append(entry.path)
    for folder, of in folders.items():  # ``train_slices`` beside ``val`` and ``test``
        own = loosely.get(folder, {})
        if not {BOTH, "train"} & of.keys() and "train" in own:
            of["train"] = own["train"]
    folders = {**loosely, **folders}  # the lists of each class stand beside those of all
    lists = {entry.path for of in folders.values() for entry in of.values()}
    files = Names([path for path in paths if path not in lists] if folders else ())
    read = {
        folder: _read(listing, of, files, folder, frozenset() if of == loosely.get(folder) else None)
        for folder, of in folders.items()
    }
    read = {folder: lists for folder, lists in read.items() if lists}
    read = read or {
        folder: told
        for folder, of in folders.items()
        if (
            told := {
                s: one
                for s, entry in of.items()
                for one in _read(listing, {s: entry}, _below(s, files), folder).values()
            }
        )
    }
    if not read and folders:
        held: dict[str, list[str]] = {}
        for path in files.paths:
            held.setdefault(folder_of(path), []).append(path)
        homes = Names([path for path in held if path])
        read = {folder: _read(listing, of, homes, folder, least=1) for folder, of in folders.items()}
        named = {folder for lists in read.values() for one in lists.values() for folder in one.there}
        found.clips = frozenset(folder.rpartition("/")[2] for folder in named)
        found.class_of_clip = _classes_of(one for lists in read.values() for one in lists.values())
        read = {
            folder: {s: _of_files(one, held) for s, one in lists.items()} for folder, lists in read.items() if lists
        }
    if not read:
        return
    best = max(read, key=lambda folder: (len({path for one in read[folder].values() for path in one.there}), folder))
    for split, one in read[best].items():
        if split != BOTH or "train" not in read[best]:  # else it repeats what the others say
            found.divide("train" if split == BOTH else split, one.there)
        for line, n in Counter(one.lost).most_common(MOST_TOLD):
            again = f" ({n} lines)" if n > 1 else ""
            text = f"names {escaped(line, 80)}, which is not there{again}"
            found.problems.append(Unreadable("dangling-reference", text, file=one.path))
    if not {BOTH, "train"} & folders[best].keys():  # as of Speech Commands
        found.divide("train", [path for path in paths if path not in found.splits])
    folds = 1 + min((len(further.get(one.path, ())) for one in read[best].values()), default=0)
    if folds > 1:
        found.folds = folds_told(folds, min(one.path for one in read[best].values()))
    found.lists += [one.path for one in read[best].values()]
    taken = {one.path for of in read.values() for one in of.values()}
    keys = {key_of(path)[0] for path in files.paths}
    for entry in listing.entries:  # others beside them, such as those of each class; what says more is read elsewhere
        beside = entry.kind == "text" and folder_of(entry.path) in read and entry.path not in taken
        if beside and entry.path not in files.whole and key_of(entry.path)[0] not in keys:
            least = 1 if entry.path in lists else 2
            taken |= {entry.path} if _read(listing, {"": entry}, files, folder_of(entry.path), FLAGS, least) else set()
    found.tables += sorted(taken)


def _any_number(path: str) -> str:
    return re.sub(r"\d+", "0", path)


def _below(split: str, files: Names) -> Names:
    """The files that a list of a split may name where several folders hold files of the same names: those in the folder of the split, or
    of training."""
    folders = dict(zip(files.paths, read_folders(files.paths)[0], strict=True))
    own = [path for path, of in folders.items() if of == split] or [
        path for path, of in folders.items() if of == "train"
    ]
    return Names(own if split != "test" or any(of == split for of in folders.values()) else ())


def _classes_of(lists: Iterable[List]) -> dict[str, str]:
    """The class of each clip, if all lists name them below few folders or with few numbers behind; none otherwise."""
    lists = [*lists]
    named = {folder for one in lists for folder in one.there}
    above = {folder: name for one in lists for folder, name in one.above.items()}
    behind = {folder: word for one in lists for folder, word in one.behind.items()}
    for told in (above if not any(map(split_of_folder, above.values())) else {}, behind):
        few = len({*told.values()}) > 1 and 2 * len({*told.values()}) <= len(told)
        if few and told.keys() == named:
            return told
    return {}


def _of_files(one: List, held: dict[str, list[str]]) -> List:
    """The list of the files in the folders that it names."""
    return List(one.path, [path for folder in one.there for path in held[folder]], one.lost)


def _split_of(name: str) -> str | None:
    name = _LIST.sub("", name)
    tokens = {t.lower() for t in re.findall(r"[A-Z]?[a-z]+", name)}
    if name.lower().replace("_", "") == BOTH or (tokens >= {"train", "val"} and tokens <= {"train", "val", *AROUND}):
        return BOTH
    return split_of_folder(name)


def _read(
    listing: Listing,
    lists: dict[str, Entry],
    files: Names,
    folder: str,
    beside: frozenset[str] | None = None,
    least: int = 2,
) -> dict[str, List]:
    """What each list names; without those that name something else or fewer than ``least``. ``beside``: the words that may stand
    behind a name, None for any."""
    found = {}
    for split, entry in lists.items():
        lines = _lines(listing, entry)
        if (
            beside is not None
            and any(set(line.split()[1:]) - beside and files.meant(line, folder) is None for line in lines)
            and not (beside == frozenset() and len(lists) > 1 and _have_classes(lines))
        ):
            continue
        named = [(line, _meant(line, files, folder)) for line in lines]
        there = [path for _, path in named if path is not None]
        distinct = len({*there})  # numbers that come again and again are classes
        if distinct >= least and len(there) >= NEARLY_ALL * len(lines) and 2 * distinct >= len(there):
            lost = [line for line, path in named if path is None]
            lines_of = {path: line.split() for line, path in named if path is not None}
            above = {path: words[0].split("/")[-2:-1] for path, words in lines_of.items()}
            behind = {path: words[-1] for path, words in lines_of.items() if len(words) > 1 and words[-1].isdecimal()}
            above_of = {path: of[0] for path, of in above.items() if of and of[0]}
            found[split] = List(entry.path, list(dict.fromkeys(there)), lost, above_of, behind)
    return found


def _may_list(listing: Listing, entry: Entry) -> bool:
    """Whether a file is a text, or a list of texts in JSON, and no document of another kind, which may be large."""
    try:
        return entry.kind != "json" or _OF_TEXTS.match(listing.head(entry.path, HEAD)) is not None
    except ODD:
        return False


def _lines(listing: Listing, entry: Entry) -> list[str]:
    """The lines of a list, or what one in JSON holds; none of another file."""
    try:
        data = listing.read(entry.path, MOST_BYTES)
        held = json.loads(data) if entry.kind == "json" else []
    except ODD:
        return []
    if entry.kind == "json":
        return [line for line in held if line.strip()] if all(isinstance(line, str) for line in held) else []
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]


def _have_classes(lines: list[str]) -> bool:
    """Whether one of few words stands behind each name: a class."""
    behind = [line.split()[1:] for line in lines]
    return all(len(of) == 1 for of in behind) and CLASSES * len({of[0] for of in behind}) <= len(lines)


def _meant(line: str, files: Names, folder: str) -> str | None:
    """The sample that a line names, or that its first word does; a folder may be called like the file that its files were cut from."""
    first = line.split()[0]
    found = files.meant(line, folder) or files.meant(first, folder)
    return found or (files.find(first.rpartition(".")[0], False, folder) if "." in first[-5:] else None)
