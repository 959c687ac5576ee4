"""Set phrases that give a class of texts away: a line that a mail system wrote before, or after, all texts of one class in one split only, and
one form with other numbers in it, which some texts of a class are while all others are written freely. And marks of where a class is from,
such as the dateline of an agency, which set the text off from what a collector or a site put before it.

Where all splits have a phrase without such a mark it may be the class's own, as ``#include`` is; where most texts are made from forms, as lines
of logs are, forms tell classes by nature.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.common.fingerprint import digests_of, mix
from dataloader_expert.checks.common.guessed_labels import is_outcome
from dataloader_expert.checks.common.rows_kept import Named, in_order, numbered, places, split_of, texts_of
from dataloader_expert.checks.giveaways.by_class import DrawnByClass
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

PHRASE = Quantity(
    "phrase_of_class", "samples", "texts of one class and split that all begin, or end, with a phrase no others have"
)
FORM = Quantity("form_of_class", "samples", "texts of one class that differ from each other by numbers only")
MARK = Quantity(
    "mark_of_class", "samples", "texts of one class whose first words all include a mark that other classes lack"
)
KEPT, CLASSES, SPLITS, READ = 20_000, 60, 20, 2_000
"""The most texts that are kept, classes, splits, and characters of a text that are looked at."""
WORDS, LEAST = 6, 20
"""The most words of a phrase, and the fewest texts of each part that is compared."""
ALL, ELSEWHERE, ITS_OWN = 0.95, 0.01, 0.05
"""The least share of a class's texts in a split that have a phrase, the largest of other classes, and of the class in other splits."""
LONG, PART, FREELY = 6, 0.05, 0.1
"""The fewest words of a form, the least share of a class that has one, and the largest share of all other texts that are of some form."""
SHOWN = 80
BEGIN, END = "begin", "end"
_NUMBERS = re.compile(r"\d+")
_NAME = re.compile(r"[(\[][A-Z][^\s()\[\]]*[)\]]\W*")
_SIGN = re.compile(r"[-\u2013\u2014|\u00bb]+")
"""A name in brackets, and a sign between a heading and the text."""


class SetPhrases(DrawnByClass):
    ids = ("label-leaked-by-field",)
    kind, most, classes = "text", KEPT, CLASSES

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.splits = Named(SPLITS)
        self.beside = [self.called, self.splits]

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        texts = texts_of(block.columns[self.name], rows, READ)
        words = [text.split() for text in texts]
        kept: dict[str, Any] = {"class": self.called.of(block.columns[self.label], rows)}
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        for end, some in ((BEGIN, [w[:WORDS] for w in words]), (END, [w[: -WORDS - 1 : -1] for w in words])):
            for k, digests in enumerate(_runs(some), 1):
                kept[f"{end} {k}"] = digests
        for k in range(WORDS):
            kept[f"mark {k}"] = digests_of([mark(w, k) for w in words])
        kept["text"] = digests_of([" ".join(w) for w in words])
        kept["form"] = digests_of([_NUMBERS.sub("0", " ".join(w)) if len(w) >= LONG else None for w in words])
        kept[BEGIN] = np.array([shown(w) for w in words], object)
        kept[END] = np.array([shown(w, ending=True) for w in words], object)
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts or self.called.many:
            return
        rows = in_order(self.drawn.all()[1])
        for digest, text in sorted(self.called.texts.items(), key=lambda item: item[1]):
            if text:
                yield from self._phrases(rows, digest, text)
                yield from self._marks(rows, digest, text)
                yield from self._forms(rows, digest, text)

    def _phrases(self, rows: dict[str, Any], digest: int, text: str) -> Iterator[Fact]:
        import numpy as np

        own = rows["class"] == np.uint64(digest)
        for split, name in sorted(self.splits.texts.items(), key=lambda item: item[1]):
            here = rows["split"] == np.uint64(split)
            parts = own & here, own & ~here, ~own & here
            if not name or min(part.sum() for part in parts) < LEAST:
                continue
            for end in (BEGIN, END):
                has = phrase([rows[f"{end} {k}"] for k in range(1, WORDS + 1)], *parts)
                if has is not None:
                    words, of = has
                    said = rows[end][np.flatnonzero(of)[0]].split()
                    value = {
                        "class": text,
                        "split": name,
                        "end": end,
                        "count": int(of.sum()),
                        "of": int(parts[0].sum()),
                    }
                    value["phrase"] = " ".join(said[:words] if end == BEGIN else said[-words:])
                    value["where"] = places(rows, of, self.name)
                    at = {"field": self.name, "class": text, "split": name, "end": end}
                    yield Fact(PHRASE, value, self.evidence("sampled", len(own)), at)

    def _marks(self, rows: dict[str, Any], digest: int, text: str) -> Iterator[Fact]:
        import numpy as np

        own = rows["class"] == np.uint64(digest)
        if min(own.sum(), (~own).sum()) < LEAST:
            return
        marks = np.stack([rows[f"mark {k}"] for k in range(WORDS)], 1)
        found, counts = np.unique(marks[own][marks[own] != digests_of([None])[0]], return_counts=True)
        for one in found[counts >= ALL * own.sum()]:
            has = (marks == one).any(1)
            if has[own].mean() >= ALL and has[~own].mean() <= ELSEWHERE:
                first = int(np.flatnonzero(own & has)[0])
                said = rows[BEGIN][first].split()[: int(np.flatnonzero(marks[first] == one)[0]) + 1]
                value = {"class": text, "count": int((own & has).sum()), "of": int(own.sum()), "mark": said[-1]}
                value |= {"example": " ".join(said), "where": places(rows, own & has, self.name)}
                yield Fact(MARK, value, self.evidence("sampled", len(own)), {"field": self.name, "class": text})
                return

    def _forms(self, rows: dict[str, Any], digest: int, text: str) -> Iterator[Fact]:
        import numpy as np

        own = rows["class"] == np.uint64(digest)
        if min(own.sum(), (~own).sum()) < LEAST:
            return
        of = form(rows["form"], rows["text"], own)
        if of is not None:
            value = {"class": text, "count": int(of.sum()), "of": int(own.sum())}
            value["example"] = rows[BEGIN][np.flatnonzero(of)[0]]
            value["where"] = places(rows, of, self.name)
            yield Fact(FORM, value, self.evidence("sampled", len(own)), {"field": self.name, "class": text})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        severity: Severity = "info" if self.context.guessed_by_values else "warning"
        for fact in facts.all(PHRASE):
            v, name = fact.value, escaped(self.name)
            text = f'"{escaped(v["phrase"])}" gives class {escaped(self._class(v))} away in {escaped(v["split"])}: {v["count"]:,} of '
            text += f"{number(v['of'], 'text')} of that class {v['end']} with it, and hardly any of other classes or splits do"
            fix = f"cut it off in {name}: a model learns this phrase, which other splits lack; find out what else differs in that class's source"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(MARK):
            v = fact.value
            text = f'"{escaped(v["mark"])}" gives class {escaped(self._class(v))} away: {v["count"]:,} of {number(v["of"], "text")} of that class '
            text += f'that were checked have it among their first words ("{escaped(v["example"])}"), and hardly any of other classes do'
            fix = f"remove this mark and what precedes it from {escaped(self.name)}: it shows where the texts of this class come from, and a model may "
            fix += "learn only that"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(FORM):
            v = fact.value
            text = f"one standard text gives class {escaped(self._class(v))} away: {v['count']:,} of {number(v['of'], 'text')} of that class that "
            text += f'were checked differ by numbers only ("{escaped(v["example"])}..."), and no other class has them'
            fix = f"drop these {escaped(self.name)}s, such as automatic replies, or keep a few: they say nothing about the class, but a model learns them"
            yield finding("label-leaked-by-field", severity, text, fact, fix, v["where"], v["count"])

    def stands(self, one: Finding, facts: Facts) -> bool:
        return is_outcome(self.context.label)

    def _class(self, value: dict[str, Any]) -> str:
        said = value["class"]
        return self.context.class_name(int(said) if said.isdecimal() else said)


