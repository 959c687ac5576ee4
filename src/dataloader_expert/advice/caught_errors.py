"""Errors that the dataset's own code hides."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.caught_errors import CAUGHT


def hidden(facts: Facts) -> Iterator[Finding]:
    """Samples that are delivered although reading them failed."""
    fact = facts.find(CAUGHT)
    if fact is None:
        return
    v = fact.value
    caught = v.get("handler")
    at = "" if caught is None else f", caught at {escaped(posixpath.basename(caught[0]))}:{caught[1]}"
    text = f"{v['count']} of {v['read']:,} samples read met an error that the dataset's own code caught ({v['place']}: {v['message']}{at}): "
    text += "unless a retry succeeded, whatever it returned instead goes into training unnoticed"
    fix = "let the error through or leave those samples out of the dataset, and count them; do not return zeros or another sample"
    places: list[dict[str, Any]] = [{"file": caught[0], "line": caught[1]}] if caught is not None else []
    places += [{"sample": i} for i in v["samples"]]
    yield finding("errors-hidden", "warning", text, fact, fix, places[:MAX_PLACES], v["count"])


RULES: tuple[Rule, ...] = (hidden,)
