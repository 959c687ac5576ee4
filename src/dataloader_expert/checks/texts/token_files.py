"""Files of token ids, as language models are trained from: one whose documents are not separated as those of the others are, one that ends in
a tail of one token, one whose bytes are in the other order, passages that training repeats again and again, and a long stretch that stands twice.

Told of a separator is the token that a file beside the data names, the largest one, or one that tokenizers use for it, and only where the other files
have it again and again, and one has next to none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.token_runs import RUN, runs_at
from dataloader_expert.checks.texts.copied_stretch import copied
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

UNSEPARATED = Quantity(
    "unseparated_tokens", "tokens", "how often the token between documents is in a file, and in the others"
)
WRAPPED = Quantity(
    "wrapped_tokens", "tokens", "tokens of a file that are -1 without a sign, where the others have none"
)
TAIL = Quantity("token_tail", "samples", "windows at the end of a file that hold a single token")
SWAPPED = Quantity("swapped_tokens", "", "files whose tokens match the others only after swapping the bytes of each")
WIDE = Quantity(
    "wide_tokens", "", "files of 16-bit tokens in which every second one is zero, as where they hold 32-bit tokens"
)
RENUMBERED = Quantity(
    "renumbered_tokens",
    "",
    "how the most frequent tokens of the other files are spread in a file that numbers its tokens differently",
)
REPEATED = Quantity("repeated_runs", "", "the share of training in runs of tokens that recur many times")
COPIED = Quantity("copied_stretch", "tokens", "the longest stretch of training that stands twice, and where")
ENDS = {50256, 100257, 199999, 128001, 128009, 151643, 151645, 0, 1, 2}
"""Tokens with which the tokenizers of GPT-2, GPT-4, GPT-4o, Llama 3, Qwen, Llama 2 and T5 end a text."""
SMALL, SMALL_VOCABULARY = 2, 33_000
"""The first three are punctuation in larger vocabularies."""
LOOKED_AT, LARGEST = 8_000, 1 << 18
"""About so many windows are looked at, spread evenly over the data, and the largest vocabulary."""
EXPECTED, MISSING, CROWDED = 25, 0.05, 0.05
"""How many separators a file should have, and the share of these that makes it one without; and the share of tokens from which a token is none."""
SHORTEST, PART = 2, 0.005
"""The fewest windows of a tail, and the least share of a file."""
UNLIKE, LIKE = 0.8, 0.6
"""The least total variation of a file's tokens from those of the others as they are, and the largest with their bytes swapped."""
AGAIN, SHARE, BITS = 20, 0.03, 4
"""How often a run comes that is repeated, the least share of training that such runs are, and the zero bits of the hashes that are kept."""
LONG, COPIED_PART = 4_096, 0.01
"""The fewest tokens of a stretch that stands twice, and the least share of training: a licence stands in many documents."""
FRAMED = 0.5
"""The share of documents from which a run is a part of how each is framed, such as what a chat begins with."""
ALL, OTHERS = 0.99, 0.5
"""The share of zeros at every second place of a file of 32-bit tokens that is read as 16-bit ones, and the largest share at the others."""
FREQUENT, RARE, AS_STEEP = 50, 0.25, 1.5
"""The most frequent tokens that are compared, the share of their usual frequency up to which they are rare, and the largest ratio of how
frequent the most frequent ones of both are."""
FEWEST = 4_096
"""The fewest tokens of a file that are compared."""


