"""Duplicates of more samples than are held in memory: found as those of fewer are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.base import new_checks
from dataloader_expert.checks.duplicates import duplicates, near_rows
from dataloader_expert.checks.duplicates.pairs import DUPLICATES
from dataloader_expert.checks.duplicates.spilling import PARTS, Rows, Spill, at_once
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of


def found(data: Data, held: int, hands: int) -> dict[str, Any]:
    """What both checks say of data that is dealt to some instances, each holding so many samples."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (duplicates, near_rows):
            patch.setattr(module, "HELD", held)
        patch.setattr(duplicates, "MOST_LABELS", 50)
        parts = [new_checks(context_of(data)) for _ in range(hands)]
        for i, block in enumerate(blocks_of(data)):
            for name in ("duplicates", "near_rows"):
                parts[i % hands][name].see(block)
        said = {}
        for name in ("duplicates", "near_rows"):
            for part in parts[1:]:
                parts[0][name].merge(part[name])
            said[name] = [fact.to_json() for fact in parts[0][name].facts()]
        return said


@st.composite
def tables(draw: st.DrawFn) -> Data:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    n = draw(st.integers(1, 120))
    pool = rng.normal(size=(max(1, n // draw(st.integers(1, 4))), 3))
    rows = pool[rng.integers(0, len(pool), n)]
    rows = rows * np.where(rng.random((n, 3)) < 0.1, 1 + 1e-6, 1)  # near copies too
    splits = rng.choice(["train", "val", "test"][: draw(st.integers(1, 3))], n).tolist()
    label = rng.integers(0, 3, n)
    return Data({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "label": label}, "label", splits)


LIKE_LABELS = Data({"a": np.array([0.1, 0.2]), "label": np.array([2, 2])}, "label", ["val", "train"])
"""Two contents, spilled to two parts, that have one label."""


@pytest.mark.journey
@settings(max_examples=12)
@example(LIKE_LABELS, 1, 1)
@given(tables(), st.integers(1, 40), st.integers(1, 3))
def test_what_is_spilled_is_found_all_the_same(data: Data, held: int, hands: int) -> None:
    """Our promise: counts and places do not depend on how many samples memory holds, nor on who looked at them."""
    assert found(data, held, hands) == found(data, 1 << 20, 1)


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=200), st.integers(1, 100))
def test_every_row_comes_back_once(keys: list[int], most: int) -> None:
    """Our promise: a file of rows gives each back, with all others of its key, and as many at a time as memory may hold."""
    n = len(keys)
    key = np.array(keys, np.uint64)
    rows = Rows(key, key + np.uint64(1), key ^ np.uint64(5), np.arange(n).astype(np.int16), np.arange(n))
    spill = Spill.of(rows)
    try:
        runs = at_once([spill], most)
        parts = [spill.read(*run) for run in runs]
    finally:
        spill.remove()
    assert [part for first, last in runs for part in range(first, last + 1)] == list(range(PARTS))
    for (first, last), p in zip(runs, parts, strict=True):
        assert (p.key >> np.uint64(56) >= first).all()
        assert (p.key >> np.uint64(56) <= last).all()
        assert len(p) <= most or first == last
    back = Rows.joined(parts)
    order = np.argsort(back.index)
    for name in ("key", "digest", "label", "split", "index"):
        assert (getattr(back, name)[order] == getattr(rows, name)).all()


def test_counts_are_those_of_a_dictionary() -> None:
    """Our promise: groups, copies, overlaps and conflicts are what a plain count finds."""
    rng = np.random.default_rng()
    n = 3000
    x = rng.integers(0, 1800, n)
    splits = rng.choice(["train", "val", "test"], n).tolist()
    label = rng.integers(0, 2, n)
    data = Data({"x": x.astype(float) + 0.5, "y": -x.astype(float), "label": label}, "label", sorted(splits))
    facts = Facts(tuple(_facts(data)))
    value = facts.value(DUPLICATES)
    groups: dict[int, list[int]] = {}
    for i, v in enumerate(x.tolist()):
        groups.setdefault(v, []).append(i)
    many = [g for g in groups.values() if len(g) > 1]
    ordered = sorted(splits)
    crossing = [g for g in many if len({ordered[i] for i in g}) > 1]
    assert value["groups"] == len(many)
    assert value["extra"] == sum(len(g) - 1 for g in many)
    assert value["cross_split"] == len(crossing)
    assert value["conflicts"] == sum(len({int(label[i]) for i in g}) > 1 for g in many)
    pairs = {tuple(p["splits"]): p["count"] for p in value["by_pair"]}
    for a, b in (("train", "val"), ("train", "test"), ("test", "val")):
        assert pairs[a, b] == sum({a, b} <= {ordered[i] for i in g} for g in many)
    assert value["shared"] == {s: sum(ordered[i] == s for g in crossing for i in g) for s in ("test", "train", "val")}


def _facts(data: Data) -> Any:
    checks = new_checks(context_of(data))
    for block in blocks_of(data):
        checks["duplicates"].see(block)
    return checks["duplicates"].facts()
