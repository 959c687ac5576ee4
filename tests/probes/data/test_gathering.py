"""Samples of a file each, looked at together: every check says what it says of them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.checks.base import Context
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.gathering import MOST, together
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.tables import field_of
from tests.checks.looking import new


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
    checks = new(context)
    for block in looked_at:
        for check in checks.values():
            if check.applies():
                check.see(block)
    facts = Facts(tuple(fact for c in checks.values() if c.applies() for fact in c.facts()))
    found = [rounded(f.to_json()) for c in checks.values() if c.applies() for f in c.judge(facts)]
    return {"facts": [rounded(fact.to_json()) for fact in facts], "findings": found}


def rounded(value: Any) -> Any:
    """Sums of floats depend on their order in the last digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if abs(value) > 1e-12 else 0.0
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return [rounded(v) for v in value] if isinstance(value, list | tuple) else value


ODD = st.sampled_from(["", "", "", "", "nan", "constant", "copy", "shape", "dtype", "missing", "null", "unreadable"])


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


def test_alike_samples_become_few_blocks() -> None:
    """Our promise: whole runs of alike samples are looked at together, up to a number of them."""
    made = list(together(blocks(0, [""] * 200)))
    assert [b.samples for b in made] == [MOST, MOST, 140 - 2 * MOST, 60]
    assert [b.file(b.samples - 1) for b in made] == [f"folder/{i:03d}.npz" for i in (63, 127, 139, 199)]
