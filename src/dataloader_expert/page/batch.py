"""What a batch is, and the memory that it takes by its size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.charts.drawing import Chart, Table
from dataloader_expert.charts.lines import Point, Series, lines
from dataloader_expert.charts.scales import said, said_bytes
from dataloader_expert.page.pictures import in_batch
from dataloader_expert.page.sections import Captioned, Line, Section
from dataloader_expert.report import Picture


def batch(b: Any, pictures: Sequence[Picture]) -> Section:
    p = b.preprocessing
    told = [
        Line(
            "Batch size",
            f"{b.batch_size}; at most {b.batch_size_limit.value:,}, limited by {b.batch_size_limit.limited_by}",
        )
    ]
    if b.collate is not None:
        told.append(Line("Collate", f"{b.collate.name}: {b.collate.why}"))
    named = {
        "Resize": p.resize,
        "Augmentation": p.augmentation,
        "Dtype": p.dtype,
        "Layout": p.layout,
        "Outliers": p.outliers,
    }
    told += [Line(name, text) for name, text in named.items()]
    if p.cache is not None:
        told.append(Line("Cache", p.cache.says))
    if b.model_check is not None:
        said_ = "accepts the batch" if b.model_check.accepted else f"rejects the batch: {b.model_check.error}"
        told.append(Line("Model", f"{said_}; expects {b.model_check.expected}; was given {b.model_check.fed}"))
    rows = tuple(
        (f.name, f.dtype, "[" + ", ".join("*" if n is None else str(n) for n in f.shape) + "]", f.bytes_per_sample)
        for f in b.fields
    )
    fields = Captioned("Fields of a batch", Table(("Field", "Dtype", "Shape", "Bytes per sample"), rows))
    return Section("batch", "Batch", told, (), list(charts(b)), in_batch(pictures), [fields])


def charts(b: Any) -> Iterator[Chart]:
    sizes: list[Any] = b.memory.by_batch_size or []
    if len(sizes) > 1:
        series = [
            Series("One batch", tuple(Point(s.batch_size, s.batch_bytes) for s in sizes), True),
            Series("In flight", tuple(Point(s.batch_size, s.host_bytes) for s in sizes), True, True),
        ]
        if sizes[0].device_bytes is not None:
            series.append(Series("Training step", tuple(Point(s.batch_size, s.device_bytes) for s in sizes), True))
        total = b.memory.device_total_bytes
        limit = None if total is None else ("device memory", float(total))
        says = f"{said_bytes(b.memory.batch_bytes)} per batch at batch size {b.batch_size}."
        yield lines(
            "memory", "Memory by batch size", says, series, "batch size", "", said_bytes, limit, b.memory.how, even=False
        )  # fmt: skip
    timed = [s for s in sizes if s.throughput is not None and s.throughput.value is not None]
    if len(timed) > 1:
        points = tuple(Point(s.batch_size, s.throughput.value, s.throughput.low, s.throughput.high) for s in timed)
        best = max(timed, key=lambda s: s.throughput.value)
        says = f"Batch size {best.batch_size} was the fastest in the main process, with {said(best.throughput.value)} samples/s."
        series = [Series("Timed, 95 % interval", points)]
        yield lines("sizes", "Throughput by batch size", says, series, "batch size", "samples/s")
