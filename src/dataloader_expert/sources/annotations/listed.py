"""Lists of splits: text files called after a split, such as ``train.txt``, that name a sample in each line.

Darknet and Ultralytics list paths, Pascal VOC (``ImageSets/Main``) names without suffix, others either with a label behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Names, folder_of
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import AROUND, split_in_name, split_of_folder
from dataloader_expert.sources.pairing import key_of

MOST_BYTES = 1 << 26
_LIST = re.compile(r"(?<=[a-z])lists?(?![a-z])", re.I)
"""The end of a word, as in ``trainlist01.txt``."""
FLAGS = frozenset({"-1", "0", "1"})
"""What stands behind the names in Pascal VOC's lists of each class."""
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


def join_lists(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Takes the splits from the folder whose lists name most samples; one folder, as another may divide them otherwise."""
    folders: dict[str, dict[str, Entry]] = {}
    loosely: dict[str, dict[str, Entry]] = {}
    """By a word of their names, such as ``Flickr_8k.trainImages``."""
    for entry in listing.entries:
        if entry.kind == "text" and entry.path.endswith(".txt") and 0 < entry.size <= MOST_BYTES:
            folder, name = folder_of(entry.path), entry.path.rsplit("/", 1)[-1][:-4]
            split = _split_of(name)
            if split is not None:
                folders.setdefault(folder, {}).setdefault(split, entry)
            elif (split := split_in_name(f"{name}.txt")) is not None:
                loosely.setdefault(folder, {}).setdefault(split, entry)
    folders = {**loosely, **folders}  # the lists of each class stand beside those of all
    lists = {entry.path for of in folders.values() for entry in of.values()}
    files = Names([path for path in paths if path not in lists] if folders else ())
    read = {
        folder: _read(listing, of, files, folder, frozenset() if of == loosely.get(folder) else None)
        for folder, of in folders.items()
    }
    read = {folder: lists for folder, lists in read.items() if lists}
    if not read and folders:
        held: dict[str, list[str]] = {}
        for path in files.paths:
            held.setdefault(folder_of(path), []).append(path)
        homes = Names([path for path in held if path])
        read = {folder: _read(listing, of, homes, folder, least=1) for folder, of in folders.items()}
        named = {folder for lists in read.values() for one in lists.values() for folder in one.there}
        found.clips = frozenset(folder.rpartition("/")[2] for folder in named)
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
    found.lists += [one.path for one in read[best].values()]
    taken = {one.path for of in read.values() for one in of.values()}
    own = {key_of(path)[0] for path in files.paths}
    for entry in listing.entries:  # others beside them, such as those of each class; what says more is read elsewhere
        beside = entry.kind == "text" and folder_of(entry.path) in read and entry.path not in taken
        if beside and entry.path not in files.whole and key_of(entry.path)[0] not in own:
            least = 1 if entry.path in lists else 2
            taken |= {entry.path} if _read(listing, {"": entry}, files, folder_of(entry.path), FLAGS, least) else set()
    found.tables += sorted(taken)


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
        try:
            data = listing.read(entry.path, MOST_BYTES)
        except ODD:
            continue
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        lines = [line.strip() for line in text.splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if beside is not None and any(
            set(line.split()[1:]) - beside and files.meant(line, folder) is None for line in lines
        ):
            continue
        named = [(line, _meant(line, files, folder)) for line in lines]
        there = [path for _, path in named if path is not None]
        distinct = len({*there})  # numbers that come again and again are classes
        if distinct >= least and len(there) >= NEARLY_ALL * len(lines) and 2 * distinct >= len(there):
            lost = [line for line, path in named if path is None]
            found[split] = List(entry.path, list(dict.fromkeys(there)), lost)
    return found


def _meant(line: str, files: Names, folder: str) -> str | None:
    """The sample that a line names, or that its first word does; a folder may be called like the file that its files were cut from."""
    first = line.split()[0]
    found = files.meant(line, folder) or files.meant(first, folder)
    return found or (files.find(first.rpartition(".")[0], False, folder) if "." in first[-5:] else None)
