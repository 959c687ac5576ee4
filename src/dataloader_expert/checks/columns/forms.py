"""Texts that are dates or numbers: written in several ways, with other texts among them, or not usable before they are parsed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from dataloader_expert.checks.base import FORMS, Check, Context
from dataloader_expert.checks.common.places import Places, sample_of
from dataloader_expert.checks.common.wording import ABSENT as MARKS
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block, Column, runs
from dataloader_expert.sources.label_columns import are_lists
from dataloader_expert.sources.times import is_time, read_time

KINDS = {"number", "category", "text", "boolean", "other"}
LOOK = 64
"""Texts of a block that tell whether the others are worth a look."""
MOST = 0.9
"""The share of a field's values that must be dates, or numbers: names and codes may look like them now and then."""
BOTH = 0.1
"""The least share of numbers with a decimal point, and with a decimal comma, that makes it two ways of writing."""
FEW = 0.5
"""The share of numbers with thousands separators below which they are the exception."""
LONGEST = 40
"""Characters of the longest text that can be a date or a number."""
UNITS = 3
"""The most units of one field: house numbers and codes have more endings."""

VARIED = 4
"""So few distinct numbers among texts are codes, such as the 0 of a state holiday beside a, b and c."""
CODES = 5
"""The fewest codes with letters that make the numbers among them codes as well."""
KEPT = 1_000
"""Texts such as 2,19 that are kept to see whether they list numbers."""
OTHER, ABSENT, CODE, BOUND, TYPED, WHOLE, POINT, GROUPED, COMMA, UNIT, DATE = (
    "another text", "a missing value", "a code", "a bound", "a number", "12", "1.5", "1,000", "1,5", "in ", "date ",
)  # fmt: skip
"""Forms of values; those of units and dates go on with the unit or the format."""
OFFSET = " and offset"
"""What ends the name of a format with a time zone."""
POINTED = (TYPED, WHOLE, POINT, GROUPED)
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[,'\u2019 \u00a0\u202f]\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
_UNIT = re.compile(r"([$€£¥]\s?)?[-+]?(?:[\d.,'\u2019]*\d)(\s?(?:%|[$€£¥]|[A-Za-zµ°]{1,4}[\d²³]?(?:/[a-z]{1,3})?))?")
_CODE = re.compile(r"[A-Za-z]{1,3}[-_.]?\d+(?:[-._]\d+)*|\d{7,}[A-Za-z]")
"""Letters and a number; or a long one with its check character, as of books and of people."""
_LIMIT = (
    r"[$€£¥]?\d[\d.,]*(?:\s?(?:%|[A-Za-zµ°]{1,4}[²³]?(?:/[a-z]{1,3})?|(?:year|month|week|day|hour|minute|second)s?))?"
)
_BOUND = re.compile(
    rf"(?:[<>≤≥]=?|(?:(?:less|fewer|more) than|under|over|below|above|at least|at most|up to)\s)\s?{_LIMIT}"
    rf"|{_LIMIT}\s?(?:\+|(?:or|and) (?:less|fewer|more|under|over|below|above|older|younger|up))",
    re.I,
)
"""What is beyond a limit of detection, or beyond the last number that could be chosen."""
_CLOCK = r"(?P<clock>[T ,]+\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AaPp][Mm])?\s?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?)?"
_MARKS = [(mark, re.escape(mark)) for mark in "-/."]
_FORMATS = {
    **{f"YYYY{mark}MM{mark}DD": rf"\d{{4}}{m}\d{{1,2}}{m}\d{{1,2}}" for mark, m in _MARKS},
    **{f"DD{mark}MM{mark}YYYY": rf"(?P<a>\d{{1,2}}){m}(?P<b>\d{{1,2}}){m}\d{{4}}" for mark, m in _MARKS},
    **{f"DD{mark}MM{mark}YY": rf"(?P<a>\d{{1,2}}){m}(?P<b>\d{{1,2}}){m}\d\d" for mark, m in _MARKS},
    "DD Month YYYY": r"\d{1,2}(?:st|nd|rd|th)?[ -][A-Za-z]{3,9}\.?,?[ -]\d{4}",
    "Month DD, YYYY": r"[A-Za-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}",
}


class Forms(Check):
    ids = ("dtype-drift", "missing-values", "numbers-as-text")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind in KINDS and not f.shape]
        self.identifiers = context.identifiers
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        self.distinct: dict[str, set[str]] = {name: set() for name in self.fields}
        """Some of the texts of a field that are numbers."""
        self.parts: dict[tuple[str, str], set[str]] = {}
        """Some of a field's whole numbers, and of its texts with a comma between two."""
        self.examples: dict[tuple[str, str], tuple[int, str]] = {}
        """A field's first text of each form, with its sample; fields without such texts have none."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column = block.columns.get(name)
            if column is None:
                continue
            if not isinstance(column.values, list):
                self.counts[name][TYPED] += block.samples
                if len(self.distinct[name]) < VARIED:
                    self.distinct[name] |= {str(v) for v in column.values[:LOOK].reshape(-1).tolist()}
            elif block.samples <= LOOK or _worth_it(column):
                self._count(name, column, block)
            else:
                self.counts[name][OTHER] += sum(n for text, n in column.texts.items() if not text.isspace())
                some = next((i for i, v in enumerate(column.values) if isinstance(v, str) and v.strip()), None)
                if some is not None:
                    self._keep(name, OTHER, block, some, column.values[some])

    def _count(self, name: str, column: Column, block: Block) -> None:
        found: dict[str, list[int]] = {}
        for i, value in enumerate(column.values[: block.samples]):
            if isinstance(value, str):
                if text := value.strip():
                    found.setdefault(self._known(name, form_of(text)), []).append(i)
                    if len(self.distinct[name]) < VARIED and text[-1].isdigit():
                        self.distinct[name].add(text)
            elif value is not None:
                self.counts[name][TYPED] += 1
                if isinstance(value, int | float) and len(self.distinct[name]) < VARIED:
                    self.distinct[name].add(str(value))
        for form, at in found.items():
            self.counts[name][form] += len(at)
            for i in at[:MAX_PLACES]:
                self.where.add((name, form), block, i, name)
            kept = self.parts.setdefault((name, form), set()) if form in (WHOLE, COMMA) else None
            if kept is not None and len(kept) < KEPT:
                kept.update(column.values[i].strip() for i in at[:KEPT])
            self._keep(name, form, block, at[0], column.values[at[0]])

    def _keep(self, name: str, form: str, block: Block, i: int, text: str) -> None:
        """Keeps the text as the example of its form, unless an earlier sample has one."""
        first = block.index(i), text.strip()
        self.examples[name, form] = min(first, self.examples.get((name, form), first))

    def _known(self, name: str, form: str) -> str:
        """The form; one of further units than a field has is one of any unit, for codes have thousands of endings."""
        counts = self.counts[name]
        further = form.startswith(UNIT) and form not in counts and sum(f.startswith(UNIT) for f in counts) > 2 * UNITS
        return f"{UNIT}another unit" if further else form

    def merge(self, other: Check) -> None:
        assert isinstance(other, Forms)
        self.seen += other.seen
        self.where.merge(other.where)
        for name, counts in other.counts.items():
            self.counts[name] += counts
        for name, texts in other.distinct.items():
            self.distinct[name] |= texts
        for key, some in other.parts.items():
            self.parts.setdefault(key, set()).update(some)
        for key, first in other.examples.items():
            self.examples[key] = min(first, self.examples.get(key, first))

    def facts(self) -> Iterable[Fact]:
        for name in dict.fromkeys(name for name, _ in self.examples):
            counts = self.counts[name]
            kind, ways = known(counts)
            if kind is None or are_lists(self.parts.get((name, COMMA), set()), self.parts.get((name, WHOLE), set())):
                continue
            usual = ways[max(ways, key=lambda way: (sum(counts[form] for form in ways[way]), way))]
            odd = sorted(form for form in counts if form not in usual or form == GROUPED)
            places = [place for form in odd for place in self.where.of((name, form))]
            value = {
                "ways": {way: sum(counts[form] for form in forms) for way, forms in ways.items()},
                "examples": {way: self._example(name, forms) for way, forms in ways.items()},
                "odd": counts.total() - sum(counts[form] for forms in ways.values() for form in forms),
                "odd_example": self._example(
                    name, [f for f in counts if not any(f in forms for forms in ways.values())]
                ),
                "commas": counts[COMMA] if kind == "numbers" else 0,
                "codes": WHOLE in counts
                and (
                    counts[CODE] >= max(CODES, counts[OTHER])
                    or len(self.distinct[name]) < VARIED
                    or (name in self.identifiers and not counts[OTHER])  # 136A beside 136
                ),
                "absent": counts[ABSENT],
                "bounds": counts[BOUND],
                "texts_only": not counts[TYPED],
                "grouped": counts[GROUPED],
                "where": sorted(places, key=sample_of)[:MAX_PLACES],
            }
            yield Fact(FORMS, value, self.evidence(), {"field": name, "kind": kind})

    def _example(self, name: str, forms: Iterable[str]) -> str:
        """The first text of these forms, one with a mark before a plain number."""
        marked = [form for form in forms if form not in (WHOLE, POINT)]
        if any((name, form) in self.examples for form in marked):
            forms = marked
        return min((self.examples[name, form] for form in forms if (name, form) in self.examples), default=(0, ""))[1]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FORMS):
            yield from _judged(fact)


def known(counts: Counter[str]) -> tuple[str | None, dict[str, list[str]]]:
    """What a field's values are, ``dates``, ``numbers`` or None, and its forms by the way in which they are to be read."""
    least = MOST * counts.total()
    dates = [form for form in counts if form.startswith(DATE)]
    if sum(counts[form] for form in dates) >= least:
        return "dates", _formats(dates, counts)
    pointed = [form for form in counts if form in POINTED]
    units = [form for form in counts if form.startswith(UNIT)]
    point, comma = sum(counts[form] for form in pointed), counts[COMMA]
    if point >= least:
        return "numbers", {WHOLE if {*pointed} == {WHOLE} else POINT: pointed}
    if point + comma >= least and min(counts[POINT] + counts[TYPED], comma) >= BOTH * counts.total():
        return "numbers", {POINT: pointed, COMMA: [COMMA]}
    if point + comma + sum(counts[form] for form in units) >= least and len(units) <= UNITS:
        return "numbers", {"marked": [*pointed, *units, *([COMMA] if comma else [])]}
    return None, {}


