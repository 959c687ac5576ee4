"""One finding for one cause: what is found of many fields in the same words is told of the first, and names the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from dataloader_expert.conclusions import MAX_PLACES, Finding

MANY, NAMED = 8, 3
"""From how many findings on they are told as one, and how many of the others that names."""
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"-?\d[\d,.]*(?:e[-+]?\d+)?%?")


def told_once(found: Iterable[Finding], fields: Collection[str]) -> list[Finding]:
    """The findings, where those that differ in names of fields and in numbers alone are one if they are many."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for one in found:
        alike.setdefault((one.code, one.severity, _form(one.message, fields)), []).append(one)
    return [one for of in alike.values() for one in (of if len(of) < MANY else [_together(of, fields)])]


def _form(message: str, fields: Collection[str]) -> str:
    return _NUMBER.sub("#", _WORD.sub(lambda m: "*" if m[0] in fields else m[0], message))


def _together(of: list[Finding], fields: Collection[str]) -> Finding:
    first, *others = of
    named = [" and ".join(dict.fromkeys(w for w in _WORD.findall(one.message) if w in fields)) for one in others]
    shown = ", ".join(name for name in named[:NAMED] if name) + (", …" if len(others) > NAMED else "")
    places = [place for one in of for place in one.where[:1]][:MAX_PLACES]
    text = f"{first.message}; the same holds for {len(others)} more fields or pairs of fields ({shown})"
    return replace(first, message=text, where=tuple(places), evidence=first.evidence)
