"""Files and descriptors: exhausted, left open, shared across a fork, reopened for every sample."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts
from dataloader_expert.probes.descriptors import OPEN_FILES, USED_UP
from dataloader_expert.probes.health.own_cache import GROWS
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.health.shared_handles import CONNECTIONS, DATABASES, POSITIONS
from dataloader_expert.probes.health.worker_resources import HELD, OPENS

CLOSE = "close every file that __getitem__ opens; use a with statement"


def used_up(facts: Facts) -> Iterator[Finding]:
    """B15: the process ran out of descriptors, most of them held by files left open."""
    fact = facts.find(USED_UP)
    if fact is None:
        return
    v = fact.value
    text = (
        f"the process is out of file descriptors: of the {fact.at['limit']} allowed (ulimit -n), {v['files']} are files"
    )
    text += f" left open, most often {escaped(v['path'], 120)} ({v['times']} times)"
    yield finding("file-descriptors-grow", "error", text, fact, CLOSE)


def growing(facts: Facts) -> Iterator[Finding]:
    """B15: open files of the loading processes grow with the samples read, also after the first batches."""
    fact, held = facts.find(OPEN_FILES), facts.find(GROWS)
    if facts.find(USED_UP) is not None:
        return
    keeps = held is not None and held.value["files"]
    name, places = named(held.value) if held is not None and keeps else ("", [])
    if fact is not None:
        settled, gained = (fact.evidence.conditions[name] for name in ("samples_settled", "files_gained"))
        if fact.value >= 20 and settled >= 8 and gained >= 4:
            text = f"the number of open files grows by {fact.value:.0f} per 1000 samples"
            text += f": the dataset keeps them{name}" if keeps else ""
            cited = [fact, held] if held is not None and keeps else [fact]
            yield finding("file-descriptors-grow", "error", text, cited, CLOSE, places)
            return
    if held is not None and keeps:
        text = f"the dataset keeps another open file with each sample that is read{name}, until no file descriptors are left"
        yield finding("file-descriptors-grow", "error", text, held, CLOSE, places)


def kept(facts: Facts) -> Iterator[Finding]:
    """B15: the main process keeps the descriptors of batches that it received."""
    fact = facts.find(HELD)
    if fact is not None and fact.value["per_batch"] > 0.5 and fact.value["batches"] >= 20:
        text = f"the main process holds {fact.value['per_batch']:.1f} more open descriptors after every batch"
        fix = "do not keep batches, or keep copies: each tensor received from a worker holds a descriptor"
        yield finding("file-descriptors-grow", "error", text, fact, fix)


def shared(facts: Facts) -> Iterator[Finding]:
    """B8: workers move the file position of a file opened before the fork."""
    fact = next((f for f in facts.all(POSITIONS) if f.value["count"]), None)
    if fact is None:
        return
    paths, count = fact.value["paths"], fact.value["count"]
    held = fact.value.get("held")
    at, places = named(held)
    text = f"workers read {posixpath.basename(paths[0])} through a handle opened before the fork{at}: they share one"
    text += " file position, so sooner or later a worker reads the wrong bytes"
    fix = "open the file on first use in each worker, not in __init__"
    yield finding(
        "handle-shared-across-fork", "error", text, fact, fix, [*places, *({"file": p} for p in paths)], count
    )


def named(held: dict[str, Any] | None) -> tuple[str, list[dict[str, Any]]]:
    """An attribute in brackets with the line that makes it, and that place; nothing where it is not known."""
    if held is None:
        return "", []
    place = held["place"]
    if place is None:
        return f" (`self.{escaped(held['attribute'])}`)", []
    return f" (`self.{escaped(held['attribute'])}`, {posixpath.basename(place['file'])}:{place['line']})", [place]


def connected(facts: Facts) -> Iterator[Finding]:
    """B40: workers talk over a connection that was opened before the fork."""
    fact = next((f for f in facts.all(CONNECTIONS) if f.value["count"]), None)
    if fact is None:
        return
    peer = fact.value["paths"][0].removeprefix("tcp://")
    text = f"workers use a connection to {peer} that was opened before the fork: they share it, so a worker may receive the"
    text += " answer to another's request"
    fix = "connect on first use in each worker, not in __init__"
    yield finding("client-used-across-fork", "error", text, fact, fix, count=fact.value["count"])


def queried(facts: Facts) -> Iterator[Finding]:
    """B8: SQLite's manual forbids to use a connection in a process that inherited it (howtocorrupt.html, 2.6)."""
    fact = facts.find(DATABASES)
    if fact is None or not fact.value:
        return
    places = [place] if isinstance(place := fact.at.get("place"), dict) else []
    at = "".join(f" ({posixpath.basename(one['file'])}:{one['line']})" for one in places)
    text = f"workers query the SQLite connection in `{escaped(fact.value[0])}`{at}, which was opened before the fork: SQLite does"
    text += " not allow this, as its locks do not protect the workers from each other"
    fix = "connect on first use in each worker, not in __init__"
    yield finding("handle-shared-across-fork", "error", text, fact, fix, places, len(fact.value))


READ_WHOLE = (".json", ".yaml", ".yml", ".toml", ".xml", ".pkl", ".pickle", ".csv", ".tsv", ".txt")
"""Files that are parsed as a whole: a handle that is kept would not spare it."""
COMPRESSED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
UNPACK = "unpack the archive once: to reach a member, all that is before it must be decompressed; or store its samples in an uncompressed .tar"


def reopened(facts: Facts) -> Iterator[Finding]:
    """B9: files reopened for nearly every sample."""
    fact = facts.find(OPENS)
    if fact is None or fact.value["samples"] < 20:
        return
    samples = fact.value["samples"]
    told = {work["file"] for work in facts.value(SAMPLE_CALLS, {"work": []})["work"]}
    again = [(path, times) for path, times in fact.value["most"] if times >= 0.9 * samples and path not in told]
    if again:
        path, times = again[0]
        text = f"{posixpath.basename(path)} was opened {times} times for {samples} samples"
        fix = "open the file once in each worker, on first use, and keep the handle"
        if path.lower().endswith(READ_WHOLE):
            fix = "read the file once, in __init__, and keep what it holds, such as in a dictionary"
        if path.lower().endswith(COMPRESSED):
            fix = UNPACK
        places = [{"file": p} for p, _ in again]
        yield finding("opened-per-sample", "warning", text, fact, fix, places, len(again))


RULES: tuple[Rule, ...] = (used_up, growing, kept, shared, connected, queried, reopened)
