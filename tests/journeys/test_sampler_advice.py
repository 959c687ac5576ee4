"""What suggest_sampler advises is what its code does, and what it says of classes is of all samples or said not to be."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.making.asking import Asker
from tests.making.scripts import ran

STREAM = """
from torch.utils.data import IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, shares=False):
        self.shares = shares

    def __iter__(self):
        info = get_worker_info() if self.shares else None
        for i in range(0 if info is None else info.id, 400, 1 if info is None else info.num_workers):
            yield i, i % 2
"""
KEPT = """
import time

from torch.utils.data import Dataset


class Kept(Dataset):
    def __init__(self, wrong=False):
        self.targets = [0] * 300 + [1] * 90 + [2] * 10
        self.own = self.targets[::-1] if wrong else self.targets

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        time.sleep(0.05)  # so that not all are read in time: asserted is what is said of it, not the clock
        return {"x": float(i), "label": self.own[i]}
"""


@pytest.mark.parametrize("shares", [False, True], ids=["copied", "shared"])
def test_a_stream_is_shuffled_and_each_sample_comes_once(shares: bool, quickly: Asker, tmp_path: Path) -> None:
    """Seen: a buffer and shards were advised, and the code had neither."""
    (tmp_path / "mine.py").write_text(STREAM, encoding="utf-8")
    source = f"{tmp_path / 'mine.py'}:Stream"
    report: Any = quickly.ask(
        "suggest_sampler", source, str(tmp_path), source_args={"shares": shares}, budget_s=20, detail="full"
    )
    assert ("islice" in report.code) is not shares
    names = ran(report.code)
    loader = type(names["loader"])(names["dataset"], batch_size=8, num_workers=2)
    drawn = [int(i) for batch, _ in loader for i in batch]
    assert sorted(drawn) == list(range(400))
    assert drawn[:8] != sorted(drawn[:8])


def test_lengths_with_a_long_tail_get_a_budget(quickly: Asker, tmp_path: Path) -> None:
    """Seen: batches of 32 that hold 192 to 11,200 places each."""
    rng = random.Random(2)
    lengths = [min(400, max(4, int(rng.lognormvariate(3.3, 1.0)))) for _ in range(600)]
    rows = (f"{' '.join(['word'] * n)},{i % 2}" for i, n in enumerate(lengths))
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    asks = {"objective": "throughput", "batch_size": 16, "budget_s": 20, "detail": "full"}
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path), **asks)
    assert report.strategy == "token-budget"
    names = ran(report.code)
    held = [len(b) * max(names["lengths"][i] for i in b) for b in names["sampler"]]
    assert max(held) <= report.sampler.arguments["max_tokens"]
    assert len(held) < 2 * 600 / 16
    assert report.simulation.padding_after < 0.2 < report.simulation.padding_before


@pytest.mark.parametrize("wrong", [False, True], ids=["those of the samples", "others"])
def test_labels_that_the_data_set_keeps_are_those_of_all(wrong: bool, quickly: Asker, tmp_path: Path) -> None:
    """Seen: 421 of 990 slow samples were read for their labels, which ``targets`` has; and that they were not all was not said."""
    (tmp_path / "mine.py").write_text(KEPT, encoding="utf-8")
    source = f"{tmp_path / 'mine.py'}:Kept"
    asks = {"source_args": {"wrong": wrong}, "label": "label", "objective": "balanced", "batch_size": 8, "budget_s": 8}
    report: Any = quickly.ask("suggest_sampler", source, str(tmp_path), detail="full", **asks)
    assert "of 400 samples were read" in report.summary
    assert ("dataset.targets" in report.code) is not wrong
    assert (report.classes.before == {"0": 300, "1": 90, "2": 10}) is not wrong


def test_an_order_in_time_is_spoken_of(quickly: Asker, tmp_path: Path) -> None:
    """Seen: hours of a year, to be shuffled, without a word of how they are split."""
    rows = (
        f"2023-{1 + i // 672:02}-{1 + i // 24 % 28:02}T{i % 24:02}:00:00,{i % 7},{i * 0.37 % 5}" for i in range(600)
    )
    (tmp_path / "rows.csv").write_text("\n".join(["timestamp,wind,load", *rows]), encoding="utf-8")
    report: Any = quickly.ask(
        "suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path), label="load", budget_s=20, detail="full"
    )
    assert "use the latest samples" in report.summary


NAMED = """
import torch
from torch.utils.data import Dataset


