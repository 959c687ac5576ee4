"""What a table's columns are for: which one holds the split, the group, the time, and which are only row keys.

A role is inferred from a column's name and from its values. If both agree it is ``sure``; if only one of them suggests it, it
is a guess. ``how`` gives the reason in words. A column that the user names is used as named.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dataloader_expert.sources.base import Block, Field, Role, Roles, runs
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.times import is_time, read_time

LOOKED_AT = 10_000
"""Rows from which roles are inferred."""
MOST_SPLITS = 12
DISTINCT_KEY = 0.95
"""The least share of distinct values in a key column: rows copied with their key repeat some."""
DENSE = 0.5
"""The least share of its range that the values of a running number fill."""
BY_CHANCE = 0.25
"""The share of the repeats expected of random numbers above which numbers are taken for such."""
LARGEST_GROUP = 20
"""The most rows per group, on average, for codes alone to suggest a group: codes of a category recur more often."""
COUNTED = "by its name and its values, which count the rows of each file"
OTHER_ID = "by its name, as an id of something other than the row"
FEWEST_GROUPS = 4
"""Fewer values are an attribute, such as whether a household is a family."""
FEW = 8
"""Fewer values say nothing about what a column is for."""
FEWEST_RUNNING = 100
"""The fewest numbers that show by how they follow each other that they are no measurements."""
LISTED = ("text", "tokens", "sequence", "embedding", "array")
"""Kinds of fields that alone make a row what it is, unless they repeat."""
MOSTLY = 0.95
"""The least share of files whose names are made alike, and of numbers that follow one another."""
TOLD_APART, REMARK = 0.8, 0.02
"""The least share of distinct values by which texts and lists tell rows apart, and the share of rows from which one of them is a
remark that any row may have."""

PARTITION = "partition"
NUMBERED = {0: "train", 1: "val", 2: "test"}
"""What CelebA's partition means by its numbers."""
FROM_ONE = {1: "train", 2: "val", 3: "test"}
"""What splits mean by numbers that count from 1, as those of VoxCeleb and of MatConvNet, if most samples are of the first."""
SPLIT_NAMES = {"split", "subset", "partition", "set", "phase", "usage", "fold", "portion"}
IDENTIFIERS = {"id", "ids", "uid", "uuid", "guid"}
"""Last words of what tells things apart, and measures nothing."""
GROUP_WORDS = {
    "group", "subject", "patient", "user", "customer", "client", "speaker", "session", "scene", "series", "video",
    "document", "doc", "author", "person", "participant", "household", "family", "donor", "individual", "animal",
    "episode", "recording", "track", "trip", "student", "writer", "pid", "qid", "subj", "mrn", "device", "driver", "worker",
    "employee", "respondent", "volunteer", "pupil", "learner", "thread", "conversation", "dialogue", "member", "identity", "slide", "case", "lesion", "specimen", "nodule",
}  # fmt: skip
RANKS = {
    "species", "genus", "order", "phylum", "kingdom", "variant", "manufacturer", "make", "brand", "model", "subfamily", "superfamily",
}  # fmt: skip
"""Last words of columns of classes beside which a family is a class too, and none of people."""
PLACES = {"zip", "zipcode", "postcode", "postal", "plz"}
"""Words of columns that say where something is: not whose it is."""
DIGITS = 19
"""More are no number of a row."""
CUT_FROM = {"src", "source", "orig", "original"}
MEDIA = {"file", "filename", "recording", "clip", "audio", "sound", "image", "img", "picture", "photo", "video", "scan"}
"""The first words of what samples were cut from, and the last: ``src_file``, ``original_image``."""
SHARED, FEWEST_SHARED = {"device", "worker"}, 20
"""Groups that many samples are from by nature, such as those of three scanners: so few of them are in every split."""
TEXTS_OF_GROUPS = {"context", "passage", "paragraph", "article", "story", "premise", "document", "prompt"}
"""Names of long texts about each of which there are several samples, such as questions."""
WORDS = 5
"""The least number of words of a text that is more than a name."""
NAME = 64
"""Characters of a group's name from which on it is shortened."""
ROWS_OF_TOPIC = 10
"""The fewest rows of a topic, on average."""
WHO = {"user", "customer", "client", "member", "reviewer", "viewer", "reader", "listener"}
WHAT = {
    "item", "movie", "film", "product", "book", "song", "track", "artist", "isbn", "asin", "article", "news", "restaurant",
    "business", "game", "anime", "show", "video", "ad", "course", "recipe",
}  # fmt: skip
"""What users rate, buy or click on."""
ANSWERING, ASKED = {"doc", "document", "passage"}, {"query", "question", "topic", "qid"}
"""What is judged by how well it answers, and what it answers."""
KEY_WORDS = {
    "id", "no", "nr", "nbr", "num", "number", "key", "code", "name", "idx", "index", "uid", "uuid", "guid", "row", "hash",
}  # fmt: skip
ROW_WORDS = {"id", "uid", "uuid", "guid", "index", "idx", "key", "hash"}
"""Words that make a column of distinct values a key of the row."""
NUMBER_WORDS = {"no", "nr", "nbr", "number", "serial", "barcode"}
"""Last words of numbers that things are called by, if no two rows have one in common."""
NOT_GROUPS = {
    "sample", "row", "image", "img", "label", "class", "category", "file", "record", "target", "object", "item",
}  # fmt: skip
TIME_WORDS = {
    "date", "time", "datetime", "timestamp", "ts", "taken", "created", "updated", "modified", "recorded", "captured",
    "acquired", "collected", "admitted", "published", "observed", "when", "day", "month", "year", "at",
}  # fmt: skip
NOT_TIMES = {
    "birth", "born", "birthday", "birthdate", "dob", "death", "expiry", "expires", "due", "duration", "elapsed",
}  # fmt: skip
PERIOD = 3
"""How many times as many values a time has, at least, as one that is cut to months or days."""
LASTING = {"in", "to", "since", "until", "till", "between", "spent", "on", "per", "of"}
"""Words after a time that make it a duration, as in ``time_in_hospital``."""
UNITS = {
    *("years", "yrs", "months", "weeks", "days", "hours", "hrs", "hr", "h", "minutes", "mins", "min"),
    *("seconds", "secs", "sec", "s", "milliseconds", "msec", "ms", "us", "ns"),
}
"""Units in the names of durations, such as ``time_days``; and of times since the beginning of a recording."""
NUMBER_TIMES = {"date", "time", "datetime", "timestamp", "ts", "at", "created", "updated"}
"""Words that make a plain number a time; a year or a day may be anything."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CODE = re.compile(r"[A-Za-z]{0,8}[-_ ]?\d{1,12}|[0-9a-fA-F]{8,64}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""A text that is an identifier: a prefix with a number, hexadecimal digits, a UUID."""
LONG_NUMBER = 4
"""Digits from which on a plain number in quotes may be a code."""


