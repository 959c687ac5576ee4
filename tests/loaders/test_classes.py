"""What a training script asks first: class indices and their names, the labels for a sampler, and the split for validation."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.errors import RequestError
from dataloader_expert.loaders import create_loader, open_dataset
from dataloader_expert.samplers import TokenBudgetBatchSampler
from tests.making.tiny import TINY


def tables(folder: Path, **rows: list[str]) -> Path:
    for name, lines in rows.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_label_of_texts_is_an_index_in_every_split(tmp_path: Path) -> None:
    """Seen: 'yes' and 'no' came as lists of strings, which no loss takes."""
    train = ["x,label", *(f"{i}.5,{'yes' if i % 3 else 'no'}" for i in range(30))]
    made = tables(tmp_path, train=train, test=["x,label", *(f"{i}.25,yes" for i in range(6))])
    batch = next(iter(create_loader(made, "test", 6, 0)))
    assert batch["label"].tolist() == [1] * 6 and batch["label"].dtype == torch.int64
    opened = open_dataset(made, split="train")
    assert opened.classes == ["no", "yes"] and Counter(opened.labels()) == {1: 20, 0: 10}


def test_a_class_that_is_missing_is_minus_one(tmp_path: Path) -> None:
    """Seen: a test split without labels made all of them NaN, of float64; a measured target stays so."""
    train = ["a,price,label", *(f"{i}.5,{i * 3.25},{i % 4}" for i in range(40))]
    made = tables(tmp_path, train=train, test=["a", *(f"{i}.25" for i in range(8))])
    test = next(iter(create_loader(made, "test", 8, 0)))
    assert test["label"].tolist() == [-1] * 8 and torch.isnan(test["price"]).all()
    whole = torch.cat([b["label"] for b in create_loader(made, None, 7, 0)])
    assert whole.dtype == torch.int64 and Counter(whole.tolist()) == {-1: 8, 0: 10, 1: 10, 2: 10, 3: 10}


def test_an_amount_that_is_missing_is_no_class(tmp_path: Path) -> None:
    """Our promise: of a target in whole numbers, such as sales, none is made up."""
    train = ["a,sales", *(f"{i}.5,{i * i * 37 % 9001}" for i in range(60))]
    made = tables(tmp_path, train=train, test=["a", *(f"{i}.25" for i in range(8))])
    assert torch.isnan(next(iter(create_loader(made, "test", 8, 0)))["sales"]).all()


def test_the_names_of_classes_and_the_labels_of_images(tmp_path: Path) -> None:
    """Our promise: they are there for a report and for weights."""
    opened = open_dataset(TINY["image-folder"](tmp_path).source, split="train")
    assert opened.classes is not None
    assert opened.labels() == [int(opened[i]["label"]) for i in range(len(opened))]
    assert {*opened.labels()} <= {*range(len(opened.classes))}


def test_batches_of_a_batch_sampler_are_padded(tmp_path: Path) -> None:
    """Seen: with batch_size=None, as the sampler makes the batches, lists of several lengths did not stack."""
    lengths = [3, 9, 4, 4, 7, 5]
    rows = [json.dumps({"input_ids": list(range(1, n + 1)), "label": 0}) for n in lengths]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n")
    sampler = TokenBudgetBatchSampler(lengths, 20)
    batches = list(create_loader(tmp_path, "train", None, 0, sampler=sampler))
    assert sorted(n for b in batches for n in b["input_ids_lengths"].tolist()) == sorted(lengths)
    assert all(b["input_ids"].numel() <= 20 for b in batches)


@pytest.mark.parametrize("asked", ["val", "dev", "validation"])
def test_the_split_for_validation_is_found_by_any_of_its_names(tmp_path: Path, asked: str) -> None:
    """Seen: the folder is called valid, and the script says val."""
    made = tables(tmp_path, train=["x,label", "1,0", "2,1"], valid=["x,label", "3,1"])
    assert [float(s["x"]) for s in open_dataset(made, split=asked)] == [3.0]  # type: ignore[attr-defined]


def test_a_split_of_data_without_any_is_refused_with_the_way_to_read_all(tmp_path: Path) -> None:
    made = tables(tmp_path, rows=["x,label", "1,0", "2,1"])
    with pytest.raises(RequestError, match=r"splits are: none; leave split out \(None\) to read all samples"):
        open_dataset(made, split="train")


def test_classes_are_taken_from_any_iterable(tmp_path: Path) -> None:
    """Seen: the names of a dictionary or an iterator were ignored without a word."""
    made = tables(tmp_path, train=["x,label", *(f"{i}.5,{'yes' if i % 3 else 'no'}" for i in range(30))])
    names = {"yes": "Yes", "no": "No"}
    for given in (names, names.keys(), iter(names), ["yes", "no"]):
        assert open_dataset(made, classes=given).classes == ["yes", "no"]
    for wrong, error in (("yes", ValueError), (2, TypeError)):
        with pytest.raises(error, match=r"classes is .*; it must be a list of names, or 'found'"):
            open_dataset(made, classes=wrong)  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize(("target", "missing"), [("label", -1), ("price", None)])
def test_there_is_one_label_per_sample(tmp_path: Path, target: str, missing: int | None) -> None:
    """Seen: samples of a split without labels had none, so that those of later files were shifted."""
    train = [f"a,{target}", *(f"{i}.5,{i % 4 if missing == -1 else i * 3.25}" for i in range(30))]
    opened = open_dataset(tables(tmp_path, test=["a", *(f"{i}.25" for i in range(8))], train=train), label=target)
    labels, own = opened.labels(), [opened[i][target].item() for i in range(len(opened))]
    assert len(labels) == 38 and np.array_equal(labels, own, equal_nan=True)
    assert sum(v == -1 if missing == -1 else v != v for v in labels) == 8


@pytest.mark.parametrize("unreadable", ["raise", "skip"])
def test_a_label_that_cannot_be_read_is_named(tmp_path: Path, unreadable: Any) -> None:
    """Seen: a broken line of JSON was an IndexError that named no sample."""
    lines = [json.dumps({"a": i, "label": i % 2}) for i in range(20)]
    (tmp_path / "train.jsonl").write_text("\n".join([*lines[:7], lines[7][:-4], *lines[8:]]))
    with pytest.raises(RuntimeError, match=r"the label of sample 7 cannot be read: train.jsonl: parse-error"):
        open_dataset(tmp_path, unreadable=unreadable).labels()


def test_a_text_that_joins_several_labels_is_no_class(tmp_path: Path) -> None:
    """Seen: each combination became a class of its own, and what split the text failed on its index."""
    cells = ["Edema|Mass", "Mass", "Edema", "Edema|Cyst", "Cyst|Mass"] * 10
    rows = "\n".join(["x,findings", *(f"{i * 7 % 50},{cell}" for i, cell in enumerate(cells))])
    (tmp_path / "rows.csv").write_text(rows, encoding="utf-8")
    opened = open_dataset(tmp_path / "rows.csv", label="findings")
    assert opened.classes is None and opened[0]["findings"] == "Edema|Mass"
