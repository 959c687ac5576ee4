"""Clusters of keywords: read from JSON, and given to pairs."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dataloader_expert.loaders.jasper import link_sources, parse_clusters
from tests.loaders.jasper.parts import clustering

KEYWORDS = [["cat"], ["oak", " CAT ", "Elm"], ["sea", "cat"], ["unknown", "tide"], ["unknown"], []]


def frame() -> pd.DataFrame:
    return pd.DataFrame({"keywords": KEYWORDS, "pair_id": range(len(KEYWORDS))})


def test_a_clustering_is_read_with_keywords_in_one_form(tmp_path: Path) -> None:
    """The original's promise: case and blanks around keywords do not count."""
    path = clustering(tmp_path / "c.json", cluster_assignments={" Cat": 0, "OAK": 1}, embeddings={"CAT ": [1, 0, 0, 0]})
    clusters = parse_clusters(path)
    assert [clusters.cluster_of(word) for word in ("cat", "Oak ", "dog")] == [0, 1, None]
    assert clusters.n_clusters == 3
    assert clusters.centroids.shape == (3, 4)
    assert clusters.centroids.dtype == np.float32
    assert clusters.descriptors == {0: ["animals"]}
    assert clusters.embeddings["cat"].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("strategy", "expected"), [("largest", [0, 1, 2, 2, 0, 0]), ("uniform", [0, 1, 2, 2, 4 % 3, 5 % 3])]
)
def test_a_pair_belongs_to_the_cluster_of_most_of_its_keywords(
    tmp_path: Path, strategy: str, expected: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """The original's promise: of several the one met first; without a known keyword by strategy."""
    given = frame()
    with caplog.at_level(logging.WARNING, logger="dataloader_expert.loaders.jasper"):
        linked = link_sources(given, parse_clusters(clustering(tmp_path / "c.json")), fallback_strategy=strategy)
    assert linked["cluster_id"].tolist() == expected
    assert list(given.columns) == ["keywords", "pair_id"]
    assert "2 of 6 pairs have no keyword of any cluster" in caplog.text


def test_random_clusters_are_of_a_seed(tmp_path: Path) -> None:
    """Our promise: the same each time, and within range."""
    clusters = parse_clusters(clustering(tmp_path / "c.json"))
    given = pd.DataFrame({"keywords": [[]] * 50})
    one, same, other = (link_sources(given, clusters, fallback_strategy="random", random_seed=s) for s in (1, 1, 2))
    assert one["cluster_id"].tolist() == same["cluster_id"].tolist() != other["cluster_id"].tolist()
    assert set(one["cluster_id"]) == {0, 1, 2}


def test_the_largest_cluster_has_most_keywords(tmp_path: Path) -> None:
    """The original's promise; of several the smallest id."""
    assert parse_clusters(clustering(tmp_path / "c.json")).largest() == 0
    more = clustering(tmp_path / "d.json", cluster_assignments={"a": 2, "b": 2, "c": 0}, embeddings={})
    assert parse_clusters(more).largest() == 2


def test_an_embedding_finds_its_keyword_above_the_threshold(tmp_path: Path) -> None:
    """Our promise: what cosine_threshold is for."""
    path = clustering(tmp_path / "c.json")
    near, far = np.array([0, 2, 0, 0], np.float32), np.array([0, 0, 0, -1], np.float32)
    clusters = parse_clusters(path, cosine_threshold=0.9)
    assert clusters.nearest(near) in ("oak", "elm")
    assert clusters.nearest(far) is None
    assert parse_clusters(clustering(path, embeddings={})).nearest(near) is None


REFUSES: dict[str, tuple[dict[str, Any], str]] = {
    "no-keywords": ({"cluster_assignments": {}, "embeddings": {}}, "has 0 keywords"),
    "no-count": ({"metadata": {}}, "not a clustering.*n_clusters"),
    "id": ({"cluster_assignments": {"cat": 3}}, "'cat'.* 3 of 3"),
    "id-below-zero": ({"cluster_assignments": {"cat": -1}}, "'cat'.* -1 of 3"),
    "soft": ({"cluster_assignments": {"cat": [0, 1]}}, "not a clustering"),
    "centroids": ({"centroids": [[1.0]]}, r"centroids of shape \[1, 1\]"),
    "ragged": ({"centroids": [[1.0], [1.0, 2.0], [1.0]]}, "not a clustering"),
    "widths": ({"embeddings": {"cat": [1.0]}}, "keyword embeddings as wide as"),
}


@pytest.mark.parametrize(("changes", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_a_clustering_that_does_not_fit_together_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    """The original's promise; the file is named."""
    with pytest.raises(ValueError, match=rf"c\.json.*{says}"):
        parse_clusters(clustering(tmp_path / "c.json", **changes))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """The original's promise of a missing file; ours of the others."""
    with pytest.raises(FileNotFoundError, match="Cluster file not found"):
        parse_clusters(tmp_path / "c.json")
    (tmp_path / "list.json").write_text(json.dumps([1]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"list\.json is not a clustering"):
        parse_clusters(tmp_path / "list.json")
    clusters = parse_clusters(clustering(tmp_path / "c.json"))
    with pytest.raises(ValueError, match="cosine_threshold is 2"):
        parse_clusters(tmp_path / "c.json", cosine_threshold=2)
    with pytest.raises(ValueError, match="fallback_strategy is 'first'"):
        link_sources(frame(), clusters, fallback_strategy="first")
    with pytest.raises(ValueError, match="lacks keywords"):
        link_sources(pd.DataFrame({"x": [1]}), clusters)