def _formats(dates: list[str], counts: Counter[str]) -> dict[str, list[str]]:
    """The forms of each format. Where a day is beyond 12, it tells its place from the month's; other dates go with those."""
    formats = {form.removeprefix(DATE): [form] for form in dates if not form.endswith("?")}
    for form in dates:
        if form.endswith("?"):
            day_first = form.removeprefix(DATE)[:-1]
            sure = [f for f in (day_first, _swapped(day_first)) if f in formats]
            to = max(sure, key=lambda f: (counts[DATE + f], f), default=day_first)
            formats.setdefault(to, []).append(form)
    return formats


def _judged(fact: Fact) -> Iterator[Finding]:
    name, dates, v = str(fact.at["field"]), fact.at["kind"] == "dates", fact.value
    ways: dict[str, int] = v["ways"]
    what = "dates" if dates else "numbers"
    marked = (
        f"; {number(v['grouped'], 'number')} {verb(v['grouped'], 'have')} thousands separators" if v["grouped"] else ""
    )
    if len(ways) > 1:
        ordered = sorted(ways, key=lambda way: (-ways[way], way))
        shown = ", ".join(
            f"{ways[way]:,}{f' as {way}' if dates else ''}"
            + (f" such as {v['examples'][way]!r}" if v["examples"][way] else "")
            for way in ordered
        )
        in_ = f"in {len(ways)} formats" if dates else "with a decimal point and with a decimal comma"
        fix = "write all dates as YYYY-MM-DD: readers that guess fail, or swap day and month"
        if len({way.removesuffix(OFFSET) for way in ways}) == 1:
            fix = "write all times with a UTC offset: the time zone of the others is unknown"
        rest = sum(ways.values()) - max(ways.values())
        yield finding(
            "dtype-drift",
            "warning",
            f"{name} has {what} {in_}: {shown}",
            fact,
            fix if dates else "write all numbers with a decimal point",
            v["where"],
            rest,
        )
    elif v["odd"] and v["codes"] and not dates:
        yield finding(
            "dtype-drift",
            "info",
            f"{name} holds codes: most are digits only, but {number(v['odd'], 'text')} such as {v['odd_example'][:LONGEST]!r} {verb(v['odd'], 'are')} not",
            fact,
            "read the column as text: a number parser drops leading zeros, and fails on these codes",
            v["where"],
            v["odd"],
        )
    elif v["odd"] and v["odd"] == v["absent"] and not dates:
        yield finding(
            "missing-values",
            "warning",
            f"{name} has the text {v['odd_example'][:LONGEST]!r} in place of a number in {number(v['odd'], 'sample')}",
            fact,
            "read it as missing, for example with pandas' na_values: otherwise the whole column is read as text",
            v["where"],
            v["odd"],
        )
    elif v["odd"] and v["odd"] == v["bounds"] and not dates:
        yield finding(
            "dtype-drift",
            "info",
            f"{name} mixes numbers with bounds such as {v['odd_example'][:LONGEST]!r} ({number(v['odd'], 'sample')})",
            fact,
            "choose a number for each bound, or read the column as classes: a number parser fails on them",
            v["where"],
            v["odd"],
        )
    elif v["odd"] and "marked" not in ways:
        yield finding(
            "dtype-drift",
            "warning",
            f"{name} has {what} except for {number(v['odd'], 'text')} such as {v['odd_example'][:LONGEST]!r}{marked}",
            fact,
            _cure(v["odd"], v["commas"]),
            v["where"],
            v["odd"],
        )
    elif not dates and v["texts_only"] and WHOLE not in ways:  # identifiers and postal codes are whole numbers too
        [(way, n)] = ways.items()
        few = 0 < v["grouped"] < FEW * n  # a parser of plain numbers reads most of them, and then fails
        yield finding(
            "numbers-as-text",
            "warning" if few else "info",
            f"{name} has {n:,} numbers stored as text, such as {v['examples'][way]!r}{marked}",
            fact,
            "parse them into numbers, without separators and units"
            if marked or way == "marked"
            else "parse them into numbers",
            v["where"] if few else [{"field": name}],
            v["grouped"] if few else n,
        )


