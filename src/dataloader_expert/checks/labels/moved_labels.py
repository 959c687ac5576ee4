"""Labels of the next or the previous sample, or with other numbers, in a stretch of rows: a line was lost or added where they were
written, or a part was written with another list of classes.

Method: classes are told by the nearest mean of their standardised vectors (Tibshirani and others, "Diagnosis of multiple cancer types
by shrunken centroids of gene expression", PNAS 99(10), 2002, without shrinking), of texts by their words (naive Bayes). A stretch is the run of rows in which the class so
told fits a neighbour's label more often than the row's own by the most (the maximum subarray). It is reported where chance would hardly
make as long a one, and where the neighbour's label is told in it nearly as often as the own label is elsewhere: in a stretch of wrong
labels, or of vectors that tell nothing, neither is. Where no neighbour's label fits either, but each class so told has one other label
of its own, that is reported. So are whole recordings whose labels lag by several rows, while those of others fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.class_tellers import by_means, numbers_of_content
from dataloader_expert.checks.common.fingerprint import content_fields
from dataloader_expert.checks.common.origins import SPLIT, Origins
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Coded, Named, digest_of, distinct, texts_of
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.common.swapped_classes import SWAPPED_IN, permutation
from dataloader_expert.checks.common.vectors import vectors
from dataloader_expert.checks.common.word_cells import cells_of, likelihoods, told_by
from dataloader_expert.checks.labels.label_facts import MOVED, SWAPPED
from dataloader_expert.checks.labels.lagging import LAGGING, lags
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

MOST, WIDEST, LEAST, CLASSES = 20_000, 128, 60, 50
"""The most samples and numbers of each that are kept, the fewest samples, and the most classes."""
FEWEST, TOLD = 3, 5
"""The fewest samples that tell which label a class has in a stretch, and the most such labels that are told."""
TELLING = 0.5
"""The least share of the rows, beyond guessing the largest class, whose class their vectors tell."""
MUCH, LITTLE, SURE = 0.6, 0.25, 6.0
"""Of the rows of one kind: the least share of labels that fit a neighbour, and the most that fit their own sample or the other neighbour, on
the way from chance to the share elsewhere; and by how many standard errors these differ."""
CHANCE = 1e-6
"""How unlikely so long a stretch must be by chance."""
LIGHTER = 0.35
"""What a right label weighs against a wrong one in a stretch in which some classes are swapped, and others are right."""
AS_OFTEN, SELDOM = 0.8, 0.5
"""Within a stretch: the least share of labels that fit a neighbour, and the most that fit their own sample, on the way from chance to
the share that does elsewhere."""


class MovedLabels(Check):
    ids = ("rows-shifted", "label-odd-one-out")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields}
        names = content_fields(context)
        rich = [n for n in names if kinds[n].kind in ("embedding", "array", "image")]
        texts = [n for n in names if kinds[n].kind == "text"]
        self.text = texts[0] if texts and not rich else None
        plain = [n for n in names if kinds[n].kind == "number" and not kinds[n].shape]
        self.names = (rich[:1] or texts[:1] or plain)[:WIDEST]
        self.whole = bool(rich) and kinds[rich[0]].kind != "image" and None not in kinds[rich[0]].shape
        self.looks = bool(rich) and (kinds[rich[0]].kind == "image" or len(kinds[rich[0]].shape) > 1)
        """Whether samples are pictures or arrays of several axes, which their numbers in order do not tell."""
        self.parts: list[tuple[int, Any, Any]] = []
        """Of each block: its first sample, vectors, or cells of words, [n, d], and digests of labels [n], 0 for a missing one."""
        self.kinds = {name: Named(CLASSES) for name in context.series_fields if name not in (context.label, self.text)}
        self.of_kinds: list[tuple[int, dict[str, Any]]] = []
        """Of each block: its first sample, and what each field has that may say where a sample comes from, uint64 [n]."""
        self.origins = Origins(context)
        self.groups: list[tuple[int, dict[str, Any]]] = []
        """Of each block: its first sample, and where its samples are from."""
        self.labels = Named(CLASSES)
        self.files = Files()

    def applies(self) -> bool:
        if self.context.folders:
            return False  # rows are in the order of their classes, so none can have the next one's
        return self.context.label is not None and bool(self.names) and not self.context.guessed

    def looked(self) -> bool:
        return bool(self.parts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        label = block.columns.get(self.context.label or "")
        if (
            label is None
            or any(name not in block.columns for name in self.names)  # of a shard that lacks a member
            or not block.samples
            or block.rows is not None
            or self.context.samples is None
            or self.context.samples > MOST
        ):
            return
        rows = np.arange(block.samples)
        if self.text is not None:
            x = np.stack([cells_of(text) for text in texts_of(block.columns.get(self.text), rows)])
        elif self.looks:
            x = numbers_of_content(self.context, block, self.names, rows)[:, :WIDEST]
        else:
            x = vectors(block, self.names, self.whole)[:, :WIDEST].astype(np.float32)
        texts, whose = distinct(label, rows)
        codes = self.labels.coded(Coded(["" if text == "None" else text for text in texts], whose))
        self.parts.append((block.unit.start, x, np.where(codes == digest_of(""), np.uint64(0), codes)))
        kinds = {name: named.of(block.columns.get(name), rows) for name, named in self.kinds.items()}
        self.of_kinds.append((block.unit.start, kinds))
        self.groups.append((block.unit.start, self.origins.of(block, rows)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, MovedLabels)
        self.seen += other.seen
        self.parts += other.parts
        self.of_kinds += other.of_kinds
        for name, named in other.kinds.items():
            self.kinds[name].merge(named)
        self.labels.merge(other.labels)
        self.groups += other.groups
        self.origins.merge(other.origins)
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        if sum(len(x) for _, x, _ in parts) < LEAST:
            return
        parts = of_one_width(parts)
        index = np.concatenate([start + np.arange(len(x)) for start, x, _ in parts])
        x, codes = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        there = (x >= 0).any(1) if self.text is not None else np.isfinite(x).all(1)
        kept = there & (codes != 0)
        x, codes, index = x[kept], codes[kept], index[kept]
        names, label = np.unique(codes, return_inverse=True)
        if len(x) < LEAST or not 2 <= len(names) <= CLASSES:
            return
        told = self._told(x, label, len(names))
        yield from self._lagging(told, label, index, kept)
        found, renamed = moved(told, label), swapped(told, label)
        if found is not None and (renamed is None or renamed[1] - renamed[0] < found[1] - found[0]):
            first, last, by = found
            value = {"first": int(index[first]), "last": int(index[last]), "by": by}
            yield Fact(MOVED, value, self.evidence(), {"field": self.context.label})
            return
        of_kinds = sorted(self.of_kinds, key=lambda part: part[0])
        for name, named in self.kinds.items():
            if not named.many:
                kind = np.concatenate([part[name] for _, part in of_kinds])[kept]
                which = worst_kind(told == label, kind)
                shift = None if which is None else self._by_others(x, label, kind == which)
                if which is not None and shift is not None:
                    samples = index[kind == np.uint64(which)]
                    where = {"first": int(samples[0]), "last": int(samples[-1]), "by": shift, "count": len(samples)}
                    source = {"of": name, "is": named.texts.get(which, "")}
                    yield Fact(MOVED, where | source, self.evidence(), {"field": self.context.label})
                    return
        if renamed is not None:
            first, last, of = renamed
            texts = [self.labels.texts.get(int(name), "") for name in names]
            called = [self.context.class_name(int(t) if t.isdecimal() else t) for t in texts]
            pairs = [[called[c], called[k]] for c, k in sorted(of.items())]
            where = {"first": int(index[first]), "last": int(index[last])}
            yield Fact(SWAPPED, {**where, "pairs": pairs}, self.evidence(), {"field": self.context.label})

    def _by_others(self, x: Any, label: Any, own: Any) -> int | None:
        """By how many rows the labels of these rows are shifted among them, as all others tell."""
        rest, classes = ~own, int(label.max()) + 1
        if len(set(label[own].tolist())) < 2 or len(set(label[rest].tolist())) < classes:
            return None  # a class of its own
        right = self._told(x[rest], label[rest], classes) == label[rest]
        if not telling(right, label[rest]):
            return None
        if self.text is not None:
            told = told_by(x[rest], label[rest], x[own], classes)
        else:
            told = nearest(x[rest].astype(float), label[rest], x[own].astype(float), classes)
        return moved_by_others(told, label[own], float(right.mean()))

    def _lagging(self, told: Any, label: Any, index: Any, kept: Any) -> Iterable[Fact]:
        """Of the first field of which several values are recordings."""
        import numpy as np

        groups = [codes for _, codes in sorted(self.groups, key=lambda part: part[0])]
        for name in self.origins.named:
            whose = np.concatenate([codes[f"group {name}"] for codes in groups])[kept]
            known = self.origins.named[name]
            found = (
                lags(told, label, whose, index)
                if name != SPLIT and not known.many and telling(told == label, label)
                else []
            )
            for value, lag, rows in found:
                first, last = int(index[rows[0]]), int(index[rows[-1]])
                told_of = {
                    "of": known.texts.get(int(value), ""),
                    "lag": lag,
                    "first": first,
                    "last": last,
                    "rows": len(rows),
                }
                yield Fact(LAGGING, told_of, self.evidence(), {"field": name, "first": first})
            if found:
                return

    def _told(self, x: Any, label: Any, classes: int) -> Any:
        """The class that each sample's words, or numbers, tell."""
        import numpy as np

        if self.text is not None:
            return likelihoods(x, label, classes).argmax(1)
        if self.looks:
            every = np.ones(len(label), bool)
            return by_means(x, label, classes)(every, every)
        x = x.astype(np.float64)
        if self.whole:  # of a vector the direction tells, and its length may be that of another scale
            x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)
        return told_classes(x, label, classes)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(LAGGING):
            v = fact.value
            text = f"the label ({escaped(self.context.label)}) seems to be shifted by {abs(v['lag'])} rows in "
            text += f"{self.files.stretch(v['first'], v['last'])} ({escaped(str(fact.at['field']))} {escaped(v['of'])}): there it fits the samples "
            text += f"{abs(v['lag'])} rows {'before' if v['lag'] > 0 else 'after'}; elsewhere it fits its own"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            fix = (
                "check the clocks of the recording and its labels, or how they were aligned, and shift the labels back"
            )
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["rows"])
        for fact in facts.all(MOVED):
            v = fact.value
            text = f"the label ({escaped(self.context.label)}) seems to be shifted by a row in "
            if "of" in v:
                text += f"the {v['count']:,} samples where {escaped(v['of'])} is {escaped(v['is'])}: there it fits the "
                text += f"{'next' if v['by'] > 0 else 'previous'} one of these"
            else:
                text += self.files.stretch(v["first"], v["last"])
                text += f": there it fits the {'next' if v['by'] > 0 else 'previous'} sample"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            fix = "check where these rows begin: a label was probably lost or added there; shift the labels back"
            n = v.get("count", v["last"] - v["first"] + 1)
            yield finding("rows-shifted", "warning", text, fact, fix, where, n)
        for fact in () if any(facts.all(SWAPPED_IN)) else facts.all(SWAPPED):  # that of a split or a group is told
            v = fact.value
            pairs = [f"{escaped(elsewhere)} labelled {escaped(there)}" for elsewhere, there in v["pairs"]]
            text = f"classes seem to carry each other's labels ({escaped(self.context.label)}) in "
            text += f"{self.files.stretch(v['first'], v['last'])}: {', '.join(pairs[:TOLD])}{', …' if len(pairs) > TOLD else ''}"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            fix = "check these rows; if so, find out which class list they were written with, and relabel them like the others"
            yield finding("label-odd-one-out", "warning", text, fact, fix, where, v["last"] - v["first"] + 1)


