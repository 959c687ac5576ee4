"""What a value is compared by: all that it holds, and nothing that two with the same content differ in."""

from __future__ import annotations

import datetime
import io
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.checks.common.fingerprint import content, is_unknown
from tests.checks.looking import Data, judged_alone


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
    """Our promise: it reads the same every time, so that workers can be compared, and yet is no copy of another."""
    assert content(object()) == content(object())
    found = judged_alone("duplicates", Data({"x": [object() for _ in range(30)], "n": [7.0] * 30}))
    assert "duplicate-samples" not in found
    assert is_unknown([object()]) and not is_unknown([object(), 1]) and not is_unknown(Graph(torch.ones(3)))


class Item:
    def __init__(self, owner: Owner, x: Any) -> None:
        self.owner, self.x = owner, x


class Owner:
    def __init__(self, n: int) -> None:
        self.items = [Item(self, np.full(500, i)) for i in range(n)]


def test_what_holds_a_sample_is_no_part_of_it() -> None:
    """Seen: of items that keep their data set, each was read with all others; a list that holds itself raised an error."""
    items = Owner(200).items
    read = [content(item) for item in items]
    assert len(set(read)) == 200 and max(map(len, read)) < 2 * items[0].x.nbytes
    assert not any(map(is_unknown, items))
    held: list[Any] = [1]
    held.append(held)
    assert content(held) == content(held)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: x.to(torch.float8_e4m3fn),
        lambda x: x.to(torch.bfloat16),
        lambda x: torch.complex(x, x).conj(),
        lambda x: torch.nested.nested_tensor([x, x]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_every_form_of_tensor_is_read(made: Any) -> None:
    """Seen: sparse ones, numbers of 8 bits and conjugated ones within a graph raised errors."""
    one, other = torch.eye(3), torch.zeros(3, 3)
    assert content([made(one)]) == content([made(one.clone())]) != content([made(other)])


def test_a_file_is_left_as_it_is() -> None:
    """Seen: text files have a detach of their own, which left them unusable."""
    file = io.TextIOWrapper(io.BytesIO(b"abc"))
    content([file])
    assert file.read() == "abc"


def test_rows_of_zeros_are_told() -> None:
    """Seen: 200 of 500 rows that held nothing but 0 were told nowhere."""
    values = np.random.default_rng(0).normal(size=(500, 5))
    values[100:300] = 0
    found = judged_alone("duplicates", Data({f"x{i}": values[:, i] for i in range(5)}))["duplicate-samples"]
    assert (found.severity, found.count) == ("info", 200)


@pytest.mark.parametrize(
    "value", [3, "a", [1, "b"], {"a": [1, {"b": 2}]}, datetime.date(2020, 1, 2), Path("a/b"), ["a"] * 9]
)
def test_plain_values_are_their_text(value: Any) -> None:
    assert content(value) == str(value).encode()


def test_arrays_are_their_bytes() -> None:
    assert content(np.arange(3)) != content(np.arange(3.0))