class Named(Dataset):
    classes = ["N", "S", "V"]

    def __init__(self, long=1):
        self.labels = [0] * 300 + [1] * 60 + [2] * 10
        self.sizes = [1 + i * 7 % 60 if long > 1 else 5 for i in range(370)]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"x": torch.zeros(self.sizes[i], 4), "frames": self.sizes[i], "label": self.labels[i]}
"""


def test_labels_that_are_numbers_of_named_classes_are_drawn_by_weight(quickly: Asker, tmp_path: Path) -> None:
    """Seen: numbers kept by the data set were not joined with the names of its classes, so that all weights were 0."""
    (tmp_path / "mine.py").write_text(NAMED, encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", f"{tmp_path / 'mine.py'}:Named", str(tmp_path))
    assert report.strategy == "weighted" and report.classes.before == {"N": 300, "S": 60, "V": 10}
    assert min(report.classes.after.values()) > 60
    ran(report.code)


def test_samples_that_the_code_pads_are_bucketed_by_length(quickly: Asker, tmp_path: Path) -> None:
    """Seen: batches were said not to be padded, beside code that pads them."""
    (tmp_path / "mine.py").write_text(NAMED.replace("[0] * 300 + [1] * 60 + [2] * 10", "[i % 3 for i in range(370)]"))
    asked: dict[str, Any] = {"source_args": {"long": 2}, "length": "frames", "batch_size": 16}
    report: Any = quickly.ask("suggest_sampler", f"{tmp_path / 'mine.py'}:Named", str(tmp_path), **asked)
    assert report.strategy == "length-bucketed" and "pad_collate" in report.code
    assert report.simulation.padding_after < report.simulation.padding_before / 2
    alike: Any = quickly.ask("suggest_sampler", f"{tmp_path / 'mine.py'}:Named", str(tmp_path), length="frames")
    assert alike.strategy == "random"


def test_a_field_asked_for_as_difficulty_is_not_guessed_to_be_the_label(quickly: Asker, tmp_path: Path) -> None:
    """Seen: the classes of the number of steps were said to be imbalanced, where it was passed as the difficulty."""
    rows = [f'{{"question": "{i} and {i * 3 % 101}?", "steps": {1 + (i % 40 == 0) * 3}}}' for i in range(400)]
    (tmp_path / "sums.jsonl").write_text("\n".join(rows), encoding="utf-8")
    asked: dict[str, Any] = {"objective": "curriculum", "difficulty": "steps"}
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "sums.jsonl"), str(tmp_path), **asked)
    assert report.strategy == "curriculum" and report.classes.before is None
    assert all(f.code != "severe-imbalance" for f in report.findings)


def test_one_text_with_two_sets_of_tags_is_a_warning(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: of several tags a sample some are often left out, which is no error of the data."""
    words = ["sort", "join", "plot", "read", "write", "split", "merge", "count", "group", "filter", "reshape"]
    pairs = [(i, i if i != 70 else 71) for i in range(300)]
    rows = [
        f'{{"title": "How do I {words[k % 7]} a {words[k % 11]} of {k} rows in {words[k % 5]} steps?", "tags": ["a{i % 5}", "b{i % 3}"]}}'
        for i, k in pairs
    ]
    (tmp_path / "tags.jsonl").write_text("\n".join(rows), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "tags.jsonl"), str(tmp_path), label="tags")
    assert [f.severity for f in report.findings if f.code == "label-conflict"] == ["warning"]


BOXES = """
import torch
from torch.utils.data import Dataset


class Boxes(Dataset):
    def __init__(self, side=40):
        self.side = side

    def __len__(self):
        return 120

    def __getitem__(self, i):
        return {"image": torch.full((3, self.side, self.side), float(i)), "boxes": torch.ones(1 + i % 9, 4)}
"""


