"""Spans of a text, such as named entities and answers: those outside of it, those that hold other words than they say, and those
whose offsets count something else than the text's characters.

Offsets are taken for positions in a text where most of them begin and end with a word or hold the words given: of offsets that are
times or tokens, few do by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places, sample_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.members import ENDS, SAID, STARTS

ODD_SPANS = Quantity("odd_spans", "spans", "spans that do not fit their text, where nearly all others do, with samples")
LEAST, DEEPEST, TEXTS = 20, 6, 4
"""The fewest spans of which some can be odd, how deep they are looked for, and the most text fields they may be of."""
MOSTLY = 0.6
"""The least share of spans that fit their text, from which the others are wrong."""
SHIFTS = (1, -1, 2, -2, 3, -3)
"""Characters by which a start may be off, as the words given are found there."""
SOUND = {"fits", "cuts"}
FLAT_STARTS = {"answer_start", "span_start", "char_start", "entity_start", "mention_start"}
"""How the field of a table is called that holds where a span begins."""
Span = tuple[int, int | None, str | None]
"""Its first character, the one after its last, and its text; at least one of the latter two is known."""
ODD: dict[str, tuple[Severity, str, str]] = {
    "outside": (
        "error",
        "{lie} outside of it or {are} empty",
        "correct or drop them: they were made for another version of the text",
    ),
    "other": (
        "error",
        "{contain} other words than the annotation gives",
        "find the words in the text again: offsets move when texts are cleaned, or counted in bytes",
    ),
    "shifted": (
        "error",
        "{begin} {shift} where the words given are found",
        "{change} their starts and ends: the text was changed before them, or counting begins at another number",
    ),
    "bytes": (
        "error",
        "{fit} only if offsets count UTF-8 bytes",
        "convert them: start = len(text.encode()[:start].decode()), and the same for the end",
    ),
    "utf-16": (
        "error",
        "{fit} only if offsets count UTF-16 units, as in JavaScript and Java",
        "convert them: start = len(text.encode('utf-16-le')[: 2 * start].decode('utf-16-le')), and the same for the end",
    ),
    "blank": (
        "warning",
        "{begin} or end with a space",
        "strip them: some tokenizers cannot align such spans, and spaCy refuses them",
    ),
}


class Spans(Check):
    ids = ("span-mismatch",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = context.nested
        self.texts = [f.name for f in context.fields if f.dtype == "str"][:TEXTS]
        self.flat = flat_fields(context)
        """Fields that hold the start, the end and the words of one span of each sample; None without any."""
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """By field, text and what was seen: ``fits`` and ``cuts`` a word, or one of ``ODD``."""
        self.where = Places()

    def applies(self) -> bool:
        return bool((self.fields or self.flat) and self.texts)

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        texts = {name: block.columns[name].values for name in self.texts if name in block.columns}
        for name, i, value in block.values(self.fields):
            for span in spans(value, 0):
                self._note(name, span, texts, block, i)
        if self.flat is not None and self.flat.start in block.columns:
            for i, held in enumerate(self.flat.spans(block)):
                if held is not None:
                    self._note(self.flat.start, held, texts, block, i)

    def _note(self, name: str, span: Span, texts: dict[str, Any], block: Block, i: int) -> None:
        for of, values in texts.items():
            if isinstance(text := values[i], str) and (self.flat is None or of != self.flat.said):
                kind = (name, of, how(span, text))
                self.counts[kind] += 1
                if kind[2] not in SOUND:
                    self.where.add(kind, block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Spans)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in sorted({field for field, _, _ in self.counts}):
            # the text that most of them fit; that they end where its words do shows that they are no times or tokens
            of = max(self.texts, key=lambda text: self._fitting(name, text))
            total = sum(n for (field, text, _), n in self.counts.items() if (field, text) == (name, of))
            fitting, inside = self._fitting(name, of), total - self.counts[name, of, "outside"]
            if fitting < LEAST or fitting < MOSTLY * inside:  # many may lie beyond texts that were cut
                continue
            for odd, kinds in self._causes(name, of).items():
                n = sum(self.counts[name, of, kind] for kind in kinds)
                if odd in UNITS and n <= self.counts[name, of, "cuts"]:
                    continue  # some that cut words fit by chance
                if n:
                    places = [place for kind in kinds for place in self.where.of((name, of, kind))]
                    value = {"count": n, "of": total, "where": sorted(places, key=sample_of)[:MAX_PLACES]}
                    yield Fact(ODD_SPANS, value, self.evidence(), {"field": name, "text": of, "odd": odd})

    def _fitting(self, name: str, of: str) -> int:
        """Spans that fit a text, as they are, all moved by as many characters, or all counted in the same other unit: their words are not
        found there by chance."""
        moved = (sum(self.counts[name, of, kind] for kind in _moved_by(off)) for off in SHIFTS)
        counted = (self.counts[name, of, unit] for unit in UNITS)
        return self.counts[name, of, "fits"] + max(*moved, *counted)

    def _causes(self, name: str, of: str) -> dict[str, list[str]]:
        """What is wrong with spans, each with the kinds in which it was seen.

        A span that fits both if its start is moved and if it counts something else has the cause that more of the others have.
        """
        causes = {odd: [odd] for odd in ODD if odd != "shifted"}
        for off in SHIFTS:
            moved = f"shifted {off:+d}"
            causes[moved] = [moved]
            for unit in UNITS:
                alone = {cause: self.counts[name, of, cause] for cause in (moved, unit)}
                causes[max(alone, key=lambda cause: alone[cause])].append(f"{unit} or {moved}")
        return causes

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ODD_SPANS):
            odd, _, off = str(fact.at["odd"]).partition(" ")
            n, (severity, text, fix) = fact.value["count"], ODD[odd]
            words = {word: verb(n, word) for word in ("lie", "are", "contain", "begin", "fit")}
            if off:
                words["shift"] = f"{number(abs(int(off)), 'character')} {'after' if int(off) > 0 else 'before'}"
                fix = fix.format(change=f"subtract {off.lstrip('+')} from" if int(off) > 0 else f"add {-int(off)} to")
            text = text.format(**words)
            field, of = (escaped(str(fact.at[key])) for key in ("field", "text"))
            told = f"{field}: {n} of {number(fact.value['of'], 'span')} of {of} {text}"
            yield finding("span-mismatch", severity, told, fact, fix, fact.value["where"], n)


@dataclass(frozen=True)
class Flat:
    """Fields of the start, the end and the words of a span; one of the latter two may be None."""

    start: str
    end: str | None
    said: str | None

    def spans(self, block: Block) -> Iterator[Span | None]:
        """Each sample's span; None for one without."""
        held = [
            [None] * block.samples if n is None or n not in block.columns else block.columns[n].values
            for n in (self.start, self.end, self.said)
        ]
        for start, end, said in zip(*(of.tolist() if hasattr(of, "tolist") else of for of in held), strict=False):
            known = _whole(start) and (_whole(end) or isinstance(said, str))
            yield (start, end if _whole(end) else None, said if isinstance(said, str) else None) if known else None


