"""Texts and token sequences that nearly agree: equal except for case, whitespace and punctuation, or in most word 3-grams.

Method: the Jaccard index of the two sets of word 3-grams, exact up to ``SKETCH`` of them, else estimated from the ``SKETCH`` smallest
hashes (error about 0.035; Broder, "On the resemblance and containment of documents", 1997). Which pairs are compared is told by the rarest
3-grams of each text, of which alike texts share one (see ``alike_sets``).
Pairs are not chained: two texts count as near duplicates only if they themselves agree.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digest64, mix, short
from dataloader_expert.checks.common.wording import said, unsaid
from dataloader_expert.checks.duplicates.alike_sets import Sets, pairs, starts_of, within
from dataloader_expert.checks.duplicates.pairs import Seen, content_digests, judge_near, near_fact
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.sources.base import Block

SKETCH = 128
ALIKE = 0.8
"""The least Jaccard index of near duplicates."""
WORDS = 3
MOST = 500_000
"""The most texts of one process that are compared; each takes up to 550 bytes."""
RULE = f"equal except for case, spaces and punctuation, or Jaccard index of word {WORDS}-grams at least {ALIKE}"
MISSED = "near duplicates of short texts in which a word differs"
_WORD = re.compile(r"\w+|(?<=\s)[-+*/<>=%^](?=\s)")
"""Words, and the symbols of a formula."""
_SYMBOL = re.compile(r"[-+*/<>=%^](?<=\s.)(?=\s)")
_PLAIN = bytes(ord(chr(c).casefold()) if re.match(r"\w", chr(c), re.ASCII) else 32 for c in range(256))
"""What each byte of a text in ASCII becomes whose words are then what stands between spaces."""
PRINT = 2
"""64-bit integers of a fingerprint: with a single one, some 1 in 10,000 pairs of unlike short texts would agree by chance."""
OTHER = 18 * PRINT
"""Bits by which the fingerprints of two texts of one field must differ for these to be other texts."""
CLOSE, SHORT = 12 * PRINT, 11
"""The same where another field recurs in most samples, such as the premise of several hypotheses: equal ones then say nothing of copies. And
the words from which on texts that differ in one may be alike: fewer must all be the same then."""
AT_ONCE = 2_000
"""Word 3-grams whose bits are counted at once: they stay in the CPU cache."""


class _Digests(dict[bytes, int]):
    """The digest of each word, made once."""

    def __missing__(self, word: bytes) -> int:
        self[word] = made = digest64(word)
        return made

    def of(self, words: list[bytes]) -> Any:
        import numpy as np

        return np.fromiter(map(self.__getitem__, words), np.uint64, len(words))


def words_of(text: str) -> list[bytes]:
    """The words of a text in small letters, and the symbols of a formula."""
    if text.isascii() and _SYMBOL.search(text) is None:
        return text.encode().translate(_PLAIN).split()  # a third of the time
    return [word.encode("utf-8", "surrogatepass") for word in _WORD.findall(text.casefold())]


class NearTexts(Check):
    ids = ("near-duplicates", "splits-near-overlap", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        kinds = {f.name: f for f in context.fields}
        self.texts = [n for n in self.kept.names if kinds[n].kind == "text"]
        self.talks = [] if self.texts else [n for n in self.kept.names if n in context.conversations]
        self.texts = self.texts or self.talks
        self.tokens = [] if self.texts else [n for n in self.kept.names if kinds[n].kind == "tokens"]
        self.others = [n for n in self.kept.names if n not in (*self.texts, *self.tokens)]
        self.rest: list[Any] = []
        """Digests of the other fields, which must be equal: an image may have several captions."""
        self.prints: list[Any] = []
        """Fingerprints of each text field, where there are several: uint64 [n, fields, PRINT] per block."""
        self.few: list[Any] = []
        """Hashes of the texts of fewer than ``SHORT`` words, 0 for others; uint64 [n, fields] per block."""
        self.looked_at = 0
        self.same: list[Any] = []
        """Hashes of texts without case, whitespace and punctuation, 0 for empty ones; uint64 [n] per block."""
        self.sketches: list[Sets] = []
        """The sketches of a block's texts."""

    def applies(self) -> bool:
        return self.context.near and bool(self.texts or self.tokens)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        n = block.samples
        if not n or self.looked_at >= MOST or not self.applies():
            return
        self.kept.see(block)
        if self.others or self.talks:
            self.rest.append(self._rest(block))
        names = (*self.texts, *self.tokens)
        values = [block.columns[name].values[:n] if name in block.columns else [] for name in names]
        known = _Digests()
        of_each = [_words(column, n, known) for column in values]
        if len(names) > 1:
            self.prints.append(np.stack([fingerprints(*grams_of(*of)) for of in of_each], 1))
            few = [np.where(lengths < SHORT, _in_order(words, lengths), 0) for words, lengths in of_each]
            self.few.append(np.stack(few, 1))
        words, lengths = _joined(of_each, self._phrases([column for column in values if len(column)], n))
        self.looked_at += n
        self.same.append(_in_order(words, lengths))
        self.sketches.append(sketched(*grams_of(words, lengths)))

    def _rest(self, block: Block) -> Any:
        """A digest of what must be equal in near copies, uint64 [n]: the other fields, and what a conversation shows but does not say."""
        import numpy as np

        n = block.samples
        rest = content_digests(block, self.others) if self.others else np.zeros(n, np.uint64)
        for name in self.talks:
            values = block.columns[name].values[:n] if name in block.columns else [None] * n
            shown = [digest64(b"\0".join(unsaid(value))) for value in values]
            rest = mix(rest ^ np.array(shown, np.uint64))
        return rest

    def _phrases(self, columns: list[Any], n: int) -> Any:
        """Which samples recur by nature; bool [n], None if none does."""
        import numpy as np

        phrase = self.context.phrase
        if not phrase or not columns:
            return None
        return np.array([all(short(value, phrase) for value in row) for row in zip(*columns, strict=True)], bool)

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearTexts)
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.looked_at += other.looked_at
        self.same += other.same
        self.rest += other.rest
        self.prints += other.prints
        self.few += other.few
        self.sketches += other.sketches

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.same:
            return
        rows = self.kept.all()
        digest = rows.digest
        rest = np.concatenate(self.rest) if self.rest else np.zeros(len(digest), np.uint64)
        alike = self._alike(digest, rest)
        prints = np.concatenate(self.prints) if self.prints else np.zeros((0, 0, PRINT), np.uint64)
        if len(prints) == len(digest):  # questions to one long document are no copies of each other
            limit, few = OTHER, None
            if any(map(_recurs, prints.swapaxes(0, 1))):
                limit, few = CLOSE, np.concatenate(self.few)
            alike = {
                (i, j)
                for i, j in alike
                if _differ(prints[i], prints[j]) < limit and (few is None or (few[i] == few[j]).all())
            }
        same = np.concatenate(self.same)
        same = np.where(same != 0, mix(same + rest), same)
        groups = []
        for members in _equal(same):
            if same[members[0]]:
                _, first = np.unique(digest[members], return_index=True)  # one of each content
                groups.append(members[first].tolist())
        within = {frozenset(p) for g in groups for p in itertools.pairwise(g)}
        key_of = {i: k for k, g in enumerate(groups) for i in g}
        apart = [
            p for p in sorted(alike) if frozenset(p) not in within and (key_of.get(p[0], -1) != key_of.get(p[1], -2))
        ]
        found = [g for g in groups if len(g) > 1] + [list(p) for p in apart]
        yield near_fact(self.kept, rows, "texts", found, RULE, self.evidence(n=self.looked_at), MISSED)

    def _alike(self, digest: Any, rest: Any) -> set[tuple[int, int]]:
        """Positions of two texts that are alike and not equal, the first before the second."""
        import numpy as np

        _, first, which = np.unique(digest, return_index=True, return_inverse=True)
        once = np.zeros(len(digest), bool)
        once[first] = True  # copies are as alike as what they are copies of
        salts = mix(rest).astype(np.uint32) if self.rest else None
        found = [(a, b) for a, b in pairs(self.sketches, once, salts, ALIKE, SKETCH).tolist() if rest[a] == rest[b]]
        if len(first) == len(digest):
            return {*found}
        copies = _members(which, {int(which[i]) for pair in found for i in pair})
        alike: set[tuple[int, int]] = set()
        for pair in found:
            ones, others = (copies[int(which[i])] for i in pair)  # each copy of either with the first of the other
            every = (*((ones[0], j) for j in others), *((i, others[0]) for i in ones))
            alike.update((min(two), max(two)) for two in every)
        return alike

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, "texts", sure=True)

    def unknowns(self) -> Iterable[Unknown]:
        if self.looked_at < self.seen and self.applies():
            yield Unknown("near-duplicates", f"only the first {self.looked_at:,} of {self.seen:,} texts were compared")


