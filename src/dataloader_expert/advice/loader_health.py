"""What the measured facts of a loader say is wrong with it: one small rule a finding, facts in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dataloader_expert.advice.freeing import given_back
from dataloader_expert.advice.workers import batch_bytes, host_bytes
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.data.scan import FIRST
from dataloader_expert.probes.experiments.packing import PACKED
from dataloader_expert.probes.health.worker_resources import COUNTS
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.hotspots import HOTSPOTS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import PULSES, READING, RECEIVING
from dataloader_expert.probes.search.loading import CURRENT, ORDERING
from dataloader_expert.probes.search.trials import STARTUP, THROUGHPUT, TRIALS

FRESH_BYTES_S = 1.2e9
"""Bytes a second into shared memory that was not used before, measured on two cores."""
BATCH_CALLS = 12
"""Write calls with which a worker sends a batch."""
TRANSPORT = 3
"""CPU of bringing a batch from a worker, as a multiple of the main process's part."""
TENSOR_MS = 0.39
"""CPU of one more tensor in a batch that crosses a process boundary, measured on two cores."""
PACK = "pack fields of one dtype into one tensor"


def loader_findings(facts: Facts, memory_bytes: int, shm_bytes: int, cpus: float) -> list[Finding]:
    """Every rule's findings. ``memory_bytes``, ``shm_bytes``: what is left to this process."""
    found: list[Finding] = []
    for rule in RULES:
        found += rule(facts)
    found += memory(facts, memory_bytes, shm_bytes)
    found += cores(facts, cpus)
    found += bandwidth(facts, cpus)
    return found


def inflating(facts: Facts) -> Iterator[Finding]:
    """B10: stacks in an inflating library, over a quarter of a sample."""
    fact = facts.find(HOTSPOTS)
    share = sum(h["share"] for h in fact.value if _inflates(h)) if fact is not None else 0.0
    if fact is not None and share >= 0.25:
        text = f"inflating compressed data takes {share:.0%} of a sample's time"
        fix = (
            "store the arrays uncompressed (np.save, ZIP_STORED), or recompress with a faster codec such as zstd or lz4"
        )
        yield finding("inflate-per-sample", "warning", text, fact, fix, [_place(h) for h in fact.value if _inflates(h)])


def _inflates(spot: dict[str, Any]) -> bool:
    return bool(spot["inflates"])


def _place(spot: dict[str, Any]) -> dict[str, Any]:
    return {"file": spot["called_from"] or f"{spot['file']}:{spot['line']}"}


def listing(facts: Facts) -> Iterator[Finding]:
    """B39: looking files up takes a fifth of a sample."""
    fact = facts.find(HOTSPOTS)
    spots = [h for h in fact.value if h["looks_up"]] if fact is not None else []
    share = sum(h["share"] for h in spots)
    if fact is not None and share >= 0.2:
        text = f"looking up files (listing, stat, exists) takes {share:.0%} of a sample's time"
        fix = "list the files once, in __init__ or when the data set is written, and keep the list"
        yield finding("slow-metadata", "warning", text, fact, fix, [_place(h) for h in spots])


def amplification(facts: Facts) -> Iterator[Finding]:
    """B11: four times as many bytes are read as come out."""
    fact = facts.find(READING)
    if fact is None or not fact.value["amplification"] or fact.value["bytes_read_per_sample"] < 4096:
        return
    ratio = fact.value["amplification"]
    if ratio >= 4:
        text = f"{fact.value['bytes_read_per_sample']:,.0f} bytes are read for each sample of "
        text += f"{fact.value['bytes_delivered_per_sample']:,.0f}: {ratio:.0f} times what is delivered"
        fix = "read less at a time (smaller row groups or chunks, only the columns used), or use all that was read: "
        fix += "shuffle by groups"
        yield finding("read-amplification", "warning", text, fact, fix)


def head_of_line(facts: Facts) -> Iterator[Finding]:
    """B19: the consumer waits while later batches are ready, and giving up the order is surely faster."""
    fact = facts.find(ORDERING)
    if fact is None or fact.value["low"] <= 1 or fact.value["gain"] < 1.1:
        return
    text = (
        f"with {fact.at['workers']} workers, in {fact.value['overtaken']:.0%} of the waiting for a slow batch a worker is "
        f"idle, its own kept back for the order; without the order {fact.value['gain']:.2f} times as many samples came"
    )
    fix = "in_order=False where the order does not matter, or batches of like cost"
    yield finding("head-of-line-blocking", "warning", text, fact, fix)


