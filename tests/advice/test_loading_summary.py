"""What a diagnosis comes to in words."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.loading_summary import loading_summary
from dataloader_expert.advice.workers import worker_advice
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.search.loading import CURRENT, ENDED, PREDICTED, RECOMMENDED, SPEEDUP, UNPROVED
from dataloader_expert.probes.search.trials import THROUGHPUT, TRIALS

NOW = {"num_workers": 2, "batch_size": 16, "prefetch_factor": 2, "persistent_workers": False}
HANDLE = Finding("handle-shared-across-fork", "error", "workers share a handle", ({"fact": "x"},), "open it in each")


def facts(chosen: dict[str, Any], *more: Fact, speedup: float = 1.0, timed: bool = False) -> Facts:
    timing = Evidence("timed", "a test", seen=3, interval=(0.9 * speedup, 1.1 * speedup))
    at = {"workers": 2, "prefetch": 2, "in_order": True, "persistent": False, "batch_size": 16}
    return Facts(
        (
            Fact(CURRENT, NOW, timing),
            Fact(RECOMMENDED, {"workers": chosen["num_workers"], "settings": chosen}, timing),
            Fact(THROUGHPUT, 92.0, timing, at),
            Fact(SPEEDUP, speedup, timing if timed else Evidence("derived", "a test")),
            *more,
        )
    )


def test_it_begins_with_the_cause_and_its_cure_and_names_the_settings_that_change() -> None:
    """Our promise: what to mend, the settings with their gain, where the time goes."""
    known = facts({**NOW, "num_workers": 32, "persistent_workers": True}, speedup=6.0, timed=True)
    spots = [
        {"function": name, "file": "a/data.py", "line": line, "inclusive": share, "line_share": share}
        for name, line, share in (("__getitem__", 9, 1.0), ("digest_of", 30, 0.7))
    ]
    told = loading_summary(known, [HANDLE], ("decode", 0.8, False), spots, False)
    assert told.startswith("Workers share a handle. Fix: open it in each. ")
    assert "num_workers=32, persistent_workers=True is 6.00 times as fast (95 % 5.40 to 6.60)" in told
    assert told.endswith("is spent in decode; your `digest_of` and what it calls take 70%, mostly at data.py:30.")
    told = loading_summary(known, [HANDLE], ("unattributed", 0.8, False), spots, False)
    assert told.endswith("Most of a sample's time (70%) is spent at data.py:30 in your `digest_of`.")


def test_a_few_stacks_are_not_said_to_show_where_the_time_goes() -> None:
    """Seen: "60 % in your __getitem__, mostly at augment.py:23", from a single stack; and the wrong line, from six of one moment."""
    spot = {"function": "__getitem__", "file": "a/data.py", "line": 9, "inclusive": 0.9, "line_share": 0.9}
    for stacks, named in ((1, False), (6, False), (9, True), (300, True)):
        known = facts(NOW, Fact(USER_FUNCTIONS, [spot], Evidence("sampled", "a test", seen=stacks)))
        told = loading_summary(known, [], ("transform", 0.9, False), [spot], False)
        assert ("data.py:9" in told) is named and ("Too few stacks were sampled" in told) is not named
        told = loading_summary(known, [], ("collate", 0.9, False), [spot], False)
        assert "spent in collate" in told and ("data.py:9" in told) is named  # which is timed
    told = loading_summary(facts(NOW), [], ("unattributed", 0.8, False), [], False)
    assert told.endswith("Too few stacks were sampled to say where a sample's time goes (raise budget_s).")


@pytest.mark.parametrize("stepped", [False, True])
def test_no_workers_cost_the_time_in_which_training_waits(stepped: bool) -> None:
    """Seen: "cost none" of num_workers=0, timed without a training step that workers would have loaded beside."""
    alone = {**NOW, "num_workers": 0}
    timing = Evidence("timed", "a test", seen=3)
    at = {"workers": 0, "prefetch": 0, "in_order": True, "persistent": False, "batch_size": 16}
    step = [Fact(STEP, 20.0, timing)] if stepped else []
    [advice] = worker_advice(facts(alone, Fact(THROUGHPUT, 120.0, timing, at), *step, speedup=1.3, timed=True))
    assert advice.cost.startswith("none" if stepped else "training waits while the main process loads")


def test_what_was_not_tried_is_predicted_and_never_no_gain() -> None:
    """Our promise: where time ended the search, the next setting is named with what it should give."""
    at = {"settings": "num_workers=8"}
    predicted = Fact(PREDICTED, 4.0, Evidence("derived", "a test", interval=(2.0, 6.0)), at)
    told = loading_summary(facts(NOW, predicted), [], None, [], False)
    assert "num_workers=8 was not tried for lack of time" in told and "raise budget_s" in told
    assert "no other setting" not in told


def test_a_larger_budget_is_advised_only_where_it_can_help() -> None:
    """Our promise: where all planned pairs were run, an idle machine is what is missing."""
    for by_time in (True, False):
        looked = {"settings": "num_workers=8", "ratio": 1.3, "by_time": by_time}
        pairs = Evidence("timed", "a test", seen=4, spread=(0.8, 1.9))
        told = loading_summary(facts(NOW, Fact(UNPROVED, looked, pairs)), [], None, [], False)
        assert ("budget_s" in told) is by_time
        assert "in 4 comparisons the ratio varied too much to prove it, from 0.80 to 1.90" in told


def test_a_single_comparison_is_not_said_to_vary() -> None:
    """Seen: "17.73 times as fast, but the rates varied too much", of one pair."""
    looked = {"settings": "num_workers=8", "ratio": 1.3, "by_time": True}
    alone = Evidence("timed", "a test", seen=1, spread=(1.3, 1.3))
    told = loading_summary(facts(NOW, Fact(UNPROVED, looked, alone)), [], None, [], False)
    assert "there was time for a single comparison, which proves no gain (raise budget_s)" in told


def test_a_probable_gain_is_not_told_as_a_proved_one() -> None:
    """Our promise: whoever reads the first sentence knows whether the gain was proved."""
    looked = {"settings": "num_workers=8", "ratio": 1.3, "by_time": True}
    unproved = Fact(UNPROVED, looked, Evidence("timed", "a test", seen=4, spread=(0.8, 1.9)))
    known = facts({**NOW, "num_workers": 8}, unproved, speedup=1.3, timed=True)
    told = loading_summary(known, [], None, [], False)
    assert "num_workers=8 is probably 1.30 times as fast (95 % 1.17 to 1.43; to prove it, repeat" in told


def test_only_a_search_that_ended_by_itself_says_that_nothing_is_faster() -> None:
    """Seen: "no other setting is predicted to be 5 % faster", of a loader that waits, where there was no time to try more workers."""
    for ended, words in (
        ("out of time", "no time to try another setting"),
        ("converged", "predicted to be 5 % faster"),
    ):
        told = loading_summary(facts(NOW, Fact(ENDED, ended, Evidence("counted", "a test"))), [], None, [], False)
        assert words in told


def trial(workers: int, rate: float, n: int) -> dict[str, Any]:
    plan = {"num_workers": workers, "prefetch_factor": 2, "in_order": True, "persistent_workers": False}
    return {**plan, "throughput": {"value": rate, "n": n}}


def test_what_looked_faster_and_was_not_compared_is_not_told_as_slower() -> None:
    """Seen: "no other setting tried is faster", above a table in which one block of another was three times as fast."""
    for rate, n, told_so in ((260.0, 1, True), (95.0, 1, False), (260.0, 3, False)):
        trials = Fact(TRIALS, [trial(2, 92.0, 3), trial(4, rate, n)], Evidence("timed", "a test"))
        told = loading_summary(facts(NOW, trials), [], None, [], False)
        looked = "has proved to be faster (num_workers=4); num_workers=4 looked 2.83 times as fast"
        assert (looked in told) is told_so and ("is faster (num_workers=4)" in told) is not told_so


def test_it_ends_with_what_there_was_no_time_to_check() -> None:
    """Our promise: a diagnosis that did not look at random numbers does not read as if they were right."""
    told = loading_summary(facts(NOW), [HANDLE], ("decode", 0.8, False), [], False, ["random numbers in workers"])
    assert told.startswith("Workers share a handle.")
    assert told.endswith("Not checked for lack of time: random numbers in workers (raise budget_s).")
    assert "spent in decode" in told  # Seen: what was not checked took the place of where the time goes


def test_the_line_that_takes_the_time_is_told_with_its_cure() -> None:
    """Seen: a line that took 98 % of the time was in no sentence, as it was no warning."""
    line = Finding("costly-line", "info", "98% of a sample's time goes to points.py:12", ({"fact": "x"},), "compile it")
    for first in ([], [HANDLE]):
        told = loading_summary(facts(NOW), [*first, line], ("transform", 0.98, False), [], False)
        assert told.endswith("98% of a sample's time goes to points.py:12. Fix: compile it.")
        assert "spent in transform" not in told
