"""Diagnoses loading: where the time goes and which settings are best, measured and proved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from dataloader_expert.facts import Evidence, Fact
from dataloader_expert.plan import MOST_WORKERS
from dataloader_expert.report import Figure, Model, Report
from dataloader_expert.tools.base import Request as Common
from dataloader_expert.tools.base import Tool, deferred

MOST_ASKED = 16
Workers = Annotated[int, Field(ge=0, le=MOST_WORKERS)]


class WhatIf(Model):
    cpus: float | None = Field(None, gt=0, allow_inf_nan=False)
    devices: int | None = Field(None, ge=1)
    loaders: int | None = Field(None, ge=1)
    step_ms: float | None = Field(None, gt=0, allow_inf_nan=False)
    storage_mb_s: float | None = Field(None, gt=0, allow_inf_nan=False)
    storage_latency_ms: float | None = Field(None, ge=0, allow_inf_nan=False)
    num_workers: Workers | list[Workers] | None = Field(
        None, description="numbers of workers to forecast as well; at most 16"
    )

    @field_validator("num_workers")
    @classmethod
    def few(cls, value: int | list[int] | None) -> int | list[int] | None:
        """Limits the list, as each number is simulated.

        Raises:
            ValueError: if there are more than 16.
        """
        if isinstance(value, list) and len(value) > MOST_ASKED:
            raise ValueError(f"{len(value)} numbers of workers are given; give at most {MOST_ASKED}")
        return value


class Request(Common):
    batch_size: int | None = Field(None, ge=1, description="current")
    num_workers: int | None = Field(None, ge=0, le=MOST_WORKERS, description="current")
    step_ms: float | None = Field(None, gt=0, allow_inf_nan=False, description="time of a training step")
    max_workers: int | None = Field(None, ge=0, le=MOST_WORKERS, description="most to try")
    local_world_size: int = Field(1, ge=1, description="processes on this machine")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="device of the model")
    model: str | None = Field(None, description="file.py:name of nn.Module to time")
    model_args: dict[str, Any] = Field(default_factory=dict, description="its keyword arguments")
    what_if: WhatIf | None = Field(None, description="other hardware")

    def stated(self) -> Iterable[Fact]:
        from dataloader_expert.probes.model.step_time import STEP

        if self.step_ms is not None:
            yield Fact(STEP, self.step_ms, Evidence("declared", "the request"))


class Stage(Model):
    name: str
    ms_per_sample: Figure
    share: Figure
    cpu_ms: float
    wait_ms: float
    queue_ms: float


class Hotspot(Model):
    function: str
    file: str
    line: int
    share: Figure
    inclusive: Figure | None = None
    stage: str
    called_from: str | None


class Reading(Model):
    bytes_read_per_sample: float
    bytes_delivered_per_sample: float
    amplification: float | None
    fields_read: int | None
    fields_used: int | None
    from_disk_per_sample: float


class Trial(Model):
    num_workers: int
    prefetch_factor: int | None
    in_order: bool
    persistent_workers: bool
    batch_size: int
    throughput: Figure
    blocks: list[float]
    startup_s: float | None
    main_ms: float


class Predicted(Model):
    """What the cost model expects of a number of workers, in samples/s, with the bounds of its central 90 %."""

    num_workers: int
    persistent_workers: bool = False
    throughput: float
    low: float
    high: float


class Consumer(Model):
    step_ms: float
    stall_share_current: Figure | None
    stall_share_recommended: Figure | None
    workers_needed: int | None


class StorageLine(Model):
    cold_mb_s: Figure | None
    warm_mb_s: Figure | None
    open_ms: Figure | None
    to_device_gb_s: Figure | None


class Cacheable(Model):
    stage: str
    bytes: int
    gain: Figure


class StartMethod(Model):
    method: str
    first_batch_s: float


class Health(Model):
    open_files_per_1000: float | None
    memory_mb_per_1000: float | None
    hung: bool
    crashed: bool
    slow_samples: list[dict[str, Any]] | None
    slow_share: Figure | None = None
    nondeterministic: bool | None


class WorkersLine(Model):
    num_workers: int
    throughput: float
    limit: str
    by_law: float


class ForecastLine(Model):
    throughput: Figure
    at_workers: int
    limit: str
    workers_for_limit: int
    stall_share: Figure | None
    by_law: Figure = Field(
        description="upper bound by mean costs; the simulated throughput adds queueing, order and uneven samples"
    )
    asked: dict[str, Any] = Field(default_factory=dict, description="the hardware that was asked for")
    per_process: bool = Field(False, description="whether rates are per process instead of for all processes together")
    note: str | None = Field(None, description="assumptions of the forecast")
    by_workers: list[WorkersLine] = Field(description="the same by number of workers, in samples/s")


class SettingsLine(Model):
    batch_size: int
    num_workers: int
    prefetch_factor: int | None
    pin_memory: bool
    persistent_workers: bool
    in_order: bool = True
    throughput: Figure | None
    throughput_batch_size: int | None
    made_by: str | None = None


class Fields(Model):
    stages: list[Stage]
    bottleneck: str | None
    hotspots: list[Hotspot] | None
    reading: Reading | None
    overhead: float | None
    current: SettingsLine | None
    recommended: SettingsLine | None
    found_after_s: float | None
    search_ended: Literal["converged", "out of time"] | None
    speedup: Figure | None
    trials: list[Trial]
    predicted: list[Predicted] | None = Field(None, description="full detail only")
    consumer: Consumer | None
    storage: StorageLine
    cacheable: list[Cacheable] | None
    start_methods: list[StartMethod]
    health: Health
    forecast: ForecastLine | None
    code: str | None


class Result(Report, Fields):
    pass


LISTED, USERS_LEAST = 8, 5
"""Functions listed, and how many of these are reserved for the user's own, if there are as many."""


TOOL = Tool(
    "diagnose_io",
    "diagnose",
    "Diagnose data loading",
    "Why loading is slow or the GPU idle: the bottleneck (read, decode, transform, collate), the most expensive functions, "
    "throughput by num_workers, prefetching and pinning, the best settings with measured speedup; worker hangs, crashes and "
    "leaks. what_if forecasts other hardware. 5-30 s.",
    Request,
    Result,
    *deferred("diagnose_io"),
    hint="slow training data loading num_workers GPU idle utilization bottleneck throughput pipeline time goes hang crash killed leak open files disk storage epoch speed up",
    groups=True,
)
