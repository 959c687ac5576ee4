"""What pairs of texts are for, by the names of their fields: a question and its answer, a source and its translation."""

from __future__ import annotations

from collections.abc import Mapping

PREFERRED, REFUSED = {"chosen", "accepted", "preferred", "winner"}, {"rejected", "dispreferred", "loser"}
POSITIVE, NEGATIVE = {"positive", "positives", "pos"}, {"negative", "negatives", "neg"}
FROM_TO: tuple[tuple[str, set[str], set[str]], ...] = (
    ("question answering", {"question", "questions", "query"}, {"answer", "answers"}),
    ("summarization", {"document", "article", "text", "dialogue"}, {"summary", "highlights", "abstract"}),
    ("instruction tuning", {"instruction", "instructions", "prompt", "input"}, {"output", "response", "completion"}),
    ("translation", {"source", "src"}, {"target", "tgt", "translation"}),
)
"""Tasks by a word in the name of the text that is given, and one in that of the text that is wanted."""
LANGUAGES = {
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi",
    "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "kn", "ko", "ky", "lo",
    "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl", "nn", "no", "pa", "pl", "ps", "pt", "ro", "ru", "si",
    "sk", "sl", "so", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz", "vi", "xh", "yo", "zh", "zu",
}  # fmt: skip
"""Codes of ISO 639-1 that are usual in parallel texts."""


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


def named_so(fields: Mapping[str, set[str]], names: set[str]) -> str:
    """The field with such a word in its name, of several the first with fewest others; empty where there is none."""
    return min((name for name, of in fields.items() if of & names), key=lambda name: len(fields[name]), default="")
