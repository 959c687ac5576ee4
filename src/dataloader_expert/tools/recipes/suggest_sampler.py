"""Which sampler suits the data, shown by an epoch that was actually drawn."""

from __future__ import annotations

from typing import Any

from dataloader_expert.advice.causes import cause, in_a_sentence
from dataloader_expert.advice.sampling import keeps, sampler_advice, sampler_of
from dataloader_expert.checks.base import CLASS_COUNTS, LABEL_SETS, LABELS_EACH, ROLES, SPLITS
from dataloader_expert.checks.labels.classes import LABELS_MISSING, TRAIN_IMBALANCE
from dataloader_expert.checks.labels.labels import LENGTHS
from dataloader_expert.conclusions import Finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts, Unknown
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import FIELDS, FORMAT, PRESENT, STREAM, Layout
from dataloader_expert.probes.data.scan import SCANNED, Scan
from dataloader_expert.probes.experiments.epochs import DRAWN
from dataloader_expert.probes.experiments.kept_labels import KEPT_LABELS
from dataloader_expert.probes.experiments.present_epoch import BATCHED, BEYOND, NESTED, RANKS
from dataloader_expert.probes.experiments.sampler_simulation import (
    BY_CLASS,
    EPOCHS,
    SAMPLER,
    SPEED,
    STRATEGY,
    Draws,
    no_classes,
)
from dataloader_expert.probes.model.batch import BATCH, BatchLook
from dataloader_expert.probes.rank_sharding import RANK_SHARES, RankSharding
from dataloader_expert.probes.sharding import SHARDING, StreamSharding
from dataloader_expert.probes.system.environment import Environment
from dataloader_expert.report import Next
from dataloader_expert.report import figure as figure_of
from dataloader_expert.sources.base import FILE_NAME, FOLDER
from dataloader_expert.tools.base import Conclusion, Measured
from dataloader_expert.tools.recipes.code import loader_code
from dataloader_expert.tools.recipes.results import class_counts
from dataloader_expert.tools.recipes.streams import stream_lines
from dataloader_expert.tools.suggest_sampler import Alternative, ClassChange, Request, Sampler, Simulation

ONE_EACH = "by its name"
"""How a field is known to be one of groups if its values do not repeat, so that none holds two samples."""
WHEN = {
    "random": "a plain shuffle: each sample once per epoch, in natural proportions",
    "weighted": "if classes are imbalanced and should be seen equally often",
    "class-balanced-batch": "if each batch must hold several samples of each class",
    "stratified": "if each batch must keep the class proportions of the data",
    "length-bucketed": "if lengths vary and padding wastes compute",
    "token-budget": "if lengths vary far, and each batch may hold about as many tokens instead of as many samples",
    "grouped": "if samples of one group belong in one batch",
    "curriculum": "if training should begin with easy samples, given a field that says how hard each is",
    "present": "the sampler of the given DataLoader",
}


def recipe(request: Request) -> tuple[Probe, ...]:
    return (
        Environment(),
        Layout(),
        Scan(0.8, near=False, group=request.group_by, length=request.length, difficulty=request.difficulty),
        BatchLook(request.batch_size),
        StreamSharding(request.batch_size),
        RankSharding(request.world_size),
        Draws(
            request.batch_size,
            request.objective,
            request.group_by,
            request.difficulty,
            request.length,
            request.world_size,
        ),
    )


