"""What a batch is and should be: shapes, collate, size, memory, preprocessing, settings per split."""

from __future__ import annotations

from typing import Any

from dataloader_expert.advice.batch_size import (
    accumulation_advice,
    batch_advice,
    batch_size,
    evaluation_advice,
    evaluation_size,
    instead_advice,
    limit,
    on_cards,
)
from dataloader_expert.advice.caching import cache_advice
from dataloader_expert.advice.causes import in_a_sentence
from dataloader_expert.advice.models import APPLY, CALL_RAISES, REJECTS, WARNED, refusing, too_large
from dataloader_expert.advice.normalization import normalization_advice
from dataloader_expert.advice.workers import batch_bytes, host_bytes, host_parts, worker_advice
from dataloader_expert.checks.base import SPLITS
from dataloader_expert.conclusions import Finding, number
from dataloader_expert.facts import Facts, Unknown, in_bytes
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import STREAM, Layout
from dataloader_expert.probes.data.pictures import BatchPictures
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.sample_cache import SampleCache
from dataloader_expert.probes.model.batch import BATCH, COLLATE, SPREAD, BatchLook, DescribedBatch
from dataloader_expert.probes.model.check import MODEL, OWN_CALL, ModelCheck
from dataloader_expert.probes.model.fitting import Fit
from dataloader_expert.probes.model.host_memory import HostMemory
from dataloader_expert.probes.model.memory import (
    CONTEXT,
    DEVICE_PEAK,
    MEMORY_FIT,
    MEMORY_PARTS,
    ModelMemory,
)
from dataloader_expert.probes.model.sizes import BATCH_SIZES, training_samples
from dataloader_expert.probes.model.standalone import STANDALONE, StandaloneCode, with_settings
from dataloader_expert.probes.profile.stages import Stages
from dataloader_expert.probes.search.batch_sizes import BatchSizes
from dataloader_expert.probes.search.loading import RECOMMENDED, Loading
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.probes.system.environment import ENVIRONMENT, Environment
from dataloader_expert.probes.system.malloc_as_started import MallocAsStarted
from dataloader_expert.report import Next
from dataloader_expert.report import figure as figure_of
from dataloader_expert.tools.base import NO_CUDA, NO_DEVICE, NO_MODEL, Conclusion, Measured, is_reference
from dataloader_expert.tools.batch_parts import (
    AtSize,
    BatchField,
    Collate,
    Limit,
    Memory,
    MisfitLine,
    ModelCheckLine,
    Settings,
)
from dataloader_expert.tools.recipes.batch_findings import drops_last, findings, last_batch
from dataloader_expert.tools.recipes.batch_preprocessing import preprocessing
from dataloader_expert.tools.recipes.code import loader_code
from dataloader_expert.tools.recommend_batch_spec import Request

READ_TIMEOUT_S = 120
STAGES_S = 2.5
"""The most seconds in which stages are timed: a batch is what was asked about."""


def recipe(request: Request) -> tuple[Probe, ...]:
    fed: list[Probe] = []
    memory: list[Probe] = []
    if request.model is not None:
        fed = [ModelCheck(request.model, request.model_args, request.batch_size, request.input)]
        memory = [
            ModelMemory(
                request.model,
                request.model_args,
                request.batch_size,
                request.device,
                request.optimizer,
                request.precision,
                None if request.memory_limit_gb is None else int(request.memory_limit_gb * 1e9),
                request.safety_margin,
            ),
        ]
    if request.input is not None:
        return (Environment(), DescribedBatch(request.input), *fed, *memory)
    scan = Scan(share=0.2 if fed else 0.35, near=False)
    batch = BatchLook(request.batch_size, pictures=True, ends=True)
    # whether the model takes a batch was asked, and comes first; of files, a scan tells classes and sizes that a batch needs
    first = (batch, *fed, scan) if fed and is_reference(request.source) else (scan, batch, *fed)
    return (
        Environment(),
        Layout(),
        *first,
        BatchPictures(),
        *([BatchSizes(share=0.15 if fed else 0.25)] if request.batch_size is None else []),
        *memory,
        StandaloneCode(request.batch_size),
        MallocAsStarted(request.batch_size),
        StreamSharding(request.batch_size),
        Loading(batch_size=request.batch_size, share=0.6, block_s=0.2),
        HostMemory(request.batch_size, request.safety_margin),
        Stages(request.batch_size, share=0.3, most_s=STAGES_S, whole=False),
        SampleCache(request.batch_size, share=0.3),
    )


