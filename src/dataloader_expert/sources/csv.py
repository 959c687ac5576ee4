"""CSV: delimiter, header and quoting are detected and reported; a unit is a run of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Aside, NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.answer_files import Answers, placed
from dataloader_expert.sources.arrow_columns import absent_columns, extra_columns
from dataloader_expert.sources.bare_columns import gap
from dataloader_expert.sources.base import PLACED, Column, Field, Roles, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.csv_parts import (
    Part,
    by_files,
    classes_of,
    is_another,
    is_qrels,
    is_renamed,
    steps_of,
    told_apart_by_names,
)
from dataloader_expert.sources.csv_records import CsvRecords
from dataloader_expert.sources.dialects import Dialect, called_as, sniff_dialect, with_optional
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.key_lists import divide
from dataloader_expert.sources.label_columns import are_lists, numbers_listed
from dataloader_expert.sources.label_names import BY_NAME, label_by_name
from dataloader_expert.sources.layout import BY_FOLDER, PART_WORDS, splits_of_files, splits_of_suffixes, tokens
from dataloader_expert.sources.leading_zeros import LostZeros, lost_zeros
from dataloader_expert.sources.lines import BlankEnd, record_ranges, without_blank_end, without_closing_remark
from dataloader_expert.sources.other_tables import (
    QRELS,
    aside,
    folds_aside,
    stem_of,
    without_folds,
    without_other_stems,
)
from dataloader_expert.sources.roles import ROW_WORDS, words
from dataloader_expert.sources.row_lists import DIVISION
from dataloader_expert.sources.sample_table import (
    columns_of_samples,
    division_of,
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
KEYS = {"id", "index", "idx"}
"""Words of columns that number the rows of an unlabelled split."""


class Csv(CsvRecords):
    format = "csv"
    kinds = frozenset({"csv"})
    in_shards = True
    delimiters: ClassVar[str] = ",;\t|"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        source.listing = listing
        entries = source.tables()
        source.dialects, source.types = {}, None
        splits = splits_of_files([e.path for e in entries])
        ending = splits_of_suffixes([e.path for e in entries])
        parts: list[Part] = []
        known: dict[str, Dialect] = {}
        for entry in entries:
            try:
                known |= {entry.path: source._dialect(entry)} if entry.size else {}  # already reported as empty
            except Unreadable as problem:
                source.problems.append(problem)
        source._agree(entries, known)
        known |= {path: called_as(of, QRELS) for path, of in known.items() if is_qrels(path, of)}
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
            parts.append(Part(entry.path, split or ending.get(entry.path), dialect, ranges))
        parts = source._one_table(source.without_answers(source._aligned(parts)))
        source.class_of = classes_of(parts)
        if not source.class_of and (told := told_apart_by_names(parts)) is not None:
            source.unread["file names"] = told
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
        source.steps = source.unequal = steps_of(parts)
        source.optional = frozenset(n for p in parts for n in p.names[len(p.names) - p.dialect.optional :])
        source._check_forms(parts)
        source._check_zeros(parts)
        source.join()
        source.withhold_answers()
        source.describe()
        if source.class_of:
            source.label_how = BY_FOLDER
            source.roles = by_files(source.roles or Roles(), list(source.class_of))
        elif source._are_series(parts):
            source.roles = by_files(source.roles or Roles(), [part.path for part in parts])
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

    def _aligned(self, parts: list[Part]) -> list[Part]:
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

    def _are_series(self, parts: Sequence[Part]) -> bool:
        """Whether each file is a series of its own, as of one share: no time comes twice in it, and most come in the first one too. Or, as of
        one patient, a column counts the rows of each."""
        roles = self.roles or Roles()
        first = {unit.file: unit for unit in reversed(self.units)}
        parts = [part for part in parts if part.path in first]  # one with only a header has no unit
        called = {token for part in parts for token in tokens(part.path.rpartition("/")[2])}
        if len(parts) < 2 or roles.group is not None or called & PART_WORDS or self.splits:
            return False
        if roles.time is None:
            return len(parts) >= SERIES and self._are_counted([first[part.path] for part in parts[:SERIES]])
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

    def _are_counted(self, units: Sequence[Unit]) -> bool:
        """Whether one column counts the rows of each unit, and is not called as what counts those of any file."""
        try:
            blocks = [self.peek(unit) for unit in units]
        except Unreadable:
            return False
        able = [
            f.name for f in self.fields if "int" in f.dtype and not {*words(f.name)} & (ROW_WORDS | {"row", "unnamed"})
        ]
        held = [{name: plain_values(block.columns[name]) for name in able if name in block.columns} for block in blocks]
        counted = [
            {n for n, of in one.items() if len(of) > 1 and of == [*range(of[0], of[0] + len(of))] and of[0] in (0, 1)}
            for one in held
        ]
        return bool(set[str].intersection(*counted))

    def columns_in(self, part: Part, whole: bool) -> dict[str, Column]:
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

    names: tuple[str, ...]
    """The columns of the table: those of most rows, of the training split if there is one."""
    elsewhere = ""
    """Which other table has the label of these rows."""

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

    def telling(self) -> Sequence[Unit]:
        return sorted(
            self.units, key=lambda u: (u.file not in self.answers, {*self.dialects[u.file].names} != {*self.names})
        )

    def _one_table(self, parts: list[Part]) -> list[Part]:
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
            other = set(part.names) != table and (is_another(part, own, table) or self._in_other_steps(part, own))
            if not other or (large and not is_renamed(part, own)):
                kept.append(part)
        held = {part.path for part in kept}
        if lists and len(kept) == 1 and DIVISION not in kept[0].names:
            said = {DIVISION: Column(division_of(lists, self._values_in))}
            from_lists = [Answers(of.path, said if of is lists[0] else {}, plain=False) for of in lists]
            self.answers.setdefault(kept[0].path, []).extend(from_lists)
            held |= {part.path for part in lists}
        divide(self, kept, self._values_in)
        for part in every:
            if part.path not in held:
                key = self._key_of(part, kept) if part.named and not part.form else None
                self.problems.append(aside(part, kept, "note" if part.form else "table", key))
                self._label_elsewhere(part, key)
        others = [part for part in kept if part.split not in (None, "train")]
        series = steps_of(kept)
        lacking = {frozenset(set(names) - set(part.dialect.names) - series) for part in others} - {frozenset()}
        if any(part.split == "train" for part in kept) and len(lacking) == 1:
            [self.withheld] = lacking
        if form is not None:
            self.asked_for, self.form = self._asked_for(form, kept), form.path
        return kept

    def _asked_for(self, form: Part, kept: Sequence[Part]) -> tuple[str, ...]:
        """The columns that the form asks for: those that rows for training have, of the table or of files of answers, and others lack."""
        trained = {n for part in kept if part.split in (None, "train") for n in part.names}
        trained |= {n for files in self.answers.values() for file in files for n in file.columns}
        others = [part for part in kept if part.split not in (None, "train")]
        given = {n for part in others for n in part.names} if others else {form.names[0]}
        return tuple(name for name in form.names if name in trained - given)

    def _in_other_steps(self, part: Part, own: Sequence[Part]) -> bool:
        """Whether a file has a row for each of what the only file of the table has several for, such as days beside hours."""
        if len(own) != 1 or not is_renamed(part, own) or not small([part, *own]):
            return False
        return in_other_steps(self._values_in(part), self._values_in(own[0]))

    def _key_of(self, part: Part, kept: Sequence[Part]) -> str | None:
        """The column by which several rows of the table belong to each of this file."""
        near = [other for other in kept if other.split == part.split] or kept
        rows = max(near, key=lambda other: other.records)
        if not {*part.names} & {*rows.names} or not small([part, rows]):
            return None
        try:
            return key_of_several(self._values_in(part), self._values_in(rows))
        except Unreadable:
            return None  # the scan reports it

    def _label_elsewhere(self, part: Part, key: str | None) -> None:
        """Takes note of a label that the rows have only by another table, in which several of them have one row."""
        label, how = label_by_name([name for name in part.names if name not in self.names])
        if key is not None and label is not None and how == BY_NAME and part.split in (None, "train"):
            self.elsewhere = f"{part.path} has {label} for each {key}; join it by {key}, or pass label="

    def _values_in(self, part: Part) -> dict[str, Column]:
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
        """One decision whether there is a header for files that are written alike: a first row of texts, with a sentence among them or a
        value that the same column of another file has, is a row where all others have no header, which are more; and the header of the first of numbered parts is that of all. Columns that
        only some rows of one file have are optional in all."""
        for full in [dialect for dialect in known.values() if dialect.optional]:
            usual = full.names[: -full.optional]
            known |= {path: with_optional(of, full.optional) for path, of in known.items() if of.names == usual}
        alike: dict[tuple[str, int], list[Entry]] = {}
        for entry in entries:
            if entry.path in known:
                alike.setdefault((known[entry.path].delimiter, len(known[entry.path].names)), []).append(entry)
        for of in alike.values():
            bare = [e for e in of if not known[e.path].header]
            doubtful = [e for e in of if known[e.path].header and not known[e.path].sure]
            values = self._values_at_head(bare, known) if doubtful else []
            doubtful = [
                e
                for e in doubtful
                if any(map(_is_sentence, known[e.path].names))
                or any(name in column for name, column in zip(known[e.path].names, values, strict=False))
            ]
            if len(bare) > len(doubtful) and len(bare) + len(doubtful) == len(of):
                known |= {entry.path: self._dialect(entry, header=False) for entry in doubtful}
            elif bare and of[0] not in bare and len(bare) == len(of) - 1 and len({stem_of(e.path) for e in of}) == 1:
                known |= {entry.path: called_as(known[entry.path], known[of[0].path].names) for entry in bare}

    def _values_at_head(self, bare: Sequence[Entry], known: Mapping[str, Dialect]) -> list[set[str]]:
        """What stands in each column of files without a header, as far as their first rows tell."""
        heads = (
            self.listing.head(e.path, SAMPLE).decode("utf-8", "replace").splitlines()[:-1] for e in bare[:LOOKED_AT]
        )
        rows = [line.split(known[e.path].delimiter) for e, lines in zip(bare, heads, strict=False) for line in lines]
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
        return [{*column} for column in zip(*(row for row in rows if len(row) == width), strict=True)]

    def _check_headers(self, parts: list[Part]) -> None:
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

    def _check_forms(self, parts: list[Part]) -> None:
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

    def _check_zeros(self, parts: list[Part]) -> None:
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


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= SENTENCE


def _is_one_of_several_labels(name: str) -> bool:
    """Whether it is called like a label with a number, or with a word for which of them it is."""
    plain = name.rstrip("0123456789").rstrip("_")
    return (plain != name and label_by_name([plain])[0] is not None) or words(name)[:1] == ["gold"]


SOURCE = Csv
