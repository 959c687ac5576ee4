"""What is told of labels that are wrong in a part, which several checks read."""

from __future__ import annotations

from dataloader_expert.facts import Quantity

MOVED = Quantity("labels_moved", "samples", "stretches of rows whose labels fit the samples before or after them")
EXCHANGED = Quantity(
    "labels_exchanged", "samples", "stretches of rows in which each class has the label of another one, and of which"
)
STOPPED = Quantity(
    "labels_stopped",
    "samples",
    "samples after a time from which on only one label is given, and the share of others before",
)