def conclude(request: Request, measured: Measured) -> Conclusion:
    facts = measured.facts
    chosen = facts.value(
        STRATEGY, {"strategy": "random", "why": "the data could not be read, so start with a plain shuffle"}
    )
    strategy = chosen["strategy"]
    ranks = facts.value(RANKS, 1) if request.world_size == 1 else request.world_size
    asked = request.batch_size
    request = request.model_copy(update={"batch_size": size_of(request, facts), "world_size": ranks})
    several = class_counts(facts) is None and facts.find(LABEL_SETS) is not None
    kept = facts.find(KEPT_LABELS)
    counts = facts.value(LABEL_SETS, split=None) if several else class_counts(facts)
    counts = dict(kept.value["counts"]) if kept is not None else counts
    drawn = facts.value(DRAWN, None, strategy=strategy)
    drawing = facts.value(SAMPLER, None, strategy=strategy)
    first = cause(f for f in measured.findings if f.code in OF_PRESENT and f.severity != "info" and of_present(f))
    kept_why = keeps(facts, request.objective) if first is None else None
    unknowns = []
    if drawn is None and all(u.what != "simulation" for u in measured.unknowns):
        unknowns.append(Unknown("simulation", "no epoch could be drawn; see the other unknowns"))
    others = alternatives(facts, strategy, counts is not None, several)
    undrawn = [a.strategy for a in others if a.simulation is None]
    if undrawn:
        unknowns.append(
            Unknown("alternatives: simulation", f"not drawn: {', '.join(undrawn)}; pass objective= to draw one")
        )
    told = "alternatives: present" in {u.what for u in measured.unknowns} or facts.find(NESTED) or facts.find(BEYOND)
    if (
        facts.find(PRESENT) is not None
        and not facts.value(STREAM)
        and not told
        and facts.find(DRAWN, strategy="present") is None
    ):
        unknowns.append(Unknown("alternatives: present", "the loader's own sampler was not drawn: raise budget_s"))
    if counts is None and all(u.what != "classes" for u in measured.unknowns):
        unknowns.append(Unknown("classes", no_classes(facts)))
    fields = {
        "strategy": strategy,
        "why": chosen["why"] if kept_why is None else f"the present sampler can stay: {kept_why}",
        "sampler": Sampler.model_validate(said_of(drawing, several, facts)),
        "code": code_of(request, facts, drawing),
        "classes": ClassChange(
            before=drawn_from(facts, counts), after=None if drawn is None or counts is None else after(drawn, counts)
        ),
        "simulation": simulation(drawn),
        "alternatives": others,
        "throughput": figure_of(facts.find(SPEED, strategy=strategy)),
        "throughput_shuffled": figure_of(facts.find(SPEED, strategy="random")),
    }
    simulated = fields["simulation"]
    said = "" if first is None else f"{in_a_sentence(first)} "
    if kept_why is not None:
        said += f"Keep the present {escaped(sampler_of(facts) or 'sampler')}: {kept_why}."
    else:
        said += f"Suggested sampler: {'none' if strategy == 'stream' else strategy}; {chosen['why']}."
    said += timed(facts) + unlabelled(facts) + partly(facts)
    if isinstance(simulated, Simulation) and kept_why is None:
        said += f" {covered(simulated, strategy, request.world_size)}."
        said += too_few(simulated, asked) if not partly(facts) else ""
        said += padded(simulated, padding_of_present(facts), strategy)
    steps = [
        Next(
            tool="recommend_batch_spec",
            arguments={"source": request.source, "batch_size": request.batch_size},
            why="settings for these batches",
        )
    ]
    return Conclusion(fields, said, sampler_advice(facts, request.objective), steps, unknowns)


def timed(facts: Facts) -> str:
    """What an order in time asks for, where no splits are there that follow it."""
    role = next((r for r in facts.value(ROLES, []) if r["role"] == "time"), None)
    if role is None or len(facts.value(SPLITS) or {}) > 1:
        return ""
    return (
        f" Samples have a time ({escaped(role['field'])}): shuffle within the training split only, and use the latest samples, not random ones, for validation "
        "and test; for sequence models, shuffle windows of consecutive samples."
    )


UNLABELLED = 0.05
"""The share of the samples without a label from which on it is told."""


def unlabelled(facts: Facts) -> str:
    """That many samples have no label, which a plain shuffle draws too; of the training split, if there is one."""
    missing, read = facts.value(LABELS_MISSING, 0), facts.value(SCANNED, {"read": 0})["read"]
    train = facts.find(LABELS_MISSING, split="train")
    if train is not None:
        missing, read = train.value, train.value + sum(facts.value(CLASS_COUNTS, {}, split="train").values())
    if not read or missing < UNLABELLED * read:
        return ""
    of = f"{number(read, 'sample')}{' for training' if train is not None else ''}"
    return (
        f" {missing:,} of {of} ({missing / read:.0%}) have no label, and a supervised loss cannot use them: draw only "
        "labelled samples (torch.utils.data.Subset), or leave the others out of the loss."
    )


