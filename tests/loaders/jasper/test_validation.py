"""What tensors must be, and how files of tensors are read and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.loaders.jasper import (
    load_multiple_tensors,
    load_tensor_artifact,
    save_tensor_artifact,
    validate_cluster_ids_bounds,
    validate_embedding_dimensions,
    validate_keyword_ids_list,
    validate_length_consistency,
    validate_no_nan_inf,
    validate_pair_indices_bounds,
    validate_split_ratios,
    validate_tensor_1d,
    validate_tensor_2d,
    validate_values_in_range,
)

T = torch.tensor
Case = Callable[[], Any]
NAN, INF = float("nan"), float("inf")

PASSES: dict[str, Case] = {
    "2d": lambda: validate_tensor_2d(torch.zeros(3, 2), "x", expected_cols=2, min_rows=3),
    "2d-single-row": lambda: validate_tensor_2d(torch.zeros(1, 9), "x"),
    "1d": lambda: validate_tensor_1d(torch.zeros(4), "x", expected_length=4, min_length=4),
    "pairs-at-the-bounds": lambda: validate_pair_indices_bounds(T([[2, 4], [0, 0]]), 3, 5),
    "pairs-below-zero-by-default": lambda: validate_pair_indices_bounds(T([[0, 4], [-1, 1]]), 3, 5),
    "clusters-at-the-bounds": lambda: validate_cluster_ids_bounds(T([0, 4]), 5),
    "one-cluster": lambda: validate_cluster_ids_bounds(T([0, 0]), 1),
    "lengths-of-tensor-list-tuple": lambda: validate_length_consistency(
        (torch.zeros(2, 9), "a", 2), ([1, 2], "b", 2), ((1,), "c", 1)
    ),
    "no-lengths": lambda: validate_length_consistency(),
    "ratios": lambda: validate_split_ratios(0.7, 0.15, 0.15),
    "ratios-of-few-digits": lambda: validate_split_ratios(0.333333, 0.333333, 0.333333),
    "keywords": lambda: validate_keyword_ids_list([[0, 3], [], [1]], 3, 4),
    "keywords-true-is-one": lambda: validate_keyword_ids_list([[True]], 1, 2),
    "finite": lambda: validate_no_nan_inf(torch.ones(2, 3, 4), "x"),
    "finite-integers": lambda: validate_no_nan_inf(T([1, 2]), "x"),
    "finite-half": lambda: validate_no_nan_inf(torch.ones(2, dtype=torch.float16), "x"),
    "finite-nothing": lambda: validate_no_nan_inf(torch.empty(0, 3), "x"),
    "range-inclusive-edges": lambda: validate_values_in_range(T([0.0, 1.0]), "x", 0.0, 1.0),
    "range-exclusive": lambda: validate_values_in_range(T([[0.1], [0.9]]), "x", 0, 1, inclusive=False),
    "range-nothing": lambda: validate_values_in_range(torch.empty(0), "x", 0, 1),
}


@pytest.mark.parametrize("case", PASSES.values(), ids=PASSES.keys())
def test_validators_pass(case: Case) -> None:
    """The original's promise, at the edges of its rules."""
    assert case() is None


