"""Strings that break what nearly all others of their field keep to: brackets that close, JSON that parses, an alphabet, more than one
character; and codes that a spreadsheet turned into dates or numbers.

No field is known to be of molecules or genes. What nearly all values keep to is the rule, and how many break it by chance, the others tell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import digests_of
from dataloader_expert.checks.common.rows_kept import Named, distinct, in_order, places
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

ODD_STRINGS = Quantity(
    "odd_strings", "samples", "strings that break what nearly all others of their field keep to, with samples"
)
ROWS, FIELDS, GROUPS, VALUES, READ = 1 << 15, 12, 8, 100, 2_000
"""Rows that are drawn, fields and groups that are looked at, values of a group, and characters of a string."""
EXAMPLES, SHOWN = 10_000, 40
"""Strings of a field that are kept to be told, more than may break a rule; and characters of one."""
LEAST, FEWEST = 100, 2
"""The fewest strings of a field, and of those that break a rule."""
NEARLY = 0.95
"""The least share of a field's strings of one make, such as without spaces."""
FEW, SOME, HALF = 0.02, 0.1, 0.5
"""The largest shares of strings that break a rule: of brackets or JSON, and of others; half of them have what is usual."""
REPEATED, LONG, SEQUENCE = 8, 12, 20
"""The fewest equal characters that are no accident, and the median lengths of strings that are more than words, and of sequences."""
ALPHABET, MISSED, LACKING = 32, 0.02, 0.95
"""The most letters of sequences; the largest share of sequences that lack a letter, by chance, and the least of those with another."""
CHANCE = math.log(1e-9)
CODES, SPACED, NUMBERS = 0.3, 0.05, 0.1
"""The least share of a field's different values that are codes, and the largest of those with spaces, and of numbers."""
BITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-."
"""Characters that are told apart."""
BRACKETS, PARSES, ALIKE, OTHER, SHEET = "brackets", "json", "one character", "alphabet", "spreadsheet"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_SHEET, _SHEET_RANGE = (
    re.compile(rf"\d{{1,2}}-(?:{_MONTHS})|\d(?:\.\d+)?E[+-]\d{{2,}}"),
    re.compile(rf"(?:{_MONTHS})-\d{{2}}"),
)
_CODE, _RANGE = re.compile(r"(?=.*[A-Za-z])(?=.*\d)\S+"), re.compile(r"\d{1,2}-\d{1,2}")
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?")
PLAIN, CODED, RANGED, NUMERIC, TURNED, TURNED_RANGE, WITH_SPACE = range(7)
"""What a string is: a code, a range such as 5-9, a number, what a spreadsheet makes of a code or of a range, of several words."""
TOLD = {
    BRACKETS: ("{have} brackets that are not closed or not opened, such as {such}, unlike nearly all others", "restore them from their source, or drop them: they were cut off or misread"),
    PARSES: ("{are} not valid JSON, such as {such}, unlike nearly all others", "restore them from their source, or drop them: they were cut off or misread"),
    ALIKE: ("{are} one character throughout, such as {such}, which few others have at all", "drop them, or restore the real values: they carry no information"),
    OTHER: ("{have} {new!r} and no {missing!r}, which nearly all others have; these never have {new!r}", "use one alphabet throughout: replace {new!r} with {missing!r} if the two mean the same"),
    SHEET: ("{are} what a spreadsheet makes of a code, such as {such}", "restore the codes from their source (1-Mar was MARCH1 or the like), and import the column as text"),
}  # fmt: skip


