"""Failures: of the loader, of samples that raise or crash, and of the measurement itself."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.descriptors import connected, named, queried, shared
from dataloader_expert.advice.worker_counts import ONE_THREAD, POOLS_WAIT, many_threads
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import LOADER_FAILED, OVERFULL, PICKLING
from dataloader_expert.probes.data.own_samples import NOTHING, RAISES
from dataloader_expert.probes.data.scan import CRASHES
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.health.shared_handles import POOL
from dataloader_expert.probes.health.started_first import STARTED_FIRST
from dataloader_expert.probes.health.worker_resources import GROWTH
from dataloader_expert.probes.hung import HANGS, LONG_SAMPLES
from dataloader_expert.probes.model.batch import SPREAD
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.stuck import LOOK_S, STUCK, WORKS, hang
from dataloader_expert.probes.search.trials import THROUGHPUT
from dataloader_expert.probes.sharding import SHARDING
from dataloader_expert.probes.system.outside import FAILED

SURE_S = 5.0
"""Seconds from which on a sample that does not come, while others do, is an error: storage may pause for less."""
NAMED = 3
"""Files named of samples that raise."""
FORKED = (
    "start workers with fork, or once for all epochs (persistent_workers=True), and keep large data in files or memory maps; raise budget_s "
    "to time them"
)
OTHERS = 2.0
"""How many times as long as the loader's own processes explain workers wait for a core if other processes are told to be the reason."""
MANY = 0.1
"""The share of samples that are None from which their loss is a warning, although the collate function drops them."""
NO_THREADS = ", whose threads or processes a fork does not copy"
OWN_POOL = "make the pool on first use in each worker, not in __init__"
FINDING_OF = {
    "timed-out": "sample-hangs",
    "worker-crashed": "sample-crashes",
    "out-of-memory": "memory-limit-reached",
    "dataset-raised": "sample-raises",
}
UNLIKE = {
    "stack expects each tensor to be equal size": "pad them in a collate function (torch.nn.utils.rnn.pad_sequence), or crop or resize "
    "them in the dataset",
    "each element in list of batch should be of equal size": "return tensors, and pad them in a collate function",
    "batch must contain tensors, numpy arrays, numbers": "return tensors or numbers, or name a collate_fn that takes these objects",
    "but got NoneType": "leave out samples that are None in the collate function, or in the dataset",
}
"""What torch says of samples that do not make a batch, and what to do."""


def loader(facts: Facts) -> Iterator[Finding]:
    """B13, B27, B40: a worker that died, raised or hangs, or workers that wait for a lock."""
    fact = facts.find(LOADER_FAILED)
    if fact is None:
        return
    v = fact.value
    if v["died"] and facts.find(OVERFULL) is not None:
        return  # it was stopped for its memory, which is told
    pickling = facts.value(PICKLING) or {}
    if pickling.get("why") and pickling.get("start_method") != "fork" and "pickle" in v["error"]:
        return  # no sample raises: its workers cannot be started, which is told
    if facts.value(SHARDING, {}).get("once"):
        return  # a stream that was read to its end before, which is told
    code = "worker-died" if v["died"] else "sample-hangs" if fact.at["hung"] else "sample-raises"
    alone = not fact.at.get("workers")
    places: list[dict[str, Any]] = []
    text, fix = (
        v["error"],
        f"{'iterate over' if alone else 'run'} the loader{'' if alone else ' with num_workers=0'} to see where it fails",
    )
    if not alone and not fact.at["hung"] and any(True for rule in (connected, queried, shared) for _ in rule(facts)):
        fix = (
            "first stop workers from sharing what they read through: bytes read for another worker can cause this error"
        )
    if "it drops incomplete batches" in text:
        fix = "drop_last=False, or a smaller batch_size"
    if "timed out after" in text:
        fix = "raise timeout above the longest time that a batch takes, the first one included, or make that shorter"
    for words, cure in UNLIKE.items():
        if words in text and not fact.at["hung"]:
            code, fix = "not-collatable", cure
            failed = facts.value(SPREAD, {}).get("failed")
            if failed and failed["error"].partition("(")[0].strip() in text:
                return  # which samples do not collate is told
    cited = [fact]
    first = facts.find(STARTED_FIRST)
    if v["locked"] and first is not None:
        text = f"{fact.at['workers']} workers hang if the process that starts them has computed or read samples before: they"
        text += (
            f" wait for its threads or locks{', in ' + v['where'] if v['where'] else ''}. Started first, they deliver"
        )
        fix = "start the workers before anything else, or set num_threads to 1 in them (torch's default)"
        yield finding("deadlock", "warning", text, [fact, first], fix)
        return
    if v["locked"]:
        code = "client-used-across-fork" if v["client"] else "deadlock"
        text = f"{fact.at['workers']} workers are deadlocked: they wait for a lock that was held at the fork, or the fork did"
        text += " not copy the threads that would release it (this process had read samples itself before)"
        fix = "create locks, threads and clients in each worker on first use; start workers before threads"
        held = facts.find(POOL)
        if held is not None and v.get("pool"):
            at, places = named(held.value)
            text, fix = f"{fact.at['workers']} workers are deadlocked", OWN_POOL
            text, code = f"{text}: they wait for a pool{at}{NO_THREADS}", "deadlock"
            cited = [fact, held]
    if v["died"]:
        text, fix, cited = _died(facts, fact)
    text += f", in {v['where']}" if v["where"] else ""
    workers, current = int(fact.at.get("workers") or 0), facts.value(CURRENT)
    if workers and current is not None and not current["num_workers"]:
        fix = "fix this before you use workers"
        text = f"with {workers} workers, where there are none at present: {text}"
        yield finding(code, "warning", text, cited, fix, places)
        return
    yield finding(code, "error", text, cited, fix, places)


