"""Numbers that measure nothing: ids, bytes of films, labels. Nothing is far off among them, and no recording has failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.advice.models import of_measures
from dataloader_expert.checks.common.numbers import Numbers
from dataloader_expert.conclusions import finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.model.check import MODEL
from tests.making.scanning import scan

N = 400


def tokens(rng: Any) -> Any:
    """Frequent ids are small, as of a vocabulary sorted by frequency, and rows end with padding."""
    ids = rng.zipf(1.3, (N, 40)).clip(1, 2999)
    ids[np.arange(40) >= rng.integers(5, 40, N)[:, None]] = 0
    return ids


def film(rng: Any) -> Any:
    frames = rng.integers(0, 20, (N, 4, 12, 12, 3))
    frames[..., :3, :3, :] = 250
    return frames.astype(np.uint8)


def tags(rng: Any) -> Any:
    held = (rng.random((N, 8)) < [0.5, 0.3, 0.2, 0.1, 0.05, 0.04, 0.02, 0.01]).astype(np.float32)
    held[7] = 0
    return held


CASES = {
    "ids of tokens": ("ids", tokens, {"outliers", "collinear-fields"}),
    "the bytes of a film": ("clip", film, {"outliers"}),
    "several labels a sample, or none": ("labels", tags, {"constant-samples"}),
    "classes of objects": ("categories", tokens, {"outliers"}),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_far_off_where_nothing_is_measured(case: str, tmp_path: Path) -> None:
    """Seen: "take log(1 + x)" of token ids and of a film, and "failed recordings" of samples without a label."""
    name, make, codes = CASES[case]
    rng = np.random.default_rng()
    x = rng.normal(0, 1, (N, 6)).astype(np.float32)
    np.savez(tmp_path / "data.npz", **{name: make(rng), "features": x, "y": rng.integers(0, 3, N)})
    # one of 2,400 normal values lies far off in a few seeds of a thousand, and that may be said
    told = [f for f in scan(tmp_path, tmp_path).findings if f.code in codes and not f.message.startswith("features:")]
    assert not told, told


@pytest.mark.parametrize("far", [1, 30])
def test_a_logarithm_is_for_the_shape_of_many(far: int) -> None:
    """Seen: a logarithm of 900 values for the sake of one."""
    rng = np.random.default_rng(5)
    values = np.append(rng.normal(10, 1, 900 - far).clip(7, 13), rng.uniform(18, 900, far))
    numbers = Numbers(float(np.median(values)))
    numbers.see(values)
    treatment = numbers.summary(treated=True)["treatment"]
    assert far > 1 or (treatment or {}).get("do") != "log1p"


def test_what_the_model_looks_up_is_no_measure() -> None:
    """Our promise: a field without a telling name is known by what the model does with it."""
    facts = Facts((Fact(MODEL, {"codes": ["0"]}, evidence("probed", "model", seen=1)),))
    fact = next(iter(facts))
    found = [finding("outliers", "info", "far", fact, "look", [{"field": field}]) for field in ("0", "1")]
    assert [f.where[0]["field"] for f in of_measures(found, facts)] == ["1"]
    assert len(of_measures(found, Facts())) == 2
