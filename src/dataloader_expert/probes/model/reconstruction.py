"""Models that give back what they are given, in another size: no call complains of it, and each loss of the two does."""

from __future__ import annotations

from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.attempt import Attempt
from dataloader_expert.probes.model.calling import evaluated
from dataloader_expert.probes.model.mends import Misfit
from dataloader_expert.probes.model.resizing import SMOOTH, resized
from dataloader_expert.probes.model.ways import Way


def rebuilt(attempt: Attempt, way: Way) -> tuple[Way, list[Misfit], str | None]:
    """Pictures of which the model makes some of another size, and that stay as large as they are once they have that size: the model
    is to give them back, as an autoencoder does, and takes multiples of a number. One that enlarges or cuts does so at any size, and one
    whose output has a fixed size gives no larger pictures back."""
    if way.mends or len(way.arguments) != 1:
        return way, [], None
    y: Any = None if way.aim is None else evaluated(way.aim, attempt.few)
    if len(getattr(y, "shape", ())) > 1:  # it is what the output is compared with
        return way, [], None
    name, x = way.names[0], evaluated(way.arguments[0][1], attempt.few)
    size = _size(attempt, way, x)
    if size is None or size == tuple(x.shape[2:]):
        return way, [], None
    other = way.mended(name, resized(*size, SMOOTH))
    twice = 2 * size[0], 2 * size[1]
    for run, made in ((way.mended(name, resized(*twice, SMOOTH)), twice), (other, size)):
        if attempt.fails(run) is not None or _size(attempt, run, x) != made:
            return way, [], None
    said = [f"{height} x {width}" for height, width in (x.shape[2:], size)]
    says = f"the input is {said[0]} and the output {said[1]}: a reconstruction loss needs equal sizes"
    return other, [Misfit("shape-mismatch", name, says, runs=True)], None


def _size(attempt: Attempt, way: Way, x: Any) -> tuple[int, int] | None:
    """Height and width of the output, if that is one tensor of as many pictures of as many channels."""
    made = [v for _, v in flat(attempt.run(way).out) if hasattr(v, "shape")]
    pictures = len(made) == 1 and getattr(x, "ndim", 0) == made[0].ndim == 4 and x.is_floating_point()
    if not pictures or made[0].shape[:2] != x.shape[:2]:
        return None
    height, width = made[0].shape[2:]
    return int(height), int(width)
