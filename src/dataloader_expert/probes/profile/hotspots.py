"""The functions in which a sample's time is spent, from sampled stacks weighted by the measured times.

A stack counts for its innermost function (exclusive) and once for every function on it (inclusive): so a helper of the
user's that calls a library shows its full cost, in any stage.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.profile.remote_stack import Columns, Stack
from dataloader_expert.probes.profile.sampling_profiler import Tick
from dataloader_expert.probes.profile.stage_classifier import (
    FETCHING,
    OURS,
    Namer,
    after_error,
    called_on,
    is_users,
    only_indexes,
    place_of,
    sleeping,
)
from dataloader_expert.probes.profile.statements import functions, has, parsed_functions, statement_at

HOTSPOTS = Quantity("hotspots", "", "the most expensive functions, by their share of a sample's CPU and blocked time")
USER_FUNCTIONS = Quantity(
    "user_functions",
    "",
    "the user's own functions, by the share of a sample's time spent in them and in what they call",
)
LOCKED = Quantity(
    "locked", "", "the share of a sample's time spent waiting for locks, and the user's line that takes them"
)
SLEEPING = Quantity("sleeping", "", "the share of a sample's time spent in time.sleep that no error led to, and where")
MOST, LEAST_SHARE = 10, 0.01
Function = tuple[str, str, int]
"""File, name and first line: a file may have several functions of one name."""
Spot = tuple[Function, str, bool, bool]
"""Function, stage, whether its line decompresses, and whether it looks up files."""
Weighed = list[tuple[Stack, float]]
"""Stacks, each with its share of a sample's CPU and blocked time."""
INNER = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Code inside a function that runs in a frame of its own; it is attributed to that function."""


def weighed(namer: Namer, ticks: list[Tick], seconds: Mapping[tuple[bool, bool], float], total: float) -> Weighed:
    """Weights stacks: running ones share the CPU time, blocked ones the blocked time, and all of them what was spent in
    a state in which none was seen, unless that is most: then rare samples wait, and none of them was seen. ``seconds`` of a sample are
    keyed by (collating, on a CPU); ``total`` includes what no stack covers."""
    sums: Counter[tuple[bool, bool]] = Counter()
    for tick in ticks:
        collates = namer.stage_of(tick.stack) == "collate"
        sums[collates, True] += tick.running
        sums[collates, False] += tick.blocked
    each = {}  # seconds that one stack stands for
    for (collates, on), looks in sums.items():
        other = collates, not on
        covered = sums[other] or (on and unseen(seconds[collates, on], seconds[other]))
        each[collates, on] = (seconds[collates, on] + (0.0 if covered else seconds[other])) / looks if looks else 0.0
    found = []
    for tick in ticks:
        collates = namer.stage_of(tick.stack) == "collate"
        part = tick.running * each[collates, True] + tick.blocked * each[collates, False]
        found.append((tick.stack, part / total if total else 0.0))
    return found


def unseen(cpu_s: float, blocked_s: float) -> bool:
    """Whether blocked time of which no stack was seen is that of other samples than those seen: it is more than they compute."""
    return blocked_s > cpu_s


def hotspot_facts(namer: Namer, stacks: Weighed, seen: int, columns: Sequence[Columns | None] = ()) -> Iterator[Fact]:
    """Both lists of functions; ``seen``: the number of stacks; ``columns``: of each the part of its source that it executes."""
    said = evidence("sampled", "stages", seen=seen)
    within = inclusive(namer, stacks)
    yield Fact(HOTSPOTS, costliest(namer, stacks, within), said)
    users = [told(function, spent) for function, spent in within.items() if is_users(function[0])]
    users.sort(key=lambda f: (f["inclusive"], f["share"]), reverse=True)
    yield Fact(USER_FUNCTIONS, [f for f in users if f["inclusive"] >= LEAST_SHARE][:MOST], said)
    yield Fact(LOCKED, waiting(namer, stacks), said)
    yield Fact(SLEEPING, asleep(stacks, columns), said)


def waiting(namer: Namer, stacks: Weighed) -> dict[str, Any]:
    """The share of stacks that wait for a lock, and the innermost line of the user's on most of them."""
    share, lines = 0.0, defaultdict[tuple[str, str, int], float](float)
    for stack, part in stacks:
        if namer.locks(stack):
            share += part
            for (file, name, _), line in theirs(stack):
                if is_users(file):
                    lines[file, name, line] += part
                    break
    most = max(lines, key=lambda one: lines[one], default=None)
    at = None if most is None else {"file": most[0], "function": most[1], "line": most[2]}
    return {"share": round(share, 4), "at": at}


