"""Texts of a line each: corpora for language models, parallel texts (a file for each language), and tagged sentences (CoNLL).

Files are read so if each of several is a whole split: a split of one document is no data set. ``format="text"`` reads a file as
one sample, ``format="lines"`` each line, wherever they lie.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.errors import Aside, RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import Unequal
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.class_names import LISTS as OF_NAMES
from dataloader_expert.sources.files import Entry, Listing, is_beside
from dataloader_expert.sources.heading_lines import past_heading
from dataloader_expert.sources.layout import read_folders, split_in_name, without_split
from dataloader_expert.sources.lines import (
    MAX_LINE,
    RANGE_BYTES,
    byte_order_mark,
    record_ranges,
    utf8,
    without_nul,
)
from dataloader_expert.sources.magic import LANGUAGE
from dataloader_expert.sources.parallel_texts import parallel_files
from dataloader_expert.sources.roles import words
from dataloader_expert.sources.table_fields import phrase_length
from dataloader_expert.sources.tables import Table
from dataloader_expert.sources.tagged_lines import (
    ALIKE,
    FEW_TAGS,
    HEAD,
    columns_called,
    is_tabbed,
    sentences,
    tagged_columns,
)

LISTS = {"vocab", "vocabulary", "dict", "dictionary", "lexicon", "codes", "bpe"}
"""Words of names of files that list words."""
_SENTENCE_END = re.compile(rb"\n[ \t\x0b\x0c\r]*\n")
MOST_NUL = 0.2
"""The share of NUL bytes beyond which a text is in another encoding, such as UTF-16."""
ENDINGS = {"testa": "dev", "testb": "test"}
"""What the endings of the files of CoNLL-2003 say of their splits; elsewhere ``testA`` is a test split."""
LABELLED = re.compile(r"(?:__label__\S+[ \t]+)+|[A-Z]{2,12}:[A-Za-z]+ ")
"""How lines begin that have their labels before the text: as fastText has it, or the TREC questions."""
MARK = "__label__"
_NUMBERS = re.compile(r"\s*-?\d{1,18}(?:\s+-?\d{1,18})*\s*", re.ASCII)
LOOKED_AT = 4
"""Runs of lines that tell which of them recur."""
Span = tuple[str, int, int]
"""A file, and the first byte and the end of the lines."""


class Lines(Table):
    format = "lines"
    kinds = frozenset({"text"})
    instead_of = "text"
    in_shards = True
    modality = "text"
    listing: Listing

    def __init__(self) -> None:
        super().__init__()
        self.names: tuple[str, ...] = ("text",)
        """The fields: one, one for each language, or the columns of tagged tokens."""
        self.tagged = self.tabbed = False
        """Whether lines are tagged tokens, and whether tabs separate their columns."""
        self.aligned: frozenset[str] = frozenset()
        """The files of other languages than the first, whose lines belong to its."""
        self.labels = 0
        """The most labels that lines have before their text; 0: they are text alone."""
        self.by_role = False
        """Whether the lines of files that are called alike in every split are fields."""
        self.numbers: frozenset[str] = frozenset()
        """The fields whose lines hold whole numbers, such as one for each turn of a dialogue."""

    @classmethod
    def fits(cls, listing: Listing) -> bool:
        """Whether each of several files is a whole split of one text, or in one of several languages, and has several lines; or the
        only file holds tagged tokens; or every line of each begins with its labels."""
        entries, _, languages = texts_of(listing)
        if not languages and labels_in(listing, entries):
            return True
        if entries and not languages and tagged_columns(listing, entries) is not None:
            return True  # tagged tokens are no document, whatever the files are called
        if not languages and parallel_files(listing, entries) is not None:
            return True
        if len(entries) < 2:
            return False
        if not languages:
            named = [_split_of(entry) for entry in entries]
            texts = {without_split(entry.path.rsplit("/", 1)[-1].rpartition(".")[0]) for entry in entries}
            if None in named or len({*named}) < len(named) or len(texts) > 1:
                return False
        return all(len(listing.head(e.path, HEAD).strip().splitlines()) > 1 for e in entries)

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        source.listing = listing
        entries, notes, languages = texts_of(listing)
        parallel = None
        if not languages and tagged_columns(listing, entries) is None and not labels_in(listing, entries):
            parallel = parallel_files(listing, entries)
        if parallel is not None:
            held = {entry.path for of in parallel.groups for entry in of}
            notes = [*notes, *(e for e in entries if e.path not in held)]
            entries = [e for e in entries if e.path in held]
        text = "lies next to the files of the splits or languages: not read"
        source.problems += [
            Unreadable("foreign-file", text, file=e.path)
            if languages and _language_of(e) is not None  # its partner is lost
            else Aside("note", text, file=e.path)
            for e in notes
        ]
        groups = grouped(entries, languages) if parallel is None else parallel.groups
        languages, source.by_role = (languages, False) if parallel is None else (parallel.names, True)
        if parallel is not None:
            heads = zip(parallel.names, (listing.head(e.path, HEAD) for e in groups[0]), strict=True)
            source.numbers = frozenset(name for name, head in heads if _are_numbers(head))
        columns = None if languages else tagged_columns(listing, entries)
        source.tagged = columns is not None
        source.tabbed = is_tabbed(listing.head(entries[0].path, HEAD).decode("latin-1")) if entries else False
        source.names = languages or columns_called(columns, source._numbered(entries))
        source.labels = 0 if languages else labels_in(listing, entries)
        source.names = ("label" if source.labels == 1 else "labels", "text") if source.labels else source.names
        plain = not (languages or source.tagged or source.labels)
        if plain and all(_are_numbers(listing.head(of[0].path, HEAD)) for of in groups):
            source.names, source.numbers = ("numbers",), frozenset({"numbers"})
        begins = past_heading(listing, [of[0] for of in groups]) if plain else {}
        folders, _, _ = read_folders([of[0].path for of in groups])
        units: list[Unit] = []
        start = 0
        for of, folder in zip(groups, folders, strict=True):
            split = _split_of(of[0]) or folder
            try:
                if languages:
                    ranges = list(source._aligned(of))
                elif source.tagged:
                    ranges = list(_sentence_ranges(listing, of[0].path, source.tabbed))
                else:
                    path = of[0].path
                    begin = begins.get(path, byte_order_mark(listing, path))
                    ranges = [(((path, lo, hi),), n) for lo, hi, n in record_ranges(listing, path, False, begin)]
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            for spans, n in ranges:
                size = sum(hi - lo for _, lo, hi in spans)
                units.append(Unit(len(units), of[0].path, start, n, size, split, None, spans))
                start += n
        if not units:
            for first in source.problems[len(notes) :]:
                raise first
            raise RequestError("format-unknown", "no lines of text; give a text file with a sample in each line")
        source.units = tuple(units)
        source.aligned = frozenset(entry.path for of in groups for entry in of[1:])
        source.fields = tuple(Field(n, "other" if source.tagged else "text", "str") for n in source.names)
        source.describe()
        if plain and not source.by_role:
            if not source.numbers:
                source.fields = tuple(Field(field.name, "text", "str") for field in source.fields)
            source.label, source.label_how = None, f"lines of {'numbers' if source.numbers else 'text'} have no label"
        some: list[str] = []
        for unit in () if plain and source.numbers else source.units[:LOOKED_AT]:
            with contextlib.suppress(Unreadable):  # the scan reports it
                found = source.peek(unit).columns[source.names[-1 if source.labels else 0]].values
                some += [" ".join(tokens) for tokens in found] if source.tagged else found
        source.phrase = phrase_length([(text,) for text in some])
        source.modality = "sequence" if plain and source.numbers else "text"
        what = (
            "one sentence"
            if source.tagged
            else f"one line of each {'file' if source.by_role else 'language'}"
            if languages
            else "one text"
        )
        source.sharding = f"{len(entries)} file{'s' * (len(entries) != 1)}, {what} per " + (
            "block of lines" if source.tagged else "line"
        )
        if any(start > byte_order_mark(listing, path) for path, start in begins.items()):
            source.sharding += "; the first line of each, which all share, is a heading and no sample"
        return source

    def _numbered(self, entries: Sequence[Entry]) -> bool:
        """Whether the first column of tagged tokens numbers those of each sentence."""
        head = self.listing.head(entries[0].path, HEAD).decode("utf-8", "replace") if self.tagged else ""
        whole = sentences(head, self.tabbed)[:-1]
        return bool(whole) and all(row[0] == str(i) for one in whole for i, row in enumerate(one, 1))

    def _aligned(self, of: Sequence[Entry]) -> Iterator[tuple[tuple[Span, ...], int]]:
        """Runs of lines, and where they stand in each file; lines beyond the shortest file are told and not read."""
        counts: list[int] = []
        cuts = [list(_cuts(self.listing, of[0].path))]
        for _, n in cuts[0]:
            counts.append((counts[-1] if counts else 0) + n)
        totals = [counts[-1] if counts else 0]
        for entry in of[1:]:
            ends, total = _ends_of(self.listing, entry.path, counts)
            cuts.append(ends)
            totals.append(total)
        if len({n - _blank_at_end(self.listing, e.path) for e, n in zip(of, totals, strict=True)}) > 1:
            each = ", ".join(f"{e.path.rpartition('/')[2]} {n:,}" for e, n in zip(of, totals, strict=True))
            text = f"the files of a parallel text differ in their number of lines: {each}; all lines after a lost one are misaligned"
            self.problems.append(Unequal(text, min(totals), file=of[totals.index(min(totals))].path))
        starts = [byte_order_mark(self.listing, entry.path) for entry in of]
        done = 0
        for i, upto in enumerate(counts):
            n = min(upto, min(totals)) - done
            if n <= 0:
                return
            ends_here = [cut[i][0] for cut in cuts]
            yield tuple((e.path, lo, hi) for e, lo, hi in zip(of, starts, ends_here, strict=True)), n
            starts, done = ends_here, done + n

    def read(self, unit: Unit) -> list[bytes]:
        return [self.listing.span(*span) for span in unit.at]

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        if self.tagged:
            return self._sentences(unit, utf8(raw[0], unit.file, problems), problems)
        columns: dict[str, Column] = {}
        if self.labels:
            return Block(unit, self._labelled(self._lines(raw[0], unit.file, unit, problems)), (), problems)
        for name, data, (file, *_) in zip(self.names, raw, unit.at, strict=True):
            lines = self._lines(data, file, unit, problems)
            columns[name] = Column(_numbers(lines, unit, file, problems) if name in self.numbers else lines)
        return Block(unit, columns, (), problems)

    def _lines(self, data: bytes, file: str, unit: Unit, problems: list[Unreadable]) -> list[str]:
        """The unit's lines in one file; blank ones belong to a text in several languages alone."""
        lines = data.split(b"\n")
        if len(self.names) == 1 or self.labels:
            lines = [line for line in lines if line.strip()]
        whole = b"\n".join(lines)
        if whole.count(0) > MOST_NUL * len(whole):
            raise Unreadable("not-the-format", "contains NUL bytes, so it is not UTF-8", file=file)
        whole = without_nul(whole, file, problems, unit.start)
        texts = utf8(whole, file, problems, unit.start).decode("utf-8").split("\n")
        return [text.removesuffix("\r") for text in texts[: unit.samples]]

    def _labelled(self, lines: list[str]) -> dict[str, Column]:
        """The labels before the text of each line, None for a line without; a list of them where some lines have several."""
        begin = [found.group() if (found := LABELLED.match(line)) else "" for line in lines]
        labels = [[label.removeprefix(MARK) for label in said.split()] for said in begin]
        texts = [line[len(said) :] for line, said in zip(lines, begin, strict=True)]
        one: list[Any] = [of[0] if of else None for of in labels]
        return {self.names[0]: Column(one if self.labels == 1 else labels), "text": Column(texts)}

    def _sentences(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> Block:
        import numpy as np

        kept: list[int] = []
        found: list[list[list[str]]] = []
        for i, sentence in enumerate(sentences(data.decode("utf-8"), self.tabbed)):
            odd = next((row for row in sentence if len(row) != len(self.names)), None)
            if odd is not None:
                text = f"a line of {len(odd)} columns, and others have {len(self.names)}: {' '.join(odd)[:60]!a}"
                problems.append(Unreadable("parse-error", text, file=unit.file, sample=unit.start + i))
                continue
            kept.append(i)
            found.append(sentence)
        columns = {n: Column([[row[k] for row in one] for one in found]) for k, n in enumerate(self.names)}
        rows = np.array(kept, np.int64) if len(kept) < unit.samples else None
        return Block(unit, columns, (), problems, rows=rows)


def _are_numbers(head: bytes) -> bool:
    """Whether all lines hold whole numbers, and some of them several."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[:-1] if line.strip()]
    return bool(lines) and all(map(_NUMBERS.fullmatch, lines)) and any(" " in line.strip() for line in lines)


def _numbers(lines: list[str], unit: Unit, file: str, problems: list[Unreadable]) -> list[Any]:
    """The numbers in each line, int64; None for a line of something else, which is told."""
    import numpy as np

    found: list[Any] = []
    for i, line in enumerate(lines):
        told = _NUMBERS.fullmatch(line) is not None or not line.strip()
        found.append(np.array([int(word) for word in line.split()], np.int64) if told else None)
        if not told:
            text = f"a line that does not hold whole numbers as the others do: {line[:60]!a}"
            problems.append(Unreadable("parse-error", text, file=file, sample=unit.start + i))
    return found


def texts_of(listing: Listing) -> tuple[list[Entry], list[Entry], tuple[str, ...]]:
    """The text files that hold something, the others beside them, and the languages of parallel texts.

    Others are notes, such as vocabularies, beside files of splits, and files without a partner beside parallel texts.
    """
    there = [e for e in listing.of(Lines.kinds) if (e.size and not is_beside(e.path)) or listing.single]
    found: dict[str, dict[str, Entry]] = {}
    for entry in there:
        if (match := _language_of(entry)) is not None:
            found.setdefault(entry.path[: match.start()], {})[match[1]] = entry
    together = Counter(tuple(sorted(of)) for of in found.values() if len(of) > 1)
    languages = together.most_common(1)[0][0] if together else ()
    told = [e for of in found.values() if tuple(sorted(of)) == languages for e in of.values()] if languages else []
    if languages and 2 * len(told) > len(there):
        paths = {entry.path for entry in told}
        return [e for e in there if e.path in paths], [e for e in there if e.path not in paths], languages
    named = [e for e in there if _split_of(e) is not None]
    notes = [e for e in there if _split_of(e) is None]
    others = [e for e in notes if not {*words(e.path.rpartition("/")[2])} & OF_NAMES]
    return (named, notes, ()) if len(named) > max(1, len(others)) else (there, [], ())


def _language_of(entry: Entry) -> re.Match[str] | None:
    """The ending of its name that says a language, unless it is a list of words."""
    return None if set(words(entry.path.rsplit("/", 1)[-1])) & LISTS else LANGUAGE.search(entry.path)


def labels_in(listing: Listing, entries: Sequence[Entry]) -> int:
    """The most labels before the text of the first lines, if nearly all of each file begin with theirs; else 0."""
    most = 0
    for entry in entries:
        lines = [
            line for line in listing.head(entry.path, HEAD).decode("utf-8", "replace").splitlines() if line.strip()
        ]
        found = [match for line in lines if (match := LABELLED.match(line))]
        if (
            len(lines) < 2
            or len(found) < ALIKE * len(lines)
            or len({m.group() for m in found}) > FEW_TAGS * len(lines) + 1
        ):
            return 0
        most = max(most, *(len(match.group().split()) for match in found))
    return most


def _split_of(entry: Entry) -> str | None:
    ending = ENDINGS.get(entry.path.rpartition(".")[2])
    return (
        ending or split_in_name(entry.path.rsplit("/", 1)[-1]) or split_in_name(entry.path.rsplit("/", 1)[-1] + ".txt")
    )


def grouped(entries: Sequence[Entry], languages: tuple[str, ...]) -> list[list[Entry]]:
    """The files of one text in their languages; each alone, if there are none."""
    if not languages:
        return [[entry] for entry in entries]
    found: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        stem, _, language = entry.path.rpartition(".")
        found.setdefault(stem, {})[language] = entry
    return [[of[name] for name in languages] for of in found.values()]


def _sentence_ranges(listing: Listing, path: str, tabbed: bool) -> Iterator[tuple[tuple[Span, ...], int]]:
    """Ranges of about 4 MiB that end at blank lines, with the number of sentences in each."""
    at = byte_order_mark(listing, path)
    with listing.open(path) as file:
        while at < file.size:
            length = RANGE_BYTES
            while True:
                data = file.upto(at, length)
                end = max((m.end() for m in _SENTENCE_END.finditer(data)), default=0)
                if at + len(data) >= file.size or end:
                    break
                length *= 2
                if length > MAX_LINE:
                    raise Unreadable("bomb", f"a sentence of over {MAX_LINE >> 20} MiB", file=path)
            data = data if at + len(data) >= file.size else data[:end]
            if not data:
                break
            n = _sentences_in(data, tabbed)
            if n:
                yield ((path, at, at + len(data)),), n
            at += len(data)


def _sentences_in(data: bytes, tabbed: bool) -> int:
    """How many ``sentences`` there are; only what begins like a comment is parsed for it."""
    blocks = (block.strip() for block in _SENTENCE_END.split(data))
    return sum(block[:1] not in b"#-" or bool(sentences(block.decode("latin-1"), tabbed)) for block in blocks if block)


def _line_ends(listing: Listing, path: str) -> Iterator[Any]:
    """The offsets behind each line, int64, chunk by chunk; the last line may have no newline."""
    import numpy as np

    at = byte_order_mark(listing, path)
    with listing.open(path) as file:
        last, start = b"\n", at
        while at < file.size:
            data = file.upto(at, RANGE_BYTES)
            if not data:
                return
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10) + (at + 1)
            yield ends
            at, last, start = at + len(data), data[-1:], int(ends[-1]) if len(ends) else start
            if at - start > MAX_LINE:
                raise Unreadable("bomb", f"a line of over {MAX_LINE >> 20} MiB", file=path)
        if last != b"\n":
            yield np.array([file.size], np.int64)


def _cuts(listing: Listing, path: str) -> Iterator[tuple[int, int]]:
    """The ends of runs of about 4 MiB of lines, and how many lines each has."""
    for ends in _line_ends(listing, path):
        if len(ends):
            yield int(ends[-1]), len(ends)


def _blank_at_end(listing: Listing, path: str) -> int:
    """How many blank lines a file ends with, of those in its last part."""
    with listing.open(path) as file:
        lo = max(0, file.size - HEAD)
        tail = file.upto(lo, file.size - lo)
    return max(0, tail[len(tail.rstrip()) :].count(b"\n") - 1)


def _ends_of(listing: Listing, path: str, counts: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Where these many lines end, or the file if it has fewer; and how many it has."""
    found: list[tuple[int, int]] = []
    seen = end = 0
    for ends in _line_ends(listing, path):
        while len(found) < len(counts) and counts[len(found)] <= seen + len(ends):
            n = counts[len(found)]
            found.append((int(ends[n - seen - 1]), n))
        seen += len(ends)
        end = int(ends[-1]) if len(ends) else end
    found += [(end, seen)] * (len(counts) - len(found))
    return found, seen


SOURCE = Lines
