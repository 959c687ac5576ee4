"""Opening what is on disk, or what a Python reference names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.plan import SourceRef


def open_dataset(
    source: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    label: str | None = None,
    columns: list[str] | None = None,
    size: tuple[int, int] | None = None,
    classes: list[str] | None = None,
    nullable: list[str] | None = None,
    unreadable: Literal["raise", "skip"] = "raise",
    channels: int | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
) -> SourceDataset:
    """Opens a data set on disk as a map-style ``Dataset`` of dictionaries of tensors.

    Args:
        source: folder, file or glob in any format that ``characterize_dataset`` reads.
        format, split, label: as there; None: found.
        columns: the fields to read, and the one that names each sample's split if there is one; None: all.
        size: height and width to which images and their masks are resized; None where they all agree.
        classes: class names in index order; None: as the data set declares them.
        nullable: fields in which some sample has no value, which become float64; None: found by reading once.
        unreadable, channels, transform: as of :class:`SourceDataset`.

    Raises:
        ValueError: as of :class:`SourceDataset`.
        RequestError: ``source-not-found``, ``format-unknown``, ``label-not-found`` or ``invalid-argument``.
    """
    from dataloader_expert.sources.registry import open_source

    only = None if columns is None else tuple(columns)
    ref = SourceRef(str(Path(source).absolute()), ("/",), format=format, split=split, label=label, columns=only)
    opened = open_source(ref, [])
    names = tuple(classes) if classes is not None else opened.classes
    return SourceDataset(opened, size, names, nullable, unreadable=unreadable, channels=channels, transform=transform)


def load_reference(reference: str, **arguments: Any) -> Any:
    """What ``file.py:name`` or ``package.module:name`` names, called with ``arguments`` if it is a class or function."""
    from dataloader_expert.sources.reference import load

    return load(reference, arguments, ("/", str(Path.cwd())))
