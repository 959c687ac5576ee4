"""Graphs whose edges point beyond their nodes, or go both ways in one split only, are told; others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checks.looking import Data


def graphs(both: Any = lambda i: True, first: Any = lambda i: 0, faces: bool = False) -> Data:
    """Trees of 5 to 24 nodes, the last forty in another split; ``first``: the number of the first node of the ``i``-th."""
    rng = np.random.default_rng(0)
    nodes, edges = [], []
    for i in range(120):
        n = 5 + i * 7 % 20
        child = np.arange(1, n)
        one = np.stack([child, rng.integers(0, child)])
        nodes.append(rng.normal(size=(n, 3)).astype(np.float32))
        made = np.concatenate([one, one[::-1]], 1) if both(i) else one
        edges.append((np.concatenate([made, made[:1]]).T if faces else made) + first(i))
    name = "faces" if faces else "edge_index"
    attributes = [rng.normal(size=(max(e.shape), 1)).astype(np.float32) for e in edges]
    columns = {"x": nodes, name: edges, "edge_attr": attributes}
    return Data(columns, splits=["train"] * 80 + ["test"] * 40, kinds={name: "array"})


def without_halves(data: Data, each: int) -> Data:
    """The same where every ``each``-th graph has the attributes of half its edges only."""
    some = [a if i % each else a[: len(a) // 2] for i, a in enumerate(data.columns["edge_attr"])]
    return Data({**data.columns, "edge_attr": some}, splits=data.splits, kinds=data.kinds)


def of_atoms(data: Data) -> Data:
    """The same with whole numbers of each atom and each bond, in place of measurements."""
    atoms = [np.abs(np.rint(9 * x)).astype(np.int64) for x in data.columns["x"]]
    bonds = [np.stack([np.arange(len(a)) % 4, 0 * np.arange(len(a)) + 12], 1) for a in data.columns["edge_attr"]]
    columns = {"node_feat": atoms, "edge_index": data.columns["edge_index"], "edge_attr": bonds}
    return Data(columns, splits=data.splits, kinds=dict.fromkeys(columns, "array"))


def halves(n: int, ends: tuple[int, int]) -> Any:
    """The first and the last of every two of so many tokens, counted so that those of the first two are ``ends``."""
    return np.arange(0, n - 1, 2)[:, None] + ends


def numbered(name: str, of: str, make: Callable[[int], Any]) -> Data:
    """Lists of whole numbers, and others of two each that ``make`` draws for a list of that length."""
    lengths = [5 + i % 9 for i in range(60)]
    columns = {of: [np.arange(n) + 100 for n in lengths], name: [make(n) for n in lengths]}
    return Data(columns, kinds={of: "array", name: "array"})


SOUND = {
    "spans of tokens with exclusive ends": numbered("spans", "input_ids", lambda n: halves(n, (0, 2))),
    "spans of tokens, counted from one": numbered("spans", "tokens", lambda n: halves(n, (1, 2))),
    "ranks by two raters": numbered("ranks", "doc_ids", lambda n: 1 + np.stack([np.arange(n), np.arange(n)[::-1]], 1)),
    "bonds of atoms": of_atoms(graphs()),
    "trees": graphs(),
    "trees with edges to the root": graphs(both=lambda i: False),
    "of which some are directed": graphs(both=lambda i: i % 3),
    "triangles": graphs(faces=True),
    "intervals of a text, without their ends": Data(
        {
            "x": [np.zeros((5 + i % 9, 3), np.float32) for i in range(60)],
            "spans": [np.array([[0, 2], [2, 5 + i % 9]]) for i in range(60)],
        },
        kinds={"spans": "array"},
    ),
}
SPEAKS = {
    "counted from one in a few": (graphs(first=lambda i: i % 6 == 0), "out-of-range-ids", "error"),
    "counted from one in all": (graphs(first=lambda i: 1), "out-of-range-ids", "error"),
    "bonds of atoms, counted from one": (of_atoms(graphs(first=lambda i: 1)), "out-of-range-ids", "error"),
    "corners that are not there": (graphs(first=lambda i: 9 * (i == 7), faces=True), "out-of-range-ids", "error"),
    "in both directions in training only": (graphs(both=lambda i: i < 80), "preprocessing-differs", "warning"),
}
