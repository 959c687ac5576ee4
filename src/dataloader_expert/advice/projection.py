"""Columns that are read but not used, judged by the measured gain of reading only the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding, saved
from dataloader_expert.facts import Facts
from dataloader_expert.probes.experiments.projection import COLUMNS, PROJECTION

LEAST_SAVED = 0.05
"""The least share of a sample's time that reading fewer columns must save, at the lower end of the gain's interval."""
LISTED = 6
KINDS = {"HDF5": "datasets"}


def unused_columns(facts: Facts) -> Iterator[Finding]:
    """B11: columns that no sample needs are read, and reading without them is significantly faster."""
    columns, gain = facts.find(COLUMNS), facts.find(PROJECTION)
    if columns is None or gain is None or not gain.at["pays"]:
        return
    low, high = gain.evidence.interval or (gain.value, gain.value)
    told = columns.value
    if told["share"] * saved(low) < LEAST_SAVED:
        return
    kind = KINDS.get(told["format"], "columns")
    text = f"a sample reads {told['read']} {kind} from {told['file'] or told['format']} and uses "
    text += f"{'' if told['complete'] else 'at most '}{told['used']} ({listed(told['needed'])}); reading only these is {gain.value:.2f} "
    text += f"times as fast (99 % {low:.2f} to {high:.2f}), and reading is {told['share']:.0%} of a sample's time"
    places = [{"file": told["file"]}]
    cost = told["share"] * saved(low)
    yield finding("read-amplification", "warning", text, [columns, gain], fix_for(told), places, cost=cost)


def fix_for(told: dict[str, Any]) -> str:
    if told["format"] == "HDF5":
        return f"read only {listed(told['needed'])}"
    if not told["complete"] or told["used"] > LISTED:
        return "read only the columns used (columns=…, or included_fields=… for an Arrow file)"
    names = "[" + ", ".join(repr(name) for name in told["needed"]) + "]"
    if told["format"] == "Arrow":
        return f"open the file with options=pyarrow.ipc.IpcReadOptions(included_fields=…), the positions of {names}"
    return f"pass columns={names} where the file is read"


def listed(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + ("…" if len(names) > LISTED else "")


RULES: tuple[Rule, ...] = (unused_columns,)
