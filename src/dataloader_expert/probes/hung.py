"""Samples that did not come."""

from __future__ import annotations

from typing import NamedTuple

from dataloader_expert.facts import Quantity

HANGS = Quantity("sample_hangs", "samples", "samples that were given up: for how long they were waited for, and where")


LONG_SAMPLES = Quantity(
    "long_samples",
    "s",
    "time that samples take which are read one by one for a second or longer, and where they spend it",
)


class Hang(NamedTuple):
    """``waits``: it used hardly any CPU time; ``others_come``: other samples were read."""

    seconds: float
    waits: bool
    where: str
    others_come: bool
