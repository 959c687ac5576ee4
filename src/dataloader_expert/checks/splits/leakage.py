"""Groups with samples in several splits, and samples of a later split that are earlier than the end of training."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from dataloader_expert.checks.base import EPOCH_UNITS, Check, Context
from dataloader_expert.checks.splits.likely_groups import are_likely
from dataloader_expert.checks.splits.respelled import respelled
from dataloader_expert.checks.splits.side_by_side import FEWEST_LARGE, SEVERAL, Recording, are_recordings
from dataloader_expert.conclusions import Finding, Severity, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.base import FILE_NAME, FOLDER, Block, Column, Role
from dataloader_expert.sources.roles import group_name, words
from dataloader_expert.sources.times import READINGS, read_time

GROUPS = Quantity("groups", "groups", "number of groups, and those with samples in more than one split")
RESPELLED = Quantity(
    "groups_respelled", "groups", "groups of two splits that have the same number and are written differently"
)
TIMES = Quantity(
    "time_range",
    "",
    "earliest and latest time of a split, and its samples before the end of training, by reading of ambiguous dates",
)
MOST_GROUPS = 100_000
"""The most groups of which the times are kept."""
QUERY, FOUND_IN = "query", ("gallery", "test")
"""The split of what is searched for, and where it is to be found, as in the re-identification of people."""
NAMED = 3
"""Groups that a message names."""
MOST_LATE, STRAY = 10_000, 0.05
"""The latest times of training that are kept, and the share of training up to which those within another split's period are strays."""
FEWEST_WITHIN, NEARLY, EARLIEST = 8, 0.95, 631e6
"""The fewest groups that show where their times begin, the share of them that do, and the seconds since 1970 from which on numbers may be
dates."""
Moment = tuple[float, Any]
"""Comparable seconds, and the value they were read from."""
Range = tuple[Moment, Moment]


LEAST_BLOCKS, MOST_BLOCKS, OF_BLOCK = 3, 12, 100
"""In how many blocks of time a split may be laid out on purpose, such as the last days of each month, and the fewest samples of a block and
of training between two: where the two do not alternate, a single block is a split that ignores time."""
MOST_EACH = 50
"""The most samples of a thing, on average, that was recorded several times: there are more from a camera or a site."""
COUNTED = 10
"""How many times as large as there are groups the largest number is of those that were not numbered one after another."""
LONG = 64
"""The fewest numbers of a recording."""
AXES = {
    "x",
    "y",
    "z",
    "r",
    "c",
    "row",
    "col",
    "tile",
    "t",
    "f",
    "frame",
    "k",
    "i",
    "n",
    "fold",
    "part",
    "class",
    "cls",
    "font",
}
"""Letters before a number in names of files that say where in something else a file is, or what it shows."""
_LETTERS = re.compile(r"[^\W\d_]+")
MOST_WHOLE, BY_CHANCE = 0.6, 0.2
"""The least share of them that are in one split, and how many of these may be so by chance."""


