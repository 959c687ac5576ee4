"""What a call that runs still leaves wrong: ids of other samples, order of time, values, masks, the target."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated, given_to, is_finite
from dataloader_expert.probes.model.declared import of_parts
from dataloader_expert.probes.model.mends import Mend, Misfit, is_fake
from dataloader_expert.probes.model.padding import unmasked
from dataloader_expert.probes.model.padding_counts import padded_labels, sees_padding_alone, token_as_padding
from dataloader_expert.probes.model.pairing import over_all_pairs
from dataloader_expert.probes.model.partners import partners
from dataloader_expert.probes.model.reconstruction import rebuilt
from dataloader_expert.probes.model.resizing import CUT, OF_SIZE
from dataloader_expert.probes.model.siamese import of_each_input
from dataloader_expert.probes.model.silent import another_padding, inverted, many_losses
from dataloader_expert.probes.model.targets import fitting_target, of_loss
from dataloader_expert.probes.model.unscaled import scaled_pictures
from dataloader_expert.probes.model.verdict import SCALE, Verdict, in_short
from dataloader_expert.probes.model.ways import TARGET, Way, wrapped
from dataloader_expert.sources.roles import words

BEYOND, WHITE = 0.5, 0.05
"""How far beyond the values of standardized pictures others lie at least, as a share of their range, and how far beyond 0 and 1 those of
a picture may lie."""
OTHER_WAY = "(1 - {x})"
"""The mask of 0 and 1 that hides what another shows."""
TIMES = 4
"""A whole batch takes longer than the calls with which padding is looked at, by this factor at most."""


def further(attempt: Attempt, way: Way, used: tuple[tuple[str, Mend], ...] = ()) -> Verdict:
    """What a call that runs still leaves wrong: ids of other samples, order of time, values, the target."""
    misfits = [Misfit(*told) for told in way.told]
    misfits += [Misfit(m.code, n, m.says + of_multiples(attempt, way, n, m)) for n, m in used]
    way, error = target_cut(attempt, way, used), None
    failed: list[str] = []
    for look in (
        all_ids,
        time_first,
        values,
        finite,
        broadcast,
        target,
        rebuilt,
        padding,
        silent,
        one_loss,
        partners,
    ):
        if attempt.drawn is not None and look in OF_PATTERNS:
            continue
        try:
            way, more, said = look(attempt, way)
        except Exception as e:  # it calls the user's model in other ways; that one runs is known
            failed.append(f"{look.__name__}: {in_short(e)}")
            continue
        misfits += more
        error = error or said
    told = next((m.says for m in misfits if m.field != TARGET and m.code != SCALE and not m.runs), None)
    return Verdict(way, tuple(misfits), error or told, attempt.whole_refused, attempt.all, unseen=tuple(failed))


def of_multiples(attempt: Attempt, way: Way, name: str, mend: Mend) -> str:
    """Whether a size that runs is one of multiples: the model takes the next smaller too, and it is not that the picture was small."""
    sides = OF_SIZE.search(mend.expression)
    if not mend.multiple or sides is None:
        return ""
    height, width = (int(side) - mend.multiple for side in sides.groups())
    smaller = mend.expression.replace(sides[0], f"size=({height}, {width})")
    of = tuple(smaller if m == mend.expression else m for m in way.mends[name])
    runs = min(height, width) > 0 and attempt.fails(replace(way, mends={**way.mends, name: of})) is None
    return f": it takes multiples of {mend.multiple}" if runs else ""


def target_cut(attempt: Attempt, way: Way, used: tuple[tuple[str, Mend], ...]) -> Way:
    """The way, with a target that is as long as an input cut as that is."""
    for name, mend in used:
        if way.target is None or not CUT.search(mend.expression):
            continue
        x = evaluated(next(e for (_, e), n in zip(way.arguments, way.names, strict=True) if n == name), attempt.few)
        y = evaluated(str(way.aim), attempt.few)
        if getattr(y, "ndim", 0) > 1 and y.shape[:2] == x.shape[:2]:
            return way.mended(TARGET, mend.expression)
    return way


def all_ids(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """Runs the whole batch: what some samples hold may be refused though the few are not."""
    raised = attempt.fails(way, whole=True)
    attempt.whole_refused = raised is not None
    return way, [], None if raised is None else in_short(raised)


def time_first(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """A recurrent layer that takes [T, B, …] and is given [B, T, …] runs all the same, over the wrong dimension."""
    if not attempt.n or not crossed(attempt, way):
        return way, [], None
    for name in way.names:
        other = way.mended(name, "{x}.transpose(0, 1).contiguous()")
        if attempt.fails(other) is None and not crossed(attempt, other):
            said = "[B, T, …], where the layers take time first ([T, B, …]: batch_first is False)"
            return other, [Misfit("layout-mismatch", name, said)], None
    return way, [], None


def crossed(attempt: Attempt, way: Way) -> bool:
    """Whether such a layer gets the samples in its dimension of time."""
    from torch import nn

    got, _ = given_to(attempt.model, way, attempt.few, nn.RNNBase, nn.MultiheadAttention)
    shapes = [given[0].shape for m, given in got if getattr(m, "batch_first", None) is False and given]
    return any(len(shape) == 3 and shape[0] == attempt.n and shape[1] != attempt.n for shape in shapes)


def values(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """Pictures on another scale than the mean and std that the model declares."""
    known_by = attempt.said if attempt.said.get("mean") else of_parts(attempt.model) or {}
    mean, std = known_by.get("mean"), known_by.get("std")
    if not mean or not std or not (attempt.drawn or frozenset()).isdisjoint(way.names):
        return way, [], None
    if (scaled := scaled_pictures(attempt.model, way, attempt.few)) is not None:
        return beyond_its_scale(attempt, way, scaled, mean, std)
    if known_by is not attempt.said:
        return way, [], None  # that part standardizes something else
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.batch)
        if not hasattr(x, "is_floating_point") or not x.is_floating_point() or x.ndim < 3 or not x.numel():
            continue
        if is_fake(x):
            continue
        least, most = float(x.min()), float(x.max())
        low, high, white = picture_range(mean, std)
        slack = 0.05 * (high - low)
        inside = low - slack <= least and most <= high + slack
        if inside and (least < -slack or low > -slack):
            continue
        own = 255 if most > 1.5 and least >= 0 else 1 if least >= 0 and most <= 1.0 + 1e-6 else None
        if own is None:
            known = ""  # on neither scale that a picture is stored in: no cure is known
        else:
            scale = "" if own == white else " / 255" if white == 1 else " * 255"
            shape = f".view({', '.join(['-1', *['1'] * (x.ndim - 2)])})"
            known = f"({{x}}{scale} - torch.tensor({mean}){shape}) / torch.tensor({std}){shape}"
        says = f"values from {least:.3g} to {most:.3g}, where the model declares mean {mean} and std {std}:"
        says += f" {low:.3g} to {high:.3g}"
        other = way.mended(name, known) if known else way
        if attempt.fails(other) is None:
            return other, [] if name in attempt.stored else [Misfit(SCALE, name, says)], None
    return way, [], None


def picture_range(mean: list[float], std: list[float]) -> tuple[float, float, int]:
    """Where the values of standardized pictures lie, and how large those of the pictures are at most: a mean above 1 is one of bytes."""
    white = 255 if max(mean) > 1 else 1
    low = min((0 - m) / s for m, s in zip(mean, std, strict=True))
    return low, max((white - m) / s for m, s in zip(mean, std, strict=True)), white


def beyond_its_scale(
    attempt: Attempt, way: Way, scaled: Any, mean: Any, std: Any
) -> tuple[Way, list[Misfit], str | None]:
    """Pictures that the model standardizes itself, and that its first layer gets far beyond where those from 0 to 1 would lie: they are
    stored from 0 to 255, or standardized before. Where it takes bytes, pictures that are not bytes hardly differ from each other."""
    low, high, white = picture_range(mean, std)
    room = BEYOND * (high - low)
    inside = low - room <= float(scaled.min()) and float(scaled.max()) <= high + room
    if inside and white == 1:
        return way, [], None
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x: Any = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.batch)
        if not getattr(x, "is_floating_point", lambda: False)() or x.ndim < 3 or not x.numel() or is_fake(x):
            continue
        least, most = float(x.min()), float(x.max())
        if inside and not 0 < most - least <= WHITE * white:
            continue
        shape = f".view({', '.join(['-1', *['1'] * (x.ndim - 2)])})"
        back = f"({{x}} * torch.tensor({std}){shape} + torch.tensor({mean}){shape})"
        whole = "" if white == 1 else f" * {white}"
        halved = (f"(({{x}} + 1) / 2{whole})",) if least >= -1 - WHITE and most <= 1 + WHITE else ()
        says = f"values from {least:.3g} to {most:.3g}, but the model itself standardizes images and expects values from 0 to {white}"
        for mend in (
            (f"({{x}} {'/' if white == 1 else '*'} 255)",)
            if least >= (0 if white == 1 else -WHITE)
            else (*halved, back)
        ):
            other = way.mended(name, mend)
            made: Any = (
                None if attempt.fails(other) else evaluated(wrapped(expression, other.mends[name]), attempt.batch)
            )
            if made is not None and -WHITE * white <= float(made.min()) and float(made.max()) <= (1 + WHITE) * white:
                return other, [Misfit(SCALE, name, says)], None
        if least < -WHITE * (1 if inside else white):  # by another mean and std than the model's
            return (
                way,
                [Misfit(SCALE, name, says, cured=False, runs=True, fix="leave out the standardization in the dataset")],
                None,
            )
    return way, [], None


def finite(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """Finite values of which the model makes NaN or infinite ones, as attention does where a mask hides all of a sample."""
    given = [v for _, v in flat(attempt.batch) if hasattr(v, "is_floating_point") and not is_fake(v)]
    if not all(map(is_finite, given)) or makes_finite(attempt, way):
        return way, [], None
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.batch)
        if not hasattr(x, "dtype") or is_fake(x):
            continue
        turned = "~{x}" if str(x.dtype) == "torch.bool" else OTHER_WAY
        if turned == OTHER_WAY and not ("mask" in words(name) and bool(((x == 0) | (x == 1)).all())):
            continue  # marks of 0 and 1, such as words that occur, are no mask
        other, real = way.mended(name, turned), "True" if turned != OTHER_WAY else "1"
        if attempt.fails(other, whole=True) is None and makes_finite(attempt, other):
            says = f"{real} marks real values, but the model ignores what is {real}: with this mask its output is NaN"
            return other, [Misfit(SCALE, name, says)], None
    says = "the model's output has NaN or infinite values, and the batch has none"
    return way, [Misfit(SCALE, way.names[0], says, cured=False)], None


def makes_finite(attempt: Attempt, way: Way) -> bool:
    """Whether the output for the whole batch is finite; also where it has no values, or there is none."""
    out = attempt.run(way, whole=True).out  # what the model raises is told elsewhere
    return all(is_finite(v) for _, v in flat(out) if hasattr(v, "is_floating_point") and not is_fake(v))


def broadcast(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """A loss within the model whose output and target are broadcast, [B, 1] with [B], is one over all pairs of samples."""
    if not broadcasts(attempt, way):
        return way, [], None
    says = "its shape is not that of the output: the loss broadcasts the two, over all pairs of samples"
    of_pairs = over_all_pairs(attempt, way) or way.names
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        x: Any = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.few) if name in of_pairs else None
        for mend in ("{x}.unsqueeze(1)", "{x}.squeeze(1)") if getattr(x, "ndim", 0) else ():
            other = way.mended(name, mend)
            fits = x.ndim == 1 or "un" in mend or x.shape[1] == 1
            if fits and attempt.fails(other) is None and not broadcasts(attempt, other):
                return other, [Misfit("shape-mismatch", name, says)], None
    return way, [Misfit("shape-mismatch", way.names[-1], says, cured=False)], None


def broadcasts(attempt: Attempt, way: Way) -> bool:
    """Whether one of torch's losses warns of it, or the model takes such a difference itself."""
    if any("different to the input size" in text for text in attempt.run(way).warned):
        return True
    return bool(over_all_pairs(attempt, way))


