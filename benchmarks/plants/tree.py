# mypy: ignore-errors
"""What a kind of defect gets, a data set to change, and what it returns: what must be found."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow")


@dataclass(frozen=True)
class Expected:
    codes: tuple[str, ...]
    severity: str
    places: tuple[tuple[str, ...], ...] = ((),)
    arguments: dict = field(default_factory=dict)


Plant = Callable[["Tree"], Expected]
PLANTS: dict[tuple[str, str], Plant] = {}
"""By format and name."""


@dataclass
class Tree:
    """A sound data set in ``root``; ``rows``, where it is a table that is written at the end."""

    format: str
    root: Path
    rng: random.Random
    outside: Path
    """A folder that the server may not read."""
    rows: list[dict] = field(default_factory=list)
    written: bool = False

    def files(self, pattern: str = "*") -> list[Path]:
        return sorted(p for p in self.root.rglob(pattern) if p.is_file())

    def some(self, n: int = 3, pattern: str = "*") -> list[Path]:
        return sorted(self.rng.sample(self.files(pattern), n))

    def at(self, *paths: Path) -> tuple[tuple[str, ...], ...]:
        return tuple((str(p.relative_to(self.root)),) for p in paths)

    def picked(self, n: int = 3) -> list[int]:
        """Numbers of rows that are no neighbours."""
        return sorted(self.rng.sample(range(0, len(self.rows), 2), n))

    def rows_at(self, numbers: list[int]) -> tuple[tuple[str, ...], ...]:
        return tuple((self.table.name, str(n)) for n in numbers)

    @property
    def table(self) -> Path:
        return self.root / f"t.{self.format}"


def plant(*formats: str) -> Callable[[Plant], Plant]:
    def keep(function: Plant) -> Plant:
        for one in formats:
            PLANTS[one, function.__name__] = function
        return function

    return keep
