"""What a case expects of an answer: a path to a value, and what must hold of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

MISSING = object()
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def is_type(value: Any, name: str) -> bool:
    if name in ("number", "integer") and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[name])


MATCHERS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda value, wanted: bool(value == wanted),
    "one_of": lambda value, wanted: value in wanted,
    "contains": lambda value, wanted: value is not None and wanted in value,
    "matches": lambda value, wanted: isinstance(value, str) and re.search(wanted, value) is not None,
    "type": is_type,
    "at_least": lambda value, wanted: is_type(value, "number") and value >= wanted,
    "at_most": lambda value, wanted: is_type(value, "number") and value <= wanted,
    "length": lambda value, wanted: hasattr(value, "__len__") and len(value) == wanted,
    "absent": lambda value, wanted: (value is MISSING) == wanted,
}
BESIDE = {"within"}
"""Words that qualify a matcher: ``approx`` takes an absolute tolerance as ``within``."""


def found(answer: Any, path: str) -> Any:
    """The value at ``a.b.0.c``; ``*`` gathers over a list or a map's values; MISSING where there is none."""
    value = answer
    parts = path.split(".") if path else []
    for i, part in enumerate(parts):
        if part == "*":
            items = list(value.values()) if isinstance(value, dict) else value
            if not isinstance(items, list):
                return MISSING
            return [v for v in (found(item, ".".join(parts[i + 1 :])) for item in items) if v is not MISSING]
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def mismatches(answer: Any, expected: dict[str, Any]) -> list[str]:
    """What does not hold, in words; empty where all does."""
    wrong: list[str] = []
    for path, rule in expected.items():
        value = found(answer, path)
        rules = rule if isinstance(rule, dict) and rule.keys() <= {*MATCHERS, "approx", *BESIDE} else {"equals": rule}
        if value is MISSING and "absent" not in rules:
            wrong.append(f"{path} is not there")
            continue
        for name, wanted in rules.items():
            if name not in BESIDE and not _holds(name, value, wanted, rules.get("within", 0.0)):
                wrong.append(f"{path} is {_short(value)}, expected {name} {_short(wanted)}")
    return wrong


def _holds(name: str, value: Any, wanted: Any, within: float) -> bool:
    if name != "approx":
        return MATCHERS[name](value, wanted)
    if isinstance(wanted, list):
        same = isinstance(value, list) and len(value) == len(wanted)
        return same and all(_holds(name, v, w, within) for v, w in zip(value, wanted, strict=True))
    return is_type(value, "number") and math.isclose(value, wanted, rel_tol=1e-9, abs_tol=within)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
