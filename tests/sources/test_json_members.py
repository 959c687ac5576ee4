"""JSON members of a tar's samples: everything in them is read, whatever else the sample has."""

from __future__ import annotations

import io
import itertools
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch

from dataloader_expert.loaders import open_dataset

RECORD: dict[str, Any] = {"n": 1, "box": [1, 2, 3, 4], "meta": {"a": [1, {}]}, "tags": ["x"], "nothing": None}


def tar(path: Path, members: list[tuple[str, bytes]]) -> str:
    with tarfile.open(path, "w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_a_member_is_read_as_a_line_would_be(tmp_path: Path) -> None:
    """Our promise: no list, object or null is lost on the way."""
    found = open_dataset(tar(tmp_path / "a.tar", [(f"{i}.json", as_json(RECORD)) for i in range(3)]))[0]
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(b"\n".join([as_json(RECORD)] * 3) + b"\n")
    expected = open_dataset(str(lines))[0]
    assert found.keys() == expected.keys()
    assert found["box"].tolist() == [1, 2, 3, 4]
    assert {k: v for k, v in found.items() if k != "box"} == {k: v for k, v in expected.items() if k != "box"}


@pytest.mark.parametrize("order", list(itertools.permutations(("cls", "json", "meta.json"))))
def test_no_member_overwrites_another(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Our promise: the label does not depend on the order of members."""
    data = {"cls": b"1", "json": as_json({"cls": 99, "k": 1}), "meta.json": as_json({"k": 2, "own": 3})}
    members = [(f"{i}.{ext}", data[ext]) for i in range(3) for ext in order]
    found = open_dataset(tar(tmp_path / "a.tar", members))[1]
    assert {name: int(value) for name, value in found.items()} == {
        "cls": 1,
        "json.cls": 99,
        "json.k": 1,
        "meta.json.k": 2,
        "own": 3,
    }


def test_fields_have_one_name_in_every_sample(tmp_path: Path) -> None:
    """Our promise: a key that two members of some samples have is written alike where one of them is missing."""
    members = []
    for i in range(6):
        members.append((f"{i}.json", as_json({"k": i})))
        members += [(f"{i}.meta.json", as_json({"k": -i}))] if i != 2 else []
    dataset = open_dataset(tar(tmp_path / "a.tar", members))
    assert [int(dataset[i]["json.k"]) for i in range(6)] == list(range(6))
    assert "k" not in dataset[2] and int(dataset[3]["meta.json.k"]) == -3


def test_a_number_that_is_null_is_nan(tmp_path: Path) -> None:
    values: list[Any] = [0.5, 1, None, 2]
    dataset = open_dataset(tar(tmp_path / "a.tar", [(f"{i}.json", as_json({"x": v})) for i, v in enumerate(values)]))
    found = [dataset[i]["x"] for i in range(4)]
    assert {value.dtype for value in found} == {torch.float64}
    assert torch.isnan(found[2]) and [float(v) for v in found if not torch.isnan(v)] == [0.5, 1.0, 2.0]


def test_numbers_of_a_field_have_one_dtype(tmp_path: Path) -> None:
    """Our promise: a batch of whole numbers, of a field that has others, is of the dtype of the next batch."""
    values = [0.5, 1, 2, 16777217]
    dataset = open_dataset(tar(tmp_path / "a.tar", [(f"{i}.json", as_json({"x": v})) for i, v in enumerate(values)]))
    found = [dataset[i]["x"] for i in range(4)]
    assert {value.dtype for value in found} == {torch.float64}
    assert [float(value) for value in found] == values


def test_a_text_that_pandas_lacks_is_missing(tmp_path: Path) -> None:
    """Seen: NaN for a missing text, as pandas writes it, told as a number that makes the loss NaN; among numbers it is NaN."""
    lines = [{"text": "a", "x": 0.5}, {"text": float("nan"), "x": float("nan")}]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(map(as_json, lines)))
    found = open_dataset(str(tmp_path / "a.jsonl"))
    assert found[1]["text"] == "" and found[1]["x"] != found[1]["x"]
