"""Samples that occur more than once: within the data, across splits, with different labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dataloader_expert.checks.base import QUANTITY_LABEL, Check, Context
from dataloader_expert.checks.common.fingerprint import DIGEST, blank, digest64, mix, zero_rows
from dataloader_expert.checks.duplicates.chance import Chance, explains, pairs_of
from dataloader_expert.checks.duplicates.pairs import AGREEING, DUPLICATES, MOST_SHOWN, PHRASE, RATED, Seen
from dataloader_expert.checks.duplicates.spilling import HELD, Rows
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.sources.base import Block

PLACES = 4
"""Samples of a group that are told."""
MOST_LABELS, AGREE, FINE = 100_000, 10, 0.9
"""Labels that tell how often two are the same; how many times as often those of equal samples may be, which are nearer; and the share
of distinct ones from which they hardly ever come again."""
MANY, UNEVEN, OFTEN = 0.05, 1.2, 10
"""The share of rows that equal another one, and how many times as many pairs of equal rows there are as groups of one size would have,
from which on rows with keys of their own recur by nature: copies come in twos, or all as often. And the pairs of each row, where they
recur in a few combinations alone."""
FEW_LINES = 1000
"""Of so many lines of running text, one that is equal to another is a phrase, too, though longer than those that recur often."""
BY_CHANCE = 1e-6
"""How unlikely it must be that the values of all groups of equal samples agree by chance."""
DISTINCT = Quantity("distinct_samples", "samples", "distinct contents, ignoring the label")


class Groups:
    """Groups of equal samples: how many, in which splits, with how many labels, and where the first of them are."""

    def __init__(self, kept: Seen, copies: frozenset[str]) -> None:
        self.kept, self.copies = kept, copies
        self.extra = self.groups = self.cross_split = self.conflicts = self.equal = self.across = 0
        self.crossing: Counter[tuple[int, ...]] = Counter()
        self.shared: Counter[int] = Counter()
        self.first: dict[str, list[tuple[tuple[bool, int], Rows]]] = {"all": [], "crossing": [], "conflicts": []}
        """The groups that are told, each with what it is ordered by and its first samples."""

    def add(self, rows: Rows) -> int:
        """Takes in all samples of some contents; their number of distinct contents."""
        import numpy as np

        copied = rows.repeated()
        if not len(copied):
            return len(rows)
        copied = copied.take(np.lexsort((copied.index, copied.digest)))
        starts = np.flatnonzero(np.concatenate([[True], copied.digest[1:] != copied.digest[:-1]]))
        sizes = np.diff(np.concatenate([starts, [len(copied)]]))
        distinct = len(rows) - len(copied) + len(starts)
        self._contradict(copied, starts, sizes)
        if self.kept.phrases:
            kept = copied.digest & np.uint64(PHRASE) == 0
            sizes, copied = sizes[kept[starts]], copied.take(kept)
        if len(copied):
            self._count(copied, sizes)
        return distinct

    def _contradict(self, rows: Rows, starts: Any, sizes: Any) -> None:
        """Counts the groups whose samples have several labels."""
        import numpy as np

        group, labelled = np.repeat(np.arange(len(sizes)), sizes), rows.label != 0
        conflicts = _several(group[labelled], rows.label[labelled], len(sizes))
        self.conflicts += int(conflicts.sum())
        self._tell("conflicts", rows, starts, sizes, np.flatnonzero(conflicts))

    def _count(self, rows: Rows, sizes: Any) -> None:
        """Of samples that have equals, sorted by group and index; ``sizes`` of the groups."""
        import numpy as np

        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        group = np.repeat(np.arange(len(sizes)), sizes)
        self.extra += int(sizes.sum()) - len(sizes)
        self.groups += len(sizes)
        self.equal += pairs_of(sizes)
        named = np.array([s is not None for s in self.kept.splits])[rows.split]
        inside_splits = np.unique(group[named] * len(self.kept.splits) + rows.split[named], return_counts=True)[1]
        self.across += pairs_of(np.bincount(group[named])) - pairs_of(inside_splits)
        crosses = _several(group[named], rows.split[named], len(sizes))
        self.cross_split += int(crosses.sum())
        inside = crosses[group] & named
        self.shared.update(dict(zip(*_counted(rows.split[inside]), strict=True)))
        self._pairs(group[inside], rows.split[inside])
        for name, chosen in (("all", sizes > 1), ("crossing", crosses)):
            self._tell(name, rows, starts, sizes, np.flatnonzero(chosen))

    def _pairs(self, group: Any, split: Any) -> None:
        """Counts the sets of splits that groups lie in."""
        import numpy as np

        if not len(group):
            return
        width = len(self.kept.splits)
        distinct = np.unique(group * width + split)
        group, split = distinct // width, distinct % width
        sets: Any = np.split(split, np.flatnonzero(np.diff(group)) + 1) if width > 62 else None
        if sets is not None:
            self.crossing.update(tuple(s.tolist()) for s in sets)
            return
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        masks, counts = _counted(np.bitwise_or.reduceat(np.int64(1) << split, starts))
        for mask, n in zip(masks, counts, strict=True):
            self.crossing[tuple(c for c in range(width) if mask >> c & 1)] += n

    def _tell(self, name: str, rows: Rows, starts: Any, sizes: Any, groups: Any) -> None:
        """Keeps the first groups: what a copied file explains comes last, for it is told as that file."""
        import numpy as np

        kept, copied = self.first[name], self._explained(rows, starts, sizes)
        for g in groups[np.lexsort((rows.index[starts[groups]], copied[groups]))[:MOST_SHOWN]].tolist():
            lo, size, explained = int(starts[g]), int(sizes[g]), bool(copied[g])
            if name == "crossing":  # one of each of two splits
                splits = self.kept.named(rows.split[lo : lo + size].tolist())[:2]
                at = [lo + int(np.argmax(rows.split[lo : lo + size] == s)) for s in splits]
                at += [i for i in range(lo, lo + min(size, PLACES)) if i not in at]
            else:
                at = list(range(lo, lo + min(size, PLACES)))
            kept.append(((explained, int(rows.index[lo])), rows.take(at[:PLACES])))
        self.first[name] = sorted(kept, key=lambda k: k[0])[:MOST_SHOWN]

    def _explained(self, rows: Rows, starts: Any, sizes: Any) -> Any:
        """Which groups are explained by copied files: their first samples are all in such, but for one; bool."""
        import numpy as np

        if not self.copies:
            return np.zeros(len(sizes), bool)
        copied = np.concatenate([[0], np.cumsum(self.kept.files.within(rows.index, self.copies))])
        some = np.minimum(sizes, MOST_SHOWN)
        return copied[starts + some] - copied[starts] + 1 >= some

    def value(self) -> dict[str, Json]:
        places = {
            name: [[self.kept.place(int(i), int(s)) for i, s in zip(r.index, r.split, strict=True)] for _, r in first]
            for name, first in self.first.items()
        }
        by_pair: Counter[tuple[str, str]] = Counter()
        for splits, n in self.crossing.items():
            for k, a in enumerate(splits):
                for b in splits[k + 1 :]:
                    by_pair[self.kept.pair_of(a, b)] += n
        return {
            "extra": self.extra,
            "groups": self.groups,
            "equal_pairs": self.equal,
            "pairs_across": self.across,
            "cross_split": self.cross_split,
            "conflicts": self.conflicts,
            "pairs": [group[:2] for group in places["all"]],
            "crossing": [group[:2] for group in places["crossing"]],
            "where": _flat(places["all"]),
            "cross_where": _flat(places["crossing"]),
            "conflict_where": _flat(places["conflicts"]),
            "shared": {str(self.kept.splits[c]): n for c, n in sorted(self.shared.items())},
            "by_pair": [{"splits": list(pair), "count": n} for pair, n in sorted(by_pair.items())],
        }


def _pairs_told(expected: float, found: int) -> str:
    return f"{expected:,.0f} pairs of equal ones are expected, {found:,} were found"


def _drawn(rows: Rows) -> Rows:
    """At most ``MOST_LABELS`` labelled samples, whichever of all they came with: those whose index has the lowest hash."""
    import numpy as np

    rows = rows.take(rows.label != 0)
    if len(rows) <= MOST_LABELS:
        return rows
    return rows.take(np.argpartition(mix(rows.index.astype(np.uint64)), MOST_LABELS)[:MOST_LABELS])


def _told_apart(labels: Any) -> tuple[float, float]:
    """How often two samples with a label have the same, and the share of distinct ones."""
    import numpy as np

    counts = np.unique(labels, return_counts=True)[1].astype(np.float64)
    n = counts.sum()
    return (float((counts * (counts - 1)).sum() / (n * (n - 1))), len(counts) / float(n)) if n > 1 else (0.0, 1.0)


def _recur(extra: int, groups: int, pairs: int, seen: int) -> bool:
    """Whether equal rows come in groups of very different sizes."""
    if extra < max(20, MANY * seen):
        return False
    size = 1 + extra / max(1, groups)
    return pairs >= OFTEN * extra or (size > 2.5 and pairs >= UNEVEN * extra * size / 2)


def _beyond_chance(agreeing: dict[str, Any], samples: int) -> bool:
    """Whether equal samples that have the same value, too, are copies: values hardly ever come again, or far more agree than two
    that are alike do now and then, as rounded prices."""
    fine = agreeing["distinct_labels"] >= FINE * (1 - agreeing["extra"] / samples)
    return bool(agreeing["extra"]) and (fine or agreeing["equal_pairs"] > AGREE * agreeing["expected_agreeing"])


def _all_agree(agreeing: dict[str, Any], told: dict[str, Any]) -> bool:
    """Whether nearly all equal samples have the same value, too, far more than by chance: of a few values, such as stars, these are copies."""
    pairs, expected = told["equal_pairs"], agreeing["expected_agreeing"]
    nearly = agreeing["equal_pairs"] >= FINE * pairs and agreeing["extra"] >= FINE * told["extra"]
    return bool(pairs) and nearly and told["groups"] * math.log(max(expected, 1e-9) / pairs) <= math.log(BY_CHANCE)


def _with_labels(rows: Rows) -> Rows:
    """The same, where samples with other labels are other samples; what one without a label is equal to stays so."""
    import numpy as np

    open_to_any = np.isin(rows.digest, rows.digest[rows.label == 0])
    label, phrase = np.where(open_to_any, np.uint64(0), rows.label), rows.digest & np.uint64(PHRASE)
    mixed = ((rows.digest ^ mix(label)) & ~np.uint64(PHRASE)) | phrase
    return replace(rows, key=mixed, digest=mixed)


def _several(group: Any, values: Any, groups: int) -> Any:
    """Which of the groups hold more than one distinct value; ``group`` is sorted; bool [groups]."""
    import numpy as np

    found = np.zeros(groups, bool)
    if len(group):
        starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        lowest, highest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        found[group[starts]] = lowest != highest
    return found


def _counted(values: Any) -> tuple[list[int], list[int]]:
    import numpy as np

    distinct, counts = np.unique(values, return_counts=True)
    return distinct.tolist(), counts.tolist()


def _flat(groups: list[list[Json]]) -> list[Json]:
    return [place for group in groups for place in group][:MOST_SHOWN]


class Duplicates(Check):
    ids = ("duplicate-samples", "duplicate-files", "label-conflict", "splits-overlap")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context, HELD)
        self.chance = Chance(context, self.kept.names)
        self.raw: list[int] = []
        self.zeros = 0
        """Rows in which all that is measured is 0."""

    def applies(self) -> bool:
        return not self.context.of_words and not self.context.some_columns

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.kept.see(block)
        self.chance.see(block)
        even = blank(block, self.kept.names, self.context.phrase)
        zeros = zero_rows(block, self.kept.names)
        self.zeros += 0 if zeros is None else int(zeros.sum())
        self.raw += [digest64(r) for i, r in enumerate(block.raw) if even is None or not even[i]]

    def merge(self, other: Check) -> None:
        assert isinstance(other, Duplicates)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.chance.merge(other.chance)
        self.raw += other.raw
        self.zeros += other.zeros

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.seen:
            return
        evidence = self.evidence()
        distinct, sizes = 0, Counter[int]()
        told, agreeing = (Groups(self.kept, self.context.copies) for _ in range(2))
        drawn = Rows.none()
        for rows in self.kept.together():
            if self.context.replaced:
                rows = rows.take(~np.isin(rows.index, [*self.context.replaced]))
            drawn = _drawn(Rows.joined([drawn, rows]))
            distinct += told.add(rows)
            agreeing.add(_with_labels(rows.repeated()))
            sizes.update(dict(zip(*_counted(rows.split), strict=True)))
        yield Fact(DISTINCT, distinct, evidence)
        more = {"files": len(self.raw) - len(set(self.raw)), "digest": DIGEST, "rated": self.kept.rated(drawn.label)}
        more["zeros"] = self.zeros
        pairs = self.seen * (self.seen - 1) / 2
        chance = self.chance.equal(told.equal / max(1.0, pairs))
        named = [n for split, n in sizes.items() if self.kept.splits[split] is not None]
        across = (sum(named) ** 2 - sum(n * n for n in named)) / 2
        more["expected_pairs"] = round(chance * pairs, 3)
        more["expected_across"] = round(chance * across, 3)
        yield Fact(DUPLICATES, told.value() | more, evidence)
        alike, distinct_labels = _told_apart(drawn.label)
        by_chance = {"expected_agreeing": round(told.equal * alike, 3), "distinct_labels": round(distinct_labels, 4)}
        yield Fact(AGREEING, agreeing.value() | more | by_chance, evidence)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(DUPLICATES)
        if fact is None:
            return
        g, labelled, plain = fact.value, self.context.aside, fact
        measured = facts.value(QUANTITY_LABEL, False) is True
        agreeing = facts.find(AGREEING)
        # equal samples with other values of a quantity are observations
        copied = agreeing is not None and (_beyond_chance(agreeing.value, self.seen) or _all_agree(agreeing.value, g))
        if measured and agreeing is not None and copied:
            fact, labelled = agreeing, None
            g = fact.value | {k: g[k] for k in ("conflicts", "conflict_where")}
        rich = self.kept.names and any(
            f.kind in ("image", "audio", "text") for f in self.context.fields if f.name in self.kept.names
        )
        aside = [r.field for r in self.context.roles.keys if r.field not in self.kept.names]
        if aside and not rich and facts.value(DISTINCT) == 1:
            return  # nothing but keys varies, such as which document answers which question
        ignored = self._aside(labelled, aside)
        but = f", ignoring {ignored}" if ignored else ""
        chance = explains(g["expected_pairs"], g["equal_pairs"])
        leaks = g["cross_split"] and not explains(g["expected_across"], g["pairs_across"], 0)
        chance = chance and not leaks  # copies between splits are copies
        across, equal = (
            f"{but}. This is chance: rows have few distinct values; {_pairs_told(g[expected], g[found])}"
            for expected, found in (("expected_across", "pairs_across"), ("expected_pairs", "equal_pairs"))
        )
        if self._recurs(g["extra"]):
            chance = True
            across = equal = f"{but}: each is a single value, and most values recur"
        if aside and not rich and _recur(g["extra"], g["groups"], g["equal_pairs"], self.seen):
            chance = True
            across = equal = f"{but}. Many rows differ only in their key, as is usual with few distinct values"
        if self.context.phrase and self.context.label is None and g["extra"] * FEW_LINES <= self.seen:
            chance = True
            across = equal = f"{but}; a few equal lines are usual in running text, where phrases recur"
        if measured and labelled is not None:
            chance = True
            across = equal = (
                f"{but}: most differ in {self.context.label}, so they are repeated observations rather than copies"
            )
        weight: Severity = "info" if chance else "warning"
        zeros = plain.value["zeros"]
        if zeros > 1:
            text = f"{zeros:,} of {self.seen:,} rows hold nothing but 0 in their measured fields, and were not compared"
            fix = "find out whether these values were measured; if not, drop the rows or mark the values as missing"
            yield finding("duplicate-samples", "info", text, plain, fix, [], zeros)
        if g["extra"]:
            yield finding(
                "duplicate-samples",
                weight,
                f"{g['extra']} of {self.seen} samples equal another one{equal}"
                if chance
                else f"{g['extra']} of {self.seen} samples {'are copies' if g['extra'] != 1 else 'is a copy'} of another sample ({g['groups']} group{'s' * (g['groups'] != 1)}){but}",
                fact,
                "nothing to do, unless you know that they are copies"
                if chance
                else "keep one of each group, or keep the copies deliberately as weights",
                g["where"],
                g["extra"],
            )
        if g["files"]:
            yield finding(
                "duplicate-files",
                "warning",
                f"{g['files']} file{'s are byte-for-byte copies' if g['files'] != 1 else ' is a byte-for-byte copy'} of another",
                fact,
                "drop the copies",
                g["where"],
                g["files"],
            )
        if g["cross_split"]:
            told = ", ".join(f"{p['count']} in {' and '.join(p['splits'])}" for p in g["by_pair"])
            yield finding(
                "splits-overlap",
                "info" if chance else "error",
                f"{g['cross_split']} distinct sample{'s occur' if g['cross_split'] != 1 else ' occurs'} in more than one split: {told}"
                + (across if chance else but),
                fact,
                "nothing to do, unless you know that they are copies"
                if chance
                else "remove them from the training split: scores on them measure memorization",
                g["cross_where"],
                g["cross_split"],
            )
        if g["conflicts"]:
            undecided = chance or measured or g["rated"]
            sets = any(f.name == self.context.label and (f.shape or f.dtype == "list") for f in self.context.fields)
            # of several labels a sample, some are often left out
            severity: Severity = "info" if undecided else "error" if rich and not sets else "warning"
            yield finding(
                "label-conflict",
                severity,
                f"{g['conflicts']} sample{'s occur' if g['conflicts'] != 1 else ' occurs'} several times with different labels ({self.context.label})",
                plain,
                RATED
                if g["rated"]
                else "nothing to do: the fields do not determine the label, so no model can be right on all of them"
                if undecided
                else "decide on one label: no model can be right on both",
                g["conflict_where"],
                g["conflicts"],
            )

    def _recurs(self, extra: int) -> bool:
        """Whether samples are single values, such as tokens or readings, most of which occur again: none of them is a copy."""
        fields = [f for f in self.context.fields if f.name in self.kept.names]
        single = len(fields) == 1 and fields[0].kind in ("number", "boolean") and not fields[0].shape
        return single and 2 * extra > self.seen

    def unknowns(self) -> Iterable[Unknown]:
        if self.context.phrase:
            n = self.context.phrase
            but = " but by their labels" if self.kept.phrases else ""
            yield Unknown(
                "copies of short texts", f"texts of up to {n} characters were not compared{but}: many recur often"
            )

    def _aside(self, label: str | None, keys: list[str]) -> str:
        """What is left out where samples are compared, in words."""
        return " and ".join([*(["the label"] if label is not None else []), *(f"the key {name}" for name in keys)])


CHECK = Duplicates