REFUSES: dict[str, tuple[Case, type[Exception], str]] = {
    "2d-list": (lambda: validate_tensor_2d([[1]], "x"), TypeError, "x must be torch.Tensor"),
    "2d-array": (lambda: validate_tensor_2d(np.ones((2, 2)), "x"), TypeError, "must be torch.Tensor"),
    "2d-of-1d": (lambda: validate_tensor_2d(torch.zeros(3), "x"), ValueError, "must be 2D"),
    "2d-of-3d": (lambda: validate_tensor_2d(torch.zeros(1, 1, 1), "x"), ValueError, "must be 2D"),
    "2d-columns": (lambda: validate_tensor_2d(torch.zeros(2, 5), "x", 3), ValueError, "expected 3 columns"),
    "2d-rows": (lambda: validate_tensor_2d(torch.zeros(2, 5), "x", min_rows=5), ValueError, "at least 5 rows"),
    "2d-no-rows": (lambda: validate_tensor_2d(torch.zeros(0, 5), "x"), ValueError, "at least 1 rows"),
    "1d-list": (lambda: validate_tensor_1d([1], "x"), TypeError, "must be torch.Tensor"),
    "1d-of-2d": (lambda: validate_tensor_1d(torch.zeros(2, 2), "x"), ValueError, "must be 1D"),
    "1d-of-0d": (lambda: validate_tensor_1d(T(1), "x"), ValueError, "must be 1D"),
    "1d-length": (lambda: validate_tensor_1d(torch.zeros(4), "x", 5), ValueError, "expected length 5"),
    "1d-short": (lambda: validate_tensor_1d(torch.zeros(4), "x", min_length=5), ValueError, "at least 5 elements"),
    "1d-empty": (lambda: validate_tensor_1d(torch.zeros(0), "x"), ValueError, "at least 1 elements"),
    "no-embeddings": (validate_embedding_dimensions, ValueError, "At least one tensor"),
    "embeddings-1d": (lambda: validate_embedding_dimensions((torch.zeros(3), "q")), ValueError, "must be 2D"),
    "embeddings-differ": (
        lambda: validate_embedding_dimensions((torch.zeros(1, 3), "q"), (torch.zeros(1, 4), "s")),
        ValueError,
        "Embedding dimensions must match.*q=3, s=4",
    ),
    "pairs-question": (lambda: validate_pair_indices_bounds(T([[3, 0]]), 3, 5), ValueError, "question index 3"),
    "pairs-source": (
        lambda: validate_pair_indices_bounds(T([[2, 5]]), 3, 5, "mine"),
        ValueError,
        "mine contains source",
    ),
    "pairs-columns": (lambda: validate_pair_indices_bounds(T([[2, 5, 1]]), 3, 5), ValueError, "expected 2 columns"),
    "pairs-below-zero": (
        lambda: validate_pair_indices_bounds(T([[-1, 0]]), 3, 5, allow_negative=False),
        ValueError,
        "question index -1",
    ),
    "pairs-floats": (lambda: validate_pair_indices_bounds(T([[0.0, 1.0]]), 3, 5), TypeError, "must hold integers"),
    "clusters-high": (lambda: validate_cluster_ids_bounds(T([5]), 5, "c"), ValueError, "c contains cluster ID 5"),
    "clusters-2d": (lambda: validate_cluster_ids_bounds(T([[1]]), 5), ValueError, "must be 1D"),
    "clusters-below-zero": (
        lambda: validate_cluster_ids_bounds(T([-2]), 5, allow_negative=False),
        ValueError,
        "cluster ID -2",
    ),
    "length": (
        lambda: validate_length_consistency((torch.zeros(2), "a", 2), ([1], "b", 3), ([], "c", 1)),
        ValueError,
        r"b length \(1\) must equal 3",
    ),
    "length-of-dict": (lambda: validate_length_consistency(({}, "a", 0)), TypeError, "must be torch.Tensor or list"),
    "ratio-train-0": (lambda: validate_split_ratios(0.0, 0.5, 0.5), ValueError, r"train_ratio must be in \(0, 1\)"),
    "ratio-train-1": (lambda: validate_split_ratios(1.0, 0.0, 0.0), ValueError, "train_ratio must be in"),
    "ratio-val": (lambda: validate_split_ratios(0.5, -0.1, 0.6), ValueError, "val_ratio must be in"),
    "ratio-test": (lambda: validate_split_ratios(0.5, 0.5, 0.0), ValueError, "test_ratio must be in"),
    "ratios-low": (lambda: validate_split_ratios(0.5, 0.2, 0.2), ValueError, "must sum to 1.0"),
    "ratios-high": (lambda: validate_split_ratios(0.5, 0.3, 0.3), ValueError, "must sum to 1.0"),
    "keywords-tuple": (lambda: validate_keyword_ids_list(([0],), 1, 1), TypeError, "must be list"),
    "keywords-length": (
        lambda: validate_keyword_ids_list([[0]], 2, 1, "k"),
        ValueError,
        r"k length \(1\) must equal n_pairs \(2\)",
    ),
    "keywords-inner": (lambda: validate_keyword_ids_list([[0], (0,)], 2, 1), TypeError, r"ids\[1\] must be list"),
    "keywords-float": (lambda: validate_keyword_ids_list([[0.5]], 1, 1), TypeError, "contains non-int"),
    "keywords-high": (lambda: validate_keyword_ids_list([[9]], 1, 9), ValueError, "out-of-range keyword ID 9"),
    "keywords-low": (lambda: validate_keyword_ids_list([[-1]], 1, 9), ValueError, "out-of-range keyword ID -1"),
    "nan": (lambda: validate_no_nan_inf(T([[1.0, NAN]]), "x"), ValueError, "x contains NaN values"),
    "nan-before-inf": (lambda: validate_no_nan_inf(T([INF, NAN, -INF]), "x"), ValueError, "contains NaN"),
    "inf": (lambda: validate_no_nan_inf(T([INF]), "x"), ValueError, "contains Inf values"),
    "minus-inf": (lambda: validate_no_nan_inf(T([0.0, -INF]), "x"), ValueError, "contains Inf values"),
    "range-low": (
        lambda: validate_values_in_range(T([-0.5, 1.0]), "x", 0.0, 1.0),
        ValueError,
        r"x values must be in range \[0.0, 1.0\].*-0.5",
    ),
    "range-integers": (
        lambda: validate_values_in_range(T([20]), "x", 0, 19),
        ValueError,
        r"must be in range \[0, 19\].*20",
    ),
    "range-exclusive-low": (
        lambda: validate_values_in_range(T([0.0]), "x", 0, 1, inclusive=False),
        ValueError,
        r"range \(0, 1\)",
    ),
    "range-exclusive-high": (
        lambda: validate_values_in_range(T([1.0]), "x", 0, 1, inclusive=False),
        ValueError,
        "must be in range",
    ),
    "range-nan": (lambda: validate_values_in_range(T([NAN]), "x", 0, 1), ValueError, "must be in range"),
}


