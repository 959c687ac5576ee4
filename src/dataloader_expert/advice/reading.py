"""Waste in reading samples: decompression, file look-ups, reading too much, reading one by one, slow samples."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.avoidable import LEAST_LOW, before_keeping, bounds
from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.descriptors import COMPRESSED, UNPACK
from dataloader_expert.advice.stages import child_processes
from dataloader_expert.advice.worker_counts import pixels_of
from dataloader_expert.advice.workers import settings
from dataloader_expert.conclusions import Finding, Severity, finding, saved
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.probes.base import FIRST
from dataloader_expert.probes.experiments.batched_indexing import WHOLE, WORTH
from dataloader_expert.probes.experiments.projection import PROJECTION
from dataloader_expert.probes.health.cache_thrash import THRASH
from dataloader_expert.probes.health.line_causes import CAUSES
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.health.slow_causes import SLOW_CAUSES
from dataloader_expert.probes.health.static_checks import ORDER_DRAWN
from dataloader_expert.probes.health.worker_resources import OPENS
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.hotspots import HOTSPOTS
from dataloader_expert.probes.profile.readers import READERS
from dataloader_expert.probes.profile.rereads import SLOW, SLOW_SHARE
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import READING
from dataloader_expert.probes.search.ordering import ORDERING
from dataloader_expert.probes.search.trials import STARTUP, THROUGHPUT
from dataloader_expert.probes.system.storage import COLD, WARM

LEAST_TOLD = 5e-5
"""The least share that two decimals of a percent show."""


def inflating(facts: Facts) -> Iterator[Finding]:
    """B10: stacks in a decompression library take over a quarter of a sample's time."""
    fact = facts.find(HOTSPOTS)
    share = sum(h["share"] for h in fact.value if _inflates(h)) if fact is not None else 0.0
    if fact is not None and share >= 0.25 and not rewinds(facts):
        text = f"decompression takes {share:.0%} of a sample's time"
        fix = (
            "store the arrays uncompressed (np.save, ZIP_STORED), or recompress with a faster codec such as zstd or lz4"
        )
        opened = facts.value(OPENS, {"most": []})["most"]
        if opened and str(opened[0][0]).lower().endswith(COMPRESSED):
            fix = UNPACK
        places = [_place(h) for h in fact.value if _inflates(h)]
        yield finding("inflate-per-sample", "warning", text, fact, fix, places, cost=share)


def rewinds(facts: Facts) -> bool:
    """Whether it is told that a compressed file is read again from its beginning: all that is read and decompressed follows from that."""
    fact = facts.find(AVOIDABLE)
    return fact is not None and any(
        work["kind"] == "rewinds" and bounds(work["share"], fact)[0] >= LEAST_LOW for work in fact.value
    )


def _inflates(spot: dict[str, Any]) -> bool:
    return bool(spot["inflates"])


def _place(spot: dict[str, Any]) -> dict[str, Any]:
    file, _, line = (spot["called_from"] or f"{spot['file']}:{spot['line']}").rpartition(":")
    return {"file": file, "line": int(line)}


def listing(facts: Facts) -> Iterator[Finding]:
    """B39: looking up files takes a fifth of a sample's time."""
    fact = facts.find(HOTSPOTS)
    spots = [h for h in fact.value if h["looks_up"]] if fact is not None else []
    share = sum(h["share"] for h in spots)
    if fact is not None and share >= 0.2:
        text = f"looking up files (listing, stat, exists) takes {share:.0%} of a sample's time"
        fix = "list the files once, in __init__ or when the dataset is written, and reuse the list"
        yield finding("slow-metadata", "warning", text, fact, fix, [_place(h) for h in spots], cost=share)


