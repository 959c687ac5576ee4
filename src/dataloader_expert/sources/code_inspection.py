"""Whether reading a sample may draw random numbers, or depends on the rank, by the code that would run."""

from __future__ import annotations

import functools
import random
import sys
import types
from collections.abc import Iterator
from itertools import islice
from typing import Any

NAMES = (
    frozenset(("random", "random_", "random_sample", "rand", "rand_like", "uniform", "uniform_", "triangular"))
    | {"randint", "randint_like", "randrange", "randperm", "getrandbits", "choice", "choices", "shuffle", "permutation"}
    | {"randn", "randn_like", "normal", "normal_", "gauss", "normalvariate", "standard_normal", "log_normal_"}
    | {"bernoulli", "bernoulli_", "multinomial", "exponential_", "expovariate", "poisson", "cauchy_", "geometric_"}
    | {"betavariate", "dropout"}
)
"""Names under which ``random``, numpy and torch give random numbers of their global states."""
ASKS_RANK = frozenset(("get_rank", "RANK", "SLURM_PROCID", "process_index", "global_rank"))
ASKS_WORLD = frozenset(("get_world_size", "WORLD_SIZE", "SLURM_NTASKS", "num_processes", "world_size"))
"""Names under which torch, launchers, Accelerate and Lightning tell a process its rank, and how many there are."""
VARIABLES = frozenset(("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"))
RANK_ATTRIBUTES = ("rank", "_rank", "global_rank", "_global_rank")
WORLD_ATTRIBUTES = ("world_size", "_world_size", "num_replicas", "_num_replicas")
METHODS = ("__getitem__", "__getitems__", "__iter__", "__next__", "__call__", "forward")
MOST = 500
"""Functions and objects that are inspected; a dataset with more may draw."""
MANY = 100
"""Elements of a list that are inspected: they are usually of one kind."""


def may_draw(dataset: Any) -> bool:
    """Whether the code of ``dataset[index]``, its functions or its transforms names a source of random numbers.

    Methods are looked up in its class and parents, in its attributes, and in classes and modules of the user that its
    code names. Compiled code is not inspected; a generator of the dataset is taken for a global one.
    """
    for function in _functions(dataset):
        if function is None:
            return True
        names = _names(function.__code__)
        named = (function.__globals__[n] for n in names & function.__globals__.keys())
        if NAMES & names or any(map(_gives, (*_cells(function), *named))):
            return True
    return False


def knows_rank(dataset: Any) -> bool:
    """Whether a stream shards itself across ranks, as far as can be seen.

    It, or a stream in it, was given its rank and the number of ranks, of which there are several, or was split by node; or its code,
    that of its constructor included, asks for both. Code that asks for its rank alone, as logging does, shards nothing.
    """
    functions = []
    for one in _reachable(dataset):
        if _was_given(one):
            return True
        init = getattr(type(one), "__init__", None)
        functions += [init] if isinstance(init, types.FunctionType) and not _of_library(init) else []
    functions += [function for function in _functions(dataset) if function is not None]
    names: set[str] = set()
    for function in functions:
        used = _names(function.__code__)
        read = _names(function.__code__, texts=True) & VARIABLES if used & {"environ", "getenv"} else set()
        names |= used | read | ({"get_rank", "get_world_size"} if "split_by_node" in used else set())
    return bool(names & ASKS_RANK) and bool(names & ASKS_WORLD)


def _reachable(dataset: Any) -> list[Any]:
    """A stream and what it holds: other streams, in lists too, and functions."""
    found = [dataset]
    for one in found:
        if len(found) > MOST:
            break
        found += [v for v in _values(one) if _runs(v) and all(v is not f for f in found)]
    return found


def _was_given(one: Any) -> bool:
    """Whether an object holds its rank and the number of ranks, or is a function that splits by node."""
    held = vars(one) if hasattr(one, "__dict__") and not isinstance(one, type | types.ModuleType) else {}
    if held.get("_distributed") is not None or "split_by_node" in str(getattr(one, "__name__", "")):
        return True
    worlds = [held[name] for name in WORLD_ATTRIBUTES if isinstance(held.get(name), int)]
    return any(isinstance(held.get(name), int) for name in RANK_ATTRIBUTES) and any(world > 1 for world in worlds)


