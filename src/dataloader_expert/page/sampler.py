"""The sampler that suits the data, and what an epoch drawn with it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.charts.bars import bars, stacked
from dataloader_expert.charts.drawing import Chart, Table
from dataloader_expert.charts.scales import said, said_percent
from dataloader_expert.page.sections import Captioned, Line, Section


def sampler(s: Any) -> Section:
    told = [Line("Strategy", f"{s.strategy}: {s.why}"), Line("Class", s.sampler.class_)]
    if s.simulation is not None:
        d = s.simulation
        shown = (
            f"{d.epoch_samples:,} samples, {said_percent(d.unique_fraction)} of all, each at most {d.max_repeats} times"
        )
        told.append(Line("Drawn epoch", shown))
    return Section("sampler", "Sampler", told, (), list(charts(s)), (), list(tables(s)))


def charts(s: Any) -> Iterator[Chart]:
    before, after = s.classes.before, s.classes.after
    if before and after:
        rows = [(k, [float(n), float(after.get(k, 0))]) for k, n in sorted(before.items(), key=lambda kv: -kv[1])]
        low, high = min(after.values()), max(after.values())
        times = said(low) if low == high else f"{said(low)} to {said(high)}"
        says = f"A class is drawn {times} times per epoch."
        names = ("In the data", "In a drawn epoch")
        yield stacked("drawn", "Classes before and after sampling", says, rows, names, "Class", side_by_side=True)
    named = [
        (name, float(a.simulation.unique_fraction))
        for name, a in [(s.strategy, s), *((a.strategy, a) for a in s.alternatives)]
        if a.simulation is not None
    ]
    if len(named) > 1:
        says = f"{s.strategy} is the suggestion."
        yield bars(
            "unique", "Share of the samples that an epoch covers", says, named, ("Strategy", "Share"), said_percent
        )


def tables(s: Any) -> Iterator[Captioned]:
    rows = tuple((a.strategy, a.when) for a in s.alternatives)
    if rows:
        yield Captioned("Alternatives", Table(("Strategy", "When"), rows))
