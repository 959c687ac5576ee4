"""The texts of a value, and what is strange about one: blank, markup, invisible characters, or encoded twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff\ufffd]")
"""Control characters, bidirectional and byte-order marks, and replacements for undecodable bytes. Zero-width spaces and
joiners are not included, because they occur in sound texts."""
TWICE = re.compile(
    "\u00c3[\u0080-\u00bf]|\u00c2[\u00a0-\u00bf]|\u00e2\u20ac[\u0080-\u00bf\u0152-\u0178\u02c6-\u02dc\u2013-\u2122]"
)
"""UTF-8 that was read as Windows-1252 or Latin-1 and written as UTF-8 again: two or more letters in place of one."""
MARKUP = re.compile(
    r"<(?:/?(?:html|body|head|div|span|p|br|script|table|ul|li|h[1-6])\b[^<>]*|!doctype\b[^<>]*|!--)>", re.I
)
TEMPLATE = re.compile(
    r"<\|(?:im_start|im_end|im_sep|endoftext|eot_id|eom_id|begin_of_text|end_of_text|(?:start|end)_header_id|user|assistant|system|end)\|>"
    r"|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</s>\s*\Z"
)
"""Tokens that the templates of chat models put between turns."""
PLACEHOLDER = re.compile(
    r"\W*(?:(?:image|photo|caption|description|transcript|transcription|summary|abstract|review|text|content) (?:not |un|is not )available"
    r"|no (?:image|photo|caption|description|transcript|transcription|summary|abstract|review|text|content) (?:available|provided|found|yet)"
    r"|lorem ipsum\b.*|[\[<(](?:removed|deleted|placeholder|inaudible|unintelligible)[\])>])\W*",
    re.I | re.S,
)
"""A whole text that stands for one that is missing."""
QUOTED = re.compile(r"(\"\"\"|''').*?\1|(?<![\w=])\"[^\"\n]*\"|(?<![\w=])'[^'\n]*'", re.S)
"""A string of a program: what it holds is not markup of the text."""
ABSENT = {
    "nan",
    "null",
    "n/a",
    "#n/a",
    "<na>",
    "(null)",
    "nil",
    "?",
    "-",
    "--",
    ".",
    "missing",
    "not available",
    "no data",
}
"""What stands for a missing value, in lower case; words such as ``none`` and ``unknown`` may be answers."""
BETTER = {"chosen", "positive", "positives", "pos", "accepted", "preferred", "better", "winner", "win", "good"}
WORSE = {"rejected", "negative", "negatives", "neg", "dispreferred", "worse", "loser", "lose", "bad", "distractors"}
"""Words in the names of fields of which one is meant to be the better."""
LONGEST_PLACEHOLDER = 200
FEW = 20
"""Of many values at most one in this many is odd by chance or mistake; if there are more, the data set consists of such."""
BLOCK = re.compile(
    r"^(?P<before>[ \t]*)(?:def|class|if|for|while|else|elif|try|except|with|async def)\b[^\n]*:[ \t]*\n+(?P<after>[ \t]*)\S",
    re.M,
)
"""The head of a block in Python, and the line after it."""
KINDS = {
    "flat": "are code that has lost its indentation",
    "blank": "are blank",
    "hidden": "contain invisible characters: control or direction marks, or bytes that are not text",
    "markup": "hold HTML",
    "placeholder": "stand for a text that is missing, such as [removed]",
    "template": "hold tokens of a chat template, such as <|im_end|> or [INST]",
    "encoded twice": "are UTF-8 that was decoded with another encoding, such as cafÃ© for café",
}


def kinds_of(text: str) -> Iterable[str]:
    if not text.strip():
        yield "blank"
    if HIDDEN.search(text):
        yield "hidden"
    if not text.isascii() and TWICE.search(text):
        yield "encoded twice"
    if "<" in text and _has_markup(text):
        yield "markup"
    if len(text) <= LONGEST_PLACEHOLDER and PLACEHOLDER.fullmatch(text):
        yield "placeholder"
    if ("<" in text or "[" in text) and TEMPLATE.search(text):
        yield "template"


def indented(text: str) -> bool | None:
    """Whether blocks of a program are indented, of which stripping the lines leaves none; None for a text without any."""
    heads = (m for m in BLOCK.finditer(text) if _closed(m[0]))
    found = [len(m["after"].expandtabs()) > len(m["before"].expandtabs()) for m in heads]
    return any(found) if found else None


def _closed(line: str) -> bool:
    """Whether a line closes the brackets that it opens, and no others: else it goes on with the line before."""
    return sum(map(line.count, "([{")) == sum(map(line.count, ")]}"))


def _has_markup(text: str) -> bool:
    """Whether it holds HTML: a break, or two tags; a single one may be what the text is about."""
    tags = MARKUP.findall(QUOTED.sub("", text))
    return len(tags) > 1 or any(tag.lower().strip("</ >").split()[:1] in (["br"], ["p"], ["script"]) for tag in tags)


DEEPEST = 16
"""Levels of a nested object whose texts are read."""


def said(value: Any, depth: int = 0) -> Iterator[str]:
    """A text, or the texts in lists and objects, such as those of a conversation, in their order."""
    if isinstance(value, str):
        yield value
    elif depth < DEEPEST and isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from said(inner, depth + 1)


def unsaid(value: Any, depth: int = 0) -> Iterator[bytes]:
    """What else lies in lists and objects: numbers, bytes and arrays."""
    if depth < DEEPEST and isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from unsaid(inner, depth + 1)
    elif isinstance(value, bytes):
        yield value
    elif hasattr(value, "tobytes"):
        yield value.tobytes()
    elif value is not None and not isinstance(value, str):
        yield repr(value).encode("utf-8", "replace")