def _functions(dataset: Any) -> Iterator[types.FunctionType | None]:
    """The functions that run when a sample is read, as far as they can be found; None if there are too many."""
    seen: set[tuple[int, int]] = set()
    open_ones: list[tuple[Any, Any]] = [(dataset, None)]  # with the object or class whose method it is
    while open_ones:
        one, owner = open_ones.pop()
        if (id(one), id(owner)) in seen:
            continue
        seen.add((id(one), id(owner)))
        if len(seen) > MOST:
            yield None
            return
        if not isinstance(one, types.FunctionType):
            open_ones += [*_methods(one), *_held(one)]
            continue
        yield one
        open_ones += _called(one, _names(one.__code__), owner)


def _methods(one: Any) -> Iterator[tuple[Any, Any]]:
    """Code that runs when a sample is read through ``one``."""
    for name in METHODS:
        method = getattr(type(one), name, None)
        if isinstance(method, types.FunctionType):
            yield method, one


def _names(code: types.CodeType, texts: bool = False) -> set[str]:
    """The names that ``code`` uses, those of functions within it too; or its texts, such as names of variables."""
    own = [c for c in code.co_consts if isinstance(c, str)] if texts else code.co_names
    return set(own).union(*(_names(c, texts) for c in code.co_consts if isinstance(c, types.CodeType)))


def _called(function: types.FunctionType, names: set[str], owner: Any) -> Iterator[tuple[Any, Any]]:
    """What ``function`` may call: of its closure, its module, its class, of what its object holds."""
    yield from ((c, None) for c in _cells(function) if callable(c))
    for value in (function.__globals__[n] for n in names & function.__globals__.keys()):
        if isinstance(value, types.FunctionType):
            yield from () if _of_library(value) else [(value, None)]
        elif isinstance(value, type) and _of_user(value.__module__):
            yield from _under(value, names.union(METHODS), value)
        elif isinstance(value, types.ModuleType) and _of_user(value.__name__):
            inner = [v for n, v in vars(value).items() if n in names]
            yield from ((v, None) for v in inner if isinstance(v, types.FunctionType))
            yield from (m for v in inner if isinstance(v, type) for m in _under(v, names.union(METHODS), v))
    if owner is not None:
        yield from _under(owner if isinstance(owner, type) else type(owner), names, owner)
        for value in _values(owner):
            if _of_user(type(value).__module__):
                yield from _under(type(value), names, value)


def _under(kind: type, names: set[str], owner: Any) -> Iterator[tuple[Any, Any]]:
    """Functions that ``kind`` and its parents have under ``names``: methods of all sorts, and properties."""
    for base in kind.__mro__:
        for value in (vars(base)[n] for n in names & vars(base).keys()):
            for function in (value, *(getattr(value, n, None) for n in ("__func__", "fget", "func"))):
                if isinstance(function, types.FunctionType) and not _of_library(function):
                    yield function, owner


def _gives(value: Any) -> bool:
    """Whether ``value`` is a module of random numbers, or a method of its global state: ``from random import sample``."""
    import numpy as np

    state = getattr(value, "__self__", None)
    return value is random or value is np.random or state is random._inst or state is np.random.mtrand._rand


def _held(one: Any) -> list[tuple[Any, Any]]:
    """Objects in ``one`` that may run: datasets, transforms, and lists of them."""
    if isinstance(one, functools.partial):
        return [(one.func, None)]
    if isinstance(one, types.MethodType):
        return [(one.__func__, one.__self__), (one.__self__, None)]
    return [(v, None) for v in _values(one) if _runs(v)]


def _values(one: Any) -> list[Any]:
    """What ``one`` holds, in lists and dictionaries too."""
    if isinstance(one, type | types.ModuleType) or not hasattr(one, "__dict__"):
        return []
    values = list(vars(one).values())
    values += [v for held in values if isinstance(held, list | tuple) for v in held[:MANY]]
    values += [v for held in values if isinstance(held, dict) for v in islice(held.values(), MANY)]
    return values


def _runs(value: Any) -> bool:
    return isinstance(value, types.FunctionType | types.MethodType | functools.partial) or any(_methods(value))


def _of_library(function: types.FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] in ("torch", "numpy", "random", "datasets", "PIL")


def _of_user(module: str) -> bool:
    """Whether a module is neither the interpreter's nor installed: only then what it is like is worth a look."""
    top = module.split(".")[0]
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    return top not in sys.stdlib_module_names | {"builtins"} and "site-packages" not in path


def _cells(function: types.FunctionType) -> list[Any]:
    """What the closure of ``function`` holds."""
    held = []
    for cell in function.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            pass
    return held
