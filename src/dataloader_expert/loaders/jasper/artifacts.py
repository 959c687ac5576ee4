"""Reading and writing of tensors and lists, without running code and never half written."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from dataloader_expert.loaders.jasper.atomic import replacing
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
    """The tensor or plain containers in a file of ``torch.save``, on the CPU; None if missing and not ``required``.

    Args:
        weights_only: without effect, for older callers: only tensors and plain containers (also lists of lists of
            ``int``) are ever loaded, because unpickling anything else would run code.
        expected_shape: its sizes, None for any size; None: any shape.
        mmap: map the file rather than read it: pages come when they are touched, and the system may drop them again.

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
    """The contents of several files by key, all of them required; errors as of :func:`load_tensor_artifact`.

    ``file_specs`` are (key, filename, weights_only, expected_shape) of each, as there.
    """
    return {key: load_tensor_artifact(dataset_dir, file, safe, shape) for key, file, safe, shape in file_specs}


def save_tensor_artifact(tensor: torch.Tensor, output_dir: str | Path, filename: str, validate: bool = True) -> None:
    """Writes a tensor of any shape and dtype, of a view its own elements; makes folders, replaces a file in one step.

    With ``validate``, NaN and infinity are a ``ValueError``, and nothing is written.
    """
    if validate:
        validate_no_nan_inf(tensor, "tensor")
    own = tensor.detach().cpu().contiguous()
    if own.untyped_storage().nbytes() != own.nbytes:  # torch.save would write all of what it is a view of
        own = own.clone()
    save_payload(own, Path(output_dir) / filename)


def save_payload(payload: object, path: Path) -> None:
    """``torch.save`` that makes missing folders and replaces ``path`` atomically."""
    with replacing(path) as partial:
        torch.save(payload, partial)


def require_shape(loaded: Any, filename: str, expected: Shape) -> None:
    """Refuses what is not a tensor (``TypeError``), or has other dimensions (``ValueError``)."""
    if not isinstance(loaded, torch.Tensor):
        raise TypeError(
            f"{filename} holds {type(loaded).__name__}, and a tensor of {len(expected)} dimensions is expected"
        )
    if loaded.ndim != len(expected):
        raise ValueError(f"{filename} has {loaded.ndim} dimensions, expected {len(expected)} dimensions")
    for i, (size, wanted) in enumerate(zip(loaded.shape, expected, strict=True)):
        if wanted is not None and size != wanted:
            raise ValueError(f"{filename} dimension {i} has size {size}, expected {wanted}")