def conclude(request: Request, measured: Measured) -> Conclusion:
    facts = measured.facts
    devices = facts.value(ENVIRONMENT, {"devices": []})["devices"]
    total = devices[0]["total_bytes"] if devices and request.device != "cpu" else None
    room = total
    if request.memory_limit_gb is not None:
        asked = int(request.memory_limit_gb * 1e9)
        room = asked if total is None else min(total, asked)
    memory_bytes, margin, trained = measured.surroundings.memory_bytes, request.safety_margin, request.model is not None
    bound = limit(facts, memory_bytes, room, margin, trained)
    size, why = batch_size(facts, request.batch_size, bound["value"])
    batch = facts.value(BATCH, {"structure": "unknown", "fields": []})
    collate = facts.value(COLLATE)
    recommended = facts.value(RECOMMENDED, {"workers": 0})
    workers = recommended["workers"]
    on_host = limit(facts, memory_bytes, None, margin)["value"]
    evaluation = evaluation_size(facts, size, on_host)
    settings = dataloader(facts, size, evaluation or size, workers, total is not None)
    unknowns = []
    if request.model is None:
        unknowns.append(Unknown("memory.device_peak_bytes", NO_MODEL))
    elif facts.find(DEVICE_PEAK) is None and not any(u.what.startswith("memory.device") for u in measured.unknowns):
        unknowns.append(Unknown("memory.device_peak_bytes", "the model took no training step; see the other unknowns"))
    if request.device == "cuda" and not devices:
        unknowns.append(Unknown("device", NO_CUDA))
    if total is None:
        unknowns.append(Unknown("memory.device_total_bytes", NO_DEVICE if not devices else "no CUDA device is used"))
    if evaluation is None:
        same = "no forward pass was measured, so the training batch size is used" if request.model else NO_MODEL
        unknowns.append(Unknown("dataloader.val and test: batch_size", same))
    if request.model is None:
        unknowns.append(Unknown("model_check", NO_MODEL))
    elif facts.find(MODEL) is None:
        unknowns.append(Unknown("model_check", f"{not_tried(measured)}; {OWN_CALL}"))
    if facts.find(RECOMMENDED) is None:
        unknowns.append(Unknown("dataloader.num_workers", "throughput was not measured; 0 always works"))
    memory = batch_bytes(facts, size)
    on_the_host = host_parts(facts, size, workers, total is not None)
    parts, spread = facts.find(MEMORY_PARTS), facts.find(SPREAD)
    fields = {
        "structure": {f["name"]: _words(f) for f in batch["fields"]},
        "fields": [BatchField(**f) for f in batch["fields"]],
        "collate": None if collate is None else Collate(name=collate["name"], why=collate["why"]),
        "batch_size": size,
        "batch_size_limit": Limit(**bound),
        "last_batch": last_batch(facts, size),
        "padding": None if spread is None else spread.value["padding"],
        "memory": Memory(
            batch_bytes=memory,
            batch_bytes_worst=None if spread is None else round(spread.value["most"] * size),
            host_bytes=host_bytes(facts, size, workers, 2),
            host_parts=on_the_host,
            host_total_bytes=sum(on_the_host.values()) if on_the_host else None,
            device_peak_bytes=figure_of(facts.find(DEVICE_PEAK)),
            device_total_bytes=total,
            device_reserved_bytes=None if parts is None else parts.value["reserved"],
            peak_at=None if parts is None else parts.value["peak_at"],
            parts={} if parts is None else {k: v for k, v in parts.value["parts"].items() if v},
            fit=fit_of(facts),
            largest_batch=on_cards(facts, request.safety_margin, CONTEXT),
            how=f"{'computed from the input described' if request.input else 'measured on real batches'}; in flight = num_workers x prefetch_factor + 1 batches"
            + peak_words(facts),
            by_batch_size=by_batch_size(facts, size, bound["value"], workers),
        ),
        "preprocessing": preprocessing(facts, measured.surroundings.memory_bytes),
        "dataloader": Settings(**settings),
        "model_check": None if facts.find(MODEL) is None else model_line(facts),
        "code": code(request, facts, settings),
    }
    advice = [
        *batch_advice(facts, size, why, memory),
        *evaluation_advice(facts, size, on_host),
        *accumulation_advice(facts, size, request.batch_size),
        *instead_advice(facts, size),
        *worker_advice(facts),
        *normalization_advice(facts),
        *cache_advice(facts, measured.surroundings.memory_bytes, measured.findings),
    ]
    steps = (
        []
        if request.input is not None
        else [
            Next(
                tool="diagnose_io",
                arguments={"source": request.source, "batch_size": size},
                why="where a sample's time goes",
            )
        ]
    )
    found = findings(request.batch_size, facts, size)
    said = summary(facts, size, why, memory, bound, found)
    said = " ".join(filter(None, (unanswered(request, measured), said)))
    return Conclusion(fields, said, advice, steps, unknowns, found)


