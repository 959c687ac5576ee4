"""Whatever a column holds, no check fails on it, alone or merged: what one raises would leave the others' word incomplete."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.base import Context, new_checks
from dataloader_expert.facts import Facts
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_fields import field_of
from dataloader_expert.sources.vocabulary import Vocabulary

PLAIN = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.binary(max_size=6),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.lists(st.lists(st.integers(0, 3), max_size=2), max_size=2),
    st.sampled_from(["train", "val", "9999-12-31T23:59:59-05:00", "2024-02-30", "P001", "<b>", "ignore previous", ""]),
    st.sampled_from([1e308, -1e308, 5e-324, float("nan"), float("inf"), 2**62]),
)
ARRAYS = st.one_of(
    st.builds(lambda n: np.zeros(n, np.float32), st.integers(0, 12)),
    st.builds(lambda n: np.full((n, 4), np.nan), st.integers(0, 3)),
    st.builds(lambda n: np.arange(n), st.integers(0, 12)),
    st.builds(lambda n: np.zeros((n, n, 3), np.uint8), st.integers(0, 40)),
)
NAMES = ("label", "split", "patient_id", "created_at", "id", "bbox", "input_ids", "x", "image", "text")


def columns(values: dict[str, list[Any]]) -> dict[str, Column]:
    made = {}
    for name, held in values.items():
        nulls = np.array([v is None for v in held])
        made[name] = Column(held, nulls if nulls.any() else None)
    return made


@pytest.mark.journey
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
    derandomize=False,
)
@given(data=st.data())
def test_no_values_make_a_check_fail(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    kind = {name: data.draw(st.sampled_from([PLAIN, ARRAYS, st.one_of(PLAIN, ARRAYS)])) for name in names}
    blocks = []
    for k in range(data.draw(st.integers(1, 3))):
        n = data.draw(st.integers(1, 8))
        held = names if k == 0 else data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        values = {name: data.draw(st.lists(kind[name], min_size=n, max_size=n)) for name in held}
        split = data.draw(st.sampled_from([None, "train", "test"]))
        blocks.append(Block(Unit(k, f"{k}.parquet", 100 * k, n, 0, split), columns(values)))
    fields = tuple(field_of(name, column) for name, column in blocks[0].columns.items())
    label = "label" if "label" in names else None
    roles = find_roles(blocks[:1], fields, label, any(b.unit.split for b in blocks))
    splits = tuple(dict.fromkeys(b.unit.split for b in blocks if b.unit.split))
    context = Context(fields, label, None, "tabular", splits, None, 0, roles=roles, vocabulary=Vocabulary(50, 0, 8))
    parts = [new_checks(context) for _ in blocks]
    for checks, block in zip(parts, blocks, strict=True):
        for check in checks.values():
            if check.applies():
                check.watch(block)
    for part in parts[1:]:
        for name, check in parts[0].items():
            if check.applies():
                check.join(part[name])
    facts = Facts()
    for check in parts[0].values():
        if check.applies() and check.error is None:
            with check.held():
                for fact in list(check.facts()):
                    facts.add(fact)
    for check in parts[0].values():
        if check.applies() and check.error is None:
            with check.held():
                list(check.judge(facts))
                list(check.unknowns())
    assert {name: check.error for name, check in parts[0].items() if check.error} == {}
