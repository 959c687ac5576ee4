"""Lightning's Trainer runs our data module as it is, and as a ``LightningDataModule``; its replacing of samplers too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.making.lightning import BATCH, EPOCHS, SAMPLES

pytest.importorskip("pytorch_lightning")
ROOT = Path(__file__).parents[2]
TRAINED = SAMPLES * 3 // 4


def fitted(processes: int, folder: Path, *kinds: str) -> dict[str, list[dict[str, Any]]]:
    """What each rank saw, by kind; one program, since Lightning takes seconds to import."""
    command = [sys.executable, "-m", "tests.making.lightning", str(processes), str(folder), *kinds]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    return {k: [json.loads((folder / f"{k}-rank-{r}.json").read_text()) for r in range(processes)] for k in kinds}


def test_one_process_trains_on_each_sample_once_an_epoch(tmp_path: Path) -> None:
    """Our module as it is, and as theirs: the parts are apart and whole, and each epoch has an order of its own."""
    for [seen] in fitted(1, tmp_path, "ours", "theirs").values():
        assert len(seen["train"]) == EPOCHS
        for epoch in seen["train"]:
            assert len(epoch) == len(set(epoch)) == TRAINED
        assert seen["train"][0] != seen["train"][1]
        assert set(seen["val"]).isdisjoint(seen["train"][0])
        assert set(seen["val"]) | set(seen["train"][0]) == set(range(SAMPLES))


def test_two_processes_share_an_epoch_out_though_lightning_replaces_the_sampler(tmp_path: Path) -> None:
    """Together they see each sample, and again only what makes the last round whole; as many batches each."""
    ranks = fitted(2, tmp_path, "theirs")["theirs"]
    assert {seen["sampler"] for seen in ranks} == {"DistributedSampler"}
    for epochs in zip(*(seen["train"] for seen in ranks), strict=True):
        assert len({len(ids) for ids in epochs}) == 1
        together = [i for ids in epochs for i in ids]
        assert len(set(together)) == TRAINED
        assert len(together) <= TRAINED + 2 * BATCH
