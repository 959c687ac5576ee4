"""Lightning's Trainer runs our data module as it is, and as a ``LightningDataModule``; its replacing of samplers too."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.making.lightning import BATCH, EPOCHS, SAMPLES

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


def test_two_processes_share_an_epoch_out_though_lightning_replaces_the_sampler(
    seen: dict[str, dict[str, Any]],
) -> None:
    """Together they see each sample, and again only what makes the last round whole; as many batches each."""
    ranks = [seen[f"theirs-2-rank-{rank}"] for rank in range(2)]
    assert {rank["sampler"] for rank in ranks} == {"DistributedSampler"}
    for epochs in zip(*(rank["train"] for rank in ranks), strict=True):
        assert len({len(ids) for ids in epochs}) == 1
        together = [i for ids in epochs for i in ids]
        assert len(set(together)) == TRAINED
        assert len(together) <= TRAINED + 2 * BATCH
