"""Which kind of files holds the samples, where others describe or accompany them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.facts import Unknown
from dataloader_expert.sources.files import DESCRIBES, Entry, Listing, is_project
from dataloader_expert.sources.layout import read_folders, split_in_name, without_split
from dataloader_expert.sources.magic import SUFFIXES
from dataloader_expert.sources.pairing import SAMPLES, stem_of

FILE_EACH = ("audio", "image", "npz", "npy")
"""Kinds of which each file may be a sample. A picture that is called after a recording shows it: recordings come first."""
TABLES = {"csv", "tsv", "jsonl", "parquet", "arrow"}
"""Kinds whose rows may be the samples."""
FEWEST = 8
"""The fewest files that are clearly a sample each."""
MOST_TABLES = 3
"""More tables than these may be the data themselves."""
TO_ONE = 4
"""How many samples there are at least to each file of another kind that neither names them nor is called after one."""
BY_WHAT_THEY_SAY = ("parquet", "arrow", "jsonl", "json", "tsv", "csv", "text")
"""Kinds of tables, first those that say most of the types of their values."""
ROWS = TABLES | {"text", "json"}
DATABASE = SUFFIXES[".sqlite"]
STORES = {"HDF5", "npz", "npy", "safetensors", "pt", "parquet", "arrow"}
"""Kinds that only programs write and read: whoever writes them means them to be loaded."""
SAYS = ROWS - STORES | {"YAML", SUFFIXES[".xml"]}
"""Kinds that may say something of what a store holds."""
WRITTEN = (".json", ".yaml", ".yml", ".xml", ".log", ".out", ".err")
"""How files end that programs write of something else."""
PACKED = {"compressed archive", "zip"}
"""Kinds that may hold anything, the samples too."""
NEARLY_ALL, NEARLY_ALL_BYTES = 0.9, 0.98
MOST_BYTES, LOOKED_AT = 1 << 20, 4096
"""The largest list of files, and the bytes of it that tell that it is one."""
_NO_PART = re.compile(r"[\W_]+")
_WORDS = re.compile(r"[^A-Za-z0-9]+")


def kind_of_samples(data: Sequence[Entry], readable: Collection[str], described: str | None = None) -> str | None:
    """The kind whose files are a sample each, in folders of splits or classes, and many more than what is neither called after them nor
    about them; None if there is doubt. ``described``: a kind whose files another table names one by one."""
    kinds = (kind for kind in FILE_EACH if kind in readable)
    return next((kind for kind in kinds if _holds(kind, data, readable, kind == described)), None)


def _holds(kind: str, data: Sequence[Entry], readable: Collection[str], described: bool) -> bool:
    own = [entry for entry in data if entry.kind == kind]
    others = [entry for entry in data if entry.kind != kind]
    notes = in_each_folder(others, own)
    aside = called_after(others, own) | notes | _never_read(others, own, readable)
    rest = [entry for entry in others if entry.path not in aside and not is_project(entry.path)]
    if len(own) < FEWEST or len(own) < TO_ONE * len(rest):
        return False
    tables = [entry.path for entry in rest if entry.kind in TABLES]
    if len(tables) > MOST_TABLES or (not described and any(map(_is_split, tables))):
        return False  # these may be the data
    tables = [] if described else tables
    if kind in ("npz", "npy"):
        return not tables
    # beside nothing but notes in each folder, such as those of a scene, no other kind may be the data
    return all(entry.path in notes for entry in others) or _in_order([entry.path for entry in own], bool(tables))


def in_each_folder(others: Iterable[Entry], own: Iterable[Entry]) -> set[str]:
    """Notes of the same names in nearly every folder of samples, such as ``groundtruth.txt`` in that of each clip, and what programs
    write beside each sample, such as ``result.json``: a text may be a sample itself where a folder has few others."""
    held = Counter(entry.path.rpartition("/")[0] for entry in own)
    found: dict[str, list[str]] = {}
    for entry in others:
        folder, _, name = entry.path.rpartition("/")
        if entry.kind in SAYS - TABLES and folder in held:
            found.setdefault(name, []).append(entry.path)
    alike = {name: of for name, of in found.items() if len(of) > 1 and len(of) >= NEARLY_ALL * len(held)}
    if TO_ONE * len(held) > held.total():
        alike = {name: of for name, of in alike.items() if name.lower().endswith(WRITTEN)}
    return {path for of in alike.values() for path in of} if len(alike) < TO_ONE * TO_ONE else set()


def _never_read(others: Iterable[Entry], own: Sequence[Entry], readable: Collection[str]) -> set[str]:
    """Files of kinds that are never read, if they are no more than the samples and less in bytes: else they may be the data."""
    unread = [entry for entry in others if entry.kind not in {None, *readable, *SAYS, *PACKED}]
    less = sum(entry.size for entry in unread) < sum(entry.size for entry in own)
    return {entry.path for entry in unread} if len(unread) <= len(own) and less else set()


def written_twice(data: Sequence[Entry]) -> tuple[str, ...]:
    """The two kinds of tables whose files are called alike one by one, the one that says more of its values first; none of others."""
    stems: dict[str, set[str]] = {}
    for entry in data:
        stems.setdefault(str(entry.kind), set()).add(entry.path.rpartition(".")[0])
    kinds = [kind for kind in BY_WHAT_THEY_SAY if kind in stems]
    return tuple(kinds) if len(kinds) == len(stems) == 2 and stems[kinds[0]] == stems[kinds[1]] else ()


def kind_of_rows(data: Sequence[Entry]) -> str | None:
    """Of kinds whose rows may be the samples, the one whose files alone are called after splits, or else the one with nearly all bytes:
    what is said of users or subjects is little beside what was measured; None if there is doubt."""
    own = [entry for entry in data if not is_project(entry.path)]
    if not {entry.kind for entry in own} <= ROWS:
        return None
    divided = {entry.kind for entry in own if entry.kind in TABLES and _is_split(entry.path)}
    if len(divided) == 1:
        return divided.pop()
    size: Counter[str | None] = Counter()
    for entry in own:
        size[entry.kind] += entry.size
    [(kind, most)] = size.most_common(1) or [(None, 0)]
    return kind if not divided and most >= NEARLY_ALL_BYTES * size.total() else None


def kind_of_stores(listing: Listing, data: Sequence[Entry]) -> str | None:
    """The only kind that programs alone read, where what people read beside it is less in bytes, of few files, and neither divided
    into splits that the stores lack nor a list of them: names of classes, a lookup table, what is said of each row."""
    own = [entry for entry in data if not is_project(entry.path)]
    stores = [entry for entry in own if entry.kind in STORES]
    others = [entry for entry in own if entry.kind not in STORES]
    called = [_bare_name(entry.path) for entry in stores]
    others = [e for e in others if e.kind in TABLES or not any(map(_bare_name(e.path).startswith, called))]
    kinds = {entry.kind for entry in stores}
    if len(kinds) != 1 or not {entry.kind for entry in others} <= SAYS or len(others) >= max(FEWEST, len(stores)):
        return None
    tables = [entry for entry in others if entry.kind in TABLES]
    if any(_is_split(entry.path) for entry in others) and not any(_in_split(entry.path) for entry in stores):
        return None
    if any(entry not in tables and _in_split(entry.path) for entry in others):
        return None  # documents in splits
    files = {form for entry in stores for form in _forms(entry.path)} if len(stores) >= FEWEST else set()
    if files and any(_mentions(listing, entry, files) for entry in tables):
        return None
    least = sum(entry.size for entry in tables), sum(entry.size for entry in others if entry not in tables)
    held = sum(entry.size for entry in stores)
    return kinds.pop() if held > least[0] and held * (1 - NEARLY_ALL) >= least[1] * NEARLY_ALL else None


def without_unread(data: Sequence[Entry], kind: str | None, readable: Collection[str]) -> list[Entry]:
    """The files without those of kinds that are never read, such as pickles and videos, where they accompany ``kind``: beside files that
    programs alone read, or fewer than its tables and less in bytes or outside the splits that these are in. All files elsewhere, since what
    is not read may be the data."""
    unread = [entry for entry in data if entry.kind not in {None, *readable, *SAYS, *PACKED}]
    own = [entry for entry in data if entry.kind == kind]
    divided = own and all(_in_split(entry.path) for entry in own) and not any(_in_split(e.path) for e in unread)
    less = 2 * sum(entry.size for entry in unread) <= sum(entry.size for entry in data)
    splits = {split_in_name(entry.path.rpartition("/")[2]) for entry in own} - {None}
    if kind in ROWS and len(splits) > 1:  # what is asked in splits is answered by databases in none
        data = [entry for entry in data if entry.kind != DATABASE or _in_split(entry.path)]
        unread = [entry for entry in data if entry in unread]
    accompany = kind in STORES or (kind in TABLES and len(unread) < len(own) and (divided or less))
    return [entry for entry in data if entry not in unread] if accompany else list(data)


def left_out(entries: Iterable[Entry], kinds: Collection[str], readable: Collection[str]) -> list[Unknown]:
    """What is told of tables, and of files that are never read, beside the samples."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind in TABLES or entry.kind not in {None, *readable, *SAYS, *PACKED}:
            found.setdefault(str(entry.kind), []).append(entry)
    of = " and ".join(sorted(kinds))
    return [
        Unknown(
            f"{kind.partition(' (')[0]} files",
            f"{number(len(some), 'file')} beside the {of} files ({'such as ' * (len(some) > 1)}{escaped(some[0].path, 60)}): not read; {'they' if len(some) > 1 else 'it'} may "
            "hold labels or other information about the samples",
        )
        for kind, some in found.items()
    ]