def _words(values: Any, n: int, known: _Digests) -> tuple[Any, Any]:
    """The concatenated hashes of the words of each of ``n`` values, uint64; and their number, int64 [n]. There may be no values."""
    import numpy as np

    words: list[bytes] = []
    lengths = np.zeros(n, np.int64)  # also for a sample without the field
    parts: list[Any] = [np.zeros(0, np.uint64)]
    for i, value in enumerate(values):
        if hasattr(value, "dtype") and value.dtype.kind in "iu":
            if value.size and (value == value.flat[0]).all():
                continue  # unwritten space is no copy of other unwritten space
            parts += [known.of(words), mix(value.reshape(-1).astype(np.uint64))]
            words = []
            lengths[i] = value.size
            continue
        before = len(words)
        for text in (value,) if isinstance(value, str) else said(value):
            words += words_of(text)
        lengths[i] = len(words) - before
    return np.concatenate([*parts, known.of(words)]), lengths


def _joined(of_each: list[tuple[Any, Any]], left_out: Any) -> tuple[Any, Any]:
    """The words of the fields of each sample one after the other, and their number; none of those that are left out."""
    import numpy as np

    total = np.sum([lengths for _, lengths in of_each], 0)
    words, begins = of_each[0][0], starts_of(total)
    if len(of_each) > 1:
        words = np.empty(int(total.sum()), np.uint64)
        for own, lengths in of_each:
            words[np.repeat(begins, lengths) + within(lengths)] = own
            begins = begins + lengths
    if left_out is None or not left_out.any():
        return words, total
    return words[np.repeat(~left_out, total)], np.where(left_out, 0, total)


