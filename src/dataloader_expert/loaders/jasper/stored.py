"""The tensors of a JASPER directory, in one table: their names, their places in HDF5, their dimensions, what they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Shape: TypeAlias = tuple[int | None, ...]
"""Sizes of a tensor's dimensions; None stands for any size."""
COLUMN: Shape = (None,)
MATRIX: Shape = (None, None)


@dataclass(frozen=True)
class Stored:
    """One tensor, in ``NAME.pt`` or at a ``place`` in ``dataset.h5``.

    It holds ``vectors``, floating and all of one width; ``integers``, int64 once read; or ``numbers``, floating.
    """

    place: str
    shape: Shape
    holds: Literal["vectors", "integers", "numbers"]
    per_pair: bool = True


TENSORS = {
    "question_embs": Stored("embeddings/questions", MATRIX, "vectors", per_pair=False),
    "source_embs": Stored("embeddings/sources", MATRIX, "vectors", per_pair=False),
    "keyword_embs": Stored("embeddings/keywords", MATRIX, "vectors", per_pair=False),
    "centroid_embs": Stored("embeddings/centroids", MATRIX, "vectors", per_pair=False),
    "pair_index": Stored("pair_data/index", (None, 2), "integers"),
    "pair_cluster_id": Stored("pair_data/cluster_id", COLUMN, "integers"),
    "pair_relevance": Stored("pair_data/relevance", COLUMN, "numbers"),
    "hard_negatives": Stored("negatives/hardnegatives", MATRIX, "integers"),
    "negative_tiers": Stored("negatives/tiers", MATRIX, "integers"),
    "steering_centroid": Stored("steering/centroid", MATRIX, "vectors"),
    "steering_keyword_weighted": Stored("steering/keyword_weighted", MATRIX, "vectors"),
    "steering_residual": Stored("steering/residual", MATRIX, "vectors"),
    "centroid_distances": Stored("steering/distances", COLUMN, "numbers"),
}
KEYWORDS = "pair_keyword_ids"
"""A list of lists of keyword rows, in a file of its own."""
VECTORS = tuple(name for name, stored in TENSORS.items() if stored.holds == "vectors")
PER_PAIR = tuple(name for name, stored in TENSORS.items() if stored.per_pair)
NEGATIVES = ("hard_negatives", "negative_tiers")
STEERING = ("steering_centroid", "steering_keyword_weighted", "steering_residual")
SPLITS: tuple[Literal["train", "val", "test"], ...] = ("train", "val", "test")
