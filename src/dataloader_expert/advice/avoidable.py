"""Work at the user's own lines that need not be done for each sample."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.stages import LOCKED_LEAST
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.health.line_causes import CAUSES
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.hung import LONG_SAMPLES
from dataloader_expert.probes.profile.avoidable import AVOIDABLE, CHEAPLY, LEAST, LEAST_NEEDLESS
from dataloader_expert.probes.profile.hotspots import LOCKED, SLEEPING, USER_FUNCTIONS
from dataloader_expert.probes.profile.rereads import wilson
from dataloader_expert.probes.profile.sampling_profiler import ACROSS, BURST
from dataloader_expert.probes.profile.stage import STAGE

KNOWN = {"read", "decode", "collate", "worker_transfer", "pin", "to_device"}
"""Stages that say themselves what takes the time."""
LEAST_MS = 0.1
"""The least milliseconds of a sample of which a line is told."""
MOST_OF = 0.5
"""The share of a sample's time from which it is a warning."""
CAUSED_LEAST = 0.3
"""The least share of a sample's time that is told of a line with a known cause."""
SURE = 0.1
"""The share of a sample's time from which a query that reads a whole table, or work that is done again, is a warning."""
ALL_OF = 0.9
"""The share of a line's time from which what it calls is told instead."""
LEAST_LOW = 0.1
"""The least lower end of a share's interval that is told."""
NAMED = 3
"""The most calls of a line that are named beside the last."""
FETCHES = "keep a local copy of what it fetches, fetch many samples in one request (__getitems__), or use more workers, which wait in parallel"
COMPUTES = (
    "if its result for a sample is always the same, compute it once and store it; otherwise give it less to do (crop, shrink "
    "or select first), or do it for whole batches on the device"
)
OWN_CODE = (
    "move what is the same for all samples to __init__, and compute with whole arrays (numpy, torch) instead of Python objects; or, if "
    "a sample is always the same, make the samples once and store them"
)
PAUSES = "remove the pause: loading needs none; if it simulates slow storage, measure the storage itself"
ONCE = "once in each worker, on first use"
KINDS = {
    "copies": ("copying objects", "copy only what is changed, or nothing"),
    "processes": (
        "starting processes and waiting for them",
        "do their work in the worker itself with a library, or once for all samples beforehand",
    ),
    "threads": ("starting threads", f"create the pool {ONCE}, or use a plain loop: workers already run in parallel"),
    "loaders": (
        "a DataLoader of its own",
        "read from its dataset in a plain loop: workers already run in parallel",
    ),
    "manager": (
        "asking a multiprocessing.Manager, which serves one process at a time",
        "keep a plain dict in each worker, or arrays in shared memory",
    ),
    "formats": ("formatting arrays as text", "leave it out, or pass the array to the logger as an argument"),
    "parses": ("parsing text", "parse it once and keep the result, or store the samples in a binary format"),
    "unpickles": (
        "unpickling objects",
        "unpickle once in __init__ what several samples share, and keep it; or store arrays (numpy.save) and read the rows of a sample",
    ),
    "compiles": ("compiling regular expressions", "compile them once with re.compile, at module level"),
    "rewinds": (
        "seeking in a compressed file, which is decompressed again from its beginning",
        "decompress the file once, or read it in order and shuffle in a buffer",
    ),
    "lists": ("reading an archive's list of members", f"open the archive {ONCE}, and keep it"),
    "connects": ("opening connections", f"connect {ONCE}, and keep the connection"),
    "collects": ("gc.collect()", "leave gc.collect() out; call gc.freeze() before workers start"),
    "round_trips": (
        "converting arrays back into the images that they came from",
        "apply all image operations first and convert once at the end, or use only tensor operations",
    ),
    "doubles": (
        "converting float64 to float32",
        "if the precision is not needed, compute in float32 from the start (dtype=np.float32; x.astype(np.float32) / 255), which also moves half the "
        "bytes",
    ),
    "logs": (
        "printing or logging",
        "print and log once per epoch in the main process, or only at a log level that is off in training",
    ),
    "paths": (
        "building and comparing paths (pathlib)",
        "build the paths once in __init__; to find something by its path, use a dict keyed by the path or name instead of comparing paths in "
        "a loop",
    ),
    "syncs": (
        "os.fsync, which waits until the disk has stored what was written",
        "remove it, or write the log once per epoch in the main process: loading need not wait for the disk",
    ),
    "searches": ("searching a list from its beginning", "build a dict or set in __init__, and look up there"),
    "selects": (
        "comparing all rows of a table",
        "group the rows once in __init__, such as with df.groupby(column).indices, and look up those of a sample",
    ),
    "labels": (
        "looking labels up in a table's index, which compares all of them where they recur or are not sorted",
        "group the rows once in __init__, such as with df.groupby(level=0).indices, and take those of a sample by their positions",
    ),
    "tables": (
        "grouping, joining or sorting a table with pandas",
        "do it once for all samples in __init__, and look up there what a sample needs",
    ),
    "rows": (
        "pandas, where each operation takes many microseconds, however few values it is given",
        "turn the columns into arrays once in __init__ (df[column].to_numpy()), do there what is the same for all rows, and take the values of a "
        "sample from these arrays",
    ),
    "dates": ("parsing dates", "parse them once when the data are read, and keep numbers (numpy.datetime64)"),
    "matches": (
        "matching regular expressions",
        "simplify the pattern (nested repetitions such as (a+)+ try all ways to match), or match once for all samples beforehand",
    ),
    "patterns": (
        "matching many regular expressions one after another",
        "join them into one (re.compile('|'.join(...)), with a function that looks up the replacement), or skip those whose keyword the "
        "text does not contain",
    ),
    "models": (
        "running a model",
        "run it once for all samples beforehand, in batches and under torch.no_grad(), and store its output; or run it on the device, "
        "on whole batches",
    ),
    "hashes": ("computing checksums", "verify the files once, before training"),
    "draws": (
        "drawing with weights, which are added up each time",
        "add them up once (numpy.cumsum) and look a random number up with numpy.searchsorted, or let a sampler draw",
    ),
    "loads": ("loading a tokenizer or model anew", f"load it {ONCE}, and keep it"),
    "converts": (
        "torch.tensor(), which reads Python lists value by value and takes microseconds for each array",
        "keep the values in one numpy array or tensor, and take slices of it (torch.from_numpy)",
    ),
    "retries": (
        "time.sleep() after an error, before it is tried again",
        "find out what fails and leave out what always does; retry only temporary errors. More workers wait in parallel and only hide it",
    ),
    "length": ("len(), which is called for each sample", "compute the length once, in __init__"),
    "loops": (
        "Python loops over single values",
        "compute with whole arrays (numpy, torch), compile the loop (numba), or do it once for all samples beforehand",
    ),
}
"""What takes the time, and what to do instead."""


