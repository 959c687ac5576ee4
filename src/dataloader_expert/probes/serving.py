"""The DataLoader to measure: a built-in dataset over the source, or the user's own loader or dataset."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, TooDear
from dataloader_expert.probes.batch_parts import flat, listed_in, one_sample, samples_in, stacked
from dataloader_expert.probes.fetchers import at_start_of_workers, first_in_workers
from dataloader_expert.probes.first_use import first_use, spend
from dataloader_expert.sources.as_constructed import Made
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.kept_blocks import Blocks
from dataloader_expert.sources.reference import Reference
from dataloader_expert.sources.users import is_users

MAX_SIDE = 512
FIT_SHARE, FIT_MOST_S = 0.1, 1.0
"""The share of the time left, and the most seconds, for measuring what a batch costs."""
COLD_SHARE = 0.25
"""If the first sample takes a smaller share of the time left, it is read again before its time counts."""


@dataclass
class Serving:
    """``ours``: a built-in dataset, which reports its stages; ``sizable``: the batch size can be changed."""

    dataset: Any
    collate: Any
    collate_name: str
    current: LoaderPlan
    ours: bool
    made_by: str
    user_loader: Any = None
    sizable: bool = True
    size: tuple[int, int] | None = None
    patience: float = 0.0
    """Seconds after which a batch not delivered by the workers counts as hung; 0: the loader's own timeout."""
    cpus: float = 1.0
    varying: dict[str, int] = field(default_factory=dict)
    """Fields of which each batch has the lengths."""
    as_loaded: Callable[[], None] | None = None
    batch_s: float = 0.0
    """Seconds that a batch takes in the main process, once ``fit`` has timed it."""
    filled: Callable[[], Made] | None = None
    """What reading made in this process, which workers do not find there in training."""
    made_anew: set[str] = field(default_factory=set)
    """The attributes of that, as workers were last started."""
    spares: bool = False
    """Whether another sample is read in place of one that raises, so that the others are timed."""
    hung: frozenset[int] = frozenset()
    """Samples that never come."""
    listed: bool = False
    """Whether batches are lists with an entry for each sample, once one was counted."""
    first_use: tuple[float, float] = (0.0, 0.0)
    """CPU and waiting seconds before a worker's first sample that those forked from a process that has read are spared."""

    def loader(self, plan: LoaderPlan) -> Any:
        """A real ``torch.utils.data.DataLoader`` at these settings.

        Raises:
            CannotRebuild: if the user's loader cannot be made with them.
        """
        from dataloader_expert.loaders.building import begins_at_once, build, rebuild
        from dataloader_expert.sources.given import given

        self.before_workers(plan.workers)
        if self.user_loader is None:
            return build(self.dataset, plan, self.collate)
        loader = self.user_loader
        # one that began when it was made has workers of before, which do not count what they read
        if plan != self.current or (begins_at_once(loader) and given(loader)):
            size = None if plan.batch_size == self.current.batch_size else plan.batch_size
            loader = rebuild(self.user_loader, plan.workers, size, plan.prefetch, plan.in_order, plan.persistent)
        if plan.workers and not loader.timeout and self.patience:
            loader.timeout = self.patience  # the user's loader, in this process only: a hang is then reported
        return loader

    def copies(self, plan: LoaderPlan) -> bool:
        """Whether a loader at these settings is our copy of one of the user's own class, whose errors may be ours."""
        from torch.utils.data import DataLoader

        return plan != self.current and self.user_loader is not None and type(self.user_loader) is not DataLoader

    def before_workers(self, workers: int) -> None:
        """To be called before so many are started: what reading opened in this process is taken back, and what it made is not found
        in workers."""
        if workers and self.as_loaded is not None:
            self.as_loaded()
        if workers and self.filled is not None:
            made = self.filled()
            self.made_anew = made.names()
            if self.start_method(self.user_loader) == "fork":
                at_start_of_workers(made.taken_back)
            else:  # they receive what this process has
                made.taken_back()
            first_in_workers(partial(spend, *self.first_use))

    def start_method(self, loader: Any) -> str:
        """How this loader starts its workers: ``fork``, ``spawn`` or ``forkserver``."""
        import multiprocessing

        context = getattr(loader, "multiprocessing_context", None) or multiprocessing
        return str(context.get_start_method())

    def fit(self, bench: Bench, most: float) -> bool:
        """Makes the batch smaller if it would take more than ``most`` seconds here; returns whether it did.

        Batches of 1, 2, 4 … samples are timed: the first are cold (a table is decoded with its first row); the last one
        counts, at least the second.

        Raises:
            TooDear: if the batch is the user's and cannot be made smaller.
        """
        if math.isinf(bench.left()):
            return False
        size = self.current.batch_size
        each = bench.fitted_s
        if each is None or (
            each * size > most and not bench.fitted_to_the_end
        ):  # precise enough for the last probe only
            each = self._sample_s(bench, most)
        self.batch_s = each * size
        if self.batch_s <= most:
            return False
        small = min(size, max(2, int(most / each)))
        if self.user_loader is not None and small < size:
            self.user_loader = self._smaller(small, self.batch_s)
        self.current = self.current.but(batch_size=small)
        self.batch_s = each * small
        return small < size

    def _sample_s(self, bench: Bench, most: float) -> float:
        """Seconds of a sample in a batch; kept for the request's other probes unless only a cold one was timed."""
        n, warm, enough = 1, False, False  # enough: the batch is known to be small enough for this probe
        size = self.current.batch_size
        until = bench.until(FIT_SHARE, FIT_MOST_S) or math.inf
        fetch = self._fetching(bench)
        while True:
            begun = time.perf_counter()
            fetch(n)
            each = (time.perf_counter() - begun) / n
            if each * size <= most:
                enough = True
                break
            n = min(2 * n, size, int((until - time.monotonic()) / each))
            if n < 1 and not warm and each < COLD_SHARE * bench.left():
                n = 1
            if n < 1:
                break
            warm = True
        bench.sampled_s = each
        if warm:
            bench.fitted_s, bench.fitted_to_the_end = each, not enough
        return each

    def _smaller(self, size: int, took: float) -> Any:
        from dataloader_expert.loaders.building import CannotRebuild, rebuild

        told = f"a batch of {self.current.batch_size} takes about {took:.2g} s, too long for the budget: raise budget_s"
        if not self.sizable:
            raise TooDear(f"{told} (its size is set by the batch sampler)")
        try:
            return rebuild(self.user_loader, self.current.workers, size)
        except CannotRebuild as e:
            raise TooDear(f"{told} ({e})") from None

    def _fetching(self, bench: Bench) -> Callable[[int], None]:
        """A function that reads and collates n samples like a loader; errors are skipped, as the scan reports them."""
        import numpy as np

        rng = np.random.default_rng(bench.seed)
        stream = iter(self.dataset) if bench.source.iterable else None
        whole = None if stream is not None else getattr(self.dataset, "__getitems__", None)

        def fetch(n: int) -> None:
            samples: Any = []
            indices = [] if stream is not None else rng.integers(0, len(self.dataset), n).tolist()
            with contextlib.suppress(Exception):
                if stream is not None:
                    samples = [s for _, s in zip(range(n), stream, strict=False)]
                elif whole:
                    samples = whole(indices)
                for index in indices if not whole else []:
                    bench.at(index)
                    with contextlib.suppress(Exception):
                        samples.append(self.dataset[index])
                self.collate(samples)
            bench.at(-1)

        return fetch

    @property
    def batched(self) -> bool:
        """Whether torch builds batches from single samples."""
        return self.user_loader is None or self.user_loader.batch_sampler is not None

    @property
    def whole(self) -> bool:
        """Whether the loader's sampler yields lists of indices and the dataset returns a batch for each: torch builds none."""
        return not self.batched and isinstance(self.first_asked, list | tuple)

    @property
    def iterates(self) -> str | None:
        """The class of the user's loader if it iterates by code of theirs, in the main process."""
        code = getattr(getattr(type(self.user_loader), "__iter__", None), "__code__", None)
        return type(self.user_loader).__name__ if code is not None and is_users(code.co_filename) else None

    @cached_property
    def first_asked(self) -> Any:
        """What the sampler of a loader that builds no batches asks for first; None where it does not say."""
        with contextlib.suppress(Exception):  # the user's sampler
            return next(iter(self.user_loader.sampler))
        return None

    def count(self, batch: Any) -> int:
        """Samples in a batch: the first dimension of its first tensor, or the length of its first list; if that is more than the batch
        size, as of a graph's nodes, the largest first dimension that is not."""
        if not self.batched and one_sample(batch):
            return 1
        size = self.current.batch_size
        listed = listed_in(batch)
        self.listed = self.listed or (listed == size and not stacked(batch, size))
        if listed and self.listed:
            return listed
        n = samples_in(batch)
        if n > size and self.batched:
            found = {int(v.shape[0]) for _, v in flat(batch) if len(getattr(v, "shape", ()))}
            n = max((m for m in found if m <= size), default=size)
        return n or size


