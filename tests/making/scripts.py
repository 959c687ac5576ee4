"""Code of a report, run as a user's script is: in this process, but with the user's own modules imported anew."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import dataloader_expert

INSTALLED = {Path(sys.prefix), Path(sys.base_prefix), Path(dataloader_expert.__file__).parent}


def ran(code: str, name: str = "__main__") -> dict[str, Any]:
    """What the code defines. A module of a user's is imported anew: another test's user may have one of the same name."""
    for module in _imported(code):
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and not any(Path(file).is_relative_to(place) for place in INSTALLED):
            del sys.modules[module]
    names: dict[str, Any] = {"__name__": name}
    # What is run is what our templates wrote about data that the tests made: running it is the test. The product never does so.
    exec(compile(code, "<report>", "exec"), names)
    return names


def _imported(code: str) -> set[str]:
    """The top-level modules that the code imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found