def _in_split(path: str) -> bool:
    """Whether a file or one of its folders is called after a split."""
    *folders, name = path.split("/")
    return split_in_name(name) is not None or any(split_in_name(folder) is not None for folder in folders)


def _is_split(path: str) -> bool:
    """Whether a file is called after a split and nothing else: ``train.csv``."""
    return not without_split(path.rpartition("/")[2].rpartition(".")[0])


def _in_order(paths: list[str], tables: bool) -> bool:
    """Whether the files lie in folders of splits, classes or samples. Beside tables whose rows may be samples, splits alone leave no
    doubt: a report too has its figures in folders."""
    splits, labels, _ = read_folders(paths)
    placed = [
        split is not None or (not tables and (label is not None or bool(SAMPLES & _words_above(path))))
        for path, split, label in zip(paths, splits, labels, strict=True)
    ]
    return sum(placed) >= NEARLY_ALL * len(paths)


def _words_above(path: str) -> set[str]:
    """The words of the names of its folders."""
    return {word.lower() for folder in path.split("/")[:-1] for word in _WORDS.split(folder)}


def called_after(others: Iterable[Entry], samples: Iterable[Entry]) -> set[str]:
    """The files in folders of which most are called as a sample each, as KITTI's ``calib/000007.txt`` of ``image_2/000007.png``."""
    homes: dict[str, list[str]] = {}
    for entry in others:
        homes.setdefault(entry.path.rpartition("/")[0], []).append(entry.path)
    stems = {_bare_name(entry.path) for entry in samples} if homes else set()
    found = {home: [path for path in of if _bare_name(path) in stems] for home, of in homes.items()}
    return {path for home, of in found.items() if len(of) > 1 and 2 * len(of) >= len(homes[home]) for path in of}


