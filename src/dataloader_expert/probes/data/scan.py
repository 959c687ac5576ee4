"""One pass over the samples with every check: what could be read, and what it contains."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.checks.base import OF_SPLITS, ROLES, Check, Context, new_checks
from dataloader_expert.checks.duplicates.duplicates import Duplicates
from dataloader_expert.checks.features import with_features
from dataloader_expert.checks.files.integrity import Integrity
from dataloader_expert.checks.files.references import Referenced
from dataloader_expert.conclusions import MAX_PLACES, Finding
from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.probes.base import FIRST, Bench, Probe, Said, evidence
from dataloader_expert.probes.data.gathering import MOST, Gathering, apart, together
from dataloader_expert.probes.data.layout import described
from dataloader_expert.probes.data.ordering import in_turn, stratified
from dataloader_expert.probes.hidden_errors import replaced
from dataloader_expert.probes.hung import LONG_SAMPLES
from dataloader_expert.probes.patience import Hung, Patience
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.links import find_links
from dataloader_expert.sources.reference import Raised, Reference, columns_of_sample
from dataloader_expert.sources.references import find_references
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_label import likely_label
from dataloader_expert.sources.vocabulary import Vocabulary

CHECKED = Quantity("checked", "", "each check's status, its count and how much data it saw")
CHECKS_FAILED = Quantity("checks_failed", "", "checks that raised on these data")
NOTHING = Quantity("sample_is_none", "samples", "samples for which the user's code returns None")
BY_CHANCE = 1e-4
"""How often samples that raise may lie above all others by chance, to be told as beyond the end."""
RAISES = Quantity("sample_raises", "samples", "samples that raised in the user's code, with the error")
CRASHES = Quantity("sample_crashes", "units", "units that killed the process that read them, with its exit code")
SCANNED = Quantity("scanned", "samples", "samples read by the scan, out of how many, and the time it took")
PARALLEL_S = 0.4
"""Seconds of work from which on processes share it."""
SLOW_PACE = 10e6
"""Bytes on disk that a process reads and judges in a second, at least, of nearly any format."""
LEAD, LEAD_BYTES = 16, 8 << 20
"""Units, and bytes of them on disk, that one process looks at to see what the rest costs. A unit beyond that is work enough
for several processes."""
THREADS = 2
"""In so many threads what was seen is added up: more of them would hold more memory at a time."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``, as ``malloc.h`` numbers them."""
LARGEST, SPARE = 4 << 20, 32 << 20
"""Bytes of values that the C library keeps the pages of, and those that it keeps at most while nothing uses them."""
IN_TIME = 0.8
"""The part of the time left after reading by which checks must have stated their facts; judging them takes little of the rest."""
LATE = "there was no time left for it, raise budget_s"
STREAM_MOST = 20_000
TRIED = 16
"""Samples of a user's dataset that are read before it is known what they are, and what they cost."""
RAISED_MOST = 200
ASKED_FOR = {
    "group": "to group by",
    "time": "to order by time",
    "length": "to take lengths from",
    "difficulty": "to take difficulty from",
}
"""Arguments that name a field, and what for."""
ROLES_FROM = 16
"""Samples from which roles are found where each is read apart."""


def _facts_of(check: Check) -> Facts:
    """What a check measured; nothing where it fails."""
    made: list[Facts] = []
    with check.held():
        made.append(Facts(tuple(check.facts())))
    return made[0] if made else Facts()


def stated(checks: list[Check], threads: int, until: float | None) -> Iterator[tuple[Check, Facts]]:
    """What each check measured; one that is not done by then is given up, so that what the others measured is not lost with it."""
    pool = ThreadPoolExecutor(threads)  # much of it sorts arrays, which needs no lock
    for check, made in [(check, pool.submit(_facts_of, check)) for check in checks]:
        try:
            yield check, made.result(None if until is None else max(0.0, until - time.monotonic()))
        except TimeoutError:
            check.error = LATE
    pool.shutdown(wait=False, cancel_futures=True)


def leading(sizes: list[int]) -> int:
    """How many of the first units one process looks at by itself, by their bytes on disk."""
    held = 0
    for count, size in enumerate(sizes):
        held += size
        if held > LEAD_BYTES and len(sizes) > 1:
            return count
    return len(sizes)


