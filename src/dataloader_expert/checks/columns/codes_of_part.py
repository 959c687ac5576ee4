"""A category that one part writes with codes of its own: sex as 1 and 2 at one hospital, as M and F at all others.

That they are two lists for one category is told by their number and their form: as many values, all of them written unlike those of the
other parts, which agree with each other. Values of the same form, such as the languages of a country, may be others by nature."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import CODES, Context
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import HARDLY, LEAST, SPLIT, Grouping, Part, part_said
from dataloader_expert.checks.common.recorded import FEWEST
from dataloader_expert.checks.common.rows_kept import Named, places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

KEPT, CELLS, FIELDS, VALUES = 20_000, 1_500_000, 12, 40
"""The most rows, and values of all fields, that are kept; the most categories, and values of one."""
RARE = 0.01
"""The largest share of a part's rows with a value that does not count among its codes."""


class CodesOfPart(InParts):
    ids = ("label-twins",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        aside = {r.field for r in (context.roles.split, context.timed, *context.roles.keys) if r is not None}
        plain = [f for f in context.fields if f.dtype == "str" and not f.shape and f.kind in ("category", "boolean")]
        self.named = {f.name: Named(VALUES) for f in plain if f.name not in aside}
        self.named = dict([*self.named.items()][:FIELDS])
        self.draw(KEPT, CELLS, len(self.named) + 2)

    def applies(self) -> bool:
        return bool(self.named)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"value {name}": named.of(block.columns.get(name), rows) for name, named in self.named.items()}
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = self.drawn.all()[1]
        groupings = [g for g in self.parts.groupings(rows) if g.place]
        for name, named in self.named.items():
            if named.many:
                continue
            values, which = np.unique(rows[f"value {name}"], return_inverse=True)
            texts = [named.texts.get(int(v), "") for v in values]
            for g in groupings:
                found = None if g.name == name else own_codes(which, texts, g)
                if found is not None:
                    k, own, others = found
                    odd = g.which == k
                    part = Part(g.name, (g.texts[k],), True, int(odd.sum()), int(odd.sum()))
                    value = part.value() | {"own": own, "others": others, "where": places(rows, odd, name)}
                    yield Fact(CODES, value, self.evidence("sampled", len(odd)), {"field": name})
                    break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CODES):
            v, name = fact.value, escaped(str(fact.at["field"]))
            own, others = (", ".join(map(escaped, v[key])) for key in ("own", "others"))
            text = f"{name} has codes of its own {part_said(v, '')}: {own}, but {others} elsewhere; a model takes them for other categories"
            fix = f"find out which of them mean the same, and write {name} with one list of codes"
            yield finding("label-twins", "warning", text, fact, fix, v["where"], v["count"])


def own_codes(which: Any, texts: list[str], grouping: Grouping) -> tuple[int, list[str], list[str]] | None:
    """The one group whose values are as many as those of the others and written in another form, these values and the others'; None if
    there is none, or the others do not agree."""
    import numpy as np

    there = np.array([bool(text.strip()) for text in texts])
    table = np.zeros((len(grouping.texts), len(texts)), np.int64)
    np.add.at(table, (grouping.which, which), 1)
    table[:, ~there] = 0
    sizes = table.sum(1)
    large = np.flatnonzero(sizes >= LEAST)
    if len(large) < (2 if grouping.name == SPLIT else FEWEST):
        return None
    usual = table > RARE * np.maximum(sizes, 1)[:, None]
    for k in large.tolist():
        rest = np.delete(table, k, 0).sum(0)
        mine, common = usual[k], usual[large[large != k]].all(0)
        alone = rest[mine].sum() <= HARDLY * rest.sum() and table[k][~mine].sum() <= RARE * sizes[k]
        if not alone or mine.sum() < 2 or mine.sum() != common.sum() or rest[~common].sum() > RARE * rest.sum():
            continue
        own, others = ([texts[i] for i in np.flatnonzero(mask)] for mask in (mine, common))
        if not {*map(form_of, own)} & {*map(form_of, others)}:
            return k, own, others
    return None


def form_of(text: str) -> str:
    """How a text is written: its kinds of characters, each once, and whether it is more than one of them."""
    kinds = re.sub(r"[0-9]+", "9", re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", text.strip())))
    return f"{kinds}{'+' * (len(text.strip()) > len(kinds))}"


CHECK = CodesOfPart
