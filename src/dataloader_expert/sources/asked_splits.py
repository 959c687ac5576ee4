"""The split that is asked for, and the one to be called ``train``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from dataloader_expert.errors import RequestError, escaped, listed
from dataloader_expert.facts import Unknown
from dataloader_expert.sources.base import Field, Source, Unit
from dataloader_expert.sources.layout import VALIDATION, written_names
from dataloader_expert.sources.subset import Subset


def with_asked(source: Source, split: str | None, train: str | None) -> Source:
    """The source of ``split`` alone, if one is asked for, with the split ``train`` called so.

    Raises:
        RequestError: ``invalid-argument`` for a split that does not exist, or if another one is called ``train``.
    """
    if split is not None:
        named = {*source.splits, *(source.roles.splits.values() if source.roles is not None else ())}
        split = _called_here(split, named)
        if split in source.splits:
            source.keep_split(split)
        elif source.roles is not None and split in source.roles.splits.values():
            source = Subset(source, split)
        elif own := [unit for unit in source.units if _is_called(unit, split, bool(source.splits))]:
            source.units = own  # asked for by the name that the files have
        elif not source.split_by(split):
            raise _no_split(split, source)
    if train is not None:
        _call_train(train, source, kept=split is not None)
    return source


def _called_here(split: str, there: Collection[str]) -> str:
    """The split as it is called here, where the one for validation has another of its usual names."""
    others = sorted(VALIDATION & {*there}) if split in VALIDATION - {*there} else []
    return others[0] if len(others) == 1 else split


def _is_called(unit: Unit, split: str, divided: bool) -> bool:
    """Whether a unit's file has the name of a split as asked for; ``divided``: others are in splits, beside which a whole file may be one
    that no usual word names, such as ``live.parquet``."""
    if unit.split is not None:
        return split in written_names(unit.file)
    return divided and split == unit.file.rpartition("/")[2].partition(".")[0]


def _call_train(name: str, source: Source, kept: bool) -> None:
    """Renames the split ``name`` to ``train``, the name that all checks use. ``kept``: only one split, perhaps another, was kept.

    Raises:
        RequestError: ``invalid-argument`` for a split that does not exist, or if another one is called ``train``.
    """
    splits = source.roles.splits if source.roles is not None else {}
    named = {*source.splits, *splits.values()}
    written = {unit.split for unit in source.units if unit.split is not None and name in written_names(unit.file)}
    if name not in named and len(written) == 1:
        [name] = written
    if name not in named:
        if kept:
            return
        raise _no_split(name, source)
    if name != "train" and "train" in named:
        raise RequestError(
            "invalid-argument", f"train_split is {escaped(name)}, but another split is called train; rename that one"
        )
    source.units = [replace(unit, split="train") if unit.split == name else unit for unit in source.units]
    if source.roles is not None and name in splits.values():
        renamed = {value: "train" if split == name else split for value, split in splits.items()}
        source.roles = replace(source.roles, splits=renamed)


def in_no_split(source: Source) -> list[Unknown]:
    """What is told of files outside the splits that all others are in."""
    outside = {unit.file: 0 for unit in source.units if unit.split is None}
    if not source.splits or not outside:
        return []
    samples = sum(unit.samples for unit in source.units if unit.split is None)
    names = sorted({file.rpartition("/")[2].partition(".")[0] for file in outside})
    way = f"; pass split={escaped(names[0])} for them alone" if len(names) == 1 else ""
    text = f"{samples:,} samples, in files such as {escaped(next(iter(outside)), 60)}, are in none of the splits{way}"
    return [Unknown("splits", text)]


def _no_split(split: str, source: Source) -> RequestError:
    named = source.splits or (dict.fromkeys(source.roles.splits.values()) if source.roles is not None else {})
    there = ", ".join(map(escaped, named)) or "none"
    able = [f.name for f in source.fields if not f.shape and _may_name_splits(f) and f.name != source.label]
    or_field = (
        f"; or name the field that holds each sample's split, one of: {listed(able)}" if able and source.roles else ""
    )
    or_all = "" if named else "; leave split out (None) to read all samples"
    return RequestError(
        "invalid-argument", f"split {escaped(split)} does not exist; splits are: {there}{or_all}{or_field}"
    )


def _may_name_splits(field: Field) -> bool:
    """Whether the values of a field may be splits: few texts or whole numbers, and no rate."""
    return field.name != "sample_rate" and (field.kind in ("category", "boolean") or "int" in field.dtype)
