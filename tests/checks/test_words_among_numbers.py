"""Statistics of a field of numbers are those of its numbers, wherever words stand among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.base import STATISTICS
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of, looked

NUMBERS = st.one_of(st.integers(-1000, 1000), st.floats(-1e3, 1e3), st.booleans())


@given(st.lists(st.one_of(NUMBERS, st.sampled_from(["wide", "n/a", "12"])), min_size=4, max_size=40), st.booleans())
def test_they_are_numpys_of_the_numbers(values: list[Any], sorted_: bool) -> None:
    if sorted_:  # a whole block of words
        values = sorted(values, key=lambda v: isinstance(v, str))
    data = Data({"width": values}, kinds={"width": "number"})
    facts = Facts(tuple(looked(context_of(data), blocks_of(data))["statistics"].facts()))
    numbers = np.array([float(v) for v in values if not isinstance(v, str)])
    found = facts.find(STATISTICS, field="width")
    if not numbers.size:
        assert found is None or not found.value["n"]
        return
    assert found is not None
    assert found.value["n"] == numbers.size
    assert found.value["mean"] == pytest.approx(numbers.mean(), rel=1e-9, abs=1e-9)
    assert found.value["std"] == pytest.approx(numbers.std(), rel=1e-6, abs=1e-6)
