"""Files that are parts of one thing, and what stands beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_documents_with_their_summaries(tmp_path: Path) -> None:
    """Seen: documents and summaries of the same names read as two classes of texts."""
    for i in range(20):
        written(tmp_path / "document" / f"{i}.document", f"A long report of the harbour, the {i}th of the year.\n")
        written(tmp_path / "summary" / f"{i}.summary", f"Report {i}.\n")
    source = opened(tmp_path)
    assert source.modality == "text" and [f.name for f in source.fields] == ["text", "summary"] and source.label is None
    block = source.decode(source.units[3], source.read(source.units[3]))
    assert block.columns["summary"].values[0].split()[1][:-1] in block.columns["text"].values[0]


def test_arrays_of_a_room_in_a_folder_each(tmp_path: Path) -> None:
    """Seen: the points, colours and labels of a room read as samples of a class that is called as the room."""
    for area in (1, 2, 5):
        for room in ("office_1", "office_2", "hallway_1"):
            (tmp_path / f"Area_{area}" / room).mkdir(parents=True)
            for part, width in (("coord", 3), ("segment", 1)):
                np.save(tmp_path / f"Area_{area}" / room / f"{part}.npy", np.zeros((8 + area, width), np.float32))
    source = opened(tmp_path)
    assert source.label is None and "coord, segment" in getattr(source, "unread", {})["parts"]


def test_a_note_above_texts_with_partners(tmp_path: Path) -> None:
    """Seen: the names of categories told as a cloud of points that lost its labels."""
    for i in range(16):
        written(tmp_path / f"0{i % 2}" / "points" / f"{i:04}.pts", "0.1 0.2 0.3\n" * 5)
        written(tmp_path / f"0{i % 2}" / "points_label" / f"{i:04}.seg", "1\n2\n" * 2)
    written(tmp_path / "synset2category.txt", "Airplane\t00\nChair\t01\n")
    source = opened(tmp_path)
    assert source.samples == 16 and [p.code for p in source.problems] == ["foreign-file"]


def test_places_in_texts_under_any_name(tmp_path: Path) -> None:
    """Seen: the spans that doccano calls ``label``, told as texts without a label."""
    rows = "".join(
        f'{{"id": {i}, "text": "Anna of harbour {i} came early to the market.", "label": [[0, 4, "PER"]]}}\n'
        for i in range(40)
    )
    written(tmp_path / "all.jsonl", rows)
    assert "where in a text" in opened(tmp_path).label_how
