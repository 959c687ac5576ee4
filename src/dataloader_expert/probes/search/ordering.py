"""Pairs of blocks with and without in-order delivery: with uneven samples, a few blocks decide nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Observation, evidence
from dataloader_expert.probes.search.pairing import Paired, compare
from dataloader_expert.probes.search.setting import Setting
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, PAIRS
from dataloader_expert.probes.search.trials import point

ORDERING = Quantity(
    "ordering",
    "",
    "share of waiting time in which in-order delivery kept a worker idle, and the gain of in_order=False, in pairs",
)


def without_order(settings: Settings) -> Iterator[Observation]:
    """Compares each in_order=False setting with the same one in order; without a proved gain it is dropped, as it costs
    repeatability."""
    freely = [s for s in settings.runners if not s.in_order and s != settings.now]
    for setting in [s for s in freely if s._replace(in_order=True) in settings.runners]:
        yield from _compared(settings, setting, setting._replace(in_order=True))


def _compared(settings: Settings, freely: Setting, in_order: Setting) -> Iterator[Observation]:
    if not {freely, in_order} <= settings.runners.keys():
        return  # ended for their memory meanwhile
    free, kept = settings.runners[freely], settings.runners[in_order]
    proof = settings.ledger.proof_s(freely, settings.now)
    until = time.monotonic() + 0.5 * max(0.0, settings.ledger.room - proof)
    noise = settings.ledger.noise(freely, in_order)
    found = compare(lambda: settings.timed(free), lambda: settings.timed(kept), PAIRS, until, worth=1.0, noise=noise)
    if not {freely, in_order} <= settings.runners.keys():
        return
    n = len(found.ratios)
    if n >= LEAST_PAIRS:
        gain, low, high = found.told
        value = {
            "overtaken": round(kept.overtaken, 4), "waited_s": round(kept.waited_s, 4), "gain": gain, "low": low,
        }  # fmt: skip
        seen = evidence("timed", "loading", seen=n, interval=(low, high), spread=found.spread)
        yield Fact(ORDERING, value, seen, point(in_order))
    ratios = [f / k for f, k in zip(free.paced[-n:], kept.paced[-n:], strict=True)] if n else []
    paced = Paired(ratios, worth=1.0, noise=noise)
    if n < LEAST_PAIRS:
        yield Unknown(
            f"throughput at {settings.words(freely)}", "the budget ran out before it was compared: raise budget_s"
        )
    if n < LEAST_PAIRS or paced.told[1] <= 1:
        settings.end(freely)
