"""Texts that belong to the row before or after, in a stretch of rows: questions of the next passage, replies to the previous question.

A question and its passage, a prompt and its reply share words that few others have. Where each row's texts share more of them than neighbours' do in the data
as a whole, and in one run of rows those of a neighbour share more, and their own as few as any two rows', one of both is shifted there.
Rows that neighbours resemble, such as several questions on one passage, and those that share no words, say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Any

from dataloader_expert.checks.base import ROWS_SHIFTED, Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import texts_of
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.common.word_cells import CELLS, WORDS, cells_of
from dataloader_expert.checks.common.wording import said
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import ANSWER, ASK, ROLE_KEYS, role_of

WORDS_SHIFTED = Quantity(
    "words_shifted", "samples", "a stretch of rows in which a text shares words with that of the row before or after"
)
MOST, FIELDS = 10_000, 4
"""The most rows and fields whose words are kept."""
LEAST, CHANCE = 20, 1e-9
"""The fewest rows of a stretch and elsewhere that share words, and how unlikely it must be by chance."""
OFTEN, MOSTLY = 0.2, 0.7
"""The least share of rows elsewhere whose texts share more than with the neighbour's; and of all rows that differ so, both there and in the stretch."""
AS_MUCH, LITTLE = 0.6, 0.25
"""The least that texts share with the neighbour's in the stretch, and the most with their own, on the way from what any two rows share to what
a row's own texts do elsewhere."""
QUESTION, REPLY = "first question", "first reply"


class ShiftedWords(Check):
    ids = ("rows-shifted",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.texts = [f.name for f in context.fields if f.kind == "text" and not f.shape and f.name != context.label][
            :FIELDS
        ]
        self.talks = sorted(context.conversations)[:1]
        asked = [f"the {part} of {name}" for name in self.talks for part in (QUESTION, REPLY)]
        self.pairs = [*combinations(self.texts, 2), *combinations(asked, 2)]
        self.parts: list[tuple[int, dict[str, Any]]] = []
        """Of each block: its first sample, and cells of words by field, int32 [n, WORDS]."""
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.pairs)

    def looked(self) -> bool:
        return bool(self.parts)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        n = min(block.samples, MOST - block.unit.start)
        if n <= 0 or block.rows is not None or not self.pairs:
            return
        self.files.note(block)
        rows = np.arange(n)
        texts = {name: texts_of(block.columns.get(name), rows) for name in self.texts}
        for name in self.talks:
            column = block.columns.get(name)
            both = [first_turns(None if column is None else column.values[i]) for i in range(n)]
            for k, part in enumerate((QUESTION, REPLY)):
                texts[f"the {part} of {name}"] = [turns[k] for turns in both]
        self.parts.append(
            (block.unit.start, {name: np.stack([cells_of(t) for t in own]) for name, own in texts.items()})
        )

    def merge(self, other: Check) -> None:
        assert isinstance(other, ShiftedWords)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        parts = sorted(self.parts, key=lambda part: part[0])
        if not parts:
            return
        cells = {name: np.concatenate([part[name] for _, part in parts]) for name in parts[0][1]}
        index = np.concatenate([start + np.arange(len(next(iter(part.values())))) for start, part in parts])
        best: tuple[float, tuple[str, str], tuple[int, int, int]] | None = None
        for a, b in self.pairs:
            found = shifted(cells[a], cells[b])
            if found is not None and (best is None or found[0] < best[0]):
                best = found[0], (a, b), found[1]
        if best is not None:
            _, (a, b), (begin, end, by) = best
            value = {"first": int(index[begin]), "last": int(index[end - 1]), "by": by}
            yield Fact(WORDS_SHIFTED, value, self.evidence(n=len(index)), {"fields": [a, b]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(WORDS_SHIFTED):
            v, (a, b) = fact.value, (escaped(name) for name in fact.at["fields"])
            if any(set(other.at["fields"]) == set(fact.at["fields"]) for other in facts.all(ROWS_SHIFTED)):
                continue  # their lengths tell
            text = f"{b} seems to be shifted by a row against {a} in {self.files.stretch(v['first'], v['last'])}: its words are "
            text += f"those of the {'next' if v['by'] > 0 else 'previous'} sample there, and those of its own sample elsewhere"
            fix = "check where these rows begin: a row was probably lost or added there, or rows were joined by position; shift them back"
            where = [{"sample": at, "file": self.files.of(at)} for at in (v["first"], v["last"])]
            yield finding("rows-shifted", "warning", text, fact, fix, where, v["last"] - v["first"] + 1)


def first_turns(value: Any) -> tuple[str, str]:
    """The first question of a conversation and the reply to it; empty where there is none."""
    turns = [turn for turn in value if isinstance(turn, dict)] if isinstance(value, list | tuple) else []
    for one, two in pairwise(turns):
        if role_of(one) in ASK and role_of(two) in ANSWER:
            plain = [" ".join(said({k: v for k, v in turn.items() if k not in ROLE_KEYS})) for turn in (one, two)]
            return plain[0], plain[1]
    return "", ""


def shifted(one: Any, other: Any) -> tuple[float, tuple[int, int, int]] | None:
    """How unlikely by chance, in nats, the stretch is in which texts share words with the ``one`` of the row before (-1) or after (1), its
    first row, the one behind its last, and which; None if there is none. Both: cells of words, int32 [n, WORDS]."""
    import numpy as np

    n = len(one)
    if n < 4 * LEAST:
        return None
    weight = np.ones(CELLS)
    for cells in (one, other):
        often = np.bincount(cells[cells >= 0], minlength=CELLS)
        weight *= np.log(n / np.maximum(often, 1))  # a word of all rows tells nothing
    own = shared(one, other, weight)
    best: tuple[float, tuple[int, int, int]] | None = None
    for by in (-1, 1):
        near = np.zeros(n)
        if by > 0:
            near[:-1] = shared(one[1:], other[:-1], weight)
        else:
            near[1:] = shared(one[:-1], other[1:], weight)
        gain = np.sign(np.round(near - own, 6))
        begin, end = highest(gain)
        inside = np.zeros(n, bool)
        inside[begin:end] = True
        up, down = gain[inside] > 0, gain[~inside] < 0
        told, usual = (gain[inside] != 0).sum(), (gain[~inside] != 0).sum()
        if min(up.sum(), down.sum()) < LEAST or up.sum() < MOSTLY * told or down.sum() < MOSTLY * usual:
            continue
        usual_own, usual_near = float(own[~inside].mean()), float(near[~inside].mean())
        beyond = usual_own - usual_near
        if down.mean() < OFTEN or near[inside].mean() < usual_near + AS_MUCH * beyond:
            continue
        if own[inside].mean() > usual_near + LITTLE * beyond:
            continue
        against = (gain[~inside] > 0).sum() + 1
        luck = math.log(n) + float(gain[inside].sum()) * math.log(against / (down.sum() + 1))
        if luck < math.log(CHANCE) and (best is None or luck < best[0]):
            best = luck, (begin, end, by)
    return best


def shared(one: Any, other: Any, weight: Any) -> Any:
    """The weights of the words that two texts share, row by row, float64 [n]; cells are -1 beyond a text."""
    import numpy as np

    made = np.zeros(len(one))
    for rows in np.array_split(np.arange(len(one)), 1 + len(one) * WORDS * WORDS // 8_000_000):
        a, b = one[rows], other[rows]
        both = (a[:, :, None] == b[:, None, :]).any(2) & (a >= 0)
        made[rows] = np.where(both, weight[np.where(a >= 0, a, 0)], 0.0).sum(1)
    return made


CHECK = ShiftedWords