@dataclass(frozen=True)
class Scan(Probe):
    """``share``: of the time left; ``checks`` None: all; ``most``: the most samples (None: all)."""

    name: ClassVar[str] = "scan"
    doing: ClassVar[str] = "reading samples"
    torch: ClassVar[bool] = False
    share: float = 0.6
    checks: tuple[str, ...] | None = None
    near: bool = True
    most: int | None = None
    group: str | None = None
    time: str | None = None
    length: str | None = None
    difficulty: str | None = None
    vocab_size: int | None = None
    pad_id: int | None = None
    max_length: int | None = None
    leakage: bool = False
    """Whether ``group`` and ``time`` are asked for to be compared across splits: unknown where there are none."""
    severities: tuple[str, ...] = ("error", "warning", "info")
    """Those of the findings that are wanted."""
    every_split: bool = False
    """Whether splits that the user's code has are read together."""
    damaged: bool = False
    """Whether a source of which no file can be read is a result."""

    def compares_splits(self) -> bool:
        return self.every_split

    def tells_damage(self) -> bool:
        return self.damaged

    def measure(self, bench: Bench) -> Iterable[Said]:
        source = bench.source
        deadline = bench.until(self.share)
        begun = time.monotonic()
        bench.progress("reading samples", 0.0)
        if isinstance(source, Reference):
            with Patience(bench) as reading:
                checks = yield from self._reference(bench, source, deadline, reading)
        else:
            checks = yield from self._units(bench, source, deadline)
        facts = Facts()
        context = next(iter(checks.values())).context
        yield from self._not_compared(context)
        roles = replace(context.roles, group=context.grouped, time=context.timed).listed()
        facts.add(Fact(ROLES, roles, evidence("sampled", "scan")))
        integrity = checks["integrity"]
        assert isinstance(integrity, Integrity)
        for check in checks.values():
            check.context.failed = integrity.failed
        able = [check for check in checks.values() if check.applies() and check.error is None]
        for check, made in stated(able, max(1, min(THREADS, int(bench.cpus))), bench.until(IN_TIME)):
            with check.held():  # what contradicts another check's facts costs this check alone
                facts.take(made)
        yield from facts
        total = None if source.iterable else source.samples
        read, failed = integrity.seen, integrity.failed
        yield Fact(
            SCANNED,
            {"read": read, "failed": failed, "total": total},
            evidence("counted", "scan", seen=read, population=total, seconds=time.monotonic() - begun),
        )
        wanted = set(self.checks) if self.checks is not None else None
        judged: dict[str, list[Finding]] = {}
        firsts = first_rows(source)
        for check in checks.values():
            if not check.applies():
                continue
            found: list[Finding] = []
            said: list[Unknown] = []
            if check.error is None:
                with check.held():
                    found = [with_rows(f, firsts) for f in check.told(facts)] if read or check is integrity else []
                    said = list(check.unknowns())
            yield from (f for f in found if f.severity in self.severities and (wanted is None or f.code in wanted))
            yield from said
            for id_ in check.reported() if check.looked() or check.error is not None else ():
                if id_ in OF_SPLITS and not context.several_splits and all(f.code != id_ for f in found):
                    continue
                if wanted is None or id_ in wanted:
                    judged.setdefault(id_, []).extend(f for f in found if f.code == id_)
        failed_checks = {name: check for name, check in checks.items() if check.error is not None}
        for name, check in failed_checks.items():
            why = LATE if check.error == LATE else f"the check failed on these data ({check.error})"
            yield Unknown(f"check {name}", f"{why}: {', '.join(check.ids) or 'what it keeps'}")
        raised = sorted(name for name, check in failed_checks.items() if check.error != LATE)
        if raised:
            yield Fact(CHECKS_FAILED, raised, evidence("counted", "scan", seen=len(raised)))
        left_out = {id_ for check in failed_checks.values() for id_ in check.ids}
        how = "counted" if total is not None and read + failed >= total else "sampled"
        statuses = [
            {
                "id": id_,
                "status": "unknown" if id_ in left_out and not hits else status_of(hits, read),
                "count": sum(f.count for f in hits),
                "scanned": read + failed,
                "how": how,
            }
            for id_, hits in judged.items()
        ]
        yield Fact(CHECKED, statuses, evidence("derived", "scan", seen=read, population=total))
        self._keep(bench, checks)

    def _not_compared(self, context: Context) -> Iterator[Unknown]:
        """What is asked for across splits of a source that has only one."""
        for name in ("group", "time"):
            asked = getattr(self, name)
            if asked is not None and self.leakage and not context.several_splits:
                why = "is compared across splits, and this source has only one: pass split= with the field that holds each sample's"
                yield Unknown(f"{name} {asked}", f"{name} {why} split, or its folders or files as splits")

    def _keep(self, bench: Bench, checks: dict[str, Check]) -> None:
        from dataloader_expert.checks.base import CLASS_COUNTS
        from dataloader_expert.checks.labels.label_sets import LabelSets
        from dataloader_expert.checks.labels.labels import Labels

        labels, sets = checks["labels"], checks["label_sets"]
        assert isinstance(labels, Labels)
        assert isinstance(sets, LabelSets)
        bench.label_sets = sets.sets()
        bench.labels, bench.lengths, bench.groups = labels.codes(), labels.lengths(), labels.group_codes()
        bench.difficulty, bench.train, bench.rows = labels.difficulties(), labels.in_train(), labels.rows()
        bench.class_names = labels.class_names()
        counts = bench.facts.find(CLASS_COUNTS, split=None)
        if counts is not None:
            declared = bench.source.classes
            bench.classes = declared if declared is not None else tuple(counts.value)

    def _context(self, source: Source, seed: int) -> Context:
        """The context of the checks, with the fields that the request names.

        Raises:
            RequestError: ``invalid-argument`` if a named field does not exist.
        """
        if source.label in {self.difficulty, self.length, self.group} and source.label_how.startswith("guessed"):
            source.label, source.label_how = None, "the field that was guessed to be it was asked for as something else"
        context = Context.of(source, seed, self.near)
        asked_for = Vocabulary(self.vocab_size, self.pad_id, self.max_length)
        if asked_for.known():
            context.vocabulary = asked_for.over(context.vocabulary)
        for name in ASKED_FOR:
            asked = getattr(self, name)
            if asked is not None and source.field(asked) is None:
                there = ", ".join(f.name for f in source.fields)
                raise RequestError(
                    "invalid-argument", f"there is no field {asked} {ASKED_FOR[name]}; the fields are: {there}"
                )
            setattr(context, name, asked)
        return context

    def _units(self, bench: Bench, source: Source, deadline: float | None) -> Any:
        """Checks over a built-in source, in as many processes as pay off."""
        from dataloader_expert.engines.pool import fold
        from dataloader_expert.sources.registry import formats

        blocks = first_blocks(source)
        if source.roles is None:
            source.roles = find_roles(blocks, source.fields, source.label, bool(source.splits))
        context = self._context(source, bench.seed)
        context.pivots, context.offsets = _pivots(blocks[0], context) if blocks else ({}, {})
        if source.nullable:  # a table
            listing, whole = getattr(source, "listing", None), bench.ref.split is None
            context.references = find_references(listing, blocks, source.fields, source.label, whole)
            if source.label is None and source.modality == "tabular" and context.label_columns is None:
                context.candidate = likely_label(blocks, source.fields, source.roles)
            context.links = find_links(source, blocks, formats().values())
        order = stratified(source.units, bench.seed)
        if self.most is not None:
            order = order[: self.most]

        alone = False  # whether each unit is looked at by itself, so that one on which a check dies is known
        population = 0

        def work(hand: list[int], at: Callable[[int], None], until: float | None) -> dict[str, Check]:
            checks = new_checks(context)
            look(source, hand, checks, at, until, alone, population)
            return checks

        def begin(crashed: int) -> None:
            nonlocal alone
            alone = crashed > 0
            if any(f.kind == "image" for f in source.fields):
                importlib.import_module("pyarrow")  # in which Pillow's images are looked at without a copy
            keep_pages()

        lead = order[: leading([source.units[i].bytes for i in order[:LEAD]])]
        begun = time.monotonic()
        first = work(lead, lambda i: bench.at(source.units[i].start), deadline)
        rest = order[len(lead) :]
        cost = (time.monotonic() - begun) / len(lead) * len(rest) if lead else math.inf
        processes = min(max(1, int(bench.cpus)), len(rest)) if cost > PARALLEL_S else 1
        parts = [first]
        if rest:
            # units are read fastest in order; the random order matters only if not all can be read
            fits = deadline is None or not lead or cost / max(processes, 1) < 0.7 * (deadline - time.monotonic())
            sure = fits and (bool(lead) or deadline is None or self._quick(source, rest, processes, deadline))
            population = sum(source.units[i].samples for i in order) if sure else 0
            single = fits and all(source.units[i].samples == 1 for i in rest)
            # neighbours are looked at together, as some checks compare them; of few, each process has some runs
            together = max(1, min(MOST, len(rest) // (4 * processes))) if single else 1
            folded = fold(
                work,
                sorted(rest) if fits else rest,
                processes,
                deadline,
                lambda i: bench.at(source.units[i].start),
                lambda n: bench.progress(f"read {n + len(lead)} of {len(order)} units", (n + len(lead)) / len(order)),
                together,
                begin,
            )
            parts += folded.partials
            for i, code in folded.crashed.items():
                unit = source.units[i]
                value = {"exit_code": code, "file": unit.file, "sample": unit.start}
                yield Fact(CRASHES, value, evidence("counted", "scan", seen=1), {"unit": i})
        checks = parts[0]
        for part in parts[1:]:
            for name, check in checks.items():
                check.join(part[name])
        integrity = checks["integrity"]
        assert isinstance(integrity, Integrity)
        referenced = checks["references"]
        assert isinstance(referenced, Referenced)
        named = referenced.paths()
        for problem in source.problems:
            if problem.code != "foreign-file" or problem.where.get("file") not in named:
                integrity.found(problem)
        return checks

    def _quick(self, source: Source, units: list[int], processes: int, deadline: float) -> bool:
        """Whether these are read in time even at a pace that hardly any is slower than."""
        size: int = sum(source.units[i].bytes for i in units)
        return size < 0.7 * SLOW_PACE * processes * (deadline - time.monotonic())

    def _reference(self, bench: Bench, source: Reference, deadline: float | None, reading: Patience) -> Any:
        """Checks over the user's own samples, read one by one in this process."""
        import numpy as np

        from dataloader_expert.loaders.seeding import set_states

        until = time.monotonic() + 10.0 if deadline is None and source.iterable else deadline
        population = 0

        def in_time(rest: int) -> bool:
            nonlocal population
            population = min(source.samples, self.most or source.samples) if reading.in_time(rest, until) else 0
            return population > 0

        set_states(bench.seed)  # samples that are drawn at random are the same in each run
        if source.iterable:
            indices: Iterable[int] = range(min(self.most or STREAM_MOST, STREAM_MOST))
            stream = iter(source.dataset)
        else:
            n = source.samples
            cap = min(n, self.most or n)
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
        raised: dict[int, str] = {}
        kinds: set[type[BaseException]] = set()
        nothing: list[int] = []
        count, highest = 0, -1
        first: Fact | None = None
        ended = False
        for index in indices:
            if (until is not None and time.monotonic() > until and count >= 2) or reading.gave_up:
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
                raised[int(index)] = str(e)
                kinds.add(type(e.error))
                bench.raised.append((int(index), str(e)))
                bench.garbled = bench.garbled or garbled(e.error)
                if source.iterable or (len(raised) >= 20 and not count) or len(raised) >= RAISED_MOST:
                    break
                continue
            highest = max(highest, int(index))
            if sample is None:
                nothing.append(int(index))
                continue
            if bench.facts.find(LONG_SAMPLES) is None:
                yield from reading.long()
            unit = Unit(int(index), "", int(index), 1, 0, source.split_of(int(index)))
            if not count and not raised:
                first = Fact(FIRST, round(time.perf_counter() - asked, 6), evidence("timed", "scan", seen=1))
            block = Block(unit, columns_of_sample(sample))
            count += 1
            if checks is None:
                waiting.append(block)
                if len(waiting) < min(TRIED, source.samples if not source.iterable else TRIED):
                    continue
                checks = self._begin(bench, source, waiting)
                looking = active(checks)
                yield from described(bench)
            else:
                watch(gathering.with_next(block), looking, population)
            if count % 500 == 0:
                bench.progress(f"read {count} samples", None)
        if checks is None:
            if not waiting:
                text = "every sample is None" if nothing else "the dataset yielded no sample"
                text = next(iter(raised.values()), text)
                every = f"; {len(raised)} of {len(raised)} samples raised" if raised else ""
                raise RequestError("dataset-raised", f"{text}{every}; fix the dataset")
            checks = self._begin(bench, source, waiting)
            yield from described(bench)
        watch(gathering.rest(), looking, population)
        bench.at(-1)
        if first is not None and bench.facts.find(FIRST) is None:
            yield first
        if ended:
            from dataloader_expert.probes.data.layout import SAMPLES

            yield Fact(SAMPLES, count, evidence("counted", "scan", seen=count))
            for check in checks.values():
                check.context.samples = count
        integrity = checks["integrity"]
        assert isinstance(integrity, Integrity)
        integrity.failed += len(raised) + len(nothing)
        if not source.iterable and checks["duplicates"].applies():
            duplicates = checks["duplicates"]
            assert isinstance(duplicates, Duplicates)
            duplicates.context.replaced = replaced(
                source.dataset, duplicates.kept.twice(), source.samples, bench.left()
            )
        if nothing:
            tried = count + len(raised) + len(nothing)
            none = {
                "count": len(nothing),
                "tried": tried,
                "dropped": source.collates,
                "samples": sorted(nothing)[:MAX_PLACES],
            }
            yield Fact(NOTHING, none, check_evidence(count, raised, source))
        if raised:
            value = {
                "count": len(raised),
                "tried": count + len(raised),
                "error": next(iter(raised.values())),
                "garbled": bench.garbled,
                "length": None if source.iterable else _length_without(raised, kinds, source.samples),
                "beyond": None if source.iterable else _beyond(raised, kinds, highest, count),
                "samples": sorted(raised)[:MAX_PLACES],
            }
            yield Fact(RAISES, value, check_evidence(count, raised, source))
        return checks

    def _begin(self, bench: Bench, source: Reference, waiting: list[Block]) -> dict[str, Check]:
        """Determines fields from the first samples, then runs all checks over them."""
        merged = Block(waiting[0].unit, {})
        for name in waiting[0].columns:
            values = [v for b in waiting if name in b.columns for v in b.columns[name].values]
            merged.columns[name] = Column(_together(values))
        source.describe(merged)
        if bench.ref.label is not None:
            if source.field(bench.ref.label) is None:
                names = ", ".join(f.name for f in source.fields)
                raise RequestError(
                    "label-not-found", f"field {bench.ref.label} does not exist; the fields are: {names}"
                )
            source.label, source.label_how = bench.ref.label, "as asked"
        source.roles = find_roles([merged], source.fields, source.label, bool(source.splits))
        context = self._context(source, bench.seed)
        loader = source.training_loader
        if loader is not None:
            from dataloader_expert.loaders.building import is_plain, sampler_name

            if not is_plain(loader):
                context.handled = f"the loader's own {sampler_name(loader)}"
        context.pivots, context.offsets = _pivots(merged, context)
        checks = new_checks(context)
        watch(waiting, active(checks))
        return checks


def keep_pages() -> None:
    """Takes Arrow's memory from the C library, which keeps the pages of one unit for the next; Arrow's own pool gives them back
    and gets each anew, zeroed: a quarter of the time of a large table. The C library is told to keep those of arrays, too."""
    for what, size in ((MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, SPARE)):
        with contextlib.suppress(AttributeError, OSError):  # of the GNU C library alone
            ctypes.CDLL(None).mallopt(what, size)
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.set_memory_pool(arrow.system_memory_pool())


def look(
    source: Source,
    hand: list[int],
    checks: dict[str, Check],
    at: Callable[[int], None],
    until: float | None,
    alone: bool = False,
    population: int = 0,
) -> None:
    """Reads, decodes and checks units, ``alone`` each by itself; those that cannot be read are recorded and skipped. ``population``: as of
    :class:`Block`."""
    integrity = checks["integrity"]
    assert isinstance(integrity, Integrity)
    blocks = _decoded(source, hand, integrity, at, until)
    watch(blocks if alone else together(blocks), active(checks), population)


def active(checks: Mapping[str, Check]) -> list[Check]:
    """Those whose data have what they look at."""
    return [check for check in checks.values() if check.applies()]


def watch(blocks: Iterable[Block], checks: Sequence[Check], population: int = 0) -> None:
    """Has checks look at blocks."""
    for block in blocks:
        block.population = population
        for check in checks:
            check.watch(block)


def _decoded(
    source: Source, hand: list[int], integrity: Integrity, at: Callable[[int], None], until: float | None
) -> Iterator[Block]:
    for count, i in enumerate(hand):
        if until is not None and count and time.monotonic() > until:
            return
        at(i)
        unit = source.units[i]
        try:
            block = source.decode(unit, source.read(unit))
        except Unreadable as problem:
            integrity.fail(unit, problem)
            continue
        for part in apart(source.without_lacking(block)):
            yield part
            if until is not None and time.monotonic() > until:
                return


def first_rows(source: Source) -> dict[str, int]:
    """The index of the first sample of each file, where there are several files of many samples each; else empty."""
    firsts: dict[str, int] = {}
    several = False
    for unit in source.units if source.nullable else ():
        firsts.setdefault(unit.file, unit.start)
        several = several or unit.start > 0
    return firsts if several and len(firsts) > 1 else {}


def with_rows(one: Finding, firsts: dict[str, int]) -> Finding:
    """The finding, with the row in its file for each place: what a sample is counted from is the whole data set."""
    if not firsts:
        return one
    where = tuple(
        {**place, "row": place["sample"] - firsts[str(place["file"])]}
        if isinstance(place.get("sample"), int) and place.get("file") in firsts
        else place
        for place in one.where
    )
    return replace(one, where=where)


def status_of(hits: list[Finding], read: int) -> str:
    """The status of a check that found these; an info is no reason not to pass."""
    if any(f.severity == "error" for f in hits):
        return "fail"
    return "warn" if any(f.severity == "warning" for f in hits) else "pass" if read else "unknown"


def first_blocks(source: Source) -> list[Block]:
    """The first block that can be read; where a sample is a unit and holds several fields, some more."""
    scalars = any(not f.shape and f.name != source.label and f.kind != "image" for f in source.fields)
    most = ROLES_FROM if source.roles is None and scalars else 1
    blocks: list[Block] = []
    for unit in list(source.units[: most + 3]):
        with contextlib.suppress(Unreadable):  # the scan names it
            blocks.append(source.peek(unit))
        if sum(b.samples for b in blocks) >= most:
            break
    return blocks


def _pivots(block: Block, context: Context) -> tuple[dict[str, float], dict[str, int]]:
    return pivots_from(with_features(block, context.with_features().features))


def pivots_from(block: Block) -> tuple[dict[str, float], dict[str, int]]:
    """The median of each field of numbers, from some of its values; and how many leading digits the middle half of these have in
    common, where there are any."""
    import numpy as np

    found: dict[str, float] = {}
    offsets: dict[str, int] = {}
    for name, column in block.columns.items():
        values = column.values
        if not isinstance(values, np.ndarray):
            arrays = [v.reshape(-1)[:1024] for v in values[:64] if isinstance(v, np.ndarray) and v.dtype.kind in "iuf"]
            values = np.concatenate(arrays) if arrays else None
        if values is None or values.dtype.kind not in "iuf" or values.dtype == np.uint8:
            continue
        flat = values.reshape(-1)[:1024].astype(np.float64)
        flat = flat[np.isfinite(flat)]
        if flat.size:
            low, middle, high = np.quantile(flat, (0.25, 0.5, 0.75)).tolist()
            found[name] = middle
            alike = math.floor(math.log10(2 * abs(middle) / (high - low))) if middle and high > low else 0
            offsets |= {name: alike} if alike > 0 else {}
    return found, offsets


def check_evidence(count: int, raised: dict[int, str], source: Source) -> Any:
    total, seen = None if source.iterable else source.samples, count + len(raised)
    return evidence("counted" if total is None or seen >= total else "sampled", "scan", seen=seen, population=total)


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


PROBES = (Scan,)
