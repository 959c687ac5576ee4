"""Checks over the user's own samples, which are read one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.checks.base import Check, Context, new_checks
from dataloader_expert.checks.duplicates.duplicates import Duplicates
from dataloader_expert.checks.files.integrity import Integrity
from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.errors import RequestError, escaped, fields_are
from dataloader_expert.facts import Evidence, Fact, Quantity
from dataloader_expert.probes.base import FIRST, Bench, Said, evidence
from dataloader_expert.probes.data.gathering import MOST, Gathering
from dataloader_expert.probes.data.layout import described
from dataloader_expert.probes.data.looking import active, pivots_of, watch
from dataloader_expert.probes.data.ordering import in_turn
from dataloader_expert.probes.hidden_errors import replaced
from dataloader_expert.probes.hung import LONG_SAMPLES
from dataloader_expert.probes.patience import Hung, Patience
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.reference import Raised, Reference, columns_of_sample
from dataloader_expert.sources.roles import find_roles

NOTHING = Quantity("sample_is_none", "samples", "samples for which the user's code returns None")
BY_CHANCE = 1e-4
"""How often samples that raise may lie above all others by chance, to be told as beyond the end."""
RAISES = Quantity("sample_raises", "samples", "samples that raised in the user's code, with the error")
STREAM_MOST = 20_000
TRIED = 16
"""Samples of a user's dataset that are read before it is known what they are, and what they cost."""
RAISED_MOST = 200


@dataclass
class Tried:
    """What became of the samples that were asked for."""

    read: int = 0
    highest: int = -1
    """The largest index that was read."""
    raised: dict[int, str] = field(default_factory=dict)
    kinds: set[type[BaseException]] = field(default_factory=set)
    nothing: list[int] = field(default_factory=list)
    """The indices of samples that are None."""

    def why_nothing(self) -> str:
        """Why there is no sample to check."""
        text = "every sample is None" if self.nothing else "the dataset yielded no sample"
        every = f"; {len(self.raised)} of {len(self.raised)} samples raised" if self.raised else ""
        return next(iter(self.raised.values()), text) + every

    def facts(self, source: Reference, garbled: str) -> Iterator[Fact]:
        """What was wrong with samples."""
        if self.nothing:
            asked = self.read + len(self.raised) + len(self.nothing)
            none = {
                "count": len(self.nothing),
                "tried": asked,
                "dropped": source.collates,
                "samples": sorted(self.nothing)[:MAX_PLACES],
            }
            yield Fact(NOTHING, none, self._evidence(source))
        if self.raised:
            value = {
                "count": len(self.raised),
                "tried": self.read + len(self.raised),
                "error": next(iter(self.raised.values())),
                "garbled": garbled,
                "length": None if source.iterable else _length_without(self.raised, self.kinds, source.samples),
                "beyond": None if source.iterable else _beyond(self.raised, self.kinds, self.highest, self.read),
                "samples": sorted(self.raised)[:MAX_PLACES],
            }
            yield Fact(RAISES, value, self._evidence(source))

    def _evidence(self, source: Source) -> Evidence:
        total, seen = None if source.iterable else source.samples, self.read + len(self.raised)
        return evidence("counted" if total is None or seen >= total else "sampled", "scan", seen=seen, population=total)


def checked(
    bench: Bench,
    source: Reference,
    most: int | None,
    context_of: Callable[[Source, int], Context],
    deadline: float | None,
    reading: Patience,
) -> Generator[Said, None, dict[str, Check]]:
    """Checks over the user's own samples, read one by one in this process; at most so many of them, None: all."""
    import numpy as np

    from dataloader_expert.loaders.seeding import set_states

    until = time.monotonic() + 10.0 if deadline is None and source.iterable else deadline
    population = 0

    def in_time(rest: int) -> bool:
        nonlocal population
        population = min(source.samples, most or source.samples) if reading.in_time(rest, until) else 0
        return population > 0

    set_states(bench.seed)  # samples that are drawn at random are the same in each run
    if source.iterable:
        indices: Iterable[int] = range(min(most or STREAM_MOST, STREAM_MOST))
        stream = iter(source.dataset)
    else:
        n = source.samples
        cap = min(n, most or n)
        if n <= 1_000_000:
            order = np.random.default_rng(bench.seed).permutation(n)[:cap].tolist()
            indices = in_turn(order, TRIED, MOST, bench.seed, in_time)
        else:
            rng = np.random.default_rng(bench.seed)
            indices = sorted(set(rng.integers(0, n, min(cap, 200_000)).tolist()))
    checks: dict[str, Check] | None = None
    looking: list[Check] = []
    waiting: list[Block] = []
    gathering = Gathering()
    tried = Tried()
    first: Fact | None = None
    ended = False
    for index in indices:
        if (until is not None and time.monotonic() > until and tried.read >= 2) or reading.gave_up:
            break
        bench.at(int(index))
        asked = time.perf_counter()
        try:
            sample = _next(stream, index) if source.iterable else reading.read(source.dataset, int(index))
        except StopIteration:
            ended = True
            break
        except Hung:
            continue
        except Raised as e:
            tried.raised[int(index)] = str(e)
            tried.kinds.add(type(e.error))
            bench.raised.append((int(index), str(e)))
            bench.garbled = bench.garbled or garbled(e.error)
            if source.iterable or (len(tried.raised) >= 20 and not tried.read) or len(tried.raised) >= RAISED_MOST:
                break
            continue
        bench.at(-1)  # what follows is no fault of the sample
        tried.highest = max(tried.highest, int(index))
        if sample is None:
            tried.nothing.append(int(index))
            continue
        if bench.facts.find(LONG_SAMPLES) is None:
            yield from reading.long()
        unit = Unit(int(index), "", int(index), 1, 0, source.split_of(int(index)))
        if not tried.read and not tried.raised:
            first = Fact(FIRST, round(time.perf_counter() - asked, 6), evidence("timed", "scan", seen=1))
        block = Block(unit, columns_of_sample(sample))
        tried.read += 1
        if checks is None:
            waiting.append(block)
            if len(waiting) < min(TRIED, source.samples if not source.iterable else TRIED):
                continue
            checks = _begun(bench, source, waiting, context_of, until)
            looking = active(checks)
            yield from described(bench)
        else:
            watch(gathering.with_next(block), looking, population)
        if tried.read % 500 == 0:
            bench.progress(f"read {tried.read} samples", None)
    bench.at(-1)
    if checks is None:
        if not waiting:
            raise RequestError("dataset-raised", f"{tried.why_nothing()}; fix the dataset")
        checks = _begun(bench, source, waiting, context_of, until)
        yield from described(bench)
    watch(gathering.rest(), looking, population)
    if first is not None and bench.facts.find(FIRST) is None:
        yield first
    if ended:
        from dataloader_expert.probes.data.layout import SAMPLES

        yield Fact(SAMPLES, tried.read, evidence("counted", "scan", seen=tried.read))
        for check in checks.values():
            check.context.samples = tried.read
    integrity = checks["integrity"]
    assert isinstance(integrity, Integrity)
    integrity.failed += len(tried.raised) + len(tried.nothing)
    if not source.iterable and checks["duplicates"].applies():
        duplicates = checks["duplicates"]
        assert isinstance(duplicates, Duplicates)
        duplicates.context.replaced = replaced(source.dataset, duplicates.kept.twice(), source.samples, bench.left())
    yield from tried.facts(source, bench.garbled)
    return checks


