"""What samplers do to real labels, lengths, groups and difficulties: one table, one run.

``python -m benchmarks.sampling`` draws an epoch with every sampler and counts: padding compared with a shuffled and a fully
sorted epoch, batches over their token budget, how far class counts are from their shares, groups that are split between
batches or between splits, difficulty by epoch, and how much of the data an epoch covers. Without the shared data sets,
generated data take their place, and the table says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import keep, shared_data
from dataloader_expert.loaders import open_dataset
from dataloader_expert.samplers import (
    ClassBalancedBatchSampler,
    CurriculumSampler,
    DistributedShuffleSampler,
    GroupBatchSampler,
    LengthBucketBatchSampler,
    OrderedSampler,
    ShuffleSampler,
    StratifiedBatchSampler,
    TokenBudgetBatchSampler,
    WeightedSampler,
    split_by_group,
)

BATCH = 32
SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}
Batches = Sequence[Sequence[int]]
Data = dict[str, dict[str, Any]]
"""What a number is (lengths, labels, groups, difficulty) to the data sets that have it."""


def real(folder: Path) -> Data:
    """Columns of the shared data sets."""
    sms = open_dataset(folder / "text" / "sms_spam" / "jsonl", split="train")
    sums = open_dataset(folder / "text" / "gsm8k_test")
    vowels = open_dataset(folder / "sequences" / "japanese_vowels" / "npy", split="train")
    clothes = open_dataset(folder / "images" / "clothing_cc0", split="train")
    diamonds = open_dataset(folder / "tabular" / "diamonds" / "diamonds.parquet", label="cut")
    penguins = open_dataset(folder / "tabular" / "penguins" / "penguins_raw.csv", label="Species")
    taxis = open_dataset(folder / "tabular" / "taxis" / "taxis.csv", label="payment")
    steps = words(column(sums, "answer"))
    return {
        "lengths": {
            "sms_spam, words": words(column(sms, "text")),
            "gsm8k_test, words": words(column(sums, "question")) + steps,
            "japanese_vowels, steps": steps_of(vowels),
        },
        "labels": {
            "clothing_cc0, class": column(clothes, "label"),
            "sms_spam, label": column(sms, "label"),
            "diamonds, cut": column(diamonds, "cut"),
            "penguins, species": column(penguins, "Species"),
        },
        "groups": {
            "penguins, island": column(penguins, "Island"),
            "penguins, individual": column(penguins, "Individual ID"),
            "taxis, pickup zone": column(taxis, "pickup_zone"),
        },
        "difficulty": {"gsm8k_test, words of the answer": steps},
    }


def made() -> Data:
    """Numbers like them, where the shared data sets are not there."""
    rng = np.random.default_rng(0)
    lengths = rng.lognormal(2.7, 0.7, 4_000).astype(int) + 1
    return {
        "lengths": {"made, words": lengths},
        "labels": {"made, ten classes": (rng.random(4_000) ** 3 * 10).astype(int)},
        "groups": {"made, groups of ten": rng.integers(0, 400, 4_000)},
        "difficulty": {"made, words": lengths},
    }


def column(dataset: Any, name: str) -> Any:
    """A field of every sample, [samples]."""
    rows = dataset.__getitems__(range(len(dataset)))
    whole = getattr(rows, "batch", None)
    return np.asarray(whole[name] if whole is not None else [row[name] for row in rows])


def steps_of(dataset: Any) -> Any:
    """Steps of the one sequence of every sample, [samples]."""
    samples = (dataset[i].values() for i in range(len(dataset)))
    return np.array([next(len(v) for v in fields if getattr(v, "ndim", 0) == 2) for fields in samples])


def words(texts: Any) -> Any:
    return np.array([len(text.split()) for text in texts])


def cut(order: Iterable[int], size: int = BATCH) -> Batches:
    """Batches of an order."""
    going = iter(order)
    return list(iter(lambda: list(islice(going, size)), []))


def padding(batches: Batches, lengths: Any) -> float:
    """Share of padded places that hold nothing."""
    places = sum(len(b) * int(lengths[b].max()) for b in batches)
    return 1 - sum(int(lengths[b].sum()) for b in batches) / places


def over(batches: Batches, lengths: Any, budget: int) -> int:
    return sum(len(b) * int(lengths[b].max()) > budget for b in batches)


def deviation(batches: Batches, codes: Any) -> float:
    """The most that a class's count in a batch is off its share of the batch."""
    shares = np.bincount(codes) / len(codes)
    counted = (np.bincount(codes[b], minlength=len(shares)) - len(b) * shares for b in batches)
    return max(float(np.abs(c).max()) for c in counted)


