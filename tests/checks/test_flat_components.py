"""What never changes, of the samples that were read."""

from __future__ import annotations

import numpy as np
import pytest

from dataloader_expert.checks.columns.statistics import CHECK as STATISTICS
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


@pytest.mark.parametrize(("samples", "severity"), [(60, "warning"), (900, "info"), (None, "info")])
def test_one_value_in_a_few_of_many_samples_is_no_warning(samples: int | None, severity: str) -> None:
    """Seen: a click that three in a hundred samples have was "a field that never changes", after sixteen were read."""
    data = Data({"price": np.random.default_rng(0).normal(0, 1, 60), "clicked": np.zeros(60)})
    context = context_of(data)
    context.samples = samples
    check = STATISTICS(context)
    for block in blocks_of(data):
        check.see(block)
    told = [found for found in check.judge(Facts(tuple(check.facts()))) if found.code == "constant-field"]
    assert [found.severity for found in told] == [severity]