def _bare_name(path: str) -> str:
    """Its letters and digits, without the suffix: ``blues.00000.wav`` and ``blues00000.png`` are called alike."""
    return _NO_PART.sub("", stem_of(path.rpartition("/")[2])).lower()


def lists_of_files(listing: Listing, data: Sequence[Entry]) -> set[str]:
    """Short texts that name a data file in each line, or by their own name describe the data: ``train_files.txt``, ``shape_names.txt``."""
    texts = [entry for entry in data if entry.kind == "text" and 0 < entry.size <= MOST_BYTES]
    files = {form for entry in data if entry not in texts for form in _forms(entry.path)}
    return {entry.path for entry in texts if files and (_describes(entry.path) or _names(listing, entry, files))}


def _describes(path: str) -> bool:
    return _WORDS.split(path.rpartition("/")[2].rpartition(".")[0].lower())[-1] in DESCRIBES


def _names(listing: Listing, entry: Entry, files: set[str]) -> bool:
    """Whether nearly all lines name one of these files."""
    try:
        text = listing.head(entry.path, LOOKED_AT).decode("utf-8", "replace")
    except Unreadable:
        return False
    lines = text.splitlines()[: -1 if len(text) == LOOKED_AT else None]
    said = [line.strip().rpartition("/")[2] for line in lines if line.strip()]
    return bool(said) and sum(name in files for name in said) >= NEARLY_ALL * len(said)


def _mentions(listing: Listing, entry: Entry, files: set[str]) -> bool:
    """Whether a table names several of these files: it says something of each."""
    try:
        text = listing.head(entry.path, LOOKED_AT).decode("utf-8", "replace")
    except Unreadable:
        return False
    return len({cell.rpartition("/")[2] for cell in re.split(r'[\s,;"|]+', text)} & files) > 1


def _forms(path: str) -> tuple[str, str]:
    """A file's name with and without what follows its first full stop."""
    name = path.rpartition("/")[2]
    return name, name.partition(".")[0]
