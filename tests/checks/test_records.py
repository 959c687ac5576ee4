"""Objects within samples whose keys are data: bounded memory, and the same whatever the order of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.files import records
from dataloader_expert.checks.files.records import Records
from dataloader_expert.sources.base import Block, Column, Field, Unit

CONTEXT = Context((Field("of", "other", "dict", ()),), None, None, "array", (), None, 0)


def looked_at(parts: list[list[Any]]) -> Records:
    """One check over all of these, each part by an instance of its own."""
    whole = Records(CONTEXT)
    for start, values in parts:
        part = Records(CONTEXT)
        part.see(Block(Unit(0, f"part{start}", start, len(values), 0, None), {"of": Column(values, None)}))
        whole.merge(part)
    return whole


@pytest.mark.parametrize("seed", range(2))
def test_kinds_are_bounded_and_the_same_in_any_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a hundred thousand keys take no more memory than a few thousand, and no order decides what is seen."""
    monkeypatch.setattr(records, "KEPT", 400)  # of some thousands, so that more come than are kept
    rng = np.random.default_rng(seed)
    rows = [{f"user {i} {k}": {"a": "" if i == 70 else "x", "n": k} for k in range(4)} for i in range(120)]
    blocks = [[i, rows[i : i + 40]] for i in range(0, len(rows), 40)]  # each with more than are kept
    first = looked_at(blocks)
    assert len(first.counts) == len(first.digests) == 400
    assert len(first.where.found) <= 400
    assert list(first.unknowns())
    shuffled = looked_at([blocks[i] for i in rng.permutation(len(blocks))])
    assert first.counts == shuffled.counts
    assert list(first.facts()) == list(shuffled.facts())


def test_a_sample_with_many_odd_values_is_one_place() -> None:
    """Our promise: one bad conversation does not hide the others."""
    rows = [{"turns": ["x"] * 20} for _ in range(60)]
    rows[3], rows[40] = {"turns": ["x"] * 5 + [""] * 15}, {"turns": [""] + ["x"] * 19}
    [fact] = [fact for fact in looked_at([[0, rows]]).facts() if fact.at["value"] == "blank"]
    assert [place["sample"] for place in fact.value["where"]] == [3, 40]
    assert fact.value["count"] == 16
