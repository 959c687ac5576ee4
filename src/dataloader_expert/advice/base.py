"""What rules share. A rule turns facts into findings; it reads no file, no clock and no setting of the machine.

A module of this folder that judges lists its rules in ``RULES``; they are registered nowhere else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts

Rule = Callable[[Facts], Iterable[Finding]]


def rules() -> tuple[Rule, ...]:
    """The rules of this folder's modules."""
    package = importlib.import_module("dataloader_expert.advice")
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return tuple(rule for module in modules for rule in getattr(module, "RULES", ()))


def findings_of(facts: Facts) -> list[Finding]:
    """The findings of all rules. What is known about the machine is among the facts."""
    return [found for rule in rules() for found in rule(facts)]
