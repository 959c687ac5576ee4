"""A mark that is set or not, and else missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.conclusions import Finding
from tests.checks.looking import Data, judged

N = 120


def judged_flag(values: list[Any]) -> dict[str, Finding]:
    """What is found in a table with a field of these values, None where there is none."""
    held = values if str in map(type, values) else np.array([v or 0 for v in values])
    columns = {"x": np.arange(N) / 7, "validation": held}
    return judged("statistics", Data(columns, nulls={"validation": [v is None for v in values]}))


@pytest.mark.parametrize("value", [True, "yes", 1])
def test_a_mark_that_is_missing_where_it_is_not_set_is_an_info(value: object) -> None:
    """Seen: 'validation' was True in a tenth of the rows and blank in the others, which a warning told."""
    values = [value if i % 10 == 0 else None for i in range(N)]
    found = judged_flag(values)
    assert found["missing-values"].severity == "info" and "either set or left empty" in found["missing-values"].fix


@pytest.mark.parametrize("value", [True, "yes", 1])
def test_a_flag_that_is_mostly_set_is_not_left_out_as_well(value: object) -> None:
    """Seen: a flag of 1 or nothing was to be left out, and its missing values to be read as no."""
    values = [None if i % 4 == 0 else value for i in range(N)]
    found = judged_flag(values)
    assert "constant-field" not in found and "either set or left empty" in found["missing-values"].fix


def test_what_few_samples_lack_of_one_value_is_not_told_as_in_every_sample() -> None:
    """Our promise: a statement on all samples holds for all."""
    columns = {"x": np.arange(N) / 7, "gain": np.full(N, 2.5)}
    found = judged("statistics", Data(columns, nulls={"gain": [i % 20 == 0 for i in range(N)]}))
    assert found["constant-field"].message == "gain is 2.5 in every sample that has one"
    assert found["missing-values"].severity == "info" and "leave gain out" in found["missing-values"].fix
