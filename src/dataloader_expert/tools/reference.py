"""Tools, arguments and results from the code: ``python -m dataloader_expert.tools.reference``."""

from __future__ import annotations

import sys
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from dataloader_expert.report import Model, Report
from dataloader_expert.tools.base import Request, Tool, all_tools

HEAD = """# Tools and commands

Generated from the code by `python -m dataloader_expert.tools.reference > docs/reference.md`. Every tool over MCP is a command as
well; a command's flags are the arguments' names with hyphens, and `--help` is its manual.
"""
RULES = """
## Exit status

0 fine; 1 findings of severity error (`check`: not passed; `--fail-on` says otherwise); 2 the request could not be carried out, or
`check` could not judge all of the data.
"""


def reference() -> str:
    """The page as Markdown."""
    tools = list(all_tools().values())
    lines = [
        HEAD,
        "## Arguments of all tools",
        *_arguments(Request, set()),
        "## Fields of all results",
        *_fields(Report, set()),
    ]
    for tool in tools:
        lines += _tool(tool)
    return "\n".join(lines) + RULES


def _tool(tool: Tool) -> list[str]:
    common, shared = set(Request.model_fields), set(Report.model_fields)
    return [
        f"## {tool.name}",
        "",
        f"`dataloader-expert {tool.command} SOURCE`. {tool.description}",
        *_arguments(tool.request, common),
        *_fields(tool.result, shared),
    ]


def _arguments(model: Any, without: set[str]) -> list[str]:
    rows = [
        f"| `{name}` | {_type(field.annotation)} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
        if name not in without
    ]
    return ["", "| argument | type | default | meaning |", "| --- | --- | --- | --- |", *rows, ""] if rows else []


def _fields(model: Any, without: set[str]) -> list[str]:
    rows = [
        f"| `{name}` | {_type(field.annotation)} |" for name, field in model.model_fields.items() if name not in without
    ]
    return ["", "| field of the result | type |", "| --- | --- |", *rows, ""]


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "-" if value is None else f"`{value!r}`"


def _type(annotation: Any) -> str:
    """The type in words; of an object its fields."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value!r}`" for value in inside)
    if origin in (Union, UnionType):
        parts = [_type(one) for one in inside if one is not type(None)]
        return " or ".join(parts + ["none"] * (len(parts) < len(inside)))
    if origin is list:
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return f"map to {_type(inside[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return "{" + ", ".join(f"`{name}`" for name in annotation.model_fields) + "}"
    return {int: "integer", float: "number", str: "text", bool: "true or false"}.get(annotation, "any")


if __name__ == "__main__":
    sys.stdout.write(reference())
