"""Fields whose values are keys of another table of the folder: those that this table does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.links import FEWEST, MOSTLY, SOME, Key, counted_keys, keys_in

LINKS = Quantity("links", "values", "values of a field that are keys of another table, and those that it does not have")
NEARLY_ALL = 0.98
"""The share of a field's values that a table must have for the others to be mistakes."""
OF_SURE = 0.95
"""The same, if both the field's name and its values suggest that it refers to this table."""
MOST_OTHERS = 0.1
"""The share of the different values that may be others: of a list of frequent ones, there are more, however rare each is."""
MOST_HELD = 100_000
"""Different values from which on a table is not the one that a field refers to."""
NOTHING = {"none", "null", "nil", "nan", "na", "n/a", "unknown", "unk", "other", "others", "missing", "pad", "-", "?"}
"""Values that say that there is no reference."""


class Linked(Check):
    ids = ("dangling-reference",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.values: Counter[str] = Counter()
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
        for link in self.context.links:
            column = block.columns.get(link.field)
            if column is None or link.field in self.lost:
                continue
            known = link.keys.values
            met, others = self.met.setdefault(link.field, set()), self.others.setdefault(link.field, Counter())
            counts = counted_keys(column, block.samples)
            self.values[link.field] += sum(counts.values())
            met.update(key for key in counts if key in known)
            odd = {key: n for key, n in counts.items() if key not in known and not is_nothing(key)}
            others.update(odd)
            for i, keys in enumerate(keys_in(column)[: block.samples] if odd else ()):
                if any(key in odd for key in keys):
                    self.where.add(link.field, block, i, link.field)
            self._bound(link.field)

    def _bound(self, name: str) -> None:
        if len(self.others[name]) > MOST_HELD:
            self.lost.add(name)
            self.others[name].clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, Linked)
        self.seen += other.seen
        self.values.update(other.values)
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
            if name in self.lost or not self.values[name]:
                continue
            others = self.others[name]
            value = {
                "values": self.values[name],
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
                "where": self.where.of(name),
            }
            yield Fact(LINKS, value, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(LINKS):
            v = fact.value
            share = 1 - v["others"] / max(1, v["values"])
            few = v["different_others"] <= MOST_OTHERS * v["different"]
            had = share >= SOME if v["same"] else few and share >= (OF_SURE if v["sure"] else NEARLY_ALL)
            if not v["others"] or not had or v["different"] < FEWEST:
                continue
            severity: Severity = "info" if share < MOSTLY else "warning"  # a table of some, perhaps
            n, examples = v["different_others"], ", ".join(v["examples"])
            yield finding(
                "dangling-reference",
                severity,
                f"{v['others']} of {v['values']} values of {fact.at['field']} "
                f"({f'{n} different, such as {examples}' if n > 1 else f'all {examples}'}) "
                f"are not in the column {v['column']} of {v['table']}, which has all others",
                fact,
                f"add their rows to {v['table']}, correct them, or drop these samples: looking them up fails",
                v["where"],
                v["others"],
            )


def is_nothing(key: Key) -> bool:
    """Whether a value stands for none: a word for it, or a number that no row has as its id."""
    if isinstance(key, str):
        return key.strip(" <>[]()").lower() in NOTHING
    return key <= 0 or (key > 99 and set(str(key)) == {"9"})


CHECK = Linked
