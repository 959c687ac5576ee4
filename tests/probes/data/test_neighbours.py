"""Samples beside each other are looked at together, however many processes share the work."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.checks.scenes import things
from tests.making.asking import Asker


@pytest.mark.parametrize("count", [120, 300])
def test_masks_of_the_image_before_are_told_of_few_files_as_well(asker: Asker, tmp_path: Path, count: int) -> None:
    scenes = [things(i) for i in range(count)]
    for kind in ("images", "masks"):
        (tmp_path / kind).mkdir()
    for i, (image, _) in enumerate(scenes):
        image.save(tmp_path / "images" / f"{i:03}.png")
        late = i - 1 if i >= count // 2 else i
        Image.fromarray(scenes[late][1]).save(tmp_path / "masks" / f"{i:03}.png")
    found = asker.ask("check_quality", str(tmp_path), str(tmp_path)).findings
    assert "rows-shifted" in {f.code for f in found}
