"""Findings on what the statistics of a field show: no numbers, one value alone, far values, marks of missing ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from dataloader_expert.checks.base import CALENDAR, CUT_AT, MISSING, Context
from dataloader_expert.checks.columns.missing_values import NAN_PLACES, is_flag
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.checks.common.treatments import MINUS_ONE, SHAPED, marks_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import has_boxes, picture_sides
from dataloader_expert.sources.label_names import is_no_class
from dataloader_expert.sources.roles import GROUP_WORDS, ROW_WORDS, words

PILED = Quantity(
    "piled", "values", "the largest value of a field and how often it occurs, if far more often than those near it"
)
ALONE = Quantity("value_alone", "values", "a value that several samples share, alone outside the range of all others")
UNSCALED = ("category", "audio", "tokens")
"""Kinds of fields in which a far value means nothing, as do pixels of eight bits: codes, and single samples of a signal."""
NEVER_ZERO = {
    "height", "bmi", "pressure", "bp", "glucose", "insulin", "thickness", "pulse", "hr", "heart", "spo", "saturation", "hemoglobin",
    "cholesterol", "creatinine", "platelets", "density", "ph",
}  # fmt: skip
"""Words of measurements that can hardly be 0."""
AMOUNTS = {
    "price", "cost", "fee", "fare", "amount", "income", "salary", "wage", "revenue", "sales", "sold", "turnover", "balance", "budget", "tax",
    "discount", "loss", "gain", "usage", "consumption", "production", "output", "yield", "power", "energy", "kw", "kwh", "w", "watt", "watts",
    "load", "current", "voltage", "flow", "speed", "velocity", "rpm", "torque", "throttle", "thrust", "wind", "rain", "snow", "irradiance",
    "radiation", "distance", "duration", "time", "count", "counts", "num", "number", "n", "total", "sum", "votes", "views", "visitors", "users",
    "trips", "passengers", "traffic", "calls", "clicks", "likes", "orders", "quantity", "qty", "stock", "score", "points", "rate", "dose",
    "area", "size", "since", "delay", "credit", "debt", "capital", "bonus",
}  # fmt: skip
"""Words of what may well be nothing, or is at rest now and then."""
SELDOM = 0.1
"""The largest share of zeros that are hardly a state of their own."""
PEAKS = 0.03
"""The share of the values of arrays from which on far ones are their shape, and no outliers."""
PLAIN = {("attention_mask", 1), ("token_type_ids", 0)}
"""What a tokenizer gives of single texts that need no padding, beside their ids."""
MEDIA = ("image", "audio", "video")
"""Kinds of fields that a model takes, beside which numbers say something of the sample."""
FEW = 1000
"""Of more samples, so many are read before one value in all of them is a warning: a rare event may be in none of fewer."""
SENTINELS = {sign * value for value in (99, 999, 9999, 99999, 999999, 1e20, 1e30) for sign in (-1, 1)} | {
    -32768,
    32767,
    MINUS_ONE,
}
"""What instruments and exports write for a missing number."""


def judge_statistics(fact: Fact, facts: Facts, context: Context) -> Iterable[Finding]:
    s, name = fact.value, fact.at["field"]
    field, missing = next((f for f in context.fields if f.name == name), None), facts.find(MISSING, field=name)
    # what few samples have, or is no field of most: that it is there says something
    rare = missing is None or 2 * missing.value > (missing.evidence.seen or 0)
    kind = field.kind if field is not None else ""
    called = f"field {name}" if name.isdigit() else name  # of a tuple
    sampled = fact.evidence.how == "sampled"
    read, few = " read" if sampled else "", sampled and (fact.evidence.seen or 0) < FEW
    text = kind in ("text", "category")  # its statistics are of lengths
    # one mark for each of as many elements as there are, such as a mask of tokens: its length says something
    marks = field is not None and field.shape[:1] == (None,) and "float" not in field.dtype
    media = any(f.kind in MEDIA or picture_sides(f) for f in context.fields if f.name != name)
    beside = media and field is not None and (not field.shape or is_no_class(name)) and name != context.label
    about = beside or bool(set(words(name)) & (ROW_WORDS | GROUP_WORDS))
    told = text or kind == "boolean" or about or set(words(name)) <= {*CALENDAR, "week"}
    classes = name == context.classes_of_objects  # one class of objects is common
    for code, word in (("nan", "NaN"), ("inf", "infinite value")):
        if s[code]:
            places = facts.value(NAN_PLACES, [], field=name, code=code)
            yield finding(
                code,
                "error",
                f"{called} has {number(s[code], word)} among {s['n'] + s['nan'] + s['inf']:,} values",
                fact,
                "find where they arise; drop or impute those samples before training: a single one makes the loss NaN",
                places or [{"field": name}],
                s[code],
            )
    if (
        s["distribution"] == "constant"
        and not rare
        and not marks
        and not (missing is not None and missing.value and is_flag(name, facts, context))  # told as missing values
        and not (field is not None and field.shape and (name.lower(), s["min"]) in PLAIN)
        and not classes
        and (context.samples or 2) > 1
        and s["n"] > 1
        and name not in (context.label, "sample_rate")
    ):
        yield finding(
            "constant-field",
            # an attribute of objects, what is said beside a picture or a sound, what says where the samples are from, or a rare mark
            "info"
            if few or (context.objects is not None and kind == "sequence") or (s["min"] is not None and told)
            else "warning",
            f"{called} is missing in every sample{read}"
            if s["min"] is None
            else f"{called} is {'the same' if text else format(s['min'], 'g')} in every sample{read}"
            + " that has one" * (missing is not None and missing.value > 0),
            fact,
            "leave it out of the model's inputs: a field that never changes tells a model nothing",
            [{"field": name}],
        )
    cut = facts.find(PILED, field=name)
    if cut is not None and kind == "text" and facts.find(CUT_AT, field=name) is None:  # which says how they end as well
        n, longest = cut.value["count"], int(cut.value["value"])
        yield finding(
            "suspicious-text",
            "warning",
            f"{name}: {n:,} of {cut.value['n']:,} texts {verb(n, 'are')} exactly {longest:,} characters long, as long as the longest",
            cut,
            "they were probably cut off: fetch them in full from their source",
            [{"field": name}],
            n,
        )
    outliers = s["outliers"]
    # how far a code is says nothing
    coded = context.identifiers | {r.field for r in (context.roles.split,) if r is not None}
    pixels = field is not None and field.dtype == "uint8" and (kind in ("image", "mask") or len(field.shape) > 2)
    placed = classes or facts.find(CLASS_MAP, field=name) is not None
    placed = placed or (field is not None and has_boxes(field))  # where boxes lie is judged by their own check
    held = marks_of(s["treatment"])
    usual = any(mark in SENTINELS for mark in held)
    apart = None if usual or name in coded else facts.find(ALONE, field=name)
    if apart is not None:
        yield _lonely(name, apart)
    if name == context.label or name in coded or kind in UNSCALED or pixels or placed:
        return
    if cut is not None and not text and kind != "time":
        n = cut.value["count"]
        yield finding(
            "outliers",
            "info",
            f"{name}: {n:,} of {cut.value['n']:,} values {verb(n, 'are')} exactly {cut.value['value']:g}, the largest",
            cut,
            "find out whether values were clipped there, for example by a saturated sensor; if so, mark them",
            [{"field": name}],
            n,
        )
    # peaks of spectra and beats of the heart are a part of every sample
    peaks = field is not None and field.shape and outliers and outliers["count"] > PEAKS * s["n"]
    if outliers and outliers["count"] and not peaks and (apart is None or outliers["count"] != apart.value["count"]):
        n, timed = outliers["count"], kind == "time"
        low, high = (_day(x) if timed else f"{x:.4g}" for x in (outliers["low"], outliers["high"]))
        yield finding(
            "outliers",
            "info",
            f"{name}: {n} of {s['n']} {'lengths' if text else 'times' if timed else 'values'} {verb(n, 'lie')} outside "
            f"{low} … {high} ({outliers['rule']})",
            fact,
            "check these dates: a placeholder, a wrong century or a wrong unit"
            if timed
            else _cure(s["treatment"], n < SHAPED * s["n"]),
            [{"field": name, "sample": w["sample"], "file": w.get("file")} for w in outliers["where"]]
            or [{"field": name}],
            outliers["count"],
        )
    marked = facts.value(NAN_PLACES, None, **fact.at, code="placeholder") or [{"field": name}]
    if usual and not text:
        n, shown = s["treatment"]["changed"], " or ".join(f"{mark:g}" for mark in held)
        yield finding(
            "missing-values",
            "warning",
            f"{name} is {shown} in {n:,} of {number(s['n'], 'value' if field is not None and field.shape else 'sample')}, "
            f"{'the only negative number' if held == [MINUS_ONE] else 'far from all others'}: this usually marks a missing value",
            fact,
            f"read {shown} as missing in every split; otherwise it distorts the mean, and a model takes it for a measurement",
            marked,
            n,
        )
    elif held and not text and apart is None and not (outliers or {}).get("count"):
        changed = s["treatment"]["changed"]
        yield finding(
            "outliers",
            "info",
            f"{name}: {changed} of {s['n']} values are {' or '.join(f'{mark:g}' for mark in held)}, far from all others",
            fact,
            _cure(s["treatment"]),
            marked,
            changed,
        )
    if kind in ("array", "embedding", "sequence", "image", "number") and s["std"] and s["n"] >= 1000:
        if abs(s["mean"]) < 0.02 and abs(s["std"] - 1) < 0.02:
            yield finding(
                "already-normalized",
                "info",
                f"{called} is already normalized (mean {s['mean']:.3f}, std {s['std']:.3f})",
                fact,
                "do not normalize it again",
                [{"field": name}],
            )


def _lonely(name: str, apart: Fact) -> Finding:
    """A value that lies alone: a mark of a missing value, unless it is a 0 that may be one."""
    v, said = apart.value, set(words(name))
    n, value = v["count"], v["value"]
    if value:
        nines = set(f"{abs(value):.9g}".replace(".", "")) == {"9"} and abs(value) > 9
        sure = v["far"] or v["other_sign"] or nines
    else:
        sure = bool(said & NEVER_ZERO) or (v["far"] and n <= SELDOM * v["n"] and not said & AMOUNTS)
    beside = f"{v['nearest']:g} or {'more' if v['nearest'] > value else 'less'}"
    text = f"{name} is {value:g} in {n:,} of {v['n']:,} samples, and otherwise {beside}"
    text += ": it can hardly be 0" if sure and not value else ": this usually marks a missing value" if sure else ""
    fix = f"if {value:g} means 'not measured', read it as missing in every split"
    where = v["where"] or [{"field": name}]
    return finding("missing-values", "warning" if sure else "info", text, apart, fix, where, n)


def _day(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):  # beyond the range of dates
        return f"{seconds:.4g} s"


def _cure(treatment: dict[str, Any] | None, few: bool = False) -> str:
    """What to do with far values, with what it does where a treatment helps; ``few``: too few for a transform of all."""
    if treatment is None and few:
        return "inspect them; if they are errors, leave them out, otherwise keep them: so few need no transform"
    if treatment is None:
        return "inspect them; neither clipping nor a logarithm halves the tails, so use a robust scale or keep them"
    before, after = treatment["before"], treatment["after"]
    effect = f"skewness {before['skewness']:.3g} becomes {after['skewness']:.3g}, std {before['std']:.4g} becomes {after['std']:.4g}"
    given = treatment["arguments"]
    if treatment["do"] == "clip":
        return f"inspect them; if they are errors, clip to {given['low']:.4g} … {given['high']:.4g}: {effect}"
    if treatment["do"] == "log1p":
        return f"take log(1 + x): {effect}"
    shown = " and ".join(f"{mark:g}" for mark in marks_of(treatment))
    return f"inspect {shown}, which occurs {treatment['changed']} times; if it means missing, treat it as missing: {effect}"
