"""A parser of the command line that says what was probably meant."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Names the nearest command, and says where the source stands beside options with several values."""

    def error(self, message: str) -> NoReturn:
        if "invalid choice: " in message:
            wrong, _, known = message.partition("invalid choice: ")[2].partition(" (choose from ")
            message += _meant(wrong.strip("'"), known.rstrip(")").replace("'", "").split(", "))
        if message.startswith("the following arguments are required: source"):
            message += "; give it before options that take several values"
        super().error(message)


def unknown(words: list[str], command: argparse.ArgumentParser, source: str | None) -> str:
    """What is wrong with words that the command does not know."""
    first = words[0].partition("=")[0]
    if not first.startswith("-"):
        if source is not None and os.path.exists(first):
            return f"{len(words) + 1} sources are given ({source}, {first} …): name one, or quote a glob: 'folder/*'"
        return f"unrecognized arguments: {' '.join(words)}"
    return f"{first} is not an option of this command" + _meant(first, list(command._option_string_actions))


def _meant(word: str, known: list[str]) -> str:
    import difflib  # only where something is wrong

    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def as_json(text: str) -> Any:
    """The value of an option that takes JSON.

    Raises:
        argparse.ArgumentTypeError: if it is not JSON.
    """
    try:
        return json.loads(text)
    except ValueError as e:
        said = f'not JSON ({e}): {text!r}; write names in double quotes, as in \'{{"split": "train"}}\''
        raise argparse.ArgumentTypeError(said) from None
