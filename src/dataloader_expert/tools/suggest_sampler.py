"""Which sampler suits the data, shown by an epoch that was actually drawn."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dataloader_expert.report import Figure, Model, Report
from dataloader_expert.tools.base import Request as Common
from dataloader_expert.tools.base import Tool, deferred


class Request(Common):
    batch_size: int | None = Field(None, ge=1, description="of training")
    objective: Literal["auto", "balanced", "representative", "metric", "curriculum", "throughput"] = Field(
        "auto", description="what batches should be good for"
    )
    group_by: str | None = Field(None, description="field kept in one batch")
    difficulty: str | None = Field(None, description="field for the curriculum")
    length: str | None = Field(None, description="field of lengths")
    world_size: int = Field(1, ge=1, description="number of ranks")


class Sampler(Model):
    class_: str = Field(alias="class", serialization_alias="class")
    arguments: dict[str, Any]


class Simulation(Model):
    epoch_samples: int
    unique_fraction: float
    max_repeats: int
    rarest_mean_repeats: float | None
    classes_per_batch: float | None
    batches_missing_class: float | None
    padding_before: float | None
    padding_after: float | None
    ranks: int = Field(1, description="number of ranks that these batches are summed over")


class Alternative(Model):
    strategy: str
    when: str
    simulation: Simulation | None


class ClassChange(Model):
    before: dict[str, int] | None
    after: dict[str, int] | None


class Fields(Model):
    strategy: str
    why: str
    sampler: Sampler
    code: str
    classes: ClassChange
    simulation: Simulation | None
    alternatives: list[Alternative]
    throughput: Figure | None
    throughput_shuffled: Figure | None


class Result(Report, Fields):
    pass


TOOL = Tool(
    "suggest_sampler",
    "sampler",
    "Suggest a sampler",
    "Which sampler to draw batches with: weighted or class-balanced against imbalance, length buckets against padding, grouped, "
    "curriculum, distributed. Draws a real epoch: repeats, coverage, classes per batch, padding. Returns class, arguments, "
    "code. Seconds.",
    Request,
    Result,
    *deferred("suggest_sampler"),
    hint="class imbalance WeightedRandomSampler oversample rare minority ignored stratified balanced batches keep together each batch holds padding bucket by length curriculum easy hard examples metric triplets",
)
