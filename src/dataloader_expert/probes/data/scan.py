"""One pass over the samples with every check: what could be read, and what it contains."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.checks.base import OF_SPLITS, ROLES, Check, Context, new_checks
from dataloader_expert.checks.files.integrity import Integrity
from dataloader_expert.checks.files.references import Referenced
from dataloader_expert.conclusions import Finding
from dataloader_expert.errors import RequestError, escaped, fields_are
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Probe, Said, evidence
from dataloader_expert.probes.data import own_samples
from dataloader_expert.probes.data.gathering import MOST
from dataloader_expert.probes.data.looking import LEAD, first_blocks, keep_pages, leading, look, pivots_of
from dataloader_expert.probes.data.ordering import stratified
from dataloader_expert.probes.patience import Patience
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.links import find_links
from dataloader_expert.sources.reference import Reference
from dataloader_expert.sources.references import find_references
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_label import likely_label
from dataloader_expert.sources.vocabulary import Vocabulary

CHECKED = Quantity("checked", "", "each check's status, its count and how much data it saw")
CHECKS_FAILED = Quantity("checks_failed", "", "checks that raised on these data")
CRASHES = Quantity("sample_crashes", "units", "units that killed the process that read them, with its exit code")
SCANNED = Quantity("scanned", "samples", "samples read by the scan, out of how many, and the time it took")
PARALLEL_S = 0.4
"""Seconds of work from which on processes share it."""
SLOW_PACE = 10e6
"""Bytes on disk that a process reads and judges in a second, at least, of nearly any format."""
THREADS = 2
"""In so many threads what was seen is added up: more of them would hold more memory at a time."""
IN_TIME = 0.8
"""The part of the time left after reading by which checks must have stated their facts; judging them takes little of the rest."""
LEAST_S = 1.0
"""Seconds that checks have for that in any case: most need far less."""
LATE = "there was no time left for it, raise budget_s"
ASKED_FOR = {
    "group": "to group by",
    "time": "to order by time",
    "length": "to take lengths from",
    "difficulty": "to take difficulty from",
}
"""Arguments that name a field, and what for."""


def _facts_of(check: Check) -> Facts:
    """What a check measured; nothing where it fails."""
    made: list[Facts] = []
    with check.held():
        made.append(Facts(tuple(check.facts())))
    return made[0] if made else Facts()


def concluding(bench: Bench) -> float | None:
    """The monotonic time until which checks may state their facts."""
    until = bench.until(IN_TIME)
    return None if until is None else max(until, time.monotonic() + LEAST_S)


def stated(checks: list[Check], threads: int, until: float | None) -> Iterator[tuple[Check, Facts]]:
    """What each check measured; one that is not done by then is given up, so that what the others measured is not lost with it."""
    pool = ThreadPoolExecutor(threads)  # much of it sorts arrays, which needs no lock
    for check, made in [(check, pool.submit(_facts_of, check)) for check in checks]:
        try:
            yield check, made.result(None if until is None else max(0.0, until - time.monotonic()))
        except TimeoutError:
            check.error = LATE
    pool.shutdown(wait=False, cancel_futures=True)


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
                checks = yield from own_samples.checked(bench, source, self.most, self._context, deadline, reading)
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
        for check, made in stated(able, max(1, min(THREADS, int(bench.cpus))), concluding(bench)):
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
                there = fields_are(asked, [f.name for f in source.fields])
                raise RequestError("invalid-argument", f"there is no field {escaped(asked)} {ASKED_FOR[name]}; {there}")
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
        context.pivots, context.offsets = pivots_of(blocks[0], context) if blocks else ({}, {})
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


PROBES = (Scan,)
