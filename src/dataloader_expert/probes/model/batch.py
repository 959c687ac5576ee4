"""A real batch as the DataLoader delivers it: fields, shapes, dtypes and bytes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.errors import RequestError, listed
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, in_words
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.data.layout import FORMAT
from dataloader_expert.probes.data.pictures import first_of
from dataloader_expert.probes.model.collated import COLLATED, lost
from dataloader_expert.probes.model.extremes import Extremes, extremes
from dataloader_expert.probes.model.feeding import FIT
from dataloader_expert.probes.model.growth import BATCH_DIMENSION, FEW, GROWTH, Growth, grown
from dataloader_expert.probes.serving import Serving, no_batch, serving
from dataloader_expert.sources.users import is_users

BATCH = Quantity("batch", "", "fields of real batches: shape, dtype, bytes per sample, whether they vary")
COLLATE = Quantity("collate", "", "the collate function and why")
BATCH_SIZE_USED = Quantity("batch_samples", "samples", "samples in each batch looked at")
SPREAD = Quantity(
    "batch_spread",
    "bytes",
    "bytes per sample of a batch, median and most; the samples at the ends of the range, and odd ones",
)
BATCHES = 4
OVER = 24
"""Samples from all over the data set that are collated alone."""


@dataclass(frozen=True)
class BatchLook(Probe):
    """Batches of the loader.

    ``ends``: batches of the largest, the smallest and the odd samples of its whole range too, for which many are read.
    ``pictures``: the first samples are kept for thumbnails.
    """

    name: ClassVar[str] = "batch"
    doing: ClassVar[str] = "making a batch"
    batch_size: int | None = None
    pictures: bool = False
    ends: bool = False

    def measure(self, bench: Bench) -> Iterable[Observation]:
        from dataloader_expert.loaders.collate import varying_argument

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
            raise RuntimeError(no_batch(served))
        found, ends, failed = at_the_ends(bench, served) if self.ends else (None, [], None)
        sizes, more = [served.count(b) for b in batches], [served.count(b) for b in ends]
        leaves = [dict(flat(b, n=n)) for b, n in zip(batches, sizes, strict=True)]
        further = [dict(flat(b, n=n)) for b, n in zip(ends, more, strict=True)]
        of = {}
        if self.ends:
            tried = [*(found.largest[:1] if found else ()), *(found.smallest[: FEW - 1] if found else range(FEW))]
            of = grown(served, tried, [*leaves, *further], [*sizes, *more])
        padded = served.varying | {
            f"{name}.0": at for name, at in served.varying.items()
        }  # of a tuple, next to its lengths
        fields = []
        for name in leaves[0]:
            if not all(name in b for b in leaves):
                continue
            extra = [(b[name], n) for b, n in zip(further, more, strict=True) if name in b]
            field = field_of(name, [b[name] for b in leaves], sizes, padded.get(name), extra)
            fields.append(with_batch_dimension(field, of.get(name)))
        structure = "dict" if isinstance(batches[0], dict) else type(batches[0]).__name__
        yield Fact(BATCH, {"structure": structure, "fields": fields}, evidence("sampled", "batch", seen=len(batches)))
        yield Fact(BATCH_SIZE_USED, sizes, evidence("counted", "batch", seen=len(batches)))
        value = {
            "name": served.collate_name,
            "why": why(served, fields, failed is not None),
            "size": served.size,
            "varying": varying_argument(served.varying),
            "place": users_place(served.collate),
        }
        yield Fact(COLLATE, value, evidence("counted", "batch", seen=len(batches)))
        if self.pictures:
            bench.shown = first_of(leaves[0])
        each = sorted(_bytes(b) / n for b, n in zip((*leaves, *further), (*sizes, *more), strict=True))
        spread: dict[str, Json] = {
            "median": each[len(each) // 2],
            "most": each[-1],
            "padding": padding(leaves, served.varying, served.user_loader is not None),
            "failed": failed,
        }
        if found is not None:
            odd = [{"sample": i, "is": k} for i, k in found.odd]
            spread |= {"samples": found.looked, "largest": found.largest[0], "smallest": found.smallest[0], "odd": odd}
            padded_to = any(None in f["shape"][1:] and not f["host"] for f in fields)
            spread["apart"] = asdict(found.apart) if found.apart is not None and padded_to else None
            spread["far"] = [*dict.fromkeys((*found.largest[:1], *(i for i, _ in found.odd[:2]), *found.highest))]
        yield Fact(SPREAD, spread, evidence("sampled", "batch", seen=len(batches) + len(ends)))
        if self.ends and found is not None and served.user_loader is not None and users_place(served.collate):
            with suppress(Exception):  # of the user's collate function or dataset: other probes tell
                tried = list(dict.fromkeys([*found.largest[: FEW - 1], *found.smallest[:1], *spread_over(served)]))
                yield Fact(COLLATED, lost(served, tried), evidence("sampled", "batch", seen=len(tried)))
        if self.ends:
            growth = {name: how.to_json() for name, how in of.items()}
            yield Fact(GROWTH, growth, evidence("sampled", "batch", seen=len(batches) + len(ends)))


def spread_over(served: Serving) -> range:
    """The numbers of samples from all of the data set."""
    n = len(served.dataset)
    return range(0, n, max(1, n // OVER))


def at_the_ends(bench: Bench, served: Serving) -> tuple[Extremes | None, list[Any], dict[str, Json] | None]:
    """Batches of the largest, smallest and odd samples; and the samples of one that do not collate, with the error."""
    from dataloader_expert.loaders.building import plain

    if bench.source.iterable or not served.batched:
        return None, [], None
    size, n = served.current.batch_size, len(served.dataset)
    until = time.monotonic() + min(2.0, 0.06 * bench.left())
    found = extremes(served.dataset, n, bench.lengths, until, bench.seed, bench.at, size)
    if not found.largest:
        return None, [], None
    made, failed = [], None
    few = max(2, min(size, 32)) if served.ours else size
    odd = [(found.largest[0], i) for i, _ in found.odd[:2]]
    for chosen in map(list, (found.largest[:few], found.smallest[:few], *odd)):
        if time.monotonic() > until + 1:
            break
        try:
            made.append(next(iter(plain(served.dataset, served.collate, batch_sampler=[chosen]))))
        except Exception as e:  # of the user's collate function or dataset
            failed = {"samples": chosen[:4], "error": in_words(e)}
    return found, made, failed


def padding(leaves: list[dict[str, Any]], varying: Mapping[str, int], own: bool = False) -> float | None:
    """The share of padded fields that is padding; 0 where none is padded, None for a collate function of the user's ``own``
    that gives no lengths."""
    held = whole = 0
    for batch in leaves:
        for name, lengths in batch.items():
            field = name.removesuffix("_lengths")
            if field == name and name.endswith(".1") and name.removesuffix(".1") in varying:
                field = name.removesuffix("1") + "0"
            if field != name and field in batch and hasattr(lengths, "sum"):
                at = 1 + varying.get(field.removesuffix(".0"), varying.get(field, 0))
                held += int(lengths.sum())
                whole += int(batch[field].shape[0] * batch[field].shape[at])
    return 1 - held / whole if whole else None if own else 0.0


def _bytes(leaves: dict[str, Any]) -> float:
    return sum(_size(v) for v in leaves.values())


def _size(value: Any) -> float:
    if hasattr(value, "element_size"):
        return float(value.element_size() * value.nelement())
    if hasattr(value, "nbytes"):
        return float(value.nbytes)
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    return float(len(value.encode("utf-8", "replace"))) if isinstance(value, str) else 8.0


def in_this_process(served: Serving) -> Any:
    """The loader without workers, whose batches are the same; the user's unchanged if it cannot be rebuilt."""
    from dataloader_expert.loaders.building import CannotRebuild

    try:
        return served.loader(served.current.but(workers=0))
    except CannotRebuild:
        return served.loader(served.current)