def partly(facts: Facts) -> str:
    """That only some of the samples were read, which classes and the drawn epoch are then of."""
    seen = facts.value(SCANNED, {"read": 0, "failed": 0, "total": None})
    total = seen["total"]
    if total is None or seen["read"] + seen["failed"] >= total:
        return ""
    known = facts.find(KEPT_LABELS)
    of = "the lengths" if known is not None else "class counts and the drawn epoch"
    labels = (
        "" if known is None else f"; labels cover all samples, from the dataset's attribute {known.value['attribute']}"
    )
    if known is not None and facts.find(LENGTHS) is None:
        return f" Only {seen['read']:,} of {total:,} samples were read{labels}."
    return f" Only {seen['read']:,} of {total:,} samples were read: {of} cover only these{labels}; raise budget_s to read all."


def padding_of_present(facts: Facts) -> float | None:
    """The padding of the present sampler's batches; None where not all of their samples were read, whose batches hold fewer of these."""
    drawn = facts.value(DRAWN, {}, strategy="present")
    return None if drawn.get("of_read") else drawn.get("padding_after")


def padded(drawn: Simulation, present: float | None, strategy: str) -> str:
    """How much of a batch is padding, where the strategy is for less of it: against the loader at hand, if it pads less than a shuffle."""
    before, now = drawn.padding_before, drawn.padding_after
    if before is None or now is None or strategy not in ("length-bucketed", "token-budget"):
        return ""
    if present is None or present >= before - 0.02:
        return f" Padding falls from {before:.0%} with a plain shuffle to {now:.0%}."
    return (
        f" Padding is {now:.0%}, against {present:.0%} with the present sampler and {before:.0%} with a plain shuffle."
    )


def covered(drawn: Simulation, strategy: str, world_size: int) -> str:
    """What an epoch holds, and what others hold where they differ on purpose."""
    repeated = f", and draws some up to {drawn.max_repeats} times" if drawn.max_repeats > 1 else ""
    of_ranks = "" if world_size == 1 else f" on all {world_size} ranks together"
    if drawn.ranks < world_size:
        of_ranks = f" on {number(drawn.ranks, 'rank')} of {world_size}"
    if strategy == "curriculum":
        first = f"Epoch 0 covers {drawn.unique_fraction:.0%} of the samples{of_ranks}{repeated}"
        return f"{first}; the share grows to all of them in epoch {EPOCHS}"
    return f"A drawn epoch covers {drawn.unique_fraction:.0%} of the samples{of_ranks}{repeated}"


def too_few(drawn: Simulation, asked: int | None) -> str:
    """That the epoch holds fewer samples than the batch that was asked for."""
    if asked is None or drawn.epoch_samples >= asked * drawn.ranks:
        return ""
    batch = f"a batch of {asked:,}" + (f" on each of {drawn.ranks} ranks" if drawn.ranks > 1 else "")
    held = number(drawn.epoch_samples, "sample")
    return f" Its {held} do not fill {batch}: lower batch_size; with drop_last=True there would be no batch at all."


OF_PRESENT = {
    "samples-never-seen",
    "batches-dropped",
    "batches-miss-classes",
    "same-order-each-epoch",
    "sample-raises",
    "severe-imbalance",
    "wrong-length",
    "shape-mismatch",
    "iterable-not-sharded",
}
"""Faults of the present loader, with which the summary begins."""


def of_present(one: Finding) -> bool:
    """Whether a finding is of the loader, not of the data alone."""
    of_both = one.code in ("severe-imbalance", "shape-mismatch")
    return not of_both or any(e["fact"] in (DRAWN.name, NESTED.name) for e in one.evidence)


def drawn_from(facts: Facts, counts: dict[str, int] | None) -> dict[str, int] | None:
    """The class counts of what is drawn from: the training split, if there is one."""
    of_labels = facts.value(LABEL_SETS, None, split="train")
    train = facts.value(CLASS_COUNTS, None, split="train") if facts.find(TRAIN_IMBALANCE) is not None else of_labels
    return dict(train) if train else counts


def size_of(request: Request, facts: Facts) -> int:
    """The requested one, else the loader's, else 32."""
    return request.batch_size or facts.value(BATCHED) or facts.value(PRESENT, {}).get("batch_size") or 32


