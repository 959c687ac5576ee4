"""Where a sample's time goes, and which settings were tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dataloader_expert.charts.bars import stacked
from dataloader_expert.charts.drawing import Chart, Table
from dataloader_expert.charts.lines import Point, Series, lines
from dataloader_expert.charts.scales import said, said_percent
from dataloader_expert.page.sections import Captioned, Line, Section


def loading(io: Any) -> Section:
    told = []
    if io.consumer is not None:
        now, best = io.consumer.stall_share_current, io.consumer.stall_share_recommended
        waits = f"with a training step of {said(io.consumer.step_ms)} ms, the step waits for data "
        waits += f"{said_percent(None if now is None else now.value)} of the time now, "
        waits += f"{said_percent(None if best is None else best.value)} with the recommended settings"
        told.append(Line("Consumer", waits))
    if io.overhead is not None:
        told.append(Line("Measuring", f"added {said_percent(io.overhead)} of the time"))
    return Section("loading", "Loading", told, (), list(charts(io)), (), list(tables(io)))


def charts(io: Any) -> Iterator[Chart]:
    stages = [s for s in io.stages if s.ms_per_sample.value]
    if stages:
        rows = [(s.name, [s.cpu_ms, s.wait_ms, s.queue_ms]) for s in stages]
        top = max(stages, key=lambda s: s.share.value or 0.0)
        says = f"{top.name} takes {said_percent(top.share.value)} of a sample's time."
        names = ("CPU, ms", "Blocked, ms", "Waits for a core, ms")
        added = any(s.name == "worker_transfer" and not s.share.value for s in stages)
        note = "worker_transfer is what workers would add; the present loader has none." if added else ""
        chart = stacked("stages", "Time per sample by stage", says, rows, names, "Stage", lambda v: f"{said(v)} ms")
        yield replace(chart, note=note)
    if len(io.trials) > 1 or io.predicted:
        yield throughput(io)
    if io.forecast is not None and io.forecast.by_workers:
        rows_ = io.forecast.by_workers
        series = [
            Series("Simulated", tuple(Point(w.num_workers, w.throughput) for w in rows_), True),
            Series("Upper bound", tuple(Point(w.num_workers, w.by_law) for w in rows_), True, True),
        ]
        says = f"{said(io.forecast.throughput.value)} samples/s at num_workers={io.forecast.at_workers}, limited by {io.forecast.limit}."
        yield lines("forecast", "Forecast for the other hardware", says, series, "num_workers", "samples/s")


def throughput(io: Any) -> Chart:
    """The best trial at each number of workers with its interval, and the model's curve."""
    best: dict[int, Any] = {}
    for t in io.trials:
        known = best.get(t.num_workers)
        if known is None or (t.throughput.value or 0) > (known.throughput.value or 0):
            best[t.num_workers] = t
    timed = tuple(
        Point(n, t.throughput.value, *(t.throughput.bounds or (None, None)))
        for n, t in sorted(best.items())
        if t.throughput.value is not None
    )
    series = [Series("Timed, 95 % interval", timed)]
    if io.predicted:
        curve = tuple(Point(p.num_workers, p.throughput, p.low, p.high) for p in io.predicted)
        series.append(Series("Predicted, 90 % interval", curve, True))
    chosen = io.recommended
    says = "No setting could be recommended."
    if chosen is not None:
        rate = "" if chosen.throughput is None else f" with {said(chosen.throughput.value)} samples/s"
        says = f"Recommended: num_workers={chosen.num_workers}{rate}."
    note = "" if len(best) == len(io.trials) else "The fastest trial is drawn for each number of workers."
    return lines("throughput", "Throughput by workers", says, series, "num_workers", "samples/s", note=note)


def tables(io: Any) -> Iterator[Captioned]:
    if io.hotspots:
        rows = tuple(
            (h.function, f"{h.file}:{h.line}", h.stage, _share(h.inclusive), _share(h.share)) for h in io.hotspots
        )
        header = ("Function", "Line", "Stage", "Share with callees", "Share alone")
        yield Captioned("Most expensive functions (sampled)", Table(header, rows))
    if io.trials:
        rows_ = tuple(
            (
                str(t.num_workers), t.prefetch_factor, t.batch_size, "yes" if t.persistent_workers else "no",
                "yes" if t.in_order else "no", t.throughput.value, t.throughput.low, t.throughput.high, t.throughput.n,
            )
            for t in io.trials
        )  # fmt: skip
        header_ = (
            "num_workers",
            "prefetch_factor",
            "Batch size",
            "Persistent",
            "In order",
            "samples/s",
            "Low",
            "High",
            "n",
        )
        yield Captioned("Settings tried", Table(header_, rows_))


def _share(figure: Any) -> str:
    return said_percent(None if figure is None else figure.value)
