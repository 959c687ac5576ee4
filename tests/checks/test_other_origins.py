"""Samples that are counted from another origin than the others, which is no other scale."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged

DAYS = 2_400_000.5


def times(seed: int, change: float = 0.0, factor: float = 1.0) -> Data:
    """The times of 50 observations of each of 200 stars, those of the last 40 changed."""
    rng = np.random.default_rng(seed)
    made = 58_000 + np.sort(rng.uniform(0, 300, (200, 50)))
    made[160:] = made[160:] * factor + change
    return Data({"time": made}, kinds={"time": "array"})


@pytest.mark.parametrize("seed", range(3))
def test_another_origin_is_told_with_what_lies_between(seed: int) -> None:
    message = judged("sample_scales", times(seed, DAYS))["scale-drift"].message
    assert "vary as much" in message
    told = float(message.split(" about ")[1].split(" more")[0].replace(",", ""))
    assert abs(told - DAYS) < 20


def test_another_scale_is_told_as_such() -> None:
    assert "1e+03 times as large" in judged("sample_scales", times(5, factor=1000))["scale-drift"].message


def test_one_origin_says_nothing() -> None:
    assert judged("sample_scales", times(6)) == {}


def test_a_part_in_another_unit_is_told_among_amplitudes_of_all_sizes() -> None:
    """Seen: two stations were in metres per second and the others in counts, whose amplitudes differ a thousandfold, and nothing was said."""
    rng = np.random.default_rng(3)
    waves = rng.normal(0, 1, (200, 64)) * np.exp(rng.uniform(0, 6, (200, 1)))
    assert judged("sample_scales", Data({"x": waves})) == {}
    small = np.where(np.arange(200)[:, None] % 7 == 0, 1e-8, 1) * waves
    assert judged("sample_scales", Data({"x": small}))["scale-drift"].count == 29


def slices(raw: int, least: tuple[int, ...] = (-1024,)) -> Data:
    """CT slices, some of which hold the scanner's numbers, from 0 on; the least value of each is in its corner."""
    rng = np.random.default_rng(7)
    made = np.where(rng.random((60, 24, 24)) < 0.5, 40, -900) + rng.normal(0, 300, (60, 24, 24))
    made = made.clip(-1000, 2000).round().astype(np.int16)
    made[:, 0, 0] = np.resize(least, 60)
    made[:raw] += 1024
    return Data({"x": made}, kinds={"x": "array"})


def test_slices_without_their_intercept_are_told() -> None:
    """Seen: two of twelve patients in the scanner's numbers beside Hounsfield units, and nothing was said."""
    message = judged("sample_scales", slices(12))["scale-drift"].message
    assert "in 12 of 60 samples are about 1,024 more than in the others" in message


def test_numbers_of_classes_have_no_origin() -> None:
    """Seen: tiles of the coast hold the classes 0 and 1, and those inland 1 and 2, which were to be subtracted from."""
    tiles = np.random.default_rng(4).integers(0, 2, (90, 16, 16)) + (np.arange(90) % 3 == 0)[:, None, None]
    assert judged("sample_scales", Data({"cover": tiles.astype(np.int64)}, kinds={"cover": "array"})) == {}


def test_a_field_that_has_no_name_is_called_a_field() -> None:
    assert (
        "of field 0 in" in judged("sample_scales", Data({"0": times(1, DAYS).columns["time"]}))["scale-drift"].message
    )


@pytest.mark.parametrize("data", [slices(0), slices(0, (-1024, -1001, -1024)), slices(40)])
def test_slices_of_one_origin_are_not(data: Data) -> None:
    """Our promise: another least value alone is no other origin, nor is one that most have."""
    found = judged("sample_scales", data)
    assert all("in 20 of 60" in f.message for f in found.values())