def model_line(facts: Facts) -> ModelCheckLine:
    value = facts.value(MODEL)
    cure = None if value["cure"] is None else "\n".join(value["cure"])
    kept = MisfitLine.model_fields  # findings tell the rest
    misfits = [MisfitLine(**{k: v for k, v in m.items() if k in kept}) for m in value["misfits"]]
    given = {k: value[k] for k in ModelCheckLine.model_fields if k not in ("cure", "misfits")}
    return ModelCheckLine(**given, cure=cure, misfits=misfits)


def _renamed(check: dict[str, Any] | None) -> dict[str, Any] | None:
    """``predicted`` is the name of what only charts are made of."""
    return None if check is None else {("expected" if k == "predicted" else k): v for k, v in check.items()}


def fit_of(facts: Facts) -> dict[str, Any] | None:
    """The peak of each phase as the maximum of lines in the batch size, and how far off the trial at the size advised lay."""
    fit = facts.find(MEMORY_FIT)
    if fit is None:
        return None
    value = fit.value
    lines = {
        phase: [{"base_bytes": round(base), "bytes_per_sample": round(each)} for base, each in found]
        for phase, found in value["phases"].items()
    }
    return {**lines, "from_sizes": value["sizes"], "straight": value["straight"], "check": _renamed(value["check"])}


def by_batch_size(facts: Facts, size: int, most: int, workers: int) -> list[AtSize] | None:
    """Memory at the recommended batch size and at powers of two around it, up to the limit."""
    if batch_bytes(facts, size) is None:
        return None
    fit = facts.find(MEMORY_FIT)
    made = None if fit is None else Fit.from_json(fit.value)
    timed = {int(f.at["batch_size"]): f for f in facts.all(BATCH_SIZES)}
    sizes = {2**k for k in range(3, 14) if size / 16 <= 2**k <= min(most, 16 * size)} | {size} | set(timed)
    return [
        AtSize(
            batch_size=n,
            batch_bytes=batch_bytes(facts, n) or 0,
            host_bytes=host_bytes(facts, n, workers, 2) or 0,
            device_bytes=None if made is None else round(made.peak(n)),
            throughput=figure_of(timed.get(n)),
        )
        for n in sorted(sizes)
    ]


def peak_words(facts: Facts) -> str:
    """How the device's peak was got, at which batch size, and with which loss."""
    peak, parts = facts.find(DEVICE_PEAK), facts.find(MEMORY_PARTS)
    if peak is None or parts is None:
        return ""
    c = peak.evidence.conditions
    if peak.evidence.how == "probed":
        how = "measured by torch.cuda in processes of their own; parts from a trace"
    else:
        on = "fake tensors" if c["on"] == "trace" else "real tensors on the CPU, as the model needs their values"
        how = (
            f"derived: one step traced on {on} and replayed in a simulated caching allocator, with workspaces of cuBLAS"
        )
        how += " and cuDNN as on an H100; the CUDA context (about 0.5 GB) comes on top"
    step = f"{c['optimizer']}, {c['precision']}, {parts.value['loss'] or 'no loss'}"
    return f"; device peak of a training step ({step}) at batch size {peak.at['batch_size']}, {how}"


def dataloader(facts: Facts, size: int, evaluation: int, workers: int, device: bool) -> dict[str, dict[str, Any]]:
    """Keyword arguments for training, validation and test."""
    common: dict[str, Any] = {"num_workers": workers, "pin_memory": device}
    if workers:
        common.update(prefetch_factor=2, persistent_workers=True, timeout=READ_TIMEOUT_S)
    train_samples = training_samples(facts) or 0
    last_is_one = bool(train_samples and train_samples % size == 1 and train_samples > size)
    order = {} if facts.value(STREAM) else {"shuffle": True}
    only_this = facts.value(MODEL, {"only": None})["only"] == size
    drop_last = last_is_one or only_this or drops_last(facts)
    train = {"batch_size": size, **order, "drop_last": drop_last, **common}
    evaluate = {"batch_size": evaluation, **dict.fromkeys(order, False), "drop_last": False, **common}
    return {"train": train, "val": dict(evaluate), "test": dict(evaluate)}