def _died(facts: Facts, fact: Fact) -> tuple[str, str, list[Fact]]:
    """How a worker ended, with what is known of its memory, and what to do."""
    signal, kept, grown = fact.value.get("signal", ""), facts.find(KEPT), facts.find(GROWTH)
    text = f"a worker was killed by {signal}" if signal else f"a worker ended without an error: {fact.value['error']}"
    if signal in FAULTS:
        fix = "read the samples in one process (num_workers=0) under python -X faulthandler: it names the line that crashes"
        return f"{text}: code that is not Python crashed", fix, [fact]
    if signal == "SIGKILL":
        text += ", as the system does when memory runs out"
    if kept is not None:
        name = escaped(kept.value["attribute"])
        text += f": the dataset keeps the samples that it reads in `{name}`, in each worker anew"
        fix = f"bound `{name}`, or leave it out; or fill it once in the main process before the workers start, which then share it"
        return text, fix, [fact, kept]
    if grown is not None and min(grown.value["private_per_sample"]) > 0 and grown.value["steady"]:
        mean = grown.value["private_bytes"] / max(1, grown.value["samples_later"])
        text += f": the memory of each worker grows by {mean:,.0f} bytes per sample"
        return text, "find what __getitem__ keeps (lists on self, caches), and bound it", [fact, grown]
    fix = "compare the memory of the workers with what the machine or the job allows, and use fewer workers if it is too much"
    if not signal:
        fix = "look for os._exit() or sys.exit() in the dataset and the libraries that it calls; run it with num_workers=0"
    return text, fix, [fact]


FAULTS = {"SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"}


def nothing(facts: Facts) -> Iterator[Finding]:
    """Samples that are None; a collate function of the user's may drop them."""
    for fact in facts.all(NOTHING):
        n, dropped = fact.value["count"], fact.value["dropped"]
        text = f"{n} of {fact.value['tried']} samples {verb(n, 'are')} None: __getitem__ returns nothing for {'it' if n == 1 else 'them'}"
        fix = "return a sample for each index, or leave these out of the dataset: default_collate raises on None"
        many = n >= MANY * fact.value["tried"]
        if dropped and many:
            fix = "check whether that many should be left out; if so, leave them out of the dataset, so that batches are full"
        elif dropped:
            fix = "make sure that your collate function drops them, and expect smaller batches"
        places = [{"sample": i} for i in fact.value["samples"]]
        severity: Severity = "error" if not dropped else "warning" if many else "info"
        yield finding("sample-raises", severity, text, fact, fix, places, n)


