"""Work that samples do again: the same thing read or decoded twice, or in every sample; and calls that no sample needs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.advice.avoidable import KINDS, MOST_OF, ONCE, SURE, bounds, least_low
from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.sample_calls import LEAST, SAMPLE_CALLS
from dataloader_expert.probes.health.watched_calls import OPENERS, PARTS
from dataloader_expert.probes.profile.avoidable import AVOIDABLE

KNOWN = ("twice", "same", "chunks")
"""Work of which no stack tells what it is."""
CHUNKED = (
    "rewrite the array with smaller chunks, such as of one sample (chunks=(1, …)), or draw samples chunk by chunk, and keep each chunk until all its "
    "samples are drawn"
)


def calls(facts: Facts) -> Iterator[Finding]:
    """What is read again or not needed, the most costly first."""
    fact = facts.find(SAMPLE_CALLS)
    if fact is None:
        return
    for work in fact.value["work"]:
        if work["kind"] not in KNOWN and told_by_stacks(facts, work):
            continue
        code, text, fix = said(work)
        least = SURE if work["kind"] in KNOWN else MOST_OF
        severity: Severity = "warning" if work["share"] >= least else "info"
        yield finding(code, severity, text, fact, fix, work["places"], len(work["places"]), work["share"])


def said(work: dict[str, Any]) -> tuple[str, str, str]:
    """The code, the sentence and the cure of work that was seen."""
    name, at, share = work["name"], lines(work["places"]), f"{work['share']:.0%} of a sample's time"
    if work["kind"] == "twice":
        does = "decodes the same image" if work["decodes"] else f"reads the same thing with {name}"
        text = f"each sample {does} {often(work['times'])}, at {at}: doing it once would save {share}"
        return "avoidable-work", text, "do it once per sample, and pass the result on"
    if work["kind"] == "same":
        file = escaped(posixpath.basename(work["file"])) if work["file"] else "the same thing"
        does = "decodes" if work["decodes"] else "opens" if name in OPENERS else "reads"
        does += " the same part of" if name in PARTS else ""
        by = "" if work["decodes"] else f" with {name}"
        text = f"every {work['of']} {does} {file} again{by}, at {at}: this takes {share}"
        fix = "read it once, in __init__, and keep what is needed of it"
        if name in OPENERS:
            fix = f"open it {ONCE}, and keep the handle"
        elif name in PARTS:
            fix = "read only the rows of the sample (dataset[index] of HDF5, numpy.load(path, mmap_mode='r') of .npy files), or read the array "
            fix += "once and keep it"
        return "opened-per-sample", text, fix
    if work["kind"] == "chunks":
        file = escaped(posixpath.basename(work["file"]))
        text = f"each {work['of']} uses {work['part']:.1%} of what is decompressed for it from {file}, at {at}, because whole chunks are decompressed: "
        return "read-amplification", f"{text}this takes {share}", CHUNKED
    what, fix = KINDS[work["kind"]]
    if work["kind"] == "logs":
        takes = f": this takes {share}" if work["share"] >= LEAST else ""
        return "chatty-workers", f"each {work['of']} prints or logs {often(work['times'])}, at {at}{takes}", fix
    return "avoidable-work", f"{share} goes to {what}, at {at}", fix


def often(times: float) -> str:
    return "once" if f"{times:.3g}" == "1" else f"{times:.3g} times"


def lines(places: Sequence[dict[str, Any]]) -> str:
    """The user's lines with their functions."""
    each = [f"{posixpath.basename(at['file'])}:{at['line']} in `{escaped(at['function'])}`" for at in places]
    return " and ".join(filter(None, (", ".join(each[:-1]), each[-1])))


def told_by_stacks(facts: Facts, work: dict[str, Any]) -> bool:
    """Whether enough stacks tell the same kind of work."""
    fact = facts.find(AVOIDABLE)
    alike = [] if fact is None else [other for other in fact.value if other["kind"] == work["kind"]]
    return fact is not None and any(bounds(other["share"], fact)[0] >= least_low(other) for other in alike)


def opened_twice(facts: Facts) -> Iterator[Finding]:
    """Samples that open a file at two lines, where nothing is known of what that takes."""
    fact = facts.find(SAMPLE_CALLS)
    if fact is None or any(work["kind"] in ("twice", "same") for work in fact.value["work"]):
        return
    for pair in fact.value["opened"]:
        text = f"each sample opens the same file more than once, at {lines(pair['places'])}"
        fix = "open it once and reuse what was read: on network storage each open costs a round trip"
        yield finding("avoidable-work", "info", text, fact, fix, pair["places"], len(pair["places"]))


RULES: tuple[Rule, ...] = (calls, opened_twice)
