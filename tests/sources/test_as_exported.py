"""Tables as spreadsheets and archives write them: decimal commas, codes with zeros, no header, no suffix below the compression."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Roles
from tests.sources.tables import opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def column(path: Path, name: str) -> list[object]:
    source = opened(path)
    values = [source.decode(u, source.read(u)).columns[name].values for u in source.units]
    return [value for part in values for value in (part.tolist() if hasattr(part, "tolist") else part)]


def test_decimal_commas_are_numbers_and_postal_codes_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: a German export had its areas and prices as texts, and lost the zeros of its postal codes."""
    areas, codes = RNG.uniform(30, 150, 60).round(1), [f"{n:05}" for n in RNG.choice([1067, 4109, 80331], 60)]
    rows = [[f"{area}".replace(".", ","), code, i % 5] for i, (area, code) in enumerate(zip(areas, codes, strict=True))]
    put(tmp_path / "Objekte.csv", ["Flaeche", "PLZ", "Zimmer"], rows, ";")
    assert column(tmp_path, "Flaeche") == areas.tolist()
    assert column(tmp_path, "PLZ") == codes
    for name, value in (("DELIMITER", ";"), ("DECIMAL", ","), ("TEXTS", ("PLZ",))):
        monkeypatch.setattr(plain, name, value)
    assert [row["Flaeche"] for row in plain.read_csv(tmp_path / "Objekte.csv")] == areas.tolist()


@pytest.mark.parametrize("mark", ["\t", ";"])
def test_lists_of_numbers_stay_texts(tmp_path: Path, mark: str) -> None:
    """Our promise: two labels of a text are no number with a fraction."""
    some = [RNG.choice(range(28, 40), 2, replace=False) if i % 5 == 0 else [RNG.integers(28)] for i in range(50)]
    labels = [",".join(map(str, numbers)) for numbers in some]  # of numbers that never stand alone, no list is made
    put(tmp_path / "train.csv", ["text", "emotions"], [[said(RNG), label] for label in labels], mark)
    assert column(tmp_path, "emotions") == labels


def test_tags_between_commas_stay_texts_beside_decimal_commas(tmp_path: Path) -> None:
    tags = [",".join(map(str, RNG.choice(9, 2, replace=False))) for _ in range(50)]
    rows = [[tag, f"{RNG.uniform(1, 99):.1f}".replace(".", ",")] for tag in tags]
    put(tmp_path / "t.csv", ["tags", "area"], rows, ";")
    assert column(tmp_path, "tags") == tags
    assert all(isinstance(value, float) for value in column(tmp_path, "area"))


def test_the_header_of_the_first_of_several_parts_is_that_of_all(tmp_path: Path) -> None:
    for part in range(4):
        rows = [[said(RNG), ["good", "bad"][i % 2]] for i in range(30)]
        put(tmp_path / f"part-{part}.csv", ["text", "label"] if not part else None, rows)
    source = opened(tmp_path)
    assert (source.samples, [f.name for f in source.fields], source.problems) == (120, ["text", "label"], [])


def test_numbers_with_zeros_before_some_stay_numbers(tmp_path: Path) -> None:
    put(tmp_path / "t.csv", ["hour", "n"], [[f"{i % 24:02}", i] for i in range(60)])
    assert column(tmp_path, "hour")[:3] == [0, 1, 2]


def test_rows_that_number_each_split_are_no_group(tmp_path: Path) -> None:
    for split, n in (("train", 300), ("test", 90)):
        put(tmp_path / f"sts-{split}.csv", None, [[f"{i:04}", f"{RNG.uniform(0, 5):.3f}", said(RNG)] for i in range(n)], "\t")  # fmt: skip
    source = opened(tmp_path)
    assert source.roles is not None and source.roles.group is None


def test_alike_files_have_a_header_or_none(tmp_path: Path) -> None:
    """Seen: a first question and its answers were taken for the names of columns in one of fifteen files."""
    for subject in ("algebra", "anatomy", "physics"):
        for split, n in (("dev", 5), ("test", 40)):
            rows = [[f"Which {said(RNG)}?", *(said(RNG) for _ in range(4)), "ABCD"[i % 4]] for i in range(n)]
            put(tmp_path / split / f"{subject}_{split}.csv", None, rows)
    few = [[f"Which {said(RNG)}", *(said(RNG) for _ in range(4)), letter] for letter in "BCCCD"]
    put(tmp_path / "dev" / "religions_dev.csv", None, few)
    source = opened(tmp_path)
    assert source.samples == 3 * 45 + 5
    assert source.problems == []


def test_files_that_all_have_a_header_of_texts_keep_it(tmp_path: Path) -> None:
    for split, n in (("train", 50), ("test", 20)):
        put(tmp_path / f"{split}.csv", ["review", "mood"], [[said(RNG), ["good", "bad"][i % 2]] for i in range(n)])
    source = opened(tmp_path)
    assert (source.samples, [f.name for f in source.fields]) == (70, ["review", "mood"])


def test_a_compressed_table_without_another_suffix_is_read_by_its_content(tmp_path: Path) -> None:
    rows = "".join(f"{i},tcp,{RNG.integers(500)},{('normal.', 'smurf.')[i % 2]}\n" for i in range(80))
    (tmp_path / "corrected.gz").write_bytes(gzip.compress(rows.encode()))
    (tmp_path / "connections.data_10_percent.gz").write_bytes(gzip.compress(rows.encode() * 2))
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("csv", 240, "f3")


def test_a_compressed_binary_stays_closed(tmp_path: Path) -> None:
    (tmp_path / "weights.gz").write_bytes(gzip.compress(RNG.bytes(4000)))
    with pytest.raises(RequestError, match="compressed archive"):
        opened(tmp_path)


def test_a_file_of_each_share_is_a_group(tmp_path: Path) -> None:
    """Our promise: series of the same days in a file each are groups, and rows of several months or parts are not."""
    days = [f"2020-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(80)]
    for name in ("aapl", "ibm", "ko"):
        put(tmp_path / "shares" / f"{name}.csv", ["Date", "Close"], [[day, f"{RNG.normal():.3f}"] for day in days])
    for i, name in enumerate(("jan", "feb", "mar")):
        rows = [[day, f"{RNG.normal():.3f}"] for day in days[28 * i : 28 * i + 24]]
        put(tmp_path / "months" / f"{name}.csv", ["Date", "Close"], rows)
    for name in ("north", "south"):
        rows = [[day, f"{RNG.normal():.3f}"] for day in days for _ in range(3)]
        put(tmp_path / "sales" / f"{name}.csv", ["Date", "Close"], rows)
    groups = {f: (opened(tmp_path / f).roles or Roles()).group for f in ("shares", "months", "sales")}
    assert groups["shares"] is not None and groups["shares"].field == "file name"
    assert groups["months"] is None and groups["sales"] is None