def is_identifier(name: str) -> bool:
    """Whether a field is called as what tells things apart: ``user_id``, ``objid``."""
    last = next(reversed(words(name)), "")
    things = GROUP_WORDS | NOT_GROUPS | WHAT | {"obj", "source", "order", "event"}
    return last in IDENTIFIERS or (last.endswith("id") and last[:-2] in things)


def find_roles(
    blocks: Iterable[Block], fields: Iterable[Field], label: str | None, named_split: bool, rows: int | None = None
) -> Roles:
    """The roles of scalar columns, from rows of ``blocks``.

    Args:
        named_split: folders or files already name the splits.
        rows: of the whole table, if ``blocks`` are spread over it; None: they are from its beginning.
    """
    blocks, scalar = list(blocks), [f for f in fields if not f.shape and f.name != label]
    columns = _values(blocks, scalar)
    kinds = {f.name: f for f in fields}
    split, names = (None, {}) if named_split else _split(columns)
    rest = {n: v for n, v in columns.items() if split is None or n != split.field}
    times = {n: r for n in rest if (r := _time(n, rest[n], kinds[n])) is not None}
    rest = {n: v for n, v in rest.items() if n not in times}
    group = _group(rest, kinds)
    one_file = len({block.unit.file for block in blocks}) == 1  # the numbers of series begin anew in each file
    series = series_in(blocks[0]) if group is None and one_file else None
    if series is not None and series[0] in rest:
        group = Role(series[0], f"by its values: {series[1]} starts again in the rows of each")
    found = {n: r for n in rest if (r := _key(n, rest[n], kinds[n], rows)) is not None}
    found |= _counting(blocks, [f for f in scalar if f.name in rest and f.name not in found])
    keys = tuple(found[n] for n in rest if n in found)
    time = _finest(sorted(times.values(), key=lambda r: not r.sure), columns)
    repeats = _repeats(blocks, [f for f in kinds.values() if f.name != label])
    return Roles(split, group, time, keys, names, repeats=repeats)


