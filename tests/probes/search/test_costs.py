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
            time.sleep(0.1)
        self.given.append(len(samples))
        return default_collate(samples)


def test_the_first_call_of_a_collate_function_does_not_count() -> None:
    """Our promise: whole batches are collated, however few samples were kept, and more than once if they are quick."""
    collate = Collates()
    served = Serving([1] * 8, collate, "yours", LoaderPlan(batch_size=100), False, "a test")
    seconds = collating(served, [1, 2, 3], 100)
    assert set(collate.given) == {100}
    assert len(collate.given) > 1
    assert seconds < 0.1
