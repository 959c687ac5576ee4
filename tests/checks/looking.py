"""Blocks in memory, and a check's judgement of them: seen by one instance, and by one a block and merged."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataloader_expert.checks.base import Check, Context, new_checks
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts
from dataloader_expert.sources.base import Block, Column, Field, Unit
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_fields import field_of


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
    together = new_checks(context)
    parts = [new_checks(context) for _ in blocks]
    for part, block in zip(parts, blocks, strict=True):
        for check in (*together.values(), *part.values()):
            check.see(check.view(block))
    for part in parts[1:]:
        for each, check in parts[0].items():
            check.merge(part[each])
    found = findings(name, together)
    assert {c: f.count for c, f in findings(name, parts[0]).items()} == {c: f.count for c, f in found.items()}
    return found


def alone(name: str, data: Data) -> list[Finding]:
    """What one check finds that rests on its own facts only."""
    context = context_of(data)
    check = new_checks(context)[name]
    if not check.applies():
        return []
    for block in blocks_of(data):
        check.see(check.view(block))
    return list(check.judge(Facts(tuple(check.facts()))))


def judged_alone(name: str, data: Data) -> dict[str, Finding]:
    """The findings by code of a check that reads no other's facts, merged from an instance a block in reverse order."""
    context = context_of(data)
    parts = []
    for block in reversed(blocks_of(data)):
        check = new_checks(context)[name]
        check.see(check.view(block))
        parts.append(check)
    for part in parts[1:]:
        parts[0].merge(part)
    return findings(name, {name: parts[0]})


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