def cheap(facts: Facts) -> Iterator[Finding]:
    """B16: every number of workers tried is slower than none, and transport costs more than the samples."""
    tried = facts.find(TRIALS)
    stages = {f.at["stage"]: f for f in facts.all(STAGE)}
    transfer = stages.pop("worker_transfer", None)
    if tried is None or transfer is None:
        return
    alone = [t["throughput"]["value"] for t in tried.value if not t["num_workers"]]
    others = [t["throughput"]["value"] for t in tried.value if t["num_workers"]]
    if alone and others and max(others) < 0.9 * max(alone):
        if transfer.value["ms"] > sum(f.value["ms"] for f in stages.values()):
            text = "a sample costs less than bringing it from a worker: workers slow this loader"
            fix = "num_workers=0, or fetch whole batches with __getitems__"
            yield finding("samples-cheaper-than-transport", "info", text, [transfer, tried], fix)


def transport(facts: Facts) -> Iterator[Finding]:
    """B17, B18: what bringing batches from the workers costs, by the number of tensors and by bytes."""
    fact = facts.find(RECEIVING)
    batch = facts.find(BATCH)
    costs = {f.at["stage"]: f.value for f in facts.all(STAGE)}
    if fact is None or batch is None or not fact.value["samples"]:
        return
    own = sum(
        v["cpu_ms"] + v["wait_ms"] for name, v in costs.items() if name not in ("worker_transfer", "pin", "to_device")
    )
    batch_ms = own * fact.value["samples"]
    tensors, bytes_ = fact.value["tensors"], fact.value["bytes"]
    if facts.find(PACKED) is None and tensors >= 8 and TENSOR_MS * tensors >= 0.2 * (batch_ms + TENSOR_MS * tensors):
        text = f"a batch has {tensors} tensors, each of which costs some {TENSOR_MS} ms to bring from a worker, "
        text += f"beside {batch_ms:.1f} ms for its samples (estimated: packed batches were not run)"
        yield finding("many-small-tensors", "warning", text, [fact, batch], PACK)
    copied = 1e3 * bytes_ / FRESH_BYTES_S
    if fact.value["workers"] and bytes_ >= 4 << 20 and tensors < 8 and copied >= 0.2 * max(batch_ms, copied):
        text = f"a batch of {bytes_ / 1e6:.0f} MB is written to fresh shared memory, some {copied:.0f} ms, by a worker that "
        text += f"takes {batch_ms:.0f} ms for the whole batch"
        fix = "send uint8 and convert on the device, crop or resize earlier, or load in the main process"
        yield finding("large-batches-copied", "warning", text, [fact, batch], fix)


def main_busy(facts: Facts) -> Iterator[Finding]:
    """B30: the main process computes a quarter of the time although workers load."""
    fact = facts.find(TRIALS)
    if fact is None:
        return
    for trial in fact.value:
        period = 1e3 * trial["batch_size"] / trial["throughput"]["value"] if trial["throughput"]["value"] else 0.0
        if trial["num_workers"] >= 2 and period > 1.0 and trial["main_ms"] >= 0.25 * period and trial["main_ms"] > 2.0:
            text = f"with {trial['num_workers']} workers the main process computes {trial['main_ms']:.1f} of the "
            text += f"{period:.1f} ms between two batches, to receive them"
            fix = "return few large tensors instead of nested Python objects"
            yield finding("main-process-busy", "warning", text, fact, fix)
            return


