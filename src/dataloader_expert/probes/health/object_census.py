"""Python objects that a dataset holds, by attribute. Reading an object writes to it, as its reference count is in it.

No user code runs, neither properties nor methods: containers are read by the methods of their built-in type, attributes
by the interpreter's own descriptors. Of a large container a seeded sample is examined, and what its elements hold is
extrapolated slot by slot: the first elements of all tuples together, the values of one key together. So a class name
that a million tuples share counts once, and a path of each tuple's own counts a million times.
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
import types
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from dataloader_expert.facts import Quantity
from dataloader_expert.sources.held import (
    CONTAINERS,
    MOST_OWNERS,
    attributes,
    bases,
    class_name,
    container_of,
    inner_of,
    members_of,
    own_dict,
)
from dataloader_expert.sources.users import is_users

OBJECTS = Quantity(
    "objects_held",
    "",
    "the dataset attribute with the most Python objects: its class, their number and bytes",
)
SECONDS = 0.05
SAMPLE = 256
"""Elements of a slot that are examined."""
DEEPEST = 6
FIELDS = 16
"""A container with at most this many elements is a record: each element has a slot of its own."""
FIRST = 20_000
"""The first entries of a dict or set, from which the sample is drawn: they cannot be accessed by position."""

EXACT = (*CONTAINERS, str, bytes, bytearray, int, float, complex, bool)


@dataclass(frozen=True)
class Held:
    """``attribute`` of the class ``owner`` holds so many objects; ``whole``: all were examined, none extrapolated."""

    attribute: str
    owner: str
    objects: int
    bytes: int
    whole: bool


def census(dataset: object, seed: int, seconds: float = SECONDS, beside: frozenset[int] = frozenset()) -> Held | None:
    """The attribute with the most objects: of the dataset, of an object that it holds, such as a Subset's dataset, or of the modules
    of their classes; ``beside``: identities of values that are not looked at."""
    walk = _Walk(seed, time.monotonic() + seconds)
    most: Held | None = None
    owners: deque[object] = deque([dataset])
    known = {id(dataset)}
    while owners and not walk.late():
        owner = owners.popleft()
        module = _module(owner)
        of_module = {} if module is None or id(module) in known else _filled(module)
        known.add(id(module))
        named = [(class_name(type(owner)), *item) for item in attributes(owner).items()]
        named += [(f"module {_called(module)}", *item) for item in of_module.items()]
        for place, name, value in named:
            if id(value) in beside:
                continue
            inner = list(inner_of(value))
            for held in inner:
                if id(held) not in known and len(known) < MOST_OWNERS:
                    known.add(id(held))
                    owners.append(held)
            if not inner:
                walk.whole = True
                objects, size = walk.tally([value], 1, 0)
                if most is None or objects > most.objects:
                    most = Held(str(name), place, round(objects), round(size), walk.whole)
    return replace(most, whole=False) if most is not None and owners else most


def _module(owner: object) -> types.ModuleType | None:
    """The module of a user's class; None for Python's, libraries' and the main one, which holds what has nothing to do with it."""
    name = members_of(type(owner)).get("__module__")
    found = sys.modules.get(name) if type(name) is str and name != "__main__" else None
    file = found.__dict__.get("__file__") if type(found) is types.ModuleType else None
    return found if type(file) is str and is_users(file) else None


def _called(module: types.ModuleType | None) -> str:
    return "" if module is None else str(module.__dict__.get("__name__", ""))


def _filled(module: types.ModuleType) -> dict[str, object]:
    """The lists and dicts of a module."""
    own = {key: value for key, value in module.__dict__.items() if not str(key).startswith("__")}
    return {key: value for key, value in own.items() if container_of(value) in (list, dict)}


def containers(dataset: object) -> dict[tuple[int, str], Any]:
    """The containers that reading samples may fill: lists and dicts among the attributes of the dataset and of the objects that it
    holds, what ``functools.lru_cache`` keeps for their methods, and both in the modules of their classes; by owner and name."""
    found: dict[tuple[int, str], Any] = {}
    owners: deque[object] = deque([dataset])
    known = {id(dataset)}
    while owners:
        owner = owners.popleft()
        name = members_of(type(owner)).get("__module__")
        loaded = sys.modules.get(name) if type(name) is str else None
        module = loaded.__dict__ if type(loaded) is types.ModuleType else {}
        shared = [(id(base), dict(members_of(base))) for base in bases(type(owner))]
        own = attributes(owner)
        for where, names in [(id(owner), own), *shared, (id(loaded), dict(module))]:
            for key, value in names.items():
                value = value.__func__ if type(value) is staticmethod else value
                if type(value) is functools._lru_cache_wrapper or container_of(value) in (list, dict):
                    found[where, str(key)] = value
        for value in own.values():
            for held in inner_of(value):
                if id(held) not in known and len(known) < MOST_OWNERS:
                    known.add(id(held))
                    owners.append(held)
    return found


