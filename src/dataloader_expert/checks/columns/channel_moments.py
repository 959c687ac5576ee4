"""Mean and std of each channel of arrays that are pictures, over the training split if there is one: one of each for all channels does not
bring them to one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dataloader_expert.facts import Evidence, Fact, Quantity
from dataloader_expert.sources.base import Block, Column, Field

CHANNEL_MOMENTS = Quantity(
    "channel_moments",
    "stored units",
    "mean and std of each channel of an array of pictures, over the training split if there is one",
)
MOST_CHANNELS, LEAST_SIDE = 16, 17
"""The most channels of a picture, and the least height and width, so that neither is taken for the other."""


def channel_axis(shape: Sequence[int | None], least: int = 2) -> int | None:
    """The place of the channels in the shape of a picture that has so many or more; None: it is the shape of something else."""
    for axis, sides in ((0, shape[1:]), (2, shape[:2])) if len(shape) == 3 else ():
        channels = shape[axis]
        if (
            channels is not None
            and least <= channels <= MOST_CHANNELS
            and all(s is None or s >= LEAST_SIDE for s in sides)
        ):
            return axis
    return None


class Channels:
    """What adds up to the moments of each channel, of fields of pictures in floats."""

    def __init__(self, fields: Iterable[Field]) -> None:
        shapes = {f.name: f.shape for f in fields if f.kind == "array" and "float" in f.dtype}
        axes = {name: channel_axis(shape) for name, shape in shapes.items()}
        self.axes = {name: axis for name, axis in axes.items() if axis is not None}
        self.widths = {name: shapes[name][axis] for name, axis in self.axes.items()}
        self.sums: dict[tuple[str, bool], Any] = {}
        """By field and whether they train: of each channel, how many values, their sum and that of their squares."""

    def see(self, block: Block, splits: Sequence[str | None], codes: Any) -> None:
        import numpy as np

        trains = np.array([name == "train" for name in splits], bool)[codes]
        for field, axis in self.axes.items():
            for train, picture in zip(trains, _values(block.columns.get(field)), strict=False):
                if getattr(picture, "ndim", 0) != 3 or picture.shape[axis] != self.widths[field]:
                    continue
                planes = np.moveaxis(np.asarray(picture, np.float64), axis, 0).reshape(picture.shape[axis], -1)
                if np.isfinite(planes).all():
                    sums = np.stack([np.full(len(planes), planes.shape[1]), planes.sum(1), (planes**2).sum(1)])
                    self._add((field, bool(train)), sums)

    def _add(self, key: tuple[str, bool], sums: Any) -> None:
        held = self.sums.get(key)
        self.sums[key] = sums if held is None else held + sums

    def merge(self, other: Channels) -> None:
        for key, sums in other.sums.items():
            self._add(key, sums)

    def facts(self, seen: Evidence) -> Iterable[Fact]:
        import numpy as np

        for field in self.axes:
            sums = self.sums.get((field, True), self.sums.get((field, False)))
            if sums is not None:
                count, total, squares = sums
                mean = total / count
                std = np.sqrt(np.maximum(squares / count - mean**2, 0))
                value = {"mean": mean.round(6).tolist(), "std": std.round(6).tolist()}
                yield Fact(CHANNEL_MOMENTS, value, seen, {"field": field})


def _values(column: Column | None) -> Iterable[Any]:
    return () if column is None else column.values
