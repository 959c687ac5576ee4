"""The task of a data set without a label, by the kinds and the names of its fields."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.data.layout import FIELDS, LABEL, MODALITY
from dataloader_expert.tools.recipes.characterize_dataset import task_of as told_of
from dataloader_expert.tools.recipes.tasks import unlabelled

IMAGE = ("image", "image", "uint8", [None, None, 3])
AUDIO = ("audio", "audio", "int16", [None, 1])
CASES: dict[str, tuple[str, list[Any]]] = {
    "image segmentation": ("image", [IMAGE, ("mask", "mask", "uint8", [None, None])]),
    "depth estimation": ("image", [IMAGE, ("depth", "mask", "uint16", [None, None])]),
    "pose estimation": ("image", [IMAGE, ("joints", "array", "float64", [16, 2]), ("scale", "number", "float64", [])]),
    "speech recognition": ("audio", [AUDIO, ("normalized_text", "text", "str", [])]),
    "image captioning": ("multimodal", [IMAGE, ("caption", "category", "str", [])]),
    "image to text": ("multimodal", [IMAGE, ("text", "text", "str", [])]),
    "visual question answering": (
        "multimodal",
        [IMAGE, ("question", "text", "str", []), ("answer", "category", "str", [])],
    ),
    "preference tuning": (
        "text",
        [(n, "other", "object", []) for n in ("prompt", "chosen", "rejected")],
    ),
    "token classification": ("text", [("tokens", "other", "object", []), ("ner_tags", "other", "object", [])]),
    "instruction tuning": ("text", [("instruction", "text", "str", []), ("output", "text", "str", [])]),
    "translation": ("text", [("de", "text", "str", []), ("en", "text", "str", [])]),
    "summarization": ("text", [("article", "text", "str", []), ("highlights", "text", "str", [])]),
    "question answering": ("text", [(n, "text", "str", []) for n in ("context", "question", "answers")]),
    "contrastive learning": ("text", [(n, "text", "str", []) for n in ("anchor", "positive", "negative")]),
    "language modelling": ("text", [("text", "text", "str", []), ("id", "number", "int64", [])]),
    "image to image": ("image", [(n, "image", "uint8", [48, 64, 3]) for n in ("image", "sharp")]),
    "retrieval": ("tabular", [(n, "number", "int64", []) for n in ("query-id", "corpus-id", "score")]),
    "image data without labels": ("image", [("image", "image", "uint8", [48, 64, 3])]),
    "audio data without labels": ("audio", [AUDIO, ("speaker", "category", "str", [])]),
    "sequence data without labels": ("sequence", [("actions", "sequence", "float64", [None, 7])]),
    "tabular data without labels": ("tabular", [("de", "number", "float64", []), ("en", "number", "float64", [])]),
}


def test_positions_are_no_parts_of_speech() -> None:
    """Measurements of a robot, whatever words their names share with those of tags."""
    fields = [("obs/eef_pos", "sequence", "float64", [None, 3]), ("obs/bio", "sequence", "float32", [None])]
    found = unlabelled("tokens", [dict(zip(("name", "kind", "dtype", "shape"), f, strict=True)) for f in fields])
    assert found.name == "language modelling"


@pytest.mark.parametrize("task", CASES)
def test_a_task_is_told_by_its_fields(task: str) -> None:
    modality, fields = CASES[task]
    found = unlabelled(modality, [dict(zip(("name", "kind", "dtype", "shape"), f, strict=True)) for f in fields])
    assert found.name.removeprefix("image ") == task.removeprefix("image ")
    assert found.how


def task_of(*fields: Any) -> str:
    return unlabelled("image", [dict(zip(("name", "kind", "dtype", "shape"), f, strict=True)) for f in fields]).name


@pytest.mark.parametrize(("dtype", "task"), [("str", "array data without labels"), ("float32", "array regression")])
def test_texts_without_classes_are_no_target_of_regression(dtype: str, task: str) -> None:
    """Seen: a Dataset of images and masks, the last item of whose samples is their name, was called regression."""
    fields = [
        {"name": n, "kind": k, "dtype": t, "shape": s}
        for n, k, t, s in (("x", "array", "float32", [3, 8, 8]), ("y", "category", dtype, []))
    ]
    values = {MODALITY: "array", LABEL: {"name": "y", "how": "guessed: the last item of a sample"}, FIELDS: fields}
    facts = Facts(tuple(Fact(of, value, evidence("declared", "a test")) for of, value in values.items()))
    assert told_of(facts, None).name == task


def test_targets_are_known_by_their_names() -> None:
    """Seen: masks as runs of pixels and a text that is to follow another were called data without labels."""
    assert task_of(IMAGE, ("EncodedPixels", "other", "list", [])) == "image segmentation"
    assert task_of(IMAGE, ("prefix", "category", "str", []), ("suffix", "text", "str", [])) == "image to text"


def test_of_several_masks_the_traced_one_is_the_target() -> None:
    """Seen: of DRIVE's eyes the mask was named that only says what of each is to be seen."""
    fields = [IMAGE, ("manual", "mask", "uint8", [56, 56]), ("mask", "mask", "uint8", [56, 56])]
    found = unlabelled("image", [dict(zip(("name", "kind", "dtype", "shape"), f, strict=True)) for f in fields])
    assert found.how == "each image has a mask in field 'manual', and one in field 'mask'"