def mark(words: list[str], k: int) -> str | None:
    """What makes word ``k`` a mark: itself, if it is a name in brackets; of a sign, also the heading before it, since a dash may begin
    what somebody says, or stand between any two words."""
    if k >= len(words):
        return None
    if _NAME.fullmatch(words[k]):
        return words[k]
    return " ".join(words[: k + 1]) if k and _SIGN.fullmatch(words[k]) else None


def shown(words: list[str], ending: bool = False) -> str:
    """The beginning or the end of a text; each of the words of a phrase is there, if cut, however long they are."""
    text, own = " ".join(words), words[-WORDS:] if ending else words[:WORDS]
    return max(text[-SHOWN:] if ending else text[:SHOWN], " ".join(word[:SHOWN] for word in own), key=len)


def _runs(words: list[list[str]]) -> Iterator[Any]:
    """Digests of the first one, two and more of each text's words, up to ``WORDS``, or of all if there are fewer; uint64 [n]."""
    import numpy as np

    there = np.array([len(own) for own in words], np.int64)
    coded = numbered([word for own in words for word in own])
    table = np.zeros((len(words), WORDS), np.uint64)
    table[np.arange(WORDS) < there[:, None]] = coded.digests
    run = np.zeros(len(words), np.uint64)
    for k in range(WORDS):
        run = np.where(there > k, mix(run + table[:, k]), run)
        yield run


def phrase(ends: list[Any], here: Any, elsewhere: Any, others: Any) -> tuple[int, Any] | None:
    """The most words, of ``ends`` by their number, with which nearly all texts ``here`` begin or end and hardly any others, and which
    texts of all do, bool [n]; None if none."""
    import numpy as np

    for words in range(len(ends), 0, -1):
        found, counts = np.unique(ends[words - 1][here], return_counts=True)
        if counts.max() < ALL * here.sum():
            continue
        has = ends[words - 1] == found[counts.argmax()]
        if has[elsewhere].mean() <= ITS_OWN and has[others].mean() <= ELSEWHERE:
            return words, has & here
    return None


def form(forms: Any, texts: Any, own: Any) -> Any:
    """Which texts of a class are of its commonest form, bool [n]; None if they are few, others have it as well, or others are of forms."""
    import numpy as np

    _, first = np.unique(texts, return_index=True)  # copies are none of a form
    there = np.zeros(len(texts), bool)
    there[first] = True
    there &= forms != digests_of([None])[0]
    found, which, counts = np.unique(forms[there], return_inverse=True, return_counts=True)
    mine = np.bincount(which, own[there], len(found))
    if not len(mine) or mine.max() < max(LEAST, PART * own.sum()):
        return None
    best = int(mine.argmax())
    rest = which != best
    if (
        rest.sum() < LEAST
        or counts[best] - mine[best] > ELSEWHERE * counts[best]
        or (counts[which[rest]] > 1).mean() > FREELY
    ):
        return None
    return own & (forms == found[best])


CHECK = SetPhrases
