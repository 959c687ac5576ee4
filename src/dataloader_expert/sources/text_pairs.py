"""What pairs of texts are for, by the names of their fields: a question and its answer, a source and its translation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

PREFERRED, REFUSED = {"chosen", "accepted", "preferred", "winner"}, {"rejected", "dispreferred", "loser"}
POSITIVE, NEGATIVE = {"positive", "positives", "pos"}, {"negative", "negatives", "neg"}
FROM_TO: tuple[tuple[str, set[str], set[str]], ...] = (
    ("question answering", {"question", "questions", "query"}, {"answer", "answers"}),
    ("summarization", {"document", "article", "text", "dialogue"}, {"summary", "highlights", "abstract"}),
    ("code summarization", {"code", "function", "snippet"}, {"docstring", "comment", "summary", "nl"}),
    ("instruction tuning", {"instruction", "instructions", "prompt", "input"}, {"output", "response", "completion"}),
    ("text to SQL", {"question", "questions", "utterance"}, {"sql"}),
    ("translation", {"source", "src"}, {"target", "tgt", "translation"}),
)
"""Tasks by a word in the name of the text that is given, and one in that of the text that is wanted."""
CHOICES, RIGHT = {"choices", "options", "endings", "candidates"}, {"answer", "answers", "correct", "gold", "solution"}
"""Words of the fields with what may be chosen, and with what is right."""
SCORES = {"score", "scores", "similarity", "relatedness", "sim"}
"""Words of a number that says how alike two texts are."""
SPANS = {"spans", "entities"}
"""Words of lists of places in a text, each with its class."""
PLACES = "says where in a text something is, and what"
"""How it is told of a list of places whose name does not tell it."""
WANTED = {"completion", "response", "output", "answer"}
"""Words of an answer that a label may call good or bad."""
LANGUAGES = {
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi",
    "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "kn", "ko", "ky", "lo",
    "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl", "nn", "no", "pa", "pl", "ps", "pt", "ro", "ru", "si",
    "sk", "sl", "so", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz", "vi", "xh", "yo", "zh", "zu",
}  # fmt: skip
"""Codes of ISO 639-1 that are usual in parallel texts."""


def are_places(lists: Iterable[Any], texts: Iterable[Any]) -> bool:
    """Whether these lists hold places in the texts of the same rows, each as where it begins and ends and what it is."""
    rows = [(of, text) for of, text in zip(lists, texts, strict=False) if isinstance(of, list) and of]
    return bool(rows) and all(
        isinstance(text, str) and isinstance(one, list) and len(one) == 3 and _is_place(one, len(text))
        for of, text in rows
        for one in of
    )


def _is_place(one: Sequence[Any], length: int) -> bool:
    begin, end, kind = one
    return isinstance(kind, str) and isinstance(begin, int) and isinstance(end, int) and 0 <= begin < end <= length


def pair_of(texts: Mapping[str, set[str]], others: Mapping[str, set[str]]) -> tuple[str, tuple[str, str]] | None:
    """The task that two fields are for, and these; None if no names tell one.

    Args:
        texts, others: the words in the name of each field of texts, and of other fields, such as lists of answers.
    """
    every = {**texts, **others}
    for task, ones, twos in (("preference tuning", PREFERRED, REFUSED), ("contrastive learning", POSITIVE, NEGATIVE)):
        one, two = named_so(every, ones), named_so(every, twos)
        if one and two:
            return task, (one, two)
    tongues = [name for name, of in texts.items() if of - {"translation"} and of - {"translation"} <= LANGUAGES]
    if len(tongues) > 1:
        return "translation", (tongues[0], tongues[1])
    for task, given, wanted in FROM_TO:
        one, two = named_so(texts, given), named_so(every, wanted)
        if one and two and one != two:
            return task, (one, two)
    return None


def choices_of(names: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """The field with the choices of each question, or the first of three and more that hold one each, such as A, B and C; and the field
    that says which is right. None of other fields.

    Args:
        names: the words in the name of each field.
    """
    several = [name for name, of in names.items() if of & {word.rstrip("s") for word in CHOICES}]
    letters = [name for name in names if name in ("A", "B", "C", "D")]
    right = named_so({name: of for name, of in names.items() if not of & CHOICES}, RIGHT)
    choices = named_so(names, CHOICES) or next((of[0] for of in (several, letters) if len(of) > 2), "")
    return (choices, right) if choices and right else None


def named_so(fields: Mapping[str, set[str]], names: set[str]) -> str:
    """The field with such a word in its name, of several the first with fewest others; empty where there is none."""
    return min((name for name, of in fields.items() if of & names), key=lambda name: len(fields[name]), default="")
