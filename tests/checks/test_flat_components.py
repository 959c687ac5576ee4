"""Components of an array that never change, of the samples that were read."""

from __future__ import annotations

import numpy as np
import pytest

from dataloader_expert.checks.series.flat_components import CHECK
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of


@pytest.mark.parametrize(("samples", "told"), [(60, "in every sample: "), (900, "in every sample read: ")])
def test_of_what_was_read_alone_no_more_is_said(samples: int, told: str) -> None:
    """Seen: a label of few samples had "the same value in every sample" after a tenth of them was read."""
    data = Data({"x": np.insert(np.random.default_rng(0).normal(0, 1, (60, 5)), 2, 1.5, axis=1)})
    context = context_of(data)
    context.samples = samples
    check = CHECK(context)
    for block in blocks_of(data):
        check.see(block)
    (found,) = check.judge(Facts(tuple(check.facts())))
    assert told in found.message