class OddStrings(DrawnRows):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        named = [f for f in context.fields if f.kind in ("category", "text") and f.dtype == "str" and not f.shape]
        self.fields = [f.name for f in named if f.name != context.label][:FIELDS]
        self.groups = {f.name: Named(VALUES) for f in named[:GROUPS] if f.kind == "category"}
        self.examples: dict[str, dict[int, str]] = {name: {} for name in self.fields}
        """Of each field strings that may break a rule, by their digests."""
        self.drawn = Drawn(ROWS)
        self.beside = [*self.groups.values()]

    def applies(self) -> bool:
        return bool(self.fields)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, named in self.groups.items():
            kept[f"group {name}"] = named.of(block.columns.get(name), rows)
        for name in self.fields:
            texts, at = distinct(block.columns.get(name), rows, READ)
            made = _looked(texts)
            kept |= {f"{what} {name}": values[at] for what, values in made.items()}
            self._note(name, texts, made)
        return kept

    def _note(self, name: str, texts: list[str], made: dict[str, Any]) -> None:
        import numpy as np

        odd = (
            (made["brackets"] == 2)
            | (made["json"] == 2)
            | (made["one"] > 0)
            | (made["form"] == TURNED)
            | (made["form"] == TURNED_RANGE)
        )
        for i in np.flatnonzero(odd)[: max(0, EXAMPLES - len(self.examples[name]))].tolist():
            self.examples[name][int(made["whole"][i])] = texts[i][:SHOWN]

    def merge(self, other: Check) -> None:
        assert isinstance(other, OddStrings)
        super().merge(other)
        for name, texts in other.examples.items():
            self.examples[name].update(texts)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        for name in self.fields:
            there = np.flatnonzero(kept[f"length {name}"] > 0)
            if len(there) < LEAST:
                continue
            own = {
                what: kept[f"{what} {name}"][there]
                for what in ("length", "mask", "one", "brackets", "json", "form", "word", "escaped", "whole")
            }
            for rule, odd, more in _broken(own):
                marked = np.zeros(len(kept["sample"]), bool)
                marked[there[odd]] = True
                such = min(
                    (self.examples[name].get(digest, "") for digest in own["whole"][odd].tolist()),
                    key=lambda text: (not text, text),
                )
                value: dict[str, Json] = {"count": int(odd.sum()), "of": len(there), "such": such}
                value |= {**more, "because": self._explained(kept, marked, name), "where": places(kept, marked, name)}
                yield Fact(ODD_STRINGS, value, self.evidence("sampled", len(there)), {"field": name, "rule": rule})

    def _explained(self, kept: dict[str, Any], odd: Any, name: str) -> list[Json] | None:
        """A field and its value that marks just these rows."""
        import numpy as np

        for by, named in self.groups.items():
            if named.many or by == name:
                continue
            values, counts = np.unique(kept[f"group {by}"][odd], return_counts=True)
            has = kept[f"group {by}"] == values[counts.argmax()]
            if has[odd].mean() >= NEARLY and odd[has].mean() >= NEARLY:
                return [by, named.texts.get(int(values[counts.argmax()]), "")]
        return None

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ODD_STRINGS):
            v, name, n = fact.value, escaped(str(fact.at["field"])), fact.value["count"]
            text, fix = TOLD[str(fact.at["rule"])]
            words = {"have": verb(n, "have"), "are": verb(n, "are"), "such": repr(v["such"])}
            words |= {key: v.get(key, "") for key in ("new", "missing")}
            said = f"{name}: {n:,} of {number(v['of'], 'value')} {text.format(**words)}"
            severity: Severity = "warning"
            if v["because"] is not None:
                said += f"; these are the ones where {escaped(v['because'][0])} is {escaped(v['because'][1])}"
                severity = "info" if fact.at["rule"] == OTHER else "warning"  # it may say so
            yield finding("suspicious-text", severity, said, fact, fix.format(**words), v["where"], n)


def _looked(texts: list[str]) -> dict[str, Any]:
    """What each string is like: see ``_broken``."""
    import numpy as np

    plain = [text.strip() for text in texts]
    words = [text if " " not in text and text.isascii() else "" for text in plain]
    return {
        "whole": digests_of(plain),
        "length": np.array([len(text) for text in plain], np.int64),
        "mask": np.array([_mask(text) for text in words], np.uint64),
        "one": np.array(
            [ord(text[0]) if len(text) >= REPEATED and len(set(text)) == 1 else 0 for text in words], np.int64
        ),
        "brackets": np.array([_brackets(text) for text in words], np.int8),
        "json": np.array([_parses(text) for text in plain], np.int8),
        "form": np.array([_form(text) for text in plain], np.int8),
        "word": np.array([text != "" for text in words], bool),
        "escaped": np.array(["\\" in text for text in plain], bool),
    }


