"""Arrays of which each file is a sample, with a table beside them that names the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

N = 24
RNG = np.random.default_rng(5)
COVERS = [("water", "forest", "crop")[i % 3] for i in range(N)]
SPLITS = ["train" if i < 18 else "test" for i in range(N)]


def tiles(folder: Path, n: int = N) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"tile_{i:03}.npy" for i in range(n)]
    for name in names:
        np.save(folder / name, RNG.normal(0, 1, (3, 8, 8)).astype(np.float32))
    return names


def table(path: Path, header: str, *columns: list[Any]) -> None:
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")


def opened(folder: Path, **ref: Any) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),), **ref), [])


def values(source: Source, name: str) -> list[Any]:
    return [source.decode(unit, source.read(unit)).columns[name].values[0] for unit in source.units]


@pytest.mark.parametrize("inside", ["", "tiles"])
@pytest.mark.parametrize("suffix", [".npy", ""])
def test_a_table_of_file_names_gives_labels_and_splits(tmp_path: Path, inside: str, suffix: str) -> None:
    names = [name.removesuffix(".npy") + suffix for name in tiles(tmp_path / inside)]
    table(tmp_path / "labels.csv", "filename,label,split", names, COVERS, SPLITS)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("npy", N, "label")
    assert source.classes == ("crop", "forest", "water")
    assert source.roles is not None and source.roles.split is not None and source.roles.split.field == "split"
    assert values(source, "label") == COVERS
    assert {f.code for f in scan(tmp_path, tmp_path).findings if f.severity != "info"} == set()


def test_a_file_that_the_table_lacks_is_told(tmp_path: Path) -> None:
    names = tiles(tmp_path)
    table(tmp_path / "labels.csv", "filename,label", names[:-1], COVERS[:-1])
    found = {f.code: f.where for f in scan(tmp_path, tmp_path).findings}
    assert [place["file"] for place in found["missing-pair"]] == [names[-1]]


def test_folders_name_the_classes_of_arrays_as_before(tmp_path: Path) -> None:
    for kind in ("up", "down"):
        tiles(tmp_path / kind, 9)
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("label", ("down", "up"))
    assert values(source, "label") == ["down"] * 9 + ["up"] * 9


def test_a_table_that_names_no_file_says_nothing_of_them(tmp_path: Path) -> None:
    tiles(tmp_path, 60)
    table(tmp_path / "sites.csv", "site,country", ["a", "b", "c"], ["FI", "SE", "NO"])
    assert opened(tmp_path, format="npy").label is None


def test_fields_side_by_side_are_rows_whatever_stands_beside_them(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", RNG.normal(0, 1, (50, 4)))
    np.save(tmp_path / "y.npy", np.arange(50) % 2)
    table(tmp_path / "fields.csv", "file,meaning", ["x.npy", "y.npy"], ["measured", "kind"])
    source = opened(tmp_path, format="npy")
    assert (source.samples, source.label) == (50, "y")
