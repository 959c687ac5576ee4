"""The id with which sequences of ids are padded: what samples end with, else what the model's tables leave out."""

from __future__ import annotations

from typing import Any

from dataloader_expert.probes.model.unsigned import countable

LEAST_RUN = 3
"""Equal values at the end of a sample that are padding at least."""


def padding_id(model: Any, x: Any) -> int | None:
    """The id that pads ``x``; None if ``x`` holds no sequences of ids, or nothing tells."""
    from torch import nn

    if not hasattr(x, "ndim") or x.ndim != 2 or x.is_floating_point() or x.is_complex() or not x.numel():
        return None
    x = countable(x)
    if type(x).__name__ != "FakeTensor" and ends(x) is not None:
        return int(x[:, -1].mode().values)
    tables = [m for m in model.modules() if isinstance(m, nn.Embedding)] if hasattr(model, "modules") else []
    left_out = {m.padding_idx for m in tables if m.padding_idx is not None}
    return left_out.pop() if len(left_out) == 1 else None


def ends(x: Any) -> Any:
    """Where each sample's run of the last value ends that stands nowhere else; None: the samples do not end so."""
    import torch

    pad = x[:, -1].mode().values
    real = torch.arange(1, x.shape[1] + 1) * (x != pad)
    lengths = real.amax(1)
    inside = torch.arange(x.shape[1]) < lengths[:, None]
    runs = x.shape[1] - lengths
    if (
        bool((x[inside] == pad).any())
        or int(runs.max()) < LEAST_RUN
        or len(runs.unique()) < 2
        or int(lengths.min()) < 1
    ):
        return None
    return lengths
