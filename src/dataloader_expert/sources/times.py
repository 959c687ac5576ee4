"""Times in texts as comparable seconds: 12/2023 is earlier than 02/2024."""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta
from typing import Any

READINGS = ("day first", "month first")
"""03/04/2024 is ambiguous: a column is read both ways until one of its values allows only one."""
Read = tuple[float | None, float | None]
"""Seconds since 1970 by each reading; None if the text is not a time by it."""

MONTHS = {
    m: i + 1 for i, m in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
CLOCK = r"(?:[T ,]+(?P<h>\d{1,2}):(?P<mi>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<half>[AaPp][Mm])?)?"
ZONE = r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
_NAME = r"(?P<name>[A-Za-z]{3})[a-z]*\.?"


@functools.cache
def shapes() -> tuple[re.Pattern[str], ...]:
    """Compiled when a text is first read as a time, since a starting server reads none."""
    return tuple(
        re.compile(rf"\s*(?:[A-Za-z]{{3,9}},\s*)?{date}{CLOCK}{ZONE}\s*\Z")
        for date in (
            r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?:(?P=sep)(?P<d>\d{1,2}))?",
            r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})",
            r"(?P<a>\d{1,2})(?P<sep>[-/. ])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4}|\d{2})",
            r"(?P<m>0?[1-9]|1[0-2])[-/.](?P<y>[12]\d{3})",
            r"(?P<y>\d{4})[ -]?[Qq](?P<q>[1-4])",
            r"[Qq](?P<q>[1-4])[ /-]?(?P<y>\d{4})",
            rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[ -]{_NAME}[ ,-]+(?P<y>\d{{4}})",
            rf"{_NAME}[ -](?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?[ -]+(?P<y>\d{{4}})",
            rf"{_NAME}[ ,/-]+(?P<y>\d{{4}})",
            r"(?P<y>\d{4})",
        )
    )


def read_time(value: Any) -> Read:
    """A value as a time; a number already is one, in the unit of its column."""
    if not isinstance(value, str):
        try:
            number = float(value)
        except (TypeError, ValueError):
            return None, None
        return number, number
    for shape in shapes():
        found = shape.match(value)
        if found is not None:
            parts = found.groupdict()
            if parts.get("a") is None:
                seconds = _seconds(parts, parts.get("m"), parts.get("d"))
                return seconds, seconds
            return _seconds(parts, parts["b"], parts["a"]), _seconds(parts, parts["a"], parts["b"])
    try:
        number = float(value)
    except ValueError:
        return None, None
    return number, number


def is_time(text: str) -> bool:
    """Whether a text is a date or a time, not a plain number."""
    return not text.strip().isdigit() and any(shape.match(text) for shape in shapes())


def _seconds(parts: dict[str, str | None], month: str | None, day: str | None) -> float | None:
    if parts.get("name") is not None:
        named = MONTHS.get(str(parts["name"]).lower())
        if named is None:
            return None
        month = str(named)
    elif parts.get("q") is not None:
        month = str(3 * int(str(parts["q"])) - 2)
    year = int(str(parts["y"]))
    if len(str(parts["y"])) == 2:
        year += 2000 if year < 69 else 1900  # as POSIX interprets them
    hour = int(parts["h"] or 0)
    if parts["half"] is not None:
        hour = hour % 12 + (12 if parts["half"].lower() == "pm" else 0)
    try:
        whole = datetime(year, int(month or 1), int(day or 1), hour, int(parts["mi"] or 0), tzinfo=UTC)
    except ValueError:
        return None  # no such day
    zone = parts["zone"]
    if zone is not None and zone[0] in "+-":
        shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        try:
            whole = whole - shift if zone[0] == "+" else whole + shift
        except OverflowError:  # the last possible day, in another time zone
            return None
    return whole.timestamp() + int(parts["s"] or 0) + float(f"0.{parts['f'] or 0}")
