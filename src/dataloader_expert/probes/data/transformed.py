"""What a transform of the user's makes of samples: it is called on some, and what it returns is judged as samples are."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.checks.base import Check, Context, all_checks
from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Probe, Said, evidence
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.reference import Raised, Reference, columns_of_sample, named
from dataloader_expert.sources.tables import field_of

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
        for index, sample in some(bench.source, bench.seed):
            if called and time.monotonic() > until:
                break
            called += 1
            bench.at(index)
            try:
                blocks.append(Block(Unit(index, "", index, 1, 0), columns_of_sample(call(sample))))
            except (Exception, SystemExit) as e:  # the user's code may raise anything
                raised[index] = str(Raised(e, index))
        bench.at(-1)
        value = {
            "called": called,
            "raised": len(raised),
            "first": sorted(raised)[:MAX_PLACES],
            "error": next(iter(raised.values()), None),
        }
        yield Fact(TRANSFORMED, value, evidence("counted", "transformed", seen=called))
        if blocks:
            yield from judged(bench, blocks, self.transform)
        elif not called:
            yield Unknown("transform", "no sample could be read to call it on")


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
    return target() if isinstance(target, type) else target


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
            row = {name: column.values[i] for name, column in block.columns.items()}
            yield block.index(i), row[rich[0]] if unit.samples == 1 and rich and rich[0] in row else row
            given += 1
            if given >= MOST:
                return


def judged(bench: Bench, blocks: list[Block], transform: str) -> Iterator[Said]:
    """What the checks of values find in what the transform returned, and the facts that they cite."""
    first: dict[str, list[Any]] = {}
    for block in blocks[:FIRST]:
        for name, column in block.columns.items():
            first.setdefault(name, []).extend(column.values)
    fields = tuple(field_of(name, Column(values)) for name, values in first.items())
    context = Context(fields, None, len(blocks), "array", (), None, bench.seed)
    checks: dict[str, Check] = {name: check(context) for name, check in all_checks().items() if name in OF_VALUES}
    active = [c for c in checks.values() if c.applies()]
    for block in blocks:
        for check in active:
            check.see(block)
    made = (f for check in active for f in check.facts())
    facts = Facts(tuple(replace(f, at={**f.at, "after": transform}) for f in made))
    for check in active:
        for found in check.judge(facts):
            yield from (f for f in facts if f.cite() in found.evidence)
            yield replace(found, message=f"in what the transform returns, {escaped(found.message, None)}")


PROBES = (Transformed,)
