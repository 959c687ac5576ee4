"""Calls as tasks, driven by a client that declares the extension, over the protocol and with real measurements."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.types import CallToolResult, ElicitResult, Request, RequestParams, Result

from dataloader_expert.server.tasks import IDENTIFIER
from tests.driving import processes, stdio, until
from tests.making.tiny import TINY

pytestmark = pytest.mark.journey

HOSTILE = Path(__file__).parents[1] / "journeys" / "hostile.py"


class Begun(Result):
    """What is answered in the place of a result; the state of a task, too."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    status_message: str | None = None
    ttl_ms: int
    poll_interval_ms: int


class About(RequestParams):
    task_id: str
    input_responses: dict[str, Any] | None = None


class Ask(Request[About, str]):
    method: str
    params: About


class State(Result):
    status: str | None = None
    status_message: str | None = None
    result: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


Deal = Callable[[Begun, Callable[..., Awaitable[State]]], Awaitable[CallToolResult]]


class TakesTasks(ClientExtension):
    """The client's half: ``deal`` is given each task, and a function that asks about it."""

    identifier = IDENTIFIER

    def __init__(self, deal: Deal) -> None:
        self.deal = deal

    def claims(self) -> list[ResultClaim[Begun]]:
        async def resolve(begun: Begun, ctx: ClaimContext) -> CallToolResult:
            async def ask(method: str, task_id: str = begun.task_id, **more: Any) -> State:
                return await ctx.session.send_request(Ask(method=method, params=About(task_id=task_id, **more)), State)

            return await self.deal(begun, ask)

        return [ResultClaim(result_type="task", model=Begun, resolve=resolve)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tasks")
    (root / "data").mkdir()
    TINY["image-folder"](root / "data")
    rows = "".join(f"{'xy'[i % 2]},{'pqr'[i % 3]}\n" for i in range(300))
    (root / "t.csv").write_text(f"a,b\n{rows}", encoding="utf-8")
    shutil.copy(HOSTILE, root)
    return root


def driven(root: Path, deal: Deal, drive: Callable[[Client], Awaitable[None]], **more: Any) -> None:
    async def run() -> None:
        server = stdio(root / "mark", "--root", str(root))
        async with Client(server, extensions=[TakesTasks(deal)], **more) as client:
            await drive(client)

    asyncio.run(run())


async def ended(ask: Callable[..., Awaitable[State]]) -> tuple[State, list[str]]:
    """The final state, and the messages on the way."""
    said: list[str] = []
    while (state := await ask("tasks/get")).status == "working":
        said.append(state.status_message or "")
        await asyncio.sleep(0.05)
    return state, said


def test_a_task_is_polled_to_its_result(root: Path) -> None:
    """The extension: the result is what a waiting client gets, and the message says what is being measured."""
    seen: dict[str, Any] = {}

    async def deal(begun: Begun, ask: Any) -> CallToolResult:
        seen["begun"] = begun
        state, seen["said"] = await ended(ask)
        assert state.status == "completed"
        with pytest.raises(MCPError, match="is not known"):
            await ask("tasks/get", task_id="nope")
        return CallToolResult.model_validate(state.result)

    async def drive(client: Client) -> None:
        arguments = {"source": str(root / "data"), "budget_s": 12}
        result = await client.call_tool("characterize_dataset", arguments)
        assert not result.is_error
        assert (result.structured_content or {})["samples"] == 42
        seen["refused"] = await client.call_tool("characterize_dataset", {"source": "/etc"})
        seen["misspelt"] = await client.call_tool("characterize_dataset", {"sorce": "/etc"})

    driven(root, deal, drive)
    assert seen["begun"].status == "working"
    assert seen["begun"].ttl_ms >= 60_000
    assert any(" of 12 s)" in said for said in seen["said"]), seen["said"]
    assert seen["refused"].is_error, "what is refused at once is no task"
    assert seen["misspelt"].is_error


def test_a_cancelled_task_leaves_no_process(root: Path) -> None:
    """Our promise: ``tasks/cancel`` is answered once what it measured with has ended, within a second."""
    mark = root / "mark"

    async def deal(begun: Begun, ask: Any) -> CallToolResult:
        assert await asyncio.to_thread(until, lambda: len(processes(mark)) >= 4, 20)  # server, warden, host and child
        await ask("tasks/cancel")
        assert await asyncio.to_thread(until, lambda: len(processes(mark)) == 3, 1), processes(mark)
        state = await ask("tasks/get")
        assert state.status == "cancelled"
        assert state.result is None
        await ask("tasks/cancel")  # once more is no error
        return CallToolResult(content=[], is_error=True)

    async def drive(client: Client) -> None:
        hanging = {"source": f"{root}/hostile.py:Hostile", "source_args": {"how": "hang"}, "budget_s": 60}
        await client.call_tool("characterize_dataset", hanging)

    driven(root, deal, drive)


def test_a_question_is_asked_by_the_task(root: Path) -> None:
    """Our promise: which column is the label is asked while the task waits, and the answer decides the result."""

    async def deal(begun: Begun, ask: Any) -> CallToolResult:
        state, _ = await ended(ask)
        assert state.status == "input_required"
        ((key, request),) = (state.input_requests or {}).items()
        assert request["method"] == "elicitation/create"
        assert request["params"]["requestedSchema"]["properties"]["label"]["enum"] == ["a", "b"]
        await ask("tasks/update", input_responses={"other": {"action": "decline"}})
        assert (await ask("tasks/get")).status == "input_required"
        await ask("tasks/update", input_responses={key: {"action": "accept", "content": {"label": "b"}}})
        state, _ = await ended(ask)
        assert state.status == "completed"
        return CallToolResult.model_validate(state.result)

    async def never(context: Any, params: Any) -> ElicitResult:
        raise AssertionError("the question is the task's")

    async def drive(client: Client) -> None:
        arguments = {"source": str(root / "t.csv"), "budget_s": 12}
        result = await client.call_tool("characterize_dataset", arguments)
        assert (result.structured_content or {})["classes"]["label"] == "b"

    driven(root, deal, drive, elicitation_callback=never)
