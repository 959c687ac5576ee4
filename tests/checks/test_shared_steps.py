"""Windows of recordings that were cut with an overlap, and dealt to splits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.duplicates import shared_steps
from tests.checks.looking import Data, judged

RNG = np.random.default_rng(61)


def recordings(n: int = 6, steps: int = 400) -> Any:
    """Of three sensors each, [recordings, steps, 3]."""
    return np.cumsum(RNG.normal(0, 1, (n, steps, 3)), 1).astype(np.float32)


def windows(made: Any, stride: int, order: str, length: int = 32) -> Data:
    """Windows of recordings, dealt out at random, by time, or by recording."""
    cut = [(r, a) for r in range(len(made)) for a in range(0, made.shape[1] - length + 1, stride)]
    x = np.stack([made[r, a : a + length] for r, a in cut])
    deals: dict[str, Callable[[], Any]] = {
        "random": lambda: RNG.random(len(cut)) < 0.2,
        "time": lambda: np.array([a >= 0.75 * made.shape[1] - length / 2 for _, a in cut]),
        "recording": lambda: np.array([r == 0 for r, _ in cut]),
    }
    splits = ["test" if of else "train" for of in deals[order]()]
    return Data({"x": x}, splits=splits, kinds={"x": "array"})


def hours() -> Any:
    """What time of the day it is, for each of several shops."""
    angle = 2 * np.pi * (np.arange(400) % 24) / 24
    return np.stack([np.stack([np.sin(angle), np.cos(angle), angle], 1)] * 6).astype(np.float32)


SOUND = {
    "without an overlap": windows(recordings(), 32, "random"),
    "by recording": windows(recordings(), 8, "recording"),
    "by time, the first ones of the test reaching back": windows(recordings(), 8, "time"),
    "codes": windows(np.eye(3, dtype=np.float32)[RNG.integers(0, 3, (6, 400))], 8, "random"),
    "hours of the day": windows(hours(), 5, "recording", 16),
    "whole copies, which are told as such": Data(
        {"x": np.repeat(recordings(40, 32), 2, 0)}, splits=["train", "test"] * 40, kinds={"x": "array"}
    ),
}


def in_time(lasts: tuple[float, float], length: int, again: int = 0) -> Data:
    """All windows of one recording, of which training has the first ones and the test the last; ``again``: steps by which the first
    begins earlier than training ended."""
    made = recordings(1, 460)[0]
    starts = [(a, "train") for a in range(int(lasts[0] * 460) - length + 1)]
    starts += [(a, "test") for a in range(int(lasts[0] * 460) - again, int(lasts[1] * 460) - length + 1)]
    x = np.stack([made[a : a + length] for a, _ in starts])
    return Data({"x": x}, splits=[split for _, split in starts], kinds={"x": "array"})


BY_TIME = {
    "inputs of the first forecasts": in_time((0.7, 0.9), 48, 47),
    "windows in their order": windows(recordings(1, 460), 1, "time", 96),
    "the same of several recordings": windows(recordings(4, 460), 1, "time", 96),
}
SPEAKS = {"at random": (windows(recordings(), 16, "random"), "splits-near-overlap", "warning")}


def test_windows_that_were_dealt_out_after_they_were_cut_are_told() -> None:
    """Seen: windows of activity with half an overlap, shuffled and split: half of each test window was in training."""
    found = judged("shared_steps", SPEAKS["at random"][0])["splits-near-overlap"]
    assert "windows of test hold steps of windows of train, at another place in x" in found.message


@pytest.mark.parametrize("data", BY_TIME.values(), ids=BY_TIME)
def test_splits_that_follow_one_another_in_time_are_no_leak(data: Data) -> None:
    """Seen: 97 of 98 windows of the usual protocol of forecasts were told as a leak that makes scores too good."""
    found = judged("shared_steps", data)["splits-near-overlap"]
    assert found.severity == "info" and "leave a gap" in found.fix


def test_windows_are_counted_among_those_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_steps, "KEPT", 1000)
    found = judged("shared_steps", SPEAKS["at random"][0])["splits-near-overlap"]
    assert found.severity == "warning" and "windows of test that were looked at hold" in found.message
    assert found.evidence[0]["how"] == "sampled"
