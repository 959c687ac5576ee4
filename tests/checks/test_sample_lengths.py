"""How long samples are, against numpy on the same samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.columns.sample_lengths import LENGTHS, SampleLengths
from dataloader_expert.checks.labels.labels import Labels
from dataloader_expert.sources.base import Block, Column, Field, Unit


def block(start: int, columns: dict[str, Any]) -> Block:
    n = len(next(iter(columns.values())))
    return Block(Unit(start, "a", start, n, 1), {name: Column(values) for name, values in columns.items()})


def check(*fields: Field) -> SampleLengths:
    return SampleLengths(Context(fields, None, None, "array", (), None, 0))


AUDIO = Field("audio", "audio", "int16", (None, 1)), Field("sample_rate", "number", "int64", ())
TOKENS = Field("ids", "tokens", "int64", (None,))


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from([8_000, 16_000, 22_050])), min_size=1, max_size=40),
    st.integers(0, 40),
)
def test_recordings_are_told_in_seconds_whatever_their_rates(sounds: list[tuple[int, int]], cut: int) -> None:
    """Our promise: the same of parts that are merged as of the whole."""
    whole, one, two = (check(*AUDIO) for _ in range(3))
    for made, part in ((whole, sounds), (one, sounds[:cut]), (two, sounds[cut:])):
        if part:
            values = [np.zeros((n, 1), np.int16) for n, _ in part]
            made.see(block(0, {"audio": values, "sample_rate": np.array([rate for _, rate in part])}))
    one.merge(two)
    seconds = np.array([n / rate for n, rate in sounds])
    for made in (whole, one):
        [fact] = [f for f in made.facts() if f.quantity is LENGTHS]
        assert fact.value["unit"] == "seconds"
        assert fact.value["total"] == pytest.approx(seconds.sum(), abs=1e-3)
        assert fact.value["median"] == pytest.approx(float(np.median(seconds)), abs=1e-3)
        assert (fact.value["min"], fact.value["max"]) == pytest.approx((seconds.min(), seconds.max()), abs=1e-3)


def test_sequences_are_told_in_items_and_absent_ones_left_out() -> None:
    made = check(TOKENS)
    made.see(block(0, {"ids": [np.arange(n) for n in (1, 2, 9)] + [None]}))
    [fact] = made.facts()
    assert fact.value["unit"] == "items"
    assert (fact.value["median"], fact.value["total"], fact.evidence.seen) == (2.0, 12.0, 3)
    assert not check(Field("x", "number", "int64", ())).applies()


@pytest.mark.parametrize(
    ("shape", "found"), [((80, None), [30, 44, 37]), ((None, 80), None), ((3, None, None), None), ((80, 30), None)]
)
def test_a_sample_is_as_long_as_the_dimension_that_varies(
    shape: tuple[int | None, ...], found: list[int] | None
) -> None:
    """Seen: lengths of spectrograms [80, T] did not vary, so that no sampler saved the padding that was warned of. Boxes and points are as many
    as there are."""
    sizes = [tuple(n if d is None else d for d in shape) for n in (30, 44, 37)]
    values: list[Any] = [np.zeros(size, np.float32) for size in sizes]
    labels = Labels(Context((Field("mel", "array", "float32", shape),), None, None, "array", (), None, 0))
    labels.see(block(0, {"mel": values}))
    assert (None if labels.lengths() is None else labels.lengths().tolist()) == found