def entries(container: Any) -> int:
    """How many a container of :func:`containers` holds."""
    if type(container) is functools._lru_cache_wrapper:
        return int(container.cache_info().currsize)
    return int(container_of(container).__len__(container))


def newest(container: Any, n: int) -> list[object] | None:
    """The values that were added last; None if they cannot be seen."""
    if type(container) is functools._lru_cache_wrapper:
        return None
    if issubclass(type(container), dict):
        return list(itertools.islice(reversed(dict.values(container)), n))
    return list.__getitem__(container, slice(-n, None))


Slot = tuple[object, list[object], int]
"""A name, some of the elements in this slot, and their total number."""


class _Walk:
    """``whole``: whether everything was examined so far; ``seen``: containers and objects already counted."""

    def __init__(self, seed: int, until: float) -> None:
        self.random, self.until = Random(seed), until
        self.whole = True
        self.seen: set[int] = set()

    def late(self) -> bool:
        return time.monotonic() > self.until

    def tally(self, values: list[object], population: float, depth: int) -> tuple[float, float]:
        """Objects and bytes of a slot of ``population`` elements, ``values`` being a sample, with all that they
        hold."""
        fresh = [v for v in values if id(v) not in self.seen]
        if not fresh:
            return 0.0, 0.0
        unique = list({id(v): v for v in fresh}.values())
        number = distinct(Counter(map(id, fresh)), population * len(fresh) / len(values))
        slots: dict[object, tuple[list[object], int]] = {}
        for value in unique:
            if depth >= DEEPEST or self.late():
                self.whole = False
                break
            for slot, sample, places in self._parts(value, max(1, SAMPLE // len(unique))):
                self.seen.add(id(value))
                known, before = slots.get(slot, ([], 0))
                slots[slot] = (known + sample, before + places)
        scale = number / len(unique)
        below = [self.tally(sample, places * scale, depth + 1) for sample, places in slots.values()]
        size = scale * sum(map(_bytes, unique))
        return number + sum(n for n, _ in below), size + sum(b for _, b in below)

    def _parts(self, value: Any, most: int) -> Iterator[Slot]:
        """The slots of one value."""
        base = container_of(value)
        if base is None:
            yield from (("." + name, [held], 1) for name, held in attributes(value).items())
            yield from self._of_array(value, most)
            return
        places = base.__len__(value)
        if base is dict:
            pairs = list(itertools.islice(dict.items(value), FIRST))
            if places <= FIELDS and all(type(k) is str for k, _ in pairs):
                yield "keys", [k for k, _ in pairs], places
                yield from ((f"[{k}]", [v], 1) for k, v in pairs)
                return
            drawn = self._drawn(pairs, most, places)
            yield "keys", [k for k, _ in drawn], places
            yield "values", [v for _, v in drawn], places
        elif base in (set, frozenset):
            first = list(itertools.islice(base.__iter__(value), FIRST))
            yield "elements", list(self._drawn(first, most, places)), places
        elif places <= FIELDS:
            yield from ((i, [v], 1) for i, v in enumerate(base.__iter__(value)))
        else:
            at = self._drawn(range(places), most, places)
            yield "elements", [base.__getitem__(value, i) for i in at], places

    def _of_array(self, value: Any, most: int) -> Iterator[Slot]:
        """The objects of a numpy array of objects."""
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray and value.dtype == object and value.size:
            at = self._drawn(range(value.size), most, value.size)
            yield "elements", [value.flat[i] for i in at], value.size

    def _drawn(self, among: Sequence[Any], most: int, places: int) -> Sequence[Any]:
        if places > min(most, len(among)):
            self.whole = False
        return among if len(among) <= most else self.random.sample(among, most)


def distinct(times: Counter[int], population: float) -> float:
    """The number of distinct objects in a slot, from how often each was drawn (Chao's estimator)."""
    drawn, different = times.total(), len(times)
    if drawn >= population - 0.5:
        return different
    if different == drawn:
        return population
    once, twice = (sum(1 for n in times.values() if n == k) for k in (1, 2))
    return min(population, different + once * (once - 1) / (2 * (twice + 1)))


def _bytes(thing: object) -> int:
    """The object's own bytes: by its built-in type, else of its fields and its ``__dict__``."""
    if type(thing) in EXACT:
        return sys.getsizeof(thing)
    base = container_of(thing) or object
    return int(base.__sizeof__(thing)) + (sys.getsizeof(own_dict(thing)) if base is object else 0)
