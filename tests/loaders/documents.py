"""Python in Markdown documents, and what a document takes for granted: data, a tokenizer, other packages' names."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import datasets
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, TensorDataset

from dataloader_expert import loaders
from tests.loaders.material import library_tokenizer

OURS = re.compile(
    r"\butils\.training\.engine\.data\b|\butils\.training\.(?:task_spec|seed_manager)\b"
    r"|\butils\.tokenization\.data_collator\b|\bdream_trainer\.utils\.dataloader\b"
)
"""Modules of the documents' own projects that ours takes the place of."""
HEADING = re.compile(r"#+ +(.*?)\s*")


@dataclass(frozen=True)
class Block:
    """A fenced block of Python: the last heading above it, which block below that it is (from 1), and its text."""

    heading: str
    number: int
    text: str


def blocks(markdown: str) -> list[Block]:
    """The Python blocks of a document, in its order; what is fenced otherwise is passed over."""
    found: list[Block] = []
    heading, language = "", None
    inside: list[str] = []
    for line in markdown.splitlines():
        if line.startswith("```"):
            if language == "python":
                before = sum(block.heading == heading for block in found)
                found.append(Block(heading, before + 1, "\n".join(inside) + "\n"))
            language, inside = (line[3:].strip() or "text") if language is None else None, []
        elif language is not None:
            inside.append(line)
        elif match := HEADING.fullmatch(line):
            heading = match[1]
    return found


def with_our_imports(code: str) -> str:
    return OURS.sub(loaders.__name__, code)


def run(code: str, names: dict[str, Any], title: str) -> None:
    """Executes ``code`` in ``names``, with our imports."""
    exec(compile(with_our_imports(code), title, "exec", dont_inherit=True), names)


@dataclass
class TrainingConfig:
    """Settings of a training, as the guide names them."""

    batch_size: int
    epochs: int
    learning_rate: float
    random_seed: int


class CheckpointManager:
    """Saves states of training in a folder, as the guide calls it."""

    def __init__(self, checkpoint_dir: str) -> None:
        self.folder = Path(checkpoint_dir)

    def save(self, *, model: Any, optimizer: Any, scheduler: Any, **rest: Any) -> Path:
        self.folder.mkdir(parents=True)
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
        torch.save({**{name: part.state_dict() for name, part in parts.items()}, **rest}, self.folder / "last.pt")
        return self.folder / "last.pt"

    def load(self, path: Path) -> dict[str, Any]:
        return dict(torch.load(path, weights_only=True))


class Spectrogram:
    """torchaudio's, with its default window and hop."""

    def __init__(self, n_fft: int) -> None:
        self.n_fft = n_fft

    def __call__(self, waves: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(self.n_fft)
        return torch.stft(waves, self.n_fft, window=window, return_complex=True).abs().square()


class Compose:
    """torchvision's: one transform behind the other."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __call__(self, image: Any) -> Any:
        for part in self.parts:
            image = part(image)
        return image


def transforms() -> SimpleNamespace:
    """The names of torchvision's transforms that a document uses; each does the simplest thing of its kind."""

    def normalize(mean: list[float], std: list[float]) -> Any:
        return lambda x: (x - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)

    return SimpleNamespace(
        Compose=Compose,
        RandomResizedCrop=lambda size: lambda image: image.resize((size, size)),
        RandomHorizontalFlip=lambda: lambda image: image,
        ToTensor=lambda: lambda image: torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255,
        Normalize=normalize,
    )


def stand_ins() -> dict[str, ModuleType]:
    """Modules that the documents import and that are none of ours, nor installed, by name."""
    made: dict[str, ModuleType] = {}
    contents: dict[str, dict[str, Any]] = {
        "utils.training.training_config": {"TrainingConfig": TrainingConfig},
        "utils.training.engine.checkpoint": {"CheckpointManager": CheckpointManager},
        "torchaudio.transforms": {"Spectrogram": Spectrogram},
    }
    for name, values in contents.items():
        parts = name.split(".")
        for i in range(len(parts)):
            part = ".".join(parts[: i + 1])
            made.setdefault(part, ModuleType(part))
            if i:
                setattr(made[".".join(parts[:i])], parts[i], made[part])
        vars(made[name]).update(values)
    return made


def load_dataset(path: str, name: str | None = None, *, split: str) -> Any:
    """A few rows with the columns that the data set of that name has on Hugging Face's Hub."""
    if path == "wikitext":
        texts = ["", " = the cat = \n", "", " the cat sat on the mat \n", " the dog \n"]
        return datasets.Dataset.from_dict({"text": texts * 16})
    assert path == "cifar10"
    images = [Image.new("RGB", (32, 32), (8 * i, 0, 255 - 8 * i)) for i in range(24)]
    kinds = datasets.ClassLabel(names=[f"class {i}" for i in range(10)])
    features = datasets.Features({"img": datasets.Image(), "label": kinds})
    return datasets.Dataset.from_dict({"img": images, "label": [i % 10 for i in range(24)]}, features=features)


class Fetched(IterableDataset[Any]):
    """The method that a document's streaming dataset calls and leaves open: ours."""

    def stream_from_url(self, url: str) -> Any:
        return loaders.StreamingDataset([url]).stream_from_url(url)


def taken_for_granted(folder: Path) -> dict[str, Any]:
    """Names that the documents use without making them. ``folder``: of files."""
    tokenizer = library_tokenizer()
    text = load_dataset("wikitext", split="train")
    tensors = TensorDataset(torch.arange(24.0)[:, None])
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    task_spec, registry = loaders.TaskSpec.lm_tiny(), loaders.CollatorRegistry.get_instance()
    data_module = loaders.UniversalDataModule(tensors, batch_size=4, num_workers=0)
    world = SimpleNamespace(size=1, rank=0, local_size=1, device=torch.device("cpu"))
    (folder / "stream.txt").write_text("first\nsecond\n", encoding="utf-8")
    names = {
        "tokenizer": tokenizer,
        "dataset": text,
        "train_dataset": tensors,
        "val_dataset": tensors,
        "train_data": [torch.tensor([i]) for i in range(64)],
        "data_module": data_module,
        "task_spec": task_spec,
        "registry": registry,
        "collator": registry.get_collator(task_spec=task_spec, tokenizer=tokenizer),
        "my_custom_collator": list,
        "factory": loaders.DataLoaderFactory(),
        "config": loaders.DataLoaderConfig(),
        "model": model,
        "optimizer": optimizer,
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1),
        "epoch": 2,
        "step": 3,
        "self": SimpleNamespace(world=world, seed=0),
        "batch_size": 8,
        "urls": [str(folder / "stream.txt")],
        "input_tensor": torch.ones(2, 3),
        "target_tensor": torch.ones(2),
        "attention_mask": torch.ones(2, 3),
        "transforms": transforms(),
        "load_dataset": load_dataset,
        "folder": folder,
    }
    for name in ("train_loader", "val_loader", "train_dataloader"):
        names[name] = DataLoader(tensors, batch_size=8)
    modules = {"torch": torch, "loaders": loaders, "os": os}
    types = (DataLoader, Dataset, DistributedSampler, IterableDataset, TensorDataset, SimpleNamespace, Fetched)
    ours = {name: getattr(loaders, name) for name in loaders.__all__}
    return {**ours, **modules, **{t.__name__: t for t in types}, **names, "__name__": "document"}


def installed(monkeypatch: Any, code: str) -> None:
    """Makes the stand-ins that ``code`` imports importable, and Hugging Face's ``load_dataset`` ours."""
    for name, module in stand_ins().items():
        if name in with_our_imports(code):  # no others: packages look which of these there are
            monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
