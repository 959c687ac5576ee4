"""How rows of a matrix are normalised: each feature by itself where they are not of one kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.advice.normalization import beside_boxes, normalization
from dataloader_expert.facts import Fact, Facts
from tests.making.scanning import scan


def _made(root: Path, scales: list[float]) -> Any:
    seed = int(np.random.default_rng().integers(2**32))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 1, (600, len(scales))) * scales
    x[:, 1] = 7 * scales[1]
    y = rng.integers(0, 3, 600)
    np.savez(root / "data.npz", x_train=x[:500], y_train=y[:500], x_test=x[500:], y_test=y[500:])
    return x[:500]


def test_features_of_unlike_scales_are_normalised_one_by_one(tmp_path: Path) -> None:
    """Our promise: one mean and std for a matrix of ages and incomes is not advised."""
    x = _made(tmp_path, [1.0, 2.0, 5e4, 0.01])
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None
    assert found["mean"] == pytest.approx(x.mean(0).tolist(), rel=1e-9)
    assert found["std"] == pytest.approx([s or 1.0 for s in x.std(0).round(12)], rel=1e-9)
    assert "each feature of x by itself" in found["computed_on"]


def test_features_on_different_places_are_normalised_one_by_one(tmp_path: Path) -> None:
    """Seen: one mean of 74 for ages, body masses, pressures and glucose, whose ranges are alike."""
    rng = np.random.default_rng()
    x = np.stack([rng.normal(m, s, 500).clip(m - 2.5 * s, m + 2.5 * s) for m, s in ((45, 14), (27, 5), (130, 12))], 1)
    np.savez(tmp_path / "data.npz", x_train=x, y_train=rng.integers(0, 3, 500))
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None
    assert found["mean"] == pytest.approx(x.mean(0).tolist(), rel=1e-9)


def test_features_of_one_scale_share_their_constants(tmp_path: Path) -> None:
    """Our promise: components of one kind, such as those of an embedding, keep their proportions."""
    x = _made(tmp_path, [1.0, 1.0, 1.3, 0.8])
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None
    assert found["mean"] == pytest.approx(x.mean(), rel=1e-9)
    assert found["std"] == pytest.approx(x.std(), rel=1e-9)


def test_a_number_that_names_a_group_is_not_normalised(tmp_path: Path) -> None:
    """Our promise: the number of a subject is no measure."""
    rng = np.random.default_rng()
    subjects = rng.integers(1, 20, 400)
    rows = [
        f"{s},{v:.4f},{t}" for s, v, t in zip(subjects, rng.normal(20, 3, 400), rng.integers(0, 2, 400), strict=True)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["subject,force,label", *rows]), encoding="utf-8")
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None and isinstance(found["mean"], float)


def test_constants_for_a_logarithm_are_said_to_be_taken_before_it(tmp_path: Path) -> None:
    rng = np.random.default_rng()
    rows = [f"{a:.3f},{b:.3f}" for a, b in zip(rng.lognormal(4, 2, 500), rng.lognormal(2, 2, 500), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["cost,income", *rows]), encoding="utf-8")
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None and found["method"] == "log" and "after the logarithm" in found["computed_on"]


def pictures(root: Path, shape: tuple[int, ...], low: float, high: float) -> Any:
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, (120, *shape)) * np.array([1, 0.8, 0.5]).reshape([-1 if d == 3 else 1 for d in shape])
    x = x.astype(np.float32)
    np.savez(
        root / "data.npz", x_train=x[:100], y_train=np.arange(100) % 3, x_test=x[100:] + 1, y_test=np.arange(20) % 3
    )
    return x[:100]


@pytest.mark.parametrize("shape", [(3, 24, 24), (24, 24, 3)])
def test_each_channel_of_pictures_in_floats_has_its_own_constants(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Seen: one mean for red, green and blue."""
    x = pictures(tmp_path, shape, 0, 1)
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None
    axes = tuple(i + 1 for i, d in enumerate(shape) if d != 3)
    assert found["mean"] == pytest.approx(x.astype(float).mean((0, *axes)).tolist(), abs=1e-5)
    assert found["std"] == pytest.approx(x.astype(float).std((0, *axes)).tolist(), abs=1e-5)
    assert found["applied"] is False


@pytest.mark.parametrize(("low", "high", "applied"), [(-1, 1, True), (-2, 2.6, True), (0, 1, False), (-90, 10, False)])
def test_pictures_on_both_sides_of_0_are_scaled_already(tmp_path: Path, low: float, high: float, applied: bool) -> None:
    """Seen: pictures from -1 to 1, as diffusion models take them, were to be standardised again."""
    pictures(tmp_path, (3, 24, 24), low, high)
    found = normalization(Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts))))
    assert found is not None
    assert found["applied"] is applied


def test_what_stands_beside_boxes_is_of_the_target() -> None:
    """Seen: the areas of a detector's boxes were to be standardized with its images."""
    fields = dict.fromkeys(("0", "1.boxes", "1.area", "meta.age", "boxes", "area"), None)
    assert [n for n in fields if beside_boxes(n, fields)] == ["1.boxes", "1.area"]