def of_one_width(parts: list[tuple[int, Any, Any]]) -> list[tuple[int, Any, Any]]:
    """Parts whose vectors have another width than those of most samples, as images of another type have, with NaN in that width."""
    import numpy as np

    widths: Counter[int] = Counter()
    for _, x, _ in parts:
        widths[x.shape[1]] += len(x)
    width = max(widths, key=lambda w: (widths[w], w))
    blank = np.float32(np.nan)
    return [(start, x if x.shape[1] == width else np.full((len(x), width), blank), codes) for start, x, codes in parts]


def told_classes(x: Any, label: Any, classes: int) -> Any:
    """The class whose mean is nearest to each row of ``x``, float64 [n, d], in standard deviations within classes; the mean of its own class
    is that of the others, else many numbers of few rows would tell any labels."""
    import numpy as np

    counts = np.bincount(label, minlength=classes)
    means = np.stack([np.bincount(label, column, classes) for column in x.T], 1) / counts[:, None]
    within = np.sqrt(((x - means[label]) ** 2).mean(0))
    scale = np.where(within > 0, within, np.inf)
    x, means = x / scale, means / scale
    far = (x * x).sum(1)[:, None] - 2 * x @ means.T + (means * means).sum(1)
    rows, others = np.arange(len(x)), counts[label] - 1
    far[rows, label] = np.where(others > 0, far[rows, label] * (1 + 1 / np.maximum(others, 1)) ** 2, np.inf)
    return np.argmin(far, 1)


