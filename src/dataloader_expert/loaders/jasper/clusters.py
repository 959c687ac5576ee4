"""Clusters of keywords, from the JSON of a clustering, and which of them each pair belongs to."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.loaders.jasper.keywords import normalized

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

Floats = NDArray[np.float32]
FALLBACKS = ("largest", "random", "uniform")


@dataclass(frozen=True)
class Clusters:
    """Keywords and the clusters that they belong to.

    Args:
        assignments: cluster of each keyword; keywords as :func:`~dataloader_expert.loaders.jasper.keywords.normalized`.
        centroids: float32 [clusters, width]; none without rows.
        embeddings: of keywords, float32 [width] each; may be empty.
        descriptors: words that describe each cluster, by its id; may be empty.
        metadata: as the clustering wrote it.
        cosine_threshold: similarity from which :meth:`nearest` takes an embedding for a keyword's.
    """

    assignments: Mapping[str, int]
    centroids: Floats
    embeddings: Mapping[str, Floats]
    descriptors: Mapping[int, list[str]]
    metadata: Mapping[str, Any]
    cosine_threshold: float = 0.7

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.metadata["n_clusters"])

    def cluster_of(self, keyword: str) -> int | None:
        """The cluster of a keyword, whatever its case; None if it is not known."""
        return self.assignments.get(normalized(keyword))

    def majority(self, keywords: Iterable[str]) -> int | None:
        """The cluster of most of the keywords, on a tie the one met first; None if none is known."""
        found = [cluster for cluster in map(self.cluster_of, keywords) if cluster is not None]
        return Counter(found).most_common(1)[0][0] if found else None

    def largest(self) -> int:
        """The cluster with most keywords, on a tie the one with the smallest id."""
        sizes = Counter(self.assignments.values())
        return max(range(self.n_clusters), key=lambda cluster: (sizes[cluster], -cluster))

    def nearest(self, embedding: Floats) -> str | None:
        """The keyword of highest cosine to ``embedding`` [width]; None if below ``cosine_threshold``."""
        if not self.embeddings:
            return None
        words = list(self.embeddings)
        vectors = np.stack([self.embeddings[word] for word in words])
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(embedding)
        cosines = vectors @ embedding / np.maximum(lengths, 1e-12)
        best = int(cosines.argmax())
        return words[best] if cosines[best] >= self.cosine_threshold else None


def parse_clusters(clustering_json_path: str | Path, validate: bool = True, cosine_threshold: float = 0.7) -> Clusters:
    """Reads the JSON of a keyword clustering: an object of ``metadata`` (with ``n_clusters``), ``cluster_assignments``
    (keyword to cluster id), ``centroids`` (a list of numbers each), and possibly ``embeddings`` (keyword to list of
    numbers) and ``cluster_stats`` (id to object with ``topic_descriptors``).

    With ``validate`` ids, counts and widths are checked; ``cosine_threshold`` is in [-1, 1], see :class:`Clusters`.

    Raises:
        FileNotFoundError: if the file is missing.
        ValueError: if it is not such an object; or, when validating, has no keywords or clusters, ids out of range, or not
            one centroid per cluster, all of one width.
    """
    path = Path(clustering_json_path)
    if not path.is_file():
        raise FileNotFoundError(f"Cluster file not found: {path}")
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        clusters = _parsed(given, cosine_threshold)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # what wrong JSON of any shape raises
        raise ValueError(
            f"{path} is not a clustering ({type(error).__name__}: {error}): it needs metadata.n_clusters, "
            "cluster_assignments and centroids"
        ) from error
    if validate:
        _check(clusters, path)
    return clusters


def link_sources(
    df: pd.DataFrame,
    cluster_parser: Clusters,
    keywords_col: str = "keywords",
    pair_id_col: str = "pair_id",
    output_col: str = "cluster_id",
    fallback_strategy: str = "largest",
    show_progress: bool = True,
    random_seed: int = 42,
) -> pd.DataFrame:
    """A copy of ``df``, which has a row per pair, with the cluster of each: that of most of its keywords, an integer.

    Args:
        cluster_parser: of :func:`parse_clusters`.
        keywords_col, pair_id_col: columns with a list of keywords, and with a number from 0.
        output_col: column to add or replace.
        fallback_strategy: for rows without a known keyword: the ``largest`` cluster, a ``random`` one, or
            ``uniform``: pair id modulo the number of clusters.
        show_progress: whether what was found is logged (INFO).
        random_seed: of the ``random`` clusters.

    A missing column or an unknown strategy is a ``ValueError``.
    """
    needed = {keywords_col, *([pair_id_col] if fallback_strategy == "uniform" else [])}
    missing = sorted(needed - set(df.columns))
    if missing:
        raise ValueError(f"the table lacks {', '.join(missing)}; it has {', '.join(map(str, df.columns))}")
    if fallback_strategy not in FALLBACKS:
        raise ValueError(f"fallback_strategy is {fallback_strategy!r}; it is one of {', '.join(FALLBACKS)}")
    found = [cluster_parser.majority(words) for words in df[keywords_col]]
    count = cluster_parser.n_clusters
    if fallback_strategy == "largest":
        others = [cluster_parser.largest()] * len(found)
    elif fallback_strategy == "random":
        others = np.random.default_rng(random_seed).integers(count, size=len(found)).tolist()
    else:
        others = [int(pair) % count for pair in df[pair_id_col]]
    unknown = sum(cluster is None for cluster in found)
    if unknown:
        text = "%d of %d pairs have no keyword of any cluster: %s is taken"
        log.warning(text, unknown, len(found), fallback_strategy)
    elif show_progress:
        log.info("%d pairs linked to clusters", len(found))
    return df.assign(**{output_col: [o if c is None else c for c, o in zip(found, others, strict=True)]})


def _parsed(given: Any, cosine_threshold: float) -> Clusters:
    stats = given.get("cluster_stats") or {}
    return Clusters(
        {normalized(word): int(cluster) for word, cluster in given["cluster_assignments"].items()},
        np.asarray(given["centroids"], np.float32),
        {normalized(word): np.asarray(v, np.float32) for word, v in (given.get("embeddings") or {}).items()},
        {int(cluster): list(stat.get("topic_descriptors", [])) for cluster, stat in stats.items()},
        {**given["metadata"], "n_clusters": int(given["metadata"]["n_clusters"])},
        cosine_threshold,
    )


def _check(clusters: Clusters, path: Path) -> None:
    count = clusters.n_clusters
    if not clusters.assignments or count < 1:
        raise ValueError(
            f"{path} has {len(clusters.assignments)} keywords in {count} clusters: at least one of each is needed"
        )
    wrong = {word: c for word, c in clusters.assignments.items() if not 0 <= c < count}
    if wrong:
        word, cluster = next(iter(wrong.items()))
        raise ValueError(f"{path} puts {len(wrong)} keywords, such as {word!r}, in clusters like {cluster} of {count}")
    if clusters.centroids.ndim != 2 or len(clusters.centroids) != count:
        raise ValueError(
            f"{path} has centroids of shape {list(clusters.centroids.shape)}; {count} rows, one per cluster, are needed"
        )
    widths = {vector.shape for vector in clusters.embeddings.values()}
    if widths - {clusters.centroids.shape[1:]}:
        raise ValueError(
            f"{path} has keyword embeddings as wide as {sorted(widths)}, centroids {clusters.centroids.shape[1]}"
        )
    if not -1 <= clusters.cosine_threshold <= 1:
        raise ValueError(f"cosine_threshold is {clusters.cosine_threshold}; it is in [-1, 1]")
