"""Many small tensors in a batch, judged by running the same batches packed: one finding for any number of fields."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding, saved
from dataloader_expert.facts import Facts
from dataloader_expert.probes.experiments.packing import PACKED
from dataloader_expert.probes.model.batch import BATCH

PACK = "concatenate fields of the same dtype in __getitem__ and slice them apart once the batch is on the device"
LISTED = "concatenate the tensors of a list in collate_fn (torch.cat, with their lengths), and split them once the batch is on the device"


def many_small_tensors(facts: Facts) -> Iterator[Finding]:
    """B17: batches packed by dtype are significantly faster. Where they were run and are not, nothing is reported."""
    fact, batch = facts.find(PACKED), facts.find(BATCH)
    if fact is None or batch is None or not fact.at["pays"]:
        return
    low, high = fact.evidence.interval or (fact.value, fact.value)
    workers = fact.at["workers"]
    text = f"a batch has {fact.at['tensors']} tensors of {fact.at['dtypes']} dtype{'s' * (fact.at['dtypes'] > 1)};"
    text += " packed into one tensor per dtype, batches arrive"
    text += f" {fact.value:.2f} times as fast from {workers} worker{'s' * (workers > 1)}"
    text += f" (99 % {low:.2f} to {high:.2f})"
    fix = LISTED if fact.at.get("listed") else PACK
    yield finding("many-small-tensors", "warning", text, [fact, batch], fix, cost=saved(low))


RULES: tuple[Rule, ...] = (many_small_tensors,)
