"""The parts of a batch specification's result."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dataloader_expert.report import Figure, Model


class BatchField(Model):
    name: str
    dtype: str
    shape: list[int | str | None]
    bytes_per_sample: float
    variable: bool
    range: list[list[int] | None]
    host: bool


class Collate(Model):
    name: str
    why: str


class Limit(Model):
    value: int
    limited_by: str


class AtSize(Model):
    """A batch of ``batch_size``: its bytes, those in flight, a training step's on the device, and samples/s timed here."""

    batch_size: int
    batch_bytes: int
    host_bytes: int
    device_bytes: int | None
    throughput: Figure | None


class Memory(Model):
    batch_bytes: int | None
    batch_bytes_worst: int | None
    host_bytes: int | None
    host_parts: dict[str, int]
    host_total_bytes: int | None
    device_peak_bytes: Figure | None
    device_total_bytes: int | None
    device_reserved_bytes: int | None
    peak_at: str | None
    parts: dict[str, int]
    fit: dict[str, Any] | None
    largest_batch: dict[str, int]
    how: str
    by_batch_size: list[AtSize] | None = Field(None, description="full detail only")


class Cache(Model):
    """Samples kept as they are after the stages that it leaves out, which give the same in each epoch.

    ``stage_ms``: per sample; ``bytes``: of all samples; ``throughput_cached`` and ``gain`` derived: a prediction.
    """

    advised: bool
    says: str
    stage_ms: dict[str, float]
    leaves_out: list[str]
    throughput: Figure
    throughput_cached: Figure
    gain: Figure
    bytes: int | None
    fits: Literal["memory", "disk"] | None


class Preprocessing(Model):
    normalization: dict[str, Any] | None
    resize: str
    augmentation: str
    dtype: str
    layout: str
    outliers: str
    cache: Cache | None


class Settings(Model):
    train: dict[str, Any]
    val: dict[str, Any]
    test: dict[str, Any]


class MisfitLine(Model):
    code: str
    field: str
    says: str
    cured: bool
    runs: bool = False


class ModelCheckLine(Model):
    accepted: bool
    expected: str
    got: dict[str, str]
    fed: str
    error: str | None
    misfits: list[MisfitLine]
    cure: str | None
    declared: dict[str, Any] | None
    ran: str