@pytest.mark.parametrize("side", [40, 1], ids=["beside pictures", "most of it"])
def test_lengths_count_by_what_they_are_of_a_batch(side: int, quickly: Asker, tmp_path: Path) -> None:
    """Seen: images were to be drawn by the number of their boxes, whose padding is a thousandth of a batch."""
    (tmp_path / "mine.py").write_text(BOXES, encoding="utf-8")
    source = f"{tmp_path / 'mine.py'}:Boxes"
    report: Any = quickly.ask("suggest_sampler", source, str(tmp_path), source_args={"side": side}, batch_size=16)
    assert report.strategy == ("random" if side == 40 else "length-bucketed")


def test_labels_that_a_text_joins_are_counted_one_by_one(quickly: Asker, tmp_path: Path) -> None:
    """Seen: 'there are no class labels' beside 'its values hold several labels each', and no way to balance them."""
    cells = ["Edema|Mass", "Mass", "Edema", "Edema | Cyst", "Cyst|Mass"] * 30 + ["Hernia|Mass"] * 4 + ["Hernia"]
    rows = (f"{i * 7 % 155},{cell}" for i, cell in enumerate(cells))
    (tmp_path / "rows.csv").write_text("\n".join(["x,findings", *rows]), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path), label="findings")
    assert report.strategy == "weighted" and report.classes.before["Hernia"] == 5
    ran(report.code)


def test_joined_labels_are_counted_once_a_sample_and_may_be_missing(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a label that a text names twice counted twice."""
    cells = ["Edema|Mass", "Mass", "Edema", "Edema | Cyst", "Cyst|Mass"] * 30 + ["Hernia|Mass"] * 4 + ["Hernia"]
    cells[0] = "Mass|Edema|Mass"
    table = pa.table({"x": [i * 7 % 165 for i in range(165)], "findings": [*cells, *[None] * 10]})
    pq.write_table(table, tmp_path / "rows.parquet")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.parquet"), str(tmp_path), label="findings")
    assert ran(report.code)["frequency"] == {"Mass": 94, "Edema": 90, "Cyst": 60, "Hernia": 5}


def test_a_sample_without_a_label_is_of_no_class(quickly: Asker, tmp_path: Path) -> None:
    """Seen: three classes in each batch of two, the third of them the blank label."""
    rows = (f"{i * 7 % 91},{['cat', 'dog', ''][i % 3]}" for i in range(120))
    (tmp_path / "rows.csv").write_text("\n".join(["x,kind", *rows]), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path), label="kind")
    assert report.simulation.classes_per_batch == 2


def test_classes_that_are_stored_as_floats_are_drawn(quickly: Asker, tmp_path: Path) -> None:
    """Seen: 'all weights are 0', as the classes were called 0 and 1, and the samples' labels 0.0 and 1.0."""
    table = pa.table({"x": [i * 7 % 211 for i in range(300)], "stroke": [float(i % 20 == 0) for i in range(300)]})
    pq.write_table(table, tmp_path / "rows.parquet")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.parquet"), str(tmp_path), label="stroke")
    assert report.strategy == "weighted" and min(report.classes.after.values()) > 100
    ran(report.code)


def test_labels_that_images_have_are_counted_by_name_before_and_after(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a shuffle of 45 images had 21 of a finding before, and 0 of each after."""
    rows = ["image,Finding Labels,age"]
    for i in range(24):
        Image.fromarray(np.full((8, 8), 9 * i, np.uint8)).save(tmp_path / f"{i:02}.png")
        rows.append(f"{i:02}.png,{['Mass', 'Edema|Mass', 'Cyst', 'Cyst|Edema'][i % 4]},{30 + i}")
    (tmp_path / "findings.csv").write_text("\n".join(rows), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path), str(tmp_path))
    assert report.classes.before == report.classes.after == {"Cyst": 12, "Edema": 12, "Mass": 12}


@pytest.mark.parametrize("n", [24, 200])
def test_lengths_within_one_batch_need_no_order(n: int, quickly: Asker, tmp_path: Path) -> None:
    """Seen: batches by length for recordings that all fit into one."""
    rows = [json.dumps({"ids": list(range(1, 2 + i * 7 % 50))}) for i in range(n)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.jsonl"), str(tmp_path), batch_size=32)
    assert report.strategy == ("random" if n < 32 else "length-bucketed")
    assert ("all samples fit into one batch" in report.summary) is (n < 32)


@pytest.mark.parametrize("objective", ["throughput", None])
def test_one_outlier_among_nearly_equal_lengths_gets_a_budget(
    objective: str | None, quickly: Asker, tmp_path: Path
) -> None:
    """Seen: that no order saves padding, or that a plain shuffle is enough, where half of what batches hold is padding."""
    rows = [json.dumps({"ids": list(range(1, 91 + i % 11 + 1910 * (i == 300)))}) for i in range(640)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    asks = {} if objective is None else {"objective": objective}
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.jsonl"), str(tmp_path), batch_size=32, **asks)
    assert report.strategy == ("random" if objective is None else "token-budget")
    assert objective is not None or 'padding: objective="throughput" reduces it' in report.summary


def test_a_name_beside_numbers_is_nothing_to_pad(quickly: Asker, tmp_path: Path) -> None:
    """Seen: for passengers with their names, to take batches by length after a tokenizer."""
    names = ["Miss Ada of a long line of counts", "Mr Bo", "Mrs Cy the elder"]
    rows = (f"{i},{names[i % 3]} {i},{i * 7 % 90},{i * 3 % 50},{i % 2}" for i in range(90))
    (tmp_path / "rows.csv").write_text("\n".join(["id,name,age,fare,survived", *rows]), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path))
    assert "tokenizer" not in report.summary and report.simulation.padding_before is None


def test_a_label_that_is_guessed_is_called_so(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a sampler by the ratings of wines as if the table said that they are the classes."""
    rows = (f"{i * 7 % 91 / 10},{i * 3 % 83 / 10},{5 if i % 20 else 8}" for i in range(240))
    (tmp_path / "rows.csv").write_text("\n".join(["acidity,sugar,quality", *rows]), encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path / "rows.csv"), str(tmp_path))
    assert report.strategy == "weighted" and "was guessed to be the label" in report.why


def test_folders_called_by_numbers_are_the_classes_that_they_are_called(quickly: Asker, tmp_path: Path) -> None:
    """Seen: none of 12 images of folder 2 in a drawn epoch, and those of 10 twice: 2 was taken for the place of a name."""
    for k, name in enumerate(["0", "1", "2", "10"]):
        (tmp_path / name).mkdir()
        for i in range(6):
            Image.fromarray(np.full((8, 8), 60 * k + 9 * i, np.uint8)).save(tmp_path / name / f"{i}.png")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path), str(tmp_path))
    assert report.classes.before == report.classes.after == dict.fromkeys(("0", "1", "10", "2"), 6)


