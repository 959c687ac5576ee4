"""Texts as tasks have them: questions within articles, choices, scores of two sentences, spans, and tagged tokens with numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Source
from dataloader_expert.tools.recipes.tasks import of_label, unlabelled
from tests.sources.tables import WORDS, opened, put, said

RNG = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))


def lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def task(source: Source) -> str:
    fields = [{"name": f.name, "kind": f.kind, "dtype": f.dtype, "shape": f.shape} for f in source.fields]
    told = unlabelled(source.modality, fields) if source.label is None else of_label(fields, source.label)
    return told.name if told is not None else "classification"


def test_questions_within_articles_have_an_id_of_each_level(tmp_path: Path) -> None:
    """Seen: dialogues about sections of articles were read as one text for each section."""
    for split, n in (("train", 12), ("val", 4)):
        data = []
        for i in range(n):
            qas = [{"id": f"{split}{i}q{k}", "question": said(RNG), "answers": [{"text": "x", "answer_start": 0}]} for k in range(4)]  # fmt: skip
            data.append({"title": "a", "paragraphs": [{"id": f"{split}{i}", "context": said(RNG), "qas": qas}]})
        (tmp_path / f"{split}_v0.2.json").write_text(json.dumps({"data": data}))
    source = opened(tmp_path)
    assert (source.samples, task(source)) == (64, "question answering")
    assert {"id", "paragraphs_id", "context"} <= {f.name for f in source.fields}


def test_the_right_one_of_several_choices(tmp_path: Path) -> None:
    records = [
        {"question": said(RNG), "choices": {"text": [said(RNG) for _ in "ABCD"], "label": [*"ABCD"]}, "answerKey": "ABCD"[i % 4]}
        for i in range(60)
    ]  # fmt: skip
    lines(tmp_path / "train.jsonl", records)
    source = opened(tmp_path)
    assert (source.label, task(source)) == ("answerKey", "multiple choice")


def test_an_answer_in_words_is_no_choice(tmp_path: Path) -> None:
    """Our promise: what is said freely is no label, whatever options stand beside it."""
    lines(tmp_path / "train.jsonl", [{"question": said(RNG), "options": [], "answer": said(RNG)} for _ in range(60)])
    source = opened(tmp_path)
    assert (source.label, task(source)) == (None, "question answering")


def test_answers_that_are_wanted_or_not(tmp_path: Path) -> None:
    def turn(role: str) -> list[dict[str, str]]:
        return [{"role": role, "content": said(RNG)}]

    lines(
        tmp_path / "train.jsonl",
        [{"prompt": turn("user"), "completion": turn("assistant"), "label": bool(i % 3)} for i in range(60)],
    )
    source = opened(tmp_path)
    assert (source.label, task(source)) == ("label", "preference tuning")


def test_the_score_of_two_sentences_is_the_label(tmp_path: Path) -> None:
    """Seen: the genre of the sentences, as it was the first column with few values."""
    for split, n in (("train", 200), ("dev", 60)):
        rows = [["main-news", f"20{12 + i % 5}test", f"{i:04}", f"{RNG.uniform(0, 5):.3f}", said(RNG), said(RNG)] for i in range(n)]  # fmt: skip
        put(tmp_path / f"sts-{split}.csv", None, rows, "\t")
    source = opened(tmp_path)
    assert source.label == "f3"


def test_a_price_beside_two_texts_is_not_taken_for_a_score(tmp_path: Path) -> None:
    rows = [[said(RNG), said(RNG), f"{RNG.uniform(1, 900):.2f}"] for _ in range(80)]
    put(tmp_path / "train.csv", ["name", "description", "weight"], rows)
    assert opened(tmp_path).label is None


def test_spans_in_an_export_are_no_verdict_of_the_annotator(tmp_path: Path) -> None:
    records = [
        {"text": said(RNG), "spans": [{"start": 0, "end": 3, "label": "GPE"}], "_view_id": "ner", "answer": ("accept", "reject")[i % 9 == 0]}
        for i in range(60)
    ]  # fmt: skip
    lines(tmp_path / "annotations.jsonl", records)
    source = opened(tmp_path)
    assert (source.label, source.modality, task(source)) == (None, "text", "token classification")


def test_an_export_of_label_studio_has_its_choices(tmp_path: Path) -> None:
    """Our promise: what was chosen for each task is a field of it, here and in the code that is handed over."""

    def done(i: int) -> dict[str, Any]:
        value = {"choices": [["Positive", "Negative"][i % 2]]}
        said_of = {"from_name": "sentiment", "to_name": "text", "type": "choices", "value": value}
        return {"id": i, "annotations": [{"id": 1, "result": [said_of]}], "data": {"text": said(RNG)}, "project": 7}

    file = tmp_path / "project-7.json"
    file.write_text(json.dumps([done(i) for i in range(50)]))
    source = opened(tmp_path)
    assert (source.samples, source.label) == (50, "sentiment")
    assert [row["sentiment"] for row in plain.read_json(file)][:2] == ["Positive", "Negative"]


def test_tagged_tokens_with_numbers_and_sources_in_a_tsv(tmp_path: Path) -> None:
    """Seen: each token of a corpus was read as a row, and each comment as a damaged one."""
    for split, n in (("train", 60), ("dev", 12)):
        text = ""
        for i in range(n):
            rows = [f"{k}\t{word}\t{RNG.choice(['O', 'B-LOC'])}\tO\n" for k, word in enumerate(RNG.choice(WORDS, 8), 1)]
            text += f"#\thttp://example.org/{i} [2009-10-17]\n" + "".join(rows) + "\n"
        (tmp_path / f"NER-de-{split}.tsv").write_text(text)
    source = opened(tmp_path)
    assert (source.format, source.samples, task(source)) == ("lines", 72, "token classification")
    assert [f.name for f in source.fields] == ["id", "tokens", "column_3", "tags"]
    assert source.problems == []


def test_a_table_with_a_blank_line_stays_a_table(tmp_path: Path) -> None:
    rows = [f"{said(RNG)}\t{i % 2}" for i in range(60)]
    (tmp_path / "train.tsv").write_text("text\tlabel\n\n" + "\n".join(rows) + "\n")
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("tsv", 60, "label")


def test_a_flag_beside_two_texts_that_are_called_alike(tmp_path: Path) -> None:
    """Seen: whether two sentences say the same (MRPC), told as texts without a label."""
    rows = [[int(RNG.random() < 0.6), 700 + i, 9000 + i, said(RNG), said(RNG)] for i in range(80)]
    put(tmp_path / "train.csv", ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], rows)
    assert opened(tmp_path).label == "Quality"
