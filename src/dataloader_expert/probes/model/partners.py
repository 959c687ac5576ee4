"""Fields that belong to one that a cure reorders, resizes or cuts: what a loss is then to be given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated
from dataloader_expert.probes.model.mends import Misfit, is_fake
from dataloader_expert.probes.model.resizing import CUT, OF_SIZE, of_pixels
from dataloader_expert.probes.model.ways import Way, accessors, wrapped


def partners(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """The way with the fields that are not fed changed as those are that they belong to; a warning where its target is another."""
    fields = accessors(attempt.few)
    fed = {expression for _, expression in way.arguments}
    beside: dict[str, Any] = {}
    for name, expression in fields.items():
        y: Any = None if expression in fed or expression == way.target else evaluated(expression, attempt.few)
        if hasattr(y, "is_floating_point") and not is_fake(y) and not name.endswith("_lengths"):
            beside[name] = y
    made: dict[str, str] = {}
    for name, mends in way.mends.items():
        x: Any = evaluated(fields[name], attempt.few) if name in fields else None
        for mend in mends if hasattr(x, "ndim") else ():
            changed = {other: change for other, y in beside.items() if (change := alike(mend, x, y)) is not None}
            made |= {other: wrapped(fields[other], (change,)) for other, change in changed.items()}
    if not made or way.target is None:
        return replace(way, partners=tuple(made.items())), [], None
    says = "it belongs to what the cure changes, and stays as it was"
    left = [Misfit("layout-mismatch", n, says, cured=False, runs=True, fix=f"take {e}") for n, e in made.items()]
    return way, left, None


def alike(mend: str, x: Any, y: Any) -> str | None:
    """How a field ``y`` is changed that belongs to ``x``, which ``mend`` changes; None: it stays."""
    if mend.startswith("{x}[") and mend.endswith(".argsort(descending=True)]"):
        return mend if y.ndim and len(y) == len(x) else None
    size, cut = OF_SIZE.search(mend), CUT.match(mend)
    if size is not None and "interpolate" in mend and y.ndim in (3, 4) and y.shape[-2:] == x.shape[-2:]:
        return of_pixels(int(size[1]), int(size[2]), y)
    if cut is not None and y.ndim > 1 and y.shape[:2] == x.shape[:2]:
        return f"{{x}}[:, :{cut[1]}]"
    return None
