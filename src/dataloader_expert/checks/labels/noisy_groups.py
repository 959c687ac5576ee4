"""Labels of one annotator, source, site or split that disagree with what the content of all others tells.

Method: a naive Bayes classifier over the words of the texts, each text by the counts of all others. Judged is only where it agrees with
most labels; a group is told if far more of its labels than of the others' are surely other ones by their texts. And by words, pictures,
arrays or numbers (``class_tellers``), learnt on all other groups: a group is told in which classes have each other's labels
(``swapped_classes``). Not if its samples are also in other groups, as where several things are asked of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.class_tellers import by_means, by_words, numbers_of_content
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields, digest64
from dataloader_expert.checks.common.origins import SPLIT, Origins, called
from dataloader_expert.checks.common.rows_kept import Named, digest_of, places, texts_of
from dataloader_expert.checks.common.swapped_classes import SWAPPED_IN, Exchange, swaps
from dataloader_expert.checks.common.word_cells import cells_of, likelihoods
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

NOISY = Quantity(
    "noisy_groups", "samples", "samples of a group whose text clearly belongs to another label, with places"
)
KEPT, MOST_CLASSES, MOST_BY_WORDS = 10_000, 50, 20
CERTAIN, RIGHT = 3.0, 0.8
"""Nats by which another class must be likelier, and the least share of labels that the classifier must agree with."""
LEAST, RATE, TIMES, SIGMAS = 30, 0.15, 4.0, 6.0
"""The fewest samples of a group; the least share of its labels that are others, how many times that of the other groups it is, and by how
many standard deviations it exceeds that."""
RECUR = 0.3
"""The share of a group's samples whose content recurs from which on labels may answer different questions."""
TOLD = 5
"""The most swapped classes that are told."""


