"""Labels of one annotator, source, site or split that disagree with what the content of all others tells.

Method: a naive Bayes classifier over the words of the texts, each text by the counts of all others. Judged is only where it agrees with
most labels; a group is told if far more of its labels than of the others' are surely other ones by their texts. And by words, pictures,
arrays or numbers (``class_tellers``), learnt on all other groups: a group is told in which classes have each other's labels
(``exchanged_classes``). Not if its samples are also in other groups, as where several things are asked of each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.class_tellers import by_means, by_words, numbers_of_content
from dataloader_expert.checks.drawn import Drawn
from dataloader_expert.checks.exchanged_classes import EXCHANGED_IN, Exchange, exchanges
from dataloader_expert.checks.fingerprint import content_fields, digest64
from dataloader_expert.checks.rows_kept import Named, at_of, digest_of, numbered, places, split_of, texts_of
from dataloader_expert.checks.word_cells import cells_of, likelihoods
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import GROUP_WORDS, words

NOISY = Quantity(
    "noisy_groups", "samples", "samples of a group whose label is surely another one by their text, with places"
)
KEPT, MOST_CLASSES, MOST_BY_WORDS, MOST_GROUPS, MOST_FIELDS = 10_000, 50, 20, 50, 4
CERTAIN, RIGHT = 3.0, 0.8
"""Nats by which another class must be likelier, and the least share of labels that the classifier must agree with."""
LEAST, RATE, TIMES, SIGMAS = 30, 0.15, 4.0, 6.0
"""The fewest samples of a group; the least share of its labels that are others, how many times that of the other groups it is, and by how
many standard deviations it exceeds that."""
SPLIT = ""
"""What the split is called beside fields."""
RECUR = 0.3
"""The share of a group's samples whose content recurs from which on labels may answer different questions."""
ORIGINS = GROUP_WORDS | {
    "source", "origin", "site", "hospital", "clinic", "center", "centre", "lab", "laboratory", "camera", "cam", "scanner", "sensor",
    "device", "machine", "vendor", "annotator", "rater", "labeler", "labeller", "coder", "reviewer", "worker", "batch", "run", "round", "wave",
    "dataset", "corpus", "collection", "provider", "platform", "station", "store", "branch", "shard", "file", "folder", "import", "export",
}  # fmt: skip
"""Words in the names of fields that tell where samples are from; one with another name may well say what its label is about."""
ORDERED = {
    "true",
    "false",
    "yes",
    "no",
    "y",
    "n",
    "t",
    "f",
    "left",
    "right",
    "l",
    "r",
    "od",
    "os",
    "a",
    "b",
    "first",
    "second",
    "none",
    "",
}
"""Values of fields that say how a sample is to be read: its label may be meant the other way round."""
TOLD = 5
"""The most exchanged classes that are told."""


