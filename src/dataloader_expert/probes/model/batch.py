"""A real batch as the DataLoader delivers it: fields, shapes, dtypes and bytes; and whether a model accepts it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Json, Quantity
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, Observation, Probe, TooDear, evidence
from dataloader_expert.probes.data.pictures import of_batch
from dataloader_expert.probes.model.memory import footprint
from dataloader_expert.probes.serving import Serving, flat, serving

BATCH = Quantity("batch", "", "fields of real batches: shape, dtype, bytes per sample, whether they vary")
COLLATE = Quantity("collate", "", "the collate function and why")
BATCH_SIZE_USED = Quantity("batch_samples", "samples", "samples in each batch looked at")
MODEL = Quantity("model_check", "", "whether the model accepts a batch: what it expects, what it got, the error")
STEP = Quantity("step_ms", "ms", "one training step of the model on a real batch: forward, backward, optimizer")
BATCHES = 4
FIT = 0.02
"""The share of the time left that one batch may take."""


@dataclass(frozen=True)
class BatchLook(Probe):
    """``pictures``: small pictures of the first batch's images too."""

    name: ClassVar[str] = "batch"
    doing: ClassVar[str] = "making a batch"
    batch_size: int | None = None
    pictures: bool = False

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
        if self.pictures:
            yield from of_batch(leaves[0], bench)


def here(served: Serving) -> LoaderPlan:
    """The plan of the user's loader unchanged; a built-in loader without workers."""
    return served.current if served.user_loader is not None else served.current.but(workers=0)


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
class ModelCheck(Probe):
    """Feeds a real batch to the user's model, and measures the memory of a training step and a forward pass."""

    name: ClassVar[str] = "model"
    doing: ClassVar[str] = "feeding a batch to the model"
    model: str = ""
    model_args: Any = None
    batch_size: int | None = None
    device: str = "auto"
    optimizer: str = "adamw"
    precision: str = "float32"

    def ready(self, bench: Bench) -> None:
        known(self.model, bench)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        import torch

        from dataloader_expert.sources.reference import Raised, load

        model = load(self.model, dict(self.model_args or {}), bench.ref.roots)
        served = serving(bench, self.batch_size, 0)
        served.fit(bench, FIT * bench.left())
        batch = next(iter(served.loader(here(served))))
        got = {
            name: f"{str(getattr(v, 'dtype', type(v).__name__)).removeprefix('torch.')}{list(v.shape) if hasattr(v, 'shape') else ''}"
            for name, v in flat(batch)
        }
        inputs = inputs_of(batch, bench.source.label)
        expected = expects(model)
        error, accepted = None, False
        try:
            with torch.no_grad():
                if hasattr(model, "eval"):
                    model.eval()
                model(*prepared(inputs, model))
            accepted = True
        except Exception as e:  # the user's model may raise anything
            error = str(Raised(e))
        fed = "; ".join(
            f"{str(a.dtype).removeprefix('torch.')} as it is"
            if a.dtype == c.dtype and a.dtype != torch.uint8
            else f"{str(a.dtype).removeprefix('torch.')} cast to {str(c.dtype).removeprefix('torch.')}"
            + (" and divided by 255" if a.dtype == torch.uint8 else "")
            for a, c in zip(inputs, prepared(inputs, model), strict=True)
        )
        value = {"accepted": accepted, "expected": expected, "got": got, "fed": fed, "error": error}
        yield Fact(MODEL, value, evidence("probed", "model", seen=1))
        if accepted:
            device = self.device != "cpu" and torch.cuda.is_available()
            fed_as = prepared(inputs, model)
            yield from footprint(model, fed_as, served.count(batch), self.optimizer, self.precision, device)