def image_size(bench: Bench) -> tuple[int, int] | None:
    """Height and width to which images of several sizes are resized: the medians, at most 512, rounded to multiples of
    8."""
    from dataloader_expert.checks.images.pictures import SIZES

    varies = [f for f in bench.source.fields if f.kind == "image" and None in f.shape[:2]]
    sizes = bench.facts.find(SIZES)
    if sizes is not None and sizes.value["distinct"] == 1 and not varies:
        return None
    if sizes is None and not varies:
        return None
    height, width = (224, 224) if sizes is None else (sizes.value["height"], sizes.value["width"])
    scale = min(1.0, MAX_SIDE / max(height, width))
    return max(8, round(height * scale / 8) * 8), max(8, round(width * scale / 8) * 8)


def serving(
    bench: Bench, batch_size: int | None = None, workers: int | None = None, every_split: bool = False
) -> Serving:
    """The dataset and settings to measure: as requested, else the user's loader's, else torch's defaults.

    ``every_split``: also where samples of the splits differ in their fields, so that no batch can hold those of two.
    """
    source = bench.source
    if isinstance(source, Reference):
        found = _reference(bench, source, batch_size, workers)
        found.first_use = first_use(bench)
        return found
    from torch.utils.data import default_collate

    from dataloader_expert.checks.base import MISSING
    from dataloader_expert.loaders.collate import padding
    from dataloader_expert.loaders.samples import SourceDataset
    from dataloader_expert.probes.data.scan import SCANNED

    size = image_size(bench)
    nullable = {f.at["field"] for f in bench.facts.all(MISSING) if f.value}
    seen = bench.facts.value(SCANNED, {"read": 0, "failed": 0})
    if seen["read"] + seen["failed"] < source.samples:  # unread samples may have missing values
        nullable |= {f.name for f in source.fields if f.kind == "number" and not f.shape}
    bench.blocks = bench.blocks or Blocks()
    alone = None if every_split else _trained_on(source)
    blocks = bench.blocks if alone is None else Blocks()  # kept by place among the units
    classes = bench.classes if source.label else None
    channels = channels_of(bench)
    dataset = SourceDataset(alone or source, size, classes, nullable, blocks, unreadable="replace", channels=channels)
    name = collate_for(bench)
    plan = LoaderPlan(batch_size=min(batch_size or 32, max(1, len(dataset))), workers=workers or 0, seed=bench.seed)
    made = "torch's defaults" if workers is None else "as given"
    varying = source.varying
    collate = padding(varying) if name == "pad" else default_collate
    return Serving(dataset, collate, name, plan, True, made, size=size, cpus=bench.cpus, varying=varying)


