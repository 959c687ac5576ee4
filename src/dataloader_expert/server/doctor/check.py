"""One check of the doctor, its result, and how to fix what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """``room``: the heading under which it is printed; ``fix`` is empty only if nothing is wrong."""

    room: str
    name: str
    status: Status
    found: str
    fix: str = ""


def ok(room: str, name: str, found: str) -> Check:
    return Check(room, name, "ok", found)