def amplification(facts: Facts) -> Iterator[Finding]:
    """B11: four times as many bytes are read as are delivered."""
    fact = facts.find(READING)
    if fact is None or not fact.value["amplification"] or fact.value["bytes_read_per_sample"] < 4096:
        return
    projection = facts.find(PROJECTION)
    if projection is not None and projection.at["pays"]:
        return  # told with its columns
    if facts.value(SAMPLE_CALLS, {"scans": []})["scans"]:
        return  # a query reads the whole table, which is told with its line
    works = facts.value(SAMPLE_CALLS, {"work": []})["work"]
    if any(work["kind"] in ("same", "chunks") and work["file"] for work in works):
        return  # so is what every sample reads again, or decompresses in vain
    if child_processes(facts):
        return  # what is read comes from the processes that samples start, not from storage
    if rewinds(facts):
        return
    ratio = fact.value["amplification"]
    _, pixels = pixels_of(facts)
    if pixels and pixels["decoded_pixels"] >= 0.5 * ratio * pixels["used_pixels"] > 0:
        return  # images are shrunk, which is told by their pixels
    if any(work["kind"] == "twice" and ratio < 4 * work["times"] for work in works):
        return  # so is what a sample reads several times
    if ratio >= 4:
        text = f"{fact.value['bytes_read_per_sample']:,.0f} bytes are read for each sample of "
        text += f"{fact.value['bytes_delivered_per_sample']:,.0f} bytes: {ratio:.0f} times what is delivered"
        read = next(iter(facts.value(READERS, [])), None)
        fix, places, share = READ_LESS, [], None
        takes = reading_share(facts)
        if takes is not None:  # no more is saved than reading takes
            share = (1 - 1 / ratio) * takes
        if read is not None:
            fix, places = FIXES.get(read["library"], READ_LESS), read["places"]
            if fix is INDEXED and not read.get("whole", True):
                fix = CHUNKED
        little = share is not None and share < LEAST_SHARE
        yield finding(
            "read-amplification",
            "info" if little else "warning",
            text,
            fact,
            fix,
            places,
            cost=share,
        )


def reading_share(facts: Facts) -> float | None:
    """The share of a sample's time in which libraries read, as stacks show it, else that of the stages which may read; None: unknown."""
    read = facts.value(READERS, [])
    if read:
        return min(1.0, float(sum(one["share"] for one in read)))
    stages = list(facts.all(STAGE))
    whole = sum(f.value["ms"] for f in stages)
    if not whole:
        return None
    return float(sum(f.value["ms"] for f in stages if f.at["stage"] in ("read", "decode", "unattributed")) / whole)


LEAST_SHARE = 0.1
"""The least share of a sample's time that reading less would save if it is a warning."""
READ_LESS = (
    "read what all samples share, such as an index or a vocabulary, only once, and of the rest only the parts that are used (the rows at their "
    "offsets, columns, smaller row groups or chunks), or store samples at the size in which they are used"
)
INDEXED = (
    "index the stored array by sample (file['x'][i]) instead of reading all of it first (file['x'][:], numpy.array(file['x'])); if you already "
    "do, write chunks of the shape in which samples are read, or read neighbouring samples together"
)
CHUNKED = (
    "rewrite the array with chunks of one sample (chunks=(1, …)), as a whole chunk is read for each sample, or read neighbouring "
    "samples together"
)
"""Where the user's line takes only the sample."""
FIXES = {
    "npy": "open the file once with numpy.load(path, mmap_mode='r'), and read the rows of the sample",
    "npz": "store the arrays of the .npz, which is always read whole, as .npy files: numpy.load(path, mmap_mode='r') reads only the rows of a "
    "sample; or read all samples of a file one after another",
    "table": "parse the text once and store it in a binary format, such as numpy.save",
    "soundfile": "read only the part that is used: soundfile.read(path, start=…, frames=…)",
    "wave": "read only the part that is used: setpos() and readframes(), or store clips of the length in which they are used",
    "h5py": INDEXED,
    "zarr": INDEXED,
    "pyarrow": "read only the columns that are used, write smaller row groups, and shuffle by row group to use all that was read",
    "image": "store the images at the size in which they are used",
    "pandas": "read the table once, and keep it; or store the rows of a sample together",
    "torch": "open the file once with torch.load(path, mmap=True), or store the rows of a sample in a file of their own",
    "archive": "store the members uncompressed, and read only the used part of each; or unpack the archive once",
}
"""What to do instead, by the library that reads."""


