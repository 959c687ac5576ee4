"""Tables in text files beside documents that say something of each, such as the outcome of every patient whose record is a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.annotations.naming import naming_of
from dataloader_expert.sources.annotations.record import LOOKED_AT, Names, folder_of
from dataloader_expert.sources.annotations.rows import HEAD, MARKS
from dataloader_expert.sources.dialects import sniff_dialect
from dataloader_expert.sources.files import Entry, Listing, is_project
from dataloader_expert.sources.magic import SUFFIXES
from dataloader_expert.sources.plain import NULLS

FEWEST = 8
"""The fewest documents of which a table may say something."""
MOST_IN_FOLDER = 20
"""In a folder of more texts, each is a document."""
KINDS = {",": "csv", ";": "csv", "|": "csv", "\t": "tsv"}


def have_documents(data: Iterable[Entry]) -> bool:
    """Whether so many texts are there that each may be a document, of which a table says something."""
    return sum(entry.kind == "text" and not is_project(entry.path) for entry in data) >= FEWEST


def told_as_tables(listing: Listing) -> None:
    """Calls the texts tables that have a header and name other texts in each row."""
    texts = [entry for entry in listing.entries if entry.kind == "text"]
    homes = Counter(folder_of(entry.path) for entry in texts)
    able = [entry for entry in texts if homes[folder_of(entry.path)] <= MOST_IN_FOLDER]
    if len(texts) - len(able) < FEWEST:
        return
    documents = Names(entry.path for entry in texts if entry not in able)
    found = {entry.path: kind for entry in able if (kind := _kind(listing, entry, documents)) is not None}
    listing.entries[:] = [replace(e, kind=found.get(e.path, e.kind)) for e in listing.entries]


def guessed_as_texts(data: Iterable[Entry]) -> list[Entry]:
    """The files, with tables of which no suffix says that they are such as texts, where there are texts: ``u.data`` beside ``u.user``, and
    tagged tokens. One reader tells all of them apart then."""
    data = list(data)
    if not any(entry.kind == "text" for entry in data):
        return data
    return [replace(entry, kind="text") if _is_guessed(entry) else entry for entry in data]


def _is_guessed(entry: Entry) -> bool:
    return entry.kind in ("csv", "tsv") and SUFFIXES.get("." + entry.path.rpartition(".")[2].lower()) is None


def _kind(listing: Listing, entry: Entry, documents: Names) -> str | None:
    """What a table is called that names the documents; None of another text."""
    try:
        head = listing.head(entry.path, HEAD)
        dialect = sniff_dialect(head, MARKS, len(head) == entry.size)
    except Unreadable:
        return None
    if not dialect.header or len(dialect.names) < 2:
        return None
    lines = head[dialect.skip :].decode("utf-8", "replace").splitlines()[:LOOKED_AT]
    mark = f"{dialect.delimiter} " if dialect.spaced else dialect.delimiter
    cells = [line.split(mark) for line in lines if line.strip()]
    rows = [{n: None if c in NULLS else c for n, c in zip(dialect.names, row, strict=False)} for row in cells]
    named = naming_of(rows, documents, folder_of(entry.path)) if rows else None
    return None if named is None else KINDS[dialect.delimiter]
