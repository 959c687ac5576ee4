"""A running DataLoader, timed in blocks.

A block is short, however long a batch takes. If batches take long, samples are counted in the processes that read them;
else delivered batches are counted, in whole rounds of one per worker, or in whole epochs if an epoch is shorter than a
block.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field

from dataloader_expert.probes.delivery import held_back, in_stock
from dataloader_expert.probes.search.living import POLL_S, Begun, Living
from dataloader_expert.probes.search.tap import Count, TimeUp

LONG_S, LONG_ROUNDS, EVEN = 0.6, 2, 0.1
"""From LONG_S seconds on a block of LONG_ROUNDS rounds is long enough, as the more batches a round has the less its end
affects the rate; unless the queued batches changed by more than EVEN, as then the samples in progress changed too."""


LEAST_EPOCHS = 2
"""Whole epochs of a block that is shorter."""


def cycle(load_s: float, step_s: float, workers: int) -> float:
    """Seconds from batch to batch: loading and step one after the other without workers, else the longer of the two."""
    return max(load_s, step_s) if workers else load_s + step_s


@dataclass
class Runner(Living):
    """``timed``: samples/s of each block, and whether it took whole epochs; ``cost``: seconds of one more block; ``gaps``: seconds
    from batch to batch; ``overtaken_s``: the part of ``waited_s`` in which in-order delivery kept a worker idle;
    ``idle_s``: the same, weighted by the share of idle workers; ``rounds``: the fewest of a block; ``last``: when
    (monotonic) the first block ends, however little of it is done."""

    timed: list[tuple[float, bool]] = field(default_factory=list)
    cost: float = 0.0
    step_s: float = 0.0
    rounds: int = 1
    last: float = math.inf
    gaps: list[float] = field(default_factory=list)
    waited_s: float = 0.0
    overtaken_s: float = 0.0
    idle_s: float = 0.0
    main_s: float = 0.0
    received: int = 0
    """``main_s`` is the CPU time of this thread in which so many batches were received."""

    def block(self, seconds: float, until: float | None) -> float:
        """Times at least ``seconds``; records and returns samples/s. Ends early at ``until`` (monotonic).

        Dropped first: a round in which the workers reach the steady state, and in the first block the prefetched
        batches.
        """
        begun = time.monotonic()
        try:
            self.opened()
            rate, whole, begun = self._counted(seconds, until) if self.fine else self._delivered(seconds, until)
        finally:
            self.tap.shut()
        self.timed.append((rate, whole))
        # a block in which an epoch starts takes longer: plan for the longest one
        self.cost = max(self.cost, time.monotonic() - begun)
        return self.blocks[-1]

    @property
    def blocks(self) -> list[float]:
        """Throughputs in samples/s over whole epochs, one copy of each sample counted, by what is known by now of how an epoch
        begins and of how long it is."""
        return [(rate if whole else self._with_starts(rate)) / self.copies for rate, whole in self.timed]

    def _counted(self, seconds: float, until: float | None) -> tuple[float, bool, float]:
        """Samples/s as they are read, from one read to another, summed over all workers, so that it does not matter
        which of them the storage serves; whether of whole epochs; and when the block began. Dropped first: one sample of each worker, if in
        time."""
        begun, before, n = time.monotonic(), self.counts(), max(1, self.plan.workers)
        cold = not any(c.samples for c in before)
        start: list[Count] | None = None
        first, epoch, again, enough = math.inf, self.epochs, False, math.inf
        while True:
            with contextlib.suppress(TimeUp):
                self.next_batch(time.monotonic() + (POLL_S if self.plan.workers else seconds))
            now, counts = time.monotonic(), self.counts()
            if until is not None and now > until and self.startup is None and not any(c.samples for c in counts):
                raise self.too_slow()
            if self.epochs > epoch and not again:  # an epoch's start is counted separately, unless every block has one
                before, start, first, again, enough = counts, None, math.inf, True, math.inf
            fresh = sum(c.samples > b.samples for c, b in zip(counts, before, strict=True))
            if fresh and start is None:
                first = min(first, now)
                start = counts if fresh == n or now - first >= seconds else None
                if start is not None and self.startup is None:
                    self.has_started(_last(start), sum(c.samples for c in start))
                continue
            read = 0 if start is None else sum(c.samples - b.samples for c, b in zip(counts, start, strict=True))
            spent = 0.0 if start is None else _last(counts) - _last(start)
            if read and (spent >= seconds or (until is not None and now > until)):
                enough = min(enough, now + sum(self.sample))
            made = {c.samples - b.samples for c, b in zip(counts, start or counts, strict=True)}
            if now >= enough or (enough < math.inf and len(made) == 1):
                break  # workers that wait together deliver together: do not end within such a round
        assert start is not None
        collated = sum(c.batches - b.batches for c, b in zip(counts, start, strict=True))
        # a block shorter than a batch sees collating too often or not at all: charge it in proportion
        due = (read / self.plan.batch_size - collated) * self.collate_s / n
        begins = self.epochs - epoch - again  # of which the last may not have come to a sample yet
        whole = begins > 1 or (begins == 1 and self.renewed < _last(counts))
        return read / max(1e-9, spent + due), whole, begun if not cold else first

    def _delivered(self, seconds: float, until: float | None) -> tuple[float, bool, float]:
        """Samples/s in whole rounds, of the batches loaded during the block, not of those delivered: some were loaded
        before it and waited in the queue, or are held back to keep the order; and the same as of ``_counted``."""
        if self.iterator is None:
            try:
                self.next_batch(math.inf if until is None else until)
            except TimeUp:
                raise self.too_slow() from None
        try:
            return self._in_rounds(seconds, until)
        except TimeUp:
            done = self.epochs * self.epoch_samples
            if (
                0 < done < math.inf and not self.plan.persistent
            ):  # whole epochs that began with a start of workers, as all do
                return done / (self.renewed - self._begun), True, self._begun
            return self._so_far(), False, self._begun

    def _in_rounds(self, seconds: float, until: float | None) -> tuple[float, bool, float]:
        n = max(1, self.plan.workers)
        if self.plan.workers and self.length() <= self.plan.workers * (self.plan.prefetch or 2) + 2 * n:
            begun = time.monotonic()  # an epoch ends before its workers are in step
            return self._epochs(seconds, until), True, begun
        begun = self._into_step(n, until)
        epoch = self.epochs
        samples, start, cpu = 0, time.perf_counter(), self.receiving_s()
        last, stock, gaps, done, again = start, in_stock(self.iterator), len(self.gaps), 0, False
        while True:
            done += 1
            for _ in range(n):
                samples += self.next_batch(self.limit)
                last = self._gap(last)
            if self.epochs > epoch:
                each = (last - start) / (len(self.gaps) - gaps)
                if each * self.length() <= max(LONG_S, 2 * seconds) or again:
                    self.main_s += self.receiving_s() - cpu
                    return self._epochs(seconds, until), True, begun
                for _ in range(n):  # an epoch's start is counted separately
                    self.next_batch(self.limit)
                epoch, samples, start, gaps = self.epochs, 0, time.perf_counter(), len(self.gaps)
                last, stock, done, again = start, in_stock(self.iterator), 0, True
                continue
            spent, grown = last - start, in_stock(self.iterator) - stock
            enough = spent >= LONG_S and abs(grown) <= EVEN * done * n
            rounds = min(self.rounds, LONG_ROUNDS) if enough else self.rounds
            if (spent >= seconds and done >= rounds) or (until is not None and time.monotonic() > until):
                break
        self.main_s += self.receiving_s() - cpu
        loaded = max(1, done * n + grown)
        return samples / spent * loaded / (done * n), False, begun

    def _into_step(self, n: int, until: float | None) -> float:
        """Consumes the prefetched batches and one round more; returns when a block without worker start would begin. Without workers the
        first batch, which was consumed, is enough."""
        begun = time.monotonic()
        first = not self.timed
        if first and not self.plan.workers:
            return begun
        ready = self.plan.workers * (self.plan.prefetch or 2) if first else in_stock(self.iterator) * (self.rounds > 1)
        for _ in range(ready - first):
            self.next_batch(self.limit)
            if time.monotonic() - begun > LONG_S:
                break  # what comes so slowly is no stock
        if ready:
            begun = time.monotonic()  # a later block has no stock to use up
        for _ in range(n):
            self.next_batch(self.limit)
            if until is not None and time.monotonic() > until:
                break
        return begun

    @property
    def limit(self) -> float:
        """When (monotonic) a batch must have come."""
        return math.inf if self.timed else self.last

    def _so_far(self) -> float:
        """Samples/s since loading began, where time ended within the first block: of the batches loaded, and of half a
        batch in progress in each worker.

        Raises:
            TooSlow: if there are fewer batches than workers.
        """
        n = max(1, self.plan.workers)
        loaded = self.delivered[1] + in_stock(self.iterator)
        if loaded < n or self.epochs:
            raise self.too_slow()
        start = 0.0 if self.start is None else self.start.seconds(self.plan.workers, self.serving.cpus)
        spent = time.perf_counter() - self._begun - start
        return (loaded + self.plan.workers / 2) * self.batch_samples / max(1e-9, spent)

    def _with_starts(self, rate: float) -> float:
        """The rate over whole epochs: each begins with a start in which some samples are loaded already, and ends when the
        worker with the most batches has read them. A start of workers that are not persistent is as long as the first."""
        n = self.epoch_samples
        restarted = self.plan.workers and not self.plan.persistent
        begun, start_s = (self.first, self.startup) if restarted else (self.again, self.usual_s)
        if begun is None and start_s is not None:
            begun = Begun(start_s, 0.0)
        if math.isinf(n) or begun is None:
            return rate
        return n / (begun.seconds + max(max(0.0, n - begun.samples) / rate, self._longest_s(n, begun.samples, rate)))

    @property
    def first_use_s(self) -> float:
        """Seconds that workers took for their first round beyond their start and what a later one takes: they make what only the first
        sample makes, such as an index. Of whole epochs both are known: each has one first round."""
        if self.first is None or self.start is None or not self.timed:
            return 0.0
        (rate, whole), (seconds, samples) = self.timed[0], self.first
        if whole:
            later, later_s = self.epoch_samples - samples, self.epoch_samples / rate - seconds
            if self.plan.persistent or later <= 0 or later_s <= 0:
                return 0.0
            rate = later / later_s
        starts_s = self.start.seconds(self.plan.workers, self.serving.cpus)
        return max(0.0, seconds - starts_s - samples / rate)

    def _longest_s(self, samples: float, loaded: float, rate: float) -> float:
        """Seconds in which the worker with the most batches reads what is left of its share of an epoch: one no slower than
        among all of them, and no faster than a sample takes alone. ``loaded``: by all workers together, before."""
        workers, size = max(1, self.plan.workers), self.batch_samples
        batch_s = min(workers * size / rate, size * sum(self.sample) + self.collate_s)
        batches = samples / workers / size if self.stream else math.ceil(math.ceil(samples / size) / workers)
        return max(0.0, batches - loaded / workers / size) * batch_s

    def _epochs(self, seconds: float, until: float | None) -> float:
        """Samples/s over whole epochs, including the start of workers if they are not persistent."""
        while self.awaited(self.limit) is not None:
            pass
        samples, start, count = 0, time.perf_counter(), 0
        while True:
            self.renew()
            while (batch := self.awaited(self.limit)) is not None:
                samples += self.serving.count(batch)
            if not samples:
                raise RuntimeError("the loader's second epoch is empty")
            count += 1
            spent = time.perf_counter() - start
            enough = spent >= seconds and (count >= LEAST_EPOCHS or spent >= LONG_S)
            if enough or (until is not None and time.monotonic() > until):
                self.ended(samples / count)
                return samples / spent  # the next block begins with an epoch

    def _gap(self, last: float) -> float:
        now = time.perf_counter()
        self.received += 1
        self.gaps.append(now - last)
        self.waited_s += now - last
        held = held_back(self.iterator) / self.plan.workers if self.plan.workers else 0.0
        self.overtaken_s += (now - last) * (held > 0)
        self.idle_s += (now - last) * held
        return now

    @property
    def paced(self) -> list[float]:
        """Samples/s that a consumer with this step gets in each block."""
        b = self.batch_samples
        return [b / cycle(b / rate, self.step_s, self.plan.workers) for rate in self.blocks]

    @property
    def overtaken(self) -> float:
        """The share of waiting time in which a worker was idle because all its batches were held back for the order."""
        return self.overtaken_s / self.waited_s if self.waited_s else 0.0

    @property
    def idle(self) -> float:
        """The share of workers that in-order delivery kept idle, over time: an upper bound, as each gap counts in full
        with its state at the end."""
        return self.idle_s / self.waited_s if self.waited_s else 0.0


def _last(counts: list[Count]) -> float:
    """When the last of these samples was read."""
    return max(c.at for c in counts)
