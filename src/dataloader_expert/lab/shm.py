"""What processes that are killed leave in /dev/shm: told by torch's and multiprocessing's names, and theirs alone."""

from __future__ import annotations

import os
import re

FOLDER = "/dev/shm"
LIBRARIES = re.compile(r"torch_(?P<pid>\d+)_\d+_\d+|psm_[0-9a-f]+|sem\.mp-[0-9a-z_]+|pym-\d+-[0-9a-z_]+")
"""torch's shared storages (with their maker's process), multiprocessing's SharedMemory, semaphores and arenas.

A file of any other name is the user's own, whoever holds it.
"""


def listed() -> frozenset[str]:
    """The names that are there now."""
    try:
        return frozenset(os.listdir(FOLDER))
    except OSError:
        return frozenset()


def held(group: list[int]) -> set[str]:
    """Files of the libraries' that these processes made, or hold open or mapped where the name says no maker."""
    found: set[str] = set()
    for pid in group:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                found.add(_name(os.readlink(f"/proc/{pid}/fd/{fd}")))
            with open(f"/proc/{pid}/maps") as f:
                found.update(_name(line[line.find("/") :].rstrip("\n")) for line in f if FOLDER in line)
        except OSError:
            continue
    makers = {str(pid) for pid in group}
    named = {name: match["pid"] for name in found | listed() if (match := LIBRARIES.fullmatch(name))}
    return {name for name, maker in named.items() if (maker in makers if maker else name in found)}


def remove(names: set[str], before: frozenset[str]) -> None:
    """Unlinks what was not there before and belongs to this user, but what another process still holds."""
    left = {name for name in names - before if _is_ours(name)}
    if left:
        left -= held([int(p) for p in os.listdir("/proc") if p.isdigit()])
    for name in left:
        try:
            os.unlink(f"{FOLDER}/{name}")
        except OSError:
            pass  # already gone


def _name(target: str) -> str:
    prefix = f"{FOLDER}/"
    return target[len(prefix) :] if target.startswith(prefix) and not target.endswith(" (deleted)") else ""


def _is_ours(name: str) -> bool:
    try:
        return os.lstat(f"{FOLDER}/{name}").st_uid == os.getuid()
    except OSError:
        return False