def raising(facts: Facts) -> Iterator[Finding]:
    """Samples that raise in the user's code; B25: an exception that a worker cannot send to the main process."""
    fact = facts.find(RAISES)
    if fact is None:
        return
    v = fact.value
    text = f"{v['count']} of {v['tried']} samples {verb(v['count'], 'raise')}: {v['error']}"
    fix = "repair or skip these samples: a DataLoader stops at the first one"
    if v["length"] is not None:
        fix = f"have __len__ return {v['length']:,}: only the last samples are missing"
    elif v.get("beyond") is not None:
        last, first = v["beyond"]
        text = f"__len__ is too large: all {v['count']:,} indices tried from {first:,} on raise, and none up to {last:,}: {v['error']}"
        between = f"{last + 1:,}" if first == last + 1 else f"the number of samples, between {last + 1:,} and {first:,}"
        fix = f"have __len__ return {between}"
    files = v.get("files", {})
    if files:
        named = ", ".join(escaped(posixpath.basename(path)) for path in [*dict.fromkeys(files.values())][:NAMED])
        text += (
            f"; {'the files that they read last are' if v['count'] > 1 else 'the file that it read last is'} {named}"
        )
    places = [{"sample": i, "file": files.get(str(i))} for i in v["samples"]]
    yield finding("sample-raises", "error", text, fact, fix, places, v["count"])
    if v["garbled"]:
        text = f"{v['garbled']} cannot be rebuilt from its message: from a worker it arrives as another error"
        fix = "give its __init__ defaults or define __reduce__; use num_workers=0 to see the original"
        yield finding("exception-garbled", "info", text, fact, fix)


def hanging(facts: Facts) -> Iterator[Finding]:
    """Samples that did not come, while others did."""
    for fact in facts.all(HANGS):
        v, sample = fact.value, fact.at["sample"]
        where = f" in {escaped(v['where'])}" if v["where"] else ""
        doing = f"it is waiting{where}, not computing" if v["waits"] else f"it is computing{where}"
        text = f"sample {sample} did not arrive within {v['seconds']:.0f} s: {doing}"
        text += "; the other samples arrived" if v["others_come"] else ""
        fix = "limit the wait and then raise an error that names the file: as it is, training stops at this sample forever"
        if not v["waits"]:
            fix = "find out which loop does not end there, or leave this sample out: training stops at it forever"
        severity: Severity = "error" if v["others_come"] and v["seconds"] >= SURE_S else "warning"
        yield finding("sample-hangs", severity, text, fact, fix, [{"sample": sample}])


def crashing(facts: Facts) -> Iterator[Finding]:
    """Files that killed the process reading them."""
    for fact in facts.all(CRASHES):
        v = fact.value
        text = f"decoding {v['file']} killed the process (exit code {v['exit_code']})"
        where = [{"file": v["file"], "sample": v["sample"]}]
        yield finding("sample-crashes", "error", text, fact, "remove the file: it crashes the decoder", where)


