"""What is done to a batch before the model: normalisation, dtype, layout; and what of it need not be done in each epoch."""

from __future__ import annotations

from typing import Any

from dataloader_expert.advice.caching import kept
from dataloader_expert.advice.model_inputs import classes_beside_arrays, fed_fields, unscaled_fields
from dataloader_expert.advice.normalization import WHITE, normalization
from dataloader_expert.checks.base import STATISTICS, VALUES
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.checks.common.treatments import SHAPED
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.data.layout import FIELDS, LABEL, MODALITY
from dataloader_expert.probes.model.batch import BATCH, COLLATE
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.report import Figure
from dataloader_expert.sources.roles import words
from dataloader_expert.tools.batch_parts import Cache, Preprocessing

NAMED_CLASSES = {"label", "labels", "class", "classes", "category", "categories"}
NUMBERED = {"id", "ids", "idx", "index", "num", "number"}
"""What may follow the name of a class."""
SCALED = {"image", "audio", "video", "mask"}
"""Kinds that are stored as whole numbers and fed as floats."""
"""Words in the names of whole numbers that are classes."""
NO_INPUT = ("id", "idx", "index", "sample_rate")
"""Fields that say which sample it is, or how it was taken."""


def preprocessing(facts: Facts, memory_bytes: int) -> Preprocessing:
    measured = ("number", "array", "embedding", "sequence")
    codes = facts.value(MODEL, {"codes": []})["codes"]
    fed, aside = fed_fields(facts), unscaled_fields(facts)
    label = facts.value(LABEL, {"name": None})["name"]
    scaled = {
        f["name"]
        for f in facts.value(FIELDS, [])
        if f["kind"] in measured
        and f["name"] not in (*codes, *aside, *NO_INPUT, label)
        and (fed is None or f["name"] in fed)
        and not of_classes(f["name"], facts)
        and not (f["dtype"] == "uint8" and len(f["shape"]) > 2)
    }
    far = [f for f in facts.all(STATISTICS) if f.at["field"] in scaled and (f.value["outliers"] or {}).get("count")]
    return Preprocessing(
        normalization=normalization(facts),
        resize=resize_of(facts),
        augmentation=augmentation_of(facts),
        dtype=dtype_of(facts),
        layout=layout_of(facts),
        outliers=far_values(far) if any(facts.all(STATISTICS)) else "not measured",
        cache=cache_of(facts, memory_bytes),
    )


def resize_of(facts: Facts) -> str:
    """To which size samples are brought, and by what, if they differ."""
    collate = facts.value(COLLATE, {"size": None, "name": "default", "why": ""})
    if collate["size"]:
        said = f"to {collate['size'][0]} x {collate['size'][1]} (height x width): the median size in multiples of 8, at most 512"
        detects = facts.value(MODALITY) == "detection"
        return said + ("; boxes in pixels are resized with their image" if detects else "")
    batch = [f for f in facts.value(BATCH, {"fields": []})["fields"] if f["dtype"] != "str"]
    varying = [f for f in batch if None in f["shape"]]
    listed = [f["name"] for f in varying if f["host"]]
    stacked = [f["name"] for f in varying if not f["host"]]
    own = collate["name"] not in ("pad", "list", "default")
    if not batch:
        return "unknown: no batch was made"
    if not varying:
        differ = any(None in f["shape"] for f in facts.value(FIELDS, []) if f["kind"] not in ("text", "other"))
        return "none: the collate function brings samples to one shape" if differ and own else ALIKE
    done = []
    if any(f["shape"][0] == "B" for f in varying if not f["host"]):
        done.append(f"padded to the longest sample of the batch{' by your collate function' if own else ''}")
    elif stacked:
        done.append("samples of different sizes are concatenated")
    if listed:
        done.append(f"samples of different shapes stay a list ({', '.join(listed[:3])})")
    return f"none: {'; '.join(done)}"


ALIKE = "none: all samples have the same shape"
NONE_KNOWN = "none suggested: what keeps the label valid depends on what the values mean"


