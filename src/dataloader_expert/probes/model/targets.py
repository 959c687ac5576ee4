"""What a loss outside the model would say to the target, and what mends it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.calling import evaluated
from dataloader_expert.probes.model.mends import Misfit, black_and_white, is_fake, of_classes, of_masks, of_target
from dataloader_expert.probes.model.resizing import OF_SIZE, of_pixels
from dataloader_expert.probes.model.ways import TARGET, Way, accessors, wrapped


def fitting_target(way: Way, out: Any, batch: Any) -> Way:
    """The way with the field as its target that fits the output best, where only the place of the present one says that it is one."""
    if not way.guessed:
        return way
    fed = {expression for _, expression in way.arguments}
    if way.target in fed and all(not v.ndim for _, v in flat(out) if hasattr(v, "ndim")):
        return replace(way, target=None, guessed=False)  # it is an input of a model that gives its loss
    fits = {}
    for expression in dict.fromkeys([str(way.target), *accessors(batch).values()]):
        y = main = None
        with contextlib.suppress(Exception):  # it may refuse the mends of the present target
            y = evaluated(wrapped(expression, way.mends.get(TARGET, ())), batch)
            main = main_output(out, expression)
        if expression not in fed and main is not None and getattr(y, "shape", ())[:1] == main.shape[:1]:
            fits[expression] = _misfit_of(main, y)
    sure = len(fits) < 2 and not isinstance(batch, Mapping)
    return replace(way, target=min(fits, key=lambda e: fits[e]), guessed=not sure) if fits else way


def _misfit_of(main: Any, y: Any) -> tuple[int, int]:
    """How badly a target fits the output: classes of which the output has too many, or sizes that differ."""
    if is_fake(y) or y.is_complex() or not y.ndim or not y.numel():
        return 3, 0
    if y.shape == main.shape:
        return 0, 0
    of_classes = not y.is_floating_point() and main.ndim > 1
    if main.ndim in (1, 2, 4) and refused_by_loss(main, y) is None:
        return 0, main.shape[1] - 1 - int(y.max()) if of_classes else 0
    if main.ndim in (1, 2):
        classes = main.shape[1] if main.ndim == 2 else 1
        with contextlib.suppress(ValueError, OverflowError):  # of no finite value
            made = (evaluated(wrapped("batch", (m.expression,)), y) for m in of_target(y, classes))
            if any(refused_by_loss(main, x) is None for x in made):
                return 1, 0
    alike = sum(a == b for a, b in zip(y.shape, main.shape, strict=True)) if y.ndim == main.ndim else 0
    return (2, -alike) if alike > 1 else (3, 0)


def of_loss(way: Way, out: Any, batch: Any) -> tuple[Way, list[Misfit], str | None]:
    """What cross-entropy, or a loss of one number a sample, would say to the target. Of one that is only guessed it is a warning."""
    made, misfits, error = _of_loss(way, out, batch)
    if way.guessed:
        guess = "; this field is only guessed to be the target: name it with label="
        misfits = [replace(m, says=m.says + guess, runs=True) for m in misfits]
    return made, misfits, error


def _of_loss(way: Way, out: Any, batch: Any) -> tuple[Way, list[Misfit], str | None]:
    if way.aim is None or any(p in ("label", "labels", "target", "targets") for p, _ in way.arguments):
        return way, [], None
    try:
        y = evaluated(way.aim, batch)
    except Exception:  # it names what the batch does not hold: calls tell
        return way, [], None
    main = main_output(out, way.aim)
    if main is None or not hasattr(y, "is_floating_point") or is_fake(y) or len(y) != len(main):
        return way, [], None
    if main.ndim == 4 and main.shape[1] > 1 and y.ndim == 4 and y.shape[1] == 1 and y.shape[2:] == main.shape[2:]:
        for mend in of_masks(y):
            return way.mended(TARGET, mend.expression), [Misfit(mend.code, TARGET, mend.says)], None
    of_one = y.ndim == 3 or (y.ndim == 4 and (main.shape[1] == y.shape[1] or y.shape[1] == 1))
    if main.ndim == 4 and of_one and y.shape[-2:] != main.shape[2:]:
        return _dense_target(way, main, y, batch)
    if main.ndim == 4 and of_one and main.shape[1] == 1 and y.is_floating_point() and black_and_white(y):
        says = "masks of 0 and 255, where binary cross-entropy takes 0 and 1"
        one = "({x} / 255)" if y.ndim == 4 else "({x} / 255).unsqueeze(1)"
        return way.mended(TARGET, one), [Misfit("value-range-mismatch", TARGET, says)], None
    if main.ndim == 4 and main.shape[1] > 1 and y.ndim == 3 and not y.is_floating_point():
        return _dense_classes(way, main, y, batch)
    if main.ndim not in (1, 2):
        return way, [], None
    classes = main.shape[1] if main.ndim == 2 else 1
    if classes > 1 and y.shape == main.shape and bool((y.sum(1) != 1).any()):  # several labels a sample, or none
        if y.is_floating_point() or int(y.min()) < 0 or int(y.max()) > 1:
            return way, [], None
        says = f"several labels a sample, of dtype {str(y.dtype).removeprefix('torch.')}, where binary cross-entropy takes float32"
        return way.mended(TARGET, "{x}.float()"), [Misfit("dtype-mismatch", TARGET, says)], None
    if refused_by_loss(main, y) is None:
        return way, [], None
    for mend in of_target(y, classes):
        if refused_by_loss(main, evaluated(wrapped(way.aim, (mend.expression,)), batch)) is None:
            says = f"{mend.says} (the output is [B{''.join(f', {d}' for d in main.shape[1:])}])"
            return way.mended(TARGET, mend.expression), [Misfit(mend.code, TARGET, says)], None
    if classes > 1 and y.ndim == 2 and y.shape[1] not in (1, classes):
        says = f"{y.shape[1]} labels a sample, where the model's output has {classes} numbers"
        return way, [Misfit("shape-mismatch", TARGET, says, cured=False)], None
    says = f"labels from {int(y.min())} to {int(y.max())}, where the model's output has {classes} classes"
    if classes > 1 and int(y.max()) >= classes:
        says += f": it needs at least {int(y.max()) + 1}"  # other samples may have more
    code = "label-out-of-range" if classes > 1 and int(y.max()) >= classes else "shape-mismatch"
    return way, [Misfit(code, TARGET, says, cured=False)], None


def suits(way: Way, out: Any, batch: Any) -> bool:
    """Whether the output has at most one dimension more than the target, that of classes; also where there is no target."""
    if way.aim is None:
        return True
    try:
        y: Any = evaluated(way.aim, batch)
    except Exception:  # it names what the batch does not hold: calls tell
        return True
    main = main_output(out, way.aim)
    return main is None or not hasattr(y, "ndim") or bool(main.ndim <= y.ndim + 1)


def _dense_classes(way: Way, main: Any, y: Any, batch: Any) -> tuple[Way, list[Misfit], str | None]:
    """Masks with values beyond the output's classes."""
    whole = y.long()
    if refused_by_loss(main, whole) is None:
        return way, [], None  # masks are converted in the training loop as often as in the dataset
    for mend in of_classes(whole):
        expression = wrapped("{x}.long()", (mend.expression,))
        if refused_by_loss(main, evaluated(wrapped(str(way.aim), (expression,)), batch)) is None:
            return way.mended(TARGET, expression), [Misfit(mend.code, TARGET, mend.says)], None
    if int(whole.max()) < main.shape[1]:
        return way, [], None  # another loss may take them
    says = f"labels from {int(y.min())} to {int(y.max())}, where the model's output has {main.shape[1]} classes"
    return way, [Misfit("label-out-of-range", TARGET, says, cured=False)], None