def _trained_on(source: Source) -> Source | None:
    """The source with its training split only, if samples of another split have other fields; None: all have the same."""
    if not any(source.lacking.values()) or "train" not in source.splits:
        return None
    kept = copy.copy(source)
    kept.keep_split("train")
    return kept


def channels_of(bench: Bench) -> int | None:
    """3 where the scan saw an image in colour; None: as the few images tell by which the source was opened."""
    from dataloader_expert.checks.images.pictures import MODES
    from dataloader_expert.sources.pictures import GREY

    return 3 if set(bench.facts.value(MODES, {"modes": {}})["modes"]) - GREY else None


def collate_for(bench: Bench) -> str:
    """``pad`` if a tensor's shape varies between samples, else ``default``."""
    ragged = [f for f in bench.source.fields if f.kind not in ("image", "mask", "text", "category") and None in f.shape]
    return "pad" if ragged else "default"


def _reference(bench: Bench, source: Reference, batch_size: int | None, workers: int | None) -> Serving:
    from torch.utils.data import default_collate

    from dataloader_expert.loaders.plain import pad

    loader = source.loader
    if loader is None:
        n = 1 << 30 if source.iterable else len(source.dataset)
        plan = LoaderPlan(
            batch_size=min(batch_size or 32, n), workers=workers or 0, shuffle=not source.iterable, seed=bench.seed
        )
        name, varying = _collated(bench, source)
        collate: Any = {"default": default_collate, "pad": partial(pad, varying=varying), "list": list}[name]
        made = "torch's defaults" if workers is None else "as given"
        return Serving(
            source.dataset,
            collate,
            name,
            plan,
            False,
            made,
            cpus=bench.cpus,
            varying=varying,
            as_loaded=source.as_loaded,
            filled=source.filled,
        )
    from dataloader_expert.loaders.building import shuffles

    own = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None) or _first_batch(loader)
    plan = LoaderPlan(
        batch_size=own,
        workers=loader.num_workers,
        prefetch=loader.prefetch_factor,
        pin_memory=loader.pin_memory,
        persistent=loader.persistent_workers,
        shuffle=shuffles(loader),
        drop_last=loader.drop_last,
        timeout=loader.timeout,
        seed=bench.seed,
        in_order=getattr(loader, "in_order", True),
    )
    name = getattr(loader.collate_fn, "__name__", type(loader.collate_fn).__name__)
    found = Serving(
        source.dataset, loader.collate_fn, name, plan, False, "the user's DataLoader", loader, cpus=bench.cpus
    )
    found.as_loaded, found.filled = source.as_loaded, source.filled
    found.sizable = loader.batch_size is not None
    if (workers is not None and workers != plan.workers) or (batch_size is not None and batch_size != own):
        from dataloader_expert.loaders.building import rebuild

        found.user_loader = rebuild(
            loader, plan.workers if workers is None else workers, batch_size if batch_size != own else None
        )
        found.current = plan.but(
            batch_size=batch_size or own, workers=plan.workers if workers is None else workers, prefetch=None
        )
        found.made_by = "the user's DataLoader with the settings given"
    return found


