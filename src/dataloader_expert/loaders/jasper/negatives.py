"""Hard negatives of every pair: wrong sources in four tiers, from the pair's own cluster to anywhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.artifacts import save_tensor_artifact
from dataloader_expert.loaders.jasper.drawing import NONE, draw_untaken, filled, shuffled_columns
from dataloader_expert.loaders.jasper.steering import unit_rows
from dataloader_expert.loaders.jasper.tiers import TIERS, checked_tiers, even_tiers
from dataloader_expert.loaders.jasper.validation import (
    validate_cluster_ids_bounds,
    validate_embedding_dimensions,
    validate_length_consistency,
    validate_no_nan_inf,
    validate_pair_indices_bounds,
)

log = logging.getLogger(__name__)

SCORES_AT_ONCE = 1 << 24
"""Similarities held at a time: 64 MiB of float32, whatever the number of pairs."""


class NegativeMiner:
    """Chooses wrong sources for pairs, none twice in a row of the result and never the pair's own.

    Tier 1 comes from the pair's cluster, tier 2 from the clusters nearest to it, tier 3 are the sources outside it most
    similar to the question (cosine), tier 4 come from anywhere outside it. What a tier cannot give is filled with
    random other sources, labelled 4; only if there are fewer than ``n_neg`` other sources some come again.

    Args:
        source_embeddings: [sources, width], floats; similarities are computed on its device.
        question_embeddings, centroid_embeddings: [questions, width] and [clusters, width], floats.
        pair_indices: integers [pairs, 2], row of the question and of the source.
        pair_cluster_ids, source_cluster_ids: integers [pairs] and [sources].
        n_neg: negatives per pair.
        tier_proportions: how many of each of the four tiers; None: even, what is left to the first tiers.
        adjacent_k: clusters that count as near.
        random_seed: of :attr:`rng`, from which all choices are drawn.
        show_progress: whether progress is logged (INFO).
        shuffle_columns: whether a row's negatives come in random order; False: by tier.

    Attributes:
        cluster_sources: rows of each cluster's sources.
        cluster_dist_matrix: cosine distances of centroids, [clusters, clusters].
        adjacent_clusters: the clusters near each, nearest first.

    Raises:
        TypeError: if an argument is of another type.
        ValueError: if shapes, lengths, indices or counts do not fit, a value is not finite, or the only source there
            is would have to be its own negative.
    """

    def __init__(
        self,
        source_embeddings: Tensor,
        question_embeddings: Tensor,
        centroid_embeddings: Tensor,
        pair_indices: Tensor,
        pair_cluster_ids: Tensor,
        source_cluster_ids: Tensor,
        n_neg: int,
        tier_proportions: list[int] | None = None,
        adjacent_k: int = 3,
        random_seed: int = 42,
        show_progress: bool = True,
        shuffle_columns: bool = True,
    ) -> None:
        self.source_embeddings, self.question_embeddings = source_embeddings, question_embeddings
        self.centroid_embeddings, self.pair_indices = centroid_embeddings, pair_indices
        self.pair_cluster_ids, self.source_cluster_ids = pair_cluster_ids, source_cluster_ids
        self.embedding_dim = self._checked_width()
        self.n_pairs, self.n_sources = len(pair_indices), len(source_embeddings)
        self.n_clusters = len(centroid_embeddings)
        if not isinstance(n_neg, int) or n_neg < 1:
            raise ValueError(f"n_neg must be a positive integer, got {n_neg!r}")
        self.n_neg, self.adjacent_k = n_neg, adjacent_k
        self.tier_proportions = (
            even_tiers(n_neg) if tier_proportions is None else checked_tiers(tier_proportions, n_neg)
        )
        self.show_progress, self.shuffle_columns = show_progress, shuffle_columns
        self.rng = np.random.default_rng(random_seed)
        self._unit_sources = unit_rows(source_embeddings.detach().float())
        self._members = _members(source_cluster_ids, self.n_clusters)
        self.cluster_sources: dict[int, list[int]] = {c: ids.tolist() for c, ids in enumerate(self._members)}
        centroids = unit_rows(centroid_embeddings.detach().float().cpu())
        self.cluster_dist_matrix = (1 - centroids @ centroids.T).clamp(0, 2)
        self.adjacent_clusters = _nearest(self.cluster_dist_matrix, adjacent_k)

    def mine_all_negatives(self) -> dict[str, Tensor]:
        """``hard_negatives``, rows of sources, and ``negative_tiers``, 1 to 4, int64 [pairs, n_neg]; new each call."""
        negatives = torch.full((self.n_pairs, self.n_neg), NONE)
        tiers = torch.zeros_like(negatives)
        done = 0
        for pools, pairs in self._chunks():
            negatives[pairs], tiers[pairs] = self._mine(pools, pairs)
            done += len(pairs)
            if self.show_progress and done // 10_000 > (done - len(pairs)) // 10_000:
                log.info("negatives of %d of %d pairs mined", done, self.n_pairs)
        return {"hard_negatives": negatives, "negative_tiers": tiers}

    def save(self, output_dir: str | Path, results: Mapping[str, Tensor]) -> None:
        """Writes the ``results`` of :meth:`mine_all_negatives`: ``hard_negatives.pt`` and ``negative_tiers.pt``."""
        for key in ("hard_negatives", "negative_tiers"):
            save_tensor_artifact(results[key], output_dir, f"{key}.pt")

    def _checked_width(self) -> int:
        embeddings = (
            (self.source_embeddings, "source_embeddings"),
            (self.question_embeddings, "question_embeddings"),
            (self.centroid_embeddings, "centroid_embeddings"),
        )
        width = validate_embedding_dimensions(*embeddings)
        for tensor, name in embeddings:
            validate_no_nan_inf(tensor, name)
        sources, clusters = len(self.source_embeddings), len(self.centroid_embeddings)
        validate_pair_indices_bounds(self.pair_indices, len(self.question_embeddings), sources, allow_negative=False)
        validate_length_consistency(
            (self.pair_cluster_ids, "pair_cluster_ids", len(self.pair_indices)),
            (self.source_cluster_ids, "source_cluster_ids", sources),
        )
        validate_cluster_ids_bounds(self.pair_cluster_ids, clusters, "pair_cluster_ids", allow_negative=False)
        validate_cluster_ids_bounds(self.source_cluster_ids, clusters, "source_cluster_ids", allow_negative=False)
        if sources < 2:
            raise ValueError("source_embeddings has one row, which would be its own negative: 2 sources are needed")
        return width

    def _chunks(self) -> Iterator[tuple[_Pools, Tensor]]:
        """Each cluster's pools, with some of its pairs: few enough for :data:`SCORES_AT_ONCE`."""
        at_once = max(1, min(SCORES_AT_ONCE // self.n_sources, SCORES_AT_ONCE // 64 // self.n_neg))
        for cluster, pairs in enumerate(_members(self.pair_cluster_ids, self.n_clusters)):
            if len(pairs):
                pools = self._pools(cluster)
                yield from ((pools, part) for part in torch.split(pairs, at_once))

    def _pools(self, cluster: int) -> _Pools:
        near = [self._members[c] for c in self.adjacent_clusters[cluster]]
        nearest = torch.cat(near).sort().values if near else torch.empty(0, dtype=torch.long)
        outside = (self.source_cluster_ids.cpu() != cluster).nonzero().squeeze(1)
        return _Pools(self._members[cluster], nearest, outside)

    def _mine(self, pools: _Pools, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Negatives and tiers of pairs of one cluster, [pairs, n_neg] both."""
        own = self.pair_indices[pairs, 1:].long().cpu()
        one, two, three, four = self.tier_proportions
        first = draw_untaken(pools.own, own, one, self.rng)
        third = self._most_similar(pools, pairs, three, spared=two)
        second = draw_untaken(pools.near, torch.cat([own, third], 1), two, self.rng)
        fourth = draw_untaken(pools.outside, torch.cat([own, second, third], 1), four, self.rng)
        found = torch.cat([first, second, third, fourth], 1)
        tiers = torch.arange(1, TIERS + 1).repeat_interleave(torch.tensor(self.tier_proportions)).repeat(len(pairs), 1)
        tiers[found == NONE] = TIERS
        gaps = (found == NONE).sum(dim=1)
        if gaps.any():
            taken = torch.cat([own, found], 1)
            found = filled(found, draw_untaken(torch.arange(self.n_sources), taken, int(gaps.max()), self.rng))
        if self.shuffle_columns:
            return shuffled_columns(found, tiers, self.rng)
        order = tiers.argsort(dim=1, stable=True)
        return found.gather(1, order), tiers.gather(1, order)

    def _most_similar(self, pools: _Pools, pairs: Tensor, count: int, spared: int) -> Tensor:
        """Sources outside the cluster of highest cosine, highest first, [pairs, count].

        Of the near ones ``spared`` are left for tier 2, where they are scarce.
        """
        found = torch.full((len(pairs), count), NONE)
        if not count or not len(pools.outside):
            return found
        device = self.source_embeddings.device
        questions = self.question_embeddings.detach()[self.pair_indices[pairs, 0].long()].to(device)
        scores = unit_rows(questions.float()) @ self._unit_sources.T
        scores[:, pools.own.to(device)] = -torch.inf
        scores.scatter_(1, self.pair_indices[pairs, 1:].long().to(device), -torch.inf)
        if spared and len(pools.near) <= spared + count:
            _spare(scores, pools.near.to(device), spared)
        best = scores.topk(min(count, self.n_sources), dim=1)
        found[:, : best.indices.shape[1]] = best.indices.masked_fill(best.values == -torch.inf, NONE).cpu()
        return found


def mine_negatives(
    source_embeddings: Tensor,
    question_embeddings: Tensor,
    centroid_embeddings: Tensor,
    pair_indices: Tensor,
    pair_cluster_ids: Tensor,
    source_cluster_ids: Tensor,
    n_neg: int,
    output_dir: str | Path,
    tier_proportions: list[int] | None = None,
    adjacent_k: int = 3,
    random_seed: int = 42,
    show_progress: bool = True,
    shuffle_columns: bool = True,
) -> dict[str, Tensor]:
    """Mines and saves the negatives; arguments, results and errors as of :class:`NegativeMiner`."""
    miner = NegativeMiner(
        source_embeddings=source_embeddings,
        question_embeddings=question_embeddings,
        centroid_embeddings=centroid_embeddings,
        pair_indices=pair_indices,
        pair_cluster_ids=pair_cluster_ids,
        source_cluster_ids=source_cluster_ids,
        n_neg=n_neg,
        tier_proportions=tier_proportions,
        adjacent_k=adjacent_k,
        random_seed=random_seed,
        show_progress=show_progress,
        shuffle_columns=shuffle_columns,
    )
    results = miner.mine_all_negatives()
    miner.save(output_dir, results)
    return results


@dataclass(frozen=True)
class _Pools:
    """Rows of sources, ascending, among which a cluster's pairs find their negatives: int64, one dimension each."""

    own: Tensor
    near: Tensor
    outside: Tensor


def _members(cluster_ids: Tensor, n_clusters: int) -> list[Tensor]:
    """Rows of each cluster, ascending."""
    ids = cluster_ids.long().cpu()
    sizes = torch.bincount(ids, minlength=n_clusters)
    return list(torch.split(ids.argsort(stable=True), sizes.tolist()))


def _nearest(distances: Tensor, count: int) -> dict[int, list[int]]:
    """The ``count`` clusters nearest to each, nearest first, or all others if these are fewer."""
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"adjacent_k is {count!r}; it must be an integer of at least 0")
    others = distances.clone().fill_diagonal_(torch.inf).argsort(dim=1, stable=True)
    return dict(enumerate(others[:, : min(count, len(distances) - 1)].tolist()))


def _spare(scores: Tensor, near: Tensor, spared: int) -> None:
    """Takes the ``spared`` lowest of the ``near`` columns out of each row of ``scores``."""
    part = scores[:, near]
    rank = part.argsort(dim=1, descending=True).argsort(dim=1)
    eligible = (part > -torch.inf).sum(dim=1, keepdim=True) - spared
    scores[:, near] = part.masked_fill(rank >= eligible, -torch.inf)
