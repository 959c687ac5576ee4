"""Recordings of one scene are a sample; classes, speakers and takes that are numbered alike are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.sources.base import Source
from dataloader_expert.sources.no_classes import part_of_mixture
from tests.making.scanning import scan
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


@pytest.mark.parametrize("alike", [False, True])
def test_instruments_of_a_library_are_no_tracks(tmp_path: Path, alike: bool) -> None:
    """Seen: the kits of a library, whose sounds differ in length, were twelve songs. One length for all says no more."""
    for kit in range(6):
        for name in ("bass", "guitar", "piano", "strings"):
            write_wav(
                tmp_path / f"kit{kit:02}" / f"{name}.wav", sound(2_000 if alike else int(RNG.integers(1_000, 3_000)))
            )
    assert opened(tmp_path).samples == 24


def test_tracks_without_a_mixture_are_a_sample(tmp_path: Path) -> None:
    for i in range(6):
        for name in ("vocals", "drums", "bass"):
            write_wav(tmp_path / f"Song {i}" / f"{name}.wav", sound(2_000 + 300 * i))
    assert opened(tmp_path).samples == 6


def test_a_silent_recording_and_a_short_one_leave_pairs_what_they_are(tmp_path: Path) -> None:
    """Seen: one silent clean recording, and none of eight pairs was joined."""
    for i in range(8):
        clean = sound() * (i != 3)
        write_wav(tmp_path / "noisy" / f"{i}.wav", clean + RNG.normal(0, 0.02, len(clean)))
        write_wav(tmp_path / "clean" / f"{i}.wav", clean[: 3_000 if i == 5 else None])
    assert opened(tmp_path).samples == 8


@pytest.mark.parametrize(
    ("folder", "part", "rest"),
    [
        ("s1", ["s1"], []),
        ("source_2", ["source2"], []),
        ("vocals_clean_1", ["vocals", "clean"], ["1"]),
        ("mix_both", ["mix", "both"], []),
        ("noisy_trainset_28spk_wav", ["noisy"], ["trainset", "28", "spk", "wav"]),
        ("drums_1", [], ["drums", "1"]),
    ],
)
def test_the_part_that_a_folder_names(folder: str, part: list[str], rest: list[str]) -> None:
    assert part_of_mixture(folder) == (part, rest)


def test_a_part_at_another_rate_is_told(tmp_path: Path) -> None:
    """Seen: three parts at twice the rate of their mixtures were told nowhere once they were fields."""
    for i in range(8):
        one, other = sound(), sound()
        for name, values in (("mix", one + other), ("s1", one), ("s2", other)):
            write_wav(tmp_path / name / f"{i:03}.wav", values, 16_000 if name == "s1" and i in (2, 5) else 8_000)
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "rate-drift"]
    assert (found.severity, found.count, found.where[0]["file"]) == ("warning", 2, "s1/002.wav")


def test_the_file_of_a_silent_part_is_named(tmp_path: Path) -> None:
    """Seen: a part that is silent was told as a silent mixture, whose file was named."""
    for i in range(8):
        one, other = sound(), sound() * (i != 3)
        for name, values in (("mix", one + other), ("s1", one), ("s2", other)):
            write_wav(tmp_path / name / f"{i:03}.wav", values)
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "silent-audio"]
    assert [(place["file"], place["field"]) for place in found.where] == [("s2/003.wav", "s2")]
