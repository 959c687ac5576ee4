"""What is wrong with the arguments of a tool, in words: the same for a client and at a terminal."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from dataloader_expert.errors import escaped

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from dataloader_expert.tools.base import Request

KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a finite number",
    "string": "a string",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "bool": "true or false",
}
"""By the first word of pydantic's type of an error: what the value must be."""
RULES = {
    "Input should be ": "must be ",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "Value error, ": "",
}
"""How pydantic says a rule, and how it is said here."""


def invalid(model: type[Request], arguments: dict[str, Any]) -> str | None:
    """All that is wrong with the arguments; None if they are valid."""
    from pydantic import ValidationError

    known = list(model.model_fields)
    unknown = {name: _nearest(name, known) for name in arguments if name not in known}
    told = [f"{escaped(name)} is not an argument; {_hint(near, known)}" for name, near in unknown.items()]
    given = {name: value for name, value in arguments.items() if name in known}
    try:
        model.model_validate(given)
    except ValidationError as e:
        meant = {near for near in unknown.values() if near is not None}
        told += _each(e, model, given, meant)
    return _joined(told) if told else None


def in_words(error: ValidationError, model: type[Request], given: Mapping[str, Any]) -> str:
    """All that is wrong with the arguments ``given``."""
    return _joined(_each(error, model, given, set()))


def _each(error: ValidationError, model: type[Request], given: Mapping[str, Any], meant: set[str]) -> list[str]:
    """One text for each argument that is wrong; ``meant``: arguments that were given under another name."""
    by_place: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for one in error.errors():
        if one["type"] != "missing" or one["loc"][0] not in meant:
            by_place.setdefault(_place(one, given), []).append(one)
    if meant:  # arguments that do not go together may do so once they are named right
        by_place.pop((), None)
    inner = {place[:-1] for place in by_place if place}  # an entry that is wrong says more than its list
    return [_in_words(place, found, model) for place, found in by_place.items() if not place or place not in inner]


def _place(one: ErrorDetails, given: Any) -> tuple[str | int, ...]:
    """Where the value is in the arguments, without pydantic's names of the kinds that it may be of."""
    place: list[str | int] = []
    value = given
    for part in one["loc"]:
        holds = isinstance(value, Mapping) if isinstance(part, str) else isinstance(value, Sequence)
        there = holds and (part in value if isinstance(part, str) else part < len(value))
        if there:
            value = value[part]
        if there or (one["type"] == "missing" and part == one["loc"][-1]):
            place.append(part)
    return tuple(place)


def _in_words(place: tuple[str | int, ...], found: list[ErrorDetails], model: type[Request]) -> str:
    first = next((one for one in found if _kind(one) is None), found[0])  # a rule says more than a kind
    if not place:  # several arguments that do not go together
        return _rule(first["msg"])
    name = ".".join(escaped(part) for part in place)
    field = model.model_fields.get(str(place[0]))
    if first["type"] == "missing" and field is not None:
        return f"{name} is missing; give a {field.description}"
    if first["type"] == "extra_forbidden" and field is not None:
        known = next((list(k.model_fields) for k in get_args(field.annotation) if hasattr(k, "model_fields")), [])
        return f"{name} is not known; {_hint(_nearest(str(place[-1]), known), known)}"
    if first["type"] == "value_error":  # which says what was given
        return f"{name}: {_rule(first['msg'])}"
    value = first.get("input")
    kinds = " or ".join(dict.fromkeys(kind for one in found if (kind := _kind(one)) is not None))
    if _kind(first) is None:
        return f"{name}: {_rule(first['msg'])}; given: {escaped(value, 60)}"
    quoted = ", not a string" if isinstance(value, str) and kinds in (KINDS["dict"], KINDS["list"]) else ""
    return f"{name}: must be {kinds}{quoted}; given: {escaped(repr(value), 60)}"


def _kind(one: ErrorDetails) -> str | None:
    """What kind of value is wanted, if it is of another; None if the value breaks a rule."""
    first, _, rest = one["type"].partition("_")
    of_a_kind = rest.endswith("type") or rest in ("parsing", "from_float", "number") or rest.startswith("attributes")
    return KINDS.get(first) if of_a_kind else None


def _rule(said: str) -> str:
    for theirs, ours in RULES.items():
        said = said.replace(theirs, ours)
    return said


def _nearest(name: str, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name, known, 1)), None)


def _hint(near: str | None, known: Sequence[str]) -> str:
    return f"did you mean {near}?" if near else f"known are {', '.join(known)}"


def _joined(told: Sequence[str]) -> str:
    """Several texts, each a sentence."""
    return " ".join(text if text.endswith("?") or i == len(told) - 1 else f"{text}." for i, text in enumerate(told))
