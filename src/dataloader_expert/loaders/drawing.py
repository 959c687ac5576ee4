"""Whether reading a sample may draw random numbers, told from the code that would run."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

NAMES = frozenset(
    [
        "random",
        "rand",
        "rand_like",
        "randn",
        "randn_like",
        "randint",
        "randint_like",
        "randrange",
        "randperm",
        "random_sample",
        "normal",
        "normal_",
        "uniform",
        "uniform_",
        "bernoulli",
        "bernoulli_",
        "multinomial",
        "exponential_",
        "poisson",
        "choice",
        "choices",
        "shuffle",
        "permutation",
        "gauss",
        "betavariate",
        "getrandbits",
        "standard_normal",
        "dropout",
        "triangular",
    ]
)
"""Names under which ``random``, numpy and torch give random numbers of their global states."""
METHODS = ("__getitem__", "__getitems__", "__call__", "forward")
MOST = 500
"""Functions and objects looked at; beyond them it may."""


def may_draw(dataset: Any) -> bool:
    """Whether ``dataset[index]`` names a source of random numbers: in its code, its functions', its transforms'.

    What is compiled is not looked into, and a generator of the dataset's own is none of the global states.
    """
    seen: set[int] = set()
    open_ones: list[Any] = [dataset]
    while open_ones:
        one = open_ones.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if len(seen) > MOST:
            return True
        for code, owner in _codes(one):
            if NAMES.intersection(_names(code)):
                return True
            open_ones += _called(code, owner, one)
        open_ones += _held(one)
    return False


def _codes(one: Any) -> Iterator[tuple[types.CodeType, Any]]:
    """Code that runs when a sample is read through ``one``, with the function it is of."""
    if isinstance(one, types.FunctionType):
        yield one.__code__, one
        return
    for name in METHODS:
        method = getattr(type(one), name, None)
        if isinstance(method, types.FunctionType):
            yield method.__code__, method


def _names(code: types.CodeType) -> set[str]:
    """The names that ``code`` uses, those of functions within it too."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)


def _called(code: types.CodeType, function: Any, one: Any) -> list[Any]:
    """Functions that ``code`` names: of its module, its class, its closure. Torch's and numpy's own are known by name."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    found = [c for c in cells if callable(c)]
    names = _names(code)
    named = [v for n in names for v in (function.__globals__.get(n), getattr(type(one), n, None))]
    return found + [v for v in named if isinstance(v, types.FunctionType) and not _of_library(v)]


def _held(one: Any) -> list[Any]:
    """Objects in ``one`` that may run: datasets, transforms, and lists of them."""
    if isinstance(one, types.FunctionType | type | types.ModuleType):
        return []
    if isinstance(one, functools.partial):
        return [one.func]
    if isinstance(one, types.MethodType):
        return [one.__func__, one.__self__]
    values = list(vars(one).values()) if hasattr(one, "__dict__") else []
    values += [v for held in values if isinstance(held, list | tuple) and len(held) < 100 for v in held]
    values += [v for held in values if isinstance(held, dict) and len(held) < 100 for v in held.values()]
    return [v for v in values if _runs(v)]


def _runs(value: Any) -> bool:
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        return True
    return any(isinstance(getattr(type(value), name, None), types.FunctionType) for name in METHODS)


def _of_library(function: types.FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] in ("torch", "numpy", "random", "datasets", "PIL")


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises where it is empty
    except ValueError:
        return False
    return True
