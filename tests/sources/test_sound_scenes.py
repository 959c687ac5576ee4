"""Recordings of one scene are a sample; classes, speakers and takes that are numbered alike are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.sources.base import Source
from tests.sources.sounds import write_wav
from tests.sources.tables import opened

RNG = np.random.default_rng(5)


def sound(n: int = 4_000) -> np.ndarray:
    loud = np.interp(np.arange(n), np.linspace(0, n, 12), RNG.uniform(0, 1, 12))
    return loud * RNG.normal(0, 0.2, n)


def fields(source: Source) -> dict[str, str]:
    return {f.name: f.kind for f in source.fields if f.kind == "audio"}


def test_the_tracks_of_a_song_are_a_sample(tmp_path: Path) -> None:
    """Seen: each stem of a song was a sample of its own, and a third of the splits' sizes were tracks."""
    for i in range(6):
        parts = {name: sound() for name in ("vocals", "drums", "bass")}
        for name, values in (*parts.items(), ("mixture", np.sum([*parts.values()], 0))):
            write_wav(tmp_path / ("train" if i < 4 else "test") / f"Song {i}" / f"{name}.wav", values)
    source = opened(tmp_path)
    assert (source.samples, source.splits, source.label) == (6, {"train": 4, "test": 2}, None)
    assert fields(source) == dict.fromkeys(("audio", "bass", "drums", "vocals"), "audio")
    block = source.decode(source.units[0], source.read(source.units[0]))
    mixed = sum(block.columns[name].values[0].astype(int) for name in ("bass", "drums", "vocals"))
    assert np.abs(mixed - block.columns["audio"].values[0]).max() < 8


@pytest.mark.parametrize("form", ["{role}_{split}set_wav", "{split}/{role}"])
def test_noisy_and_clean_recordings_are_pairs(tmp_path: Path, form: str) -> None:
    """Seen: the noisy and the clean half of a set for speech enhancement were samples side by side."""
    for i in range(12):
        clean, split = sound(), "train" if i < 9 else "test"
        for role, values in (("clean", clean), ("noisy", clean + RNG.normal(0, 0.02, len(clean)))):
            write_wav(tmp_path / form.format(role=role, split=split) / f"p{i % 3}_{i:03}.wav", values)
    source = opened(tmp_path)
    assert (source.samples, source.splits, source.label) == (12, {"train": 9, "test": 3}, None)
    assert "noisy" in source.units[0].file and fields(source) == {"audio": "audio", "clean": "audio"}


def test_sounds_that_are_only_numbered_alike_are_no_pairs(tmp_path: Path) -> None:
    """Our promise: speech and noise to tell apart stay recordings of their own."""
    for i in range(12):
        for name in ("speech", "noise"):
            write_wav(tmp_path / name / f"{i:03}.wav", sound())
    source = opened(tmp_path)
    assert source.samples == 24 and fields(source) == {"audio": "audio"}


def test_words_that_each_speaker_says_are_no_tracks(tmp_path: Path) -> None:
    for i in range(10):
        for word in ("yes", "stop", "left"):
            write_wav(tmp_path / f"speaker{i:02}" / f"{word}.wav", sound())
    assert opened(tmp_path).samples == 30
