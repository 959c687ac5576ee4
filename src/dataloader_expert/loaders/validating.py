"""A check of the first batch before training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.utils.data import DataLoader, Subset

from dataloader_expert.loaders.building import twin
from dataloader_expert.loaders.collate import pad_collate
from dataloader_expert.loaders.epochs import has_states, samplers_of, wrapped
from dataloader_expert.loaders.jasper.batches import check_ranges, check_shapes
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.layouts.images import GenericImageDataset
from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.loaders.seeding import states_kept
from dataloader_expert.samplers.base import EpochSampler


def validate_first_batch(loader: DataLoader[Any]) -> bool:
    """Checks keys, shapes and ranges of the first batch, and that it has no NaN and infinities; returns True.

    The batch is made in this process, and random states are restored: the loader's batches do not change. Of a JASPER
    loader all nine keys are checked, clusters and tiers too; of others, that tensors agree in their batch dimension and
    are finite, and that labels are existing classes. An ``AssertionError`` names the key and its fault, or that there is no batch.
    """
    if not isinstance(loader, DataLoader):
        raise TypeError(f"loader is a {type(loader).__name__}; pass a DataLoader")
    batch = _first(loader)
    datasets = wrapped(loader.dataset)
    own = next((d for d in datasets if isinstance(d, JASPERSteeringDataset)), None)
    if own is not None:
        check_shapes(batch)
    _check_any(batch)
    if own is not None:
        check_ranges(batch, len(own.centroid_embs))
        return True
    for dataset in datasets:
        if isinstance(dataset, SourceDataset):
            # with or without the fields that vary, which functools.partial gives it
            if getattr(loader.collate_fn, "func", loader.collate_fn) is pad_collate and all(
                isinstance(d, SourceDataset | Subset) for d in datasets
            ):
                _check_fields(batch, dataset)
            label = dataset.source.label
            if label is not None and dataset.codes is not None and isinstance(batch, Mapping) and label in batch:
                _classes(batch[label], len(dataset.codes), label)
        elif isinstance(dataset, GenericImageDataset) and isinstance(batch, list | tuple) and len(batch) == 2:
            _classes(batch[1], dataset.num_classes, "label")
    return True


def _first(loader: DataLoader[Any]) -> Any:
    with _undisturbed(loader):
        try:
            batch = next(iter(twin(loader, num_workers=0, timeout=0)), None)
        except (RuntimeError, ValueError) as error:
            raise AssertionError(f"the first batch could not be made: {error}") from error
    if batch is None:
        raise AssertionError("the loader gives no batch: it has no samples, or with drop_last fewer than batch_size")
    return batch


@contextmanager
def _undisturbed(loader: DataLoader[Any]) -> Iterator[None]:
    """Restores global random states, generators, and the positions of samplers and datasets."""
    with ExitStack() as undo:
        if (progress := getattr(loader, "progress", None)) is not None:
            undo.callback(setattr, progress, "batches", progress.batches)
        for dataset in wrapped(loader.dataset):
            if has_states(dataset):
                undo.callback(dataset.restore, dataset.state())
        for one in (loader, *samplers_of(loader)):
            if isinstance(one, EpochSampler):
                undo.callback(vars(one).update, vars(one).copy())
            if isinstance(generator := getattr(one, "generator", None), torch.Generator):
                undo.callback(generator.set_state, generator.get_state())
        undo.enter_context(states_kept())
        yield


def _check_any(batch: Any) -> None:
    parts = batch if isinstance(batch, list | tuple) else [batch]
    named = dict(batch) if isinstance(batch, Mapping) else {str(i): v for i, v in enumerate(parts)}
    if not named:
        raise AssertionError("the batch is empty")
    tensors = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
    sizes = {name: len(value) if value.ndim else 0 for name, value in tensors.items()}
    if len(set(sizes.values())) > 1:
        raise AssertionError(f"tensors differ in their batch dimension: {sizes}")
    for name, tensor in tensors.items():
        for fault, found in (("NaN", torch.isnan), ("Inf", torch.isinf)):
            if tensor.is_floating_point() and found(tensor).any():
                raise AssertionError(f"{fault} detected in {name}")


def _check_fields(batch: Any, dataset: SourceDataset) -> None:
    """All fields of the data set must be there, with the shape that they have in every sample."""
    missing = [f.name for f in dataset.source.fields if f.name not in batch]
    if missing:
        raise AssertionError(f"the batch has {sorted(batch)}, without the fields {missing} of the data set")
    for field in dataset.source.fields:
        shape, values = field.shape, batch[field.name]
        if field.kind == "image" and len(shape) == 3:
            shape = (shape[2], *(dataset.size or shape[:2]))
        if isinstance(values, torch.Tensor) and None not in shape and tuple(values.shape[1:]) != shape:
            raise AssertionError(f"{field.name} has shape {list(values.shape)}, expected [batch, {list(shape)}]")


def _classes(labels: Any, count: int, name: str) -> None:
    if not isinstance(labels, torch.Tensor) or not labels.numel():
        return
    least, most = (int(v) for v in torch.aminmax(labels))
    if least < 0 or most >= count:
        bad = least if least < 0 else most
        raise AssertionError(f"{name} holds {bad}, expected a class in [0, {count - 1}]; -1 is a missing label")