def field_of(
    name: str,
    values: list[Any],
    sizes: list[int],
    padded: int | None = None,
    extra: list[tuple[Any, int]] | None = None,
) -> dict[str, Json]:
    """One field over several batches; a dimension that differs between them is null (varies).

    The ``padded`` one always varies: the longest samples of some batches may have the same length by chance.
    ``extra``: the field in batches of extreme samples, and their sizes; they count for shapes, not for mean bytes.
    """
    first = values[0]
    per = sum(map(_size, values)) / max(1, sum(sizes))
    if hasattr(first, "shape") and hasattr(first, "dtype"):
        alike = [(v, n) for v, n in extra or [] if hasattr(v, "shape")]
        shapes = [tuple(v.shape) for v in (*values, *(v for v, _ in alike))]
        counts = [*sizes, *(n for _, n in alike)]
        shape: list[Any] = [None]
        ranges: list[Any] = [None]
        if len({len(s) for s in shapes}) == 1:
            shape = [d[0] if len(set(d)) == 1 else None for d in zip(*shapes, strict=True)]
            ranges = [[min(d), max(d)] for d in zip(*shapes, strict=True)]
        if first.ndim and all(s and s[0] == n for s, n in zip(shapes, counts, strict=True)):
            shape[0], ranges[0] = "B", None
        if padded is not None and len(shape) > 1 + padded:
            shape[1 + padded] = None
        dtype = str(first.dtype).removeprefix("torch.")
        return _field(name, dtype, shape, per, None in shape, ranges, False)
    if isinstance(first, list | tuple) and any(hasattr(x, "element_size") for x in first):
        listed = [x for v in values for x in v if hasattr(x, "element_size")]
        dims = list(zip(*(x.shape for x in listed), strict=len({x.ndim for x in listed}) == 1))
        fixed = [d[0] if len(set(d)) == 1 else None for d in dims]
        kind = str(listed[0].dtype).removeprefix("torch.")
        return _field(name, kind, ["B", *fixed], per, True, [None, *([min(d), max(d)] for d in dims)], True)
    if isinstance(first, list | tuple):
        texts = [x for v in values for x in v]
        kind = "str" if texts and isinstance(texts[0], str) else type(texts[0]).__name__ if texts else "list"
        return _field(name, kind, ["B"], per, kind == "str", [None], True)
    return _field(name, type(first).__name__, [], 8.0, False, [], True)


