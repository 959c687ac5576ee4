"""How likely each steering variant is in an epoch, and which pairs get it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.loaders import JASPERSteeringDataset
from dataloader_expert.loaders.jasper.curriculum import MODES, VARIANTS, Curriculum, base_probabilities, probabilities
from dataloader_expert.loaders.jasper.variants import AccessStream, by_pair
from tests.making import jasper

NEW = {"zero_prob_start": 0.5, "zero_prob_end": 0.1, "epochs_total": 100}
TABLE = {
    0: (0.5, 1 / 6),
    1: (0.496, 0.168),
    10: (0.46, 0.18),
    50: (0.3, 0.7 / 3),
    99: (0.104, 0.896 / 3),
    100: (0.1, 0.3),
    5000: (0.1, 0.3),
}
"""Epoch to the probability of zero and of each other, of a uniform base from 0.5 to 0.1 over 100 epochs."""

share = st.floats(0, 1)
weights = st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda w: sum(w) > 0.01)
odds = weights.map(lambda w: dict(zip(VARIANTS, (x / sum(w) for x in w), strict=True)))
pairs = st.lists(st.integers(0, 10**6), max_size=300, unique=True).map(lambda p: np.array(p, np.int64))
seeds = st.integers(0, 2**31)
epochs = st.integers(0, 10**4)


@pytest.mark.parametrize("epoch", TABLE)
@pytest.mark.parametrize("curriculum", [NEW, jasper.OLD_CURRICULUM], ids=["new keys", "old builder"])
def test_zero_goes_from_a_half_to_a_tenth(tmp_path: Path, epoch: int, curriculum: dict[str, Any]) -> None:
    """The schedule that data sets have always run, with keys that say so and with those of the old builder."""
    folder = jasper.make(tmp_path / "jasper", curriculum=curriculum)
    found = JASPERSteeringDataset(folder, "train", epoch).steering_probs
    zero, other = TABLE[epoch]
    assert found == pytest.approx({"zero": zero, "centroid": other, "keyword": other, "residual": other})


def test_an_old_builders_curriculum_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its keys are read by nothing, and the log says what runs instead and how to choose."""
    JASPERSteeringDataset(jasper.make(tmp_path / "old", curriculum=jasper.OLD_CURRICULUM), "train")
    assert "zero_prob_start 0.5, zero_prob_end 0.1, epochs_total 100" in caplog.text
    caplog.clear()
    JASPERSteeringDataset(jasper.make(tmp_path / "new", curriculum=NEW), "train")
    assert not caplog.records


@pytest.mark.parametrize("curriculum", [None, {}], ids=["none", "empty"])
def test_without_a_curriculum_every_epoch_is_as_configured(tmp_path: Path, curriculum: Any) -> None:
    """The configuration's probabilities, unchanged."""
    base = {"zero": 0.7, "centroid": 0.1, "keyword": 0.2, "residual": 0.0}
    folder = jasper.make(tmp_path / "jasper", curriculum=curriculum, steering_probabilities=base)
    for epoch in (0, 7, 1000):
        assert JASPERSteeringDataset(folder, "train", epoch).steering_probs == base


def test_the_epoch_moves_what_is_served(tmp_path: Path) -> None:
    """Counts follow the probabilities exactly, epoch by epoch."""
    dataset = JASPERSteeringDataset(jasper.make(tmp_path / "jasper", curriculum=NEW), "train")
    counts = []
    for epoch in (0, 50, 100):
        dataset.set_epoch(epoch)
        variants = dataset.__getitems__(range(80)).batch["steering_variant"]
        counts.append(np.bincount(variants.numpy(), minlength=4).tolist())
    assert [c[0] for c in counts] == [40, 24, 8]
    assert counts[2][1:] == [24, 24, 24]


@pytest.mark.parametrize(
    ("curriculum", "expected"),
    [
        pytest.param({"mode": "fixed"}, {0: 0.5, 50: 0.5, 100: 0.5}, id="fixed never moves"),
        pytest.param({"mode": "cosine"}, {0: 0.5, 25: 0.4414213562, 50: 0.3, 100: 0.1}, id="half a cosine"),
        pytest.param({"warmup_epochs": 20}, {0: 0.5, 20: 0.5, 60: 0.3, 100: 0.1}, id="a start that waits"),
        pytest.param({"epochs_total": 0}, {0: 0.5, 1: 0.1}, id="no epochs to move in"),
        pytest.param({"zero_prob_start": 0.0, "zero_prob_end": 1.0}, {0: 0.0, 50: 0.5, 100: 1.0}, id="upwards"),
    ],
)
def test_every_key_of_a_curriculum_is_read(curriculum: dict[str, Any], expected: dict[int, float]) -> None:
    """Mode, warm-up, start, end and length each change what runs."""
    schedule = Curriculum.of({**NEW, **curriculum})
    assert schedule is not None
    assert {e: schedule.zero_probability(e) for e in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("curriculum", "says"),
    [
        ({"zero_prob_start": 1.5}, "zero_prob_start is 1.5"),
        ({"zero_prob_end": float("nan")}, "zero_prob_end is nan"),
        ({"mode": "steps"}, "fixed, linear, cosine"),
        ({"epochs_total": -1}, "at least 0"),
        ({"warmup_epochs": -1}, "at least 0"),
        ({"zero_probability_start": 0.4}, r"unknown keys \['zero_probability_start'\]"),
    ],
    ids=["start", "end", "mode", "epochs", "warm-up", "a misspelt key"],
)
def test_a_senseless_curriculum_is_refused(curriculum: dict[str, Any], says: str) -> None:
    """A key that nothing reads is refused too: it would do nothing."""
    with pytest.raises(ValueError, match=says):
        Curriculum.of(curriculum)


