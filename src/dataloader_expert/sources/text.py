"""Text files: one document a file, ``[split/][class/]name.txt``, or an array of numbers."""

from __future__ import annotations

from collections import Counter

from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import array_field
from dataloader_expert.sources.base import Block, Field, Source, Unit
from dataloader_expert.sources.decoded_text import decode_text
from dataloader_expert.sources.files import Entry, Listing, is_project
from dataloader_expert.sources.layout import in_aside, read_folders
from dataloader_expert.sources.number_rows import NUMBERS, rows_of, width_of
from dataloader_expert.sources.samples import FileSamples, spread

HEAD, LOOKED_AT = 4096, 8
"""Bytes of so many files that show whether they hold numbers alone."""
FEWEST, WIDE, ALIKE = 3, 20, 0.95
"""The fewest lines, their least length, and the share of one length, of records of fixed width."""
DEEPER = 2
"""In so many folders are all others where one text that is in none is about them."""
FEW = 10
"""Of so many texts, one may be of a project; more of them are what is read, such as programs."""


class TextFiles(FileSamples):
    format = "text"
    kinds = frozenset({"text"})
    value = "text"
    modality = "text"
    width = 0
    """How many numbers each row of a file has, if all hold nothing else."""

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, _without_projects(listing.of(cls.kinds)))
        if source.samples == 1:
            source.sharding += '; format="lines" reads a sample per line'
        source.fields = (Field("text", "text", "str"), *source.other_fields())
        aside = {p.where.get("file") for p in source.problems if isinstance(p, Aside)}
        source.problems = [p for p in source.problems if isinstance(p, Aside) or p.where.get("file") not in aside]
        some = [listing.head(unit.file, HEAD) for unit in spread(source.units, LOOKED_AT)]
        if source.samples > 1 and "values" not in source.given and (width := width_of(some, HEAD)):
            source.width, source.value, source.modality = width, "values", "array"
            source.fields = (array_field("values", "float64", (None, width)), *source.other_fields())
        elif some and all(map(NUMBERS.fullmatch, some)):
            source.unread["numbers"] = "each file holds rows of numbers, such as points, which are read as text"
        elif some and 2 * sum(map(_of_fixed_width, some)) > len(some):
            source.unread["records"] = (
                "most files hold lines of one length, as records of fixed width are, which are read as text"
            )
        return source

    def own(self, entries: list[Entry]) -> list[Entry]:
        documents = _without_projects(entries)
        text = "is code, settings or documentation next to the documents: not read as a sample"
        self.problems += [Aside("note", text, file=e.path) for e in entries if e not in documents]
        kept = _without_notes(documents)
        text = "lies next to the folders of the samples: not read as a sample"
        held = {entry.path for entry in kept}
        self.problems += [Aside("note", text, file=e.path) for e in documents if e.path not in held]
        return kept

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        if self.width:
            return Block(unit, self.with_label(unit, rows_of(raw, unit.file, self.width)), (raw,))
        problems: list[Unreadable] = []
        text = decode_text(raw, unit.file, problems)
        return Block(unit, self.with_label(unit, text), (raw,), problems)


def _of_fixed_width(head: bytes) -> bool:
    """Whether nearly all lines are of one length, and hold numbers: wrapped prose has lines of many lengths."""
    lines = [line for line in head.splitlines()[:-1] if line.strip()]
    if len(lines) < FEWEST:
        return False
    [(length, n)] = Counter(map(len, lines)).most_common(1)
    digits = sum(48 <= byte <= 57 for line in lines for byte in line)
    return length >= WIDE and n >= ALIKE * len(lines) and 5 * digits >= sum(map(len, lines))


def _without_projects(entries: list[Entry]) -> list[Entry]:
    """Without the few that are code, settings or documentation."""
    documents = [entry for entry in entries if not is_project(entry.path)]
    return documents if FEW * (len(entries) - len(documents)) <= len(entries) else entries


def _without_notes(entries: list[Entry]) -> list[Entry]:
    """Without the few texts that stand beside the folders of classes, such as lists of where the others come from, or the one above
    all folders of the others. A split without such folders keeps its own: it is not labelled."""
    splits, labels, names = read_folders([entry.path for entry in entries])
    labelled = {split for split, label in zip(splits, labels, strict=True) if label is not None}
    own = [
        entry
        for entry, split, label in zip(entries, splits, labels, strict=True)
        if label is not None or in_aside(entry.path) or (split is not None and split not in labelled)
    ]
    if names and 10 * len(own) >= 9 * len(entries):
        return own
    deep = [entry for entry in entries if entry.path.count("/") >= DEEPER]
    alone = len(deep) == len(entries) - 1 >= FEW and not any("/" in e.path for e in entries if e not in deep)
    return deep if alone else entries


SOURCE = TextFiles
