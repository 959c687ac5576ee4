"""The whole analysis in one pass over the data, rendered in the structure that the persona defines."""

from __future__ import annotations

from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.pictures import BatchPictures, OddPictures
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.batched_indexing import BatchedIndexing
from dataloader_expert.probes.experiments.malloc_retention import MallocRetention
from dataloader_expert.probes.experiments.packing import Packing
from dataloader_expert.probes.experiments.projection import Projection
from dataloader_expert.probes.experiments.sample_cache import SampleCache
from dataloader_expert.probes.experiments.sampler_simulation import Draws
from dataloader_expert.probes.experiments.view_copies import ViewCopies
from dataloader_expert.probes.health.batch_storages import BatchStorages
from dataloader_expert.probes.health.caught_errors import CaughtErrors
from dataloader_expert.probes.health.own_cache import OwnCache
from dataloader_expert.probes.health.static_checks import StaticChecks
from dataloader_expert.probes.health.worker_content import WorkerContent
from dataloader_expert.probes.health.worker_resources import WorkerResources
from dataloader_expert.probes.health.worker_semantics import WorkerSemantics
from dataloader_expert.probes.model.batch import BatchLook
from dataloader_expert.probes.profile.stages import Stages
from dataloader_expert.probes.search.batch_sizes import BatchSizes
from dataloader_expert.probes.search.loading import Loading
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.probes.system.environment import Environment
from dataloader_expert.probes.system.malloc_as_started import MallocAsStarted
from dataloader_expert.probes.system.storage import Storage
from dataloader_expert.report import Next
from dataloader_expert.tools import (
    characterize_dataset,
    check_quality,
    diagnose_io,
    recommend_batch_spec,
    suggest_sampler,
)
from dataloader_expert.tools.base import Conclusion, Measured, Request


def recipe(request: Request) -> tuple[Probe, ...]:
    return (
        Environment(),
        Layout(),
        OwnCache(),
        Scan(share=0.45),
        MallocAsStarted(),
        Stages(share=0.2),
        BatchLook(pictures=True, ends=True),
        BatchPictures(),
        BatchStorages(),
        BatchSizes(share=0.2),
        Storage(),
        Draws(),
        StaticChecks(),
        StreamSharding(),
        CaughtErrors(),
        WorkerContent(share=0.1, most_s=2.0),
        Projection(),
        Loading(share=0.8),
        WorkerSemantics(),
        ViewCopies(),
        Packing(),
        MallocRetention(),
        WorkerResources(),
        SampleCache(),
        BatchedIndexing(),
        OddPictures(),
    )


def conclude(request: Request, measured: Measured) -> Conclusion:
    common = request.model_dump()
    parts = {
        "characterization": (characterize_dataset, Request(**common)),
        "batch_spec": (recommend_batch_spec, recommend_batch_spec.Request(**common)),
        "io": (diagnose_io, diagnose_io.Request(**common)),
        "quality": (check_quality, check_quality.Request(**common)),
        "sampler": (suggest_sampler, suggest_sampler.Request(**common)),
    }
    said = {name: module.TOOL.conclude(own, measured) for name, (module, own) in parts.items()}
    fields = {name: parts[name][0].Fields(**s.fields) for name, s in said.items()}
    advice = {a.setting: a for s in said.values() for a in s.advice}
    unknowns = list(dict.fromkeys(u for s in said.values() for u in s.unknowns))
    findings = list({f.code: f for s in said.values() for f in s.findings}.values())
    verdict = said["quality"].summary.split(" Not checked: ")[0]
    summary = " ".join([verdict, *(first_of(said[n].summary) for n in ("io", "characterization"))])
    steps = [s for n in ("quality", "sampler") for s in said[n].next if s.tool != "recommend_batch_spec"]
    if not steps:
        steps = [
            Next(
                tool="diagnose_io",
                arguments={"source": request.source, "step_ms": 100},
                why="how long your training step waits for data",
            )
        ]
    return Conclusion(fields, summary, list(advice.values()), steps, unknowns, findings)


def first_of(summary: str) -> str:
    return summary.split(". ")[0].rstrip(".") + "."
