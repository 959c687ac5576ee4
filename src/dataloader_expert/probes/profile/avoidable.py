"""Work at the user's own lines that need not be done for each sample: objects copied, text parsed, processes and threads started,
lists searched.

It is told by the library function that a stack leads to from the user's innermost line, or by what that line calls if that is
compiled code. Loops and searches in Python are told by the source around the line; that a loop is one over single values, by
counting how often it runs for one sample.
"""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.profile.hotspots import INNER, Weighed
from dataloader_expert.probes.profile.remote_stack import Stack
from dataloader_expert.probes.profile.stage_classifier import FETCHING, OURS, calls, is_users, module_name, target_of
from dataloader_expert.probes.serving import Serving

AVOIDABLE = Quantity("avoidable", "", "work that need not be done for each sample, with its share of a sample's time")
LEAST = 0.1
"""The least share of a sample's time that is told."""
LEAST_S = 5e-4
"""The least seconds of a sample that are told: a loader itself takes about as long for it."""
LINE_MOST_S, LINES_LEAST = 20e-6, 100
"""The longest that a line takes in a loop over single values, on average (an element of a tensor is read in 3 us and written in 5),
and the fewest lines that it runs; lines that compute with arrays take longer."""
LINES_MOST, LOOPS_MOST, SAMPLES = 5_000_000, 4, 3
"""The most lines that are counted, loops in which they are, and samples for which."""

Place = tuple[str, str, int]
"""File, function, and line; of a loop the first."""
EVERY = frozenset[str]()
"""Whatever function of the module."""
LIBRARIES: dict[str, tuple[str, frozenset[str]]] = {
    "copy": ("copies", EVERY),
    "subprocess": ("processes", EVERY),
    "multiprocessing.process": ("processes", frozenset({"start"})),
    "multiprocessing.pool": ("threads", frozenset({"__init__", "_terminate_pool"})),
    "multiprocessing.managers": ("manager", EVERY),
    "threading": ("threads", frozenset({"start"})),
    "torch.utils.data.dataloader": ("loaders", frozenset({"__init__", "__iter__", "_shutdown_workers"})),
    "numpy.core.arrayprint": ("formats", EVERY),
    "numpy._core.arrayprint": ("formats", EVERY),
    "torch._tensor_str": ("formats", EVERY),
    "json": ("parses", EVERY),
    "json.decoder": ("parses", EVERY),
    "xml.etree.ElementTree": ("parses", EVERY),
    "yaml": ("parses", EVERY),
    "csv": ("parses", EVERY),
    "pandas.io.parsers.readers": ("parses", EVERY),
    "re._compiler": ("compiles", EVERY),
    "gzip": ("rewinds", frozenset({"seek", "rewind"})),
    "bz2": ("rewinds", frozenset({"seek"})),
    "lzma": ("rewinds", frozenset({"seek"})),
    "zipfile": ("lists", frozenset({"__init__"})),
    "tarfile": ("lists", frozenset({"__init__", "getmembers", "getmember", "getnames", "_getmember", "_load"})),
    "ssl": ("connects", frozenset({"do_handshake"})),
    "socket": ("connects", frozenset({"create_connection", "getaddrinfo"})),
}
"""By module: the kind of work, and the functions that do it."""
COMPILED = {
    "gc.collect": "collects",
    "_sqlite3.connect": "connects",
    "orjson.loads": "parses",
}
METHODS = {"index": "searches"}
"""Methods of a list by name, on a line that computes for long by itself."""


