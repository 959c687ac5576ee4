"""Views of larger storages: what of memory a batch brings with it, where the view was made, and what copies gain."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import default_collate

from dataloader_expert.advice.base import findings_of
from dataloader_expert.advice.transport import transport
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.carried import Tight, behind, storages, tightened, views
from dataloader_expert.probes.experiments.packing import Bundle
from dataloader_expert.probes.experiments.view_copies import CLONED
from dataloader_expert.probes.health.batch_storages import CARRIED, BatchStorages
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import OWN_ITER, RECEIVING
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.sources.registry import open_source

CODE = """
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

HELD = torch.arange(64 * 4096, dtype=torch.float32).reshape(64, 4096)

def frame_of(clip, k):
    return clip[k]

class Clips(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        clip = torch.full((48, 32, 32), float(index))
        return {returned}

def cropped(samples):
    return torch.stack(samples)[:, :1]

def make():
    return DataLoader(Clips(), 4, num_workers=2{more})
"""
LISTS = ", collate_fn=lambda samples: list(samples)"


def carried(folder: Path, returned: str, more: str) -> dict[str, Any]:
    file = folder / "clips.py"
    file.write_text(CODE.format(returned=returned, more=more))
    ref = SourceRef(f"{file}:make", (str(folder),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    [found] = [fact for fact in BatchStorages().measure(bench) if isinstance(fact, Fact)]
    assert found.quantity == CARRIED
    value: dict[str, Any] = found.value
    return value


@pytest.mark.parametrize(
    ("returned", "more", "line"),
    [
        ("clip[3]", LISTS, 17),
        ("frame_of(clip, 3)", LISTS, 9),
        ("clip", ", collate_fn=cropped", 20),
        ("(clip[:4], {'also': clip[0]})", LISTS, 17),
    ],
    ids=["a slice", "a helper's slice", "a slice of the batch", "several parts"],
)
def test_views_of_larger_storages_are_counted_where_they_are_made(
    tmp_path: Path, returned: str, more: str, line: int
) -> None:
    """Our promise: bytes that are sent and not shown are counted, at the line that first returns the view."""
    found = carried(tmp_path, returned, more)
    assert found["nbytes"] == 4 * 48 * 32 * 32 * 4
    assert found["unused"] == found["nbytes"] - found["used"] > 0
    assert [place["line"] for place in found["places"]] == [line]


@pytest.mark.parametrize(
    ("returned", "more"),
    [
        ("clip[3]", ""),  # torch's collate copies
        ("clip[3].clone()", LISTS),
        ("clip.permute(1, 2, 0)", LISTS),  # all of it, in another order
        ("(clip[:24], clip[24:])", LISTS),  # all of it, in two parts
        ("HELD[index]", LISTS),  # of what the dataset holds, which is shared once
        ("torch.from_numpy(np.zeros((48, 8), np.float32)[3])", LISTS),  # the memory of the row alone
        ("clip[0, 0].expand(32, 32, 32)", LISTS),  # few bytes, shown often
        ("(index, 'text', clip)", LISTS),
    ],
    ids=["stacked", "copied", "permuted", "both halves", "held", "of numpy", "expanded", "whole"],
)
def test_what_is_shown_whole_or_copied_has_nothing_unused(tmp_path: Path, returned: str, more: str) -> None:
    """Our promise: batches without waste are not told of."""
    found = carried(tmp_path, returned, more)
    assert (found["unused"], found["wide"], found["places"]) == (0, [], [])


Pair = namedtuple("Pair", "x y")


@dataclass
class Graph:
    x: Any
    name: str = "g"


def test_copies_hold_the_same_values_in_the_same_structure() -> None:
    """Our promise: the loader that is run for comparison delivers what the user's does."""
    whole = torch.arange(100.0)
    batch = {"a": [whole[3:5], "text"], "b": Pair(whole[:1], 2), "c": (Graph(whole[7]),)}
    made = tightened(batch, 2.0)
    assert views(batch, 2.0) and not views(made, 2.0)
    assert made["a"][0].tolist() == [3.0, 4.0] and made["a"][1] == "text"
    assert made["b"] == Pair(torch.tensor([0.0]), 2) and made["c"][0].x == 7
    assert batch["c"][0].x.untyped_storage().nbytes() == 400  # the user's own is left as it was
    assert tightened({"x": whole}, 2.0)["x"] is whole
    assert Tight(default_collate, 2.0)([whole, whole]).shape == (2, 100)


def test_tensors_of_a_list_are_bundled_with_all_that_they_hold() -> None:
    """Our promise: packed lists hold every value, and what is no tensor."""
    rest, lengths, tables = Bundle(list)([{"box": torch.zeros(2, 4), "n": 1}, {"box": torch.ones(1, 4), "n": 2}])
    assert rest == [{"box": None, "n": 1}, {"box": None, "n": 2}]
    assert (lengths.tolist(), tables["torch.float32"].tolist()) == ([8, 4], [0.0] * 8 + [1.0] * 4)


def test_tensors_without_a_storage_of_their_own_are_left_out() -> None:
    """A sparse tensor, and one of no elements."""
    assert storages([torch.eye(3).to_sparse(), torch.zeros(0), None]) == []
    shared: Any = torch.zeros(100)
    assert not views([shared.share_memory_()[:1]], 2.0)  # sent as it is


def test_entries_of_a_cache_keep_the_arrays_that_they_show_parts_of() -> None:
    """Our promise: memory behind each entry counts; an array that several entries show is the dataset's own."""
    one = np.zeros(1000, np.uint8)
    assert behind([np.zeros(1000, np.uint8)[:10], torch.zeros(1000, dtype=torch.uint8)[:10]]) == (20, 2000)
    assert behind([one[:10], one[10:20]]) == (20, 20)
    assert behind([np.zeros(10, np.uint8), {"a": torch.zeros(3)}, "text", 7]) == (22, 22)
    assert behind([np.asarray(Image.new("RGB", (4, 5)))]) == (60, 60)  # Pillow's bytes are behind it


def told(gain: float | None, pays: bool, workers: int, unused: int = 36 << 20, own_ms: float = 1.0) -> list[Any]:
    timed = Evidence("timed", "a test")
    wide = {"path": "0.0", "shape": [3, 64, 64], "nbytes": 2 << 20, "used": 49152}
    place = {"file": "/u/clips.py", "function": "__getitem__", "line": 12}
    value = {"used": 786432, "nbytes": unused + 786432, "unused": unused, "wide": [wide], "wide_tensors": 16}
    received = {"main_s": 0.003, "bytes": 8e6, "tensors": 2, "samples": 16.0, "workers": workers}
    spent = {"ms": own_ms, "cpu_ms": own_ms, "wait_ms": 0.0, "queue_ms": 0.0}
    facts = [
        Fact(CARRIED, value | {"places": [place]}, timed),
        Fact(CURRENT, {"num_workers": workers, "batch_size": 16, "pin_memory": False}, timed),
        Fact(RECEIVING, received, timed),
        Fact(STAGE, spent, timed, {"stage": "transform"}),
    ]
    if gain is not None:
        seen = Evidence("timed", "a test", seen=4, interval=(0.9 * gain, 1.1 * gain))
        facts.append(Fact(CLONED, gain, seen, {"workers": 2, "pays": pays}))
    return [f for f in findings_of(Facts(tuple(facts))) if f.code == "large-batches-copied"]


def test_views_are_told_with_their_place_and_the_gain_of_copies() -> None:
    """Our promise: what is sent, how much of it is shown, where, and what copies gain by a run."""
    [found] = told(3.0, True, 2)
    assert "786.4 kB of the 38.5 MB" in found.message and "3.00 times as fast" in found.message
    assert "clips.py:12" in found.message and found.where[0]["line"] == 12 and "clone()" in found.fix
    [found] = told(None, False, 2)
    assert "estimated" in found.message


@pytest.mark.parametrize(
    ("gain", "pays", "workers", "unused", "own_ms"),
    [
        (1.02, False, 2, 36 << 20, 1.0),
        (None, False, 0, 36 << 20, 1.0),
        (None, False, 2, 100, 1.0),
        (None, False, 2, 1 << 20, 50.0),
    ],
    ids=["no gain", "nothing is sent", "few bytes", "dear samples"],
)
def test_views_that_cost_nothing_are_not_told(
    gain: float | None, pays: bool, workers: int, unused: int, own_ms: float
) -> None:
    """Our promise: a view that costs no time is no finding."""
    assert told(gain, pays, workers, unused, own_ms) == []


@pytest.mark.parametrize(("sent_ms", "severity"), [(0.1, "info"), (1.0, "warning")])
def test_large_batches_are_a_warning_where_sending_them_takes_much(sent_ms: float, severity: str) -> None:
    """Seen: a loader of ordinary images, of whose time a tenth was sending, was warned of its batches first of all."""
    timed = Evidence("timed", "a test")
    spent = {"cpu_ms": 1.0, "wait_ms": 0.0, "queue_ms": 0.0}
    facts = Facts((
        Fact(RECEIVING, {"main_s": 0.003, "bytes": 8e6, "tensors": 2, "samples": 16.0, "workers": 2}, timed),
        Fact(BATCH, {"fields": []}, timed),
        Fact(STAGE, {**spent, "ms": 1.0}, timed, {"stage": "transform"}),
        Fact(STAGE, {**spent, "ms": sent_ms, "cpu_ms": sent_ms}, timed, {"stage": "worker_transfer"}),
    ))  # fmt: skip
    [found] = transport(facts)
    assert (found.code, found.severity) == ("large-batches-copied", severity)
    assert "main process" not in found.fix  # nothing says that no workers are as fast
    plan = {"num_workers": 2, "batch_size": 16, "pin_memory": False}
    own = Facts((*facts, Fact(CURRENT, plan, timed), Fact(OWN_ITER, 40.0, timed)))
    assert not [*transport(own)]  # what the loader's own __iter__ made is not what was sent


@pytest.mark.parametrize(("memory", "severity"), [(8 << 20, "warning"), (80_000, "info")], ids=["views", "copies"])
def test_a_cache_of_views_is_told_with_what_it_keeps(memory: int, severity: str) -> None:
    """Our promise: entries that keep more memory than they show are told, with what to do."""
    kept = {"attribute": "cache", "samples": 8, "first_ms": 2.0, "again_ms": 0.1}
    kept |= {"entries_bytes": 80_000, "memory_bytes": memory}
    facts = Facts((Fact(KEPT, kept, Evidence("timed", "a test")),))
    [found] = [f for f in findings_of(facts) if f.code == "dataset-caches-samples"]
    assert found.severity == severity
    assert ("array.copy()" in found.fix) == (severity == "warning")
