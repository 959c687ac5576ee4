"""What speaks against the batches that are recommended, or asked for."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.batch_size import device_most
from dataloader_expert.advice.normalization import normalization
from dataloader_expert.checks.base import SPLITS
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import listed
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.model.batch import COLLATE, LEAST_SHARE, SPREAD, share_padded
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.model.collated import COLLATED
from dataloader_expert.probes.model.fitting import Fit
from dataloader_expert.probes.model.memory import (
    DEVICE_LIMIT,
    MEMORY_FIT,
)
from dataloader_expert.probes.model.sizes import training_samples


def findings(asked: int | None, facts: Facts, size: int) -> list[Finding]:
    """What speaks against the batches that are recommended here: of no other loader is it known."""
    out = []
    bound, most = facts.find(DEVICE_LIMIT), device_most(facts)
    if bound is not None and most is not None and asked is not None and asked > most > 0:
        room, fit = bound.value["room"], facts.find(MEMORY_FIT)
        whole = room / (1 - bound.value["margin"])
        # where the limit lies was found by trials; the line tells how it grows with the memory
        line = None if fit is None else Fit.from_json(fit.value)
        if fit is not None and line is not None and asked <= most * line.largest(whole) / max(1, line.largest(room)):
            text = f"a batch of {asked} fits only into the memory that safety_margin keeps free; {most} leaves it free"
            fix = f"batch_size={size}: fragmentation or a longer batch can end a run that leaves no room"
            out.append(finding("batch-tight", "warning", text, [bound, fit], fix))
        else:
            text = f"a batch of {asked} does not fit into {room / 1e9:.3g} GB of device memory; the maximum is {most:,}"
            out.append(finding("batch-does-not-fit", "error", text, bound, f"batch_size={size}, see advice"))
    out += [*of_one(facts, size), *of_another_size(facts)]
    splits, constants = facts.find(SPLITS), normalization(facts)
    if (
        splits is not None
        and len(splits.value) > 1
        and "train" not in splits.value
        and constants is not None
        and constants["mean"] is not None
        and not constants["applied"]
    ):
        out.append(
            finding(
                "stats-from-all-splits",
                "warning",
                f"mean and std cover all splits ({', '.join(splits.value)}), because none is called train: evaluation data leak into them",
                splits,
                "name the training split with train_split, and use its constants",
            )
        )
    out += [*uneven(facts), *lost_in_collating(facts)]
    collate = facts.find(COLLATE)
    if collate is not None and collate.value["name"] == "list":
        out.append(
            finding(
                "not-collatable",
                "error",
                "samples can be neither stacked nor padded",
                collate,
                "pad or resize in the dataset, or pass a collate_fn",
            )
        )
    return out


def of_one(facts: Facts, size: int) -> Iterator[Finding]:
    """Batches, or a last batch, of one sample, which batch normalisation does not take in training; a model that takes it all the same
    is known."""
    samples, trained, model = facts.find(SAMPLES), training_samples(facts), facts.find(MODEL)
    if size == 1 and model is not None and model.value["breaks_on_one"]:
        text = "the batch size is 1, which the model refuses in training mode (batch normalisation)"
        fix = "use batches of at least two samples, or layers that normalise each sample separately, such as GroupNorm"
        yield finding("last-batch-breaks-model", "error", text, model, fix)
    if samples is None or not trained or trained <= size or trained % size != 1 or drops_last(facts):
        return
    if model is not None and model.value["call"] and not model.value["breaks_on_one"]:
        return
    text = f"{trained} training samples leave a last batch of one at batch size {size}"
    fix = "drop_last=True for training: batch normalisation raises on a batch of one"
    broken = model is not None and model.value["breaks_on_one"] and facts.find(PRESENT) is not None
    if broken:
        text += ", which the model refuses in training mode (batch normalisation)"
        fix = "drop_last=True for training, or another batch size"
    yield finding("last-batch-breaks-model", "error" if broken else "info", text, samples, fix)


def of_another_size(facts: Facts) -> Iterator[Finding]:
    """A last batch that is smaller than the one size that a model takes."""
    model, trained = facts.find(MODEL), training_samples(facts)
    only = None if model is None else model.value["only"]
    if model is None or only is None or not trained or not trained % only:
        return
    text = f"the model only accepts batches of exactly {only}, and {trained} training samples leave a last batch of {trained % only}"
    fix = "drop_last=True, also for evaluation; or make the model's states as large as the batch that it is given"
    yield finding("last-batch-breaks-model", "error", text, model, fix)


PADDING = 0.3
"""The share of padding from which batches of like length pay."""


def uneven(facts: Facts) -> Iterator[Finding]:
    """Batches that hold much padding, or that do not collate with the samples at the ends of the range."""
    spread = facts.find(SPREAD)
    if spread is None:
        return
    share, failed = spread.value["padding"], spread.value["failed"]
    if share is not None and share > PADDING and share_padded(facts) >= LEAST_SHARE:
        text = f"{share:.0%} of the padded fields is padding"
        yield finding(
            "padding-waste",
            "warning",
            text,
            spread,
            "batch samples of similar length: suggest_sampler with objective throughput",
        )
    apart = spread.value.get("apart")
    if apart is not None:
        few = apart["samples"]
        text = (
            f"{number(len(few), 'sample')} ({listed(few, 5)}) of {spread.value['samples']:,} {verb(len(few), 'are')} at least "
            f"{apart['least'] / apart['others']:.1f} times as large as any other: a batch with one of them is padded to it, and it alone "
            f"limits the batch size"
        )
        fix = "cut, split or leave out these samples; or limit batches by tokens instead of samples (the token-budget sampler)"
        yield finding("padding-waste", "warning", text, spread, fix, [{"sample": i} for i in few[:20]], len(few))
    if failed is not None:
        text = f"samples {', '.join(map(str, failed['samples']))} do not collate: {failed['error']}"
        where = [{"sample": i} for i in failed["samples"]]
        fix = "make these samples like the others"
        if "NoneType" in failed["error"]:
            fix = "return a value of the usual type in place of None, such as an empty text or zeros; or pass a collate_fn that takes None"
        yield finding("not-collatable", "error", text, spread, fix, where)


MANY_CUT = 0.5
"""The share of the samples from which their being cut is no matter of a few long ones."""


def lost_in_collating(facts: Facts) -> Iterator[Finding]:
    """What the user's collate function leaves out of a batch: the ends of long samples, the offsets of edges."""
    fact = facts.find(COLLATED)
    if fact is None:
        return
    for edges in fact.value["edges"]:
        text = (
            f"{edges['field']}: the collate function concatenates graphs without offsetting their node numbers, so that all edges "
            f"join the first {edges['places']} of {edges['nodes']} nodes"
        )
        fix = "add to each graph's edges the number of nodes in the graphs before it"
        yield finding("layout-mismatch", "error", text, fact, fix, [{"field": edges["field"]}])
    for cut in fact.value["cut"]:
        n, looked = len(cut["samples"]), fact.value["looked"]
        text = (
            f"{cut['field']}: the collate function cuts samples to a length of {cut['to']}; {n} of {looked} checked {verb(n, 'are')} longer, "
            f"up to {cut['longest']}"
        )
        fix = "raise the limit to the length that the model takes, or split long samples, unless what is cut is not needed"
        where = [{"field": cut["field"], "sample": i} for i in cut["samples"][:5]]
        yield finding("truncated", "warning" if n >= MANY_CUT * looked else "info", text, fact, fix, where, n)


def last_batch(facts: Facts, size: int) -> int | None:
    """Samples of the last batch of an epoch over the training split; None where their number is not known."""
    samples = training_samples(facts)
    if samples and samples >= size and drops_last(facts):
        return size
    return None if not samples else samples % size or min(size, samples)


def drops_last(facts: Facts) -> bool:
    """Whether the loader handed over leaves an incomplete last batch out."""
    return bool(facts.value(PRESENT, {"drop_last": False})["drop_last"])
