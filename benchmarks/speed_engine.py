"""The loading engine compared with a vectorised gather, plain DataLoaders, and the collators of the earlier system."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader, Dataset, TensorDataset

from benchmarks.common import keep
from benchmarks.speed_jasper import cpu

ROWS, WIDTH, BATCH = 20_000, 128, 32
TEXTS, IMAGES, IMAGE_BATCH = 4_000, 2_048, 64
LATENT, LATENCY_S, STEP_S = 600, 1e-3, 4e-3
PAIRS = 31

Work = Callable[[], Any]


class Rows(Dataset[Any]):
    """What a user writes: the factory cannot help."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, index: int) -> Any:
        return self.tensor[index]


class Latent(Dataset[Any]):
    """A store with a real latency: 1 ms a sample."""

    def __len__(self) -> int:
        return LATENT

    def __getitem__(self, index: int) -> Any:
        import torch

        time.sleep(LATENCY_S)
        return torch.full((1000,), float(index))


def run(repeats: int) -> None:
    """Prints and keeps the figures of one run."""
    import torch

    torch.set_num_threads(1)
    found = {
        "gather": gathers(repeats),
        "collators": collators(repeats),
        "unaided": unaided(max(PAIRS, repeats)),
        "settings": settings(),
        "overhead": overhead(repeats),
    }
    keep("speed-engine", {"complete": repeats >= 15, "repeats": repeats, **found})


def gathers(repeats: int) -> dict[str, Any]:
    """Tensors and lists of tensors through the factory, CPU seconds of an epoch over those of a vectorised gather."""
    import torch

    from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

    tensor = torch.randint(0, 1000, (ROWS, WIDTH), generator=torch.Generator().manual_seed(0))
    settings = DataLoaderConfig(batch_size=BATCH, num_workers=0)
    factory = DataLoaderFactory()

    def gather() -> None:
        order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(42))
        for at in range(0, ROWS, BATCH):
            tensor[order[at : at + BATCH]]

    def select() -> None:
        order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(42))
        for at in range(0, ROWS, BATCH):
            tensor.index_select(0, order[at : at + BATCH])

    works: dict[str, Work] = {
        "gather": gather,
        "index_select": select,
        "tensors": over(factory.create_dataloader(TensorDataset(tensor), settings)),
        "list of tensors": over(factory.create_dataloader(list(tensor), settings)),
        "plain DataLoader": over(plain(TensorDataset(tensor))),
    }
    spent = alternating(works, repeats)
    return shown(f"an epoch of {ROWS} x {WIDTH} int64, batch {BATCH}", spent, "gather")


def collators(repeats: int) -> dict[str, Any]:
    """Our text and vision collators over those of the system that went before."""
    import torch

    from benchmarks import originals
    from dataloader_expert.loaders import LanguageModelingDataCollator, VisionDataCollator

    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(8, 129, (TEXTS,), generator=draw).tolist()
    texts = [{"input_ids": torch.randint(4, 30_000, (n,), generator=draw).tolist()} for n in lengths]
    images = [{"pixel_values": torch.rand(3, 32, 32, generator=draw), "labels": i % 10} for i in range(IMAGES)]
    tokenizer = originals.PaddingTokenizer()
    found = {}
    for name, samples, size, theirs, ours in (
        ("text", texts, BATCH, originals.TextCollator(tokenizer), LanguageModelingDataCollator(tokenizer)),
        ("vision", images, IMAGE_BATCH, originals.VisionCollator(), VisionDataCollator()),
    ):
        batches = [samples[i : i + size] for i in range(0, len(samples), size)]
        works = {"theirs": collating(theirs, batches), "ours": collating(ours, batches)}
        found[name] = shown(f"{name}: {len(batches)} batches of {size}", alternating(works, repeats), "ours")
    return found


def unaided(pairs: int) -> dict[str, Any]:
    """The factory over a plain loader where it cannot help: CPU, and Python calls for each sample, counted."""
    import torch

    from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

    tensor = torch.randint(0, 1000, (ROWS, WIDTH), generator=torch.Generator().manual_seed(0))
    settings = DataLoaderConfig(batch_size=BATCH, num_workers=0)
    ours, theirs = DataLoaderFactory().create_dataloader(Rows(tensor), settings), plain(Rows(tensor))
    found = shown("a dataset of one's own", alternating({"plain": over(theirs), "factory": over(ours)}, pairs), "plain")
    few, many = Rows(tensor[: 10 * BATCH]), Rows(tensor[: 10 * 4 * BATCH])
    extra = []
    for rows, size in ((few, BATCH), (many, 4 * BATCH)):  # as many batches, four times the samples
        quiet = DataLoaderConfig(batch_size=size, num_workers=0)
        made = DataLoaderFactory().create_dataloader(rows, quiet)
        extra.append(calls(over(made)) - calls(over(plain(rows, size))))
    print(f"Python calls beyond the plain loader's: {extra[0]} at {len(few)} samples, {extra[1]} at {len(many)}")
    return {**found, "calls_beyond_plain": extra}


