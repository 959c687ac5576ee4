"""Batches of samples of any form: what stacks is stacked, what varies in length is padded with its lengths, the rest listed."""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.loaders import pad_collate
from dataloader_expert.loaders.collate import varying_in


@dataclass(slots=True)
class Slotted:
    x: list[float]
    name: str


class Pair(NamedTuple):
    x: Any
    y: int


def test_samples_of_every_form() -> None:
    ragged = [torch.ones(1, 2), torch.ones(3, 2)]
    batch = pad_collate([UserDict(x=x, y=i) for i, x in enumerate(ragged)])
    assert batch["x"].shape == (2, 3, 2)
    assert batch["x_lengths"].tolist() == [1, 3]
    slotted = pad_collate([Slotted([1.0], "a"), Slotted([1.0, 2.0], "b")])
    assert slotted["x"].tolist() == [[1, 0], [1, 2]]
    assert slotted["name"] == ["a", "b"]
    pair = pad_collate([Pair(x, i) for i, x in enumerate(ragged)])
    assert isinstance(pair, Pair)
    assert pair.x[1].tolist() == [1, 3]
    nested = pad_collate([({"boxes": torch.ones(n, 4), "id": n}, n) for n in (0, 2)])
    assert nested[0]["boxes"].shape == (2, 2, 4)
    assert nested[0]["boxes_lengths"].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="b is left out of a batch, since only 1 of its 2 samples have it"):
        assert pad_collate([{"a": 1, "b": 2}, {"a": 3}])["a"].tolist() == [1, 3]


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ([1, 2], [0.5, 0.25, 0.75], [[1, 2, 0], [0.5, 0.25, 0.75]]),
        ([0.5], [3, 4], [[0.5, 0], [3, 4]]),
        (torch.tensor([True]), torch.tensor([3, 4]), [[1, 0], [3, 4]]),
        ([1, 2], [], [[1, 2], [0, 0]]),
        (np.array([1, 2], np.int32), np.array([7], np.int64), [[1, 2], [7, 0]]),
    ],
)
def test_no_value_changes(first: Any, second: Any, wanted: list[list[float]]) -> None:
    """Numbers of several kinds become the kind that holds all."""
    batch = pad_collate([{"x": first}, {"x": second}])
    assert batch["x"].tolist() == wanted
    assert batch["x_lengths"].tolist() == [len(first), len(second)]


@pytest.mark.parametrize(
    "values",
    [
        [torch.tensor(1.0), torch.zeros(0)],
        [torch.ones(2), None],
        [2**70, 1],
        [[2**70], [1, 2]],
        [torch.eye(2).to_sparse(), torch.ones(3, 2).to_sparse()],
        [b"a", b"bc"],
        [object, None],
    ],
)
def test_what_neither_stacks_nor_pads_is_listed(values: list[Any]) -> None:
    batch = pad_collate([{"x": value} for value in values])
    assert isinstance(batch["x"], list)
    assert len(batch["x"]) == len(values)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=5), min_size=1, max_size=6))
def test_lengths_and_values_survive(rows: list[list[int]]) -> None:
    """Property: each row is at the beginning of its line, and zeros follow; lengths are there, whatever they are."""
    batch = pad_collate([{"x": row} for row in rows], ["x"])
    assert batch["x_lengths"].tolist() == list(map(len, rows))
    for line, row in zip(batch["x"].tolist(), rows, strict=True):
        assert line == row + [0] * (len(line) - len(row))
    assert set(varying_in({"x": row} for row in rows)) == ({"x"} if len({len(row) for row in rows}) > 1 else set())


@pytest.mark.parametrize(
    ("name", "dtype", "filled"),
    [
        ("labels", torch.int64, -100),
        ("ner_tags", torch.int32, -100),
        ("labels", torch.float32, 0),
        ("labels", torch.uint8, 0),
        ("input_ids", torch.int64, 0),
        ("target", torch.int64, 0),
        ("item_tags", torch.int64, 0),
    ],
)
def test_padded_labels_are_not_trained_on(name: str, dtype: torch.dtype, filled: int) -> None:
    """Our promise: padding of labels is no class; a float, or what cannot be -100, is padded with 0 as all else."""
    batch = pad_collate([{"more": {name: torch.ones(n, dtype=dtype)}} for n in (3, 5)])["more"]
    assert batch[name].tolist() == [[1, 1, 1, filled, filled], [1] * 5]
    assert batch[name].dtype == dtype
    assert batch[f"{name}_lengths"].tolist() == [3, 5]


def test_the_loss_ignores_padded_labels() -> None:
    """Our promise: the loss over a padded batch is that over its samples, by torch's default."""
    labels = [torch.tensor([2, 0, 1]), torch.tensor([1, 2])]
    logits = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    padded = pad_collate([{"labels": one} for one in labels])["labels"]
    alone = torch.nn.functional.cross_entropy(torch.cat([logits[0], logits[1, :2]]), torch.cat(labels))
    assert torch.nn.functional.cross_entropy(logits.flatten(0, 1), padded.flatten()).item() == pytest.approx(
        alone.item()
    )


def test_a_field_called_like_lengths_is_not_lost_nor_taken_for_them() -> None:
    """Our promise: `x_lengths` are the lengths of `x`, whatever else the samples have."""
    samples = [{"x": torch.ones(n), "x_lengths": torch.tensor(n)} for n in (2, 5)]
    assert pad_collate(samples)["x_lengths"].tolist() == [2, 5]
    with pytest.raises(ValueError, match="field x_lengths of the samples differs from the lengths"):
        pad_collate([{"x_lengths": torch.tensor(7), "x": torch.ones(n)} for n in (2, 5)])


def test_spectrograms_are_padded_along_time() -> None:
    """Seen: spectrograms [80, T] of words stayed a list, and no batch of their files was made."""
    samples = [{"mel": torch.full((80, n), 1.0), "speaker": n} for n in (30, 44, 44)]
    assert varying_in(samples) == {"mel": 1}
    batch = pad_collate(samples, varying={"mel": 1})
    assert batch["mel"].shape == (3, 80, 44)
    assert batch["mel"].is_contiguous()
    assert batch["mel_lengths"].tolist() == [30, 44, 44]
    assert not batch["mel"][0, :, 30:].any() and batch["mel"][0, :, :30].all()
    alike = pad_collate(samples[1:], varying={"mel": 1})
    assert alike["mel_lengths"].tolist() == [44, 44]
    with_empty = pad_collate([*samples, {"mel": torch.zeros(0), "speaker": 0}], varying={"mel": 1})
    assert with_empty["mel"].shape == (4, 80, 44) and with_empty["mel_lengths"].tolist() == [30, 44, 44, 0]


def test_images_of_several_sizes_have_no_dimension_of_length() -> None:
    """Our promise: what differs in height and in width is not padded, and empty boxes do not tell which dimension varies."""
    images = [(torch.ones(3, h, w), torch.ones(n, 4)) for h, w, n in ((8, 9, 2), (9, 8, 0), (7, 7, 1))]
    assert varying_in(images) == {"1": 0}
    assert varying_in({"image": torch.ones(3, 8, n)} for n in (7, 8, 9)) == {}  # the next may differ in height
    assert isinstance(pad_collate(images)[0], list)
