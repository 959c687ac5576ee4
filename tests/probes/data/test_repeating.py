"""The pytest file that repeats the checklist reads the data and nothing beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.data.repeating import _run, written
from dataloader_expert.sources.registry import open_source


def bench_of(folder: Path) -> Bench:
    ref = SourceRef(str(folder), (str(folder),))
    return Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)


def test_a_readme_beside_a_table_in_a_text_is_no_data(tmp_path: Path) -> None:
    """Seen: the generated tests read the notes as further rows, failed, and were left out."""
    (tmp_path / "raw.txt").write_text("".join(f"{i % 4},{i / 7:.3f},{i * 3}\n" for i in range(60)))
    (tmp_path / "readme.txt").write_text("Recorded in 2012, with a phone.\nThree columns.\n")
    [aside] = [line for line in written(bench_of(tmp_path)).splitlines() if line.startswith("ASIDE")]
    assert "readme.txt" in aside and "raw.txt" not in aside


def test_labels_withheld_from_a_split_are_not_missing(tmp_path: Path) -> None:
    """Seen: no tests were returned for a competition's train.csv and test.csv, as the latter has no answers."""
    for split, columns in (("train", ["id", "age", "label"]), ("test", ["id", "age"])):
        with (tmp_path / f"{split}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows({"id": f"{split}{i}", "age": i * 2 + (split == "test"), "label": i % 2} for i in range(60))
    assert _run(written(bench_of(tmp_path)), 20, None) == []


def test_lines_of_json_are_read_whatever_their_suffix(tmp_path: Path) -> None:
    """Seen: tests for lines of JSON in train.json found no sample, and took objects without a key for another form. Our promise: a file
    that lacks a key is told."""
    for split in ("train", "val", "test"):
        rows: list[dict[str, Any]] = [
            {"text": f"{split} sentence number {i}", "label": i % 2, "meta": {"n": f"{split} {i}"}} for i in range(60)
        ]
        for i, row in enumerate(rows):
            row |= {} if split == "test" else {"source": "web"}
            row["meta"] |= {"order": i + 100 * len(split)} if i % 3 else {}
        del rows[3]["label"], rows[8]["text"]
        (tmp_path / f"{split}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert _run(written(bench_of(tmp_path)), 20, None) == ["test_samples_have_one_form"] * (split == "test")
