"""A transform that raises on samples."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.transformed import TRANSFORMED


def raising(facts: Facts) -> Iterator[Finding]:
    fact = facts.find(TRANSFORMED)
    if fact is not None and fact.value["raised"]:
        v = fact.value
        text = f"the transform raised on {v['raised']} of {v['called']} samples: {v['error']}"
        places = [{"sample": i} for i in v["first"]]
        yield finding(
            "transform-raises", "error", text, fact, "fix it so that it handles these samples", places, v["raised"]
        )


RULES: tuple[Rule, ...] = (raising,)
