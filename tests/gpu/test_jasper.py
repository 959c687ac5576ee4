"""On a CUDA device: a JASPER data set that is held there gives batches that are there, of every variant."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dataloader_expert.loaders import JASPERSteeringDataset, create_loader, validate_first_batch
from dataloader_expert.probes.system.environment import may_have_devices
from tests.loaders.looking import joined, same
from tests.making import jasper

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not may_have_devices(), reason="no CUDA device"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return jasper.make(tmp_path / "jasper")


@pytest.mark.parametrize("forced", [None, "zero", "centroid", "keyword", "residual"])
def test_batches_are_on_the_device(folder: Path, forced: str | None) -> None:
    """Zero vectors too, so that samples stack; the values are those of the CPU."""
    loaders = [create_loader(folder, "train", 8, device=device) for device in ("cuda", "cpu")]
    for loader in loaders:
        loader.dataset_obj.force_steering(forced)
    there, here = map(joined, loaders)
    assert {t.device.type for t in there.values()} == {"cuda"}
    assert same({n: t.cpu() for n, t in there.items()}, here)
    sample = loaders[0].dataset_obj[3]
    assert {t.device.type for t in sample.values()} == {"cuda"}


def test_nothing_is_fetched_or_pinned(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Workers and pinning are left out, which the log says."""
    with caplog.at_level(logging.INFO, "dataloader_expert"):
        loader = create_loader(folder, "train", 8, 2, device="cuda")
    assert (loader.num_workers, loader.pin_memory) == (0, False)
    assert "without workers and pinning" in caplog.text
    assert validate_first_batch(loader)


def test_new_negatives_are_moved(folder: Path) -> None:
    """A reload leaves no tensor behind on the CPU."""
    dataset = JASPERSteeringDataset(folder, "train", device="cuda")
    jasper.rewrite(folder, hard_negatives=(jasper.stored(folder, "hard_negatives") + 1) % jasper.SOURCES)
    dataset.reload_negatives()
    assert dataset.hard_negatives.device.type == dataset.negative_tiers.device.type == "cuda"
    assert dataset.__getitems__([0, 1]).batch["negative_embs"].device.type == "cuda"


def test_splits_share_one_copy_on_the_device(folder: Path) -> None:
    """As in memory."""
    splits = JASPERSteeringDataset.create_combined_splits(folder, device="cuda")
    assert len({d.source_embs.data_ptr() for d in splits.values()}) == 1


def test_an_index_out_of_range_is_refused(folder: Path) -> None:
    """On a device it would otherwise end the process."""
    dataset = JASPERSteeringDataset(folder, "train", device="cuda")
    with pytest.raises(IndexError, match="out of range"):
        dataset.__getitems__([0, 80])