class TokenFiles(Check):
    ids = ("preprocessing-differs", "truncated", "header-mismatch", "near-duplicates")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        alone = context.fields[0] if len(context.fields) == 1 else None
        streams = (
            alone is not None and alone.kind == "tokens" and len(alone.shape) == 1 and (alone.shape[0] or 0) >= 2 * RUN
        )
        self.field = alone.name if alone is not None and streams else None
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.counts: dict[str, Any] = {}
        """By file, how often each token is, int64 [largest id + 1]."""
        self.of: dict[str, str] = {}
        """The split of each file."""
        self.last: dict[str, int] = {}
        self.varied: dict[str, int] = {}
        """The last window of a file, and the last one that holds more than a token."""
        self.tails: dict[str, int] = {}
        """The token at the end of the last window."""
        self.runs: list[tuple[Any, Any]] = []
        """Hashes of runs of tokens, and at which token of all windows each begins."""
        self.zeros: dict[str, Any] = {}
        """By file, the tokens at every first and second place, and how many of these are zero; int64 [2, 2]."""
        self.width = 2
        self.long = 0
        """The tokens of a window."""
        self.files = Files()

    def applies(self) -> bool:
        return self.field is not None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        column = block.columns.get(self.field or "")
        if column is None or not block.samples:
            return
        values = column.array if column.array is not None else None
        if values is None or values.ndim != 2 or values.dtype.kind not in "iu":
            return
        file, index = block.unit.file, block.indices()
        self.width = values.dtype.itemsize
        self.of[file] = block.unit.split or ""
        even = np.flatnonzero((values != values[:, :1]).any(1))
        self.varied[file] = max(self.varied.get(file, -1), int(index[even].max()) if len(even) else -1)
        if int(index.max()) > self.last.get(file, -1):
            self.last[file] = int(index.max())
            self.tails[file] = int(values[int(index.argmax()), -1])
        chosen = values[index % self.stride == 0]
        if not len(chosen):
            return
        if values.shape[1] % 2 == 0 or len(chosen) == 1:
            halves = [chosen[:, k::2] for k in (0, 1)]
            made = np.array([[half.size, int((half == 0).sum())] for half in halves])
            self.zeros[file] = self.zeros.get(file, 0) + made
        flat = chosen.reshape(-1)
        if int(flat.min()) >= 0 and int(flat.max()) < LARGEST:
            self.counts[file] = _sum(self.counts.get(file), np.bincount(flat.astype(np.int64)))
        if block.unit.split in (None, "train"):
            found = [runs_at(row) for row in chosen]
            begin = index[index % self.stride == 0] * values.shape[1]
            made = np.concatenate([hashes for hashes, _ in found])
            at = np.concatenate([at + start for (_, at), start in zip(found, begin.tolist(), strict=True)])
            few = made & np.uint64((1 << BITS) - 1) == 0
            self.runs.append((made[few], at[few]))
            self.long = values.shape[1]

    def merge(self, other: Check) -> None:
        assert isinstance(other, TokenFiles)
        self.seen += other.seen
        self.files.merge(other.files)
        self.of |= other.of
        self.width = max(self.width, other.width)
        self.long = max(self.long, other.long)
        self.runs += other.runs
        for file, made in other.zeros.items():
            self.zeros[file] = self.zeros.get(file, 0) + made
        for file, counts in other.counts.items():
            self.counts[file] = _sum(self.counts.get(file), counts)
        for file, n in other.varied.items():
            self.varied[file] = max(self.varied.get(file, -1), n)
        for file, n in other.last.items():
            if n > self.last.get(file, -1):
                self.last[file], self.tails[file] = n, other.tails[file]

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        evidence = self.evidence("sampled" if self.stride > 1 else None)
        swapped = []
        for file, halves in sorted(self.zeros.items()):
            sizes, zeros = halves.T
            shares = sorted((zeros / np.maximum(sizes, 1)).tolist())
            if self.width == 2 and sizes.sum() >= FEWEST and shares[1] >= ALL and shares[0] <= OTHERS:
                yield Fact(WIDE, {"split": self.of[file]}, evidence, {"file": file})
        for file in sorted(self.counts):
            rest = self._others(file)
            own = self.counts[file]
            if rest is None or own.sum() < FEWEST:
                continue
            if self.width == 2 and _is_swapped(own, rest):
                swapped.append(file)
                yield Fact(SWAPPED, {"split": self.of[file]}, evidence, {"file": file})
                continue
            wrapped = _wrapped(own, rest, self.width)
            if wrapped is not None:
                yield Fact(WRAPPED, {"token": wrapped, "count": int(own[wrapped])}, evidence, {"file": file})
            odd = _wrapped(rest, own, self.width)
            apart = wrapped is None and odd is None and self.of[file] not in ("", "train")
            value = _renumbered(own, rest) if apart else None
            if value is not None:
                yield Fact(RENUMBERED, value, evidence, {"file": file})
                continue
            value = self._unseparated(own, rest if odd is None else rest[:odd])
            if value is not None:
                yield Fact(UNSEPARATED, value, evidence, {"file": file})
        yield from self._tails()
        if self.runs:
            yield from self._repeated(evidence)

    def _others(self, file: str) -> Any:
        """The counts of all other files, int64; None if they are few tokens."""
        rest = None
        for other, counts in self.counts.items():
            rest = _sum(rest, counts) if other != file else rest
        return rest if rest is not None and rest.sum() >= FEWEST else None

    def _unseparated(self, own: Any, rest: Any) -> dict[str, Json] | None:
        """The token that separates documents in the other files and not in this one; None if there is none."""
        import numpy as np

        known = self.context.vocabulary.end
        largest: int | None = int(np.flatnonzero(rest).max())
        assert largest is not None
        usual = [token for token in sorted(ENDS) if token > SMALL or largest <= SMALL_VOCABULARY]
        if any(_in_both(own, rest, token) for token in usual):
            largest = None  # documents are separated in all files: what one lacks is another token
        for token in dict.fromkeys([largest, *usual] if known is None else [known]):
            if token is None or token >= len(rest):
                continue
            share = float(rest[token] / rest.sum())
            expected, there = share * float(own.sum()), int(own[token]) if token < len(own) else 0
            if expected >= EXPECTED and share <= CROWDED and there <= MISSING * expected:
                return {"token": int(token), "count": there, "expected": round(expected), "each": round(1 / share)}
        return None

    def _tails(self) -> Iterator[Fact]:
        for file, last in sorted(self.last.items()):
            first = self.files.first(file)
            n, of = last - max(self.varied[file], first - 1), last - first + 1
            if n >= max(SHORTEST, PART * of) and n < of:
                value = {"count": n, "of": of, "token": self.tails[file], "first": last - n + 1}
                yield Fact(TAIL, value, self.evidence(), {"file": file})

    def _repeated(self, evidence: Any) -> Iterator[Fact]:
        import numpy as np

        every, at = (np.concatenate(part) for part in zip(*self.runs, strict=True))
        found = copied(every, at) if self.stride == 1 else None  # of some windows, hardly both copies are looked at
        tokens = sum(int(counts.sum()) for file, counts in self.counts.items() if self.of[file] in ("", "train"))
        if found is not None and found[2] >= max(LONG, COPIED_PART * tokens):
            first, second, n = found
            yield Fact(COPIED, {"first": first, "second": second, "count": n, "of": tokens}, evidence)
        _, times = np.unique(every, return_counts=True)
        again = times[
            (times >= AGAIN) & (times * self.stride < FRAMED * self._documents())
        ]  # others frame each document
        share = float(again.sum() / max(1, len(every)))
        if len(again) and share >= SHARE:
            value = {"share": share, "times": int(np.median(again)) * self.stride, "tokens": len(again) << BITS}
            yield Fact(REPEATED, value, evidence)

    def _documents(self) -> float:
        """How many documents of training are separated; infinite if nothing tells."""
        import numpy as np

        parts = [counts for file, counts in self.counts.items() if self.of[file] in ("", "train")]
        for token in dict.fromkeys([self.context.vocabulary.end, *sorted(ENDS, reverse=True)]):
            n = sum(int(counts[token]) for counts in parts if token is not None and token < len(counts))
            if n and (token is None or token > SMALL):
                return float(n * self.stride)
        return np.inf

    def _place(self, token: int) -> tuple[int, str]:
        """Which token of which file that is."""
        file = self.files.of(token // self.long) or ""
        return token - self.files.first(file) * self.long, file

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            file = str(fact.at["file"])
            text = f"{escaped(file)} seems to be written in the other byte order: its tokens match the other files only after swapping the two bytes "
            text += "of each"
            fix = "rewrite it as little-endian: np.fromfile(path, '>u2').astype('<u2').tofile(path)"
            yield finding("header-mismatch", "error", text, fact, fix, [{"file": file}])
        for fact in facts.all(WIDE):
            file = str(fact.at["file"])
            text = f"{escaped(file)} seems to hold 32-bit tokens: read as 16-bit ones, every second token of it is 0"
            fix = "rewrite it with 16 bits a token, as it is read: np.fromfile(path, '<u4').astype('<u2').tofile(path)"
            yield finding("header-mismatch", "error", text, fact, fix, [{"file": file}])
        for fact in facts.all(RENUMBERED):
            v, file = fact.value, str(fact.at["file"])
            text = f"{escaped(file)} seems to be encoded with another tokenizer: the {FREQUENT} most frequent tokens of the other files make up "
            text += f"{v['usual']:.1%} of those files but {v['share']:.1%} of this one, although its token frequencies are as uneven"
            fix = "encode its texts again with the tokenizer of the other files, or check that it holds texts of the same kind"
            yield finding("preprocessing-differs", "warning", text, fact, fix, [{"file": file}])
        for fact in facts.all(UNSEPARATED):
            v, file = fact.value, str(fact.at["file"])
            count = "does not occur" if not v["count"] else f"occurs {number(v['count'], 'time')}"
            text = f"token {v['token']}, which ends a document every {v['each']:,} tokens in the other files, {count} in {escaped(file)} (about "
            text += f"{v['expected']:,} expected): its documents run together"
            fix = "rewrite the file with the token after each document, as in the other files: until then their losses are not comparable"
            yield finding("preprocessing-differs", "warning", text, fact, fix, [{"file": file}])
        for fact in facts.all(WRAPPED):
            v, file = fact.value, str(fact.at["file"])
            text = f"{escaped(file)} has {number(v['count'], 'token')} with the value {v['token']}, which is -1 stored without a sign; the next largest token is far "
            text += "smaller, and the other files have none"
            fix = "find out what -1 stands for (a missing token, an ignored target), and leave it out or give it a token of its own"
            yield finding("preprocessing-differs", "warning", text, fact, fix, [{"file": file}], v["count"])
        for fact in facts.all(TAIL):
            v, file = fact.value, str(fact.at["file"])
            text = f"{escaped(file)} ends in unwritten space: its last {v['count']:,} of {v['of']:,} windows ({v['count'] / v['of']:.1%}) contain "
            text += f"only token {v['token']}, so the file was allocated larger than its data"
            fix = "truncate the file after its last real token: a model learns to repeat this one"
            yield finding("truncated", "warning", text, fact, fix, [{"file": file, "sample": v["first"]}], v["count"])
        for fact in facts.all(COPIED):
            v = fact.value
            places = [self._place(v[key]) for key in ("first", "second")]
            text = f"about {v['count']:,} tokens in a row stand twice in training ({v['count'] / v['of']:.1%} of it): from token {places[0][0]:,} of "
            text += f"{escaped(places[0][1])} and again from token {places[1][0]:,} of {escaped(places[1][1])}"
            fix = "remove one of the two: a part was probably written twice, for example after a restart"
            where = [
                {"file": file, "sample": v[key] // self.long}
                for (_, file), key in zip(places, ("first", "second"), strict=True)
            ]
            yield finding("near-duplicates", "warning", text, fact, fix, where)
        for fact in facts.all(REPEATED):
            v = fact.value
            text = f"{v['share']:.1%} of training consists of runs of {RUN} tokens that occur about {v['times']:,} times each: a document of about "
            text += f"{v['tokens']:,} tokens, or several of that total length, was written many times"
            fix = "keep one copy of each document: a model memorizes what is repeated so often"
            yield finding("near-duplicates", "warning", text, fact, fix, [{"field": self.field}])


def _wrapped(own: Any, rest: Any, width: int) -> int | None:
    """The token of all bits, if a file has it again and again, the others never, and no token near it; None if not."""
    import numpy as np

    last = (1 << 8 * width) - 1
    below = np.flatnonzero(own[:last])
    there = len(own) == last + 1 and own[last] >= EXPECTED and last >= len(rest)
    return last if there and len(below) and 2 * int(below[-1]) < last else None


def _in_both(own: Any, rest: Any, token: int) -> bool:
    """Whether a token separates documents in a file as often, within a factor of two, as in the others."""
    if token >= min(len(own), len(rest)) or not own[token] or not rest[token]:
        return False
    shares = sorted((own[token] / own.sum(), rest[token] / rest.sum()))
    return bool(own[token] >= EXPECTED and shares[1] <= min(CROWDED, 2 * shares[0]))


def _sum(one: Any, other: Any) -> Any:
    """Counts of both, of ids up to the larger."""
    import numpy as np

    if one is None:
        return other
    made = np.zeros(max(len(one), len(other)), np.int64)
    made[: len(one)] += one
    made[: len(other)] += other
    return made


def _apart(one: Any, other: Any) -> float:
    """The total variation of two counts."""
    import numpy as np

    n = max(len(one), len(other))
    a, b = (np.pad(counts, (0, n - len(counts))) / counts.sum() for counts in (one, other))
    return float(np.abs(a - b).sum() / 2)


def _renumbered(own: Any, rest: Any) -> dict[str, Json] | None:
    """Where tokens are as unevenly frequent as the others, but the frequent ones of either are rare in the other: the shares of tokens that
    are the most frequent ones of the others, here and there."""
    import numpy as np

    n = max(len(own), len(rest))
    here, there = (np.pad(counts, (0, n - len(counts))) / counts.sum() for counts in (own, rest))
    tops = [np.argsort(-shares, kind="stable")[:FREQUENT] for shares in (here, there)]
    usual = float(there[tops[1]].sum())
    rare = here[tops[1]].sum() <= RARE * usual and there[tops[0]].sum() <= RARE * here[tops[0]].sum()
    steep = float(here[tops[0]].sum() / usual)
    if not rare or not 1 / AS_STEEP <= steep <= AS_STEEP or usual < 2 * FREQUENT / max(1, int((there > 0).sum())):
        return None
    return {"share": float(here[tops[1]].sum()), "usual": usual}


def _is_swapped(own: Any, rest: Any) -> bool:
    """Whether tokens are those of others with their bytes swapped, and it is these that are: frequent tokens have small ids."""
    import numpy as np

    back = _swapped(own)
    means = [float(counts @ np.arange(len(counts)) / counts.sum()) for counts in (own, back)]
    return means[1] < means[0] and _apart(own, rest) >= UNLIKE and _apart(back, rest) <= LIKE


def _swapped(counts: Any) -> Any:
    """The counts of 16-bit tokens with their bytes swapped."""
    import numpy as np

    whole = np.zeros(1 << 16, np.int64)
    whole[: len(counts)] = counts[: 1 << 16]
    return whole[np.arange(1 << 16, dtype=np.uint16).byteswap().astype(np.int64)]


CHECK = TokenFiles
