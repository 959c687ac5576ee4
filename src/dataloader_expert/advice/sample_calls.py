"""Work that samples do again: the same thing read or decoded twice, or in every sample; calls that no sample needs; whole tables read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.advice.avoidable import CALLED, KINDS, MOST_OF, ONCE
from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.health.watched_calls import OPENERS

SURE = 0.1
"""The share of a sample's time from which work that is done again is a warning."""
LOGGED = 0.5
"""Calls per sample of print or a logger from which they are told, whatever they take here: a terminal is slower."""


def calls(facts: Facts) -> Iterator[Finding]:
    """What is read again or not needed, the most costly first."""
    fact = facts.find(SAMPLE_CALLS)
    for work in fact.value["work"] if fact is not None else ():
        if work["kind"] not in ("twice", "same") and told_by_stacks(facts, work):
            continue
        code, text, fix = said(work)
        least = SURE if work["kind"] in ("twice", "same") else MOST_OF
        severity: Severity = "warning" if work["share"] >= least else "info"
        yield finding(code, severity, text, fact, fix, work["places"], len(work["places"]), work["share"])


def said(work: dict[str, Any]) -> tuple[str, str, str]:
    """The code, the sentence and the cure of work that was seen."""
    name, at, share = work["name"], lines(work["places"]), f"{work['share']:.0%} of a sample's time"
    if work["kind"] == "twice":
        does = "decodes the same image" if work["decodes"] else f"reads the same thing with {name}"
        text = f"each sample {does} {work['times']:.3g} times, at {at}: once would save {share}"
        return "avoidable-work", text, "do it once per sample, and pass the result on"
    if work["kind"] == "same":
        file = f" {escaped(posixpath.basename(work['file']))}" if work["file"] else " the same thing"
        does = "decodes" if work["decodes"] else "opens" if name in OPENERS else "reads"
        with_ = "" if work["decodes"] else f" with {name}"
        text = f"every {work['of']} {does}{file} again{with_}, at {at}: this takes {share}"
        fix = "read it once, in __init__, and keep what is needed of it"
        if name in OPENERS:
            fix = f"open it {ONCE}, and keep the handle"
        elif name in ("reading an HDF5 dataset", "reading an array of an .npz file"):
            fix = "read only the rows of the sample (dataset[index] of HDF5, numpy.load(path, mmap_mode='r') of .npy files), or read the array "
            fix += "once and keep it"
        return "opened-per-sample", text, fix
    what, fix = KINDS[work["kind"]]
    return "avoidable-work", f"{share} goes to {what}, at {at}", fix


def lines(places: Sequence[dict[str, Any]]) -> str:
    """The user's lines with their functions."""
    each = [f"{posixpath.basename(at['file'])}:{at['line']} in `{escaped(at['function'])}`" for at in places]
    return " and ".join(filter(None, (", ".join(each[:-1]), each[-1])))


def told_by_stacks(facts: Facts, work: dict[str, Any]) -> bool:
    """Whether stacks tell the same kind of work."""
    return any(other["kind"] == work["kind"] for other in CALLED(facts))


def opened_twice(facts: Facts) -> Iterator[Finding]:
    """Samples that open a file at two lines, where nothing is known of what that takes."""
    fact = facts.find(SAMPLE_CALLS)
    if fact is None or any(work["kind"] in ("twice", "same") for work in fact.value["work"]):
        return
    for pair in fact.value["opened"]:
        text = f"each sample opens the same file more than once, at {lines(pair['places'])}"
        fix = "open it once, and pass on what was read: on network storage each opening waits for an answer"
        yield finding("avoidable-work", "info", text, fact, fix, pair["places"], len(pair["places"]))


def queries(facts: Facts) -> Iterator[Finding]:
    """Queries that read a whole table for a sample."""
    fact = facts.find(SAMPLE_CALLS)
    for scan in fact.value["scans"] if fact is not None else ():
        table, columns = escaped(scan["table"]), [escaped(column) for column in scan["columns"]]
        text = f"the query at {posixpath.basename(scan['file'])}:{scan['line']} reads all {scan['rows']:,} rows of `{table}` for each sample, because "
        text += f"no index covers it (EXPLAIN QUERY PLAN: SCAN {table}): this takes {scan['share']:.0%} of a sample's time"
        fix = f"run CREATE INDEX {table}_{'_'.join(columns)} ON {table} ({', '.join(columns)}) once; add the columns that the query sorts by"
        at = [{"file": scan["file"], "line": scan["line"]}]
        severity: Severity = "warning" if scan["share"] >= SURE else "info"
        yield finding("costly-line", severity, text, fact, fix, at, cost=scan["share"])


RULES: tuple[Rule, ...] = (calls, opened_twice, queries)
