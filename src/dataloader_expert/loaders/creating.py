"""A loader that is ready for training in one call, from a JASPER directory or any supported data set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import torch
from torch.utils.data import DataLoader, Sampler

from dataloader_expert.errors import Unreadable
from dataloader_expert.loaders.collate import padding
from dataloader_expert.loaders.epochs import EpochLoader, gives_batches, with_epoch
from dataloader_expert.loaders.factory import DataLoaderConfig, DataLoaderFactory, check_names, ranks_asked
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset, StorageFormat
from dataloader_expert.loaders.jasper.loading import jasper_loader
from dataloader_expert.loaders.jasper.tables import is_jasper
from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.samplers import BlockShuffleSampler
from dataloader_expert.samplers.rules import at_least, given, one_of
from dataloader_expert.sources.arrays import Unequal
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.joined_labels import mark_of
from dataloader_expert.sources.table_fields import MAX_CLASSES

logger = logging.getLogger(__name__)


def create_loader(
    dataset_dir: str | Path,
    split: Literal["train", "val", "test"] | str | None,
    batch_size: int | None,
    num_workers: int | None = None,
    distributed: bool | None = None,
    epoch: int = 0,
    drop_last: bool | None = None,
    pin_memory: bool | None = None,
    *,
    device: torch.device | str | None = None,
    seed: int = 42,
    storage_format: StorageFormat = "auto",
    use_mmap: bool | None = None,
    variant_rule: Literal["by_pair", "by_access"] = "by_pair",
    sampler: Sampler[Any] | None = None,
    format: str | None = None,
    label: str | None = None,
    classes: Iterable[str] | Literal["found"] | None = None,
    size: tuple[int, int] | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
    unreadable: Literal["raise", "skip"] = "raise",
    channels: int | None = None,
    mixed_blocks: int | None = None,
    shuffle: bool | None = None,
    **keywords: Any,
) -> EpochLoader:
    """A loader of one split, by default shuffled if it is ``train``; the same seed and epoch give the same batches.

    Arguments that are not listed, and their defaults, are those of :class:`DataLoaderConfig`; JASPER directories have no
    workers, one rank, pinned memory, and in ``train`` no smaller last batch by default.

    Args:
        dataset_dir: any data set that ``characterize_dataset`` reads, or a JASPER directory.
        split: its name; None: all samples of a data set without splits.
        num_workers: worker processes, which change neither order nor content.
        epoch: of order and curriculum, from 0; change it with :func:`set_epoch`.
        device: where the tensors of a JASPER data set are held; on a device without workers and pinning, which is logged.
        seed: of order, augmentation and steering variants.
        storage_format, use_mmap, variant_rule: as of :class:`JASPERSteeringDataset`.
        sampler: a sampler or batch sampler of your own, such as one of ``dataloader_expert.samplers``.
        format, label, classes, size, transform, unreadable, channels: as of :func:`open_dataset`; not for JASPER. Random choices
            in ``transform`` depend on seed, epoch and draw only.
        shuffle: whether each epoch has an order of its own; None: in ``train`` only, so say it where there are no
            splits. Not for JASPER.
        mixed_blocks: where it is shuffled, shuffle so many blocks (row groups, shards) at a time
            (:class:`~dataloader_expert.samplers.BlockShuffleSampler`); None: a full shuffle.
        keywords: further fields of :class:`DataLoaderConfig`; for JASPER further arguments of ``DataLoader``.

    Raises:
        ValueError: as of :class:`JASPERSteeringDataset`; with ``distributed`` but no process group; for a ``device`` with other data.
        RequestError: ``source-not-found``, ``format-unknown``, ``label-not-found`` or ``invalid-argument``.
    """
    if is_jasper(Path(dataset_dir), format):
        how: dict[str, Any] = {"use_mmap": use_mmap, "seed": seed, "variant_rule": variant_rule}
        named: Any = split  # another name is answered with the names there are
        dataset = JASPERSteeringDataset(dataset_dir, named, epoch, device, storage_format, **how)
        if shuffle is not None:
            raise ValueError(
                "shuffle= does not apply to JASPER directories, where train is always shuffled; pass sampler= for another order"
            )
        if batch_size is None:
            raise ValueError("batch_size is None; JASPER directories are read in batches")
        workers = {"num_workers": num_workers or 0, "pin_memory": pin_memory is not False}
        loader = jasper_loader(dataset, batch_size, bool(distributed), drop_last, sampler, **workers, **keywords)
    else:
        one_of(("auto", "pt", "hdf5"), storage_format=storage_format)
        if device is not None and torch.device(device).type != "cpu":
            raise ValueError(
                f"device is {device}, but only JASPER directories are held on a device: move each batch there"
            )
        check_names("create_loader", keywords, signature(create_loader).parameters)
        read: dict[str, Any] = {
            "format": format,
            "label": label,
            "classes": classes,
            "size": size,
            "channels": channels,
        }
        opened = open_dataset(dataset_dir, split=split, transform=transform, unreadable=unreadable, **read)
        if sampler is not None and shuffle:
            raise ValueError("sampler= and shuffle=True exclude each other: the sampler decides the order")
        shuffled = split == "train" if shuffle is None else shuffle
        if mixed_blocks is not None and sampler is None and shuffled:
            ranks_asked(distributed)
            one_rank = {"num_replicas": 1} if distributed is False else {}
            sizes = [unit.samples for unit in opened.units]
            sampler = BlockShuffleSampler(sizes, mixed_blocks, seed, drop_last=bool(drop_last), **one_rank)
        elif mixed_blocks is not None and sampler is None and (split is None or shuffle is False):
            raise ValueError(f"mixed_blocks is {mixed_blocks}, and nothing is shuffled: pass shuffle=True")
        named = {"num_workers": num_workers, "drop_last": drop_last, "pin_memory": pin_memory}
        named |= {"batch_sampler" if gives_batches(sampler) else "sampler": sampler, "distributed": distributed}
        alone = batch_size is None and not gives_batches(sampler) and keywords.get("batch_sampler") is None
        named["collate_fn"] = None if alone else padding(opened.source.varying)
        config = DataLoaderConfig(batch_size=batch_size, shuffle=shuffled, seed=seed, **{**given(**named), **keywords})
        loader = DataLoaderFactory().create_dataloader(opened, config)
    count = len(loader.dataset_obj)
    if loader.drop_last and batch_size is not None and 0 < count < batch_size:
        text = (
            "split %s has %d samples, fewer than one batch of %d, and drop_last leaves it out: the loader gives no "
            "batch. Reduce batch_size, or pass drop_last=False"
        )
        logger.warning(text, split, count, batch_size)
    loader.set_epoch(epoch)
    return loader


def open_dataset(
    source: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    label: str | None = None,
    columns: list[str] | None = None,
    size: tuple[int, int] | None = None,
    classes: Iterable[str] | Literal["found"] | None = None,
    nullable: list[str] | None = None,
    unreadable: Literal["raise", "skip"] = "raise",
    channels: int | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
) -> SourceDataset:
    """Opens a data set on disk as a map-style ``Dataset`` of dictionaries of tensors.

    Args:
        source: folder, file or glob in any format that ``characterize_dataset`` reads.
        format, split, label: as there; None: detected.
        columns: the fields to read, with the one that names the split of each sample if there is one; None: all.
        size, nullable, unreadable, channels, transform: as of :class:`SourceDataset`.
        classes: class names in index order; ``"found"``: the values of the label in sorted order, of all splits, for which the
            whole source is decoded once; None: as the data set declares them, and those found if the label is a column of texts that
            is not only guessed. A label that is none of them raises on access.

    Raises:
        TypeError: if ``classes`` is no collection.
        ValueError: as of :class:`SourceDataset`; for ``classes`` that is a text other than ``"found"``; for arrays that are
            to be read row by row and differ in length.
        RequestError: ``source-not-found``, ``format-unknown``, ``label-not-found`` or ``invalid-argument``.
    """
    from dataloader_expert.sources.registry import open_source

    only = None if columns is None else tuple(columns)
    ref = SourceRef(str(Path(source).absolute()), ("/",), format=format, split=split, label=label, columns=only)
    opened = open_source(ref, [])
    unequal = next((p.told() for p in opened.problems if isinstance(p, Unequal)), None)
    if unequal is not None and unreadable == "raise":  # which rows belong together is then anyone's guess
        raise ValueError(f"{unequal}; make the lengths equal, or pass unreadable='skip' to read these rows")
    names, find = (opened.classes, False) if classes is None else _names_of(classes)

    def whole() -> Source:
        """All splits, as a class has one index in each."""
        found = open_source(replace(ref, split=None), []) if split is not None else opened
        found.label = found.label or opened.label
        return found

    if find or (classes is None and names is None and _has_named_classes(opened)):
        names = classes_of(whole())
        few = len(names) <= MAX_CLASSES and mark_of(names) is None  # a text that joins several labels is no class
        names = names if find or few else None
    made = SourceDataset(opened, size, names, nullable, unreadable=unreadable, channels=channels, transform=transform)
    if names is None and opened.label in made.nullable and _numbers_classes(whole()):
        return made.with_missing_class()
    return made


def _names_of(classes: Any) -> tuple[tuple[str, ...] | None, bool]:
    """The names that a user gave, and whether they are to be found instead."""
    if isinstance(classes, str) and classes == "found":
        return None, True
    if isinstance(classes, str) or not isinstance(classes, Iterable):
        wrong = ValueError if isinstance(classes, str) else TypeError
        raise wrong(f"classes is {classes!r}; it must be a list of names, or 'found'")
    return tuple(classes), False


def _has_named_classes(source: Source) -> bool:
    """Whether the label is a category of texts, and no guess."""
    field = source.field(source.label) if source.label is not None else None
    named = field is not None and (field.kind, field.dtype, field.shape) == ("category", "str", ())
    return named and not source.label_how.startswith("guessed")


def _numbers_classes(source: Source) -> bool:
    """Whether the label is a whole number of few that are close together, as those of classes are, but not a measured target's."""
    field = source.field(source.label) if source.label is not None else None
    if field is None or field.kind != "category" or field.shape or "int" not in field.dtype:
        return False
    values = _values_of(source)
    return 1 < len(values) <= MAX_CLASSES and max(values) - min(values) < 2 * len(values)


