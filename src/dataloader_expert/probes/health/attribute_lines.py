"""Where the user's code makes, fills, empties and goes through an attribute, read in the source of its class.

No user code runs: of a dataset that keeps something, the line that keeps it is what its author looks for.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from dataloader_expert.facts import Json
from dataloader_expert.sources.held import attributes, bases, members_of, owners_of
from dataloader_expert.sources.users import is_users

ADDING = frozenset({"append", "extend", "insert", "add", "setdefault", "update"})
EMPTYING = frozenset({"pop", "popitem", "popleft", "clear", "remove"})
VIEWS = frozenset({"values", "items", "keys"})


@dataclass
class Uses:
    """Lines of a file; ``searched``: first and last lines of loops that go through all of the attribute."""

    file: str
    made: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)
    searched: list[list[int]] = field(default_factory=list)

    def place(self, lines: list[int]) -> dict[str, Json] | None:
        return {"file": self.file, "line": lines[0]} if lines else None


def uses_of(dataset: Any, name: str) -> Uses | None:
    """How the class of whatever object of the dataset has this attribute uses it; None if no source of the user's shows it."""
    for owner in owners_of(dataset):
        if name not in attributes(owner):
            continue
        files = [(file, kind) for kind in bases(type(owner)) if (file := _file_of(kind)) is not None]
        found = [uses for file, kind in files if (uses := _uses(file, kind.__name__, name)) is not None]
        filled = next((u for u in found if u.added), next((u for u in found if u.made), None))
        if filled is not None:  # a class may empty what its base class fills
            return replace(filled, emptied=[line for uses in found for line in uses.emptied])
    return None


def _file_of(kind: type) -> str | None:
    module = sys.modules.get(str(members_of(kind).get("__module__")))
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and is_users(file) else None


@functools.lru_cache(64)
def _uses(file: str, kind: str, name: str) -> Uses | None:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    whole = next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == kind), None)
    if whole is None:
        return None
    found = Uses(file)
    for method in (n for n in whole.body if isinstance(n, ast.FunctionDef)):
        for node in ast.walk(method):
            _note(node, name, method.name, found)
    return found


def _note(node: ast.AST, name: str, method: str, found: Uses) -> None:
    for target in _targets(node):
        line = target.lineno
        if _is(target, name):
            (found.made if method == "__init__" or not found.made else found.emptied).append(line)
        elif isinstance(target, ast.Subscript) and _is(target.value, name):
            (found.emptied if isinstance(node, ast.Delete) else found.added).append(line)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
        if node.func.attr in ADDING:
            found.added.append(node.lineno)
        if node.func.attr in EMPTYING:
            found.emptied.append(node.lineno)
    if isinstance(node, ast.For) and _goes_through(node.iter, name):
        found.searched.append([node.lineno, node.end_lineno or node.lineno])
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        if any(_goes_through(one.iter, name) for one in node.generators):
            found.searched.append([node.lineno, node.end_lineno or node.lineno])


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign | ast.Delete):
        yield from node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        yield node.target


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name)


def _goes_through(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and node.args:
        node = node.args[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
        node = node.func.value
    return _is(node, name)
