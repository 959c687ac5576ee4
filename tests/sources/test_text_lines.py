"""Texts of a line each: corpora, parallel texts and tagged sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources import lines as ranges
from dataloader_expert.sources import text_lines
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.plain import read_lines
from dataloader_expert.sources.registry import open_source
from dataloader_expert.sources.tagged_lines import sentences
from tests.making.scanning import scan

RNG = np.random.default_rng()
WORDS = [f"{a}{b}" for a in ("ba", "ku", "mi", "ro", "te") for b in ("lan", "nor", "sip", "tev", "zum", "qui")]


def sentence(n: int = 9) -> str:
    return " ".join(RNG.choice(WORDS, n))


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def opened(folder: Path, **more: Any) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),), **more), [])


def codes(folder: Path) -> dict[str, Any]:
    return {f.code: f for f in scan(folder, folder).findings if f.severity != "info"}


def values(source: Source, name: str) -> list[Any]:
    return [v for unit in source.units for v in source.decode(unit, source.read(unit)).columns[name].values]


def test_each_line_of_a_corpus_is_a_sample(tmp_path: Path) -> None:
    """WikiText: blank lines between, one file for each split."""
    held = {split: [sentence() for _ in range(n)] for split, n in (("train", 60), ("valid", 20), ("test", 20))}
    for split, lines in held.items():
        written(tmp_path / f"wiki.{split}.txt", " \n".join(f"{line}\n" for line in lines) + "\r\n\n")
    source = opened(tmp_path)
    assert (source.format, source.modality, source.samples) == ("lines", "text", 100)
    assert source.splits == {"test": 20, "train": 60, "valid": 20}
    assert sorted(values(source, "text")) == sorted(line for lines in held.values() for line in lines)
    assert codes(tmp_path) == {}
    assert opened(tmp_path, format="text").samples == 3


def test_documents_stay_whole(tmp_path: Path) -> None:
    """Several files of no split, or of classes, are a sample each."""
    for i in range(6):
        written(tmp_path / "books" / f"book{i}.txt", "\n".join(sentence() for _ in range(9)))
        for kind in ("good", "bad"):
            written(tmp_path / "reviews" / "train" / kind / f"{i}.txt", "\n".join(sentence() for _ in range(9)))
    assert (opened(tmp_path / "books").format, opened(tmp_path / "books").samples) == ("text", 6)
    assert opened(tmp_path / "reviews").samples == 12
    assert opened(tmp_path / "books", format="lines").samples == 54


@pytest.mark.parametrize("ends", [("en", "de"), ("src", "tgt")])
def test_lines_of_languages_belong_together(
    tmp_path: Path, ends: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """WMT: a file for each language; runs of lines of other lengths in bytes end at the same line."""
    monkeypatch.setattr(text_lines, "RANGE_BYTES", 400)
    held = {end: [sentence(4 + 9 * (end == ends[1])) for _ in range(80)] for end in ends}
    for end, lines in held.items():
        written(tmp_path / f"train.{end}", "\n".join(lines[:60]) + "\n")
        written(tmp_path / f"valid.{end}", "\n".join(lines[60:]))
    source = opened(tmp_path)
    assert source.samples == 80 and source.splits == {"train": 60, "valid": 20} and len(source.units) > 4
    for end, lines in held.items():
        assert values(source, end) == lines
    assert codes(tmp_path) == {}


def test_a_lost_line_of_a_parallel_text_is_an_error(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        for end in ("en", "fr"):
            written(tmp_path / f"{split}.{end}", "".join(f"{sentence()}\n" for _ in range(40)))
    lines = (tmp_path / "valid.fr").read_text().splitlines()
    written(tmp_path / "valid.fr", "\n".join([*lines[:9], *lines[10:]]) + "\n")
    found = codes(tmp_path)
    assert {code: [w["file"] for w in f.where] for code, f in found.items()} == {"length-mismatch": ["valid.fr"]}
    assert found["length-mismatch"].severity == "error"


def tagged(n: int, columns: int = 4, mark: str = " ") -> str:
    parts = ["-DOCSTART- -X- -X- O\n\n"] if columns == 4 else []
    for _ in range(n):
        rows = [
            mark.join([word, *["NN"] * (columns - 2), str(RNG.choice(["O", "B-PER", "I-PER"]))])
            for word in RNG.choice(WORDS, 8)
        ]
        parts.append("\n".join(rows) + "\n\n")
    return "".join(parts)


@pytest.mark.parametrize(("columns", "mark"), [(4, " "), (2, "\t")])
def test_tagged_sentences_are_samples(tmp_path: Path, columns: int, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """CoNLL-2003: tokens with their tags, blank lines between sentences."""
    monkeypatch.setattr(text_lines, "RANGE_BYTES", 700)
    for split, n in (("train", 60), ("dev", 20)):
        written(tmp_path / f"{split}.txt", tagged(n, columns, mark))
    source = opened(tmp_path)
    assert source.samples == 80 and [f.name for f in source.fields][:: columns - 1] == ["tokens", "tags"]
    assert all(len(v) == 8 for name in ("tokens", "tags") for v in values(source, name))
    for name in ("vocab.txt", "words.txt"):
        written(tmp_path / name, "\n".join(WORDS))
    assert opened(tmp_path).samples == 80
    assert codes(tmp_path) == {}
    assert [f.where for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"] == [
        ({"file": "words.txt"},)
    ]
    for name in ("vocab.txt", "words.txt"):
        (tmp_path / name).unlink()
    path = tmp_path / "train.txt"
    lines = path.read_text().split("\n")
    at = next(i for i in range(40, len(lines)) if lines[i])
    lines[at] = lines[at].split(mark)[0]
    written(path, "\n".join(lines))
    assert [(c, w["file"]) for c, f in codes(tmp_path).items() for w in f.where] == [("parse-error", "train.txt")]


@given(st.lists(st.lists(st.sampled_from(["a X", "b Y", "c Z"]), max_size=4), max_size=8), st.integers(1, 3))
def test_sentences_are_what_stands_between_blank_lines(blocks: list[list[str]], blanks: int) -> None:
    text = ("\n" * (1 + blanks)).join("\n".join(block) for block in blocks)
    assert sentences(text, False) == [[row.split() for row in block] for block in blocks if block]


def running_text(n: int) -> list[str]:
    """Paragraphs with headings between them, which recur."""
    headings = ["= References =", "= History =", "= Early life =", "= Plot =", "= Reception ="]
    return [line for _ in range(n) for line in (str(RNG.choice(headings)), sentence(40))]


@pytest.mark.parametrize("format", ["txt", "jsonl"])
def test_phrases_that_recur_are_no_copies(tmp_path: Path, format: str) -> None:
    """Our promise: headings in both splits are no leak, a paragraph in both is."""

    def write(name: str, lines: list[str]) -> None:
        rows = lines if format == "txt" else [json.dumps({"text": line}) for line in lines]
        written(tmp_path / f"{name}.{format}", "\n".join(rows))

    train, valid = running_text(120), running_text(40)
    write("train", train)
    write("valid", valid)
    assert codes(tmp_path) == {}
    valid[21] = train[41]
    write("valid", valid)
    found = codes(tmp_path)
    assert set(found) == {"duplicate-samples", "splits-overlap"} and found["splits-overlap"].count == 1


def test_texts_that_are_there_several_times_are_copies(tmp_path: Path) -> None:
    lines = [sentence() for _ in range(60)] * 3
    written(tmp_path / "train.txt", "\n".join(lines))
    written(tmp_path / "test.txt", "\n".join(sentence() for _ in range(60)))
    found = codes(tmp_path)
    assert found["duplicate-samples"].count >= 40


def sizes(source: Source) -> tuple[int, int]:
    """What was declared, and what is there; a damaged sentence is told instead."""
    blocks = [source.decode(unit, source.read(unit)) for unit in source.units]
    lost = sum(p.code == "parse-error" for block in blocks for p in block.problems)
    return source.samples, lost + sum(len(block.columns[source.fields[0].name].values) for block in blocks)


BLANK = st.sampled_from(["", " ", "  ", "\t", "\r", " \r", "\x0c", "\u00a0", "\u2028"])
LINE = st.one_of(BLANK, st.sampled_from(["a b", "x\ry", "caf\u00e9", "# 1", "w O", "10\u00a0000 O"]))


@given(
    lines=st.lists(LINE, min_size=2, max_size=30), size=st.integers(3, 40), end=st.sampled_from(["", "\n", "\r\n\n"])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_as_many_lines_are_read_as_were_counted(tmp_path: Path, lines: list[str], size: int, end: str) -> None:
    """Our promise: whatever counts as blank does so for the count, the reader and the written code."""
    text = "\n".join(["first line", *lines]) + end
    written(tmp_path / "some.txt", text)
    with pytest.MonkeyPatch.context() as patch:
        for module in (text_lines, ranges):
            patch.setattr(module, "RANGE_BYTES", size)
        source = opened(tmp_path / "some.txt", format="lines")
        declared, there = sizes(source)
    assert declared == there
    if source.fields[0].name == "text":
        whole = [line.removesuffix("\r") for line in text.split("\n") if line.strip(" \t\n\r\x0b\x0c")]
        assert values(source, "text") == whole
        assert [row["text"] for row in read_lines(tmp_path / "some.txt")] == whole or "\r" in text


@pytest.mark.parametrize(
    "names",
    [
        ("doc0.txt", "doc0.ann", "doc1.txt", "doc1.ann"),
        ("a.sh", "a.log", "b.sh", "b.log"),
        ("train/alice.txt", "test/moby.txt"),
        ("speech_train.txt", "letter_test.txt"),
    ],
)
def test_other_texts_stay_whole(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        written(tmp_path / name, "".join(f"{sentence()}\n" for _ in range(5)))
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("text", len(names))


def test_what_stands_beside_a_parallel_text_is_told(tmp_path: Path) -> None:
    """IWSLT: sets without a word for a split, vocabularies; a comma in each line makes no table."""
    for name in ("train", "tst2012"):
        for end in ("en", "vi"):
            written(tmp_path / f"{name}.{end}", "".join(f"{sentence()}, {sentence()}\n" for _ in range(9)))
    for end in ("en", "vi"):
        written(tmp_path / f"vocab.{end}", "\n".join(WORDS))
    source = opened(tmp_path)
    assert source.samples == 18 and [f.name for f in source.fields] == ["en", "vi"]
    [said] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert said.severity == "info" and {w["file"] for w in said.where} == {"vocab.en", "vocab.vi"}
    with (tmp_path / "train.vi").open("a") as file:
        file.write("\n\n")
    assert codes(tmp_path) == {}
    written(tmp_path / "dev.en", sentence() + "\n")  # whose partner is lost
    assert codes(tmp_path)["foreign-file"].where == ({"file": "dev.en"},)


def test_comments_of_conllu_are_no_tokens(tmp_path: Path) -> None:
    """``# text =`` has as many words as a token has columns."""
    for split, n in (("train", 30), ("dev", 9)):
        blocks = []
        for _ in range(n):
            tokens = RNG.choice(WORDS, 7).tolist()
            rows = [f"{i}\t{w}\t{w}\tX\t_\t_\t0\tdep\t_\t_" for i, w in enumerate(tokens, 1)]
            rows.insert(2, "3-4\tdu" + "\t_" * 8)  # a range, which is no word
            rows.append("7.1\telided" + "\t_" * 8)
            blocks.append("\n".join([f"# text = {' '.join(tokens)}", *rows]))
        written(tmp_path / f"xx-ud-{split}.conllu", "\n\n".join(blocks) + "\n\n")
    source = opened(tmp_path)
    assert source.samples == 39 and source.fields[1].name == "tokens"
    assert all(len(v) == 7 for v in values(source, "tokens"))


def test_another_encoding_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes("".join(f"{sentence()}\n" for _ in range(9)).encode("utf-16-le"))
    written(tmp_path / "test.txt", "".join(f"{sentence()}\n" for _ in range(9)))
    assert "not-the-format" in codes(tmp_path)


def test_the_place_of_a_line_counts_samples(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(b"one\ntwo\n\n\n\ncaf\xe9 x\nfour\n")
    written(tmp_path / "test.txt", "five\nsix\n")
    [where] = codes(tmp_path)["encoding-error"].where
    assert (where["file"], where["row"]) == ("train.txt", 2)


def test_a_text_in_another_encoding_is_still_the_text_of_its_language() -> None:
    """Our promise: a byte that is no UTF-8, wherever it stands, is told as such; the files stay a parallel text."""
    from dataloader_expert.sources.magic import kind_of

    assert kind_of("train.fi", b"caf\xe9 au lait\nkahvi\n") == "text"
    assert kind_of("train.fi", b"caf\0\xe9") is None
    assert kind_of("train.unknown", b"caf\xe9 au lait\n") == "text"
    assert kind_of("train.unknown", b"caf\xe9\x01 au lait\n") is None
