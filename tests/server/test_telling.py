"""What a client is told while it waits: progress every second in words, and log messages where they are wanted."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import EmptyResult, LoggingMessageNotificationParams, SetLevelRequest, SetLevelRequestParams

from dataloader_expert.server.app import build
from dataloader_expert.tools.execution import Settings

pytestmark = pytest.mark.journey

SLOW = """
import time


class Slow:
    def __len__(self):
        return 1000

    def __getitem__(self, i):
        if not 0 <= i < 1000:
            raise IndexError(i)
        time.sleep(0.05)
        return {"x": [float(i), float("nan") if i % 3 else 0.0], "label": i % 2}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("telling")
    (root / "slow.py").write_text(SLOW, encoding="utf-8")
    return root


def called(root: Path, era: Any, level: Any) -> tuple[list[tuple[float, float | None, str]], list[Any]]:
    """The values, totals and messages of progress; and the log messages."""
    steps: list[tuple[float, float | None, str]] = []
    logs: list[LoggingMessageNotificationParams] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message or ""))

    async def on_log(params: LoggingMessageNotificationParams) -> None:
        logs.append(params)

    async def drive() -> None:
        async with Client(
            build(Settings((str(root),))), mode=era, logging_callback=on_log, log_level=level if era == "auto" else None
        ) as client:
            if era == "legacy" and level is not None:
                await client.session.send_request(
                    SetLevelRequest(params=SetLevelRequestParams(level=level)), EmptyResult
                )
            arguments = {"source": str(root / "slow.py:Slow"), "budget_s": 8}
            result = await client.call_tool("check_quality", arguments, progress_callback=on_progress)
            assert not result.is_error, result.content

    asyncio.run(drive())
    return steps, logs


@pytest.fixture(scope="module", params=["auto", "legacy"])
def told(root: Path, request: pytest.FixtureRequest) -> tuple[list[Any], list[Any]]:
    return called(root, request.param, "info")


def test_progress_comes_at_least_every_second_and_says_what_is_done(told: tuple[list[Any], list[Any]]) -> None:
    """Our promise: no two messages are far apart, each says what is measured and how much of the budget is spent.

    How far apart is counted in the server's own seconds, which each message has as its value.
    """
    progress, _ = told
    values = [value for value, _, _ in progress]
    assert values == sorted(set(values))
    assert len(progress) >= 4
    apart = [b - a for a, b in itertools.pairwise(values)]
    assert max(apart) < 1.9, progress
    assert all(total is not None and total >= value for value, total, _ in progress)
    assert all(" of 8 s)" in message for _, _, message in progress), progress
    assert len({message.split(" (")[0] for _, _, message in progress}) >= 2


def test_log_messages_are_sent_where_they_are_wanted(told: tuple[list[Any], list[Any]]) -> None:
    """Our promise: findings are told as they are made, what cannot be known too, and nothing below the level asked for."""
    _, logs = told
    assert {log.logger for log in logs} == {"dataloader-expert"}
    assert "debug" not in {log.level for log in logs}
    assert any(log.data.get("code") == "nan" and log.level in ("error", "warning") for log in logs), logs


def test_nobody_is_sent_what_was_not_asked_for(root: Path) -> None:
    """The protocol: a client of the newer revision that names no level gets no log message."""
    _, logs = called(root, "auto", None)
    assert logs == []
