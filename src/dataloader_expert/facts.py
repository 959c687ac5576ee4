"""Facts: what was measured, how, and from how much. The ground floor: standard library only.

A number never travels without its evidence, and two numbers that are not comparable do not merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

How = Literal["counted", "sampled", "timed", "probed", "declared", "derived"]
"""counted: all looked at; sampled: a seeded part; timed: warm-ups dropped, spread kept; probed: bracketed by
trying; declared: the format's metadata says so; derived: computed from named facts."""

Json = Any


@dataclass(frozen=True)
class Quantity:
    """A thing that can be measured: declared once, next to the code that measures it."""

    name: str
    unit: str
    says: str


@dataclass(frozen=True)
class Evidence:
    """How a value was obtained. ``interval`` is a 95 % interval, ``spread`` the range of repeated observations."""

    how: How
    by: str
    seen: int | None = None
    population: int | None = None
    interval: tuple[float, float] | None = None
    spread: tuple[float, float] | None = None
    seed: int | None = None
    conditions: Mapping[str, Json] = field(default_factory=dict)
    seconds: float | None = None
    derived_from: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if _said(getattr(self, f.name))}

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Evidence:
        given = dict(data)
        for name in ("interval", "spread"):
            if given.get(name) is not None:
                given[name] = tuple(given[name])
        given["derived_from"] = tuple(given.get("derived_from", ()))
        return Evidence(**given)


@dataclass(frozen=True)
class Fact:
    """One quantity's value at one point (such as ``{"workers": 4}``), with its evidence."""

    quantity: Quantity
    value: Json
    evidence: Evidence
    at: Mapping[str, Json] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, tuple[tuple[str, Json], ...]]:
        return self.quantity.name, tuple(sorted((k, str(v)) for k, v in self.at.items()))

    def to_json(self) -> dict[str, Json]:
        q = self.quantity
        return {
            "quantity": {"name": q.name, "unit": q.unit, "says": q.says},
            "value": self.value,
            "at": dict(self.at),
            "evidence": self.evidence.to_json(),
        }

    @staticmethod
    def from_json(data: Mapping[str, Json]) -> Fact:
        return Fact(
            Quantity(**data["quantity"]),
            data["value"],
            Evidence.from_json(data["evidence"]),
            dict(data.get("at", {})),
        )

    def cite(self) -> dict[str, Json]:
        """The short form in which findings and advice name this fact."""
        return {
            "fact": self.quantity.name,
            "at": dict(self.at),
            "value": _short(self.value),
            "unit": self.quantity.unit,
            "how": self.evidence.how,
        }


@dataclass(frozen=True)
class Unknown:
    """What could not be measured, and why. A report that omits its unknowns would mislead."""

    what: str
    why: str

    def to_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}


class Clash(ValueError):
    """Two different values were given for the same quantity at the same point."""


def in_bytes(value: float) -> str:
    """Bytes in words, in the nearest unit of 1000: ``1.5 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


class Facts:
    """An ordered set of facts; refuses two different values at one point."""

    def __init__(self, facts: tuple[Fact, ...] = ()) -> None:
        self._facts: dict[tuple[str, tuple[tuple[str, Json], ...]], Fact] = {}
        self._of: dict[tuple[Json, ...], list[Fact]] = {}
        """The facts of each quantity, and of each of its fields: most are asked for one field at a time."""
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Raises:
        Clash: if another value is known for this quantity at this point.
        """
        known = self._facts.get(fact.key)
        if known is not None and known.value != fact.value:
            raise Clash(
                f"{fact.quantity.name} at {dict(fact.at)} is {known.value!r} by {known.evidence.by} and "
                f"{fact.value!r} by {fact.evidence.by}: measure it once, or at two points"
            )
        if known is None:
            self._facts[fact.key] = fact
            self._of.setdefault((fact.quantity.name,), []).append(fact)
            self._of.setdefault((fact.quantity.name, fact.at.get("field")), []).append(fact)

    def take(self, other: Facts) -> None:
        """Adds all of another's facts, or none.

        Raises:
            Clash: if another value is known for one of them.
        """
        mine = Facts()
        mine._facts = {key: self._facts[key] for key in other._facts if key in self._facts}
        for fact in other:
            mine.add(fact)
        for fact in other:
            self.add(fact)

    def merge(self, other: Facts) -> Facts:
        return Facts((*self, *other))

    def find(self, quantity: Quantity, **at: Json) -> Fact | None:
        """The fact of this quantity whose point matches ``at``; the first if several do."""
        return next(self.all(quantity, **at), None)

    def value(self, quantity: Quantity, default: Json = None, **at: Json) -> Json:
        fact = self.find(quantity, **at)
        return default if fact is None else fact.value

    def all(self, quantity: Quantity, **at: Json) -> Iterator[Fact]:
        of = (quantity.name, at["field"]) if "field" in at else (quantity.name,)
        for fact in self._of.get(of, ()):
            if all(fact.at.get(k) == v for k, v in at.items()):
                yield fact

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __len__(self) -> int:
        return len(self._facts)


def _said(value: Json) -> bool:
    return value is not None and value != () and value != {}


def _plain(value: Json) -> Json:
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


def _short(value: Json) -> Json:
    """A structured value reduced to its plain entries; lists are replaced by their length."""
    if isinstance(value, Mapping):
        plain = {k: v for k, v in value.items() if v is None or isinstance(v, str | int | float)}
        return dict(list(plain.items())[:8])
    return {"items": len(value)} if isinstance(value, list) else value
