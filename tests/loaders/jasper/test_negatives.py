"""Mined negatives: wrong sources only, each once, of the tiers that were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dataloader_expert.loaders.jasper import NegativeMiner, mine_negatives, negatives
from dataloader_expert.loaders.jasper.drawing import NONE, draw_untaken, filled
from tests.loaders.jasper.parts import pairs_of


def mined(arguments: dict[str, Any], **more: Any) -> tuple[Tensor, Tensor]:
    results = NegativeMiner(**arguments, **more).mine_all_negatives()
    return results["hard_negatives"], results["negative_tiers"]


@given(
    sources=st.integers(2, 30),
    clusters=st.integers(1, 5),
    n_neg=st.integers(1, 12),
    adjacent=st.integers(0, 6),
    seed=st.integers(0, 9),
    shuffled=st.booleans(),
)
def test_negatives_are_other_sources_each_once_while_there_are_enough(
    sources: int, clusters: int, n_neg: int, adjacent: int, seed: int, shuffled: bool
) -> None:
    """Our promise; the original repeated sources across tiers. Tiers say where a source is from."""
    arguments = pairs_of(5, sources, clusters, 12, seed=seed)
    miner = NegativeMiner(**arguments, n_neg=n_neg, adjacent_k=adjacent, random_seed=seed, shuffle_columns=shuffled)
    results = miner.mine_all_negatives()
    found, tiers = results["hard_negatives"], results["negative_tiers"]
    assert found.shape == tiers.shape == (12, n_neg)
    assert found.dtype == tiers.dtype == torch.int64
    own = arguments["source_cluster_ids"]
    for pair in range(12):
        row, labels = found[pair].tolist(), tiers[pair].tolist()
        cluster, true = int(arguments["pair_cluster_ids"][pair]), int(arguments["pair_indices"][pair, 1])
        assert true not in row
        assert set(row) <= set(range(sources))
        assert len(set(row)) == min(n_neg, sources - 1)
        assert shuffled or labels == sorted(labels)
        for source, tier in zip(row, labels, strict=True):
            home = int(own[source])
            assert 1 <= tier <= 4
            assert tier != 1 or home == cluster
            assert tier != 2 or home in miner.adjacent_clusters[cluster]
            assert tier != 3 or home != cluster
        others = [s for s in range(sources) if s != true and int(own[s]) == cluster]
        assert labels.count(1) == min(miner.tier_proportions[0], len(others))
        near = [s for s in range(sources) if s != true and int(own[s]) in miner.adjacent_clusters[cluster]]
        assert labels.count(2) == min(miner.tier_proportions[1], len(near))


@pytest.mark.parametrize("proportions", [[3, 4, 3, 2], [12, 0, 0, 0], [0, 0, 12, 0], [0, 0, 0, 12]], ids=str)
def test_every_tier_has_as_many_as_asked(proportions: list[int]) -> None:
    """The original's promise, exact where clusters are large enough."""
    _, tiers = mined(pairs_of(20, 100, 5, 50), n_neg=12, tier_proportions=proportions)
    for tier, count in enumerate(proportions, start=1):
        assert ((tiers == tier).sum(dim=1) == count).all()


def test_tier_three_is_the_most_similar_outside_the_cluster() -> None:
    """The original's promise: highest cosine of question and source, computed pair by pair."""
    arguments = pairs_of(20, 60, 5, 30)
    found, tiers = mined(arguments, n_neg=8, tier_proportions=[2, 2, 3, 1])
    cosine = torch.nn.functional.normalize
    scores = cosine(arguments["question_embeddings"]) @ cosine(arguments["source_embeddings"]).T
    for pair, (question, source) in enumerate(arguments["pair_indices"].tolist()):
        of_pair = scores[question].clone()
        of_pair[arguments["source_cluster_ids"] == arguments["pair_cluster_ids"][pair]] = -2
        of_pair[source] = -2
        assert set(found[pair][tiers[pair] == 3].tolist()) == set(of_pair.topk(3).indices.tolist())


