"""Determines the format of the files: readers are found by walking this folder; entry points add third-party ones."""

from __future__ import annotations

import importlib
import pkgutil
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dataloader_expert.errors import Aside, NothingReadable, RequestError, Unreadable, escaped, fields_are, listed
from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.absent import absent_parts
from dataloader_expert.sources.annotations.divided import MOST_BYTES as MOST_LISTS
from dataloader_expert.sources.annotations.divided import lists_of_splits
from dataloader_expert.sources.annotations.reading import annotations_of
from dataloader_expert.sources.annotations.voc import KIND as VOC
from dataloader_expert.sources.annotations.yolo import KIND as YOLO
from dataloader_expert.sources.base import Field, Source, Unit
from dataloader_expert.sources.chosen import chosen
from dataloader_expert.sources.class_names import with_class_names
from dataloader_expert.sources.company import (
    TABLES,
    called_after,
    in_each_folder,
    kind_of_rows,
    kind_of_samples,
    kind_of_stores,
    left_out,
    lists_of_files,
    without_unread,
    written_twice,
)
from dataloader_expert.sources.copies import idle_files
from dataloader_expert.sources.declared_splits import with_declared, with_listed
from dataloader_expert.sources.files import Entry, Listing, in_meta, is_beside, is_project, list_files
from dataloader_expert.sources.json_records import divided_by_lists
from dataloader_expert.sources.key_lists import text_lists
from dataloader_expert.sources.layout import VALIDATION, is_form, split_in_name, written_names
from dataloader_expert.sources.magic import BRAT, SUFFIXES, TEXT_FORMATS, of_single_bytes, suffix_of
from dataloader_expert.sources.other_tables import stem_of
from dataloader_expert.sources.packed import unpacked_name
from dataloader_expert.sources.pairing import READ, Pairing, pair
from dataloader_expert.sources.subset import Subset
from dataloader_expert.sources.table_log import without_replaced
from dataloader_expert.sources.text_tables import guessed_as_texts, have_documents, told_as_tables
from dataloader_expert.sources.unread_formats import unread_format

GROUP = "dataloader_expert.sources"
NOTES = ("YAML", "text", "json", VOC)
"""Kinds of files that may describe a data set."""
TOLD = {*NOTES, *TEXT_FORMATS, "csv", "tsv", "jsonl", YOLO}
"""Kinds of files that may say something of samples."""
RECORDS = ("json", "jsonl")
"""Kinds of files that hold records, of which each may be of a sample."""
TWINS = {*TEXT_FORMATS, SUFFIXES[".ts"]}
"""Formats that archives keep beside the same data in plain text. Others, such as MATLAB's, may hold what texts only describe."""
OF_ROWS = {"spreadsheet", "statistics package", "database", "ARFF", "LIBSVM", "ORC", "Avro"}
"""Kinds of tables that are not read, and that other programs export."""
HOLDING = ("MATLAB", "spreadsheet", "statistics package")
"""Kinds that are not read, of which a few files beside samples rather say something of them than lie there by mistake."""
DOCUMENTS = ("notebook", "spreadsheet")
"""Kinds that are not read, and may be about the data however large they are."""
STRAYS = 3
"""So many notes beside data of one kind leave no doubt what is meant: they are told as foreign files."""
MOST_LINES, FEWEST_LINES = 1 << 24, 20
"""Bytes of the largest text whose lines are counted, and the fewest lines that are as many as samples by no chance."""
CALLED_SO = {("json", "jsonl"), ("text", "jsonl"), ("tsv", "text")}
"""What names often say, and what is there: lines of JSON, and tagged tokens."""
ALSO = dict.fromkeys(("coco", "yolo", "voc"), "image-folder")
"""Other names of formats, each read as one that finds such annotations by itself."""


def class_of_yours(files: int) -> str:
    """What to do about so many files that no reader reads."""
    them = "them" if files > 1 else "it"
    return f"write a Dataset class that reads {them} and name it, such as data.py:MyDataset: it is measured and checked the same way"


@cache
def formats() -> Mapping[str, type[Source]]:
    """Our readers, by format name."""
    found = {}
    package = importlib.import_module("dataloader_expert.sources")
    for module in pkgutil.iter_modules(package.__path__):
        source = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "SOURCE", None)
        if source is not None:
            found[source.format] = source
    return MappingProxyType(found)