def startup(facts: Facts) -> Iterator[Finding]:
    """B21, B22: workers made anew each epoch, and slow to make."""
    current = facts.find(CURRENT)
    fact = None if current is None else facts.find(STARTUP, workers=current.value["num_workers"])
    if current is None or fact is None or not current.value["num_workers"]:
        return
    through = facts.find(THROUGHPUT, workers=current.value["num_workers"])
    epoch = facts.value(SAMPLES)
    if through is not None and epoch and not current.value.get("persistent_workers"):
        seconds = epoch / through.value
        steady = current.value["batch_size"] / through.value
        pause = max(0.0, fact.value - steady * current.value["num_workers"])
        if pause >= 0.05 * (seconds + pause):
            text = f"each epoch of {seconds:.2g} s begins with {pause:.2f} s of making workers"
            fix = "persistent_workers=True keeps them from epoch to epoch"
            yield finding("workers-recreated", "warning", text, [fact, through], fix)
    if fact.value > 2.0 and current.value["num_workers"]:
        text = f"making {current.value['num_workers']} workers took {fact.value:.1f} s"
        fix = "start by fork where the platform allows it, or keep the dataset object small: it is pickled for each worker"
        yield finding("slow-worker-start", "warning", text, fact, fix)


def first_batch(facts: Facts) -> Iterator[Finding]:
    """B47: the first batch takes twenty times a steady one, and long."""
    through = facts.find(THROUGHPUT, workers=0)
    fact = facts.find(STARTUP, workers=0)
    if through is None or fact is None:
        return
    steady = through.at["batch_size"] / through.value
    cold = facts.find(FIRST)
    first = max(fact.value, cold.value if cold is not None else 0.0)
    if first > 20 * steady and first > 0.5:
        text = f"the first sample takes {first:.1f} s, a batch later on {1e3 * steady:.1f} ms"
        fix = "scan the index once, keep it in a file, and load that"
        yield finding("slow-first-batch", "warning", text, [fact if cold is None else cold, through], fix)


def pauses(facts: Facts) -> Iterator[Finding]:
    """B48: the garbage collector takes three per cent of the time."""
    for fact in (facts.find(COUNTS), facts.find(PULSES)):
        if fact is not None and fact.value["seconds"] > 0.2:
            share = fact.value["pauses_s"] / fact.value["seconds"]
            if share >= 0.03:
                text = f"the garbage collector takes {share:.0%} of the loading processes' time"
                fix = "gc.freeze() after set-up, in the main process before workers are made; fewer Python objects"
                yield finding("garbage-collector-pauses", "info", text, fact, fix)
                return


def chatty(facts: Facts) -> Iterator[Finding]:
    """B49: every other sample writes something."""
    fact = facts.find(COUNTS)
    if fact is None:
        return
    calls = fact.value["write_calls_per_sample"] - BATCH_CALLS * fact.value["batches_per_sample"]
    if calls >= 0.5:
        text = f"the workers make {calls:.1f} write calls a sample: printing, logging or a progress bar"
        yield finding("chatty-workers", "info", text, fact, "print and log from the main process")


def decoding(facts: Facts) -> Iterator[Finding]:
    """B55: pictures are decoded with four times the pixels that are used."""
    fact = facts.find(COUNTS)
    if fact is None or fact.value["used_pixels"] <= 0:
        return
    ratio = fact.value["decoded_pixels"] / fact.value["used_pixels"]
    if ratio >= 4:
        text = (
            f"{fact.value['decoded_pixels']:,.0f} pixels are decoded for {fact.value['used_pixels']:,.0f} that are used"
        )
        fix = "for JPEG call image.draft('RGB', size) before load, or store the pictures smaller"
        yield finding("decodes-too-large", "warning", text, fact, fix)


def threads(facts: Facts) -> Iterator[Finding]:
    """B12: thread pools in each worker that wait for each other's cores."""
    fact = facts.find(COUNTS)
    if fact is None or fact.value["cpu_s"] < 0.05:
        return
    waits = fact.value["queue_s"] / fact.value["cpu_s"]
    if fact.value["threads"] > 4 + fact.value["cpus"] and waits >= 3:
        text = f"each worker runs {fact.value['threads']} threads, which wait {waits:.1f} times as long for a core as they run"
        fix = "cv2.setNumThreads(0), OMP_NUM_THREADS=1 or torch.set_num_threads(1) in worker_init_fn"
        yield finding("too-many-threads", "warning", text, fact, fix)


def warm(facts: Facts) -> Iterator[Finding]:
    """B37: everything came from the page cache, and the disk is known to be much slower."""
    from dataloader_expert.probes.system.storage import COLD, WARM

    reading, cold, hot = facts.find(READING), facts.find(COLD), facts.find(WARM)
    if reading is None or cold is None or hot is None or reading.value["bytes_read_per_sample"] < 4096:
        return
    read = [f for f in facts.all(STAGE) if f.at["stage"] == "read"]
    if reading.value["from_disk_per_sample"] == 0 and cold.value < 0.5 * hot.value and read:
        text = (
            f"all that was read came from the page cache ({hot.value:,.0f} MB/s); cold files come at {cold.value:,.0f}"
        )
        yield finding(
            "cache-warm", "info", text, [reading, cold, hot], "expect less of a first epoch over more data than memory"
        )


