"""The samples of one split of a table with a split column; indices count within the split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Block, Source, Unit


class Subset(Source):
    """The rows of ``source`` that are in ``split``. The split column is read once, on construction."""

    format = ""
    kinds = frozenset()

    def __init__(self, source: Source, split: str) -> None:
        super().__init__()
        self.source = source
        for name in (
            "format",
            "fields",
            "label",
            "label_how",
            "classes",
            "modality",
            "sharding",
            "files",
            "bytes",
            "roles",
            "nullable",
        ):
            setattr(self, name, getattr(source, name))
        self.problems = source.problems
        self.listing = getattr(source, "listing", None)
        roles = source.roles
        assert roles is not None
        assert roles.split is not None
        units: list[Unit] = []
        for unit in source.units:
            try:
                column = source.column(unit, roles.split.field)
            except Unreadable as problem:
                self.problems.append(problem)
                continue
            if column is None:
                continue  # a file without the column belongs to no split
            values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
            absent = column.nulls
            rows = [i for i, v in enumerate(values) if roles.split_of(v) == split and (absent is None or not absent[i])]
            if rows:
                start = units[-1].start + units[-1].samples if units else 0
                made = replace(unit, id=len(units), start=start, samples=len(rows), split=split, at=(unit, rows))
                units.append(made)
        self.units = tuple(units)
        self.with_nulls = source.nulls_within([unit.at[0] for unit in units])
        self.roles = replace(roles, split=None, splits={})

    @classmethod
    def open(cls, listing: Any, ref: Any) -> Source:
        raise NotImplementedError("made of an opened source")  # not a format of its own, and never opened as one

    def read_only(self, names: Sequence[str]) -> None:
        self.source.read_only(names)

    def read(self, unit: Unit) -> Any:
        return self.source.read(unit.at[0])

    def decode(self, unit: Unit, raw: Any) -> Block:
        import numpy as np

        inner, rows = unit.at
        whole = self.source.decode(inner, raw)
        block = whole.take(np.array([r for r in rows if r < whole.samples]))
        return Block(unit, block.columns, block.raw, whole.problems)