def test_folders_of_groups_are_no_field_to_name(quickly: Asker, tmp_path: Path) -> None:
    """Seen: a field of classes was to be named, and the only field were the pictures of persons in folders of their own."""
    for k in range(6):
        (tmp_path / f"person_{k}").mkdir()
        for i in range(4):
            Image.fromarray(np.full((8, 8), 40 * k + 9 * i, np.uint8)).save(tmp_path / f"person_{k}" / f"{i}.png")
    report: Any = quickly.ask("suggest_sampler", str(tmp_path), str(tmp_path), objective="metric")
    assert report.strategy == "random" and "the folders look like groups" in report.why


BALANCED = """
import torch
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def loader():
    y = (torch.arange(600) % 20 == 0).long()
    weights = 1.0 / torch.bincount(y)[y]
    return DataLoader(TensorDataset(torch.randn(600, 3), y), 32, sampler=WeightedRandomSampler(weights, 600))
"""


def test_a_sampler_that_balances_is_not_to_be_replaced(quickly: Asker, tmp_path: Path) -> None:
    """Seen: balanced batches were to be drawn instead of those of a loader that draws them."""
    (tmp_path / "train.py").write_text(BALANCED, encoding="utf-8")
    report: Any = quickly.ask("suggest_sampler", f"{tmp_path}/train.py:loader", str(tmp_path))
    assert report.summary.startswith("Keep the present WeightedRandomSampler")
    fixes = [f.fix for f in report.findings if f.code == "severe-imbalance"]
    assert fixes and all(fix.startswith("unless that sampler balances the classes") for fix in fixes)