def _dense_target(way: Way, main: Any, y: Any, batch: Any) -> tuple[Way, list[Misfit], str | None]:
    """A mask of another height and width than the output, such as that of an image that was resized."""
    height, width = main.shape[2:]
    says = f"masks of {y.shape[-2]} x {y.shape[-1]} where the output has {height} x {width}"
    resize = of_pixels(height, width, y)
    mended = way.mended(TARGET, resize)
    fits = evaluated(wrapped(str(way.aim), (resize,)), batch).shape[-2:] == main.shape[2:]
    if fits and of_resized(way, y, batch):
        return mended, [], None
    return mended if fits else way, [Misfit("shape-mismatch", TARGET, says, cured=fits)], None


def of_resized(way: Way, y: Any, batch: Any) -> bool:
    """Whether a mask is as large as a picture that the cure resizes: it is no misfit of its own, and is resized with it."""
    where = accessors(batch)
    resized = [where[name] for name, mends in way.mends.items() if name in where and any(map(OF_SIZE.search, mends))]
    return any(getattr(evaluated(x, batch), "shape", ())[-2:] == y.shape[-2:] for x in resized)


def main_output(out: Any, target: str) -> Any:
    """What of the model's output is compared with this target: the only tensor of floats, the one called like it, or logits."""
    found = {n: v for n, v in flat(out) if hasattr(v, "is_floating_point") and v.is_floating_point() and v.ndim}
    if len(found) <= 1:
        return next(iter(found.values()), None)
    if isinstance(out, list | tuple) and not hasattr(out, "_fields"):
        return next(iter(found.values()))
    named = re.findall(r"\['([^']*)'\]", target)
    return found.get(named[-1] if named else "", found.get("logits"))


def refused_by_loss(out: Any, y: Any) -> str | None:
    import torch.nn.functional as F

    try:
        if out.ndim in (2, 4) and out.shape[1] > 1:
            F.cross_entropy(out.float(), y)
        else:
            F.binary_cross_entropy_with_logits(out.float(), y)
    except Exception as e:  # torch tells what it refuses by several kinds
        return str(e)
    return None
