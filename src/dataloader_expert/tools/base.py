"""What tools share: the common arguments, a tool as data, and what it concludes from. Nothing here imports a probe or a check:
a server opens with it."""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from dataloader_expert.conclusions import Advice, Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.lab.surroundings import Surroundings
from dataloader_expert.probes.base import Probe
from dataloader_expert.report import Next, Report

BUDGET_S = 30.0
LARGEST = 10**15
"""The largest number that an argument may be; sizes and times computed from it stay finite."""
FREE = ("source_args", "model_args", "input")
"""Arguments that are objects of the user's own keys."""


class Request(BaseModel):
    """Arguments common to the tools."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: str = Field(description="path, glob, or file.py:name of a Dataset, DataLoader or function")
    source_args: dict[str, Any] = Field(default_factory=dict, description="its keyword arguments")
    format: str | None = Field(None, description="if guessed wrong")
    split: str | None = Field(None, description="only this one; or field naming splits")
    train_split: str | None = Field(None, description="if not 'train'")
    label: str | None = Field(None, description="label field")
    budget_s: float | None = Field(BUDGET_S, gt=0, allow_inf_nan=False, description="seconds to spend")
    seed: int = Field(0, ge=0, description="random seed")
    detail: Literal["concise", "full"] = Field("concise", description="full: whole lists")

    @field_validator("*", mode="before")
    @classmethod
    def _finite(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuses numbers with which sizes and times overflow, wherever they stand except in the user's own arguments.

        Raises:
            ValueError: if one is too large.
        """
        if info.field_name not in FREE:
            for number in _numbers(value):
                if LARGEST < abs(number) != math.inf:
                    raise ValueError(f"a number is too large: the largest is {LARGEST:,}")
        return value

    def stated(self) -> Iterable[Fact]:
        """What the request itself says about training, for the rules."""
        return ()

    def fields_read(self) -> tuple[str, ...] | None:
        """The fields that are wanted; None: all."""
        return None


def _numbers(value: Any) -> Iterator[int | float]:
    """The numbers in a JSON value."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(inner)


_REFERENCE = re.compile(r"(?:.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*\Z")


def is_reference(source: str) -> bool:
    """Whether ``source`` has the form of a Python reference: ``file.py:name`` or ``package.module:name``."""
    return bool(_REFERENCE.match(source)) and "://" not in source


NO_DEVICE = "no CUDA device is visible to the measuring process"
NO_MODEL = "needs a model: pass model="
NO_CUDA = f"device='cuda' was requested, but {NO_DEVICE}; the CPU was used instead"


@dataclass(frozen=True)
class Measured:
    """What a tool draws its conclusions from: the facts, and the findings of checks and rules."""

    facts: Facts
    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]
    surroundings: Surroundings
    elapsed_s: float


@dataclass(frozen=True)
class Conclusion:
    """A conclusion before it becomes a result: the tool's own fields, its advice, summary and next steps."""

    fields: dict[str, Any]
    summary: str
    advice: Sequence[Advice] = ()
    next: Sequence[Next] = ()
    unknowns: Sequence[Unknown] = ()
    findings: Sequence[Finding] = field(default=())


@dataclass(frozen=True)
class Tool:
    """``recipe``: which probes run for a request; ``conclude``: from their facts to the result's fields, pure. A tool is one file
    here and one in ``recipes`` (see ``deferred``)."""

    name: str
    command: str
    title: str
    description: str
    request: type[Request]
    result: type[Report]
    recipe: Callable[[Any], tuple[Probe, ...]]
    conclude: Callable[[Any, Measured], Conclusion]
    limit: int = 12_000
    groups: bool = False
    """Whether findings that differ only by field are merged."""
    hint: str = ""
    unprinted: Mapping[str, Unknown] = field(default_factory=dict)
    """Probes, by name, whose result a terminal does not print, and what is said in its place: they are not run for one."""


def deferred(name: str) -> tuple[Callable[[Any], tuple[Probe, ...]], Callable[[Any, Measured], Conclusion]]:
    """``recipe`` and ``conclude`` of a module in ``recipes``, which is imported when one of them is first called: it imports
    probes, and a server opens without."""

    def module() -> Any:
        return importlib.import_module(f"dataloader_expert.tools.recipes.{name}")

    def recipe(request: Any) -> tuple[Probe, ...]:
        probes: tuple[Probe, ...] = module().recipe(request)
        return probes

    def conclude(request: Any, measured: Measured) -> Conclusion:
        said: Conclusion = module().conclude(request, measured)
        return said

    return recipe, conclude


def all_tools() -> dict[str, Tool]:
    """The tools in this folder, the most general first."""
    found = {}
    package = importlib.import_module("dataloader_expert.tools")
    for module in pkgutil.iter_modules(package.__path__):
        tool = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "TOOL", None)
        if tool is not None:
            found[tool.name] = tool
    order = ("analyze_dataset", "characterize_dataset", "recommend_batch_spec", "diagnose_io", "check_quality")
    return dict(sorted(found.items(), key=lambda kv: (order.index(kv[0]) if kv[0] in order else len(order), kv[0])))
