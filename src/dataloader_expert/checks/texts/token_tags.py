"""Tags of tokens that words contradict in one split, file, source or stretch: types of entities that are swapped or not tagged at all, and tags
that belong to the token beside.

Method: a word that nearly always has one tag elsewhere tells it (``lexicon``). Names of persons and places come again, and so do the words
around them; what a part is about changes the words, not the tags that they have.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.origins import SPLIT, Origins, called
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, at_of, digest_of, numbered, places
from dataloader_expert.checks.common.split_said import in_split
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.common.swapped_classes import divergence
from dataloader_expert.checks.common.swapped_classes import permutation as permuted
from dataloader_expert.checks.texts.lexicon import UNKNOWN, Words
from dataloader_expert.checks.texts.tagging import tags_of
from dataloader_expert.checks.texts.token_fields import words_of
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

TAGS = Quantity(
    "token_tags", "tokens", "tokens with each tag of a field that tags tokens, of a sample of the sentences"
)
SWAPPED = Quantity("token_tags_swapped", "tokens", "tokens of a part whose tag types are swapped, and which")
UNTAGGED = Quantity("token_tags_missing", "tokens", "tokens of a part without the tag that these words have elsewhere")
SHIFTED = Quantity("token_tags_shifted", "samples", "sentences whose tags fit the next or previous tokens, with places")
KEPT, WIDTH, MOST_TOKENS = 5_000, 96, 150_000
"""The most sentences, tokens of each, and tokens of all that are looked at."""
MOST_TAGS, MOST_FIELDS, MOST_PARTS = 120, 3, 60
OUTSIDE = "O"
COMMON = 0.5
"""The share of tokens from which a tag is that of what is no entity, if no scheme names it."""
LEAST, CHANCE = 10, 1e-6
"""The fewest tokens that tell what a part lacks, and how unlikely it must be by what is usual elsewhere."""
LACKS, USUAL = 0.9, 0.2
"""The least share of such tokens without their tag in a part, and the most elsewhere."""
SWAP, RIGHT = 0.8, 0.8
"""The least share of tokens with the swapped type in a part, and with their own elsewhere."""
SHOWING, BESIDE, OWN = 3, 0.9, 0.5
"""The fewest words of a sentence that tell where its tags belong; the least share that fits the tokens beside, and the most that fits their own."""
DOUBTFUL = 10
"""One wrong tag among so many right ones makes no part doubtful."""
SENTENCES, TIMES = 5, 5
"""The fewest sentences that are shifted, and how many times as many as the other way."""
OFTEN = 0.6
"""The least share of a word's occurrences that have one tag where parts that may be wrong are among them: these make it less than nearly all."""
FILE, STRETCH = "the file", "the rows"


class Part(NamedTuple):
    by: str
    of: str
    own: Any
    """Sentences, bool [n]."""
    tries: float


