"""Samples that lack a field."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.sources.base import Block


class Lacking:
    """How many samples lack a field, and their first units, by field and split."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()
        self.units: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
        self.beyond: Counter[tuple[str, str | None]] = Counter()
        """Further units."""

    def note(self, name: str, block: Block) -> None:
        self.samples[name] += block.samples
        for unit in block.unit.members or (block.unit,):
            kept = self.units.setdefault((name, unit.split), [])
            if unit.samples > 1 and any(one["file"] == unit.file for one in kept):
                continue  # one file is one place
            if len(kept) < MAX_PLACES:
                sample = unit.start if unit.samples == 1 else None
                kept.append({"file": unit.file, "sample": sample, "split": unit.split, "key": unit.key})
            else:
                self.beyond[name, unit.split] += 1

    def merge(self, other: Lacking) -> None:
        self.samples += other.samples
        self.beyond += other.beyond
        for name, units in other.units.items():
            both = self.units.get(name, []) + units
            both.sort(key=lambda u: (-1 if u["sample"] is None else u["sample"], u["file"]))
            self.units[name] = both[:MAX_PLACES]
            self.beyond[name] += max(0, len(both) - MAX_PLACES)