def plugins(unknowns: list[Unknown]) -> dict[str, type[Source]]:
    """Third-party readers; one that fails to load is an unknown, never an error."""
    found = {}
    for point in entry_points(group=GROUP):
        try:
            source = point.load()
            found[source.format] = source
        except Exception as e:  # third-party code: anything may be raised
            unknowns.append(Unknown(f"format {point.name}", f"its plugin does not load: {escaped(e)}"))
    return found


def open_source(ref: SourceRef, unknowns: list[Unknown]) -> Source:
    """The opened source.

    Raises:
        RequestError: ``source-not-found``, ``outside-roots``, ``format-unknown``, ``label-not-found``,
            ``invalid-argument`` (a split or a column that does not exist) or ``import-failed``.
    """
    known = {**formats(), **plugins(unknowns)}
    if ref.format in ALSO:
        ref = replace(ref, format=ALSO[ref.format])
    if ref.code:
        source = known["reference"].open(Listing(Path(), ref.roots), ref)
    else:
        if ref.format is not None and ref.format not in known:
            raise RequestError(
                "format-unknown",
                f"format {escaped(ref.format)} is not known; known are {', '.join(sorted({*known, *ALSO}))}",
            )
        listing = list_files(ref.name, ref.roots)
        if ref.limit_bytes is not None:
            listing.most_bytes = ref.limit_bytes // 2
        if not listing.single:
            unknowns += without_replaced(listing)
        if not listing.single and ref.format is None:
            told_as_tables(listing)
        cls, kinds, company = _chosen(listing, ref, known)
        try:
            source = cls.open(listing, ref)
        except NothingReadable as e:
            raise NothingReadable(e.message, (*listing.problems, *e.problems), cls.format) from None
        except Unreadable as e:
            text = f"{e.told()}; no sample can be read"
            raise NothingReadable(text, (*listing.problems, e.with_traceback(None)), cls.format) from None
        source.units = with_declared(source.units, listing)
        lists = with_listed(source, listing)
        aside = {problem.where.get("file") for problem in source.problems if isinstance(problem, Aside)}
        held = [e for e in listing.entries if (e.kind in kinds and e.path not in aside) or is_beside(e.path)]
        source.files, source.bytes = len(held), sum(e.on_disk for e in held)
        unknowns += [Unknown(f"field {name}", why) for name, why in getattr(source, "unread", {}).items()]
        data = [e for e in listing.of(kinds) if not is_beside(e.path) or listing.single]
        source.problems += idle_files(source, listing, data)
        damaged = [str(p.where["file"]) for p in listing.problems if "file" in p.where]
        source.problems += absent_parts(source, listing, [*(e.path for e in listing.of(kinds)), *damaged], company)
        lists += getattr(source, "divided_by", ())
        beside = {*getattr(source, "beside", ()), *lists, *_beside_shards(listing)}
        in_shards = source.in_shards or _of_many(source.units)
        counts = {source.samples, *source.splits.values()} if source.label is None and not in_shards else set()
        counts = {n for n in counts if n >= FEWEST_LINES}
        foreign = _foreign(listing, kinds, beside, company, in_shards, counts)
        unread = {problem.where.get("file") for problem in foreign}
        read = {e.path.rpartition(".")[0] for e in data if source.in_shards}  # others called so are noted as such
        others = [e for e in listing.entries if e.path in unread and e.kind not in kinds]
        others = [e for e in others if e.path.rpartition(".")[0] not in read and not is_form(e.path)]
        unknowns += left_out(others, kinds, {kind for reader in known.values() for kind in reader.kinds})
        source.problems = [
            *(p for p in listing.problems if p.where.get("file") not in getattr(source, "may_be_empty", ())),
            *foreign,
            *_collisions(listing),
            *_odd_names(listing),
            *source.problems,
        ]
        unknowns += _in_no_split(source)
        with_class_names(source, listing, ref.label or source.label)
    if ref.split is not None:
        named = {*source.splits, *(source.roles.splits.values() if source.roles is not None else ())}
        ref = replace(ref, split=_called_here(ref.split, named))
    if ref.split is not None:
        if ref.split in source.splits:
            source.keep_split(ref.split)
        elif source.roles is not None and ref.split in source.roles.splits.values():
            source = Subset(source, ref.split)
        elif own := [unit for unit in source.units if _is_called(unit, ref.split, bool(source.splits))]:
            source.units = own  # asked for by the name that the files have
        elif not source.split_by(ref.split):
            raise _no_split(ref.split, source)
    if ref.train is not None:
        _call_train(ref.train, source, kept=ref.split is not None)
    if ref.label is not None:
        names = [f.name for f in source.fields]
        if ref.label not in names:
            raise RequestError(
                "label-not-found",
                f"field {escaped(ref.label)} does not exist; {fields_are(ref.label, names)}",
            )
        if source.label not in (None, ref.label):
            source.classes = None  # they were those of another field
        source.label, source.label_how = ref.label, "as asked"
        if source.roles is not None:
            source.roles = source.roles.without(ref.label)
    return source if ref.columns is None else chosen(source, ref.columns, ref.label)


