"""Long calls as tasks (extension ``io.modelcontextprotocol/tasks``, SEP-2663), for clients that declare it.

When a call's handler calls ``working()``, the client gets a task at once. It asks for its state with ``tasks/get`` (the
progress message is in ``statusMessage``), answers its questions with ``tasks/update`` and ends it with ``tasks/cancel``.
Refusals and questions before ``working()`` are sent directly. Other clients wait for the result and get progress messages.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import uuid4

from mcp import MCPError
from mcp.server.extension import Extension, MethodBinding
from mcp.types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    InputRequiredResult,
    InputResponses,
    RequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter

from dataloader_expert.errors import escaped

IDENTIFIER = "io.modelcontextprotocol/tasks"
TTL_S = 3600
POLL_MS = 1000
Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
RESPONSES: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Task:
    """A call that is in progress or has ended. ``asked``: the questions that wait for an answer, by key."""

    id: str = field(default_factory=lambda: uuid4().hex)
    status: Status = "working"
    message: str = "starting"
    created: str = field(default_factory=now)
    updated: str = field(default_factory=now)
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    handler: asyncio.Task[Any] | None = None

    def become(self, status: Status, message: str) -> None:
        self.status, self.message, self.updated = status, message, now()

    def told(self) -> dict[str, Any]:
        return {
            "taskId": self.id,
            "status": self.status,
            "statusMessage": self.message,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
            "ttlMs": TTL_S * 1000,
            "pollIntervalMs": POLL_MS,
        }


CURRENT: ContextVar[Task | None] = ContextVar("task", default=None)


def working() -> Task | None:
    """Says that what follows takes long. Returns the task that the call becomes; None if the client waits for the result."""
    task = CURRENT.get()
    if task is not None:
        task.begun.set()
    return task


class Named(RequestParams):
    """The parameters of requests about a task."""

    task_id: str


class Answers(Named):
    input_responses: dict[str, Any]


class Tasks(Extension):
    """Turns long calls into tasks; a task that has ended is forgotten an hour after its creation."""

    identifier = IDENTIFIER

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", Named, self._get),
            MethodBinding("tasks/update", Answers, self._update),
            MethodBinding("tasks/cancel", Named, self._cancel),
        ]

    def close(self) -> None:
        for task in self._tasks.values():
            if task.handler is not None:
                task.handler.cancel()

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if not declared(ctx):
            return await call_next(ctx)
        task = Task()
        task.handler = asyncio.create_task(_carried_out(task, params, ctx, call_next))
        begins = asyncio.create_task(task.begun.wait())
        try:
            await asyncio.wait((task.handler, begins), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            task.handler.cancel()  # the client gave up before there was a task
            raise
        finally:
            begins.cancel()
        if not task.begun.is_set():
            return await task.handler
        self._forget()
        self._tasks[task.id] = task
        task.handler.add_done_callback(lambda done: _settle(task, done))
        return {"resultType": "task", **task.told()}

    async def _get(self, ctx: Any, params: Named) -> dict[str, Any]:
        task = self._task(ctx, params)
        told = task.told()
        for name, value in (("result", task.result), ("error", task.error), ("inputRequests", task.asked or None)):
            if value is not None:
                told[name] = value
        return told

    async def _update(self, ctx: Any, params: Answers) -> dict[str, Any]:
        task = self._task(ctx, params)
        for key in params.input_responses.keys() & task.asked.keys():
            task.answers[key] = params.input_responses[key]
            del task.asked[key]
        if task.status == "input_required" and not task.asked:
            task.answered.set()
        return {}

    async def _cancel(self, ctx: Any, params: Named) -> dict[str, Any]:
        task = self._task(ctx, params)
        if task.handler is not None and not task.handler.done():
            task.handler.cancel()
            await asyncio.wait((task.handler,))  # its processes are gone by the time this is answered
        return {}

    def _task(self, ctx: Any, params: Named) -> Task:
        if not declared(ctx):
            missing: dict[str, Any] = {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client did not declare {IDENTIFIER}", missing)
        header = (getattr(ctx.request, "headers", None) or {}).get("mcp-name")
        if header is not None and header != params.task_id:  # for core methods the SDK takes care of it
            raise MCPError(HEADER_MISMATCH, "the header Mcp-Name and the request name different tasks")
        task = self._tasks.get(params.task_id)
        if task is None:
            raise MCPError(
                INVALID_PARAMS,
                f"task {escaped(params.task_id)} is not known: it ended over an hour ago or belongs to another server",
            )
        return task

    def _forget(self) -> None:
        oldest = datetime.now(UTC).timestamp() - TTL_S
        for id_, task in list(self._tasks.items()):
            ended = task.handler is None or task.handler.done()
            if ended and datetime.fromisoformat(task.created).timestamp() < oldest:
                del self._tasks[id_]


def declared(ctx: Any) -> bool:
    """Whether the client accepts tasks: it declares that, in a revision whose results may have other shapes."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and IDENTIFIER in (capabilities.extensions or {})


async def _carried_out(task: Task, params: Any, ctx: Any, call_next: Any) -> Any:
    """The handler's result; once the call is a task, its questions go through the task, and the handler is called again."""
    CURRENT.set(task)
    while True:
        result = await call_next(ctx)
        if not isinstance(result, InputRequiredResult) or not task.begun.is_set():
            return result
        requests = result.input_requests or {}
        task.asked = {k: r.model_dump(mode="json", by_alias=True, exclude_none=True) for k, r in requests.items()}
        task.answered.clear()
        task.become("input_required", "waiting for an answer")
        await task.answered.wait()
        task.become("working", "answered")
        # the handler reads the answers from the request, which a client without tasks would have sent again
        params.input_responses = RESPONSES.validate_python(task.answers)
        params.request_state = result.request_state
        task.answers = {}


def _settle(task: Task, done: asyncio.Task[Any]) -> None:
    task.asked = {}
    if done.cancelled():
        task.become("cancelled", "cancelled")
    elif (error := done.exception()) is not None:
        code, text = (error.code, error.message) if isinstance(error, MCPError) else (-32603, "internal error")
        task.error = {"code": code, "message": text}
        task.become("failed", text)
    else:
        result: BaseModel | dict[str, Any] = done.result()
        if isinstance(result, BaseModel):
            failed = isinstance(result, CallToolResult) and bool(result.is_error)
            task.result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        else:
            failed, task.result = bool(result.get("isError")), result
        task.become("completed", "refused" if failed else "done")
