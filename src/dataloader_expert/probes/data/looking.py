"""How checks look at the samples of a source: which units one process looks at first, and blocks that all checks see in turn."""

from __future__ import annotations

import contextlib
import ctypes
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.features import with_features
from dataloader_expert.checks.files.integrity import Integrity
from dataloader_expert.errors import Unreadable
from dataloader_expert.probes.data.gathering import apart, together
from dataloader_expert.sources.base import Block, Source

LEAD, LEAD_BYTES = 16, 8 << 20
"""Units, and bytes of them on disk, that one process looks at to see what the rest costs. A unit beyond that is work enough
for several processes."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Parameters of ``mallopt``, as ``malloc.h`` numbers them."""
LARGEST, SPARE = 4 << 20, 32 << 20
"""Bytes of values that the C library keeps the pages of, and those that it keeps at most while nothing uses them."""
ROLES_FROM = 16
"""Samples from which roles are found where each is read apart."""


def leading(sizes: list[int]) -> int:
    """How many of the first units one process looks at by itself, by their bytes on disk."""
    held = 0
    for count, size in enumerate(sizes):
        held += size
        if held > LEAD_BYTES and len(sizes) > 1:
            return count
    return len(sizes)


def keep_pages() -> None:
    """Takes Arrow's memory from the C library, which keeps the pages of one unit for the next; Arrow's own pool gives them back
    and gets each anew, zeroed: a quarter of the time of a large table. The C library is told to keep those of arrays, too."""
    for what, size in ((MMAP_THRESHOLD, LARGEST), (TRIM_THRESHOLD, SPARE)):
        with contextlib.suppress(AttributeError, OSError):  # of the GNU C library alone
            ctypes.CDLL(None).mallopt(what, size)
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.set_memory_pool(arrow.system_memory_pool())


def look(
    source: Source,
    hand: list[int],
    checks: dict[str, Check],
    at: Callable[[int], None],
    until: float | None,
    alone: bool = False,
    population: int = 0,
) -> None:
    """Reads, decodes and checks units, ``alone`` each by itself; those that cannot be read are recorded and skipped. ``population``: as of
    :class:`Block`."""
    integrity = checks["integrity"]
    assert isinstance(integrity, Integrity)
    blocks = _decoded(source, hand, integrity, at, until)
    watch(blocks if alone else together(blocks), active(checks), population)


def active(checks: Mapping[str, Check]) -> list[Check]:
    """Those whose data have what they look at."""
    return [check for check in checks.values() if check.applies()]


def watch(blocks: Iterable[Block], checks: Sequence[Check], population: int = 0) -> None:
    """Has checks look at blocks."""
    for block in blocks:
        block.population = population
        for check in checks:
            check.watch(block)


def _decoded(
    source: Source, hand: list[int], integrity: Integrity, at: Callable[[int], None], until: float | None
) -> Iterator[Block]:
    for count, i in enumerate(hand):
        if until is not None and count and time.monotonic() > until:
            return
        at(i)
        unit = source.units[i]
        try:
            block = source.decode(unit, source.read(unit))
        except Unreadable as problem:
            integrity.fail(unit, problem)
            continue
        for part in apart(source.without_lacking(block)):
            yield part
            if until is not None and time.monotonic() > until:
                return


def first_blocks(source: Source) -> list[Block]:
    """The first block that can be read; where a sample is a unit and holds several fields, some more."""
    scalars = any(not f.shape and f.name != source.label and f.kind != "image" for f in source.fields)
    most = ROLES_FROM if source.roles is None and scalars else 1
    blocks: list[Block] = []
    for unit in list(source.units[: most + 3]):
        with contextlib.suppress(Unreadable):  # the scan names it
            blocks.append(source.peek(unit))
        if sum(b.samples for b in blocks) >= most:
            break
    return blocks


def pivots_of(block: Block, context: Context) -> tuple[dict[str, float], dict[str, int]]:
    return pivots_from(with_features(block, context.with_features().features))


def pivots_from(block: Block) -> tuple[dict[str, float], dict[str, int]]:
    """The median of each field of numbers, from some of its values; and how many leading digits the middle half of these have in
    common, where there are any."""
    import numpy as np

    found: dict[str, float] = {}
    offsets: dict[str, int] = {}
    for name, column in block.columns.items():
        values = column.values
        if not isinstance(values, np.ndarray):
            arrays = [v.reshape(-1)[:1024] for v in values[:64] if isinstance(v, np.ndarray) and v.dtype.kind in "iuf"]
            values = np.concatenate(arrays) if arrays else None
        if values is None or values.dtype.kind not in "iuf" or values.dtype == np.uint8:
            continue
        flat = values.reshape(-1)[:1024].astype(np.float64)
        flat = flat[np.isfinite(flat)]
        if flat.size:
            low, middle, high = np.quantile(flat, (0.25, 0.5, 0.75)).tolist()
            found[name] = middle
            alike = math.floor(math.log10(2 * abs(middle) / (high - low))) if middle and high > low else 0
            offsets |= {name: alike} if alike > 0 else {}
    return found, offsets