@pytest.mark.parametrize(("case", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_validators_refuse(case: Case, error: type[Exception], says: str) -> None:
    """The original's promise, and ours for indices below 0 and for floats as indices."""
    with pytest.raises(error, match=says):
        case()


def test_embeddings_of_one_width_tell_it() -> None:
    """The original's promise."""
    assert validate_embedding_dimensions((torch.zeros(2, 7), "q"), (torch.zeros(9, 7), "s")) == 7


@pytest.mark.parametrize(
    "value", [torch.rand(3, 4), torch.arange(5), torch.tensor([1], dtype=torch.int32)], ids=["matrix", "whole", "int32"]
)
def test_a_tensor_comes_back_as_it_was_saved(tmp_path: Path, value: torch.Tensor) -> None:
    """The original's promise; folders are made, and an older file is replaced."""
    save_tensor_artifact(torch.zeros(9), str(tmp_path / "a" / "b"), "x.pt")
    save_tensor_artifact(value, tmp_path / "a" / "b", "x.pt")
    assert torch.equal(load_tensor_artifact(tmp_path / "a" / "b", "x.pt", expected_shape=tuple(value.shape)), value)
    assert [p.name for p in (tmp_path / "a" / "b").iterdir()] == ["x.pt"]


@pytest.mark.parametrize(("value", "says"), [(NAN, "contains NaN"), (INF, "contains Inf"), (-INF, "contains Inf")])
def test_nan_and_infinity_are_written_only_on_request(tmp_path: Path, value: float, says: str) -> None:
    """The original's promise; what was there stays."""
    save_tensor_artifact(torch.ones(1), tmp_path, "x.pt")
    with pytest.raises(ValueError, match=says):
        save_tensor_artifact(T([value]), tmp_path, "x.pt")
    assert load_tensor_artifact(tmp_path, "x.pt") == 1
    save_tensor_artifact(T([value]), tmp_path, "x.pt", validate=False)
    assert not torch.isfinite(load_tensor_artifact(tmp_path, "x.pt")).any()


def test_a_view_is_written_without_the_rest_of_its_storage(tmp_path: Path) -> None:
    """Our promise: a row of a large tensor is a small file."""
    save_tensor_artifact(torch.zeros(100_000, 4)[:1], tmp_path, "x.pt")
    assert (tmp_path / "x.pt").stat().st_size < 10_000


def test_a_missing_file_is_an_error_or_none(tmp_path: Path) -> None:
    """The original's promise."""
    with pytest.raises(FileNotFoundError, match="Required tensor file not found"):
        load_tensor_artifact(tmp_path, "x.pt")
    assert load_tensor_artifact(tmp_path, "x.pt", required=False) is None


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((None,), "has 2 dimensions, expected 1"),
        ((10, 512), "dimension 1 has size 3, expected 512"),
        ((20, 3), "dimension 0 has size 10, expected 20"),
    ],
)
def test_another_shape_than_expected_is_refused(tmp_path: Path, shape: tuple[int | None, ...], says: str) -> None:
    """The original's promise; None takes any size."""
    torch.save(torch.zeros(10, 3), tmp_path / "x.pt")
    assert load_tensor_artifact(tmp_path, "x.pt", expected_shape=(None, 3)).shape == (10, 3)
    with pytest.raises(ValueError, match=f"x.pt.*{says}"):
        load_tensor_artifact(tmp_path, "x.pt", expected_shape=shape)


