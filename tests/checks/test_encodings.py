"""Classes whose files are encoded otherwise than those of all others."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.checks.giveaways.encodings import encoding_of
from tests.making.scanning import scan


def image(rng: np.random.Generator) -> Image.Image:
    return Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).resize((48, 48), Image.Resampling.BICUBIC)


def encoded(made: Image.Image, kind: str, quality: int = 90) -> bytes:
    held = io.BytesIO()
    made.save(held, kind, **({"quality": quality} if kind == "JPEG" else {}))
    return held.getvalue()


def test_lower_quality_has_larger_steps() -> None:
    made = image(np.random.default_rng())
    sums = [encoding_of(encoded(made, "JPEG", quality)) for quality in (30, 60, 90, 100)]
    assert sums == sorted(sums, reverse=True) and sums[-1] == 64  # a step of one for each of 64 coefficients
    others = [encoding_of(encoded(made, kind)) for kind in ("PNG", "GIF", "BMP", "TIFF")]
    assert len({*others}) == 4 and max(others) < 0
    assert (
        encoding_of(b"") < 0 and encoding_of(b"\xff\xd8") == 0 and encoding_of(b"\xff\xd8\xff\xdb\x00\x43\x00\x01") == 1
    )


@pytest.mark.parametrize(("odd", "told"), [("low", True), ("png", True), ("none", False)])
def test_a_class_of_another_encoding_is_told(odd: str, told: bool, tmp_path: Path) -> None:
    """Our promise: a model that sees the blocks of one class's files needs to see nothing else."""
    seed = random.SystemRandom().randrange(2**32)
    rng = np.random.default_rng(seed)
    for label in ("apple", "bread", "dish"):
        (tmp_path / label).mkdir()
        for i in range(40):
            quality = int(rng.integers(30, 45) if odd == "low" and label == "dish" else rng.integers(70, 96))
            kind = "PNG" if odd == "png" and label == "dish" else "JPEG"
            (tmp_path / label / f"{i}.{'png' if kind == 'PNG' else 'jpg'}").write_bytes(
                encoded(image(rng), kind, quality)
            )
    found = [f for f in scan(tmp_path, tmp_path).findings if f.code == "label-leaked-by-field"]
    assert [("class dish from all others" in f.message, f.severity) for f in found] == [(True, "warning")] * told, seed
