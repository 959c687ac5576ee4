"""Tables: Arrow columns as plain values, fields from a schema, the label from names and values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import modality_of
from dataloader_expert.sources.base import Block, Field, Roles, Source, Unit
from dataloader_expert.sources.label_columns import flags, said_of, say_all
from dataloader_expert.sources.members import Members, members_of, stored_names, with_members
from dataloader_expert.sources.predicted import Predicted
from dataloader_expert.sources.roles import as_split, find_roles, words
from dataloader_expert.sources.table_fields import (
    GUESSED_FROM,
    MAX_CLASSES,
    MOST_BLOCKS,
    among_texts,
    are_titles,
    field_of,
    has_turns,
    phrase_length,
    records,
    values_in,
    with_values,
)
from dataloader_expert.sources.table_label import find_label
from dataloader_expert.sources.text_pairs import SPANS, named_so

MOST_TRIED = 64
"""Units that may be damaged before one that shows the content of the data."""


class Table(Source):
    """A member makes ``units`` and decodes each into columns; fields and label are inferred from the first block."""

    nullable = True

    def __init__(self) -> None:
        super().__init__()
        self.unread: dict[str, str] = {}
        """What files say and no field does, and why."""
        self.members: Members = {}
        """Of fields that hold objects, those of their members that take their place."""
        self.answered: frozenset[str] = frozenset()
        """The fields that files of answers hold."""
        self.asked_for: tuple[str, ...] = ()
        """The fields that a file to fill in with predictions asks for."""
        self.form = ""
        """That file."""
        self.optional: frozenset[str] = frozenset()
        """The fields that only some rows have, which do not tell what the rows are."""

    @property
    def predicted(self) -> Predicted:
        """What the files say of the columns that are predicted."""
        return Predicted(self.withheld, self.answered, self.asked_for, self.form)

    def made(self, block: Block) -> Block:
        """A decoded block, with members in place of objects."""
        return with_members(block, self.members) if self.members else block

    def stored(self, names: Iterable[str]) -> list[str]:
        """The columns that these fields are stored in."""
        return stored_names(names, self.members)

    def describe(self) -> None:
        """Fields from the first readable block's values; label and modality from the first ``GUESSED_FROM`` rows.

        Raises:
            Unreadable: if none of the first ``MOST_TRIED`` units can be read.
        """
        blocks: list[Block] = []
        first: Unreadable | None = None
        seen: set[int] = set()
        for tried, unit in enumerate(self.telling()):
            seen.add(unit.id)
            try:
                blocks.append(self.peek(unit))
            except Unreadable as problem:  # the scan reports it
                first = first or problem
                if not blocks and tried + 1 >= MOST_TRIED:
                    break
                continue
            self.fields = tuple(field_of(name, column) for name, column in blocks[0].columns.items())
            dear = any(f.kind in ("image", "audio", "bytes") for f in self.fields)  # to decode: one block must do
            if dear or sum(b.samples for b in blocks) >= GUESSED_FROM or len(blocks) >= MOST_BLOCKS:
                break
        if not blocks:
            raise first or Unreadable("empty-file", "no samples")
        self.members = members_of(blocks)
        if self.members:
            blocks = [self.made(block) for block in blocks]
            self.fields = tuple(field_of(name, column) for name, column in blocks[0].columns.items())
        looked_at = [*blocks, *self._apart(seen)] if not dear else blocks
        self.fields = tuple(with_values(f, looked_at) for f in self.fields)
        named = any(unit.split is not None for unit in self.units)
        rows = None if dear else sum(unit.samples for unit in self.units)
        self.roles = find_roles(looked_at, self.fields, None, named, rows)
        split = self.roles.split.field if self.roles.split is not None else None
        self.label, self.label_how = find_label(blocks, split, self.predicted)
        if self.label is not None:
            self.roles = find_roles(looked_at, self.fields, self.label, named, rows)
        if self.label is not None:
            self.fields = tuple(
                Field(f.name, "category", f.dtype, f.shape) if f.name == self.label and not f.shape else f
                for f in self.fields
            )
        self._several_labels(blocks)
        self.fields = among_texts(self.fields, self.label, blocks[0])
        told = {*(self.label_columns.names if self.label_columns is not None else ()), *self.optional}
        self.modality = modality_of(tuple(f for f in self.fields if f.name not in told), self.label)
        self.conversations = frozenset(f.name for f in self.fields if has_turns(f, blocks))
        lists = {f.name: {*words(f.name)} for f in self.fields if f.kind in ("other", "sequence")}
        within = any(f.kind == "text" for f in self.fields) and named_so(lists, SPANS)  # what is where in the text
        if (self.conversations or within) and self.modality in ("tabular", "array"):
            self.modality = "text"
        if self.modality == "tabular":
            self.short_texts = all(are_titles(values_in(blocks, f.name)) for f in self.fields if f.kind == "text")
        aside = {self.label, split, *(r.field for r in self.roles.keys)}
        said = [f for f in self.fields if f.name not in aside]
        texts = [f for f in said if f.kind == "text"]
        whole = [b for b in blocks if all(f.name in b.columns for f in said)]
        if texts and (texts == said or not self.short_texts):
            rows = list(zip(*(values_in(whole, f.name) for f in texts), strict=True))
            others = [f for f in said if f not in texts]
            rows = records(rows[:GUESSED_FROM], whole, others) if others else rows
            self.phrase = phrase_length(rows, sure=self.label is None and not others)

    def _several_labels(self, blocks: list[Block]) -> None:
        """Takes the last columns for labels where each says whether a text has one, or those that are predicted together."""
        assert self.roles is not None
        training = [block for block in blocks if block.unit.split == "train"] or blocks
        names = list(dict.fromkeys(name for block in blocks for name in block.columns))
        targets, how = self.predicted.several(names) if self.label is None else ((), "")
        if targets:
            self.targets, self.label_how = targets, f"{how}; pass label= for one of them"
            told = flags({n: c for n, c in block.columns.items() if n in targets} for block in training)
            if told is not None and told.names == targets:
                self.targets, self.label_columns = (), told
                self.fields = tuple(replace(f, kind="category") if f.name in targets else f for f in self.fields)
            return
        found = flags(block.columns for block in training)
        aside = {role["field"] for role in self.roles.listed()}
        if found is None or not say_all(found.names, self.fields, aside, blocks[0].columns):
            return
        if self.label is not None and (self.label not in found.names or ";" not in self.label_how):
            return
        self.label, self.label_columns, self.label_how = None, found, said_of(found)
        self.fields = tuple(replace(f, kind="category") if f.name in found.names else f for f in self.fields)

    def telling(self) -> Sequence[Unit]:
        """The units, first those that tell what the columns are."""
        return tuple(self.units)

    def _apart(self, seen: set[int]) -> list[Block]:
        """A middle block and the last one: a table may be sorted by a column, such as its split. ``seen``: ids of other units."""
        blocks = []
        for i in sorted({len(self.units) // 2, len(self.units) - 1}):
            if self.units[i].id in seen:
                continue
            with contextlib.suppress(Unreadable):  # the scan reports it
                blocks.append(self.peek(self.units[i]))
        return blocks

    def fitting(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The declared names, unless labels are places from 1, as those of AG News: the first name is not that of label 0 then."""
        if names is None or self.label is None:
            return names
        found: set[Any] = set()
        for unit in (self.units[0], self.units[-1]):
            column = self.peek(unit).columns.get(self.label)
            values: Any = [] if column is None else column.values
            found |= {*(values.tolist() if hasattr(values, "tolist") else values)}
        whole = {v for v in found if isinstance(v, int)}
        return None if whole == found and 0 not in whole and len(names) in whole else names

    def split_by(self, name: str) -> bool:
        found = self.field(name)
        if found is None or found.shape:
            return False
        blocks = [self.peek(u) for u in self.units[:1]] + self._apart({u.id for u in self.units[:1]})
        values: list[Any] = []
        for block in blocks:
            part = block.columns[name].values if name in block.columns else []
            values += part.tolist() if hasattr(part, "tolist") else part
        if not all(isinstance(v, str | int | float | None) for v in values) or len(set(values)) > MAX_CLASSES:
            return False
        role, names = as_split(name, values)
        self.units = [replace(unit, split=None) for unit in self.units]
        if self.label == name:
            self.label, self.label_how = find_label(blocks, name, self.predicted)
        self.roles = replace(self.roles or Roles(), split=role, splits=names)
        return True
