"""What a data set is: structure, classes, statistics, preprocessing."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.advice.normalization import normalization, normalization_advice
from dataloader_expert.checks.base import (
    CLASS_COUNTS,
    HISTOGRAM,
    LABEL_SETS,
    LABELS_EACH,
    MISSING,
    OBJECT_COUNTS,
    QUANTITY_LABEL,
    SPLITS,
    STATISTICS,
    VALUES,
)
from dataloader_expert.checks.columns.sample_lengths import LENGTHS
from dataloader_expert.checks.columns.structure import CORRELATION, DIVERSITY_RANK
from dataloader_expert.checks.duplicates.duplicates import DISTINCT
from dataloader_expert.checks.duplicates.pairs import NEAR
from dataloader_expert.checks.files.integrity import SAMPLE_BYTES
from dataloader_expert.checks.files.shape_findings import SHAPES
from dataloader_expert.checks.images.boxes import BOXES
from dataloader_expert.checks.labels.classes import IMBALANCE, LABELS_MISSING, SEVERE
from dataloader_expert.conclusions import number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import (
    BYTES,
    FIELDS,
    FILES,
    LABEL,
    MODALITY,
    SAMPLES,
    SHARDING,
    SHARDS,
    Layout,
)
from dataloader_expert.probes.data.pictures import OddPictures
from dataloader_expert.probes.data.scan import SCANNED, Scan
from dataloader_expert.probes.system.environment import Environment
from dataloader_expert.report import Next
from dataloader_expert.sources.layout import BY_FOLDER
from dataloader_expert.tools.base import Conclusion, Measured, Request
from dataloader_expert.tools.characterize_dataset import (
    Classes,
    Correlation,
    Diversity,
    FieldLine,
    Histogram,
    Normalization,
    Sizes,
    Split,
    Statistics,
    Task,
)
from dataloader_expert.tools.recipes.results import class_counts, coverage, fact_figure
from dataloader_expert.tools.recipes.tasks import of_label, of_runs, points_in, unlabelled

SINGLE = re.compile(r"\[[01],")
"""The shape of no box, or of one."""

SIDES = {
    "xyxy": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "centre x, centre y, width, height",
}
"""What the four numbers of a box are, by the format in which they are read."""


def recipe(request: Request) -> tuple[Probe, ...]:
    return (Environment(), Layout(), Scan(share=0.95, every_split=True), OddPictures())


def conclude(request: Request, measured: Measured) -> Conclusion:
    facts = measured.facts
    unknowns: list[Unknown] = []
    splits = facts.value(SPLITS)
    samples = facts.value(SAMPLES)
    total = sum(splits.values()) if splits else 0
    if splits is None:
        unknowns.append(Unknown("splits", "no folder, file name or metadata names one"))
    classes = classes_of(facts)
    if classes is None and all(u.what != "classes" for u in measured.unknowns):
        unknowns.append(Unknown("classes", facts.value(LABEL, {"how": "no sample was read"})["how"]))
    correlation = facts.find(CORRELATION)
    if correlation is None:
        unknowns.append(Unknown("correlation", _no_correlation(facts)))
    if facts.find(NEAR) is None:
        unknowns.append(
            Unknown(
                "diversity.near_duplicate_fraction",
                "near duplicates are searched for only among images, texts, token rows and rows with decimals",
            )
        )
    if samples is None:
        unknowns.append(Unknown("samples", "a stream has no length; it was not read to its end"))
    fields = {
        "task": task_of(facts, classes),
        "samples": samples,
        "files": facts.value(FILES),
        "bytes": facts.value(BYTES),
        "location": "local",
        "sharding": facts.value(SHARDING),
        "shards": facts.value(SHARDS),
        "splits": None
        if not splits
        else [Split(name=k, samples=n, fraction=round(n / total, 6)) for k, n in splits.items()],
        "classes": classes,
        "class_counts_by_split": by_split(facts),
        "fields": fields_of(facts),
        "statistics": statistics_of(facts),
        "histograms": histograms_of(facts),
        "correlation": None if correlation is None else Correlation.model_validate(correlation.value),
        "normalization": None if (n := normalization(facts)) is None else Normalization.model_validate(n),
        "diversity": diversity_of(facts),
    }
    steps = [
        Next(
            tool="recommend_batch_spec",
            arguments={"source": request.source},
            why="batch size, collate function and DataLoader arguments",
        ),
        Next(tool="check_quality", arguments={"source": request.source}, why="the checklist and every finding"),
    ]
    if classes is not None and classes.severe_imbalance and facts.find(CLASS_COUNTS) is not None:
        arguments = {"source": request.source, "objective": "balanced"}
        steps.insert(0, Next(tool="suggest_sampler", arguments=arguments, why="the class imbalance is over 10:1"))
    return Conclusion(fields, summary(facts, classes), normalization_advice(facts), steps, unknowns)


def classes_of(facts: Facts) -> Classes | None:
    counts = class_counts(facts)
    objects, sets = facts.find(OBJECT_COUNTS, split=None), facts.find(LABEL_SETS, split=None)
    if counts is None and objects is not None:
        return _of_several(objects, 0)
    if counts is None and sets is not None:
        return _of_several(sets, facts.value(LABELS_EACH, {"missing": 0})["missing"])
    if counts is None:
        return None
    ratio = facts.value(IMBALANCE)
    return Classes(
        label=facts.value(LABEL)["name"],
        count=len(counts),
        counts=counts,
        imbalance_ratio=round(ratio, 4),
        severe_imbalance=ratio > SEVERE,
        missing=facts.value(LABELS_MISSING, 0),
    )


def _of_several(fact: Fact, missing: int) -> Classes:
    """Those of objects, or of labels, of which a sample has several."""
    counts: dict[str, int] = fact.value
    there = [n for n in counts.values() if n]
    ratio = max(there) / min(there)
    return Classes(
        label=str(fact.at["field"]),
        count=len(counts),
        counts=counts,
        imbalance_ratio=round(ratio, 4),
        severe_imbalance=ratio > SEVERE,
        missing=missing,
    )


def task_of(facts: Facts, classes: Classes | None) -> Task:
    modality = facts.value(MODALITY)
    if modality is None:
        return Task(name="unknown", how="no sample could be read")
    label = facts.value(LABEL, {"name": None, "how": ""})
    if modality == "detection" and (facts.find(CLASS_COUNTS) is None or _of_scenes(facts, label["how"])):
        of_objects = facts.find(CLASS_COUNTS) is None and classes is not None
        fields = facts.value(FIELDS, [])
        of = f" of {number(classes.count, 'class')}" if of_objects and classes else ""
        said = next(filter(None, (boxes_in(facts, f["name"]) for f in fields)), None)
        written = f", as {said}" if said else ""
        points = points_in(fields)
        placed = f", and points of objects in field '{escaped(points)}'" if points else ""
        pose = points and (not of_objects or (classes is not None and classes.count == 1))
        name = "pose estimation" if pose else "object detection"
        return Task(name=name, how=f"each image has boxes{of}{written}{placed}")
    if label["how"] != BY_FOLDER and (runs := of_runs(facts.value(FIELDS, []))) is not None:
        return runs
    kind = {"array": "", "detection": "image ", "tokens": "token sequence "}.get(modality, f"{modality} ")
    each = facts.find(LABELS_EACH)
    if classes is not None and each is not None and classes.label == each.at["field"]:
        place = f"the columns {classes.label}" if each.value["columns"] else f"field '{classes.label}'"
        if each.value["one_hot"] or not each.value["several"]:
            return Task(name=f"{kind}classification", how=f"{number(classes.count, 'class')}, one-hot in {place}")
        return Task(
            name=f"{kind}multi-label classification",
            how=f"{classes.count} labels in {place}, {each.value['mean']:.1f} a sample on average",
        )
    if classes is not None:
        told = of_label(facts.value(FIELDS, []), label["name"]) if label["name"] is not None else None
        return told or Task(
            name=f"{kind}classification",
            how=f"{number(classes.count, 'class')}; label field '{label['name']}', {label['how']}",
        )
    texts = {f["name"] for f in facts.value(FIELDS, []) if f["dtype"] == "str"}  # the names of samples, say
    if label["name"] in texts:
        label = {"how": f"field '{label['name']}' holds texts that were not counted as classes"}
    elif label["name"] is not None:
        return Task(name=f"{modality} regression", how=f"label field '{label['name']}' has no classes; {label['how']}")
    return unlabelled(modality, facts.value(FIELDS, []), label)


def boxes_in(facts: Facts, field: str) -> str | None:
    """What the numbers of a field's boxes are; None of a field of no boxes."""
    told = facts.value(BOXES, None, field=field)
    return None if told is None else f"{SIDES[told['format']]} in {told['unit']}"


