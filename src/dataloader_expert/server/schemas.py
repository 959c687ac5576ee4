"""Schemas as clients read them: pydantic's titles out, ``anyOf`` with null as a list of types, single uses in place.

A client shows every tool's input schema to its model before the first call, so each character counts.
"""

from __future__ import annotations

from typing import Any


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with what says nothing left out; an argument that may be left out keeps its default."""
    definitions = schema.get("$defs", {})
    uses: dict[str, int] = {}
    _count(schema, uses)
    once = {name for name, n in uses.items() if n == 1}
    slimmed: dict[str, Any] = _slim({k: v for k, v in schema.items() if k != "$defs"}, definitions, once)
    kept = {name: _slim(d, definitions, once) for name, d in definitions.items() if uses.get(name, 0) > 1}
    return {**slimmed, "$defs": kept} if kept else slimmed


def _count(value: Any, uses: dict[str, int]) -> None:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            name = value["$ref"].rsplit("/", 1)[-1]
            uses[name] = uses.get(name, 0) + 1
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _count(item, uses)


def _slim(schema: Any, definitions: dict[str, Any], once: set[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    out = {k: v for k, v in schema.items() if k != "title"}
    name = str(out.get("$ref", "")).rsplit("/", 1)[-1]
    if name in once:
        del out["$ref"]
        out = {**_slim(definitions[name], definitions, once), **out}
    options = out.pop("anyOf", None)
    if options is not None:
        options = [_slim(o, definitions, once) for o in options]
        out = {**merged, **out} if (merged := _nullable(options)) is not None else {"anyOf": options, **out}
        if out.get("default", ...) is None:
            del out["default"]  # a null that may be left out is what is meant by leaving it out
    if out.get("additionalProperties") is True:
        del out["additionalProperties"]
    if "properties" in out:
        out["properties"] = {k: _slim(v, definitions, once) for k, v in out["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in out:
            out[key] = _slim(out[key], definitions, once)
    return out


def _nullable(options: list[Any]) -> dict[str, Any] | None:
    """One type or null as ``{"type": [type, "null"], …}``; None where that cannot say it."""
    rest = [o for o in options if o != {"type": "null"}]
    if len(rest) != 1 or len(rest) == len(options) or not isinstance(rest[0].get("type"), str):
        return None
    out = {**rest[0], "type": [rest[0]["type"], "null"]}
    if "enum" in out:
        out["enum"] = [*out["enum"], None]
    return out
