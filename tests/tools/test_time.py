"""A request has one time: what is done before the measuring begins is taken from it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.lab.door import Door
from dataloader_expert.lab.outcome import Limits
from dataloader_expert.tools.diagnose_io import TOOL, Request
from dataloader_expert.tools.execution import RENDER_S, Settings, execute


class Refusing:
    """A door that keeps the limits it was given."""

    limits = Limits(None, 0)

    async def run(self, message: dict[str, Any], limits: Limits, *given: Any) -> Any:
        self.limits = limits
        raise RequestError("timed-out", "no time is needed")


def test_what_comes_before_the_measuring_is_of_the_requests_time(tmp_path: Path) -> None:
    """Seen: on a busy machine importing the recipe took seconds, which were measured on top of the budget."""
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")

    def late(request: Any) -> tuple[()]:
        time.sleep(0.1)  # what importing takes: the test asserts on the time that is given, not on the clock
        return ()

    door, tool = Refusing(), replace(TOOL, recipe=late)
    request = Request.model_validate({"source": str(tmp_path / "rows.csv"), "budget_s": 20})
    with pytest.raises(RequestError):
        asyncio.run(execute(tool, request, cast(Door, door), Settings((str(tmp_path),))))
    assert door.limits.seconds is not None and 0 < door.limits.seconds <= 20 - RENDER_S - 0.1
