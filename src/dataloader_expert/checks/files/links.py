"""Fields whose values are keys of another table of the folder: those that this table does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.links import FEWEST, MOSTLY, SOME, Key, Link, counted_keys, keys_in

LINKS = Quantity("links", "values", "values of a field that are keys of another table, and those that it does not have")
CROSSED = Quantity(
    "links_crossed", "values", "values of each of two fields that are keys of the table that the other one refers to"
)
NEARLY_ALL = 0.98
"""The share of a field's values that a table must have for the others to be mistakes."""
OF_SURE = 0.95
"""The same, if both the field's name and its values suggest that it refers to this table."""
MOST_OTHERS = 0.1
"""The share of the different values that may be others: of a list of frequent ones, there are more, however rare each is."""
CROSS = 0.5
"""The least share of the values without a row, of both fields, that the other field's table has."""
AS_OFTEN = 0.5
"""How often a value without a row occurs, by how often one with a row does, from which on rows are missing at random."""
MOST_HELD = 100_000
"""Different values from which on a table is not the one that a field refers to."""
NOTHING = {"none", "null", "nil", "nan", "na", "n/a", "unknown", "unk", "other", "others", "missing", "pad", "-", "?"}
"""Values that say that there is no reference."""


class Linked(Check):
    ids = ("dangling-reference", "fields-swapped", "duplicate-keys")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.values: Counter[tuple[str, str]] = Counter()
        """Values by field and split; those that the table does not have; and by two fields, those that the other's table has."""
        self.odd: Counter[tuple[str, str]] = Counter()
        self.crossed: Counter[tuple[str, str]] = Counter()
        self.met: dict[str, set[Key]] = {}
        """By field, the keys that occur."""
        self.others: dict[str, Counter[Key]] = {}
        self.lost: set[str] = set()
        """Fields with too many other values."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.context.links)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for split, part in self.context.by_split(block):
            for link in self.context.links:
                column = part.columns.get(link.field)
                if column is not None and link.field not in self.lost:
                    self._look(link, column, part, "" if split is None else str(split))

    def _look(self, link: Link, column: Column, block: Block, split: str) -> None:
        known, name = link.keys.values, link.field
        met, others = self.met.setdefault(name, set()), self.others.setdefault(name, Counter())
        counts = counted_keys(column, block.samples)
        self.values[name, split] += sum(counts.values())
        met.update(key for key in counts if key in known)
        odd = {key: n for key, n in counts.items() if key not in known and not is_nothing(key)}
        others.update(odd)
        self.odd[name, split] += sum(odd.values())
        for other in self.context.links if odd else ():
            if other.field != name:
                self.crossed[name, other.field] += sum(n for key, n in odd.items() if key in other.keys.values)
        for i, keys in enumerate(keys_in(column)[: block.samples] if odd else ()):
            if any(key in odd for key in keys):
                self.where.add(name, block, i, name)
        self._bound(name)

    def _bound(self, name: str) -> None:
        if len(self.others[name]) > MOST_HELD:
            self.lost.add(name)
            self.others[name].clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, Linked)
        self.seen += other.seen
        self.values.update(other.values)
        self.odd.update(other.odd)
        self.crossed.update(other.crossed)
        self.lost |= other.lost
        for name, met in other.met.items():
            self.met.setdefault(name, set()).update(met)
        for name, others in other.others.items():
            self.others.setdefault(name, Counter()).update(others)
            self._bound(name)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for link in self.context.links:
            name = link.field
            by_split = {split: n for (of, split), n in self.values.items() if of == name}
            if name in self.lost or not any(by_split.values()):
                continue
            others = self.others[name]
            value = {
                "values": sum(by_split.values()),
                "by_split": {split: [n, self.odd[name, split]] for split, n in sorted(by_split.items())},
                "others": others.total(),
                "different": len(self.met[name]),
                "different_others": len(others),
                "examples": [
                    escaped(v, 60) for v, _ in sorted(others.items(), key=lambda of: (-of[1], str(of[0])))[:3]
                ],
                "sure": link.sure,
                "same": link.same,
                "table": escaped(link.keys.file),
                "column": escaped(link.keys.column),
                "repeated": link.keys.repeated,
                "where": self.where.of(name),
            }
            yield Fact(LINKS, value, self.evidence(), {"field": name})
        names = sorted({link.field for link in self.context.links} - self.lost)
        for a, b in combinations(names, 2):
            n = min(self.crossed[a, b], self.crossed[b, a])
            if n and n >= CROSS * max(self.others[name].total() for name in (a, b)):
                splits = sorted(split for (name, split), odd in self.odd.items() if name == a and odd)
                value = {"count": n, "splits": [split for split in splits if split], "where": self.where.of(a)}
                yield Fact(CROSSED, value, self.evidence(), {"fields": [a, b]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        swapped: set[str] = set()
        for fact in facts.all(CROSSED):
            v, fields = fact.value, fact.at["fields"]
            swapped |= {*fields}
            a, b = map(escaped, fields)
            there = f" in {', '.join(map(escaped, v['splits']))}" if v["splits"] else ""
            text = f"{a} and {b} are swapped in {number(v['count'], 'sample')}{there}: each holds keys of the table that the other refers to"
            fix = f"swap {a} and {b} there: as they are, lookups fail and scores based on them mean nothing"
            yield finding("fields-swapped", "warning", text, fact, fix, v["where"], v["count"])
        yield from self._repeated(facts)
        for fact in facts.all(LINKS):
            v, name = fact.value, fact.at["field"]
            lost = _lost_splits(v)
            if name in swapped or v["different"] < FEWEST or not v["others"] or not (lost or _had(v)):
                continue
            share = 1 - v["others"] / v["values"]
            certain = lost or share >= MOSTLY or _as_often(v)
            severity: Severity = "warning" if certain else "info"  # a table of some, perhaps
            n, examples = v["different_others"], ", ".join(v["examples"])
            there = ", ".join(map(escaped, lost))
            odd = f"{n} different, such as {examples}" if n > 1 else f"all {examples}"
            odd += f"; most in {there}" if lost else ""
            others = "which has nearly all values of the other splits" if lost else "which has all others"
            yield finding(
                "dangling-reference",
                severity,
                f"{v['others']} of {v['values']} values of {name} ({odd}) "
                f"{verb(v['others'], 'are')} not in the column {v['column']} of {v['table']}, {others}",
                fact,
                f"number {name} in {there} as in the other splits: looking these values up fails or finds the wrong rows"
                if lost
                else f"add their rows to {v['table']}, correct them, or drop these samples: looking them up fails",
                v["where"],
                v["others"],
            )

    def _repeated(self, facts: Facts) -> Iterable[Finding]:
        """Keys that several rows of a table have, which most of a field's values refer to."""
        told: set[tuple[str, str]] = set()
        for fact in facts.all(LINKS):
            v, table = fact.value, (fact.value["table"], fact.value["column"])
            if not v["repeated"] or table in told or v["different"] < FEWEST or v["others"] > (1 - SOME) * v["values"]:
                continue
            told.add(table)
            n, name = v["repeated"], fact.at["field"]
            text = f"{number(n, 'row')} of {v['table']} {verb(n, 'repeat')} the {v['column']} of an earlier row, and {name} refers to that column"
            fix = "keep one row per key, or renumber the rows and what refers to them: a lookup finds one of them by chance, and a join duplicates samples"
            yield finding("duplicate-keys", "warning", text, fact, fix, [{"file": v["table"], "field": v["column"]}], n)


