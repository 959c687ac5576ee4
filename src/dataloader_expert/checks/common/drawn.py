"""A sample of rows that does not depend on the order of blocks: the rows whose indices have the smallest hashes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.sources.base import Block

SPARE, SCARCELY = 2, 1.1
"""How many times as many rows as are kept are drawn at first, of a known number: of some, nothing can be kept; and where of hardly any."""


class Drawn:
    """At most ``most`` rows, with the data kept for each: arrays by name, first axis the rows.

    ``of_all``: whether all samples are offered to it, and not those of a split alone. ``spare``: how many times as many are drawn at first.
    """

    def __init__(self, most: int, of_all: bool = True, spare: float = SPARE) -> None:
        self.most, self.of_all, self.at_first = most, of_all, int(spare * most)
        self.parts: list[tuple[Any, dict[str, Any]]] = []
        """Hashes of rows, and the data kept for them."""
        self.held = 0
        self.limit: int | None = None
        """Rows with a larger hash are not kept."""

    def rows(self, block: Block) -> Any:
        """The rows of a block that may be kept."""
        import numpy as np

        limit = self.limit
        if self.of_all and limit is None and block.population > self.at_first:
            limit = (self.at_first << 64) // block.population

        def drawn() -> Any:
            hashes = block.once("row hashes", None, lambda: self._hashes(block, np.arange(block.samples)))
            rows = np.arange(len(hashes)) if limit is None else np.flatnonzero(hashes <= np.uint64(limit))
            if len(rows) > self.most:  # of a large block, too, no more are kept in the end
                rows = np.sort(rows[np.argpartition(hashes[rows], self.most - 1)[: self.most]])
            return rows

        return block.once(("drawn", self.most, limit), None, drawn)

    def keep(self, block: Block, rows: Any, values: dict[str, Any]) -> None:
        self.parts.append((block.once("hashes", rows, lambda: self._hashes(block, rows)), values))
        self.held += len(rows)
        if self.held > 2 * self.most:
            self._prune()

    def merge(self, other: Drawn) -> None:
        self.parts += other.parts
        self.held += other.held

    def all(self) -> tuple[Any, dict[str, Any]]:
        """Hashes of the kept rows, and their data. There must be at least one."""
        self._prune()
        return self.parts[0]

    def _hashes(self, block: Block, rows: Any) -> Any:
        import numpy as np

        return mix(block.indices(rows).astype(np.uint64) + np.uint64(0x9E37))  # by what a row is, not how it was taken

    def _prune(self) -> None:
        import numpy as np

        hashes = np.concatenate([h for h, _ in self.parts])
        order = np.argsort(hashes, kind="stable")[: self.most]
        kept = {name: _together([v[name] for _, v in self.parts])[order] for name in self.parts[0][1]}
        self.parts, self.held = [(hashes[order], kept)], len(order)
        if len(order) == self.most:
            self.limit = int(hashes[order[-1]])


def _together(parts: list[Any]) -> Any:
    """One array: digests if some units have numbers and others digests of texts; NaN for rows of another width than most."""
    import numpy as np

    if parts[0].ndim == 2:
        widths: Counter[int] = Counter()
        for p in parts:
            widths[p.shape[1]] += len(p)
        width = widths.most_common(1)[0][0]
        parts = [p if p.shape[1] == width else np.full((len(p), width), np.nan, np.float32) for p in parts]
    elif len({p.dtype.kind for p in parts}) > 1:
        parts = [p if p.dtype.kind == "u" else mix(p.view(np.uint64)) for p in parts]
    return np.concatenate(parts)
