"""What a value is compared by: all that it holds, and nothing that two with the same content differ in."""

from __future__ import annotations

import datetime
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.checks.common.fingerprint import content


class Graph:
    """Of one's own, without equality; its text shows shapes alone."""

    def __init__(self, x: Any) -> None:
        self.store = {"x": x, "y": torch.tensor(1)}
        self.owner = weakref.ref(self)

    def __repr__(self) -> str:
        return f"Graph(x={list(self.store['x'].shape)})"


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x


@pytest.mark.parametrize("kind", [Graph, Slotted, lambda x: [x, x], lambda x: {"crops": [x]}, lambda x: [x.numpy()]])
def test_objects_and_lists_are_compared_by_what_they_hold(kind: Any) -> None:
    """Seen: 137 of 200 random graphs were copies, as the text of an object has its address, which is used again; that of a long tensor has
    its ends only."""
    x = torch.zeros(3, 64, 64)
    other = x.clone()
    other[1, 30, 30] = 1
    assert content(kind(x)) == content(kind(x.clone()))
    assert content(kind(x)) != content(kind(other))


def test_an_object_of_unknown_content_is_no_copy() -> None:
    assert content(object()) != content(object())


@pytest.mark.parametrize(
    "value", [3, "a", [1, "b"], {"a": [1, {"b": 2}]}, datetime.date(2020, 1, 2), Path("a/b"), ["a"] * 9]
)
def test_plain_values_are_their_text(value: Any) -> None:
    assert content(value) == str(value).encode()


def test_arrays_are_their_bytes() -> None:
    assert content(np.arange(3)) != content(np.arange(3.0))
