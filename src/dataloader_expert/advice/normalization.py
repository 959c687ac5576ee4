"""How to normalise, from statistics of the training split, or of all data if there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataloader_expert.advice.model_inputs import classes_beside_arrays, fed_fields, unscaled_fields
from dataloader_expert.checks.base import LABELS_EACH, ROLES, STATISTICS
from dataloader_expert.checks.columns.channel_moments import CHANNEL_MOMENTS, channel_axis
from dataloader_expert.checks.columns.statistics import FEATURE_MOMENTS, TRAIN_MOMENTS
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.data.layout import FIELDS, LABEL
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.model.sizes import DRAWS_SPLITS
from dataloader_expert.probes.model.verdict import SCALE
from dataloader_expert.sources.roles import words

UNMEASURED_WORDS = {
    "id", "ids", "label", "labels", "mask", "masks", "timestamp", "ts", "keypoints", "zip", "bbox", "bboxes",
}  # fmt: skip
"""Words in the names of numbers that are not measured: a model takes them as they are, if at all."""
UNMEASURED_NAMES = {"idx", "index", "sample_rate", "edge_index", "boxes", "target", "targets"}
"""Whole names of such numbers."""
MOMENTS = {"t", "timestep", "timesteps", "time_step"}
"""Whole names of the number that tells a model at which step of a process its input was taken."""
WHITE = {"uint8": 255, "uint16": 65535}
"""What images are divided by, by dtype: their largest value. Floats have none."""
SPAN = 10.0
"""How many times the least value the largest is where a logarithm changes how values are spread."""
MOST_SCALED, LEAST_STD = 5.0, 0.2
"""How far from 0 pictures lie that were scaled, at most, and how far they spread, at least."""
UNLIKE = 4.0
"""How many times as wide as usual the range of a feature is if it is no measure of the same kind."""


def normalization(facts: Facts) -> dict[str, Any] | None:
    """``{method, mean, std, computed_on, applied}``; images after division by ``WHITE``; None where nothing was read."""
    fields = {f["name"]: f for f in facts.value(FIELDS, [])}
    label = facts.value(LABEL, {"name": None})["name"]
    several = next((f.at["field"] for f in facts.all(LABELS_EACH)), None)
    # they say which sample it is, or of which group, split or time
    named = {r["field"] for r in facts.value(ROLES, [])}
    numeric = [
        n
        for n, f in fields.items()
        if n != label and f["kind"] not in ("text", "category", "boolean", "tokens", "mask", "time", "other", "bytes")
    ]
    fed, beside = fed_fields(facts), classes_beside_arrays(facts)  # a model does not take the others
    if declared := declared_scale(facts):
        return declared
    numeric = [
        n
        for n in numeric
        if n.lower().rpartition(".")[2] not in UNMEASURED_NAMES
        and n not in unscaled_fields(facts)
        and not (fed is not None and n.lower() in MOMENTS and not fields[n]["shape"])
        and n not in facts.value(MODEL, {"codes": []})["codes"]
        and not set(words(n)) & UNMEASURED_WORDS
        and n != several
        and (n not in beside or n in (fed or ()))
        and not beside_boxes(n, fields)
        and facts.find(CLASS_MAP, field=n) is None
        and n not in named
        and (fed is None or n in fed)
        and not (fields[n]["shape"] and all(map(of_flags, facts.all(STATISTICS, field=n))))
        and any(facts.all(STATISTICS, field=n))
    ]
    if not fields:
        return None
    if not numeric:
        return {
            "method": "none",
            "mean": None,
            "std": None,
            "computed_on": "no field of measurements: labels, ids, classes, flags and boxes are not scaled",
            "applied": None,
        }
    trained = any(True for _ in facts.all(TRAIN_MOMENTS))
    on = "the training split" if trained else "all samples read, for lack of a training split"
    if not trained and facts.value(DRAWS_SPLITS, False):
        on += "; the code draws a random training split: recompute them on it before a final evaluation"
    images = [n for n in numeric if fields[n]["kind"] == "image"]
    if images:
        parts = list(facts.all(STATISTICS, field=images[0]))
        white = WHITE.get(fields[images[0]]["dtype"], 1)
        means, stds = [], []
        for part in parts:
            m = facts.value(TRAIN_MOMENTS, part.value, **part.at)
            means.append(None if m["mean"] is None else round(m["mean"] / white, 6))
            stds.append(None if m["std"] is None else round(m["std"] / white, 6))
        return {"method": "standard", "mean": means, "std": stds, "computed_on": on, "applied": False}
    found = {
        n: (s, facts.value(TRAIN_MOMENTS, s.value, field=n)) for n in numeric if (s := facts.find(STATISTICS, field=n))
    }
    constant = [n for n, (_, m) in found.items() if m["std"] == 0]  # a std of 0 scales nothing
    found = {n: v for n, v in found.items() if n not in constant}
    if constant:
        on += f"; left out because constant: {', '.join(constant[:5])}{', …' if len(constant) > 5 else ''}"
    if not found:
        return {"method": "none", "mean": None, "std": None, "computed_on": on, "applied": None}
    others = [s for n, (s, _) in found.items() if not is_picture(fields[n], s)]
    method = _method(others) if others else "standard"
    if method == "log":
        on += "; these are of the stored values: compute them again after the logarithm"
    each = {n: f.value for f in facts.all(FEATURE_MOMENTS) if (n := f.at["field"]) in found and unlike(f.value)}
    mean = {n: each[n]["mean"] if n in each else m["mean"] for n, (_, m) in found.items()}
    std = {n: [s or 1.0 for s in each[n]["std"]] if n in each else m["std"] for n, (_, m) in found.items()}
    if each:  # a feature that never changes is divided by one
        on += f", for each feature of {', '.join(each)} by itself"
    for n in found:
        if (channels := facts.find(CHANNEL_MOMENTS, field=n)) is not None:
            mean[n], std[n] = channels.value["mean"], [s or 1.0 for s in channels.value["std"]]
    applied = all(
        _standard(s) or (method == "min-max" and _unit(s)) or is_scaled(fields[n], s) for n, (s, _) in found.items()
    )
    if len(found) == 1:
        only = next(iter(found))
        return {"method": method, "mean": mean[only], "std": std[only], "computed_on": on, "applied": applied}
    return {"method": method, "mean": mean, "std": std, "computed_on": on, "applied": applied}


def beside_boxes(name: str, fields: Mapping[str, Any]) -> bool:
    """Whether a field belongs to the target of a detector, next to the boxes, such as their areas."""
    part, dot, _ = name.rpartition(".")
    return bool(dot) and any(f"{part}.{boxes}" in fields for boxes in ("boxes", "bbox", "bboxes"))


def declared_scale(facts: Facts) -> dict[str, Any] | None:
    """The mean and std that the model declares, which go before those of the data; or none, where it takes no values but 0 to 1."""
    model = facts.value(MODEL, {})
    said = model.get("declared") or {}
    inputs = model.get("inputs")
    of_target = inputs is not None and any(m["code"] == SCALE and m["field"] not in inputs for m in model["misfits"])
    if "between 0 and 1" in str(model.get("error") or "") and not of_target:
        on = "none: the model's loss takes values from 0 to 1 only; return them on that scale"
        return {"method": "none", "mean": None, "std": None, "computed_on": on, "applied": None}
    pictures = [f for f in facts.value(FIELDS, []) if f["kind"] in ("image", "array") and len(f["shape"]) == 3]
    if not said.get("mean") or not said.get("std") or not pictures:
        return None
    if said.get("within"):
        on = "the model rescales images itself"
        return {"method": "none", "mean": None, "std": None, "computed_on": on, "applied": None}
    on = f"declared by the model ({said['by']}), for values from 0 to 1"
    off = any(m["code"] == SCALE for m in model["misfits"])
    applied = not off and not model["cure"] and pictures[0]["dtype"].startswith("float")
    return {"method": "standard", "mean": said["mean"], "std": said["std"], "computed_on": on, "applied": applied}


def unlike(moments: Mapping[str, list[float | None]]) -> bool:
    """Whether the features of a matrix, from the moments of each, differ so in range or place that one mean and std for all serve none:
    those of pixels and of embeddings do not."""
    import numpy as np

    low, high, mean = (np.array([v for v in moments[k] if v is not None], float) for k in ("min", "max", "mean"))
    ranges = (high - low)[high > low]
    if not len(ranges):
        return False
    if (
        low[high > low].max() > high[high > low].min()
    ):  # no value of the one is one of the other, as of ages and pressures
        return True
    smaller, usual = np.quantile(ranges, [0.25, 0.5])
    return bool(max(ranges.max(), mean.max() - mean.min()) > UNLIKE * usual or usual > UNLIKE * smaller)


def _method(statistics: list[Fact]) -> str:
    """Log if most fields are positive with heavy tails, over more than ``SPAN``, min-max if most are uniform, else standard."""
    shapes = [
        tuple(s.value[k] for k in ("distribution", "min", "max")) for s in statistics if s.value["min"] is not None
    ]
    if not shapes:
        return "none"
    tails = sum(d in ("heavy-tailed", "count", "skewed") and 0 < SPAN * low < high for d, low, high in shapes)
    uniform = sum(d == "uniform" for d, *_ in shapes)
    return "log" if tails * 2 > len(shapes) else "min-max" if uniform * 2 > len(shapes) else "standard"


def of_flags(statistics: Fact) -> bool:
    """Whether all values are 0 or 1, of which alone the variance is what it can be at most: marks, edges and one-hot rows are no
    measures."""
    s = statistics.value
    known = s["std"] is not None and (s["min"], s["max"]) == (0, 1)
    return known and abs(s["std"] ** 2 - s["mean"] * (1 - s["mean"])) < 1e-3 * s["std"] ** 2


def is_picture(field: Mapping[str, Any], statistics: Fact) -> bool:
    """Whether an array has the shape of a picture and values from 0 to 1, whose brightness has no tail to be shortened."""
    shape, s = field["shape"], statistics.value
    channels = len(shape) == 3 and {shape[0], shape[2]} & {1, 3, 4}
    return bool(channels) and s["min"] is not None and s["min"] >= 0 and s["max"] <= 1


def is_scaled(field: Mapping[str, Any], statistics: Fact) -> bool:
    """Whether an array has the shape of a picture and values on both sides of 0, as mean and std or a range of -1 to 1 make them: stored
    pictures have none below 0."""
    s = statistics.value
    if channel_axis(field["shape"], least=1) is None or s["min"] is None or s["std"] is None:
        return False
    return bool(-MOST_SCALED <= s["min"] < 0 < s["max"] <= MOST_SCALED and s["std"] >= LEAST_STD)


def _standard(fact: Fact) -> bool:
    s = fact.value
    return s["std"] is not None and abs(s["mean"]) < 0.05 and abs(s["std"] - 1) < 0.05


def _unit(fact: Fact) -> bool:
    """Whether values already lie between 0 and 1, and nearly fill that."""
    s = fact.value
    return s["min"] is not None and 0 <= s["min"] <= 0.02 and 0.98 <= s["max"] <= 1


def normalization_advice(facts: Facts) -> list[Advice]:
    found = normalization(facts)
    if found is None or found["method"] == "none" or found["applied"]:
        return []
    cited = next(facts.all(TRAIN_MOMENTS), None) or next(facts.all(STATISTICS))
    why = f"inputs on one scale train faster; statistics from {found['computed_on']}"
    why += ", so no other split leaks in" if any(True for _ in facts.all(TRAIN_MOMENTS)) else ""
    if declared_scale(facts):
        cited, why = next(facts.all(MODEL)), f"the model expects inputs on this scale; {found['computed_on']}"
    return [
        Advice(
            "normalization",
            found["method"],
            None,
            why,
            None,
            "one multiply-add per value, negligible on the device",
            (cited.cite(),),
        )
    ]