def stuck(facts: Facts) -> Iterator[Finding]:
    """The present workers delivered nothing for far longer than a batch takes in the main process."""
    fact = facts.find(STUCK)
    if fact is None or facts.find(LOADER_FAILED) is not None or _delivered(facts, fact.at["workers"]):
        return
    v = fact.value
    many = many_threads(v) and v["queue_s"] >= POOLS_WAIT * v["cpu_s"]
    if not (many or v["late"]):
        return  # a first batch may take as long
    does = f"runs {v['threads']} threads on {v['cpus']:g} cores and " if many else ""
    idle, queues = hang(v), v["queue_s"] >= max(v["cpu_s"], WORKS * LOOK_S)
    does += "waits" if idle else "waits for a core" if queues else "computes"
    method = (facts.value(PICKLING) or {"start_method": "fork"})["start_method"]
    crowd = (int(fact.at["workers"]) + 1) / v["cpus"]
    others = queues and not many and method == "fork" and v["queue_s"] >= OTHERS * crowd * v["cpu_s"]
    text = f"{number(int(fact.at['workers']), 'worker')} delivered nothing in {v['seconds']:.0f} s, although a batch takes {v['alone_s']:.2g} s "
    text += f"in the main process: each {does}{' at ' + escaped(v['where']) if v['where'] else ''}"
    init = f"; `{escaped(v['init'])}`, the worker_init_fn, " if v["init"] else ""
    if many:
        yield finding(
            "too-many-threads", "error", text, fact, ONE_THREAD + (init and f"{init}may be what sets their number")
        )
        return
    if others:
        text += ", as other processes keep the cores busy"
        yield finding("machine-busy", "info", text, fact, "stop the other processes and repeat")
        return
    fix = f"find out what {'that line does' if v['where'] else 'the dataset does'} differently in a worker; raise budget_s if a first batch may take that long"
    severity: Severity = "error" if idle else "warning"  # what computes, or waits for a core, may yet deliver
    held = facts.find(POOL)
    if idle and method == "fork" and held is not None and v.get("pool"):
        at, places = named(held.value)
        yield finding("deadlock", severity, f"{text}, for a pool{at}{NO_THREADS}", [fact, held], OWN_POOL, places)
        return
    if method != "fork" and not idle and not v["where"]:
        text += f": workers started with {method} first import torch and unpickle the dataset"
        yield finding("slow-worker-start", "warning", text, fact, FORKED)
        return
    yield finding("sample-hangs", severity, text, fact, fix + (init and f"{init}runs only in workers"))


def _delivered(facts: Facts, workers: int) -> bool:
    """Whether so many workers were timed later, and so did deliver."""
    return any(f.evidence.how == "timed" for f in facts.all(THROUGHPUT) if f.at["workers"] == workers)


def overfull(facts: Facts) -> Iterator[Finding]:
    """Workers that alone used up the allowed memory."""
    fact = facts.find(OVERFULL)
    if fact is not None:
        text = f"{fact.value}: they were stopped before anything else was killed"
        fix = "use fewer workers, or share one copy: a memory map, or arrays created before the fork"
        yield finding("memory-limit-reached", "error", text, fact, fix)


def seen_hanging(failed: Fact) -> bool:
    """Whether a process that was stopped for the time was in the user's code, or at a sample."""
    message = failed.value["message"].partition("; ")[0]
    return failed.value["code"] == "timed-out" and (" at sample " in message or "stopped in " in message)


def measuring(facts: Facts) -> Iterator[Finding]:
    """The measurement itself was stopped: by the user's code, or by a limit."""
    fact = facts.find(FAILED)
    code = None if fact is None else FINDING_OF.get(fact.value["code"])
    told = code == "memory-limit-reached" and facts.find(OVERFULL) is not None  # the search has said so
    # a sample that calls sys.exit is told as that, and not as an end of the process
    left = facts.value(RAISES, {"error": ""})["error"].startswith("SystemExit")
    told = told or (left and fact is not None and "exited with status" in fact.value["message"])
    told = told or (code == "sample-hangs" and facts.find(LONG_SAMPLES) is not None)  # samples take so long
    # a loader that fails is run again with other samples, until there is no time left
    raised = facts.find(LOADER_FAILED, hung=False) is not None
    told = told or (code == "sample-hangs" and raised and fact is not None and not seen_hanging(fact))
    at = {hang.value["where"] for hang in facts.all(HANGS)} - {"", None}
    told = told or (code == "sample-hangs" and fact is not None and any(line in fact.value["message"] for line in at))
    if fact is not None and code is not None and not told:
        # a loader that delivers batches does not hang: some of its samples may take long
        severity: Severity = "warning" if code == "sample-hangs" and facts.find(CURRENT) is not None else "error"
        message, _, fix = fact.value["message"].partition("; ")
        starts = facts.value(PICKLING) or {"start_method": "fork"}
        if code == "sample-hangs" and not seen_hanging(fact) and starts["start_method"] != "fork":
            code, severity = "slow-worker-start", "warning"
            message += f"; no sample was being read: workers started with {starts['start_method']} first import torch and unpickle the dataset"
            fix = FORKED
        yield finding(code, severity, message, fact, fix or "fix what is named here")


RULES: tuple[Rule, ...] = (loader, nothing, raising, hanging, crashing, stuck, overfull, measuring)