def thrashing(facts: Facts) -> Iterator[Finding]:
    """A cache of the user's that evicts what is asked for again."""
    fact = facts.find(THRASH)
    if fact is None:
        return
    v = fact.value
    text = f"`{escaped(v['function'])}`, cached with maxsize={v['maxsize']}, misses {v['misses']:,} of {v['calls']:,} calls in the order of the "
    text += f"loader, although only {v['must']:,} different values were asked for: it evicts values before they are asked for again"
    saves = v["seconds"] / max(1e-9, v["seconds_with_room"])
    if saves > 1.1:
        text += f"; with room for all these, {v['samples']:,} samples take {v['seconds_with_room']:.2f} instead of {v['seconds']:.2f} s"
    fix = "raise maxsize to cover neighbouring samples, if each worker has the memory; or let a sampler draw samples that "
    fix += "share a value one after another"
    places = [v["place"]] if v["place"] is not None else []
    severity: Severity = "warning" if saves > 1.1 else "info"
    yield finding("avoidable-work", severity, text, fact, fix, places, cost=saved(max(1.0, saves)))


def first_batch(facts: Facts) -> Iterator[Finding]:
    """B47: the first sample takes over half a second and twenty times as long as a later batch."""
    through = facts.find(THROUGHPUT, workers=0)
    fact = facts.find(STARTUP, workers=0)
    if through is None or fact is None:
        return
    steady = through.at["batch_size"] / through.value
    cold = facts.find(FIRST)
    first = max(fact.value - facts.value(ORDER_DRAWN, 0.0), cold.value if cold is not None else 0.0)
    if first > 20 * steady and first > 0.5:
        text = f"the first sample takes {first:.1f} s, a later batch {1e3 * steady:.1f} ms"
        fix = "do in advance what the first sample waits for, such as building an index: save the result to a file, and load it"
        yield finding("slow-first-batch", "warning", text, [fact if cold is None else cold, through], fix)


def warm(facts: Facts) -> Iterator[Finding]:
    """B37: everything was read from the page cache, and the disk was measured to be much slower."""
    reading, cold, hot = facts.find(READING), facts.find(COLD), facts.find(WARM)
    if reading is None or cold is None or hot is None or reading.value["bytes_read_per_sample"] < 4096:
        return
    read = [f for f in facts.all(STAGE) if f.at["stage"] == "read"]
    if reading.value["from_disk_per_sample"] == 0 and cold.value < 0.5 * hot.value and read:
        text = (
            f"all reads came from the page cache ({hot.value:,.0f} MB/s); files not in it are read at {cold.value:,.0f}"
        )
        fix = "expect lower throughput in the first epoch and for data larger than memory"
        yield finding("cache-warm", "info", text, [reading, cold, hot], fix)


def slow(facts: Facts) -> Iterator[Finding]:
    """B20: samples that take ten times the median whenever they are read."""
    fact = facts.find(SLOW)
    if fact is None or not fact.value["count"] or fact.value["of"] < 20:
        return
    v = fact.value
    unread = v.get("unread", 0)
    text = f"{'at least ' * bool(unread)}{v['count']} of {v['of']} samples always take at least ten times the median of {v['median_ms']:.2f} ms"
    if unread:
        text += f"; {unread} more were as slow once, and there was no time to read them again"
    share, cited = facts.find(SLOW_SHARE), [fact]
    if share is not None and share.evidence.interval is not None:
        low, high = share.evidence.interval
        of_all = f"{share.value:.2%} of all samples (95 % confidence: {low:.2%} to {high:.2%})"
        of_all = f"{low:.1%} to {high:.1%} of all samples" if unread else of_all
        text += (
            f"; this is {of_all}" if share.value >= LEAST_TOLD else f"; at most {high:.2%} of all samples are so slow"
        )
        cited.append(share)
    why = facts.find(SLOW_CAUSES)
    if why is not None:
        text += "".join(f"; {words}" for words in (*in_common(why.value), *spent_at(why.value)))
        cited.append(why)
    fix = next((f"{cure} (these samples are the larger ones)" for cure in larger(facts)), cure_of(why))
    fix += ahead(facts)
    places = [{"sample": s["sample"]} for s in v["slowest"]]
    yield finding("slow-samples", "warning", text, cited, fix, places, v["count"])


