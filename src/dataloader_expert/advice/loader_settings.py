"""How the user's loader is set up: pickling of its parts, length, order, timeout, weights, state."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.base import PICKLING
from dataloader_expert.probes.health.static_checks import (
    LENGTH,
    ORDER,
    SENDING,
    SETTINGS,
    SNAPSHOTS,
    WEIGHTS,
)
from dataloader_expert.probes.search.loading import CURRENT

MULTINOMIAL_MOST, INEXACT = 1 << 24, 1 << 20
"""Numbers of weights beyond which torch.multinomial fails, and beyond which float32 sums are too inexact."""


def pickling(facts: Facts) -> Iterator[Finding]:
    """B22, B23: whether what spawn and forkserver send to each worker can be pickled, and how long that takes."""
    fact = facts.find(PICKLING)
    if fact is None:
        return
    v = fact.value
    if v["why"] is not None:
        severity: Severity = "error" if v["start_method"] != "fork" else "info"
        text = f"the loader cannot start workers with spawn or forkserver, as {v['why']}"
        fix = "use functions and classes defined at module level, and open handles on first use"
        if "SemLock" in v["why"]:
            fix = "create locks and shared values with the context that starts the workers: multiprocessing.get_context('spawn').Lock()"
        yield finding("unpicklable", severity, text, fact, fix)
    if v["start_method"] != "fork" and v["seconds"] * v["workers"] > 1.0:
        text = f"{v['start_method']} pickles the dataset ({v['bytes'] / 1e6:.0f} MB) for each worker in turn:"
        text += f" {v['seconds']:.1f} s each"
        fix = "keep the data in files or shared memory, not in attributes of the dataset"
        current = facts.value(CURRENT)
        if current is not None and not current.get("persistent_workers"):
            fix = (
                f"set persistent_workers=True, or every epoch begins with this wait; or start workers with fork; {fix}"
            )
        yield finding("slow-worker-start", "warning", text, fact, fix)


def sending(facts: Facts) -> Iterator[Finding]:
    """B24, B29: a batch that workers cannot send, or that pin_memory leaves unpinned."""
    fact = facts.find(SENDING)
    if fact is None:
        return
    v = fact.value
    if v["why"] is not None:
        text = f"a worker cannot pickle the batch and so never delivers it: {v['why']}"
        yield finding("result-unpicklable", "error", text, fact, "return only tensors, arrays, strings and numbers")
    if v["pin_memory"] and not v["pinnable"]:
        text = f"pin_memory=True has no effect on batches of type {v['type']}: the class has no pin_memory method"
        yield finding("not-pinned", "warning", text, fact, "give the class a pin_memory method that pins its tensors")


def length(facts: Facts) -> Iterator[Finding]:
    """B41, B42: a len() that is too large, and samples that drop_last leaves out."""
    fact = facts.find(LENGTH)
    if fact is None:
        return
    n, dropped = fact.value["samples"], fact.value["dropped"]
    if fact.value["lies"]:
        text = f"len() is {n}, but sample {n - 1} is out of range"
        fix = "return the true number of samples from __len__"
        yield finding("wrong-length", "error", text, fact, fix, [{"sample": n - 1}])
    if dropped == n or dropped >= 0.1 * n > 0:
        text = f"drop_last drops {dropped} of {n} samples in each epoch"
        text += ": nothing is left" if dropped == n else ""
        yield finding("batches-dropped", "warning", text, fact, "set drop_last=False, or use a smaller batch")


def timeout(facts: Facts) -> Iterator[Finding]:
    """B26: workers without a timeout."""
    fact = facts.find(SETTINGS)
    if fact is not None and fact.value["num_workers"] and not fact.value["timeout"]:
        text = "timeout is 0: a worker that hangs blocks training forever, without an error"
        yield finding("no-timeout", "info", text, fact, "set timeout=60, or ten times what the slowest batch takes")


def weights(facts: Facts) -> Iterator[Finding]:
    """B50: more weights than torch.multinomial supports."""
    fact = facts.find(WEIGHTS)
    if fact is not None and fact.value > INEXACT:
        fails = fact.value > MULTINOMIAL_MOST
        severity: Severity = "error" if fails else "info"
        many = f"WeightedRandomSampler over {fact.value:,} weights:" if fails else f"{fact.value:,} weights work;"
        text = f"{many} torch.multinomial fails above 2^24 = 16,777,216"
        fix = "use dataloader_expert.samplers.WeightedSampler, which draws exactly from any number of weights"
        yield finding("weighted-sampler-limit", severity, text, fact, fix)


def snapshots(facts: Facts) -> Iterator[Finding]:
    """B53: saving the dataset's state takes a fiftieth of each batch's time."""
    fact = facts.find(SNAPSHOTS)
    if fact is None:
        return
    took, batch_s = fact.value["seconds"], fact.value["batch_s"]
    if batch_s and took >= 0.02 * batch_s and took > 1e-3:
        text = f"the dataset's state is saved at every step: {1e3 * took:.1f} of the {1e3 * batch_s:.1f} ms of a batch"
        fix = "set snapshot_every_n_steps to the number of steps between two checkpoints"
        yield finding("state-snapshots-slow", "warning", text, fact, fix)


def order(facts: Facts) -> Iterator[Finding]:
    """B43, B45: an order that is the same in every epoch, or that other code changes."""
    fact = facts.find(ORDER)
    if fact is None:
        return
    v = fact.value
    if v["same"] and not v["ascending"] and (fact.evidence.seen or 0) > 8:
        text = "two epochs yield the samples in the same order"
        fix = "draw a new order in each __iter__: a fixed list, or one seed for all epochs, repeats the order"
        if v["heeds"]:  # whether the training loop does, the loader does not show
            text += " unless sampler.set_epoch(epoch) is called between them"
            fix = "call sampler.set_epoch(epoch) before each epoch, if your training loop does not"
        if v["set_epoch"] and not v["heeds"]:
            fix = "seed the order with the epoch that set_epoch gives in the sampler's __iter__, which ignores it"
        yield finding("same-order-each-epoch", "info" if v["heeds"] else "warning", text, fact, fix)
    if v["global"]:
        text = "the order is drawn from torch's global generator: any code that draws from it earlier changes the order"
        fix = "pass generator=torch.Generator().manual_seed(seed) to the DataLoader"
        yield finding("order-from-global-rng", "info", text, fact, fix)


RULES: tuple[Rule, ...] = (pickling, sending, length, timeout, weights, snapshots, order)
