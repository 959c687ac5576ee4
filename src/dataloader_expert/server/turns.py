"""One measurement at a time, since two at once would disturb each other. Callers take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager


class Turns:
    """A lock that serves callers in rotation: a caller with ten requests does not make another wait for all ten."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        """Requests by caller, the next caller first; a caller that was served moves to the end."""

    @asynccontextmanager
    async def turn(self, caller: Hashable, waiting: Callable[[int], None]) -> AsyncIterator[None]:
        """Holds the turn. If it is taken, calls ``waiting`` with the length of the queue first."""
        if self._busy:
            await self._wait(caller, waiting)
        self._busy = True
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, caller: Hashable, waiting: Callable[[int], None]) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(mine)
        waiting(sum(map(len, self._waiting.values())))
        try:
            await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self._pass_on()  # the turn came just as the caller gave up
            else:
                self._forget(caller, mine)
            raise

    def _pass_on(self) -> None:
        self._busy = False
        while self._waiting and not self._busy:
            caller, asked = next(iter(self._waiting.items()))
            first = asked.popleft()
            self._waiting.move_to_end(caller)
            if not asked:
                del self._waiting[caller]
            if not first.done():  # otherwise its caller has just given up
                self._busy = True
                first.set_result(None)

    def _forget(self, caller: Hashable, mine: asyncio.Future[None]) -> None:
        asked = self._waiting.get(caller)
        if asked is not None and mine in asked:
            asked.remove(mine)
            if not asked:
                del self._waiting[caller]
