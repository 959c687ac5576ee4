"""What a transform of the user's makes of samples: it is called on some, and what it returns is judged as samples are."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.checks.base import Check, Context, all_checks
from dataloader_expert.conclusions import MAX_PLACES, Finding
from dataloader_expert.errors import RequestError, Unreadable, escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Probe, Said, evidence
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.reference import Raised, Reference, columns_of_sample, named
from dataloader_expert.sources.table_fields import field_of

TRANSFORMED = Quantity(
    "transformed", "samples", "samples on which the transform was called, and those on which it raised"
)
OF_VALUES = ("integrity", "statistics", "constant_samples", "scales", "pictures", "tokens", "boxes")
"""The checks that are of values, not of copies, labels or splits."""
MOST, FIRST = 2_000, 16


@dataclass(frozen=True)
class Transformed(Probe):
    """``transform``: a reference to a function, to a class that is made without arguments, or to an object."""

    name: ClassVar[str] = "transformed"
    doing: ClassVar[str] = "calling the transform"
    transform: str = ""
    share: float = 0.3
    most_s: float = 5.0

    def measure(self, bench: Bench) -> Iterable[Said]:
        call = callable_of(self.transform, bench)
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        bench.progress("calling the transform", None)
        blocks: list[Block] = []
        raised: dict[int, str] = {}
        called = 0
        judging: Judging | None = None
        for index, sample in some(bench.source, bench.seed):
            if called and time.monotonic() > until:
                break
            called += 1
            bench.at(index)
            try:
                given = copy.deepcopy(sample)  # it may change what it is given
                block = Block(Unit(index, "", index, 1, 0), columns_of_sample(call(given)))
            except (Exception, SystemExit) as e:  # the user's code may raise anything
                raised[index] = str(Raised(e, index))
                continue
            blocks.append(block)
            if judging is not None or len(blocks) >= FIRST:
                judging = judging or Judging(blocks, bench.seed)
                judging.see(blocks)
                blocks = []
        bench.at(-1)
        value = {
            "called": called,
            "raised": len(raised),
            "first": sorted(raised)[:MAX_PLACES],
            "error": next(iter(raised.values()), None),
        }
        yield Fact(TRANSFORMED, value, evidence("counted", "transformed", seen=called))
        if blocks:
            judging = judging or Judging(blocks, bench.seed)
            judging.see(blocks)
        if judging is not None:
            yield from judging.told(self.transform)
        elif not called:
            yield Unknown("transform", "no sample could be read")


def callable_of(reference: str, bench: Bench) -> Any:
    """The function or object that the reference names; a class is made. The working directory stays the source's.

    Raises:
        RequestError: where the reference does not resolve.
    """
    folder = os.getcwd()
    try:
        target = named(reference, bench.ref.roots)
    finally:
        os.chdir(folder)
    if not isinstance(target, type):
        return target
    try:
        return target()
    except (Exception, SystemExit) as e:
        text = f"transform {escaped(reference)} could not be created without arguments: {Raised(e)}; name a function or an object"
        raise RequestError("invalid-argument", text) from None


def some(source: Source, seed: int) -> Iterator[tuple[int, Any]]:
    """Samples as a transform is given them: what the user's dataset returns; of files the value alone; of tables a row."""
    import numpy as np

    if isinstance(source, Reference):
        if source.iterable:
            stream: Any = source.dataset
            yield from enumerate(stream)
            return
        order = np.random.default_rng(seed).permutation(source.samples)[:MOST].tolist()
        for index in order:
            try:
                yield index, source.sample(index)
            except Raised:
                continue  # the scan names it
        return
    rich = [
        f.name
        for f in source.fields
        if f.name != source.label and f.kind not in ("category", "number", "boolean", "time")
    ]
    given = 0
    for k in np.random.default_rng(seed).permutation(len(source.units)).tolist():
        unit = source.units[k]
        try:
            block = source.decode(unit, source.read(unit))
        except Unreadable:
            continue  # the scan names it
        for i in range(block.samples):
            row = {
                name: None if column.nulls is not None and column.nulls[i] else column.values[i]
                for name, column in block.columns.items()
            }
            yield block.index(i), row[rich[0]] if unit.samples == 1 and rich and rich[0] in row else row
            given += 1
            if given >= MOST:
                return


class Judging:
    """The checks of values over what the transform returned; fields are those of the first blocks."""

    def __init__(self, blocks: list[Block], seed: int) -> None:
        first: dict[str, list[Any]] = {}
        for block in blocks:
            for name, column in block.columns.items():
                first.setdefault(name, []).extend(column.values)
        fields = tuple(field_of(name, Column(values)) for name, values in first.items())
        context = Context(fields, None, None, "array", (), None, seed)
        checks = [check(context) for name, check in all_checks().items() if name in OF_VALUES]
        self.active: list[Check] = [c for c in checks if c.applies()]

    def see(self, blocks: list[Block]) -> None:
        for block in blocks:
            for check in self.active:
                check.watch(block)

    def told(self, transform: str) -> Iterator[Said]:
        """What is found, and the facts that it rests on."""
        facts = Facts()
        for check in self.active:
            if check.error is None:
                with check.held():
                    for fact in list(check.facts()):
                        facts.add(replace(fact, at={**fact.at, "after": transform}))
        for check in self.active:
            found: list[Finding] = []
            if check.error is None:
                with check.held():
                    found = list(check.judge(facts))
            if check.error is not None:
                yield Unknown("transform", f"a check of its output failed: {check.error}")
            for one in found:
                yield from (f for f in facts if f.cite() in one.evidence)
                yield replace(one, message=f"in the transform's output, {escaped(one.message, None)}")


PROBES = (Transformed,)