def _begun(
    bench: Bench,
    source: Reference,
    waiting: list[Block],
    context_of: Callable[[Source, int], Context],
    until: float | None,
) -> dict[str, Check]:
    """Determines fields from the first samples, then runs all checks over them until the next would probably exceed the time: all checks may
    take far longer over a large sample than reading it."""
    merged = Block(waiting[0].unit, {})
    for name in waiting[0].columns:
        values = [v for b in waiting if name in b.columns for v in b.columns[name].values]
        merged.columns[name] = Column(_together(values))
    source.describe(merged)
    if bench.ref.label is not None:
        if source.field(bench.ref.label) is None:
            there = fields_are(bench.ref.label, [f.name for f in source.fields])
            raise RequestError("label-not-found", f"field {escaped(bench.ref.label)} does not exist; {there}")
        source.labelled(bench.ref.label)
    source.roles = find_roles([merged], source.fields, source.label, bool(source.splits))
    context = context_of(source, bench.seed)
    loader = source.training_loader
    if loader is not None:
        from dataloader_expert.loaders.building import is_plain, sampler_name

        if not is_plain(loader):
            context.handled = f"the loader's own {sampler_name(loader)}"
    context.pivots, context.offsets = pivots_of(merged, context)
    checks = new_checks(context)
    # what was read is checked even if reading took all of its time: half of what is left for others goes to it
    enough = None if until is None else max(until, time.monotonic() + 0.5 * bench.left())
    last = 0.0
    for count, block in enumerate(waiting):
        begun = time.monotonic()
        # the first one's time, which goes to imports as well, tells little of the next
        if enough is not None and count and begun + last * (count > 1) > enough:
            break
        watch([block], active(checks))
        last = time.monotonic() - begun
    return checks


def _length_without(raised: Iterable[int], kinds: set[type[BaseException]], n: int) -> int | None:
    """How long a dataset is whose last samples alone are not there (IndexError or KeyError); None of another."""
    first, many = min(raised), len({*raised})
    return first if kinds <= {IndexError, KeyError} and first + many == n and first > 0 else None


def _beyond(raised: Iterable[int], kinds: set[type[BaseException]], highest: int, read: int) -> list[int] | None:
    """The largest index that was read and the smallest that raised, where all indices from somewhere between on seem not to be there:
    of samples read in random order, all that raised IndexError or KeyError lie above all others. None of another."""
    first, many = min(raised), len({*raised})
    if not kinds <= {IndexError, KeyError} or not 0 <= highest < first:
        return None
    return [highest, first] if math.comb(read + many, many) * BY_CHANCE >= 1 else None


def _next(stream: Any, index: int) -> Any:
    try:
        return next(stream)
    except StopIteration:
        raise
    except (Exception, SystemExit) as e:
        raise Raised(e, index) from None


def _together(values: list[Any]) -> Any:
    import numpy as np

    from dataloader_expert.sources.arrays import stacked

    return np.array(values) if values and all(isinstance(v, np.generic) for v in values) else stacked(values)


def garbled(error: BaseException) -> str:
    """The name of an exception that torch cannot rebuild from its message in the main process; else empty."""
    kind = type(error)
    try:
        kind("message")
    except Exception:  # its own __init__ may raise anything
        return kind.__name__
    return ""
