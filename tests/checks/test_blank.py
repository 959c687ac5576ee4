"""Samples of one value throughout equal no other, in whatever fields the others vary."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged


def test_arrays_side_by_side_of_which_none_is_constant() -> None:
    rng = np.random.default_rng()
    x, z = rng.normal(0, 1, (60, 8, 8)), rng.normal(0, 1, (60, 5, 4))
    x[7], z[7] = x[3], z[3]
    assert judged("duplicates", Data({"x": x, "z": z}))["duplicate-samples"].count == 1


def test_what_is_constant_in_all_fields_is_no_copy() -> None:
    rng = np.random.default_rng()
    x, z = rng.normal(0, 1, (60, 8, 8)), rng.normal(0, 1, (60, 5, 4))
    x[40:], z[40:] = 0, 0
    assert judged("duplicates", Data({"x": x, "z": z})) == {}
    z[40:] = z[0]  # one of both varies
    assert judged("duplicates", Data({"x": x, "z": z}))["duplicate-samples"].count == 19
