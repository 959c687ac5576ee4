"""Code that makes the user's own dataset or DataLoader without our package is of what was measured, from whatever folder it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader, Dataset

from dataloader_expert.loaders import load_reference
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.made_again import Again, imported_as
from dataloader_expert.sources.placed import place_of
from dataloader_expert.sources.reference import Reference

CODE = """
from pathlib import Path

from torch.utils.data import DataLoader, Dataset

from .sizes import SMALL


class Data(Dataset):
    def __init__(self, n=40, split="train"):
        assert Path("marks.txt").exists()  # as training is started in the project's folder
        self.n = n if split == "train" else SMALL

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i


def make(n=48):
    return DataLoader(Data(n), batch_size=4)


def sets():
    return {"training": Data(40), "dev": Data(split="val")}


def both():
    return {"val": DataLoader(Data(split="val")), "train": DataLoader(Data(40), batch_size=8)}


class Module:
    def setup(self, stage):
        self.data = Data(24)

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=6)


class Modules:
    def __init__(self, split):
        self.data = Data(24, split)

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=6)


ready = make(8)
"""
WAYS: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "a class": ("Data", {"n": 12}, {"": 12}),
    "a function": ("make", {}, {"": 48}),
    "an object": ("ready", {}, {"": 8}),
    "a data module": ("Module", {}, {"": 24}),
    "a dict of datasets": ("sets", {}, {"training": 40, "dev": 5}),
    "a dict of loaders": ("both", {}, {"train": 40, "val": 5}),
    "a data module for each split": ("Modules", {"split": ["train", "val"]}, {"train": 24, "val": 5}),
    "a call for each split": ("Data", {"split": ["train", "val"]}, {"train": 40, "val": 5}),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a package, in a folder of its own; what is imported of it is forgotten afterwards."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "project" / "ours_again"
    package.mkdir(parents=True)
    for name, text in {"__init__": "", "sizes": "SMALL = 5\n", "data": CODE}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    for name in ("marks.txt", "pyproject.toml"):
        (package.parent / name).touch()
    before = dict(sys.modules)
    yield package.parent
    for name in [n for n, m in sys.modules.items() if str(tmp_path) in str(getattr(m, "__file__", ""))]:
        del sys.modules[name]
    sys.modules.update(before)  # csv, say, is Python's again


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("ours_again")]:
        del sys.modules[name]


def again(name: str, project: Path, **asked: Any) -> Again | None:
    """How what is named is made again, once it was opened."""
    source = Reference.open(Listing(project, (str(project),)), SourceRef(name, (str(project),), **asked))
    assert isinstance(source, Reference)
    return source.again


def samples(made: Any) -> int:
    held: Any = made.dataset if isinstance(made, DataLoader) else made
    return len(held)


@pytest.mark.parametrize("as_module", [False, True], ids=["file.py", "package.module"])
@pytest.mark.parametrize("way", WAYS)
def test_it_makes_what_was_measured(way: str, as_module: bool, project: Path, tmp_path: Path) -> None:
    """The samples of each split, in another folder than the one in which it was measured."""
    name, args, wanted = WAYS[way]
    where = "ours_again.data" if as_module else str(project / "ours_again" / "data.py")
    found = again(f"{where}:{name}", project, args=args)
    assert found is not None
    forget()
    os.chdir(tmp_path)
    module: dict[str, Any] = {}
    # our own lines about our own project, as a user would run them
    exec("import os\nimport sys\n" + "\n".join(found.imported()), module)
    made = {split: eval(code, module) for split, code in found.made.items()}
    assert {split: samples(one) for split, one in made.items()} == wanted
    assert samples(made[found.train]) == max(wanted.values())
    assert all(isinstance(one, Dataset | DataLoader) for one in made.values())


def test_a_reference_to_a_data_module_gives_its_training_loader(project: Path) -> None:
    """Our promise: what is loaded is what was measured."""
    loader = load_reference(str(project / "ours_again" / "data.py") + ":Module")
    assert isinstance(loader, DataLoader) and samples(loader) == 24


def test_a_split_that_is_asked_for_is_the_one(project: Path) -> None:
    found = again(str(project / "ours_again" / "data.py") + ":both", project, split="val")
    assert found is not None
    assert (found.made, found.train) == ({"val": "splits['val']"}, "val")


READY = """
import enum


class Data:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Part(str, enum.Enum):
    TRAIN = "train"


def parts():
    return {Part.TRAIN: Data([1, 2])}


ready = Data([1, 2])
"""


@pytest.mark.parametrize(
    ("file", "name"),
    [("my-data.py", "ready"), ("lambda.py", "ready"), ("csv.py", "ready"), ("fine.py", "parts")],
    ids=["hyphen", "keyword", "Python's own", "keys of an enumeration"],
)
def test_what_plain_code_would_not_find_has_none(file: str, name: str, project: Path) -> None:
    (project / file).write_text(READY, encoding="utf-8")
    assert again(f"{project / file}:{name}", project) is None


def test_a_module_that_an_installed_package_hides_is_imported_by_its_own_name(project: Path) -> None:
    """Seen: ``import numpy.mine`` in the code, of a folder without ``__init__.py``."""
    (project / "numpy").mkdir()
    (project / "numpy" / "mine_alone.py").write_text(READY, encoding="utf-8")
    found = again(f"{project / 'numpy' / 'mine_alone.py'}:ready", project)
    assert found is not None and found.module == "mine_alone"


def test_folders_without_init_are_named_in_the_import(project: Path) -> None:
    file = project / "apart" / "deeper" / "mine_below.py"
    file.parent.mkdir(parents=True)
    file.write_text(READY, encoding="utf-8")
    found = again(f"{file}:ready", project)
    assert found is not None and found.module == "apart.deeper.mine_below"
    for name in [name for name in sys.modules if name.startswith("apart")]:
        del sys.modules[name]
    assert imported_as(place_of(str(file), (str(project),))) == "mine_below"  # nor need the outer ones be imported


def test_splits_that_are_drawn_are_drawn_once(project: Path) -> None:
    """Seen: the function was called for each split, and validation held samples of training."""
    found = again(str(project / "ours_again" / "data.py") + ":both", project)
    assert found is not None and sum("both()" in line for line in (*found.define, *found.made.values())) == 1
