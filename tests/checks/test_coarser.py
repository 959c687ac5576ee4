"""Samples in coarser steps or held for several, beside quiet, dark, rounded and rectangular ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N, LENGTH = 120, 600
Change = Callable[[Any], Any]
TEST = np.arange(N) >= 80


def waves(loud: Any = 9_000.0) -> Any:
    """Recordings of 16 bits of a tone in noise, [n, steps, 1]."""
    rng = np.random.default_rng(5)
    tone = np.sin(np.arange(LENGTH) * rng.uniform(0.05, 0.4, (N, 1)))
    return ((tone + rng.normal(0, 0.2, (N, LENGTH))) * loud)[..., None].astype(np.int16)


def recorded(change: Change, x: Any = None, odd: Any = TEST) -> Data:
    x = waves() if x is None else x
    x = np.where(odd[:, None, None], change(x), x).astype(np.int16)
    return Data({"audio": list(x)}, splits=["test" if t else "train" for t in TEST], kinds={"audio": "audio"})


def windows(change: Change, odd: Any = TEST) -> Data:
    """Windows of two channels, [n, steps, 2]."""
    x = np.random.default_rng(6).normal(0, 1, (N, 64, 2)).cumsum(1).astype(np.float32)
    x = np.where(odd[:, None, None], change(x), x).astype(np.float32)
    return Data({"X": x, "subject": [f"s{i % 4}" for i in range(N)]}, splits=["test" if t else "train" for t in TEST])


def images(change: Change, field: str = "scanner", label: str | None = None) -> Data:
    x = np.random.default_rng(7).normal(0, 12, (N, 24, 24)).cumsum(2) + 128
    x = x.clip(0, 255).astype(np.uint8)
    odd = np.arange(N) % 4 == 1
    x = np.where(odd[:, None, None], change(x), x).astype(np.uint8)
    named = [f"{field} {i % 4}" for i in range(N)]
    return Data({"image": x, field: named}, label, kinds={"image": "image", field: "category"})


def held(x: Any) -> Any:
    return x[:, ::2].repeat(2, 1)


SOUND = {
    "recordings alike": recorded(lambda x: x),
    "quiet ones": recorded(lambda x: x // 80),
    "silent ones": recorded(lambda x: x * 0),
    "a few levels everywhere": recorded(lambda x: x, waves() // 512 * 512),
    "all held": recorded(held, held(waves())),
    "rectangular waves": recorded(lambda x: np.where(np.arange(LENGTH) // 9 % 2, 900, -900)[None, :, None]),
    "standing still for a while": windows(lambda x: np.where(np.arange(64)[None, :, None] % 32 < 20, x[:, :1], x)),
    "rounded": windows(lambda x: x.round(2)),
    "one channel held": windows(lambda x: np.concatenate([held(x)[..., :1], x[..., 1:]], 2)),
    "at another scale": windows(lambda x: x * 100),
    "dark images": images(lambda x: x // 6),
    "of less contrast": images(lambda x: x // 3 + 80),
    "drawings of one kind": images(lambda x: x // 64 * 64, "kind"),
    "drawings of one class": images(lambda x: x // 64 * 64, "scanner", "scanner"),
    "scans in black and white": images(lambda x: (x > 128) * 255),
}
SPOILT = {
    "8 bits": (recorded(lambda x: x // 512 * 512), "preprocessing-differs", "in test"),
    "rounded to whole numbers": (windows(lambda x: x.round(0)), "preprocessing-differs", "in test"),
    "eight levels": (images(lambda x: x // 32 * 32), "preprocessing-differs", "where scanner is scanner 1"),
    "held for two steps": (recorded(held), "scale-drift", "the samples in test"),
    "windows held": (windows(held), "scale-drift", "the samples in test"),
    "some windows held": (windows(held, np.arange(N) % 7 == 3), "scale-drift", "in 17 of 120 samples"),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_other_samples_are_no_coarser(data: Data) -> None:
    assert judged_alone("coarser", data) == {}


@pytest.mark.parametrize(("data", "code", "words"), SPOILT.values(), ids=SPOILT)
def test_coarser_samples_are_told(data: Data, code: str, words: str) -> None:
    assert words in judged_alone("coarser", data)[code].message
