"""A directory is declared finished only if everything in it fits together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from dataloader_expert.loaders.jasper import BuildConfig, DatasetFinalizer, finalize_dataset
from tests.loaders.jasper.parts import directory

T = torch.tensor
COUNTS = {"n_pairs": 6, "n_questions": 3, "n_sources": 5, "n_keywords": 4, "n_clusters": 2}


def config(**changes: Any) -> BuildConfig:
    return BuildConfig(**{"embedding_dim": 8, "n_neg": 3, "clustering_source": "c.json", **changes})


def test_a_valid_directory_gets_its_counts_and_its_file(tmp_path: Path) -> None:
    """The original's promise: the configuration that was given is completed, written and returned."""
    given = config(embedding_dim=1, n_neg=1)
    returned = DatasetFinalizer(directory(tmp_path)).finalize(given, clustering_source=Path("other.json"))
    assert returned is given
    assert {name: getattr(given, name) for name in COUNTS} == COUNTS
    assert (given.embedding_dim, given.n_neg, given.clustering_source) == (8, 3, "other.json")
    assert json.loads((tmp_path / "config.json").read_text()) == given.to_dict()


def test_the_configuration_comes_from_the_argument_the_file_or_the_clustering_alone(tmp_path: Path) -> None:
    """The original's promise, in that order; nothing is written with save=False."""
    directory(tmp_path)
    with pytest.raises(ValueError, match=r"no config\.json: pass config or clustering_source"):
        finalize_dataset(tmp_path)
    alone = finalize_dataset(tmp_path, clustering_source="c.json", save=False)
    assert (alone.embedding_dim, alone.n_neg, alone.n_pairs) == (8, 3, 6)
    assert not (tmp_path / "config.json").exists()
    config(random_seed=5).save(tmp_path / "config.json")
    assert finalize_dataset(tmp_path).random_seed == 5
    assert BuildConfig.load(tmp_path / "config.json").n_pairs == 6


def test_a_data_set_without_keywords_is_complete(tmp_path: Path) -> None:
    """Our promise: the original refused what its own builder had written."""
    directory(tmp_path, keyword_embs=torch.empty(0, 8), pair_keyword_ids=[[]] * 6)
    assert finalize_dataset(tmp_path, config()).n_keywords == 0


@pytest.mark.parametrize("test_idx", [None, torch.empty(0, dtype=torch.long)], ids=["missing", "empty"])
@pytest.mark.parametrize(
    "changes",
    [{"split_ratios": [0.8, 0.2, 0.0]}, {"csv_splits": {"train": ["a"], "val": ["b"]}}],
    ids=["ratio-0", "no-test-files"],
)
def test_a_data_set_without_test_split_is_complete_if_none_was_asked_for(
    tmp_path: Path, changes: dict[str, Any], test_idx: Any
) -> None:
    """Our promise: the original refused both, after it had not written the file."""
    directory(tmp_path, val_idx=T([2, 3]), test_idx=test_idx)
    assert finalize_dataset(tmp_path, config(**changes)).n_pairs == 6
    with pytest.raises((FileNotFoundError, ValueError), match=r"test_idx"):
        finalize_dataset(tmp_path, config())


