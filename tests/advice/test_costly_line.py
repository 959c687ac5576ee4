"""The line that takes most of a sample's time is named where nothing else explains it."""

from __future__ import annotations

import pytest

from dataloader_expert.advice.avoidable import avoidable, costly_line, queries
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.health.line_causes import CAUSES
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
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
    assert found.cost == pytest.approx(0.83, abs=0.01)  # Seen: what costs 9 % was told first, as this had no cost
    assert (
        "90% of a sample's time (95 % confidence: 83% to 94%) goes to one line of your code, data.py:30 in `scaled`"
        in found.message
    )
    assert list(found.where) == [{"file": "a/data.py", "line": 30}]
    assert "__init__" in str(found.fix)


def test_what_the_line_calls_decides_the_cure() -> None:
    """Seen: a call of conv2d and a query were to be compiled as loops, and taking rows out of a tensor was told as a cost."""
    spot = {**SPOTS[1], "calls": ["F.pad", "F.conv2d"], "only_indexes": False}
    spent = (STAGE, {"ms": 2.0, "wait_ms": 0.0}, {"stage": "transform"})
    (found,) = costly_line(facts_of((USER_FUNCTIONS, [spot], {}), spent))
    assert found.message.endswith("data.py:30 in `scaled`, which calls F.pad and F.conv2d")
    assert "whole batches" in str(found.fix) and "__init__" not in str(found.fix)
    held = {**spot, "calls": [], "only_indexes": True}
    assert list(costly_line(facts_of((USER_FUNCTIONS, [held], {}), spent))) == []


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
    assert (
        "89% of a sample's time (95 % confidence: 81% to 94%) goes to your function `pieces`, most of it at words.py:30"
        in found.message
    )
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


def test_a_share_of_a_handful_of_stacks_is_not_claimed() -> None:
    """Our promise: a figure comes with its interval, and one that could be anything is none."""
    few, spots = Evidence("sampled", "stages", seen=2), [{**SPOTS[0], "line_share": 0.54}]
    spent = Fact(STAGE, {"ms": 2.0, "wait_ms": 0.0}, few, {"stage": "transform"})
    work = [{"kind": "loops", "share": 0.6, "places": [{"file": "a.py", "line": 1, "function": "f"}], "lines": 9000}]
    assert list(costly_line(Facts((Fact(USER_FUNCTIONS, spots, few), spent)))) == []
    assert list(avoidable(Facts((Fact(AVOIDABLE, work, few), spent)))) == []


NOTHING: dict[str, object] = {"samples": 8, "before": []}
SCAN = {
    "file": "a/data.py",
    "line": 30,
    "table": "ev",
    "columns": ["user", "t"],
    "rows": 200_000,
    "lines": [29, 30],
    "share": 0.4,
}
CALLED = {"samples": 16, "work": [], "scans": [], "opened": []}
EARLY = {
    "file": "a/data.py",
    "line": 30,
    "of": [640, 480],
    "used": [112, 112],
    "kind": "resize",
    "by": None,
    "slow": False,
}
CUT = {**EARLY, "of": [40_000], "used": [500], "kind": "slice", "by": {"file": "a/data.py", "line": 33}}


@pytest.mark.parametrize(
    ("cause", "why", "fix"),
    [
        (
            {"scans": [SCAN]},
            "reads all 200,000 rows of `ev`, because no index covers it",
            "CREATE INDEX ev_user_t ON ev (user, t)",
        ),
        (
            {"before": [EARLY]},
            "images of 640 x 480, which are shrunk to 112 x 112 afterwards: 24 times",
            "resize first",
        ),
        (
            {"before": [{**EARLY, "kind": "crop", "by": {"file": "a/cut.py", "line": 7}}]},
            "images of 640 x 480, from which 112 x 112 are cropped afterwards (cut.py:7): 24 times",
            "crop first",
        ),
        (
            {"before": [CUT]},
            "arrays of 40,000 values, of which 500 are kept afterwards (line 33): 80 times",
            "take the part first",
        ),
    ],
)
def test_a_cause_that_was_seen_is_named_with_its_cure(cause: dict[str, object], why: str, fix: str) -> None:
    """Our promise: what a run of samples shows comes with the line, as a warning that counts by what the line takes."""
    given = facts("transform", 2.0, [])
    seen = SAMPLE_CALLS if "scans" in cause else CAUSES
    given.add(Fact(seen, {**(CALLED if "scans" in cause else NOTHING), **cause}, SEEN))
    (found,) = costly_line(given)
    assert found.severity == "warning" and why in found.message and fix in found.fix
    assert found.cost == pytest.approx(0.83, abs=0.01)


@pytest.mark.parametrize(
    "cause",
    [
        {},
        {"scans": [{**SCAN, "line": 99, "lines": [99]}]},
        {"before": [{**EARLY, "line": 99}]},
    ],
    ids=["nothing", "another line", "before another line"],
)
def test_what_is_done_elsewhere_is_no_cause(cause: dict[str, object]) -> None:
    """Our promise: a query of another line, or shrinking as such, explains no line."""
    given = facts("transform", 2.0, [])
    seen = SAMPLE_CALLS if "scans" in cause else CAUSES
    given.add(Fact(seen, {**(CALLED if "scans" in cause else NOTHING), **cause}, SEEN))
    (found,) = costly_line(given)
    assert found.severity == "info" and found.message.endswith("data.py:30 in `scaled`")


def test_a_query_that_reads_a_whole_table_is_told_without_stacks_and_once() -> None:
    """Seen: where few stacks were sampled, a query without an index was not named at all."""
    called = Fact(SAMPLE_CALLS, {**CALLED, "scans": [SCAN]}, SEEN)
    (found,) = queries(Facts((called,)))
    assert found.severity == "warning" and found.cost == 0.4
    assert found.message.startswith("the query at data.py:30, which each sample runs, reads all 200,000 rows of `ev`")
    given = facts("transform", 2.0, [])
    given.add(called)
    assert [f.code for f in costly_line(given)] == ["costly-line"] and list(queries(given)) == []


@pytest.mark.parametrize(("kind", "told"), [("copies", True), ("parses", False)])
def test_work_that_no_sample_needs_is_told_where_it_takes_little(kind: str, told: bool) -> None:
    """Seen: a deep copy of 8 % was not named, although leaving it out costs nothing."""
    many = Evidence("sampled", "stages", seen=2000)
    work = [{"kind": kind, "share": 0.08, "places": [{"file": "a.py", "line": 1, "function": "f"}], "lines": 0}]
    assert bool(list(avoidable(Facts((Fact(AVOIDABLE, work, many),))))) is told