def memory(facts: Facts, memory_bytes: int, shm_bytes: int) -> Iterator[Finding]:
    """B14, B34: what the batches in flight take of shared memory and of memory."""
    current, batch = facts.find(CURRENT), facts.find(BATCH)
    if current is None or batch is None or not current.value["num_workers"]:
        return
    held = host_bytes(
        facts, current.value["batch_size"], current.value["num_workers"], current.value.get("prefetch_factor")
    )
    if held is None or batch_bytes(facts, 1) is None:
        return
    if held > 0.8 * shm_bytes:
        text = f"batches in flight take {held / 1e9:.2f} GB of the {shm_bytes / 1e9:.2f} GB left in /dev/shm"
        fix = "a larger /dev/shm (docker run --shm-size), fewer workers, a smaller prefetch_factor or batch"
        yield finding("shared-memory-too-small", "error", text, [current, batch], fix)
    elif held > 0.1 * memory_bytes:
        text = f"batches in flight take {held / 1e9:.2f} GB, {held / memory_bytes:.0%} of the memory left"
        yield finding(
            "prefetch-memory", "warning", text, [current, batch], "a smaller prefetch_factor, or fewer workers"
        )


def cores(facts: Facts, cpus: float) -> Iterator[Finding]:
    """B33: more workers than cores, no gain, and samples that compute."""
    tried = facts.find(TRIALS)
    cpu, waits = _cpu_and_waits(facts)
    if tried is None or cpu < 0.2 or cpu < 4 * waits:
        return
    rates = {t["num_workers"]: t["throughput"]["value"] for t in tried.value if t["num_workers"] and t["in_order"]}
    many, few = [n for n in rates if n > cpus], [n for n in rates if 0 < n <= cpus]
    if many and few and rates[max(many)] < 1.03 * rates[max(few)]:
        text = f"{max(many)} workers give no more than {max(few)}: the {cpus:g} cores are used up"
        fix = "make a sample cheaper, or add cores; more workers only take memory"
        yield finding("cores-used-up", "info", text, tried, fix)


def _cpu_and_waits(facts: Facts) -> tuple[float, float]:
    """CPU and blocked milliseconds of a sample before its transport."""
    stages = [f.value for f in facts.all(STAGE) if f.at["stage"] != "worker_transfer"]
    return sum(v["cpu_ms"] for v in stages), sum(v["wait_ms"] for v in stages)


def bandwidth(facts: Facts, cpus: float) -> Iterator[Finding]:
    """B36: samples wait, and several workers get far less than that many samples waiting side by side."""
    tried = facts.find(TRIALS)
    cpu, waits = _cpu_and_waits(facts)
    if tried is None or waits < 0.5 * (cpu + waits) or waits < 0.2:
        return
    rows = {t["num_workers"]: t for t in tried.value if t["in_order"]}
    many = max((n for n in rows if n >= 2), default=0)
    if not many:
        return
    little = 0.4 if many >= 4 else 1.3 / many  # two that gain no more: all wait in turn
    alone = rows[0]["throughput"]["value"] if 0 in rows else 1e3 / (cpu + waits)
    got = rows[many]["throughput"]["value"]
    moved = TRANSPORT * rows[many]["main_ms"] / rows[many]["batch_size"]  # sending costs about what receiving does
    if got < little * min(many * alone, 1e3 * cpus / (cpu + moved)):
        text = f"samples wait, and {many} workers get {got:,.0f} samples/s where none gets {alone:,.0f}: "
        text += "what they wait for gives little more at once"
        fix = "read fewer bytes a sample, or use faster storage; more workers do not help"
        yield finding("bandwidth-bound", "info", text, tried, fix)


RULES: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    inflating, listing, amplification, head_of_line, cheap, transport, main_busy, startup, first_batch, pauses, chatty, decoding, threads,
    warm, given_back,
)  # fmt: skip
