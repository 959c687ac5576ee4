"""All weaknesses: of every module of this folder that has a table."""

from __future__ import annotations

import importlib
import pkgutil

from tests import weaknesses
from tests.weaknesses.base import Weakness


def tables() -> dict[str, list[Weakness]]:
    """Module name to its weaknesses, in the order of names."""
    names = sorted(m.name for m in pkgutil.iter_modules(weaknesses.__path__))
    passed_over = ("__main__", "registry", "running")
    modules = {n: importlib.import_module(f"{weaknesses.__name__}.{n}") for n in names if n not in passed_over}
    return {n: list(m.WEAKNESSES) for n, m in modules.items() if hasattr(m, "WEAKNESSES")}


def all_weaknesses() -> list[Weakness]:
    return [weakness for table in tables().values() for weakness in table]