EMPTY = torch.empty(0, dtype=torch.long)
REFUSES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "missing": (
        {"hard_negatives": None, "val_idx": None},
        FileNotFoundError,
        "Missing required dataset files.*hard.*val",
    ),
    "rank": ({"pair_index": T([0, 1])}, ValueError, "pair_index.*has 1 dimensions, expected 2 dimensions"),
    "widths": ({"source_embs": torch.ones(5, 7)}, ValueError, "embedding dimensions differ"),
    "no-sources": ({"source_embs": torch.ones(0, 8)}, ValueError, "pair_index references source 4, but only 0 sources"),
    "nan": ({"keyword_embs": torch.full((4, 8), float("nan"))}, ValueError, "NaN detected in keyword_embs, row 0"),
    "question": ({"pair_index": T([[3, 0]] * 6)}, ValueError, "pair_index references question 3, but only 3"),
    "source-below-zero": ({"pair_index": T([[0, -1]] * 6)}, ValueError, "pair_index references source -1"),
    "cluster": ({"pair_cluster_id": T([2] * 6)}, ValueError, "pair_cluster_id references cluster 2, but only 2"),
    "cluster-below-zero": ({"pair_cluster_id": T([-1] * 6)}, ValueError, "pair_cluster_id references cluster -1"),
    "cluster-length": ({"pair_cluster_id": T([0])}, ValueError, "pair_cluster_id has 1 rows, but pair_index has 6"),
    "relevance": ({"pair_relevance": T([1.1] * 6)}, ValueError, "pair_relevance holds values from .* to 1.1"),
    "relevance-nan": ({"pair_relevance": T([float("nan")] * 6)}, ValueError, "NaN detected in pair_relevance, row 0"),
    "keyword": ({"pair_keyword_ids": [[4]] * 6}, ValueError, "pair_keyword_ids references keyword 4, but only 4"),
    "keywords-tensor": ({"pair_keyword_ids": T([1])}, ValueError, "must hold a list of lists"),
    "keyword-of-none": (
        {"keyword_embs": torch.ones(0, 8)},
        ValueError,
        "pair_keyword_ids references keyword 3, but only 0",
    ),
    "steering-length": ({"steering_residual": torch.ones(5, 8)}, ValueError, "steering_residual has 5 rows"),
    "steering-width": (
        {"steering_centroid": torch.ones(6, 7)},
        ValueError,
        "embedding dimensions differ.* steering_centroid 7",
    ),
    "steering-inf": (
        {"steering_keyword_weighted": torch.full((6, 8), float("inf"))},
        ValueError,
        "Inf detected in steering_keyword_weighted",
    ),
    "distance": ({"centroid_distances": T([2.1] * 6)}, ValueError, "centroid_distances"),
    "negatives-length": ({"hard_negatives": T([[1, 2, 3]])}, ValueError, "hard_negatives is"),
    "tiers-shape": ({"negative_tiers": T([[1, 2]] * 6)}, ValueError, "write both together"),
    "negative-high": (
        {"hard_negatives": T([[5, 2, 3]] * 6)},
        ValueError,
        "hard_negatives references source 5, but only 5",
    ),
    "negative-low": ({"hard_negatives": T([[-1, 2, 3]] * 6)}, ValueError, "hard_negatives references source -1"),
    "negative-float": ({"hard_negatives": torch.ones(6, 3)}, ValueError, "hard_negatives is torch.float32.*integers"),
    "tier": ({"negative_tiers": T([[1, 2, 5]] * 6)}, ValueError, "negative_tiers holds 5; tiers are 1 to 4"),
    "true-source": (
        {"hard_negatives": T([[1, 2, 3]] * 6)},
        ValueError,
        "hard_negatives contains true source of 3 pairs, the first is 1",
    ),
    "split-empty": ({"val_idx": EMPTY}, ValueError, "val_idx is empty"),
    "split-range": ({"val_idx": T([6])}, ValueError, "Split indices reference pair 6, but only 6"),
    "split-below-zero": ({"val_idx": T([-4])}, ValueError, "Split indices reference pair -4"),
    "split-twice": ({"val_idx": T([2, 2])}, ValueError, "split val names 1 pairs twice"),
    "split-overlap": ({"val_idx": T([2, 3])}, ValueError, "splits val and test overlap in 1 pairs, the first is 3"),
    "split-gap": ({"train_idx": T([0, 1])}, ValueError, "the splits have 4 of 6 pairs"),
    "split-float": ({"val_idx": T([2.0])}, ValueError, "val_idx.pt is torch.float32.*integers"),
}


@pytest.mark.parametrize(("changes", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_a_broken_directory_is_refused_and_nothing_is_changed(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    """The original's promise; ours for indices below 0, integers, and a configuration that stays as it was."""
    finalizer, given = DatasetFinalizer(directory(tmp_path, **changes)), config()
    for call in (finalizer.finalize, finalizer.validate, finalizer.generate_report):
        with pytest.raises(error, match=says):
            call(given)
    assert given == config()
    assert not (tmp_path / "config.json").exists()


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"embedding_dim": 9}, ValueError, "Config embedding_dim is 9"),
        ({"n_neg": 4}, ValueError, "Config n_neg is 4"),
        ({"storage_format": "hdf5"}, NotImplementedError, "storage_format='pt' only"),
    ],
    ids=["width", "n_neg", "format"],
)
def test_a_configuration_that_contradicts_the_files_is_refused(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    """The original's promise."""
    with pytest.raises(error, match=says):
        finalize_dataset(directory(tmp_path), config(**changes))
    with pytest.raises(error, match=says):
        DatasetFinalizer(tmp_path).validate(config(**changes))


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    """The original's promise; a path may be text."""
    with pytest.raises(FileNotFoundError, match="Output directory not found"):
        DatasetFinalizer(tmp_path / "none")
    assert DatasetFinalizer(str(tmp_path)).output_dir == tmp_path


def test_validating_and_writing_are_there_by_themselves(tmp_path: Path) -> None:
    """The documentation of the original promised them, its code lacked them."""
    finalizer = DatasetFinalizer(directory(tmp_path))
    finalizer.validate()
    assert not (tmp_path / "config.json").exists()
    assert finalizer.write_config(config()) == tmp_path / "config.json"
    assert BuildConfig.load(tmp_path / "config.json") == config()


def test_a_report_counts_what_is_there(tmp_path: Path) -> None:
    """The documentation of the original promised it, its code lacked it."""
    made = DatasetFinalizer(directory(tmp_path)).generate_report()
    assert json.loads(json.dumps(made)) == made
    assert {name: made[name] for name in COUNTS} == COUNTS
    assert (made["embedding_dim"], made["n_neg"]) == (8, 3)
    assert made["splits"]["train"] == {"n_pairs": 4, "share": pytest.approx(4 / 6)}
    assert made["steering"]["residual"] == {"min": 0, "mean": 0, "max": 0, "zero_vectors": 6}
    assert made["steering"]["centroid"]["zero_vectors"] == 0
    assert made["steering"]["centroid_distance"]["max"] == pytest.approx(2)
    assert made["negatives"] == {"per_tier": {"1": 5, "2": 5, "3": 5, "4": 3}, "pairs_with_repeats": 1}
    assert made["keywords"] == {"mean_per_pair": pytest.approx(7 / 6), "pairs_without": 1}
    assert made["pairs_per_cluster"] == {"min": 3, "mean": 3, "max": 3}
    assert made["relevance"] == {"min": 0, "mean": pytest.approx(0.4), "max": 1}
