"""Labels on the bench as the data set has them: its own order of classes, the labels that it keeps of all samples, the rarest of several."""

from __future__ import annotations

import time
from typing import Any

from dataloader_expert.checks.labels.classes import CLASS_LIMIT
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, evidence
from dataloader_expert.probes.batch_parts import flat

KEPT_LABELS = Quantity(
    "kept_labels",
    "",
    "the attribute in which the dataset keeps the label of each sample, and how many there are of each",
)


def as_the_dataset_has_them(bench: Bench) -> None:
    """Numbers the classes on the bench as the loaded data set does, in its own order rather than that of first
    occurrence.

    A sampler draws by codes in sorted order: only then is an epoch drawn here the same as that of the printed code.
    """
    import numpy as np

    if bench.labels is None or bench.classes is None:
        return
    place = {name: i for i, name in enumerate(bench.classes)}
    order = sorted(range(len(bench.class_names)), key=lambda code: place.get(bench.class_names[code], -1))
    rank = np.argsort(np.array(order, np.int64)).astype(np.int32)
    bench.labels, bench.class_names = rank[bench.labels], [bench.class_names[code] for code in order]


KEEPS = ("targets", "labels")
"""Attributes in which data sets keep the label of each sample, as torchvision's do."""
COMPARED, LEAST_COMPARED, COMPARED_S = 8, 3, 2.0
"""Samples whose own labels must be those that the attribute says, the least of these, and the seconds for reading them."""


def kept_labels(bench: Bench) -> Fact | None:
    """The labels that the data set keeps of all samples, on the bench in place of those that were read; None: it keeps none, or samples
    say otherwise. Reading each sample for its label takes as long as an epoch."""
    import numpy as np

    dataset: Any = getattr(bench.source, "dataset", None)
    name = bench.source.label
    if bench.source.format != "reference" or bench.source.iterable or name is None or bench.labels is None:
        return None
    n = len(dataset)
    if bench.train is not None or any(
        v is not None and len(v) != n for v in (bench.lengths, bench.groups, bench.difficulty)
    ):
        return None  # these are of the samples that were read
    for attribute in KEEPS:
        values = getattr(dataset, attribute, None)
        try:
            labels = np.asarray(values)
        except Exception:  # an object of the user's, whose conversion may raise anything: it is no list of labels
            continue
        if labels.shape != (n,) or labels.dtype.kind not in "iubU":
            continue
        if not _as_samples_say(dataset, name, labels, bench.seed, min(COMPARED_S, 0.2 * bench.left())):
            return None
        distinct, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if not 1 < len(distinct) <= CLASS_LIMIT:
            return None
        bench.labels, bench.class_names = codes.astype(np.int32), _names_of(distinct.tolist(), bench.classes or ())
        bench.classes = tuple(bench.class_names)  # also those of which no sample was read
        value = {"attribute": attribute, "counts": dict(zip(bench.class_names, counts.tolist(), strict=True))}
        return Fact(KEPT_LABELS, value, evidence("counted", "draws", seen=n, population=n))
    return None


def _names_of(labels: list[Any], classes: tuple[str, ...]) -> list[str]:
    """The names of labels in order, of numbers those of the classes that they stand for."""
    of_number = {} if {str(v) for v in labels} & set(classes) else dict(enumerate(classes))
    return [of_number.get(v, str(v)) if isinstance(v, int) else str(v) for v in labels]


def _as_samples_say(dataset: Any, name: str, labels: Any, seed: int, seconds: float) -> bool:
    """Whether a few samples, of as many classes as can be, have these labels."""
    import numpy as np

    until, compared = time.monotonic() + seconds, 0
    mixed = np.random.default_rng(seed).permutation(len(labels))
    of_each = mixed[np.unique(labels[mixed], return_index=True)[1]]
    for i in dict.fromkeys([*of_each[:COMPARED].tolist(), *mixed[:COMPARED].tolist()]):
        try:
            own: Any = dict(flat(dataset[i])).get(name)
            if str(own.item() if hasattr(own, "item") else own) != str(labels[i].item()):
                return False
        except Exception:  # the user's code may raise anything; what cannot be compared is not relied on
            return False
        compared += 1
        if time.monotonic() > until:
            break
    return compared >= LEAST_COMPARED


def by_rarest_label(bench: Bench) -> None:
    """Counts each sample of several labels under its rarest one, and those without any under one of their own."""
    import numpy as np

    sizes, codes, names, called = bench.label_sets
    counts = np.bincount(codes, minlength=len(names))
    order = sorted(range(len(names)), key=lambda code: (counts[code], names[code]))
    rank = np.argsort(np.array(order, np.int64))
    starts = np.cumsum(sizes) - sizes
    rarest = np.full(len(sizes), len(names), np.int64)
    some = sizes > 0
    if some.any():
        rarest[some] = np.minimum.reduceat(rank[codes], starts[some])
    bench.labels, bench.class_names = rarest, called
