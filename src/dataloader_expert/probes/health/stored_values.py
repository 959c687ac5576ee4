"""Stored values that reading a sample changes: a label that is decremented in place, an image that is normalised where it is kept.

Looked for in what a dataset holds for each sample: arrays, tensors and lists as long as the dataset, among the attributes of the
dataset and of the objects that it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.health.generators import draws
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.sources.held import attributes, owners_of

DEPENDS = Quantity(
    "depends_on_reads", "", "samples that differ when read again, although no random number is drawn, of those read"
)
REWRITTEN = Quantity(
    "stored_values_changed",
    "",
    "attributes whose values reading a sample changes, of samples that differ when read again",
)


def changed(dataset: Any, differ: Sequence[int], read: int, by: str) -> Iterator[Fact]:
    """Why samples differ when they are read again: reading them changes what is stored, or they depend on what was read before.

    Args:
        differ: these samples, of ``read``.
        by: the probe that read them.
    """
    try:
        names = rewritten(dataset, differ[0])
        depends = not names and not draws(dataset, differ[0])
    except Exception:  # the scan says which samples raise
        return
    value = {"differ": len(differ), "read": read}
    if depends:
        yield Fact(DEPENDS, value, evidence("counted", by, seen=read))
    if names:
        yield Fact(REWRITTEN, {"attributes": names, **value}, evidence("counted", by, seen=read))


def rewritten(dataset: Any, index: int) -> list[str]:
    """The attributes that hold other values for a sample once it is read again; empty where none does."""
    before = _rows(dataset, index)
    dataset[index]
    after = _rows(dataset, index)
    return sorted(name for name, word in before.items() if after.get(name, word) != word)


def _rows(dataset: Any, index: int) -> dict[str, str]:
    """A digest of what each attribute holds for a sample."""
    n = len(dataset)
    return {name: word_of(held[index]) for name, held in _by_sample(dataset, n)}


def _by_sample(dataset: Any, n: int) -> Iterator[tuple[str, Any]]:
    for owner in owners_of(dataset):
        for name, value in attributes(owner).items():
            held: Any = value
            if (_array(held) or type(held) is list) and len(held) == n:
                yield f"{type(owner).__name__}.{name}", held


def _array(value: Any) -> bool:
    """Whether it is an array or a tensor with at least one dimension."""
    return (
        hasattr(value, "dtype")
        and hasattr(value, "shape")
        and bool(getattr(value, "ndim", 0))
        and hasattr(value, "__getitem__")
    )