def test_similar_sources_are_left_to_tier_two_where_it_has_no_others() -> None:
    """Our promise: no tier goes short where another can do without."""
    arguments = pairs_of(4, 12, 3, 20) | {"source_cluster_ids": torch.tensor([0] * 4 + [1] * 2 + [2] * 6)}
    arguments |= {"pair_cluster_ids": torch.zeros(20, dtype=torch.long)}
    arguments |= {
        "centroid_embeddings": torch.tensor([[1.0, 0.0] + [0.0] * 6, [1.0, 0.1] + [0.0] * 6, [-1.0] + [0.0] * 7])
    }
    arguments["pair_indices"][:, 1] = 0
    _, tiers = mined(arguments, n_neg=5, tier_proportions=[0, 2, 3, 0], adjacent_k=1)
    assert (tiers.sort(dim=1).values == torch.tensor([2, 2, 3, 3, 3])).all()


def test_columns_come_in_random_order_unless_asked_otherwise() -> None:
    """Our promise: the original's columns were sorted by tier, which a model can learn."""
    arguments = pairs_of(20, 100, 5, 200)
    _, shuffled = mined(arguments, n_neg=8)
    _, ordered = mined(arguments, n_neg=8, shuffle_columns=False)
    assert (ordered == torch.tensor([1, 1, 2, 2, 3, 3, 4, 4])).all()
    for tier in range(1, 5):
        in_column = (shuffled == tier).sum(dim=0)
        assert in_column.sum() == 400
        assert 25 <= int(in_column.min()) <= int(in_column.max()) <= 75


def test_the_same_seed_mines_the_same_and_global_generators_are_left_alone() -> None:
    """The original's promise of seeds; ours that a further call and another seed draw anew."""
    arguments = pairs_of(20, 100, 5, 50)
    numpy_before, torch_before = np.random.get_state(legacy=False), torch.get_rng_state()
    miner = NegativeMiner(**arguments, n_neg=12)
    first, again = (miner.mine_all_negatives()["hard_negatives"] for _ in range(2))
    assert torch.equal(first, mined(arguments, n_neg=12)[0])
    assert not torch.equal(first, again)
    assert not torch.equal(first, mined(arguments, n_neg=12, random_seed=1)[0])
    assert repr(np.random.get_state(legacy=False)) == repr(numpy_before)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_memory_is_bounded_by_mining_a_few_pairs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: however few fit at once, the rules hold."""
    arguments = pairs_of(20, 100, 2, 50)
    monkeypatch.setattr(negatives, "SCORES_AT_ONCE", 300)
    found, tiers = mined(arguments, n_neg=4)
    assert all(len(set(row)) == 4 for row in found.tolist())
    assert (tiers.sort(dim=1).values == torch.tensor([1, 2, 3, 4])).all()


@pytest.mark.parametrize(
    ("sources", "clusters", "n_neg"),
    [(6, 3, 4), (10, 1, 8), (100, 5, 50), (100, 5, 2), (3, 3, 9)],
    ids=["two-a-cluster", "one-cluster", "many", "few", "more-than-there-are"],
)
@pytest.mark.parametrize("pairs", [1, 20])
def test_small_and_large_requests_are_filled(sources: int, clusters: int, n_neg: int, pairs: int) -> None:
    """The original's promise."""
    arguments = pairs_of(4, sources, clusters, pairs)
    found, _ = mined(arguments, n_neg=n_neg)
    assert found.shape == (pairs, n_neg)
    assert 0 <= found.min() <= found.max() < sources
    assert not (found == arguments["pair_indices"][:, 1:]).any()


def test_clusters_and_their_neighbours_can_be_looked_at() -> None:
    """The original's promise: an entry of every cluster, empty ones too."""
    arguments = pairs_of(4, 9, 4, 5) | {"source_cluster_ids": torch.tensor([0, 0, 3, 0, 1, 1, 3, 0, 0])}
    miner = NegativeMiner(**arguments, n_neg=6, adjacent_k=2)
    assert miner.cluster_sources == {0: [0, 1, 3, 7, 8], 1: [4, 5], 2: [], 3: [2, 6]}
    assert (miner.n_pairs, miner.n_sources, miner.n_clusters, miner.embedding_dim, miner.n_neg) == (5, 9, 4, 8, 6)
    assert miner.tier_proportions == [2, 2, 1, 1]
    for cluster, near in miner.adjacent_clusters.items():
        distances = miner.cluster_dist_matrix[cluster]
        others = sorted((c for c in range(4) if c != cluster), key=lambda c: float(distances[c]))
        assert near == others[:2]


