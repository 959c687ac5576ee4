"""Lightning runs over our data module (``ours``), over a ``LightningDataModule`` of it (``theirs``), and over loaders with
samplers of ours (``weighted``, ``buckets``).

``python -m tests.making.lightning FOLDER`` writes, for all but ``ours`` in two processes and for the first two in one,
``FOLDER/KIND-PROCESSES-rank-N.json``: the ids of each epoch of training and of validation, and the sampler of training.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory, UniversalDataModule
from dataloader_expert.samplers import LengthBucketBatchSampler, WeightedSampler

SAMPLES, EPOCHS, BATCH = 60, 2, 5


class Ids(Dataset[Any]):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"x": torch.full((4,), float(index)), "id": index}


def main() -> None:
    warnings.filterwarnings("ignore")  # of Lightning's own, on workers and logging
    import pytorch_lightning as pl

    folder = Path(sys.argv[1])

    class Model(pl.LightningModule):
        def __init__(self, kind: str, data: Any = None) -> None:
            super().__init__()
            self.kind = kind
            self.layer = torch.nn.Linear(4, 1)
            self.seen: dict[str, Any] = {"train": [], "val": [], "sampler": ""}
            if data is not None:
                hooks: Any = self
                hooks.train_dataloader, hooks.val_dataloader = data.train_dataloader, data.val_dataloader

        def on_train_epoch_start(self) -> None:
            self.seen["train"].append([])

        def training_step(self, batch: Any, _: int) -> Any:
            self.seen["train"][-1] += batch["id"].tolist()
            return self.layer(batch["x"]).mean()

        def validation_step(self, batch: Any, _: int) -> None:
            self.seen["val"] += batch["id"].tolist()

        def on_train_end(self) -> None:
            trainer: Any = self.trainer
            self.seen["sampler"] = type(trainer.train_dataloader.sampler).__name__
            name = f"{self.kind}-{trainer.num_devices}-rank-{self.global_rank}.json"
            (folder / name).write_text(json.dumps(self.seen))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class Data(pl.LightningDataModule):
        def __init__(self, data: UniversalDataModule) -> None:
            super().__init__()
            self.data = data

        def train_dataloader(self) -> Any:
            return self.data.train_dataloader()

        def val_dataloader(self) -> Any:
            return self.data.val_dataloader()

    class Sampled(pl.LightningDataModule):
        """A loader with a sampler of ours, made by the factory, or (``weighted``) by torch alone."""

        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind = kind

        def train_dataloader(self) -> Any:
            if self.kind == "weighted":
                sampler = WeightedSampler(range(1, SAMPLES + 1), seed=3)
                return torch.utils.data.DataLoader(Ids(), batch_size=BATCH, sampler=sampler)
            buckets = LengthBucketBatchSampler([i % 7 for i in range(SAMPLES)], BATCH, seed=3)
            return DataLoaderFactory().create_dataloader(Ids(), DataLoaderConfig(batch_sampler=buckets, num_workers=0))

    # forks before this process has computed
    for kind, processes in (("theirs", 2), ("weighted", 2), ("buckets", 2), ("ours", 1), ("theirs", 1)):
        data: Any = UniversalDataModule(Ids(), batch_size=BATCH, val_split=0.25, num_workers=0, seed=3)
        trainer = pl.Trainer(
            max_epochs=EPOCHS,
            accelerator="cpu",
            devices=processes,
            strategy="ddp_fork" if processes > 1 else "auto",
            num_sanity_val_steps=0,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        if kind == "ours":
            trainer.fit(Model(kind, data))
        else:
            trainer.fit(Model(kind), datamodule=Data(data) if kind == "theirs" else Sampled(kind))


if __name__ == "__main__":
    main()
