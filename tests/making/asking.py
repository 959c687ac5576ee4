"""Asking a tool through the door, in process: one loop and one door for as long as the asker lives."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dataloader_expert.facts import Facts
from dataloader_expert.lab.door import Door
from dataloader_expert.lab.outcome import Limits
from dataloader_expert.probes.base import Probe
from dataloader_expert.report import Report
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings, execute, message_for, resolve
from tests.making.quick import quick

BUDGET_S = 240.0


class Asker:
    """``ask(tool, source, root)`` gives the tool's whole result; a request that fails raises RequestError."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.door = Door()
        self.tools = all_tools()

    def quick(self, experiments: bool = False, stacks_s: float = 0.25) -> Asker:
        """One with the tools' own recipes in shorter blocks, through the same door; ``experiments`` take time."""
        other = copy.copy(self)
        other.tools = {name: quick(tool, experiments, stacks_s) for name, tool in self.tools.items()}
        return other

    def but(self, name: str, kept: Callable[[Probe], bool]) -> Asker:
        """One whose tool of this name runs only the probes of its recipe that are kept."""
        other, tool = copy.copy(self), self.tools[name]
        recipe = replace(tool, recipe=lambda request: tuple(p for p in tool.recipe(request) if kept(p)))
        other.tools = {**self.tools, name: recipe}
        return other

    def ask(self, tool: str, source: str, root: str, *, allowed_gb: Any = None, **more: Any) -> Report:
        made = self.tools[tool]
        request = made.request.model_validate({"source": source, "budget_s": BUDGET_S, "detail": "full", **more})
        settings = Settings((root,), memory_limit_gb=allowed_gb)
        return self.loop.run_until_complete(execute(made, request, self.door, settings))

    def facts(self, tool: str, source: str, root: str, **more: Any) -> Facts:
        """What the tool's probes observe, before anything is concluded from it."""
        made, settings = self.tools[tool], Settings((root,))
        request = made.request.model_validate({"source": source, "budget_s": BUDGET_S, **more})
        ref = resolve(request, settings)
        message, memory = message_for(ref, made.recipe(request), request.seed, request.budget_s, settings)
        run = self.door.run(message, Limits(request.budget_s, memory), True, settings.roots, None)
        return self.loop.run_until_complete(run).facts

    def close(self) -> None:
        async def hosts_closed() -> None:
            self.door.close()

        self.loop.run_until_complete(hosts_closed())
        self.loop.close()
