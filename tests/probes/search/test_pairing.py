"""How many pairs of blocks a gain needs."""

from __future__ import annotations

import math
import random

import pytest

from dataloader_expert.probes.search.pairing import Paired, compare
from dataloader_expert.probes.search.proving import surpasses
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, PAIRS


def pairs_until_enough(draw: random.Random, gain: float, noise: float, most: int) -> list[float]:
    rates = {True: lambda: gain * draw.lognormvariate(0, noise), False: lambda: 1.0}
    return compare(rates[True], rates[False], PAIRS, math.inf, most).ratios


def shown(ratios: list[float]) -> bool:
    return Paired(ratios).shown


def test_a_gain_beyond_doubt_ends_it_at_once() -> None:
    assert len(pairs_until_enough(random.Random(0), 3.0, 0.02, 100)) == LEAST_PAIRS


def test_what_gains_nothing_gets_no_more_than_planned() -> None:
    for seed in range(50):
        ratios = pairs_until_enough(random.Random(seed), 0.9, 0.05, 100)
        assert len(ratios) == PAIRS


def test_a_gain_that_noise_hides_gets_more_pairs_and_is_found() -> None:
    draws = [pairs_until_enough(random.Random(seed), 1.3, 0.25, 60) for seed in range(50)]
    early = [shown(d[:PAIRS]) for d in draws]
    late = [shown(d) for d in draws]
    assert sum(early) < 25 < 45 <= sum(late)


def test_the_planned_pairs_are_all_where_there_is_no_room() -> None:
    for seed in range(50):
        assert LEAST_PAIRS <= len(pairs_until_enough(random.Random(seed), 1.3, 0.25, 0)) <= PAIRS


@pytest.mark.parametrize("gain", [1.0, 1.03])
def test_looking_again_sells_no_noise(gain: float) -> None:
    """Of two hundred searches in which nothing worth a change is to be gained, next to none finds something."""
    found = [shown(pairs_until_enough(random.Random(s), gain, 0.1, 60)) for s in range(200)]
    assert sum(found) <= 4


def test_settings_are_told_apart_where_each_round_says_so() -> None:
    assert surpasses([107.0, 106.0, 108.0], [100.0, 101.0, 99.0])
    assert not surpasses([115.0, 98.0, 108.0], [100.0, 101.0, 99.0])
    assert not surpasses([115.0, 113.0, 114.0], [114.0, 113.0, 60.0])  # one round, as the machine was busy
    assert not surpasses([102.0, 102.0, 102.0], [100.0, 100.0, 100.0])


def test_of_two_settings_that_are_alike_noise_seldom_chooses_the_dearer() -> None:
    draw = random.Random(0)
    chosen = [surpasses(*([draw.lognormvariate(0, 0.05) for _ in range(3)] for _ in range(2))) for _ in range(2000)]
    assert sum(chosen) / 2000 < 0.15
