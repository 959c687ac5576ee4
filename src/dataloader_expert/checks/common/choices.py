"""Answers of which one is the right one: a preferred and a rejected one, or the options of a question, in columns or in a list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.wording import BETTER, WORSE, last_said
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

ANSWERS = {"answer", "answers", "answerkey", "label", "correct", "gold", "target", "solution", "key", "right", "cop"}
LISTS = {"choices", "options", "endings", "candidates", "alternatives"}
"""Words in the names of fields that say which one is right, and of lists of options."""
CALLED = {"option", "options", "opt", "op", "choice", "answer", "ans", "ending", "candidate", "alternative"}
"""Words before the letters or numbers of options in columns of their own; letters may stand alone."""
FEWEST, MOST = 3, 8
"""The fewest and most options in columns; of two, such as yes and no, each may be a class."""
_LAST = re.compile(r"(.*?)[\W_]*([A-Ha-h]|[0-9])")


@dataclass(frozen=True)
class Choices:
    """``options``: fields with one text each, or one with a list of them; ``answer``: the field that says which is right; None: the first."""

    options: tuple[str, ...]
    answer: str | None

    @property
    def pair(self) -> bool:
        return self.answer is None

    def read(self, block: Block, rows: Iterable[int]) -> Iterator[tuple[list[str], int, bool]]:
        """Of each of these rows the options, which of them is right (-1 if that is not said), and whether a number says so, which may count
        from one."""
        columns = [block.columns[name].values if name in block.columns else None for name in self.options]
        answers = block.columns[self.answer].values if self.answer in block.columns else None
        for i in rows:
            values = [None if column is None else column[i] for column in columns]
            listed = values[0] if len(values) == 1 else values
            texts = [_text(v) for v in listed] if isinstance(listed, list | tuple) else []
            if self.pair:
                yield texts, 0, False
            else:
                yield texts, *_right(None if answers is None else answers[i], texts, self.options)


def choices_of(context: Context) -> Choices | None:
    """Where a sample has its right answer among wrong ones; None if it has not."""
    plain = [f for f in context.fields if not f.shape]
    said = [f.name for f in plain if f.kind == "text" or f.name in context.conversations]
    better, worse = ([n for n in said if {*words(n)} & of] for of in (BETTER, WORSE))
    if len(better) == len(worse) == 1 and better != worse:
        return Choices((better[0], worse[0]), None)
    texts = [f.name for f in plain if f.dtype == "str"]
    columns = _in_columns(texts)
    lists = [(f.name,) for f in plain if f.dtype == "list" and {*words(f.name)} & LISTS]
    options = columns or next(iter(lists), None)
    if options is None:
        return None
    short = [f.name for f in plain if (f.dtype == "str" or "int" in f.dtype) and f.name not in options]
    named = [name for name in short if {*words(name)} & ANSWERS]
    return Choices(options, min(named, key=lambda name: name != context.label)) if named else None


def _in_columns(names: Sequence[str]) -> tuple[str, ...] | None:
    """The fields that are called alike but for the letters from A on, or the numbers from 0 or 1 on."""
    stems: dict[str, dict[str, str]] = {}
    for name in names:
        found = _LAST.fullmatch(name)
        if found is not None:
            stems.setdefault(found[1].lower(), {})[found[2].lower()] = name
    for stem, of in stems.items():
        marks = sorted(of)
        if not {*words(stem)} & CALLED and (stem or marks[0] != "a"):
            continue
        if FEWEST <= len(marks) <= MOST and any(
            "".join(marks) == run[: len(marks)] for run in ("abcdefgh", "01234567", "12345678")
        ):
            return tuple(of[mark] for mark in marks)
    return None


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else last_said(value) if isinstance(value, list | dict) else "").strip()


def _right(answer: Any, texts: list[str], options: Sequence[str]) -> tuple[int, bool]:
    """Which of the texts an answer is: by its text, the name of its field, its letter or its number."""
    said = answer.strip() if isinstance(answer, str) else ""
    for known in (texts, options):
        if said and known.count(said) == 1:
            return known.index(said), False
    if len(said) == 1 and "a" <= said.lower() <= "h":
        return ord(said.lower()) - ord("a"), False
    if said.isdecimal() or (not isinstance(answer, str) and answer == answer and answer is not None):
        return int(answer), True
    return -1, False
