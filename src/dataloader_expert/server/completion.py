"""Completion scripts for bash, zsh and fish, made by shtab from the very parser that reads the command line."""

from __future__ import annotations

import argparse

FOLDERS = {"--root", "folder"}
FILES = {"source", "--python", "--html"}


def completion(shell: str, parser: argparse.ArgumentParser) -> int:
    """Prints the shell's script for the parser."""
    import shtab

    for one in (parser, *_commands(parser)):
        for action in one._actions:
            names = {*action.option_strings, action.dest}
            if names & FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # shtab's way
            elif names & FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell))
    return 0


def _commands(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return [one for action in found for one in action.choices.values()]
