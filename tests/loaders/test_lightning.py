"""Lightning's Trainer runs our data module as it is, and as a ``LightningDataModule``; samplers of ours are split once."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.making.lightning import BATCH, EPOCHS, SAMPLES

pytestmark = pytest.mark.journey

if find_spec("pytorch_lightning") is None:  # importing it takes seconds: only the programs below do
    pytest.skip("no pytorch_lightning", allow_module_level=True)
ROOT = Path(__file__).parents[2]
TRAINED = SAMPLES * 3 // 4


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each rank saw, by kind, processes and rank; one program, since Lightning takes seconds to import."""
    folder = tmp_path_factory.mktemp("lightning")
    command = [sys.executable, "-m", "tests.making.lightning", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    return {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_one_process_trains_on_each_sample_once_an_epoch(seen: dict[str, dict[str, Any]], kind: str) -> None:
    """Our module as it is, and as theirs: the parts are apart and whole, and each epoch has an order of its own."""
    alone = seen[f"{kind}-1-rank-0"]
    assert len(alone["train"]) == EPOCHS
    for epoch in alone["train"]:
        assert len(epoch) == len(set(epoch)) == TRAINED
    assert alone["train"][0] != alone["train"][1]
    assert set(alone["val"]).isdisjoint(alone["train"][0])
    assert set(alone["val"]) | set(alone["train"][0]) == set(range(SAMPLES))


def test_two_processes_share_an_epoch_by_our_sampler(seen: dict[str, dict[str, Any]]) -> None:
    """Lightning leaves it. Together they see each sample, and again only what fills the last round; as many batches."""
    ranks = [seen[f"theirs-2-rank-{rank}"] for rank in range(2)]
    assert {rank["sampler"] for rank in ranks} == {"TorchShuffleSampler"}
    for epochs in zip(*(rank["train"] for rank in ranks), strict=True):
        assert len({len(ids) for ids in epochs}) == 1
        together = [i for ids in epochs for i in ids]
        assert len(set(together)) == TRAINED
        assert len(together) <= TRAINED + 2 * BATCH
    assert ranks[0]["train"][0] != ranks[0]["train"][1]


@pytest.mark.parametrize("kind", ["weighted", "buckets"])
def test_two_processes_split_once_what_a_sampler_of_ours_decides(seen: dict[str, dict[str, Any]], kind: str) -> None:
    """Weighted draws as many as samples; buckets each sample once."""
    ranks = [seen[f"{kind}-2-rank-{rank}"]["train"] for rank in range(2)]
    for epoch in range(EPOCHS):
        assert len(ranks[0][epoch]) == len(ranks[1][epoch]) == SAMPLES // 2
        if kind == "buckets":
            assert sorted(ranks[0][epoch] + ranks[1][epoch]) == list(range(SAMPLES))
    assert ranks[0][0] != ranks[0][1] and ranks[0][0] != ranks[1][0]
