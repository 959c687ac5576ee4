"""The gain of fewer and larger tensors per batch: the loader's own batches against the same batches packed by dtype.

Each tensor from a worker costs a file in shared memory, a descriptor and a message, however small it is. Both loaders
really run, in alternating blocks, with the same workers, samples and settings.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import LOADER_FAILED, Bench, Observation, Probe, evidence, too_many
from dataloader_expert.probes.batch_parts import flat, samples_in
from dataloader_expert.probes.carried import mapped, tensors_in
from dataloader_expert.probes.experiments.sample_cache import chosen
from dataloader_expert.probes.health.batch_storages import CARRIED, LEAST_UNUSED
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.search.living import TooSlow
from dataloader_expert.probes.search.pairing import Paired, compare
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import PATIENCE_S, WORKERS

PACKED = Quantity(
    "packed",
    "x",
    "throughput of batches with one tensor per dtype over unchanged batches, in pairs",
)
FIELDS = 8
"""The fewest tensors of one dtype in a batch for which packing is tried."""
PAIRS, MOST_PAIRS = 4, 8
NOTHING = {"tensors": 0, "unused": 0}
TENSOR_S, LEAST_SHARE = 1e-3, 0.05
"""The most that one more tensor may cost; if all together take less than this share of a batch's time, packing is not
tried."""


@dataclass(frozen=True)
class Packing(Probe):
    name: ClassVar[str] = "packing"
    doing: ClassVar[str] = "timing packed batches"
    batch_size: int | None = None
    share: float = 0.35
    most_s: float = 1.2
    block_s: float = 0.06

    def measure(self, bench: Bench) -> Iterable[Observation]:
        counts, carried = tensors_by_dtype(bench.facts.value(BATCH)), bench.facts.value(CARRIED, NOTHING)
        listed = max(counts.values(), default=0) < FIELDS <= carried["tensors"]
        if listed:
            counts = Counter(carried["dtypes"])
        if max(counts.values(), default=0) < FIELDS or bench.facts.find(LOADER_FAILED) is not None:
            return
        if carried["unused"] >= LEAST_UNUSED:
            return  # what these tensors cost is the storages behind them, which packing would leave out as well
        served = serving(bench, self.batch_size, None)
        plan = chosen(bench, served.current)
        workers = plan.workers or served.current.workers or WORKERS
        batch_s = plan.batch_size * sample_s(bench) / workers
        if workers >= too_many(bench) or TENSOR_S * counts.total() < LEAST_SHARE * batch_s:
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        plan = plan.but(workers=workers, persistent=True, timeout=PATIENCE_S)
        found = gains(plan, served, packed_by(served, listed), until, self.block_s)
        if len(found.ratios) < LEAST_PAIRS:
            return
        seen = evidence("timed", "packing", seen=len(found.ratios), interval=found.bounds, spread=found.spread)
        at = {"tensors": counts.total(), "dtypes": len(counts), "workers": workers, "pays": found.shown}
        at |= {"listed": True} if listed else {}
        yield Fact(PACKED, found.mean, seen, at)


def tensors_by_dtype(batch: Any) -> Counter[str]:
    """The number of tensors in a batch with one row per sample, by dtype."""
    import torch

    fields = [] if batch is None else batch["fields"]
    return Counter(f["dtype"] for f in fields if f["shape"][:1] == ["B"] and hasattr(torch, f["dtype"]))


def packed_by(served: Serving, listed: bool = False) -> Serving:
    """The same loader with packed batches; ``listed``: these are lists of tensors."""
    from torch.utils.data import default_collate

    from dataloader_expert.loaders.building import twin

    loader = served.user_loader
    inner = served.collate if loader is None else loader.collate_fn
    pack: Any = Bundle(inner) if listed else Pack(inner, first=inner is default_collate)
    return replace(served, collate=pack, user_loader=None if loader is None else twin(loader, collate_fn=pack))


def gains(plan: Any, plain: Serving, packed: Serving, until: float, block_s: float) -> Paired:
    """Throughput of packed batches compared with plain ones."""
    with contextlib.ExitStack() as ending:
        ending.enter_context(tapped())
        runners = [Runner(plan, served) for served in (packed, plain)]
        for runner in runners:
            ending.callback(runner.close)
        changed, as_is = (partial(runner.block, block_s, until) for runner in runners)
        with contextlib.suppress(TooSlow):  # workers that start slowly are told by the search
            return compare(changed, as_is, PAIRS, until, MOST_PAIRS)
    return Paired()


@dataclass(frozen=True)
class Pack:
    """A collate function whose batch has one tensor per dtype. ``first``: samples are packed before ``inner`` stacks
    them, as one would write it; the result of any other collate function is packed afterwards."""

    inner: Any
    first: bool

    def __call__(self, samples: Any) -> Any:
        if self.first:
            return self.inner([row_of(sample) for sample in samples])
        batch = self.inner(samples)
        return table_of(batch, samples_in(batch))


@dataclass(frozen=True)
class Bundle:
    """A collate function whose batch has the values of all its tensors one after another, in one tensor per dtype."""

    inner: Any

    def __call__(self, samples: Any) -> Any:
        import torch

        batch = self.inner(samples)
        rows: dict[str, list[Any]] = {}
        for _, tensor in tensors_in(batch):
            rows.setdefault(str(tensor.dtype), []).append(tensor.reshape(-1))
        lengths = torch.tensor([len(row) for found in rows.values() for row in found])
        return mapped(batch, lambda tensor: None), lengths, {dtype: torch.cat(found) for dtype, found in rows.items()}


def row_of(sample: Any) -> dict[str, Any]:
    """A sample's numbers as one row per dtype; everything else by name."""
    import torch

    rows: dict[str, list[Any]] = {}
    rest: dict[str, Any] = {}
    for name, value in flat(sample):
        try:
            tensor = torch.as_tensor(value, dtype=torch.float64) if isinstance(value, float) else torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError):  # a string, for example, stays as it is
            rest[name] = value
        else:
            rows.setdefault(str(tensor.dtype), []).append(tensor.reshape(-1))
    return {**{dtype: torch.cat(found) for dtype, found in rows.items()}, **rest}


def table_of(batch: Any, n: int) -> dict[str, Any]:
    """A batch's tensors of ``n`` rows side by side, one table per dtype; everything else by name."""
    import torch

    tables: dict[str, list[Any]] = {}
    rest: dict[str, Any] = {}
    for name, value in flat(batch):
        if isinstance(value, torch.Tensor) and value.ndim and len(value) == n:
            tables.setdefault(str(value.dtype), []).append(value.reshape(n, -1))
        else:
            rest[name] = value
    return {**{dtype: torch.cat(found, 1) for dtype, found in tables.items()}, **rest}


PROBES = (Packing,)
