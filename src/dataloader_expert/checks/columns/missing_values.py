"""Findings on fields that some samples have no value of."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import BY_KIND, LABELS_BLANK, MISSING, STATISTICS, Context, lacks_partner
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts, Quantity
from dataloader_expert.sources.roles import ROW_WORDS, words
from dataloader_expert.sources.tagged_words import SENTENCES

NAN_PLACES = Quantity("nan_places", "samples", "samples whose field is NaN, infinite, missing or a placeholder")
MISSING_IN = Quantity("missing_in_split", "", "the split that has all samples without a value, in words")
NEARLY_ALL = 0.99
"""Share of samples without a value beyond which the others are odd, and not these."""
LOW = 0.001
"""The share below which one is said to be less than that, and not rounded to none."""
PARTS = {"split", "fold", "partition"}
"""Words in the names of what says to which part of the data a sample belongs."""
BEFORE = {"reply", "parent", "previous", "prev", "predecessor", "replaces", "supersedes", "quoted"}
"""Words in the names of fields that name another row, which the first of a chain has none of."""
OVER = {
    "end", "ended", "closed", "finished", "completed", "resolved", "solved", "discharge", "discharged", "death", "died", "returned", "delivered",
    "cancelled", "canceled", "terminated", "termination", "deleted", "deactivated", "churned", "left", "expired", "paid", "released",
}  # fmt: skip
"""Words in the names of times that what is still going on has none of."""
WHEN = {"at", "date", "time", "datetime", "timestamp", "ts", "on", "dt", "day"}
DROPPED = 0.2
"""The largest share of samples that may be dropped for what they lack."""


def judge_missing(facts: Facts, context: Context) -> Iterable[Finding]:
    for fact in facts.all(MISSING):
        name, seen = fact.at["field"], fact.evidence.seen or 1
        places = facts.value(NAN_PLACES, [], field=name, code="missing")
        share = "< 0.1%" if fact.value < LOW * seen else f"{fact.value / seen:.1%}"
        mostly = 2 * fact.value <= seen
        if (
            not fact.value
            or ((mostly or name == context.label) and not places)  # whole files lack it: that is a missing key
            or (name == context.label and facts.find(LABELS_BLANK) is not None)  # which knows withheld ones
            or (bool(places) and lacks_partner(facts, places, fact.value))
            or name in context.unequal
        ):
            continue
        if fact.value > NEARLY_ALL * seen or not places:
            there = seen - fact.value
            yield finding(
                "extra-key",
                "info",
                f"{name} has a value in {there} of {seen} samples only"
                if there
                else f"{name} has no value in any sample",
                fact,
                f"leave {name} out, or write it in every sample",
                [{"field": name}],
                there,
            )
        elif context.of_words and {*words(str(name))} & SENTENCES:
            yield finding(
                "missing-values",
                "info",
                f"{name} is missing in {fact.value} of {seen} rows: it is given only in the first row of each sentence",
                fact,
                f"carry {name} forward to the rows below (pandas: ffill) to know which words make a sentence",
                places,
                fact.value,
            )
        elif (kind := facts.find(BY_KIND, field=name)) is not None and name != context.label:
            by = kind.value["by"]
            has = ", ".join(kind.value["has"][:3]) + (", …" if len(kind.value["has"]) > 3 else "")
            yield finding(
                "missing-values",
                "info",
                f"{name} is missing in {fact.value} of {seen} samples ({share}), depending on {escaped(by)}: only samples "
                f"with {escaped(has)} have it",
                [fact, kind],
                f"leave {name} out: whether it is missing gives the label away"
                if by == context.label
                else f"nothing to do, as long as {escaped(by)} is an input too",
                places,
                fact.value,
            )
        else:
            said = name in context.label_names  # of what is not mentioned nothing is lost
            few = name in context.of_few and name != context.label
            first = bool({*words(name)} & BEFORE)  # which the first of a thread or a chain has none of
            over = is_end(name) and name != context.label
            one, flag = _of_one_value(name, facts, context), is_flag(name, facts, context)
            yield finding(
                "missing-values",
                "info" if said or few or first or over or one else "warning",
                f"{name} is missing in {fact.value} of {seen} samples ({share})"
                + (_of_others(name, context) if few else str(facts.value(MISSING_IN, "", field=name))),
                fact,
                "mask missing labels in the loss, or count them as negative"
                if said
                else f"leave {name} out, or take only the samples that have it"
                if few
                else "nothing to do if these cases are still open: their durations are censored, and dropping them would favour short ones"
                if over
                else f"if {name} is a flag that is either set or left empty, read a missing value as no"
                if flag
                else f"leave {name} out: it has the same value wherever there is one"
                if one
                else _supplied(name, context) + ", or drop those samples" * (fact.value <= DROPPED * seen),
                places,
                fact.value,
            )


def is_flag(name: str, facts: Facts, context: Context) -> bool:
    """Whether the one value of a field that some samples lack says yes: no measurement, such as a gain of 2.5."""
    stated = facts.find(STATISTICS, field=name)
    kind = next((f.kind for f in context.fields if f.name == name), "")
    return _of_one_value(name, facts, context) and (kind != "number" or (stated and stated.value["min"]) == 1)


def _of_one_value(name: str, facts: Facts, context: Context) -> bool:
    stated = facts.find(STATISTICS, field=name)
    return stated is not None and stated.value["distribution"] == "constant" and name != context.label


def is_end(name: str) -> bool:
    """Whether a field is named after the time at which something was over; whether it was so in time is another matter."""
    said = words(name)
    return bool({*said} & OVER and {*said[:1], *said[-1:]} & WHEN) and not {"on", "time"} <= {*said}


def _of_others(name: str, context: Context) -> str:
    """Why samples have no value of a field that is given for some."""
    split = context.roles.split
    return ", which are in no split" if split and split.field == name else ", which have no row in its table"


def _supplied(name: str, context: Context) -> str:
    """What to do for values that are missing, by what the field is for."""
    kind = next((f.kind for f in context.fields if f.name == name), "")
    roles, said = context.roles, set(words(name))
    ids = {role.field for role in (context.grouped, *roles.keys) if role is not None}
    if name == context.label:
        return f"find out {name} of these samples"
    if (roles.split is not None and name == roles.split.field) or said & PARTS:
        return f"assign each of these samples to one {name}"
    if kind in ("category", "boolean"):
        return f"make a missing {name} a category of its own"
    if name in ids or said & ROW_WORDS:
        return (
            f"find out {name} of these samples, or give missing ids a value of their own: a mean of ids is meaningless"
        )
    if kind == "number":
        return f"impute {name} with statistics of the training split, and add a mask"
    return f"find {name} of these samples at its source"
