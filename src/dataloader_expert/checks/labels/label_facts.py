"""What is told of labels that are wrong in a part, which several checks read."""

from __future__ import annotations

from dataloader_expert.facts import Quantity

MOVED = Quantity("labels_moved", "samples", "stretches of rows whose labels fit the samples before or after them")
SWAPPED = Quantity(
    "labels_swapped", "samples", "stretches of rows in which classes carry each other's labels, and which ones"
)
STOPPED = Quantity(
    "labels_stopped",
    "samples",
    "samples from the time on at which only one label remains, and the share of other labels before",
)
