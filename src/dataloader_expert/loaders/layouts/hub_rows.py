"""Hugging Face data sets as samples for the collators: tokens, pixels, labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from dataloader_expert.loaders.collators.base import tokenised
from dataloader_expert.sources.pictures import GREY, in_colour

PAIRS = (
    ("premise", "hypothesis"), ("sentence1", "sentence2"), ("question1", "question2"), ("question", "context"),
    ("question", "sentence"), ("query", "passage"), ("text1", "text2"), ("text_a", "text_b"),
)  # fmt: skip
"""Names of two texts that a model reads together."""
TEXT_NAMES = ("text", "sentence", "content", "document", "review", "question", "prompt")
LABEL_NAMES = ("labels", "label", "target", "coarse_label", "fine_label")
LOOKED_AT = 32
"""Images, evenly spaced, that decide whether a data set is grey; one in colour is refused when it is read."""


class HubRows(Dataset[dict[str, Any]]):
    """A ``datasets.Dataset`` whose rows are read by the batch and fit the collators.

    An image column becomes ``pixel_values``, uint8 [C, H, W]; class labels become ``labels``; texts are tokenised, two
    such as ``premise`` and ``hypothesis`` as a pair, unless there are ``input_ids``. With its own format only labels
    are renamed.

    Args:
        dataset: a ``datasets.Dataset``.
        tokenizer: of texts; None: they are not tokenised.
        max_length: texts are truncated to so many tokens.
        task_spec: its ``target_field`` is the label, if it is a column.
        image_mode: ``"L"``, with which an image in colour is a ``ValueError``, or ``"RGB"``; None: by
            :func:`mode_of_images`.
    """

    def __init__(
        self,
        dataset: Any,
        tokenizer: Any = None,
        max_length: int | None = None,
        task_spec: Any = None,
        image_mode: str | None = None,
    ) -> None:
        self.dataset, self.tokenizer, self.max_length = dataset, tokenizer, max_length
        self.own_format = has_own_format(dataset)
        self.image = image_column(dataset)
        self.label = label_column(dataset.features, getattr(task_spec, "target_field", None))
        tokenised_here = tokenizer is not None and "input_ids" not in dataset.column_names and not self.own_format
        self.texts = text_columns(dataset.features) if tokenised_here else ()
        self.mode = image_mode or mode_of_images(dataset)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        columns = dict(self.dataset[list(indices)])
        if self.image is not None:
            columns["pixel_values"] = [pixels(image, self.mode) for image in columns.pop(self.image)]
        if self.texts:
            columns |= tokenised(self.tokenizer, self.max_length, *(list(columns.pop(name)) for name in self.texts))
        named = self.own_format and "labels" in columns  # a transform may have renamed the label
        if self.label in columns and self.label != "labels" and not named:
            columns["labels"] = columns.pop(self.label)
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*(columns[n] for n in names), strict=True)]


class HubStream(IterableDataset[dict[str, Any]]):
    """An iterable Hugging Face data set, which shards itself to workers; to ranks after ``split_dataset_by_node``."""

    shards_to_workers = True

    def __init__(self, dataset: Any, tokenizer: Any = None, max_length: int | None = None) -> None:
        self.dataset, self.tokenizer, self.max_length = dataset, tokenizer, max_length
        self.shards_itself = getattr(dataset, "_distributed", None) is not None

    def __iter__(self) -> Any:
        for row in map(dict, self.dataset):
            known = getattr(self.dataset, "features", None) or dict.fromkeys(row)
            tokenised_here = self.tokenizer is not None and "input_ids" not in row
            texts = [row.pop(name) for name in text_columns(known, row)] if tokenised_here else []
            row |= tokenised(self.tokenizer, self.max_length, *texts) if texts else {}
            for name in [n for n, v in row.items() if hasattr(v, "getbands")]:
                row["pixel_values"] = pixels(row.pop(name), "RGB")
            label = label_column(known, None)
            if label is not None and label != "labels":
                row["labels"] = row.pop(label)
            yield row


def is_hub(data: Any) -> bool:
    """Whether ``data`` is a map-style Hugging Face data set, by its attributes, so that the package is not imported."""
    return hasattr(data, "features") and hasattr(data, "column_names") and hasattr(data, "select")


def is_hub_stream(data: Any) -> bool:
    """Whether ``data`` is an iterable Hugging Face data set, likewise."""
    return hasattr(data, "features") and hasattr(data, "skip") and not hasattr(data, "select")


def image_column(dataset: Any) -> str | None:
    """The first column of images; None without one, or if the data set has its own format."""
    images = [n for n in dataset.column_names if type(dataset.features[n]).__name__ == "Image"]
    return images[0] if images and not has_own_format(dataset) else None


def has_own_format(dataset: Any) -> bool:
    """Whether the user set ``with_format`` or ``with_transform``."""
    return (getattr(dataset, "format", None) or {}).get("type") is not None


def mode_of_images(*parts: Any) -> str:
    """``"L"`` if those images that are inspected in all parts are grey, else ``"RGB"``: a model takes one number of channels."""
    found = [image for part in parts if is_hub(part) and image_column(part) for image in _some_images(part)]
    return "L" if found and all(image.mode in GREY for image in found) else "RGB"


def _some_images(dataset: Any) -> list[Any]:
    rows = sorted({round(place) for place in np.linspace(0, len(dataset) - 1, LOOKED_AT)} if len(dataset) else ())
    return [image for image in dataset[rows][image_column(dataset)] if image is not None] if rows else []


def label_column(features: Any, target: str | None) -> str | None:
    """The column of labels: that of the task, else by name, else the first ``ClassLabel``."""
    classes = [name for name in features if type(features[name]).__name__ == "ClassLabel"]
    named = [name for name in LABEL_NAMES if name in features]
    asked = [target] if target in features else []
    return next(iter([*asked, *named[:1], *classes]), None)


def text_columns(features: Any, row: dict[str, Any] | None = None) -> tuple[str, ...]:
    """The two columns of texts that a model reads together, else one of texts: by name, else the first of strings."""
    strings = [
        name
        for name in features
        if getattr(features[name], "dtype", None) in ("string", "large_string")
        or (features[name] is None and row is not None and isinstance(row.get(name), str))
    ]
    alone = next(((name,) for name in (*TEXT_NAMES, *strings) if name in strings), ())
    return next((pair for pair in PAIRS if {*strings} >= {*pair}), alone)


def pixels(image: Any, mode: str) -> torch.Tensor:
    """A PIL image as uint8 [C, H, W] in ``mode``; of 16 bits the upper eight.

    A ``ValueError`` if there is no image, its values are beyond 0 to 255, or it is in colour and ``mode`` is ``"L"``.
    """
    if image is None:
        raise ValueError("a row has no image: filter such rows out; check_quality counts them")
    if mode == "L" and in_colour(image):
        raise ValueError(
            "an image is in colour, others of the data set are grey: pass image_mode='RGB', or convert it to 'L'"
        )
    if image.mode.startswith("I;16"):  # PIL would clip
        upper = torch.from_numpy((np.asarray(image) >> 8).astype(np.uint8))[None]
        return upper if mode == "L" else upper.expand(3, -1, -1).contiguous()
    if image.mode in ("I", "F") and not 0 <= image.getextrema()[0] <= image.getextrema()[1] <= 255:
        raise ValueError(
            f"an image of mode {image.mode} has values beyond 0 to 255: scale them, for example in with_transform"
        )
    array = np.array(image if image.mode == mode else image.convert(mode), dtype=np.uint8)
    return torch.from_numpy(array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1)))
