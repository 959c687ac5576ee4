"""Attributes of a person or a thing that its rows contradict: the sex of a patient, the category of a product.

An attribute is the same in all rows of nearly every group, although it differs from group to group; what is the same by chance, as a rare
flag is, tells nothing. Some attributes may change, as where somebody lives: a warning are only those that never do, and those of things that
change and change back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import CONSTANT, CONTRADICTED, Check, Context
from dataloader_expert.checks.common.drawn_groups import DrawnGroups
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.recorded import is_place
from dataloader_expert.checks.common.rows_kept import Named, digest_of, numbers_of
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import WHO, is_identifier, words

GROUPS, FIELDS, NAMES, VALUES = 2, 16, 20_000, 1_000
"""The most fields of groups, and attributes; groups and values of one that are told by name."""
FEWEST = 8
"""The fewest groups of several rows, and those of them that would have several values by chance."""
SELDOM, ROWS, CHANCE = 0.1, 0.05, 0.15
"""The largest share of groups with several values, of rows with another one than most of their group, and of the groups with several values that
chance would make."""
OFTEN = 0.2
"""The least share of groups that would have several values by chance."""
LARGE, FEW, HALF = 5, 0.01, 0.5
"""Of groups of so many rows on average, the largest share of rows with another value, however many groups have one, up to half."""
BACK, TWICE = 0.5, 2
"""The share of groups of three rows and more in which a value comes back, and the fewest, if nothing has changed."""
LASTING = {
    "sex", "gender", "birth", "born", "dob", "birthdate", "birthday", "birthplace", "race", "ethnicity", "species", "breed", "blood",
}  # fmt: skip
"""Words in the names of what never changes."""
ACTIVE = WHO | {
    "patient", "subject", "person", "participant", "student", "worker", "employee", "driver", "author", "writer", "speaker", "individual",
    "animal", "household", "family", "player", "visitor", "guest", "device", "account", "session", "vehicle", "host",
}  # fmt: skip
"""Words in the names of groups that act: one may be elsewhere for a day, and back on the next."""
MOST_TOLD = 4
PLAIN = ("category", "boolean", "number", "time")


@dataclass(frozen=True)
class Broken:
    """``varying`` of ``groups`` have several values; ``odd``: their rows with another value than most, bool [n]; ``back``: whether values
    mostly come back."""

    varying: int
    groups: int
    odd: Any
    back: bool


class GroupConstants(Check):
    ids = ("columns-contradict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {r.field for r in (context.roles.split, context.timed, *context.roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside and f.kind in PLAIN]
        grouped = None if context.grouped is None else context.grouped.field
        whole = [f for f in plain if f.kind == "category" or "int" in f.dtype]
        called = [f.name for f in whole if is_identifier(f.name) or (f.kind == "category" and is_place(f.name))]
        called = [f.name for f in whole if f.name == grouped] + [name for name in called if name != grouped]
        self.groups = {
            name: (DrawnGroups(name, context), Named(NAMES, whole=True))
            for name in called[:GROUPS]
            if name != context.label
        }
        others = [f.name for f in plain if f.name not in self.groups]
        self.named = {name: Named(VALUES, whole=True) for name in others[:FIELDS]}
        self.floats = {f.name for f in plain if f.kind == "number" and "float" in f.dtype}
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.groups and self.named)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        for group, (drawn, called) in self.groups.items() if block.samples else ():
            rows, groups = drawn.rows(block)
            if len(rows):
                kept = {f"value {name}": self._of(name, block, rows) for name in self.named}
                drawn.keep(block, rows, groups, kept | {"called": called.of(block.columns.get(group), rows)})

    def _of(self, name: str, block: Block, rows: Any) -> Any:
        """One uint64 for the value of each of these rows, ``digest_of("")`` for none; numbers with fractions are not told as texts."""
        import numpy as np

        column = block.columns.get(name)
        if name not in self.floats:
            return self.named[name].of(column, rows)
        numbers = numbers_of(column, rows) + 0.0
        return np.where(np.isnan(numbers), np.uint64(digest_of("")), numbers.view(np.uint64))

    def merge(self, other: Check) -> None:
        assert isinstance(other, GroupConstants)
        self.seen += other.seen
        self.files.merge(other.files)
        for group, (drawn, called) in other.groups.items():
            self.groups[group][0].merge(drawn)
            self.groups[group][1].merge(called)
        for name, named in other.named.items():
            self.named[name].merge(named)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for group, (drawn, called) in self.groups.items():
            kept = drawn.all()
            by_group = np.argsort(kept["group"], kind="stable") if kept else None
            for name, named in self.named.items() if kept else ():
                values = kept[f"value {name}"]
                if changes(kept["group"][by_group], values[by_group]) > OFTEN:
                    continue
                found = broken(kept["group"], values, values != digest_of(""))
                if found is not None:
                    samples = kept["sample"][found.odd]
                    value = {
                        "groups": found.groups,
                        "varying": found.varying,
                        "count": int(found.odd.sum()),
                        "back": found.back and not ACTIVE & {word.rstrip("s") for word in words(group)},
                        "example": _example(kept["group"], kept["called"], values, found.odd, called, named),
                        "where": self.files.places(samples.tolist(), name),
                    }
                    yield Fact(CONSTANT, value, self.evidence("sampled", len(values)), {"field": name, "group": group})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        told: set[str] = set()
        for fact in sorted(facts.all(CONSTANT), key=lambda fact: int(fact.value["varying"])):
            name, group, v = str(fact.at["field"]), str(fact.at["group"]), fact.value
            known = {frozenset(map(str, other.at["fields"])) for other in facts.all(CONTRADICTED)}
            if name in told or frozenset((name, group)) in known or len(told) == MOST_TOLD:
                continue
            told.add(name)
            lasting = bool(LASTING & {*words(name)}) or (v["back"] and name != self.context.label)
            severity: Severity = "warning" if lasting else "info"
            such = "" if v["example"] is None else f", such as {escaped(v['example'][0], 40)} ({_and(v['example'][1])})"
            rest = v["groups"] - v["varying"]
            text = f"{escaped(name)} contradicts itself: {v['varying']:,} of the {v['groups']:,} values of {escaped(group)} with several rows have "
            text += f"more than one{such}, the other {rest:,} have one in all their rows"
            fix = f"find out which value is right, and correct it; or whether rows have a wrong {escaped(group)}"
            fix += "" if lasting else ". If it may have changed, leave it"
            yield finding("columns-contradict", severity, text, fact, fix, v["where"], v["count"])


def changes(groups: Any, values: Any) -> float:
    """The share of rows with another value than the one before in their group."""
    same = groups[1:] == groups[:-1]
    return float((values[1:] != values[:-1])[same].mean()) if same.any() else 1.0


def broken(groups: Any, values: Any, known: Any) -> Broken | None:
    """What is told of values, one a row, where they are the same in all known rows of nearly every group; None if there is nothing, or
    they are no attribute of the groups."""
    import numpy as np

    at = np.flatnonzero(known)
    who, value = (np.unique(x[at], return_inverse=True)[1] for x in (groups, values))
    if not len(at):
        return None
    n_values = int(value.max()) + 1
    cells, counts = np.unique(who.astype(np.int64) * n_values + value, return_counts=True)
    sizes = np.bincount(who)
    most, distinct = np.zeros(len(sizes), np.int64), np.bincount(cells // n_values)
    np.maximum.at(most, cells // n_values, counts)
    several = sizes > 1
    varying = several & (distinct > 1)
    rising = np.argsort(counts, kind="stable")
    usual = np.zeros(len(sizes), np.int64)
    usual[cells[rising] // n_values] = cells[rising] % n_values
    odd = varying[who] & (value != usual[who])
    n, v, rows = int(several.sum()), int(varying.sum()), int(sizes[several].sum())
    if n < FEWEST or not v:
        return None
    shares = np.bincount(usual) / len(sizes)
    by_size = {int(size): 1 - float((shares**size).sum()) for size in np.unique(sizes[several])}
    by_chance = sum(by_size[int(size)] for size in sizes[several])
    few = v <= max(1.0, min(SELDOM * n, CHANCE * by_chance)) and odd.sum() <= ROWS * rows
    few |= rows >= LARGE * n and v <= HALF * by_chance and odd.sum() <= FEW * rows
    if by_chance < OFTEN * max(FEWEST, n) or not few:
        return None
    marked = np.zeros(len(groups), bool)
    marked[at[odd]] = True
    return Broken(v, n, marked, _come_back(who, value, varying & (sizes > TWICE)))


def _come_back(who: Any, value: Any, of: Any) -> bool:
    """Whether in most of these groups a value comes again after another one, in the order of rows."""
    import numpy as np

    back = 0
    for k in np.flatnonzero(of).tolist():
        own = value[who == k]
        back += 1 + int((own[1:] != own[:-1]).sum()) > len(np.unique(own))
    return back >= max(TWICE, BACK * int(of.sum()))


def _example(groups: Any, called: Any, values: Any, odd: Any, names: Named, named: Named) -> list[Any] | None:
    """The name of a group with odd rows and its values, if they are known."""
    import numpy as np

    first = int(np.flatnonzero(odd)[0])
    held = [named.texts.get(int(v), "") for v in dict.fromkeys(values[groups == groups[first]].tolist())]
    name = names.texts.get(int(called[first]), "")
    return [name, held] if name and all(held) else None


def _and(values: list[str]) -> str:
    return " and ".join(escaped(value, 40) for value in values[:3])


CHECK = GroupConstants
