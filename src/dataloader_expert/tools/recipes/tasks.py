"""The task that a data set without a label is for, by the kinds and the names of its fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.sources.annotations.objects import in_runs
from dataloader_expert.sources.events import EVENTS
from dataloader_expert.sources.roles import KEY_WORDS, ROW_WORDS, words
from dataloader_expert.sources.scenes import TRACED
from dataloader_expert.sources.table_label import BARE
from dataloader_expert.sources.tagged_words import TAGS, word_of
from dataloader_expert.sources.text_pairs import PLACES, SPANS, WANTED, choices_of, named_so, pair_of
from dataloader_expert.tools.characterize_dataset import Task

SAID = {"text", "texts", "transcript", "transcription", "transcriptions", "sentence", "utterance", "normalized"}
"""Words in the names of what a recording or an image says."""
SHOWN = {"caption", "captions", "description", "descriptions", "alt", "comment", "comments"}
"""Words in the names of what an image shows."""
BEGIN, END = {"start", "starts", "begin", "begins", "onset"}, {"end", "ends", "offset"}
"""Words of lists of where spans of a text, or events of a recording, begin and end."""
TOLD = {
    "preference tuning": "{} are two answers, one preferred over the other",
    "contrastive learning": "by the names of {}",
}
"""What is said of tasks that names tell whatever else there is."""
POINTS = {"keypoints", "keypoint", "kpts", "joints", "landmarks"}
"""Words in the names of points on a body, a face or a thing."""
PREFIX, SUFFIX = {"prefix"}, {"suffix"}
QUERY, DOCUMENT = {"query", "question", "topic", "qid"}, {"corpus", "doc", "document", "passage", "pid", "docid", "did"}
IDS = {"id", "ids", "qid", "pid", "docid", "did"}
"""Words in the names of fields that name what is asked, and what answers it."""
MESSAGE, ROLE, ANSWERED = {"message", "content", "body"}, {"role", "speaker", "author"}, {"parent", "reply", "replied"}
"""Words in the names of what is said in a message, of who says it, and of the message that it answers."""
TALKS = {"messages", "conversations", "conversation", "turns", "dialog", "dialogue"}


def unlabelled(modality: str, fields: Sequence[Mapping[str, Any]], label: Mapping[str, Any] | None = None) -> Task:
    """The task by fields, each with its name, kind, dtype and shape. ``label``: why there is no label, and what is predicted together."""
    label = label or {}
    if targets := label.get("targets"):
        numbers = all(f["kind"] == "number" for f in fields if f["name"] in targets)
        return Task(name=f"{modality} multi-target {'regression' if numbers else 'prediction'}", how=label["how"])
    if asked := _relevance(fields):
        return asked
    kinds = {f["kind"]: f["name"] for f in fields}
    plain = [f["name"] for f in fields if f["dtype"] == "str" and not f["shape"]]
    texts = {name: set(words(name)) for name in plain if not set(words(name)) & ROW_WORDS}
    listed = [f for f in fields if f["kind"] in ("other", "sequence", "tokens")]
    listed = [f for f in listed if not f["dtype"].startswith("float")]  # measurements, not texts, tags or turns
    others = {f["name"]: set(words(f["name"])) for f in listed}
    if "mask" in kinds and "image" in kinds:
        return _of_masks([f["name"] for f in fields if f["kind"] == "mask"])
    if len(pictures := [f["name"] for f in fields if f["kind"] == "image"]) > 1 and len(fields) == len(pictures):
        return Task(name="image to image", how=f"each image has others in {_quoted(*pictures[1:])}")
    sounds = [f["name"] for f in fields if f["kind"] == "audio"]
    if len(sounds) > 1 and not any(f["kind"] == "text" for f in fields):
        return Task(name="audio to audio", how=f"each recording has others in {_quoted(*sounds[1:])}")
    if "image" in kinds and (points := points_in(fields)):
        return Task(name="pose estimation", how=f"each image has points in {_quoted(points)}")
    if (runs := of_runs(fields)) is not None:
        return runs
    if "image" in kinds and (given := named_so(texts, PREFIX)) and (wanted := named_so(texts, SUFFIX)):
        return Task(name="image to text", how=f"each image has {_quoted(given, wanted)}")
    if "audio" in kinds and EVENTS in texts:
        return Task(
            name="sound event detection", how=f"each recording has sound events with their times in {_quoted(EVENTS)}"
        )
    times = {
        f["name"]: {*words(f["name"])}
        for f in fields
        if f["kind"] in ("sequence", "array") and f["dtype"].startswith("float")
    }
    if "audio" in kinds and (begin := named_so(times, BEGIN)) and (end := named_so(times, END)) and others:
        return Task(
            name="sound event detection", how=f"events of each recording begin and end at {_quoted(begin, end)}"
        )
    if "audio" in kinds and (said := named_so(texts, SAID)):
        return Task(name="speech recognition", how=f"each recording has a text in {_quoted(said)}")
    if "image" in kinds and (both := pair_of({**others, **texts}, {})) and both[0] == "question answering":
        return Task(name="visual question answering", how=f"each image has {_quoted(*both[1])}")
    if "image" in kinds and (shown := named_so(texts, SHOWN)):
        return Task(name="image captioning", how=f"each image has a text in {_quoted(shown)}")
    if "image" in kinds and (shown := named_so({n: of for n, of in others.items() if not of & KEY_WORDS}, SHOWN)):
        return Task(name="image captioning", how=f"each image has several texts in {_quoted(shown)}")
    if "image" in kinds and (talks := named_so(others, TALKS)):
        return Task(name="visual instruction tuning", how=f"each image has a conversation in {_quoted(talks)}")
    if "image" in kinds and (said := named_so(texts, SAID)):
        return Task(name="image to text", how=f"each image has a text in {_quoted(said)}")
    edges = {f["name"]: set(words(f["name"])) for f in fields if f["kind"] in ("other", "sequence", "tokens")}
    if modality == "text" and (begin := named_so(edges, BEGIN)) and (end := named_so(edges, END)):
        return Task(name="token classification", how=f"spans of each text begin and end at {_quoted(begin, end)}")
    if modality == "tabular" and (told := _of_rows_with_texts(fields, texts)):
        return told
    if PLACES in str(label.get("how")):
        return Task(name="token classification", how=str(label["how"]).partition("; pass")[0])
    if modality in ("text", "tokens"):
        return _of_texts(texts, others, "tokens" if "tokens" in kinds and not texts else "texts")
    return Task(name=f"{modality} data without labels", how=label.get("how") or "no label field was found")


def of_runs(fields: Sequence[Mapping[str, Any]]) -> Task | None:
    """Segmentation, where masks of images are written as the lengths of their runs, whatever classes stand beside them."""
    runs = [f["name"] for f in fields if in_runs(f["name"]) and not f["shape"]]
    if not runs or all(f["kind"] != "image" for f in fields):
        return None
    return Task(name="image segmentation", how=f"masks are run-length encoded in {_quoted(runs[0])}")


def points_in(fields: Sequence[Mapping[str, Any]]) -> str:
    """The field of points on a body, a face or a thing; empty where there is none."""
    placed = [f["name"] for f in fields if len(f["shape"]) > 1 and f["shape"][-1] in (2, 3)]
    return next((name for name in placed if {*words(name)} & POINTS), "")


def _relevance(fields: Sequence[Mapping[str, Any]]) -> Task | None:
    """Retrieval, where fields name what is asked and what answers it, and hold neither."""
    names = {f["name"]: {*words(f["name"])} for f in fields if f["kind"] != "text" and not f["shape"]}
    query = next((name for name, of in names.items() if of & QUERY and of & IDS), None)
    document = next((name for name, of in names.items() if of & DOCUMENT and of & IDS and name != query), None)
    if query is None or document is None or any(f["kind"] == "text" for f in fields):
        return None
    how = f"each row names what is asked in {_quoted(query)} and what answers it in {_quoted(document)}"
    return Task(name="retrieval", how=how)


def _of_masks(names: list[str]) -> Task:
    """Of several masks the one that is called as traced by hand is the target; another one may only say what is to be seen at all."""
    main = next((name for name in names if set(words(name)) & TRACED), names[-1])
    others = "".join(f", and one in {_quoted(name)}" for name in names if name != main)
    task = "depth estimation" if main == "depth" else "segmentation"
    of = f"a {main} file" if main in ("mask", "depth") else f"a mask in {_quoted(main)}"
    return Task(name=f"image {task}", how=f"each image has {of}{others}")


def _of_rows_with_texts(fields: Sequence[Mapping[str, Any]], texts: Mapping[str, set[str]]) -> Task | None:
    """What long texts in rows with much else are for: two of them, or the messages of conversations, each in answer to another row."""
    long = {f["name"]: {*words(f["name"])} for f in fields if f["kind"] == "text"}
    if known := pair_of(long, {}):
        return Task(name=known[0], how=f"by the names of {_quoted(*known[1])}")
    spoken, role = named_so(long, SAID | MESSAGE), named_so(texts, ROLE)
    answered = next((f["name"] for f in fields if {*words(f["name"])} & ANSWERED), "")
    if not (spoken and role and answered):
        return None
    how = f"each row is a message ({_quoted(spoken)}) with its author ({_quoted(role)}) and the one that it answers ({_quoted(answered)})"
    return Task(name="instruction tuning", how=how)


def _of_texts(texts: dict[str, set[str]], others: dict[str, set[str]], called: str) -> Task:
    known = pair_of(texts, others)
    if known is not None and known[0] in TOLD:
        task, fields = known
        return Task(name=task, how=TOLD[task].format(_quoted(*fields)))
    if chosen := choices_of({**texts, **others}):
        return Task(name="multiple choice", how=f"{_quoted(chosen[1])} says which of {_quoted(chosen[0])} is right")
    if spans := named_so(others, SPANS):
        return Task(name="token classification", how=f"each text has spans in {_quoted(spans)}")
    if tags := named_so(others, TAGS):
        return Task(name="token classification", how=f"each token has a tag in {_quoted(tags)}")
    if talks := named_so(others, TALKS):
        return Task(name="instruction tuning", how=f"conversations in {_quoted(talks)}")
    if known is not None:
        task, fields = known
        return Task(name=task, how=f"by the names of {_quoted(*fields)}")
    if len(texts) > 1 and all(map(BARE.fullmatch, texts)):
        return Task(name="text pairs", how=f"each sample has texts in {_quoted(*[*texts][:2])}, and no name says more")
    return Task(name="language modelling", how=f"{called} without a label")


def of_label(fields: Sequence[Mapping[str, Any]], label: str) -> Task | None:
    """The task that the names of fields tell beside a label with classes; None where it is classification."""
    if relevance := _relevance([f for f in fields if f["name"] != label]):
        return relevance
    names = {f["name"]: set(words(f["name"])) for f in fields}
    scalars = {f["name"]: f["dtype"] for f in fields if not f["shape"]}
    if (word := word_of(scalars, label)) is not None:
        return Task(
            name="token classification", how=f"each row is a word in {_quoted(word)}, with its tag in {_quoted(label)}"
        )
    chosen = choices_of(names)
    if chosen is not None and chosen[1] == label:
        return Task(name="multiple choice", how=f"{_quoted(label)} says which of {_quoted(chosen[0])} is right")
    others = {name: of for name, of in names.items() if name != label}
    asked, answered = named_so(others, {"prompt"}), named_so(others, WANTED)
    flag = any(f["name"] == label and f["dtype"] in ("bool", "uint8") for f in fields)
    if asked and answered and flag:
        return Task(
            name="preference tuning",
            how=f"{_quoted(label)} says of each answer in {_quoted(answered)} whether it is wanted",
        )
    return None


def _quoted(*names: str) -> str:
    return " and ".join(f"field '{escaped(name)}'" for name in names)
