"""Recordings that do not decode: what is said of them."""

from __future__ import annotations

import io

import numpy as np
import pytest

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.sounds import decode_audio

soundfile = pytest.importorskip("soundfile")


def test_a_recording_that_was_cut_off_is_told_without_words_of_a_pipe() -> None:
    file = io.BytesIO()
    soundfile.write(file, np.random.default_rng().normal(0, 0.1, 16_000), 16_000, format="MP3")
    with pytest.raises(Unreadable) as raised:
        decode_audio(file.getvalue()[:300], "clip.mp3")
    assert raised.value.code == "unreadable" and "cut off" in raised.value.message
    assert "BytesIO" not in raised.value.message and "pipe" not in raised.value.message


@pytest.mark.parametrize("codec", ["ULAW", "ALAW"])
def test_telephone_calls_are_read_as_the_library_reads_them(codec: str) -> None:
    """Seen: of 8 kHz recordings in mu-law, as telephone systems keep them, not one was read."""
    file = io.BytesIO()
    sound = np.linspace(-1, 1, 8_000)
    soundfile.write(file, sound, 8_000, format="WAV", subtype=codec)
    samples, rate = decode_audio(file.getvalue(), "call.wav")
    file.seek(0)
    expected = soundfile.read(file, dtype="int16", always_2d=True)[0]
    assert rate == 8_000 and samples.dtype == np.int16
    np.testing.assert_array_equal(samples, expected)


@pytest.mark.parametrize("codec", ["IMA_ADPCM", "MS_ADPCM", "GSM610"])
def test_other_codecs_in_wav_are_decoded_by_the_library(codec: str) -> None:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(4_000) / 9) / 2, 8_000, format="WAV", subtype=codec)
    samples, rate = decode_audio(file.getvalue(), "call.wav")
    assert rate == 8_000 and samples.dtype == np.float32 and abs(len(samples) - 4_000) < 1_100
