"""What a collate function loses: the ends of samples, the offsets of edges; and what it is right to leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from dataloader_expert.probes.model.collated import lost

LENGTHS = [3 + 5 * (i % 7) for i in range(30)]


def texts(i: int) -> Any:
    return torch.arange(LENGTHS[i]) + i, i % 2


def graphs(i: int) -> Any:
    n = LENGTHS[i]
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return {"x": torch.rand(n, 4), "edge_index": ring}


def cuts(batch: list[Any]) -> Any:
    ids = torch.zeros(len(batch), 12, dtype=torch.long)
    for row, (x, _) in zip(ids, batch, strict=True):
        row[: min(12, len(x))] = x[:12]
    return ids, torch.tensor([y for _, y in batch])


def pads(batch: list[Any]) -> Any:
    return {"ids": pad_sequence([x for x, _ in batch], True), "y": torch.tensor([y for _, y in batch])}


def joins(batch: list[Any]) -> Any:
    return torch.cat([x for x, _ in batch]), torch.tensor([len(x) for x, _ in batch])


def graph(batch: list[Any], offsets: bool = False, counts: bool = False) -> Any:
    before = [sum(len(b["x"]) for b in batch[:i]) * offsets for i in range(len(batch))]
    made = {"x": torch.cat([b["x"] for b in batch])}
    made["edge_index"] = torch.cat([b["edge_index"] + n for b, n in zip(batch, before, strict=True)], 1)
    return made | ({"edges": torch.tensor([b["edge_index"].shape[1] for b in batch])} if counts else {})


def found(sample: Callable[[int], Any], collate: Callable[[list[Any]], Any]) -> dict[str, Any]:
    data = [sample(i) for i in range(len(LENGTHS))]
    served: Any = SimpleNamespace(dataset=data, collate=collate)
    return lost(served, [6, 5, 0, *range(7, 20)])


def test_samples_that_are_cut_are_told_with_their_share() -> None:
    """Seen: a collate function that silently leaves out most of each text."""
    (cut,) = found(texts, cuts)["cut"]
    assert cut["field"] == "0" and cut["to"] == 12 and cut["longest"] == max(LENGTHS)


def test_edges_without_offsets_are_told() -> None:
    """Seen: a batch of graphs, all of whose edges are in the first of them."""
    (edges,) = found(graphs, graph)["edges"]
    assert edges == {"field": "edge_index", "places": 33, "nodes": 33 + 28 + 3}


@pytest.mark.parametrize(
    ("sample", "collate"),
    [
        (texts, pads),
        (texts, joins),
        (texts, lambda batch: pads([(x.roll(2), y) for x, y in batch])),
        (graphs, lambda batch: graph(batch, offsets=True)),
        (graphs, lambda batch: graph(batch, counts=True)),
        (graphs, lambda batch: {"x": torch.stack([b["x"].mean(0) for b in batch])}),
    ],
    ids=["padded", "joined", "changed", "with offsets", "told apart by counts", "summed up"],
)
def test_what_keeps_all_is_left_alone(sample: Any, collate: Any) -> None:
    """Our promise: a collate function that loses nothing, or makes something else of a sample, is no finding."""
    made = found(sample, collate)
    assert made["cut"] == [] and made["edges"] == []
