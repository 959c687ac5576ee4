"""How well a share is known from bursts of looks at stacks."""

from __future__ import annotations

import math
import random
import statistics

from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.profile.sampling_profiler import Looks, doubt

BURSTS = st.lists(
    st.integers(1, 16).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=40
)


def known(bursts: list[tuple[int, int]]) -> tuple[Looks, Looks]:
    """A stack's looks, and all, of bursts ``(its looks, all looks)``."""
    part, whole = Looks(), Looks()
    for looks, of in bursts:
        part.add(looks, of)
        whole.add(of, of)
    return part, whole


@given(BURSTS)
def test_the_running_sums_give_the_ratio_estimators_variance(bursts: list[tuple[int, int]]) -> None:
    """Cochran 1977, section 3.12: the squared deviations of bursts from the share that all of them give."""
    part, whole = known(bursts)
    share, mean, n = part.looks / whole.looks, whole.looks / len(bursts), len(bursts)
    variance = sum((x - share * of) ** 2 for x, of in bursts) / (n - 1) / n / mean**2
    assert math.isclose(doubt(part, whole, n), 1.96 * math.sqrt(variance), rel_tol=1e-6, abs_tol=1e-6)


def test_looks_that_are_all_alike_in_a_burst_count_as_one() -> None:
    """Our promise: eight looks at one frozen stack are one observation, eight spread over a sample are more than eight."""
    draw = random.Random(0)
    frozen = [(8 * (draw.random() < 0.5), 8) for _ in range(200)]
    apart = [(sum(draw.random() < 0.5 for _ in range(8)), 8) for _ in range(200)]
    across = [(4, 8)] * 200
    of_frozen, of_apart, of_across = (doubt(*known(bursts), 200) for bursts in (frozen, apart, across))
    assert math.isclose(of_frozen, 1.96 * 0.5 / math.sqrt(200), rel_tol=0.1)
    assert math.isclose(of_apart, 1.96 * 0.5 / math.sqrt(1600), rel_tol=0.15)
    assert of_across == 0


def test_the_interval_holds_the_true_share_as_often_as_it_says() -> None:
    """Our promise: 95 %, of bursts in which each look but the first stays where the last was half the time."""
    draw = random.Random(1)
    inside = []
    for _ in range(300):
        bursts = []
        for _ in range(60):
            at, looks = draw.random() < 0.3, 0
            for _ in range(8):
                at = at if draw.random() < 0.5 else draw.random() < 0.3
                looks += at
            bursts.append((looks, 8))
        part, whole = known(bursts)
        inside.append(abs(part.looks / whole.looks - 0.3) <= doubt(part, whole, len(bursts)))
    assert 0.9 <= statistics.mean(inside) <= 0.99
