"""Keeping freed memory, advised only where a process that keeps it was significantly faster."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Advice, Finding, finding, saved
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.experiments.malloc_retention import FREED, PAGES

VALUE = "keep_freed_memory  # from dataloader_expert.loaders; as worker_init_fn, and called once in the main process"
FIX = "call dataloader_expert.loaders.keep_freed_memory() in each process, or reuse arrays by writing into them (out=)"


def given_back(facts: Facts) -> Iterator[Finding]:
    """Each sample's memory goes back to the kernel and is allocated anew, page by page."""
    found, pages = _paying(facts), facts.find(PAGES)
    if found is None or pages is None:
        return
    low, high = found.evidence.interval or (0.0, 0.0)
    megabytes = pages.value * pages.at["page_bytes"] / 1e6
    text = f"each sample allocates {pages.value:,.0f} pages of memory ({megabytes:.1f} MB) and frees them again: a"
    text += f" fresh process is {found.value:.2f} times as fast if it keeps them (99 % {low:.2f} to {high:.2f})"
    text += "; after a large array was freed a process may keep them by itself, so that training gains less"
    yield finding("memory-given-back", "warning", text, [pages, found], FIX, cost=saved(low))


def freeing_advice(facts: Facts) -> list[Advice]:
    found = _paying(facts)
    if found is None or found.evidence.interval is None:
        return []
    low, high = found.evidence.interval
    gain = {"value": found.value, "unit": "x", "low": low, "high": high, "n": found.evidence.seen, "how": "timed"}
    why = f"in alternating runs a fresh process that keeps freed memory read {found.value:.2f} times the samples/s"
    cost = "each process may hold up to 1 GiB more than it uses"
    return [Advice("worker_init_fn", VALUE, None, why, gain, cost, (found.cite(),))]


def _paying(facts: Facts) -> Fact | None:
    found = facts.find(FREED)
    return found if found is not None and found.at["pays"] else None


RULES: tuple[Rule, ...] = (given_back,)
