"""What frames a sequence of tokens: a mask that counts padding, and a first or last token that most sequences have and some lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.texts.token_fields import PADDED, ids_of, without_tail
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

MASKED = Quantity(
    "masks_over_padding", "samples", "samples whose attention mask counts padding, where that of most does not"
)
FRAMED = Quantity(
    "frame_tokens", "samples", "samples that do not begin or end with the token with which nearly all others do"
)
LEAST, USUAL, FEWEST = 20, 0.7, 3
"""The fewest samples, the least share that keeps to the rule, and the fewest that break it."""


class TokenFrames(Check):
    ids = ("mask-mismatch", "missing-token")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        rows = {f.name for f in context.fields if (len(f.shape) == 1 and "int" in f.dtype) or f.dtype == "bool"}
        self.ids_ = ids_of(context)
        self.mask = next(
            (f.name for f in context.fields if f.name in rows and f.name.lower().endswith("attention_mask")), None
        )
        self.padding: Counter[int] = Counter()
        """Tokens where the mask is 0."""
        self.tails: Counter[tuple[int, bool]] = Counter()
        """Samples that end in a run of a token, and whether the mask counts it."""
        self.ends: Counter[tuple[str, int]] = Counter()
        """Samples by their first and their last token that the mask counts."""
        self.of = 0
        self.where = Places()

    def applies(self) -> bool:
        return self.ids_ is not None

    def looked(self) -> bool:
        return self.of > 0

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        ids = block.columns.get(self.ids_ or "")
        masks = block.columns.get(self.mask or "")
        for i, row in enumerate(() if ids is None else ids.values[: block.samples]):
            row = array_of(row)
            if row.ndim != 1 or row.dtype.kind not in "iu" or len(row) < PADDED:
                continue
            self.of += 1
            counted = row
            if masks is not None and (mask := array_of(masks.values[i])).shape == row.shape:
                self.padding.update(np.unique(row[mask == 0]).tolist())
                counted = row[mask != 0]
                if row[-1] == row[-PADDED]:
                    kind = (int(row[-1]), bool(mask[-1]))
                    self.tails[kind] += 1
                    self.where.add(("tail", *kind), block, i, self.mask)
            elif len(stripped := without_tail(row)):
                counted = stripped
            for end, token in (("begin", counted[0]), ("end", counted[-1])) if len(counted) else ():
                self.ends[end, int(token)] += 1
                self.where.add((end, int(token)), block, i, self.ids_)

    def merge(self, other: Check) -> None:
        assert isinstance(other, TokenFrames)
        self.seen += other.seen
        self.of += other.of
        self.padding += other.padding
        self.tails += other.tails
        self.ends += other.ends
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        if self.padding and self.of >= LEAST:
            pad = self.padding.most_common(1)[0][0]
            wrong, right = self.tails[pad, True], self.tails[pad, False]
            if wrong >= FEWEST and right >= USUAL * (wrong + right):
                value = {"count": wrong, "of": self.of, "pad": pad, "where": self.where.of(("tail", pad, True))}
                yield Fact(MASKED, value, evidence, {"field": self.mask})
        for end in ("begin", "end"):
            tokens = Counter({token: n for (which, token), n in self.ends.items() if which == end})
            if not tokens or self.of < LEAST:
                continue
            token, n = tokens.most_common(1)[0]
            lack = tokens.total() - n
            second = tokens.most_common(2)[1][1] if len(tokens) > 1 else 0
            # words at the ends of texts vary: one that nearly all have is none, nor is one of two that alternate
            if lack >= FEWEST and n >= USUAL * tokens.total() and 4 * second <= n:
                odd = [place for other in tokens if other != token for place in self.where.of((end, other))]
                odd = sorted(odd, key=lambda place: int(str(place["sample"])))[:20]
                value = {"count": lack, "of": tokens.total(), "token": token, "where": odd}
                yield Fact(FRAMED, value, evidence, {"field": self.ids_, "end": end})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MASKED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} counts padding in {v['count']:,} of {number(v['of'], 'sample')}: it is 1 where the token is {v['pad']}, "
            text += "but 0 there in the others"
            fix = "set it to 0 on padding: otherwise the model attends to it, and a masked loss trains on it"
            yield finding("mask-mismatch", "error", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(FRAMED):
            v, name, end = fact.value, escaped(str(fact.at["field"])), str(fact.at["end"])
            if end == "end" and facts.find(MASKED) is not None:
                continue  # their padding is told
            severity: Severity = "warning"
            text = f"{name} of {v['count']:,} of {number(v['of'], 'sample')} {verb(v['count'], 'do')} not {end} with token {v['token']}, as "
            text += "the others do"
            fix = "find out whether a special token, such as beginning- or end-of-text, is missing there, and add it"
            yield finding("missing-token", severity, text, fact, fix, v["where"], v["count"])


CHECK = TokenFrames
