"""A quick look at data on disk before anything is measured: format, fields, label and splits, from names and metadata.

Questions and completions use it. A Python reference is not looked at, since that would import it one more time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Facts
from dataloader_expert.lab.door import START_S, Door
from dataloader_expert.lab.outcome import Limits
from dataloader_expert.tools.base import Request
from dataloader_expert.tools.execution import Settings, in_thread, message_for, resolve

LOOK_S = 10.0
KEEP_S = 30.0
MOST = 16
CANDIDATES = ("number", "category", "boolean")


@dataclass(frozen=True)
class Look:
    """What names and metadata say. ``label`` None: no field looks like one; ``sure``: its name alone says so."""

    format: str
    fields: tuple[str, ...]
    candidates: tuple[str, ...]
    label: str | None
    sure: bool
    splits: dict[str, int]


class Looks:
    """Recent looks, kept for half a minute: an answered question must be the same when it is asked again."""

    def __init__(self, door: Door, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._door, self._settings, self._clock = door, settings, clock
        self._kept: dict[tuple[str, str | None, str | None], tuple[float, Look | None]] = {}

    async def at(self, request: Request) -> Look | None:
        """None if there is nothing to look at: a Python reference, or data that cannot be opened."""
        key = (request.source, request.format, request.split)
        kept = self._kept.get(key)
        if kept is not None and self._clock() - kept[0] < KEEP_S:
            return kept[1]
        try:
            found = await self._look(request)
        except RequestError:  # the call itself will report it
            return None
        self._kept[key] = (self._clock(), found)
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]
        return found

    async def _look(self, request: Request) -> Look | None:
        from dataloader_expert.probes.data.layout import Layout  # not before the first look: a server opens without

        settings = self._settings
        ref = await in_thread(lambda: resolve(request, settings), START_S)
        if ref.code:
            return None
        await self._door.host(False, settings.roots, START_S)  # starting the host does not count
        message, memory = message_for(ref, (Layout(),), request.seed, LOOK_S, settings)
        outcome = await self._door.run(message, Limits(LOOK_S, memory), False, settings.roots)
        return seen(outcome.facts)


def seen(facts: Facts) -> Look | None:
    from dataloader_expert.checks.base import SPLITS
    from dataloader_expert.probes.data.layout import FIELDS, FORMAT, LABEL

    if facts.find(FORMAT) is None:
        return None
    fields: list[dict[str, Any]] = facts.value(FIELDS, [])
    label = facts.value(LABEL, {"name": None, "how": ""})
    scalar = tuple(
        f["name"] for f in fields if not f["shape"] and f["kind"] in CANDIDATES and "float" not in f["dtype"]
    )
    return Look(
        format=facts.value(FORMAT),
        fields=tuple(f["name"] for f in fields),
        candidates=scalar,
        label=label["name"],
        sure=label["name"] is not None and "pass label=" not in label["how"],
        splits=facts.value(SPLITS) or {},
    )
