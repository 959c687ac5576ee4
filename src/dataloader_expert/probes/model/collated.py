"""What a collate function of the user's loses: the ends of long samples, and whose nodes an edge joins. Samples are collated alone and
together, and compared with what comes out."""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any

from dataloader_expert.facts import Json, Quantity
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.growth import FEW
from dataloader_expert.probes.serving import Serving

COLLATED = Quantity(
    "collated",
    "",
    "what a collate function of the user's loses: the fields that it cuts, edges without the offsets of their nodes",
)
MOST, SECONDS = 32, 1.0
"""Samples that are looked at, at most, and for how long."""
LEAST = 4
"""So many equal values at the beginning are no chance."""
ENDS = (2, 3)
"""Nodes that an edge joins, or a face."""


def lost(served: Serving, indices: Sequence[int]) -> dict[str, Json]:
    """``cut``: fields, to how much, the longest, and how many of the samples looked at; ``edges``: fields, with their places and nodes."""
    until = time.monotonic() + SECONDS
    cut: dict[str, dict[str, Any]] = {}
    alone: list[tuple[Any, dict[str, Any]]] = []
    for i in indices[:MOST]:
        sample = served.dataset[i]
        batch = dict(flat(served.collate([copy.deepcopy(sample)]), n=1))  # it may change its samples
        alone.append((sample, batch))
        for name, x in flat(sample):
            if (n := kept(x, batch.values())) is None:
                continue
            seen = cut.setdefault(name, {"field": name, "to": n, "longest": 0, "samples": []})
            seen["to"] = n if seen["to"] == n else 0  # a limit cuts all of them to one length
            seen["samples"].append(i)
            seen["longest"] = max(seen["longest"], len(x))
        if time.monotonic() > until:
            break
    tried = alone[:FEW]
    together = dict(flat(served.collate([copy.deepcopy(s) for s, _ in tried]), n=len(tried)))
    edges = without_offsets(together, [b for _, b in tried])
    return {"looked": len(alone), "cut": [seen for seen in cut.values() if seen["to"]], "edges": edges}


def kept(x: Any, leaves: Any) -> int | None:
    """How much of a sample's field is in a batch of it alone, at its beginning or end; None: all of it or all but one, or it is not there as it was."""
    if not hasattr(x, "shape") or not x.shape or len(x) <= LEAST:
        return None
    most = None
    for y in leaves:
        if not hasattr(y, "shape") or not y.shape:
            continue
        y = y[0] if y.ndim == x.ndim + 1 and len(y) == 1 else y
        if y.ndim != x.ndim or y.shape[1:] != x.shape[1:]:
            continue
        n = min(len(x), len(y))
        if n >= LEAST and any(_alike(x[part], y[:n]) for part in (slice(n), slice(len(x) - n, None))):
            most = max(most or 0, n)
    return most if most is not None and most < len(x) - 1 else None  # the next token is one further


def _alike(a: Any, b: Any) -> bool:
    import numpy as np

    a, b = (np.asarray(v) for v in (a, b))
    varied = a.size and not bool((a == a.flat[0]).all())  # what is alike throughout is like much else
    return bool(varied and a.shape == b.shape and (a == b).all())


def without_offsets(together: dict[str, Any], alone: list[dict[str, Any]]) -> list[Json]:
    """The fields whose values are places among the nodes of their own sample still, where nodes are put one after another."""
    import torch

    found: list[Json] = []
    for name, whole in together.items():
        parts: list[Any] = [b.get(name) for b in alone]
        if len(parts) < 2 or not all(isinstance(v, torch.Tensor) for v in (whole, *parts)):
            continue
        axis = next((i for i in (0, 1) if whole.ndim == 2 and whole.shape[1 - i] in ENDS), None)
        if axis is None or whole.is_floating_point() or whole.is_complex() or not all(v.numel() for v in parts):
            continue
        joined = all(v.ndim == 2 and v.shape[1 - axis] == whole.shape[1 - axis] for v in parts)
        if not joined or not _equal(torch.cat(parts, axis), whole):
            continue
        counts = [v.shape[axis] for v in parts]
        if any(isinstance(v, torch.Tensor) and v.tolist() == counts for v in together.values()):
            continue  # with them a model can tell whose they are
        places = [int(v.max()) + 1 for v in parts]
        nodes = _nodes(together, alone, places)
        if nodes and min(int(v.min()) for v in parts) >= 0:
            found.append({"field": name, "places": max(places), "nodes": nodes})
    return found


def _nodes(together: dict[str, Any], alone: list[dict[str, Any]], places: list[int]) -> int | None:
    """The rows of floats that are put one after another, of which there are as many of each sample as it has places."""
    for name, whole in together.items():
        parts: list[Any] = [b.get(name) for b in alone]
        if not all(hasattr(v, "is_floating_point") and v.ndim for v in (whole, *parts)):
            continue
        rows = [len(v) for v in parts]
        if rows == places and len(set(rows)) > 1 and len(whole) == sum(rows):
            return len(whole)
    return None


def _equal(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a == b).all())
