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
