"""A source of which no file can be read: there is nothing in it but what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.files import Listing


class Damaged(Source):
    """Its problems are all that a check of quality has to tell."""

    format = "unknown"
    kinds = frozenset()
    units = ()
    modality = "unknown"
    sharding = "none"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        return damaged(listing.problems, "")

    def read(self, unit: Unit) -> Any:
        raise NotImplementedError  # never called: there is no unit

    def decode(self, unit: Unit, raw: Any) -> Block:
        raise NotImplementedError  # never called: nothing is read


def damaged(problems: Sequence[Unreadable], format: str) -> Source:
    """The source whose files have these problems, in the format that they should have; empty if that is not known."""
    kind = type("Damaged", (Damaged,), {"format": format}) if format else Damaged
    source: Source = kind()
    source.problems = list(problems)
    source.files = len({str(p.where.get("file")) for p in problems})
    return source