def as_split(name: str, values: Iterable[Any]) -> tuple[Role, dict[Any, str]]:
    """The role of a column that the user names as the split column."""
    distinct = {v for v in values if v is not None and v == v}
    return Role(name, "as asked"), _called(distinct)


def series_in(block: Block) -> tuple[str, str] | None:
    """Of columns without names the first, where its runs are series, one after another, and the column that rises anew in each, such as
    the cycles of engines by their numbers; None of other rows."""
    import numpy as np

    names = list(block.columns)
    if names != [f"f{i}" for i in range(len(names))]:
        return None
    told = {n: c.values for n, c in block.columns.items() if hasattr(c.values, "dtype") and c.values.ndim == 1}
    first = told.get("f0")
    if first is None or first.dtype.kind not in "iu" or len(first) < FEW:
        return None
    steps = np.diff(first)
    runs_ = int((steps != 0).sum()) + 1
    if (steps < 0).any() or runs_ < FEWEST_GROUPS or 2 * runs_ > len(first):
        return None
    for name in names[1:]:
        if name in told and told[name].dtype.kind in "iuf":
            rises = np.diff(told[name].astype(np.float64))
            if (rises[steps == 0] > 0).all() and (rises[steps != 0] < 0).any():
                return "f0", name
    return None


def words(name: str) -> list[str]:
    """The words of a name in lower case: ``patientId`` and ``patient_id`` are patient and id."""
    return [w.lower() for w in _WORD.findall(name)]


