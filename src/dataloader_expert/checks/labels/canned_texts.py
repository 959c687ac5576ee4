"""One text in the same words in many samples with different labels, where nearly all other texts stand once: an automatic reply, an empty
form. The samples differ in other fields, such as their time, so that they are no copies; by what they say no model can tell their labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import QUANTITY_LABEL, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields, digest64, digests
from dataloader_expert.checks.common.rows_kept import in_order, places, texts_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

CANNED = Quantity("canned_texts", "samples", "samples with one text in the same words and several labels, with places")
ROWS, FIELDS = 20_000, 4
LONG = 20
"""The fewest characters of a text: short ones recur by nature."""
LEAST, SHARE, OTHERS, ONCE = 8, 0.005, 100, 0.9
"""The fewest samples with one text, and their least share; the fewest samples, and the least share of different texts that stand once."""
OF_ONE = 0.8
"""The largest share of these samples that have one label: else it is what such a text means."""

TITLES = {"title", "subject", "headline", "summary"}
"""Words in the names of texts that say in short what another one says."""


class CannedTexts(DrawnRows):
    ids = ("label-conflict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        content = content_fields(context)
        texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name in content]
        seen_or_heard = any(f.kind in ("image", "audio") for f in context.fields)  # which tells the label
        self.texts = texts[:FIELDS] if len(content) > 1 and not seen_or_heard else []
        self.drawn = Drawn(ROWS)
        self.needs = [context.label or ""]

    def applies(self) -> bool:
        return bool(self.texts) and self.context.label is not None

    def rows(self, block: Block) -> Any:
        import numpy as np

        rows, label = super().rows(block), block.columns[self.needs[0]]
        there = np.array([v is not None and v != "" and v == v for v in (label.values[i] for i in rows.tolist())], bool)
        if label.nulls is not None:
            there &= ~label.nulls[rows]
        return rows[there]  # what has no label contradicts none

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {"label": digests(block, self.needs)[rows]}
        for name in self.texts:
            said = [" ".join(text.split()) for text in texts_of(block.columns.get(name), rows)]
            kept[f"length {name}"] = np.array([*map(len, said)], np.int64)
            long = (digest64(t.encode("utf-8", "surrogatepass")) if len(t) >= LONG else 0 for t in said)
            kept[f"text {name}"] = np.fromiter(long, np.uint64, len(rows))
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for name in self.texts:
            said = rows[f"text {name}"]
            there = said != 0
            texts, which, counts = np.unique(said[there], return_inverse=True, return_counts=True)
            if there.sum() < OTHERS or (counts == 1).sum() < ONCE * len(counts):
                continue
            k = int(counts.argmax())
            if self._is_title(name, rows, there, which == k):
                continue
            labels = np.unique(rows["label"][there][which == k], return_counts=True)[1]
            if counts[k] >= max(LEAST, SHARE * there.sum()) and labels.max() <= OF_ONE * counts[k]:
                value: dict[str, Any] = {"count": int(counts[k]), "of": int(there.sum()), "labels": len(labels)}
                value["where"] = places(rows, said == texts[k], name)
                yield Fact(CANNED, value, self.evidence("sampled", int(there.sum())), {"field": name})

    def _is_title(self, name: str, rows: dict[str, Any], there: Any, here: Any) -> bool:
        """Whether this is called a title and a longer text is beside it, mostly another one each time: a review says more than its title."""
        import numpy as np

        if not {*words(name)} & TITLES:
            return False
        others = [other for other in self.texts if rows[f"length {other}"].sum() > rows[f"length {name}"].sum()]
        return any(len(np.unique(rows[f"text {other}"][there][here])) > here.sum() / 2 for other in others)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CANNED) if facts.value(QUANTITY_LABEL, False) is not True else ():
            v, name, label = fact.value, escaped(str(fact.at["field"])), escaped(self.context.label)
            text = f"{name}: the same text occurs in {v['count']:,} of {number(v['of'], 'sample')}, with {v['labels']} different "
            text += f"values of {label}, while nearly all other texts occur once"
            fix = f"look at some: if the text is automatic, drop these samples or give them a class of their own; it does not determine their {label}"
            yield finding("label-conflict", "warning", text, fact, fix, v["where"], v["count"])


CHECK = CannedTexts
