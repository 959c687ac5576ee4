"""What many of the better answers begin or end with and hardly any worse one does, or the reverse: where it stands, a reward model learns this mark
and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import product

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.wording import BETTER, WORSE, last_said
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

MARKED = Quantity(
    "pairs_marked", "", "what one answer of each pair begins or ends with and the other does not, and their shares"
)
LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""The lengths of beginnings and ends that are compared, in characters."""
LEAST, MOST = 50, 2_000
"""The fewest pairs, and the most marks of one length that are counted."""
NEARLY_ALL, MANY, HARDLY = 0.95, 0.2, 0.02
"""The shares of texts with a mark, whatever it is, and with one that no prose needs; and of those of the other field that have it, by how many
have it in this one."""
SEVERAL = 4
"""The fewest characters of such a mark."""
_SIGN = re.compile(r"[^\w\s.,;:!?'\"\u2018-\u201d\u2013\u2014-]")
"""What prose does without: brackets, slashes, pictures."""
Key = tuple[str, str, int]
"""A field, which end of its texts, and how many characters of it."""


class PairMarks(Check):
    ids = ("label-leaked-by-field",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = [f.name for f in context.fields if f.kind == "text" or f.name in context.conversations]
        better, worse = ([n for n in names if {*words(n)} & of] for of in (BETTER, WORSE))
        self.pairs = [pair for pair in product(better[:1], worse[:1]) if pair[0] != pair[1]]
        self.counts: dict[Key, Counter[str]] = {}
        self.of: Counter[str] = Counter()

    def applies(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name, _, value in block.values([name for pair in self.pairs for name in pair]):
            text = value if isinstance(value, str) else last_said(value)
            if not text.strip():
                continue
            self.of[name] += 1
            for n in (n for n in LENGTHS if n <= len(text)):
                for end, mark in (("begin", text[:n]), ("end", text[-n:])):
                    counts = self.counts.setdefault((name, end, n), Counter())
                    if mark in counts or len(counts) < MOST:
                        counts[mark] += 1

    def merge(self, other: Check) -> None:
        assert isinstance(other, PairMarks)
        self.seen += other.seen
        self.of += other.of
        for key, counts in other.counts.items():
            self.counts.setdefault(key, Counter()).update(counts)

    def facts(self) -> Iterable[Fact]:
        for pair in self.pairs:
            for end in ("begin", "end"):
                found = [
                    (n, mark, share, other, name)
                    for name, opposite in (pair, pair[::-1])
                    for n in LENGTHS
                    for mark, share, other in self._told(name, opposite, end, n)
                ]
                if found and min(self.of[name] for name in pair) >= LEAST:
                    _, mark, share, other, name = max(found)
                    value = {"mark": mark, "share": round(share, 4), "other": round(other, 4)}
                    value["of"] = self.of[name]
                    yield Fact(
                        MARKED, value, self.evidence(), {"field": name, "other": pair[pair[0] == name], "at": end}
                    )

    def _told(self, name: str, opposite: str, end: str, n: int) -> Iterable[tuple[str, float, float]]:
        """The mark of this length that tells the texts of one field from those of the other one, if there is one."""
        for mark, count in self.counts.get((name, end, n), Counter()).most_common(1):
            share, other = count / max(1, self.of[name]), self._share(opposite, end, mark)
            if not mark.strip() or other > HARDLY * share:
                continue
            # of a mark that only many have, what it begins or ends with is as rare in the other field
            parts = [mark[:m] if end == "begin" else mark[-m:] for m in LENGTHS if SEVERAL <= m <= n]
            told = parts and _SIGN.search(mark) and all(self._share(opposite, end, p) <= HARDLY * share for p in parts)
            if share >= NEARLY_ALL or (share >= MANY and told):
                yield mark, share, other

    def _share(self, name: str, end: str, mark: str) -> float:
        return self.counts.get((name, end, len(mark)), Counter())[mark] / max(1, self.of[name])

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MARKED):
            v, name, other = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["other"]))
            text = f"{v['share']:.0%} of {number(v['of'], 'text')} of {name} {fact.at['at']} with {v['mark']!r}, but {v['other']:.0%} of those of {other}: "
            text += f"this alone tells which answer is preferred{'' if v['share'] >= NEARLY_ALL else ' there'}"
            fix = f"write both answers the same way: remove it from {name}, or find out why {other} lacks it"
            yield finding("label-leaked-by-field", "warning", text, fact, fix, [{"field": fact.at["field"]}])


CHECK = PairMarks