def fingerprints(grams: Any, counts: Any) -> Any:
    """SimHash of each text's word 3-grams, uint64 [n, PRINT]. Source: Charikar, "Similarity estimation techniques from rounding algorithms", 2002."""
    import numpy as np

    made, at = np.zeros((len(counts), PRINT), np.uint64), 0
    ends = np.cumsum(counts)
    salts = np.arange(1, PRINT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    first = 0
    while first < len(counts):
        last = max(first + 1, int(np.searchsorted(ends, at + AT_ONCE, "right")))
        stop, own = int(ends[last - 1]), counts[first:last]
        hashes = mix(grams[at:stop, None] ^ salts)
        bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8 * PRINT), axis=1).view(np.int8)
        there = np.flatnonzero(own)
        if len(there):
            begins = np.concatenate([[0], np.cumsum(own)[:-1]])[there]
            ones = np.add.reduceat(bits, begins, axis=0, dtype=np.int32)
            most = 2 * (2 * ones - own[there, None]) + 2 * bits[begins] > 1  # the first breaks ties
            made[first + there] = np.packbits(most, axis=1).view(np.uint64)
        first, at = last, stop
    return made


def _differ(one: Any, two: Any) -> int:
    """The most bits by which the fingerprints of one field differ; both are uint64 [fields, PRINT]."""
    return max((sum(int(bits).bit_count() for bits in field) for field in one ^ two), default=0)


def _recurs(prints: Any) -> bool:
    """Whether most samples have a text of a field that others have, too; uint64 [n, PRINT], 0 for an empty text."""
    import numpy as np

    keys = mix(prints[:, 0]) ^ prints[:, -1]
    _, counts = np.unique(keys[prints.any(axis=1)], return_counts=True)
    return bool(2 * counts[counts > 1].sum() > len(prints))


def _in_order(words: Any, lengths: Any) -> Any:
    """A hash of each text's words in order; 0 for a text without words; uint64 [n]."""
    import numpy as np

    out = np.zeros(len(lengths), np.uint64)
    there = lengths > 0
    if there.any():
        with np.errstate(over="ignore"):
            placed = mix(words + within(lengths).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        out[there] = np.add.reduceat(placed, starts_of(lengths)[there])
    return out


def grams_of(words: Any, lengths: Any) -> tuple[Any, Any]:
    """Hashes of the runs of ``WORDS`` words in each text, or of all its words if there are fewer; and their number."""
    import numpy as np

    counts = np.where(lengths > 0, np.maximum(lengths - WORDS + 1, 1), 0)
    at = np.repeat(starts_of(lengths), counts) + within(counts)
    size = np.repeat(np.minimum(lengths, WORDS), counts)
    padded = np.concatenate([words, np.zeros(WORDS, np.uint64)])
    total = np.zeros(len(at), np.uint64)
    with np.errstate(over="ignore"):
        for k in range(WORDS):
            total = np.where(size > k, mix(total + padded[at + k]), total)
    return total, counts


def sketched(grams: Any, counts: Any) -> Sets:
    """The ``SKETCH`` smallest distinct 32-bit hashes of each text."""
    import numpy as np

    text = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    keys = np.sort(text << np.uint64(32) | grams >> np.uint64(32))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]]
    text = (keys >> np.uint64(32)).astype(np.int64)
    distinct = np.bincount(text, minlength=len(counts))
    kept = within(distinct) < SKETCH
    return Sets(keys[kept].astype(np.uint32), np.minimum(distinct, SKETCH))


def _members(which: Any, of: set[int]) -> dict[int, list[int]]:
    """The positions of each of these numbers."""
    import numpy as np

    found: dict[int, list[int]] = {k: [] for k in of}
    for i in np.flatnonzero(np.isin(which, sorted(of))).tolist():
        found[int(which[i])].append(i)
    return found


def _equal(keys: Any) -> Iterable[Any]:
    """Positions of equal keys, in groups of two or more, sorted."""
    import numpy as np

    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], keys[order][1:] != keys[order][:-1]]))
    ends = np.concatenate([starts[1:], [len(order)]])
    for g in np.flatnonzero(ends - starts > 1).tolist():
        yield order[starts[g] : ends[g]]


CHECK = NearTexts
