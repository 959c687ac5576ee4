"""Token ids beyond the vocabulary; sequences that are too long for the model, empty, or padded inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import BOX_WORDS
from dataloader_expert.sources.arrays import TOKENS as NAMED
from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.roles import words

TOKENS = Quantity("token_rows", "samples", "samples with a given defect in their token ids, with places; and the limit")
NARROW = Quantity(
    "narrow_tokens", "", "the largest id that a field's dtype holds, where the vocabulary has larger ones"
)
OTHER = ("mask", "label", "type", "position", "segment", "target")
ODD = ("out-of-range-ids", "too-long", "empty-sequence", "padding-inside")
TEXTS: dict[str, tuple[Severity, str, str]] = {
    "out-of-range-ids": ("error", "contain ids outside 0 … {limit}", "tokenize with the model's own tokenizer: an embedding fails on them"),
    "too-long": ("warning", "are longer than the {limit} tokens that the model accepts", "truncate or split them"),
    "empty-sequence": ("warning", "contain no token{pad}", "drop them: they carry no input and may make the loss NaN"),
    "padding-inside": ("warning", "have the padding id {limit} between other tokens", "pad at one end only, or mask by position and not by id"),
}  # fmt: skip

SWAPPED = "swap the two bytes of each token: read in the other byte order, all ids are within the vocabulary"
MOSTLY = 0.9
"""The least share of sequences beyond the vocabulary that are within it with their bytes swapped."""


def of_ids(field: Field) -> bool:
    """Whether a field may contain token ids: a sequence of integers that is not a mask, a segment or the target of a loss."""
    name = field.name.lower()
    return len(field.shape) == 1 and field.dtype.startswith(("int", "uint")) and not any(word in name for word in OTHER)


class Tokens(Check):
    ids = ODD

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        asked = context.vocabulary.known() and context.vocabulary.how == "as asked"
        fields = [f for f in context.fields if f.name != context.label]
        named = [f.name for f in fields if f.name.lower() in NAMED or f.name.lower().endswith("input_ids")]
        ids = [f.name for f in fields if of_ids(f) and not set(words(f.name)) & BOX_WORDS]
        # the only whole numbers next to a tokenizer's files are its tokens
        tokens = asked or (context.vocabulary.size is not None and not named and len(ids) == 1)
        self.fields = [f.name for f in fields if f.name in named or (tokens and f.name in ids)]
        whole = [f.name for f in fields if not f.shape and f.dtype.startswith(("int", "uint"))]
        if asked and len(fields) == 1 and whole:  # one stream of tokens
            self.fields = whole
        self.narrow: dict[str, int] = {}
        """The largest id that the dtype of a field holds, if the vocabulary has larger ones."""
        self.swapped: Counter[str] = Counter()
        """Sequences of a field that are within the vocabulary once the bytes of each token are swapped."""
        self.counts: Counter[tuple[str, str]] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        v = self.context.vocabulary
        for name in self.fields:
            if name not in block.columns:
                continue
            values = block.columns[name].values
            if getattr(values, "ndim", 0) == 1 and values.dtype.kind in "iu":
                wrong = np.flatnonzero((values < 0) | (v.size is not None and values >= v.size)).tolist()
                self.counts[name, "out-of-range-ids"] += len(wrong)
                for i in wrong[:MAX_PLACES]:
                    self.where.add((name, "out-of-range-ids"), block, i, name)
                continue
            for i, value in enumerate(values):
                try:
                    row = np.asarray(value).reshape(-1) if value is not None else None
                except ValueError:  # nested lists
                    continue
                if row is not None and row.dtype.kind in "iu" and np.iinfo(row.dtype).max < (v.size or 0) - 1:
                    self.narrow[name] = int(np.iinfo(row.dtype).max)
                if row is not None and (row.dtype.kind in "iu" or not row.size):
                    for code in self._odd(row):
                        if code == "out-of-range-ids" and v.size is not None:
                            self.swapped[name] += row.dtype.itemsize > 1 and 0 <= int(row.byteswap().max()) < v.size
                        self.counts[name, code] += 1
                        self.where.add((name, code), block, i, name)

    def _odd(self, row: Any) -> Iterable[str]:
        import numpy as np

        v = self.context.vocabulary
        if not row.size or (v.pad is not None and (row == v.pad).all()):
            yield "empty-sequence"
            return
        if int(row.min()) < 0 or (v.size is not None and int(row.max()) >= v.size):
            yield "out-of-range-ids"
        if v.pad is not None:
            real = np.flatnonzero(row != v.pad)
            if real[-1] - real[0] + 1 != len(real):
                yield "padding-inside"
            row = row[real[0] : real[-1] + 1]
        if v.longest is not None and len(row) > v.longest:
            yield "too-long"

    def merge(self, other: Check) -> None:
        assert isinstance(other, Tokens)
        self.seen += other.seen
        self.counts += other.counts
        self.swapped += other.swapped
        self.narrow |= other.narrow
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        v = self.context.vocabulary
        limits = {
            "out-of-range-ids": None if v.size is None else v.size - 1,
            "too-long": v.longest,
            "padding-inside": v.pad,
        }
        for (name, code), n in sorted((+self.counts).items()):
            value = {"count": n, "where": self.where.of((name, code)), "limit": limits.get(code), "how": v.how}
            value["swapped"] = code == "out-of-range-ids" and self.swapped[name] >= MOSTLY * n
            yield Fact(TOKENS, value, self.evidence(), {"field": name, "code": code})

        for name, most in sorted(self.narrow.items()):
            yield Fact(NARROW, {"most": most, "size": v.size, "how": v.how}, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(NARROW):
            v, name = fact.value, str(fact.at["field"])
            source = f" ({v['how']})" if v["how"] != "as asked" else ""
            message = f"the dtype of {escaped(name)} holds ids up to {v['most']:,}, and the vocabulary has {v['size']:,}{source}: "
            message += "larger ids do not fit into it"
            fix = "tokenize again into uint32 or int32: what was lost cannot be restored"
            yield finding("out-of-range-ids", "error", message, fact, fix, [{"field": name}])
        for fact in facts.all(TOKENS):
            v, code, name = fact.value, str(fact.at["code"]), str(fact.at["field"])
            severity, what, fix = TEXTS[code]
            fix = SWAPPED if v.get("swapped") else fix
            single = any(f.name == name and not f.shape for f in self.context.fields)
            what = "contain negative ids" if code == "out-of-range-ids" and v["limit"] is None else what
            what = (
                what.replace("contain ids", "are ids").replace("contain negative", "are negative") if single else what
            )
            said = what.format(limit=v["limit"], pad=" but padding" if self.context.vocabulary.pad is not None else "")
            source = f" ({v['how']})" if v["limit"] is not None and v["how"] != "as asked" else ""
            message = f"{number(v['count'], 'token' if single else 'sequence')} of {escaped(name)} {verb(v['count'], said)}{source}"
            yield finding(code, severity, message, fact, fix, v["where"], v["count"])


CHECK = Tokens
