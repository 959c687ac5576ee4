"""Places in data of several tables: the row in its file beside the sample's index."""

from __future__ import annotations

import random
from pathlib import Path

from tests.making.asking import Asker


def test_a_place_in_a_later_file_has_its_row(asker: Asker, tmp_path: Path) -> None:
    """Our promise: who opens the named file finds what is meant at the named row."""
    rng = random.Random()
    odd, row = rng.randrange(1, 4), rng.randrange(60)
    for part in range(4):
        values = [f"{rng.gauss(0, 1):.4f}" for _ in range(60)]
        if part == odd:
            values[row] = "nan"
        (tmp_path / f"p{part}.csv").write_text("x\n" + "".join(f"{v}\n" for v in values))
    report = asker.ask("check_quality", str(tmp_path), str(tmp_path))
    [found] = [f for f in report.findings if f.code in ("nan", "missing-values")]
    [place] = found.where
    assert (place["file"], place["row"], place["sample"]) == (f"p{odd}.csv", row, 60 * odd + row)
