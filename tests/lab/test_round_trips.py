"""What crosses the door is JSON and arrives as what it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Evidence, Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan, SourceRef
from dataloader_expert.probes.base import probes, run
from dataloader_expert.tools.base import all_tools
from tests.making.tiny import TINY

PROBES, TOOLS = probes(), all_tools()
numbers = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
points = st.dictionaries(st.text(min_size=1), st.integers() | st.text() | st.none(), max_size=3)
intervals = st.none() | st.tuples(numbers, numbers)
evidence = st.builds(
    Evidence,
    how=st.sampled_from(["counted", "sampled", "timed", "probed", "declared", "derived"]),
    by=st.text(),
    seen=st.none() | st.integers(0),
    population=st.none() | st.integers(0),
    interval=intervals,
    spread=intervals,
    conditions=points,
    seconds=st.none() | numbers,
    derived_from=st.lists(st.text(), max_size=2).map(tuple),
)
facts = st.builds(Fact, st.builds(Quantity, st.text(), st.text(), st.text()), values, evidence, points)


def over_the_wire(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@given(facts)
def test_a_fact_arrives_as_it_was(fact: Fact) -> None:
    """Our promise: quantity, value, point and evidence are whole on the other side."""
    assert Fact.from_json(over_the_wire(fact.to_json())) == fact


@given(facts, st.sampled_from(["error", "warning", "info"]), st.lists(points, max_size=3), st.integers(0))
def test_a_finding_arrives_as_it_was(fact: Fact, severity: Any, where: list[dict[str, Any]], count: int) -> None:
    """Our promise: a finding still names its facts on the other side."""
    made = Finding("nan", severity, "message", (fact.cite(),), "fix", tuple(where), count)
    assert Finding.from_json(over_the_wire(made.to_json())) == made


@given(st.text(), st.text())
def test_an_unknown_arrives_as_it_was(what: str, why: str) -> None:
    """Our promise: what could not be measured crosses the door too."""
    assert Unknown(**over_the_wire(Unknown(what, why).to_json())) == Unknown(what, why)


@given(
    st.builds(
        LoaderPlan,
        batch_size=st.integers(1),
        workers=st.integers(0),
        prefetch=st.none() | st.integers(1),
        pin_memory=st.booleans(),
        persistent=st.booleans(),
        shuffle=st.booleans(),
        drop_last=st.booleans(),
        timeout=st.floats(0, 1e6),
        seed=st.integers(),
    )
)
def test_a_plan_arrives_as_it_was(plan: LoaderPlan) -> None:
    """Our promise: a DataLoader described as data survives the trip."""
    assert LoaderPlan.from_json(over_the_wire(plan.to_json())) == plan


@given(
    st.builds(
        SourceRef,
        name=st.text(),
        roots=st.lists(st.text(), max_size=2).map(tuple),
        code=st.booleans(),
        args=st.dictionaries(st.text(), values, max_size=2),
        label=st.none() | st.text(),
    )
)
def test_a_source_arrives_as_it_was(ref: SourceRef) -> None:
    """Our promise: which data, with which arguments and roots, is the same on the other side."""
    assert SourceRef.from_json(over_the_wire(ref.to_json())) == ref


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_arrives_as_it_was(name: str) -> None:
    """Our promise: a probe is data; described and made anew it describes itself alike."""
    described = over_the_wire(PROBES[name]().to_json())
    assert described.pop("probe") == name
    assert over_the_wire(PROBES[name](**described).to_json()) == {"probe": name, **described}


@pytest.mark.parametrize("name", TOOLS)
def test_every_recipe_can_be_sent(name: str) -> None:
    """Our promise: a tool's probes are known by name behind the door."""
    tool = TOOLS[name]
    for probe in tool.recipe(tool.request.model_validate({"source": "x"})):
        described = over_the_wire(probe.to_json())
        assert type(probe) is PROBES[described.pop("probe")]
        PROBES[type(probe).name](**described)


def test_everything_a_measurement_says_is_plain_json(tmp_path: Path) -> None:
    """Our promise: whatever probes and checks yield crosses the door and arrives whole; nothing heavy is needed there."""
    made = TINY["jsonl"](tmp_path)
    events: list[dict[str, Any]] = []
    request = {
        "source": SourceRef(made.source, (str(made.root),), label=made.label).to_json(),
        "probes": [{"probe": name} for name in ("environment", "layout", "scan")],
        "seed": 0,
        "cpus": 1.0,
        "memory_bytes": 1 << 30,
    }
    run(request, events.append, lambda sample: None)
    kinds = {event["event"] for event in events}
    assert {"fact", "progress"} <= kinds
    assert "error" not in kinds
    for event in events:
        there = over_the_wire(event)
        if event["event"] == "fact":
            assert over_the_wire(Fact.from_json(there["fact"]).to_json()) == there["fact"]
        elif event["event"] == "finding":
            assert over_the_wire(Finding.from_json(there["finding"]).to_json()) == there["finding"]