def _of_scenes(facts: Facts, how: str) -> bool:
    """Whether folders that are read as classes are rather of what each image shows: images have as many boxes as there are objects, and
    not one at most, which is where the thing of its class is."""
    boxes = [f for f in facts.value(FIELDS, []) if f["name"] == "boxes"]
    shapes = facts.value(SHAPES, {"shapes": {}}, field="boxes")["shapes"]
    alone = bool(shapes) and all(SINGLE.search(shape) for shape in shapes)
    return how == BY_FOLDER and any([*f["shape"]][:1] == [None] for f in boxes) and not alone


def _no_correlation(facts: Facts) -> str:
    """Why there is none: it needs numeric fields, or the components of one vector."""
    shapes = [f["shape"] for f in facts.value(FIELDS, [])]
    if any(len(shape) > 1 for shape in shapes):
        return "it needs numeric fields or one vector; pixels and time steps are neither"
    return "fewer than two numeric fields or components vary"


def fields_of(facts: Facts) -> list[FieldLine]:
    lines = []
    measured = facts.value(LABEL, {"name": None})["name"] if facts.value(QUANTITY_LABEL, False) else None
    for f in facts.value(FIELDS, []):
        sizes = facts.value(SAMPLE_BYTES, None, field=f["name"])
        values = facts.value(VALUES, {"distinct": None, "common": None}, field=f["name"])
        lines.append(
            FieldLine(
                name=f["name"],
                kind="number"
                if f["name"] == measured and f["kind"] == "category" and f["dtype"] != "str"
                else f["kind"],
                dtype=f["dtype"],
                shape=f["shape"],
                bytes=None if sizes is None else Sizes(**sizes),
                length=facts.value(LENGTHS, None, field=f["name"]),
                missing=facts.value(MISSING, None, field=f["name"]),
                distinct=values["distinct"],
                common=values["common"],
                boxes=boxes_in(facts, f["name"]),
            )
        )
    return lines


