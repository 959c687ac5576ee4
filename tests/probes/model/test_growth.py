"""What a batch is at other sizes: rows one after another, padding, lists with an entry for each sample, records."""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.batch import field_of, with_batch_dimension
from dataloader_expert.probes.model.calling import cut
from dataloader_expert.probes.model.growth import Growth, grown
from dataloader_expert.probes.model.memory import unsized
from dataloader_expert.probes.model.spec import Leaf, batch_of, from_json, leaves, listed, of_batch, to_json
from dataloader_expert.probes.serving import Serving

FRESH = int.from_bytes(os.urandom(4), "big")
SEEDS = (0, FRESH)
SIZE = 5


def served(dataset: Any, collate: Any, loader: Any = None) -> Serving:
    return Serving(dataset, collate, "own", LoaderPlan(batch_size=SIZE), False, "", loader)


def growth_of(samples: list[Any], collate: Any, loader: Any = None) -> dict[str, Growth]:
    serving = served(samples, collate, loader)
    batches = [collate(samples[i : i + SIZE]) for i in range(0, len(samples), SIZE)]
    sizes = [serving.count(b) for b in batches]
    return grown(serving, [0, 1, 2], [dict(flat(b, n=n)) for b, n in zip(batches, sizes, strict=True)], sizes)


