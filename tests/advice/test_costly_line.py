"""The line that takes most of a sample's time is named where nothing else explains it."""

from __future__ import annotations

import pytest

from dataloader_expert.advice.avoidable import avoidable, costly_line
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.hotspots import LOCKED, SLEEPING, USER_FUNCTIONS
from dataloader_expert.probes.profile.stage import STAGE
from tests.advice.test_epochs import SEEN, facts_of

SPOTS = [
    {"function": "__getitem__", "file": "a/data.py", "line": 9, "inclusive": 0.98, "line_share": 0.97},
    {"function": "scaled", "file": "a/data.py", "line": 30, "inclusive": 0.97, "line_share": 0.9},
    {"function": "helper", "file": "a/data.py", "line": 50, "inclusive": 0.2, "line_share": 0.2},
]
WORK = [{"kind": "copies", "share": 0.9, "places": [], "lines": 0}]


def facts(stage: str, ms: float, work: list[object], wait_ms: float = 0.0) -> Facts:
    spent = {"ms": ms, "wait_ms": wait_ms}
    return facts_of((USER_FUNCTIONS, SPOTS, {}), (AVOIDABLE, work, {}), (STAGE, spent, {"stage": stage}))


def test_the_innermost_line_that_takes_half_of_the_time() -> None:
    (found,) = costly_line(facts("transform", 2.0, []))
    assert (found.code, found.severity) == ("costly-line", "info")
    assert "90% of a sample's time goes to one line of your code, data.py:30 in `scaled`" in found.message
    assert list(found.where) == [{"file": "a/data.py", "line": 30}]
    assert "__init__" in str(found.fix)


def test_what_the_line_calls_is_named_where_it_takes_as_long() -> None:
    """Our promise: a call is no cause; the function that is called, and its costliest line, are."""
    spots = [
        {"function": "__getitem__", "file": "a/data.py", "line": 9, "inclusive": 0.98, "line_share": 0.9},
        {"function": "pieces", "file": "a/words.py", "line": 30, "inclusive": 0.89, "line_share": 0.3},
    ]
    given = facts_of(
        (USER_FUNCTIONS, spots, {}), (AVOIDABLE, [], {}), (STAGE, {"ms": 2.0, "wait_ms": 0.0}, {"stage": "transform"})
    )
    (found,) = costly_line(given)
    assert "89% of a sample's time goes to your function `pieces`, most of it at words.py:30" in found.message
    assert list(found.where) == [{"file": "a/words.py", "line": 30}]


def test_a_line_that_waits_is_not_told_to_compute_less() -> None:
    (found,) = costly_line(facts("unattributed", 20.0, [], wait_ms=19.0))
    assert "is spent waiting at one line of your code" in found.message
    assert "more workers" in str(found.fix) and "__init__" not in str(found.fix)


@pytest.mark.parametrize(
    ("stage", "ms", "work"),
    [("decode", 2.0, []), ("transform", 0.05, []), ("transform", 2.0, WORK)],
    ids=["a stage that says it", "microseconds", "work with a name"],
)
def test_nothing_is_said_where_something_else_says_it(stage: str, ms: float, work: list[object]) -> None:
    assert list(costly_line(facts(stage, ms, work))) == []


@pytest.mark.parametrize("function", ["__init__", "features"])
def test_an_object_that_is_made_for_each_sample_is_to_be_made_once(function: str) -> None:
    places = [{"file": "a/mel.py", "line": 8, "function": function}]
    (found,) = avoidable(facts("transform", 2.0, [{"kind": "loops", "share": 0.8, "places": places, "lines": 9000}]))
    assert str(found.fix).startswith("make that object once") is (function == "__init__")


def test_a_line_that_waits_for_a_lock_is_told_as_that() -> None:
    """Our promise: one cause is told once, with its own cure."""
    given = facts("transform", 2.0, [])
    given.add(Fact(LOCKED, {"share": 0.8, "at": None}, SEEN))
    assert list(costly_line(given)) == []


def test_a_line_that_sleeps_is_told_as_that() -> None:
    """Our promise: a pause of the user's own is no slow store, for which a copy or more workers would help."""
    given = facts("unattributed", 20.0, [], wait_ms=19.0)
    given.add(Fact(SLEEPING, {"share": 0.9, "at": {"file": "a/data.py", "line": 30}}, SEEN))
    (found,) = costly_line(given)
    assert "is spent in time.sleep(), at one line of your code" in found.message
    assert "workers" not in found.fix and "copy" not in found.fix
