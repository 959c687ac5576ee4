"""Where something was met: the first samples of each kind, the same whatever the order of blocks that are merged."""

from __future__ import annotations

from collections.abc import Hashable

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block


class Places:
    """At most ``MAX_PLACES`` places of each kind."""

    def __init__(self) -> None:
        self.found: dict[Hashable, list[dict[str, Json]]] = {}

    def add(self, kind: Hashable, block: Block, i: int, field: str) -> None:
        places = self.found.setdefault(kind, [])
        if len(places) < MAX_PLACES:
            places.append({"sample": block.index(i), "file": block.unit.file or None, "field": field})

    def merge(self, other: Places) -> None:
        for kind, places in other.found.items():
            both = self.found.get(kind, []) + places
            self.found[kind] = sorted(both, key=lambda p: int(str(p["sample"])))[:MAX_PLACES]

    def of(self, kind: Hashable) -> list[dict[str, Json]]:
        return self.found.get(kind, [])