def straddling(parts: Batches, groups: Any) -> int:
    """Groups with samples in more than one part."""
    homes = np.concatenate([np.unique(groups[list(part)]) for part in parts])
    return int((np.bincount(homes) > 1).sum())


Row = tuple[str, str, dict[str, Any]]


def of_lengths(name: str, given: Any, seed: int) -> Iterable[Row]:
    lengths = np.asarray(given)
    shuffled, ordered = cut(ShuffleSampler(len(lengths), seed)), cut(np.argsort(lengths, kind="stable").tolist())
    budget = max(int(BATCH * lengths.mean()), int(lengths.max()))
    filled = list(TokenBudgetBatchSampler(lengths, budget, seed=seed))
    found = {
        "shuffled": padding(shuffled, lengths),
        "LengthBucketBatchSampler": padding(list(LengthBucketBatchSampler(lengths, BATCH, seed=seed)), lengths),
        "TokenBudgetBatchSampler": padding(filled, lengths),
        "sorted": padding(ordered, lengths),
    }
    yield "padding, share of places", name, {k: round(v, 4) for k, v in found.items()}
    like = cut(ShuffleSampler(len(lengths), seed), max(1, len(lengths) // len(filled)))
    yield (
        f"batches over {budget} tokens",
        name,
        {
            "TokenBudgetBatchSampler": over(filled, lengths, budget),
            "its batches": len(filled),
            "shuffled, as many batches": over(like, lengths, budget),
        },
    )


def of_labels(name: str, given: Any, seed: int) -> Iterable[Row]:
    codes = np.unique(given, return_inverse=True)[1]
    n, classes = len(codes), int(codes.max()) + 1
    stratified = list(StratifiedBatchSampler(codes, BATCH, seed))
    yield (
        "class counts off their share, at most",
        name,
        {
            "StratifiedBatchSampler": round(deviation(stratified, codes), 3),
            "shuffled": round(deviation(cut(ShuffleSampler(n, seed)), codes), 3),
        },
    )
    p, k = min(classes, 8), 4
    balanced = list(ClassBalancedBatchSampler(codes, p, k, seed))
    counted = (np.bincount(codes[b]) for b in balanced)
    off = max(int(np.abs(c[c > 0] - k).max()) + abs(int((c > 0).sum()) - p) for c in counted)
    short = missing(cut(ShuffleSampler(n, seed), p * k), codes)
    yield (
        f"off {p} classes by {k} samples, at most",
        name,
        {"ClassBalancedBatchSampler": off, "missing a class of all, shuffled": short},
    )
    weights = 1 / np.bincount(codes)[codes]
    drawn = np.bincount(codes[WeightedSampler(weights, seed=seed).epoch_indices()], minlength=classes) / n
    natural = np.bincount(codes) / n
    yield (
        "rarest and most frequent class, share of an epoch",
        name,
        {
            "WeightedSampler, 1 / count": f"{drawn[natural.argmin()]:.3f} {drawn[natural.argmax()]:.3f}",
            "shuffled": f"{natural.min():.3f} {natural.max():.3f}",
        },
    )


def missing(batches: Batches, codes: Any) -> str:
    """Batches in which some class does not come."""
    classes = len(np.unique(codes))
    return f"{sum(len(np.unique(codes[b])) < classes for b in batches)} of {len(batches)}"


def of_groups(name: str, given: Any, seed: int) -> Iterable[Row]:
    codes = np.unique(given, return_inverse=True)[1]
    n = len(codes)
    shuffled = cut(ShuffleSampler(n, seed))
    batches = list(GroupBatchSampler(codes, BATCH, seed))
    how_many = f"of {int(codes.max()) + 1} groups"
    yield (
        "groups split between batches",
        name,
        {
            "GroupBatchSampler": straddling(batches, codes),
            "shuffled": straddling(shuffled, codes),
            "": f"{how_many}, largest batch {max(map(len, batches))}",
        },
    )
    order = ShuffleSampler(n, seed).epoch_indices()
    at_random = np.split(order, [int(0.8 * n), int(0.9 * n)])
    splits = split_by_group(codes, SHARES, seed)
    got = " ".join(f"{len(rows) / n:.3f}" for rows in splits.values())
    yield (
        "groups split between splits",
        name,
        {
            "split_by_group": straddling([rows.tolist() for rows in splits.values()], codes),
            "at random": straddling([rows.tolist() for rows in at_random], codes),
            "": f"{how_many}, shares {got}",
        },
    )


def of_difficulty(name: str, given: Any, seed: int) -> Iterable[Row]:
    difficulty, epochs = np.asarray(given, float), 5
    sampler = CurriculumSampler(difficulty, epochs, 0.3, seed)
    for epoch in range(epochs + 1):
        drawn = difficulty[sampler.epoch_indices()]
        found = {
            "mean": round(float(drawn.mean()), 2),
            "hardest": float(drawn.max()),
            "share": round(len(drawn) / len(difficulty), 3),
        }
        yield f"difficulty, epoch {epoch}", name, found


def coverage(data: Data, seed: int) -> Iterable[Row]:
    """How much of the data an epoch shows, and how often one sample at most."""
    name, labels = next(iter(data["labels"].items()))
    codes = np.unique(labels, return_inverse=True)[1]
    n = len(codes)
    lengths = np.resize(np.asarray(next(iter(data["lengths"].values()))), n)
    weights = 1 / np.bincount(codes)[codes]
    makers: dict[str, Callable[[], Any]] = {
        "ShuffleSampler": lambda: ShuffleSampler(n, seed),
        "OrderedSampler": lambda: OrderedSampler(n),
        "LengthBucketBatchSampler": lambda: LengthBucketBatchSampler(lengths, BATCH, seed=seed),
        "TokenBudgetBatchSampler": lambda: TokenBudgetBatchSampler(lengths, int(lengths.max()) * 8, seed=seed),
        "StratifiedBatchSampler": lambda: StratifiedBatchSampler(codes, BATCH, seed),
        "GroupBatchSampler": lambda: GroupBatchSampler(np.arange(n) // 3, BATCH, seed),
        "two ranks, DistributedShuffleSampler": lambda: [
            i for r in range(2) for i in DistributedShuffleSampler(n, 2, r, seed=seed)
        ],
        "ClassBalancedBatchSampler, P by K": lambda: ClassBalancedBatchSampler(
            codes, min(8, int(codes.max()) + 1), 4, seed
        ),
        "ClassBalancedBatchSampler, all classes": lambda: ClassBalancedBatchSampler(codes, seed=seed),
        "the same, drop_last=False": lambda: ClassBalancedBatchSampler(codes, seed=seed, drop_last=False),
        "WeightedSampler, 1 / count": lambda: WeightedSampler(weights, seed=seed),
        "the same, without replacement, half": lambda: WeightedSampler(weights, n // 2, False, seed),
        "CurriculumSampler, epoch 0": lambda: CurriculumSampler(lengths, 5, 0.3, seed),
    }
    for sampler, make in makers.items():
        drawn = np.concatenate([np.atleast_1d(item) for item in make()])
        times = np.bincount(drawn, minlength=n)
        found = {"shown": round(float((times > 0).mean()), 4), "draws": len(drawn), "most often": int(times.max())}
        yield f"coverage, {sampler}", name, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    folder = shared_data()
    data = real(folder) if folder is not None else made()
    if folder is None:
        print("the shared data sets are not there: these are made")
    kinds: dict[str, Callable[[str, Any, int], Iterable[Row]]] = {
        "lengths": of_lengths,
        "labels": of_labels,
        "groups": of_groups,
        "difficulty": of_difficulty,
    }
    rows = [
        row for kind, count in kinds.items() for name, given in data[kind].items() for row in count(name, given, seed)
    ]
    rows += coverage(data, seed)
    for what, name, found in sorted(rows, key=lambda row: row[0].startswith("coverage")):
        print(f"{what:50} {name:32} " + "; ".join(f"{k} {v}".strip() for k, v in found.items()))
    kept = [{"what": what, "data": name, **found} for what, name, found in rows]
    keep("sampling", {"rows": kept, "seed": seed, "complete": folder is not None})


if __name__ == "__main__":
    main()
