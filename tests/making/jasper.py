"""Tiny JASPER directories, and faults to plant in them. The truth is what was put in: nothing of ours computes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

QUESTIONS, SOURCES, KEYWORDS, CLUSTERS, PAIRS, DIM, NEGATIVES = 20, 40, 10, 4, 120, 8, 3
SIZES = {"train": 80, "val": 25, "test": 15}
UNIFORM = {"zero": 0.25, "centroid": 0.25, "keyword": 0.25, "residual": 0.25}
OLD_CURRICULUM = {"mode": "linear", "start_distance": 0.3, "end_distance": 0.7, "warmup_epochs": 10}
"""As the builder of before wrote it."""

Contents = dict[str, Any]


def contents(pairs: int = PAIRS, dim: int = DIM, dtype: torch.dtype = torch.float32, seed: int = 0) -> Contents:
    """What a valid directory's files hold, by name without ``.pt``; with other ``pairs`` splits shrink or grow."""
    g = torch.Generator().manual_seed(seed)

    def floats(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g).to(dtype)

    def rows(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, shape, generator=g)

    index = torch.stack([rows(QUESTIONS, pairs), rows(SOURCES, pairs)], 1)
    order = torch.randperm(pairs, generator=g)
    ends = [0, pairs * SIZES["train"] // PAIRS, pairs * (SIZES["train"] + SIZES["val"]) // PAIRS, pairs]
    made: Contents = {
        "question_embs": floats(QUESTIONS, dim),
        "source_embs": floats(SOURCES, dim),
        "keyword_embs": floats(KEYWORDS, dim),
        "centroid_embs": floats(CLUSTERS, dim),
        "pair_index": index,
        "pair_cluster_id": rows(CLUSTERS, pairs),
        "pair_relevance": torch.rand(pairs, generator=g),
        "pair_keyword_ids": [list(range(i % 3)) for i in range(pairs)],
        "steering_centroid": floats(pairs, dim),
        "steering_keyword_weighted": floats(pairs, dim),
        "steering_residual": floats(pairs, dim),
        "centroid_distances": torch.rand(pairs, generator=g) * 2,
        "hard_negatives": (index[:, 1:] + 1 + torch.arange(NEGATIVES) * 3 + rows(3, pairs, NEGATIVES)) % SOURCES,
        "negative_tiers": rows(4, pairs, NEGATIVES) + 1,
    }
    for i, split in enumerate(SIZES):
        made[f"{split}_idx"] = order[ends[i] : ends[i + 1]].clone()
    return made


def config(**changes: Any) -> dict[str, Any]:
    """``config.json`` without a curriculum; a change to None leaves a key out."""
    given = {
        "embedding_dim": DIM,
        "n_neg": NEGATIVES,
        "n_pairs": PAIRS,
        "steering_probabilities": UNIFORM,
        **changes,
    }
    return {key: value for key, value in given.items() if value is not None}


def make(folder: Path, what: Contents | None = None, **changes: Any) -> Path:
    """A directory of PT files.

    Args:
        folder: where to.
        what: of the files; None: as :func:`contents`.
        changes: of the configuration.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (contents() if what is None else what).items():
        torch.save(value, folder / f"{name}.pt")
    (folder / "config.json").write_text(json.dumps(config(**changes)), encoding="utf-8")
    return folder


def rewrite(folder: Path, **files: Any) -> None:
    """Replaces files, by name without ``.pt``; they become the newest of the folder, however fast this was."""
    newest = max(p.stat().st_mtime_ns for p in folder.iterdir())
    for name, value in files.items():
        path = folder / f"{name}.pt"
        torch.save(value, path)
        os.utime(path, ns=(newest + 10**9, newest + 10**9))


def stored(folder: Path, name: str) -> Any:
    return torch.load(folder / f"{name}.pt", weights_only=True)


def steering_of(what: Contents, pair: int, variant: int) -> torch.Tensor:
    """The steering vector of a pair, as the code of its variant says."""
    if not variant:
        return torch.zeros_like(what["steering_centroid"][pair])
    names = ("steering_centroid", "steering_keyword_weighted", "steering_residual")
    vector: torch.Tensor = what[names[variant - 1]][pair]
    return vector


def sample_of(what: Contents, pair: int, variant: int) -> dict[str, torch.Tensor]:
    """The sample of a pair with a variant, from the contents alone."""
    question, source = what["pair_index"][pair].tolist()
    return {
        "question_emb": what["question_embs"][question],
        "target_source_emb": what["source_embs"][source],
        "steering": steering_of(what, pair, variant),
        "negative_embs": torch.stack([what["source_embs"][s] for s in what["hard_negatives"][pair].tolist()]),
        "cluster_id": what["pair_cluster_id"][pair],
        "relevance": what["pair_relevance"][pair],
        "centroid_distance": what["centroid_distances"][pair],
        "steering_variant": torch.tensor(variant),
        "negative_tiers": what["negative_tiers"][pair],
    }


@dataclass(frozen=True)
class Fault:
    """A fault of one file: what becomes of its content, and what the error must say (None: a warning only)."""

    file: str
    change: Callable[[Any], Any]
    says: str | None


def _put(place: int | tuple[int, ...], value: float) -> Callable[[Any], Any]:
    def change(tensor: torch.Tensor) -> torch.Tensor:
        tensor[place] = value
        return tensor

    return change


def _short(values: Any) -> Any:
    return values[:-1]


def _longer(tensor: torch.Tensor) -> torch.Tensor:
    return torch.cat([tensor, tensor[:1]])


FAULTS: dict[str, Fault] = {
    "question too large": Fault("pair_index", _put((5, 0), 500), "pair_index references question 500, but only 20"),
    "source too large": Fault("pair_index", _put((5, 1), 500), "pair_index references source 500, but only 40 sources"),
    "question negative": Fault("pair_index", _put((5, 0), -1), "pair_index references question -1"),
    "source negative": Fault("pair_index", _put((5, 1), -2), "pair_index references source -2"),
    "pair_index of floats": Fault("pair_index", lambda t: t.float(), "pair_index is torch.float32.*integers"),
    "pair_index of three columns": Fault("pair_index", lambda t: torch.cat([t, t[:, :1]], 1), "dimension 1 has size 3"),
    "negative of no source": Fault("hard_negatives", _put((3, 1), 40), "hard_negatives references source 40, but only"),
    "negative below 0": Fault("hard_negatives", _put((3, 1), -1), "hard_negatives references source -1"),
    "negatives too short": Fault("hard_negatives", _short, "negative_tiers is .* hard_negatives is"),
    "tiers too short": Fault("negative_tiers", _short, "negative_tiers is .* hard_negatives is"),
    "tier 0": Fault("negative_tiers", _put((7, 2), 0), "negative_tiers holds 0; tiers are 1 to 4"),
    "tier 5": Fault("negative_tiers", _put((7, 2), 5), "negative_tiers holds 5; tiers are 1 to 4"),
    "cluster too large": Fault("pair_cluster_id", _put(9, 4), "pair_cluster_id references cluster 4, but only 4"),
    "cluster negative": Fault("pair_cluster_id", _put(9, -1), "pair_cluster_id references cluster -1"),
    "clusters too short": Fault("pair_cluster_id", _short, "pair_cluster_id has 119 rows, but pair_index has 120"),
    "clusters too long": Fault("pair_cluster_id", _longer, "pair_cluster_id has 121 rows, but pair_index has 120"),
    "relevance too short": Fault("pair_relevance", _short, "pair_relevance has 119 rows"),
    "distances too short": Fault("centroid_distances", _short, "centroid_distances has 119 rows"),
    "steering too short": Fault("steering_residual", _short, "steering_residual has 119 rows"),
    "keyword lists too few": Fault("pair_keyword_ids", _short, "pair_keyword_ids has 119 rows"),
    "keyword too large": Fault(
        "pair_keyword_ids", lambda k: [*k[:-1], [10]], "pair_keyword_ids references keyword 10, but only 10"
    ),
    "keyword negative": Fault(
        "pair_keyword_ids", lambda k: [[-1], *k[1:]], "pair_keyword_ids references keyword -1, but"
    ),
    "keywords in no lists": Fault("pair_keyword_ids", lambda k: {"lists": k}, "must hold a list of lists"),
    "relevance above 1": Fault("pair_relevance", _put(2, 1.5), r"pair_relevance holds values from .* to 1.5"),
    "relevance below 0": Fault("pair_relevance", _put(2, -0.5), r"pair_relevance holds values from -0.5"),
    "relevance NaN": Fault("pair_relevance", _put(2, float("nan")), "NaN detected in pair_relevance, row 2"),
    "distance above 2": Fault("centroid_distances", _put(2, 2.5), r"centroid_distances holds values from .* to 2.5"),
    "distance infinite": Fault("centroid_distances", _put(2, float("inf")), "Inf detected in centroid_distances"),
    "NaN in questions": Fault("question_embs", _put((4, 1), float("nan")), "NaN detected in question_embs, row 4"),
    "Inf in sources": Fault("source_embs", _put((4, 1), float("-inf")), "Inf detected in source_embs, row 4"),
    "NaN in keywords": Fault("keyword_embs", _put((4, 1), float("nan")), "NaN detected in keyword_embs"),
    "NaN in centroids": Fault("centroid_embs", _put((3, 1), float("nan")), "NaN detected in centroid_embs"),
    "NaN in steering": Fault("steering_centroid", _put((4, 1), float("nan")), "NaN detected in steering_centroid"),
    "Inf in steering": Fault("steering_residual", _put((4, 1), float("inf")), "Inf detected in steering_residual"),
    "half and single precision": Fault("source_embs", lambda t: t.half(), "must share one floating dtype"),
    "another width": Fault("steering_centroid", lambda t: t[:, :-1].clone(), "embedding dimensions differ"),
    "one dimension": Fault("question_embs", lambda t: t.view(-1), "has 1 dimensions, expected 2"),
    "split beyond the pairs": Fault("train_idx", _put(0, 120), "Split indices reference pair 120, but only 120"),
    "split below 0": Fault("train_idx", _put(0, -1), "Split indices reference pair -1"),
    "split with a pair twice": Fault("train_idx", lambda t: torch.cat([t, t[:1]]), "split train names 1 pairs twice"),
    "split of floats": Fault("train_idx", lambda t: t.float(), "train_idx.pt is torch.float32"),
}
"""Faults that opening ``train`` must refuse."""


def plant(folder: Path, name: str) -> Fault:
    """Plants one of :data:`FAULTS` in a directory."""
    fault = FAULTS[name]
    rewrite(folder, **{fault.file: fault.change(stored(folder, fault.file))})
    return fault


def touch(path: Path) -> int:
    """Makes a file, and is 0 otherwise."""
    path.touch()
    return 0


class Touch:
    """Unpickled, it makes a file and is 0: shows that a pickle was run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return touch, (self.path,)


@contextmanager
def process_group(folder: Path, rank: int = 0, size: int = 1) -> Iterator[None]:
    """A process group of ``size``, which meets in a file of ``folder``."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=size)
    try:
        yield
    finally:
        dist.destroy_process_group()
