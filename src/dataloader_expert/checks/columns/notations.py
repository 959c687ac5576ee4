"""Codes that are written in two ways by where they come from: E11.9 at one site, E119 at another.

That two ways of writing mean one code, the source tells: each keeps to its own way. Where A1.1 and A11 are two codes, as sections of a
book are, both come from one source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digests_of, mix
from dataloader_expert.checks.common.rows_kept import NAME, Named, distinct, in_order, places, split_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NOTATIONS = Quantity(
    "notations",
    "samples",
    "codes whose notation depends on the value of another field, with samples",
)
ROWS, FIELDS, GROUPS, VALUES, EXAMPLES = 1 << 15, 12, 16, 100, 20_000
"""Rows that are drawn, fields of codes and of groups, values of a group, and codes that are known as text."""
CODE, LONGEST = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9 ./_:-]*"), 24
"""A code has letters and digits; its most characters."""
MOSTLY = 0.5
"""The least share of a field's values that are codes."""
PURE = 0.97
"""The least share of each group's codes that are written in its own way."""
FAMILIES, ROWS_EACH = 3, 5
"""The fewest codes that are written in both ways, and the fewest rows of a group with such a code."""
SHARED = 0.6
"""The least share of the rows with codes that only one side writes so, whose codes the other side writes in its own way."""
SEVERAL = 200
"""Of fewer values spellings that differ in case are told as those of a category."""
SPLIT = "split"
_LETTERS = re.compile("[A-Za-z0-9]+")