def _called_here(split: str, there: Collection[str]) -> str:
    """The split as it is called here, where the one for validation has another of its usual names."""
    others = sorted(VALIDATION & {*there}) if split in VALIDATION - {*there} else []
    return others[0] if len(others) == 1 else split


def _is_called(unit: Unit, split: str, divided: bool) -> bool:
    """Whether a unit's file has the name of a split as asked for; ``divided``: others are in splits, beside which a whole file may be one
    that no usual word names, such as ``live.parquet``."""
    if unit.split is not None:
        return split in written_names(unit.file)
    return divided and split == unit.file.rpartition("/")[2].partition(".")[0]


def _call_train(name: str, source: Source, kept: bool) -> None:
    """Renames the split ``name`` to ``train``, the name that all checks use. ``kept``: only one split, perhaps another, was kept.

    Raises:
        RequestError: ``invalid-argument`` for a split that does not exist, or if another one is called ``train``.
    """
    splits = source.roles.splits if source.roles is not None else {}
    named = {*source.splits, *splits.values()}
    written = {unit.split for unit in source.units if unit.split is not None and name in written_names(unit.file)}
    if name not in named and len(written) == 1:
        [name] = written
    if name not in named:
        if kept:
            return
        raise _no_split(name, source)
    if name != "train" and "train" in named:
        raise RequestError(
            "invalid-argument", f"train_split is {escaped(name)}, but another split is called train; rename that one"
        )
    source.units = [replace(unit, split="train") if unit.split == name else unit for unit in source.units]
    if source.roles is not None and name in splits.values():
        renamed = {value: "train" if split == name else split for value, split in splits.items()}
        source.roles = replace(source.roles, splits=renamed)


def _in_no_split(source: Source) -> list[Unknown]:
    """What is told of files outside the splits that all others are in."""
    outside = {unit.file: 0 for unit in source.units if unit.split is None}
    if not source.splits or not outside:
        return []
    samples = sum(unit.samples for unit in source.units if unit.split is None)
    names = sorted({file.rpartition("/")[2].partition(".")[0] for file in outside})
    way = f"; pass split={escaped(names[0])} for them alone" if len(names) == 1 else ""
    text = f"{samples:,} samples, in files such as {escaped(next(iter(outside)), 60)}, are in none of the splits{way}"
    return [Unknown("splits", text)]


def _no_split(split: str, source: Source) -> RequestError:
    named = source.splits or (dict.fromkeys(source.roles.splits.values()) if source.roles is not None else {})
    there = ", ".join(map(escaped, named)) or "none"
    able = [f.name for f in source.fields if not f.shape and _may_name_splits(f) and f.name != source.label]
    or_field = (
        f"; or name the field that holds each sample's split, one of: {listed(able)}" if able and source.roles else ""
    )
    or_all = "" if named else "; leave split out to read all samples"
    return RequestError(
        "invalid-argument", f"split {escaped(split)} does not exist; splits are: {there}{or_all}{or_field}"
    )


def _may_name_splits(field: Field) -> bool:
    """Whether the values of a field may be splits: few texts or whole numbers, and no rate."""
    return field.name != "sample_rate" and (field.kind in ("category", "boolean") or "int" in field.dtype)


