"""Names that are the same name, spelt in several ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

_BETWEEN = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")
"""Spaces, hyphens and underscores between two letters: ``New  York`` and ``new_york``, but not ``1-2`` or ``B-``."""
LOOK_ALIKE = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf",
    "ABEKMHOPCTXaeopcyxijsABEZHIKMNOPTYXo",
)
"""Letters of Cyrillic and Greek that look like Latin ones."""
SHORT, LONG, TIMES, MOST_WORDS = 6, 10, 50, 300
"""Letters of the shortest name that may be misspelt, and from which two may be wrong; how many times as common what is meant must
be; the most names that are compared."""
SHORT_SWAPPED, TIMES_SWAPPED = 5, 20
"""The same where two neighbours are swapped: few words become another one so, as many do by a letter more, less or other."""
LONG_WORD, TIMES_INSIDE, ENDS = 9, 8, 2
"""Letters of a word in which a single slip makes no other word, unless it is among so many at either end; and how many times as common the right
one must be."""
SHORT_CODE, CODES = 2, 20
"""Letters of names that are codes, and how many times as frequent another one is of which such a name is a slip."""
ROMAN = re.compile("[ivx]+")
TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0", "on"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0", "off"), "false"),
}


def twins(counts: Mapping[str, int]) -> list[list[str]]:
    """Groups of names that look alike but for case, spaces, hyphens, underscores, quotes around them and a full stop or the like
    at their end, or are words for true, or for false; no codes that are about as frequent.

    ``counts``: how often each name occurs.
    """
    plain = {name: _plain(name) for name in counts}
    there = set(plain.values())
    for name in plain:  # one that only looks like another; words of another alphabet stay what they are
        latin = _plain(name.translate(LOOK_ALIKE))
        plain[name] = latin if latin.isascii() and latin in there else plain[name]
    used = set(plain.values())
    words = used <= TRUTH.keys() and any(len(word) > 1 for word in used)  # single letters are codes
    truth = TRUTH if words and {TRUTH[word] for word in used} == {"true", "false"} else {}
    alike: dict[str, list[str]] = {}
    for name, meant in plain.items():
        alike.setdefault(truth.get(meant, meant), []).append(name)
    found = []
    for same in alike.values():
        most = max(counts[name] for name in same)
        one = [n for n in same if counts[n] == most or not _is_code(n) or CODES * counts[n] <= most]
        found += [one] if len(one) > 1 and any(counts[n] < most or not _is_code(n) for n in one) else []
    return found


def _is_code(name: str) -> bool:
    """Whether case may tell it from another: one or two letters, such as symbols of elements and units."""
    return len(name.strip()) <= SHORT_CODE and name.casefold() not in TRUTH


def _plain(name: str) -> str:
    bare = unicodedata.normalize("NFKC", name).casefold().strip()
    return _BETWEEN.sub(" ", bare.strip("'\"").rstrip(".,;").strip() or bare)


def meant_by(counts: Mapping[str, int], shortest: int = SHORT_SWAPPED) -> dict[str, str]:
    """What each name means: the commonest of its spellings, or the name of which it is a slip; mostly itself. ``shortest`` as of
    ``misspelt``."""
    meant = {name: name for name in counts}
    for same in twins(counts):
        meant.update(dict.fromkeys(same, max(same, key=lambda name: (counts[name], name))))
    for wrong, right in misspelt(counts, shortest):
        if meant[wrong] == wrong:
            meant[wrong] = meant[right]
    return {name: meant[right] for name, right in meant.items()}  # another spelling of a slip


def spellings(counts: Mapping[str, int], shortest: int = SHORT_SWAPPED) -> dict[str, list[str]]:
    """By the name that is meant all its spellings, the commonest first; of names with several."""
    found: dict[str, list[str]] = {}
    for name, right in meant_by(counts, shortest).items():
        found.setdefault(right, []).append(name)
    return {
        right: sorted(same, key=lambda name: (name != right, -counts[name], name))
        for right, same in found.items()
        if len(same) > 1
    }


def misspelt(counts: Mapping[str, int], shortest: int = SHORT_SWAPPED) -> list[tuple[str, str]]:
    """Rare names of which a letter, in long ones two, is another, missing, added or swapped, each with the common name that is
    meant. Names with digits are codes.

    ``shortest``: letters of the shortest names; in those that have fewer than ``SHORT``, only neighbours that are swapped count.
    """
    words = [name for name in counts if len(name) >= shortest and not any(map(str.isdigit, name))]
    if len(words) > MOST_WORDS:
        return []
    found = []
    for rare in words:
        meant = [name for name in words if name != rare and _misspelt(rare, name, counts[name] / max(1, counts[rare]))]
        if len(meant) == 1:
            found.append((rare, meant[0]))
    return found


def _misspelt(rare: str, name: str, times: float) -> bool:
    """Whether the name may be meant, which is so many times as common."""
    if times >= TIMES_SWAPPED and len(rare) == len(name):
        wrong = [i for i, (a, b) in enumerate(zip(rare, name, strict=True)) if a != b]
        if len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(rare) == sorted(name):
            return True
    if times >= TIMES_INSIDE and _slip_inside(rare, name):
        return True
    if times < TIMES or min(len(rare), len(name)) < SHORT or _by_code(rare, name):
        return False
    return _edits(rare, name, 1 + (len(name) >= LONG))


def _by_code(one: str, other: str) -> bool:
    """Whether two names differ in a word that is a code: a letter or two, or a Roman number, such as those of vitamins, types and grades."""
    words, others = (re.split(r"[\s_-]+", name.casefold()) for name in (one, other))
    pairs = [(a, b) for a, b in zip(words, others, strict=False) if a != b]
    return len(words) == len(others) > 1 and any(
        max(map(len, pair)) <= SHORT_CODE or all(map(ROMAN.fullmatch, pair)) for pair in pairs
    )


def _slip_inside(one: str, other: str) -> bool:
    """Whether two names differ by a single letter amid one long word."""
    pairs = [(a, b) for a, b in zip(one.split(), other.split(), strict=False) if a != b]
    if len(one.split()) != len(other.split()) or len(pairs) != 1 or min(map(len, pairs[0])) < LONG_WORD:
        return False
    a, b = pairs[0]
    return a[:ENDS] == b[:ENDS] and a[-ENDS:] == b[-ENDS:] and _edits(a, b, 1)


def _edits(one: str, other: str, most: int) -> bool:
    """Whether at most so many edits lead from one text to the other (Damerau-Levenshtein, restricted). No library: checks have numpy alone."""
    if abs(len(one) - len(other)) > most:
        return False
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1] <= most


def spelt(names: Iterable[str]) -> str:
    """The names as they are told: those with letters that only look Latin also by their code points."""
    shown = (
        f"{name!r} ({name!a})"
        if name.translate(LOOK_ALIKE) != name and name.translate(LOOK_ALIKE).isascii()
        else repr(name)
        for name in names
    )
    return ", ".join(shown)
