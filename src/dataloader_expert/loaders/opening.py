"""Opening a data set on disk, or by a Python reference."""

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
        format, split, label: as there; None: detected.
        columns: the fields to read, with the one that names the split of each sample if there is one; None: all.
        size, nullable, unreadable, channels, transform: as of :class:`SourceDataset`.
        classes: class names in index order; None: as the data set declares them.

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
    """The object that ``file.py:name`` or ``package.module:name`` names; a class or function is called with ``arguments``."""
    from dataloader_expert.sources.reference import load

    return load(reference, arguments, ("/", str(Path.cwd())))