def avoidable(served: Serving, stacks: Weighed, seen: int, sample_s: float) -> Iterator[Fact]:
    """What takes at least a tenth of a sample's time; ``seen``: stacks; ``sample_s``: seconds of a sample without waiting for a core."""
    spent: defaultdict[str, defaultdict[Place, float]] = defaultdict(lambda: defaultdict(float))
    """Shares by kind and place."""
    for stack, share in stacks:
        work = work_of(stack)
        if work is not None:
            spent[work[0]][work[1:]] += share
    told: list[dict[str, Any]] = []
    for kind, places in spent.items():
        lines: Counter[Place] = Counter()
        kept = dict(places)
        if kind == "loops" and _matters(sum(places.values()), sample_s):
            for place in sorted(places, key=lambda one: -places[one])[:LOOPS_MOST]:
                lines[place] = lines_of(served, place[0], place[2]) or 0
            kept = {
                p: s for p, s in places.items() if lines[p] >= LINES_LEAST and s * sample_s < LINE_MOST_S * lines[p]
            }
        whole = sum(kept.values())
        if _matters(whole, sample_s):
            at = [{"file": f, "line": n, "function": name} for f, name, n in sorted(kept, key=lambda p: -kept[p])]
            share = round(min(1.0, whole), 4)
            told.append({"kind": kind, "share": share, "places": at[:MAX_PLACES], "lines": sum(lines[p] for p in kept)})
    told.sort(key=lambda work: work["share"], reverse=True)
    yield Fact(AVOIDABLE, told, evidence("sampled", "stages", seen=seen))


def _matters(share: float, sample_s: float) -> bool:
    return share >= LEAST and share * sample_s >= LEAST_S


def work_of(stack: Stack) -> tuple[str, str, str, int] | None:
    """The kind of work that a stack does for the user's innermost line, and where that is."""
    inner = [frame for frame in stack if not frame[0].startswith(OURS)]
    at = next((k for k, frame in enumerate(inner) if is_users(frame[0])), None)
    if at is None or not any(FETCHING in frame[0] for frame in inner[at:]):
        return None
    file, line, function = inner[at]
    function = next((f for _, _, f in inner[at:] if f not in INNER), function)
    if any(f == "__len__" and is_users(of) for of, _, f in inner):
        file, line, function = next(frame for frame in inner if frame[2] == "__len__" and is_users(frame[0]))
        return "length", file, function, line
    for name, _, f in reversed(inner[:at]):
        kind, functions = LIBRARIES.get(module_name(name).rstrip("."), ("", EVERY))
        if kind and (functions is EVERY or f in functions):
            return kind, file, function, line
    if at:
        return None
    compiled = _compiled(file, line)
    if compiled is not None:
        return compiled, file, function, line
    loop = _loop_of(file, line)
    return None if loop is None else (loop[0], file, function, loop[1])


def _compiled(file: str, line: int) -> str | None:
    for call in calls(file, line):
        found = COMPILED.get(target_of(file, call))
        if found is None and isinstance(call.func, ast.Attribute) and target_of(file, call) == "":
            found = METHODS.get(call.func.attr)
        if found is not None:
            return found
    return None


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


def _loop_of(file: str, line: int) -> tuple[str, int] | None:
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


PLAIN = {
    *(
        "abs",
        "bool",
        "chr",
        "divmod",
        "enumerate",
        "float",
        "int",
        "len",
        "max",
        "min",
        "ord",
        "pow",
        "range",
        "reversed",
    ),
    *(
        "round",
        "str",
        "sum",
        "zip",
        "append",
        "extend",
        "get",
        "item",
        "items",
        "join",
        "keys",
        "lower",
        "pop",
        "setdefault",
    ),
    *("upper", "values", "ceil", "cos", "exp", "floor", "log", "log2", "sin", "sqrt", "tan", "tanh"),
}
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


def lines_of(served: Serving, file: str, line: int) -> int | None:
    """How many lines of a loop, given by its first line, run for a sample; None if that cannot be counted."""
    last = next((last for _, first, last in _loops(file) if first == line), line)
    count, until = 0, time.monotonic() + 2.0

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
        return None
    try:
        sys.settrace(begins)
        samples = list(_some(served.dataset))
        if not count:  # in the collate function
            served.collate(samples)
    except Exception:  # the user's code; the scan has told
        return None
    finally:
        sys.settrace(None)
    return round(count / SAMPLES)


def _some(dataset: Any) -> Iterator[Any]:
    if hasattr(dataset, "__getitem__"):
        yield from (dataset[k * len(dataset) // SAMPLES] for k in range(SAMPLES))
    else:
        yield from itertools.islice(iter(dataset), SAMPLES)