def _lost_splits(v: dict[str, Any]) -> list[str]:
    """The splits of which the table has hardly any value, where it has nearly all of the others: they were numbered by another list."""
    large = {split: odd / n for split, (n, odd) in v["by_split"].items() if split and n >= FEWEST}
    lost = [split for split, share in large.items() if share > SOME]
    rest = [share for share in large.values() if share <= SOME]
    return lost if rest and max(rest) <= 1 - OF_SURE else []


def _had(v: dict[str, Any]) -> bool:
    """Whether the field refers to the table, so that the values without a row are mistakes."""
    share = 1 - v["others"] / v["values"]
    if v["same"] or (v["sure"] and _as_often(v)):
        return bool(share >= SOME)
    few = v["different_others"] <= MOST_OTHERS * v["different"]
    return bool(few and share >= (OF_SURE if v["sure"] else NEARLY_ALL))


def _as_often(v: dict[str, Any]) -> bool:
    """Whether values without a row occur as often as those with one: rows are missing at random then, and the table is no list of what is
    frequent."""
    usual = (v["values"] - v["others"]) / v["different"]
    return bool(v["others"] >= AS_OFTEN * usual * v["different_others"])


def is_nothing(key: Key) -> bool:
    """Whether a value stands for none: a word for it, or a number that no row has as its id."""
    if isinstance(key, str):
        return key.strip(" <>[]()").lower() in NOTHING
    return key <= 0 or (key > 99 and set(str(key)) == {"9"})


CHECK = Linked
