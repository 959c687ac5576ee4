"""Blocks in memory, and a check's judgement of them: seen by one instance, and by one a block and merged."""

from __future__ import annotations

import functools
import itertools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataloader_expert.checks.base import Check, Context, all_checks, new_checks
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column, Field, Unit
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_fields import field_of

CHECKS = all_checks()


@dataclass(frozen=True)
class Data:
    """Values by field; ``splits`` one a sample; ``kinds`` override what the values make of a field."""

    columns: Mapping[str, Any]
    label: str | None = None
    splits: str | list[str] = ""
    classes: tuple[str, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    nulls: Mapping[str, list[bool]] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)


def judged(name: str, data: Data) -> dict[str, Finding]:
    """A check's findings by code: the same however the samples were dealt out."""
    context, blocks = context_of(data), blocks_of(data)
    found = _judgement(name, lambda one: _at_once(one, context, blocks))
    in_parts = _judgement(name, lambda one: _in_parts(one, context, blocks))
    assert {c: f.count for c, f in in_parts.items()} == {c: f.count for c, f in found.items()}
    return found


def _at_once(name: str, context: Context, blocks: Iterable[Block]) -> Check:
    cls = CHECKS[name]
    check = cls(context.with_features() if cls.of_features else context)
    for block in blocks:
        check.see(check.view(block))
    return check


def _in_parts(name: str, context: Context, blocks: Iterable[Block]) -> Check:
    """An instance a block, merged."""
    first, *others = (_at_once(name, context, [block]) for block in blocks)
    for other in others:
        first.merge(other)
    return first


def _judgement(name: str, made: Callable[[str], Check]) -> dict[str, Finding]:
    check = made(name)
    return {f.code: f for f in check.judge(_Known(name, check, made))} if check.applies() else {}


class _Known(Facts):
    """The facts of one check, and those of others once it asks for a quantity that they name too: seeing samples in every check
    takes ten times as long."""

    def __init__(self, name: str, check: Check, made: Callable[[str], Check]) -> None:
        super().__init__(tuple(check.facts()))
        self.made, self.seen = made, {name}

    def all(self, quantity: Quantity, **at: Any) -> Iterator[Fact]:
        for other in _naming()[quantity.name] - self.seen:
            self.seen.add(other)
            check = self.made(other)
            for fact in check.facts() if check.applies() else ():
                self.add(fact)
        return iter([*super().all(quantity, **at)])


@functools.cache
def _naming() -> dict[str, set[str]]:
    """The checks whose modules name a quantity, by the quantity's name."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, check in CHECKS.items():
        for value in vars(sys.modules[check.__module__]).values():
            if isinstance(value, Quantity):
                found[value.name].add(name)
    return found


def merged(name: str, data: Data) -> list[Finding]:
    """What one check finds that rests on its own facts only, merged from an instance a block in reverse order: as much as one
    instance finds that sees all blocks."""
    context, blocks = context_of(data), blocks_of(data)
    found, at_once = (
        list(check.judge(Facts(tuple(check.facts())))) if check.applies() else []
        for check in (_in_parts(name, context, blocks[::-1]), _at_once(name, context, blocks))
    )
    assert sorted((f.code, f.count or 0) for f in found) == sorted((f.code, f.count or 0) for f in at_once)
    return found


def judged_alone(name: str, data: Data) -> dict[str, Finding]:
    """The same by their codes."""
    return {f.code: f for f in merged(name, data)}


def looked(context: Context, blocks: Iterable[Block]) -> dict[str, Check]:
    """The checks that apply, each having seen these blocks."""
    checks = {name: check for name, check in new_checks(context).items() if check.applies()}
    for block in blocks:
        for check in checks.values():
            check.see(check.view(block))
    return checks


def findings(name: str, checks: dict[str, Check]) -> dict[str, Finding]:
    """What one check finds, which may rest on the facts of others."""
    if not checks[name].applies():
        return {}
    facts = Facts(tuple(fact for check in checks.values() if check.applies() for fact in check.facts()))
    return {f.code: f for f in checks[name].judge(facts)}


def context_of(data: Data) -> Context:
    fields = []
    for name, values in data.columns.items():
        made = field_of(name, Column(values))
        kind = data.kinds.get(name, "category" if name == data.label and not made.shape else made.kind)
        fields.append(Field(name, kind, made.dtype, made.shape))
    splits = tuple(dict.fromkeys(data.splits)) if isinstance(data.splits, list) else ()
    n = len(next(iter(data.columns.values())))
    roles = find_roles(blocks_of(data), fields, data.label, bool(splits))
    more = {"roles": roles, **data.context}
    return Context(tuple(fields), data.label, n, "array", splits, data.classes, 0, **more)


def blocks_of(data: Data) -> list[Block]:
    """One block a run of equal splits, and at least two where there are two samples."""
    n = len(next(iter(data.columns.values())))
    splits = data.splits if isinstance(data.splits, list) else [None] * n
    cuts = sorted({0, n // 2, n, *(i for i in range(1, n) if splits[i] != splits[i - 1])})
    blocks = []
    for i, (lo, hi) in enumerate(itertools.pairwise(cuts)):
        nulls = {k: np.array(v[lo:hi]) for k, v in data.nulls.items()}
        columns = {k: Column(v[lo:hi], nulls.get(k)) for k, v in data.columns.items()}
        unit = Unit(i, f"part{i}", lo, hi - lo, 0, splits[lo])
        blocks.append(Block(unit, columns))
    return blocks


def first_rows(rows: Mapping[str, Any]) -> dict[str, Any]:
    """The first rows of a table where a check is silent, whose own module judges all of them, each merged from an instance a block."""
    return dict(itertools.islice(rows.items(), 3))


def one_a_code(rows: Mapping[str, tuple[Data, str, str]]) -> dict[str, tuple[Data, str, str]]:
    """Of such a table where a check speaks, the first row of each code and severity."""
    first: dict[tuple[str, str], str] = {}
    for name, (_, code, severity) in rows.items():
        first.setdefault((code, severity), name)
    return {name: rows[name] for name in first.values()}
