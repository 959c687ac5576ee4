"""Steering vectors: directions, lengths, distances, and what pairs without keywords get."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dataloader_expert.loaders.jasper import SteeringBuilder, build_steering
from tests.loaders.jasper.parts import pairs_of

FILES = ["centroid_distances", "steering_centroid", "steering_keyword_weighted", "steering_residual"]


def given(pairs: int = 40, **changes: Any) -> dict[str, Any]:
    """Arguments for 6 questions, 5 keywords, 3 clusters; every third pair has no keywords."""
    made = pairs_of(6, 9, 3, pairs)
    kept = ("question_embeddings", "centroid_embeddings", "pair_indices", "pair_cluster_ids")
    keywords = torch.randn(5, 8, generator=torch.Generator().manual_seed(9))
    lists = [[] if i % 3 == 0 else [i % 5, (i + 1) % 5][: i % 3] for i in range(pairs)]
    return {**{k: made[k] for k in kept}, "keyword_embeddings": keywords, "pair_keyword_ids": lists, **changes}


def unit(vector: Tensor) -> Tensor:
    return torch.nn.functional.normalize(vector, dim=0)


@pytest.mark.parametrize("pairs", [1, 40])
def test_centroid_steering_is_the_unit_vector_from_question_to_centroid(pairs: int) -> None:
    """The original's promise, and distances are 1 - cosine: compared with a loop over pairs."""
    arguments = given(pairs)
    steering, distances = SteeringBuilder(**arguments).build_centroid_steering()
    assert steering.shape == (pairs, 8)
    assert distances.shape == (pairs,)
    assert steering.dtype == distances.dtype == torch.float32
    for i in range(pairs):
        question = arguments["question_embeddings"][arguments["pair_indices"][i, 0]]
        centroid = arguments["centroid_embeddings"][arguments["pair_cluster_ids"][i]]
        assert torch.allclose(steering[i], unit(centroid - question), atol=1e-5)
        assert distances[i].item() == pytest.approx(1 - float(unit(question) @ unit(centroid)), abs=1e-5)
    assert 0 <= distances.min() <= distances.max() <= 2


def test_keyword_steering_is_the_direction_of_the_plain_mean() -> None:
    """The original's promise: keywords weigh the same, whatever the name says."""
    arguments = given()
    steering = SteeringBuilder(**arguments).build_keyword_weighted_steering()
    for row, ids in zip(steering, arguments["pair_keyword_ids"], strict=True):
        if ids:
            assert torch.allclose(row, unit(arguments["keyword_embeddings"][ids].mean(0)), atol=1e-5)
    assert torch.allclose(steering.norm(dim=1), torch.ones(40), atol=1e-5)


@pytest.mark.parametrize("keywords", [None, torch.empty(0, 8), torch.randn(5, 8)], ids=["none", "no rows", "unused"])
@pytest.mark.parametrize("strategy", ["centroid", "zero", "random"])
def test_pairs_without_keywords_get_the_fallback(strategy: str, keywords: Tensor | None) -> None:
    """The original's promise; ours, that there may be no keywords at all."""
    builder = SteeringBuilder(
        **given(keyword_embeddings=keywords, pair_keyword_ids=[[]] * 40, fallback_strategy=strategy)
    )
    steering = builder.build_keyword_weighted_steering()
    if strategy == "centroid":
        assert torch.equal(steering, builder.build_centroid_steering()[0])
    elif strategy == "zero":
        assert not steering.any()
    else:
        assert torch.allclose(steering.norm(dim=1), torch.ones(40), atol=1e-5)
        assert len(steering.unique(dim=0)) == 40  # type: ignore[no-untyped-call]  # untyped in torch


def test_keywords_that_cancel_out_get_the_fallback() -> None:
    """The original's promise: a mean of length 0 has no direction."""
    pair = torch.eye(1, 8)
    builder = SteeringBuilder(**given(1, keyword_embeddings=torch.cat([pair, -pair]), pair_keyword_ids=[[0, 1]]))
    assert torch.equal(builder.build_keyword_weighted_steering(), builder.build_centroid_steering()[0])