def asleep(stacks: Weighed, columns: Sequence[Columns | None]) -> dict[str, Any]:
    """The share of stacks in ``time.sleep``, and the line at which most of them are."""
    lines = defaultdict[tuple[str, int], float](float)
    for (stack, share), part in itertools.zip_longest(stacks, columns[: len(stacks)]):
        frames = [frame for frame in stack if not frame[0].startswith(OURS)]
        if not frames:
            continue
        file, line, name = frames[0]
        call = sleeping(file, line, part, name in INNER)
        if call is not None and not after_error(file, call):
            lines[file, line] += share
    most = max(lines, key=lambda one: lines[one], default=None)
    at = None if most is None else {"file": most[0], "line": most[1]}
    return {"share": round(sum(lines.values()), 4), "at": at}


@dataclass
class Spent:
    """A function's shares with and without what it calls; the former also by line and by stage."""

    inclusive: float = 0.0
    exclusive: float = 0.0
    lines: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    stages: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


def inclusive(namer: Namer, stacks: Weighed) -> dict[Function, Spent]:
    """Every function on a stack gets the stack's whole share, once even if it is recursive."""
    found: dict[Function, Spent] = {}
    for stack, share in stacks:
        stage, lines = namer.stage_of(stack), dict[Function, int]()
        for function, line in theirs(stack):
            lines.setdefault(function, line)  # for a recursive function the innermost line
        for innermost, (function, line) in enumerate(lines.items()):
            spent = found.setdefault(function, Spent())
            spent.inclusive += share
            spent.exclusive += share if innermost == 0 else 0.0
            spent.lines[line] += share
            spent.stages[stage] += share
    return found


def told(function: Function, spent: Spent) -> dict[str, Any]:
    """A function with the line, and what a statement of several lines takes as a whole."""
    file, name, _ = function
    whole: Counter[int] = Counter()
    for at, share in spent.lines.items():
        whole[statement_at(file, at)] += share  # type: ignore[assignment]  # a Counter adds up floats as well
    [(first, most)] = whole.most_common(1)
    line = max((at for at in spent.lines if statement_at(file, at) == first), key=lambda at: spent.lines[at])
    return {
        "function": name,
        "file": file,
        "line": line,
        "calls": called_on(file, line),
        "only_indexes": only_indexes(file, line),
        "line_share": round(min(1.0, most), 4),
        "share": round(spent.exclusive, 4),
        "inclusive": round(min(1.0, spent.inclusive), 4),
        "stage": max(spent.stages, key=lambda stage: spent.stages[stage]),
        "called_from": None,
    }


def costliest(namer: Namer, stacks: Weighed, within: Mapping[Function, Spent]) -> list[dict[str, Any]]:
    """Innermost functions by stage, with the line; for a library also the user's line that led there."""
    cost: defaultdict[Spot, float] = defaultdict(float)
    lines: dict[Spot, defaultdict[tuple[int, str | None], float]] = defaultdict(lambda: defaultdict(float))
    for stack, share in stacks:
        place = place_of(stack)
        if place is None:
            continue
        function, line = theirs(stack)[0]
        key = (function, namer.stage_of(stack), *namer.traits(stack))
        cost[key] += share
        lines[key][line, place.called_from] += share
    found = []
    for key in sorted(cost, key=lambda k: cost[k], reverse=True)[:MOST]:
        if cost[key] >= LEAST_SHARE:
            (file, name, _), stage, inflates, looks_up = key
            line, called_from = max(lines[key], key=lambda at: lines[key][at])
            found.append(
                {
                    "function": name,
                    "file": file,
                    "line": line,
                    "share": round(cost[key], 4),
                    "inclusive": round(min(1.0, within[key[0]].inclusive), 4),
                    "stage": stage,
                    "called_from": called_from,
                    "inflates": inflates,
                    "looks_up": looks_up,
                    "users": is_users(file),
                }
            )
    return found


def theirs(stack: Stack) -> list[tuple[Function, int]]:
    """The functions on a stack that are not this package's, innermost first, each with its line."""
    frames = [f for f in stack if not f[0].startswith(OURS) and f"{FETCHING}/fetch" not in f[0]]
    found = []
    for depth, (file, line, name) in enumerate(frames):
        if name in INNER:
            outer = (f for _, _, f in frames[depth + 1 :] if f not in INNER)
            name = next(outer, name)
        found.append(((file, name, beginning(file, line, name)), line))
    return found


def beginning(file: str, line: int, name: str) -> int:
    """The line of the innermost ``def`` of this name around a line; 0 if the source does not show it."""
    named = [f for f in functions(file) if f.name == name]
    found = max((f.first for f in named if f.has(line)), default=0)
    if found or not named:
        return found
    return max((f.lineno for f in parsed_functions(file) if f.name == name and has(f, line)), default=0)
