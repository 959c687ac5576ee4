"""Errors that a user meets: each says what was given, what the rule is, and what to do next."""

from __future__ import annotations

from typing import Literal

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
        self.message = message
        super().__init__(f"{code}: {message}")

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


class Unreadable(Exception):
    """A file or sample that cannot be read; becomes a finding of ``code`` at ``where``, never an abort.

    Args:
        code: one of the data codes, such as ``truncated``.
        message: what is wrong, in words.
        where: the file, sample or field, if known.
    """

    def __init__(self, code: str, message: str, **where: object) -> None:
        self.code = code
        self.message = message
        self.where = where
        super().__init__(message)


def shown(text: object, limit: int = 120) -> str:
    """A name or message from outside, safe to print: escaped, one line, at most ``limit`` characters."""
    safe = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in safe)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
