"""The task that a data set without a label is for, by the kinds and the names of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.sources.roles import ROW_WORDS, words
from dataloader_expert.tools.characterize_dataset import Task

SAID = {"text", "texts", "transcript", "transcription", "transcriptions", "sentence", "utterance", "normalized"}
"""Words in the names of what a recording or an image says."""
PREFERRED, REFUSED = {"chosen", "accepted", "preferred", "winner"}, {"rejected", "dispreferred", "loser"}
POSITIVE, NEGATIVE = {"positive", "positives", "pos"}, {"negative", "negatives", "neg"}
SHOWN = {"caption", "captions", "description", "descriptions", "alt"}
"""Words in the names of what an image shows."""
TAGS = {"tags", "tag", "ner", "pos", "chunk", "bio", "iob"}
TALKS = {"messages", "conversations", "conversation", "turns", "dialog", "dialogue"}
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


def unlabelled(modality: str, fields: Sequence[Mapping[str, Any]]) -> Task:
    """The task by fields, each with its name, kind, dtype and shape."""
    kinds = {f["kind"]: f["name"] for f in fields}
    plain = [f["name"] for f in fields if f["dtype"] == "str" and not f["shape"]]
    texts = {name: set(words(name)) for name in plain if not set(words(name)) & ROW_WORDS}
    listed = [f for f in fields if f["kind"] in ("other", "sequence", "tokens")]
    listed = [f for f in listed if not f["dtype"].startswith("float")]  # measurements, not texts, tags or turns
    others = {f["name"]: set(words(f["name"])) for f in listed}
    if "mask" in kinds and "image" in kinds:
        name = "segmentation" if kinds["mask"] != "depth" else "depth estimation"
        return Task(name=f"image {name}", how=f"each image has a {kinds['mask']} file")
    if "audio" in kinds and (said := _named(texts, SAID)):
        return Task(name="speech recognition", how=f"each recording has a text in {_quoted(said)}")
    if "image" in kinds and (both := _from_to(texts, "question answering")):
        return Task(name="visual question answering", how=f"each image has {_quoted(*both)}")
    if "image" in kinds and (shown := _named(texts, SHOWN)):
        return Task(name="image captioning", how=f"each image has a text in {_quoted(shown)}")
    if "image" in kinds and (said := _named(texts, SAID)):
        return Task(name="image to text", how=f"each image has a text in {_quoted(said)}")
    if modality in ("text", "tokens"):
        return _of_texts(texts, others)
    return Task(name=f"{modality} data without labels", how="no label field was found")


def _of_texts(texts: dict[str, set[str]], others: dict[str, set[str]]) -> Task:
    every = {**texts, **others}
    better, worse = _named(every, PREFERRED), _named(every, REFUSED)
    if better and worse:
        return Task(name="preference tuning", how=f"{_quoted(better, worse)} are answers of which one is preferred")
    near, far = _named(every, POSITIVE), _named(every, NEGATIVE)
    if near and far:
        return Task(name="contrastive learning", how=f"by the names of {_quoted(near, far)}")
    if tags := _named(others, TAGS):
        return Task(name="token classification", how=f"each token has a tag in {_quoted(tags)}")
    if talks := _named(others, TALKS):
        return Task(name="instruction tuning", how=f"conversations in {_quoted(talks)}")
    tongues = [name for name, of in texts.items() if of and of <= LANGUAGES]
    if len(tongues) > 1:
        return Task(name="translation", how=f"{_quoted(*tongues[:2])} hold the same texts in several languages")
    for task, _, _ in FROM_TO:
        if both := _from_to(texts, task):
            return Task(name=task, how=f"by the names of {_quoted(*both)}")
    return Task(name="language modelling", how="texts without a label")


def _from_to(texts: dict[str, set[str]], task: str) -> tuple[str, str] | None:
    """The fields of a task's given and wanted text."""
    given, wanted = next((given, wanted) for name, given, wanted in FROM_TO if name == task)
    one, other = _named(texts, given), _named(texts, wanted)
    return (one, other) if one and other and one != other else None


def _named(fields: dict[str, set[str]], names: set[str]) -> str:
    """The first field with such a word in its name; empty where there is none."""
    return next((name for name, of in fields.items() if of & names), "")


def _quoted(*names: str) -> str:
    return " and ".join(f"field '{escaped(name)}'" for name in names)
