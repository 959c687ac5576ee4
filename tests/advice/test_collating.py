"""When the time that collate takes is worth a word."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from dataloader_expert.advice.stages import collating
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.model.batch import BATCH, COLLATE, users_place
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.system.outside import MACHINE
from tests.advice.test_epochs import PLAN, SEEN, codes_of, facts_of


def stage(name: str, cpu_ms: float) -> tuple[Any, dict[str, float], dict[str, str]]:
    return STAGE, {"ms": cpu_ms, "cpu_ms": cpu_ms, "wait_ms": 0.0}, {"stage": name}


def collated(name: str, cpu_ms: float, bytes_per_sample: float) -> Facts:
    return facts_of(
        stage("read", 0.1),
        stage("collate", cpu_ms),
        (BATCH, {"structure": "list", "fields": [{"name": "0", "bytes_per_sample": bytes_per_sample}]}, {}),
        (COLLATE, {"name": name}, {}),
        (CURRENT, {**PLAN, "pin_memory": False}, {}),
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (collated("default", 0.15, 160 * 160 * 4), []),  # little more than copying takes
        (collated("default", 0.15, 600 * 4), ["slow-collate"]),
        (collated("mine", 0.15, 160 * 160 * 4), ["slow-collate"]),
        (collated("default", 0.9, 160 * 160 * 4), ["slow-collate"]),
        (collated("mine", 0.03, 600 * 4), []),
    ],
)
def test_stacking_is_slow_only_beyond_the_copying_of_its_bytes(facts: Facts, told: list[str]) -> None:
    """Our promise: a warning names something to mend, and batches must be written in any case."""
    assert codes_of(facts, collating) == told


def test_the_collate_function_is_named_where_no_stack_shows_a_line() -> None:
    """Seen: collate took 99 % of the time, and neither its function nor its file was named."""
    place = {"file": "a/batching.py", "line": 12, "function": "collate_graphs"}
    facts = collated("collate_graphs", 0.9, 600 * 4)
    [collate] = [f for f in facts if f.quantity is COLLATE]
    facts = Facts(tuple(f for f in facts if f is not collate))
    facts.add(replace(collate, value={**collate.value, "place": place}))
    [found] = collating(facts)
    assert found.message.endswith("in `collate_graphs` (batching.py:12)")
    assert found.where == ({"file": "a/batching.py", "line": 12},)


@pytest.mark.parametrize("made", [lambda f: f, lambda f: partial(partial(f, 1), 2), lambda f: Called()])
def test_a_function_of_the_users_has_a_place(made: Any) -> None:
    place = users_place(made(collated))
    assert place is not None and place["file"] == __file__
    assert users_place(torch.utils.data.default_collate) is None and users_place(len) is None


class Called:
    def __call__(self) -> None: ...


def test_the_line_of_the_collate_function_is_named() -> None:
    """B52: the innermost of the user's functions that takes most of collating, with its line."""
    facts = collated("mine", 0.9, 600 * 4)
    spots = [
        {"stage": stage, "function": name, "file": "a/mine.py", "line": line, "inclusive": share, "share": share}
        for stage, name, line, share in (
            ("collate", "batch", 9, 0.8), ("collate", "pad", 4, 0.7), ("collate", "log", 2, 0.1), ("read", "load", 1, 0.2),
        )
    ]  # fmt: skip
    facts.add(Fact(USER_FUNCTIONS, spots, SEEN))
    [found] = collating(facts)
    assert "most of it at mine.py:4 in `pad`" in found.message
    assert found.where == ({"file": "a/mine.py", "line": 4},)


@pytest.mark.parametrize(
    ("queue_ms", "workers", "told"), [(3.0, 0, []), (0.2, 0, ["slow-collate"]), (3.0, 2, ["slow-collate"])]
)
def test_threads_that_wait_for_one_another_are_no_slow_collate(queue_ms: float, workers: int, told: list[str]) -> None:
    """B52: in the main process torch stacks with several threads, which spin for one another on cores that others use."""
    spent = {"ms": 1.0 + queue_ms, "cpu_ms": 0.9, "wait_ms": 0.0, "queue_ms": queue_ms}
    facts = facts_of(
        (STAGE, spent, {"stage": "collate"}),
        (BATCH, {"structure": "list", "fields": [{"name": "0", "bytes_per_sample": 600 * 4}]}, {}),
        (COLLATE, {"name": "default"}, {}),
        (CURRENT, {**PLAN, "pin_memory": False, "num_workers": workers}, {}),
        (MACHINE, {"cpus": 2}, {}),
    )
    assert codes_of(facts, collating) == told


@pytest.mark.parametrize(("share", "told"), [(0.8, []), (0.2, ["slow-collate"])])
def test_what_collate_does_is_told_once(share: float, told: list[str]) -> None:
    """Seen: a tokenizer loaded for each batch was told as collating, with the cure to stack arrays in one call."""
    facts = collated("mine", 0.9, 600 * 4)
    spot = {
        "function": "joined",
        "file": "a/words.py",
        "line": 9,
        "inclusive": 0.9,
        "line_share": 0.8,
        "stage": "collate",
    }
    place = {"file": "a/words.py", "line": 9, "function": "joined"}
    facts.add(Fact(USER_FUNCTIONS, [spot], SEEN))
    facts.add(Fact(AVOIDABLE, [{"kind": "loads", "share": share, "places": [place], "lines": 0}], SEEN))
    assert codes_of(facts, collating) == told