def target(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """What cross-entropy, or a loss of one number a sample, would say to the target."""
    done = attempt.run(way, whole=True)
    if done.error is not None:
        return way, [], None
    if of_each_input(attempt, way, done.out):
        return way, [], None
    made, misfits, said = of_loss(fitting_target(way, done.out, attempt.batch), done.out, attempt.batch)
    layers = attempt.model.modules() if hasattr(attempt.model, "modules") else ()
    known = {f"ignore_index={m.ignore_index} " for m in layers if hasattr(m, "ignore_index")}
    if any(mark in m.says for m in misfits for mark in known):
        return way, [], None  # the model's own loss leaves them out
    return made, misfits, said


def padding(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """A mask that the model takes, and padding that changes its output without one."""
    done = attempt.run(way, whole=True)
    if done.error is not None or not attempt.n or time.monotonic() + TIMES * done.seconds > attempt.until:
        return way, [], None
    found = unmasked(attempt.model, way, attempt.batch)
    return (way, [], None) if found is None else (found[0], [found[1]], None)


def silent(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """What no call complains of: a mask the wrong way round, padding that counts as a token."""
    done = attempt.run(way, whole=True)
    if done.error is not None or not attempt.n:
        return way, [], None
    found = []
    for look in (
        (inverted, sees_padding_alone, another_padding, padded_labels)
        if time.monotonic() + TIMES * done.seconds < attempt.until
        else ()
    ):
        way, misfit = look(attempt.model, way, attempt.batch)
        found += [misfit] if misfit is not None else []
    token = token_as_padding(attempt.model, way, attempt.batch)
    return way, [*found, *([token] if token is not None else [])], None


def one_loss(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """A loss that is no number, which no call complains of either."""
    done = attempt.run(way, whole=True)
    if done.error is not None or not attempt.n:
        return way, [], None
    loss = many_losses(attempt.model, way, attempt.batch, done.out, attempt.all)
    return way, [] if loss is None else [loss], None


OF_PATTERNS = (finite, padding, silent)
"""What is told from the values of a batch, if these are real."""
