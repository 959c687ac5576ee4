"""What an epoch holds: what repeats, what is never seen, the classes of a batch, what padding costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.facts import Json, Quantity

DRAWN = Quantity("drawn_epoch", "", "the contents of one epoch drawn by a strategy")
MOST = 2_000_000
"""The most samples of an epoch that is drawn."""
LEAST_EVEN = 2
"""Samples of each of its classes that a batch holds at least if it was made of as many of each: of one each, chance makes them too."""
OF_SAMPLES = (
    "rarest_mean_repeats",
    "classes_per_batch",
    "batches_missing_class",
    "even",
    "padding_before",
    "padding_after",
    "classes",
)
"""What labels and lengths tell of an epoch."""


def describe(
    batches: Iterator[list[int]],
    labels: Any,
    lengths: Any,
    n: int,
    classes: int = 0,
    sets: Any = None,
    labelled: Any = None,
) -> dict[str, Json]:
    """The simulation fields of the result, from an epoch's batches; ``classes``: their total number, drawn or not; ``sets``: the
    labels of samples that have several, of which ``labels`` are the rarest; ``labelled``: which samples have a label, None: all."""
    import numpy as np

    if sets is None:

        def of(drawn: Any) -> Any:
            return labels[drawn] if labelled is None else labels[drawn][labelled[drawn]]
    else:
        sizes, codes, *_ = sets
        starts = np.cumsum(sizes) - sizes

        def of(drawn: Any) -> Any:
            """The labels of these samples, one after another."""
            held = sizes[drawn]
            first = np.repeat(starts[drawn] - (np.cumsum(held) - held), held)
            return codes[first + np.arange(len(first))]

    kept = [np.asarray(b) for b in batches]
    drawn = np.concatenate(kept) if kept else np.zeros(0, int)
    times = np.bincount(drawn, minlength=n)
    out: dict[str, Json] = {
        "epoch_samples": len(drawn),
        "unique_fraction": float((times > 0).sum() / n) if n else 0.0,
        "max_repeats": int(times.max(initial=0)),
        "rarest_mean_repeats": None,
        "classes_per_batch": None,
        "batches_missing_class": None,
        "even": None,
        "padding_before": None,
        "padding_after": None,
        "classes": None,
    }
    if labels is not None and len(kept) and (labelled is None or labelled.any()):
        counts = np.bincount(labels if labelled is None else labels[labelled], minlength=int(labels.max()) + 1)
        present = counts > 0
        rarest = counts[labels] == counts[present].min()  # of all classes that are as rare
        out["rarest_mean_repeats"] = float(times[rarest].mean())
        each = [np.unique(of(b), return_counts=True)[1] for b in kept]
        seen = [len(c) for c in each]
        out["even"] = float(np.mean([len(c) > 1 and c.min() == c.max() >= LEAST_EVEN for c in each]))
        existing = present.sum() if sets is None else len(np.unique(sets[1]))
        out["classes_per_batch"] = float(np.mean(seen))
        out["batches_missing_class"] = float(np.mean(np.array(seen) < existing))
        most = len(counts) if sets is None else len(sets[2])
        out["classes"] = np.bincount(of(drawn), minlength=max(classes, most)).tolist()
    if lengths is not None and len(kept):
        order = np.random.default_rng(0).permutation(n)
        size = max(1, round(len(drawn) / len(kept)))
        out["padding_before"] = padding([order[i : i + size] for i in range(0, n, size)], lengths)
        out["padding_after"] = padding(kept, lengths)
    return out


def labelled_of(bench: Any) -> Any:
    """Which samples have a label, bool [samples]."""
    import numpy as np

    if bench.classes is None:
        return np.ones(len(bench.labels), bool)
    known = set(bench.classes)
    return np.array([name in known for name in bench.class_names], bool)[bench.labels]


def among(batches: list[list[int]], rows: Any) -> Iterator[list[int]]:
    """The batches with those samples alone whose indices are ``rows``, in order: as places in these."""
    import numpy as np

    for batch in batches:
        drawn = np.asarray(batch)
        places = np.minimum(np.searchsorted(rows, drawn), len(rows) - 1)
        kept = places[rows[places] == drawn]
        if len(kept):
            yield kept.tolist()


def padding(batches: list[Any], lengths: Any) -> float:
    """The share of a padded batch that is padding, over all batches."""
    total = sum(int(lengths[b].max()) * len(b) for b in batches if len(b))
    real = sum(int(lengths[b].sum()) for b in batches if len(b))
    return 1 - real / total if total else 0.0
