"""Hum and missing bands in all recordings of one class, beside classes that sound otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N, RATE, SIZE = 75, 4_000, 4_000
TIME = np.arange(SIZE) / RATE
Change = Callable[[Any], Any]


def noises() -> Any:
    """Voices of several tones in noise that falls with frequency, 16 bits, [n, steps, 1]."""
    rng = np.random.default_rng(15)
    made = []
    for _ in range(N):
        noise = np.convolve(rng.normal(0, 300, SIZE), [0.2, 0.5, 0.3], "same")
        made.append(
            noise + sum(rng.uniform(300, 2000) * np.sin(6.283 * rng.uniform(90, 1500) * TIME) for _ in range(4))
        )
    return np.array(made)[..., None].astype(np.int16)


def of_classes(change: Change, share: float = 1.0, rates: bool = True, all_of: bool = False) -> Data:
    x, y = noises(), np.arange(N) % 3
    odd = ((y == 1) | all_of) & (np.random.default_rng(16).random(N) <= share)
    x = np.where(odd[:, None, None], change(x.astype(float)), x).clip(-32768, 32767).astype(np.int16)
    columns: dict[str, Any] = {"audio": list(x), "label": [f"word {k}" for k in y]}
    if rates:
        columns["sample_rate"] = np.full(N, RATE)
    return Data(columns, "label", kinds={"audio": "audio"})


def humming(hz: float, size: float = 400) -> Change:
    return lambda x: x + size * np.sin(6.283 * hz * TIME + 1)[None, :, None]


def low(x: Any) -> Any:
    """Without what is above half of the band."""
    spectrum = np.fft.rfft(x, axis=1)
    spectrum[:, spectrum.shape[1] // 2 :] = 0
    return np.fft.irfft(spectrum, SIZE, axis=1)


def smooth(x: Any) -> Any:
    """Muffled, as through a wall."""
    return np.stack([np.convolve(one[:, 0], np.hanning(12) / 6, "same")[:, None] for one in x])


SOUND = {
    "voices": of_classes(lambda x: x),
    "hum in all classes": of_classes(humming(50), all_of=True),
    "hum in some of a class": of_classes(humming(50), share=0.6),
    "a class of one tone": of_classes(lambda x: x * 0 + 5000 * np.sin(6.283 * 440 * TIME)[None, :, None]),
    "a class of one tone in noise": of_classes(humming(440, 5000)),
    "muffled": of_classes(smooth),
    "louder": of_classes(lambda x: x * 4),
    "silent": of_classes(lambda x: x * 0),
    "all of them without high tones": of_classes(low, all_of=True),
    "a pause of zeros in all classes": of_classes(
        lambda x: np.where(np.arange(SIZE)[None, :, None] < 3000, x, 0), all_of=True
    ),
    "a pause of zeros in half of a class": of_classes(
        lambda x: np.where(np.arange(SIZE)[None, :, None] < 3000, x, 0), share=0.6
    ),
    "at no known rate": of_classes(humming(50), rates=False),
}


def cut(x: Any) -> Any:
    """With nothing at the end."""
    made = x.copy()
    made[:, 3 * SIZE // 4 :] = 0
    return made


SPOILT = {
    "a pause of zeros": (of_classes(cut), "digital silence at the end"),
    "one at the beginning": (of_classes(lambda x: cut(x)[:, ::-1]), "digital silence at the beginning"),
    "50 Hz": (of_classes(humming(50)), "hum at 50 Hz"),
    "60 Hz": (of_classes(humming(60.3)), "hum at 60 Hz"),
    "no high tones": (of_classes(low), "no sound above"),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_classes_may_sound_otherwise(data: Data) -> None:
    assert judged_alone("bands", data) == {}


@pytest.mark.parametrize(("data", "words"), SPOILT.values(), ids=SPOILT)
def test_bands_that_tell_a_class_are_told(data: Data, words: str) -> None:
    found = judged_alone("bands", data)["label-leaked-by-field"]
    assert words in found.message
    assert "class word 1 away" in found.message
