"""The functions of a file, and what is on its lines, without parsing all of it."""

from __future__ import annotations

import ast
import inspect
import linecache
import zipfile
from pathlib import Path
from types import ModuleType

import PIL.Image
import pytest

from dataloader_expert.probes.profile.hotspots import beginning
from dataloader_expert.probes.profile.statements import functions, nodes_around

ODD = '''\
def outer(
    a,
) -> int:
    query = """
select this
"""
    values = [
        a(
            1
        )
    ]

    def inner(x): return x

    # a remark
    return inner(values) + len(query)


class Kept:
    async def read(self, name):
        if name:
            return (
                self.load(name)
            )
# another
        return await self.more()


TOP = outer(1)
'''


@pytest.fixture
def odd(tmp_path: Path) -> str:
    path = tmp_path / "odd.py"
    path.write_text(ODD, encoding="utf-8")
    return str(path)


def places(nodes: list[ast.AST], line: int) -> set[tuple[object, ...]]:
    calls = [n for n in nodes if isinstance(n, ast.Call) and line in (n.lineno, n.end_lineno)]
    return {(n.lineno, n.col_offset, n.end_lineno, n.end_col_offset) for n in calls}


def differing(file: str) -> list[int]:
    """Lines of which the function around them shows other calls than the whole file."""
    every = list(ast.walk(ast.parse("".join(linecache.getlines(file)))))
    lines = {line for n in every if isinstance(n, ast.Call) for line in (n.lineno, n.end_lineno or n.lineno)}
    return [line for line in sorted(lines)[::5] if places(every, line) != places(nodes_around(file, line), line)]


@pytest.mark.parametrize("module", [zipfile, PIL.Image])
def test_functions_are_found_by_their_lines(module: ModuleType) -> None:
    """Our promise: what is told by a line is told as if the whole file was parsed. Seen: parsing pandas took the time in which to say where it
    goes."""
    file = inspect.getfile(module)
    every = ast.walk(ast.parse("".join(linecache.getlines(file))))
    defined = [n for n in every if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert {(n.name, n.lineno, n.end_lineno) for n in defined} <= {(f.name, f.first, f.last) for f in functions(file)}
    assert differing(file) == []


def test_what_is_indented_oddly_is_read_from_the_whole_file(odd: str) -> None:
    """Our promise: a text at the margin and a bracket at the end of a function hide no call."""
    assert differing(odd) == []
    assert [f.name for f in functions(odd)] == ["outer", "inner", "read"]
    assert places(nodes_around(odd, 16), 16) and places(nodes_around(odd, 29), 29)
    assert not places(nodes_around(odd + ".gone", 3), 3)
    assert {beginning(odd, line, "outer") for line in (4, 7, 8, 16)} == {1}
    assert beginning(odd, 32, "outer") == beginning(odd, 8, "gone") == 0