@given(base=odds, start=share, end=share, epoch=epochs, total=epochs, warmup=epochs, mode=st.sampled_from(MODES))
def test_probabilities_are_probabilities(
    base: dict[str, float], start: float, end: float, epoch: int, total: int, warmup: int, mode: str
) -> None:
    """Whatever the curriculum and the epoch: each in [0, 1], together 1, zero between start and end."""
    found = probabilities(base, Curriculum(start, end, total, mode, warmup), epoch)
    assert sum(found.values()) == pytest.approx(1)
    assert all(0 <= p <= 1 + 1e-12 for p in found.values())
    assert min(start, end) - 1e-12 <= found["zero"] <= max(start, end) + 1e-12


def test_all_that_is_not_zero_goes_to_centroid_where_the_base_is_all_zero() -> None:
    """A base of nothing but zero has no shares to divide the rest by."""
    base = {"zero": 1.0, "centroid": 0.0, "keyword": 0.0, "residual": 0.0}
    assert probabilities(base, Curriculum(), 100) == pytest.approx({**base, "zero": 0.1, "centroid": 0.9})


@given(base=odds)
def test_configured_probabilities_are_taken_as_they_are(base: dict[str, float]) -> None:
    """Four that sum to 1 are unchanged."""
    assert base_probabilities({"steering_probabilities": base}) == base


@given(rows=pairs, base=odds, seed=seeds, epoch=epochs)
def test_quotas_are_exact(rows: Any, base: dict[str, float], seed: int, epoch: int) -> None:
    """Each variant's count is its probability times the pairs, rounded down or up."""
    counts = np.bincount(by_pair(seed, epoch, rows, base), minlength=4)
    wanted = np.array([base[v] for v in VARIANTS]) * len(rows)
    assert counts.sum() == len(rows)
    assert (np.abs(counts - wanted) < 1 + 1e-6).all()


@given(rows=pairs, base=odds, seed=seeds, epoch=epochs, data=st.data())
def test_a_pairs_variant_does_not_depend_on_its_place(
    rows: Any, base: dict[str, float], seed: int, epoch: int, data: st.DataObject
) -> None:
    """A split whose rows are in another order has the same variant for each pair."""
    order = np.array(data.draw(st.permutations(range(len(rows)))), np.int64)
    assert (by_pair(seed, epoch, rows[order], base) == by_pair(seed, epoch, rows, base)[order]).all()


def test_epochs_and_seeds_draw_independently() -> None:
    """The same pairs in another epoch or with another seed agree as often as chance has it, and no more."""
    rows = np.arange(4000)
    drawn = [by_pair(seed, epoch, rows, jasper.UNIFORM) for seed, epoch in ((42, 0), (42, 1), (43, 0), (0, 42))]
    for i, first in enumerate(drawn):
        for second in drawn[i + 1 :]:
            assert 0.22 < (first == second).mean() < 0.28


def test_odds_that_sum_to_nearly_one_serve_every_pair() -> None:
    """Configurations are rounded; with many pairs that is more than a pair, and still each gets a variant."""
    for total in (0.999, 1.001):
        drawn = by_pair(0, 0, np.arange(10_000), dict.fromkeys(VARIANTS, total / 4))
        assert np.bincount(drawn).tolist() == [2500] * 4


@given(base=odds, seed=seeds, epoch=epochs, parts=st.lists(st.integers(0, 20), max_size=5))
def test_the_stream_of_accesses_is_numpys_choice(
    base: dict[str, float], seed: int, epoch: int, parts: list[int]
) -> None:
    """However the accesses are bundled, they are the draws that the original made one by one."""
    stream, rng = AccessStream(seed, epoch), np.random.default_rng(seed + epoch)
    drawn = [v for n in parts for v in stream.draw(n, base).tolist()]
    assert drawn == [int(rng.choice(4, p=list(base.values()))) for _ in drawn]
    assert stream.accessed == len(drawn)
