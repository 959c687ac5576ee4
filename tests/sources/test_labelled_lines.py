"""Lines that begin with their labels, and splits that the endings of files tell."""

from __future__ import annotations

from pathlib import Path

from dataloader_expert.sources.base import Source
from tests.sources.test_rows_and_classes import column, opened

WORDS = ("river", "mountain", "kitchen", "engine", "garden", "winter", "letter")


def text(i: int) -> str:
    return f"what the {WORDS[i % 7]} and the {WORDS[i % 5]} have to do with {i}"


def splits_of(source: Source) -> dict[str, int]:
    return source.splits


def test_a_label_before_each_text_as_fasttext_has_it(tmp_path: Path) -> None:
    for split, n in (("train", 40), ("test", 20)):
        lines = "".join(f"__label__{1 + i % 2} {text(i)}\n" for i in range(n))
        (tmp_path / f"{split}.ft.txt").write_text(lines)
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("lines", 60, "label")
    assert column(source, "label")[:2] == ["1", "2"] and column(source, "text")[1] == text(1)


def test_several_labels_before_each_text(tmp_path: Path) -> None:
    lines = "".join(f"__label__{WORDS[i % 3]} __label__{WORDS[3 + i % 3]} {text(i)}\n" for i in range(40))
    (tmp_path / "cooking.train").write_text(lines)
    (tmp_path / "cooking.valid").write_text(lines[: len(lines) // 2].rpartition("\n")[0] + "\n")
    source = opened(tmp_path)
    assert list(source.splits) == ["train", "valid"]
    assert column(source, "labels")[0] == ["river", "engine"] and column(source, "text")[0] == text(0)


def test_questions_with_their_class_before_a_colon(tmp_path: Path) -> None:
    for name, n in (("train_5500", 60), ("TREC_10", 20)):
        lines = "".join(f"{('DESC:manner', 'ENTY:cremat')[i % 2]} {text(i)} ?\n" for i in range(n))
        (tmp_path / f"{name}.label").write_text(lines)
    source = opened(tmp_path)
    assert (source.samples, source.label) == (80, "label")
    assert set(column(source, "label")) == {"DESC:manner", "ENTY:cremat"}


def test_prose_and_what_speakers_say_is_text(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"{split}.txt").write_text("".join(f"NOTE{i}: {text(i)}\n{text(i + 1)}\n" for i in range(30)))
    source = opened(tmp_path)
    assert (source.format, [f.name for f in source.fields]) == ("lines", ["text"])


def test_the_splits_of_conll_by_the_endings_of_its_files(tmp_path: Path) -> None:
    sentence = "EU NNP B-ORG\nrejects VBZ O\nit PRP O\n\nPeter NNP B-PER\ncame VBD O\nhome RB O\n\n"
    for ending, n in (("train", 20), ("testa", 8), ("testb", 6)):
        (tmp_path / f"eng.{ending}").write_text(sentence * n)
    source = opened(tmp_path)
    assert (source.format, splits_of(source)) == ("lines", {"dev": 16, "test": 12, "train": 40})
