"""Fields whose names differ by one word."""

from __future__ import annotations

from dataloader_expert.checks.base import Context, new_checks
from dataloader_expert.checks.common.name_pairs import pairs_of_names
from dataloader_expert.sources.base import Field


def test_names_that_differ_by_a_word_of_a_pair_are_found() -> None:
    """Our promise: each latitude is with its own longitude, in the order of the fields."""
    names = ["dropoffLon", "pickup_lat", "fare", "pickup_lon", "dropoffLat", "lat"]
    found = pairs_of_names(names, [("lat", "lon"), ("lat", "lng")])
    assert found == [("pickup_lat", "pickup_lon"), ("dropoffLat", "dropoffLon")]


def test_a_table_of_very_many_columns_is_begun_at_once() -> None:
    """Seen: of a digit in 785 columns, each check asked for each of them again which fields are ids, for half a minute."""
    fields = tuple(Field(f"pixel{i}", "number", "int64") for i in range(3_000))
    context = Context(fields, None, 10, "tabular", (), None, 0)
    assert context.identifiers is context.identifiers
    assert new_checks(context)