REFUSES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "array": ({"source_embeddings": np.zeros((9, 8))}, TypeError, "source_embeddings must be torch.Tensor"),
    "widths": ({"question_embeddings": torch.zeros(4, 7)}, ValueError, "Embedding dimensions must match"),
    "nan": ({"source_embeddings": torch.full((9, 8), float("nan"))}, ValueError, "source_embeddings contains NaN"),
    "n_neg": ({"n_neg": 0}, ValueError, "n_neg must be a positive integer"),
    "n_neg-float": ({"n_neg": 2.5}, ValueError, "n_neg must be a positive integer"),
    "tiers-length": ({"tier_proportions": [2, 2]}, ValueError, "must have exactly 4 values"),
    "tiers-sum": ({"tier_proportions": [1, 1, 1, 9]}, ValueError, "must sum to n_neg"),
    "tiers-below-zero": ({"tier_proportions": [-1, 1, 2, 2]}, ValueError, "at least 0"),
    "tiers-type": ({"tier_proportions": "1111"}, TypeError, "must be a list"),
    "adjacent": ({"adjacent_k": -1}, ValueError, "adjacent_k is -1"),
    "source": ({"pair_indices": torch.tensor([[0, 9]] * 5)}, ValueError, "contains source index 9"),
    "source-below-zero": ({"pair_indices": torch.tensor([[0, -1]] * 5)}, ValueError, "contains source index -1"),
    "cluster": ({"pair_cluster_ids": torch.full((5,), 3)}, ValueError, "pair_cluster_ids contains cluster ID 3"),
    "cluster-below-zero": ({"source_cluster_ids": torch.full((9,), -1)}, ValueError, "contains cluster ID -1"),
    "lengths": ({"source_cluster_ids": torch.zeros(8, dtype=torch.long)}, ValueError, "source_cluster_ids length"),
}


@pytest.mark.parametrize(("changes", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], error: type[Exception], says: str) -> None:
    """The original's promise, and ours for indices below 0."""
    with pytest.raises(error, match=says):
        NegativeMiner(**{**pairs_of(4, 9, 3, 5), "n_neg": 4, **changes})


def test_a_single_source_is_no_negative_of_itself() -> None:
    """Our promise: the original returned the true source."""
    with pytest.raises(ValueError, match="2 sources are needed"):
        NegativeMiner(**pairs_of(4, 1, 1, 5), n_neg=2)


def test_negatives_are_saved_and_returned(tmp_path: Path) -> None:
    """The original's promise, of the class and of the function."""
    arguments = pairs_of(4, 9, 3, 5)
    results = mine_negatives(**arguments, n_neg=4, output_dir=str(tmp_path / "made"))
    for name in ("hard_negatives", "negative_tiers"):
        assert torch.equal(torch.load(tmp_path / "made" / f"{name}.pt", weights_only=True), results[name])
        assert results[name].shape == (5, 4)


def test_draws_are_uniform_over_what_is_not_taken() -> None:
    """Our promise: every free member is as likely; rows with fewer get gaps at their end."""
    pool = torch.tensor([2, 3, 5, 7, 11, 13])
    taken = torch.tensor([[5, 99, NONE]]).repeat(6000, 1)
    drawn = draw_untaken(pool, taken, 2, np.random.default_rng(0))
    counts = torch.bincount(drawn.flatten(), minlength=14)
    assert counts.nonzero().flatten().tolist() == [2, 3, 7, 11, 13]
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert ((counts[counts > 0] - 2400).abs() < 200).all()  # five standard deviations
    short = draw_untaken(pool, torch.tensor([[2, 3, 5], [NONE, 7, 1]]), 5, np.random.default_rng(0))
    assert short[0, 3:].tolist() == [NONE, NONE]
    assert sorted(short[1].tolist()) == [2, 3, 5, 11, 13]


def test_gaps_are_filled_with_others_first_and_repeats_last() -> None:
    """Our promise: what there is comes again only when nothing else is left."""
    rows = torch.tensor([[NONE, 4, NONE, 6], [NONE, 4, NONE, NONE]])
    assert filled(rows, torch.tensor([[1, 2, 3], [7, NONE, NONE]])).tolist() == [[1, 4, 2, 6], [7, 4, 7, 4]]