def after(drawn: dict[str, Any], counts: dict[str, int]) -> dict[str, int] | None:
    values = drawn["classes"]
    return dict(zip(counts, _aligned(values, drawn, counts), strict=False)) if values is not None else None


def _aligned(values: list[int], drawn: dict[str, Any], counts: dict[str, int]) -> list[int]:
    """The drawn counts in the order of ``counts``: the probe numbers classes by first occurrence and says which is which."""
    names = drawn.get("class_names")
    if not names:
        return values
    by_name = dict(zip(names, values, strict=True))
    return [by_name.get(name, 0) for name in counts]


def simulation(drawn: dict[str, Any] | None) -> Simulation | None:
    if drawn is None:
        return None
    return Simulation(**{k: v for k, v in drawn.items() if k in Simulation.model_fields})


def alternatives(facts: Facts, chosen: str, labelled: bool, several: bool) -> list[Alternative]:
    if facts.value(STREAM):
        return []
    by_class = (["weighted"] if several else BY_CLASS) if labelled else []
    named = (r for r in facts.value(ROLES, []) if r["role"] == "group" and r["how"] != ONE_EACH)
    group = next((r for r in named if r["field"] not in (FILE_NAME, FOLDER)), None)
    drawn = facts.find(DRAWN, strategy="token-budget")
    by_length = (
        ["length-bucketed", *(["token-budget"] if drawn is not None else [])] if facts.find(LENGTHS) is not None else []
    )
    names = ["random", *by_class, *by_length, *(["grouped"] if group is not None else []), "curriculum"]
    if facts.find(DRAWN, strategy="present") is not None:
        names.insert(0, "present")
    return [
        Alternative(strategy=n, when=when(n, group), simulation=simulation(facts.value(DRAWN, None, strategy=n)))
        for n in names
        if n != chosen
    ]


def when(strategy: str, group: dict[str, Any] | None) -> str:
    asked = f": pass group_by={escaped(group['field'])!r}" if strategy == "grouped" and group is not None else ""
    return WHEN[strategy] + asked


def said_of(drawing: dict[str, Any] | None, several: bool, facts: Facts) -> dict[str, Any]:
    """The sampler's class and arguments; its first argument is described in words."""
    if drawing is None:
        return {"class": "none", "arguments": {}}
    reads, field = drawing["reads"], drawing["field"]
    words = {
        "data": "the dataset",
        "weights": f"1 / number of samples with the same rarest label in {field}"
        if several
        else f"1 / number of samples with the same {'field ' * str(field).isdigit()}{field}",
    }
    each = f"{'field ' * str(field).isdigit()}{field} of each sample"
    measured = reads == "lengths" and not length_of(field, facts).startswith("int(")
    first = words.get(reads, f"length of {each}" if measured else each)
    name = "difficulty" if drawing["sampler"] == "CurriculumSampler" else reads
    return {
        "class": f"dataloader_expert.samplers.{drawing['sampler']}",
        "arguments": {name: first, **drawing["arguments"]},
    }


