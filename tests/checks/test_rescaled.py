"""Groups in another unit, told by medians where their numbers overlap; and groups that differ by nature, which are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.columns.rescaled import rescaled_groups
from tests.checks.looking import Data, judged

N = 1800
rng = np.random.default_rng(23)
LAB = np.arange(N) % 6
LABS = [f"lab {k}" for k in LAB]
ODD = LAB == 2
POTENCY = 10 ** rng.normal(3, 1.0, N)
WEIGHT = np.exp(rng.normal(4.3, 0.2, N)) * (1 + 0.01 * LAB)
PRICE = np.exp(rng.normal(12, 0.6, N))
LATENCY = np.exp(rng.normal(4, 0.4, N))


def measured(values: Any, name: str = "x", by: str = "lab", whose: list[str] = LABS, **more: Any) -> Data:
    kinds = {by: "category"} | {key: "category" for key, of in more.items() if isinstance(of, list)}
    return Data({by: whose, name: values, **more}, kinds=kinds)


def where(odd: Any, values: Any, factor: float) -> Any:
    return np.where(odd, values * factor, values)


FLATS = ["parking" if odd else ["flat", "house"][i % 2] for i, odd in enumerate(ODD)]
ADULTS = np.where(ODD, rng.uniform(2, 12, N), rng.uniform(20, 80, N))
PRICES = rng.normal(6, 0.5, N) + np.array([0.4, -0.3, 0.2, 0.3, -0.2, 0.0])[LAB]


def trips(longer: float, dearer: float = 1.0, name: str = "distance_km", both: float = 1.0) -> Data:
    """Trips of three vendors, one of which may have other distances, prices or both."""
    odd = LAB % 3 == 1
    km = np.exp(np.random.default_rng(5).normal(1, 0.5, N)) * np.where(odd, both, 1.0)
    fare = (2.5 + 1.6 * km + np.random.default_rng(6).normal(0, 0.2, N)) * np.where(odd, dearer, 1.0)
    return measured(np.where(odd, km * longer, km), name, "vendor", [f"v{k % 3}" for k in LAB], fare=fare)


SPEAKS = {
    "potencies over decades in another unit at one lab": measured(where(ODD, POTENCY, 1e-3), "ic50_nm"),
    "pounds": measured(where(ODD, WEIGHT, 2.2046), "weight_kg"),
    "pounds at one of three sites": measured(
        where(LAB % 3 == 2, WEIGHT, 2.2046), "weight_kg", "site", [f"site {k % 3}" for k in LAB]
    ),
    "prices in thousands": measured(where(ODD, PRICE, 1e-3), "price", "agency", kind=["flat", "house"] * (N // 2)),
    "square feet": measured(where(ODD, np.exp(rng.normal(4.3, 0.6, N)), 10.764), "area_m2", "agency"),
    "beside rows with other numbers in all groups": measured(
        np.where(np.arange(N) % 23 == 5, 170.0, where(ODD, WEIGHT, 2.2046)), "weight"
    ),
    "seconds of one of several services": measured(where(ODD, LATENCY, 1e-3), "latency_ms", "service"),
    "all rooms of one kind, which is everywhere": measured(
        where(ODD, PRICE, 1e-3), "price", "agency", kind=["flat" if i % 5 else "house" for i in range(N)]
    ),
    "cents at one of several stores, each with articles of its own": measured(
        where(LAB == 3, (np.exp(PRICES) / 100 + 1).round(2), 100.0), "price", "store"
    ),
    "square metres in one of several towns, which has a postcode of its own as all do": measured(
        where(ODD, np.exp(rng.normal(7.5, 0.35, N)), 0.092903),
        "sqft_living",
        "town",
        postcode=[f"98{k}03" for k in LAB],
    ),
    "pounds at two of six": measured(where(LAB % 3 == 1, WEIGHT, 2.2046), "weight_kg"),
    "miles of one of three vendors, told by what trips cost": trips(1 / 1.609),
    "years among months": measured(where(ODD, rng.uniform(30, 200, N), 1 / 12), "age_months", "hospital"),
    "kilowatts at a site that has files of its own, as all do": measured(
        where(ODD, np.exp(rng.normal(7.5, 0.4, N) + LAB * 0.08), 1e-3),
        "power_w",
        "site",
        station=[f"{k}, week {i // 900}" for i, k in enumerate(LAB)],
    ),
    "nitrogen at one of two labs, in each district": measured(
        where(LAB % 3 == 2, np.exp(rng.normal(2.5, 0.5, N)), 1 / 4.4268),
        "nitrate_mg_l",
        "laboratory",
        [f"lab {k % 3 // 2}" for k in LAB],
        district=[["north", "south"][i // 6 % 2] for i in range(N)],
    ),
}
ODD_ROWS = {
    "pounds at one of three sites": N // 3,
    "miles of one of three vendors, told by what trips cost": N // 3,
    "nitrogen at one of two labs, in each district": N // 3,
}
"""Rows of the group, if it is not one of six."""
SILENT = {
    "one of two labs by what is no unit": measured(
        where(LAB % 3 == 2, np.exp(rng.normal(2.5, 0.5, N)), 1 / 3),
        "nitrate_mg_l",
        "laboratory",
        [f"lab {k % 3 // 2}" for k in LAB],
        district=[["north", "south"][i // 6 % 2] for i in range(N)],
    ),
    "two labs of districts of their own": measured(
        where(LAB % 3 == 2, np.exp(rng.normal(2.5, 0.5, N)), 1 / 4.4268),
        "nitrate_mg_l",
        "laboratory",
        [f"lab {k % 3 // 2}" for k in LAB],
        district=[f"district {k % 3 // 2} {i // 900}" for i, k in enumerate(LAB)],
    ),
    "infants at one hospital": measured(where(ODD, rng.uniform(30, 200, N), 1 / 3), "age_months", "hospital"),
    "countries on both sides of the meridian": measured(
        np.where(ODD, 2.0, -3.0) + rng.normal(0, 0.3, N) - LAB, "longitude", "country"
    ),
    "longer trips, which cost more": trips(1.0, both=1.609),
    "cheaper trips": trips(1.0, dearer=1 / 1.609),
    "shorter trips by what is no unit": trips(1 / 1.4),
    "what has no unit of length": trips(1 / 1.609, name="stops"),
    "one unit": measured(POTENCY, "ic50_nm"),
    "groups that all differ": measured(WEIGHT * 2.0**LAB, "weight"),
    "one that is threefold": measured(where(ODD, PRICE, 3.0), "price"),
    "a factor of a unit that the field has not": measured(where(ODD, PRICE, 2.2046), "price"),
    "a group of another kind of rows": measured(where(ODD, PRICE, 1e-2), "price", "agency", kind=FLATS),
    "small things, as another number says": measured(
        where(ODD, POTENCY, 1e-2), "price", "agency", size=where(ODD, POTENCY, 1e-2) * np.exp(rng.normal(0, 0.2, N))
    ),
    "children at one hospital": measured(
        2.5 * ADULTS**0.75 * np.exp(rng.normal(0, 0.1, N)), "weight_kg", "hospital", age=ADULTS
    ),
    "a group that spreads more": measured(
        np.where(ODD, np.exp(rng.normal(4.3 + np.log(2.2046), 0.8, N)), WEIGHT), "weight"
    ),
    "kinds of things of which one is a thousandfold": measured(where(ODD, PRICE, 1e3), "price", "kind"),
    "kinds of things with numbers of their own": measured(
        where(ODD, PRICE, 1e3), "price", "kind", kind_number=[f"n{k}" for k in LAB]
    ),
    "numbers of both signs": measured(rng.normal(0, 1, N)),
    "few rows of a group": measured(where(ODD, WEIGHT, 2.2046)[:120], "weight", "lab", LABS[:120]),
    "two groups": measured(where(LAB % 2 == 1, POTENCY, 1e-3), "ic50_nm", "lab", [f"lab {k % 2}" for k in LAB]),
    "counts of few values": measured(np.where(ODD, 10, 1 + LAB % 2).astype(float), "count"),
}


@pytest.mark.parametrize(("name", "data"), [pytest.param(name, row, id=name) for name, row in SPEAKS.items()])
def test_another_unit_is_told(name: str, data: Data) -> None:
    """Our promise: of all rows of the group, however samples were dealt out."""
    found = judged("mixed_units", data)["scale-drift"]
    assert (found.severity, found.count) == ("warning", int(ODD_ROWS.get(name, N // 6)))


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_groups_that_differ_by_nature_are_not(data: Data) -> None:
    assert [f.message for f in judged("mixed_units", data).values() if f.severity != "info"] == []


SOLD = np.where(np.arange(N) % 5 < 4, "train", "test").tolist()
TRAINED = np.array(SOLD) == "train"


def in_splits(values: Any, name: str) -> Data:
    """Measured at three hospitals, in rows that a column assigns to splits."""
    return measured(values, name, "hospital", [f"h{k % 3}" for k in LAB], split=SOLD)


def test_a_unit_of_one_hospital_in_one_split_is_told_with_both() -> None:
    """Seen: a split that was called preprocessed differently, where one hospital of it had another unit."""
    crea = np.exp(rng.normal(0, 0.4, N))
    odd = (LAB % 3 == 1) & TRAINED
    found = judged("mixed_units", in_splits(np.where(odd, crea * 88.42, crea), "creatinine"))["scale-drift"]
    assert (found.severity, found.count) == ("warning", int(odd.sum()))
    assert "where hospital is h1 in train" in found.message
    drift = judged("drift", in_splits(np.where(odd, crea * 88.42, crea), "creatinine"))["preprocessing-differs"]
    assert "another unit in a part of one split" in drift.message


def test_a_unit_of_a_whole_split_is_not_that_of_a_hospital() -> None:
    crea = np.exp(rng.normal(0, 0.4, N))
    assert judged("mixed_units", in_splits(np.where(TRAINED, crea, crea * 88.42), "creatinine")) == {}


def test_a_hospital_of_its_own_kind_is_so_in_all_splits() -> None:
    years = np.where(LAB % 3 == 1, rng.uniform(2, 12, N), rng.uniform(20, 80, N))
    assert judged("mixed_units", in_splits(years, "age")) == {}


def test_a_run_far_from_all_others_is_named_as_info() -> None:
    """Seen: fluxes among magnitudes in one run. What no known unit explains may be its nature, as thin air on a mountain is."""
    band = rng.normal(18, 1, (N, 4))
    odd = LAB % 4 == 1
    run = [int(k % 4) + 94 for k in LAB]
    found = judged("mixed_units", Data({"run": np.array(run), "mag": np.where(odd[:, None], band**3, band)}))[
        "scale-drift"
    ]
    assert found.severity == "info"
    assert "where run is 95" in found.message


def test_prices_have_no_unit_of_length() -> None:
    """Seen: prices before a split of shares "in feet". Our promise: the factor, and what may multiply a price."""
    since = (LAB == 2) & (np.arange(N) > N // 2)
    closes = np.where(since, 1 / 3.281, 1.0) * (100 + rng.normal(0, 1, N))
    found = judged("mixed_units", measured(closes, "close", "ticker"))["scale-drift"]
    assert "feet" not in found.message
    assert "a factor of 0.30" in found.message
    assert "split of a share, another currency" in found.fix


def test_a_unit_is_named_only_for_what_is_measured_in_it() -> None:
    """Seen: a salt content ten times as large at one dairy "after conversion (m/s² to g)". Our promise: the factor alone."""
    salt = rng.normal(1.45, 0.17, N) * np.where(LAB % 6 == 2, 10, 1)
    found = judged("mixed_units", measured(salt, "salt_pct"))["scale-drift"]
    assert "(a factor of " in found.message
    assert "conversion" not in found.message


def test_natural_groups_hardly_ever_meet_a_factor() -> None:
    """Our promise: groups whose sizes are drawn from a distribution, narrow or wide, are in one unit, in 99 of 100 tables at least."""
    told = 0
    for seed in range(300):
        drawn = np.random.default_rng(seed)
        n = int(drawn.integers(3, 12))
        middles = drawn.normal(0, 10 ** drawn.uniform(-1.5, 0), n)
        whose = np.repeat(np.arange(n), drawn.integers(30, 400, n))
        x = 10 ** (middles[whose] + drawn.normal(0, 10 ** drawn.uniform(-1.5, 0), len(whose)))
        told += any(True for _ in rescaled_groups(x, whose, n, ["weight"]))
    assert told <= 3


def test_a_channel_is_given_no_unit_of_another_field() -> None:
    """Seen: a gyroscope in degrees, told as cholesterol in other units; no name says what a channel measures."""
    draw = np.random.default_rng(8)
    windows = draw.normal(0, 1, (240, 32, 3)) * draw.uniform(0.6, 1.6, (240, 1, 1))
    windows[:80, :, 2] *= 57.3
    told = judged("mixed_units", Data({"x": windows.astype(np.float32)}, kinds={"x": "array"}))["scale-drift"].message
    assert "(a factor of " in told
    assert "mg/dl" not in told


@pytest.mark.parametrize(
    ("name", "factor", "told"), [("length_mm", 10.0, True), ("albumin_g_dl", 10.0, True), ("price", 10.0, False)]
)
def test_a_tenfold_is_another_unit_where_the_name_is_that_of_a_measure(name: str, factor: float, told: bool) -> None:
    """Our promise: centimetres among millimetres; shops may well be ten times as dear."""
    found = judged("mixed_units", measured(where(ODD, WEIGHT, factor), name))
    assert ("divided by 10" in found["scale-drift"].message) == told


def test_degrees_of_a_place_among_places_with_levels_of_their_own() -> None:
    """Seen: one of several motors in degrees Fahrenheit, each with a temperature of its own; a hotter motor is none."""
    level = np.array([39.0, 43.0, 33.0, 43.0, 44.0, 36.0])[LAB]
    heat = level + np.random.default_rng(7).normal(0, 2.5, N)
    found = judged("mixed_units", measured(np.where(LAB == 1, heat * 1.8 + 32, heat), "motor_temp", "device"))
    assert "°F to °C" in found["scale-drift"].message
    found = judged("mixed_units", measured(np.where(LAB == 1, heat + 66, heat), "motor_temp", "device"))
    assert found["scale-drift"].severity == "info" and "another level" in found["scale-drift"].message


def test_numbers_of_things_have_no_unit() -> None:
    """Seen: pictures of a validation split whose cheeses were numbered from 2000 on, four pictures of each, had "another level"."""
    wheels = np.concatenate([np.arange(1000, 1120), np.arange(2000, 2020)]).repeat(4)
    splits = ["train"] * 480 + ["val"] * 80
    taken = {"x": np.random.default_rng(0).normal(0, 1, 560), "label": [f"c{i % 3}" for i in range(560)]}
    assert judged("mixed_units", Data({"wheel": wheels, **taken}, "label", splits)) == {}
    weights = wheels + np.random.default_rng(1).integers(0, 40, 560)
    assert "scale-drift" in judged("mixed_units", Data({"weight": weights, **taken}, "label", splits))