def bounds(share: float, fact: Fact) -> tuple[float, float]:
    """The 95 % interval of a share of stacks. Those of a burst show nearly the same, so a burst counts for as many as it spans samples."""
    n = (fact.evidence.seen or 0) * ACROSS / BURST
    return wilson(share * n, n) if n else (0.0, 1.0)


def between(low: float, high: float) -> str:
    return f" (95 % confidence: {low:.0%} to {high:.0%})"


def avoidable(facts: Facts) -> Iterator[Finding]:
    """What takes the most of a sample's time, by kind of work."""
    fact = facts.find(AVOIDABLE)
    if fact is None:
        return
    for work in fact.value:
        what, fix = KINDS[work["kind"]]
        if seen_again(facts, work):
            continue
        if work["lines"]:
            what += f" ({work['lines']:,} lines run for a sample)"
        places = work["places"]
        where = f"{posixpath.basename(places[0]['file'])}:{places[0]['line']} in `{places[0]['function']}`"
        where += f" and {number(len(places) - 1, 'other line')}" * (len(places) > 1)
        low, high = bounds(work["share"], fact)
        if low < least_low(work):
            continue  # of too few stacks to tell
        text = f"{work['share']:.0%} of a sample's time{between(low, high)} goes to {what}, at {where}"
        severity: Severity = "warning" if work["share"] >= MOST_OF else "info"
        if places[0]["function"] == "__init__":  # of an object that is made for each sample
            fix = f"make that object once for all samples, if its arguments are always the same; otherwise {fix}"
        yield finding("avoidable-work", severity, text, fact, fix, places, len(places), work["share"])


def least_low(work: dict[str, Any]) -> float:
    """The least lower end of the interval of some work's share that is told."""
    return LEAST_LOW * LEAST_NEEDLESS / LEAST if work["kind"] in CHEAPLY else LEAST_LOW


