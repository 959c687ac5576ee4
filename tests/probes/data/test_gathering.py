"""Samples of a file each, looked at together: every check says what it says of them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.checks.base import Context
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data import gathering
from dataloader_expert.probes.data.gathering import MOST, together
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.table_fields import field_of
from tests.checks.looking import looked


def sample(rng: np.random.Generator, i: int, odd: str) -> dict[str, Column]:
    """One sample's columns; ``odd`` names what is unusual about it."""
    x = rng.normal(size=(1, 6, 5)).astype(np.float32)
    if odd == "nan":
        x[0, 1, 2] = np.nan
    if odd == "constant":
        x[:] = 1.5
    if odd == "copy":
        x[:] = np.arange(30).reshape(6, 5) / 7
    if odd == "shape":
        x = x[:, :4]
    if odd == "dtype":
        x = x.astype(np.float64)
    pixels = rng.integers(0, 256, (12, 9, 3), dtype=np.uint8) if odd != "copy" else np.full((12, 9, 3), 7, np.uint8)
    columns = {"x": x, "image": [Image.fromarray(pixels)], "label": np.array([i % 3])}
    if odd == "missing":
        del columns["image"]
    nulls = {"label": np.array([odd == "null"])} if odd == "null" else {}
    return {name: Column(values, nulls.get(name)) for name, values in columns.items()}


def blocks(seed: int, odds: list[str]) -> list[Block]:
    rng = np.random.default_rng(seed)
    made = []
    for i, odd in enumerate(odds):
        unit = Unit(i, f"folder/{i:03d}.npz", i, 1, 100, "train" if i < 0.7 * len(odds) else "val", None, (), f"key{i}")
        made.append(Block(unit, sample(rng, i, odd)))
    return [block for block, odd in zip(made, odds, strict=True) if odd != "unreadable"]


def said(context: Context, looked_at: list[Block]) -> dict[str, Any]:
    checks = looked(context, looked_at).values()
    facts = Facts(tuple(fact for check in checks for fact in check.facts()))
    found = [rounded(finding.to_json()) for check in checks for finding in check.judge(facts)]
    told = sorted((rounded(fact.to_json()) for fact in facts), key=repr)
    return {"facts": told, "findings": found}


def rounded(value: Any) -> Any:
    """Sums of floats depend on their order in the last digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if abs(value) > 1e-12 else 0.0
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else value


ODD = st.sampled_from(["", "", "", "", "nan", "constant", "copy", "shape", "dtype", "missing", "null", "unreadable"])


@pytest.mark.journey
@settings(max_examples=25)
@given(st.integers(0, 1 << 32), st.lists(ODD, min_size=3, max_size=150))
def test_the_checks_say_the_same(seed: int, odds: list[str]) -> None:
    """Our promise: counts, places and files do not depend on how many samples are looked at together."""
    alone = blocks(seed, ["", *odds])
    fields = tuple(field_of(name, column) for name, column in alone[0].columns.items())
    context = Context(fields, "label", len(odds) + 1, "image", ("train", "val"), None, 0)
    gathered = list(together(blocks(seed, ["", *odds])))
    assert sum(b.samples for b in gathered) == len(alone)
    assert said(context, gathered) == said(context, alone)


@pytest.mark.journey
@pytest.mark.parametrize("odd", ["nan", "constant", "shape", "dtype", "missing"])
def test_odd_samples_that_follow_one_another_are_each_placed(odd: str) -> None:
    """Our promise: they become one block, and each is still a place of its own."""
    odds = [""] * 100 + [odd] * 10 + [""] * 90
    alone = blocks(1, odds)
    fields = tuple(field_of(name, column) for name, column in alone[0].columns.items())
    context = Context(fields, "label", 200, "image", ("train", "val"), None, 0)
    assert said(context, list(together(blocks(1, odds)))) == said(context, alone)


def test_alike_samples_become_few_blocks() -> None:
    """Our promise: whole runs of alike samples are looked at together, up to a number of them."""
    made = list(together(blocks(0, [""] * 200)))
    assert [b.samples for b in made] == [MOST, MOST, 140 - 2 * MOST, 60]
    assert [b.file(b.samples - 1) for b in made] == [f"folder/{i:03d}.npz" for i in (63, 127, 139, 199)]


@settings(max_examples=10)
@given(st.integers(0, 1 << 32), st.integers(1, 200), st.integers(1, 40))
def test_the_parts_of_a_large_block_say_the_same(seed: int, n: int, size: int) -> None:
    """Our promise: a table's counts and places do not depend on how many rows are looked at together."""
    rng = np.random.default_rng(seed)
    words = [None if i == 1 else f"w{i}" for i in rng.integers(0, 5, n).tolist()]
    nulls = np.array([w is None for w in words])
    numbers = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1))
    columns = {"word": Column(words, nulls if nulls.any() else None), "x": Column(numbers), "id": Column(np.arange(n))}
    whole = Block(Unit(0, "rows.parquet", 0, n, 0), columns)
    fields = tuple(field_of(name, column) for name, column in columns.items())
    context = Context(fields, None, n, "tabular", (), None, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "PART", size)
        parts = list(gathering.apart(whole))
    assert [b.unit.start for b in parts] == ([*range(0, n, size)] if n > 2 * size else [0])
    assert said(context, parts) == said(context, [whole])
