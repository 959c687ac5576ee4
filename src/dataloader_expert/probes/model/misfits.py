"""Whether a model takes a batch, and if not what differs: the change under which it runs names the difference."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.probes.batch_parts import flat, samples_in
from dataloader_expert.probes.model.attempt import WHOLE_S, Attempt
from dataloader_expert.probes.model.boxes import as_corners
from dataloader_expert.probes.model.calling import called, cut, evaluated, ran, reach
from dataloader_expert.probes.model.mended_ways import (
    OF_ORDER,
    by_length,
    mended_alike,
    of_range,
    other_parts,
    swapped,
    under_keys,
    with_keys,
    with_mends,
)
from dataloader_expert.probes.model.mends import OF_TARGET, Misfit, as_floats
from dataloader_expert.probes.model.refusals import lacking, refused, unsaid
from dataloader_expert.probes.model.remaining import further
from dataloader_expert.probes.model.targets import suits
from dataloader_expert.probes.model.unstacked import unstacked
from dataloader_expert.probes.model.verdict import Verdict, in_short
from dataloader_expert.probes.model.ways import Way, target_first

DEPTH = 3
SEARCH_S = 4.0
"""Seconds of the search for callers without a budget of their own, such as a step that is only to be fed."""
UNTRIED = "changes of the batch: time ran out before all were tried; raise budget_s"
MOST_NAMED = 1_024
"""The most samples that are tried because an error names them."""


def judged(
    model: Any,
    batch: Any,
    label: str | None,
    said: Mapping[str, Any] | None = None,
    seconds: float = SEARCH_S,
    stored: Mapping[str, str] | None = None,
    n: int = 0,
    chosen: bool = False,
    guessed: bool = False,
    drawn: frozenset[str] | None = None,
) -> Verdict:
    """Calls the model in evaluation mode with a few of the batch's samples, then with all, mending until it runs; then with a few in
    training mode.

    ``said``: what the model declares of its input; ``stored``: fields of pictures ("image") and of sound ("audio") that are read from
    files, which are made floats where the model takes no other, as the result tells the user to; ``n``: the samples, where they are known; ``chosen``:
    whether the user named the fields to use; ``guessed``: whether only its place says that ``label`` is the label; ``drawn``:
    of a batch made from its description, the fields whose range that does not tell.
    """
    attempt = Attempt(model, batch, label, said or {}, time.monotonic() + seconds, n, chosen, guessed, drawn)
    prepare(attempt, stored or {})
    return in_training(attempt, searched(attempt))


def prepare(attempt: Attempt, stored: Mapping[str, str]) -> None:
    """Where no way runs as it is, those take their place in which what is read from files is what models take: how files store it is no
    choice of the user's. The first of a few layouts of sound with which one of them runs."""
    if not stored or any(attempt.fails(way) is None for way in attempt.ways):
        return
    every = [[as_stored(attempt, way, stored, turned) for way in attempt.ways] for turned in LAYOUTS]
    runs = (made for made in every if any(way.mends and attempt.fails(way) is None for way in made))
    made = next(runs, every[0])
    if any(way.mends for way in made):
        attempt.ways, attempt.stored = made, frozenset(stored)


LAYOUTS = ("{x}", "{x}.transpose(1, 2)", "{x}[..., 0]")
"""Of sound, which is read as [B, T, channels]."""


def as_stored(attempt: Attempt, way: Way, stored: Mapping[str, str], turned: str) -> Way:
    """The way with pictures and sounds as floats; ``turned``: the layout of sounds."""
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x: Any = evaluated(expression, attempt.few) if name in stored else None
        if not hasattr(x, "is_floating_point"):
            continue
        if not x.is_floating_point():
            way = way.mended(name, as_floats(x, attempt.want))
        if stored[name] == "audio" and x.ndim == 3 and turned != "{x}" and (x.shape[2] == 1 or "[" not in turned):
            way = way.mended(name, turned)
    return way