class _Chosen(NamedTuple):
    """The reader, the kinds of its files, and the files of other kinds that accompany the samples or describe them."""

    cls: type[Source]
    kinds: frozenset[str]
    company: frozenset[str] = frozenset()


def _chosen(listing: Listing, ref: SourceRef, known: dict[str, type[Source]]) -> _Chosen:
    if ref.format is not None:
        return _Chosen(known[ref.format], known[ref.format].kinds)
    if listing.find("dataset_dict.json", "state.json") and listing.of(frozenset({"arrow"})):
        return _Chosen(known["hf-disk"], frozenset({"arrow", "json"}))
    whole = unread_format(listing.entries, listing.base)
    if whole is not None:
        table = _of_a_table(listing.entries)
        text = f"{escaped(ref.name)} contains {whole}, a format that is not supported; {class_of_yours(2)}{table}"
        raise RequestError("format-unknown", text)
    about = _beside_shards(listing)
    data = [e for e in listing.entries if not (is_beside(e.path) or e.path in about) or listing.single]
    data = [e for e in data if not is_form(e.path)] or data
    if not listing.single and any(e.kind in TABLES for e in data):
        data = [e for e in data if e.kind != "json" or e.size > MOST_LISTS or not lists_of_splits(listing, e)] or data
        lists = text_lists(listing, data)
        data = [e for e in data if e.path not in lists] if {e.kind for e in data} - TABLES == {"text"} else data
    kinds_there, every = {e.kind for e in data}, data
    described: str | None = None
    # what belongs to files of a sample each is not another kind of data
    if len(kinds_there) > 1 and not listing.single:
        for main in ("image", "audio", "npy", "text"):
            if main not in kinds_there or (
                main == "text" and not (have_documents(data) and kinds_there <= {*TOLD, BRAT})
            ):
                continue
            tables = {*annotations_of(listing, [e for e in data if e.kind == main], keep=True).tables}
            if tables:
                described = main
                # beside annotations, other notes are no reason to ask what is meant: they are told as foreign files
                data = [e for e in data if e.kind == main or (e.path not in tables and e.kind not in NOTES)]
            alone = main in ("npy", "text")
            paired = Pairing([]) if alone else pair(data if tables else listing.entries, frozenset({main}))
            if paired.beside or tables:
                read = any(kind in READ for kind in paired.fields.values())
                data = [e for e in data if e.path not in paired.beside or not (read or e.kind in READ)]
                break
            own = [e for e in data if e.kind == main]
            called = called_after([e for e in data if e.kind in TOLD and e not in own], own)
            data = [e for e in data if e.path not in called]
    if divided_by_lists(listing, data):
        return _Chosen(known["json"], known["json"].kinds, frozenset(e.path for e in data if e.kind == "text"))
    counts = Counter(e.kind for e in data)
    first = [cls for cls in known.values() if cls.format != "hf-disk" and cls.instead_of is None]
    readable = {kind: cls for cls in first for kind in cls.kinds}
    if not data:
        listed = "; ".join(p.told() for p in listing.problems[:3]) or "only files about data"
        raise NothingReadable(f"{escaped(ref.name)} contains no data file ({listed})", listing.problems)
    own = [e for e in data if not is_project(e.path)]
    kind = next(filter(None, (_kind_meant(of, readable) for of in (data, own, _not_in_meta(own)))), None)
    company: frozenset[str] = frozenset()
    if kind is None and len(counts) > 1 and not listing.single:
        listing.entries[:] = guessed_as_texts(listing.entries)
        there = {entry.path: entry for entry in listing.entries}
        data, own = [there[e.path] for e in data], [there[e.path] for e in own]
        twins = called_after(
            [e for e in own if e.kind in TWINS], [e for e in own if e.kind in readable and e.kind in TOLD]
        )
        own = [e for e in own if e.path not in twins]
        kind = _kind_meant(own, readable)
        company = frozenset(e.path for e in data if e.kind != kind)
    if kind is None and len(counts) > 1 and not listing.single:
        naming = lists_of_files(listing, own)
        unlisted = [e for e in own if e.path not in naming]
        kind = _kind_meant(unlisted, readable) if naming else None
        kind = kind or _kind_with_company(listing, unlisted, readable, described)
        kind = kind or _kind_of_twice(listing, ref, own, known)
        company = frozenset(e.path for e in data if e.kind != kind)
    if kind is not None:
        usual = readable[kind]
        others = (cls for cls in known.values() if cls.instead_of == usual.format and cls.fits(listing))
        return _Chosen(next(others, usual), usual.kinds, company)
    kind = counts.most_common(1)[0][0]
    total = len(data)
    examples = {e.kind: e.path for e in reversed(every)}
    listed = ", ".join(
        f"{n} {_files(k, n)}" + (f" such as {escaped(examples[k], 60)}" if k in examples and k != kind else "")
        for k, n in (counts if len(counts) == 1 else Counter(e.kind for e in every)).most_common()
    )
    if len(counts) == 1:
        them = "which are" if total > 1 else "which is"
        what = f"{escaped(ref.name)} contains {listed}, {them} not supported"
    else:
        what = f"{escaped(ref.name)} contains several kinds of files: {listed}"
    if not counts.keys() & readable.keys():
        packed = f"unpack {'them' if total > 1 else 'it'}, or " if "compressed archive" in counts else ""
        exported = "export the rows as CSV or Parquet, or " if {*counts} & OF_ROWS else ""
        hint = f"{packed}{exported}{class_of_yours(total)}"
        raise RequestError("format-unknown", f"{what}; {hint}")
    papers = DOCUMENTS if 2 * counts["spreadsheet"] <= total else ("notebook",)
    unread = [e for e in own if e.kind not in (*readable, *papers)]
    if counts.keys() & readable.keys() <= TOLD and 2 * sum(e.size for e in unread) > sum(e.size for e in own):
        raise RequestError("format-unknown", f"{what}; {_beside_unread(data, unread)}")
    able = " or ".join(f"format={name}" for name in sorted({readable[k].format for k in counts if k in readable}))
    hint = f"name one file or folder, a glob such as 'folder/*.csv', or pass {able}"
    raise RequestError("format-unknown", f"{what}; {hint}")


