"""Views of larger storages in batches: a worker sends the whole storage behind each tensor."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.transport import FRESH_BYTES_S, batch_ms
from dataloader_expert.conclusions import Finding, finding, saved
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.probes.experiments.view_copies import CLONED
from dataloader_expert.probes.health.batch_storages import CARRIED, LEAST_UNUSED
from dataloader_expert.probes.search.loading import CURRENT

LEAST_SHARE = 0.2
"""The least share of a batch's time that sending what no tensor shows takes, by its bytes, if copies were not run."""


def sent_whole(facts: Facts) -> Iterator[Finding]:
    """B18: batches with views, which are significantly faster as copies; or, where that was not run, whose storages take long to write."""
    fact, current, run = facts.find(CARRIED), facts.find(CURRENT), facts.find(CLONED)
    if fact is None or fact.value["unused"] < LEAST_UNUSED or current is None:
        return
    if run is None and not current.value["num_workers"]:
        return  # nothing is sent
    if run is not None and not run.at["pays"]:
        return
    written = 1e3 * fact.value["unused"] / FRESH_BYTES_S
    if run is None and written < LEAST_SHARE * (written + batch_ms(facts)):
        return
    v, cited, cost = fact.value, [fact], None
    first, places = v["wide"][0], v["places"]
    at = (
        f"at {posixpath.basename(places[0]['file'])}:{places[0]['line']} in `{places[0]['function']}`" if places else ""
    )
    text = f"a batch shows {in_bytes(v['used'])} of the {in_bytes(v['nbytes'])} that workers send with it: `{escaped(first['path'])}`"
    text += (
        f" (shape {first['shape']}) is a view of a storage of {in_bytes(first['nbytes'])}, {at or 'of'}".removesuffix(
            ", of"
        )
    )
    text += f", as are {v['wide_tensors'] - 1} more tensors" if v["wide_tensors"] > 1 else ""
    if run is not None:
        low, high = run.evidence.interval or (run.value, run.value)
        text += f"; as copies, batches arrive {run.value:.2f} times as fast (99 % {low:.2f} to {high:.2f})"
        cited, cost = [fact, run], saved(low)
    else:
        text += f"; writing the rest takes a worker about {written:.0f} ms a batch (estimated: copies were not run)"
    fix = "return a copy of what is used, tensor.clone(): torch sends, and keeps in memory, the whole storage behind a tensor"
    yield finding("large-batches-copied", "warning", text, cited, fix, _where(fact), v["wide_tensors"], cost)


def _where(fact: Fact) -> list[dict[str, object]]:
    return [{"file": place["file"], "line": place["line"]} for place in fact.value["places"]]


RULES: tuple[Rule, ...] = (sent_whole,)
