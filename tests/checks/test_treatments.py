"""Treatments of numbers: which is proposed, that its effect is what numpy finds, and what cures of splits change."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.numbers import Numbers
from tests.making.asking import Asker

SEEDS = st.integers(0, (1 << 32) - 1)


def proposed(values: Any) -> Any:
    return summed(values)["treatment"]


def summed(values: Any) -> Any:
    numbers = Numbers(float(np.median(values)))
    numbers.see(np.asarray(values, np.float64))
    return numbers.summary(treated=True)


def moments(values: Any) -> tuple[float, float, float, float]:
    z = (values - values.mean()) / values.std()
    return float(values.mean()), float(values.std()), float((z**3).mean()), float((z**4).mean() - 3)


@given(SEEDS)
def test_a_placeholder_is_treated_as_missing(seed: int) -> None:
    """Our promise: a value that stands far off again and again is named, and what is left without it is told."""
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.uniform(-50, 50), rng.uniform(1, 9), 2000)
    mark, times = float(rng.choice([-999.0, -9999.0, 99999.0])), int(rng.integers(3, 60))
    values[rng.choice(2000, times, replace=False)] = mark
    summary = summed(values)
    found = summary["treatment"]
    assert (found["do"], found["arguments"], found["changed"]) == ("treat as missing", {"value": mark}, times)
    assert summary["marked"] == np.flatnonzero(values == mark)[:32].tolist()
    after = found["after"]
    expected = moments(values[values != mark])
    assert [after[k] for k in ("mean", "std", "skewness", "kurtosis")] == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(SEEDS)
def test_a_frequent_placeholder_is_treated_as_missing(seed: int) -> None:
    """Our promise: however often it occurs, though then it sets the quartiles itself."""
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.uniform(-50, 50), rng.uniform(1, 9), 2000)
    mark, share = float(rng.choice([-999.0, -9999.0, 99999.0, -32768.0])), rng.uniform(0.05, 0.9)
    values[rng.random(2000) < share] = mark
    found = proposed(values)
    assert (found["do"], found["arguments"]) == ("treat as missing", {"value": mark})
    assert found["changed"] == int((values == mark).sum())
    assert found["after"]["std"] == pytest.approx(float(values[values != mark].std()), rel=1e-6)


@pytest.mark.parametrize(
    "values", [[0, 1, 2, 10], [1, 99], [5, 50, 99], [1, 2, 3, -1], range(100), [199, 299, 499, 999], [0, 5, 10, 99]]
)
def test_a_rare_or_near_value_is_no_placeholder(values: Any) -> None:
    found = proposed(np.repeat(np.array(values, np.float64), 50))
    assert found is None or found["do"] != "treat as missing"


@given(SEEDS)
def test_few_far_values_are_clipped(seed: int) -> None:
    """Our promise: a few errors are clipped to the fences, and the effect is that of clipping."""
    rng = np.random.default_rng(seed)
    values = rng.normal(5, 2, 3000)
    at = rng.choice(3000, int(rng.integers(1, 9)), replace=False)
    values[at] += rng.choice([-1, 1], len(at)) * rng.uniform(60, 900, len(at))
    found = proposed(values)
    low, high = found["arguments"]["low"], found["arguments"]["high"]
    far = (values < low) | (values > high)
    assert (found["do"], found["changed"]) == ("clip", int(far.sum()))
    expected = moments(np.clip(values, low, high))
    after = found["after"]
    assert [after[k] for k in ("mean", "std", "skewness", "kurtosis")] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert after["far"] == 0


@given(SEEDS)
def test_a_long_right_tail_is_taken_by_its_logarithm(seed: int) -> None:
    """Our promise: where many values are far, they are no errors: the scale is wrong."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(3, rng.uniform(1.0, 1.5), 4000)
    found = proposed(values)
    assert found["do"] == "log1p"
    assert found["after"]["skewness"] == pytest.approx(moments(np.log1p(values))[2], rel=1e-6, abs=1e-6)


@given(SEEDS, st.sampled_from(["normal", "uniform", "laplace"]))
def test_nothing_is_proposed_where_nothing_is_wrong(seed: int, family: str) -> None:
    """Our promise: ordinary distributions are left alone."""
    rng = np.random.default_rng(seed)
    values = getattr(rng, family)(size=3000)
    found = proposed(values)
    assert found is None or (family == "laplace" and found["do"] == "clip")


def test_statistics_hold_the_treatment() -> None:
    """Our promise: the proposal stands beside the statistics that it would change, where it is asked for."""
    numbers = Numbers(0.0)
    numbers.see(np.concatenate([np.random.default_rng().normal(0, 1, 900), np.full(5, -999.0)]))
    assert numbers.summary(treated=True)["treatment"]["arguments"] == {"value": -999.0}
    assert numbers.summary()["treatment"] is None


def test_cures_of_splits_say_what_they_would_change(asker: Asker, tmp_path: Path) -> None:
    """Our promise: the samples that a cure takes or moves are counted, and the splits' sizes after it."""
    rng = np.random.default_rng()
    people = np.repeat(np.arange(40), 6)
    split = np.where(people < 30, "train", "val")
    split[:4] = "val"  # of the first person's six samples four
    rows = [[int(p), s, *rng.normal(size=3).round(6).tolist(), int(rng.integers(2))] for p, s in zip(people, split, strict=True)]  # fmt: skip
    copied = [[row[0], "train", *row[2:]] for row in rows if row[1] == "val"][4:9]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["person", "split", "a", "b", "c", "label"], *rows, *copied])
    report: Any = asker.ask("check_quality", str(tmp_path / "t.csv"), str(tmp_path), group="person")
    made = {t.code: t for t in report.treatments}
    train, val = int((split == "train").sum()) + 5, int((split == "val").sum())
    overlap, groups = made["splits-overlap"], made["group-leakage"]
    assert (overlap.changed, overlap.before, overlap.after) == (5, {"train": train}, {"train": train - 5})
    astride = {p for p in people.tolist() if len(set(split[people == p])) > 1} | {row[0] for row in copied}
    sizes = {p: {s: sum(r[0] == p and r[1] == s for r in [*rows, *copied]) for s in ("train", "val")} for p in astride}
    assert groups.changed == sum(min(s.values()) for s in sizes.values())
    assert sum(groups.after.values()) == train + val
    assert (groups.field, overlap.field, overlap.unit, overlap.how) == ("person", None, "samples", "counted")
    assert overlap.do == "drop from train what is also in another split"
    assert (made["duplicate-samples"].code, made["duplicate-samples"].changed) == ("duplicate-samples", 5)
