"""Which sampler the data ask for, shown by an epoch really drawn."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from dataloader_expert.advice.sampling import sampler_advice
from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.checks.classes import TRAIN_IMBALANCE
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts, Unknown
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.batch import BatchLook
from dataloader_expert.probes.draws import DRAWN, SPEED, STRATEGY, Draws
from dataloader_expert.probes.environment import Environment
from dataloader_expert.probes.layout import LABEL, PRESENT, Layout
from dataloader_expert.probes.scan import Scan
from dataloader_expert.report import Figure, Model, Next, Report
from dataloader_expert.report import figure as figure_of
from dataloader_expert.tools.base import Measured, Said, Tool, class_counts
from dataloader_expert.tools.base import Request as Common
from dataloader_expert.tools.code import loader_code


class Request(Common):
    batch_size: int | None = Field(None, ge=1, description="samples per batch; else the loader's, else 32")
    objective: Literal["auto", "balanced", "representative", "metric", "curriculum", "throughput"] = Field(
        "auto", description="what the batches are for; auto: from the data"
    )
    group_by: str | None = Field(None, description="field whose samples stay in one batch")
    difficulty: str | None = Field(None, description="field to sort by for objective curriculum; else length")
    length: str | None = Field(None, description="field that holds the length; else found")
    world_size: int = Field(1, ge=1, description="training processes")


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


SAMPLERS = {
    "random": ("torch.utils.data.RandomSampler", "a plain shuffle: the data's own proportions, each sample once"),
    "weighted": ("torch.utils.data.WeightedRandomSampler", "classes are unequal and each should be seen as often"),
    "class-balanced-batch": (
        "dataloader_expert.samplers.ClassBalancedBatchSampler",
        "each batch must hold several of each class",
    ),
    "length-bucketed": ("dataloader_expert.samplers.LengthBucketBatchSampler", "lengths vary and padding costs"),
    "grouped": ("dataloader_expert.samplers.GroupBatchSampler", "samples of one group belong in one batch"),
    "curriculum": ("dataloader_expert.samplers.CurriculumSampler", "training should begin with easy samples"),
    "shard-shuffle": ("torch.utils.data.RandomSampler", "many samples share a shard and reading it is what costs"),
    "stream": ("none", "the data are a stream"),
    "present": ("the user's", "the sampler of the DataLoader that was given"),
}


def recipe(request: Request) -> tuple[Probe, ...]:
    return (
        Environment(),
        Layout(),
        Scan(0.8, near=False, group=request.group_by, length=request.length, difficulty=request.difficulty),
        BatchLook(request.batch_size),
        Draws(
            request.batch_size,
            request.objective,
            request.group_by,
            request.difficulty,
            request.length,
            request.world_size,
        ),
    )


def conclude(request: Request, measured: Measured) -> Said:
    facts = measured.facts
    chosen = facts.value(
        STRATEGY, {"strategy": "random", "why": "the data could not be read: a plain shuffle is the safe start"}
    )
    strategy = chosen["strategy"]
    request = request.model_copy(update={"batch_size": size_of(request, facts)})
    counts = class_counts(facts)
    drawn = facts.value(DRAWN, None, strategy=strategy)
    arguments = arguments_of(strategy, request, counts)
    unknowns = [] if drawn is not None else [Unknown("simulation", "no epoch could be drawn; see the other unknowns")]
    undrawn = [a.strategy for a in alternatives(facts, strategy, counts is not None) if a.simulation is None]
    if undrawn:
        unknowns.append(
            Unknown("alternatives: simulation", f"not drawn: {', '.join(undrawn)}; ask for them by objective")
        )
    if counts is None:
        unknowns.append(Unknown("classes", "there are no class labels"))
    fields = {
        "strategy": strategy,
        "why": chosen["why"],
        "sampler": Sampler.model_validate({"class": SAMPLERS[strategy][0], "arguments": arguments}),
        "code": code_of(request, facts, strategy, counts),
        "classes": ClassChange(
            before=drawn_from(facts, counts), after=None if drawn is None or counts is None else after(drawn, counts)
        ),
        "simulation": simulation(drawn),
        "alternatives": alternatives(facts, strategy, counts is not None),
        "throughput": figure_of(facts.find(SPEED, strategy=strategy)),
        "throughput_shuffled": figure_of(facts.find(SPEED, strategy="random")),
    }
    simulated = fields["simulation"]
    said = f"{strategy}: {chosen['why']}."
    if isinstance(simulated, Simulation):
        said += f" A drawn epoch shows {simulated.unique_fraction:.0%} of the samples, one at most {simulated.max_repeats} times."
        if simulated.padding_before is not None and strategy == "length-bucketed":
            said += f" Padding falls from {simulated.padding_before:.0%} to {simulated.padding_after:.0%}."
    steps = [
        Next(
            tool="recommend_batch_spec",
            arguments={"source": request.source, "batch_size": request.batch_size},
            why="settings for these batches",
        )
    ]
    return Said(fields, said, sampler_advice(facts), steps, unknowns, findings(facts, strategy))


def drawn_from(facts: Facts, counts: dict[str, int] | None) -> dict[str, int] | None:
    """The class counts of what is drawn from: the training split, where there is one."""
    train = facts.value(CLASS_COUNTS, None, split="train")
    return dict(train) if train and facts.find(TRAIN_IMBALANCE) is not None else counts


def size_of(request: Request, facts: Facts) -> int:
    """As asked, else the loader's, else 32."""
    return request.batch_size or facts.value(PRESENT, {}).get("batch_size") or 32