def code_of(request: Request, facts: Facts, drawing: dict[str, Any] | None) -> str:
    """The loader with the sampler that was drawn, built from the data set's own fields."""
    if drawing is None and facts.value(STREAM):
        shares = facts.find(SHARDING)
        by_rank = facts.value(RANK_SHARES, {"copied": False})["copied"]
        setup = stream_lines(shares is not None and bool(shares.value["copied"]), by_rank)
        return loader_code(request, facts, {"batch_size": request.batch_size}, setup)
    if drawing is None:
        return loader_code(request, facts, {"batch_size": request.batch_size})
    reads, sampler, given = drawing["reads"], drawing["sampler"], dict(drawing["arguments"])
    reading: list[str] = []
    if reads == "lengths":
        reading = [f"lengths = [{length_of(drawing['field'], facts)} for i in range(len(dataset))]"]
    elif reads == "weights" and facts.find(LABELS_EACH, field=drawing["field"]) is not None:
        reading = rarest_labels(drawing["field"], facts)
    elif reads in ("weights", "labels") and (kept := facts.find(KEPT_LABELS)) is not None:
        reading = [f"labels = numpy.asarray(dataset.{kept.value['attribute']})"]
    elif reads != "data":
        name = "labels" if reads == "weights" else reads
        value = value_of(drawing["field"], facts)
        reading = [f"{name} = numpy.asarray([{value} for i in range(len(dataset))])"]
    if reads == "weights":
        reading.append("_, codes, counts = numpy.unique(labels, return_inverse=True, return_counts=True)")
    weights = "1.0 / counts[codes]"
    if reads == "weights" and facts.value(LABELS_MISSING, 0) and facts.value(FORMAT) != "reference":
        weights = "(labels >= 0) / counts[codes]"  # -1 stands for no label
    first = {"data": "dataset", "weights": weights}.get(reads, reads)
    several = request.world_size > 1
    arguments = [first, *(f"{k}={v!r}" for k, v in given.items())]
    if several:
        arguments += [f"num_replicas={request.world_size}", "rank=rank"]
    rank = ['rank = int(os.environ.get("RANK", "0"))'] if several else []
    reading = [*rank, *reading]
    standard = (
        ("json.", "import json"),
        ("os.", "import os"),
        ("Counter(", "from collections import Counter"),
    )
    used = [line for mark, line in standard if any(mark in of for of in reading)]
    setup = (
        "",
        *([*used, ""] if used else []),
        *(["import numpy", ""] if any("numpy" in line for line in reading) else []),
        f"from dataloader_expert.samplers import {sampler}",
        "",
        *reading,
        f"sampler = {sampler}({', '.join(arguments)})  # sampler.set_epoch(epoch) before each epoch",
        "",
    )
    if drawing["batches"]:
        return loader_code(request, facts, {}, setup, drawn="batch_sampler")
    return loader_code(request, facts, {"batch_size": request.batch_size}, setup, drawn="sampler")


def rarest_labels(field: str, facts: Facts) -> list[str]:
    """Lines that define ``labels``: the rarest of the labels of each sample, as text."""
    each = facts.value(LABELS_EACH, field=field)
    columns, mark = each["columns"], each["mark"]
    value = value_of(field, facts)
    nested = any(f["name"] == field and f["kind"] == "other" for f in facts.value(FIELDS, []))
    if mark is not None:
        held = f"set(filter(None, map(str.strip, ({value} or '').split({mark!r}))))"
    elif nested and facts.value(FORMAT) != "reference":
        held = f"json.loads({value} or '[]')"
    elif each["vector"]:
        held = f"numpy.flatnonzero({value}).tolist()"
    else:
        held = f"numpy.asarray({value}).tolist()"
    sets = f"[[str(label) for label in {held}] for i in range(len(dataset))]"
    if columns:
        samples = "map(dataset.__getitem__, range(len(dataset)))"
        sets = f"[[name for name in {columns!r} if sample[name] > 0] for sample in {samples}]"
    return [
        f"sets = {sets}",
        "frequency = Counter(label for held in sets for label in held)",
        'labels = numpy.asarray([min(held, key=lambda v: (frequency[v], v), default="") for held in sets])',
    ]


def value_of(field: str, facts: Facts) -> str:
    """How a field of sample ``i`` is accessed: by key; for a reference also by position or attribute, over several levels."""
    if facts.value(FORMAT) != "reference":
        return f"dataset[i][{field!r}]"
    structure = facts.value(BATCH, {"structure": "dict"})["structure"]
    if field == "data" and structure != "dict":
        return "dataset[i]"
    if structure not in ("dict", "list", "tuple", "Tensor"):  # a named tuple
        return f"dataset[i].{field}"
    return "dataset[i]" + "".join(f"[{part if part.isdigit() else repr(part)}]" for part in field.split("."))


def length_of(field: str, facts: Facts) -> str:
    """A field's own length, or its value if it is a number that gives the length."""
    of_one = [f for f in facts.value(FIELDS, []) if f["name"] == field and not f["shape"]]
    scalar = any(f["dtype"].startswith(("int", "uint", "float")) for f in of_one)
    known = facts.value(LENGTHS, {"field": None})
    if known["field"] == field and known.get("at"):
        return f"{value_of(field, facts)}.shape[{known['at']}]"
    return f"{'int' if scalar else 'len'}({value_of(field, facts)})"
