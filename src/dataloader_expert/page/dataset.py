"""The data: classes by split, sizes and values, correlations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.charts.bars import bars, stacked
from dataloader_expert.charts.drawing import SERIES, Chart, Table
from dataloader_expert.charts.heatmap import heatmap
from dataloader_expert.charts.histogram import ends, histogram
from dataloader_expert.charts.scales import said, said_percent
from dataloader_expert.page.sections import Captioned, Line, Section, Shown

MEASURES = {
    "value": ("Values of {}", ""),
    "characters": ("Lengths of {}", "characters"),
    "length": ("Lengths of {}", ""),
    "height": ("Heights of {}", "pixels"),
    "width": ("Widths of {}", "pixels"),
}


def dataset(c: Any, shown: Sequence[Shown]) -> Section:
    lines = [Line("Task", f"{c.task.name} ({c.task.how})")]
    if c.sharding:
        lines.append(Line("Storage", c.sharding))
    if c.normalization is not None:
        lines.append(Line("Normalization", f"{c.normalization.method}, of {c.normalization.computed_on}"))
    rows = tuple((f.name, f.kind, f.dtype, _shape(f.shape), f.missing) for f in c.fields)
    fields = Captioned("Fields of a sample", Table(("Field", "Kind", "Dtype", "Shape", "Missing"), rows))
    return Section("data", "The data", lines, (), list(charts(c)), shown, [fields, *_statistics(c)])


def charts(c: Any) -> Iterator[Chart]:
    if c.classes is not None:
        yield _classes(c)
    if c.splits and len(c.splits) > 1:
        named = [(s.name, float(s.samples)) for s in c.splits]
        largest = max(c.splits, key=lambda s: s.samples)
        says = f"{len(c.splits)} splits; {largest.name} holds {said_percent(largest.fraction)} of the samples."
        yield bars("splits", "Samples by split", says, named, ("Split", "Samples"))
    classes = None if c.classes is None else c.classes.label  # drawn above
    yield from histograms([h for h in c.histograms or () if h.field != classes])
    if c.correlation is not None and c.correlation.matrix is not None:
        yield _correlation(c.correlation)


def _classes(c: Any) -> Chart:
    counts = dict(sorted(c.classes.counts.items(), key=lambda kv: -kv[1]))
    most, least = next(iter(counts)), next(reversed(counts))
    says = (
        f"{c.classes.count:,} classes of {c.classes.label}; {most} has {counts[most]:,} samples and {least} "
        f"{counts[least]:,}, {c.classes.imbalance_ratio:.3g} to 1."
    )
    by_split = c.class_counts_by_split
    if not by_split:
        return bars("classes", "Class distribution", says, list(counts.items()), ("Class", "Samples"))
    names = sorted(by_split, key=lambda s: -sum(by_split[s].values()))[: len(SERIES)]
    rows = [(k, [float(by_split[s].get(k, 0)) for s in names]) for k in counts]
    return stacked("classes", "Class distribution by split", says, rows, names, "Class")


def histograms(found: Sequence[Any]) -> Iterator[Chart]:
    """Sizes first; the channels of a field share one chart."""
    order = {"height": 0, "width": 1, "characters": 2, "length": 3, "value": 4}
    together: dict[tuple[str, str], list[Any]] = {}
    for h in sorted(found, key=lambda h: order[h.measure]):
        together.setdefault((h.field, h.measure), []).append(h)
    for i, ((field, measure), same) in enumerate(together.items()):
        first = same[0]
        if max(len(h.counts) for h in same) < 2 and not any(h.below + h.above for h in same):
            continue  # a single value has no distribution to draw
        alike = [h for h in same if h.edges == first.edges]
        title, unit = MEASURES[measure]
        beside = sum(h.below + h.above for h in alike)
        total = sum(sum(h.counts) for h in alike) + beside
        low, high = ends(first.edges[0], first.edges[-1])
        says = f"From {said(low)} to {said(high)}"
        says += f"; {said_percent(beside / total)} of the values lie beyond." if beside else "."
        series = [(h.channel or "", h.counts) for h in alike]
        of = "Values" if measure == "value" else "Samples"
        yield histogram(f"{measure}-{i}", title.format(field), says, first.edges, series, unit, of)


def _correlation(found: Any) -> Chart:
    names, r = found.matrix.names, found.matrix.r
    strongest = max(found.pairs, key=lambda p: abs(p.r))
    says = f"The strongest is {strongest.r:.2f}, between {strongest.a} and {strongest.b}."
    note = "Positive and negative correlations have different colours; darker means stronger."
    return heatmap("correlation", "Correlation", says, names, r, 1.0, lambda v: "—" if v is None else f"{v:.2f}", note)


def _statistics(c: Any) -> Iterator[Captioned]:
    rows: list[tuple[Any, ...]] = []
    for field, s in c.statistics.items():
        for name, one in ((f"{field}.{k}", v) for k, v in s.items()) if isinstance(s, dict) else ((field, s),):
            q = one.quantiles or {}
            name += " (characters)" if one.measure == "characters" else ""
            rows.append((name, one.mean, one.std, one.min, q.get("p50"), one.max, one.distribution))
    if rows:
        header = ("Field", "Mean", "Std", "Min", "Median", "Max", "Distribution")
        yield Captioned("Statistics in stored units", Table(header, tuple(rows)))


def _shape(shape: Sequence[int | None]) -> str:
    return "[" + ", ".join("*" if n is None else str(n) for n in shape) + "]"
