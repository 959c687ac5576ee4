"""The label of a table: by the names of its columns and what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dataloader_expert.sources.base import PLACED, Block, Field, Roles, runs
from dataloader_expert.sources.cells import is_number
from dataloader_expert.sources.label_names import (
    BEFELL,
    COUNTED,
    COUNTS,
    GOODS,
    PARTS,
    PREDICTED,
    STATES,
    VERDICTS,
    WEAK_LABELS,
    label_by_name,
)
from dataloader_expert.sources.layout import SPLITS
from dataloader_expert.sources.predicted import RATED, Predicted, is_rating, rating_of_pairs
from dataloader_expert.sources.roles import GROUP_WORDS, series_in, words
from dataloader_expert.sources.table_fields import GUESSED_FROM, MAX_CLASSES, field_of, is_quantity, values_in
from dataloader_expert.sources.targets import KINDS, plain_values
from dataloader_expert.sources.text_pairs import PLACES, SCORES, SPANS, are_places, choices_of, named_so, pair_of
from dataloader_expert.sources.times import is_time

BARE = re.compile(r"(f|v|c|x|col|column|attr|attribute|feature|var|unnamed: )?_?\d+", re.IGNORECASE)
"""Names that say nothing but the place of a column."""
BEST_SCORE, MOST_CHOICES = 100, 26
"""The best score of two texts, in percent at most; and the most choices of a question, as many as letters."""
AFTER, RARE = 4, 0.01
"""Of how many of the last columns one may be a label that is not the last, and the least share of its rarer value."""
REPEATED = 3
"""Rows of a thing from which on it comes again and again."""
FEWEST_FORMULAS, FEWEST_LENGTHS, SAME_FORMULA = 20, 5, 4
"""The fewest different texts, and the fewest lengths of these, that show that they are formulas or sequences; and the most rows of
each, on average."""
_PATH = re.compile(r"\.[A-Za-z0-9]{2,4}\Z|/.*/")
RAREST = 0.005
"""The least share of the rarest class of a guessed label. Values with less are mistakes, which do not hide the label that is to be
checked, if they are as few together, or a single one; of more, the column is hardly a label."""
NOTHING_TOLD = Predicted()


def find_label(
    blocks: list[Block],
    split: str | None = None,
    told: Predicted = NOTHING_TOLD,
) -> tuple[str | None, str]:
    """The label by name; else the last column, or the first of columns without names, if it has few distinct values.

    The place of a column is no evidence: what is only guessed from it is reported as such (``PLACED``). A first column that has a
    name says by it that it is something else. A guess is made from the same rows however a format cuts them into blocks.
    ``split``: the column that names the split; ``told``: what the files say of the columns that are predicted.
    """
    first = blocks[0]
    names = [n for n in first.columns if n != split and not _names_splits(n, blocks)]
    found = {n: field_of(n, first.columns[n]) for n in names}
    scalar = [n for n in names if found[n].kind in ("number", "category", "boolean")]
    named = [n for n in scalar if n.lower() != "y" or "float" not in found[n].dtype]
    strong, how = label_by_name([n for n in named if not _is_attribute(n, named, blocks) and _may_be(n, blocks)])
    if len(told.asked) == 1 and told.asked[0] in scalar:
        return told.asked[0], f"the one column that {told.form} asks for"
    together, why = told.several(names)
    if len(told.asked) > 1 and together:
        return None, why
    if len(told.withheld) == 1 and (strong is None or ";" in how):
        [only] = told.withheld
        if only in scalar and not is_quantity(values_in(blocks, only)):
            return only, "the one column that only the training split has"
    if len(told.answered) == 1 and (strong is None or ";" in how):
        [only] = told.answered
        if only in scalar and not is_quantity(values_in(blocks, only)):
            return only, "the one column of a file of labels"
    if strong is not None:
        return strong, how
    if together:
        return None, why
    last = words(names[-1]) if names and found[names[-1]].kind == "number" else []
    if {*last[-1:]} & PREDICTED or (len(last) == 1 and last[0] in COUNTS):
        return names[-1], "chosen by its name, as the last column; pass label= if it is another"
    befell = _outcome(scalar, names, [n for n in scalar if found[n].dtype == "str"], blocks)
    if befell is not None:
        return befell, "chosen by its name; pass label= if it is another"
    verdict = _verdict([n for n in scalar if found[n].dtype == "str"], blocks)
    if verdict is not None:
        return verdict, "chosen by its values; pass label= if it is another"
    texts = {n: {*words(n)} for n in names if found[n].dtype == "str"}
    others = {n: {*words(n)} for n in names if found[n].kind == "other"}
    chosen = choices_of({n: {*words(n)} for n in names})
    if chosen is not None and chosen[1] in scalar and _are_classes(values_in(blocks, chosen[1])):
        return chosen[1], f"which of {chosen[0]} is right, by its name; pass label= if it is another"
    if spans := named_so(others, SPANS):
        return None, f"no field is named like a label, and {spans} say what is where in a text; pass label="
    long = [n for n in texts if found[n].kind == "text"]
    for name in others if len(long) == 1 else ():
        if are_places(values_in(blocks, name), values_in(blocks, long[0])):
            return None, f"{name} {PLACES}; pass label="
    worded = {n: said for n, said in texts.items() if not _are_numbers(values_in(blocks, n))}
    pair = pair_of(worded, others)
    if pair is not None:
        return None, f"no field is named like a label, and {' and '.join(pair[1])} are for {pair[0]}; pass label="
    rated = (
        rating_of_pairs({n: values_in(blocks, n) for n in names})
        if len(names) in (len(RATED) - 1, len(RATED))
        else None
    )
    if rated is not None:
        return rated, "guessed from its values: stars for pairs of numbers that recur; pass label= if it is another"
    series = series_in(first)
    bare = bool(names) and all(map(BARE.fullmatch, names))
    if (measured := _only_number(found, blocks)) is not None:
        return measured, "guessed: the one number beside formulas or sequences; pass label= if it is another"
    score = _score(found, blocks, bare)
    if score is not None:
        return score, f"{PLACED}: the one number with fractions next to two texts; pass label= if it is another"
    lasting = [name for name in names if words(name)[-1:] == [] or words(name)[-1] not in PARTS]
    while len(lasting) > 1 and _mostly_missing(lasting[-1], blocks):
        lasting.pop()  # what becomes known of a few later on
    places = [(name, "first") for name in names[:1] if bare] + [(name, "last") for name in lasting[-1:]]
    symbols = any(found[name].dtype == "str" for name in names[1:-1])
    if bare and symbols and found[names[0]].dtype == "str" and found[names[-1]].dtype != "str":
        places.reverse()  # among codes that are texts, a first one is as likely another feature
    else:
        places.sort(key=lambda place: found[place[0]].dtype != "str")  # texts name classes; numbers may be anything
        strings = [name for name in scalar if found[name].dtype == "str"]
        if bare and len(strings) == 1 and found[names[0]].dtype != "str":  # which may be persons
            places.sort(key=lambda place: place[1] == "first")
            places.insert(len(places) - 1, (strings[0], "only text"))
    long = [name for name, field in found.items() if field.kind == "text"]
    flag = _only_flag(scalar, blocks) if (bare and long) or _are_alike(long) else None
    places = places if flag is None else [(flag, "only two-valued")]
    for name, place in places if len(names) > 1 else ():
        if name not in scalar or name in (series or ()):
            continue
        if "float" in found[name].dtype and not (bare and _are_whole(values_in(blocks, name))):
            continue
        if set(words(name)) & GROUP_WORDS or (len(words(name)) > 1 and words(name)[-1] in COUNTED):
            continue  # of whom a sample is, or its number, says what it is only where the name says so
        every = values_in(blocks, name)
        values = [every[i] for i in runs(len(every), GUESSED_FROM).tolist()]
        counts = Counter(v for v in values if v is not None)
        if all(isinstance(v, str) and is_time(v) for v in counts):
            continue  # a few dates are not classes
        least = max(2, RAREST * len(values))
        usual = sum(n >= least for n in counts.values())
        stray = sum(n for n in counts.values() if n < least)
        if (
            usual >= 2
            and len(counts) <= min(MAX_CLASSES, max(2, len(values) // 10))
            and stray <= max(1, RAREST * len(values))
        ):
            guess = f"{PLACED}: the {place} column, with {len(counts)} distinct values; pass label= if it is another"
            return name, guess
    return strong, how


def _are_numbers(values: list[Any]) -> bool:
    """Whether texts are mostly numbers: years of writing code are no code."""
    said = [value for value in values if isinstance(value, str) and value.strip()]
    return 2 * sum(map(is_number, said)) > len(said)


def likely_label(blocks: Sequence[Block], fields: Sequence[Field], roles: Roles) -> str | None:
    """The last column of two values, if it is among the last and always there: a guess for what is said of a label if it is one."""
    aside = {role["field"] for role in roles.listed()}
    last = [f for f in fields if f.name not in aside][-AFTER:]
    for field in reversed(last):
        values = values_in([*blocks], field.name) if not field.shape and "float" not in field.dtype else []
        counts = Counter(v if isinstance(v, str | int | None) else None for v in values)
        nulls = [b.columns[field.name].nulls for b in blocks if field.name in b.columns]
        whole = None not in counts and not any(n is not None and n.any() for n in nulls)
        if whole and len(counts) == 2 and min(counts.values()) >= RARE * len(values):
            return field.name if not set(words(field.name)) & GROUP_WORDS else None
    return None


def _are_alike(texts: Sequence[str]) -> bool:
    """Whether two texts are called alike but for their numbers: a flag beside them says something of the pair."""
    return len(texts) == 2 and len({re.sub(r"\d+", "#", name) for name in texts}) == 1


def _only_flag(names: Iterable[str], blocks: list[Block]) -> str | None:
    """The one column of nothing but 0 and 1, which says more of texts without a header than a first column of codes, and more of a pair
    of texts than the place of another."""
    flags = [name for name in names if {*values_in(blocks, name)} in ({0, 1}, {0.0, 1.0})]
    return flags[0] if len(flags) == 1 else None


def _score(found: Mapping[str, Field], blocks: list[Block], bare: bool) -> str | None:
    """The column that says how alike two texts are: the one with fractions, by its name or where no column has one."""
    texts = [name for name, field in found.items() if field.kind == "text"]
    floats = [name for name, field in found.items() if field.kind == "number" and "float" in field.dtype]
    if len(texts) != 2 or len(floats) != 1 or not (bare or {*words(floats[0])} & SCORES):
        return None
    values = [v for v in values_in(blocks, floats[0]) if v is not None and v == v]
    return floats[0] if values and -1 <= min(values) < max(values) <= BEST_SCORE else None


def _are_classes(values: list[Any]) -> bool:
    """Whether there are few of them, each of which comes again."""
    counts = Counter(value for value in values if value is not None)
    return 1 < len(counts) <= MOST_CHOICES and 2 * len(counts) <= counts.total()


def _are_whole(values: list[Any]) -> bool:
    """Whether all numbers are whole, as classes are in a file that writes every number with a point."""
    return all(isinstance(v, int | float) and (v != v or float(v).is_integer()) for v in values)


def _names_splits(name: str, blocks: list[Block]) -> bool:
    """Whether a column holds nothing but names of splits."""
    values = [v for v in values_in(blocks, name)[:GUESSED_FROM] if v is not None]
    return bool(values) and all(isinstance(v, str) and v.lower() in SPLITS for v in values)


def _outcome(scalar: list[str], names: list[str], strings: Collection[str], blocks: list[Block]) -> str | None:
    """The one column of two values whose name says what became of a row, or of a few kinds of that, such as defects; None if there is
    none, or several. ``strings``: the columns of texts."""
    found = []
    numbers = [name for name in scalar if name not in strings]
    for name in scalar:
        of = {*words(name)}
        if of & BEFELL or (of & STATES and (name == names[-1] or [name] == numbers)):
            values = _known(blocks, name)
            kinds = name in strings and of <= BEFELL | KINDS and _are_classes(values)
            found += [name] if kinds or len({*values}) == 2 else []
    return found[0] if len(found) == 1 else None


def _known(blocks: list[Block], name: str) -> list[Any]:
    """The values of a column without missing ones, whatever stands in their place."""
    columns = [b.columns[name] for b in blocks if name in b.columns]
    return [v for column in columns for v in plain_values(column) if v is not None and v == v]


def _only_number(found: Mapping[str, Field], blocks: list[Block]) -> str | None:
    """The one number, with fractions, beside nothing but strings, of which some are formulas or sequences: what was measured of them."""
    numbers = [name for name, field in found.items() if field.kind == "number"]
    strings = [name for name, field in found.items() if field.dtype == "str"]
    if len(numbers) != 1 or "float" not in found[numbers[0]].dtype or len(found) != len(strings) + 1:
        return None
    return numbers[0] if any(_are_formulas(values_in(blocks, name)) for name in strings) else None


def _are_formulas(values: list[Any]) -> bool:
    """Whether texts without a blank, of which there are many, are of letters and of many lengths, as molecules and proteins are."""
    texts = [value for value in values if isinstance(value, str)]
    letters = sum(sum(map(str.isalpha, text)) for text in texts)
    return (
        len({*texts}) >= max(FEWEST_FORMULAS, len(texts) // SAME_FORMULA)
        and not any(mark in text for text in texts for mark in (" ", "://", ".com", "_"))
        and not any(_PATH.search(text) for text in texts)
        and 2 * letters > sum(map(len, texts))
        and len({*map(len, texts)}) >= FEWEST_LENGTHS
    )


def _verdict(texts: Iterable[str], blocks: list[Block]) -> str | None:
    """The one column of texts whose two values are a verdict, such as pass and fail; None if there is none, or several."""
    found = [n for n in texts if {str(v).strip().lower() for v in values_in(blocks, n) if v is not None} in VERDICTS]
    return found[0] if len(found) == 1 else None


def _is_attribute(name: str, names: list[str], blocks: list[Block]) -> bool:
    """Whether a category is that of goods, each of which has one in each file: an attribute of what is sold, in a table of sales."""
    if not name.lower().startswith("category"):
        return False
    for other in (other for other in names if {*words(other)} & GOODS and other != name):
        known = [b for b in blocks if name in b.columns and other in b.columns]
        pairs = [Counter(zip(b.columns[other].values, b.columns[name].values, strict=False)) for b in known]
        goods = {value for of in pairs for value, _ in of}
        several = len(goods) * REPEATED <= sum(of.total() for of in pairs)
        if several and all(map(_one_each, pairs)):
            return True
    return False


def _mostly_missing(name: str, blocks: list[Block]) -> bool:
    """Whether most rows have no value."""
    values = values_in(blocks, name)
    absent = [b.columns[name].nulls for b in blocks if name in b.columns]
    marked = sum(int(nulls.sum()) for nulls in absent if nulls is not None)
    return 2 * max(marked, sum(v is None or (isinstance(v, float) and v != v) for v in values)) > len(values)


def _one_each(pairs: Mapping[tuple[Any, Any], int]) -> bool:
    """Whether each of the first values goes with one of the second ones."""
    return len({value for value, _ in pairs}) == len(pairs)


def _may_be(name: str, blocks: list[Block]) -> bool:
    """Whether a column that is called like a label may be one: not one mark for all rows, nor stars by the thousand."""
    values = {v for v in values_in(blocks, name) if v is not None and v == v}
    if name.lower() in WEAK_LABELS and len(values) == 1:
        return False
    if name.lower() == "overall":
        return is_rating(list(values))
    return "star" not in name.lower() or len(values) <= MAX_CLASSES // 2
