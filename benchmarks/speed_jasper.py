"""A JASPER batch compared with a vectorised gather of the same fields, and with reading sample by sample."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from benchmarks.common import CACHE, keep

QUESTIONS, SOURCES, KEYWORDS, CLUSTERS, PAIRS, DIM, NEGATIVES, BATCH = 5_000, 10_000, 500, 50, 20_000, 384, 12, 32


def made(folder: Path) -> Path:
    """A JASPER directory of 20,000 pairs, float32."""
    import torch

    if (folder / "config.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    draw = torch.Generator().manual_seed(0)

    def rows(high: int, *shape: int) -> Any:
        return torch.randint(0, high, shape, generator=draw)

    pairs = torch.stack([rows(QUESTIONS, PAIRS), rows(SOURCES, PAIRS)], 1)
    negatives = (pairs[:, 1:] + 1 + rows(SOURCES - 1, PAIRS, NEGATIVES)) % SOURCES
    tensors: dict[str, Any] = {
        "question_embs": torch.randn(QUESTIONS, DIM, generator=draw),
        "source_embs": torch.randn(SOURCES, DIM, generator=draw),
        "keyword_embs": torch.randn(KEYWORDS, DIM, generator=draw),
        "centroid_embs": torch.randn(CLUSTERS, DIM, generator=draw),
        "pair_index": pairs,
        "pair_cluster_id": rows(CLUSTERS, PAIRS),
        "pair_relevance": torch.rand(PAIRS, generator=draw),
        "pair_keyword_ids": rows(KEYWORDS, PAIRS, 3).tolist(),
        "centroid_distances": torch.rand(PAIRS, generator=draw) * 2,
        "hard_negatives": negatives,
        "negative_tiers": rows(4, PAIRS, NEGATIVES) + 1,
        "train_idx": torch.arange(0, 16_000),
        "val_idx": torch.arange(16_000, 18_000),
        "test_idx": torch.arange(18_000, PAIRS),
    }
    for name in ("centroid", "keyword_weighted", "residual"):
        tensors[f"steering_{name}"] = torch.randn(PAIRS, DIM, generator=draw)
    for name, tensor in tensors.items():
        torch.save(tensor, folder / f"{name}.pt")
    config = {
        "embedding_dim": DIM,
        "n_neg": NEGATIVES,
        "n_pairs": PAIRS,
        "steering_probabilities": dict.fromkeys(("zero", "centroid", "keyword", "residual"), 0.25),
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def cpu(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def run(repeats: int) -> None:
    """Prints and keeps the figures of one run."""
    import torch

    from dataloader_expert.loaders import create_loader

    torch.set_num_threads(1)
    folder = made(CACHE / "jasper")
    loader = create_loader(folder, "train", BATCH, pin_memory=False)
    dataset: Any = loader.dataset_obj
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    count = len(loader)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[: count * BATCH].view(count, BATCH)
    variants = torch.tensor([int(dataset[i]["steering_variant"]) for i in range(len(dataset))])
    all_pairs = dataset.split_indices
    whole = torch.cat(
        [dataset.steering_centroid, dataset.steering_keyword_weighted, dataset.steering_residual, torch.zeros(1, DIM)]
    )

    places = torch.where(variants == 0, 3 * PAIRS, (variants - 1) * PAIRS + all_pairs)  # once an epoch

    def gather() -> None:
        for at in order:
            pairs = dataset.split_indices.index_select(0, at)
            ends = dataset.pair_index.index_select(0, pairs)
            negatives = dataset.hard_negatives.index_select(0, pairs)
            _ = {
                "question_emb": dataset.question_embs.index_select(0, ends[:, 0]),
                "target_source_emb": dataset.source_embs.index_select(0, ends[:, 1]),
                "steering": whole.index_select(0, places.index_select(0, at)),
                "negative_embs": dataset.source_embs.index_select(0, negatives.view(-1)).view(BATCH, NEGATIVES, DIM),
                "cluster_id": dataset.pair_cluster_id.index_select(0, pairs),
                "relevance": dataset.pair_relevance.index_select(0, pairs),
                "centroid_distance": dataset.centroid_distances.index_select(0, pairs),
                "steering_variant": variants.index_select(0, at),
                "negative_tiers": dataset.negative_tiers.index_select(0, pairs),
            }

    pairs_of = dataset.split_indices[order]
    rows_of = [
        (dataset.question_embs, dataset.pair_index[pairs_of, 0]),
        (dataset.source_embs, dataset.pair_index[pairs_of, 1]),
        (whole, places[order]),
        (dataset.source_embs, dataset.hard_negatives[pairs_of].view(count, -1)),
        *(
            (table, pairs_of)
            for table in (
                dataset.pair_cluster_id,
                dataset.pair_relevance,
                dataset.centroid_distances,
                dataset.negative_tiers,
            )
        ),
        (variants, order),
    ]

    def select() -> None:
        for i in range(count):
            for table, rows in rows_of:
                table.index_select(0, rows[i])

    one_by_one: Any = torch.utils.data.DataLoader(OneByOne(dataset), BATCH, shuffle=True, drop_last=True)
    rounds: dict[str, list[float]] = {"ours": [], "gather": [], "index_select": [], "one by one": [], "delivered": []}
    for _ in range(repeats):
        rounds["gather"].append(cpu(gather) / count)
        rounds["ours"].append(cpu(lambda: _drain(loader)) / count)
        rounds["index_select"].append(cpu(select) / count)
        rounds["one by one"].append(cpu(lambda: _drain(one_by_one)) / count)
        begun = time.perf_counter()
        for batch in loader:
            moved = {name: value.to(device) for name, value in batch.items()}
        if device.type == "cuda":
            torch.cuda.synchronize()
        rounds["delivered"].append((time.perf_counter() - begun) / count)
        del moved
    size = BATCH * ((NEGATIVES + 3) * DIM * 4 + NEGATIVES * 8 + 8 + 8 + 4 + 4)
    ratios = [a / b for a, b in zip(rounds["ours"], rounds["gather"], strict=True)]
    slower = [a / b for a, b in zip(rounds["one by one"], rounds["gather"], strict=True)]
    result = {
        "batch": f"{BATCH} x {DIM}, {NEGATIVES} negatives, {PAIRS} pairs",
        "device": str(device),
        "repeats": repeats,
        "ms": {name: _spread([1e3 * v for v in values]) for name, values in rounds.items()},
        "ours_over_gather": _spread(ratios),
        "one_by_one_over_gather": _spread(slower),
        "gather_gb_s": size / statistics.median(rounds["gather"]) / 1e9,
        "index_select_gb_s": size / statistics.median(rounds["index_select"]) / 1e9,
    }
    keep("speed-jasper", {"complete": repeats >= 15, **result})
    for name, (low, middle, high) in result["ms"].items():  # type: ignore[attr-defined]  # a dict, said as object
        print(f"{name:14} {middle:7.3f} ms a batch ({low:.3f} to {high:.3f})")
    print(f"ours over the gather {_said(ratios)}; sample by sample over the gather {_said(slower)}")
    print(
        f"the gather, index arithmetic included, moves {result['gather_gb_s']:.2f} GB/s; index_select of the same bytes "
        f"at rows that are known moves {result['index_select_gb_s']:.2f} GB/s"
    )
    made_in = 1e3 * statistics.median(rounds["delivered"])
    print(
        f"a batch is made and moved to {device} in {made_in:.2f} ms at the median, {'under' if made_in < 5 else 'over'} 5 ms"
    )


class OneByOne(Dataset[dict[str, Any]]):
    """The same samples read as one would write it first: one at a time, with a draw for each, stacked by torch."""

    def __init__(self, dataset: Any) -> None:
        import numpy as np

        self.dataset, self.rng = dataset, np.random.default_rng(0)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        import torch

        of = self.dataset
        pair = int(of.split_indices[index])
        question, source = int(of.pair_index[pair, 0]), int(of.pair_index[pair, 1])
        variant = int(self.rng.choice([0, 1, 2, 3], p=[0.25, 0.25, 0.25, 0.25]))
        steering = [None, of.steering_centroid, of.steering_keyword_weighted, of.steering_residual][variant]
        return {
            "question_emb": of.question_embs[question],
            "target_source_emb": of.source_embs[source],
            "steering": torch.zeros(DIM) if steering is None else steering[pair],
            "negative_embs": of.source_embs[of.hard_negatives[pair]],
            "cluster_id": of.pair_cluster_id[pair],
            "relevance": of.pair_relevance[pair],
            "centroid_distance": of.centroid_distances[pair],
            "steering_variant": torch.tensor(variant),
            "negative_tiers": of.negative_tiers[pair],
        }


def _drain(loader: Any) -> None:
    for _ in loader:
        pass


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _said(values: list[float]) -> str:
    low, middle, high = _spread(values)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"
