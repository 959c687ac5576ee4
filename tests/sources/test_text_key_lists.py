"""Texts with a key in each line that divide the rows of a table beside them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.sources.base import Source
from tests.sources.tables import opened

KEYS = [f"C{i * 7919 % 10007:05}" for i in range(60)]
PARTS = {"train_ids.txt": KEYS[:40], "val_ids.txt": KEYS[40:50], "test_ids.txt": KEYS[50:]}


def made(folder: Path, form: str, parts: dict[str, list[str]] = PARTS) -> Source:
    columns = {"customer": KEYS[::-1], "months": list(range(60)), "left": [i % 3 == 0 for i in range(60)]}
    if form == "parquet":
        pq.write_table(pa.table(columns), folder / "features.parquet")
    else:
        rows = ["customer,months,left", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
        (folder / "features.csv").write_text("\n".join(rows) + "\n")
    for name, keys in parts.items():
        (folder / name).write_text("\n".join(keys) + "\n")
    return opened(folder)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_lists_of_keys_divide_the_rows_of_a_table(tmp_path: Path, form: str) -> None:
    """Seen: a table beside train_ids.txt and test_ids.txt was refused as several kinds of files."""
    source = made(tmp_path, form)
    assert source.samples == 60 and source.roles is not None and source.roles.split is not None
    block = source.decode(source.units[0], source.read(source.units[0]))
    told = dict(zip(block.columns["customer"].values, block.columns["split"].values, strict=True))
    assert [told[key] for key in (KEYS[0], KEYS[45], KEYS[59])] == ["train", "val", "test"]
    assert [p for p in source.problems if p.code == "foreign-file"] == []


def test_texts_of_sentences_are_no_lists(tmp_path: Path) -> None:
    """Our promise: what is not a word in each line is told, and divides nothing."""
    said = {name: [f"This is what {key} said." for key in keys] for name, keys in PARTS.items()}
    with pytest.raises(Exception, match="several kinds of files"):
        made(tmp_path, "parquet", said)
