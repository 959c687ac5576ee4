"""Boxes that are no corners: [x, y, width, height], where a detector takes [x1, y1, x2, y2] in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated, ran
from dataloader_expert.probes.model.mends import Misfit, is_fake
from dataloader_expert.probes.model.ways import Way, wrapped

CORNERS = 'torch.cat([t["boxes"][:, :2], t["boxes"][:, :2] + t["boxes"][:, 2:]], 1)'


def as_corners(attempt: Attempt, way: Way) -> tuple[Way, Misfit] | None:
    """The way with boxes as corners, for a model that raises in training mode and does not with these; None: it is of something else."""
    for (_, expression), name in zip(way.arguments, way.names, strict=True):
        targets = evaluated(wrapped(expression, way.mends.get(name, ())), attempt.batch)
        if not isinstance(targets, list | tuple) or not are_sizes(targets):
            continue
        made = f'[{{**t, "boxes": {CORNERS}}} for t in {{x}}]'
        other = way.mended(name, made)
        attempt.model.train()
        try:
            runs = ran(attempt.model, other, attempt.batch, training=True).error is None
        finally:
            attempt.model.eval()
        if runs:
            says = "boxes of [x, y, width, height], where the model takes corners in training: [x1, y1, x2, y2]"
            boxes = [t["boxes"] for t in targets if len(t.get("boxes", ()))]
            if all(bool((b[:, :2] >= b[:, 2:] / 2).all()) for b in boxes):
                says += "; the cure takes x and y for the left top corner: if they are the centre, subtract half of the size first"
            return other, Misfit("layout-mismatch", f"{name}.boxes", says)
    return None


def are_sizes(targets: Any) -> bool:
    """Whether the boxes of these targets end in widths and heights: all are positive, and as corners some would lie before their first."""
    boxes = [t["boxes"] for t in targets if isinstance(t, Mapping) and getattr(t.get("boxes"), "ndim", 0) == 2]
    boxes = [b for b in boxes if b.shape[1] == 4 and len(b) and not is_fake(b)]
    if not boxes or len(boxes) < sum(1 for t in targets if isinstance(t, Mapping) and len(t.get("boxes", ()))):
        return False
    return all(bool((b[:, 2:] > 0).all()) for b in boxes) and any(bool((b[:, 2:] <= b[:, :2]).any()) for b in boxes)
