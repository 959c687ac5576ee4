"""Two numbers or times that are swapped in a few rows, and what only looks like it."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.checks.looking import Data, judged


def test_a_number_that_stands_for_a_missing_one_is_not_swapped() -> None:
    """Our promise: 9999 years of employment beside an income of 9,730 is a missing value."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    income, years = rng.lognormal(10.6, 0.5, 4000).round(), rng.integers(0, 40, 4000).astype(float)
    years[rng.choice(4000, 60, replace=False)] = 9999
    low = np.flatnonzero(years == 9999)[:3]
    income[low] = [7430, 9730, 8120]
    data = {"income": income, "employment_years": years}
    assert "order-reversed" not in judged("relations", Data(data))
    years[years == 9999] = 7
    usual = np.flatnonzero(abs(np.log(income) - 10.6) < 0.6)  # an extreme one has no usual range
    swapped = rng.choice(usual, 12, replace=False)
    income[swapped], years[swapped] = years[swapped], income[swapped]
    assert judged("relations", Data(data))["order-reversed"].count == 12


def _told(seconds: np.ndarray) -> list[str]:
    return [datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%d %H:%M:%S") for t in seconds.tolist()]


def test_votes_for_and_against_are_not_swapped() -> None:
    """Our promise: two counts of few values have no ranges of their own, whichever is the larger."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    up, down = rng.choice([2, 3, 4], 400), rng.choice([0, 1], 400, p=[0.8, 0.2])
    lost = rng.choice(400, 30, replace=False)
    up[lost], down[lost] = rng.choice([0, 1], 30), 2
    assert "order-reversed" not in judged("relations", Data({"up_votes": up, "down_votes": down}))


def test_what_ends_before_it_begins_is_told() -> None:
    """Our promise: whatever the two times are called, and whether they are texts or not."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    begins = 1.6e9 + rng.random(3000) * 3e7
    ends = begins + 60 * rng.lognormal(3, 0.6, 3000)
    swapped = rng.choice(3000, 12, replace=False)
    begins[swapped], ends[swapped] = ends[swapped], begins[swapped]
    kinds = {"admittime": "time", "dischtime": "time"}
    found = judged("relations", Data({"admittime": begins, "dischtime": ends}, kinds=kinds))["order-reversed"]
    assert found.count == 12
    assert "dischtime is earlier than admittime" in found.message
    found = judged("relations", Data({"pickup": _told(begins), "dropoff": _told(ends)}))["order-reversed"]
    assert found.count == 12
    assert {place["sample"] for place in found.where} <= set(swapped.tolist())


@pytest.mark.parametrize("names", [("started_at", "ended_at"), ("t_on", "t_off")])
def test_a_part_that_ends_before_it_begins_throughout_is_told(names: tuple[str, str]) -> None:
    """Seen: the trips of one month's file, a fifth of all, each end before they start."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    begins = 1.6e9 + rng.random(1000) * 3e7
    ends = begins + 60 * rng.lognormal(3, 0.6, 1000)
    test = np.arange(1000) >= 800
    first, second = np.where(test, ends, begins), np.where(test, begins, ends)
    splits = ["train"] * 800 + ["test"] * 200
    data = Data({names[0]: _told(first), names[1]: _told(second)}, splits=splits)
    assert judged("relations", data)["order-reversed"].message.endswith("later in all others: those in test")


def test_what_now_and_then_comes_first_is_no_swap() -> None:
    """Our promise: reviews of a film that a preview showed are days early, not years; two times of their own have no order."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    released = 1.5e9 + rng.random(3000) * 1e8
    reviewed = released + 86400 * rng.gamma(2, 300, 3000)
    early = rng.choice(3000, 60, replace=False)
    reviewed[early] = released[early] - 86400 * rng.uniform(1, 9, 60)
    assert "order-reversed" not in judged("relations", Data({"release": _told(released), "review": _told(reviewed)}))
    rng.shuffle(reviewed)
    assert "order-reversed" not in judged("relations", Data({"release": _told(released), "review": _told(reviewed)}))


@pytest.mark.parametrize("seed", [46, 157, 230])
def test_series_that_cross_are_not_swapped(seed: int) -> None:
    """Seen: temperature and humidity of a sensor that drifts until each has the other's usual range were an error."""
    rng = np.random.default_rng(seed)
    one, other = (np.concatenate([at + np.cumsum(rng.normal(0, 0.3, 1500)) for _ in range(4)]) for at in (20, 50))
    assert "order-reversed" not in judged("relations", Data({"temp": one, "hum": other}))


@pytest.mark.parametrize(("lon", "told"), [(10.0, True), (40.0, False)])
def test_latitudes_of_another_region_are_swapped_too(lon: float, told: bool) -> None:
    """Seen: in one region, whose latitudes no other has, the two were swapped, and only outliers were noted."""
    rng = np.random.default_rng(4)
    lat, lon_ = 47 + rng.uniform(0, 2, 300), lon + rng.uniform(0, 5, 300)
    lat[:40] -= 1.5
    lat[:40], lon_[:40] = lon_[:40].copy() - 2, lat[:40].copy()
    found = judged("relations", Data({"lat": lat, "lon": lon_}))
    assert ("order-reversed" in found and found["order-reversed"].count == 40) is told


@pytest.mark.parametrize(
    ("names", "told"),
    [(("ordered_at", "delivered_at"), True), (("birth_date", "date_of_death"), True), (("seen", "paid"), False)],
)
def test_what_cannot_come_first_by_its_name_is_told_however_close_it_is(names: tuple[str, str], told: bool) -> None:
    """Our promise: a parcel that was delivered two days before it was ordered, where most take a week."""
    rng = np.random.default_rng(13)
    first = 1.6e9 + (rng.random(2000) * 300).round() * 86_400
    later = first + rng.integers(4, 12, 2000) * 86_400
    early = rng.choice(2000, 20, replace=False)
    later[early] = first[early] - 86_400 * 2
    data = Data(dict(zip(names, (first, later), strict=True)), kinds=dict.fromkeys(names, "time"))
    found = judged("relations", data)
    assert (found["order-reversed"].count == 20) if told else found == {}


def test_a_day_is_not_earlier_than_an_hour_of_it() -> None:
    """Our promise: where only the day of delivery is known, it begins before the order of that morning."""
    rng = np.random.default_rng(14)
    first = 1.6e9 + rng.random(2000) * 3e7
    later = (first // 86_400 + rng.integers(0, 5, 2000)) * 86_400
    names = ("ordered_at", "delivered_on")
    data = Data(dict(zip(names, (first, later), strict=True)), kinds=dict.fromkeys(names, "time"))
    assert judged("relations", data) == {}


def test_days_and_months_are_read_as_those_that_allow_one_order() -> None:
    """Seen: of European dates only those with a day beyond the twelfth were compared."""
    rng = np.random.default_rng(15)
    first = 1.6e9 + rng.random(900) * 3e7
    later = first + 86_400 * rng.integers(3, 9, 900)
    later[:300:10] = first[:300:10] - 86_400 * 4
    texts = [[datetime.fromtimestamp(t, UTC).strftime("%d.%m.%Y") for t in times] for times in (first, later)]
    found = judged("relations", Data(dict(zip(("order_date", "delivery_date"), texts, strict=True))))
    assert found["order-reversed"].message.startswith("delivery_date is earlier than order_date in 30 of 900 samples")


def test_one_row_in_sixteen_may_be_swapped() -> None:
    """Seen: weights of a cheese before and after, whose ranges meet, were swapped in 6 % of the rows, and only fewer were told."""
    rng = np.random.default_rng(8)
    before = rng.normal(36.5, 1.3, 1200)
    after = before - rng.normal(3.6, 0.5, 1200)
    odd = np.arange(1200) % 16 == 3
    found = judged("broken_rules", Data({"fresh": np.where(odd, after, before), "ripe": np.where(odd, before, after)}))
    assert found["order-reversed"].count == 75
    loss = rng.normal(1, 0.6, 1200)  # most, not all, lose weight
    assert judged("broken_rules", Data({"fresh": before, "ripe": before - loss})) == {}
