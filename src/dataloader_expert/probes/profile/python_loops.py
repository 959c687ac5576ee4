"""Loops of the user's own that compute in Python alone, by their source, and how many lines they run for a sample."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import sys
import time
from collections.abc import Iterator
from typing import Any

from dataloader_expert.probes.serving import Serving

LINES_MOST, COUNT_MOST_S, SAMPLES = 5_000_000, 2.0, 3
"""The most lines that are counted, seconds that this takes, and samples for which."""
_SINGLE = (
    "abs adler32 append bool ceil chr cos crc32 divmod encode endswith enumerate exp extend float floor get hash int isalnum isalpha "
    "isdigit item items join keys len log log2 lower lstrip max min ord pop pow range reversed round rstrip setdefault sin sqrt "
    "startswith str strip sum tan tanh upper values zip"
)


@functools.lru_cache(64)
def _loops(file: str) -> list[tuple[str, int, int]]:
    """The loops of a file that compute in Python alone: ``searches`` or ``loops``, first and last line; outer ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):  # breadth first
        if isinstance(node, ast.For | ast.While | ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            kind = "searches" if _is_search(node) else "loops" if _is_plain(node) else None
            if kind is not None:
                found.append((kind, node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            if isinstance(node.comparators[0], ast.Attribute | ast.Name):
                found.append(("searches", node.lineno, node.end_lineno or node.lineno))
    return found


def loop_of(file: str, line: int) -> tuple[str, int] | None:
    return next(((kind, first) for kind, first, last in _loops(file) if first <= line <= last), None)


def _is_search(node: ast.AST) -> bool:
    """Whether a loop looks for the entry that equals something: ``for x in xs: if x == y: return x``."""
    if isinstance(node, ast.For) and len(node.body) == 1 and isinstance(node.body[0], ast.If):
        test, body = node.body[0].test, node.body[0].body
        ends = any(isinstance(last, ast.Return | ast.Break) for last in body)
        return ends and _equals(test) and not isinstance(node.iter, ast.Call)
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        one = node.generators[0]
        return any(map(_equals, one.ifs)) and isinstance(one.iter, ast.Attribute)
    return False


def _equals(test: ast.AST) -> bool:
    return isinstance(test, ast.Compare) and any(isinstance(op, ast.Eq) for op in test.ops)


PLAIN = frozenset(_SINGLE.split())
"""Functions and methods that compute with single values."""


def _is_plain(node: ast.AST) -> bool:
    """Whether a loop calls nothing but functions of single values, other than to begin."""
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.For):
        parts = [*node.body]
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        parts = [node.elt, *(test for one in node.generators for test in one.ifs)]
    names = {
        call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "?")
        for part in parts
        for call in ast.walk(part)
        if isinstance(call, ast.Call)
    }
    return names <= PLAIN


def lines_of(served: Serving, file: str, line: int, sample_s: float) -> int:
    """How many lines of a loop, given by its first line, run for a sample; 0 if that cannot be counted.

    ``sample_s``: seconds of a sample; of slow ones only one is read.
    """
    several = SAMPLES if SAMPLES * sample_s < COUNT_MOST_S else 1
    last = next((last for _, first, last in _loops(file) if first == line), line)
    count, until = 0, time.monotonic() + COUNT_MOST_S

    def at_line(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line" and line <= frame.f_lineno <= last:
            count += 1
            if count > LINES_MOST or (count % 4096 == 0 and time.monotonic() > until):
                sys.settrace(None)
                return None
        return at_line

    def begins(frame: Any, event: str, _: Any) -> Any:
        return at_line if frame.f_code.co_filename == file else None

    if sys.gettrace() is not None:  # a debugger, or coverage, is at work
        return 0
    samples, counted = [], 0
    try:
        for sample in _some(served.dataset, several, begins):
            samples.append(sample)
            if sys.gettrace() is None:  # the time is up: of the first sample so many lines are counted at least
                return counted // max(1, len(samples) - 1) or count
            counted = count
        if not count:  # in the collate function
            served.collate(samples)
    except Exception:  # the user's code; the scan has told
        return 0
    finally:
        sys.settrace(None)
    return round(count / several)


def _some(dataset: Any, n: int, trace: Any) -> Iterator[Any]:
    """A few samples, traced as they are read."""
    from torch.utils.data import IterableDataset

    sys.settrace(trace)
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        yield from itertools.islice(iter(dataset), n)
    else:
        yield from (dataset[k * len(dataset) // n] for k in range(n))
