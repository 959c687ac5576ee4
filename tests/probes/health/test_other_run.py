"""Whether another run of Python reads the same samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.advice.worker_content import from_run_to_run
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.other_run import OtherRun
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.reference import Reference

CODE = """
import random
import torch
from torch.utils.data import Dataset

NAMES = ["oak", "ash", "elm", "fir", "yew", "box", "bay", "fig"] * 3
CLASSES = {classes}

class Leaves(Dataset):
    def __len__(self):
        return len(NAMES)

    def __getitem__(self, index):
        print("read", index)
        return torch.full((3,), float(index)), CLASSES.index(NAMES[index])
"""


@pytest.mark.journey
@pytest.mark.parametrize(
    ("classes", "told"),
    [
        ("list(set(NAMES))", True),
        ("sorted(set(NAMES))", False),
        ("random.sample(sorted(set(NAMES)), 8)", False),
        ("sorted(dict.fromkeys(NAMES))", None),
    ],
    ids=["in the order of a set", "sorted", "drawn at random", "without hashes"],
)
def test_labels_that_change_from_run_to_run_are_told(classes: str, told: bool | None, tmp_path: Path) -> None:
    """Seen: classes numbered in the order of a set, which differs when the model is evaluated, were not noticed."""
    (tmp_path / "mine.py").write_text(CODE.format(classes=classes))
    roots = (str(tmp_path),)
    ref = SourceRef(f"{tmp_path / 'mine.py'}:Leaves", roots, code=True)
    bench = Bench(Reference.open(Listing(Path(), roots), ref), ref, 0, None, lambda at: None, lambda text, share: None)
    said = list(OtherRun(most_s=300).measure(bench))
    if told is None:
        assert said == []
        return
    facts = Facts(tuple(fact for fact in said if isinstance(fact, Fact)))
    found = list(from_run_to_run(facts))
    assert [f.code for f in found] == (["not-deterministic"] if told else []), said
    assert not told or ("mine.py:7" in found[0].message and "1 changes" in found[0].message)