def with_batch_dimension(field: dict[str, Json], how: Growth | None) -> dict[str, Json]:
    """The field, whose batch is in another dimension than the first, as where time comes first."""
    at = [] if how is None else [i for i, d in enumerate(how.shape) if d == BATCH_DIMENSION]
    if len(at) != 1 or BATCH_DIMENSION in field["shape"] or len(field["shape"]) <= at[0]:
        return field
    shape, ranges = list(field["shape"]), list(field["range"])
    shape[at[0]], ranges[at[0]] = BATCH_DIMENSION, None
    return {**field, "shape": shape, "range": ranges, "variable": None in shape}


def _field(
    name: str, dtype: str, shape: list[Any], per: float, variable: bool, ranges: list[Any], host: bool
) -> dict[str, Json]:
    """``range``: least and most of each dimension that was seen; ``host``: no tensor, so it stays on the host."""
    return {
        "name": name,
        "dtype": dtype,
        "shape": shape,
        "bytes_per_sample": per,
        "variable": variable,
        "range": ranges,
        "host": host,
    }


LEAST_SHARE = 0.1
"""The share of a batch's bytes that what is padded has at least, if its padding matters: that of boxes beside pictures does not."""


def share_padded(facts: Facts, only: str | None = None) -> float:
    """The share of a batch's bytes that fields of varying length have, or the one of this name; in a list nothing is padded. 1 where none is
    known to vary, and of texts that are still to be tokenised."""
    fields = facts.value(BATCH, {"fields": []})["fields"]
    own = [f for f in fields if f["name"] == only or (only is None and f["variable"])]
    if (
        not own
        or any(f["dtype"] == "str" for f in own if only is not None)
        or (only is None and all(f["host"] for f in own))
    ):
        return 1.0
    padded = sum(f["bytes_per_sample"] for f in own if not f["host"])
    return float(padded / max(1.0, sum(f["bytes_per_sample"] for f in fields)))


def users_place(function: Any) -> dict[str, Any] | None:
    """Where a function of the user's, or the class of an object that is called, is defined; None of others."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    name = getattr(function, "__qualname__", type(function).__name__)
    return {"file": code.co_filename, "line": code.co_firstlineno, "function": str(name)}


def _ignored(name: str) -> bool:
    import torch

    from dataloader_expert.loaders.plain import filler

    return filler(name, torch.int64) != 0


def why(served: Serving, fields: list[dict[str, Json]], failed: bool = False) -> str:
    """Why batches are made as they are; of ``fields``, those that stay lists are told. ``failed``: some samples do not collate."""
    if served.user_loader is not None:
        return "the one that your loader uses"
    if served.collate_name == "pad":
        if served.varying:
            labels = (
                ", labels with -100, which torch's cross entropy ignores" if any(map(_ignored, served.varying)) else ""
            )
            where = "one dimension" if any(served.varying.values()) else "its first dimension"
            return f"a field varies in {where}: it is padded with 0 to the longest{labels}; its lengths are kept"
        if unlike := [str(f["name"]) for f in fields if f["host"] and len(f["shape"]) > 1]:
            return f"samples differ in several dimensions ({listed(unlike, 3)}), so they can be neither stacked nor padded and stay in a list"
        return (
            "torch's default collate function cannot make one tensor of some fields, such as lists of numbers or PIL images: they are converted "
            "and stacked where possible, else kept as lists"
        )
    if served.collate_name == "list":
        return "the default collate cannot stack these samples, and padding cannot: batches are lists of samples"
    if served.size is not None:
        return f"images of several sizes are resized to {served.size[0]} x {served.size[1]}, then stacked"
    return "torch's default, which fails for some samples (see findings)" if failed else "all fields stack as they are"


@dataclass(frozen=True)
class DescribedBatch(Probe):
    """The fields of a batch that a request describes, in place of data."""

    name: ClassVar[str] = "described"
    doing: ClassVar[str] = "reading the description of the batch"
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
                "range": [None] * len(leaf.shape),
                "host": False,
            }
            for name, leaf in leaves(of_input(self.input))
        ]
        yield Fact(FORMAT, "input", seen)
        yield Fact(BATCH, {"structure": "dict", "fields": fields}, seen)


PROBES = (BatchLook, DescribedBatch)