@pytest.mark.parametrize("weights_only", [True, False])
def test_lists_of_integers_load_but_no_code_runs(tmp_path: Path, weights_only: bool) -> None:
    """Our promise: nothing is unpickled, whatever is asked for."""
    torch.save([[1], []], tmp_path / "x.pt")
    assert load_tensor_artifact(tmp_path, "x.pt", weights_only=weights_only) == [[1], []]
    with pytest.raises(TypeError, match=r"x.pt holds list"):
        load_tensor_artifact(tmp_path, "x.pt", weights_only, (None,))
    torch.save(Touches(tmp_path / "ran"), tmp_path / "x.pt")
    with pytest.raises(ValueError, match="would run code"):
        load_tensor_artifact(tmp_path, "x.pt", weights_only)
    assert not (tmp_path / "ran").exists()


class Touches:
    """Makes a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("kept", [0, 4, 100, 900], ids=lambda n: f"{n}-bytes")
def test_a_truncated_file_is_named(tmp_path: Path, kept: int) -> None:
    """Our promise: the error says which file, whatever torch says."""
    torch.save(torch.zeros(300), tmp_path / "x.pt")
    (tmp_path / "x.pt").write_bytes((tmp_path / "x.pt").read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"x\.pt"):
        load_tensor_artifact(tmp_path, "x.pt")


def test_several_files_come_by_key(tmp_path: Path) -> None:
    """The original's promise: in order, each with its shape, all required."""
    torch.save(torch.zeros(2, 3), tmp_path / "a.pt")
    torch.save([[1]], tmp_path / "b.pt")
    loaded = load_multiple_tensors(tmp_path, [("two", "b.pt", False, None), ("one", "a.pt", True, (None, 3))])
    assert list(loaded) == ["two", "one"]
    assert load_multiple_tensors(tmp_path, []) == {}
    with pytest.raises(FileNotFoundError):
        load_multiple_tensors(tmp_path, [("x", "x.pt", True, None)])
    with pytest.raises(ValueError, match="expected 4"):
        load_multiple_tensors(tmp_path, [("one", "a.pt", True, (None, 4))])
