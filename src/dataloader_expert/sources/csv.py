"""CSV: delimiter, header and quoting are detected and reported; a unit is a run of records."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Aside, NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.answer_files import Answered, placed
from dataloader_expert.sources.arrow_columns import absent_columns, columns_of, extra_columns
from dataloader_expert.sources.bare_columns import gap
from dataloader_expert.sources.base import PLACED, Block, Column, Field, Roles, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.dialects import Dialect, called_as, filled, sniff_dialect, with_optional
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.label_columns import are_lists, numbers_listed
from dataloader_expert.sources.layout import (
    BY_FOLDER,
    BY_NAME,
    PART_WORDS,
    is_form,
    label_by_name,
    read_folders,
    splits_of_files,
    splits_of_suffixes,
    tokens,
)
from dataloader_expert.sources.leading_zeros import LostZeros, lost_zeros
from dataloader_expert.sources.lines import (
    MOST_ODD,
    BlankEnd,
    Range,
    record_ranges,
    utf8,
    without_blank_end,
    without_closing_remark,
    without_nul,
)
from dataloader_expert.sources.null_texts import with_null_texts, with_numbers_of
from dataloader_expert.sources.other_tables import (
    QRELS,
    RELEVANCE,
    aside,
    folds_aside,
    stem_of,
    without_folds,
    without_other_stems,
)
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.quoting import without_spaces
from dataloader_expert.sources.roles import WHOLE, group_of_files, words
from dataloader_expert.sources.sample_table import (
    columns_of_samples,
    in_other_steps,
    key_of_several,
    lists_of_rows,
    small,
)
from dataloader_expert.sources.table_label import BARE
from dataloader_expert.sources.targets import SEVERAL, plain_values

SAMPLE = 256 << 10
SERIES = 8
"""The most files that are looked at to tell whether each is a series."""
SENTENCE = 4
"""Words of a text from which on it is hardly the name of a column."""
LOOKED_AT = 4
"""Runs of records that tell whether a column lists labels."""
_STEP = re.compile(r"\d+$")
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class _Part:
    """A file, its split, and the ranges of its records."""

    path: str
    split: str | None
    dialect: Dialect
    ranges: list[Range]

    @property
    def names(self) -> Sequence[str]:
        return self.dialect.names

    @property
    def records(self) -> int:
        return sum(records for _, _, records in self.ranges)

    @property
    def named(self) -> bool:
        return self.dialect.header

    @property
    def written(self) -> tuple[Any, ...]:
        """How the file is written, as far as a plain reader must know it."""
        of = self.dialect
        return of.delimiter, of.remarks, of.header, of.short, bool(of.repeated), of.decimal

    def unlike(self, names: set[str]) -> bool:
        """Whether at most half of its and the table's columns are in both; the split of a table is part of it in any case.

        A form to fill in has the key and the label of another file.
        """
        if self.split is not None:
            return False
        mine = set(self.dialect.names)
        return self.form or 2 * len(mine & names) <= len(mine | names)

    @property
    def form(self) -> bool:
        return is_form(self.path)

    @property
    def stem(self) -> tuple[str, ...]:
        return stem_of(self.path)


KEYS = {"id", "index", "idx"}
"""Words of columns that number the rows of an unlabelled split."""


class Csv(Answered[_Part]):
    format = "csv"
    kinds = frozenset({"csv"})
    in_shards = True
    delimiters: ClassVar[str] = ",;\t|"
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        source.listing = listing
        entries = source.tables()
        source.dialects, source.types = {}, None
        splits = splits_of_files([e.path for e in entries])
        ending = splits_of_suffixes([e.path for e in entries])
        parts: list[_Part] = []
        known: dict[str, Dialect] = {}
        for entry in entries:
            try:
                known |= {entry.path: source._dialect(entry)} if entry.size else {}  # already reported as empty
            except Unreadable as problem:
                source.problems.append(problem)
        source._agree(entries, known)
        known |= {path: called_as(of, QRELS) for path, of in known.items() if _is_qrels(path, of)}
        for entry, split in zip(entries, splits, strict=True):
            if entry.path not in known:
                continue
            try:
                dialect = known[entry.path]
                ranges = record_ranges(listing, entry.path, dialect.quoted, dialect.skip)
                ranges, blank = without_blank_end(listing, entry.path, ranges, dialect.delimiter)
                if blank:
                    text = f"ends in {number(blank, 'empty row')}: not read as samples"
                    source.problems.append(BlankEnd(text, file=entry.path))
                if dialect.remarks:
                    ranges = without_closing_remark(listing, entry.path, ranges, dialect.delimiter)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            parts.append(_Part(entry.path, split or ending.get(entry.path), dialect, ranges))
        parts = source._one_table(source.without_answers(source._aligned(parts)))
        source.class_of = _classes_of(parts)
        units: list[Unit] = []
        start = 0
        for part in parts:
            source.dialects[part.path] = part.dialect
            source.first[part.path] = start
            for lo, hi, records in part.ranges:
                units.append(Unit(len(units), part.path, start, records, hi - lo, part.split, None, (lo, hi)))
                start += records
        if not units:
            raise NothingReadable(f"no {cls.format} file has records; give a file with data", source.problems)
        source.units = tuple(units)
        first = source.dialects[units[0].file]
        source.steps = source.unequal = _steps(parts)
        source.optional = frozenset(n for p in parts for n in p.names[len(p.names) - p.dialect.optional :])
        source._check_forms(parts)
        source._check_zeros(parts)
        source.join()
        source.withhold_answers()
        source.describe()
        if source.class_of:
            source.label_how = BY_FOLDER
            source.roles = _by_files(source.roles or Roles(), list(source.class_of))
        elif source._are_series(parts):
            source.roles = _by_files(source.roles or Roles(), [part.path for part in parts])
        source._check_headers(parts)
        source.classes = source.fitting(declared_classes(listing))
        n = len(source.dialects)
        source.sharding = (
            f"{n} file{'s' * (n != 1)}, delimiter {first.delimiter!r}, "
            f"{'with' if first.header else 'without'} a header{' and a line of units' if first.units else ''}, "
            f"quoting {'on' if first.quoted else 'off'}"
        )
        if source.aligned:
            source.sharding += f"; columns of these rows in {number(len(source.aligned), 'more file')}"
        return source

    def tables(self) -> list[Entry]:
        """The files that are tables."""
        tables, folds = without_folds(self.listing.of(self.kinds))
        self.problems += folds_aside(folds)
        return tables

    def _aligned(self, parts: list[_Part]) -> list[_Part]:
        """The files, with the names of the columns that they have where none has a header and those of a split have fewer than those for
        training. Where nothing tells which these are, the split is not read."""
        if any(part.named or part.dialect.optional for part in parts):
            return parts
        widths: dict[str | None, set[int]] = {}
        for part in parts:
            widths.setdefault(part.split, set()).add(len(part.names))
        if len(widths.get("train", ())) != 1:
            return parts
        whole = next(part for part in parts if part.split == "train")
        full = [plain_values(column) for column in self.columns_in(whole, False).values()]
        for split, found in widths.items():
            n = len(full) - max(found)
            own = [part for part in parts if part.split == split]
            if split in (None, "train") or len(found) != 1 or not 0 < n <= len(full) // 2:
                continue
            try:
                at = gap(full, [plain_values(column) for column in self.columns_in(own[0], False).values()])
            except Unreadable:
                continue  # the scan reports it
            if at is None:
                text = (
                    f"has {number(n, 'column')} fewer than {whole.path}, and the values do not tell which: not read; "
                    "give both files a header"
                )
                self.problems += [Aside("table", text, file=part.path) for part in own]
                parts = [part for part in parts if part not in own]
                continue
            names = (*whole.names[:at], *whole.names[at + n :])
            parts = [replace(p, dialect=called_as(p.dialect, names)) if p in own else p for p in parts]
        return parts

    def _are_series(self, parts: Sequence[_Part]) -> bool:
        """Whether each file is a series of its own, as of one share: no time comes twice in it, and most come in the first one too."""
        roles = self.roles or Roles()
        called = {token for part in parts for token in tokens(part.path.rpartition("/")[2])}
        if len(parts) < 2 or roles.time is None or roles.group is not None or called & PART_WORDS or self.splits:
            return False
        first = {unit.file: unit for unit in reversed(self.units)}
        known: list[set[Any]] = []
        for part in parts[:SERIES]:
            try:
                column = self.peek(first[part.path]).columns.get(roles.time.field)
            except Unreadable:
                return False
            values = [] if column is None else plain_values(column)
            if not values or len({*values}) < len(values):
                return False
            known.append({*values})
        return all(2 * len(of & known[0]) > min(len(of), len(known[0])) for of in known[1:])

    def columns_in(self, part: _Part, whole: bool) -> dict[str, Column]:
        ranges = part.ranges if whole else part.ranges[:1]
        lo, hi, records = ranges[0][0], ranges[-1][1], sum(n for _, _, n in ranges)
        reader = type(self)()
        reader.listing, reader.dialects, reader.types = self.listing, {part.path: part.dialect}, None
        reader.first = {part.path: 0}
        unit = Unit(0, part.path, 0, records, hi - lo, None, None, (lo, hi))
        block = reader._decoded(unit, reader.read(unit))
        self.problems += block.problems if whole else []
        return placed(block.columns, block.rows, records)

    def join(self) -> None:
        """A format whose other files hold columns of these rows takes them over."""

    dialects: dict[str, Dialect]
    names: tuple[str, ...]
    """The columns of the table: those of most rows, of the training split if there is one."""
    told: frozenset[tuple[str, str]] = frozenset()
    """Files and those of their columns whose values are known to be unlike those of the other files."""
    listed: str | None = None
    """The label whose cells list numbers of classes."""
    class_of: Mapping[str, str] = {}
    """The class of the rows of each file, where folders name it."""
    texts: frozenset[str] = frozenset()
    """Columns that are read as text, for files write their dates in several ways."""
    elsewhere = ""
    """Which other table has the label of these rows."""
    only: list[str] | None = None
    """The columns to convert; None: all."""
    steps: frozenset[str] = frozenset()
    """Columns of series of unequal length: a file without some of them has no value there."""

    def read_only(self, names: Sequence[str]) -> None:
        known = dict.fromkeys(n for d in self.dialects.values() for n in d.names)
        self.only, self.types, self.asked = [n for n in known if n in {*names, *self.matched}], None, frozenset(names)

    def describe(self) -> None:
        """The label too where it has several numbers of classes in a cell, of columns without names or one that is called so."""
        super().describe()
        if self.elsewhere and (self.label is None or PLACED in self.label_how):
            self.label, self.label_how = None, self.elsewhere
            return
        for field in self.fields if self.label is None and not self.targets else ():
            said = words(field.name)
            if field.dtype != "str" or not (BARE.fullmatch(field.name) or (said and said[-1] in SEVERAL)):
                continue
            blocks = [self.peek(unit) for unit in self.units[:LOOKED_AT]]
            found = [
                cell for block in blocks if field.name in block.columns for cell in block.columns[field.name].values
            ]
            cells = [str(cell) for cell in found if cell is not None]
            lists = {cell for cell in cells if "," in cell}
            if numbers_listed(cells) is None or not are_lists(lists, {*cells} - lists):
                continue
            self.label, self.listed = field.name, field.name
            self.label_how = (
                f"its cells list numbers of classes, such as {min(lists, key=len)}; pass label= if it is another"
            )
            self.fields = tuple(Field(f.name, "other", "list") if f is field else f for f in self.fields)
            return

    types: dict[str, Any] | None
    """Of the columns that have values in the first block that was read; None before."""

    def telling(self) -> Sequence[Unit]:
        return sorted(
            self.units, key=lambda u: (u.file not in self.answers, {*self.dialects[u.file].names} != {*self.names})
        )

    def _one_table(self, parts: list[_Part]) -> list[_Part]:
        """The files that are parts of one table; a smaller file with other columns is another one, such as a list of classes."""
        every = parts
        form = next((part for part in parts if part.form), None)
        parts = without_other_stems([part for part in parts if not part.form] or parts)
        lists = lists_of_rows(parts, self._values_in)
        listed_rows = sum(part.records for part in lists)
        parts = [part for part in parts if part not in lists and (not lists or part.records == listed_rows)]
        rows: Counter[tuple[str, ...]] = Counter()
        training = [p for p in parts if p.split == "train"]
        for part in training or parts:
            rows[tuple(sorted(part.dialect.names))] += part.records
        if not rows:
            return parts
        told = max(rows, key=len) if lists else columns_of_samples(parts, form, self._values_in)
        names = told or rows.most_common(1)[0][0]
        self.names, total = names, sum(part.records for part in parts)
        table = set(names)
        own = [part for part in parts if set(part.names) == table]
        kept = []
        for part in parts:
            large = 2 * part.records >= total and not training and told is None
            other = set(part.names) != table and (_is_another(part, own, table) or self._in_other_steps(part, own))
            if not other or (large and not _renamed(part, own)):
                kept.append(part)
        held = {part.path for part in kept}
        for part in every:
            if part.path not in held:
                key = self._key_of(part, kept) if part.named and not part.form else None
                self.problems.append(aside(part, kept, "note" if part.form else "table", key))
                self._label_elsewhere(part, key)
        others = [part for part in kept if part.split not in (None, "train")]
        series = _steps(kept)
        lacking = {frozenset(set(names) - set(part.dialect.names) - series) for part in others} - {frozenset()}
        if any(part.split == "train" for part in kept) and len(lacking) == 1:
            [self.withheld] = lacking
        if form is not None:
            self.asked_for, self.form = self._asked_for(form, kept), form.path
        return kept

    def _asked_for(self, form: _Part, kept: Sequence[_Part]) -> tuple[str, ...]:
        """The columns that the form asks for: those that rows for training have, of the table or of files of answers, and others lack."""
        trained = {n for part in kept if part.split in (None, "train") for n in part.names}
        trained |= {n for files in self.answers.values() for file in files for n in file.columns}
        others = [part for part in kept if part.split not in (None, "train")]
        given = {n for part in others for n in part.names} if others else {form.names[0]}
        return tuple(name for name in form.names if name in trained - given)

    def _in_other_steps(self, part: _Part, own: Sequence[_Part]) -> bool:
        """Whether a file has a row for each of what the only file of the table has several for, such as days beside hours."""
        if len(own) != 1 or not _renamed(part, own) or not small([part, *own]):
            return False
        return in_other_steps(self._values_in(part), self._values_in(own[0]))

    def _key_of(self, part: _Part, kept: Sequence[_Part]) -> str | None:
        """The column by which several rows of the table belong to each of this file."""
        near = [other for other in kept if other.split == part.split] or kept
        rows = max(near, key=lambda other: other.records)
        if not {*part.names} & {*rows.names} or not small([part, rows]):
            return None
        try:
            return key_of_several(self._values_in(part), self._values_in(rows))
        except Unreadable:
            return None  # the scan reports it

    def _label_elsewhere(self, part: _Part, key: str | None) -> None:
        """Takes note of a label that the rows have only by another table, in which several of them have one row."""
        label, how = label_by_name([name for name in part.names if name not in self.names])
        if key is not None and label is not None and how == BY_NAME and part.split in (None, "train"):
            self.elsewhere = f"{part.path} has {label} for each {key}; join it by {key}, or pass label="

    def _values_in(self, part: _Part) -> dict[str, Column]:
        """All values of a file that may be set aside, whose faults are then none of the data."""
        known = len(self.problems)
        try:
            return self.columns_in(part, True)
        finally:
            del self.problems[known:]

    def _dialect(self, entry: Entry, header: bool | None = None) -> Dialect:
        """``header``: whether there is one, where other files tell."""
        head = self.listing.head(entry.path, SAMPLE)
        if head.count(b"\0") > head.count(b"\n"):
            raise Unreadable("not-the-format", "contains NUL bytes, so it is not text", file=entry.path)
        return sniff_dialect(head, self.delimiters, len(head) == entry.size, header)

    def _agree(self, entries: Sequence[Entry], known: dict[str, Dialect]) -> None:
        """One decision whether there is a header for files that are written alike: a first row of texts, with a sentence among them, is
        a row where all others have no header, which are more; and the header of the first of numbered parts is that of all. Columns that
        only some rows of one file have are optional in all."""
        for full in [dialect for dialect in known.values() if dialect.optional]:
            usual = full.names[: -full.optional]
            known |= {path: with_optional(of, full.optional) for path, of in known.items() if of.names == usual}
        alike: dict[tuple[str, int], list[Entry]] = {}
        for entry in entries:
            if entry.path in known:
                alike.setdefault((known[entry.path].delimiter, len(known[entry.path].names)), []).append(entry)
        for of in alike.values():
            doubtful = [e for e in of if not known[e.path].sure and any(map(_is_sentence, known[e.path].names))]
            bare = [e for e in of if not known[e.path].header]
            if len(bare) > len(doubtful) and len(bare) + len(doubtful) == len(of):
                known |= {entry.path: self._dialect(entry, header=False) for entry in doubtful}
            elif bare and of[0] not in bare and len(bare) == len(of) - 1 and len({stem_of(e.path) for e in of}) == 1:
                known |= {entry.path: called_as(known[entry.path], known[of[0].path].names) for entry in bare}

    def _check_headers(self, parts: list[_Part]) -> None:
        """Columns that a file lacks and the table has, and the reverse. A split in which no file has the label, or what training
        alone has unless that is not the label, is unlabelled."""
        told = set() if self.label is None else {self.label}
        if self.label is None or self.label in self.withheld:
            told |= self.withheld
        labelled = {(part.split, name) for part in parts for name in told & {*part.dialect.names}}
        for part in parts:
            for name in part.dialect.repeated:
                text = f"several columns are called {name}; those after the first are read as {name}_2 and so on"
                self.problems.append(Unreadable("odd-name", text, file=part.path, field=name))
            mine = set(part.dialect.names)
            absent, extra = sorted(set(self.names) - mine), sorted(mine - set(self.names))
            absent, extra = ([n for n in names if n not in self.steps] for names in (absent, extra))
            hidden = [name for name in absent if name in told and (part.split, name) not in labelled]
            if part.split is not None:
                answered = {name for file in self.answers.get(part.path, ()) for name in file.columns}
                if missing := {*hidden} - answered:
                    self.lacking[part.split] = self.lacking.get(part.split, frozenset()) | missing
            if hidden and part.split is not None:
                absent = [name for name in absent if name not in hidden]
                extra = [name for name in extra if not set(words(name)) & KEYS]  # by which predictions are handed in
            if part.split is not None:  # several people label a development split, and nobody the test split
                absent, extra = ([n for n in names if not _is_one_of_several_labels(n)] for names in (absent, extra))
            self.problems += absent_columns(absent, part.path) + extra_columns(extra, part.path)

    def _check_forms(self, parts: list[_Part]) -> None:
        """Columns in which a file has other values than most rows of the others: texts for numbers, or dates written otherwise,
        which are read as text and compared by a check."""
        told, texts = set(), {name for part in parts for name in part.dialect.long}
        for name in self.names:
            found = [(p, *known) for p in parts if (known := p.dialect.forms.get(name)) is not None]
            rows: Counter[str] = Counter()
            for part, form, _ in found:
                rows[form] += part.records
            if len(rows) < 2:
                continue
            [(usual, _)] = rows.most_common(1)
            example = next(cell for _, form, cell in found if form == usual)
            if all("dates" in form for form in rows):
                texts.add(name)
                continue
            for part, form, cell in found:
                if form == usual:
                    continue
                told.add((part.path, name))
                text = (
                    f"{name} has {form} such as {cell[:40]!r}, but {usual} such as {example[:40]!r} in the other files"
                )
                self.problems.append(Unreadable("dtype-drift", text, file=part.path, field=name))
        self.told, self.texts = frozenset(told), frozenset(texts)

    def _check_zeros(self, parts: list[_Part]) -> None:
        """Columns of codes in which some have lost their leading zeros: a parser of numbers sees no difference."""
        for name in self.names:
            found = {part.path: of for part in parts if (of := part.dialect.digits.get(name)) is not None}
            lost = lost_zeros(list(found.values()))
            if lost is None:
                continue
            [(code, _)] = lost.short.most_common(1)
            text = (
                f"{name} holds codes of {lost.width} digits; {lost.short.total():,} of the first {lost.rows:,} have lost their leading "
                f"zeros, such as {code!r} for {code.zfill(lost.width)!r}"
            )
            file = next(path for path, of in found.items() if code in of.counts)
            self.problems.append(LostZeros(text, file=file, field=name))

    def read(self, unit: Unit) -> bytes:
        return self.listing.span(unit.file, *unit.at)

    def decode(self, unit: Unit, raw: Any) -> Block:
        import numpy as np

        block = self._decoded(unit, raw)
        for name in self.steps - block.columns.keys() if self.only is None else ():
            block.columns[name] = Column([None] * block.samples, np.ones(block.samples, bool))
        if unit.file in self.class_of and (self.asked is None or "label" in self.asked):
            block.columns["label"] = Column([self.class_of[unit.file]] * block.samples)
        if self.listed in block.columns:
            cells = block.columns[self.listed]
            if (lists := numbers_listed(cells.values)) is not None:
                block.columns[self.listed] = replace(cells, values=lists)
        return self.with_answers(block)

    def _decoded(self, unit: Unit, raw: Any) -> Block:
        """The unit's samples as its file has them."""
        problems: list[Unreadable] = []
        data = without_nul(utf8(raw, unit.file, problems, unit.start), unit.file, problems, unit.start)
        dialect = self.dialects[unit.file]
        data = without_spaces(data, dialect.delimiter) if dialect.spaced else data
        data = filled(data, dialect) if dialect.optional else data
        data, blank = self._blanked(unit, data, problems)
        table, skipped = self._table(unit, data, problems)
        if self.types is None:
            self.types = {f.name: f.type for f in table.schema if str(f.type) != "null"}
        found = columns_of(table, unit.file, problems, unit.start)
        self._retyped(unit, table.schema, found, problems)
        if (blank or skipped) and table.num_rows + len(skipped) == unit.samples:
            import numpy as np

            rows = np.setdiff1d(np.arange(unit.samples), skipped)  # of the table, by their numbers in the unit
            sound = np.flatnonzero(~np.isin(rows, blank))
            columns = {name: column.take(sound) for name, column in found.items()}
            return Block(unit, columns, (), problems, rows=rows[sound])
        return Block(unit, found, (), problems)

    def _retyped(self, unit: Unit, schema: Any, columns: dict[str, Column], problems: list[Unreadable]) -> None:
        """Columns whose type is not that of the rows looked at first: of texts, those that are numbers are read as such, since a single
        other one makes texts of them all; else it is told."""
        for field in schema:
            before = (self.types or {}).get(field.name, field.type)
            if field.type == before:
                continue
            numbers = "float" in str(before) or "double" in str(before) or "int" in str(before)
            cells = numbers_among(columns[field.name].values) if numbers and str(field.type) == "string" else None
            if cells is not None:
                columns[field.name] = Column(cells, columns[field.name].nulls)
            elif (unit.file, field.name) not in self.told:
                first = self.units[0].file if self.units else ""
                where = f"in {first}" if first not in ("", unit.file) else "in the first rows"
                text = f"{field.name} has {_called(field.type)} here, but {_called(before)} {where}, which set its type"
                problems.append(Unreadable("dtype-drift", text, file=unit.file, field=field.name))

    def _blanked(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> tuple[bytes, list[int]]:
        """The records with empty ones for those that repeat the header, as in files that were joined end to end: each would turn all
        columns into text. And which these are, counted from the unit's first."""
        import numpy as np

        dialect = self.dialects[unit.file]
        if not dialect.header or len(dialect.names) < 2:
            return data, []
        headers = [dialect.character.join(f"{q}{name}{q}" for name in dialect.names).encode() for q in ("", '"')]
        if not any(header in data for header in headers):
            return data, []
        bytes_ = np.frombuffer(data, np.uint8)
        ends, quotes = np.flatnonzero(bytes_ == 10), np.flatnonzero(bytes_ == 34)
        if dialect.quoted:
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        ends = ends[np.diff(ends, prepend=-1) > 1]  # of records, not of blank lines
        parts, rows, at = [], [], 0
        for found in re.finditer(b"|".join(map(re.escape, headers)), data):
            start, end = found.span()
            row = int(np.searchsorted(ends, start))
            first = int(ends[row - 1]) + 1 if row else 0
            if start == first and data[end : end + 1] in (b"\n", b"\r", b""):
                parts += [data[at:start], dialect.character.encode() * (len(dialect.names) - 1)]
                rows.append(row)
                at = end
        text = "a row repeats the header"
        problems += [Unreadable("parse-error", text, file=unit.file, sample=unit.start + n) for n in rows[:MOST_ODD]]
        return b"".join([*parts, data[at:]]), rows

    def _table(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> tuple[Any, list[int]]:
        """The records with as many fields as the others, and the numbers, within the unit, of those that are left out."""
        import pyarrow as pa
        import pyarrow.csv as pc

        dialect = self.dialects[unit.file]

        skipped: list[int] = []
        known = len(problems)

        def wrong(row: Any) -> str:
            where = None
            if row.number is not None:
                where = unit.start + row.number - 1
                skipped.append(row.number - 1)
            text = f"{number(row.actual_columns, 'field')}, expected {row.expected_columns}: {row.text[:80]!r}"
            if dialect.begins and unit.start == self.first[unit.file] and len(skipped) < dialect.begins:
                text += f"; the table seems to begin in line {dialect.begins} of the file"
            problems.append(Unreadable("parse-error", text, file=unit.file, sample=where))
            return "skip"

        def parse(types: dict[str, Any], only: Sequence[str] | None = self.only, quoted_nulls: bool = False) -> Any:
            return pc.read_csv(
                io.BytesIO(data),
                read_options=pc.ReadOptions(
                    column_names=list(dialect.names), use_threads=False, block_size=max(len(data) + 1, 1 << 16)
                ),
                parse_options=pc.ParseOptions(
                    delimiter=dialect.character,
                    quote_char='"' if dialect.quoted else False,
                    newlines_in_values=dialect.quoted,
                    invalid_row_handler=wrong,
                ),
                convert_options=pc.ConvertOptions(
                    null_values=list(NULLS),
                    decimal_point=dialect.decimal,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=quoted_nulls,
                    column_types={**types, **{name: pa.string() for name in self.texts}},
                    include_columns=None if only is None else [n for n in only if n in dialect.names],
                ),
            )

        try:
            table = parse(self.types or {})
        except pa.ArrowInvalid:
            if not self.types:
                raise
            del problems[known:], skipped[:]
            table = parse({})
        if doubtful := with_null_texts(table) if dialect.quoted else ():
            told, left_out = problems[:], skipped[:]  # they are told already
            table = with_numbers_of(table, parse({}, doubtful, quoted_nulls=True))
            problems[:], skipped[:] = told, left_out
        return table, skipped


def _is_qrels(path: str, dialect: Dialect) -> bool:
    """Whether a file without a header is one of TREC's, which say what answers what is asked."""
    return not dialect.header and len(dialect.names) == len(QRELS) and bool({*tokens(path)} & RELEVANCE)


def _renamed(part: _Part, own: Sequence[_Part]) -> bool:
    """Whether it is called unlike all files of the table, which are called alike, and its name tells no split."""
    stems = {other.stem for other in own}
    return len(stems) == 1 and part.stem not in stems and part.split is None


def _is_another(part: _Part, own: Sequence[_Part], table: set[str]) -> bool:
    """Whether a file with other columns than those of a table (``own`` are its files) is that of another one, and no damaged part."""
    mine = set(part.names)
    if part.split is not None:  # a test split may be without most columns
        beside = any(other.split == part.split and other.stem != part.stem for other in own)
        return beside and 2 * len(mine & table) <= len(mine | table)
    apart = _renamed(part, own)
    if len(mine) == len(table) and part.stem in {other.stem for other in own}:
        return False  # its header is damaged
    return part.unlike(table) or (apart and bool(mine - table) and bool(table - mine))


def _classes_of(parts: Sequence[_Part]) -> dict[str, str]:
    """The class of the rows of each file, where every file lies in a folder of a class with others that are called alike but for a
    number, as recordings are; else none.

    Columns may name a label themselves; and folders that are numbers, a value of a column (``year=2019``), or alike but for a number
    are years, parts or machines.
    """
    _, labels, names = read_folders([part.path for part in parts])
    sizes = Counter(labels)
    if not names or None in sizes or min(sizes.values()) < 2 or len({tuple(sorted(part.names)) for part in parts}) > 1:
        return {}
    called = {(label, re.sub(r"\d+", "", part.path)) for part, label in zip(parts, labels, strict=True)}
    alike = {re.sub(r"\d+", "", name) for name in names}
    if len(called) > len(names) or len(alike) < len(names) or any("=" in name or name.isdigit() for name in names):
        return {}
    if "label" in parts[0].names or label_by_name(parts[0].names)[0] is not None:
        return {}
    return {part.path: str(label) for part, label in zip(parts, labels, strict=True)}


def _by_files(roles: Roles, paths: Sequence[str]) -> Roles:
    """The roles, with each file as a group where no column is one."""
    return roles if roles.group is not None else replace(roles, group=group_of_files(paths), name_parts=WHOLE)


def numbers_among(texts: list[str | None]) -> list[Any] | None:
    """The values with numbers in place of texts that are numbers; None if these are not most."""
    cells = [_number(text.strip()) if text is not None else None for text in texts]
    known = [cell for cell in cells if cell is not None]
    return cells if 2 * sum(not isinstance(cell, str) for cell in known) > len(known) else None


def _number(text: str) -> int | float | str:
    if not _PLAIN.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)


def _steps(parts: Sequence[_Part]) -> frozenset[str]:
    """The columns that hold the values of series of unequal length, ``V2``, ``V3`` and so on; a file has as many as its longest series."""
    names = dict.fromkeys(name for part in parts for name in part.names)
    [(stem, n)] = Counter(_STEP.sub("", name) for name in names).most_common(1)
    if 2 * n <= len(names) or not any(part.dialect.unequal for part in parts):
        return frozenset()
    return frozenset(name for name in names if _STEP.sub("", name) == stem and name != stem)


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= SENTENCE


def _called(kind: Any) -> str:
    """What the values of an Arrow type are, in words."""
    import pyarrow.types as t

    if t.is_integer(kind):
        return "whole numbers"
    if t.is_floating(kind):
        return "numbers with a decimal point"
    if t.is_boolean(kind):
        return "true or false"
    if t.is_temporal(kind):
        return "dates or times"
    return "no values" if t.is_null(kind) else "texts"


def _is_one_of_several_labels(name: str) -> bool:
    """Whether it is called like a label with a number, or with a word for which of them it is."""
    plain = name.rstrip("0123456789").rstrip("_")
    return (plain != name and label_by_name([plain])[0] is not None) or words(name)[:1] == ["gold"]


SOURCE = Csv
