"""Trainers of other libraries run over our loaders, as ranks of a real process group.

``python -m torch.distributed.run --nproc-per-node 2 -m tests.making.ranked FOLDER`` writes ``FOLDER/NAME-rank-N.json``: the
ids of each epoch, batch by batch, with the number that was drawn for each sample. NAME says the trainer, the loader, and
whether the trainer was given the loader to prepare.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset

from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory, StreamingDataset, UniversalDataModule
from dataloader_expert.samplers import GroupBatchSampler, LengthBucketBatchSampler, WeightedSampler

SAMPLES, EPOCHS, BATCH = 64, 2, 4
HEAVY = 7
"""The sample that weighted draws repeat."""


class Ids(Dataset[Any]):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"id": index, "noise": torch.rand((), dtype=torch.float64), "x": torch.ones(4)}


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        for index in range(SAMPLES):
            yield {"id": index, "noise": 0.0, "x": torch.ones(4)}


def loader(dataset: Any, **settings: Any) -> Any:
    """A loader of the factory."""
    config = DataLoaderConfig(**{"batch_size": BATCH, "num_workers": 0, **settings})
    return DataLoaderFactory().create_dataloader(dataset, config)


def files(folder: Path) -> StreamingDataset:
    """Five files of unlike length."""
    cuts = [0, 5, 11, 30, 50, SAMPLES]
    for at in range(5):
        rows = ({"id": i, "noise": 0.0, "x": [1.0] * 4} for i in range(cuts[at], cuts[at + 1]))
        made = folder / f"{at}-{os.getpid()}"
        made.write_text("".join(json.dumps(row) + "\n" for row in rows))
        made.replace(folder / f"{at}.jsonl")  # the other rank may be reading its own
    return StreamingDataset([str(folder / f"{at}.jsonl") for at in range(5)], 8)


def loaders(folder: Path) -> dict[str, Callable[[], Any]]:
    """How each loader is made."""
    weights = [20.0 if i == HEAVY else 1.0 for i in range(SAMPLES)]
    lengths = [1 + i % 9 for i in range(SAMPLES)]
    return {
        "default": lambda: loader(Ids()),
        "workers": lambda: loader(Ids(), num_workers=2),
        "module": lambda: UniversalDataModule(Ids(), batch_size=BATCH, val_split=0, num_workers=0).train_dataloader(),
        "weighted": lambda: loader(Ids(), sampler=WeightedSampler(weights, seed=1)),
        "uneven": lambda: loader(Ids(), batch_sampler=GroupBatchSampler([i // 3 for i in range(SAMPLES)], BATCH, 1)),
        "buckets": lambda: loader(Ids(), batch_sampler=LengthBucketBatchSampler(lengths, BATCH, seed=1)),
        "stream": lambda: loader(Stream(), shuffle=False),
        "stream-workers": lambda: loader(Stream(), shuffle=False, num_workers=2),
        "files": lambda: loader(files(folder), shuffle=False),
        "bare-files": lambda: torch.utils.data.DataLoader(files(folder), batch_size=BATCH),
    }


def rows(batch: Any) -> list[tuple[int, float]]:
    return list(zip(batch["id"].tolist(), batch["noise"].tolist(), strict=True))


def with_accelerate(folder: Path) -> None:
    """Prepared, as its users do, and not."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index
    for name, make in loaders(folder).items():
        for prepared in (True, False):
            if name == "bare-files" and not prepared:
                continue
            made = make()
            given = accelerator.prepare(made) if prepared else made
            seen = []
            for epoch in range(EPOCHS):
                getattr(given, "set_epoch", lambda epoch: None)(epoch)
                seen.append([rows(batch) for batch in given])
            how = "prepared" if prepared else "plain"
            (folder / f"accelerate-{name}-{how}-rank-{rank}.json").write_text(json.dumps(seen))


def with_trainer(folder: Path) -> None:
    """Hugging Face's ``Trainer``, whose subclass gives our loader, prepared and not."""
    import transformers

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.seen: list[Any] = []

        def forward(self, id: Any = None, noise: Any = None, x: Any = None) -> Any:
            self.seen.append(list(zip(id.tolist(), noise.tolist(), strict=True)))
            return {"loss": self.layer(x).mean()}

    for name in ("default", "weighted"):
        for prepared in (True, False):
            made = loaders(folder)[name]()

            class Ours(transformers.Trainer):
                def get_train_dataloader(self, made: Any = made, prepared: bool = prepared) -> Any:
                    return self.accelerator.prepare(made) if prepared else made

            model = Model()
            arguments = transformers.TrainingArguments(
                output_dir=str(folder / "out"),
                num_train_epochs=EPOCHS,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                remove_unused_columns=False,
            )
            trainer = Ours(model=model, args=arguments)
            trainer.train()
            half = len(model.seen) // EPOCHS
            seen = [model.seen[:half], model.seen[half:]]
            how = "prepared" if prepared else "plain"
            rank = arguments.process_index
            (folder / f"trainer-{name}-{how}-rank-{rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    with_accelerate(Path(sys.argv[1]))
    with_trainer(Path(sys.argv[1]))