def augmentation_of(facts: Facts) -> str:
    """What may be changed at random in training, by what the model's inputs are."""
    fields, label = facts.value(FIELDS, []), facts.value(LABEL, {"name": None})["name"]
    kinds = {f["kind"] for f in fields}
    if "image" in kinds:
        said = "random horizontal flip and crop, train only; leave the flip out where left and right differ in meaning"
        detects = facts.value(MODALITY) == "detection"
        return said + ("; boxes must be flipped and cropped with their image" if detects else "")
    if "audio" in kinds:
        return "time shift and added noise, train only"
    of_floats = any(
        len(f["shape"]) > 1 and f["dtype"].startswith("float") and f["name"] != label and f["kind"] != "text"
        for f in fields
    )
    if "text" in kinds and not of_floats:
        return "none: texts are rarely augmented"
    return "none: sequences of ids are rarely augmented" if "tokens" in kinds and not of_floats else NONE_KNOWN


def far_values(far: list[Fact]) -> str:
    """What to do with values far from the others, as the findings about them say."""
    many = [f for f in far if f.value["outliers"]["count"] >= SHAPED * f.value["n"] or f.value["treatment"]]
    names = sorted({str(f.at["field"]) for f in many or far})
    listed = f"{', '.join(names[:5])}{' …' if len(names) > 5 else ''}"
    if many:
        return f"clip or use a robust scale for {listed}"
    return f"few, in {listed}: keep them unless they are errors" if far else "no value beyond 3 x IQR"


def cache_of(facts: Facts, memory_bytes: int) -> Cache | None:
    found = kept(facts, memory_bytes)
    if found is None:
        return None
    rates = (found.figure(rate, "samples/s") for rate in (found.now, found.then))
    now, then = (Figure.model_validate(rate) for rate in rates)
    return Cache(
        advised=found.advised,
        says=found.says,
        stage_ms={str(f.at["stage"]): round(f.value["ms"], 4) for f in facts.all(STAGE)},
        leaves_out=list(found.stages),
        throughput=now.model_copy(update={"how": "timed"}),
        throughput_cached=then,
        gain=Figure.model_validate(found.figure(found.gain, "x")),
        bytes=found.bytes,
        fits=found.fits,
    )


def inputs_of(facts: Facts) -> list[dict[str, Any]]:
    """The batch's fields that a model is fed, each with its kind: no label, no lengths from padding, and no row number, unless the model
    takes what is called like one."""
    kinds = {f["name"]: f["kind"] for f in facts.value(FIELDS, [])}
    stored = {f["name"]: f["dtype"] for f in facts.value(FIELDS, [])}
    fed = facts.value(MODEL, {"inputs": None})["inputs"] or ()
    aside = {facts.value(LABEL, {"name": None})["name"], *({*NO_INPUT} - {*fed})}
    padded = {f"{name}.1" for name in facts.value(COLLATE, {"varying": []})["varying"]}  # of a tuple
    found = [
        f
        for f in facts.value(BATCH, {"fields": []})["fields"]
        if not f["name"].endswith("_lengths") and f["name"] not in padded
    ]
    return [
        {**f, "kind": kinds.get(f["name"], "other"), "stored": stored.get(f["name"])}
        for f in found
        if f["name"] not in aside
    ]