def _values(blocks: list[Block], fields: list[Field]) -> dict[str, list[Any]]:
    """The non-missing values of each column, from at most ``LOOKED_AT`` rows spread evenly over the blocks."""
    each = max(1, LOOKED_AT // max(1, len(blocks)))
    found: dict[str, list[Any]] = {}
    for f in fields:
        values: list[Any] = []
        for block in blocks:
            column = block.columns.get(f.name)
            if column is None:
                continue
            at = runs(len(column), each)
            part, absent = column.values, column.nulls
            plain = part[at].tolist() if hasattr(part, "tolist") else [part[i] for i in at.tolist()]
            gone = [False] * len(at) if absent is None else absent[at].tolist()
            values += [v for v, null in zip(plain, gone, strict=True) if v is not None and not null]
        if all(isinstance(v, str | int | float) for v in values):
            found[f.name] = [v for v in values if v == v]
    return found


def _split(columns: dict[str, list[Any]]) -> tuple[Role | None, dict[Any, str]]:
    """The first column whose values name splits, preferring one named so."""
    for name in sorted(columns, key=lambda n: not set(words(n)) & SPLIT_NAMES):
        distinct = set(columns[name])
        called = bool(set(words(name)) & SPLIT_NAMES)
        if not 1 <= len(distinct) <= MOST_SPLITS:
            continue
        listed = ", ".join(sorted(map(str, distinct)))
        if all(isinstance(v, str) for v in distinct):
            naming = [v for v in distinct if split_in_name(v) is not None]
            if len(naming) == len(distinct) and len({split_in_name(v) for v in distinct}) > 1:
                return Role(name, f"its values name splits: {listed}"), _called(distinct)
            if called and naming:
                return Role(name, f"by its name, and its values {listed}"), _called(distinct)
        elif PARTITION in words(name) and distinct >= NUMBERED.keys():
            return Role(name, f"by its name, and its values {listed}"), {
                v: NUMBERED.get(v, str(v)) for v in distinct - {None}
            }
        elif words(name)[-1:] in (["split"], ["set"]) and distinct == FROM_ONE.keys() and _most(columns[name]) == 1:
            return Role(name, f"by its name, and its values {listed}"), dict(FROM_ONE)
        elif words(name) == ["train", "test", "split"] and distinct <= {0, 1}:  # of CUB-200-2011
            return Role(name, f"by its name, and its values {listed}"), {1: "train", 0: "test"}
        elif words(name)[:1] in (["is"], ["in"]) and words(name)[1:] in (["train"], ["training"], ["test"]):
            if distinct <= {0, 1}:
                other = {"train": "test", "training": "test", "test": "train"}[words(name)[1]]
                mine = "test" if words(name)[1] == "test" else "train"
                return Role(name, f"by its name, and its values {listed}"), {1: mine, 0: other}
    return None, {}


def _most(values: Sequence[Any]) -> Any:
    """The value of more than half of the rows; None if there is none."""
    [(value, n)] = Counter(values).most_common(1)
    return value if 2 * n > len(values) else None


def _called(distinct: set[Any]) -> dict[Any, str]:
    """The usual split name for each value if no two values share one; otherwise the value itself."""
    usual = {v: split_in_name(v) if isinstance(v, str) else None for v in sorted(distinct, key=str)}
    shared = list(usual.values())
    return {v: n if n is not None and shared.count(n) == 1 else str(v).strip() for v, n in usual.items()}


def _time(name: str, values: list[Any], kind: Field) -> Role | None:
    said = words(name)
    if set(said) & NOT_TIMES or len(set(values)) < 2:
        return None
    by_name = bool(set(said) & TIME_WORDS)
    texts = [v for v in values[:500] if isinstance(v, str)]
    by_value = kind.kind == "time" or (
        len(texts) >= FEW and len(texts) == len(values[:500]) and sum(map(is_time, texts)) >= 0.95 * len(texts)
    )
    if by_name and by_value:
        return Role(name, "by its name and its values, which are times")
    if by_value:
        return Role(name, "by its values, which are times", sure=False)
    numbers = [v for v in values if not isinstance(v, str) and not isinstance(v, bool)]
    lasting = any(a in NUMBER_TIMES and b in LASTING for a, b in itertools.pairwise(said))
    if numbers and len(numbers) == len(values) and set(said) & NUMBER_TIMES and not lasting:
        epoch = all(is_epoch(v) for v in numbers[:500])
        if len(set(numbers)) < FEW and len(numbers) > FEW * FEW and not _goes_forward(numbers):
            return None  # of a treatment, such as its hours
        if not epoch and "time" in said and set(said) & UNITS and not _goes_forward(numbers):
            return None  # how long something took
        how = "by its name and its values, seconds since 1970" if epoch else "by its name"
        return Role(name, how, sure=epoch)
    if texts and set(said) & NUMBER_TIMES:
        return Role(name, "by its name", sure=False)
    return None


def _finest(times: Sequence[Role], columns: dict[str, list[Any]]) -> Role | None:
    """The first of these fields, or another one of which it is but the month or the day."""
    best = next(iter(times), None)
    for other in times[1:]:
        if best is not None and _rounds(columns[best.field], columns[other.field]):
            best = other
    return best


def _rounds(coarse: list[Any], fine: list[Any]) -> bool:
    """Whether times are those of ``fine``, row by row, cut to longer periods: in the same order, and of far fewer values."""
    pairs = {*zip(fine, coarse, strict=False)}
    if len(coarse) != len(fine) or PERIOD * len({*coarse}) > len(pairs) or len(pairs) > len({*fine}):
        return False
    read = [(read_time(one)[0], read_time(other)[0]) for one, other in pairs]
    known = sorted((one, other) for one, other in read if one is not None and other is not None)
    return len(known) == len(read) and all(early[1] <= late[1] for early, late in itertools.pairwise(known))


def is_epoch(value: float) -> bool:
    """Whether a number is a time between 1990 and 2040, in seconds, milliseconds, microseconds or nanoseconds."""
    return any(631e6 * unit <= value <= 2209e6 * unit for unit in (1.0, 1e3, 1e6, 1e9))


def _goes_forward(numbers: list[float]) -> bool:
    """Whether numbers hardly ever fall from one row to the next, as the time within each of a few recordings."""
    falls = sum(later < earlier for earlier, later in itertools.pairwise(numbers))
    return falls <= (1 - MOSTLY) * len(numbers)


def _group(columns: dict[str, list[Any]], kinds: dict[str, Field]) -> Role | None:
    guesses = []
    ids = [values for name, values in columns.items() if words(name)[-1:] == ["id"]]
    pairs = len(ids) > 1 >= len(columns) - len(ids) and all(map(_recur, ids))  # which document answers which question
    for name, values in columns.items():
        if any(isinstance(v, float) and not v.is_integer() for v in values) or isinstance(next(iter(values), 0), bool):
            continue
        said, distinct = words(name), len(set(values))
        if distinct < FEWEST_GROUPS:
            continue
        if said[-1:] and said[-1] in TEXTS_OF_GROUPS and _shared_texts(values):
            guesses.append((2, Role(name, "by its name and its values, which repeat")))
            continue
        if kinds[name].kind == "text":
            continue
        stem = [w for w in said if w not in KEY_WORDS]
        repeated = _recur(values)
        named = bool(stem) and (stem[-1].rstrip("s") in GROUP_WORDS or stem[-1] == "series")
        if named and stem[-1].rstrip("s") in SHARED and distinct < FEWEST_SHARED:
            continue
        if named and stem[-1].rstrip("s") == "group" and len(stem) > 1 and not set(stem[:-1]) & GROUP_WORDS:
            continue  # of ages or of blood: what a sample is like, not from whom it is
        if named and stem[-1] not in GROUP_WORDS and not any(isinstance(v, str) for v in values):
            continue  # numbers of customers, sessions or patients are counts
        if named and stem[-1] == "subject" and _topics(values):
            continue
        if named and stem[-1] == "family" and any(words(other)[-1:] and words(other)[-1] in RANKS for other in columns):
            continue  # of species or of aircraft: what a sample is
        keyed = len(said) > 1 and said[-1] == "id" and not set(stem) & NOT_GROUPS
        if named:
            how = "by its name and its values, which repeat" if repeated else "by its name"
            other = _item(name, columns) if stem[-1].rstrip("s") in WHO | ANSWERING else None
            if other is not None:  # recurring users are what a recommender is for
                how = f"by its name; each row pairs it with a value of {other}"
            guesses.append((0 if repeated else 3, Role(name, how, repeated and other is None)))
        elif keyed and pairs:
            continue
        elif keyed and (repeated or len(values) < FEW):
            guesses.append((1, Role(name, OTHER_ID, False)))
        elif set(said) & PLACES or _start_anew(values):
            continue
        elif (
            repeated and said and said[0] in CUT_FROM and said[-1] in MEDIA and len(values) <= LARGEST_GROUP * distinct
        ):
            guesses.append(
                (2, Role(name, "by its name, which says what samples were cut from, and its repeated values"))
            )
        elif repeated and distinct >= 20 and len(values) <= LARGEST_GROUP * distinct and _codes(values):
            guesses.append((2, Role(name, f"by its values: {distinct} codes that repeat", False)))
    return min(guesses, key=lambda g: g[0], default=(0, None))[1]


def _recur(values: list[Any]) -> bool:
    """Whether many of the values come again."""
    return len(set(values)) <= 0.9 * len(values)


def _start_anew(values: list[Any]) -> bool:
    """Whether codes of digits alone number the rows of each part of a table: all from the first to the last are there."""
    if not all(isinstance(v, str) and v.isascii() and v.isdigit() and len(v) < DIGITS for v in values):
        return False
    numbers = {*map(int, values)}
    return min(numbers) in (0, 1) and len(numbers) > max(numbers) - min(numbers)


def _item(name: str, columns: dict[str, list[Any]]) -> str | None:
    """The column of things that users of another column rate, buy or click on, or that documents answer: both repeat, and hardly a pair
    does."""
    users, what = columns[name], ASKED if {*words(name)} & ANSWERING else WHAT
    for other, things in columns.items():
        said = words(other)
        if other == name or not set(said) & what or len(things) != len(users) or len(set(things)) > 0.9 * len(things):
            continue
        if len(set(zip(users, things, strict=True))) >= DISTINCT_KEY * len(users):
            return other
    return None


def _key(name: str, values: list[Any], kind: Field, rows: int | None) -> Role | None:
    """An identifier of rows: distinct values that are a running number, codes, or so named."""
    n, distinct = len(values), set(values)
    if kind.kind == "text" or n < 2 or any(isinstance(v, bool) for v in distinct):
        return None
    said = words(name)
    named = bool(set(said) & ROW_WORDS) or (bool(said) and said[-1] in KEY_WORDS and bool(set(said) & NOT_GROUPS))
    if len(distinct) < DISTINCT_KEY * n:
        return None
    named = named or (said[-1:] != [] and said[-1] in NUMBER_WORDS and len(distinct) == n >= FEWEST_RUNNING)
    if any(isinstance(v, float) and not v.is_integer() for v in distinct):
        return None
    if named and n >= 2:
        how = "are distinct" if len(distinct) == n else "hardly repeat"
        return Role(name, f"by its name and its values, which {how}")
    if n < FEW:
        return None
    numbers = [int(v) for v in distinct if not isinstance(v, str)]
    if len(numbers) == len(distinct):
        if _follow(numbers):
            return Role(name, "by its values, running numbers", False)
        span = max(numbers) - min(numbers) + 1
        some = rows is not None and rows > n  # of numbers drawn at random some would repeat among those looked at
        repeats = some and n - len(distinct) > BY_CHANCE * n * n / (2 * span)
        if not repeats and span >= DISTINCT_KEY * (rows or 0) and max(rows or 0, len(numbers)) >= DENSE * span:
            return Role(name, "by its values, a running number", False)
        return None
    if len(numbers) == 0 and all(_is_code(str(v)) for v in list(distinct)[:500]):
        return Role(name, "by its values, distinct codes", False)
    return None


def _follow(numbers: list[int]) -> bool:
    """Whether nearly each of these different numbers is followed by the next, as those of a few series, one for each part, are."""
    rows = sorted(numbers)
    steps = sum(later - earlier == 1 for earlier, later in itertools.pairwise(rows))
    return len(rows) >= FEWEST_RUNNING and steps >= MOSTLY * (len(rows) - 1)


def _counting(blocks: list[Block], fields: list[Field]) -> dict[str, Role]:
    """Columns that are named as keys and count the rows of each file anew, as an index that is written with each part does."""
    named = [f for f in fields if set(words(f.name)) & ROW_WORDS]
    files = list(dict.fromkeys(block.unit.file for block in blocks))
    if not named or len(files) < 2:
        return {}
    parts = [_values([b for b in blocks if b.unit.file == file], named) for file in files]
    roles = {}
    for f in named:
        values = [part[f.name] for part in parts if part.get(f.name)]
        whole = all(isinstance(v, int) and not isinstance(v, bool) for of in values for v in of)
        if values and whole and all(len(set(of)) == len(of) for of in values) and {*map(min, values)} in ({0}, {1}):
            roles[f.name] = Role(f.name, COUNTED)
    return roles


def _repeats(blocks: list[Block], fields: list[Field]) -> bool:
    """Whether the texts and lists of rows, all of them together, are often the same."""
    listed = [f.name for f in fields if f.kind in LISTED]
    seen: Counter[Any] = Counter()
    for block in blocks if listed else ():
        at = runs(block.samples, max(1, LOOKED_AT // len(blocks))).tolist()
        columns = [block.columns[name] for name in listed if name in block.columns]
        parts = [[_hashed(c.values[i], c.nulls is not None and bool(c.nulls[i])) for i in at] for c in columns]
        seen.update(zip(*parts, strict=True))
    rows, most = seen.total(), max(seen.values(), default=0)
    return rows >= FEW and (len(seen) < TOLD_APART * rows or most >= max(FEW, REMARK * rows))


def _hashed(value: Any, absent: bool) -> Any:
    return None if absent else value.tobytes() if hasattr(value, "tobytes") else str(value)


def _shared_texts(values: list[Any]) -> bool:
    """Whether values are texts of several words to each of which several rows belong; blank ones do not count."""
    texts = Counter(v for v in values if isinstance(v, str) and len(v.split()) >= WORDS)
    recur = sum(n > 1 for n in texts.values())
    return (
        2 * texts.total() >= sum(v != "" for v in values)
        and len(texts) >= FEWEST_GROUPS
        and 2 * recur >= len(texts)
        and 2 * len(texts) <= texts.total() <= LARGEST_GROUP * len(texts)
    )


def group_name(value: Any) -> str:
    """A group's name; a long text is known by its beginning and a digest."""
    name = str(value)
    return (
        name
        if len(name) <= NAME
        else f"{name[:NAME]}… ({hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()})"
    )


def _topics(values: list[Any]) -> bool:
    """Whether subjects are what is asked about, such as anatomy, and no persons: words, each of many rows."""
    words_only = all(isinstance(v, str) and not any(c.isdigit() for c in v) for v in values)
    return words_only and len(values) >= ROWS_OF_TOPIC * len(set(values))


def _codes(values: list[Any]) -> bool:
    """Whether all are codes, and not plain numbers in quotes, such as ages, which are written without leading zeros."""
    some = [v.strip() if isinstance(v, str) else "" for v in values[:500]]
    short = max(map(len, some), default=0) < LONG_NUMBER
    return all(map(_is_code, some)) and not (short and all(v.isdecimal() and (v[0] != "0" or v == "0") for v in some))


def _is_code(text: str) -> bool:
    return _CODE.fullmatch(text.strip()) is not None
