"""Tables whose rows name files: those that name none, and files that none names, told by the whole scan."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.making.scanning import Scanned, scan

SEED = int(np.random.default_rng().integers(1 << 31))


def codes(said: Scanned) -> dict[str, tuple[str, int]]:
    return {f.code: (f.severity, f.count) for f in said.findings if f.code in ("dangling-reference", "missing-pair")}


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(len(path.name)).integers(0, 256, (6, 6, 3), np.uint8)
    Image.fromarray(noise).save(path)


def table(path: Path, rows: list[dict[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(
    "written",
    ["{}.png", "images/{}.png", "./images/{}.png", "data/images/{}.png", "/mnt/old/data/images/{}.png", "images\\{}.png", "{}"],
)  # fmt: skip
def test_rows_without_their_file_and_files_without_a_row(suffix: str, written: str, tmp_path: Path) -> None:
    """Our promise: both are counted and placed, however a table writes its paths."""
    rng = np.random.default_rng(SEED)
    names = [f"{n:09x}" for n in rng.choice(1 << 34, 40, replace=False).tolist()]
    gone, surplus = set(rng.choice(40, 3, replace=False).tolist()), ["extra1", "extra2"]
    for i, name in enumerate(names):
        if i not in gone:
            picture(tmp_path / f"data/images/{name}.png")
    for name in surplus:
        picture(tmp_path / f"data/images/{name}.png")
    rows: list[dict[str, object]] = [{"image": written.format(n), "grade": i % 3} for i, n in enumerate(names)]
    said = scan(table(tmp_path / f"data/rows{suffix}", rows), tmp_path)
    assert codes(said) == {"dangling-reference": ("error", 3), "missing-pair": ("warning", 2)}, SEED
    where = next(f for f in said.findings if f.code == "dangling-reference").where
    assert {place["sample"] for place in where} == gone
    beside = next(f for f in said.findings if f.code == "missing-pair").where
    assert [Path(str(place["file"])).stem for place in beside] == surplus


def test_nothing_is_said_where_all_files_are_there(tmp_path: Path) -> None:
    """Our promise: no false alarm: not on whole data, nor on columns of words, of addresses and of class names."""
    rows: list[dict[str, object]] = []
    for i in range(30):
        picture(tmp_path / f"img/{i:03}.png")
        url = f"https://example.org/{i}.png"
        rows.append({"path": f"img/{i:03}.png", "url": url, "note": f"see figure {i}", "kind": f"k{i % 3}", "n": i})
    said = scan(table(tmp_path / "rows.csv", rows), tmp_path)
    assert codes(said) == {}
    assert not [u for u in said.unknowns if "files named by" in u]


def test_files_that_are_elsewhere_are_unknown(tmp_path: Path) -> None:
    """Our promise: where none of the files is below the roots, that is said, and is no fault of the data."""
    rows: list[dict[str, object]] = [{"path": f"clips/{i}.wav", "label": i % 2} for i in range(20)]
    said = scan(table(tmp_path / "rows.csv", rows), tmp_path)
    assert codes(said) == {}
    assert [u for u in said.unknowns if u.startswith("files named by path")]


def test_files_that_rows_name_are_not_foreign(tmp_path: Path) -> None:
    """Our promise: a table in the folder of its pictures is not told that they do not belong there."""
    for i in range(20):
        picture(tmp_path / f"{i}.png")
    rows: list[dict[str, object]] = [{"file_name": f"{i}.png", "label": i % 2} for i in range(20)]
    table(tmp_path / "metadata.csv", rows)
    said = scan(tmp_path, tmp_path, format="csv")
    assert said.error is None
    assert [f.code for f in said.findings if f.code == "foreign-file"] == []
