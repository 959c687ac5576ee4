"""Why a child did not finish, as one of the contract's errors."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.lab.notes import HUNG_S
from dataloader_expert.lab.outcome import Limits

GRACE_S = 6.0
"""So long after the limit of a request the server gives it up, whatever the host does."""
MODULE_FRAME = re.compile(r'File "(.+)", line (\d+) in <module>')
CRASHES = {
    "SIGSEGV": "Segmentation fault",
    "SIGABRT": "Aborted",
    "SIGBUS": "Bus error",
    "SIGFPE": "Floating",
    "SIGILL": "Illegal instruction",
}
"""What faulthandler calls the signals of which it leaves the stack."""
CRASH, AFTER_CRASH = "Fatal Python error", "Extension modules:"
"""How faulthandler's dump of a process that a signal kills begins, and how it ends."""


def failure_of(end: dict[str, Any], stacks: str, stderr: str, limits: Limits, doing: str) -> RequestError:
    """Why a child did not finish, as one of the contract's errors."""
    sample = end.get("sample")
    at = f" at sample {sample}" if sample is not None else ""
    asked = stacks.rpartition(AFTER_CRASH)[2]  # not of a worker that crashed before
    phase = f"{escaped(doing)}: " if doing else ""
    line = next((f"{m[1]}:{m[2]}" for m in MODULE_FRAME.finditer(asked) if _is_users(m[1])), "")
    if end["reason"] == "time" and doing.startswith("opening ") and line:
        return RequestError(
            "import-failed",
            f"importing {escaped(doing.removeprefix('opening '))} did not finish within {limits.seconds:.0f} s; it was at "
            f"{line}: if the file trains when it is imported, guard that with if __name__ == '__main__'",
        )
    if end["reason"] == "time":
        return RequestError(
            "timed-out",
            f"{phase}no result within {limits.seconds:.0f} s{at}, so the process was stopped{user_stack(asked)}; "
            "raise budget_s, or fix what hangs or is slow there",
        )
    if end["reason"] == "hang":
        return RequestError(
            "timed-out",
            f"{phase}no progress in {HUNG_S:.0f} s{at}, so the process was stopped{user_stack(asked)}; "
            "fix what hangs there, or give budget_s if it takes so long",
        )
    if end["reason"] == "memory":
        used, limit = end["figures"]["used"] / 1e9, end["figures"]["limit"] / 1e9
        n = end["figures"]["processes"]
        return RequestError(
            "out-of-memory",
            f"{n} process{'es' if n != 1 else ''} held {used:.2f} GB{at}, over the limit of {limit:.2f} GB, and were stopped; "
            "find out what grows, or raise --memory-limit",
        )
    if end["signal"] is not None:
        name = signal.Signals(end["signal"]).name
        dump = stacks.rpartition(CRASH)[2]
        crash = CRASHES.get(name, "")
        where = user_stack(dump) if crash and crash in dump.partition("\n")[0] else ""
        alone = "" if sample is None else " on that sample alone"
        fix = "fix what crashes there" if where else f"run it under python -X faulthandler{alone} to find the line"
        if not crash:
            fix = "something outside ended it, such as the kernel when memory ran out (see dmesg); call again"
        return RequestError("worker-crashed", f"{phase}the measuring process was killed by {name}{at}{where}; {fix}")
    if end["reason"] == "silent":
        return RequestError(
            "timed-out",
            f"the measuring processes did not answer{'' if limits.seconds is None else f' within {limits.seconds + GRACE_S:.0f} s'}: "
            "they were suspended, or wait for a drive or device; they were killed, so call again",
        )
    if end["reason"] == "host":
        return RequestError("worker-crashed", "the measuring host died; the next call starts a new one")
    last = escaped(stderr.strip().splitlines()[-1], 200) if stderr.strip() else "no message"
    return RequestError(
        "worker-crashed", f"the measuring process exited with status {end['status']}{at} before it was done ({last})"
    )


def user_stack(text: str) -> str:
    """The innermost frame of a faulthandler dump that is neither ours nor a library's, in words."""
    for line in text.splitlines():
        found = re.match(r'  File "(.+)", line (\d+) in (.+)', line)
        if found and _is_users(found[1]):
            return f" in {escaped(found[3])} ({escaped(found[1])}:{found[2]})"
    return ""


def _is_users(file: str) -> bool:
    """Whether a frame's file is neither ours, nor Python's, nor an installed package's."""
    here = str(Path(__file__).parent.parent)
    return not file.startswith((here, "<", os.path.dirname(os.__file__))) and not re.search(
        r"/(site|dist)-packages/|/lib/python3\.\d+/", file
    )
