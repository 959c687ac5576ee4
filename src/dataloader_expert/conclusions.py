"""Conclusions: findings and advice. Each names at least one fact that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dataloader_expert.facts import Fact, Json

Severity = Literal["error", "warning", "info"]
MAX_PLACES = 20


@dataclass(frozen=True)
class Finding:
    """Something wrong or noteworthy. ``where`` has at most 20 places ``{file?, sample?, split?, field?}``; ``cost`` is the
    share of the loading time that its fix would save, if known."""

    code: str
    severity: Severity
    message: str
    evidence: tuple[dict[str, Json], ...]
    fix: str
    where: tuple[dict[str, Json], ...] = ()
    count: int = 1
    cost: float | None = None

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"finding {self.code} names no fact: give the facts that show it")

    def to_json(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "evidence": [dict(e) for e in self.evidence],
            "fix": self.fix,
            "where": [dict(w) for w in self.where],
            "count": self.count,
            "cost": self.cost,
        }

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Finding:
        given = dict(data)
        return Finding(**{**given, "evidence": tuple(given["evidence"]), "where": tuple(given["where"])})


@dataclass(frozen=True)
class Advice:
    """One setting: its value, instead of which one, why, what it gains and what it costs."""

    setting: str
    value: Json
    instead_of: Json
    why: str
    gain: Mapping[str, Json] | None
    cost: str
    evidence: tuple[dict[str, Json], ...]
    only_if: str | None = None
    """What it depends on and was not measured, without which it may do harm."""

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"advice on {self.setting} names no fact: give the facts that show it")

    def to_json(self) -> dict[str, Json]:
        return {
            "setting": self.setting,
            "value": self.value,
            "instead_of": self.instead_of,
            "why": self.why,
            "gain": None if self.gain is None else dict(self.gain),
            "cost": self.cost,
            "evidence": [dict(e) for e in self.evidence],
            "only_if": self.only_if,
        }


def finding(
    code: str,
    severity: Severity,
    message: str,
    facts: Fact | Sequence[Fact],
    fix: str,
    where: Sequence[Mapping[str, Json]] = (),
    count: int = 1,
    cost: float | None = None,
) -> Finding:
    """A finding that cites ``facts``; keeps the first 20 places."""
    cited = [facts] if isinstance(facts, Fact) else facts
    places = tuple({k: v for k, v in place.items() if v not in (None, "")} for place in list(where)[:MAX_PLACES])
    return Finding(
        code,
        severity,
        message,
        tuple(f.cite() for f in cited),
        fix,
        places,
        count,
        None if cost is None else round(cost, 4),
    )


def saved(gain: float) -> float:
    """The share of the time that a gain in throughput saves."""
    return max(0.0, 1 - 1 / gain)


def number(n: int, noun: str) -> str:
    """So many: ``1 image``, ``3 images``."""
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith(('s', 'x')) else 's'}"


def capital(text: str) -> str:
    """A sentence with a capital letter, unless it begins with a code or a name."""
    first = text.split(" ", 1)[0].replace("-", "")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def verb(n: int, phrase: str) -> str:
    """The phrase, which begins with a verb in the plural, as it is said of so many."""
    first, space, rest = phrase.partition(" ")
    if n != 1:
        return phrase
    return _OF_ONE.get(first, f"{first}s") + space + rest


_OF_ONE = {"are": "is", "have": "has", "were": "was", "carry": "carries", "do": "does"}
