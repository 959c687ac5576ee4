"""Reading and writing of tensors and lists, without running code and never half written."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from dataloader_expert.loaders.jasper.stored import Shape
from dataloader_expert.loaders.jasper.validation import validate_no_nan_inf


def load_tensor_artifact(
    dataset_dir: str | Path,
    filename: str,
    weights_only: bool = True,
    expected_shape: Shape | None = None,
    required: bool = True,
    mmap: bool = False,
) -> Any:
    """Reads a file of ``torch.save`` into memory, on the CPU.

    Args:
        dataset_dir, filename: where it is.
        weights_only: without effect, for older callers: only tensors and plain containers (also lists of lists of
            ``int``) are ever loaded, because unpickling anything else would run code.
        expected_shape: its sizes, None for any size; None: any shape.
        required: whether a missing file is an error.
        mmap: map the file rather than read it: pages come when they are touched, and the system may drop them again.

    Returns:
        The tensor, or the plain containers, that were saved; None for a missing file that is not required.

    Raises:
        FileNotFoundError: if a required file is missing.
        TypeError: if a shape is expected, but the file holds no tensor.
        ValueError: if the shape differs, or the file is damaged or holds other objects.
    """
    del weights_only
    path = Path(dataset_dir) / filename
    if not path.exists():
        if required:
            raise FileNotFoundError(
                f"Required tensor file not found: {path}. Build the data set again, or copy all of it"
            )
        return None
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except UnpicklingError as error:
        message = f"{path} holds more than tensors and plain containers, and loading it would run code: save only these"
        raise ValueError(message) from error
    except (RuntimeError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError, struct.error) as error:
        # what damaged bytes lead torch's reader into
        raise ValueError(f"{path} could not be read ({error}): build or copy it again") from error
    if expected_shape is not None:
        require_shape(loaded, filename, expected_shape)
    return loaded


def load_multiple_tensors(
    dataset_dir: str | Path, file_specs: Sequence[tuple[str, str, bool, Shape | None]]
) -> dict[str, Any]:
    """Reads several files, all of them required.

    Args:
        dataset_dir: where they are.
        file_specs: (key, filename, weights_only, expected_shape) of each, as in :func:`load_tensor_artifact`.

    Returns:
        The contents by key, in the order of ``file_specs``.

    Raises:
        FileNotFoundError, TypeError, ValueError: as :func:`load_tensor_artifact`.
    """
    return {key: load_tensor_artifact(dataset_dir, file, safe, shape) for key, file, safe, shape in file_specs}


def save_tensor_artifact(tensor: torch.Tensor, output_dir: str | Path, filename: str, validate: bool = True) -> None:
    """Writes a tensor for :func:`load_tensor_artifact`; an older file is replaced atomically.

    Args:
        tensor: of any shape and dtype. Of a view only its own elements are written.
        output_dir, filename: where to; missing folders are made.
        validate: whether NaN and infinity are refused.

    Raises:
        ValueError: if a value is not finite; nothing is written then.
    """
    if validate:
        validate_no_nan_inf(tensor, "tensor")
    own = tensor.detach().cpu().contiguous()
    if own.untyped_storage().nbytes() != own.nbytes:  # torch.save would write all of what it is a view of
        own = own.clone()
    save_payload(own, Path(output_dir) / filename)


def save_payload(payload: object, path: Path) -> None:
    """``torch.save`` that makes missing folders and replaces ``path`` atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        torch.save(payload, partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def require_shape(loaded: Any, filename: str, expected: Shape) -> None:
    """Refuses what is not a tensor of this shape.

    Raises:
        TypeError: if it is not a tensor.
        ValueError: if it has other dimensions.
    """
    if not isinstance(loaded, torch.Tensor):
        raise TypeError(
            f"{filename} holds {type(loaded).__name__}, and a tensor of {len(expected)} dimensions is expected"
        )
    if loaded.ndim != len(expected):
        raise ValueError(f"{filename} has {loaded.ndim} dimensions, expected {len(expected)} dimensions")
    for i, (size, wanted) in enumerate(zip(loaded.shape, expected, strict=True)):
        if wanted is not None and size != wanted:
            raise ValueError(f"{filename} dimension {i} has size {size}, expected {wanted}")