def classes_of(source: Source) -> tuple[str, ...]:
    """The names of the values that the label takes, in sorted order; decodes the source once."""
    return tuple(source.class_name(v) for v in sorted(_values_of(source), key=lambda v: (str(type(v)), v)))


def _values_of(source: Source) -> set[Any]:
    """The values that the label takes."""
    values: set[Any] = set()
    label = source.label
    for unit in source.units if label is not None else ():
        try:
            column = source.column(unit, str(label))
        except Unreadable:
            continue
        if column is not None:
            listed = column.values.tolist() if hasattr(column.values, "tolist") else column.values
            absent = [False] * len(listed) if column.nulls is None else column.nulls.tolist()
            values |= {v for v, missing in zip(listed, absent, strict=True) if not missing and v is not None and v == v}
    return values


def load_reference(reference: str, **arguments: Any) -> Any:
    """The object that ``file.py:name`` or ``package.module:name`` names; a class or function is called with ``arguments``, and of a
    data module, such as Lightning's, the training loader is returned."""
    from dataloader_expert.sources.reference import load, training_loader

    return training_loader(load(reference, arguments, ("/", str(Path.cwd()))), reference)


def set_epoch(loader: DataLoader[Any], epoch: int) -> None:
    """Sets the epoch, from 0, of the samplers and datasets in a ``DataLoader`` that have one, also of those in a ``Subset``.

    A ``ValueError`` if nothing in the loader has an epoch, or ``epoch`` is negative.
    """
    at_least(0, epoch=epoch)
    owners = with_epoch(loader)
    if not owners:
        raise ValueError(
            f"neither {type(loader.dataset).__name__} nor {type(loader.sampler).__name__} has set_epoch: use a sampler that has"
        )
    for owner in owners:
        owner.set_epoch(epoch)
    if isinstance(loader, EpochLoader):
        loader.set_epoch(epoch)
