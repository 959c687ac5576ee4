"""Which setting is recommended: alternating blocks of those still in contention, then pairs of the winner and the present
setting, fresh ones as time allows. A gain is claimed only if pairs prove it. A winner whose gain is not proved is recommended as
probable if both the pairs and the cost model, which has seen every block, expect one that is worth a change."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dataloader_expert.facts import Unknown
from dataloader_expert.probes.base import Observation, TooDear
from dataloader_expert.probes.search.belief import UNSURE
from dataloader_expert.probes.search.pairing import Paired, compare, interval
from dataloader_expert.probes.search.setting import Setting
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.thresholds import ALIKE, LEAST_PAIRS, MOST_PAIRS, ROUNDS, WORTH


@dataclass
class Proof:
    """``best`` is recommended instead of ``now``, on the evidence of the pairs ``found``; ``winner`` was the fastest. ``looked``:
    pairs of the winner that proved no gain."""

    best: Setting
    now: Setting
    winner: Setting
    found: Paired = field(default_factory=Paired)
    looked: Paired | None = None


def surpasses(top: list[float], other: list[float]) -> bool:
    """Whether the faster of two settings is distinguishable from the other, by their rates round by round."""
    rounds = Paired([a / b for a, b in zip(top, other, strict=False)], worth=1.0)
    gain = interval(top)[0] / interval(other)[0]
    return gain > ALIKE and (min(rounds.ratios) > 1 or rounds.shown)


def cheapest(settings: Settings) -> Setting:
    """The setting with the fewest workers, then the least prefetch, that no other beats by more than noise at the
    consumer's pace; among equals one that keeps the order."""
    rates = {key: r.paced for key, r in settings.runners.items()}
    top = max(rates.values(), key=lambda paced: interval(paced)[0])
    alike = (k for k, r in rates.items() if not surpasses(top, r))
    return min(alike, key=lambda k: (k.workers, k.prefetch, not k.in_order, k.persistent))


def behind(settings: Settings, setting: Setting) -> float:
    """The share of the best rate below which a setting is out of contention: two standard deviations of a block."""
    ledger = settings.ledger
    luck = ledger.belief.luck(ledger.timed_s(setting) * settings.rate(setting))
    return math.exp(-2 * math.hypot(UNSURE, luck))


def drop(settings: Settings) -> None:
    """Drops settings that are clearly slower than the best; the present one stays for the comparison."""
    best = max((max(r.blocks) for r in settings.runners.values()), default=0.0)
    for key in [
        k for k, r in settings.runners.items() if k != settings.now and max(r.blocks) < behind(settings, k) * best
    ]:
        settings.end(key)


def settle(settings: Settings) -> Iterator[Observation]:
    """Alternating blocks of the settings still in contention; none if only one is left."""
    best = max((max(r.blocks) for r in settings.runners.values()), default=0.0)
    alive = [k for k, r in settings.runners.items() if max(r.blocks) >= behind(settings, k) * best]
    if len(alive) < 2:
        yield from settings.told_broken()
        stand(settings)
        return
    top = max(alive, key=lambda k: max(settings.runners[k].blocks))
    alive.sort(key=lambda k: (k not in (settings.now, top), k))
    for _ in range(ROUNDS - 1):
        for key in [k for k in alive if k in settings.runners]:
            runner, needed = settings.runners[key], proof_s(settings)
            spare = settings.ledger.room - needed
            fits = settings.ledger.left > needed or (key in (settings.now, top) and spare > runner.cost)
            if len(runner.blocks) < ROUNDS and fits:
                settings.bench.progress(f"timing {settings.words(key)}", None)
                settings.block(runner, settings.ledger.deadline)
    yield from settings.told_broken()
    stand(settings)
    for key in [k for k in alive if k in settings.runners and k not in (settings.now, top)]:
        if len(settings.runners[key].blocks) < ROUNDS:  # too few blocks to decide
            settings.end(key)
            yield Unknown(
                f"throughput at {settings.words(key)}", f"the budget ran out before it had run {ROUNDS} blocks"
            )


def stand(settings: Settings) -> None:
    """If the present setting's workers were stopped, the main process alone becomes the baseline."""
    if settings.now not in settings.runners:
        settings.now = Setting(0, 0)
        if settings.now not in settings.runners:
            settings.run(settings.with_workers(0))


