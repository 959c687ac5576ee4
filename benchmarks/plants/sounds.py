# mypy: ignore-errors
"""Defects of audio files."""

from __future__ import annotations

import numpy as np

from benchmarks.plants.sound import RATE, sound_of, wave_bytes
from benchmarks.plants.tree import Expected, Tree, plant


@plant("wav")
def nothing_heard(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.zeros(RATE)))
    return Expected(("silent-audio",), "warning", tree.at(path))


@plant("wav")
def too_loud(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.clip(sound_of(tree.rng) * 12, -32768, 32767)))
    return Expected(("clipped-audio",), "warning", tree.at(path))


@plant("wav")
def off_centre(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(sound_of(tree.rng) * 0.5 + 9000))
    return Expected(("dc-offset",), "warning", tree.at(path))


@plant("wav")
def another_rate(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        path.write_bytes(wave_bytes(sound_of(tree.rng), 16000))
    return Expected(("rate-drift",), "warning", tree.at(*paths))


@plant("wav")
def two_channels(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.stack([sound_of(tree.rng), sound_of(tree.rng)], 1)))
    return Expected(("channel-drift", "shape-drift"), "warning", tree.at(path))
