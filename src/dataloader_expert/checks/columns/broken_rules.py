"""Relations between two columns that hold in all rows but those of one part: one number is the larger, a class follows from a number or from
another column, two numbers rise together; and a number that is the target in a part of the groups.

What holds elsewhere without exception and is broken in a split, file, site or stretch needs neither telling names nor numbers that lie
apart. Groups that are kinds of things, such as buying and selling, may have relations of their own, and so may all rows of a season:
of these it is told as info, if at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import MIXED_UNITS, ORDER, Context
from dataloader_expert.checks.columns.rules import Rule, decided, mapped, of_kind, orders, runs_backward, strays
from dataloader_expert.checks.columns.turned_relations import turned_relation
from dataloader_expert.checks.common.grids import moment
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import LEAST, NEARLY, SPLIT, Grouping, Part, part_of, part_said
from dataloader_expert.checks.common.ranges import many_values
from dataloader_expert.checks.common.rows_kept import Named, in_order, moments_of, numbers_of, places
from dataloader_expert.checks.common.scores import normal_scores
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

BROKEN = Quantity(
    "rule_broken_in_part", "samples", "rows of one part that break what two columns keep to in all others"
)
RELATION = Quantity(
    "relation_turned", "samples", "rows of groups in which two numbers correlate the opposite way from all others"
)
TARGET = Quantity("target_in_part", "samples", "rows of a part of the groups in which a number equals the target")
KEPT, CELLS = 20_000, 1_500_000
"""The most rows, and values of all fields, that are kept."""
NUMBERS, KEYS, VALUES = 12, 12, 5_000
"""The most numbers and columns of names, and names of one."""
EQUAL, UNEQUAL, DISTINCT = 0.99, 0.5, 10
"""The least share of rows of a group in which a number is the target, and the most in others; and the fewest values of it."""
TARGETS = {"target", "label"}
"""Words in the names of numbers that are predicted."""


class BrokenRules(InParts):
    ids = ("order-reversed", "columns-contradict", "label-leaked-by-field")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, context.timed, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        numbers = [f.name for f in plain if f.kind == "number" or (f.name == context.label and f.dtype != "str")]
        self.numbers = [name for name in numbers if name not in context.identifiers][:NUMBERS]
        whole = [f.name for f in plain if "int" in f.dtype or "bool" in f.dtype]
        self.keys = [f.name for f in plain if f.kind in ("category", "boolean") or f.name in whole][:KEYS]
        self.named = {name: Named(VALUES) for name in self.keys}
        self.draw(KEPT, CELLS, len(self.numbers) + len(self.keys) + 3)

    def applies(self) -> bool:
        return len({*self.numbers, *self.keys}) > 1

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.numbers}
        kept |= {f"key {name}": named.of(block.columns.get(name), rows) for name, named in self.named.items()}
        if self.context.timed is not None:
            kept["time"] = moments_of(block.columns.get(self.context.timed.field), rows)
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        groupings = [*self.parts.groupings(rows)]
        ways = {"sample": np.arange(len(rows["sample"]))}
        if "time" in rows:
            ways["time"] = np.lexsort((rows["sample"], rows["time"]))[: int(np.isfinite(rows["time"]).sum())]
        numbers = {name: rows[f"number {name}"] for name in self.numbers}
        keys = {name: self._codes(name, rows) for name, named in self.named.items() if not named.many}
        yield from self._orders(numbers, groupings, ways, rows)
        yield from self._decided(numbers, keys, groupings, ways, rows)
        yield from self._relations(numbers, groupings, rows)
        yield from self._target(numbers, groupings, rows)

    def _codes(self, name: str, rows: dict[str, Any]) -> Any:
        """The codes of a column's values from 0 on, -1 for none."""
        import numpy as np

        values, codes = np.unique(rows[f"key {name}"], return_inverse=True)
        texts = [self.named[name].texts.get(int(v), "") for v in values]
        there = np.array([bool(text.strip()) and text.lower() != "nan" for text in texts])
        return np.where(there, np.cumsum(there) - 1, -1)[codes]

    def _orders(
        self, numbers: dict[str, Any], groupings: list[Grouping], ways: dict[str, Any], rows: Any
    ) -> Iterator[Fact]:
        import numpy as np

        told: set[str] = set()
        places_only = [g for g in groupings if g.place]
        for rule in orders(numbers):
            if told & {*rule.fields}:
                continue
            part = part_of(rule.broken, rule.known, places_only, ways, rule.fields)
            small, large = (numbers[name] for name in rule.fields)
            if part is None:
                usual = rule.known & ~rule.broken
                if not strays(small, large, rule.broken, usual) or any(
                    of_kind(rule.broken, rule.known, g.which) for g in groupings if not g.place
                ):
                    continue
                part = Part(None, (), False, int(rule.broken.sum()), int(rule.known.sum()))
            strata = next((g.which for g in groupings if g.name == part.by), np.zeros(len(small), np.int64))
            if runs_backward(small, large, rule.broken, rule.known & ~rule.broken, strata):
                told |= {*rule.fields}
                yield self._fact(BROKEN, rule.fields, part, rule.broken, rule.known, rows, {"kind": rule.kind})

    def _decided(
        self, numbers: dict[str, Any], keys: dict[str, Any], groupings: list[Grouping], ways: dict[str, Any], rows: Any
    ) -> Iterator[Fact]:
        import numpy as np

        told: list[set[str]] = []
        taught = [
            np.ones(len(rows["sample"]), bool)
        ]  # all rows, or the largest split: names that are rare tell little together
        taught += [g.which == np.bincount(g.which).argmax() for g in groupings if g.name == SPLIT]
        maps = (rule for teach in taught for rule in mapped(keys, keys, teach))
        for rule in (*decided(numbers, keys), *maps):
            if any(len(fields & {*rule.fields}) > 1 or rule.fields[0] in fields for fields in told):
                continue
            aside = {*rule.fields}
            part = part_of(rule.broken, rule.known, groupings, ways, aside, any_share=True)
            if part is not None and not (rule.kind == "mapped" and _of_other_things(part, keys, rule, groupings)):
                told.append(aside)
                yield self._fact(BROKEN, rule.fields, part, rule.broken, rule.known, rows, {"kind": rule.kind})

    def _relations(self, numbers: dict[str, Any], groupings: list[Grouping], rows: Any) -> Iterator[Fact]:
        import numpy as np

        scores = {name: normal_scores(values) for name, values in numbers.items()}
        found = [
            (relation, grouping, (a, b))
            for a, b in combinations(numbers, 2)
            for grouping in groupings
            if grouping.place
            and grouping.name not in (a, b)
            and (relation := turned_relation(scores[a], scores[b], grouping)) is not None
        ]
        told: set[str] = set()
        for relation, grouping, fields in sorted(found, key=lambda one: -min(abs(one[0].own), abs(one[0].others))):
            if not told & {*fields}:  # one event, one word
                told |= {*fields}
                odd = np.isin(grouping.which, relation.groups)
                values = tuple(grouping.texts[k] for k in relation.groups)
                part = Part(grouping.name, values, True, int(odd.sum()), int(odd.sum()))
                own = {"own": round(relation.own, 4), "others": round(relation.others, 4)}
                yield self._fact(RELATION, fields, part, odd, np.isfinite(scores[fields[0]]), rows, {**own})

    def _target(self, numbers: dict[str, Any], groupings: list[Grouping], rows: Any) -> Iterator[Fact]:
        """Numbers that are the target in all rows of some groups, in each of which it varies, and not in those of others."""
        import numpy as np

        targets = [name for name in numbers if name == self.context.label or {*words(name)} & TARGETS]
        for target, name in ((t, n) for t in targets for n in numbers if n not in targets):
            x, y = numbers[name], numbers[target]
            known = np.isfinite(x) & np.isfinite(y)
            same = known & (x == y)
            if not LEAST <= same.sum() < EQUAL * known.sum():
                continue
            for g in groupings:
                sizes, counts = (np.bincount(g.which[mask], minlength=len(g.texts)) for mask in (known, same))
                odd = np.flatnonzero((counts >= EQUAL * sizes) & (sizes >= LEAST))
                others = np.delete(counts <= UNEQUAL * sizes, odd)
                varied = all(many_values(x[same & (g.which == k)], DISTINCT) for k in odd.tolist())
                if len(odd) and varied and others.all() and counts[odd].sum() >= EQUAL * same.sum():
                    part = Part(
                        g.name, tuple(g.texts[k] for k in odd), g.place, int(counts[odd].sum()), int(sizes[odd].sum())
                    )
                    yield self._fact(TARGET, (name, target), part, same, known, rows)
                    break

    def _fact(
        self,
        quantity: Quantity,
        fields: tuple[str, ...],
        part: Part,
        odd: Any,
        known: Any,
        rows: dict[str, Any],
        more: dict[str, Json] | None = None,
    ) -> Fact:
        value = part.value() | {"where": places(rows, odd, fields[-1])} | (more or {})
        if part.along is not None:
            value |= {"first": float(rows[part.along][part.first]), "last": float(rows[part.along][part.last])}
        return Fact(quantity, value, self.evidence("sampled", int(known.sum())), {"fields": [*fields]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        swapped = [{*fact.at["fields"]} for fact in facts.all(ORDER)]
        other_units = {(fact.at["field"], fact.at["group"], fact.value["of"]) for fact in facts.all(MIXED_UNITS)}
        for fact in facts.all(BROKEN):
            if fact.value["kind"] == "order":
                if {*fact.at["fields"]} not in swapped:
                    yield self._order_said(fact)
            elif not _in_other_units(fact, other_units):
                yield self._rule_said(fact)
        for fact in facts.all(RELATION):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{a} and {b} correlate the opposite way {self._place(v)}: their rank correlation is {v['own']:.2f} there and "
            text += f"{v['others']:.2f} elsewhere"
            fix = "find out whether one of the two counts the other way there (a reversed scale, swapped classes); if so, reverse it back"
            yield finding("columns-contradict", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(TARGET):
            v, (name, target) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{name} equals {target} in all {number(v['count'], 'sample')} {self._place(v)}, but not elsewhere: it gives the target away"
            fix = f"find out how {name} was computed there, and recompute it as elsewhere, from what is known before {target}"
            yield finding("label-leaked-by-field", "error", text, fact, fix, v["where"], v["count"])

    def _place(self, v: dict[str, Any]) -> str:
        first, last, along = v["first"], v["last"], v.get("along")
        if along == "time":
            timed = self.context.timed
            dated = any(f.kind != "number" for f in self.context.fields if timed is not None and f.name == timed.field)
            return part_said(v, f"from {moment(first, dated)} to {moment(last, dated)}")
        return part_said(v, "" if along is None else f"in {self.files.stretch(int(first), int(last))}")

    def _order_said(self, fact: Fact) -> Finding:
        v, (small, large) = fact.value, (escaped(name) for name in fact.at["fields"])
        scattered = v["by"] is None and v["along"] is None
        text = f"{large} is smaller than {small} in {v['count']:,} of {number(v['rows'], 'sample')}"
        text += (
            ", by as much as it is larger in all others"
            if scattered
            else f" {self._place(v)}, and hardly ever elsewhere"
        )
        fix = "find out whether the two were swapped there; if so, swap them back, with any columns that belong to them"
        severity: Severity = "info" if v["by"] is None and not scattered else "warning"
        return finding("order-reversed", severity, text, fact, fix, v["where"], v["count"])

    def _rule_said(self, fact: Fact) -> Finding:
        v, fields = fact.value, [escaped(name) for name in fact.at["fields"]]
        if v["kind"] == "mapped":
            text = f"{fields[1]} goes with other values of {fields[0]} {self._place(v)} than elsewhere"
            fix = f"find out which of the two columns is numbered or named differently there, and use one list of {fields[0]} everywhere"
        else:
            source = fields[1] if len(fields) == 2 else f"{fields[1]} minus {fields[2]}"
            text = f"{fields[0]} contradicts {' and '.join(fields[1:])} {self._place(v)}: elsewhere {source} decides it"
            fix = f"find out which of these columns is wrong there, and recompute {fields[0]} from {' and '.join(fields[1:])}"
        text += f" ({v['count']:,} of {number(v['rows'], 'sample')} there)"
        nearly = v["count"] >= NEARLY * v["rows"]
        severity: Severity = "warning" if v["along"] is not None or (nearly and v["place"]) else "info"
        return finding("columns-contradict", severity, text, fact, fix, v["where"], v["count"])


def _of_other_things(part: Part, keys: dict[str, Any], rule: Rule, groupings: list[Grouping]) -> bool:
    """Whether most rows of a part have names that no other rows have, so that the few which both have are the same by chance: plots of the
    test split at the elevation of another one."""
    import numpy as np

    g = next((g for g in groupings if g.name == part.by), None)
    if g is None or part.along is not None:
        return False
    inside = np.isin(g.which, [g.texts.index(value) for value in part.values]) & (keys[rule.fields[0]] >= 0)
    return 2 * int((inside & rule.known).sum()) < int(inside.sum())


def _in_other_units(fact: Fact, known: set[tuple[Any, Any, Any]]) -> bool:
    """Whether one of the fields is in another unit in the part where a rule is broken: that is what breaks it."""
    v = fact.value
    return any((name, v["by"], of) in known for name in fact.at["fields"] for of in v["values"])


CHECK = BrokenRules
