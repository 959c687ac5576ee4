"""A source limited to some of its fields: those that a model uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import RequestError, escaped, fields_are
from dataloader_expert.sources.base import Block, Source, Unit


class Chosen(Source):
    """``source`` with only the fields ``names``, for the same samples. Fields that its reader can skip are not read.

    Raises:
        RequestError: ``invalid-argument`` for a field that does not exist.
    """

    format = ""
    kinds = frozenset()

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        there = [f.name for f in source.fields]
        for name in names:
            if name not in there:
                text = f"columns: {escaped(name)} is not there; {fields_are(name, there)}"
                raise RequestError("invalid-argument", text)
        if not names:
            raise RequestError("invalid-argument", "columns is empty: name fields to read, or leave it out")
        source.read_only(names)
        self.__dict__.update(source.__dict__)  # such as its listing or dialects
        for name in ("format", "in_shards", "nullable"):
            setattr(self, name, getattr(source, name))
        self.source = source
        self.names = frozenset(names)
        self.fields = tuple(f for f in source.fields if f.name in self.names)
        if self.label not in self.names:
            self.label, self.label_how, self.classes = None, "it is not among columns", None
        if self.roles is not None:
            for role in self.roles.listed():
                if role["field"] not in self.names:
                    self.roles = self.roles.without(role["field"])

    @classmethod
    def open(cls, listing: Any, ref: Any) -> Source:
        raise NotImplementedError("made of an opened source")  # not a format of its own: never chosen for files

    def read(self, unit: Unit) -> Any:
        return self.source.read(unit)

    def decode(self, unit: Unit, raw: Any) -> Block:
        block = self.source.decode(unit, raw)
        return replace(block, columns={n: c for n, c in block.columns.items() if n in self.names})


def chosen(source: Source, columns: Sequence[str], label: str | None) -> Source:
    """The source with these fields, the requested label, and the field that names each sample's split."""
    split = source.roles.split if source.roles is not None else None
    named = [*columns, *([label] if label is not None else []), *([split.field] if split is not None else [])]
    return Chosen(source, list(dict.fromkeys(named)) if columns else [])
