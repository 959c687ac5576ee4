"""Conversations in JSON lines and Parquet: what is said of them, and what is not a conversation."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.checks.files.shape_texts import shape_of
from dataloader_expert.loaders import create_loader, open_dataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.registry import open_source
from tests.making.asking import Asker
from tests.making.scanning import scan

CHATS = [
    {
        "id": f"c{i}",
        "messages": [
            {"role": "user", "content": f"what is {i} and {i}?"},
            {"role": "assistant", "content": f"it is {2 * i}" + (", as each child knows" * (i % 5))},
        ],
    }
    for i in range(60)
]
WORDS = [f"word{i}" for i in range(300)]
POINTS = [{"id": i, "points": [{"x": k, "kind": "corner"} for k in range(3)]} for i in range(60)]


def written(folder: Path, rows: list[dict[str, Any]], suffix: str) -> Path:
    path = folder / f"train.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ORDERS = [{"total": i / 7, "items": [{"name": f"blue shirt {i % 9}", "price": i / 3}]} for i in range(60)]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(
    ("rows", "modality"),
    [(CHATS, "text"), (POINTS, "tabular"), (ORDERS, "tabular")],
    ids=["chats", "points", "orders"],
)
def test_conversations_are_text(tmp_path: Path, suffix: str, rows: list[dict[str, Any]], modality: str) -> None:
    """Our promise: a set of conversations is text; objects that say nothing are not."""
    path = written(tmp_path, rows, suffix)
    assert open_source(SourceRef(str(path), (str(tmp_path),), code=False), []).modality == modality


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_conversation_has_the_bytes_of_what_is_said(tmp_path: Path, suffix: str) -> None:
    """Our promise: sizes are of the content, not of the object that holds it."""
    source = open_source(SourceRef(str(written(tmp_path, CHATS, suffix)), (str(tmp_path),), code=False), [])
    column = source.column(source.units[0], "messages")
    assert column is not None
    turns: list[list[dict[str, str]]] = [row["messages"] for row in CHATS]  # type: ignore[misc]  # beside the id
    said = [sum(len(text) for turn in one for text in turn.values()) for one in turns]
    assert [shape_of(value)[1] for value in column.values] == said


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_near_copies_of_conversations_are_found_across_splits(asker: Asker, tmp_path: Path, suffix: str) -> None:
    """Our promise: what is said is compared, as other texts are."""
    rng = random.Random(3)
    rows = [
        {"messages": [{"role": role, "content": " ".join(rng.choices(WORDS, k=40))} for role in ("user", "assistant")]}
        for _ in range(60)
    ]
    near = json.loads(json.dumps(rows[7]))
    near["messages"][1]["content"] += " indeed"
    for split, some in {"test": [*rows[40:], near], "train": rows[:40]}.items():
        written(tmp_path, some, suffix).rename(tmp_path / f"{split}.{suffix}")
    report: Any = asker.ask("check_quality", str(tmp_path), str(tmp_path), budget_s=60)
    [found] = [f for f in report.findings if f.code == "splits-near-overlap"]
    assert {(p["split"], p["sample"]) for p in found.where} == {("train", 28), ("test", 20)}


def test_pictures_that_are_asked_the_same_are_no_near_copies(asker: Asker, tmp_path: Path) -> None:
    """Our promise: what a conversation shows counts, beside it and within it."""
    said = [
        {"role": "user", "content": "what is shown here, and what is it for?"},
        {"role": "assistant", "content": "a lamp"},
    ]
    beside: list[dict[str, Any]] = [
        {"images": [{"bytes": random.Random(i).randbytes(64)}], "messages": said} for i in range(40)
    ]
    within: list[dict[str, Any]] = [
        {"messages": [{**said[0], "picture": random.Random(i).randbytes(64)}, said[1]]} for i in range(40)
    ]
    for n, rows in enumerate((beside, within)):
        folder = tmp_path / str(n)
        folder.mkdir()
        path = written(folder, rows, "parquet")
        report: Any = asker.ask("check_quality", str(path), str(folder), budget_s=60)
        assert not {f.code for f in report.findings} & {"near-duplicates", "duplicate-samples"}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_conversation_is_delivered_as_json(tmp_path: Path, suffix: str) -> None:
    """Our promise: what a training script gets can be read again, whatever is said in it."""
    said = ['it\'s "so"', "caf\u00e9", "a\nb", "None", ""]
    rows = [
        {"messages": [{"role": "user", "content": said[i % 5]}, {"role": "assistant", "content": f"{i}"}] * (1 + i % 3)}
        for i in range(30)
    ]
    written(tmp_path, rows, suffix)
    dataset = open_dataset(str(tmp_path))
    assert [json.loads(dataset[i]["messages"]) for i in range(30)] == [row["messages"] for row in rows]
    batch = next(iter(create_loader(str(tmp_path), None, batch_size=4, num_workers=0, shuffle=False)))
    assert [json.loads(text) for text in batch["messages"]] == [row["messages"] for row in rows[:4]]


def test_the_sampler_knows_how_long_conversations_are(tmp_path: Path) -> None:
    """Our promise: lengths are those of what is said, not of the number of turns."""
    rows = [
        {"messages": [{"role": "user", "content": "a" * (i + 1)}, {"role": "assistant", "content": "b"}]}
        for i in range(60)
    ]
    written(tmp_path, rows, "jsonl")
    [lengths] = [f["value"] for f in scan(tmp_path, tmp_path).facts if f["quantity"]["name"] == "lengths"]
    assert (lengths["field"], lengths["max"] - lengths["min"]) == ("messages", 59)
