"""A real batch as the DataLoader delivers it: fields, shapes, dtypes and bytes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Fact, Json, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.data.layout import FORMAT
from dataloader_expert.probes.model.feeding import FIT
from dataloader_expert.probes.serving import Serving, flat, serving

BATCH = Quantity("batch", "", "fields of real batches: shape, dtype, bytes per sample, whether they vary")
COLLATE = Quantity("collate", "", "the collate function and why")
BATCH_SIZE_USED = Quantity("batch_samples", "samples", "samples in each batch looked at")
BATCHES = 4


@dataclass(frozen=True)
class BatchLook(Probe):
    name: ClassVar[str] = "batch"
    batch_size: int | None = None

    def measure(self, bench: Bench) -> Iterable[Observation]:
        served = serving(bench, self.batch_size, None if bench.source.format == "reference" else 0)
        batches: list[Any] = []
        served.fit(bench, FIT * bench.left())
        until = bench.until(0.1) or math.inf
        stream = iter(in_this_process(served))
        for _ in range(BATCHES):
            batch = next(stream, None)
            if batch is None:
                break
            batches.append(batch)
            if time.monotonic() > until:
                break
        if not batches:
            raise RuntimeError("the loader delivers no batch: is drop_last set with fewer samples than a batch?")
        sizes = [served.count(b) for b in batches]
        leaves = [dict(flat(b)) for b in batches]
        padded = {n for b in leaves for n in b if f"{n}_lengths" in b} if served.collate_name == "pad" else set()
        fields = [
            field_of(name, [b[name] for b in leaves], sizes, name in padded)
            for name in leaves[0]
            if all(name in b for b in leaves)
        ]
        structure = "dict" if isinstance(batches[0], dict) else type(batches[0]).__name__
        yield Fact(BATCH, {"structure": structure, "fields": fields}, evidence("sampled", "batch", seen=len(batches)))
        yield Fact(BATCH_SIZE_USED, sizes, evidence("counted", "batch", seen=len(batches)))
        value = {"name": served.collate_name, "why": why(served), "size": served.size}
        yield Fact(COLLATE, value, evidence("counted", "batch", seen=len(batches)))


def in_this_process(served: Serving) -> Any:
    """The loader without workers, whose batches are the same; the user's unchanged if it cannot be rebuilt."""
    from dataloader_expert.loaders.building import CannotRebuild

    try:
        return served.loader(served.current.but(workers=0))
    except CannotRebuild:
        return served.loader(served.current)


def field_of(name: str, values: list[Any], sizes: list[int], padded: bool = False) -> dict[str, Json]:
    """One field over several batches; a dimension that differs between them is null (varies).

    That of a padded field always varies: the longest samples of some batches may have the same length by chance.
    """
    first = values[0]
    if hasattr(first, "shape") and hasattr(first, "dtype"):
        ranks = {v.ndim for v in values}
        shape: list[Any] = [None]
        if len(ranks) == 1:
            shape = [d[0] if len(set(d)) == 1 else None for d in zip(*(v.shape for v in values), strict=True)]
        if first.ndim and all(v.shape[0] == n for v, n in zip(values, sizes, strict=True)):
            shape[0] = "B"
        if padded and len(shape) > 1:
            shape[1] = None
        per = sum(v.element_size() * v.nelement() if hasattr(v, "element_size") else v.nbytes for v in values) / sum(
            sizes
        )
        dtype = str(first.dtype).removeprefix("torch.")
        return {"name": name, "dtype": dtype, "shape": shape, "bytes_per_sample": per, "variable": None in shape}
    if isinstance(first, list | tuple):
        texts = [x for v in values for x in v]
        size = sum(len(x.encode("utf-8", "replace")) if isinstance(x, str) else 8 for x in texts) / max(1, len(texts))
        kind = "str" if texts and isinstance(texts[0], str) else type(texts[0]).__name__ if texts else "list"
        return {"name": name, "dtype": kind, "shape": ["B"], "bytes_per_sample": size, "variable": kind == "str"}
    return {"name": name, "dtype": type(first).__name__, "shape": [], "bytes_per_sample": 8.0, "variable": False}


def why(served: Serving) -> str:
    if served.user_loader is not None:
        return "the user's own"
    if served.collate_name == "pad":
        return "a field varies in its first dimension: it is zero-padded to the longest, and its lengths are kept"
    if served.collate_name == "list":
        return (
            "the default collate cannot stack these samples: batches are plain lists until you write a collate function"
        )
    if served.size is not None:
        return f"images of several sizes are resized to {served.size[0]} x {served.size[1]}, then stacked"
    return "all fields stack as they are"


@dataclass(frozen=True)
class DescribedBatch(Probe):
    """The fields of a batch that a request describes, in place of data."""

    name: ClassVar[str] = "described"
    input: Any = None

    def ready(self, bench: Bench) -> None:
        from dataloader_expert.probes.model.spec import of_input

        try:
            of_input(self.input)
        except ValueError as e:
            raise RequestError("invalid-argument", str(e)) from None

    def measure(self, bench: Bench) -> Iterable[Observation]:
        from dataloader_expert.probes.model.spec import leaves, of_input

        seen = evidence("declared", "described")
        fields = [
            {
                "name": name,
                "dtype": leaf.dtype,
                "shape": list(leaf.shape),
                "bytes_per_sample": leaf.bytes_per_sample(),
                "variable": False,
            }
            for name, leaf in leaves(of_input(self.input))
        ]
        yield Fact(FORMAT, "input", seen)
        yield Fact(BATCH, {"structure": "dict", "fields": fields}, seen)


PROBES = (BatchLook, DescribedBatch)