def after(drawn: dict[str, Any], counts: dict[str, int]) -> dict[str, int] | None:
    values = drawn["classes"]
    return dict(zip(counts, _aligned(values, drawn, counts), strict=False)) if values is not None else None


def _aligned(values: list[int], drawn: dict[str, Any], counts: dict[str, int]) -> list[int]:
    """The drawn counts in the order of ``counts``: the probe numbers classes by first sight and says which is which."""
    names = drawn.get("class_names")
    if not names:
        return values
    by_name = dict(zip(names, values, strict=True))
    return [by_name.get(name, 0) for name in counts]


def simulation(drawn: dict[str, Any] | None) -> Simulation | None:
    if drawn is None:
        return None
    return Simulation(**{k: v for k, v in drawn.items() if k in Simulation.model_fields})


def alternatives(facts: Facts, chosen: str, labelled: bool) -> list[Alternative]:
    names = ["random", *(["weighted", "class-balanced-batch"] if labelled else []), "length-bucketed", "curriculum"]
    if facts.find(DRAWN, strategy="present") is not None:
        names.insert(0, "present")
    return [
        Alternative(strategy=n, when=SAMPLERS[n][1], simulation=simulation(facts.value(DRAWN, None, strategy=n)))
        for n in names
        if n != chosen
    ]


