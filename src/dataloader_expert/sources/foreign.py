"""Files that belong neither to the data set nor to a sample, and files whose name suggests another format than their bytes."""

from __future__ import annotations

from collections.abc import Collection

from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.sources.annotations.voc import KIND as VOC
from dataloader_expert.sources.annotations.yolo import KIND as YOLO
from dataloader_expert.sources.company import TABLES, called_after, in_each_folder
from dataloader_expert.sources.files import Entry, Listing, is_beside, is_project
from dataloader_expert.sources.layout import is_form
from dataloader_expert.sources.magic import SUFFIXES, TEXT_FORMATS, of_single_bytes, suffix_of
from dataloader_expert.sources.other_tables import stem_of
from dataloader_expert.sources.packed import unpacked_name

NOTES = ("YAML", "text", "json", VOC)
"""Kinds of files that may describe a data set."""
TOLD = {*NOTES, *TEXT_FORMATS, "csv", "tsv", "jsonl", YOLO}
"""Kinds of files that may say something of samples."""
RECORDS = ("json", "jsonl")
"""Kinds of files that hold records, of which each may be of a sample."""
HOLDING = ("MATLAB", "spreadsheet", "statistics package")
"""Kinds that are not read, of which a few files beside samples rather say something of them than lie there by mistake."""
STRAYS = 3
"""So many notes beside data of one kind leave no doubt what is meant: they are told as foreign files."""
MOST_LINES, FEWEST_LINES = 1 << 24, 20
"""Bytes of the largest text whose lines are counted, and the fewest lines that are as many as samples by no chance."""
CALLED_SO = {("json", "jsonl"), ("text", "jsonl"), ("tsv", "text")}
"""What names often say, and what is there: lines of JSON, and tagged tokens."""


def called_suffix(path: str) -> str:
    return suffix_of(unpacked_name(path.rsplit("/", 1)[-1]))


def _lines_in(listing: Listing, entry: Entry) -> int:
    """How many lines a small text has; 0 of one that cannot be read."""
    try:
        return len(listing.read(entry.path).strip().splitlines()) if 0 < entry.size <= MOST_LINES else 0
    except Unreadable:
        return 0


def foreign_files(
    listing: Listing,
    kinds: frozenset[str],
    beside: Collection[str],
    company: Collection[str],
    in_shards: bool,
    counts: Collection[int] = (),
) -> list[Unreadable]:
    """What is told of files that are not read, but for those that belong to a sample (``beside``).

    Texts and tables that lie apart from the samples, or are called after them one by one, say something of them: they are
    notes, which do no harm where they are. So are a few small ones beside files of many samples each (``in_shards``), unless they are called
    as these are.

    ``counts``: of samples without a label, all and in each split, of which a text may have a line for each.
    """
    problems: list[Unreadable] = []
    filled = {entry.path.rpartition("/")[0] for entry in listing.entries if entry.kind in kinds}
    others = []
    read = sum(entry.size for entry in listing.entries if entry.kind in kinds)
    for entry in listing.entries:
        if is_beside(entry.path) or entry.path in beside:
            continue
        suffix = called_suffix(entry.path)
        named = SUFFIXES.get(suffix, entry.kind)
        apart = entry.path.rpartition("/")[0] not in filled - {""}
        if entry.kind not in kinds and named in kinds:
            problems.append(Unreadable("not-the-format", f"contains {entry.kind}; not read", file=entry.path))
        elif entry.kind not in kinds and not (apart and is_project(entry.path)):
            others.append(entry)
        elif entry.kind not in kinds and (suffix == ".log" or entry.size > read):
            larger = ", although larger than everything that is" if entry.size > read else ""
            problems.append(
                Aside("note", f"is {entry.kind or 'of an unknown kind'}: not read{larger}", file=entry.path)
            )
        elif named != entry.kind and (named, entry.kind) not in CALLED_SO:
            problems.append(Unreadable("wrong-extension", f"contains {entry.kind}", file=entry.path))
    stems = {stem_of(entry.path)[:-1] for entry in listing.entries if entry.kind in kinds}
    notes = [e for e in others if in_shards and stem_of(e.path)[:-1] not in stems]
    described = [e.path for e in notes if e.kind in NOTES or (e.kind is None and of_single_bytes(listing.head(e.path)))]
    samples = [entry for entry in listing.entries if entry.kind in kinds]
    of_samples, company = called_after(others, samples), {*company} | in_each_folder(others, samples)
    for entry in others:
        if is_form(entry.path) and entry.kind in TABLES:
            problems.append(Aside("note", "is a template for predictions: not read", file=entry.path))
            continue
        if entry.path in of_samples:
            text = "is named after a sample, but is of a kind that is not read"
            text = "is called like a file that is read, in another format: not read" if in_shards else text
            problems.append(Aside("note", text, file=entry.path))
            continue
        kind = "text" if entry.kind == YOLO else entry.kind
        kind = "XML" if entry.kind == VOC and in_shards else kind
        unknown = "is text in another encoding than UTF-8" if entry.path in described else "is of an unknown kind"
        what = f"is {kind}" if kind else unknown
        above = entry.path.split("/")[-2:-1]
        if entry.kind in NOTES and above and entry.path.rpartition("/")[2].startswith(f"{above[0]}_"):
            text = f"{what}, named after its folder: not read, although it may hold labels"
            problems.append(Aside("note", text, file=entry.path))
        elif entry.kind in NOTES and counts and (n := _lines_in(listing, entry)) in counts:
            text = f"{what} of {n:,} lines, as many as there are samples: not read, although it may hold their labels in order"
            problems.append(Aside("note", text, file=entry.path))
        elif entry.path in company:
            may = ", although it may hold labels" if entry.kind in NOTES and not in_shards else ""
            problems.append(Aside("note", f"{what}, next to the samples: not read{may}", file=entry.path))
        elif len(described) <= STRAYS and entry.path in described:
            problems.append(Aside("note", f"{what}, next to the data: not read", file=entry.path))
        elif entry.kind in TEXT_FORMATS:  # they are made from the samples, as the word counts of reviews
            problems.append(Aside("note", f"{what}: not read", file=entry.path))
        elif entry.kind in TOLD and entry.path.rpartition("/")[0] not in filled:
            may = ", although it may hold labels" if counts and entry.kind in RECORDS else ""
            problems.append(Aside("note", f"{what}, apart from the samples: not read{may}", file=entry.path))
        elif entry.kind in HOLDING and sum(other.kind == entry.kind for other in others) <= STRAYS:
            text = f"{what}, a format that is not read: it may hold labels or other information about the samples"
            problems.append(Aside("note", text, file=entry.path))
        else:
            problems.append(Unreadable("foreign-file", f"{what}, and not part of the dataset", file=entry.path))
    return problems
