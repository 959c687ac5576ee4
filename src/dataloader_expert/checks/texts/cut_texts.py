"""Texts that were cut off: they end without the full stop or the like that nearly all others have, and many of them within a word.

Who writes a text may leave out the full stop, but not the rest of a word. A word is broken off if no other text has it, while it
begins one that others have. Nor does anyone end with a word that is frequent and never stands before a mark, such as "the". What texts end
with again and again, such as "Kind regards", is no cut. Of conversations, the last turn is looked at.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import CUT_AT, Check, Context
from dataloader_expert.checks.common.places import Places, sample_of
from dataloader_expert.checks.common.wording import FEW, last_said
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BROKEN_OFF = Quantity(
    "texts_broken_off",
    "samples",
    "texts that end in a letter, unlike nearly all others, and how many of them within a word",
)
LEAST, FEWEST = 100, 3
"""The fewest texts of which most end in a mark, and the fewest that end within a sentence."""
LOOKED_AT, MOST_WORDS, MOST_ENDS = 1 << 14, 200_000, 10_000
"""About so many texts, spread evenly over the data, tell the words that there are; with more words, or more distinct ends, nothing is said."""
READ = 4_000
"""Characters at the end of a text whose words are looked at."""
CLOSED, UNLIKE = 0.6, 3.0
"""The least share of texts that end in a mark or as others do; and how many times as often texts without one end in what is no word as those
with one have it before the mark."""
HABIT = 3
"""Texts that end with one word from which on it is a habit; of what is no word, one in ``FEW``."""
INNER, BEFORE_MARK = 30, 0.005
"""How often a word occurs that never ends a sentence, and the largest share of it that stands before a mark."""
_WORD = re.compile(r"[^\W\d_]+")
_MARKED = re.compile(r"(?<![^\W\d_])[^\W\d_]+(?![^\W\d_])(?=\W*[.,;:!?)\]}\n\"\u201d\u3002])")
"""A whole word before a mark; without what stands around it, each part of a long word would be tried."""


class CutTexts(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        texts = [f.name for f in context.fields if f.kind == "text" and f.name != context.label]
        self.fields = [*texts, *sorted(context.conversations)]
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.each: Counter[str] = Counter()
        self.closed: Counter[str] = Counter()
        """Texts that end in a mark, of each field."""
        self.ends: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Texts by the letters at their end, of each field."""
        self.words: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """All words but those at the end of a text without a mark."""
        self.marked: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Those before a mark."""
        self.last: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Those before the mark at the end of a text."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        drawn = {*np.flatnonzero(block.indices() % self.stride == 0).tolist()}
        for name in self.fields:
            column = block.columns.get(name)
            each = closed = 0
            for i, value in enumerate(() if column is None else column.values[: block.samples]):
                text = value.rstrip() if isinstance(value, str) else last_said(value)
                if text:
                    each += 1
                    closed += not text[-1].isalnum()
                    if i in drawn or text[-1].isalpha():
                        self._look(name, text, block, i, i in drawn)
            self.each[name] += each
            self.closed[name] += closed

    def _look(self, name: str, text: str, block: Block, i: int, drawn: bool) -> None:
        if text[-1].isalpha():
            end = text[-_letters_at_end(text) :]
            text = text[: -len(end)]
            if end in self.ends[name] or len(self.ends[name]) <= MOST_ENDS:
                self.ends[name][end] += 1
                self.where.add((name, end), block, i, name)
        if drawn and len(self.words[name]) <= MOST_WORDS:
            words = _WORD.findall(text := text[-READ:])
            self.words[name].update(words)
            self.marked[name].update(_MARKED.findall(text))
            if words and not text[-1].isalnum() and not text[-1].isspace():
                self.last[name][words[-1]] += 1

    def merge(self, other: Check) -> None:
        assert isinstance(other, CutTexts)
        self.seen += other.seen
        self.each += other.each
        self.closed += other.closed
        self.where.merge(other.where)
        for name in self.fields:
            self.ends[name] += other.ends[name]
            self.words[name] += other.words[name]
            self.marked[name] += other.marked[name]
            self.last[name] += other.last[name]

    def facts(self) -> Iterable[Fact]:
        for name in self.fields:
            of, words = self.each[name], self.words[name]
            if of < LEAST or len(words) > MOST_WORDS or len(self.ends[name]) > MOST_ENDS:
                continue
            inner = {w for w, n in words.items() if n >= INNER and self.marked[name][w] <= BEFORE_MARK * n}
            own = self.ends[name]
            ends = Counter(
                {w: n for w, n in own.items() if n < HABIT or w in inner or (w not in words and n * FEW <= of)}
            )
            n, habits = ends.total(), own.total() - ends.total()
            if not n or self.closed[name] + habits < CLOSED * of:
                continue
            broken = broken_off(ends, words)
            alone = Counter({w: k for w, k in self.last[name].items() if words[w] <= k})  # in no other place
            by_chance = sum(alone[w] for w in broken_off(alone, words.keys() - alone.keys())) / max(
                1, self.last[name].total()
            )
            within = sum(ends[end] for end in broken)
            if within < UNLIKE * by_chance * n:
                continue
            dangling = sorted(inner & ends.keys(), key=lambda w: (-ends[w], w))
            value = {"count": n, "of": of, "broken": within, "ends": broken[:3], "inner": dangling[:3]}
            value["dangling"] = sum(ends[w] for w in dangling)
            places = sorted(
                (place for end in (*broken, *dangling) for place in self.where.of((name, end))), key=sample_of
            )
            yield Fact(BROKEN_OFF, value | {"where": places[:MAX_PLACES]}, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BROKEN_OFF):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n, broken, dangling = v["count"], v["broken"], v["dangling"]
            if broken < FEWEST or 2 * (broken + dangling) < n:
                continue
            if any(2 * cut.value["count"] >= n for cut in facts.all(CUT_AT, field=fact.at["field"])):
                continue  # told with the length at which they were cut
            text = f"{name}: {n:,} of {number(v['of'], 'text')} {verb(n, 'end')} without closing punctuation, unlike the others, "
            text += f"{broken:,} of them in the middle of a word ({', '.join(map(escaped, v['ends']))})"
            if dangling:
                text += (
                    f" and {dangling:,} on a word that never ends a sentence ({', '.join(map(escaped, v['inner']))})"
                )
            fix = "they were cut off: fetch them in full from their source, or drop them"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], n)


def broken_off(ends: Iterable[str], words: Iterable[str]) -> list[str]:
    """Those ends of texts that are no word, and begin one."""
    known = sorted(words)
    found = []
    for end in sorted(ends):
        at = bisect.bisect_left(known, end)
        if at < len(known) and known[at] != end and known[at].startswith(end):
            found.append(end)
    return found


def _letters_at_end(text: str) -> int:
    n = 0
    while n < len(text) and text[-1 - n].isalpha():
        n += 1
    return n


CHECK = CutTexts
