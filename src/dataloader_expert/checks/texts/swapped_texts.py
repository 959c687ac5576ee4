"""Texts of two fields that are swapped in some samples: a source and its translation, a question and its answer.

Method: a naive Bayes classifier over the words of both fields, each sample by the counts of all others. Only fields whose texts it
tells apart nearly always are judged; a sample is told where both of its texts are far more likely in the other field.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import places, texts_of
from dataloader_expert.checks.common.word_cells import CELLS, cells_of
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


class SwappedTexts(DrawnRows):
    ids = ("fields-swapped",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = [f.name for f in context.fields if f.kind == "text" and f.name != context.label][:MOST]
        self.drawn = Drawn(KEPT)

    def applies(self) -> bool:
        return len(self.names) > 1

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        texts = {name: texts_of(block.columns.get(name), rows) for name in self.names}
        return {name: np.stack([cells_of(text) for text in said]) for name, said in texts.items()}

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        for a, b in combinations(self.names, 2):
            both = (rows[a] >= 0).any(1) & (rows[b] >= 0).any(1)
            if both.sum() >= LEAST:
                odd = both.copy()
                odd[both] = swapped(rows[a][both], rows[b][both])
                if odd.any():
                    value = {"count": int(odd.sum()), "of": int(both.sum()), "where": places(rows, odd, a)}
                    yield Fact(SWAPPED, value, self.evidence("sampled", int(both.sum())), {"fields": [a, b]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            text = f"{a} and {b} seem to be swapped in {v['count']:,} of {number(v['of'], 'sample')}: their words are those of the other "
            text += "field elsewhere"
            fix = "check a few; if so, swap them back: otherwise a model learns both directions"
            yield finding("fields-swapped", "warning", text, fact, fix, v["where"], v["count"])


def swapped(one: Any, two: Any) -> Any:
    """Which samples have the words of the one field in the other, bool [n]; ``one`` and ``two``: cells of words, [n, WORDS]."""
    import numpy as np

    n = len(one)
    flipped = np.zeros(n, bool)
    for turn in range(ROUNDS):
        margins = _margins(one, two, flipped)
        wrong = margins.sum(0) < 0
        if turn == 0 and wrong.mean() > ALIKE:
            return flipped  # texts of one kind in both fields
        if not wrong.any():
            break
        flipped ^= wrong
    certain = (_margins(one, two, flipped) > CERTAIN).all(0)
    if flipped.mean() > SHARE:
        flipped = ~flipped  # the names of two fields do not say which is which
    found = flipped & certain
    return found if certain.mean() >= APART and FEWEST <= found.sum() < SHARE * n else np.zeros(n, bool)


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
