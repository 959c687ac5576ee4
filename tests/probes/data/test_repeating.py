"""The pytest file that repeats the checklist reads the data and nothing beside them."""

from __future__ import annotations

from pathlib import Path

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.data.repeating import written
from dataloader_expert.sources.registry import open_source


def test_a_readme_beside_a_table_in_a_text_is_no_data(tmp_path: Path) -> None:
    """Seen: the generated tests read the notes as further rows, failed, and were left out."""
    (tmp_path / "raw.txt").write_text("".join(f"{i % 4},{i / 7:.3f},{i * 3}\n" for i in range(60)))
    (tmp_path / "readme.txt").write_text("Recorded in 2012, with a phone.\nThree columns.\n")
    ref = SourceRef(str(tmp_path), (str(tmp_path),))
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    [aside] = [line for line in written(bench).splitlines() if line.startswith("ASIDE")]
    assert "readme.txt" in aside and "raw.txt" not in aside
