"""What reading samples opened or made in this process, taken back before workers start: in training they start from a process that
has read nothing.

Looked at are the dataset, what it wraps and objects of the user's own classes that it holds, and the user's modules with their
classes and caches: a store that connects on first use, or an index that the workers' initialiser loads into a global.
"""

from __future__ import annotations

import functools
import gc
import io
import itertools
import os
import pickle
import sys
import threading
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.sources.held import attributes, within
from dataloader_expert.sources.opened import below
from dataloader_expert.sources.users import is_users

MOST_PARTS, MOST_HELD = 16, 256
_CONTAINERS = (dict, list, set, deque)
ALIKE = 16
"""So many entries of a container tell whether it holds handles."""


@dataclass(frozen=True)
class Owner:
    """An object, a class or a module, with its attributes before anything was read, and the containers in them that were empty."""

    held_by: Any
    before: dict[str, Any]
    empty: list[Any]

    @classmethod
    def of(cls, thing: Any) -> Owner:
        before = contents(thing)
        return cls(thing, before, [v for v in before.values() if isinstance(v, _CONTAINERS) and not v])

    @property
    def shared(self) -> bool:
        """Whether it is a module or a class, which hold more than what reading samples is about."""
        return isinstance(self.held_by, type | types.ModuleType)

    def now(self) -> dict[str, Any]:
        return contents(self.held_by)

    def new(self) -> dict[str, Any]:
        """Its attributes that held nothing before, or that said that something was not yet done."""
        now = self.now()
        made = {name: value for name, value in now.items() if self._made(name, value)}
        done = {name: value for name, value in now.items() if value is True and self.before.get(name) is False}
        # a module's flag alone may be of what a process can do only once
        return made | done if made or not self.shared or self.refilled() else made

    def _made(self, name: str, value: Any) -> bool:
        if "epoch" in name.lower() or self.before.get(name) is not None:  # the loop sets the epoch
            return False
        if self.shared and (name.startswith("__") or isinstance(value, type | types.ModuleType | types.FunctionType)):
            return False
        return value is not None

    def refilled(self) -> list[Any]:
        """Those of its containers that were empty, and are not."""
        now = self.now().values()
        return [e for e in self.empty if e and any(value is e for value in now)]

    def put_back(self, names: Iterable[str]) -> None:
        for name in names:
            if isinstance(self.held_by, type) or _is_slot(self.held_by, name):
                of: Any = type if isinstance(self.held_by, type) else object
                if name in self.before:
                    of.__setattr__(self.held_by, name, self.before[name])
                else:
                    of.__delattr__(self.held_by, name)
            elif name in self.before:
                vars(self.held_by)[name] = self.before[name]
            else:
                vars(self.held_by).pop(name, None)


@dataclass
class Made:
    """What reading made: by owner its new attributes; containers that were empty; and caches of functions."""

    attributes: list[tuple[Owner, dict[str, Any]]] = field(default_factory=list)
    containers: list[Any] = field(default_factory=list)
    caches: list[Any] = field(default_factory=list)

    def names(self) -> set[str]:
        return {name for _, new in self.attributes for name in new}

    def shareable(self) -> list[str]:
        """The attributes that forked workers could share: no files and connections, which each must open for itself."""
        return sorted({n for _, new in self.attributes for n, value in new.items() if not _is_handle(value)})

    def values(self) -> Iterator[Any]:
        yield from (value for _, new in self.attributes for value in new.values())
        yield from self.containers

    def taken_back(self) -> None:
        """Takes it back in a worker, but not what the worker made itself.

        Nothing is freed: a worker that freed a large index would copy the pages it is in.
        """
        for owner, new in self.attributes:
            now = owner.now()
            owner.put_back([name for name, value in new.items() if now.get(name) is value])
        for container in self.containers:
            _KEPT.append(list(container.items() if isinstance(container, dict) else container))
            container.clear()
        for cache in self.caches:
            _KEPT.append(list(_cached(cache)))
            cache.cache_clear()
        _KEPT.append(self)


_KEPT: list[Any] = []


