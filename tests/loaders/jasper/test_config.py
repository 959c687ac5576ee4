"""The configuration: its defaults, its rules, and its file."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.loaders.jasper import BuildConfig

OLD = {"mode": "linear", "start_distance": 0.3, "end_distance": 0.7, "warmup_epochs": 10}
LOGGER = "dataloader_expert.loaders.jasper"


def config(**changes: Any) -> BuildConfig:
    return BuildConfig(**{"embedding_dim": 384, "n_neg": 12, "clustering_source": "clusters.json", **changes})


def test_defaults_are_those_that_the_dataset_reads(caplog: pytest.LogCaptureFixture) -> None:
    """The original's promise, but for the curriculum, whose keys nothing read."""
    made = config()
    assert made.split_ratios == [0.8, 0.1, 0.1]
    assert made.steering_probabilities == {"zero": 0.25, "centroid": 0.25, "keyword": 0.25, "residual": 0.25}
    assert made.curriculum == {
        "mode": "linear",
        "zero_prob_start": 0.5,
        "zero_prob_end": 0.1,
        "epochs_total": 100,
        "warmup_epochs": 0,
    }
    assert (made.storage_format, made.include_inspection_file, made.random_seed) == ("pt", False, 42)
    assert [made.csv_splits, made.tier_proportions, made.n_pairs] == [None] * 3
    assert not caplog.records
    made.curriculum["mode"] = "fixed"
    assert config().curriculum["mode"] == "linear"


ACCEPTS: dict[str, dict[str, Any]] = {
    "no-test": {"split_ratios": [0.9, 0.1, 0.0]},
    "hdf5": {"storage_format": "hdf5"},
    "wide": {"embedding_dim": 4096, "n_neg": 100},
    "ratios-unused": {"split_ratios": [0.5, 0.5, 0.5], "csv_splits": {"train": ["a.csv"], "val": ["b.csv"]}},
    "tiers": {"tier_proportions": [12, 0, 0, 0]},
    **{mode: {"curriculum": {"mode": mode}} for mode in ("fixed", "linear", "cosine")},
}


@pytest.mark.parametrize("changes", ACCEPTS.values(), ids=ACCEPTS.keys())
def test_sensible_values_are_accepted_and_kept(changes: dict[str, Any]) -> None:
    """The original's promise."""
    made = config(**changes)
    assert {name: getattr(made, name) for name in changes} == changes


REFUSES: dict[str, tuple[dict[str, Any], str]] = {
    "ratios-sum": ({"split_ratios": [0.7, 0.2, 0.2]}, "split_ratios must sum to 1.0"),
    "ratios-sum-first": ({"split_ratios": [0.8, 0.1, -0.1]}, "split_ratios must sum to 1.0"),
    "ratios-two": ({"split_ratios": [0.8, 0.2]}, "split_ratios must have exactly 3 values"),
    "ratios-range": ({"split_ratios": [1.2, 0.1, -0.3]}, r"split_ratios must be in \[0, 1\]"),
    "steering-sum": (
        {"steering_probabilities": dict.fromkeys(("zero", "centroid", "keyword", "residual"), 0.3)},
        "steering_probabilities must sum to 1.0",
    ),
    "steering-keys": (
        {"steering_probabilities": dict.fromkeys(("zero", "centroid", "keyword", "none"), 0.25)},
        "steering_probabilities must have keys",
    ),
    "steering-range": (
        {"steering_probabilities": {"zero": 1.5, "centroid": -0.5, "keyword": 0, "residual": 0}},
        r"steering_probabilities must be in \[0, 1\]",
    ),
    "storage": ({"storage_format": "zarr"}, "storage_format must be 'pt' or 'hdf5'"),
    "curriculum-empty": ({"curriculum": {}}, "curriculum must have 'mode' key"),
    "curriculum-mode": ({"curriculum": {"mode": "steps"}}, "curriculum mode must be"),
    "curriculum-old-mode": ({"curriculum": OLD | {"mode": "steps"}}, "curriculum mode must be"),
    "curriculum-probability": ({"curriculum": {"mode": "linear", "zero_prob_end": 1.5}}, "zero_prob_end is 1.5"),
    "curriculum-mixed": ({"curriculum": OLD | {"zero_prob_end": 1.5}}, "zero_prob_end is 1.5"),
    "curriculum-epochs": ({"curriculum": {"mode": "linear", "epochs_total": 0}}, "must be at least 1"),
    "curriculum-warmup": (
        {"curriculum": {"mode": "linear", "epochs_total": 10, "warmup_epochs": 10}},
        "warmup_epochs 10 of epochs_total 10",
    ),
    "curriculum-typo": ({"curriculum": {"mode": "linear", "zero_start": 0.5}}, "unknown keys"),
    "dim": ({"embedding_dim": 0}, "embedding_dim must be positive"),
    "n_neg": ({"n_neg": 0}, "n_neg must be positive"),
    "tiers": ({"tier_proportions": [1, 1, 1, 1]}, "must sum to n_neg"),
}