class NoisyGroups(DrawnRows):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields}
        names = [name for name in content_fields(context) if name != context.label]
        texts = [f.name for f in context.fields if f.kind == "text" and f.name != context.label]
        rich = [n for n in names if kinds[n].kind in ("image", "embedding", "array", "audio")]
        plain = [n for n in names if kinds[n].kind == "number" and not kinds[n].shape]
        self.text = None if rich else next(iter(texts), None)
        self.names = [] if self.text is not None else rich[:1] or plain
        self.origins = Origins(context)
        self.names = [name for name in self.names if name not in self.origins.named]
        self.labels = Named(MOST_CLASSES if self.text is None else MOST_BY_WORDS)
        self.drawn = Drawn(KEPT)
        self.beside = [self.labels, self.origins]
        self.needs = self.names

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        told = label is not None and not label.shape and (self.text is not None or bool(self.names))
        return told and bool(self.origins.named)

    def rows(self, block: Block) -> Any:
        return () if self.labels.many else super().rows(block)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept = self.origins.of(block, rows)
        kept["label"] = self.labels.of(block.columns.get(self.context.label or ""), rows)
        if self.text is not None:
            texts = texts_of(block.columns.get(self.text), rows)
            kept["content"] = np.stack([cells_of(text) for text in texts])
            values: list[Any] = texts
        else:
            kept["content"] = numbers_of_content(self.context, block, self.names, rows)
            values = [row.tobytes() for row in kept["content"]]
        kept["again"] = _recurring(values)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.labels.many:
            return
        _, rows = self.drawn.all()
        blank = np.array([digest_of(text) for text in ("", "None", "nan")], np.uint64)
        known = ~np.isin(rows["label"], blank)
        content = rows["content"]
        known &= (content >= 0).any(1) if self.text is not None else np.isfinite(content).any(1)
        rows = {name: values[known] for name, values in rows.items()}
        classes, label = np.unique(rows["label"], return_inverse=True)
        if not 2 <= len(classes) <= MOST_CLASSES or len(label) < 2 * LEAST:
            return
        swapped = np.zeros(len(label), bool)
        for name in self.origins.named:
            for fact, found in self._swapped(name, rows, classes, label):
                if 2 * (found.rows & swapped).sum() < found.rows.sum():  # not those of a split that is told
                    yield fact
                swapped |= found.rows
        if self.text is not None and len(label) >= 4 * LEAST:
            yield from self._noisy(rows, label, len(classes), swapped)

    def _swapped(self, name: str, rows: dict[str, Any], classes: Any, label: Any) -> Iterable[tuple[Fact, Exchange]]:
        import numpy as np

        of, whose = self.origins.groups(name, rows)
        clear = self.text is not None or len(self.names) == 1
        if len(of) < 2 or not self.origins.tells_where(name, of, clear):
            return
        teller = (by_words if self.text is not None else by_means)(rows["content"], label, len(classes))
        recur = np.bincount(whose, rows["again"]) >= RECUR * np.bincount(whose)
        names = [self._called(int(one)) for one in classes]
        for k, found in swaps(teller, label, whose, len(of), self.origins.reference(name, of)).items():
            if recur[k]:
                continue
            value = {
                "of": of[k],
                "count": int(found.rows.sum()),
                "rows": found.seen,
                "usual": found.usual,
                "pairs": sorted([names[c], names[to]] for c, to in found.of.items()),
                "where": places(rows, found.rows, self.context.label or ""),
            }
            at = {"field": name, "group": k}
            yield Fact(SWAPPED_IN, value, self.evidence("sampled", len(label)), at), found

    def _called(self, value: int) -> str:
        text = self.labels.texts.get(value, "")
        return self.context.class_name(int(text) if text.isdecimal() else text)

    def _noisy(self, rows: dict[str, Any], label: Any, classes: int, swapped: Any) -> Iterable[Fact]:
        margin = doubts(rows["content"], label, classes)
        if (margin > 0).mean() < RIGHT:
            return  # the words of the texts do not tell the label
        wrong = (margin < -CERTAIN) & ~swapped
        for name in self.origins.named:
            of, whose = self.origins.groups(name, rows)
            for k in range(len(of)) if name != SPLIT and len(of) > 1 else ():
                own = whose == k
                n, rest = int(own.sum()), ~own
                if n < LEAST or rest.sum() < LEAST:
                    continue
                rate, base = float(wrong[own].mean()), float(wrong[rest].mean())
                spread = math.sqrt(max(base, 1 / rest.sum()) / n)
                if rate >= RATE and rate >= TIMES * base and rate - base >= SIGMAS * spread:
                    value = {
                        "of": of[k],
                        "count": int((wrong & own).sum()),
                        "rows": n,
                        "others": base,
                    }
                    at = {"field": name, "group": k}
                    yield Fact(
                        NOISY,
                        value | {"where": places(rows, wrong & own, self.context.label or "")},
                        self.evidence("sampled", len(label)),
                        at,
                    )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        severity: Severity = "info" if self.context.guessed else "warning"
        label = escaped(self.context.label)
        for fact in facts.all(SWAPPED_IN):
            v = fact.value
            pairs = ", ".join(
                f"{escaped(elsewhere)} labelled {escaped(there)}" for elsewhere, there in v["pairs"][:TOLD]
            )
            text = f"classes ({label}) seem to be swapped in {called(fact.at['field'], v['of'])}: {pairs}{', …' if len(v['pairs']) > TOLD else ''}, in {v['count']:,} of "
            text += f"{number(v['rows'], 'sample')}, by a classifier that is right for {v['usual']:.0%} of the samples elsewhere"
            fix = "check a few; if so, find out which class list they were labelled with, and swap the labels back"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(NOISY):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{v['count']:,} of {number(v['rows'], 'sample')} where {name} is {escaped(v['of'])} have another {label} than their text "
            text += f"suggests, against {v['others']:.1%} of the others (text classifier trained on the others)"
            fix = f"check a few; if they are wrong, relabel them or leave this {name} out of training"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["count"])


def _recurring(values: list[Any]) -> Any:
    """Which of these values, texts or bytes, are there more than once, bool [n]."""
    import numpy as np

    made = np.array(
        [digest64(v if isinstance(v, bytes) else v.encode("utf-8", "surrogatepass")) for v in values], np.uint64
    )
    _, which, counts = np.unique(made, return_inverse=True, return_counts=True)
    return counts[which] > 1


def doubts(cells: Any, label: Any, classes: int) -> Any:
    """By how many nats each text is likelier of its own class than of the likeliest other, [n]."""
    import numpy as np

    scores = likelihoods(cells, label, classes)
    mine = scores[np.arange(len(label)), label]
    scores[np.arange(len(label)), label] = -np.inf
    return mine - scores.max(1)


CHECK = NoisyGroups
