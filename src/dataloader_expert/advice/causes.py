"""Findings in the order in which to fix them, similar ones merged, and the one that a summary begins with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from dataloader_expert.conclusions import MAX_PLACES, Finding, capital

SYMPTOMS = {"accelerator-starves", "no-timeout", "cache-warm", "order-from-global-rng", "not-pinned", "suspicious-text"}
"""Consequences of something else, and what costs nothing at present: a summary does not begin with these."""
ELSEWHERE = {"unpicklable"}
"""What matters with other start methods of workers, unless it is an error with the present one."""
CORRECTNESS = {"errors-hidden"}
"""Warnings of what makes training wrong, not slow: they come before what costs time."""
PLACES = {"costly-line"}
"""What says where the time goes: as an info it knows no cause, so a summary does not begin with it, and known causes come before it."""
DEAR = 0.1
"""The share of time from which a finding that is no error counts by its cost, whatever its severity."""
CHEAP = 0.02
"""A finding that is no error and costs less of the time is not what to fix first."""
ALIKE_FROM = 3
"""From this many findings of one code, each about one field, they are merged into one."""
NAMED = 5


class Ranked(Protocol):
    """A finding, or its line in a report."""

    @property
    def code(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def cost(self) -> float | None: ...


F = TypeVar("F", bound=Ranked)


def ordered(findings: Iterable[F]) -> list[F]:
    """Errors; hidden ones; then what costs time, the most costly first; the other warnings; costs of unknown cause; the rest."""

    def rank(f: F) -> tuple[int, float]:
        cost = f.cost or 0.0
        if f.severity == "error":
            return 0, -cost
        if f.code in CORRECTNESS:
            return 1, -cost
        if f.code in ELSEWHERE or (f.cost is not None and cost < CHEAP):
            return 5, -cost
        if _of_unknown_cause(f):
            return 4, -cost
        if cost >= DEAR:
            return 2, -cost
        if f.severity == "warning":
            return (3 if f.cost is None else 4), -cost
        return 5, -cost

    return sorted(findings, key=rank)


def _of_unknown_cause(f: Ranked) -> bool:
    return f.code in PLACES and f.severity == "info"


def grouped(findings: Sequence[Finding]) -> list[Finding]:
    """Merges findings of one code that differ only by field into one with all places, where the first stood; several of one field
    say several things."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        alike.setdefault((one.code, one.severity), []).append(one)
    out, told = [], set()
    for one in findings:
        key = one.code, one.severity
        fields = [_field(f) for f in alike[key]]
        if len(fields) < ALIKE_FROM or None in fields or len({*fields}) == 1:
            out.append(one)
        elif key not in told:
            told.add(key)
            out.append(_together(alike[key], [str(f) for f in fields]))
    return out


def _field(one: Finding) -> str | None:
    names = {place.get("field") for place in one.where}
    found = names.pop() if len(names) == 1 else None
    return None if found is None else str(found)


def _together(alike: list[Finding], fields: list[str]) -> Finding:
    names = list(dict.fromkeys(fields))
    listed = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    first = alike[0]
    return replace(
        first,
        message=f"{len(names)} fields ({listed}); for the first: {first.message}",
        where=tuple(place for f in alike for place in f.where)[:MAX_PLACES],
        count=sum(f.count for f in alike),
        evidence=tuple(e for f in alike[:NAMED] for e in f.evidence),
    )


def cause(findings: Iterable[F]) -> F | None:
    """What to fix first: an error, what costs most, or a warning."""
    dear = (f for f in ordered(findings) if f.severity != "info" or (f.cost or 0.0) >= DEAR)
    serious = (f for f in dear if not _of_unknown_cause(f))
    told = (f for f in serious if f.code not in SYMPTOMS and (f.severity == "error" or f.code not in ELSEWHERE))
    return next((f for f in told if f.severity == "error" or f.cost is None or f.cost >= CHEAP), None)


def in_a_sentence(found: Finding) -> str:
    """The finding and its fix, as sentences."""
    return f"{capital(found.message)}. Fix: {found.fix}."
