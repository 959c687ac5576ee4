"""Near copies of recordings are found whatever was done to their loudness, encoding and noise; other recordings are none."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.duplicates.near_sounds import BANDS, TIMES, alike, looks
from tests.checks.looking import Data, judged_alone

RATE = 16_000


def spoken(rng: Any, seconds: float) -> Any:
    """Something like speech: syllables of harmonics and of noise, with pauses."""
    n = int(seconds * RATE)
    made, at = np.zeros(n), 0
    while at < n:
        long = int(rng.integers(800, 4000))
        t = np.arange(min(long, n - at)) / RATE
        pitch, tilt = rng.uniform(90, 300), rng.uniform(0.5, 2)
        tone = sum(np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6)) / k**tilt for k in range(1, 20))
        part = tone if rng.random() < 0.6 else rng.normal(0, 1, len(t)) * rng.uniform(0.1, 0.6)
        made[at : at + len(t)] = part * np.hanning(len(t)) * rng.uniform(0.2, 1) * (rng.random() < 0.85)
        at += long
    return (made / max(np.abs(made).max(), 1e-9) * 20_000).astype(np.int16)[:, None]


def louder(x: Any, rng: Any) -> Any:
    return (x * rng.uniform(0.2, 1.5)).clip(-32768, 32767).astype(np.int16)


def coarse(x: Any, rng: Any) -> Any:
    """In eight bits, as floats."""
    return (np.rint(x / 256) / 128).astype(np.float32)


def noisy(x: Any, rng: Any) -> Any:
    """With noise 36 dB below the sound."""
    loud = np.sqrt(np.square(x, dtype=np.float64).mean())
    return (x + rng.normal(0, loud / 64, x.shape)).clip(-32768, 32767).astype(np.int16)


def stereo(x: Any, rng: Any) -> Any:
    return np.concatenate([x, x], 1)


SEED = int(np.random.default_rng().integers(2**32))


@functools.cache
def recordings() -> list[Any]:
    rng = np.random.default_rng(SEED)
    return [spoken(rng, rng.uniform(1, 3)) for _ in range(40)]


@pytest.mark.parametrize("change", [louder, coarse, noisy, stereo])
def test_copies_are_found_and_nothing_else(change: Any) -> None:
    """Our promise: of forty recordings and twelve changed copies, exactly these pairs; from a fresh seed."""
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED + 1)
    chosen = rng.permutation(40)[:12].tolist()
    sounds = [*recordings(), *(change(recordings()[i], rng) for i in chosen)]
    patterns = looks(sounds, np.full(len(sounds), float(RATE)), 1024)[0].astype(np.float32)
    found = alike(patterns, np.array([len(s) for s in sounds], float))
    assert sorted(found) == sorted((i, 40 + k) for k, i in enumerate(chosen))


def test_one_sound_in_many_variations_has_no_copies() -> None:
    """Our promise: beeps that are all alike are no copies of each other."""
    seed = int(np.random.default_rng().integers(2**32))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    beeps = []
    for _ in range(60):
        t = np.arange(RATE) / RATE
        beeps.append(
            (9000 * np.sin(2 * np.pi * 440 * t) * np.exp(-4 * t) + rng.normal(0, 30, RATE)).astype(np.int16)[:, None]
        )
    patterns = looks(beeps, np.full(len(beeps), float(RATE)), 1024)[0].astype(np.float32)
    assert alike(patterns, np.full(60, float(RATE))) == []


@pytest.mark.parametrize(("likeness", "found"), [(0.955, [(0, 1)]), (0.945, [])])
def test_recordings_that_are_a_little_less_alike_than_copies_are_none(likeness: float, found: list[Any]) -> None:
    """Our promise: patterns whose correlation is 0.95 or more are those of copies; a little less, and they are not."""
    patterns = np.linalg.qr(np.random.default_rng(7).normal(size=(TIMES * BANDS, 8)))[0].T
    patterns[1] = likeness * patterns[0] + np.sqrt(1 - likeness**2) * patterns[1]
    assert alike(patterns.astype(np.float32), np.full(8, float(RATE))) == found


def strokes(n: int) -> list[Any]:
    """Notes that were struck once each: all decay alike, but their pitches and phases differ."""
    rng = np.random.default_rng(5)
    t = np.arange(RATE) / RATE
    made = []
    for _ in range(n):
        pitch = rng.uniform(300, 320)
        tone = sum(
            a * np.sin(2 * np.pi * pitch * k * t + rng.uniform(0, 6)) for k, a in ((1, 1.0), (2, 0.6), (2.7, 0.3))
        )
        made.append((6_000 * tone * np.exp(-3 * t) + rng.normal(0, 40, RATE)).astype(np.int16)[:, None])
    return made


def heard(sounds: list[Any]) -> Any:
    data = Data({"audio": sounds, "sample_rate": np.full(len(sounds), RATE)}, kinds={"audio": "audio"})
    return judged_alone("near_sounds", data)


def test_strokes_with_one_envelope_are_no_copies() -> None:
    """Seen: strokes of bells, whose decay and few bands are alike, were called copies of each other."""
    sounds = strokes(8)
    patterns = looks(sounds, np.full(len(sounds), float(RATE)), 1024)[0].astype(np.float32)
    assert alike(patterns, np.full(8, float(RATE))), "their patterns alone do not tell them apart"
    assert heard(sounds) == {}


def test_a_copy_without_its_beginning_is_found() -> None:
    """Our promise: a quieter copy of which a thirtieth of a second was cut off is a near copy, though all else begins earlier in it."""
    rng = np.random.default_rng(6)
    sounds = [spoken(rng, 1.5) for _ in range(8)]
    found = heard([*sounds, (sounds[2][RATE // 30 :] * 0.6).astype(np.int16)])["near-duplicates"]
    assert found.count == 1
    assert {place["sample"] for place in found.where} == {2, 8}


@pytest.mark.parametrize("value", [np.zeros((5000, 1), np.int16), np.zeros((3, 1), np.int16), np.zeros((0, 1)), None])
def test_what_has_no_pattern_has_no_copy(value: Any) -> None:
    assert not looks([value], np.array([float(RATE)]), 1024)[0].any()