class NoisyGroups(Check):
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
        split = None if context.roles.split is None else context.roles.split.field
        whole = [f for f in context.fields if not f.shape and f.name not in (context.label, split)]
        whose = [f.name for f in whole if f.kind == "category" or ("int" in f.dtype and set(words(f.name)) & ORIGINS)]
        whose = whose[:MOST_FIELDS]
        grouped = None if context.grouped is None else context.grouped.field
        if grouped is not None and grouped not in (context.label, split):
            whose = list(dict.fromkeys([grouped, *whose]))
        self.names = [name for name in self.names if name not in whose]
        self.groups = {name: Named(MOST_GROUPS) for name in whose}
        if context.several_splits:
            self.groups[SPLIT] = Named(MOST_GROUPS)
        self.by_names = context.group is None and bool(context.roles.name_parts)
        self.labels = Named(MOST_CLASSES if self.text is None else MOST_BY_WORDS)
        self.drawn = Drawn(KEPT)

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        told = label is not None and not label.shape and (self.text is not None or bool(self.names))
        return told and bool(self.groups)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        rows = self.drawn.rows(block) if block.samples else ()
        if not len(rows) or self.labels.many:
            return
        kept = {f"group {name}": self._groups_of(name, block, rows) for name in self.groups}
        kept["label"] = self.labels.of(block.columns.get(self.context.label or ""), rows)
        if self.text is not None:
            texts = texts_of(block.columns.get(self.text), rows)
            kept["content"] = np.stack([cells_of(text) for text in texts])
            values: list[Any] = texts
        else:
            kept["content"] = numbers_of_content(self.context, block, self.names)[rows]
            values = [row.tobytes() for row in kept["content"]]
        kept["again"] = _recurring(values)
        self.drawn.keep(block, rows, kept | at_of(block, rows))

    def _groups_of(self, name: str, block: Block, rows: Any) -> Any:
        named = self.groups[name]
        if name == SPLIT:
            return named.coded(*split_of(self.context, block, rows))
        if self.by_names and self.context.grouped is not None and name == self.context.grouped.field:
            of = self.context.groups_of(block)
            return named.coded(*numbered([str(of[i] or "") for i in rows.tolist()]))
        return named.of(block.columns.get(name), rows)

    def merge(self, other: Check) -> None:
        assert isinstance(other, NoisyGroups)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        self.labels.merge(other.labels)
        for name, named in self.groups.items():
            named.merge(other.groups[name])

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
        exchanged = np.zeros(len(label), bool)
        for name in self.groups:
            for fact, found in self._exchanged(name, rows, classes, label):
                yield fact
                exchanged |= found.rows
        if self.text is not None and len(label) >= 4 * LEAST:
            yield from self._noisy(rows, label, len(classes), exchanged)

    def _exchanged(self, name: str, rows: dict[str, Any], classes: Any, label: Any) -> Iterable[tuple[Fact, Exchange]]:
        import numpy as np

        named = self.groups[name]
        values, whose = np.unique(rows[f"group {name}"], return_inverse=True)
        of = [named.texts.get(int(value), "") for value in values]
        if named.many or len(values) < 2 or not self._is_origin(name, of):
            return
        teller = (by_words if self.text is not None else by_means)(rows["content"], label, len(classes))
        recur = np.bincount(whose, rows["again"]) >= RECUR * np.bincount(whose)
        called = [self._called(int(one)) for one in classes]
        kept = [k for k, text in enumerate(of) if name == SPLIT and text == "train" and len(of) == 2]
        for k, found in exchanges(teller, label, whose, len(values), kept).items():
            if recur[k]:
                continue
            value = {
                "of": of[k],
                "count": int(found.rows.sum()),
                "rows": found.seen,
                "usual": found.usual,
                "pairs": sorted([called[c], called[to]] for c, to in found.of.items()),
                "where": places(rows, found.rows, self.context.label or ""),
            }
            at = {"field": name, "group": k}
            yield Fact(EXCHANGED_IN, value, self.evidence("sampled", len(label)), at), found

    def _called(self, value: int) -> str:
        text = self.labels.texts.get(value, "")
        return self.context.class_name(int(text) if text.isdecimal() else text)

    def _is_origin(self, name: str, of: list[str]) -> bool:
        """Whether groups are where samples are from, not what is said of them: by the name of the field; of words, also by several groups
        that have one reading."""
        grouped = self.context.grouped
        if name == SPLIT or (grouped is not None and name == grouped.field) or set(words(name)) & ORIGINS:
            return True
        return (
            len(of) > 2
            and not {text.casefold() for text in of} & ORDERED
            and (self.text is not None or len(self.names) == 1)
        )

    def _noisy(self, rows: dict[str, Any], label: Any, classes: int, exchanged: Any) -> Iterable[Fact]:
        import numpy as np

        margin = doubts(rows["content"], label, classes)
        if (margin > 0).mean() < RIGHT:
            return  # the words of the texts do not tell the label
        wrong = (margin < -CERTAIN) & ~exchanged
        for name, named in self.groups.items():
            values, whose = np.unique(rows[f"group {name}"], return_inverse=True)
            for k in range(len(values)) if name != SPLIT and not named.many and len(values) > 1 else ():
                own = whose == k
                n, rest = int(own.sum()), ~own
                if n < LEAST or rest.sum() < LEAST:
                    continue
                rate, base = float(wrong[own].mean()), float(wrong[rest].mean())
                spread = math.sqrt(max(base, 1 / rest.sum()) / n)
                if rate >= RATE and rate >= TIMES * base and rate - base >= SIGMAS * spread:
                    value = {
                        "of": named.texts.get(int(values[k]), ""),
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
        for fact in facts.all(EXCHANGED_IN):
            v, name = fact.value, escaped(str(fact.at["field"]))
            pairs = ", ".join(f"{escaped(there)} for {escaped(elsewhere)}" for elsewhere, there in v["pairs"][:TOLD])
            group = (
                escaped(v["of"]) if fact.at["field"] == SPLIT else f"the samples in which {name} is {escaped(v['of'])}"
            )
            text = f"classes ({label}) seem to be exchanged in {group}: {pairs}{', …' if len(v['pairs']) > TOLD else ''}, in {v['count']:,} of "
            text += f"{number(v['rows'], 'sample')} that are told so by what elsewhere tells the right class of {v['usual']:.0%}"
            fix = "look at some; if so, find out with which list of classes they were labelled, and exchange the labels back"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(NOISY):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{v['count']:,} of {number(v['rows'], 'sample')} in which {name} is {escaped(v['of'])} have another {label} than their text "
            text += f"tells by those of the others, of which {v['others']:.1%} have"
            fix = f"look at some; if they are wrong, label them again or leave this {name} out of training"
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
