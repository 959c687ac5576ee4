"""The task that a data set without a label is for, by the kinds and the names of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.sources.roles import KEY_WORDS, ROW_WORDS, words
from dataloader_expert.sources.text_pairs import named_so, pair_of
from dataloader_expert.tools.characterize_dataset import Task

SAID = {"text", "texts", "transcript", "transcription", "transcriptions", "sentence", "utterance", "normalized"}
"""Words in the names of what a recording or an image says."""
SHOWN = {"caption", "captions", "description", "descriptions", "alt", "comment", "comments"}
"""Words in the names of what an image shows."""
TAGS = {"tags", "tag", "ner", "pos", "chunk", "bio", "iob"}
TOLD = {
    "preference tuning": "{} are answers of which one is preferred",
    "contrastive learning": "by the names of {}",
}
"""What is said of tasks that names tell whatever else there is."""
TALKS = {"messages", "conversations", "conversation", "turns", "dialog", "dialogue"}


def unlabelled(modality: str, fields: Sequence[Mapping[str, Any]], label: Mapping[str, Any] | None = None) -> Task:
    """The task by fields, each with its name, kind, dtype and shape. ``label``: why there is no label, and what is predicted together."""
    label = label or {}
    if targets := label.get("targets"):
        numbers = all(f["kind"] == "number" for f in fields if f["name"] in targets)
        return Task(name=f"{modality} multi-target {'regression' if numbers else 'prediction'}", how=label["how"])
    kinds = {f["kind"]: f["name"] for f in fields}
    plain = [f["name"] for f in fields if f["dtype"] == "str" and not f["shape"]]
    texts = {name: set(words(name)) for name in plain if not set(words(name)) & ROW_WORDS}
    listed = [f for f in fields if f["kind"] in ("other", "sequence", "tokens")]
    listed = [f for f in listed if not f["dtype"].startswith("float")]  # measurements, not texts, tags or turns
    others = {f["name"]: set(words(f["name"])) for f in listed}
    if "mask" in kinds and "image" in kinds:
        name = "segmentation" if kinds["mask"] != "depth" else "depth estimation"
        return Task(name=f"image {name}", how=f"each image has a {kinds['mask']} file")
    if len(pictures := [f["name"] for f in fields if f["kind"] == "image"]) > 1 and len(fields) == len(pictures):
        return Task(name="image to image", how=f"each image has others in {_quoted(*pictures[1:])}")
    if "audio" in kinds and (said := named_so(texts, SAID)):
        return Task(name="speech recognition", how=f"each recording has a text in {_quoted(said)}")
    if "image" in kinds and (both := pair_of(texts, others)) and both[0] == "question answering":
        return Task(name="visual question answering", how=f"each image has {_quoted(*both[1])}")
    if "image" in kinds and (shown := named_so(texts, SHOWN)):
        return Task(name="image captioning", how=f"each image has a text in {_quoted(shown)}")
    if "image" in kinds and (shown := named_so({n: of for n, of in others.items() if not of & KEY_WORDS}, SHOWN)):
        return Task(name="image captioning", how=f"each image has several texts in {_quoted(shown)}")
    if "image" in kinds and (talks := named_so(others, TALKS)):
        return Task(name="visual instruction tuning", how=f"each image has a conversation in {_quoted(talks)}")
    if "image" in kinds and (said := named_so(texts, SAID)):
        return Task(name="image to text", how=f"each image has a text in {_quoted(said)}")
    if modality in ("text", "tokens"):
        return _of_texts(texts, others)
    return Task(name=f"{modality} data without labels", how=label.get("how") or "no label field was found")


def _of_texts(texts: dict[str, set[str]], others: dict[str, set[str]]) -> Task:
    known = pair_of(texts, others)
    if known is not None and known[0] in TOLD:
        task, fields = known
        return Task(name=task, how=TOLD[task].format(_quoted(*fields)))
    if tags := named_so(others, TAGS):
        return Task(name="token classification", how=f"each token has a tag in {_quoted(tags)}")
    if talks := named_so(others, TALKS):
        return Task(name="instruction tuning", how=f"conversations in {_quoted(talks)}")
    if known is not None:
        task, fields = known
        return Task(name=task, how=f"by the names of {_quoted(*fields)}")
    return Task(name="language modelling", how="texts without a label")


def _quoted(*names: str) -> str:
    return " and ".join(f"field '{escaped(name)}'" for name in names)
