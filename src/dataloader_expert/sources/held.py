"""What an object holds: its attributes, and the objects in these; read by the interpreter's own descriptors, so no user code runs."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

MOST_OWNERS = 256
FEW = 64
"""A container with at most this many objects is searched for objects with attributes, such as a ConcatDataset's
parts."""
CONTAINERS: tuple[Any, ...] = (list, tuple, dict, set, frozenset)
PASSED_OVER = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
# what the interpreter knows about a class, whatever its metaclass returns
bases, members_of, class_name = (type.__dict__[name].__get__ for name in ("__mro__", "__dict__", "__name__"))


def owners_of(dataset: object) -> list[object]:
    """The dataset and the objects that it holds, also in small containers, and that these hold."""
    owners: list[object] = [dataset]
    known = {id(dataset)}
    for owner in owners:
        for value in attributes(owner).values():
            for held in inner_of(value):
                if id(held) not in known and len(known) < MOST_OWNERS:
                    known.add(id(held))
                    owners.append(held)
    return owners


def attributes(thing: object) -> dict[str, object]:
    """The contents of an object's ``__dict__`` and ``__slots__``; empty for containers, classes, modules and
    functions."""
    found: dict[str, object] = {}
    if container_of(thing) is not None or issubclass(type(thing), PASSED_OVER):
        return found
    found.update(own_dict(thing))
    for base in bases(type(thing)):
        members = members_of(base)
        for name, member in members.items() if "__slots__" in members else ():
            if type(member) is types.MemberDescriptorType:
                try:
                    found[name] = member.__get__(thing)
                except AttributeError:  # a slot that was never filled
                    continue
    return found


def own_dict(thing: object) -> dict[str, object]:
    for base in bases(type(thing)):
        own = members_of(base).get("__dict__")
        if type(own) is types.GetSetDescriptorType:
            return dict(own.__get__(thing))
    return {}


def container_of(thing: object) -> Any:
    """The built-in container type of a thing or of its base classes; None for anything else."""
    return next((base for base in CONTAINERS if issubclass(type(thing), base)), None)


def inner_of(value: object) -> Iterator[object]:
    """The value itself if it has attributes, or such objects in a small container."""
    yield from (v for v in within(value) if attributes(v))


def within(value: object) -> Iterator[object]:
    """What a small container has, or else the value itself."""
    base = container_of(value)
    if base is None:
        yield value
    elif base.__len__(value) <= FEW:
        yield from list(dict.values(value)) if isinstance(value, dict) else base.__iter__(value)