class Leakage(Check):
    ids = ("group-leakage", "time-leakage")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        group, time = context.grouped, context.timed
        self.group = group.field if group is not None else None
        self.time = time.field if time is not None else None
        self.of_senses = any(f.kind in ("image", "audio", "video") for f in context.fields)
        """Pictures and recordings are seldom used to predict later ones."""
        found_in = [name for name in FOUND_IN if name in context.splits] if QUERY in context.splits else []
        self.searched = dict(zip([QUERY], found_in, strict=False))
        """Where what a split asks for is to be found, which is in both on purpose."""
        waves = (
            f
            for f in context.fields
            if f.kind == "array" and f.dtype.startswith(("float", "int")) and f.name != context.label
        )
        self.recorded = self.of_senses or any(math.prod(n or LONG for n in f.shape) >= LONG for f in waves)
        """Whether samples are recordings, and no rows of a table."""
        self.groups: dict[str, dict[str, int]] = {}
        """Samples of each group by split."""
        self.times: dict[str, dict[str, Range]] = {}
        self.files: dict[tuple[str, str], Recording] = {}
        """The samples of each split and file and the seconds that they cover, if nothing else tells groups."""
        self.spans: dict[str, dict[tuple[str, str], tuple[float, float]]] = {}
        """The earliest and the latest second of each group by split and reading; none once there are too many groups."""
        self.moments: dict[str, dict[str, list[Any]]] = {}
        """Seconds of every sample by split and reading; for training, only the end counts."""
        self.latest: dict[str, Any] = {}
        """The latest seconds of training, sorted, by reading."""
        self.dated: Counter[tuple[str, str]] = Counter()
        """Samples with a time by split and reading."""
        self.unreadable: set[str] = set()
        self.no_time: Any = None
        """A value of the time field that is not a time."""

    def applies(self) -> bool:
        return self.context.several_splits and (self.group is not None or self.time is not None)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for split, part in self.context.by_split(block):
            if split is None:
                continue
            of = self.searched.get(split, split)
            for value, n in Counter(g for g in self.context.groups_of(part) if g is not None).items():
                splits = self.groups.setdefault(group_name(value), {})
                splits[of] = splits.get(of, 0) + n
            if self.time in part.columns:
                self._times(split, _present(part.columns[self.time]))
                self._spans(split, part)
                if self.group is None and len(self.files) <= MOST_GROUPS:
                    self._file(split, part)

    def _times(self, split: str, values: list[Any]) -> None:
        import numpy as np

        read = {value: read_time(value) for value in set(values)}
        for k, reading in enumerate(READINGS):
            seconds = {v: r[k] for v, r in read.items()}
            wrong = [v for v, s in seconds.items() if s is None]
            if wrong:
                self.no_time = min(wrong, key=str) if self.no_time is None else self.no_time
                self.unreadable.add(reading)
            known = [(s, v) for v, s in seconds.items() if s is not None]
            if known:
                self._range(split, reading, min(known, key=_when), max(known, key=_when))
                moments = np.array([s for v in values if (s := seconds[v]) is not None])
                self.dated[split, reading] += len(moments)
                if split != "train":
                    self.moments.setdefault(split, {}).setdefault(reading, []).append(moments)
                else:
                    self._late(reading, moments)

    def _late(self, reading: str, moments: Any) -> None:
        import numpy as np

        self.latest[reading] = np.sort(np.concatenate([self.latest.get(reading, moments[:0]), moments]))[
            -MOST_LATE - 1 :
        ]

    def _spans(self, split: str, part: Block) -> None:
        groups = self.context.groups_of(part)
        if self.context.time is not None or len(self.spans) > MOST_GROUPS or all(group is None for group in groups):
            return
        column = part.columns[str(self.time)]
        values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
        absent = column.nulls
        plain = [
            None if value is None or value != value or (absent is not None and absent[i]) else _plain(value)
            for i, value in enumerate(values)
        ]
        read = {value: read_time(value) for value in {*plain} - {None}}
        for group, value in zip(groups, plain, strict=False):
            for reading, moment in zip(READINGS, read.get(value, ()) if group is not None else (), strict=False):
                if moment is not None:
                    self._span(group_name(group), (split, reading), (moment, moment))

    def _file(self, split: str, part: Block) -> None:
        known = [s for value in {*_present(part.columns[str(self.time)])} if (s := read_time(value)[0]) is not None]
        if known:
            own = Recording(split, part.samples, min(known), max(known))
            at = split, part.unit.file
            before = self.files.get(at)
            self.files[at] = own if before is None else before.with_more(own)

    def _span(self, group: str, of: tuple[str, str], span: tuple[float, float]) -> None:
        known = self.spans.setdefault(group, {})
        low, high = known.get(of, span)
        known[of] = min(low, span[0]), max(high, span[1])

    def _range(self, split: str, reading: str, low: Moment, high: Moment) -> None:
        ranges = self.times.setdefault(split, {})
        known = ranges.get(reading)
        ranges[reading] = (
            (low, high) if known is None else (min(low, known[0], key=_when), max(high, known[1], key=_when))
        )

    def merge(self, other: Check) -> None:
        assert isinstance(other, Leakage)
        self.seen += other.seen
        for value, splits in other.groups.items():
            mine = self.groups.setdefault(value, {})
            for split, n in splits.items():
                mine[split] = mine.get(split, 0) + n
        for split, ranges in other.times.items():
            for reading, (low, high) in ranges.items():
                self._range(split, reading, low, high)
                found = other.moments.get(split, {}).get(reading, [])
                self.moments.setdefault(split, {}).setdefault(reading, []).extend(found)
        for group, spans in other.spans.items():
            for of, span in spans.items():
                self._span(group, of, span)
        for at, more in other.files.items():
            before = self.files.get(at)
            self.files[at] = more if before is None else before.with_more(more)
        for reading, moments in other.latest.items():
            self._late(reading, moments)
        self.dated += other.dated
        self.unreadable |= other.unreadable
        self.no_time = other.no_time if self.no_time is None else self.no_time

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        if self.groups and self.context.grouped is not None:
            astride = sorted(g for g, splits in self.groups.items() if len(splits) > 1)
            value = {"groups": len(self.groups), "astride": len(astride), "first": astride[:20]}
            value |= self._sizes() | {"kept": self._kept_together(), "of_things": self._of_things()}
            yield Fact(GROUPS, {**value, **_taken(self.context.grouped)}, evidence)
            same = respelled(self.groups)
            if same is not None:
                told = {
                    "count": len(same.pairs),
                    "pairs": [[*pair] for pair in same.pairs[:20]],
                    "expected": same.expected,
                }
                yield Fact(RESPELLED, told, evidence, {"splits": " and ".join(same.splits)})
        for split, ranges in self.times.items():
            for reading, (low, high) in ranges.items():
                if reading in self.unreadable or self.context.timed is None:
                    continue
                ends = self.times.get("train", {}).get(reading)
                moments = self.moments.get(split, {}).get(reading, [])
                early = sum(int((m < ends[1][0]).sum()) for m in moments) if ends is not None else 0
                first, last = self._told(low), self._told(high)
                value = {"earliest": first, "latest": last, "early": early, "samples": self.dated[split, reading]}
                late = self.latest.get(reading)
                strays = 0 if late is None or split == "train" else int((late >= low[0]).sum())
                value.update(
                    since=low[0],
                    until=high[0],
                    strays=strays,
                    of_training=self.dated["train", reading],
                    each_later=self._each_later(split, reading),
                    within=self._within(reading),
                    blocks=self._blocks(split, reading),
                    by_file=len({file for _, file in self.files}) == len(self.files)
                    and are_recordings([*self.files.values()]),
                    **_taken(self.context.timed),
                )
                yield Fact(TIMES, value, evidence, {"split": split, "reading": reading})

    def _each_later(self, split: str, reading: str) -> bool:
        """Whether the samples of each group of a split are later than those that training has of it, and it has some of each."""
        own, train = (split, reading), ("train", reading)
        here = [spans for spans in self.spans.values() if own in spans]
        few = len(self.spans) <= MOST_GROUPS
        return few and bool(here) and all(train in of and of[train][1] <= of[own][0] for of in here)

    def _kept_together(self) -> bool:
        """Whether most groups are in one split each, far more than if samples were dealt out one by one: the splits are by group."""
        now = Counter[str]()
        for splits in self.groups.values():
            now.update(splits)
        large = [splits for splits in self.groups.values() if sum(splits.values()) >= SEVERAL]
        whole = sum(len(splits) == 1 for splits in large)
        shares = [n / now.total() for n in now.values()]
        by_chance = sum(sum(share ** sum(splits.values()) for share in shares) for splits in large)
        return len(large) >= FEWEST_LARGE and whole >= MOST_WHOLE * len(large) and by_chance <= BY_CHANCE * whole

    def _of_things(self) -> bool:
        """Whether the groups are things that were recorded several times, such as a vessel or an event: pictures, sounds or waves of each,
        under an id or a name with a number."""
        role, large = self.context.grouped, sum(sum(of.values()) >= SEVERAL for of in self.groups.values())
        samples = sum(sum(of.values()) for of in self.groups.values())
        if role is None or not self.recorded or large < FEWEST_LARGE or samples > MOST_EACH * len(self.groups):
            return False
        if role.field == FILE_NAME:
            named = (_LETTERS.match(group.rpartition("/")[2]) for group in self.groups)
            return all(match is not None and match[0].casefold() not in AXES for match in named)
        if (
            role.field == FOLDER
        ):  # numbered by an archive, such as the speakers or chapters of recordings, and not by counting them
            numbers = [name for name in (group.rpartition("/")[2] for group in self.groups) if name.isdecimal()]
            return len(numbers) == len(self.groups) and int(max(numbers, key=int)) >= COUNTED * len(numbers)
        return words(role.field)[-1:] == ["id"]

    def _blocks(self, split: str, reading: str) -> int | None:
        """How many blocks a split's times form between those of training; None if both share a time or training has more times than are kept.
        None also if a block, or what training has between two, is shorter than ``OF_BLOCK``."""
        import numpy as np

        train, own = self.latest.get(reading), self.moments.get(split, {}).get(reading)
        if train is None or not own or len(train) < self.dated["train", reading] or split == "train":
            return None
        mine, theirs = np.concatenate(own), np.sort(train)
        if np.intersect1d(mine, theirs).size:
            return None
        before, samples = np.unique(np.searchsorted(theirs, mine), return_counts=True)
        return len(before) if min(samples.min(), np.diff(before).min(initial=OF_BLOCK)) >= OF_BLOCK else None

    def _within(self, reading: str) -> bool:
        """Whether plain numbers count the time within each group from its own beginning: nearly all groups have been under way at once."""
        field = next((f for f in self.context.fields if f.name == self.time), None)
        spans = [span for of in self.spans.values() for (_, read), span in of.items() if read == reading]
        if field is None or field.kind != "number" or self.context.grouped is None or len(spans) < FEWEST_WITHIN:
            return False
        low = sorted(span[0] for span in spans)[int(NEARLY * (len(spans) - 1))]
        high = sorted(span[1] for span in spans)[int((1 - NEARLY) * (len(spans) - 1))]
        return low < high and all(isinstance(known, float | int) and known < EARLIEST for known in (low, high))

    def _sizes(self) -> dict[str, Any]:
        """Samples by split now, and with each group whole: in the split that has most of it, or, if that would take half of a split,
        where most room is left; and how many samples would move."""
        now = Counter[str]()
        for splits in self.groups.values():
            now.update(splits)
        homes = {
            g: min(of, key=lambda s: (-of[s], s != "train", s)) for g, of in self.groups.items()
        }  # training wins ties
        whole = _with_groups(self.groups, homes)
        dealt = any(2 * whole[split] < n for split, n in now.items())
        if dealt:
            left = Counter(now)
            order = sorted(
                self.groups.items(), key=lambda one: (-sum(one[1].values()), str(one[0]), type(one[0]).__name__)
            )
            first = sorted(now, key=lambda s: (-now[s], s))  # each split gets one
            for i, (group, of) in enumerate(order):
                homes[group] = first[i] if i < len(first) else min(now, key=lambda s: (-left[s], -of.get(s, 0), s))
                left[homes[group]] -= sum(of.values())
            whole = _with_groups(self.groups, homes)
        moved = sum(sum(of.values()) - of.get(homes[group], 0) for group, of in self.groups.items())
        return {"sizes": dict(now), "whole": {split: whole[split] for split in now}, "moved": moved, "dealt": dealt}

    def _told(self, moment: Moment) -> Any:
        """A time as written in the data; one that is stored as seconds is shown as a date."""
        field = next((f for f in self.context.fields if f.name == self.time), None)
        if field is None or field.kind != "time":
            return moment[1].item() if hasattr(moment[1], "item") else moment[1]
        try:
            return datetime.fromtimestamp(moment[0], UTC).strftime("%Y-%m-%d %H:%M:%S")
        except (ValueError, OverflowError, OSError):  # beyond the range of dates
            return moment[0]

    def unknowns(self) -> Iterable[Unknown]:
        if len(self.unreadable) == len(READINGS):
            example = escaped(self.no_time, 40)
            yield Unknown("time-leakage", f"{escaped(self.time)} has values that are not times, such as {example}")

    def judge(self, facts: Facts) -> Iterable[Finding]:
        groups = facts.find(GROUPS)
        later = [fact.value["early"] for fact in facts.all(TIMES) if fact.at["split"] != "train"]
        by_time, by_group = bool(later) and not any(later), groups is not None and not groups.value["astride"]
        if groups is not None and groups.value["astride"]:
            g = groups.value
            asked = self.context.group is not None
            how_sure: Severity = _severity(self.context.grouped)
            small = are_likely(self.context, g["groups"], sum(g["sizes"].values()), g["astride"])
            if how_sure == "info" and (g["kept"] or small or g["of_things"]):
                how_sure = "warning"  # whoever made the splits kept to these groups, or should have
            yield finding(
                "group-leakage",
                "info" if by_time and not asked else how_sure,
                _astride(g, self.context.grouped, self.context.group is None and self.context.told_by_files)
                + ("; the splits follow one another in time, so groups may recur" if by_time and not asked else "")
                + ("; nearly all others are in one split each" if g["kept"] else ""),
                groups,
                "nothing to do, unless a model is to work for new groups: then split by group"
                if by_time and not asked
                else "split by group, so that each group is in one split only",
                [{"field": g["field"], "value": escaped(v)} for v in g["first"]],
                g["astride"],
            )
        for fact in facts.all(RESPELLED):
            v, field = fact.value, "" if self.group is None else self.group
            one, two = v["pairs"][0]
            likely: Severity = "info" if _severity(self.context.grouped) == "info" else "warning"
            yield finding(
                "group-leakage",
                "info" if by_time and self.context.group is None else likely,
                f"{v['count']} values of {escaped(field)} have the same number in {escaped(str(fact.at['splits']))} and are written"
                f" differently, such as {escaped(one)} and {escaped(two)}; about {v['expected']:.0f} would be expected to match by chance",
                fact,
                "find out whether these are the same; if so, write them the same way and split by group",
                [{"field": field, "value": escaped(name)} for pair in v["pairs"][:10] for name in pair],
                v["count"],
            )
        for split in dict.fromkeys(str(f.at["split"]) for f in facts.all(TIMES)):
            pairs = [
                (facts.find(TIMES, split="train", reading=r), facts.find(TIMES, split=split, reading=r))
                for r in READINGS
            ]
            both = [(train, other) for train, other in pairs if train is not None and other is not None]
            if split == "train" or not both or not all(o.value["early"] for _, o in both):
                continue  # by at least one reading they are in order
            if facts.find(EPOCH_UNITS, field=self.time) is not None:
                continue  # seconds and milliseconds have no order
            if by_group and self.context.time is None and all(train.value["within"] for train, _ in both):
                continue  # the splits are by group, in each of which time begins anew
            train, other = min(both, key=lambda p: int(p[1].value["early"]))
            t = other.value
            if t["each_later"] and self.context.time is None and groups is not None:
                yield finding(
                    "time-leakage",
                    "info",
                    f"{t['early']} of {t['samples']} samples of {split} {verb(t['early'], 'are')} earlier than the last training sample,"
                    f" but later than every training sample with the same {escaped(groups.value['field'])}",
                    [train, other],
                    "nothing to do, unless the model is to predict what comes after all of training: then split by one time",
                    [{"field": self.time, "split": split}],
                    t["early"],
                )
                continue
            in_blocks = LEAST_BLOCKS <= (t["blocks"] or 0) <= MOST_BLOCKS and not few_strays(t)
            apart = by_group or self.of_senses or t["by_file"] or in_blocks
            severity = "info" if apart and self.context.time is None else _severity(self.context.timed)
            strays, fix = "", "if the model is to predict later samples, split by time"
            if few_strays(t):
                n, them = t["strays"], "them" if t["strays"] != 1 else "it"
                strays = f"; that is due to {n} of {t['of_training']} training samples, from the period of {split}"
                fix = f"if the model is to predict later samples, move {them} to {split} or drop {them}"
            yield finding(
                "time-leakage",
                severity,
                f"{t['early']} of {t['samples']} samples of {split} {verb(t['early'], 'are')} earlier than the last training sample"
                f" ({split} begins at {escaped(t['earliest'])}, train ends at {escaped(train.value['latest'])})"
                + strays
                + _guess("time", self.context.timed)
                + (f"; the splits are by {escaped(groups.value['field'])}" if groups is not None and by_group else "")
                + ("; each file is a recording of its own" if t["by_file"] else "")
                + (f"; the two alternate in {t['blocks']} long blocks, as in blocked validation" if in_blocks else ""),
                [train, other],
                fix,
                [{"field": self.time, "split": split}],
                t["early"],
            )


