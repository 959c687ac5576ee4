"""Steering vectors of each pair: directions from a question towards its source."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from dataloader_expert.loaders.jasper.artifacts import save_tensor_artifact
from dataloader_expert.loaders.jasper.validation import (
    validate_cluster_ids_bounds,
    validate_embedding_dimensions,
    validate_keyword_ids_list,
    validate_length_consistency,
    validate_no_nan_inf,
    validate_pair_indices_bounds,
    validate_tensor_2d,
)

log = logging.getLogger(__name__)

FALLBACKS = ("centroid", "zero", "random")
FILES = {
    "centroid": "steering_centroid.pt",
    "keyword_weighted": "steering_keyword_weighted.pt",
    "residual": "steering_residual.pt",
    "distances": "centroid_distances.pt",
}
"""The file of each result of :meth:`SteeringBuilder.build_all_steering`."""
TINY = 1e-8
"""Norm up to which a vector has no direction."""


class SteeringBuilder:
    """Steering vectors of every pair, from the embeddings of its question, its cluster's centroid and its keywords.

    Args:
        question_embeddings, centroid_embeddings: [questions, width] and [clusters, width], floats.
        keyword_embeddings: [keywords, width], floats; None or no rows if no pair has keywords.
        pair_indices: integers [pairs, 2], row of the question and of the source; the latter is not looked at.
        pair_cluster_ids: integers [pairs], row of the centroid.
        pair_keyword_ids: rows of keywords, one list per pair.
        normalize_residual: whether residuals get length 1.
        fallback_strategy: of a pair without keywords: its ``centroid`` steering, ``zero``, or a ``random`` direction.
        show_progress: whether steps are logged (INFO).
        random_seed: of the ``random`` directions, which do not touch torch's global generator.

    Raises:
        TypeError: if an argument is of another type.
        ValueError: if shapes, widths, lengths or indices do not fit together, or the strategy is unknown.
    """

    def __init__(
        self,
        question_embeddings: Tensor,
        keyword_embeddings: Tensor | None,
        centroid_embeddings: Tensor,
        pair_indices: Tensor,
        pair_cluster_ids: Tensor,
        pair_keyword_ids: list[list[int]],
        normalize_residual: bool = False,
        fallback_strategy: str = "centroid",
        show_progress: bool = True,
        random_seed: int = 42,
    ) -> None:
        self.question_embeddings, self.keyword_embeddings = question_embeddings, keyword_embeddings
        self.centroid_embeddings, self.pair_indices = centroid_embeddings, pair_indices
        self.pair_cluster_ids, self.pair_keyword_ids = pair_cluster_ids, pair_keyword_ids
        self.normalize_residual, self.fallback_strategy = normalize_residual, fallback_strategy
        self.show_progress, self.random_seed = show_progress, random_seed
        self.embedding_dim = self._checked_width()
        self.n_pairs = len(pair_indices)
        if fallback_strategy not in FALLBACKS:
            raise ValueError(f"Invalid fallback_strategy {fallback_strategy!r}: it is one of {', '.join(FALLBACKS)}")

    def build_centroid_steering(self) -> tuple[Tensor, Tensor]:
        """From the question towards its centroid; a ``ValueError`` if a result is not finite.

        Returns:
            Unit vectors of centroid - question, float32 [pairs, width], zeros where both are equal; and cosine
            distances of the two, float32 [pairs] in [0, 2], 1 where one of them is zero.
        """
        question, centroid = self._ends()
        steering = unit_rows(centroid - question)
        # of a zero vector the unit vector is zero, too, and the distance 1
        distances = 1 - (unit_rows(question) * unit_rows(centroid)).sum(1).clamp(-1, 1)
        self._finish("centroid steering", steering)
        self._finish("centroid distances", distances)
        return steering, distances

    def build_keyword_weighted_steering(self) -> Tensor:
        """Unit vectors towards the mean of a pair's keywords, float32 [pairs, width]; else by ``fallback_strategy``.

        A ``ValueError`` if a result is not finite.
        """
        steering = unit_rows(self._keyword_means())
        missing = (steering == 0).all(dim=1).nonzero().squeeze(1)
        if len(missing) and self.fallback_strategy != "zero":
            steering[missing] = self._fallback(missing)
        self._finish("keyword steering", steering)
        return steering

    def build_residual_steering(self) -> Tensor:
        """question - centroid, float32 [pairs, width]; unit vectors with ``normalize_residual``.

        A ``ValueError`` if a result is not finite.
        """
        question, centroid = self._ends()
        residual = question - centroid
        if self.normalize_residual:
            residual = unit_rows(residual)
        self._finish("residual steering", residual)
        return residual

    def build_all_steering(self) -> dict[str, Tensor]:
        """All of them: ``centroid``, ``keyword_weighted``, ``residual`` [pairs, width] and ``distances`` [pairs].

        A ``ValueError`` if a result is not finite.
        """
        centroid, distances = self.build_centroid_steering()
        return {
            "centroid": centroid,
            "keyword_weighted": self.build_keyword_weighted_steering(),
            "residual": self.build_residual_steering(),
            "distances": distances,
        }

    def save(self, output_dir: str | Path, steering_results: Mapping[str, Tensor] | None = None) -> None:
        """Writes the four files of :data:`FILES`; makes folders. A result missing or not finite is a ``ValueError``.

        ``steering_results`` are of :meth:`build_all_steering`; None: computed now.
        """
        results = self.build_all_steering() if steering_results is None else steering_results
        missing = sorted(FILES.keys() - results.keys())
        if missing:
            raise ValueError(f"steering_results lack {', '.join(missing)}: pass what build_all_steering() returns")
        for key, filename in FILES.items():
            save_tensor_artifact(results[key], output_dir, filename)

    def _checked_width(self) -> int:
        embeddings = [
            (self.question_embeddings, "question_embeddings"),
            (self.centroid_embeddings, "centroid_embeddings"),
        ]
        if self.keyword_embeddings is not None:
            validate_tensor_2d(self.keyword_embeddings, "keyword_embeddings", min_rows=0)
            if len(self.keyword_embeddings):
                embeddings.append((self.keyword_embeddings, "keyword_embeddings"))
        width = validate_embedding_dimensions(*embeddings)
        pairs = self.pair_indices
        validate_tensor_2d(pairs, "pair_indices", expected_cols=2)
        any_source = max(int(pairs[:, 1].max()), 0) + 1
        validate_pair_indices_bounds(pairs, len(self.question_embeddings), any_source, allow_negative=False)
        validate_length_consistency((self.pair_cluster_ids, "pair_cluster_ids", len(pairs)))
        validate_cluster_ids_bounds(
            self.pair_cluster_ids, len(self.centroid_embeddings), "pair_cluster_ids", allow_negative=False
        )
        keywords = 0 if self.keyword_embeddings is None else len(self.keyword_embeddings)
        validate_keyword_ids_list(self.pair_keyword_ids, len(pairs), keywords)
        return width

    def _ends(self, pairs: Tensor | slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Question and centroid of ``pairs``, float32 [pairs, width] both."""
        question = self.question_embeddings.detach()[self.pair_indices[pairs, 0].long()]
        return question.float(), self.centroid_embeddings.detach()[self.pair_cluster_ids[pairs].long()].float()

    def _keyword_means(self) -> Tensor:
        ids = torch.tensor(list(chain.from_iterable(self.pair_keyword_ids)), dtype=torch.long)
        if self.keyword_embeddings is None or not len(ids):
            return torch.zeros(self.n_pairs, self.embedding_dim)
        counts = torch.tensor([len(keywords) for keywords in self.pair_keyword_ids])
        weights = self.keyword_embeddings.detach().float()
        return embedding_bag(
            ids.to(weights.device), weights, (counts.cumsum(0) - counts).to(weights.device), mode="mean"
        )

    def _fallback(self, pairs: Tensor) -> Tensor:
        if self.fallback_strategy == "centroid":
            question, centroid = self._ends(pairs)
            return unit_rows(centroid - question)
        generator = torch.Generator().manual_seed(self.random_seed)
        drawn = torch.randn(len(pairs), self.embedding_dim, generator=generator)
        return unit_rows(drawn).to(pairs.device)

    def _finish(self, name: str, values: Tensor) -> None:
        validate_no_nan_inf(values, name)
        if values.ndim == 2:
            still = int((values == 0).all(dim=1).sum())
            if still:
                log.warning("%s of %d of %d pairs is a zero vector", name, still, len(values))
        if self.show_progress:
            log.info("%s built for %d pairs", name, len(values))