def in_training(attempt: Attempt, verdict: Verdict) -> Verdict:
    """The verdict, with what the model raises in training mode; of the ways, the one that runs there too, as one with targets."""
    other_size = verdict.only not in (None, attempt.all)
    if verdict.way is None or verdict.refused or other_size or attempt.n == 1 or not hasattr(attempt.model, "train"):
        return verdict
    if attempt.run(verdict.way).seconds > attempt.until - time.monotonic() + WHOLE_S:
        return verdict
    others = [replace(way, mends=verdict.way.mends) for way in attempt.ways if way.told == ()]
    said: list[Exception] = []
    attempt.model.train()
    try:
        for way in (verdict.way, *others):
            # some take no few samples, as pairs of them
            for batch in (attempt.few, attempt.batch):
                error = ran(attempt.model, way, batch, training=True).error
                if error is None:
                    kept = tuple(m for m in verdict.misfits if way is verdict.way or not m.runs)
                    return replace(verdict, way=way, misfits=kept)
                said.append(error)
                if attempt.batch is attempt.few:
                    break
            if time.monotonic() > attempt.until:
                break
        apart = (way for way in unstacked(attempt.model, attempt.few) if way.told)
        split = next((w for w in apart if ran(attempt.model, w, attempt.few, training=True).error is None), None)
    finally:
        attempt.model.eval()  # as the calls before and after it are; the model was made for this check alone
    if split is not None:
        return replace(further(attempt, split), error=in_short(said[0]))
    error = next((e for e in said if OF_TARGET.search(str(e))), max(said, key=reach))
    corners = (made for way in (verdict.way, *others) if (made := as_corners(attempt, way)) is not None)
    if (cured := next(corners, None)) is not None:
        way, misfit = cured
        return replace(verdict, way=way, misfits=(*verdict.misfits, misfit), error=verdict.error or in_short(error))
    of_labels = OF_TARGET.search(str(error)) is not None
    code = "label-out-of-range" if of_labels else "model-raises"
    says = f"the model takes the batch in evaluation mode, and raises in training mode: {in_short(error)}"
    misfit = Misfit(code, "labels" if of_labels else "training mode", says, cured=False)
    return replace(verdict, misfits=(*verdict.misfits, misfit), error=verdict.error or in_short(error))


def searched(attempt: Attempt) -> Verdict:
    """The first way that runs: as the batch is, with its fields under other keys or in another order, or mended."""
    first: Exception | None = None
    if not attempt.ways:
        verdict = lacking(attempt)
        made = (way for way in unstacked(attempt.model, attempt.few) if attempt.fails(way) is None)
        return next((replace(further(attempt, way), error=verdict.error) for way in made), verdict)
    without, lost = None, tuple[Misfit, ...]()
    for at, way in enumerate(attempt.ways):
        error = attempt.fails(way) or beyond_the_few(attempt, way)
        if error is None:
            lost = refused(attempt, way, attempt.ways[:at])
            if not lost:
                return further(attempt, way)
            without, attempt.ways = way, attempt.ways[:at]  # if no mend of these runs
            break
        if first is None or (way.names == ("batch",) and isinstance(error, KeyError)):
            first = error  # a model that looks keys up takes the batch whole
        for other in with_keys(attempt, way, error):
            if attempt.fails(other) is None:
                return replace(further(attempt, other), error=in_short(error))
    ambiguous = attempt.all in other_dimensions(attempt.batch)
    if not ambiguous and (found := of_this_size(attempt)) is not None:
        return found
    apart = (way for way in unstacked(attempt.model, attempt.few) if attempt.fails(way) is None)
    for other in itertools.chain(
        swapped(attempt), by_length(attempt), apart, other_parts(attempt), under_keys(attempt)
    ):
        return replace(further(attempt, other), error=in_short(first))
    for way in attempt.ways:
        if (corners := as_corners(attempt, way)) is not None:
            other, misfit = corners
            found = further(attempt, other)
            return replace(found, misfits=(misfit, *found.misfits), error=in_short(first))
    # one change of the batch is likelier than a model of one size; several at once are not
    found = by_mending(attempt, first, (1,)) or of_one_size(attempt, first)
    found = found or by_mending(attempt, first, range(2, DEPTH + 1))
    found = found or (of_this_size(attempt) if ambiguous else None)
    if found is not None:
        return found
    turned = target_first(attempt.model, attempt.few)
    attempt.stopped |= turned is not None and time.monotonic() > attempt.until
    if turned is not None and not attempt.stopped and attempt.fails(turned) is None:
        return replace(further(attempt, turned), error=in_short(first))
    return not_mended(attempt, without, lost, first)


