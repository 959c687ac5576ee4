"""The command that starts the server, as a client's configuration names it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from dataloader_expert.server.clients.known import SERVER, Client, Place, Scope

MODULE = ("-m", "dataloader_expert.server.command")


def program(client: Client, scope: Scope, place: Place) -> tuple[str, ...]:
    """The shortest form that works when the client starts it: the name alone, a path in the project, or the full path.

    The name alone works if it is on the PATH without an activated environment, which no client activates; never for
    Claude Desktop, which starts without a shell's PATH.
    """
    installed = shutil.which(SERVER, path=str(Path(sys.executable).parent))
    again = _passing(Path(sys.executable))
    if again:
        return again
    if installed is None:
        return (sys.executable, *MODULE)
    on_path = shutil.which(SERVER, path=_lasting(place.environ.get("PATH", os.defpath)))
    if client.name != "claude-desktop" and on_path is not None and Path(on_path).samefile(installed):
        return (SERVER,)
    path = Path(installed)
    if scope == "project" and client.project_variable is not None and path.is_relative_to(place.project):
        return (f"{client.project_variable}/{path.relative_to(place.project).as_posix()}",)
    return (installed,)


def _passing(python: Path) -> tuple[str, ...]:
    """How to run it again if it runs from a cache that may be emptied, as with ``uvx`` and ``pipx run``."""
    if "archive-v0" in python.parts and "uv" in python.parts:
        return ("uvx", SERVER)
    if "pipx" in python.parts and any(part in (".cache", "run") for part in python.parts):
        return ("pipx", "run", SERVER)
    return ()


def resolved(word: str, place: Place) -> str:
    """A word of a configuration as the client uses it in the project, with variables filled in."""
    for variable in ("${CLAUDE_PROJECT_DIR:-.}", "${CLAUDE_PROJECT_DIR}", "${workspaceFolder}"):
        word = word.replace(variable, str(place.project))
    return word.replace("${userHome}", str(place.home)).replace("${HOME}", str(place.home))


def _lasting(path: str) -> str:
    """The PATH without the folder of a virtual environment that is active only in this shell."""
    own = str(Path(sys.executable).parent) if sys.prefix != sys.base_prefix else None
    return os.pathsep.join(part for part in path.split(os.pathsep) if part and part != own)