def no_batch(served: Serving) -> str:
    """Why a loader delivers none."""
    size, n = served.current.batch_size, 0
    with contextlib.suppress(TypeError):  # a stream
        n = len(served.dataset)
    if served.current.drop_last and 0 < n < size:
        return f"the loader delivers no batch: it drops incomplete batches, and its {n:,} samples are fewer than the batch size of {size:,}"
    return "the loader delivers no batch"


def _first_batch(loader: Any) -> int:
    """Samples of the first batch of a batch sampler that does not say; 1 where torch makes no batches."""
    with contextlib.suppress(Exception):  # the user's batch sampler
        return max(1, len(next(iter(loader.batch_sampler)))) if loader.batch_sampler is not None else 1
    return 1


FIRST, LOOKED_AT, LOOK_S, LOOK_SHARE, LOOK_BYTES = 4, 64, 0.2, 0.02, 64 << 20
"""Samples by which the collate function is chosen: the first, and others spread over the dataset; seconds, the share of the time
left, and bytes for reading these."""


def _collated(bench: Bench, source: Reference) -> tuple[str, dict[str, int]]:
    """``default`` if torch's own stacks samples, else ``pad`` if padding makes batches of tensors of them, else ``list``; and the
    fields that vary in length, with the dimension of it."""
    from dataloader_expert.loaders.collate import varying_in
    from dataloader_expert.loaders.plain import pad

    if bench.collated is not None:
        return bench.collated
    samples: list[Any] = []
    stream = _anew(source.dataset) if source.iterable else None
    if source.iterable and stream is None:
        bench.collated = "default", {}
        return bench.collated
    held, n = 0, 0 if source.iterable else len(source.dataset)
    until = time.monotonic() + min(5 * LOOK_S, 5 * LOOK_SHARE * bench.left())
    spread = dict.fromkeys([*range(min(FIRST, n)), *(k * n // LOOKED_AT for k in range(LOOKED_AT))])
    for k, i in enumerate(spread if stream is None else range(FIRST + LOOKED_AT)):
        if k == FIRST and samples and _stacks(samples):  # others are looked at for longer where these do not
            until = min(until, time.monotonic() + min(LOOK_S, LOOK_SHARE * bench.left()))
        if k >= (FIRST if stream is None else 1) and time.monotonic() > until:
            break
        try:
            samples.append(source.dataset[i] if stream is None else next(stream))
        except StopIteration:
            break
        except Exception:  # the scan reports which samples raise
            continue
        held += sum(getattr(v, "nbytes", 0) for _, v in flat(samples[-1]))
        if held > LOOK_BYTES and len(samples) > 1:
            break
    bench.collated = "default", {}
    if samples and (not _stacks(samples) or any(map(_lists_numbers, samples))):
        try:
            varying = varying_in(samples)
            made = flat(pad(samples, varying))
            tensors = any(hasattr(value, "element_size") for _, value in made)
        except Exception:  # objects of the user's, which may raise anything when they are looked into
            tensors = False
        bench.collated = ("pad", varying) if tensors else ("list", {})
    return bench.collated


def _anew(stream: Any) -> Iterator[Any] | None:
    """Its samples from the first; None where it raises, or reading some here would take them from what is read later."""
    with contextlib.suppress(Exception):  # the scan reports what the stream raises
        one: Iterator[Any] = iter(stream)
        return None if one is stream or one is iter(stream) else one
    return None


def _lists_numbers(sample: Any) -> bool:
    """Whether a field is a list of numbers, as tokenizers return: torch's own collate function makes a tensor of each place of it."""
    fields = sample.values() if isinstance(sample, Mapping) else sample if isinstance(sample, tuple) else ()
    lists = (v for v in fields if isinstance(v, list) and len(v) > 1)
    return any(all(isinstance(n, int | float) for n in v) for v in lists) or any(map(_lists_numbers, fields))


def _stacks(samples: list[Any]) -> bool:
    """Whether torch's own collate function takes these samples."""
    from torch.utils.data import default_collate

    try:
        default_collate(samples)
    except Exception:  # it looks into objects of the user's, which may raise anything
        return False
    return True
