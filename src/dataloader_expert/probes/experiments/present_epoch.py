"""An epoch of the user's own sampler, and what its settings alone say: reading the samples takes as long as an epoch, drawing them does not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, evidence
from dataloader_expert.probes.experiments.epochs import DRAWN, MOST, OF_SAMPLES, among, describe, labelled_of

BEYOND = Quantity(
    "drawn_beyond_the_end", "indices", "indices that the present sampler draws and the dataset does not have"
)
NESTED = Quantity(
    "nested_batches", "samples", "samples in each item of the present sampler, which yields batches to be batched again"
)
WEIGHED = Quantity(
    "weighed_samples",
    "samples",
    "samples with a weight of 0, of all that the present sampler weighs, and their classes",
)
BATCHED = Quantity("present_batch_size", "samples", "samples in most batches of the present loader")
RANKS = Quantity("present_ranks", "ranks", "ranks that the present sampler draws for")

FIRST = 64
"""The batches that tell how many samples most of them have."""


def of_present(bench: Bench, loader: Any, n: int) -> Iterator[Observation]:
    """``n``: the samples whose labels and lengths are on the bench; of fewer than all, what the batches hold is told of these."""
    whole = len(loader.dataset)
    labels, lengths, sets = (bench.labels, bench.lengths, bench.label_sets) if n == whole else (None, None, None)
    if ranks_of(loader) > 1:
        yield Fact(RANKS, ranks_of(loader), evidence("declared", "draws"))
    nested = _nested(loader)
    if nested:
        yield Fact(NESTED, nested, evidence("counted", "draws", seen=1))
        return
    weights = _weights(loader, whole)
    if weights is not None:
        yield Fact(WEIGHED, _weighed(bench, weights, labels), evidence("counted", "draws", seen=len(weights)))
    if whole > MOST:
        yield Unknown("alternatives: present", f"{whole:,} samples: only epochs of up to {MOST:,} are drawn")
        return
    present = batches_of(loader)
    if present is None:
        return
    beyond = [i for b in present for i in b if not -whole <= i < whole]
    if beyond:
        value = {"count": len(beyond), "first": beyond[0], "samples": whole}
        yield Fact(BEYOND, value, evidence("counted", "draws", seen=whole, population=whole))
        return
    known = labelled_of(bench) if bench.labels is not None and bench.label_sets is None else None
    drawn = describe(iter(present), labels, lengths, whole, sets=sets, labelled=None if labels is None else known)
    if n < whole and bench.rows is not None and len(bench.rows) == n and bench.label_sets is None:
        of_read = describe(among(present, bench.rows), bench.labels, bench.lengths, n, labelled=known)
        drawn |= {name: of_read[name] for name in OF_SAMPLES} | {"of_read": True}
    seen = evidence("counted", "draws", seen=drawn["epoch_samples"], population=whole)
    yield Fact(DRAWN, drawn, seen, {"strategy": "present"})


def ranks_of(loader: Any) -> int:
    """The ranks that a loader's sampler draws for, as torch's ``DistributedSampler`` does; 1 if it names none."""
    found = (getattr(part, "num_replicas", None) for part in (loader.sampler, loader.batch_sampler))
    return next((ranks for ranks in found if isinstance(ranks, int) and ranks > 0), 1)


def usual_size(loader: Any) -> int | None:
    """The batch size that a loader or its batch sampler states, else that of most of its batches; None if it yields no indices."""
    stated = (getattr(part, "batch_size", None) for part in (loader, loader.batch_sampler))
    size = next((size for size in stated if isinstance(size, int) and size > 0), None)
    if size is not None:
        return size
    try:
        present = batches_of(loader, FIRST)
    except Exception:  # the user's sampler may raise anything, which is told where it is drawn
        return None
    return Counter(map(len, present)).most_common(1)[0][0] if present else None


def batches_of(loader: Any, most: int = MOST) -> list[list[int]] | None:
    """An epoch of batches of the user's own sampler, the first of one that does not end; None if it yields no indices."""
    if loader.batch_sampler is None:
        return None
    first = [list(b) for b in itertools.islice(loader.batch_sampler, most)]
    return first if all(isinstance(i, int) for b in first[:4] for i in b) else None


def _nested(loader: Any) -> int:
    """How many indices an item of the sampler holds that a batch sampler makes batches of; 0 if it yields indices."""
    if loader.batch_sampler is None or loader.batch_size is None:
        return 0  # each item is a batch, and is meant to be one
    items = list(itertools.islice(loader.sampler, 1))
    return len(items[0]) if items and isinstance(items[0], list) and all(isinstance(i, int) for i in items[0]) else 0


def _weights(loader: Any, samples: int) -> Any:
    """The weights by which samples are drawn, float64; None if they are of something else, such as classes."""
    import numpy as np
    from torch.utils.data import WeightedRandomSampler

    given = getattr(loader.sampler, "weights", None)
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return None
    of_samples = weights.ndim == 1 and (len(weights) == samples or isinstance(loader.sampler, WeightedRandomSampler))
    return weights if of_samples else None


def _weighed(bench: Bench, weights: Any, labels: Any) -> dict[str, Any]:
    import numpy as np

    value: dict[str, Any] = {
        "zero": int((weights == 0).sum()),
        "weights": len(weights),
        "classes": [],
        "misplaced": False,
    }
    if labels is not None and len(labels) == len(weights):
        value["misplaced"] = misplaced(weights, labels)
        there, drawn = (set(np.unique(labels[mask]).tolist()) for mask in (weights >= 0, weights > 0))
        value["classes"] = [bench.class_names[code] for code in sorted(there - drawn)]
    return value


def misplaced(weights: Any, labels: Any) -> bool:
    """Whether there are as many samples of each weight as of each class, and yet samples of one class have several weights."""
    import numpy as np

    _, of_weight, alike = np.unique(weights, return_inverse=True, return_counts=True)
    _, of_class, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2 or sorted(alike.tolist()) != sorted(counts.tolist()):
        return False
    return len(np.unique(of_weight.astype(np.int64) * len(counts) + of_class)) > len(counts)
