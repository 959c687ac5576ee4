"""What in the user's repository concerns data loading, found by reading names and syntax: nothing is run.

Text from files is data: it is shortened to one line that Markdown cannot interpret.
"""

from __future__ import annotations

import ast
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from dataloader_expert.errors import escaped

MOST_FILES = 400
MOST_ENTRIES = 20_000
MOST_BYTES = 200_000
MOST_S = 2.0
LINES = 12
WIDTH = 120
SKIPPED = {"node_modules", "venv", "env", "site-packages", "__pycache__", "build", "dist", "test", "tests"}
SETTINGS = {".toml", ".ini", ".cfg", ".yaml", ".yml", ".json"}
NAMED = ("config", "settings", "conf")
ALWAYS = {"pyproject.toml", "config.ini"}
DATASETS = ("Dataset", "IterableDataset", "DataModule")
SHARES = {"config": 3, "dataset": 3, "loader": 3, "trainer": 3}
"""Lines for each kind; unused ones go to the others."""


def project_context(roots: Sequence[str]) -> tuple[str, ...]:
    """At most twelve lines ``path:line what``: configuration, datasets, DataLoaders and trainers below the roots."""
    until = time.monotonic() + MOST_S
    found: dict[str, list[str]] = {kind: [] for kind in SHARES}
    read = 0
    for root in roots:
        for path in files_below(Path(root)):
            if time.monotonic() > until or read >= MOST_FILES:
                break
            name = path.relative_to(root).as_posix() if path != Path(root) else path.name
            if is_settings(path.name):
                found["config"].append(line(name, 1, "configuration"))
            elif path.suffix == ".py":
                read += 1
                for kind, number, what in defined(path):
                    found[kind].append(line(name, number, what))
    return tuple(chosen(found))


def chosen(found: dict[str, list[str]]) -> list[str]:
    """Each kind's share, and more for kinds that have more."""
    taken = {kind: lines[: SHARES[kind]] for kind, lines in found.items()}
    for kind, lines in found.items():
        room = LINES - sum(map(len, taken.values()))
        taken[kind] += lines[len(taken[kind]) :][:room]
    return [said for lines in taken.values() for said in lines]


def line(name: str, number: int, what: str) -> str:
    """One line for a fenced block: printable, without backticks or tags, at most 120 characters."""
    text = escaped(f"{name}:{number} {what}", WIDTH)
    return "".join("'" if c in "`<>" else c for c in text)


def is_settings(name: str) -> bool:
    low = Path(name.lower())
    return low.name in ALWAYS or (low.suffix in SETTINGS and any(word in low.stem for word in NAMED))


def files_below(root: Path) -> Iterator[Path]:
    """Files below the root, level by level, sorted by name; without hidden files, environments and links."""
    if root.is_file():
        yield root
        return
    waiting, seen = [str(root)], 0
    while waiting and seen < MOST_ENTRIES:
        folders: list[str] = []
        for folder in waiting:
            entries: list[os.DirEntry[str]] = []
            try:
                with os.scandir(folder) as listed:
                    for entry in listed:
                        seen += 1
                        if seen > MOST_ENTRIES:
                            break
                        if not entry.name.startswith(".") and not entry.is_symlink():
                            entries.append(entry)
            except OSError:
                continue
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.is_file():
                    yield Path(entry.path)
                elif entry.is_dir() and entry.name not in SKIPPED and not _environment(entry.path):
                    folders.append(entry.path)
        waiting = folders


def _environment(folder: str) -> bool:
    return Path(folder, "pyvenv.cfg").exists()


def defined(path: Path) -> list[tuple[str, int, str]]:
    """Kind, line and description of each dataset, loader and trainer in a Python file; none if it cannot be parsed."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return []
        text = path.read_text(encoding="utf-8")
        if not any(word in text for word in (*DATASETS, "DataLoader", "Trainer", "def train")):
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in the user's code
            nodes = list(ast.walk(ast.parse(text)))
        found = [(getattr(node, "lineno", 1), said) for node in nodes if (said := _what(node)) is not None]
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):  # not UTF-8, not Python, or deeply nested
        return []
    return [(kind, number, what) for number, (kind, what) in sorted(found)]


def _what(node: ast.AST) -> tuple[str, str] | None:
    if isinstance(node, ast.ClassDef):
        bases = [last_name(b) for b in node.bases]
        base = next((b for b in bases if b.endswith(DATASETS)), None)
        if base is not None:
            return "dataset", f"class {node.name}({base})"
        if node.name.endswith("Trainer"):
            return "trainer", f"class {node.name}({', '.join(filter(None, bases))})"
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if node.name.startswith("train") and any(isinstance(n, ast.For | ast.While) for n in ast.walk(node)):
            return "trainer", f"def {node.name}, a training loop"
    elif isinstance(node, ast.Call) and last_name(node.func) == "DataLoader":
        given = [_short(a) for a in node.args]
        given += [f"{k.arg}={_short(k.value)}" if k.arg else "**…" for k in node.keywords]
        return "loader", f"DataLoader({', '.join(given)})"
    return None


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, also if subscripted: ``data.Dataset[int]`` is a Dataset."""
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _short(node: ast.expr) -> str:
    """An argument if it is a name or a plain value; anything longer is omitted."""
    if isinstance(node, ast.Constant | ast.Name | ast.Attribute):
        return escaped(ast.unparse(node), 30)
    return "…"
