"""What samples and batches cost, from a few of them."""

from __future__ import annotations

import time
from typing import Any

from torch.utils.data import default_collate

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.search.costs import collating
from dataloader_expert.probes.serving import Serving


class Collates:
    """Counts what it is given; the first call takes long, as one that imports something does."""

    def __init__(self) -> None:
        self.given: list[int] = []

    def __call__(self, samples: list[Any]) -> Any:
        if not self.given:
            time.sleep(0.1)  # what is measured: a first call that imports
        self.given.append(len(samples))
        return default_collate(samples)


def test_the_first_call_of_a_collate_function_does_not_count() -> None:
    """Our promise: whole batches are collated, however few samples were kept, and more than once if they are quick."""
    collate = Collates()
    served = Serving([1] * 200, collate, "yours", LoaderPlan(batch_size=100), False, "a test")
    seconds = collating(served, [1, 2, 3], 100)
    assert set(collate.given) == {100}
    assert len(collate.given) > 1
    assert seconds < 0.1


def test_a_collate_function_may_change_its_samples() -> None:
    """Our promise: each call gets samples as the dataset gives them; what raises is no time, and no batch is larger than the data."""
    given: list[int] = []

    def pops(samples: list[dict[str, Any]]) -> Any:
        given.append(len(samples))
        time.sleep(0.002)  # what is measured: a call that succeeds takes so long
        return [sample.pop("y") for sample in samples]

    served = Serving([1] * 8, pops, "yours", LoaderPlan(batch_size=100), False, "a test")
    assert collating(served, [{"y": 1}, {"y": 2}], 100) >= 0.002
    assert set(given) == {8}


def test_what_does_not_collate_takes_no_time() -> None:
    def refuses(samples: list[Any]) -> Any:
        raise ValueError(samples)

    assert collating(Serving([1] * 8, refuses, "yours", LoaderPlan(batch_size=4), False, "a test"), [1], 4) == 0.0