def settings() -> dict[str, Any]:
    """Workers, prefetching, persistent workers over what is without: wall seconds, where a sample waits 1 ms."""
    found = {}
    cases: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[Any], Any]]] = {
        "2 workers for 0": ({"num_workers": 0}, {"num_workers": 2}, stepping),
        "prefetch 2 for 1": (
            {"num_workers": 2, "prefetch_factor": 1},
            {"num_workers": 2, "prefetch_factor": 2},
            stepping,
        ),
        "prefetch 8 for 2": (
            {"num_workers": 2, "prefetch_factor": 2},
            {"num_workers": 2, "prefetch_factor": 8},
            stepping,
        ),
        "persistent workers": (
            {"num_workers": 2, "persistent_workers": False},
            {"num_workers": 2, "persistent_workers": True},
            short,
        ),
    }
    for name, (before, after, work) in cases.items():
        loaders = {"before": made(before), "after": made(after)}
        spent: dict[str, list[float]] = {k: [] for k in loaders}
        for k, loader in loaders.items():
            work(loader)  # workers that persist are there
            del k
        for i in range(7):
            for k in list(loaders)[:: 1 if i % 2 else -1]:
                begun = time.perf_counter()
                work(loaders[k])
                spent[k].append(time.perf_counter() - begun)
        ratios = [b / a for b, a in zip(spent["before"], spent["after"], strict=True)]
        found[name] = {"spent_s": spent, "gain": statistics.median(ratios), "spread": (min(ratios), max(ratios))}
        print(f"{name:20} {found[name]['gain']:.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")
    return found


def overhead(repeats: int) -> dict[str, Any]:
    """Loading over loading and step, warm, 10,000 samples, no workers, beside a plain loader."""
    import torch

    from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

    data = TensorDataset(torch.randint(0, 1000, (10_000, 32)))
    ours = DataLoaderFactory().create_dataloader(data, DataLoaderConfig(batch_size=BATCH, num_workers=0))
    shares: dict[str, list[float]] = {"factory": [], "plain": []}
    for _ in range(repeats):
        for name, loader in (("factory", ours), ("plain", plain(data))):
            alone = time.perf_counter()
            for _batch in loader:
                pass
            begun = time.perf_counter()
            for _batch in loader:
                time.sleep(0.01)
            shares[name].append((begun - alone) / (time.perf_counter() - begun))
    for name, values in shares.items():
        print(
            f"loading over the whole epoch, steps of 10 ms, {name}: {statistics.median(values):.2%} "
            f"({min(values):.2%} to {max(values):.2%})"
        )
    return {name: {"median": statistics.median(v), "shares": v} for name, v in shares.items()}


def made(changes: dict[str, Any]) -> Any:
    from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

    config = DataLoaderConfig(batch_size=20, persistent_workers=changes.pop("persistent_workers", None), **changes)
    return DataLoaderFactory().create_dataloader(Latent(), config)


def stepping(loader: Any) -> None:
    for _ in loader:
        time.sleep(STEP_S)


def short(loader: Any) -> None:
    """An epoch that is over soon: the start of workers counts."""
    stepping(loader)


def plain(dataset: Any, size: int = BATCH) -> DataLoader[Any]:
    from dataloader_expert.loaders import create_seeded_generator, seed_worker

    return DataLoader(
        dataset, size, shuffle=True, generator=create_seeded_generator(42), worker_init_fn=seed_worker, num_workers=0
    )


def over(loader: Any) -> Work:
    def work() -> None:
        for _ in loader:
            pass

    return work


def collating(collate: Any, batches: list[Any]) -> Work:
    def work() -> None:
        for batch in batches:
            collate(batch)

    return work


def calls(work: Work) -> int:
    """Python functions that are called, generators resumed included."""
    count = 0

    def counted(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def alternating(works: dict[str, Work], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each, in turn, after one run that is dropped."""
    spent: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for i in range(repeats):
        for name in list(works)[:: 1 if i % 2 else -1]:
            spent[name].append(cpu(works[name]))
    return spent


def shown(title: str, spent: dict[str, list[float]], to: str) -> dict[str, Any]:
    """Prints medians and ratios to ``to``, pair by pair."""
    print(title)
    ratios = {}
    for name, values in spent.items():
        each = [a / b for a, b in zip(values, spent[to], strict=True)]
        ratios[name] = {"median": statistics.median(each), "spread": (min(each), max(each))}
        print(
            f"  {name:16} {1e3 * statistics.median(values):8.2f} ms CPU, {ratios[name]['median']:.3f} of {to} "
            f"({min(each):.3f} to {max(each):.3f})"
        )
    return {"spent_s": spent, "ratios": ratios}
