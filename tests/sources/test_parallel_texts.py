"""Files whose lines are the fields of a sample."""

from __future__ import annotations

from pathlib import Path

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

SPLITS = {"train": 30, "dev": 9, "test": 7}


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def lines(path: Path, of: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in of))


def test_files_of_equally_many_lines_in_each_split_are_fields(tmp_path: Path) -> None:
    """Seen: ATIS's seq.in, seq.out and label were read as documents, and the splits as their classes."""
    for split, n in SPLITS.items():
        lines(tmp_path / split / "seq.in", [f"play song number {i} now" for i in range(n)])
        lines(tmp_path / split / "seq.out", ["O O O B-number O"] * n)
        lines(tmp_path / split / "label", [("Play", "Stop", "Find")[i % 3] for i in range(n)])
    lines(tmp_path / "intent_label.txt", ["Play", "Stop", "Find"])
    source = opened(tmp_path)
    assert (source.splits, source.label) == (SPLITS, "label")
    assert [field.name for field in source.fields] == ["seq_in", "seq_out", "label"]


def test_numbers_of_each_turn_are_no_classes(tmp_path: Path) -> None:
    """Seen: DailyDialog's nine files were documents. Our promise: a list of numbers in each line is read as such."""
    for split, n in SPLITS.items():
        of = tmp_path / split
        lines(of / f"dialogues_{split}.txt", [f"hello {i} __eou__ how are you __eou__" for i in range(n)])
        lines(of / f"dialogues_emotion_{split}.txt", [f"{i % 3} 0" for i in range(n)])
    source = opened(tmp_path)
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert (source.splits, source.label) == (SPLITS, None)
    assert block.columns["emotion"].values[1].tolist() == [1, 0]


def test_splits_in_names_of_sources_and_targets(tmp_path: Path) -> None:
    """Our promise: OpenNMT's src-train.txt and tgt-train.txt are one field each."""
    for split, n in SPLITS.items():
        lines(tmp_path / f"src-{split}.txt", [f"ein langer Satz mit der Nummer {i}" for i in range(n)])
        lines(tmp_path / f"tgt-{split}.txt", [f"a sentence of {i}" for i in range(n)])
    source = opened(tmp_path)
    assert (source.splits, [field.name for field in source.fields]) == (SPLITS, ["src", "tgt"])


def test_documents_of_one_length_stay_documents(tmp_path: Path) -> None:
    """Our promise: documents of the same names and lengths in two splits are no fields."""
    for split in ("train", "test"):
        for name in ("north", "south"):
            lines(tmp_path / split / f"{name}.txt", [f"{split} {name} line {i}" for i in range(5)])
    assert opened(tmp_path).format == "text"
