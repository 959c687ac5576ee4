"""Equal samples with several values of a quantity are observations; with several classes they contradict each other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from dataloader_expert.checks.labels.quantities import quantities
from dataloader_expert.conclusions import Finding
from tests.checks.looking import Data, judged


def rents(price: Any, splits: list[str] | str = "") -> dict[str, Finding]:
    """Flats of which many were let several times: sizes are so fine that no two flats are equal by chance."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    rooms, flat = rng.integers(1, 6, 1200), rng.integers(0, 1200, 2500)
    size, floor = rooms * 25 + rng.normal(0, 3, 1200), rng.integers(0, 6, 1200)
    data = {"rooms": rooms[flat], "size": size[flat], "floor": floor[flat]}
    return judged("duplicates", Data(data | {"price": price(rooms[flat], rng)}, "price", splits=splits))


def test_equal_rows_with_other_prices_are_no_copies() -> None:
    """Our promise: of a regression nothing is to be decided, and nothing to be dropped."""
    told = rents(lambda rooms, rng: rooms * 310.0 + rng.normal(0, 60, len(rooms)), ["train"] * 2000 + ["test"] * 500)
    assert {code: f.severity for code, f in told.items()} == dict.fromkeys(
        ("duplicate-samples", "splits-overlap", "label-conflict"), "info"
    )


def test_equal_rows_with_the_same_price_are() -> None:
    told = rents(lambda rooms, rng: rooms * 310.0)
    assert told["duplicate-samples"].severity == "warning" and "label-conflict" not in told


def test_copies_among_observations_are_told_alone() -> None:
    """Our promise: seven rows copied with their price, among hundreds that are equal but for it."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    rooms = np.concatenate([r := rng.integers(1, 6, 2500), r[:7]])
    size = rooms * 25
    price = np.concatenate([p := 310 * r + rng.normal(0, 60, 2500), p[:7]])
    told = judged("duplicates", Data({"rooms": rooms, "size": size, "price": price}, "price"))
    assert (told["duplicate-samples"].severity, told["duplicate-samples"].count) == ("warning", 7)
    assert "ignoring" not in told["duplicate-samples"].message
    assert told["label-conflict"].severity == "info"


def test_counts_are_no_classes() -> None:
    """Seen: rentals an hour, from 0 to hundreds and most often few, were classes of which many lacked in a split."""
    hours = {k: 1 + 125 // (1 + k) for k in range(400)}
    assert quantities("count", hours) and quantities("count", {0: 90, 1: 50, 2: 9}) and quantities("units_cnt", hours)
    assert not quantities("label", hours)


def test_classes_contradict_each_other() -> None:
    told = rents(lambda rooms, rng: rng.integers(0, 2, len(rooms)))
    assert told["label-conflict"].severity == "warning"


def test_a_misspelt_label_is_no_class() -> None:
    """Our promise: it is told once, and neither as a rare class nor as one that the test split lacks."""
    labels = ["negative", "positive"] * 400 + ["negitive"] * 3
    splits = ["train"] * 600 + ["test"] * 200 + ["train"] * 3
    told = judged("classes", Data({"x": np.arange(803.0), "label": labels}, "label", splits=splits))
    assert set(told) == {"label-twins"}


def test_copies_in_a_split_without_labels_are_copies() -> None:
    """Our promise: a row without a price agrees with any; a test split that withholds it hides no overlap."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    x, price = rng.normal(0, 1, 400), rng.normal(100, 9, 400)
    data = {"x": np.concatenate([x, x[:3], x[:50]]), "price": np.concatenate([price, price[:3], np.full(50, np.nan)])}
    told = judged("duplicates", Data(data, "price", splits=["train"] * 403 + ["test"] * 50))
    assert (told["splits-overlap"].severity, told["splits-overlap"].count) == ("error", 50)
    assert told["duplicate-samples"].count == 53


def test_rounded_prices_agree_now_and_then() -> None:
    """Our promise: flats that are equal and cost the same to ten are still two flats."""
    told = rents(lambda rooms, rng: np.round(rooms * 310.0 + rng.normal(0, 250, len(rooms)), -1))
    assert told["duplicate-samples"].severity == "info" and "most differ in price" in told["duplicate-samples"].message


def test_stars_for_things_of_any_name_are_no_classes() -> None:
    """Seen: stars that climbers gave routes were 12:1, and the set failed for want of a strategy."""
    rng = np.random.default_rng(3)
    who, what = rng.integers(0, 90, 1500) + 4000, rng.integers(0, 120, 1500) + 700
    stars = rng.choice(5, 1500, p=[0.02, 0.08, 0.3, 0.4, 0.2]) + 1
    columns = {"climber_id": who, "route_id": what, "stars": stars}
    assert judged("classes", Data(columns, "stars")) == {}
    assert "severe-imbalance" in judged("classes", Data({"age": who, "image_id": what, "stars": stars}, "stars"))