def seen_again(facts: Facts, work: dict[str, Any]) -> bool:
    """Whether the line that takes most of some work was seen to do it twice, or for every sample, which says more."""
    again = [w for w in facts.value(SAMPLE_CALLS, {"work": []})["work"] if w["kind"] in ("twice", "same")]
    lines = {(at["file"], at["line"]) for w in again for at in w["places"]}
    return any((at["file"], at["line"]) in lines for at in work["places"][:1])


def long_samples(facts: Facts) -> Iterator[Finding]:
    """Samples that take so long that few could be read: what one takes, and where, if nothing else says it."""
    fact = facts.find(LONG_SAMPLES)
    if fact is None or facts.value(USER_FUNCTIONS):
        return
    v = fact.value
    text, places = (
        f"{'a sample takes' if (fact.evidence.seen or 0) > 1 else 'the first sample took'} {v['seconds']:.2g} s",
        [],
    )
    if v["file"]:
        text += (
            f", {v['share']:.0%} of it at {posixpath.basename(v['file'])}:{v['line']} in `{v['function']}`"
            if v["share"] >= MOST_OF
            else (f", most often at {posixpath.basename(v['file'])}:{v['line']} in `{v['function']}`")
        )
        places = [{"file": v["file"], "line": v["line"]}]
    fix = "make the samples once beforehand and store them, if they are the same each time; otherwise make that function faster (a compiled "
    fix += "one, fewer steps), and use as many workers as there are cores"
    yield finding("costly-line", "info", text, fact, fix, places)


def costly_line(facts: Facts) -> Iterator[Finding]:
    """The user's line that takes most of a sample's time, where no kind of work is known that could be left out."""
    fact, work = facts.find(USER_FUNCTIONS), facts.find(AVOIDABLE)
    known = sum(f.value["ms"] for f in facts.all(STAGE) if f.at["stage"] in KNOWN)
    whole = sum(f.value["ms"] for f in facts.all(STAGE))
    if fact is None or whole < LEAST_MS:
        return
    caused = next(caused_lines(facts, fact), None)
    if caused is not None:
        yield caused
        return
    if (work is not None and work.value) or known > 0.5 * whole:
        return
    if sum(work["share"] for work in facts.value(SAMPLE_CALLS, {"work": []})["work"]) >= MOST_OF:
        return  # told as the work that it is
    if any(scan["share"] >= MOST_OF for scan in facts.value(SAMPLE_CALLS, {"scans": []})["scans"]):
        return
    if facts.value(LOCKED, {"share": 0.0})["share"] >= LOCKED_LEAST:
        return  # the line waits for a lock, which is told
    lines = [spot for spot in fact.value if spot["line_share"] >= MOST_OF]
    spot = min(lines, key=lambda s: s["inclusive"], default=None)  # the innermost
    if spot is None or bounds(spot["line_share"], fact)[0] < 0.5 * MOST_OF:
        return  # of too few stacks to tell
    waits = sum(f.value["wait_ms"] for f in facts.all(STAGE)) > 0.5 * whole
    called = [s for s in fact.value if ALL_OF * spot["line_share"] <= s["inclusive"] < spot["inclusive"]]
    if called:  # what that line calls takes as long, at several lines
        spot = min(called, key=lambda s: s["inclusive"])
        share, what = spot["inclusive"], f"your function `{spot['function']}`, most of it at "
    else:
        share, what = spot["line_share"], "one line of your code, "
    if spot.get("only_indexes") and not waits:
        return  # taking a sample out of what is held is what loading is
    where = f"{posixpath.basename(spot['file'])}:{spot['line']}"
    where += "" if called else f" in `{spot['function']}`"
    names = [] if called else spot.get("calls", [])
    if names:
        where += f", which calls {' and '.join(filter(None, (', '.join(names[:-1][:NAMED]), names[-1])))}"
    doing = "goes to" if not waits else "is spent waiting in" if called else "is spent waiting at"
    low, high = bounds(share, fact)
    severity: Severity = "info"
    cited, fix = [fact], FETCHES if waits else COMPUTES if names else OWN_CODE
    slept = facts.find(SLEEPING)
    if slept is not None and waits and slept.value["share"] >= MOST_OF * share:
        doing, cited = f"is spent in time.sleep(), {'reached through' if called else 'at'}", [fact, slept]
        severity, fix = "warning", PAUSES
    text = f"{share:.0%} of a sample's time{between(low, high)} {doing} {what}{where}"
    at = [{"file": spot["file"], "line": spot["line"]}]
    yield finding("costly-line", severity, text, cited, fix, at, cost=low)


