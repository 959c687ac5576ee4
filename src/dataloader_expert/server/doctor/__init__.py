"""``doctor``: checks everything that measuring and serving need, and says how to fix what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataloader_expert.server.doctor.check import Check

SOUND, BROKEN = 0, 1
COLOURS = {"ok": ("green",), "warning": ("yellow", "bold"), "error": ("red", "bold")}


def doctor(given: Namespace) -> int:
    """Prints the checks as they finish; exit status 1 if one is an error."""
    checks = asyncio.run(_all(None if given.json else _Printed()))
    broken = sum(check.status == "error" for check in checks)
    doubtful = sum(check.status == "warning" for check in checks)
    if given.json:
        from dataloader_expert import __version__

        told = {"version": __version__, "sound": not broken, "checks": [asdict(check) for check in checks]}
        print(json.dumps(told, indent=1))
    else:
        print(f"\n{_counted(broken, 'problem')}, {_counted(doubtful, 'warning')}.")
    return BROKEN if broken else SOUND


async def _all(printed: _Printed | None) -> list[Check]:
    from dataloader_expert.server.clients.known import Place
    from dataloader_expert.server.doctor import configured, machine, measuring

    found: list[Check] = []

    def take(check: Check) -> None:
        found.append(check)
        if printed is not None:
            printed.take(check)

    for check in machine.judged(machine.look()):
        take(check)
    async for check in measuring.hosts(None, dict(os.environ)):
        take(check)
    async for check in configured.clients(Place.here()):
        take(check)
    return found


class _Printed:
    """One line per check, and a second one with the fix if something is wrong."""

    def __init__(self) -> None:
        from dataloader_expert import __version__
        from dataloader_expert.server.terminal.colours import Colours

        self.colours, self.room = Colours.of(sys.stdout), ""
        print(f"dataloader-expert {__version__}")

    def take(self, check: Check) -> None:
        if check.room != self.room:
            self.room = check.room
            print(f"\n{self.colours.paint(check.room, 'bold')}")
        status = self.colours.paint(f"{check.status:<8}", *COLOURS[check.status])
        print(f"  {status}{check.name}: {check.found}")
        if check.fix:
            print(f"          to fix it: {check.fix}")
        sys.stdout.flush()


def _counted(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n or 'no'} {word}s"
