"""What rules share. A rule turns facts into findings; it reads no file, no clock and no setting of the machine.

A module of this folder that judges lists its rules in ``RULES``, and what weighs findings anew, once all are known, in ``WEIGHS``; they are
registered nowhere else.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts

Rule = Callable[[Facts], Iterable[Finding]]
Weighing = Callable[[Facts, list[Finding]], list[Finding]]


def rules() -> tuple[Rule, ...]:
    """The rules of this folder's modules."""
    return _listed("RULES")


@functools.cache
def _listed(name: str) -> tuple[Any, ...]:
    package = importlib.import_module("dataloader_expert.advice")
    modules = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return tuple(one for module in modules for one in getattr(module, name, ()))


def findings_of(facts: Facts) -> list[Finding]:
    """The findings of all rules. What is known about the machine is among the facts."""
    found = [one for rule in rules() for one in rule(facts)]
    for weigh in _listed("WEIGHS"):
        found = weigh(facts, found)
    return found
