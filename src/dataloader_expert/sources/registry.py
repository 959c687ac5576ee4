"""Determines the format of the files: readers are found by walking this folder; entry points add third-party ones."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dataloader_expert.errors import Aside, NothingReadable, RequestError, Unreadable, escaped, fields_are
from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.absent import absent_parts
from dataloader_expert.sources.annotations.divided import MOST_BYTES as MOST_LISTS
from dataloader_expert.sources.annotations.divided import lists_of_splits
from dataloader_expert.sources.annotations.reading import annotations_of
from dataloader_expert.sources.annotations.voc import KIND as VOC
from dataloader_expert.sources.asked_splits import in_no_split, with_asked
from dataloader_expert.sources.base import Source, Unit
from dataloader_expert.sources.chosen import chosen
from dataloader_expert.sources.class_names import with_class_names
from dataloader_expert.sources.company import (
    TABLES,
    called_after,
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
from dataloader_expert.sources.foreign import (
    FEWEST_LINES,
    NOTES,
    STRAYS,
    TOLD,
    called_suffix,
    foreign_files,
)
from dataloader_expert.sources.json_records import divided_by_lists
from dataloader_expert.sources.key_lists import text_lists
from dataloader_expert.sources.layout import is_form, split_in_name
from dataloader_expert.sources.magic import BRAT, SUFFIXES, TEXT_FORMATS
from dataloader_expert.sources.odd_names import collisions, odd_names
from dataloader_expert.sources.pairing import READ, Pairing, pair
from dataloader_expert.sources.table_log import without_replaced
from dataloader_expert.sources.text_tables import guessed_as_texts, have_documents, told_as_tables
from dataloader_expert.sources.unread_formats import unread_format

GROUP = "dataloader_expert.sources"
TWINS = {*TEXT_FORMATS, SUFFIXES[".ts"]}
"""Formats that archives keep beside the same data in plain text. Others, such as MATLAB's, may hold what texts only describe."""
OF_ROWS = {"spreadsheet", "statistics package", "database", "ARFF", "LIBSVM", "ORC", "Avro"}
"""Kinds of tables that are not read, and that other programs export."""
DOCUMENTS = ("notebook", "spreadsheet")
"""Kinds that are not read, and may be about the data however large they are."""
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
        except RequestError as e:
            other = of_other_kinds(listing, ref, kinds) if e.code == "format-unknown" else None
            if other is not None:
                raise RequestError("format-unknown", other) from None
            if not isinstance(e, NothingReadable):
                raise
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
        foreign = foreign_files(listing, kinds, beside, company, in_shards, counts)
        unread = {problem.where.get("file") for problem in foreign}
        read = {e.path.rpartition(".")[0] for e in data if source.in_shards}  # others called so are noted as such
        others = [e for e in listing.entries if e.path in unread and e.kind not in kinds]
        others = [e for e in others if e.path.rpartition(".")[0] not in read and not is_form(e.path)]
        unknowns += left_out(others, kinds, {kind for reader in known.values() for kind in reader.kinds})
        source.problems = [
            *(p for p in listing.problems if p.where.get("file") not in getattr(source, "may_be_empty", ())),
            *foreign,
            *collisions(listing),
            *odd_names(listing),
            *source.problems,
        ]
        unknowns += in_no_split(source)
        with_class_names(source, listing, ref.label or source.label)
    source = with_asked(source, ref.split, ref.train)
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


def of_other_kinds(listing: Listing, ref: SourceRef, kinds: frozenset[str]) -> str | None:
    """What to say of files of which none is of the format asked for, and which are known to be of other ones; None of others."""
    there = Counter(e.kind for e in listing.entries if e.kind is not None)
    if ref.format is None or listing.problems or not there or there.keys() & kinds:
        return None
    listed = ", ".join(f"{n} {_files(k, n)}" for k, n in there.most_common())
    return f"{escaped(ref.name)} contains no {ref.format} data, but {listed}; leave format out, or name other data"


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
        raise NothingReadable(
            f"{escaped(ref.name)} contains no data file ({listed}); name the folder or file that holds the samples",
            listing.problems,
        )
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
    suffixes = sorted({called_suffix(e.path) for e in unread if e.kind == kind} - {""})[:3]
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
    counts = Counter(kind if SUFFIXES.get(called_suffix(e.path)) == kind else e.kind for e in data)
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
