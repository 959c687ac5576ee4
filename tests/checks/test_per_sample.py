"""Splits whose samples have hardly a value in common, told by each sample's own measures."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.per_sample import KEPT, apart, keep, kept
from dataloader_expert.sources.base import Block, Column, Unit
from tests.checks.looking import Data, judged

RNG = np.random.default_rng()
HALVES = ["train"] * 60 + ["test"] * 60


def windows(n: int) -> Any:
    """Six channels of 50 steps, each at its own scale."""
    return RNG.normal(0, [0.2, 0.3, 0.4, 1.0, 2.0, 3.0], (n, 50, 6)) + RNG.normal(0, 0.2, (n, 1, 6))


def scaled(values: Any, channel: int) -> Any:
    values[60:, :, channel] *= 9.81
    return values


def pictures(n: int, invert: int = 0, grey: int = 0) -> list[Any]:
    made = []
    for i in range(n):
        pixels = np.repeat(np.repeat(RNG.integers(0, 120, (5, 5, 3), np.uint8), 8, 0), 8, 1)
        pixels = 255 - pixels if i < invert else pixels
        made.append(Image.fromarray(np.repeat(pixels[..., :1], 3, 2) if i < grey else pixels))
    return made


def recordings(n: int, low: int = 0, loudest: int = 0) -> Any:
    """Noise at volumes of its own each: without the upper half of the frequencies, or raised to full scale, in the last ones."""
    made = []
    for i in range(n):
        spectrum = np.fft.rfft(RNG.normal(0, RNG.uniform(0.05, 0.2) * RNG.uniform(0.8, 1), 512))
        spectrum[128:] *= n - i > low
        sound = np.fft.irfft(spectrum, 512)
        made.append(sound / np.abs(sound).max() if n - i <= loudest else sound)
    return np.array(made)


def heights(n: int, centred: int = 0) -> Any:
    """Profiles with an offset of their own each, which is taken away in the last ones."""
    made = RNG.normal(0, 0.1, (n, 40)) + RNG.choice([-1.0, 1.0], (n, 1)) * RNG.uniform(0.1, 0.5, (n, 1))
    made[n - centred :] -= made[n - centred :].mean(1, keepdims=True)
    return made


WORDS = ["The", "Owl", "met", "a", "Gnu", "by", "the", "Lake", "in", "May", "and", "left", "it", "there"]
TEXTS = [" ".join(RNG.choice(WORDS, 12)) + f", {i}." for i in range(120)]
CASES: dict[str, tuple[Data, bool]] = {
    "windows": (Data({"x": windows(120)}, splits=HALVES), False),
    "one channel in other units": (Data({"x": scaled(windows(120), 2)}, splits=HALVES), True),
    "pictures": (Data({"image": pictures(120)}, splits=HALVES, kinds={"image": "image"}), False),
    "pictures in arrays": (
        Data({"image": [np.asarray(p) for p in pictures(120)]}, splits=HALVES, kinds={"image": "image"}),
        False,
    ),
    "inverted in arrays": (
        Data({"image": [np.asarray(p) for p in pictures(120, invert=60)]}, splits=HALVES, kinds={"image": "image"}),
        True,
    ),
    "inverted": (Data({"image": pictures(120, invert=60)}, splits=HALVES, kinds={"image": "image"}), True),
    "grey in all channels": (Data({"image": pictures(120, grey=60)}, splits=HALVES, kinds={"image": "image"}), True),
    "texts": (Data({"text": TEXTS}, splits=HALVES, kinds={"text": "text"}), False),
    "texts in lower case": (
        Data({"text": TEXTS[:60] + [t.lower() for t in TEXTS[60:]]}, splits=HALVES, kinds={"text": "text"}),
        True,
    ),
    "recordings": (Data({"x": recordings(120)}, splits=HALVES), False),
    "recordings without high frequencies": (Data({"x": recordings(120, low=60)}, splits=HALVES), True),
    "recordings at full scale": (Data({"x": recordings(120, loudest=60)}, splits=HALVES), True),
    "profiles": (Data({"x": heights(120)}, splits=HALVES), False),
    "profiles that are centred one by one": (Data({"x": heights(120, centred=60)}, splits=HALVES), True),
    "few samples": (Data({"x": scaled(windows(120), 2)[50:70]}, splits=HALVES[50:70]), False),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_was_prepared_otherwise_is_told(name: str) -> None:
    data, told = CASES[name]
    assert ("preprocessing-differs" in judged("drift", data)) == told


@pytest.mark.journey
@given(st.integers(1, 900), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_same_samples_are_kept_however_they_are_dealt_out(n: int, parts: int, draw: random.Random) -> None:
    """Our promise: results do not depend on which process read what."""
    values = [np.arange(i % 5 + 2, dtype=np.float64) + i for i in range(n)]
    whole, dealt = Drawn(KEPT), [Drawn(KEPT) for _ in range(parts)]
    for i in draw.sample(range(n), n):
        for each in (whole, draw.choice(dealt)):
            keep(each, Block(Unit(i, "", i, 1, 0), {"x": Column([values[i]])}), [values[i]])
    draw.shuffle(dealt)
    for other in dealt[1:]:
        dealt[0].merge(other)
    assert kept(whole) == kept(dealt[0])
    assert all(len(v) <= KEPT for v in kept(whole).values())


@given(st.lists(st.integers(-9, 9), min_size=1), st.lists(st.integers(-9, 9), min_size=1))
def test_how_far_two_lists_are_apart(one: list[int], two: list[int]) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in one for b in two]
    area = sum(pairs) / len(pairs)
    assert apart(sorted(map(float, one)), sorted(map(float, two))) == pytest.approx(max(area, 1 - area))


def test_what_is_not_finite_is_left_out() -> None:
    drawn = Drawn(KEPT)
    for i, value in enumerate(
        (np.full(4, 1e308), np.array([1.0, np.nan]), Image.fromarray(np.full((9, 9), np.inf, "f")))
    ):
        keep(drawn, Block(Unit(i, "", i, 1, 0), {"x": Column([value])}), [value])
    assert not any(kept(drawn).values())


def test_texts_in_a_field_of_arrays_have_the_measures_of_texts() -> None:
    """Seen: a field that held a single text among arrays made the comparison of splits fail."""
    drawn = Drawn(KEPT)
    keep(drawn, Block(Unit(0, "", 0, 1, 0), {"x": Column(["A text."])}), ["9999-12-31T23:59:59-05:00"])
    assert "share of capital letters" in kept(drawn)