@dataclass(frozen=True)
class StepTime(Probe):
    """The consumer's step, if its time is not given: median of the steps after two warm-up steps."""

    name: ClassVar[str] = "step"
    doing: ClassVar[str] = "timing the training step"
    model: str = ""
    model_args: Any = None
    batch_size: int | None = None
    device: str = "auto"
    most_s: float = 4.0

    def ready(self, bench: Bench) -> None:
        known(self.model, bench)

    def measure(self, bench: Bench) -> Iterable[Observation]:
        import torch

        from dataloader_expert.sources.reference import load

        where = "cuda" if self.device != "cpu" and torch.cuda.is_available() else "cpu"
        model = load(self.model, dict(self.model_args or {}), bench.ref.roots).to(where).train()
        served = serving(bench, self.batch_size, 0)
        if served.fit(bench, FIT * bench.left()):
            raise TooDear("a whole batch takes too long to load to time a step on one: pass step_ms")
        batch = next(iter(served.loader(here(served))))
        inputs = [v.to(where) for v in prepared(inputs_of(batch, bench.source.label), model)]
        optimizer = torch.optim.AdamW(model.parameters())
        until = time.monotonic() + min(self.most_s, max(0.5, 0.2 * bench.left()))
        took: list[float] = []
        while len(took) < 3 or (time.monotonic() < until and len(took) < 200):
            begun = time.perf_counter()
            loss: Any = sum(t.float().mean() for _, t in flat(model(*inputs)) if isinstance(t, torch.Tensor))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if where == "cuda":
                torch.cuda.synchronize()
            took.append(1e3 * (time.perf_counter() - begun))
        kept = sorted(took[2:])
        seen = evidence("timed", "step", seen=len(kept), spread=(kept[0], kept[-1]), conditions={"device": where})
        yield Fact(STEP, kept[len(kept) // 2], seen)


def known(model: str, bench: Bench) -> None:
    """Rejects a reference that does not resolve; the working directory stays that of the source."""
    from dataloader_expert.sources.reference import named

    folder = os.getcwd()
    try:
        named(model, bench.ref.roots)
    finally:
        os.chdir(folder)


def inputs_of(batch: Any, label: str | None) -> list[Any]:
    """The model's inputs: all tensors except the label and the lengths that padding added."""
    import torch

    leaves = [(n, v) for n, v in flat(batch) if isinstance(v, torch.Tensor)]
    kept = [v for n, v in leaves if n != label and not n.endswith("_lengths")]
    if not isinstance(batch, dict) and len(leaves) > 1 and label is None:
        kept = kept[:1]
    return kept[:1] if len(kept) > 1 and kept[0].ndim > 1 else kept or [v for _, v in leaves[:1]]


def prepared(inputs: list[Any], model: Any) -> list[Any]:
    """Integer images as floats in [0, 1], as a training loop feeds them; everything else unchanged."""
    import torch

    first = next((p for p in model.parameters()), None) if hasattr(model, "parameters") else None
    wanted = first.dtype if first is not None and first.is_floating_point() else torch.float32
    return [
        v.to(wanted) / 255 if v.dtype == torch.uint8 else v.to(wanted) if v.is_floating_point() else v for v in inputs
    ]


def expects(model: Any) -> str:
    """What the model's first layers expect as input, as text."""
    import torch

    for module in model.modules() if hasattr(model, "modules") else ():
        if isinstance(module, torch.nn.Conv1d | torch.nn.Conv2d | torch.nn.Conv3d):
            dims = ", ".join(["*"] * len(module.kernel_size))
            return f"float [B, {module.in_channels}, {dims}] ({type(module).__name__})"
        if isinstance(module, torch.nn.Linear):
            return f"float [B, …, {module.in_features}] (Linear)"
        if isinstance(module, torch.nn.Embedding):
            return f"int64 [B, …] below {module.num_embeddings} (Embedding)"
        if isinstance(module, torch.nn.LSTM | torch.nn.GRU | torch.nn.RNN):
            order = "B, T" if module.batch_first else "T, B"
            return f"float [{order}, {module.input_size}] ({type(module).__name__})"
    return "not known: no layer says"


PROBES = (BatchLook, ModelCheck, StepTime)