def _broken(own: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Json]]]:
    """The rules that a few of a field's strings break; which ones do; and what else is told."""
    import numpy as np

    n, one, form = len(own["length"]), own["one"] > 0, own["form"]
    parsed = own["json"] > 0
    broken = own["json"] == 2
    if parsed.sum() >= NEARLY * n and FEWEST <= broken.sum() <= FEW * n:
        yield PARSES, broken, {}
    words = own["word"].mean() >= NEARLY
    if words and parsed.sum() < NEARLY * n and own["escaped"].mean() <= SPACED:  # in patterns brackets are signs
        bracketed = own["brackets"] > 0
        unbalanced = own["brackets"] == 2
        if bracketed.sum() >= HALF * n and FEWEST <= unbalanced.sum() <= FEW * bracketed.sum():
            yield BRACKETS, unbalanced, {}
    if words and np.median(own["length"]) >= LONG and FEWEST <= one.sum() <= SOME * n:
        usual = [chr(c) for c in np.unique(own["one"][one]).tolist() if _has(own["mask"][~one], chr(c)).mean() >= HALF]
        odd = one & ~np.isin(own["one"], [ord(c) for c in usual])
        if odd.sum() >= FEWEST:
            yield ALIKE, odd, {}
    _, first, which = np.unique(own["whole"], return_index=True, return_inverse=True)
    if words and np.median(own["length"]) >= SEQUENCE:
        for rule, odd, more in _other_alphabet(own["mask"][first], one[first]):
            yield rule, odd[which], more
    share = np.bincount(form[first], minlength=TURNED_RANGE + 2) / len(first)
    turned = (form == TURNED) | ((form == TURNED_RANGE) & bool(share[RANGED] >= CODES))
    codes = share[CODED] + share[RANGED] >= CODES and share[WITH_SPACE] <= SPACED and share[NUMERIC] <= NUMBERS
    if codes and FEWEST <= turned.sum() <= SOME * n:
        yield SHEET, turned, {}


def _other_alphabet(mask: Any, one: Any) -> Iterator[tuple[str, Any, dict[str, Json]]]:
    """Sequences with a letter that no others have, and without one that nearly all of these have; all different: one that comes again, such as
    an address, does not tell more."""
    import numpy as np

    letters = [c for c in BITS if c.isalpha()]
    has = np.stack([_has(mask, c) & ~one for c in letters], 1)
    counts, n = has.sum(0), int((~one).sum())
    if (counts > 0).sum() > ALPHABET:
        return
    best: tuple[int, str, str, Any] | None = None
    for new in np.flatnonzero((counts >= FEWEST) & (counts <= SOME * n)).tolist():
        with_new, others = has[:, new], ~has[:, new] & ~one
        for missing in np.flatnonzero(counts >= HALF * n).tolist():
            odd = with_new & ~has[:, missing]
            k, of, lacking = int(odd.sum()), int(with_new.sum()), int((others & ~has[:, missing]).sum()) + 1
            usual = lacking / (int(others.sum()) + 1)
            if (
                usual <= MISSED
                and k >= LACKING * of
                and k * math.log(usual) <= CHANCE
                and (best is None or k > best[0])
            ):
                best = k, letters[new], letters[missing], odd
    if best is not None:
        yield OTHER, best[3], {"new": best[1], "missing": best[2]}


def _has(mask: Any, character: str) -> Any:
    """Which strings have a character, bool [n]."""
    import numpy as np

    at = BITS.find(character)
    return (mask >> np.uint64(max(at, 0)) & np.uint64(1)).astype(bool) & (at >= 0)


def _mask(text: str) -> int:
    return sum(1 << at for at in map(BITS.find, set(text)) if at >= 0)


def _brackets(text: str) -> int:
    """0: a string has none; 1: all are closed; 2: not."""
    opened: list[str] = []
    found = False
    for sign in text if any(sign in text for sign in "()[]{}") else "":
        if sign in "([{":
            opened.append(sign)
            found = True
        elif sign in _PAIRS:
            found = True
            if not opened or opened.pop() != _PAIRS[sign]:
                return 2
    return 2 if opened else int(found)


def _parses(text: str) -> int:
    """0: a string does not look like JSON; 1: it is, or is a list of another language; 2: it is not, nor are its brackets closed."""
    if text[:1] not in ("{", "[") or len(text) >= READ:
        return int(text[:1] in ("{", "[") and len(text) > 0)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return 2 if _brackets(text) == 2 else 1
    return 1


def _form(text: str) -> int:
    if " " in text:
        return WITH_SPACE
    if len(text) > SEQUENCE:
        return PLAIN
    forms = ((_SHEET, TURNED), (_SHEET_RANGE, TURNED_RANGE), (_RANGE, RANGED), (_NUMBER, NUMERIC), (_CODE, CODED))
    return next((form for pattern, form in forms if pattern.fullmatch(text)), PLAIN)


CHECK = OddStrings
