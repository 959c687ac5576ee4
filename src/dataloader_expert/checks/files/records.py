"""Objects within samples, such as the turns of a conversation in a line of JSON: keys, types and texts unlike the others'."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.checks.common.wording import DEEPEST, FEW, FIXES, KINDS, ONCE, STRIP, kinds_of, said_by_others
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import role_of

ODD = Quantity(
    "odd_records", "values", "values within nested objects that are unlike the others at the same path, with samples"
)
LEAST = 20
"""The fewest values at one path of which a few can be odd."""
KEY_SETS = 64
"""Different sets of keys at one path; where there are more, the keys are data themselves."""
KEPT = 4096
"""Kinds that are counted: those with the smallest digests, whatever the order in which they came."""
TYPES = {bool: "boolean", int: "number", float: "number", str: "text", list: "list", tuple: "list", dict: "object"}
NUMBERS = {int, float}
NOTHING = "null"
STOPS, SENTENCE = {".", ",", "?", "!"}, 8
"""What stands alone in a sentence that is a list of words, and the fewest of these: choices are fewer, and one of them may be a mark."""
APART = "\x1f"
"""Between the keys of an object."""

Kind = tuple[str, str, str]
"""Path, what is counted (``keys``, ``type``, ``text``, ``length``), and its value."""
Place = tuple[Block, int, str]
CODES = {"type": "dtype-drift", "length": "empty-sequence", "keys": "missing-key"}


class Records(Check):
    ids = (
        "missing-key",
        "missing-values",
        "dtype-drift",
        "empty-sequence",
        "blank-text",
        "suspicious-text",
        "encoding-error",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = context.nested
        self.texts = [f.name for f in context.fields if f.kind == "text"]
        self.split: str | None = None
        """That of the sample that is looked at."""
        self.counts: Counter[Kind] = Counter()
        self.digests: dict[Kind, int] = {}
        self.limit = 1 << 64
        """Kinds with a digest of this or more are not counted."""
        self.in_split: dict[Kind, Counter[str | None]] = {}
        """Texts of a kind, and all, by split."""
        self.last: dict[Kind, int] = {}
        """The sample last placed, so that one with many such values is one place."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        names, codes = self.context.splits_of(block)
        for name, i, value in block.values(self.fields):
            self.split = names[codes[i]]
            if isinstance(value, list | tuple | dict) or _is_empty(value):
                self._look(value, name, (block, i, name), 0)

    def _look(self, value: Any, path: str, place: Place, depth: int, word: bool = False) -> None:
        """``word``: of a sentence."""
        if isinstance(value, str):
            self._count((path, "text", "all"))
            for kind in kinds_of(value):
                if kind == "said":
                    continue  # of nested objects, which may say that there is none
                if kind == "printed" and (word or said_by_others(value, *place[:2], self.texts)):
                    continue
                self._count((path, "text", kind), place)
        elif _is_empty(value):
            self._count((path, "length", "none"), place)
        elif isinstance(value, list | tuple):
            self._count((path, "length", "some"))
            if {*map(type, value)} <= NUMBERS:
                self._count((f"{path}[]", "type", "number"), place, len(value))
            elif depth < DEEPEST:
                words = len(value) >= SENTENCE and any(isinstance(inner, str) and inner in STOPS for inner in value)
                for inner in value:
                    self._typed(inner, f"{path}[]", place)
                    self._look(inner, f"{path}[]", place, depth + 1, words)
        elif isinstance(value, dict) and not _does_more(value):
            self._count((path, "keys", APART.join(sorted(map(str, value)))), place)
            for key, inner in value.items() if depth < DEEPEST else ():
                self._typed(inner, f"{path}.{key}", place)
                self._look(inner, f"{path}.{key}", place, depth + 1)

    def _typed(self, value: Any, path: str, place: Place) -> None:
        kind = NOTHING if value is None else TYPES.get(type(value))
        if kind is not None:
            self._count((path, "type", kind), place)

    def _count(self, kind: Kind, place: Place | None = None, times: int = 1) -> None:
        if kind not in self.digests and not self._admitted(kind, digest64(APART.join(kind).encode("utf-8", "replace"))):
            return
        self.counts[kind] += times
        if kind[1] == "text":
            self.in_split.setdefault(kind, Counter())[self.split] += times
        if place is not None and self.counts[kind] - times < MAX_PLACES:
            block, i, field = place
            sample = block.index(i)
            if self.last.get(kind) != sample:
                self.last[kind] = sample
                self.where.at(kind, sample, block.file(i), field)

    def _admitted(self, kind: Kind, digest: int) -> bool:
        """Whether a kind is counted. If there are too many, that with the largest digest goes, and is never counted again."""
        if digest >= self.limit:  # it would be the largest, and go again: this only saves looking for it
            return False
        self.digests[kind] = digest
        if len(self.digests) > KEPT:
            largest = max(self.digests, key=lambda kind: self.digests[kind])
            self._cut(self.digests[largest])
        return kind in self.digests

    def _cut(self, limit: int) -> None:
        self.limit = min(self.limit, limit)
        for kind in [kind for kind, digest in self.digests.items() if digest >= self.limit]:
            del self.digests[kind]
            self.counts.pop(kind, None)
            self.in_split.pop(kind, None)
            self.last.pop(kind, None)
            self.where.found.pop(kind, None)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Records)
        self.seen += other.seen
        self.counts += other.counts
        for kind, counts in other.in_split.items():
            self.in_split.setdefault(kind, Counter()).update(counts)
        self.digests |= other.digests
        self.where.merge(other.where)
        limit = min(self.limit, other.limit)
        if len(self.digests) > KEPT:
            limit = min(limit, sorted(self.digests.values())[KEPT])
        if limit < 1 << 64:
            self._cut(limit)

    def facts(self) -> Iterable[Fact]:
        """What few values at a path are, each with its number, that of all, and samples."""
        by_path: dict[tuple[str, str], dict[str, int]] = {}
        for (path, what, value), n in self.counts.items():
            by_path.setdefault((path, what), {})[value] = n
        for (path, what), counts in sorted(by_path.items()):
            if what == "keys":
                yield from self._keys(path, counts)
                continue
            whole = counts.get("all", 0) if what == "text" else sum(counts.values())
            there = whole - counts.get(NOTHING, 0) if what == "type" else whole
            for value, n in sorted(counts.items()):
                total = whole if value == NOTHING else there
                least = 2 if what == "text" and value != "blank" else FEW  # what most texts are, they mean to be
                once = value in ONCE and n == 1  # which may be what it says
                if value not in ("all", "some") and total >= LEAST and n * least <= total and not once:
                    yield self._odd(path, what, value, n, total, [(path, what, value)])

    def _keys(self, path: str, counts: dict[str, int]) -> Iterable[Fact]:
        """Keys that nearly all objects at a path have; nothing is said where some kinds were not counted."""
        total = sum(counts.values())
        if len(counts) > KEY_SETS or total < LEAST or self.limit < 1 << 64:
            return
        sets = {signature: {*signature.split(APART)} for signature in counts}
        for key in sorted(set().union(*sets.values())):
            without = [signature for signature in counts if key not in sets[signature]]
            n = sum(counts[signature] for signature in without)
            if key and n and n * FEW <= total:
                yield self._odd(path, "keys", key, n, total, [(path, "keys", signature) for signature in without])

    def _odd(self, path: str, what: str, value: str, n: int, total: int, kinds: list[Kind]) -> Fact:
        places = [place for kind in kinds for place in self.where.of(kind)]
        told: dict[str, Json] = {"count": n, "of": total, "where": places[:MAX_PLACES]}
        if what == "text":
            of = self.in_split.get((path, what, "all"), Counter())
            told["split"] = in_split(self.in_split.get((path, what, value), {}), of)
        return Fact(ODD, told, self.evidence(), {"path": path, "what": what, "value": value})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ODD):
            path, what, value = (str(fact.at[k]) for k in ("path", "what", "value"))
            n, of, at = fact.value["count"], fact.value["of"], escaped(path)
            code, fix = CODES.get(what, "suspicious-text"), "correct them, or drop these samples"
            severity: Severity = "warning"
            if what == "keys":
                text = f"{at}: {number(n, 'object')} of {of:,} {verb(n, 'have')} no key {escaped(value)}"
            elif what == "length":
                text = f"{at}: {number(n, 'list')} of {of:,} {verb(n, 'are')} empty"
                if path not in self.context.conversations:
                    severity, fix = "info", "keep them if they mean that there is nothing"
            elif what == "text":
                code = {"blank": "blank-text", "encoded twice": "encoding-error"}.get(value, code)
                text = f"{at}: {number(n, 'text')} of {of:,} {verb(n, KINDS[value])}{fact.value['split']}"
                fix = fix if value == "blank" else FIXES.get(value, STRIP)
            else:
                code = "missing-values" if value == NOTHING else code
                text = f"{at}: {number(n, 'value')} of {of:,} {verb(n, 'are')} {value}"
                if value in ("list", "object"):
                    severity, fix = "info", "keep them if your code takes both forms"
            yield finding(code, severity, text, fact, fix, fact.value["where"], n)

    def unknowns(self) -> Iterable[Unknown]:
        if self.limit < 1 << 64:
            yield Unknown("nested objects", f"their keys are data: {KEPT:,} kinds of values were looked at, not all")


def _is_empty(value: Any) -> bool:
    """Whether it is a list, or an array made of one, without elements."""
    return (isinstance(value, list | tuple) and not value) or (
        isinstance(size := getattr(value, "size", 1), int) and not size
    )


def _does_more(value: dict[Any, Any]) -> bool:
    """Whether a turn does something else than say, such as call a tool: it then needs no text."""
    if role_of(value) is None:
        return False
    calls = (v for k, v in value.items() if isinstance(v, list | dict) or "tool" in str(k) or "function" in str(k))
    return any(calls)


CHECK = Records