@dataclass(frozen=True)
class Before:
    """The state of the user's objects and modules before anything was read."""

    owners: list[Owner]
    caches: list[Any]

    @classmethod
    def of(cls, *things: Any, roots: tuple[str, ...] | None = None) -> Before:
        """``things``: a dataset, and other objects that workers use; modules are those below ``roots``; None: all of the user's."""
        parts = parts_of(things[0])
        held = list({id(one): one for thing in things for one in _held_by(thing)}.values())
        held = [one for one in held if not any(one is part for part in parts)]
        modules = [m for m in _users_modules() if roots is None or below(os.path.realpath(str(m.__file__)), roots)]
        shared = [*modules, *(c for module in modules for c in _classes_of(module))]
        caches = [value for thing in shared for value in map(_cache, vars(thing).values()) if value is not None]
        return cls(
            [Owner.of(thing) for thing in (*parts, *held, *shared)],
            [cache for cache in caches if not cache.cache_info().currsize],
        )

    def close(self) -> None:
        """Takes back what reading opened in this process.

        A handle is what can be closed or belongs to this process, in an attribute that held nothing before, or in a container that
        was empty. An object that has one gets all its attributes of before, as others may say that it is open.
        """
        for owner in self.owners:
            kept = [c for c in owner.refilled() if any(map(_is_handle, itertools.islice(_entries(c), ALIKE)))]
            new = owner.new()
            opened = [name for name, value in new.items() if value is not True and _is_handle(value)]
            for handles in kept:
                handles.clear()
            if owner.shared:
                owner.put_back(new if kept or opened else ())
            elif kept or opened:
                owner.put_back(owner.now())
                owner.put_back(owner.before)
        for cache in self.caches:
            if any(map(_is_handle, itertools.islice(_cached(cache), ALIKE))):
                cache.cache_clear()

    def made(self) -> Made:
        """What reading made and left open or kept. A dataset's own containers stay, as its sampler may have filled them."""
        found = Made()
        for owner in self.owners:
            new = owner.new()
            if new:
                found.attributes.append((owner, new))
            found.containers += owner.refilled() if owner.shared else ()
        found.caches = [cache for cache in self.caches if cache.cache_info().currsize]
        return found


def parts_of(dataset: Any) -> list[Any]:
    """A dataset and those that it wraps, such as that of a ``Subset``, if they have attributes of their own."""
    found: list[Any] = []
    waiting = [dataset]
    while waiting and len(found) < MOST_PARTS:
        part = waiting.pop()
        if hasattr(part, "__dict__") and not any(part is known for known in found):
            found.append(part)
            inner = vars(part)
            waiting += [inner[name] for name in ("dataset", "data") if name in inner]
            several = inner.get("datasets")
            waiting += several if isinstance(several, list) else []
    return found


def _held_by(root: Any) -> list[Any]:
    """Objects of the user's classes, and values of this thread, that something holds. What libraries' objects hold is searched, but
    their own state is theirs."""
    root = getattr(root, "__self__", root)
    found, waiting, known = [], deque([root]), {id(root)}
    while waiting and len(known) < MOST_HELD:
        thing = waiting.popleft()
        local = isinstance(thing, threading.local)
        if local or _of_user(type(thing)):
            found.append(thing)
        inner = contents(thing)
        for value in inner.values():
            for one in within(value):
                if id(one) not in known and (
                    isinstance(one, threading.local) or _of_user(type(one)) or attributes(one)
                ):
                    known.add(id(one))
                    waiting.append(one)
    return found


def contents(thing: Any) -> dict[str, Any]:
    return {**attributes(thing), **getattr(thing, "__dict__", {})}


def _is_slot(thing: Any, name: str) -> bool:
    return isinstance(getattr(type(thing), name, None), types.MemberDescriptorType)


def _of_user(kind: type) -> bool:
    module = sys.modules.get(str(type.__dict__["__dict__"].__get__(kind).get("__module__")))
    return isinstance(module, types.ModuleType) and _is_users(module)


def _is_users(module: types.ModuleType) -> bool:
    file = vars(module).get("__file__")
    return type(file) is str and is_users(file)


def _users_modules() -> list[types.ModuleType]:
    return [
        m for name, m in [*sys.modules.items()] if name != "__main__" and type(m) is types.ModuleType and _is_users(m)
    ]


def _classes_of(module: types.ModuleType) -> list[type]:
    name = module.__name__
    return [v for v in vars(module).values() if isinstance(v, type) and vars(v).get("__module__") == name]


def _cache(value: Any) -> Any:
    """The cache of a function or method; None for anything else."""
    inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
    return inner if type(inner) is functools._lru_cache_wrapper else None


def _cached(cache: Any) -> Iterator[Any]:
    """The values that a cache of ``functools`` holds."""
    for table in gc.get_referents(cache):
        if type(table) is dict:
            for entry in table.values():
                link = type(entry).__name__ == "_lru_list_elem"
                yield from gc.get_referents(entry) if link else (entry,)


def _entries(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, Mapping) else container


def _is_handle(value: Any) -> bool:
    """Whether it holds something open, as files, archives, databases and memory maps of the system do, or cannot be sent to another
    process, as what belongs to an open file cannot."""
    if isinstance(value, type) or value is None:
        return False
    return callable(getattr(value, "close", None)) or not _can_be_sent(value)


def _can_be_sent(value: Any) -> bool:
    """Whether it can be pickled, as far as its first mebibyte tells."""
    try:
        pickle.Pickler(_AMebibyte()).dump(value)
    except EOFError:
        return True
    except Exception:  # its __reduce__ may raise anything
        return False
    return True


class _AMebibyte(io.RawIOBase):
    """Takes that much and keeps none of it."""

    left = 1 << 20

    def write(self, data: Any) -> int:
        self.left -= len(data)
        if self.left < 0:
            raise EOFError
        return len(data)

    def writable(self) -> bool:
        return True