class TokenTags(Check):
    ids = ("label-odd-one-out", "class-missing-in-split", "shifted-labels")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        lists = [f.name for f in context.fields if f.kind == "other" and f.dtype == "list"]
        whole = [f.name for f in context.fields if len(f.shape) == 1 and "int" in f.dtype and f.kind != "audio"]
        self.tokens = words_of(context)
        self.tags = [name for name in [*lists, *whole] if name != self.tokens][:MOST_FIELDS]
        self.called = {name: Named(MOST_TAGS) for name in self.tags}
        self.origins, self.named, self.files = Origins(context), Named(MOST_PARTS), Files()
        self.drawn = {name: Drawn(KEPT) for name in self.tags}

    def applies(self) -> bool:
        return bool(self.tokens and self.tags)

    def looked(self) -> bool:
        return any(drawn.parts for drawn in self.drawn.values())

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        tokens = block.columns.get(self.tokens)
        if tokens is None or not block.samples:
            return
        for name, drawn in self.drawn.items():
            column, named = block.columns.get(name), self.called[name]
            if column is None or named.many:
                continue
            rows = drawn.rows(block)
            pairs = [_pair(tokens.values[i], column.values[i]) for i in rows.tolist()]
            there = np.array([pair is not None for pair in pairs], bool)
            if not there.any():
                continue
            rows, found = rows[there], [pair for pair in pairs if pair is not None]
            flat = named.coded(numbered([tag for _, tags in found for tag in tags]))
            tagged, words = np.zeros((len(found), WIDTH), np.uint64), np.full((len(found), WIDTH), -1, np.int32)
            at = 0
            for k, (own, tags) in enumerate(found):
                tagged[k, : len(tags)] = flat[at : at + len(tags)]
                words[k, : len(own)] = [digest_of(word) & 0x7FFFFFFF for word in own]
                at += len(tags)
            kept = self.origins.of(block, rows) | at_of(block, rows) | {"words": words, "tags": tagged}
            one = block.unit.file if block.unit.samples > 1 and not block.unit.members else None
            kept["part"] = self.named.coded(numbered([one or block.file(i) for i in rows.tolist()]))
            drawn.keep(block, rows, kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, TokenTags)
        self.seen += other.seen
        self.named.merge(other.named)
        self.origins.merge(other.origins)
        self.files.merge(other.files)
        for name in self.tags:
            self.called[name].merge(other.called[name])
            self.drawn[name].merge(other.drawn[name])

    def facts(self) -> Iterable[Fact]:
        for name, drawn in self.drawn.items():
            if drawn.parts and not self.called[name].many:
                yield from self._of(name, drawn.all()[1])

    def _of(self, field: str, rows: dict[str, Any]) -> Iterator[Fact]:
        import numpy as np

        enough = np.cumsum((rows["words"] >= 0).sum(1)) <= MOST_TOKENS
        rows = {name: values[enough] for name, values in rows.items()}
        order = np.argsort(rows["sample"])
        rows = {name: values[order] for name, values in rows.items()}
        there = rows["words"] >= 0
        digests, codes = np.unique(rows["tags"][there], return_inverse=True)
        texts = [self.called[field].texts.get(int(value), "") for value in digests]
        kinds, outside = kinds_of(texts, codes)
        types = list(dict.fromkeys(kinds))
        if not 2 <= len(types) <= MOST_TAGS or not len(codes):
            return
        of = np.array([types.index(kind) for kind in kinds])
        words = Words(
            np.unique(rows["words"][there], return_inverse=True)[1], of[codes], np.nonzero(there)[0], len(types)
        )
        every = np.ones(len(codes), bool)
        told = words.told(every, every)
        if not (told != UNKNOWN).any() or (outside is not None and not (told != types.index(outside)).any()):
            return
        counts: dict[str, Json] = {kind: int((words.tag == k).sum()) for k, kind in enumerate(types)}
        evidence = self.evidence("sampled", len(order))
        yield Fact(TAGS, counts, evidence, {"field": field})
        none = -2 if outside is None else types.index(outside)
        shifted = yield from self._shifted(field, rows, words, told, none)
        done = np.zeros(len(order), bool) | shifted
        for part in self._parts(rows, words, words.told(every, every, OFTEN), none):
            own = part.own & ~done
            if 2 * own.sum() <= part.own.sum():
                continue
            value = _swapped(words, own, types, none, part.tries) if 2 * part.own.sum() <= len(order) else None
            quantity = SWAPPED
            if value is None and none >= 0:
                value, quantity = _untagged(words, own, ~own & ~shifted, types, none, part.tries), UNTAGGED
            if value is not None:
                done |= own
                at = {"field": field, "by": part.by, "of": part.of}
                marked = {"where": places(rows, own, field), "first": int(rows["sample"][own].min())}
                yield Fact(quantity, value | marked | {"last": int(rows["sample"][own].max())}, evidence, at)

    def _shifted(
        self, field: str, rows: dict[str, Any], words: Words, told: Any, none: int
    ) -> Generator[Fact, None, Any]:
        """A fact of sentences whose tags fit the token before or after; returns which they are, bool [n]."""
        import numpy as np

        n = len(rows["sample"])
        found = {by: beside(words, told, none, by, n) for by in (1, -1)}
        by = max(found, key=lambda k: int(found[k].sum()))
        if found[by].sum() < max(SENTENCES, TIMES * found[-by].sum()):
            return np.zeros(n, bool)
        value = {"count": int(found[by].sum()), "of": n, "by": by, "where": places(rows, found[by], field)}
        value["split"] = self._split_said(rows, found[by])
        yield Fact(SHIFTED, value, self.evidence("sampled", n), {"field": field})
        return found[by]

    def _split_said(self, rows: dict[str, Any], own: Any) -> str:
        """In words that these rows are all of one split."""
        import numpy as np

        if SPLIT not in self.origins.named:
            return ""
        of, whose = self.origins.groups(SPLIT, rows)
        found, every = (np.bincount(whose[mask], minlength=len(of)).tolist() for mask in (own, own | ~own))
        return in_split(dict(zip(of, found, strict=True)), dict(zip(of, every, strict=True)))

    def _parts(self, rows: dict[str, Any], words: Words, told: Any, none: int) -> Iterator[Part]:
        import numpy as np

        n = len(rows["sample"])
        entities = (told != UNKNOWN) & (told != none)
        wrong = np.bincount(words.sentence, entities & (words.tag != told), n)
        right = np.bincount(words.sentence, entities & (words.tag == told), n)
        parts = {name: self.origins.groups(name, rows) for name in self.origins.named}
        parts = {k: v for k, v in parts.items() if len(v[0]) > 1 and self.origins.tells_where(k, v[0], clear=True)}
        if not self.named.many:
            values, whose = np.unique(rows["part"], return_inverse=True)
            parts[FILE] = [self.named.texts.get(int(value), "") for value in values], whose
        for name, (of, whose) in parts.items():
            for k, text in enumerate(of):  # a split may be so large that it spoils what all tell
                own = whose == k
                if text and (name == SPLIT or wrong[own].sum() > right[own].sum() / DOUBTFUL):
                    yield Part(name, text, own, len(of))
        yield _stretch(wrong - right, n * n / 2)
        for k in range(words.tags) if none >= 0 else ():  # a type that is not tagged, while others are
            mine = (told == k) & (k != none)
            gain = np.bincount(words.sentence, mine & (words.tag == none), n) - np.bincount(
                words.sentence, mine & (words.tag == k), n
            )
            if gain.max(initial=0) > 0:
                yield _stretch(gain, words.tags * n * n / 2)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHIFTED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} is shifted by one token in {v['count']:,} of {number(v['of'], 'sentence')} checked{v['split']}: there, words have the usual tags of "
            text += f"the tokens {'before' if v['by'] > 0 else 'after'} them"
            fix = "check how tokens and tags were aligned: a token was probably added or dropped at the beginning"
            yield finding("shifted-labels", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(SWAPPED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            pairs = ", ".join(f"{escaped(elsewhere)} tagged {escaped(there)}" for elsewhere, there in v["pairs"])
            text = f"types of {name} seem to be swapped in {self._where(fact)}: {pairs}, in {v['count']:,} of {number(v['seen'], 'token')} whose "
            text += f"words have one usual type elsewhere ({v['usual']:.0%} there)"
            fix = "check a few; if so, find out which list of types they were tagged with, and swap them back"
            yield finding("label-odd-one-out", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(UNTAGGED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            kinds = (
                "no entity is tagged"
                if v["all"]
                else f"{', '.join(map(escaped, v['types']))} {'is' if len(v['types']) == 1 else 'are'} not tagged"
            )
            text = f"{name}: {kinds} in {self._where(fact)}: {v['count']:,} of {number(v['seen'], 'token')} that are tagged elsewhere are "
            text += "outside any entity there"
            fix = "tag them there too, or leave these sentences out: they teach a model that the same names are not entities"
            code = "class-missing-in-split" if fact.at["by"] == SPLIT else "label-odd-one-out"
            yield finding(code, "warning", text, fact, fix, v["where"], v["count"])

    def _where(self, fact: Fact) -> str:
        by, of = fact.at["by"], fact.at["of"]
        if by == STRETCH:
            return self.files.stretch(int(fact.value["first"]), int(fact.value["last"]))
        return escaped(str(of)) if by == FILE else called(by, of)


def _stretch(gain: Any, tries: float) -> Part:
    """The sentences between which there is the most of something."""
    import numpy as np

    first, end = highest(gain)
    at = np.arange(len(gain))
    return Part(STRETCH, "", (at >= first) & (at < end), tries)


def _pair(tokens: Any, tags: Any) -> tuple[list[str], list[str]] | None:
    """The first tokens of a sentence and their tags as texts; None unless each token has one."""
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        return None
    values = tags if isinstance(tags, list) else array_of(tags).tolist() if tags is not None else []
    if len(values) != len(tokens) or not all(isinstance(value, str | int) for value in values):
        return None
    return tokens[:WIDTH], [str(value) for value in values[:WIDTH]]


def kinds_of(texts: list[str], codes: Any) -> tuple[list[str], str | None]:
    """The type of each tag, such as PER of B-PER, and the one of what is no entity; tags of no scheme are types themselves."""
    import numpy as np

    tags = tags_of(texts)
    if tags is not None:
        return [kind or OUTSIDE for _, kind in tags], OUTSIDE
    counts = np.bincount(codes, minlength=len(texts))
    return texts, texts[int(counts.argmax())] if counts.max() >= COMMON * counts.sum() else None


def beside(words: Words, told: Any, none: int, by: int, n: int) -> Any:
    """The sentences whose words tell the tag of the token that comes so many places later, and not their own; bool [n]."""
    import numpy as np

    at = np.arange(len(told))
    there = np.clip(at + by, 0, len(at) - 1)
    inside = (there == at + by) & (words.sentence[there] == words.sentence) & (told != UNKNOWN)
    tag = words.tag[there]
    moved = inside & ((told != none) | (tag != none))
    own = (told != UNKNOWN) & ((told != none) | (words.tag != none))
    sums = [
        np.bincount(words.sentence, shown, n)
        for shown in (moved, moved & (told == tag), own, own & (told == words.tag))
    ]
    return (sums[0] >= SHOWING) & (sums[1] >= BESIDE * sums[0]) & (sums[2] >= SHOWING) & (sums[3] <= OWN * sums[2])


def _swapped(words: Words, own: Any, types: list[str], none: int, tries: float) -> dict[str, Json] | None:
    """Which types these sentences have for which; None unless they are permuted."""
    import numpy as np

    rows = own[words.sentence]
    told, tag = words.told(rows, ~rows), words.tag[rows]
    shown = (told != UNKNOWN) & (told != none) & (tag != none)
    there = words.told(~rows, ~rows)
    elsewhere = (there != UNKNOWN) & (there != none) & (words.tag[~rows] != none)
    made = permuted(told[shown], tag[shown]) if shown.any() and elsewhere.any() else None
    if made is None:
        return None
    of = made[0]
    mine, theirs = (np.isin(told, list(of)) & shown, np.isin(there, list(of)) & elsewhere)
    to = np.arange(len(types))
    to[list(of)] = list(of.values())
    fits = to[told[mine]] == tag[mine]
    known = words.tag[~rows][theirs]
    usual = float((there[theirs] == known).mean()) if len(known) else 0.0
    mistaken = float(((to[there[theirs]] == known).sum() + 1) / (len(known) + 2))
    share = float(fits.mean())
    if share < SWAP or usual < RIGHT or len(fits) * divergence(share, mistaken) < math.log(tries / CHANCE):
        return None
    pairs: Json = sorted([types[c], types[k]] for c, k in of.items())
    return {"pairs": pairs, "count": int(fits.sum()), "seen": len(fits), "usual": usual}


def _untagged(words: Words, own: Any, rest: Any, types: list[str], none: int, tries: float) -> dict[str, Json] | None:
    """The types that these sentences lack, though they have words that are tagged so in the rest; None if there are none."""
    rows, others = own[words.sentence], rest[words.sentence]
    told, there = words.told(rows, others), words.told(others, others)
    found, seen, count = [], 0, 0
    for k, kind in enumerate(types):
        mine, theirs = told == k, there == k
        if k == none or mine.sum() < LEAST or not theirs.any():
            continue
        blank, usual = (float((words.tag[whole][of] == none).mean()) for whole, of in ((rows, mine), (others, theirs)))
        n = int(mine.sum())
        chance = (usual * int(theirs.sum()) + 1) / (int(theirs.sum()) + 2)
        if blank >= LACKS and usual <= USUAL and n * divergence(blank, chance) >= math.log(tries / CHANCE):
            found.append(kind)
            seen, count = seen + n, count + round(blank * n)
    if not found:
        return None
    tagged = words.tag[rows]
    every = not (tagged != none).any()
    return {"types": list(found), "all": every, "count": count, "seen": seen}


CHECK = TokenTags
