"""The splits of the user's own dataset class, compared with each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import run
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.reference import Reference
from dataloader_expert.sources.split_datasets import called_for_each

CODE = """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Swatches(Dataset):
    def __init__(self, split):
        self.x = torch.rand(200 if split == "train" else 80, 6, generator=torch.Generator().manual_seed(len(split)))
        self.scaled = split == "train"

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return (self.x[i] - 0.5) / 0.3 if self.scaled else 255 * self.x[i]

def both():
    return {"train": DataLoader(Swatches("train"), batch_size=7, shuffle=True), "val": DataLoader(Swatches("val"))}

class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(9))

def streams():
    return {"train": Stream(), "val": Stream()}

def loader_of_a_stream():
    return DataLoader(Stream(), batch_size=3)
"""
SPLITS = {"split": ["train", "val"]}
UNNAMED = """
from mine import *

def pair():
    loaders = both()
    return loaders["train"], loaders["val"]

def collated():
    return torch.utils.data.TensorDataset(torch.zeros(9, 3)), lambda rows: rows

def nothing():
    return torch.utils.data.TensorDataset(torch.zeros(0, 3))
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path / "mine.py"


def told_by(code: Path, name: str, arguments: dict[str, Any], probes: list[dict[str, Any]]) -> str:
    """What a request's probes say, as text."""
    source = SourceRef(f"{code}:{name}", (str(code.parent),), code=True, args=arguments).to_json()
    request = {"source": source, "probes": probes, "seed": 0, "cpus": 1.0, "memory_bytes": 1 << 30}
    events: list[dict[str, Any]] = []
    run(request, events.append, lambda index: None)
    return json.dumps(events)


@pytest.mark.parametrize(("name", "arguments"), [("Swatches", SPLITS), ("both", {})])
def test_splits_of_a_dataset_class_are_compared(code: Path, name: str, arguments: dict[str, Any]) -> None:
    """Seen: training and validation of one class could only be given one after the other, and each passed on its own."""
    told = told_by(code, name, arguments, [{"probe": "layout"}, {"probe": "scan", "every_split": True}])
    assert '"value": {"train": 200, "val": 80}' in told
    assert '"code": "preprocessing-differs", "severity": "error"' in told


def test_other_tools_take_the_training_split_with_its_loader(code: Path) -> None:
    """Our promise: what is measured is the loader that trains."""
    told = told_by(code, "both", {}, [{"probe": "layout"}])
    assert '"batch_size": 7' in told
    assert '"value": 200' in told


def test_the_label_of_a_dataset_is_a_category_though_it_is_a_number(code: Path) -> None:
    """Seen: checks of labels and content left out every Dataset that numbers its classes."""
    code.write_text(CODE + "\nclass Named(Swatches):\n    def __getitem__(self, i):\n        return self.x[i], i % 3\n")
    ref = SourceRef(f"{code}:Named", (str(code.parent),), code=True, args={"split": "train"})
    source = Reference.open(Listing(Path(), ref.roots), ref)
    assert isinstance(source, Reference)
    source.describe(source.decode(source.units[0], None))
    assert {f.name: f.kind for f in source.fields}["1"] == "category"


def test_a_loader_of_a_stream_without_a_length_is_read(code: Path) -> None:
    """Seen: bool() of such a loader asks for its length, and none was read at all."""
    told = told_by(code, "loader_of_a_stream", {}, [{"probe": "layout"}, {"probe": "scan"}])
    assert '"event": "error"' not in told
    assert '"read": 9' in told


def test_one_split_is_named_and_streams_are_refused(code: Path) -> None:
    """Our promise: a split is one that there is, and what cannot be joined says what to do."""

    def opened(name: str, split: str | None = None) -> Source:
        roots = (str(code.parent),)
        return Reference.open(Listing(Path(), roots), SourceRef(f"{code}:{name}", roots, code=True, split=split))

    assert opened("both", "val").samples == 80
    with pytest.raises(RequestError, match="the splits are: train, val"):
        opened("both", "test")
    with pytest.raises(RequestError, match="pass split= with one of train, val"):
        opened("streams")
    with pytest.raises(RequestError, match="a list for split compares the splits"):
        opened("Swatches")


def test_only_a_parameter_that_names_splits_is_called_for_each() -> None:
    """Our promise: a list that is meant as one stays one."""
    assert called_for_each({"sizes": [1, 2]}) == {}
    assert called_for_each({"split": ["train"]}) == {}
    assert called_for_each({"train": [True, False], "root": "a"}) == {
        "train": {"train": True, "root": "a"}, "test": {"train": False, "root": "a"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pair", r"returned a tuple \(DataLoader, DataLoader\); return one Dataset or DataLoader, or a dict"),
        ("collated", r"returned a tuple \(TensorDataset, function\); return one"),
        ("nothing", r"length is 0: look at the paths.*relative to "),
        ("Dataset", r"itself defines pair, collated, nothing; name a class"),
    ],
)
def test_what_is_no_dataset_is_refused_with_what_to_do(code: Path, name: str, said: str) -> None:
    """Seen: a training and a validation loader were taken for a data set of two samples."""
    other = code.with_name("unnamed.py")
    other.write_text(UNNAMED)
    ref = SourceRef(f"{other}:{name}", (str(code.parent),), code=True)
    with pytest.raises(RequestError, match=said):
        Reference.open(Listing(Path(), ref.roots), ref)
