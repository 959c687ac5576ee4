"""What a batch is and should be: shapes, collate, size, memory, preprocessing, settings per split."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from dataloader_expert.report import Model, Report
from dataloader_expert.tools.base import Request as Common
from dataloader_expert.tools.base import Tool, deferred
from dataloader_expert.tools.batch_parts import (
    BatchField,
    Collate,
    Limit,
    Memory,
    ModelCheckLine,
    Preprocessing,
    Settings,
)


class Request(Common):
    source: str = Field("", description="data; or give input")
    input: dict[str, Any] | None = Field(None, description='without data: {"x": {"shape": ["B", 3, 224, 224]}}')
    columns: list[str] | None = Field(None, description="fields to use")
    batch_size: int | None = Field(None, ge=1, description="if decided")
    model: str | None = Field(None, description="file.py:name of nn.Module")
    model_args: dict[str, Any] = Field(default_factory=dict, description="its keyword arguments")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="of the model")
    precision: Literal["float32", "bfloat16", "float16"] = Field("float32", description="of training")
    optimizer: Literal["adamw", "adam", "sgd"] = Field("adamw", description="of training")
    memory_limit_gb: float | None = Field(None, gt=0, allow_inf_nan=False, description="of the GPU")
    safety_margin: float = Field(0.1, ge=0, lt=1, description="share left free")

    @model_validator(mode="after")
    def _one_of_them(self) -> Request:
        if bool(self.source) == (self.input is not None):
            both = "give either source or input, not both"
            raise ValueError(
                both if self.source else "source is missing; without data, describe what the model is fed in input"
            )
        if self.input is not None and self.model is None:
            raise ValueError("input is what a model is fed: pass model= too")
        if self.input is not None and self.columns is not None:
            raise ValueError("columns names fields of source: leave it out with input")
        return self

    def fields_read(self) -> tuple[str, ...] | None:
        return None if self.columns is None else tuple(self.columns)


class Fields(Model):
    structure: dict[str, str]
    fields: list[BatchField]
    collate: Collate | None
    batch_size: int
    batch_size_limit: Limit
    last_batch: int | None
    padding: float | None
    memory: Memory
    preprocessing: Preprocessing
    dataloader: Settings
    model_check: ModelCheckLine | None
    code: str


class Result(Report, Fields):
    pass


TOOL = Tool(
    "recommend_batch_spec",
    "batch-spec",
    "Recommend a batch specification",
    "Batch shapes, dtypes, collate function and padding, the largest batch size that fits in memory without running out (OOM), "
    "preprocessing, DataLoader arguments for train, validation and test, code. With model, feeds it a batch: do the shapes fit, "
    "how much GPU memory. 5-30 s.",
    Request,
    Result,
    *deferred("recommend_batch_spec"),
    hint="batch size collate raises pad variable length shapes keys dtypes GPU memory OOM preprocessing augmentation resize images differ in size model expected input channels trainer",
)
