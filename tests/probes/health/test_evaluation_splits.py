"""What datasets for validation must not do, and do not do when they only read what is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.evaluation_splits import EvaluationSplits
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.reference import Reference

CODE = """
import torch
from torch.utils.data import DataLoader, Dataset

class Stamps(Dataset):
    def __init__(self, split, classes=("bird", "crown", "ship"), random=False, highest=2):
        self.random, self.highest, self.classes = random or split == "train", highest, list(classes)
        {numbers}

    def __len__(self):
        return 30

    def __getitem__(self, index):
        noise = torch.rand(4) if self.random else torch.zeros(4)
        return noise + index, min(index % 3, self.highest)

def datasets():
    return {{"train": DataLoader(Stamps("train"), 8, shuffle=True, drop_last=True), "val": {val}}}
"""
NUMBERS = "self.class_to_idx = {name: k for k, name in enumerate(classes)}"


def told(val: str, tmp_path: Path, numbers: str = "") -> list[tuple[str, str]]:
    (tmp_path / "mine.py").write_text(CODE.format(val=val, numbers=numbers))
    roots = (str(tmp_path),)
    ref = SourceRef(f"{tmp_path / 'mine.py'}:datasets", roots, code=True)
    bench = Bench(Reference.open(Listing(Path(), roots), ref), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = Facts(tuple(said for said in EvaluationSplits().measure(bench) if isinstance(said, Fact)))
    return [(f.code, f.severity) for f in findings_of(facts)]


@pytest.mark.parametrize(
    "val",
    [
        'Stamps("val")',
        'DataLoader(Stamps("val"), 8)',
        'DataLoader(Stamps("val"), 10, drop_last=True)',  # which leaves none over
        'Stamps("val", ("bird", "crown"), highest=1)',
        'Stamps("val", ("bird", "ship"))',  # whose labels are no places in this list
    ],
)
def test_sound_splits_for_evaluation_are_left_alone(val: str, tmp_path: Path) -> None:
    assert told(val, tmp_path) == []


@pytest.mark.parametrize(
    ("val", "numbers", "found"),
    [
        ('Stamps("val", random=True)', "", ("not-deterministic", "warning")),
        ('DataLoader(Stamps("val"), 8, drop_last=True)', "", ("batches-dropped", "warning")),
        ('Stamps("val", ("ship", "crown", "bird"))', "", ("label-conflict", "warning")),
        ('Stamps("val", ("crown", "ship"), highest=1)', NUMBERS, ("label-conflict", "error")),
    ],
)
def test_what_evaluation_must_not_do_is_told(val: str, numbers: str, found: tuple[str, str], tmp_path: Path) -> None:
    """Seen: validation that augmented as training does, dropped its last batch or sorted its classes another way passed."""
    assert told(val, tmp_path, numbers) == [found]
