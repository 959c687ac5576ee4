"""The memory behind the tensors of a value: a tensor that is a view has a whole storage behind it, which a worker sends with it."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from dataloader_expert.probes.tracing import users_traced

DEEPEST = 8
"""Levels of a value that are looked into."""
MOST = 4096
"""Tensors of a value that are looked at."""


@dataclass(frozen=True)
class Storage:
    """Memory that tensors of one value share: its address and bytes, the bytes that these tensors have of it, and the first of them.
    ``shared``: it lies in shared memory already, so that sending it copies nothing."""

    address: int
    nbytes: int
    used: int
    tensors: int
    shared: bool
    path: str
    shape: tuple[int, ...]

    @property
    def unused(self) -> int:
        return max(0, self.nbytes - self.used)


def tensors_in(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The tensors of a value, each with where it is: in dictionaries, lists, tuples and dataclasses."""
    import torch

    if isinstance(value, torch.Tensor):
        yield path, value
    elif depth < DEEPEST:
        for name, inner in _parts(value):
            yield from tensors_in(inner, f"{path}.{name}" if path else name, depth + 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(k), v) for k, v in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        yield from zip(value._fields, value, strict=True)
    elif isinstance(value, list | tuple):
        yield from ((str(i), v) for i, v in enumerate(value))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from vars(value).items() if hasattr(value, "__dict__") else ()


def storages(value: Any) -> list[Storage]:
    """The memory behind the tensors of a value in this process's memory, each once."""
    import torch

    found: dict[int, Storage] = {}
    for n, (path, tensor) in enumerate(tensors_in(value)):
        if n >= MOST:
            break
        try:
            if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
                continue
            storage = tensor.untyped_storage()
            at, nbytes, shared = storage.data_ptr(), storage.nbytes(), storage.is_shared()
        except (RuntimeError, NotImplementedError):  # tensors of other kinds have no storage of their own
            continue
        own = min(nbytes, tensor.numel() * tensor.element_size())
        before = found.get(at)
        if before is None:
            found[at] = Storage(at, nbytes, own, 1, shared, path, tuple(tensor.shape))
        else:
            used = min(nbytes, before.used + own)
            found[at] = dataclasses.replace(before, used=used, tensors=before.tensors + 1)
    return [one for one in found.values() if one.nbytes]


def views(value: Any, times: float) -> list[Storage]:
    """Storages that are so many times as large as what a value has of them; one in shared memory is sent as it is."""
    return [one for one in storages(value) if not one.shared and one.nbytes >= times * max(1, one.used)]


def behind(entries: Iterable[Any]) -> tuple[int, int]:
    """Bytes of the arrays and tensors in what a container keeps, and of the memory that they keep alive: that of an entry alone, not
    what several entries show parts of."""
    import numpy as np

    roots: dict[int, list[tuple[int, int, int]]] = {}  # by address: which entry, its bytes, those of the memory
    for n, entry in enumerate(entries):
        for one in storages(entry):
            roots.setdefault(one.address, []).append((n, one.used, one.nbytes))
        for array in _leaves(entry):
            if isinstance(array, np.ndarray):
                root = array
                while isinstance(root.base, np.ndarray):
                    root = root.base
                base: Any = root.base
                # else a mapped file, or memory of something else
                if base is None or isinstance(base, bytes | bytearray):
                    roots.setdefault(id(root), []).append((n, array.nbytes, root.nbytes))
    used = whole = 0
    for parts in roots.values():
        own = sum(bytes_ for _, bytes_, _ in parts)
        used += own
        whole += max(own, parts[0][2]) if len({n for n, _, _ in parts}) == 1 else own
    return used, whole


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    parts = list(_parts(value)) if depth < DEEPEST else []
    if not parts:
        yield value
    for _, inner in parts:
        yield from _leaves(inner, depth + 1)


def mapped(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """The value with each of its tensors replaced by what ``change`` makes of it."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if depth >= DEEPEST:
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, change, depth + 1) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(v, change, depth + 1) for v in value)
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update({k: mapped(v, change, depth + 1) for k, v in value.items()})
        return made
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
        twin: Any = copy.copy(value)
        vars(twin).update({k: mapped(v, change, depth + 1) for k, v in vars(value).items()})
        return twin
    return value


def tightened(value: Any, times: float) -> Any:
    """The value with a copy of each tensor that is a view of a storage ``times`` as large as what the value has of it."""
    among = {one.address for one in views(value, times)}

    def copied(tensor: Any) -> Any:
        with contextlib.suppress(
            RuntimeError, NotImplementedError
        ):  # tensors of other kinds have no storage of their own
            return tensor.clone() if tensor.untyped_storage().data_ptr() in among else tensor
        return tensor

    return mapped(value, copied) if among else value


@dataclass(frozen=True)
class Tight:
    """A collate function whose batch has no view of a storage that is much larger."""

    inner: Callable[[Any], Any]
    times: float

    def __call__(self, samples: Any) -> Any:
        return tightened(self.inner(samples), self.times)


def returned_by(call: Callable[[], Any], times: float) -> tuple[Any, dict[int, tuple[str, str, int]]]:
    """What a call returns, and for each storage of a view the file, function and line that first returned that view.

    Raises:
        Exception: what the user's code raises.
    """
    places: dict[int, tuple[str, str, int]] = {}

    def within(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return" and arg is not None:
            code = frame.f_code
            for one in views(arg, times):
                places.setdefault(one.address, (code.co_filename, code.co_name, frame.f_lineno))
        return within

    if sys.gettrace() is not None:  # a debugger, or coverage, is at work
        return call(), places
    with users_traced(within):
        return call(), places
