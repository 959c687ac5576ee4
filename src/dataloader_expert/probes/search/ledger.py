"""The time budget: what is left for the search, and what a trial, a block and a proof take."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.search.belief import UNSURE, Belief
from dataloader_expert.probes.search.pairing import Noise, t99
from dataloader_expert.probes.search.progress import LOCKED_S
from dataloader_expert.probes.search.runner import LONG_ROUNDS, LONG_S, Runner
from dataloader_expert.probes.search.setting import Setting
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS, PAIRS, PROOF_SHARE, WORTH

WAITING, WAITING_ROUNDS = 0.5, 4
"""From this share of waiting in a sample's time on, workers released together deliver together, and a block needs this
many rounds, as a shorter one would end in the middle of one."""
STRETCH = 4
"""How many times as long a block may be where samples are uneven: longer ones would leave no time for pairs."""
TRUST = 4
"""Degrees of freedom with which the expected scatter is known: within a factor of two."""
PATIENCE_S = 30.0
"""Seconds without progress that count as a hang, if time allows: connections and large indexes take long to open."""


class Ledger:
    """``fine``: samples are counted where they are read; ``first_s``: seconds that a worker takes for its first
    batch."""

    def __init__(self, bench: Bench, deadline: float | None, block_s: float) -> None:
        self.bench, self.deadline, self.least_s = bench, deadline, block_s
        self.belief, self.fine, self.first_s = Belief([(1e-6, 0.0)], 1, 1.0), False, 0.0
        self._costs: dict[Setting, float] = {}

    @property
    def left(self) -> float:
        """Seconds left for the search."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    @property
    def room(self) -> float:
        """Seconds for a trial and its proof, which may use some of the time of later probes."""
        return max(self.left, PROOF_SHARE * self.bench.left())

    def by(self, present: bool, workers: int) -> float | None:
        """When (monotonic) a first block must end: a trial may take half of what is left, so that another can still be
        tried and proved."""
        if self.deadline is None:
            return None
        return time.monotonic() + self.room * (1.0 if present else 0.5) - self.spared(present, workers)

    def spared(self, present: bool, workers: int) -> float:
        """Seconds that are kept for batches in this process, should the present workers deliver nothing."""
        alone_s = 2 * self.first_s + 2 * self.least_s
        return alone_s if present and workers and alone_s < 0.5 * self.room else 0.0

    @property
    def last(self) -> float:
        """When (monotonic) a first block ends even in the middle of a round, so that what was seen is told."""
        return math.inf if self.deadline is None else time.monotonic() + self.room

    @property
    def patience(self) -> float:
        """Seconds without progress that count as a hang: longer than anything took here, at most half of what is
        left."""
        half: float = 0.5 * self.bench.left()
        return max(LOCKED_S, min(PATIENCE_S, half), 4 * self.first_s)

    def timed_s(self, setting: Setting) -> float:
        """Least seconds of a block: twice as many where samples are counted, as few come in it; up to STRETCH times as many
        where samples are so uneven that which of them it draws would decide more than the model is unsure of."""
        least = self.least_s * (2 if self.fine else 1)
        wanted = (self.belief.unevenness / UNSURE) ** 2 / self.belief.steady(setting)
        return min(max(least, wanted), STRETCH * least)

    def rounds(self, workers: int) -> int:
        """The fewest rounds of a block."""
        return WAITING_ROUNDS if workers and self.belief.waiting > WAITING else 1

    def ran(self, setting: Setting, runner: Runner) -> None:
        """Learns from a block how long further ones take."""
        if not runner.serving.batched and self.belief.batch_size == 1 and runner.batch_samples > 1:
            self.belief.of_batches(runner.batch_samples)
        if setting not in self._costs and setting.workers and runner.start is not None:
            first_s = runner.first_use_s / max(1.0, setting.workers / self.belief.cpus)
            self.belief.started(replace(runner.start, cpu_s=runner.start.cpu_s + first_s))
            if runner.received and not self.fine:
                self.belief.received(runner.main_s / runner.received)
        if runner.again is not None:
            shared = max(1.0, setting.workers / self.belief.cpus)
            cpu_s = runner.batch_samples * self.belief.cpu + self.belief.collate_s
            first_s = shared * cpu_s + runner.batch_samples * self.belief.waits
            steady = [rate for rate, whole in runner.timed if not whole]
            if steady:  # workers that begin together share cores and stores as they do later
                first_s = max(first_s, runner.again.samples / min(steady))
            self.belief.begins(max(0.0, runner.again.seconds - first_s))
        self._costs[setting] = runner.cost

    def trial_s(self, setting: Setting) -> float:
        """Seconds of a trial: workers start, reach the steady state, and are timed."""
        start = self.belief.start.seconds(setting.workers, self.belief.cpus)
        round_s = self._round_s(setting)
        if self.fine or not setting.workers:
            return start + round_s + self.block_s(setting)
        stock = min(LONG_S + round_s / setting.workers, setting.prefetch * round_s)
        return start + round_s + stock + round_s + self.block_s(setting)

    def block_s(self, setting: Setting) -> float:
        """Seconds of one more block: as the longest so far, else as predicted."""
        if self._costs.get(setting):
            return self._costs[setting]
        round_s = self._round_s(setting)
        if self.fine:
            return max(self.timed_s(setting), 2 * round_s)
        rounds = self.rounds(setting.workers)
        return max(self.timed_s(setting), round_s * (min(rounds, LONG_ROUNDS) if rounds * round_s > LONG_S else rounds))

    def proof_s(self, setting: Setting, now: Setting) -> float:
        """Seconds of the pairs that are expected to prove a gain over the present setting."""
        return self.pairs(setting, now) * (self.block_s(setting) + self.block_s(now))

    def pairs(self, setting: Setting, now: Setting) -> int:
        """How many pairs the gain needs: the fewer samples a block holds, and the less even they are, the more."""
        gain = math.log(max(1.0, self.belief.rate(setting) / self.belief.rate(now) / WORTH))
        noise = self.noise(setting, now)
        enough = (k for k in range(LEAST_PAIRS, PAIRS) if t99(k - 1 + noise.df) * noise.sd / math.sqrt(k) <= gain)
        return next(enough, PAIRS)

    def noise(self, setting: Setting, now: Setting, of_others: bool = False) -> Noise:
        """How the ratio of a pair of blocks scatters: as blocks and the samples that they draw do, corrected by how far the
        blocks of each setting lay apart so far; ``of_others``: of all settings but these two."""
        in_blocks = [max(1.0, self.block_s(s) * self.belief.rate(s)) for s in (setting, now)]
        expected = sum(UNSURE**2 + self.belief.unevenness**2 / n for n in in_blocks)
        apart, df = float(TRUST), TRUST
        for seen, rates in self.belief.seen.items():
            if of_others and seen in (setting, now):
                continue
            logs = [math.log(rate) for rate in rates]
            mean = sum(logs) / len(logs)
            drawn = self.belief.chance[seen]
            apart += sum((x - mean) ** 2 / (UNSURE**2 + luck) for x, luck in zip(logs, drawn, strict=True))
            df += len(rates) - 1
        return Noise(math.sqrt(expected * apart / df), df)

    def fits(self, setting: Setting, now: Setting, best: Setting, gain: float = 0.0) -> bool:
        """Whether there is time for a trial and for a proof: of the trial's gain in the fewest pairs, the first of which the
        trial gives, or of what the best so far gains in as many as that needs. For what is expected to ``gain`` more than the best has
        gained so far, the proof of that is put at risk: a small gain takes the most pairs."""
        least = (LEAST_PAIRS - 1) * (self.block_s(setting) + self.block_s(now))
        gained = self.belief.rate(best) / self.belief.rate(now) - 1
        known = self.proof_s(best, now) if best != now and gained >= gain else 0.0
        return self.trial_s(setting) + max(least, known) <= self.room

    def _round_s(self, setting: Setting) -> float:
        """Seconds of a batch from each worker; if samples are counted, of a sample from each."""
        one = 1 if self.fine else self.belief.batch_size
        return max(1, setting.workers) * one / self.belief.steady(setting)
