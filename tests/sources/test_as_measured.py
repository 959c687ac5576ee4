"""Tables as instruments and spreadsheets export them: remarks above, units below the header, decimal commas, UTF-16."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.loaders import create_loader
from dataloader_expert.sources.dialects import sniff_dialect
from tests.sources.tables import opened

NAMES = ["time", "pressure", "part", "verdict"]
PREAMBLE = [["Protocol", "Device: MX-200", "", ""], ["Operator", "M. Ott", "", ""], ["", "", "", ""]]
UNITS = ["[s]", "[bar]", "", ""]
ROWS = [[f"{i / 2}", f"{21 + i % 7 / 8:.3f}", f"B{i // 5:03}", ("pass", "fail")[i % 3 == 0]] for i in range(60)]


def written(rows: list[list[str]], mark: str, comma: bool) -> str:
    cells = [[cell.replace(".", ",") if comma and cell[:1].isdigit() else cell for cell in row] for row in rows]
    quoted = [[f'"{cell}"' if mark in cell else cell for cell in row] for row in cells]
    return "".join(mark.join(row) + "\n" for row in quoted)


@pytest.mark.parametrize("above", [[], PREAMBLE], ids=["", "remarks"])
@pytest.mark.parametrize("units", [[], [UNITS]], ids=["", "units"])
@pytest.mark.parametrize(
    ("mark", "comma", "encoding", "name"),
    [
        (";", True, "utf-8", "m.csv"),
        (",", False, "utf-8-sig", "m.csv"),
        (",", True, "utf-8", "m.csv"),
        ("\t", True, "utf-16", "m.txt"),
        (";", True, "utf-16", "m.csv"),
        ("\t", False, "utf-16", "m.tsv"),
    ],
)
def test_a_table_is_the_same_however_it_was_exported(
    tmp_path: Path, above: list[list[str]], units: list[list[str]], mark: str, comma: bool, encoding: str, name: str
) -> None:
    """Seen: one line of units made texts of all numbers, and UTF-16 was said to hold no records."""
    text = written([*above, NAMES, *units, *ROWS], mark, comma)
    (tmp_path / name).write_bytes(text.encode(encoding))
    source = opened(tmp_path)
    assert (source.samples, source.label) == (60, "verdict")
    assert [p.code for p in source.problems] == ["encoding-error"] * (encoding == "utf-16")  # it is read, and told
    assert {f.name: f.kind for f in source.fields} | {"part": "", "verdict": ""} == {
        "time": "number", "pressure": "number", "part": "", "verdict": "",
    }  # fmt: skip
    batch = next(iter(create_loader(str(tmp_path), None, batch_size=60, shuffle=False)))
    assert batch["pressure"].tolist()[:9] == pytest.approx([21 + i % 7 / 8 for i in range(9)])


@pytest.mark.parametrize(
    "text",
    [
        "sex,age\n-,m\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(20, 50)),
        "age,sex\n-,m\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(20, 50)),
        "size,grade\nm,1\n" + "".join(f"{'sml'[i % 3]},{i}\n" for i in range(2, 50)),
        "boxes;n\n[1, 2];3\n" + "".join(f"[{i}, {i}];{i}\n" for i in range(2, 50)),
    ],
    ids=["a dash among ages", "the same, first", "sizes", "lists"],
)
def test_a_first_row_of_values_is_not_of_units(text: str) -> None:
    assert not sniff_dialect(text.encode(), ",;\t|", whole=True).units


@pytest.mark.parametrize(
    "text",
    [
        "a\tprice\n" + "".join(f"{i}\t{1 + i},{i * 37 % 1000:03}\n" for i in range(50)),
        "name,size\n" + "".join(f'n{i},"{i},{i % 90}"\n' for i in range(50)),
    ],
    ids=["thousands", "pairs"],
)
def test_thousands_and_pairs_are_no_decimal_commas(text: str) -> None:
    assert sniff_dialect(text.encode(), ",;\t|", whole=True).decimal == "."