class Notations(DrawnRows):
    ids = ("label-twins",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        named = [f.name for f in context.fields if f.kind == "category" and f.dtype == "str" and not f.shape]
        keys = {r.field for r in context.roles.keys}
        self.codes = [name for name in named if name not in keys and name != context.label][:FIELDS]
        self.groups = {name: Named(VALUES) for name in [*named, *self._numbered()][:GROUPS]}
        self.texts = {name: Named(EXAMPLES) for name in self.codes}
        self.drawn = Drawn(ROWS)
        self.beside = [*self.groups.values(), *self.texts.values()]

    def _numbered(self) -> list[str]:
        """Fields of whole numbers that may name groups, such as sites."""
        return [f.name for f in self.context.fields if f.kind == "number" and "int" in f.dtype and not f.shape]

    def applies(self) -> bool:
        return bool(self.codes)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        splits, split = split_of(self.context, block, rows)
        kept = {f"group {SPLIT}": digests_of(splits)[split]}
        for name, named in self.groups.items():
            kept[f"group of {name}"] = named.of(block.columns.get(name), rows)
        for name in self.codes:
            texts, at = whole = distinct(block.columns.get(name), rows, NAME)
            kept[f"whole {name}"] = self.texts[name].coded(whole)
            codes = [text if len(text) <= LONGEST and CODE.fullmatch(text) else "" for text in texts]
            bare = ["".join(_LETTERS.findall(code)).upper() for code in codes]
            way = [_LETTERS.sub("", code) + _case(code) for code in codes]
            kept[f"bare {name}"], kept[f"way {name}"] = digests_of(bare)[at], digests_of(way)[at]
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        groups = {name: f"group of {name}" for name, named in self.groups.items() if not named.many}
        groups |= {SPLIT: f"group {SPLIT}"} if self.context.several_splits else {}
        for name in self.codes:
            named, codes = self.texts[name], kept[f"bare {name}"] != digests_of([""])[0]
            if codes.mean() < MOSTLY:
                continue
            known = np.flatnonzero(codes)
            bare, way = kept[f"bare {name}"][known], kept[f"way {name}"][known]
            told = {by: _two_ways(bare, way, kept[key][known]) for by, key in groups.items() if by != name}
            found = {by: (len(np.unique(kept[groups[by]])), by, two) for by, two in told.items() if two is not None}
            for _, by, two in [min(found.values(), key=lambda one: one[:2])] if found else []:
                odd = np.zeros(len(codes), bool)
                odd[known[two.odd]] = True
                pair = [named.texts.get(int(kept[f"whole {name}"][known[i]]), "...") for i in two.example]
                if not named.many and len(named.texts) <= SEVERAL and pair[0].upper() == pair[1].upper():
                    continue
                said = self._said(by, two.groups)
                value = {"count": int(odd.sum()), "of": int(codes.sum()), "codes": two.families, "pair": pair}
                value |= {"by": by, "groups": said, "where": places(kept, odd, name)}
                yield Fact(NOTATIONS, value, self.evidence("sampled", len(codes)), {"field": name})

    def _said(self, by: str, groups: Any) -> list[str]:
        if by in self.groups:
            return sorted(self.groups[by].texts.get(int(g), "") for g in groups)
        names = [split or "" for split in self.context.splits] + list(self.context.roles.splits.values())
        told = dict(zip(digests_of(names).tolist(), names, strict=True)) if names else {}
        return sorted(told.get(int(g), "") for g in groups)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NOTATIONS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            odd, usual = map(repr, v["pair"])
            shown = ", ".join(map(escaped, v["groups"][:3])) + (", ..." if len(v["groups"]) > 3 else "")
            text = f"{name}: {v['count']:,} of {number(v['of'], 'code')} {verb(v['count'], 'are')} written like {odd} instead of {usual}: "
            text += f"those where {escaped(v['by'])} is {shown}; {number(v['codes'], 'code')} {verb(v['codes'], 'occur')} in both forms"
            fix = "write each code the same way: a model treats these as different codes"
            yield finding("label-twins", "warning", text, fact, fix, v["where"], v["count"])


class TwoWays(NamedTuple):
    """``odd``: rows in the rarer way; ``groups``: those which write so; ``families``: codes in both ways; ``example``: a row each."""

    odd: Any
    groups: Any
    families: int
    example: tuple[int, int]


def _case(code: str) -> str:
    return "lower" if code.islower() else "upper" if code.isupper() else "mixed"


def _two_ways(bare: Any, way: Any, group: Any) -> TwoWays | None:
    """The groups which write codes in another way than the others, if each group keeps to its way."""
    import numpy as np

    pairs = np.unique(np.stack([bare, way], 1), axis=0)
    families, counts = np.unique(pairs[:, 0], return_counts=True)
    both = np.flatnonzero(np.isin(bare, families[counts > 1]))
    if (counts > 1).sum() < FAMILIES:
        return None
    ways, w = np.unique(way[both], return_inverse=True)
    groups, g = np.unique(group[both], return_inverse=True)
    table = np.zeros((len(groups), len(ways)), np.int64)
    np.add.at(table, (g, w), 1)
    large = table.sum(1) >= ROWS_EACH
    own = table.argmax(1)
    if len(set(own[large].tolist())) != 2 or (table[large].max(1) < PURE * table[large].sum(1)).any():
        return None
    rare, usual = sorted(set(own[large].tolist()), key=lambda k: (int(table[large][:, k].sum()), int(ways[k])))
    odd = both[w == rare]
    others = np.isin(group, groups[large & (own == usual)])
    own_way = np.isin(group, groups[large & (own == rare)]) & (way == ways[rare])
    meant = np.intersect1d(bare[own_way], bare[others & (way == ways[usual])])
    alone = own_way & ~np.isin(mix(bare) ^ way, (mix(bare) ^ way)[others])
    if len(meant) < FAMILIES or np.isin(bare[own_way], meant).sum() < SHARED * alone.sum():
        return None  # codes of another list
    first = meant[np.argmin(mix(meant))]
    example = tuple(int(both[(bare[both] == first) & (w == k)][0]) for k in (rare, usual))
    return TwoWays(odd, groups[large & (own == rare)], len(meant), (example[0], example[1]))


CHECK = Notations
