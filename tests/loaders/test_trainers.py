"""Accelerate and Hugging Face's Trainer over our loaders, in two real processes: prepared by them or not, one split."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.making.ranked import EPOCHS, HEAVY, SAMPLES

pytestmark = pytest.mark.journey

if find_spec("accelerate") is None or find_spec("transformers") is None:  # importing them takes seconds
    pytest.skip("no accelerate or no transformers", allow_module_level=True)
ROOT = Path(__file__).parents[2]
HOW = ["prepared", "plain"]
LOADERS = ["default", "workers", "module", "weighted", "buckets", "uneven", "stream", "stream-workers", "files"]
CASES = [f"accelerate-{name}-{how}" for name in LOADERS for how in HOW] + ["accelerate-bare-files-prepared"]
CASES += [f"trainer-{name}-{how}" for name in ("default", "weighted") for how in HOW]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each rank saw: by case and rank, epochs of batches of (id, number drawn)."""
    folder = tmp_path_factory.mktemp("ranked")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*command, "-m", "tests.making.ranked", str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {file.stem: json.loads(file.read_text()) for file in folder.glob("*-rank-*.json")}


def name_of(case: str) -> str:
    return case.split("-")[1]


@pytest.mark.parametrize("case", CASES)
def test_two_ranks_share_each_epoch(case: str, seen: dict[str, Any]) -> None:
    """As many batches each; together every sample once, or as many weighted draws as there are samples."""
    ranks = [seen[f"{case}-rank-{rank}"] for rank in range(2)]
    for epoch in range(EPOCHS):
        assert len(ranks[0][epoch]) == len(ranks[1][epoch])
        counts = Counter(i for rank in ranks for batch in rank[epoch] for i, _ in batch)
        assert sum(counts.values()) == SAMPLES or (name_of(case) == "uneven" and len(counts) == SAMPLES)
        if "weighted" in case:
            assert counts[HEAVY] > 5
        else:
            assert len(counts) == SAMPLES
    if "stream" not in case and "files" not in case:
        drawn = [noise for rank in ranks for epoch in rank for batch in epoch for _, noise in batch]
        assert len(set(drawn)) >= EPOCHS * SAMPLES  # each draw of each epoch is augmented anew
        assert ranks[0][0] != ranks[0][1]


def test_a_trainer_resumes_a_later_epoch_in_its_own_order(tmp_path: Path) -> None:
    """Hugging Face's Trainer skips batches before it names the epoch."""
    command = [sys.executable, "-m", "tests.making.interrupted", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told["whole"]) == 33
    assert told["parts"] == told["whole"]
