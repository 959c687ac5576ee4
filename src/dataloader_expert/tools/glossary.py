"""All measured quantities, from their declarations: ``python -m dataloader_expert.tools.glossary``."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from dataloader_expert.facts import Quantity

ROOMS = ("checks", "probes", "tools")


def quantities() -> dict[str, tuple[Quantity, str]]:
    """Each quantity by name, with the module that declares it."""
    found: dict[str, tuple[Quantity, str]] = {}
    for room in ROOMS:
        package = importlib.import_module(f"dataloader_expert.{room}")
        for name in sorted(m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
            path = name.removeprefix("dataloader_expert.").replace(".", "/") + ".py"
            for value in vars(importlib.import_module(name)).values():
                if isinstance(value, Quantity):
                    found.setdefault(value.name, (value, path))
    return dict(sorted(found.items()))


def glossary() -> str:
    """The table as Markdown."""
    lines = [
        "# Glossary",
        "",
        "Generated from the declarations by `python -m dataloader_expert.tools.glossary > docs/glossary.md`.",
        "",
        "| quantity | unit | says |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{q.name}` | {q.unit or '-'} | {q.says} |" for q, _ in quantities().values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(glossary())