def dtype_of(facts: Facts) -> str:
    """What the inputs are to be, and from what."""
    wanted: dict[str, set[str]] = {}
    beside, read = classes_beside_arrays(facts), any(facts.all(STATISTICS))
    for f in inputs_of(facts):
        if f["dtype"] == "str" and stays_text(f, facts):
            continue
        whole = f["dtype"].startswith(("int", "uint"))
        named = [w for w in words(f["name"].rpartition(".")[2]) if w not in NUMBERED][-1:]
        if of_classes(f["name"], facts) or is_target(f["name"], facts) or (whole and NAMED_CLASSES.intersection(named)):
            target = "torch.int64 classes"
        elif f["dtype"] == "str" or f["name"] in facts.value(MODEL, {"codes": []})["codes"]:
            of_text = f["dtype"] == "str" or f["kind"] == "tokens"
            target = f"torch.int64 {'codes' if f['kind'] == 'category' else 'token ids' if of_text else 'ids'}"
        elif f["dtype"].startswith(("int", "uint", "bool")) and takes_as_it_is(f["name"], facts):
            target = f"torch.{f['dtype']}"
        elif f["kind"] == "tokens":
            target = "torch.int64 token ids"
        elif whole and (f["name"] in beside or (not read and f["kind"] not in SCALED)):
            target = f"torch.{f['dtype']}"
        elif f["dtype"].startswith(("float", "bfloat", "int", "uint", "bool")):
            target = "torch.float32"
        else:
            continue
        wanted.setdefault(target, set()).add(f["dtype"])
    said = []
    for target, given in sorted(wanted.items()):
        changed = sorted(given - {target.split()[0].removeprefix("torch.")})
        said.append(f"{target} from {' and '.join(changed)}" if changed else target)
    return "; ".join(said) or "torch.float32"


def is_target(name: str, facts: Facts) -> bool:
    """Whether the model is called without the whole numbers, which are its target."""
    model = facts.value(MODEL, {"codes": [], "inputs": None})
    return model["inputs"] is not None and name in model["codes"] and name not in model["inputs"]


def takes_as_it_is(name: str, facts: Facts) -> bool:
    """Whether the model runs with whole numbers as the batch has them, such as lengths, edges or a mask, also where a cure turns them."""
    model = facts.value(MODEL, {"call": None})
    if model["call"] is None or not (model["inputs"] is None or name in model["inputs"]):
        return False
    fed = (part for part in model["fed"].split("; ") if f"[{name!r}]" in part or f"[{name}]" in part)
    return not any("float" in part or "/" in part for part in fed)


def of_classes(name: str, facts: Facts) -> bool:
    """Whether a field's whole numbers are classes, such as those of a mask."""
    return facts.find(CLASS_MAP, field=name) is not None


def stays_text(f: dict[str, Any], facts: Facts) -> bool:
    """Whether a text is not to be made numbers: the model is not fed it, or each sample has its own, as a path or a name."""
    fed = facts.value(MODEL, {"fed": ""})["fed"]
    if "batch" in fed and repr(f["name"]) not in fed:
        return True
    values = facts.find(VALUES, field=f["name"])
    if f["kind"] != "category" or values is None:
        return False
    return bool(2 * values.value["distinct"] > (values.evidence.seen or 0))


def layout_of(facts: Facts) -> str:
    """How the largest input lies in a batch, and for an image how it must lie for a model."""
    inputs = inputs_of(facts)
    if not inputs:
        return "as stored"
    if len(inputs) > 1 and all(f["shape"] == ["B"] for f in inputs):
        return "as stored: each column [B]"
    fed = facts.value(MODEL, {}).get("inputs") or []
    inputs = (
        [f for f in inputs if f["name"] in fed]
        or [f for f in inputs if f["kind"] != "mask" and not of_classes(f["name"], facts)]
        or inputs
    )
    f = max(inputs, key=lambda f: f["bytes_per_sample"])
    if f["dtype"] == "str":
        return "as stored: a list of B texts"
    shape, scale = f["shape"], "convert to float and divide by 255 on the device"
    if f["kind"] == "image" and f["dtype"] == "uint8" and len(shape) == 3:
        return f"uint8 [B, H, W]; unsqueeze(1) to [B, 1, H, W], {scale}"
    if f["kind"] == "image" and f["dtype"] == "uint8" and len(shape) == 4:
        if shape[1] not in (1, 3, 4) and shape[3] in (1, 3, 4):
            return f"uint8 [B, H, W, C]; permute(0, 3, 1, 2) to [B, C, H, W], {scale}"
        return f"uint8 [B, C, H, W]; {scale}"
    white = WHITE.get(str(f["stored"]))
    deep = f"; convert to float and divide by {white} on the device" if f["kind"] == "image" and white else ""
    return f"as stored: {f['dtype']} [{', '.join('*' if d is None else str(d) for d in shape)}]{deep}"
