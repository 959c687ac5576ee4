"""Hugging Face's ``Trainer`` over our loader, without a break and resumed from a checkpoint in its second epoch.

``python -m tests.making.interrupted FOLDER`` prints the batches of both as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
import transformers

from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

STOP = 14
"""Steps before the break; an epoch has 11."""


class Rows(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 41

    def __getitem__(self, index: int) -> Any:
        return {"id": index, "x": float(index)}


class Noting(torch.nn.Module):
    """Notes the samples of each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.seen = torch.nn.Linear(1, 1), list[Any]()

    def forward(self, id: torch.Tensor, x: torch.Tensor) -> Any:
        self.seen.append(id.tolist())
        return {"loss": self.layer(x.float()[:, None]).mean() * 0}


class Ours(transformers.Trainer):
    def get_train_dataloader(self) -> Any:
        return DataLoaderFactory().create_dataloader(Rows(), DataLoaderConfig(batch_size=4, num_workers=0, seed=1))


class Stop(transformers.TrainerCallback):
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == STOP:
            control.should_save = control.should_training_stop = True


def trained(folder: str, stop: bool = False, resume: str | None = None) -> list[Any]:
    model = Noting()
    how: dict[str, Any] = {"use_cpu": True, "report_to": [], "disable_tqdm": True, "save_strategy": "no"}
    how |= {"num_train_epochs": 3, "per_device_train_batch_size": 4, "remove_unused_columns": False}
    arguments = transformers.TrainingArguments(folder, logging_strategy="no", **how)
    Ours(model=model, args=arguments, callbacks=[Stop()] if stop else [], train_dataset=Rows()).train(
        resume_from_checkpoint=resume
    )
    return model.seen


if __name__ == "__main__":
    folder = sys.argv[1]
    whole = trained(folder)
    parts = trained(folder, stop=True) + trained(folder, resume=f"{folder}/checkpoint-{STOP}")
    print(json.dumps({"whole": whole, "parts": parts}))