@pytest.mark.parametrize(("changes", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_values_out_of_range_are_refused_at_once_and_before_they_are_saved(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    """The original's promise; ours that the curriculum's numbers count, and that validate() and save() look again."""
    with pytest.raises(ValueError, match=says):
        config(**changes)
    later = config()
    vars(later).update(changes)
    with pytest.raises(ValueError, match=says):
        later.validate()
    with pytest.raises(ValueError, match=says):
        later.save(tmp_path / "config.json")
    assert not (tmp_path / "config.json").exists()


def test_an_old_curriculum_is_accepted_and_said_to_run_as_it_always_did(caplog: pytest.LogCaptureFixture) -> None:
    """Our promise: the original took numbers that nothing read, in silence."""
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        made = config(curriculum=OLD)
    assert made.curriculum == OLD
    (record,) = caplog.records
    assert "zero_prob_start 0.5, zero_prob_end 0.1, epochs_total 100" in record.getMessage()


def test_a_configuration_survives_its_file(tmp_path: Path) -> None:
    """The original's promise: folders are made, JSON is indented; from_file is another name of load."""
    path = tmp_path / "a" / "b" / "config.json"
    made = config(random_seed=7, csv_splits={"train": ["a", "b"], "val": ["c"]}, tier_proportions=[3, 3, 3, 3])
    made.update_post_build(n_pairs=5, n_questions=4, n_sources=3, n_keywords=2, n_clusters=1)
    made.save(path)
    assert BuildConfig.load(path) == BuildConfig.from_file(str(path)) == made
    assert json.loads(path.read_text(encoding="utf-8")) == made.to_dict()
    assert path.read_text(encoding="utf-8").startswith('{\n  "embedding_dim": 384,')
    assert (made.n_pairs, made.n_questions, made.n_sources, made.n_keywords, made.n_clusters) == (5, 4, 3, 2, 1)
    assert [p.name for p in path.parent.iterdir()] == ["config.json"]


def test_an_older_file_loads_and_unknown_keys_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Our promise: the original raised TypeError at the keys that its own documentation lists."""
    given = {"embedding_dim": 64, "n_neg": 4, "clustering_source": "c", "dataset_name": "x", "created_at": "y"}
    (tmp_path / "config.json").write_text(json.dumps(given), encoding="utf-8")
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        loaded = BuildConfig.load(tmp_path / "config.json")
    assert loaded == BuildConfig(64, 4, "c")
    assert "unknown keys created_at, dataset_name are ignored" in caplog.text


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (None, FileNotFoundError, "Config file not found"),
        ("{", ValueError, "config.json is not JSON"),
        ("[]", ValueError, "holds list"),
        ('{"n_neg": 4}', ValueError, "lacks embedding_dim, clustering_source"),
    ],
)
def test_a_file_that_is_no_configuration_is_named(
    tmp_path: Path, text: str | None, error: type[Exception], says: str
) -> None:
    """The original's promise of a missing file; ours of the others."""
    if text is not None:
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(error, match=says):
        BuildConfig.load(tmp_path / "config.json")


def test_a_test_split_is_wanted_unless_said_otherwise() -> None:
    """Our promise: the finaliser asks this."""
    files = {"train": ["a"], "val": ["b"]}
    assert config().wants_test()
    assert not config(split_ratios=[0.9, 0.1, 0.0]).wants_test()
    assert not config(csv_splits=files).wants_test()
    assert config(csv_splits={**files, "test": ["c"]}).wants_test()
