"""Texts of two fields that are swapped in some samples: a source and its translation, a question and its answer.

Method: a naive Bayes classifier over the words of both fields, each sample by the counts of all others. Only fields whose texts it
tells apart nearly always are judged; a sample is told where both of its texts are far more likely in the other field. Of short texts, which
are seldom so clear, a whole split or file is told, if nearly all of its samples look swapped and hardly any others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import part_of, part_said
from dataloader_expert.checks.common.rows_kept import places, texts_of
from dataloader_expert.checks.common.word_cells import CELLS, WORDS, cells_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SWAPPED = Quantity(
    "texts_swapped", "samples", "samples whose texts have each the words of the other field, with places"
)
MOST, KEPT = 4, 10_000
"""The most fields and rows that are compared."""
LEAST, FEWEST = 50, 3
"""The fewest samples with both texts, and the fewest that are swapped."""
CERTAIN, APART = 8.0, 0.95
"""Nats by which a text must be likelier in one field than in the other, and the least share of samples that are told apart so."""
SHARE, ALIKE, ROUNDS = 0.5, 0.4, 6
"""The largest share of samples that can be swapped, and that look so at first where the fields differ at all; and how often the
words are counted anew."""


class SwappedTexts(InParts):
    ids = ("fields-swapped",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = [f.name for f in context.fields if f.kind == "text" and f.name != context.label][:MOST]
        self.draw(KEPT, KEPT * WORDS * MOST, WORDS * len(self.names))

    def applies(self) -> bool:
        return len(self.names) > 1

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        texts = {name: texts_of(block.columns.get(name), rows) for name in self.names}
        kept = {name: np.stack([cells_of(text) for text in said]) for name, said in texts.items()}
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        places_only = [g for g in self.parts.groupings(rows) if g.place]
        for a, b in combinations(self.names, 2):
            both = (rows[a] >= 0).any(1) & (rows[b] >= 0).any(1)
            if both.sum() >= LEAST:
                odd, looks = both.copy(), both.copy()
                odd[both], looks[both] = swapped(rows[a][both], rows[b][both])
                part = None if odd.any() else part_of(looks, both, places_only, {})
                if part is not None and part.whole:
                    odd = looks
                if odd.any():
                    value = {"count": int(odd.sum()), "of": int(both.sum()), "where": places(rows, odd, a)}
                    value["part"] = None if part is None else part_said(part.value(), "")
                    yield Fact(SWAPPED, value, self.evidence("sampled", int(both.sum())), {"fields": [a, b]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{a} and {b} seem to be swapped in {v['count']:,} of {number(v['of'], 'sample')}: their words are those of the other "
            text += "field elsewhere" + ("" if v["part"] is None else f"; nearly all of these are {v['part']}")
            fix = "check a few; if so, swap them back: otherwise a model learns both directions"
            yield finding("fields-swapped", "warning", text, fact, fix, v["where"], v["count"])


def swapped(one: Any, two: Any) -> tuple[Any, Any]:
    """Which samples have the words of the one field in the other, and which look so, bool [n]; ``one`` and ``two``: cells of words, [n, WORDS]."""
    import numpy as np

    n = len(one)
    flipped = np.zeros(n, bool)
    for turn in range(ROUNDS):
        margins = _margins(one, two, flipped)
        wrong = margins.sum(0) < 0
        if turn == 0 and wrong.mean() > ALIKE:
            return flipped, flipped  # texts of one kind in both fields
        if not wrong.any():
            break
        flipped ^= wrong
    certain = (_margins(one, two, flipped) > CERTAIN).all(0)
    if flipped.mean() > SHARE:
        flipped = ~flipped  # the names of two fields do not say which is which
    found = flipped & certain
    sure = certain.mean() >= APART and FEWEST <= found.sum() < SHARE * n
    return found & sure, flipped


def _margins(one: Any, two: Any, flipped: Any) -> Any:
    """By how many nats each text is likelier in its own field, once the flipped samples are swapped, [2, n]."""
    import numpy as np

    both = np.where(flipped[:, None], two, one), np.where(flipped[:, None], one, two)
    counts = [np.bincount(cells[cells >= 0], minlength=CELLS).astype(np.float64) for cells in both]
    totals = [float(c.sum()) for c in counts]
    return np.stack([_likelier(cells, own, counts, totals) for own, cells in enumerate(both)])


def _likelier(cells: Any, own: int, counts: list[Any], totals: list[float]) -> Any:
    """The same for the texts of one field, [n]; each without itself, else every word that only it has would speak for its field."""
    import numpy as np

    there = cells >= 0
    at = np.where(there, cells, 0)
    mine, other = (counts[k][at] for k in (own, 1 - own))
    ratio = np.log((np.maximum(mine - 1, 0) + 0.5) / (totals[own] + CELLS / 2)) - np.log(
        (other + 0.5) / (totals[1 - own] + CELLS / 2)
    )
    return np.where(there, ratio, 0.0).sum(1)


CHECK = SwappedTexts
