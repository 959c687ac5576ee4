"""Small tables in files, for tests of how they are read."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

WORDS = [
    "the",
    "a",
    "man",
    "woman",
    "dog",
    "runs",
    "plays",
    "near",
    "house",
    "tree",
    "river",
    "mountain",
    "quickly",
    "slowly",
    "red",
    "blue",
    "big",
    "small",
]


def put(file: Path, header: list[str] | None, rows: list[list[Any]], mark: str = ",") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        csv.writer(out, delimiter=mark).writerows([*([header] if header else []), *rows])


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def said(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, 9))
