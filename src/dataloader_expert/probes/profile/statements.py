"""Which lines belong together: those of a function, a statement of several lines, and those that fetch what it asked for.

Stacks lead through files of libraries with ten thousand lines and more, and parsing these takes seconds on a busy machine. So functions are found
by how their lines are indented, and only the one around a line is parsed; the whole file where that fails, as in a text that is not indented.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Sequence
from dataclasses import dataclass

DEFINES = ("def ", "async def ")
CLOSES = (")", "]", "}")
"""What a line begins with that ends what was opened before, and no function, however little it is indented."""


@dataclass(frozen=True)
class Function:
    name: str
    first: int
    last: int
    indent: int

    def has(self, line: int) -> bool:
        return self.first <= line <= self.last


@functools.lru_cache(256)
def functions(file: str) -> Sequence[Function]:
    """The functions of a file, from its first line to its last, outer ones before those within."""
    open_: list[tuple[str, int, int, int]] = []
    found: list[tuple[int, Function]] = []
    last = 0
    for number, line in enumerate((*linecache.getlines(file), "end"), 1):
        text = line.lstrip()
        if not text or text.startswith("#"):
            continue
        if text.startswith(CLOSES):
            last = number
            continue
        indent = len(line) - len(text)
        while open_ and indent <= open_[-1][3]:
            name, order, first, depth = open_.pop()
            found.append((order, Function(name, first, last, depth)))
        if text.startswith(DEFINES):
            name = text.partition("def ")[2].partition("(")[0].partition("[")[0].strip()
            open_.append((name, number, number, indent))
        last = number
    return [function for _, function in sorted(found, key=lambda one: one[0])]


def nodes_around(file: str, line: int) -> list[ast.AST]:
    """The syntax tree of the outermost function around a line; of the whole file where the line is in none."""
    around = next((function for function in functions(file) if function.has(line)), None)
    return (_nodes_of(file, around) if around is not None else None) or _nodes(file)


def parsed_functions(file: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a file that is parsed as a whole: for a line that indentation places in none, as one of a text may be."""
    return [node for node in _nodes(file) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@functools.lru_cache(1024)
def _nodes_of(file: str, function: Function) -> list[ast.AST] | None:
    lines = linecache.getlines(file)[function.first - 1 : function.last]
    within = ["if True:\n"] if function.indent else []  # keeps the columns
    try:
        tree = ast.parse("".join((*within, *lines)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    ast.increment_lineno(tree, function.first - 1 - len(within))
    return list(ast.walk(tree))


@functools.lru_cache(64)
def _nodes(file: str) -> list[ast.AST]:
    tree = _tree(file)
    return [] if tree is None else list(ast.walk(tree))


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
    around = [] if tree is None else [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and has(n, line)]
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


def has(node: ast.stmt, line: int) -> bool:
    """Whether a statement spans a line."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)
