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
UNFIT = Quantity(
    "labels_unfit", "samples", "samples of a part whose labels do not fit their content, and how those of the others do"
)
RENAMED = Quantity(
    "class_renamed_in", "samples", "samples of a part that have the content of one class and the label of another one"
)