def flat_fields(context: Context) -> Flat | None:
    """The fields of a table that are called as the parts of a span are, such as ``answer_start`` and ``answer_text``."""
    plain = [f for f in context.fields if not f.shape]
    starts = [f.name for f in plain if f.name in FLAT_STARTS and "int" in f.dtype]
    if len(starts) != 1:
        return None
    of = starts[0].partition("_")[0]
    ends = [f.name for f in plain if f.name == f"{of}_end" and "int" in f.dtype]
    said = [f.name for f in plain if f.dtype == "str" and f.name in (f"{of}_text", of)]
    return Flat(starts[0], next(iter(ends), None), next(iter(said), None)) if ends or said else None


def spans(value: Any, depth: int) -> Iterator[Span]:
    """Each span within a value: ``{"start", "end"}`` or ``{"text", "answer_start"}`` with their like, or ``[start, end, label]``."""
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        start = next((value[key] for key in STARTS if key in value), None)
        end = next((value[key] for key in ENDS if key in value), None)
        said = next((value[key] for key in SAID if key in value), None)
        if end is None and _whole(start) and _whole(value.get("length")):
            end = start + value["length"]
        if _whole(start) and (_whole(end) or isinstance(said, str)):
            yield start, end if _whole(end) else None, said if isinstance(said, str) else None
        elif (starts := _listed(start)) and len(starts) == len(texts := _listed(said)):  # as in SQuAD
            yield from ((a, None, b) for a, b in zip(starts, texts, strict=True) if _whole(a) and isinstance(b, str))
        else:
            for inner in value.values():
                yield from spans(inner, depth + 1)
    elif isinstance(value, list | tuple):
        if len(value) == 3 and _whole(value[0]) and _whole(value[1]) and isinstance(value[2], str):
            yield value[0], value[1], None
            return
        for inner in value:
            yield from spans(inner, depth + 1)


def _whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _listed(value: Any) -> list[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else []


UNITS = {"bytes": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}
"""What else offsets may count, with its encoding and the bytes of one."""


def how(span: Span, text: str) -> str:
    """How it fits: ``fits``, ``cuts`` a word, or is one of ``ODD``; of those that are shifted by how much, and what else it may be."""
    found = fit(span, text)
    off = (
        next((off for off in SHIFTS if _moved(span, text, off)), None)
        if found in ("other", "outside", "blank")
        else None
    )
    moved = found if off is None else f"shifted {off:+d}"
    if found == "fits" or text.isascii():
        return moved
    for unit, (encoding, size) in UNITS.items():
        if size > 1 and max(text) <= "\uffff":
            continue  # the same as characters
        try:
            encoded = text.encode(encoding)
            start, end = (None if at is None else len(encoded[: size * at].decode(encoding)) for at in span[:2])
        except UnicodeError:
            continue
        if (
            start is not None
            and (span[1] is None or size * span[1] <= len(encoded))
            and fit((start, end, span[2]), text) == "fits"
        ):
            return unit if off is None else f"{unit} or {moved}"
    return moved


def _moved_by(off: int) -> list[str]:
    """The kinds of spans that fit if they are moved by so many characters."""
    return [f"shifted {off:+d}", *(f"{unit} or shifted {off:+d}" for unit in UNITS)]


def _moved(span: Span, text: str, off: int) -> bool:
    """Whether the words given begin ``off`` characters before the span does."""
    start, end, said = span
    if said is None or len(said) <= abs(off):  # a shorter text is found anywhere
        return False
    return fit((start - off, None if end is None else end - off, said), text) == "fits"


def fit(span: Span, text: str) -> str:
    """How a span in characters fits."""
    start, end, said = span
    end = start + len(said or "") if end is None else end
    if not 0 <= start < end <= len(text):
        return "outside"
    held = text[start:end]
    if said is not None and held != said and held.casefold().split() != said.casefold().split():
        return "other"
    if held[0].isspace() or held[-1].isspace():
        return "blank"
    if said is not None:
        return "fits"
    within = (start and _in_word(text[start - 1]) and _in_word(held[0])) or (
        end < len(text) and _in_word(text[end]) and _in_word(held[-1])
    )
    return "cuts" if within else "fits"


def _in_word(character: str) -> bool:
    """Whether it is part of a word that spaces separate from others, unlike those of Thai, Chinese and Japanese."""
    return character.isalnum() and not ("\u0e00" <= character <= "\u0eff" or character >= "\u2e80")


CHECK = Spans