def test_random_steering_is_of_its_own_seed_and_leaves_the_global_generator_alone() -> None:
    """Our promise: the original drew from the global generator."""
    arguments = given(fallback_strategy="random", pair_keyword_ids=[[]] * 40)
    before = torch.get_rng_state()
    one, same = (SteeringBuilder(**arguments).build_keyword_weighted_steering() for _ in range(2))
    other = SteeringBuilder(**arguments, random_seed=1).build_keyword_weighted_steering()
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("normalize", [False, True])
def test_residual_is_question_minus_centroid(normalize: bool) -> None:
    """The original's promise: raw, unless unit length is asked for."""
    arguments = given()
    residual = SteeringBuilder(**arguments, normalize_residual=normalize).build_residual_steering()
    raw = (
        arguments["question_embeddings"][arguments["pair_indices"][:, 0]]
        - arguments["centroid_embeddings"][arguments["pair_cluster_ids"]]
    )
    assert torch.allclose(residual, raw / raw.norm(dim=1, keepdim=True) if normalize else raw, atol=1e-5)


def test_a_question_on_its_centroid_has_no_direction(caplog: pytest.LogCaptureFixture) -> None:
    """The original's promise: zeros rather than NaN, a warning, and distance 1 for zero vectors."""
    same = torch.stack([torch.ones(8), torch.zeros(8)])
    builder = SteeringBuilder(
        same, None, same, torch.tensor([[0, 0], [1, 0]]), torch.tensor([0, 1]), [[], []], fallback_strategy="zero"
    )
    with caplog.at_level(logging.WARNING, logger="dataloader_expert.loaders.jasper"):
        results = builder.build_all_steering()
    assert not any(results[key].any() for key in ("centroid", "keyword_weighted", "residual"))
    assert results["distances"].tolist() == pytest.approx([0, 1], abs=1e-6)
    assert "centroid steering of 2 of 2 pairs is a zero vector" in caplog.text


def test_all_steering_is_four_results_in_four_files(tmp_path: Path) -> None:
    """The original's promise, of the class and of the function."""
    builder = SteeringBuilder(**given(pair_cluster_ids=torch.zeros(40, dtype=torch.long)))
    results = builder.build_all_steering()
    assert set(results) == {"centroid", "keyword_weighted", "residual", "distances"}
    builder.save(tmp_path / "given", results)
    builder.save(tmp_path / "computed")
    returned = build_steering(**given(), output_dir=tmp_path / "function")
    for folder in ("given", "computed", "function"):
        assert sorted(p.stem for p in (tmp_path / folder).iterdir()) == FILES
    assert torch.equal(torch.load(tmp_path / "computed" / "steering_residual.pt"), results["residual"])
    assert torch.equal(torch.load(tmp_path / "function" / "centroid_distances.pt"), returned["distances"])
    with pytest.raises(ValueError, match="lack distances"):
        builder.save(tmp_path, {k: v for k, v in results.items() if k != "distances"})


REFUSES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "array": ({"question_embeddings": torch.zeros(6, 8).numpy()}, TypeError, "must be torch.Tensor"),
    "widths": ({"centroid_embeddings": torch.zeros(3, 7)}, ValueError, "Embedding dimensions must match"),
    "lengths": ({"pair_cluster_ids": torch.zeros(39, dtype=torch.long)}, ValueError, "pair_cluster_ids length.*must"),
    "question": ({"question_embeddings": torch.ones(2, 8)}, ValueError, "contains question index"),
    "below-zero": ({"pair_indices": torch.full((40, 2), -1)}, ValueError, "contains question index -1"),
    "cluster": ({"pair_cluster_ids": torch.full((40,), -1)}, ValueError, "contains cluster ID -1"),
    "keyword": ({"pair_keyword_ids": [[5]] * 40}, ValueError, "out-of-range keyword ID 5"),
    "no-such-keywords": ({"keyword_embeddings": None}, ValueError, "out-of-range keyword ID"),
    "strategy": ({"fallback_strategy": "nearest"}, ValueError, "Invalid fallback_strategy"),
}


@pytest.mark.parametrize(("changes", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], error: type[Exception], says: str) -> None:
    """The original's promise, and ours for indices below 0."""
    with pytest.raises(error, match=says):
        SteeringBuilder(**given(**changes))


def test_values_that_are_not_finite_are_refused() -> None:
    """The original's promise: NaN does not get as far as a file."""
    builder = SteeringBuilder(**given(question_embeddings=torch.full((6, 8), float("nan"))))
    with pytest.raises(ValueError, match="centroid steering contains NaN"):
        builder.build_all_steering()
