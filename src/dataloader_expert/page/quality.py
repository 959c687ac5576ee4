"""Whether the data are fit for training: the five-item checklist, what splits share, odd samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.charts.drawing import Chart, Table
from dataloader_expert.charts.heatmap import heatmap
from dataloader_expert.page.pictures import odd
from dataloader_expert.page.sections import Box, Captioned, Line, Section
from dataloader_expert.report import Picture

BOXES = {
    "no_corrupted_files": "No corrupted files",
    "shapes_consistent": "Shapes consistent",
    "no_nan_or_inf": "No NaN or infinity",
    "imbalance_strategy_defined": "Imbalance strategy defined",
    "splits_disjoint": "Splits disjoint",
}


def quality(q: Any, pictures: Sequence[Picture]) -> Section:
    boxes = [Box(words, getattr(q.checklist, n), q.checklist_why.get(n, "")) for n, words in BOXES.items()]
    told = [Line("Not checked", "; ".join(q.not_checked))] if q.not_checked else []
    passed = [Line(f"{len(q.passed_checks)} checks passed", ", ".join(q.passed_checks))] if q.passed_checks else []
    return Section("quality", "Quality", told, boxes, list(charts(q)), odd(pictures), list(tables(q)), passed)


def charts(q: Any) -> Iterator[Chart]:
    names = [s.name for s in q.splits]
    if len(names) < 2:
        return
    for kind, words in (("exact", "samples in both"), ("near", "near duplicates")):
        shared = {frozenset(o.splits): getattr(o, kind) for o in q.overlaps}
        if kind == "near" and not any(shared.values()):
            continue
        values = [[None if a == b else float(shared.get(frozenset((a, b)), 0)) for b in names] for a in names]
        most = max(shared.values(), default=0)
        pair = max(shared, key=lambda k: shared[k], default=frozenset())
        says = f"{' and '.join(sorted(pair))}: {most:,} {words}." if most else "No sample is in two splits."
        title = "Split overlap" if kind == "exact" else "Near duplicates across splits"
        yield heatmap(f"overlap-{kind}", title, says, names, values, float(most or 1))


def tables(q: Any) -> Iterator[Captioned]:
    rows = tuple((c.id, c.status, c.count, c.scanned, c.how) for c in q.checks if c.status != "pass")
    if rows:
        yield Captioned("Checks that did not pass", Table(("Check", "Status", "Count", "Scanned", "How"), rows))
    pairs = tuple((p.kind, _place(p.one), _place(p.other)) for p in q.pairs)
    if pairs:
        yield Captioned("Copies", Table(("Kind", "One", "Other"), pairs))


def _place(place: Any) -> str:
    parts = [place.file or "", f"sample {place.sample}", f"({place.split})" if place.split else ""]
    return " ".join(p for p in parts if p)