def statistics_of(facts: Facts) -> dict[str, Any]:
    out: dict[str, Any] = {}
    texts = {f["name"] for f in facts.value(FIELDS, []) if f["dtype"] == "str"}
    for fact in facts.all(STATISTICS):
        made = Statistics.model_validate(
            {**fact.value, "measure": "characters" if fact.at["field"] in texts else "value"}
        )
        if "channel" in fact.at:
            out.setdefault(fact.at["field"], {})[fact.at["channel"]] = made
        else:
            out[fact.at["field"]] = made
    return out


def histograms_of(facts: Facts) -> list[Histogram] | None:
    made = [
        Histogram(
            field=f.at["field"], channel=f.at.get("channel"), measure=f.at["measure"],
            edges=f.value["edges"], counts=f.value["counts"], below=f.value["below"], above=f.value["above"],
        )
        for f in facts.all(HISTOGRAM)
    ]  # fmt: skip
    return made or None


def by_split(facts: Facts) -> dict[str, dict[str, int]] | None:
    """Class counts of each split, if there are several."""
    what = next((q for q in (CLASS_COUNTS, OBJECT_COUNTS) if facts.find(q) is not None), LABEL_SETS)
    found = {str(f.at["split"]): f.value for f in facts.all(what) if f.at["split"] is not None}
    return found if len(found) > 1 else None


def diversity_of(facts: Facts) -> Diversity:
    distinct, near, rank = facts.find(DISTINCT), facts.find(NEAR), facts.find(DIVERSITY_RANK)
    read = facts.value(SCANNED, {"read": 0})["read"]
    if distinct is None or not read:
        return Diversity(distinct_fraction=None, effective_rank=None, near_duplicate_fraction=None)
    return Diversity(
        distinct_fraction=fact_figure(distinct.value / read, distinct, ""),
        effective_rank=None if rank is None else fact_figure(rank.value, rank),
        near_duplicate_fraction=None if near is None else fact_figure(near.value["extra"] / read, near, ""),
    )


def summary(facts: Facts, classes: Classes | None) -> str:
    scanned = facts.value(SCANNED, {"read": 0, "failed": 0})
    modality = facts.value(MODALITY, "unknown")
    seen = coverage(facts)
    of = f" of {seen.samples_total:,}" if seen.samples_total is not None and not seen.complete else ""
    said = f"{scanned['read']:,}{of} {modality.removesuffix('s')} samples read"
    said += f", {scanned['failed']:,} unreadable" if scanned["failed"] else ""
    if classes is not None:
        of = "" if facts.find(CLASS_COUNTS) is not None or facts.find(OBJECT_COUNTS) is None else " of objects"
        several = classes.label == next((f.at["field"] for f in facts.all(LABELS_EACH) if f.value["several"]), None)
        many = number(classes.count, "label" if several else "class") + of
        said += f"; {many}, {'most frequent to rarest' if several else 'largest to smallest'} {classes.imbalance_ratio:.1f}:1"
    splits = facts.value(SPLITS)
    if splits:
        said += f"; split{'s' * (len(splits) != 1)} {', '.join(escaped(name, 40) for name in list(splits)[:5])}"
    return f"{said}."
