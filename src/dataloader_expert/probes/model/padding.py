"""Whether padding changes what a model gives, though it would take a mask: shown by a sample alone and the same one padded.

Of a padded batch whose lengths are known, a few short samples are cut to their lengths and run alone. Where their outputs differ
from those in the batch, and the model has an argument for a mask or for lengths that the batch lacks, it is run with that
argument made from the lengths.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.model.calling import Ran, cut, is_finite, ran
from dataloader_expert.probes.model.mends import Misfit, is_fake
from dataloader_expert.probes.model.ways import Way, parameters

OF_PADDING = re.compile(r"(?:^|_)pad(?:ding)?(?:_|$)")
OF_LENGTHS = re.compile(r"(?:^|_)(?:len|length)s$")
OF_NO_TOKENS = re.compile(r"head|causal|label|loss|src_mask|tgt_mask|memory_mask|pixel|bool_masked|special")
"""Masks of something else than of padding."""
BY_CONVENTION = ("attention_mask", "input_mask")
"""Names that by convention hold 1 for each real token."""
DIFFERS = 0.01
"""The share of an output's largest value by which it changes at least where padding matters; rounding stays far below."""
HEALS = 0.1
"""The share of the difference that is left at most where a mask of unknown meaning is the right one."""
TRIED = 3


@dataclass(frozen=True)
class Padded:
    """A field [B, L, …] of the batch, and each sample's length in it; ``source``: the expression of these."""

    field: str
    lengths: Any
    source: str
    share: float
    length: int = 0
    """To which all are padded, if that is more than the longest."""


def padded(way: Way, batch: Any) -> Padded | None:
    """The first padded field that the model is given, if its lengths are in the batch."""
    if not isinstance(batch, Mapping):
        return None
    for name in way.names:
        x: Any = batch.get(name)
        for other in (f"{name}_lengths", "lengths", "length"):
            n: Any = batch.get(other)
            if not all(hasattr(t, "shape") and not is_fake(t) for t in (x, n)) or x.ndim < 2 or n.shape != x.shape[:1]:
                continue
            least, most = int(n.min()), int(n.max())
            if not n.is_floating_point() and 1 <= least < most == x.shape[1]:
                return Padded(name, n, f"batch[{other!r}]", 1 - float(n.float().mean()) / most)
    return None


def unmasked(model: Any, way: Way, batch: Any) -> tuple[Way, Misfit] | None:
    """The way with the mask that the batch lacks, where padding changes what the model gives without it."""
    found = padded(way, batch)
    if found is None:
        return None
    given = {p for p, _ in way.arguments}
    lacks = [p for p in parameters(model)[1] if p not in given and p not in batch and _expressions(p, found)]
    rows = found.lengths.argsort()[:TRIED].tolist() if lacks else []
    before = difference(model, way, batch, found, rows)
    if before is None or before <= DIFFERS:
        return None
    for name in lacks:
        for expression, known in _expressions(name, found):
            other = replace(
                way, arguments=(*way.arguments, (name, expression)), names=(*way.names, f"{found.field}_lengths")
            )
            after = difference(model, way, batch, found, rows, other)
            if after is None or (after > HEALS * before if not known else after == before):
                continue
            field = escaped(found.field)
            says = f"the model takes it, the batch lacks it: {found.share:.0%} of {field} is padding, which changes what a sample gives"
            if after > DIFFERS:
                says += "; even with it padding counts, as in a mean over all positions"
            return other, Misfit("key-missing", name, says, runs=True)
    return None


def _expressions(name: str, found: Padded) -> Iterator[tuple[str, bool]]:
    """What the argument of this name may be made as, and whether its name says so by convention."""
    x = f"batch[{found.field!r}]"
    real = f"(torch.arange({x}.shape[1], device={x}.device) < {found.source}[:, None])"
    if OF_LENGTHS.search(name):
        yield found.source, True
    elif OF_NO_TOKENS.search(name) or not re.search(r"masks?$", name):
        return
    elif OF_PADDING.search(name):
        yield f"~{real}", True
    elif name in BY_CONVENTION:
        yield f"{real}.long()", True
    else:
        yield from ((made, False) for made in (real, f"{real}.long()", f"~{real}"))


def difference(
    model: Any, way: Way, batch: Any, found: Padded, rows: list[int], masked: Way | None = None
) -> float | None:
    """The largest difference between these samples alone, called as ``way``, and in the batch, called as ``masked``, as a share
    of the output's largest value; None if a call fails or the two cannot be compared, as where a sample depends on those beside it."""
    import torch

    whole = ran(model, masked or way, batch)
    size = len(found.lengths)
    most = None
    for row in rows[:1]:  # with its padding, it gives the same alone
        if of_others := _differs(ran(model, masked or way, cut(batch, torch.tensor([row]), size)), whole, row, size):
            if of_others > DIFFERS:
                return None
    for row in rows:
        n = int(found.lengths[row])
        if n == (found.length or int(found.lengths.max())):
            continue
        one = ran(model, way, _alone(batch, row, n, size, found.length or int(found.lengths.max())))
        if whole.error is not None or one.error is not None:
            return None
        here = _differs(one, whole, row, size, n)
        if here is None:
            continue
        if math.isnan(here):
            return None
        most = max(most or 0.0, here)
    return most


def _differs(one: Ran, whole: Ran, row: int, size: int, n: int | None = None) -> float | None:
    """The largest difference of a sample's output alone and in the batch of so many, as a share of its largest value: of the first ``n``
    places, if it has so many alone. None: there is none of each sample; NaN: they cannot be compared."""
    most = None
    for (_, alone), (_, all_) in zip(flat(one.out), flat(whole.out), strict=False):
        if not all(hasattr(v, "shape") and v.ndim for v in (alone, all_)) or not alone.is_floating_point():
            continue  # a loss is one of all samples
        if len(all_) != size or len(alone) != 1:
            continue
        a, b = alone[0], all_[row]
        if a.ndim and b.ndim and a.shape[0] == n and b.shape[0] > n:
            b = b[:n]
        if a.shape != b.shape or not a.numel() or not is_finite(b):
            return math.nan
        most = max(most or 0.0, float((a - b).abs().max()) / max(float(a.abs().max()), 1e-6))
    return most


def _alone(batch: Any, row: int, n: int, size: int, length: int) -> Any:
    """The sample alone, and what is as long as the padded field cut to its own length."""
    import torch

    def shortened(value: Any) -> Any:
        if hasattr(value, "ndim"):
            return value[:, :n] if value.ndim > 1 and value.shape[1] == length else value
        if isinstance(value, Mapping):
            return {k: shortened(v) for k, v in value.items()}
        return type(value)(map(shortened, value)) if type(value) in (list, tuple) else value

    return shortened(cut(batch, torch.tensor([row]), size))