def arguments_of(strategy: str, request: Request, counts: dict[str, int] | None) -> dict[str, Any]:
    size = request.batch_size or 32
    if strategy == "weighted" and counts is not None:
        return {"weights": "1 / class count, per sample", "num_samples": sum(counts.values()), "replacement": True}
    if strategy == "class-balanced-batch" and counts is not None:
        import math

        p = max(1, min(len(counts), size // 2 or 1, 16))
        return {
            "classes_per_batch": p,
            "samples_per_class": max(1, math.floor(size / p)),
            "seed": request.seed,
        }
    if strategy == "length-bucketed":
        return {"batch_size": request.batch_size, "window": 50, "seed": request.seed}
    if strategy == "curriculum":
        return {"epochs": 10, "start": 0.3, "seed": request.seed}
    return {}


def code_of(request: Request, facts: Facts, strategy: str, counts: dict[str, int] | None) -> str:
    """The loader with the sampler in place; labels and lengths are read from the data set itself."""
    settings: dict[str, Any] = {"batch_size": request.batch_size, "shuffle": True}
    world = request.world_size
    rank = ("import os", "", 'rank = int(os.environ.get("RANK", "0"))') if world > 1 else ()
    shares = (f"batches = list(batches)[rank::{world}]  # anew each epoch, after set_epoch",) if world > 1 else ()
    share = (f"sampler = list(sampler)[rank::{world}]  # anew each epoch",) if world > 1 else ()
    setup: tuple[str, ...] = ()
    if world > 1 and strategy in ("random", "shard-shuffle"):
        setup = (
            *rank,
            "from torch.utils.data import DistributedSampler",
            "",
            f"sampler = DistributedSampler(dataset, {world}, rank, seed={request.seed})  # call sampler.set_epoch(epoch)",
            "",
        )
        return _with_sampler(loader_code(request, facts, {"batch_size": request.batch_size}, setup), "sampler=sampler")
    if strategy == "weighted" and counts is not None:
        key = _label_expression(facts)
        setup = (
            *rank,
            "import torch",
            "from torch.utils.data import WeightedRandomSampler",
            "",
            f"labels = torch.tensor([int({key}) for i in range(len(dataset))])",
            "weights = 1.0 / torch.bincount(labels)[labels].double()",
            f"generator = torch.Generator().manual_seed({request.seed})",
            "sampler = WeightedRandomSampler(weights, len(dataset), generator=generator)",
            *share,
            "",
        )
        return _with_sampler(loader_code(request, facts, {"batch_size": request.batch_size}, setup), "sampler=sampler")
    if strategy == "class-balanced-batch" and counts is not None:
        key = _label_expression(facts)
        given = arguments_of(strategy, request, counts)
        setup = (
            *rank,
            "from dataloader_expert.samplers import ClassBalancedBatchSampler",
            "",
            f"labels = [int({key}) for i in range(len(dataset))]",
            f"batches = ClassBalancedBatchSampler(labels, {given['classes_per_batch']}, {given['samples_per_class']}, seed={request.seed})",
            *shares,
            "",
        )
        return _with_sampler(loader_code(request, facts, {}, setup), "batch_sampler=batches")
    if strategy == "length-bucketed":
        from dataloader_expert.checks.labels import LENGTHS

        field = facts.value(LENGTHS, {"field": "data"})["field"]
        setup = (
            *rank,
            "from dataloader_expert.samplers import LengthBucketBatchSampler",
            "",
            f"lengths = [len(dataset[i][{field!r}]) for i in range(len(dataset))]",
            f"batches = LengthBucketBatchSampler(lengths, {request.batch_size}, seed={request.seed})",
            *shares,
            "",
        )
        return _with_sampler(loader_code(request, facts, {}, setup), "batch_sampler=batches")
    if strategy == "curriculum":
        setup = (
            *rank,
            "from dataloader_expert.samplers import CurriculumSampler",
            "",
            "difficulty = list(range(len(dataset)))  # put one number per sample here; larger is harder",
            f"sampler = CurriculumSampler(difficulty, seed={request.seed})  # call sampler.set_epoch(epoch) each epoch",
            *share,
            "",
        )
        return _with_sampler(loader_code(request, facts, {"batch_size": request.batch_size}, setup), "sampler=sampler")
    if strategy == "stream":
        settings.pop("shuffle")
    return loader_code(request, facts, settings, setup)


def _label_expression(facts: Facts) -> str:
    """How a sample's label is reached: by key in a dictionary, by position in a tuple."""
    name = facts.value(LABEL, {"name": "label"})["name"]
    return f"dataset[i][{int(name) if name.isdigit() else name!r}]"


def _with_sampler(code: str, argument: str) -> str:
    return code.replace("    dataset,\n", f"    dataset,\n    {argument},\n", 1)


def findings(facts: Facts, strategy: str) -> list[Finding]:
    fact = facts.find(DRAWN, strategy=strategy)
    out: list[Finding] = []
    if fact is not None and fact.value["max_repeats"] >= 10:
        out.append(
            finding(
                "repeats-of-rare-samples",
                "warning",
                f"one sample is drawn {fact.value['max_repeats']} times in an epoch",
                fact,
                "augment the rare classes, or weight the loss instead",
            )
        )
    present = facts.find(DRAWN, strategy="present")
    if present is not None and present.value["unique_fraction"] < 0.9 and facts.find(PRESENT) is not None:
        out.append(
            finding(
                "samples-never-seen",
                "warning",
                f"the present sampler's epoch shows {present.value['unique_fraction']:.0%} of the samples",
                present,
                "more draws per epoch, or draw without replacement",
            )
        )
    return out


TOOL = Tool(
    "suggest_sampler",
    "sampler",
    "Suggest a sampler",
    "Reads labels and lengths, picks a sampling strategy (random, weighted, class-balanced, length-bucketed, curriculum) "
    "and really draws an epoch: repeats, coverage, classes per batch, padding. Returns class, arguments and code. Seconds.",
    Request,
    Result,
    recipe,
    conclude,
    hint="class imbalance WeightedRandomSampler balanced batches padding curriculum",
)
