"""What a client is told while it waits: progress at least once a second, and log messages if it accepts them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any, get_args

from mcp.server.connection import allowed_log_levels
from mcp.server.mcpserver import Context
from mcp.types import LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParams
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from dataloader_expert.server.tasks import Task

logger = logging.getLogger(__name__)

HEARTBEAT_S = 1.0
LOOK_S = 0.25
LEVELS: tuple[LoggingLevel, ...] = get_args(LoggingLevel)
MOST_CLIENTS = 1000


class Levels:
    """The lowest level that each client of an older revision wants; newer ones state it in each request."""

    def __init__(self) -> None:
        self._of: OrderedDict[Hashable, LoggingLevel] = OrderedDict()

    def set(self, caller: Hashable, level: LoggingLevel) -> None:
        self._of[caller] = level
        while len(self._of) > MOST_CLIENTS:
            self._of.popitem(last=False)

    def wanted(self, ctx: Context[Any], level: LoggingLevel) -> bool:
        version = ctx.protocol_version or ""
        if version in MODERN_PROTOCOL_VERSIONS:
            return level in allowed_log_levels(version, ctx.request_context.meta)
        return LEVELS.index(level) >= LEVELS.index(self._of.get(caller_of(ctx), "warning"))


def caller_of(ctx: Context[Any]) -> Hashable:
    """Who is calling: the session, or for HTTP without sessions the connection; over stdio there is only one caller."""
    session = (ctx.headers or {}).get("mcp-session-id")
    address = getattr(ctx.request_context.request, "client", None)
    return session or (tuple(address) if address is not None else None)


class Telling:
    """Reports on one call: the child's messages, with the seconds spent of those it may take.

    A client with tasks asks for the state instead, so the message is stored in the task and nothing is sent.
    """

    def __init__(self, ctx: Context[Any], budget_s: float, task: Task | None, levels: Levels) -> None:
        self.ctx, self.budget_s, self.task, self.levels = ctx, budget_s, task, levels
        self.begun = time.monotonic()
        self.measures = False
        self.what = "starting the measuring process"
        self.told = 0.0
        self.logs: list[tuple[LoggingLevel, dict[str, Any]]] = []

    def wait(self, asked: int) -> None:
        self.what = f"waiting for another measurement to end ({asked} in the queue); the budget starts after that"

    def measure(self) -> None:
        """The turn has come: the budget starts now."""
        self.begun, self.measures = time.monotonic(), True
        self.what = "starting the measuring process"

    def take(self, event: dict[str, Any]) -> None:
        """An event of the measuring child; also called for events that are not reported."""
        kind = event["event"]
        if kind == "progress":
            self.what = event["message"]
            self.logs.append(("debug", {"message": self.what}))
        elif kind == "finding":
            found = event["finding"]
            self.logs.append((found["severity"], {"code": found["code"], "message": found["message"]}))
        elif kind == "unknown":
            unknown = event["unknown"]
            self.logs.append(("info", {"message": f"not known: {unknown['what']}: {unknown['why']}"}))

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Reports progress until the block ends."""
        beat = asyncio.ensure_future(self._beat())
        try:
            yield
        finally:
            beat.cancel()
        if self.task is None:
            await self._log()

    async def _beat(self) -> None:
        last, waited = "", 0.0
        while True:
            if self.what != last or waited >= HEARTBEAT_S:
                last, waited = self.what, 0.0
                if not await self._tell():
                    return
            await asyncio.sleep(LOOK_S)
            waited += LOOK_S

    async def _tell(self) -> bool:
        """False if the client cannot be reached."""
        spent = time.monotonic() - self.begun
        message = f"{self.what} ({spent:.0f} of {self.budget_s:.0f} s)" if self.measures else self.what
        if self.task is not None:
            self.task.become(self.task.status, message)
            return True
        self.told = max(round(self.told + 0.01, 2), round(spent, 2))  # must rise; the budget restarts once
        total = max(self.budget_s, self.told) if self.measures else None
        try:
            await self.ctx.report_progress(self.told, total, message)
            await self._log()
        except Exception:  # a transport may fail in any way; the answer matters more than progress
            logger.debug("a client that cannot be told of progress may still be answered", exc_info=True)
            return False
        return True

    async def _log(self) -> None:
        logs, self.logs = self.logs, []
        for level, data in logs:
            if self.levels.wanted(self.ctx, level):
                params = LoggingMessageNotificationParams(level=level, logger="dataloader-expert", data=data)
                # the session's own method warns that later revisions have no such messages; this client asked for them
                await self.ctx.session.send_notification(
                    LoggingMessageNotification(params=params), related_request_id=self.ctx.request_id
                )
