"""Parses JSON with comments and trailing commas, as VS Code and Cursor write it, with the position of every value.

Plain JSON is parsed too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SPACE = re.compile(r"\s*")
COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
WORD = re.compile(r"-?[\w.+-]+")
DEEPEST = 200


class Unparsable(ValueError):
    """The text is not JSON with comments; the message says where."""


@dataclass(frozen=True)
class Node:
    """A value and its position; ``members`` of an object in order, with the ``comma`` after each, or None."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Member:
    key: str
    start: int
    node: Node
    comma: int | None


def parsed(text: str) -> Node:
    """The value of the entire text.

    Raises:
        Unparsable: with line and column.
    """
    return _Reader(text).whole()


def skipped_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return found.end() if found else at


@dataclass
class _Reader:
    text: str
    at: int = 0
    depth: int = field(default=0)

    def whole(self) -> Node:
        self.at = 1 if self.text.startswith("\ufeff") else 0
        node = self.value()
        self.blank()
        if self.at != len(self.text):
            raise self.wrong("nothing more is expected")
        return node

    def wrong(self, what: str) -> Unparsable:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return Unparsable(f"line {line}, column {column}: {what}")

    def blank(self) -> None:
        while True:
            self.at = skipped_space(self.text, self.at)
            comment = COMMENT.match(self.text, self.at)
            if comment is None:
                return
            self.at = comment.end()

    def value(self) -> Node:
        self.blank()
        start, sign = self.at, self.text[self.at : self.at + 1]
        if sign in ("{", "["):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.wrong(f"nested deeper than {DEEPEST}")
            node = self.object(start) if sign == "{" else self.list(start)
            self.depth -= 1
            return node
        if sign == '"':
            return Node(start, self.at + len(self.token(STRING)), self.string())
        word = self.token(WORD)
        try:
            value = json.loads(word, parse_constant=lambda _: 1 / 0)
        except (ValueError, ZeroDivisionError):
            raise self.wrong("a value is expected") from None
        self.at += len(word)
        return Node(start, self.at, value)

    def token(self, kind: re.Pattern[str]) -> str:
        found = kind.match(self.text, self.at)
        if found is None:
            raise self.wrong("a value is expected")
        return found.group()

    def string(self) -> str:
        said = self.token(STRING)
        try:
            value: str = json.loads(said)
        except ValueError:
            raise self.wrong("this string has an escape that JSON does not know") from None
        self.at += len(said)
        return value

    def object(self, start: int) -> Node:
        members: list[Member] = []

        def one() -> None:
            begun = self.at
            if self.text[begun : begun + 1] != '"':
                raise self.wrong("a key in double quotes or } is expected")
            key = self.string()
            self.blank()
            if self.text[self.at : self.at + 1] != ":":
                raise self.wrong(": is expected after the key")
            self.at += 1
            node = self.value()
            members.append(Member(key, begun, node, self.comma("}")))

        self.items("}", one)
        return Node(start, self.at, {m.key: m.node.value for m in members}, tuple(members))

    def list(self, start: int) -> Node:
        values: list[Any] = []

        def one() -> None:
            values.append(self.value().value)
            self.comma("]")

        self.items("]", one)
        return Node(start, self.at, values)

    def items(self, closing: str, one: Callable[[], None]) -> None:
        self.at += 1
        self.blank()
        while self.text[self.at : self.at + 1] != closing:
            one()
            self.blank()
        self.at += 1

    def comma(self, closing: str) -> int | None:
        """The position of the next comma; None before the closing bracket."""
        self.blank()
        sign = self.text[self.at : self.at + 1]
        if sign == ",":
            self.at += 1
            return self.at - 1
        if sign != closing:
            raise self.wrong(f", or {closing} is expected")
        return None