def few_strays(times: dict[str, Any]) -> bool:
    """Whether a few training samples in the period of another split, as ``TIMES`` counts them, are all that is wrong."""
    few = min(MOST_LATE, STRAY * times["of_training"])  # beyond so many they were not counted
    return bool(0 < times["strays"] < times["early"] and times["strays"] <= few)


def _astride(groups: dict[str, Any], role: Role | None, by_name: bool) -> str:
    """How many groups are in several splits, and why they are taken for groups."""
    n, of, field = groups["astride"], groups["groups"], groups["field"]
    first = ", ".join(escaped(str(value), 40) for value in groups["first"][:NAMED])
    which = f" ({first}{', …' if n > NAMED else ''})"
    if by_name and role is not None:
        return f"{n} of {of} groups{which} {verb(n, 'have')} files in more than one split; groups were identified {escaped(role.how)}"
    return f"{n} of {of} values of {escaped(field)}{which} {verb(n, 'have')} samples in more than one split" + _guess(
        "group", role
    )


def _severity(role: Role | None) -> Severity:
    """A column named by the user gives an error, one suggested by both name and values a warning, by only one of them an info."""
    if role is None or role.how == "as asked":
        return "error"
    return "warning" if role.sure else "info"


def _guess(what: str, role: Role | None) -> str:
    return (
        ""
        if role is None or role.how == "as asked"
        else f"; {escaped(role.field)} was identified as the {what} field {role.how}"
    )


def _taken(role: Role) -> dict[str, str]:
    return {"field": role.field, "taken": role.how}


def _present(column: Column) -> list[Any]:
    """The values that are neither missing nor NaN."""
    values = column.values.tolist() if hasattr(column.values, "tolist") else column.values
    absent = column.nulls
    there = [v for i, v in enumerate(values) if v is not None and (absent is None or not absent[i])]
    plain = [_plain(v) for v in there]
    return [v for v in plain if v == v]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def _when(moment: Moment) -> float:
    return moment[0]


def _with_groups(groups: dict[Any, dict[str, int]], homes: dict[Any, str]) -> Counter[str]:
    """Samples by split, with each group in its home."""
    whole = Counter[str]()
    for group, of in groups.items():
        whole[homes[group]] += sum(of.values())
    return whole


CHECK = Leakage
