"""The pytest file that check_quality hands over: it agrees with the checklist, and runs without this package."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.probes.health.worker_content import WorkerContent
from dataloader_expert.sources.plain import READERS
from tests.making.asking import Asker
from tests.making.tiny import TINY


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    made = Asker()
    yield made.but("check_quality", lambda probe: not isinstance(probe, WorkerContent))
    made.close()


def outcomes(code: str, folder: Path) -> dict[str, bool]:
    """Which tests pass, in an interpreter that cannot import this package."""
    (folder / "test_data.py").write_text(code, encoding="utf-8")
    block = "import sys; sys.modules['dataloader_expert'] = None\n"
    (folder / "conftest.py").write_text(block, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        str(folder),
    ]
    said = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False).stdout
    found = {}
    for line in said.splitlines():
        word, _, name = line.partition(" ")
        if word in ("PASSED", "FAILED") and "::" in name:
            found[name.partition("::")[2].split(" ")[0]] = word == "PASSED"
    assert len(found) == 7, said[-2000:]
    return found


def test_every_format_is_written(asker: Asker, tmp_path: Path) -> None:
    """Our promise: of every format that has a plain reader some file is handed over, and none is where nothing reads so."""
    written: dict[str, list[bool]] = {}
    for i, (name, make) in enumerate(TINY.items()):
        folder = tmp_path / str(i)
        folder.mkdir()
        made = make(folder)
        if made.code:
            continue  # references: below
        report: Any = asker.ask("check_quality", made.source, str(made.root), label=made.label)
        said = [u.why for u in report.unknowns if u.what == "code"]
        assert (report.code is None) <= bool(said), name
        written.setdefault(report.format, []).append(report.code is not None)
    apart = {"idx"}  # its samples are always of several files
    assert {format for format, given in written.items() if any(given)} == set(READERS) - apart


@pytest.mark.parametrize("planted", ["nothing", "nan", "cut off", "copied", "unequal classes"])
def test_what_is_planted_fails_its_test(planted: str, asker: Asker, tmp_path: Path) -> None:
    """Our promise: the file fails where the data do, and passes where they pass, without this package."""
    data = tmp_path / "data"
    rng = np.random.default_rng()
    if planted in ("nothing", "nan"):
        data.mkdir()
        rows = [[f"{x:.6f}", f"{y:.6f}", int(x > 0)] for x, y in rng.normal(size=(60, 2))]
        if planted == "nan":
            for i in range(3):
                np.savez(data / f"{i}.npz", x=np.where(np.arange(8) == 3 * i, np.nan, rng.normal(size=8)))
        else:
            with (data / "t.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([["x", "y", "label"], *rows])
    else:
        for split, n in (("train", 24), ("val", 8)):
            for i in range(n):
                label = "a" if i % 2 and (planted != "unequal classes" or i == 1) else "b"
                path = data / split / label / f"{split}{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(path)
        first = sorted((data / "train").rglob("*.png"))[5]
        if planted == "cut off":
            first.write_bytes(first.read_bytes()[:-200])
        elif planted == "copied":
            (data / "val" / "a" / "again.png").write_bytes(first.read_bytes())
    report: Any = asker.ask("check_quality", str(data), str(tmp_path))
    assert report.code is not None, report.unknowns
    folder = tmp_path / "run"
    folder.mkdir()
    failing = {
        "nothing": set(),
        "nan": {"test_no_nan_or_infinity"},
        "cut off": {"test_every_file_can_be_read", "test_no_sample_is_lost"},
        "copied": {"test_splits_share_no_sample"},
        "unequal classes": {"test_classes_are_balanced"},
    }[planted]
    assert {name for name, passed in outcomes(report.code, folder).items() if not passed} == failing


def test_other_tables_of_the_folder_are_left_alone(asker: Asker, tmp_path: Path) -> None:
    """Seen: no file where a list of plots lay beside the splits, whose rows counted as samples."""
    data, rng = tmp_path / "data", np.random.default_rng(3)
    data.mkdir()
    plots: list[list[Any]] = [["plot", "slope", "soil"], *([f"p{k}", k % 7, "clay"] for k in range(30))]
    rows: list[list[Any]] = [[f"p{k % 30}", f"{x:.5f}", int(x > 0)] for k, x in enumerate(rng.normal(size=900))]
    head: list[Any] = ["plot", "height", "survived"]
    for name, part in (("plots", plots), ("train", [head, *rows[:600]]), ("test", [head, *rows[600:]])):
        with (data / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(part)
    report: Any = asker.ask("check_quality", str(data), str(tmp_path))
    assert not [u for u in report.unknowns if u.what == "code"]


def test_of_large_data_a_part_is_run(asker: Asker, tmp_path: Path) -> None:
    """Our promise: the file is run before it is returned, on samples of every file if there are many, and reads all of them."""
    data, rng = tmp_path / "data", np.random.default_rng()
    rows = [[f"{x:.6f}", f"{y:.6f}", int(x > 0)] for x, y in rng.normal(size=(24_000, 2))]
    data.mkdir()
    for split, part in (("train", rows[:20_000]), ("val", [*rows[20_000:], rows[12_345]])):
        with (data / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["x", "y", "label"], *part])
    report: Any = asker.ask("check_quality", str(data), str(tmp_path))
    assert not [u for u in report.unknowns if u.what == "code"]
    assert "It was run on up to 1,000 samples" in report.code
    folder = tmp_path / "run"
    folder.mkdir()
    assert {n for n, passed in outcomes(report.code, folder).items() if not passed} == {"test_splits_share_no_sample"}


def test_your_own_dataset_is_read_by_its_name(asker: Asker, tmp_path: Path) -> None:
    """Our promise: the file imports the Dataset that was named, with its arguments."""
    (tmp_path / "mine.py").write_text(
        "import torch\n\n\nclass Mine(torch.utils.data.Dataset):\n    def __init__(self, n):\n        self.n = n\n\n"
        "    def __len__(self):\n        return self.n\n\n    def __getitem__(self, i):\n"
        "        x = torch.full((3,), float(i))\n        x[0] = float('inf') if i == 5 else 0.0\n        return x, i % 2\n",
        encoding="utf-8",
    )
    source = f"{tmp_path / 'mine.py'}:Mine"
    report: Any = asker.ask("check_quality", source, str(tmp_path), source_args={"n": 20})
    assert report.code is not None, report.unknowns
    folder = tmp_path / "run"
    folder.mkdir()
    assert {n for n, passed in outcomes(report.code, folder).items() if not passed} == {"test_no_nan_or_infinity"}


@pytest.mark.parametrize(("name", "arguments"), [("both", {}), ("Mine", {"split": ["train", "val"]})])
def test_splits_of_your_own_dataset_are_read(
    name: str, arguments: dict[str, Any], asker: Asker, tmp_path: Path
) -> None:
    """Seen: of a function that returns datasets by split, no file was handed over, as its tests failed what had passed."""
    (tmp_path / "mine.py").write_text(
        "import torch\n\n\nclass Mine(torch.utils.data.Dataset):\n    def __init__(self, split):\n        self.first = 0 if split == 'train' else 15\n\n"
        "    def __len__(self):\n        return 20\n\n    def __getitem__(self, i):\n"
        "        return torch.arange(3.0) + 7.5 * (self.first + i), i % 2\n\n\n"
        "def both():\n    return {split: Mine(split) for split in ('train', 'val')}\n",
        encoding="utf-8",
    )
    report: Any = asker.ask("check_quality", f"{tmp_path / 'mine.py'}:{name}", str(tmp_path), source_args=arguments)
    assert report.code is not None, report.unknowns
    folder = tmp_path / "run"
    folder.mkdir()
    assert {n for n, passed in outcomes(report.code, folder).items() if not passed} == {"test_splits_share_no_sample"}


@pytest.mark.parametrize("tool", ["check_quality", "recommend_batch_spec", "suggest_sampler"])
def test_no_name_of_the_data_becomes_code(
    tool: str, asker: Asker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: names of folders, files, columns and classes are quoted in the code that is written, and run, from them."""
    quickly, mark = asker.quick(), tmp_path / "executed"
    monkeypatch.setenv("EXECUTED", str(mark))
    for quote in ('"""', "'''", '"', "'", "{", "}", "\\", "__SETTINGS__"):
        named = f"x{quote}+__import__('os').mkdir(__import__('os').environ['EXECUTED'])+{quote}"
        pictures = tmp_path / named
        for split, n in (("train", 12), ("val", 6)):
            for i in range(n):
                path = pictures / split / f"{named}{i % 2}" / f"{i}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.random.default_rng([n, i]).integers(0, 256, (8, 8, 3), np.uint8)).save(path)
        table = tmp_path / f"{named}.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([[named, "label"], *([i * 1.5, f"{named}{i % 2}"] for i in range(30))])
        for source in (pictures, table):
            report: Any = quickly.ask(tool, str(source), str(tmp_path))
            assert report.code, (quote, report.unknowns)
            compile(report.code, "written.py", "exec")  # no quote ends early
    assert not mark.exists()
