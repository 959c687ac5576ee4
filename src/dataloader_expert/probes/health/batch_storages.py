"""What of memory a batch brings with it: a worker sends the whole storage behind each tensor, however little of it the tensor shows.

Batches are made in a process of their own, which a sample may end.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, TooDear, evidence, hangs
from dataloader_expert.probes.carried import returned_by, storages, tensors_in
from dataloader_expert.probes.model.batch import in_this_process
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.system.pristine_process import apart

CARRIED = Quantity("carried", "bytes", "of a batch: the storages behind its tensors, and what its tensors have of them")
TIMES = 2.0
"""How many times as large as what a batch has of it a storage is if the tensors that show it are told."""
LEAST_UNUSED = 1 << 16
"""The fewest bytes of a batch that no tensor shows for which copies are tried: fewer are sent in no time."""
FIT_SHARE = 0.03
"""The share of the time left that a batch may take."""


@dataclass(frozen=True)
class BatchStorages(Probe):
    name: ClassVar[str] = "batch_storages"
    doing: ClassVar[str] = "looking at the memory behind a batch"
    batch_size: int | None = None
    share: float = 0.08
    most_s: float = 4.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or hangs(bench):
            return
        served = serving(bench, self.batch_size, None)
        with contextlib.suppress(TooDear):  # then it is tried whole, within its time
            served.fit(bench, FIT_SHARE * bench.left())
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        value = apart(partial(looked, served), max(0.0, until - time.monotonic()))
        if value:
            yield Fact(CARRIED, value, evidence("counted", self.name, seen=value["storages"]))


def looked(served: Serving, seconds: float) -> dict[str, Any]:
    """What the second of two batches brings with it; empty if there is none."""
    stream = iter(in_this_process(served))
    batches, places = returned_by(lambda: list(itertools.islice(stream, 2)), TIMES)
    if not batches:
        return {}
    kept = {one.address for one in storages(batches[0])} if len(batches) > 1 else set()
    last = storages(batches[-1])
    # what the dataset itself holds is moved to shared memory once in each worker, and then sent as it is
    fresh = [one for one in last if not one.shared and one.address not in kept]
    wide = [one for one in fresh if one.nbytes >= TIMES * max(1, one.used)]
    wide.sort(key=lambda one: -one.unused)
    found: list[Any] = list(dict.fromkeys(places[one.address] for one in wide if one.address in places))
    return {
        "samples": served.count(batches[-1]),
        "tensors": sum(one.tensors for one in last),
        "storages": len(last),
        "dtypes": dict(Counter(str(t.dtype).removeprefix("torch.") for _, t in tensors_in(batches[-1]))),
        "nbytes": sum(one.nbytes for one in fresh),
        "used": sum(one.used for one in fresh),
        "wide": [
            {"path": one.path, "shape": list(one.shape), "nbytes": one.nbytes, "used": one.used}
            for one in wide[:MAX_PLACES]
        ],
        "wide_tensors": sum(one.tensors for one in wide),
        "unused": sum(one.unused for one in wide),
        "places": [{"file": f, "function": name, "line": n} for f, name, n in found[:MAX_PLACES]],
        "largest": largest(batches[-1], served),
    }


def largest(batch: Any, served: Serving) -> dict[str, Any] | None:
    """The tensor of a batch that has most bytes: how much of it is not 0; and where a collate function of the user's is defined."""
    tensors = [(path, t) for path, t in tensors_in(batch) if t.device.type == "cpu" and not t.is_sparse and t.numel()]
    path, tensor = max(tensors, key=lambda one: one[1].numel() * one[1].element_size(), default=(None, None))
    if tensor is None:
        return None
    code = getattr(served.collate, "__code__", None) or getattr(type(served.collate).__call__, "__code__", None)
    users = code is not None and is_users(code.co_filename)
    return {
        "path": path,
        "shape": list(tensor.shape),
        "bytes": tensor.numel() * tensor.element_size(),
        "nonzero": float((tensor != 0).double().mean()),
        "collate": {"file": code.co_filename, "line": code.co_firstlineno} if code is not None and users else None,
    }


PROBES = (BatchStorages,)