def _cure(odd: int, commas: int) -> str:
    """What to do about texts among numbers, of which so many are numbers with a decimal comma."""
    others = "correct these values, or leave them empty if they mean a missing value"
    if not commas:
        return others
    cure = "read numbers with a decimal comma with decimal=',', or write all numbers with a decimal point"
    return cure if commas == odd else f"{cure}; {others.replace('these values', 'the others')}"


def _worth_it(column: Column) -> bool:
    """Whether at least half of some values are dates or numbers."""
    some = [column.values[i] for i in runs(len(column.values), LOOK)]
    if not all(value is None or isinstance(value, str) for value in some):
        return True  # texts among numbers
    texts = [v.strip() for v in some if isinstance(v, str) and v.strip()]
    return bool(texts) and sum(form_of(text) not in (OTHER, ABSENT, CODE) for text in texts) * 2 >= len(texts)


@lru_cache(1 << 14)
def form_of(text: str) -> str:
    """How a date or a number is written. A date ends with ``?`` if its first number may be the day or the month; one that no calendar has,
    such as February 30, is another text."""
    if len(text) > LONGEST:
        return OTHER
    if _PLAIN.fullmatch(text):
        return WHOLE if text.lstrip("+-").isdigit() else POINT
    if not any(map(str.isdigit, text)):
        return ABSENT if text.casefold() in MARKS else OTHER
    for name, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return OTHER if is_time(text) and read_time(text) == (None, None) else DATE + _format(name, found)
    if _GROUPED.fullmatch(text):
        return GROUPED
    if _COMMA.fullmatch(text):
        return COMMA
    if _CODE.fullmatch(text):
        return CODE
    if _BOUND.fullmatch(text):
        return BOUND
    found = _UNIT.fullmatch(text)
    return UNIT + (found[1] or found[2]).strip() if found is not None and (found[1] or found[2]) else OTHER


@lru_cache(1)
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Compiled when the first text is looked at."""
    return [(name, re.compile(pattern + _CLOCK)) for name, pattern in _FORMATS.items()]


def _format(name: str, found: re.Match[str]) -> str:
    groups = found.groupdict()
    timed = f" with time{OFFSET}" if groups["zone"] else " with time" if groups["clock"] else ""
    if "a" not in groups:
        return name + timed
    first, second = int(groups["a"]), int(groups["b"])
    if first <= 12 and second <= 12:
        return f"{name}{timed}?"
    return (name if second <= 12 else _swapped(name)) + timed


def _swapped(name: str) -> str:
    return name.replace("DD", "?").replace("MM", "DD").replace("?", "MM")


CHECK = Forms
