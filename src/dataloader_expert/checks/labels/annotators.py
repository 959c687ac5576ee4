"""One of several annotators whose labels of samples that others labelled too are no better than chance: reversed, always one class, or drawn.

Method: Cohen's kappa of each annotator with all others, on the samples that they share, where an annotator is compared only with what the others
say to each other of these very samples: one who is given the disputed ones agrees no less than they do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import RICH, digests
from dataloader_expert.checks.common.rows_kept import Named, at_of, digest_of, places
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.roles import TIME_WORDS

ODD_ANNOTATORS = Quantity(
    "odd_annotators",
    "samples",
    "samples of an annotator, and how well its labels agree with those of others on the same samples, with places",
)
KEPT, MOST_CLASSES, MOST_RATERS, MOST_ITEMS, MOST_FIELDS, MOST_KINDS = 20_000, 20, 200, 4, 4, 50
RATERS = {
    "annotator", "rater", "labeler", "labeller", "coder", "assessor", "evaluator", "reviewer", "judge", "grader", "marker", "expert", "reader",
    "observer", "scorer", "worker", "crowdworker", "turker", "radiologist", "pathologist", "clinician", "physician", "doctor", "dermatologist",
}  # fmt: skip
"""Who labels; what else is in a table for each sample, such as a model or an aspect, may well differ."""
DONE = {
    "annotated", "rated", "labeled", "labelled", "coded", "assessed", "evaluated", "reviewed", "judged", "graded", "marked", "read", "scored",
    "tagged", "classified", "diagnosed", "by",
}  # fmt: skip
NAMED = {
    "id",
    "ids",
    "name",
    "no",
    "nr",
    "num",
    "number",
    "code",
    "key",
    "uid",
    "uuid",
    "hash",
    "index",
    "idx",
    "email",
}
"""Words that a name of the field may have beside these; an annotator's age or confidence is none."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LEAST, TWICE = 30, 0.1
"""The fewest shared samples of an annotator, and the largest share of rows in which one has the same sample again."""
NOTHING, RELIABLE, GAP = 0.15, 0.4, 0.3
"""The most kappa of such an annotator, the least of the others on its samples, and by how much it is below that of each other."""
REVERSED, CONSTANT = -0.2, 0.98
CHANCE = 1e-6
"""How unlikely it must be that an annotator like the others agrees as rarely."""


