"""Samples read in a process of their own, with the errors noted that the user's own code raises and catches."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import time
from collections import Counter
from functools import partial
from types import FrameType
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.probes.system.pristine_process import apart
from dataloader_expert.probes.tracing import users_traced

Place = tuple[str, int]
ORDINARY = (LookupError, AttributeError, ImportError, StopIteration, StopAsyncIteration, GeneratorExit)
"""How Python code asks whether something is there, not how it fails."""
DOUBTFUL, OTHERS, DOUBT_S, DOUBT_SHARE = 128, 16, 1.0, 0.05
"""The most samples that are looked at because they equal others, so many others beside them, and the most seconds, and share of the time
left, for this."""
USUAL_SHARE = 0.5
"""What more samples than this raise is a way to read them, such as a second format that is tried."""


def looked(dataset: Any, order: list[int], seconds: float) -> dict[str, Any]:
    """How many of these samples were read in time, and which of them raised errors within, each with the number of the place."""
    until, read = time.monotonic() + seconds, 0
    found: list[tuple[int, int]] = []
    places: dict[str, tuple[int, str, Place | None]] = {}
    for index in order:
        if time.monotonic() > until:
            break
        try:
            raised = errors_within(dataset, index)
        except Exception:  # the scan says which samples raise
            continue
        read += 1
        if raised:
            place, message, handler = raised[0]
            found.append((index, places.setdefault(place, (len(places), message, handler))[0]))
    return {
        "read": read,
        "found": found,
        "places": [*places],
        "messages": [text for _, text, _ in places.values()],
        "handlers": [handler for _, _, handler in places.values()],
    }


def replaced(dataset: Any, doubtful: list[int], size: int, left_s: float) -> frozenset[int]:
    """Those of these samples whose reading raises an error that the dataset's own code catches, as others' does not: what is delivered
    for them is perhaps another sample."""
    if not doubtful:
        return frozenset()
    among = set(doubtful[:DOUBTFUL])
    others = [k * size // OTHERS for k in range(OTHERS)] if size >= OTHERS else range(size)
    order = [i for pair in itertools.zip_longest(among, set(others) - among) for i in pair if i is not None]
    told = apart(partial(looked, dataset, order), min(DOUBT_S, DOUBT_SHARE * left_s))
    if told is None:
        return frozenset()
    usual = Counter(place for index, place in told["found"] if index not in among)
    often = {place for place, n in usual.items() if n > USUAL_SHARE * len({*others} - among)}
    return frozenset(index for index, place in told["found"] if index in among and place not in often)


def errors_within(dataset: Any, index: int) -> list[tuple[str, str, Place | None]]:
    """The errors raised in the user's frames while a sample is read: ``type at file:line in function``, what each says, and the line of
    the ``except`` that caught it.

    Raises:
        Exception: what the dataset raises itself.
    """
    raised: list[tuple[BaseException, str, str]] = []
    passed: dict[int, tuple[str, int]] = {}
    """By exception the outermost of the user's lines that it came to."""

    def within(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and not issubclass(arg[0], ORDINARY):
            code, error = frame.f_code, arg[1]
            if id(error) not in passed:
                at = f"{arg[0].__name__} at {escaped(os.path.basename(code.co_filename))}:{frame.f_lineno} in `{escaped(code.co_name)}`"
                raised.append(
                    (error, at, escaped(error, 160))
                )  # kept: the identity of one that has ended may be another's
            passed[id(error)] = code.co_filename, frame.f_lineno
        return within

    with users_traced(within):
        dataset[index]
    return [(at, text, handler_of(*passed[id(error)])) for error, at, text in raised]


def handler_of(file: str, line: int) -> Place | None:
    """The innermost ``except`` for what is raised at a line; of several the first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        and node.handlers
        and node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
    ]
    return (file, max(around, key=lambda node: node.lineno).handlers[0].lineno) if around else None
