"""Python references in a project, ``path.py:name`` below a root, found by syntax: nothing is run."""

from __future__ import annotations

import ast
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from dataloader_expert.prompts.context import DATASETS, MOST_BYTES, MOST_FILES, MOST_S, files_below, last_name

Kind = Literal["dataset", "loader", "model", "transform"]
MAKERS: dict[Kind, tuple[str, ...]] = {
    "dataset": ("dataset",),
    "loader": ("loader",),
    "model": ("model", "net"),
    "transform": ("transform", "augment", "preprocess"),
}
"""Words in the names of functions that return, or are, one."""


def references(roots: Sequence[str], kinds: Sequence[Kind]) -> list[str]:
    """References of these kinds, relative to their root, in file order."""
    until = time.monotonic() + MOST_S
    found: list[str] = []
    read = 0
    for root in roots:
        for path in files_below(Path(root)):
            if time.monotonic() > until or read >= MOST_FILES:
                return found
            if path.suffix == ".py" and path != Path(root):
                read += 1
                name = path.relative_to(root).as_posix()
                found += [f"{name}:{what}" for kind, what in _defined(path) if kind in kinds and name.isprintable()]
    return found


def _defined(path: Path) -> Iterator[tuple[Kind, str]]:
    """Kind and name of top-level definitions in a file; none if it cannot be parsed."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in the user's code
            body = ast.parse(path.read_text(encoding="utf-8")).body
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):  # not UTF-8, not Python, or deeply nested
        return
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = [last_name(b) for b in node.bases]
            if any(b.endswith(DATASETS) for b in bases):
                yield "dataset", node.name
            elif any(b.endswith("Module") for b in bases):
                yield "model", node.name
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            for kind, words in MAKERS.items():
                if any(word in node.name.lower() for word in words):
                    yield kind, node.name
                    break
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = last_name(node.value.func)
            for target in node.targets:
                if isinstance(target, ast.Name) and made.endswith("DataLoader"):
                    yield "loader", target.id
                elif isinstance(target, ast.Name) and made.endswith(DATASETS):
                    yield "dataset", target.id