def _beside_unread(data: list[Entry], unread: list[Entry]) -> str:
    """What to do where the data are in a format that is not read, and what is readable only says something of them."""
    kind, n = Counter(e.kind for e in unread).most_common(1)[0]
    suffixes = sorted({_suffix(e.path) for e in unread if e.kind == kind} - {""})[:3]
    which = f" ({', '.join(map(escaped, suffixes))})" if kind is None and suffixes else ""
    verb = "hold" if n > 1 else "holds"
    are = "are" if n > 1 else "is"
    exported = "export the rows as CSV or Parquet, or " if kind in OF_ROWS else ""
    return f"the {_files(kind, n)}{which} {verb} most of the data and {are} not supported: {exported}{class_of_yours(n)}{_of_a_table(data)}"


def _of_a_table(data: list[Entry]) -> str:
    """What may be done with a table that stands beside data that are not read."""
    largest = max((e for e in data if e.kind in TABLES), key=lambda e: e.size, default=None)
    return "" if largest is None else f", or pass {escaped(largest.path, 60)} for what it says alone"


def _not_in_meta(data: list[Entry]) -> list[Entry]:
    return [e for e in data if not in_meta(e.path)]


def _kind_meant(data: list[Entry], readable: dict[str, type[Source]]) -> str | None:
    """The kind of file that is the data set; None if there is doubt. A few others beside many leave none."""
    counts = Counter(e.kind for e in data)
    total = len(data)
    kind = counts.most_common(1)[0][0] if data else None
    if counts["token-bin"] and not any(k in readable for k in counts if k not in ("token-bin", "text", "json")):
        kind = "token-bin"  # beside the text and the script that they were made from
    # a file named like the others with other content is a damaged one of them
    counts = Counter(kind if SUFFIXES.get(_suffix(e.path)) == kind else e.kind for e in data)
    most = counts[kind]
    few = max(1, total // 20) if total > 2 else 0
    notes: set[str | None] = {"text", *TEXT_FORMATS}
    if not any(split_in_name(e.path.rpartition("/")[2]) for e in data if e.kind != kind):  # what is called so is data
        notes |= {"json", "YAML", VOC, None, *(("csv", "tsv") if kind in ("image", "audio") else ())}
        few = (
            max(few, STRAYS if kind == "token-bin" else min(STRAYS, most // 2))
            if set(counts) <= {kind, *notes}
            else few
        )
    plain = total - most <= few and not any(k in readable for k in counts if k not in (kind, *notes))
    strays = sum(n for k, n in counts.items() if k in readable and k != kind)
    sure = plain or (total - most <= total // 100 and strays <= 1)
    return kind if kind in readable and sure else None


def _kind_with_company(
    listing: Listing, data: list[Entry], readable: dict[str, type[Source]], described: str | None
) -> str | None:
    """The kind that holds the samples beside files of other kinds, some of which may never be read; None if there is doubt."""
    for some in (data, _not_in_meta(data)):
        kind = kind_of_samples(some, readable, described) or kind_of_rows(some) or kind_of_stores(listing, some)
        if kind is not None:
            return kind
        for kind in dict.fromkeys(entry.kind for entry in some if entry.kind in readable):
            rest = without_unread(some, kind, readable)
            if len(rest) < len(some) and kind in (
                _kind_meant(rest, readable),
                kind_of_rows(rest),
                kind_of_stores(listing, rest),
            ):
                return kind
    return None


def _kind_of_twice(listing: Listing, ref: SourceRef, data: list[Entry], known: dict[str, type[Source]]) -> str | None:
    """One of two kinds whose files are called alike one by one and hold as many samples: the same rows, written twice."""
    counts = []
    kinds = written_twice(data)
    for kind in kinds:
        alone = replace(listing, entries=[entry for entry in data if entry.kind == kind], problems=[])
        able = [cls for cls in known.values() if kind in cls.kinds and cls.format != "hf-disk"]
        able = [cls for cls in able if cls.instead_of is not None and cls.fits(alone)] or [
            cls for cls in able if cls.instead_of is None
        ]
        try:
            counts.append(able[0].open(alone, ref).samples)
        except (RequestError, Unreadable):
            return None
    return kinds[0] if kinds and len({*counts}) == 1 else None


def _of_many(units: Sequence[Unit]) -> bool:
    """Whether files hold many samples each, as far as the first tell."""
    return any(unit.samples > 1 for unit in units[:8])


def _suffix(path: str) -> str:
    return suffix_of(unpacked_name(path.rsplit("/", 1)[-1]))


def _lines_in(listing: Listing, entry: Entry) -> int:
    """How many lines a small text has; 0 of one that cannot be read."""
    try:
        return len(listing.read(entry.path).strip().splitlines()) if 0 < entry.size <= MOST_LINES else 0
    except Unreadable:
        return 0


def _files(kind: str | None, n: int) -> str:
    files = "file" if n == 1 else "files"
    if kind == VOC:  # of any content: those of VOC are read beside their images
        return f"XML {files} (such as Pascal VOC annotations)"
    return f"{files} of unknown kind" if kind is None else f"{kind} {files}"


def _beside_shards(listing: Listing) -> set[str]:
    """Tables and notes called after tar files, as img2dataset writes them: ``00000.parquet`` and ``00000_stats.json``."""
    shards = {e.path.removesuffix(".tar") for e in listing.entries if e.kind == "tar"}
    named = {e.path: e.path.rpartition(".")[0] for e in listing.entries if e.kind != "tar"} if shards else {}
    return {path for path, stem in named.items() if stem in shards or stem.rpartition("_")[0] in shards}


def _collisions(listing: Listing) -> list[Unreadable]:
    """Files and folders whose names differ only in case; each is reported once."""
    paths = {p for e in listing.entries for p in (e.path, *_folders(e.path))}
    first: dict[str, str] = {}
    problems = []
    for path in sorted(paths):
        other = first.setdefault(path.casefold(), path)
        if other != path and not (_folders(path) and _folders(path)[-1] != _folders(other)[-1]):
            text = f"differs from {escaped(other)} only in case: a case-insensitive file system keeps one of them"
            problems.append(Unreadable("case-collision", text, file=path))
    return problems


def _odd_names(listing: Listing) -> list[Unreadable]:
    """Files and folders whose names break scripts, terminals, archives or other file systems."""
    problems = []
    told: set[str] = set()
    forms: set[str] = set()
    for entry in listing.entries:
        for path in (*_folders(entry.path), entry.path):
            name = path.rsplit("/", 1)[-1]
            why = None if path in told else _odd(name)
            if (
                why is not None and name.startswith("-") and name[1:2].isdigit()
            ):  # a number below 0, if others have such
                forms = forms or {_with_any_number(one.path.rsplit("/", 1)[-1]) for one in listing.entries}
                why = None if _with_any_number(name[1:]) in forms else why
            if why is not None:
                told.add(path)
                problems.append(Unreadable("odd-name", f"the name {why}", file=path))
    return problems


def _with_any_number(name: str) -> str:
    return re.sub(r"\d+", "0", name)


_USUAL = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


def _odd(name: str) -> str | None:
    """What is odd about a file's or folder's name; None if nothing is."""
    if _USUAL.fullmatch(name):
        return None
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        return "contains unprintable characters or bytes that are not text"
    if name != unicodedata.normalize("NFC", name):
        return "has decomposed accents (NFD): systems that compose them (NFC) do not find it"
    if name.startswith("-"):
        return "begins with a dash: commands read it as an option"
    if name != name.strip() or any(part != part.strip() for part in name.rsplit(".", 1)):
        return "begins or ends with a space"
    if set(name) & set("\\:*?\"<>|'`"):
        return "contains a character that shells or other file systems reject"
    if len(name.encode("utf-8", "surrogateescape")) > 200:
        return "is over 200 bytes long, which leaves no room for a suffix"
    return None


def _folders(path: str) -> list[str]:
    """The folders of a path, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _foreign(
    listing: Listing,
    kinds: frozenset[str],
    beside: Collection[str],
    company: Collection[str],
    in_shards: bool,
    counts: Collection[int] = (),
) -> list[Unreadable]:
    """Files that belong neither to the data set nor to a sample (``beside``), and files whose name suggests another format than their bytes.

    Texts and tables that lie apart from the samples, or are called after them one by one, say something of them: they are
    notes, which do no harm where they are. So are a few small ones beside files of many samples each (``in_shards``), unless they are called
    as these are.

    ``counts``: of samples without a label, all and in each split, of which a text may have a line for each.
    """
    problems: list[Unreadable] = []
    filled = {entry.path.rpartition("/")[0] for entry in listing.entries if entry.kind in kinds}
    foreign = []
    read = sum(entry.size for entry in listing.entries if entry.kind in kinds)
    for entry in listing.entries:
        if is_beside(entry.path) or entry.path in beside:
            continue
        suffix = _suffix(entry.path)
        named = SUFFIXES.get(suffix, entry.kind)
        apart = entry.path.rpartition("/")[0] not in filled - {""}
        if entry.kind not in kinds and named in kinds:
            problems.append(Unreadable("not-the-format", f"contains {entry.kind}; not read", file=entry.path))
        elif entry.kind not in kinds and not (apart and is_project(entry.path)):
            foreign.append(entry)
        elif entry.kind not in kinds and (suffix == ".log" or entry.size > read):
            larger = ", although larger than everything that is" if entry.size > read else ""
            problems.append(
                Aside("note", f"is {entry.kind or 'of an unknown kind'}: not read{larger}", file=entry.path)
            )
        elif named != entry.kind and (named, entry.kind) not in CALLED_SO:
            problems.append(Unreadable("wrong-extension", f"contains {entry.kind}", file=entry.path))
    stems = {stem_of(entry.path)[:-1] for entry in listing.entries if entry.kind in kinds}
    notes = [e for e in foreign if in_shards and stem_of(e.path)[:-1] not in stems]
    described = [e.path for e in notes if e.kind in NOTES or (e.kind is None and of_single_bytes(listing.head(e.path)))]
    samples = [entry for entry in listing.entries if entry.kind in kinds]
    of_samples, company = called_after(foreign, samples), {*company} | in_each_folder(foreign, samples)
    for entry in foreign:
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
        elif entry.kind in HOLDING and sum(other.kind == entry.kind for other in foreign) <= STRAYS:
            text = f"{what}, a format that is not read: it may hold labels or other information about the samples"
            problems.append(Aside("note", text, file=entry.path))
        else:
            problems.append(Unreadable("foreign-file", f"{what}, and not part of the dataset", file=entry.path))
    return problems