def in_common(why: dict[str, Any]) -> Iterator[str]:
    """What the slow samples have in common, and the others have not."""
    for trait in why["traits"]:
        kind = trait["kind"]
        if kind == "suffix":
            others = f"{escaped(trait['others'])} files" if trait["others"] else "none"
            yield f"the slow samples that were compared read {escaped(trait['value'])} files, the others {others}"
        elif kind == "folder":
            yield f"the slow samples that were compared are in the folder {escaped(posixpath.basename(trait['value']))}, and none of the others is"
        elif kind == "range":
            yield f"they are samples {trait['first']:,} to {trait['last']:,}"
        elif kind == "size":
            yield f"those that were compared have at least {trait['least']:,} values each, the others at most {trait['most']:,}"
        else:
            what = (
                "the files of those that were compared have" if kind == "largest" else "those that were compared read"
            )
            yield f"{what} at least {in_bytes(trait['least'])} each, the others at most {in_bytes(trait['most'])}"


def spent_at(why: dict[str, Any]) -> Iterator[str]:
    """Where slow samples spend their time."""
    at = why["at"]
    if at is not None and why["share"] >= 0.5:
        does = "wait" if why["waits"] else "spend most of their time"
        yield f"they {does} at {posixpath.basename(at['file'])}:{at['line']} in `{escaped(at['function'])}`"
    elif why["waits"]:
        yield "they wait rather than compute"


def cure_of(why: Fact | None) -> str:
    """What to do about slow samples, by what they have in common."""
    kinds = set() if why is None else {trait["kind"] for trait in why.value["traits"]}
    if "suffix" in kinds:
        return "convert these files once to the format of the others, which is faster to read"
    if kinds & {"largest", "read", "size"}:
        return "shrink or split the larger samples once beforehand, or make batches of samples of similar size: each holds up its whole batch"
    if why is not None and why.value["waits"]:
        return "keep a local copy of what these samples wait for, or fetch it before it is needed: each holds up its whole batch"
    return "look at what these samples have in common, such as larger files: each holds up its whole batch"


def ahead(facts: Facts) -> str:
    """What keeps other batches coming while a slow one is made; not where comparing showed no gain."""
    current, best = settings(facts)
    compared = facts.find(ORDERING)
    workers = max(
        (one["num_workers"] for one in (current, None if best is None else best["settings"]) if one), default=0
    )
    if workers < 2 or (compared is not None and compared.value["low"] <= 1):
        return ""
    return "; more workers or a larger prefetch_factor hide the wait; if batches may come in any order, in_order=False (torch 2.6 and later) delivers the others first"


def larger(facts: Facts) -> Iterator[str]:
    """What to do where lines work on far more of the slow samples than is kept of them."""
    for early in facts.value(CAUSES, {"before": []})["before"]:
        if early["slow"]:
            yield before_keeping(early)[1]


def one_by_one(facts: Facts) -> Iterator[Finding]:
    """B31: the dataset accepts many indices at once, but torch requests them one by one."""
    fact = facts.find(WHOLE)
    low, high = (0.0, 0.0) if fact is None else fact.evidence.interval or (0.0, 0.0)
    if fact is not None and low > WORTH:
        text = f"dataset[indices] returns the same batch {fact.value:.1f} times as fast as single samples (99 %"
        text += f" {low:.1f} to {high:.1f}), but torch asks for single samples"
        fix = "in the dataset's class, or in one derived from it, write def __getitems__(self, indices): return self[torch.tensor(indices)], and "
        fix += "pass collate_fn=lambda batch: batch"
        yield finding("batched-fetch-unused", "info", text, fact, fix, cost=saved(low))


RULES: tuple[Rule, ...] = (inflating, listing, amplification, thrashing, first_batch, warm, slow, one_by_one)