def caused_lines(facts: Facts, fact: Fact) -> Iterator[Finding]:
    """The user's costly lines of which a run of a few samples shows the cause, the innermost first."""
    for spot in sorted(fact.value, key=lambda s: s["inclusive"]):
        share, known = spot["line_share"], cause_at(facts, spot)
        low, high = bounds(share, fact)
        if share >= CAUSED_LEAST and low >= LEAST_LOW and known is not None:
            why, fix, cause = known
            where = f"{posixpath.basename(spot['file'])}:{spot['line']} in `{spot['function']}`"
            text = f"{share:.0%} of a sample's time{between(low, high)} goes to one line of your code, {where}: {why}"
            at = [{"file": spot["file"], "line": spot["line"]}]
            yield finding("costly-line", "warning", text, [fact, cause], fix, at, cost=low)


def cause_at(facts: Facts, spot: dict[str, Any]) -> tuple[str, str, Fact] | None:
    """What a run of a few samples shows to be the cause of what a line costs, and what to do."""
    place = spot["file"], spot["line"]
    called, fact = facts.find(SAMPLE_CALLS), facts.find(CAUSES)
    for scan in [] if called is None else called.value["scans"]:
        if called is not None and scan["file"] == place[0] and place[1] in scan["lines"]:
            return f"its query {whole_table(scan)}", indexed(scan), called
    if fact is None:
        return None
    for early in fact.value["before"]:
        if (early["file"], early["line"]) == place and spot.get("stage", "transform") == "transform":
            return *before_keeping(early), fact
    return None


def whole_table(scan: dict[str, Any]) -> str:
    """What a query does that no index covers."""
    table = escaped(scan["table"])
    return (
        f"reads all {scan['rows']:,} rows of `{table}`, because no index covers it (EXPLAIN QUERY PLAN: SCAN {table})"
    )


def indexed(scan: dict[str, Any]) -> str:
    """The index that a query lacks."""
    table, columns = escaped(scan["table"]), [escaped(column) for column in scan["columns"]]
    of = f"{table}_{'_'.join(columns)} ON {table} ({', '.join(columns)})"
    return f"run CREATE INDEX {of} once; add the columns that the query sorts by"


def queries(facts: Facts) -> Iterator[Finding]:
    """Queries that read a whole table for each sample, where stacks do not show their lines to be costly."""
    fact, users = facts.find(SAMPLE_CALLS), facts.find(USER_FUNCTIONS)
    if fact is None:
        return
    told = [] if users is None else [place for found in caused_lines(facts, users) for place in found.where]
    for scan in fact.value["scans"]:
        if any(at["file"] == scan["file"] and at["line"] in scan["lines"] for at in told):
            continue
        text = f"the query at {posixpath.basename(scan['file'])}:{scan['line']}, which each sample runs, {whole_table(scan)}: this takes about "
        text += f"{scan['share']:.0%} of a sample's time"
        at = [{"file": scan["file"], "line": scan["line"]}]
        severity: Severity = "warning" if scan["share"] >= SURE else "info"
        yield finding("costly-line", severity, text, fact, indexed(scan), at, cost=scan["share"])


def before_keeping(early: dict[str, Any]) -> tuple[str, str]:
    """Why a line costs much that works on an image of which little is kept, and what to do."""
    of, used, by = early["of"], early["used"], early["by"]
    times = f"{math.prod(of) / max(1, math.prod(used)):.0f} times as many"
    at = ""
    if by is not None:
        file = "line " if by["file"] == early["file"] else f"{posixpath.basename(by['file'])}:"
        at = f" ({file}{by['line']})"
    slow = "of slow samples, " * early["slow"]
    if early["kind"] == "slice":
        why = f"{slow}it works on arrays of {of[0]:,} values, of which {used[0]:,} are kept afterwards{at}: {times}"
        return (
            why,
            "take the part first, with a margin for what filters or resamples it, and read no more than that if the format allows it",
        )
    whole, part = (" x ".join(map(str, size)) for size in (of, used))
    if early["kind"] == "crop":
        why = f"{slow}it works on images of {whole}, from which {part} are cropped afterwards{at}: {times} pixels"
        return (
            why,
            "crop first, with a margin for what rotates or scales, then do the work on the crop and cut it to size",
        )
    why = f"{slow}it works on images of {whole}, which are shrunk to {part} afterwards{at}: {times} pixels"
    return why, "resize first, if the result stays as good (scale radii and distances with it)"


RULES: tuple[Rule, ...] = (avoidable, costly_line, queries, long_samples)