def other_dimensions(batch: Any) -> set[int]:
    """The sizes of the tensors' dimensions that are not the batch's: an error that names one of them says nothing of how many samples
    a model takes."""
    return {int(d) for _, x in flat(batch) if hasattr(x, "shape") for d in x.shape[1:]}


def of_this_size(attempt: Attempt) -> Verdict | None:
    """Where the model takes no few samples, but all: batches of this one size, which its error names."""
    for way in attempt.ways[:2] if attempt.n and attempt.n != attempt.all else ():
        named = re.search(rf"\b{attempt.all}\b", attempt.said_to.get(way.code(), "")) is not None
        if named and attempt.fails(way, whole=True) is None:
            attempt.widen()
            return replace(further(attempt, way), only=attempt.all)
    return None


def of_one_size(attempt: Attempt, error: Exception | None) -> Verdict | None:
    """Where the model's error names the number of samples that it was given, and it takes another number that it names, which is not
    that of anything else in the batch."""
    said = attempt.said_to.get(attempt.ways[0].code(), "") if attempt.n else ""
    named = [int(n) for n in re.findall(r"\b\d+\b", said.partition("\n")[0])]
    known = {attempt.n, attempt.all, *other_dimensions(attempt.batch)}
    others = [n for n in dict.fromkeys(named) if 1 < n <= MOST_NAMED and n not in known]
    for n in others if attempt.n in named else ():
        other = attempt.of_size(n)
        if other.fails(attempt.ways[0]) is None:
            says = f"{attempt.all} samples, where the model only takes {n} at once"
            misfit = Misfit("shape-mismatch", "the batch", says, cured=False, fix=f"batch_size={n}, drop_last=True")
            found = further(other, attempt.ways[0])
            return replace(found, misfits=(misfit, *found.misfits), error=in_short(error), only=n)
    return None


def by_mending(attempt: Attempt, first: Exception | None, depths: Iterable[int]) -> Verdict | None:
    """The way with the fewest mends, of so many, that runs, best with an output that suits the target; None if none does in the time."""
    unsuited: Verdict | None = None
    late = False
    for depth in depths:
        for way in attempt.ways:
            alike = mended_alike(attempt, way) if depth == 1 else ()
            for mended, used in itertools.chain(with_mends(attempt, way, depth), alike):
                if late:
                    attempt.stopped = True
                    return unsuited
                if attempt.fails(mended) is None:
                    if unsuited is None or suits(mended, attempt.run(mended).out, attempt.few):
                        found = further(attempt, mended, used)
                        found = replace(found, error=in_short(first) or found.error)
                        if suits(mended, attempt.run(mended).out, attempt.few):
                            return found
                        unsuited = found
                late = time.monotonic() > attempt.until
        if unsuited is not None:
            return unsuited
    return None


def beyond_the_few(attempt: Attempt, way: Way) -> Exception | None:
    """What a call with the whole batch raises of ids, labels or an order that the few have not; these are then among the few."""
    raised = attempt.fails(way, whole=True)
    if raised is None or not (of_range(str(raised)) or OF_ORDER.search(str(raised))):
        return None
    attempt.widen()
    return raised


def not_mended(attempt: Attempt, without: Way | None, lost: tuple[Misfit, ...], error: Exception | None) -> Verdict:
    """Where no mend was found: the way that leaves out what is ``lost``, if it runs, or one whose output has no samples, as prototypes."""
    if without is not None:
        found = further(attempt, without)
        error_too = found.error if all(m.runs for m in lost) else in_short(error)
        return replace(found, misfits=(*lost, *found.misfits), error=error_too)
    if attempt.odd is not None:
        return further(attempt, attempt.odd)
    way, error = attempt.furthest() or (attempt.ways[0], error)
    untried = (UNTRIED,) if attempt.stopped else ()
    return Verdict(None, unsaid(attempt, way, error), in_short(error), tried=way, unseen=untried)


def breaks_on_one(model: Any, way: Way, batch: Any, n: int = 0) -> bool:
    """Whether a batch of one sample fails in training mode, as batch normalisation does."""
    import torch

    try:
        model.train()
        called(model, way, cut(batch, torch.tensor([0]), n or samples_in(batch)))
    except ValueError as e:
        return "more than 1 value per channel" in str(e)
    except Exception:  # fails for another reason, which the check itself tells
        return False
    finally:
        model.eval()
    return False
