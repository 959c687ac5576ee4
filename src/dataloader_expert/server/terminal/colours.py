"""Colours, if the output is a terminal and they are not turned off."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import IO

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Colours:
    """``on``: whether text is coloured; otherwise every function returns its text unchanged."""

    on: bool

    @classmethod
    def of(cls, stream: IO[str]) -> Colours:
        """On at a terminal, unless NO_COLOR is set or TERM is ``dumb``; FORCE_COLOR turns them on anywhere.

        Source: no-color.org and force-color.org.
        """
        if os.environ.get("NO_COLOR"):
            return cls(False)
        if os.environ.get("FORCE_COLOR"):
            return cls(True)
        return cls(stream.isatty() and os.environ.get("TERM") != "dumb")

    def paint(self, text: str, *names: str) -> str:
        """The text in these colours; coloured parts inside it keep their colour."""
        if not self.on or not text or not names:
            return text
        begin = f"\x1b[{';'.join(CODES[n] for n in names)}m"
        return begin + text.replace("\x1b[0m", f"\x1b[0m{begin}") + "\x1b[0m"

    def diff(self, text: str) -> str:
        """A unified diff of one file; its first two lines are the header."""
        told = ""
        for i, line in enumerate(text.splitlines(keepends=True)):
            told += self.paint(line[:-1], *(("bold",) if i < 2 else _DIFF.get(line[0], ()))) + "\n"
        return told


_DIFF = {"+": ("green",), "-": ("red",), "@": ("cyan",)}


def width(text: str) -> int:
    """How many columns it takes at a terminal, without colour codes."""
    import unicodedata

    plain = ESCAPES.sub("", text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)