def build_steering(
    question_embeddings: Tensor,
    keyword_embeddings: Tensor | None,
    centroid_embeddings: Tensor,
    pair_indices: Tensor,
    pair_cluster_ids: Tensor,
    pair_keyword_ids: list[list[int]],
    output_dir: str | Path,
    normalize_residual: bool = False,
    fallback_strategy: str = "centroid",
    show_progress: bool = True,
    random_seed: int = 42,
) -> dict[str, Tensor]:
    """Builds and saves all steering; arguments, results and errors as of :class:`SteeringBuilder`."""
    builder = SteeringBuilder(
        question_embeddings=question_embeddings,
        keyword_embeddings=keyword_embeddings,
        centroid_embeddings=centroid_embeddings,
        pair_indices=pair_indices,
        pair_cluster_ids=pair_cluster_ids,
        pair_keyword_ids=pair_keyword_ids,
        normalize_residual=normalize_residual,
        fallback_strategy=fallback_strategy,
        show_progress=show_progress,
        random_seed=random_seed,
    )
    results = builder.build_all_steering()
    builder.save(output_dir, results)
    return results


def unit_rows(vectors: Tensor) -> Tensor:
    """Rows of length 1, zeros where the norm is at most :data:`TINY`, and NaN where a value is not finite."""
    norms = vectors.norm(dim=1, keepdim=True)
    return torch.where(norms <= TINY, torch.zeros_like(vectors), vectors / norms.clamp(min=TINY))