def nearest(x: Any, label: Any, others: Any, classes: int) -> Any:
    """The class whose mean, of ``x`` and its labels, is nearest to each of the others, in standard deviations within classes."""
    import numpy as np

    counts = np.bincount(label, minlength=classes)
    means = np.stack([np.bincount(label, column, classes) for column in x.T], 1) / counts[:, None]
    within = np.sqrt(((x - means[label]) ** 2).mean(0))
    means, others = (v / np.where(within > 0, within, np.inf) for v in (means, others))
    return ((means * means).sum(1) - 2 * others @ means.T).argmin(1)


def moved(told: Any, label: Any) -> tuple[int, int, int] | None:
    """The first and the last row of the stretch whose labels fit a neighbour, and by how many rows they are shifted: 1 if they are those
    of the sample before, so that each fits the next; None where there is none."""
    own = told[1:-1] == label[1:-1]
    if not telling(own, label):
        return None
    best: tuple[float, tuple[int, int, int]] | None = None
    for by in (1, -1):
        other = told[1 + by : len(told) - 1 + by] == label[1:-1]
        found = stretch(own, other, label)
        if found is not None and (best is None or found[0] < best[0]):
            best = found[0], (found[1] + 1, found[2], by)
    return None if best is None else best[1]


def worst_kind(own: Any, kind: Any) -> int | None:
    """The kind whose labels are told the worst, of those of which there are enough and others too; None if there is none."""
    import numpy as np

    values, which, counts = np.unique(kind, return_inverse=True, return_counts=True)
    rates = np.where((counts >= LEAST) & (len(kind) - counts >= LEAST), np.bincount(which, own) / counts, np.inf)
    k = int(rates.argmin())
    return int(values[k]) if math.isfinite(rates[k]) else None


