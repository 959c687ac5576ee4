"""Token ids of one split that another tokenizer made, that count from another number, or that are framed otherwise.

Whatever texts are about, the tokens that are most frequent in one split are so in another one. How unlike two splits are by chance is
told by two halves of the training split: texts on one topic come together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.texts.token_fields import ids_of, without_tail
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

MAPPED = Quantity("token_maps", "", "how the tokens of a split differ from those of training, and by how much")
LEAST, PIECE, MOST = 100, 128, 1 << 18
"""The fewest sequences of a split; tokens of a piece, of which a long sequence has several that count as such; and the most distinct tokens that
are counted."""
UNLIKE, BEYOND = 0.5, 3.0
"""The least total variation of two splits whose tokens are another tokenizer's, and how many times that of chance it is."""
SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4)
"""By how much ids may be larger."""
CLEARLY, ALIKE = 1.5, 1.3
"""How many times that of chance the total variation of shifted ids is at least, and once they are shifted back at most."""
FRAMING = 0.9
"""The share of the sequences of a split that have a token of their frame, such as the padding: it is no part of what they say."""
NEARLY_ALL, FEWER = 0.95, 0.75
"""The share of sequences that begin, or end, with one token in one split, and the largest share in the other one."""
TOP = 20
"""The most frequent tokens that are told of."""
Half = tuple[str, int]
"""A split, and which half of it."""


class TokenMaps(Check):
    ids = ("preprocessing-differs",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.field = ids_of(context)
        self.tokens: dict[Half, Counter[int]] = {}
        """In how many sequences, or pieces of them, each token is."""
        self.ends: dict[tuple[str, str], Counter[int]] = {}
        """The first and the last tokens of the sequences of a split."""
        self.of: Counter[Half] = Counter()

    def applies(self) -> bool:
        return self.field is not None and self.context.several_splits

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        column = block.columns.get(self.field or "")
        if column is None:
            return
        names, codes = self.context.splits_of(block)
        found: dict[Half, list[Any]] = {}
        for i, value in enumerate(column.values[: block.samples]):
            row, split = array_of(value), names[codes[i]]
            if split is None or row.ndim != 1 or row.dtype.kind not in "iu" or not len(row):
                continue
            half = split, block.index(i) // 2 % 2
            stripped = without_tail(row)
            pieces = [row] if len(row) <= PIECE else np.array_split(stripped, max(1, len(stripped) // PIECE))
            self.of[half] += len(pieces)
            found.setdefault(half, []).extend(map(np.unique, pieces))
            for end, token in (("begin", row[0]), ("end", stripped[-1] if len(stripped) else row[-1])):
                self.ends.setdefault((split, end), Counter())[int(token)] += 1
        for half, rows in found.items():
            values, counts = np.unique(np.concatenate(rows), return_counts=True)
            mine = self.tokens.setdefault(half, Counter())
            if len(mine) < MOST:
                mine.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, TokenMaps)
        self.seen += other.seen
        self.of += other.of
        for half, counts in other.tokens.items():
            self.tokens.setdefault(half, Counter()).update(counts)
        for end, counts in other.ends.items():
            self.ends.setdefault(end, Counter()).update(counts)

    def facts(self) -> Iterable[Fact]:
        splits = sorted({split for split, _ in self.of} - {"train"})
        halves = [self.tokens.get(("train", half), Counter()) for half in (0, 1)]
        if min(self.of["train", 0], self.of["train", 1]) < LEAST / 2:
            return
        train = halves[0] + halves[1]
        for split in splits:
            other = self.tokens.get((split, 0), Counter()) + self.tokens.get((split, 1), Counter())
            if self.of[split, 0] + self.of[split, 1] < LEAST:
                continue
            for value in self._of(train, halves, other, split):
                yield Fact(MAPPED, value, self.evidence(), {"field": self.field, "split": split, "what": value["what"]})

    def _of(
        self, train: Mapping[int, int], halves: Sequence[Mapping[int, int]], other: Mapping[int, int], split: str
    ) -> Iterator[dict[str, Json]]:
        n = {of: self.of[of, 0] + self.of[of, 1] for of in ("train", split)}
        framing = {
            t for counts, of in ((train, "train"), (other, split)) for t, k in counts.items() if k >= FRAMING * n[of]
        }
        train, other, *halves = ({t: k for t, k in of.items() if t not in framing} for of in (train, other, *halves))
        chance = scatter(train, other) * max(1.0, apart(*halves) / max(1e-9, scatter(*halves)))
        unlike = apart(train, other)
        shifted = {by: apart(train, {token - by: n for token, n in other.items()}) for by in SHIFTS}
        by = min(shifted, key=lambda by: shifted[by])
        if unlike >= CLEARLY * chance and shifted[by] <= ALIKE * chance and CLEARLY * shifted[by] <= unlike:
            yield {"what": "shifted", "by": by}
        elif unlike >= max(UNLIKE, BEYOND * chance):
            usual = sorted(train, key=lambda token: (-train[token], token))[:TOP]
            yield {
                "what": "other",
                "shares": [sum(of.get(t, 0) for t in usual) / sum(of.values()) for of in (train, other)],
            }
        for end in ("begin", "end"):
            mine, theirs = (self.ends.get((of, end), Counter()) for of in ("train", split))
            for token in {of.most_common(1)[0][0] for of in (mine, theirs) if of}:
                shares = [of[token] / max(1, of.total()) for of in (mine, theirs)]
                if max(shares) >= NEARLY_ALL and min(shares) <= FEWER:
                    yield {"what": end, "token": token, "shares": shares}
                    break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MAPPED):
            v, name, split = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["split"]))
            shares = [f"{share:.0%}" for share in v.get("shares", ())]
            if v["what"] == "shifted":
                text = f"the ids of {name} are {abs(v['by'])} {'larger' if v['by'] > 0 else 'smaller'} in {split} than in train: shifted back, both "
                text += "splits use the same tokens equally often"
                fix = "tokenize every split with the same vocabulary: special tokens were added or left out"
            elif v["what"] == "other":
                text = f"{name} of {split} uses other tokens than train: the {TOP} most frequent tokens of train make up {shares[0]} of its tokens "
                text += f"but {shares[1]} of {split}'s"
                fix = "tokenize every split with the same tokenizer, if the texts are of one language"
            else:
                text = f"{name}: {shares[0]} of the sequences of train {v['what']} with token {v['token']}, and {shares[1]} of those of {split}"
                fix = "pad every split the same way: on the same side, with the same special tokens"
            severity: Severity = "error" if v["what"] == "shifted" else "warning"
            yield finding(
                "preprocessing-differs",
                severity,
                text,
                fact,
                fix,
                [{"field": fact.at["field"], "split": fact.at["split"]}],
            )


def apart(one: Mapping[int, int], two: Mapping[int, int]) -> float:
    """The total variation of two counts."""
    n, m = (max(1, sum(of.values())) for of in (one, two))
    return 0.5 * sum(abs(one.get(token, 0) / n - two.get(token, 0) / m) for token in one.keys() | two.keys())


def scatter(one: Mapping[int, int], two: Mapping[int, int]) -> float:
    """The total variation to expect of two samples of so many tokens from the distribution of both, each token on its own."""
    n, m = (max(1, sum(of.values())) for of in (one, two))
    total = 0.0
    for token in one.keys() | two.keys():
        share = (one.get(token, 0) + two.get(token, 0)) / (n + m)
        total += math.sqrt(2 / math.pi * share * (1 - share) * (1 / n + 1 / m))
    return 0.5 * total


CHECK = TokenMaps
