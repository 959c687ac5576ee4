"""Splits by time in which a few training samples are from a later period: these are named, not the whole split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.checks.splits import leakage
from tests.checks.looking import Data, judged
from tests.making.scanning import scan


@pytest.mark.parametrize(("strays", "told"), [(12, True), (300, False)])
def test_a_few_training_samples_from_the_period_of_test_are_the_cause(strays: int, told: bool) -> None:
    """Our promise: 12 of 800 rows to move, and not another way to split."""
    days = np.arange(1000) + 19_000
    moved = np.linspace(0, 799, strays).astype(int)
    days[moved] = 19_810 + moved % 180
    seconds = [str(np.datetime64(int(d), "D")) for d in days]
    data = Data(
        {"taken_at": seconds, "x": np.arange(1000.0)},
        splits=["train"] * 800 + ["test"] * 200,
        kinds={"taken_at": "time"},
    )
    found = judged("leakage", data)["time-leakage"]
    assert (f"due to {strays} of 800 training samples" in found.message) is told
    assert ("move them to test" in found.fix) is told


@pytest.mark.parametrize("every", [3, 8])
@pytest.mark.parametrize(("hours", "severity"), [(60, "info"), (24, "warning"), (24 * 40, "warning")])
def test_recordings_made_side_by_side_are_split_by_recording(
    tmp_path: Path, hours: int, severity: str, every: int
) -> None:
    """Seen: tracks of vessels, a file each, and sensors of patients, few of whom are in the test. Files of a day each, or parts of a
    shuffled table, are no recordings of their own."""
    days = np.random.default_rng(2).permutation(40)
    for k, day in enumerate(days):
        path = tmp_path / ("test" if k % every == 0 else "train") / f"trip{k}.csv"
        path.parent.mkdir(exist_ok=True)
        begin = 0 if hours > 24 * 30 else day * 24
        at = [str(np.datetime64("2024-03-01T00") + int(begin + h * hours / 24)) for h in range(24)]
        path.write_text(
            "\n".join(["time,speed", *(f"{t}:00:00,{(7 * i * k) % 97 / 9:.3f}" for i, t in enumerate(at))]) + "\n"
        )
    found = [f for f in scan(tmp_path, tmp_path).findings if f.code == "time-leakage"]
    assert [f.severity for f in found] == [severity]
    assert ("a recording of its own" in found[0].message) == (severity == "info")


@pytest.mark.parametrize(("block", "severity"), [(240, "info"), (24, "warning"), (1, "warning")])
def test_blocks_of_time_are_laid_out_on_purpose(block: int, severity: str) -> None:
    """Seen: the last days of each month were the test. Our promise: days and rows at random are no such blocks."""
    hours = np.arange(2880)
    test = (hours // block % 3 == 1) if block > 1 else np.random.default_rng(0).random(2880) < 0.3
    times = [f"{np.datetime64('2023-01-01T00') + int(h)}:00" for h in hours]
    splits = ["test" if t else "train" for t in test]
    found = judged("leakage", Data({"taken_at": times, "x": hours * 0.5}, splits=splits, kinds={"taken_at": "time"}))
    assert found["time-leakage"].severity == severity
    assert ("in 4 long blocks" in found["time-leakage"].message) == (severity == "info")


def test_more_than_are_counted_are_no_strays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a split at random is not said to be due to the rows that are kept, however few these are of all."""
    monkeypatch.setattr(leakage, "MOST_LATE", 100)
    seconds = np.random.default_rng(0).permutation(2_550) * 60.0 + 1.5e9
    splits = ["train"] * 2_300 + ["test"] * 250
    data = Data({"taken_at": seconds, "x": np.arange(2_550.0)}, splits=splits, kinds={"taken_at": "time"})
    found = judged("leakage", data)["time-leakage"]
    assert "due to" not in found.message and "split by time" in found.fix


@pytest.mark.parametrize("at", [[(0, 200)], [(0, 200), (210, 410)], [(0, 200), (210, 410), (420, 620)], [(900, 1000)]])
def test_blocks_with_hardly_any_training_between_are_a_leak(at: list[tuple[int, int]]) -> None:
    """Seen: a test split wholly before training was "1 long block" and no leak, nor was one with three stray training rows in its period."""
    hours = np.arange(1003)
    test = np.isin(hours, [h for begin, end in at for h in range(begin, end)])
    times = [f"{np.datetime64('2023-01-01T00') + int(h)}:00" for h in hours]
    splits = ["test" if t else "train" for t in test]
    found = judged("leakage", Data({"taken_at": times, "x": hours * 0.5}, splits=splits, kinds={"taken_at": "time"}))
    assert found["time-leakage"].severity == "warning" and "long blocks" not in found["time-leakage"].message