class Annotators(Check):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        label = next((f for f in context.fields if f.name == context.label), None)
        self.labelled = label is not None and not label.shape
        split = None if context.roles.split is None else context.roles.split.field
        others = [f for f in context.fields if f.name not in (context.label, split)]
        whose = [f.name for f in others if is_rater(f)]
        self.raters = {name: Named(MOST_RATERS) for name in whose[:MOST_FIELDS]}
        others = [f for f in others if f.name not in whose]
        self.kinds = {f.name: Named(MOST_KINDS) for f in others if f.kind == "category" and not f.shape}
        self.kinds = dict(list(self.kinds.items())[:MOST_FIELDS])
        self.items = {name: ItemsKept(KEPT) for name in _items(context, others)[:MOST_ITEMS]}
        self.labels = Named(MOST_CLASSES)

    def applies(self) -> bool:
        return self.labelled and bool(self.raters) and bool(self.items)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        label = block.columns.get(self.context.label or "")
        if not block.samples or label is None or not self.applies() or self.labels.many:
            return
        every = np.arange(block.samples)
        kept = {f"by {name}": named.of(block.columns.get(name), every) for name, named in self.raters.items()}
        kept |= {f"kind {name}": named.of(block.columns.get(name), every) for name, named in self.kinds.items()}
        kept["label"] = self.labels.of(label, every)
        known = ~np.isin(kept["label"], _blank())
        for name, items in self.items.items():
            column = block.columns.get(name)
            if column is not None:
                there = known if column.nulls is None else known & ~column.nulls[: block.samples]
                items.add(block, digests(block, [name]), np.flatnonzero(there), kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Annotators)
        self.seen += other.seen
        self.labels.merge(other.labels)
        for name, named in self.raters.items():
            named.merge(other.raters[name])
        for name, named in self.kinds.items():
            named.merge(other.kinds[name])
        for name, items in self.items.items():
            items.merge(other.items[name])

    def facts(self) -> Iterable[Fact]:
        for rater, named in self.raters.items():
            if self.labels.many or named.many:
                continue
            shared = [
                made for items in self.items.values() if (made := _shared(items.all(), f"by {rater}")) is not None
            ]
            for rows in sorted(shared, key=lambda rows: -len(rows["item"]))[:1]:
                yield from self._odd(rater, rows)

    def _odd(self, rater: str, rows: dict[str, Any]) -> Iterable[Fact]:
        import numpy as np

        table = Table.of(rows, f"by {rater}")
        for who, all_others in odd_ones(table):
            own = table.rater == who
            if any(_explains(rows[f"kind {name}"], table, who) for name, kind in self.kinds.items() if not kind.many):
                continue
            mine = table.compared(who, all_others)
            found = np.zeros(len(own), bool)
            found[mine.rows] = mine.agree == 0
            value = {
                "of": self.raters[rater].texts.get(int(table.names[who]), ""),
                "count": int(found.sum()),
                "rows": len(mine.rows),
                "annotators": len(table.names),
                "agree": round(mine.share, 4),
                "others": round(float(np.mean([table.compared(k, all_others).share for k in all_others])), 4),
                "kappa": round(mine.kappa, 4),
                "constant": bool(np.bincount(table.label[own]).max() >= CONSTANT * own.sum()),
            }
            at = {"field": rater, "annotator": int(who)}
            where = places(rows, found, self.context.label or "")
            yield Fact(ODD_ANNOTATORS, value | {"where": where}, self.evidence("sampled", len(own)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ODD_ANNOTATORS):
            v, name, label = fact.value, escaped(str(fact.at["field"])), escaped(self.context.label)
            text = f"{label}: {name} {escaped(v['of'])} agrees with the others on {v['agree']:.0%} of "
            text += f"{number(v['rows'], 'sample')} that several labelled, while the others agree with each other on {v['others']:.0%}: "
            if v["kappa"] <= REVERSED:
                text, fix = text + "far below chance, as if classes were swapped", "if so, swap them back"
            elif v["constant"]:
                text, fix = text + "the label is always the same", "leave these labels out of training"
            else:
                text, fix = (
                    text + "no better than chance",
                    "relabel these samples, or leave these labels out of training",
                )
            severity: Severity = "info" if self.context.guessed else "warning"
            yield finding("label-odd-one-out", severity, text, fact, f"check a few; {fix}", v["where"], v["count"])


class ItemsKept:
    """All rows of the items with the smallest hashes, about ``most`` at most: the same whatever the order of blocks."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.parts: list[dict[str, Any]] = []
        self.held = 0
        self.limit: int | None = None
        """The smallest hash that is no longer kept."""

    def add(self, block: Block, items: Any, rows: Any, values: dict[str, Any]) -> None:
        """Of these rows of a block, those that may be kept; ``items`` [samples], uint64."""
        import numpy as np

        if self.limit is not None:
            rows = rows[items[rows] < np.uint64(self.limit)]
        if len(rows):
            self._hold({"item": items[rows]} | {name: v[rows] for name, v in values.items()} | at_of(block, rows))

    def merge(self, other: ItemsKept) -> None:
        for part in other.parts:
            self._hold(part)
        if other.limit is not None:
            self.limit = other.limit if self.limit is None else min(self.limit, other.limit)

    def all(self) -> dict[str, Any] | None:
        self._prune()
        return self.parts[0] if self.parts and len(self.parts[0]["item"]) else None

    def _hold(self, part: dict[str, Any]) -> None:
        self.parts.append(part)
        self.held += len(part["item"])
        if self.held > 2 * self.most:
            self._prune()

    def _prune(self) -> None:
        """In order of hashes and samples; an item is kept whole or not at all."""
        import numpy as np

        if not self.parts:
            return
        rows = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        order = np.lexsort((rows["sample"], rows["item"]))
        if self.limit is not None:
            order = order[rows["item"][order] < np.uint64(self.limit)]
        if len(order) > self.most:
            hashes = rows["item"][order]
            self.limit = int(hashes[self.most])
            order = order[hashes < hashes[self.most]]
        self.parts, self.held = [{name: values[order] for name, values in rows.items()}], len(order)


@dataclass(frozen=True)
class Compared:
    """An annotator beside others: ``rows`` of samples that one of them has labelled, and the share of them that agrees in each."""

    rows: Any
    agree: Any
    share: float
    kappa: float
    others_kappa: float
    """Of the others among themselves, in samples that two of them have; NaN of too few."""
    sigmas: float
    """By how many standard errors it agrees less with them than they do among themselves, in these samples."""
    chance: float
    """How often this annotator would agree if its labels were dealt out anew."""


@dataclass(frozen=True)
class Table:
    """Of each row, numbers from 0: which item, annotator and class; ``names`` are the annotators' digests."""

    item: Any
    rater: Any
    label: Any
    names: Any

    @staticmethod
    def of(rows: dict[str, Any], by: str) -> Table:
        import numpy as np

        names, rater = np.unique(rows[by], return_inverse=True)
        item, label = (np.unique(rows[key], return_inverse=True)[1] for key in ("item", "label"))
        return Table(item, rater, label, names)

    def counts(self, raters: list[int]) -> Any:
        """How many of these annotators gave each item each class, [items, classes]."""
        import numpy as np

        here, width = np.isin(self.rater, raters), int(self.label.max()) + 1
        cells = np.bincount(self.item[here] * width + self.label[here], minlength=(int(self.item.max()) + 1) * width)
        return cells.reshape(-1, width)

    def compared(self, who: int, others: list[int], counts: Any = None) -> Compared:
        """``counts``: those of the others and this one, if they are known."""
        import numpy as np

        own = np.flatnonzero(self.rater == who)
        theirs = (self.counts([*others, who]) if counts is None else counts)[self.item[own]].astype(np.float64)
        theirs[np.arange(len(own)), self.label[own]] -= 1
        n = theirs.sum(1)
        own, theirs, n = own[n > 0], theirs[n > 0], n[n > 0]
        if not len(own):
            return Compared(own, n, math.nan, math.nan, math.nan, 0.0, math.nan)
        agree = theirs[np.arange(len(own)), self.label[own]] / n
        mine = np.bincount(self.label[own], minlength=theirs.shape[1]) / len(own)
        usual = (theirs / n[:, None]).mean(0)
        chance, share = float(mine @ usual), float(agree.mean())
        reliable, sigmas = math.nan, 0.0
        pairs = n > 1
        if pairs.sum() >= LEAST:
            t, m = theirs[pairs], n[pairs]
            between = (t * (t - 1)).sum(1) / (m * (m - 1))
            reliable = _kappa(float(between.mean()), float(((t / m[:, None]).mean(0) ** 2).sum()))
            less = between - agree[pairs]
            sigmas = float(less.mean() / math.sqrt(max(less.var(), 1 / len(less)) / len(less)))
        return Compared(own, agree, share, _kappa(share, chance), reliable, sigmas, chance)

    def each(self, raters: list[int]) -> dict[int, Compared]:
        """Each of these annotators beside the others, where enough samples are shared."""
        counts = self.counts(raters)
        found = {who: self.compared(who, raters, counts) for who in raters}
        return {who: of for who, of in found.items() if len(of.rows) >= LEAST}


def odd_ones(table: Table) -> list[tuple[int, list[int]]]:
    """Annotators whose labels tell nothing of what all others agree on, each with these others."""
    good = list(range(len(table.names)))
    odd: list[int] = []
    while len(good) > 2:
        known = table.each(good)
        worst = min(known, key=lambda who: (known[who].kappa, who), default=None)
        if worst is None or not _tells_nothing(known[worst], len(table.names)):
            break
        good.remove(worst)
        odd.append(worst)
    rest = table.each(good)
    if len(rest) < 2 or len(odd) > len(table.names) / 3:
        return []
    least = min(of.kappa for of in rest.values())
    camp = {who for who, of in table.each(odd).items() if of.kappa >= RELIABLE}  # read the labels another way together
    beside = {who: table.compared(who, good) for who in odd if who not in camp}
    return [(who, good) for who, of in beside.items() if of.kappa <= NOTHING and of.kappa <= least - GAP]


def _tells_nothing(of: Compared, raters: int) -> bool:
    """Whether it agrees far more rarely than the others do of the same samples; where these have only one other label, than by chance."""
    if math.isnan(of.others_kappa):
        spread = math.sqrt(max(of.chance * (1 - of.chance), 1e-9) / len(of.rows))
        return of.kappa <= REVERSED and _chance((of.chance - of.share) / spread) <= CHANCE / raters
    return of.kappa <= NOTHING and of.others_kappa >= RELIABLE and _chance(of.sigmas) <= CHANCE / raters


def _chance(sigmas: float) -> float:
    """Of a value so many standard deviations above the mean, or more."""
    return 0.5 * math.erfc(sigmas / math.sqrt(2))


def _kappa(share: float, chance: float) -> float:
    """0 where all labels are of one class: they tell nothing."""
    return (share - chance) / (1 - chance) if chance < 1 else 0.0


def _shared(rows: dict[str, Any] | None, by: str) -> dict[str, Any] | None:
    """The rows of samples that several annotators labelled once each; None if they are few or such rows are no labels of one sample."""
    import numpy as np

    if rows is None:
        return None
    rows = _some(rows, ~np.isin(rows[by], _blank()))
    _, item, counts = np.unique(rows["item"], return_inverse=True, return_counts=True)
    several = counts[item] > 1
    rows, item = _some(rows, several), item[several]
    pair = item * (MOST_RATERS + 2) + np.unique(rows[by], return_inverse=True)[1]
    _, place, times = np.unique(pair, return_inverse=True, return_counts=True)
    once = times[place] == 1
    if once.sum() < 2 * LEAST or 1 - once.mean() > TWICE:
        return None
    return _some(rows, once)


def _some(rows: dict[str, Any], which: Any) -> dict[str, Any]:
    return {name: values[which] for name, values in rows.items()}


def _explains(kinds: Any, table: Table, who: int) -> bool:
    """Whether an annotator's rows are of kinds that those of the others for the same samples are hardly ever, such as another question. A
    field that has one value of its own for each annotator is another name of them."""
    import numpy as np

    pairs = np.unique(np.stack([kinds, table.rater.astype(np.uint64)]), axis=1)
    if len(np.unique(kinds)) == len(table.names) == pairs.shape[1]:
        return False
    own = table.rater == who
    beside = kinds[~own & np.isin(table.item, table.item[own])]
    rare = [kind for kind in np.unique(kinds[own]) if (beside == kind).sum() <= 0.05 * len(beside)]
    return bool(np.isin(kinds[own], rare).mean() >= 0.9)


def _items(context: Context, fields: list[Field]) -> list[str]:
    """Fields that may say what was labelled: texts, pictures and the like; without any, what may number them, but no times."""
    rich = [f.name for f in fields if f.kind in RICH]
    if rich:
        return rich
    timed = None if context.timed is None else context.timed.field
    plain = [f for f in fields if not f.shape and (f.kind == "category" or (f.kind == "number" and "int" in f.dtype))]
    return [f.name for f in plain if f.name != timed and not _words(f.name) & TIME_WORDS]


def is_rater(field: Field) -> bool:
    """Whether a field's name says that its values are those who labelled."""
    if field.shape or not (field.kind in ("category", "text") or (field.kind == "number" and "int" in field.dtype)):
        return False
    words = _words(field.name)
    by = "by" in words and len(words & DONE) > 1 and words <= DONE
    return by or (bool(words & RATERS) and words <= RATERS | NAMED)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _blank() -> Any:
    """Digests of texts that are no value."""
    import numpy as np

    return np.array([digest_of(text) for text in ("", "nan", "None")], np.uint64)


CHECK = Annotators
