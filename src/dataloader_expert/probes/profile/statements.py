"""Which lines belong together: a statement of several lines, and those that fetch what it asked for."""

from __future__ import annotations

import ast
import functools
import linecache


@functools.lru_cache(64)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def lines_with(file: str, line: int) -> list[int]:
    """The lines of the simple statement at a line, and of those in the same function that fetch rows: SQLite runs a query as its rows
    are fetched."""
    tree = _tree(file)
    around = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and _has(n, line)]
    simple = [n for n in around if not hasattr(n, "body")]
    lines = {line}
    for node in simple[-1:]:
        lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    functions = [n for n in around if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions[-1:]:
        calls = (n for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute))
        lines.update(c.end_lineno or c.lineno for c in calls if getattr(c.func, "attr", "").startswith("fetch"))
    return sorted(lines)


def statement_at(file: str, line: int) -> int:
    """The first line of the simple statement at a line; the line itself where there is none."""
    return _statements(file).get(line, line)


@functools.lru_cache(64)
def _statements(file: str) -> dict[int, int]:
    """First lines of the simple statements of several lines, by each of their lines."""
    tree = _tree(file)
    simple = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return {line: n.lineno for n in simple for line in range(n.lineno, (n.end_lineno or n.lineno) + 1)}


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
