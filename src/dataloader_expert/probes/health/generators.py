"""Generators of random numbers: whether reading a sample draws from one, or seeds a global one whichever sample it is."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from dataloader_expert.facts import Json, Quantity
from dataloader_expert.sources.held import attributes, owners_of

RESEEDED = Quantity(
    "generators_reseeded",
    "",
    "global generators of random numbers that were in the same state after most samples read, and not before",
)
SECOND = 1.05
"""Seconds until a seed that is the time in whole seconds is another one."""


def drawn_from(dataset: Any, index: int) -> str | None:
    """The attribute with a generator of its own from which reading a sample draws."""
    before = _own_states(dataset)
    dataset[index]
    after = _own_states(dataset)
    return next((name for name, state in after.items() if before.get(name, state) != state), None)


def _own_states(dataset: Any) -> dict[str, str]:
    kinds = _kinds()
    return {
        name: repr(state(value))
        for owner in owners_of(dataset)
        for name, value in attributes(owner).items()
        for kind, state in kinds.items()
        if isinstance(value, kind)
    }


def draws(dataset: Any, index: int) -> bool:
    """Whether reading a sample draws from a generator of random numbers that is seen: a global one, or one that the dataset, an object
    that it holds or the module of one of them has."""
    before = _states(dataset)
    dataset[index]
    return _states(dataset) != before


def _kinds() -> dict[type, Callable[[Any], Any]]:
    """Types of generators, and what gives their state."""
    import random

    import numpy as np
    import torch

    return {
        np.random.Generator: lambda g: g.bit_generator.state,
        np.random.RandomState: lambda g: g.get_state(),
        torch.Generator: lambda g: g.get_state().tolist(),
        random.Random: lambda g: g.getstate(),
    }


def _states(dataset: Any) -> list[str]:
    kinds = _kinds()
    found = list(global_states().values())
    for owner in owners_of(dataset):
        module = sys.modules.get(type(owner).__module__)
        for value in (owner, *attributes(owner).values(), *(vars(module).values() if module is not None else ())):
            found += [repr(state(value)) for kind, state in kinds.items() if isinstance(value, kind)]
    return found


def global_states() -> dict[str, str]:
    """The states of the global generators of random numbers."""
    import random

    import numpy as np
    import torch

    return {
        "random": repr(random.getstate()),
        "numpy.random": repr(np.random.get_state()),
        "torch": repr(torch.get_rng_state().tolist()),
    }


def reseeded(dataset: Any, states: list[dict[str, str]]) -> dict[str, Json] | None:
    """The global generators that reading a sample seeds, and whether it does with the time; None if it seeds none. ``states``: those
    before the first sample was read, and after each. Waits a second where one is seeded.

    Raises:
        Exception: what the dataset raises itself.
    """
    before, after = states[0], states[1:]
    if not _alike(after) - {name for name in before if before[name] == after[0][name]}:
        return None
    # a first reading may have drawn for once; the second that a seed follows may end between two
    pairs = (_alike([_drawn_before(dataset), _drawn_before(dataset)]) for _ in range(2))
    seeded = next(filter(None, pairs), None)
    if not seeded:
        return None
    now = global_states()
    time.sleep(SECOND)  # the second is what is looked for
    later = _drawn_before(dataset)
    by_time = any(now[name] != later[name] for name in seeded)
    return {"generators": sorted(seeded), "by_time": by_time, "read": len(after)}


def _alike(states: list[dict[str, str]]) -> set[str]:
    """The generators that are in one state more often than not."""
    most = {name: Counter(state[name] for state in states).most_common(1)[0][1] for name in states[0]}
    return {name for name, times in most.items() if 2 * times > len(states)}


def moved_on() -> dict[str, str]:
    """The states of the generators once each has drawn, so that none is in one that a sample has seeded."""
    import random

    import numpy as np
    import torch

    random.random(), np.random.random(), torch.rand(1)
    return global_states()


def _drawn_before(dataset: Any) -> dict[str, str]:
    """The states of the generators once a sample is read, where each has been moved on before."""
    moved_on()
    dataset[0]
    return global_states()