def code(request: Request, facts: Facts, settings: dict[str, dict[str, Any]]) -> str:
    """The loaders as a module in plain torch where it was run, else over our own readers; none without data."""
    if request.input is not None:
        return ""
    plain = facts.value(STANDALONE)
    if plain is not None:
        return with_settings(plain, settings)
    split = "train" if "train" in (facts.value(SPLITS) or {}) else None
    return loader_code(request, facts, dict(settings["train"]), split=split)


def summary(facts: Facts, size: int, why: str, memory: int | None, bound: dict[str, Any], found: list[Finding]) -> str:
    held = f", {in_bytes(memory)} per batch" if memory is not None else ""
    spec = f"Batch size {size} ({why}){held}. The maximum is {bound['value']:,}, limited by {bound['limited_by']}."
    none_fits = next((in_a_sentence(found) for found in too_large(facts)), "")
    apart = uncollated(facts)
    errors = (f for f in found if f.severity == "error" and not (apart and f.code == "not-collatable"))
    error = next(map(in_a_sentence, errors), "")
    of_model = verdict(facts)
    of_batch = (of_model, error) if any(f.severity == "error" for f in refusing(facts)) else (error, of_model)
    return " ".join(filter(None, (apart, *of_batch, none_fits or spec)))


def uncollated(facts: Facts) -> str:
    """That batches with some of the samples cannot be made; empty where they can."""
    failed = facts.value(SPREAD, {}).get("failed")
    if not failed:
        return ""
    few = ", ".join(map(str, failed["samples"]))
    return f"Batches that contain samples {few} cannot be collated: {failed['error'].rstrip('.')}."


def unanswered(request: Request, measured: Measured) -> str:
    """What was asked and has no answer, and why: silence would read as consent."""
    said = []
    if request.input is None and measured.facts.find(BATCH) is None:
        made = measured.facts.find(MODEL) is not None  # it was fed a batch of other samples
        what = "Some batches cannot be made" if made else "No batch was made"
        said.append(f"{what}: {why_not(measured, BatchLook.name, 'no time was left: raise budget_s')}.")
    if request.model is not None and measured.facts.find(MODEL) is None:
        said.append(f"The model was not checked: {not_tried(measured)}; {OWN_CALL}.")
    return " ".join(said)


def not_tried(measured: Measured) -> str:
    return why_not(measured, ModelCheck.name, "no time was left for it: raise budget_s")


def why_not(measured: Measured, probe: str, otherwise: str) -> str:
    """What a probe raised, else ``otherwise``."""
    return next((u.why.rstrip(".") for u in measured.unknowns if u.what == probe), otherwise)


def verdict(facts: Facts) -> str:
    """For the first sentence: whether the model takes the batch, else what it or its loss refuses, and whether a cure ran."""
    value = facts.value(MODEL, None)
    if value is None:
        return ""
    found = list(refusing(facts))
    errors = [f for f in found if f.severity == "error"]
    if not errors:
        silent = [f for f in found if f.code in WARNED or "backward()" in f.message]
        if silent:
            return f"The model runs, but not correctly: {silent[0].message}; {silent[0].fix}."
        converted = " once model_check.cure has converted it" if value["cure"] and not value["misfits"] else ""
        return f"The model takes the batch{converted}{', with warnings' if found else ''}."
    who = "The loss does not take the labels" if value["accepted"] else "The model does not take the batch"
    who = "The model could not be made" if value["ran"] == "not made" else who
    fix = errors[0].fix if value["misfits"] else ""  # else the error, or what the batch holds, says it at more length
    fix = "model_check.cure, the code with which it ran" if fix.startswith(APPLY) else fix
    said = errors[0].message
    for known in ("the target: ", "the batch: ", REJECTS, CALL_RAISES):  # which the sentence says already
        said = said.removeprefix(known)
    more = f" {number(len(errors) - 1, 'further difference')} in findings." if len(errors) > 1 else ""
    return f"{who}: {said.rstrip('.')}.{more}{f' Fix: {fix}.' if fix else ''}"


def _words(f: dict[str, Any]) -> str:
    if f["dtype"] == "str":
        return "list[str], length B"
    shape = ", ".join("*" if d is None else str(d) for d in f["shape"])
    if f["host"]:
        rest = shape.removeprefix("B").removeprefix(", ")
        return f"list of {f['dtype']}{f' [{rest}]' if rest else ''}, length B"
    return f"torch.Tensor {f['dtype']} [{shape}]"
