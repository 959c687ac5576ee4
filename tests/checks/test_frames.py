"""Frames of clips are near copies of one another by nature, as long as a clip is in one split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.making.scanning import scan


def clips(root: Path, split_by_clip: bool, step: int = 1) -> None:
    """Six clips of eight frames of something that moves slowly; ``step``: of the numbers of frames."""
    rng = np.random.default_rng()
    for clip in range(6):
        scene = Image.fromarray(rng.integers(0, 256, (10, 14, 3), np.uint8)).resize(
            (140, 100), Image.Resampling.BICUBIC
        )
        for frame in range(8):
            split = "train" if (clip < 4 if split_by_clip else frame < 6) else "test"
            folder = root / split / f"clip_{clip}"
            folder.mkdir(parents=True, exist_ok=True)
            scene.crop((frame, 0, frame + 120, 100)).save(folder / f"frame_{step * frame:04}.png")


@pytest.mark.parametrize(
    ("split_by_clip", "step", "severity"), [(True, 1, "info"), (True, 15, "info"), (False, 1, "warning")]
)
def test_frames_of_a_clip_are_told_as_such(split_by_clip: bool, step: int, severity: str, tmp_path: Path) -> None:
    """Our promise: nobody is told to drop most of a video, or of every 15th frame of it; frames of one clip in two splits are a leak."""
    clips(tmp_path, split_by_clip, step)
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert found["near-duplicates"].severity == severity
    assert ("splits-near-overlap" in found) is not split_by_clip
