"""Errors for users: each says what was given, what the rule is, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Literal

Code = Literal[
    "source-not-found",
    "outside-roots",
    "format-unknown",
    "label-not-found",
    "code-refused",
    "import-failed",
    "dataset-raised",
    "worker-crashed",
    "timed-out",
    "out-of-memory",
    "extra-missing",
    "invalid-argument",
]


class RequestError(Exception):
    """The request could not be carried out. ``str()`` is ``code: what, where, what to do``."""

    def __init__(self, code: Code, message: str) -> None:
        self.code: Code = code
        self.message = escaped_lines(message)
        super().__init__(f"{code}: {self.message}")

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


class NothingReadable(RequestError):
    """No file of a source can be read. ``problems``: what is wrong with each, which a check of quality tells as findings."""

    def __init__(self, message: str, problems: Sequence[Unreadable] = (), format: str = "") -> None:
        super().__init__("format-unknown", message)
        self.problems, self.format = tuple(problems), format


class Unreadable(Exception):
    """A file or sample that cannot be read; becomes a finding of ``code`` at ``where``, never an abort.

    Args:
        code: one of the data codes, such as ``truncated``.
        message: what is wrong, in words.
        where: the file, sample or field, if known.
    """

    what = ""
    """A word for a particular case, which is told apart from others of its code, with advice of its own."""

    def __init__(self, code: str, message: str, **where: object) -> None:
        self.code = code
        self.message = escaped(message, LONGEST_MESSAGE)
        self.where = where
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """A data set and its problems go to workers that are spawned, and an exception is made anew from its message alone."""
        return _remade, (type(self), self.__dict__, self.args)

    def told(self) -> str:
        """As part of an error message: ``file: code: what is wrong``."""
        file = self.where.get("file")
        return f"{f'{escaped(file)}: ' if file else ''}{self.code}: {self.message}"


def _remade(cls: type[Unreadable], state: dict[str, Any], args: tuple[Any, ...]) -> Unreadable:
    made = cls.__new__(cls, *args)
    made.__dict__.update(state)
    return made


class Aside(Unreadable):
    """A file that is not read and does no harm where it is: told as information.

    Args:
        what: one word for what it is, which decides what is advised: ``sample``, ``table`` or ``note``.
    """

    def __init__(self, what: str, message: str, **where: object) -> None:
        super().__init__("foreign-file", message, **where)
        self.what = what


def escaped(text: object, limit: int | None = 120) -> str:
    """A name or message from outside, safe to print: one line, no control or bidi character or lone surrogate, at most ``limit``.

    Unprintable characters are escaped as in a Python string (a newline as ``\\n``); others stay as they are, so that
    escaping twice changes nothing. None: no limit.
    """
    safe = str(text)
    if not safe.isprintable():
        safe = "".join(c if c.isprintable() else _as_written(c) for c in safe)
    return safe if limit is None or len(safe) <= limit else safe[: limit - 1] + "…"


def escaped_lines(text: str) -> str:
    """The same for a message whose line breaks are our own."""
    return "\n".join(escaped(line, None) for line in text.split("\n"))


def escaped_json(value: Any) -> Any:
    """A JSON value with all its strings made printable, including keys of mappings: everything that enters a result passes here.

    Keys are cut at ``LONGEST_KEY``; if some are then equal, each after the first gets a number.
    """
    if isinstance(value, str):
        return escaped(value, None)
    if isinstance(value, list):
        return [escaped_json(v) for v in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, inner in value.items():
        name = new = escaped(key, LONGEST_KEY)
        n = 1
        while new in made:
            n += 1
            new = f"{name} ({n})"
        made[new] = escaped_json(inner)
    return made


def fields_are(name: str, names: Sequence[str]) -> str:
    """The fields that there are, of which a misspelt one is asked after first."""
    near = difflib.get_close_matches(name, names, 1)
    return f"{f'did you mean {escaped(near[0])}? ' if near else ''}fields are: {', '.join(map(escaped, names))}"


def listed(names: Sequence[object], most: int = 8) -> str:
    """Names in a row, those that are left out counted: ``a, b, … and 7 more``."""
    shown = ", ".join(escaped(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … and {len(names) - most} more"


LONGEST_KEY = 120
LONGEST_MESSAGE = 400


def _as_written(c: str) -> str:
    if "\udc80" <= c <= "\udcff":  # a byte of a file name that is not UTF-8
        return f"\\x{ord(c) - 0xDC00:02x}"
    return c.encode("unicode_escape").decode("ascii")
