"""Schemas as clients read them: without pydantic's titles, and with definitions inlined that are used once.

A client shows every tool's input schema to its model before the first call, so each character counts. Some clients map
schemas onto dialects with a single ``type``, so a list of types is never written.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
NULL: Schema = {"type": "null"}
RESULTS = Path(__file__).with_name("results.json")
"""The output schema of each tool, generated once and shipped: pydantic takes a third of a cold start to generate them."""


@functools.cache
def results() -> dict[str, Schema]:
    """The shipped output schemas by tool; a test compares them with those of the result models."""
    shipped: dict[str, Schema] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return shipped


def made() -> dict[str, Schema]:
    """The same, generated from the result models."""
    from dataloader_expert.tools.base import all_tools

    return {tool.name: result(tool.result.model_json_schema()) for tool in all_tools().values()}


def arguments(schema: Schema) -> Schema:
    """An input schema. It omits defaults of null, {}, 0, 1 or the first value of an enumeration, since omitting the argument
    means the same, and lower bounds of 0 or 1, which are obvious for a count or a time.

    The server still accepts an explicit null, and enforces the bounds.
    """
    return _Slimmer(schema, optional=True).whole()


def result(schema: Schema) -> Schema:
    """An output schema; it states what may be null."""
    return _Slimmer(schema, optional=False).whole()


class _Slimmer:
    def __init__(self, schema: Schema, optional: bool) -> None:
        self.schema, self.optional = schema, optional
        self.definitions: dict[str, Schema] = schema.get("$defs", {})
        self.uses: dict[str, int] = {}
        self._count(schema)

    def whole(self) -> Schema:
        slimmed = self._slim({k: v for k, v in self.schema.items() if k != "$defs"})
        kept = {name: self._slim(d) for name, d in self.definitions.items() if self.uses.get(name, 0) > 1}
        return {**slimmed, "$defs": kept} if kept else slimmed

    def _count(self, value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                name = value["$ref"].rsplit("/", 1)[-1]
                self.uses[name] = self.uses.get(name, 0) + 1
            value = list(value.values())
        if isinstance(value, list):
            for item in value:
                self._count(item)

    def _slim(self, schema: Schema) -> Schema:
        out = {k: v for k, v in schema.items() if k != "title"}
        name = str(out.get("$ref", "")).rsplit("/", 1)[-1]
        if self.uses.get(name) == 1:
            del out["$ref"]
            out = {**self._slim(self.definitions[name]), **out}
        if "anyOf" in out:
            out["anyOf"] = [self._slim(option) for option in out["anyOf"]]
            rest = [option for option in out["anyOf"] if option != NULL]
            if self.optional and len(rest) == 1:
                del out["anyOf"]
                out = {**rest[0], **out}
                if out.get("default", ...) is None:
                    del out["default"]
        if self.optional:
            _leave_out(out)
        if out.get("additionalProperties") is True:
            del out["additionalProperties"]
        if "properties" in out:
            slimmed = {k: self._slim(v) for k, v in out["properties"].items()}
            out["properties"] = {k: _in_words(v) if self.optional else v for k, v in slimmed.items()}
        for key in ("items", "additionalProperties"):
            if isinstance(out.get(key), dict):
                out[key] = self._slim(out[key])
        return out


def _leave_out(out: Schema) -> None:
    default = out.get("default", ...)
    trivial = default == {} or (default in (0, 1) and not isinstance(default, bool))
    if trivial or default in out.get("enum", [])[:1]:
        del out["default"]
    elif isinstance(default, float) and default.is_integer():
        out["default"] = int(default)
    for bound in ("minimum", "exclusiveMinimum"):
        if out.get(bound) in (0, 1):
            del out[bound]


def _in_words(schema: Schema) -> Schema:
    """Describes a mapping to optional numbers briefly, by its keys; for some a list may be given."""
    properties = schema.get("properties", {})
    if not properties or schema.get("required"):
        return schema
    if not all(_is_number(p) or _may_be_listed(p) for p in properties.values()):
        return schema
    names = ", ".join(f"{n} (or a list)" if _may_be_listed(p) else n for n, p in properties.items())
    said = f"{schema['description']}: {names}" if "description" in schema else names
    numbers = {} if any(map(_may_be_listed, properties.values())) else {"additionalProperties": {"type": "number"}}
    return {"type": "object", **numbers, "description": said}


def _is_number(schema: Schema) -> bool:
    return schema.get("type") in ("number", "integer")


def _may_be_listed(schema: Schema) -> bool:
    """A number or a list of numbers."""
    kinds = [option for option in schema.get("anyOf", ()) if option != NULL]
    return len(kinds) == 2 and _is_number(kinds[0]) and _is_number(kinds[1].get("items", {}))


if __name__ == "__main__":  # ``python -m dataloader_expert.server.schemas`` regenerates them
    RESULTS.write_text(json.dumps(made(), separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written: {RESULTS}", file=sys.stderr)
