"""Values of kept rows: each different one is made a text once, which must not show."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.rows_kept import Named, distinct, texts_of
from dataloader_expert.sources.base import Column

TEXTS = st.sampled_from(["a", "b", "", "None", "a longer name " * 8])


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """Numbers, texts, or coded texts, some of them missing."""
    n = draw(st.integers(1, 30))
    nulls = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))) if draw(st.booleans()) else None
    kind = draw(st.sampled_from(["float", "int", "bool", "list", "coded"]))
    if kind == "list":
        return Column(draw(st.lists(TEXTS, min_size=n, max_size=n)), nulls)
    if kind == "coded":
        names: list[str | None] = ["a", "never", "c"]
        codes = np.array(draw(st.lists(st.sampled_from([0, 2]), min_size=n, max_size=n)))
        return Column([names[k] for k in codes], nulls, coded=(codes, names))
    values: Any = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    return Column(np.array(values).astype(kind), nulls)


@given(columns(), st.randoms(use_true_random=False))
def test_values_made_once_are_those_made_row_by_row(column: Column, random: Any) -> None:
    rows = np.array(sorted(random.sample(range(len(column)), random.randint(1, len(column)))))
    texts, codes = distinct(column, rows, 80)
    assert [texts[code] for code in codes] == texts_of(column, rows, 80)
    named = Named(100)
    digests = named.of(column, rows)
    assert [named.texts[digest] for digest in digests.tolist()] == texts_of(column, rows, 80)
    assert set(named.texts.values()) == set(texts_of(column, rows, 80))


def test_too_many_values_are_no_category() -> None:
    named, whole = Named(3), Named(3, whole=True)
    column, rows = Column(np.arange(10.0)), np.arange(10)
    for one in (named, whole):
        one.of(column, rows)
        assert one.many and not one.texts
    assert not named.of(column, rows).any()
    assert len(set(whole.of(column, rows).tolist())) == 10
