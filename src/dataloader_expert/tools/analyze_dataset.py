"""The whole analysis in one pass over the data, rendered in the structure that the persona defines."""

from __future__ import annotations

from dataloader_expert.report import Model, Report
from dataloader_expert.tools import (
    characterize_dataset,
    check_quality,
    diagnose_io,
    recommend_batch_spec,
    suggest_sampler,
)
from dataloader_expert.tools.base import Request, Tool, deferred


class Fields(Model):
    characterization: characterize_dataset.Fields
    batch_spec: recommend_batch_spec.Fields
    io: diagnose_io.Fields
    quality: check_quality.Fields
    sampler: suggest_sampler.Fields


class Result(Report, Fields):
    pass


TOOL = Tool(
    "analyze_dataset",
    "analyze",
    "Analyze an entire data set",
    "Start here for the whole picture: one report on a data set or DataLoader - contents, batches, loading speed, quality, "
    "sampler. The other tools look deeper. 10-30 s.",
    Request,
    Result,
    *deferred("analyze_dataset"),
    limit=24_000,
    hint="analyze data set overview full report everything whole pipeline tell all",
)
