"""Commands besides the tools: ``install``, ``uninstall``, ``doctor``, ``completion``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataloader_expert.server.parsing import Parser

    Commands = argparse._SubParsersAction[Parser]

CLIENTS = ("claude-code", "vscode", "cursor", "claude-desktop")
"""As in ``clients/known.py``, which only these commands load; a test compares the two."""
SHELLS = ("bash", "zsh", "fish")


def added(commands: Commands, whole: Callable[[], argparse.ArgumentParser]) -> None:
    """Adds the commands; ``run`` of each is the function that carries it out. ``whole``: builds the whole parser."""

    def complete(given: argparse.Namespace) -> int:
        from dataloader_expert.server.completion import completion

        return completion(given.shell, whole())

    changed = (
        "Writes or merges a client's configuration and, for Claude Code, the subagent file. Shows the change first."
    )
    install = commands.add_parser("install", allow_abbrev=False, help="add the server to a client", description=changed)
    _client(install)
    install.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="folder below which the server may read (repeatable; default: the project; required where the client "
        "starts servers outside a project)",
    )
    install.set_defaults(run=_install)
    undone = "Removes what `install` added to a client's configuration, and deletes the subagent file."
    uninstall = commands.add_parser("uninstall", allow_abbrev=False, help="undo install", description=undone)
    _client(uninstall)
    uninstall.set_defaults(run=_uninstall)
    looked = (
        "Checks everything that measuring and serving need: Python, torch, CUDA, memory, shared memory, limits, and "
        "the configured clients, by starting each one's command and listing its tools. Says how to fix each problem."
    )
    doctor = commands.add_parser(
        "doctor", allow_abbrev=False, help="find out what is wrong with a set-up", description=looked
    )
    doctor.add_argument("--json", action="store_true", help="print the checks as JSON")
    doctor.set_defaults(run=_doctor)
    completion = commands.add_parser(
        "completion",
        allow_abbrev=False,
        help="print a completion script for a shell",
        description="Prints a script that completes commands, flags, values and files in a shell.",
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell")
    completion.set_defaults(run=complete)


def _client(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=CLIENTS, help="the client to set up")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--project",
        dest="scope",
        action="store_const",
        const="project",
        help="the configuration in the current directory (default, except for Claude Desktop)",
    )
    scope.add_argument(
        "--user", dest="scope", action="store_const", const="user", help="your own configuration, for all projects"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="make the change without asking")
    parser.add_argument("--dry-run", "-n", action="store_true", help="show the change without making it")


def _install(given: argparse.Namespace) -> int:
    from dataloader_expert.server.install import install

    return install(given)


def _uninstall(given: argparse.Namespace) -> int:
    from dataloader_expert.server.install import uninstall

    return uninstall(given)


def _doctor(given: argparse.Namespace) -> int:
    from dataloader_expert.server.doctor import doctor

    return doctor(given)
