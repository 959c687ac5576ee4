"""What is wrong with arguments is said in words, for one argument and for several that do not go together."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.server.arguments import invalid
from dataloader_expert.tools import check_quality, diagnose_io
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.recommend_batch_spec import Request

MODEL = {"model": "m.py:Net"}
NUMBERS = {
    "cpus": "must be greater than 0",
    "devices": "must be at least 1",
    "loaders": "must be at least 1",
    "step_ms": "must be greater than 0",
    "storage_mb_s": "must be greater than 0",
    "storage_latency_ms": "must be at least 0",
    "num_workers": "must be at least 0",
}
"""The rule of each number of ``what_if``."""


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({**MODEL}, "source is missing; without data, describe what the model is fed in input"),
        ({**MODEL, "source": "d.py:Data", "input": {"x": ["B", 3]}}, "give either source or input, not both"),
        ({"source": "d", "safety_margin": 2}, "safety_margin: must be less than 1; given: 2"),
        ({"source": "d", "batchsize": 2}, "batchsize is not an argument; did you mean batch_size?"),
        ({"source": "d", "columns": "a"}, "columns: must be a list, not a string; given: 'a'"),
        ({"source": "d", "batch_size": 2}, None),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], says: str | None) -> None:
    assert invalid(Request, given) == says


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_inside_an_object_is_checked_like_any_other(name: str) -> None:
    """Our promise: hardware that cannot be is refused in words, without names of the validating library."""
    for value in (-1, *((0,) if "least 0" not in NUMBERS[name] else ())):
        said = invalid(diagnose_io.Request, {"source": "d", "what_if": {name: value}})
        assert said == f"what_if.{name}: {NUMBERS[name]}; given: {value}"


def test_every_number_of_what_if_has_a_rule() -> None:
    assert set(NUMBERS) == set(diagnose_io.WhatIf.model_fields)


@pytest.mark.parametrize(
    ("what_if", "says"),
    [
        ("x", "what_if: must be an object, not a string; given: 'x'"),
        ('{"cpus": 1}', """what_if: must be an object, not a string; given: '{"cpus": 1}'"""),
        ({"cpus": "many"}, "what_if.cpus: must be a number; given: 'many'"),
        ({"cpus": float("inf")}, "what_if.cpus: must be a finite number; given: inf"),
        ({"num_workers": "a"}, "what_if.num_workers: must be a whole number or a list; given: 'a'"),
        ({"num_workers": [1, -2]}, "what_if.num_workers.1: must be at least 0; given: -2"),
        ({"num_workers": [1] * 17}, "what_if.num_workers: 17 numbers of workers are given; give at most 16"),
        ({"devices": 1e300}, "what_if: a number is too large: the largest is 1,000,000,000,000,000"),
        ({"cpu": 1}, "what_if.cpu is not known; did you mean cpus?"),
        ({"cpus": 2.5, "num_workers": [0, 2]}, None),
    ],
)
def test_what_is_wrong_inside_an_object_is_said(what_if: Any, says: str | None) -> None:
    assert invalid(diagnose_io.Request, {"source": "d", "what_if": what_if}) == says


@pytest.mark.parametrize("tool", sorted(all_tools()))
def test_all_that_is_wrong_is_said_at_once(tool: str) -> None:
    """Our promise: one round trip shows every mistake."""
    request = all_tools()[tool].request
    said = invalid(request, {"source": "d", "labels": "y", "budget_s": -1, "seed": 10**400, "source_args": '{"n": 1}'})
    assert said == (
        "labels is not an argument; did you mean label? source_args: must be an object, not a string; given: "
        """'{"n": 1}'. budget_s: must be greater than 0; given: -1. """
        "seed: a number is too large: the largest is 1,000,000,000,000,000"
    )


def test_an_argument_given_under_another_name_is_not_called_missing_too() -> None:
    said = invalid(diagnose_io.Request, {"soruce": "d"})
    assert said == "soruce is not an argument; did you mean source?"
    assert invalid(Request, {**MODEL, "sorce": "d"}) == "sorce is not an argument; did you mean source?"


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("duplicates", ["duplicate-files", "duplicate-samples", "duplicate-keys", "near-duplicates"]),
        ("near_duplicates", ["near-duplicates"]),
        ("duplicate-smaples", ["duplicate-samples"]),
        ("imbalance", ["severe-imbalance"]),
        ("nans", ["nan"]),
    ],
)
def test_an_unknown_check_leads_to_those_of_its_words(code: str, meant: list[str]) -> None:
    said = invalid(check_quality.Request, {"source": "d", "checks": [code]}) or ""
    assert f"{code} is not a check; did you mean " in said
    assert all(other in said for other in meant)


def test_a_search_that_is_left_out_is_not_asked_for() -> None:
    """Seen: passed, since no near duplicate was found, though none was looked for."""
    near = {"source": "d", "checks": ["nan", "near-duplicates"]}
    assert "remove one of them" in (invalid(check_quality.Request, {**near, "near_duplicates": False}) or "")
    assert invalid(check_quality.Request, near) is None


def test_known_checks_are_listed_once() -> None:
    said = invalid(check_quality.Request, {"source": "d", "checks": ["xyzzy"]}) or ""
    listed = said.split("known are ")[1].split(", ")
    assert len(listed) == len(set(listed)) > 50