def graphs(seed: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Nodes, and edges between them."""
    drawn = torch.Generator().manual_seed(seed)
    nodes = [int(n) for n in torch.randint(3, 20, (4 * SIZE,), generator=drawn)]
    nodes[:3] = 19, 3, 7
    return [(torch.rand(n, 6, generator=drawn), torch.randint(0, n, (2, 2 * n), generator=drawn)) for n in nodes]


def joined(samples: list[Any]) -> dict[str, torch.Tensor]:
    starts = torch.tensor([0, *(len(x) for x, _ in samples)]).cumsum(0)
    return {
        "x": torch.cat([x for x, _ in samples]),
        "edges": torch.cat([e + s for (_, e), s in zip(samples, starts[:-1], strict=True)], 1),
        "owner": torch.cat([torch.full((len(x),), k) for k, (x, _) in enumerate(samples)]),
        "y": torch.zeros(len(samples), dtype=torch.long),
        "padded": nn.utils.rnn.pad_sequence([x for x, _ in samples]),
        "table": torch.ones(7, 4),
    }


@pytest.mark.parametrize("seed", SEEDS, ids=("fixed", "fresh"))
def test_rows_of_all_samples_in_one_tensor_grow_with_the_batch(seed: int) -> None:
    """Our promise: in whichever dimension; a padded one and a table do not grow; places lie within the batch."""
    samples = graphs(seed)
    found = growth_of(samples, joined)
    most = max(sum(len(x) for x, _ in samples[i : i + SIZE]) for i in range(0, len(samples), SIZE)) / SIZE
    assert found["x"].shape == (most, 6)
    assert found["edges"].shape == (2, 2 * most)
    assert found["owner"].places == 1
    assert found["edges"].places is not None
    assert found["x"].places is found["y"].places is None
    assert found["y"].shape == ("B",)
    assert found["padded"].shape == (19, "B", 6)
    assert found["table"].shape == (7, 4)
    batch = joined(samples[:SIZE])
    tree = from_json(to_json(of_batch(batch, SIZE, found)))
    for size in (1, 3, 4 * SIZE):
        made = batch_of(tree, size)
        assert len(made["x"]) == pytest.approx(most * size, abs=1)
        assert made["padded"].shape == (19, size, 6)
        assert int(made["owner"].max()) < size
        assert int(made["edges"].max()) < len(made["x"])


class Stream(IterableDataset[Any]):
    def __init__(self, samples: list[Any]) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[Any]:
        return iter(self.samples)


def test_samples_of_a_stream_tell_as_much() -> None:
    samples = graphs(FRESH)
    batch = joined(samples[:SIZE])
    found = grown(served(Stream(samples), joined), (), [batch], [SIZE])
    assert found["x"].shape == (len(batch["x"]) / SIZE, 6)
    assert found["table"].shape == (7, 4)


def test_tokens_of_a_large_vocabulary_are_no_places() -> None:
    """A collate function may draw other tokens each time it is called."""
    drawn = torch.Generator().manual_seed(FRESH)

    def masked(samples: list[torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"ids": torch.randint(0, 30_000, (len(samples), 12), generator=drawn)}

    assert growth_of([torch.ones(12)] * 15, masked)["ids"].places is None


def test_samples_without_rows_do_not_make_rows_constant() -> None:
    """Our promise: of boxes of three images, two of which have none, nothing is said of how they grow with the batch."""
    samples = [torch.ones(n, 4) for n in (7, 0, 0)]
    assert growth_of(samples, lambda s: {"boxes": torch.cat(s)})["boxes"].shape[0] is None


def test_what_nothing_tells_is_not_known() -> None:
    """Of batches that a dataset makes itself, all of one size, none can be made smaller."""
    batches = [{"y": torch.zeros(SIZE), "x": torch.rand(4 * SIZE, 2)} for _ in range(3)]
    serving = served(batches, None, DataLoader(batches, batch_size=None))  # type: ignore[arg-type]  # any sequence will do
    found = grown(serving, [0, 1], batches, [SIZE] * 3)
    assert (found["x"].shape, found["y"].shape) == ((None, 2), ("B",))
    other = grown(
        serving, [0, 1], [*batches, {"y": torch.zeros(2), "x": torch.rand(4 * SIZE, 2)}], [SIZE, SIZE, SIZE, 2]
    )
    assert other["x"].shape == (4 * SIZE, 2)


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_with_an_entry_for_each_sample_is_one(kind: Any) -> None:
    """As detectors take their batches: at any size it has as many entries, each as large as the largest seen."""
    target = [{"boxes": torch.rand(k, 4), "labels": torch.ones(k).long()} for k in (0, 3, 1, 2, 2)]
    batch = kind([torch.rand(3, 8, 9) for _ in target]), kind(target)
    serving = served([], None)
    assert serving.count(batch) == SIZE
    assert [name for name, _ in flat(batch, n=SIZE)] == ["0", "1.boxes", "1.labels"]
    tree = from_json(to_json(of_batch(batch, SIZE)))
    assert listed(tree)
    images, targets = batch_of(tree, 8)
    assert type(images) is kind
    assert [tuple(x.shape) for x in images] == [(3, 8, 9)] * 8
    assert [tuple(t["boxes"].shape) for t in targets] == [(3, 4)] * 8
    assert [len(part) for part in cut(batch, torch.tensor([0, 1]), SIZE)] == [2, 2]
    last = tuple(kind(part[:3]) for part in batch)
    assert serving.count(last) == 3


def test_parts_that_are_stacked_are_no_lists_of_samples() -> None:
    """As many parts as samples, of one kind: the first dimension of each is the batch's."""
    batch = [torch.rand(SIZE, 3) for _ in range(SIZE)]
    assert not listed(of_batch(batch, SIZE))
    graph = (torch.rand(9, 2), torch.ones(2, 14).long(), torch.ones(9).long(), torch.ones(4).long())
    assert not listed(of_batch(graph, 4))
    named = of_batch({"x": torch.rand(SIZE, 3), "label": ["cat"] * SIZE}, SIZE)
    assert not listed(named)
    assert batch_of(named, 2)["label"] == ["cat"] * 2


Pair = namedtuple("Pair", "signal stage")  # as users write it


@dataclass
class Scan:
    signal: torch.Tensor
    stage: torch.Tensor


@pytest.mark.parametrize("kind", [Pair, Scan])
def test_a_record_keeps_its_attributes(kind: Any) -> None:
    """Named tuples and dataclasses: a model looks its parts up by them."""
    batch = kind(torch.rand(SIZE, 7), torch.ones(SIZE).long())
    tree = from_json(to_json(of_batch(batch, SIZE, {"signal": Growth(("B", 9))})))
    assert [name for name, _ in leaves(tree)] == ["signal", "stage"]
    made = batch_of(tree, 2)
    assert (tuple(made.signal.shape), tuple(made.stage.shape)) == ((2, 9), (2,))
    assert len(cut(batch, torch.tensor([0]), SIZE).signal) == 1


def test_a_number_of_rows_for_each_sample_is_rounded_up() -> None:
    assert Leaf("float32", (1.5, 2)).tensor(3).shape == (5, 2)


def test_the_batch_is_found_in_another_dimension_than_the_first() -> None:
    """Seen: of batches with time first, the number of samples was told as a fixed size."""
    field = field_of("x", [torch.rand(50, SIZE, 4)], [SIZE])
    assert with_batch_dimension(field, Growth((50, "B", 4)))["shape"] == [50, "B", 4]
    assert with_batch_dimension(field, Growth((50, SIZE, 4)))["shape"] == [50, SIZE, 4]
    stacked = field_of("x", [torch.rand(SIZE, 50)], [SIZE])
    assert with_batch_dimension(stacked, Growth(("B", 50))) == stacked


@pytest.mark.parametrize("kind", [torch.float32, torch.int64])
def test_boxes_of_a_made_up_batch_are_boxes_too(kind: torch.dtype) -> None:
    """Seen: of a detector that checks its boxes no step could be taken, since those made up had corners in any order."""
    boxes = [torch.tensor([[4, 5, 9, 11], [30, 2, 44, 8]][: k % 3]).reshape(-1, 4).to(kind) for k in range(SIZE)]
    batch = [torch.rand(3, 6, 6) for _ in range(SIZE)], [{"boxes": b} for b in boxes]
    made = batch_of(from_json(to_json(of_batch(batch, SIZE))), 40)[1]
    assert all((t["boxes"][:, 2:] > t["boxes"][:, :2]).all() for t in made)


@pytest.mark.parametrize(("fed", "names"), [(None, ["1"]), (["0"], []), (["0", "1"], ["1"])])
def test_only_what_a_model_is_fed_needs_a_size(fed: list[str] | None, names: list[str]) -> None:
    """Seen: no step was traced of a model of images, as how many boxes a batch of another size has is not known."""
    assert unsized((Leaf("float32", ("B", 3, 8, 8)), Leaf("float32", (None, 6))), fed) == names
