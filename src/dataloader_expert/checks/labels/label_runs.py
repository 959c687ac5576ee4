"""One long run of a class among samples in which it otherwise comes and goes: a stretch that was labelled at once.

Every run of a class is counted, so that also a rare one is seen. How long its other runs are tells what is usual: rows that are sorted by
class, or series that stay in one for a while, have many long ones. A run in which another field has one value, too, is explained by it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Coded, distinct, numbers_of, texts_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

RUN = Quantity(
    "label_run", "samples", "the longest run of a class, if it is far longer than its others, which are many"
)
MOST_CLASSES, FEWEST = 1_000, 5
"""The most classes, and the fewest other runs that tell what is usual."""
NONE = ("", "None", "nan")
"""What a missing label is called."""
LONGER, CHANCE = 10, 1e-12
"""How many times as long as each other run it must be, and how unlikely by chance."""


@dataclass(frozen=True)
class _Run:
    """Samples of one class in a row, of one split. ``told``: a field says why; ``even``: fields, with their value, that have one in all
    of the run, where nothing is beside it in its block."""

    of: str
    first: int
    rows: int
    split: str | None
    told: bool
    even: frozenset[tuple[str, str]]

    @property
    def next(self) -> int:
        """The sample after it."""
        return self.first + self.rows


@dataclass
class _Runs:
    """Of a class: how many runs and samples, and the two longest runs, the longest first."""

    count: int = 0
    samples: int = 0
    longest: tuple[_Run, ...] = ()

    def add(self, count: int, samples: int, longest: Iterable[_Run]) -> None:
        self.count += count
        self.samples += samples
        self.longest = tuple(sorted((*self.longest, *longest), key=lambda run: (-run.rows, run.first))[:2])


class LabelRuns(Check):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.series = context.series_fields
        self.time = [] if context.timed is None else [context.timed.field]
        self.inner: dict[str, _Runs] = {}
        self.ends: list[list[_Run]] = []
        """The first and the last run of blocks that follow one another, which may go on in others."""
        self.many = False
        self.splits: Counter[str | None] = Counter()
        self.values: dict[str, set[str]] = {}
        """Two values of each field that says why, if it has several."""
        self.files = Files()

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        return label is not None and not label.shape and label.kind in ("category", "boolean")

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        column = block.columns.get(self.context.label or "")
        if column is None or not block.samples or self.many:
            return
        every = np.arange(block.samples)
        numeric = isinstance(column.values, np.ndarray) and column.values.dtype.kind in "iuf"
        texts, values = ([], numbers_of(column, every)) if numeric else _in_order(distinct(column, every))
        splits, codes = self.context.splits_of(block)
        starts = np.flatnonzero(np.concatenate([[True], (values[1:] != values[:-1]) | (codes[1:] != codes[:-1])]))
        for code, n in enumerate(np.bincount(codes, minlength=len(splits)).tolist()):
            self.splits[splits[code]] += n
        rows = np.diff(np.concatenate([starts, [block.samples]]))
        classes, of = np.unique(values[starts], return_inverse=True)
        named = [f"{value:.12g}" for value in classes.tolist()] if numeric else [texts[k] for k in classes.tolist()]

        def run(k: int) -> _Run:
            told, even = self._told(block, int(starts[k]), int(rows[k])) if rows[k] >= LONGER else (False, frozenset())
            first = int(starts[k])
            return _Run(named[int(of[k])], block.index(first), int(rows[k]), splits[codes[first]], told, even)

        ends = list(map(run, dict.fromkeys((0, len(rows) - 1))))
        goes_on = bool(self.ends) and self.ends[-1][-1].next == ends[0].first
        runs = joined([*self.ends.pop(), *ends] if goes_on else ends)
        self.ends.append(runs if len(runs) < 3 else [runs[0], runs[-1]])
        for closed in runs[1:-1]:
            self.inner.setdefault(closed.of, _Runs()).add(1, closed.rows, [closed])
        inner = np.arange(1, len(rows) - 1)
        for c in np.unique(of[inner]).tolist():
            at = inner[of[inner] == c]
            longest = at[np.argsort(-rows[at], kind="stable")[:2]].tolist()
            self.inner.setdefault(named[c], _Runs()).add(len(at), int(rows[at].sum()), map(run, longest))
        self._few()

    def _told(self, block: Block, first: int, rows: int) -> tuple[bool, frozenset[tuple[str, str]]]:
        """Whether another field has one value in these rows, and others around them; and those of which nothing around is known."""
        import numpy as np

        here = np.arange(first, first + rows)
        beside = np.array([i for i in (first - 1, first + rows) if 0 <= i < block.samples], np.int64)
        even: set[tuple[str, str]] = set()
        for name in [*self.series, *(self.time if self._all_series(block, first, rows) else [])]:
            column = block.columns.get(name)
            if column is None or name == self.context.label or len(set(texts_of(column, here, 80))) > 1:
                continue
            [own] = texts_of(column, here[:1], 80)
            known = self.values.setdefault(name, set())
            if len(known) < 2:
                known.add(own)
            if len(beside) and set(texts_of(column, beside, 80)) != {own}:
                return True, frozenset()
            even.add((name, own))
        return False, frozenset() if len(beside) else frozenset(even)

    def _all_series(self, block: Block, first: int, rows: int) -> bool:
        """Whether these rows are one each of series most of which are beside them as well, such as all shops on the day on which they were closed."""
        import numpy as np

        around = np.r_[max(0, first - rows) : first, first + rows : min(first + 2 * rows, block.samples)]
        for name in self.series if self.time else ():
            column = block.columns.get(name)
            own = set(texts_of(column, np.arange(first, first + rows), 80))
            if len(own) == rows < 2 * len(own & set(texts_of(column, around, 80))):
                return True
        return False

    def _few(self) -> None:
        if len(self.inner) > MOST_CLASSES:
            self.many = True
            self.inner.clear()

    def merge(self, other: Check) -> None:
        assert isinstance(other, LabelRuns)
        self.seen += other.seen
        self.files.merge(other.files)
        self.many = self.many or other.many
        self.splits += other.splits
        for name, known in other.values.items():
            self.values[name] = set(sorted(self.values.get(name, set()) | known)[:2])
        self.ends += other.ends
        for name, runs in other.inner.items():
            self.inner.setdefault(name, _Runs()).add(runs.count, runs.samples, runs.longest)
        self._few()

    def facts(self) -> Iterable[Fact]:
        if self.many:
            return
        found: dict[str, _Runs] = {name: replace(runs) for name, runs in self.inner.items()}
        for run in joined([run for ends in sorted(self.ends, key=lambda ends: ends[0].first) for run in ends]):
            found.setdefault(run.of, _Runs()).add(1, run.rows, [run])
        odd = [(name, runs) for name, runs in found.items() if name not in NONE and self._odd(runs)]
        if len(odd) != 1 or len(found) < 2:
            return  # rows that are sorted have one of each class
        [(name, runs)] = odd
        run, next_ = runs.longest
        value = {"class": name, "first": run.first, "rows": run.rows, "next": next_.rows, "others": runs.count - 1}
        yield Fact(RUN, value, self.evidence(), {"field": self.context.label})

    def _odd(self, runs: _Runs) -> bool:
        """Whether the longest run is far longer than all others, by the share of samples after which these go on."""
        if runs.count <= FEWEST:
            return False
        longest, next_ = runs.longest
        told = longest.told or any(len(self.values[name]) > 1 for name, _ in longest.even)
        if told or longest.rows == self.splits[longest.split]:
            return False
        others = runs.samples - longest.rows
        goes_on = max(1 - (runs.count - 1) / others, 1 / self.seen)
        luck = math.log(runs.count) + longest.rows * math.log(goes_on)
        return longest.rows >= LONGER * next_.rows and luck < math.log(CHANCE)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RUN):
            v, label = fact.value, escaped(self.context.label)
            last = v["first"] + v["rows"] - 1
            value = escaped(self.context.class_name(int(v["class"]) if v["class"].isdecimal() else v["class"]))
            text = f"{label} is {value} throughout {self.files.stretch(v['first'], last)}, while none of its {number(v['others'], 'other run')} is "
            text += f"longer than {v['next']:,}"
            where = [{"sample": at, "file": self.files.of(at), "field": fact.at["field"]} for at in (v["first"], last)]
            fix = "find out whether these were labelled individually; if not, relabel them or leave them out"
            yield finding("label-odd-one-out", "warning", text, fact, fix, where, v["rows"])


def joined(runs: list[_Run]) -> list[_Run]:
    """The runs in their order, those that go on in the next as one."""
    found = runs[:1]
    for run in runs[1:]:
        held = found[-1]
        if (held.of, held.split, held.next) == (run.of, run.split, run.first):
            even = held.even & run.even
            found[-1] = replace(held, rows=held.rows + run.rows, told=held.told or run.told, even=even)
        else:
            found.append(run)
    return found


def _in_order(coded: Coded) -> tuple[list[str], Any]:
    """The texts in order, and which one each row has."""
    import numpy as np

    texts = sorted(set(coded.texts))
    places = {text: k for k, text in enumerate(texts)}
    return texts, np.array([places[text] for text in coded.texts], np.int64)[coded.codes]


CHECK = LabelRuns