def moved_by_others(told: Any, label: Any, elsewhere: float) -> int | None:
    """By how many rows the labels of one kind are shifted among its rows, where ``told`` is what all others tell; None if they are not.
    ``elsewhere``: the share of labels that is told of the others."""
    import numpy as np

    shares = np.bincount(label) / len(label)
    chance = float(shares @ shares)
    beyond = elsewhere - chance
    stays = float((told == label).mean())
    fits = {by: float((told[1 + by : len(told) - 1 + by] == label[1:-1]).mean()) for by in (1, -1)}
    by = max(fits, key=lambda one: fits[one])
    own_way = max(stays, fits[-by]) <= chance + LITTLE * beyond  # else classes come in runs
    sure = fits[by] - max(stays, fits[-by]) >= SURE / math.sqrt(len(label))
    return by if beyond > 0 and own_way and sure and fits[by] >= chance + MUCH * beyond else None


def swapped(told: Any, label: Any) -> tuple[int, int, dict[int, int]] | None:
    """The first and the last row of the stretch in which classes told have the labels of others, and which; None where there is none, or
    a class is told alone: its samples may only look like another one's. All classes may be swapped there, or some among themselves."""
    import numpy as np

    own = told == label
    if not telling(own, label):
        return None
    begin, end = highest(np.where(own, -1, 1))
    of = _all_swapped(told[begin:end], label[begin:end])
    if of is None:
        begin, end = highest(np.where(own, -LIGHTER, 1))
        made = permutation(told[begin:end], label[begin:end])
        if made is None:
            return None
        of = made[0]
    means = np.arange(int(label.max()) + 1)
    means[list(of)] = list(of.values())
    rows = np.flatnonzero(np.isin(told, list(of)))
    found = stretch(own[rows], (means[told] == label)[rows], label[rows])
    return None if found is None else (int(rows[found[1]]), int(rows[found[2] - 1]), of)


def _all_swapped(told: Any, label: Any) -> dict[int, int] | None:
    """Which label each class told has, where each has one of its own and none is right."""
    import numpy as np

    classes = int(max(told.max(initial=0), label.max(initial=0))) + 1
    pairs = np.bincount(told * classes + label, minlength=classes * classes).reshape(classes, -1)
    of = {c: int(pairs[c].argmax()) for c in range(classes) if pairs[c].sum() >= FEWEST}
    if len(of) < 2 or len(set(of.values())) < len(of) or any(c == k for c, k in of.items()):
        return None
    return of


def telling(own: Any, label: Any) -> bool:
    """Whether the classes told are those of most rows, beyond guessing the largest class."""
    import numpy as np

    usual = float(np.bincount(label).max()) / len(label)
    return bool(own.mean() >= usual + TELLING * (1 - usual))


def stretch(own: Any, other: Any, label: Any) -> tuple[float, int, int] | None:
    """How unlikely by chance, in nats, the run of rows is whose labels fit what is told ``other``-wise and not of the rows themselves, its
    first row and the one behind its last; None if chance may make it, or they do not fit as well as labels elsewhere."""
    import numpy as np

    chance = float((np.bincount(label) / len(label)) @ (np.bincount(label) / len(label)))
    gain = other.astype(int) - own.astype(int)
    begin, end = highest(gain)
    most = int(gain[begin:end].sum())
    rest = np.concatenate([gain[:begin], gain[end:]])
    up, down = ((rest == step).sum() + 1 for step in (1, -1))
    if most <= 0 or up >= down:
        return None
    elsewhere = float(np.concatenate([own[:begin], own[end:]]).mean()) if len(rest) else 0.0
    beyond = max(0.0, elsewhere - chance)
    fits, stays = (float(part[begin:end].mean()) for part in (other, own))
    if fits < chance + AS_OFTEN * beyond or stays > chance + SELDOM * beyond:
        return None
    luck = math.log(len(gain)) + most * math.log(up / down)
    return (luck, begin, end) if luck < math.log(CHANCE) else None


CHECK = MovedLabels