def proof_s(settings: Settings) -> float:
    """The least seconds that the proof of a winner takes; the present workers may have been stopped."""
    best = settings.best()
    if best is None:
        return 0.0
    costs, now = [r.cost for r in settings.runners.values()], settings.runners.get(settings.now)
    pairs = settings.ledger.pairs(best, settings.now) if now is not None else LEAST_PAIRS
    return pairs * ((now.cost if now is not None else 0.0) + max(costs))


def prove(settings: Settings) -> Iterator[Observation | Proof]:
    """Alternating blocks of the winner against the present setting; ends with the proof.

    Raises:
        TooDear: if the present workers used up the allowed memory.
    """
    stand(settings)
    if settings.now not in settings.runners:
        raise TooDear("no batch came within the budget: raise budget_s")
    winner = cheapest(settings)
    proof = Proof(winner, settings.now, winner)
    if proof.best != proof.now:
        yield from _checked(settings, proof)
    present = settings.runners[proof.now]
    for _ in range(ROUNDS - len(present.blocks)):
        if settings.bench.left() < 2 * present.cost:
            break
        if not settings.block(present, None):
            yield from settings.told_broken()
            raise TooDear("the workers of the present settings used up the allowed memory")
    yield proof


def _checked(settings: Settings, proof: Proof) -> Iterator[Observation]:
    """Pairs of the winner and the present setting, which stays unless they prove a gain or make one probable.

    Where time holds too few, those rounds count as pairs too by which the winner was chosen: that it looked best among some
    adds less to its rate than one standard deviation of a block, of which the test demands several.
    """
    best, now = proof.best, proof.now
    settings.bench.progress("checking the recommended settings", None)
    present, chosen = settings.runners[now], settings.runners[best]
    dear, room = max(1e-3, present.cost + chosen.cost), settings.ledger.room
    pairs, noise = min(settings.pairs, int(room / dear)), settings.ledger.noise(best, now)
    if pairs:
        before, old = len(chosen.timed), len(present.timed)
        found = compare(
            lambda: settings.timed(chosen, paced=True), lambda: settings.timed(present, paced=True),
            pairs, time.monotonic() + room - dear, MOST_PAIRS, noise=noise,
        )  # fmt: skip
        # by what was learned meanwhile of how long an epoch is, and how it begins
        both = zip(chosen.paced[before:], present.paced[old:], strict=False)
        proof.found = replace(found, ratios=[b / a for b, a in both][: len(found.ratios)])
    if not {best, now} <= settings.runners.keys():
        yield from settings.told_broken()
        stand(settings)
        proof.best = proof.now = settings.now
        proof.found = Paired()
        return
    if proof.found.shown:
        return
    if len(proof.found.ratios) < LEAST_PAIRS:
        noise = settings.ledger.noise(best, now, of_others=True)
        proof.found = Paired([b / a for a, b in zip(present.paced, chosen.paced, strict=False)], noise=noise)
        if proof.found.shown:
            return
        if proof.found.ratios and proof.found.mean >= WORTH:  # else it was chosen for its fewer workers
            why = f"it looked faster, but proof takes another {max(1.0, LEAST_PAIRS * dear):.0f} s: raise budget_s"
            yield Unknown(f"throughput at {settings.words(best)}", why)
    proof.looked = proof.found
    keeps_order = best.in_order or not now.in_order  # repeatability is given up only for a gain that is proved
    if not (keeps_order and proof.found.probable(_expected(settings, proof))):
        proof.best, proof.found = now, Paired()


def _expected(settings: Settings, proof: Proof) -> float:
    """The winner's gain as expected from all that is known: by the blocks, and, where its pairs leave open whether there is any, by the
    model too, which knows why one should be faster: of settings that are alike one always looks best."""
    belief, best, now = settings.ledger.belief, proof.best, proof.now
    gain = settings.level(best) / settings.level(now)
    shown = len(proof.found.ratios) >= LEAST_PAIRS and proof.found.bounds[0] >= 1
    return gain if shown else min(gain, belief.predicted(best) / belief.predicted(now))
