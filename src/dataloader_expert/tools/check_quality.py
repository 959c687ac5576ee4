"""Whether the data are fit for training: the checklist, the status of every check, every finding with its places."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator, model_validator

from dataloader_expert.errors import escaped
from dataloader_expert.facts import Unknown
from dataloader_expert.report import How, Model, Report
from dataloader_expert.tools.base import Request as Common
from dataloader_expert.tools.base import Tool, deferred

Status = Literal["pass", "fail", "unknown"]


class Request(Common):
    near_duplicates: bool = Field(True, description="look for near duplicates too")
    group: str | None = Field(None, description="field that must not straddle splits, e.g. patient")
    time: str | None = Field(None, description="time field; train must come first")
    transform: str | None = Field(None, description="file.py:name; its output is checked too")
    vocab_size: int | None = Field(None, gt=0, description="of the tokenizer")
    pad_id: int | None = Field(None, ge=0, description="padding token")
    max_length: int | None = Field(None, gt=0, description="in tokens")
    checks: list[str] | None = Field(None, description="only these codes")

    @field_validator("checks")
    @classmethod
    def _known(cls, given: list[str] | None) -> list[str] | None:
        from dataloader_expert.checks.base import all_checks  # not before a check is named: a server opens without

        known = sorted({id_ for check in all_checks().values() for id_ in check.ids})
        for code in given or ():
            if code not in known:
                near = nearest(code, known)
                hint = f"did you mean {_either(near)}?" if near else f"known are {', '.join(known)}"
                raise ValueError(f"{escaped(code)} is not a check; {hint}")
        return given

    @model_validator(mode="after")
    def _near_or_not(self) -> Request:
        near = [code for code in self.checks or () if code in OF_NEAR]
        if near and not self.near_duplicates:
            raise ValueError(
                f"checks includes {' and '.join(near)}, but near_duplicates=false turns that search off: remove one of them"
            )
        return self


OF_NEAR = ("near-duplicates", "splits-near-overlap")
"""Codes of what only a search for near duplicates finds."""
TYPO, STEM = 0.85, 4
"""How alike a code is to the one meant if it is misspelt, and the letters that words of one stem share at least."""


def nearest(code: str, known: Sequence[str]) -> list[str]:
    """The known codes that may be meant: the one that is misspelt, else all that share the most words with it."""
    misspelt = difflib.get_close_matches(code, known, 1, TYPO)
    if misspelt:
        return misspelt
    words = [word for word in re.split(r"[^a-z]+", code.lower()) if len(word) >= STEM]
    shared = {other: sum(any(_of_one_stem(w, v) for v in other.split("-")) for w in words) for other in known}
    most = max(shared.values(), default=0)
    return [other for other, n in shared.items() if n == most] if most else difflib.get_close_matches(code, known, 1)


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _of_one_stem(one: str, other: str) -> bool:
    short, long = sorted((one.rstrip("s"), other.rstrip("s")), key=len)
    return len(short) >= STEM and long.startswith(short)


class RoleLine(Model):
    role: Literal["split", "group", "time", "key"]
    field: str
    how: str


class SplitLine(Model):
    """A split; ``early``: its samples that are earlier than the last training sample, null without a time field."""

    name: str
    samples: int
    early: int | None


class Groups(Model):
    """Number of values of the group field, and of those with samples in more than one split."""

    field: str
    total: int
    in_several_splits: int


class Overlap(Model):
    """Distinct samples that two splits share, and pairs of near duplicates across them."""

    splits: list[str]
    exact: int
    near: int


class Place(Model):
    file: str | None
    sample: int
    split: str | None


class Pair(Model):
    """Two samples that are equal, or nearly so."""

    kind: Literal["exact", "near"]
    one: Place
    other: Place


class Treatment(Model):
    """A fix of the finding ``code``: what it changes (``unit``: samples or values), and the effect."""

    code: str
    field: str | None
    do: str
    changed: int
    unit: str
    before: dict[str, float | None]
    after: dict[str, float | None]
    how: How


class Checklist(Model):
    no_corrupted_files: Status
    shapes_consistent: Status
    no_nan_or_inf: Status
    imbalance_strategy_defined: Status
    splits_disjoint: Status


class CheckLine(Model):
    id: str
    status: Literal["pass", "warn", "fail", "unknown"]
    count: int
    scanned: int
    how: How
    field: str | None = None


class Fields(Model):
    passed: bool | None
    not_checked: list[str]
    checklist: Checklist
    checklist_why: dict[str, str]
    checks: list[CheckLine]
    passed_checks: list[str]
    roles: list[RoleLine]
    splits: list[SplitLine]
    groups: Groups | None
    overlaps: list[Overlap]
    pairs: list[Pair]
    treatments: list[Treatment]
    code: str | None


class Result(Report, Fields):
    pass


TOOL = Tool(
    "check_quality",
    "check",
    "Check data quality",
    "Whether data can be trusted: corrupt or truncated files, NaN/Inf, missing values, inconsistent shapes, exact and near "
    "duplicates, leakage and drift between train and test, wrong or conflicting labels, severe imbalance. Returns passed, a "
    "checklist, findings with places and fixes. Read-only. Seconds.",
    Request,
    Result,
    *deferred("check_quality"),
    unprinted={
        "repeating": Unknown(
            "code", "pass --json or --html to get a pytest file of these checks, where these data have one"
        )
    },
    hint="validate data sanity gate corrupted truncated files fail to open unreadable NaN loss empty cells missing duplicates leak leakage same pictures in both splits train test overlap validation accuracy suspiciously high odd samples consistent wrong labels",
)
