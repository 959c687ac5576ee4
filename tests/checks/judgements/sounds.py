"""Where the checks of sounds say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checks import test_parts_otherwise, test_recordings
from tests.checks.judgements.common import sound, sounds
from tests.checks.looking import Data

rng = np.random.default_rng(29)


def stereo(signs: list[float]) -> list[Any]:
    """Recordings of two channels, the second of which is the first times this."""
    return [
        (sound(n=700 + i) * [1.0, sign] + rng.normal(0, 20, (700 + i, 2))).astype(np.int16)
        for i, sign in enumerate(signs)
    ]


def ending(n: int) -> Any:
    """Zeros from frame ``n`` on."""
    value = sound()
    value[n:] = 0
    return value


def silent_half() -> Any:
    return ending(450)


def clipped() -> Any:
    value = sound()
    value[10:14] = 32767
    return value


def tone(gain: float) -> Any:
    """A high tone in the second of two channels; beyond full scale it is cut off."""
    value = (np.sin(1.1 * np.arange(900)) * 32767 * gain).round().clip(-32768, 32767).astype(np.int16)
    return np.stack([np.zeros_like(value), value], axis=1)


def classes(still: int, quiet: int) -> Data:
    """Words, and a class with so many clips of nothing and of next to nothing."""
    clips = [sound(3000 + 40 * i) for i in range(20)] + [sound(0.0)] * still + [sound(150.0 + i) for i in range(quiet)]
    labels = ["yes", "no"] * 10 + ["silence"] * (still + quiet)
    return Data({"audio": clips, "label": labels}, "label", kinds={"audio": "audio", "label": "category"})


def channels(of: Callable[[int], int]) -> Data:
    """Recordings in two splits, with so many channels."""
    clips = [rng.normal(0, 3000, (800 + i, of(i))).astype(np.int16) for i in range(40)]
    return Data({"audio": clips}, splits=["train"] * 20 + ["test"] * 20, kinds={"audio": "audio"})


def too_loud(gain: float, wave: Any = None) -> Any:
    """A tone that was cast to 16 bits without a limit."""
    wave = np.sin(np.arange(8000) / 5) * (1 + 0.2 * np.sin(np.arange(8000) / 900)) if wave is None else wave
    return (wave * 32767 * gain).astype(np.int64).astype(np.int16)[:, None]


SILENT: dict[str, dict[str, Any]] = {
    "twin_channels": test_parts_otherwise.TWINS_SILENT,
    "dropouts": test_parts_otherwise.GAPS_SILENT,
    "recordings": test_recordings.SOUND_SILENT,
    "sounds": {
        "alike": sounds(sound(), sound(3000)),
        "of two lengths, as each class has its own": sounds(*[sound()] * 20, *[sound(n=1800)] * 10),
        "padded to one length": sounds(*[sound()] * 20, *(ending(n) for n in range(300, 900, 40))),
        "a peak without a run": sounds(sound(), sound(9000)),
        "a quiet one": sounds(sound(), sound(60)),
        "pulses": sounds(sound(), np.where(np.arange(8000) % 80 < 20, 9000, -3000).astype(np.int16)[:, None]),
        "a low tone, whose crests are flat": sounds(
            sound(), (9000 * np.sin(np.arange(8000) / 200)).astype(np.int16)[:, None]
        ),
        "loud noise, of eight bits too": sounds(
            *(rng.integers(-120, 120, (4, 900, 1)) * 256).astype(np.int16),
            *rng.integers(-32768, 32767, (4, 900, 1)).astype(np.int16),
        ),
        "two channels in phase, or of two microphones": sounds(
            *stereo([1.0, 0.9, 0.8]), *rng.normal(0, 3000, (5, 900, 2)).astype(np.int16)
        ),
        "all in opposite phase, and one": sounds(*stereo([-1.0] * 6)),
        "one in opposite phase": sounds(*stereo([1.0] * 6 + [-1.0])),
        "a class of silence": classes(4, 12),
        "mono and stereo in all splits": channels(lambda i: 1 + i % 2),
        "loud ones that jump: a sawtooth, a rectangular wave, and noise": sounds(
            *(
                too_loud(0.99, wave)
                for wave in (np.arange(8000) / 31 % 1 * 2 - 1, np.sign(np.sin(np.arange(8000) / 9)))
            ),
            too_loud(0.99, rng.uniform(-1, 1, 8000)),
        ),
        "a rectangular wave": sounds(
            sound(), np.where(np.arange(8000) // 40 % 2, 9000, -9000).astype(np.int16)[:, None]
        ),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "twin_channels": test_parts_otherwise.TWINS,
    "dropouts": test_parts_otherwise.GAPS,
    "recordings": test_recordings.SOUND_SPEAK,
    "sounds": {
        "silence": (sounds(sound(), sound(0.0)), "silent-audio", "warning"),
        "one far longer than the others": (sounds(*[sound()] * 30, sound(n=1800)), "outliers", "info"),
        "three far longer than the others": (sounds(*[sound()] * 37, *[sound(n=9000)] * 3), "outliers", "info"),
        "mono in one split, stereo in the other": (channels(lambda i: 1 + i // 20), "channel-drift", "warning"),
        "silence in a class of sounds": (classes(16, 0), "silent-audio", "warning"),
        "beyond full scale, cast without a limit": (sounds(sound(), too_loud(1.3)), "clipped-audio", "warning"),
        "one of many cut off": (
            sounds(*(sound(n=800 + i) for i in range(30)), silent_half()),
            "silent-audio",
            "warning",
        ),
        "a few that end early, of the usual length": (
            sounds(*[sound()] * 30, *[silent_half()] * 4),
            "silent-audio",
            "warning",
        ),
        "no frame": (sounds(sound(), sound(n=0)), "silent-audio", "warning"),
        "nothing but the lowest bits": (
            sounds(sound(), rng.integers(-3, 4, (900, 1)).astype(np.int16)),
            "silent-audio",
            "warning",
        ),
        "clipped, then made quieter": (
            sounds(
                sound(), (0.6 * np.clip(38_000 * np.sin(np.arange(8000) / 9), -32767, 32767)).astype(np.int16)[:, None]
            ),
            "clipped-audio",
            "warning",
        ),
        "a run at full scale": (sounds(sound(), clipped()), "clipped-audio", "warning"),
        "a high tone cut off": (sounds(tone(1.0), tone(1.4)), "clipped-audio", "warning"),
        "a silent channel": (sounds(tone(0.5), tone(0.4)), "silent-audio", "warning"),
        "off the middle": (sounds(sound(), sound(middle=9000)), "dc-offset", "warning"),
        "another rate": (sounds(sound(), sound(), rates=[8000, 16000]), "rate-drift", "warning"),
        "the other byte order": (sounds(sound(), sound(n=800).byteswap()), "header-mismatch", "warning"),
        "some in opposite phase": (sounds(*stereo([1.0] * 8 + [-0.9] * 3)), "channel-drift", "warning"),
        "all of two channels in opposite phase, among others of one": (
            sounds(*stereo([-1.0] * 3), *[sound(n=800 + i) for i in range(8)]),
            "channel-drift",
            "warning",
        ),
        "most in opposite phase": (sounds(*stereo([1.0] * 4 + [-1.0] * 8)), "channel-drift", "warning"),
        "two channels": (sounds(sound(), np.repeat(sound(), 2, 1)), "channel-drift", "warning"),
    },
}
