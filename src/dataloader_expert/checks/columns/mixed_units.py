"""Numbers in another unit in the rows of one site, device or file, or from one row to another: degrees Fahrenheit among Celsius.

The rows in which a field has one value, or those of one file, are such a group if hardly any of their numbers lies where those of the
other rows do, and nearly all would after a usual conversion; or, where numbers spread too far for that, if their median tells the factor
(see ``rescaled``). The other rows must agree among themselves: where each kind of thing
has a size of its own, these are no units. A stretch of rows is judged likewise, of all rows and of those of one group: a device that
was set to another unit one day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from dataloader_expert.checks.base import CHANGED_UNITS, MIXED_UNITS, Context
from dataloader_expert.checks.columns.rescaled import (
    differing_pair,
    fits_name,
    is_money,
    of_another_kind,
    renames,
    rescaled_groups,
    tells_unit,
)
from dataloader_expert.checks.common.dealt_numbers import dealt_equally
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.grids import moment
from dataloader_expert.checks.common.recorded import FILE, is_place
from dataloader_expert.checks.common.rows_kept import (
    Named,
    digests_by_name,
    files_of,
    in_order,
    moments_of,
    numbers_of,
    split_of,
)
from dataloader_expert.checks.common.units import (
    DEGREES,
    FEWEST,
    GROUPS,
    LARGEST,
    LEAST,
    MOST_GROUPS,
    anything,
    conversion,
    flipped_groups,
    lies_among,
    middle,
    odd_groups,
    odd_stretch,
    tells,
)
from dataloader_expert.checks.features import Channels
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

TURNED = Quantity(
    "turned_signs",
    "samples",
    "rows of one group whose numbers have the opposite sign from all others, at the same size",
)
OTHER_SPLIT = Quantity(
    "split_in_other_unit", "samples", "a split whose numbers fit those of all others after a conversion"
)
WHOLE = 0.95
"""The share of a split's rows of a group, and of a stretch, from which one is the other."""
KEPT, CELLS = 20_000, 2_000_000
"""The most rows, and numbers of all fields, that are kept."""
WINDOWS = ("array", "sequence", "embedding")
MEASURES = (" (mean)", " (size)")
"""What is compared of the channels of a sample."""
WITHIN, MOST_SPLITS = " within splits", 4
"""Stands after the name of a field whose groups are told apart by split, and the most splits."""
MEASURES_COMPARED = 16
"""The most other numbers of which it is asked whether they explain why a group differs."""


class MixedUnits(DrawnRows):
    ids = ("scale-drift",)
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.numbers = [f.name for f in plain if f.kind == "number" and f.name not in context.identifiers]
        named = [f.name for f in plain if f.kind in ("category", "text", "boolean") and f.name != context.aside]
        self.groups = list(dict.fromkeys([*named, *context.series_fields]))
        self.time = next(
            (f for f in context.fields if context.timed is not None and f.name == context.timed.field), None
        )
        self.called = {name: Named(MOST_GROUPS) for name in (*self.groups, FILE)}
        split = roles.split.field if roles.split is not None else None
        self.splits = Named(MOST_GROUPS)
        self.kinds = [f.name for f in context.fields if not f.shape and f.name in (context.label, split)]
        """Fields whose values may have sizes of their own, and by which rows may be sorted."""
        windows = [f for f in context.fields if f.kind in WINDOWS and len(f.shape) > 1 and f.name != context.label]
        self.channels = [channels for f in windows if (channels := Channels.of(f)) is not None]
        """Of windows and the like: of each channel the mean and the size are compared."""
        of_channels = len(MEASURES) * sum(channels.width for channels in self.channels)
        width = of_channels + len(self.numbers) + len(self.groups) + len(self.kinds) + 3
        self.drawn = Drawn(min(KEPT, CELLS // max(1, width)))
        self.beside = [self.splits, *self.called.values()]

    def applies(self) -> bool:
        return bool(self.numbers or self.channels)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.numbers}
        for channels in self.channels:
            kept |= _of_channels(channels, block, rows)
        for name in self.groups:
            kept[f"group {name}"] = self.called[name].of(block.columns.get(name), rows)
        kept[f"group {FILE}"] = self.called[FILE].coded(files_of(block, rows))
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        for name in self.kinds:
            kept[f"kind {name}"] = digests_by_name(block.columns.get(name), rows)
        if self.time is not None:
            kept["time"] = moments_of(block.columns.get(self.time.name), rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        groups = {}
        for group, named in self.called.items():
            values, whose = np.unique(rows[f"group {group}"], return_inverse=True)
            if not named.many and len(values) <= MOST_GROUPS:
                groups[group] = [named.texts.get(int(v), "") for v in values], whose
        within = self._within_splits(rows, groups)
        told: set[str] = set()
        for key in [key for key in rows if key.startswith("number ")]:
            name = key.removeprefix("number ")
            of = name.removesuffix(MEASURES[0]).removesuffix(MEASURES[1])
            of = self.context.features[of].of if of in self.context.features else of
            if of in told or dealt_equally(rows[key].tolist()):
                continue  # numbers that name things have no unit
            numbers = rows[key]
            there = np.abs(numbers) <= LARGEST
            here = {group: (texts, whose[there]) for group, (texts, whose) in groups.items()}
            others = [f"number {other}" for other in self.numbers if other != name][:MEASURES_COMPARED]
            measures = [rows[other][there] for other in others]
            kinds = [rows[key][there] for key in rows if key.startswith("kind ")]
            kinds += [whose for group, (_, whose) in here.items() if group != FILE]
            apart = {group: (texts, whose[there]) for group, (texts, whose) in within.items()}
            found = (
                self._of(name, numbers[there], here, measures, here)
                or self._of_one_split(name, numbers[there], apart, measures, here)
                or self._turned(name, numbers[there], here)
            )
            at = {"sample": rows["sample"][there], "file": rows["file"][there], "split": rows["split"][there]}
            found = found or [*self._from_row_on(name, numbers[there], at, here, kinds)]
            if not found and "time" in rows:
                times = rows["time"][there]
                order = np.lexsort((at["sample"], times))[: int(np.isfinite(times).sum())]  # NaN come last
                ordered = {group: (texts, whose[order]) for group, (texts, whose) in here.items()}
                at = {key: values[order] for key, values in (at | {"time": times}).items()}
                found = [*self._from_row_on(name, numbers[there][order], at, ordered, [kind[order] for kind in kinds])]
            found = found or self._of(name, numbers[there], here, measures, here, far=True)
            told |= {of} if found else set()
            yield from found

    def _within_splits(self, rows: dict[str, Any], groups: dict[str, tuple[list[str], Any]]) -> dict[str, Any]:
        """The places within each split: one may have been converted in a single one."""
        import numpy as np

        splits, which = np.unique(rows["split"], return_inverse=True)
        called = [self.splits.texts.get(int(v), "") for v in splits]
        made = {}
        for group, (texts, whose) in groups.items() if 1 < len(splits) <= MOST_SPLITS and not self.splits.many else ():
            if is_place(group) and group != FILE and len(texts) * len(splits) <= MOST_GROUPS:
                both = [f"{text} in {split}" for text in texts for split in called]
                made[f"{group}{WITHIN}"] = both, whose * len(splits) + which
        return made

    def _of(
        self,
        name: str,
        numbers: Any,
        groups: dict[str, tuple[list[str], Any]],
        measures: list[Any],
        others: dict[str, tuple[list[str], Any]],
        far: bool = False,
    ) -> list[Fact]:
        """The groups of the first field some of whose groups are in another unit, which none of the ``others`` explain; or that lie ``far``
        from all others without a conversion."""
        said = said_of(name)
        fits = partial(fits_name, words=said)
        for group, (texts, whose) in groups.items():
            pair = len(texts) == GROUPS - 1 and is_place(group) and group != FILE and not group.endswith(WITHIN)
            if len(texts) < GROUPS and not pair:
                continue
            kinds = [
                (codes, is_place(other))
                for other, (_, codes) in others.items()
                if other != group and not renames(whose, codes)
            ]
            shared = [codes for other, (_, codes) in others.items() if other not in (group, FILE)]
            apart = {k: (how, own, others) for k, how, own, others in odd_groups(numbers, whose, len(texts), fits)}
            rescaled = (
                differing_pair(numbers, whose, said, kinds, measures, shared)
                if pair
                else rescaled_groups(numbers, whose, len(texts), said, kinds, measures)
            )
            by_median = {g.k: g for g in rescaled}
            found = {g.k: (g.how, g.own, g.others) for g in by_median.values() if is_place(group) or g.sure} | {
                k: one for k, one in apart.items() if (is_place(group) if far else one[0] is not None)
            }
            facts = [
                Fact(
                    MIXED_UNITS,
                    {
                        "of": texts[k],
                        "rows": int((whose == k).sum()),
                        "how": how,
                        "median": own,
                        "others": others,
                        "sure": k in by_median and by_median[k].sure and by_median[k].how == how,
                        "in_one_split": group.endswith(WITHIN),
                        "by_nature": how is None
                        or not fits_name(how, said)
                        or of_another_kind(numbers, whose == k, kinds),
                    },
                    self.evidence("sampled", len(numbers)),
                    {"field": name, "group": group, "of": k},
                )
                for k, (how, own, others) in sorted(found.items())
            ]
            if facts:
                return facts
        return []

    def _of_one_split(
        self,
        name: str,
        numbers: Any,
        within: dict[str, tuple[list[str], Any]],
        measures: list[Any],
        others: dict[str, tuple[list[str], Any]],
    ) -> list[Fact]:
        """The places that are in another unit in one split, of which the rest is not: else the split is."""
        found = self._of(name, numbers, within, measures, others)
        return [fact for fact in found if _alone_in_split(numbers, *within[str(fact.at["group"])], fact)]

    def _turned(self, name: str, numbers: Any, groups: dict[str, tuple[list[str], Any]]) -> list[Fact]:
        """The places of the first field at some of which the numbers have the other sign."""
        for group, (texts, whose) in groups.items():
            if is_place(group) and (found := flipped_groups(numbers, whose, len(texts))):
                return [
                    Fact(
                        TURNED,
                        {
                            "of": texts[k],
                            "rows": int((whose == k).sum()),
                            "median": own,
                            "others": others,
                            "alike": alike,
                        },
                        self.evidence("sampled", len(numbers)),
                        {"field": name, "group": group, "of": k},
                    )
                    for k, own, others, alike in found
                ]
        return []

    def _from_row_on(
        self,
        name: str,
        numbers: Any,
        at_rows: dict[str, Any],
        groups: dict[str, tuple[list[str], Any]],
        kinds: list[Any],
    ) -> Iterable[Fact]:
        """A stretch of rows in another unit; else those of single groups of the first field that has some."""
        import numpy as np

        said = said_of(name)
        fits = anything if is_money(said) else partial(fits_name, words=said)
        for group, (texts, whose) in {"": ([""], np.zeros(len(numbers), np.int64)), **groups}.items():
            made: list[Fact] = []
            for k, text in enumerate(texts) if not group or len(texts) > 1 else ():
                at = np.flatnonzero(whose == k)
                if len(at) < LEAST * FEWEST:
                    continue
                usual = partial(_middle_of_others, numbers, whose, k) if len(at) < len(numbers) else None
                found = odd_stretch(numbers[at], usual, fits)
                if found is None or any(tells(kind[at], found.first, found.last) for kind in kinds):
                    continue
                value = asdict(found) | {
                    "of": text,
                    "first": int(at_rows["sample"][at[found.first]]),
                    "last": int(at_rows["sample"][at[found.last]]),
                    "rows": found.last - found.first + 1,
                    "file": str(at_rows["file"][at[found.first]]) or None,
                }
                if "time" in at_rows:
                    value |= {
                        key: float(at_rows["time"][at[i]]) for key, i in (("since", found.first), ("until", found.last))
                    }
                stretch = at[found.first : found.last + 1]
                whole = split_of_stretch(at_rows["split"], stretch, slice(None))
                if not group and name.endswith(MEASURES) and whole is not None:
                    return  # its values are compared as a whole with those of other splits
                split = whole_split(numbers, at_rows["split"], stretch, at) if group else None
                if split is not None:  # which is in another unit as a whole, or prepared differently
                    yield from self._of_split(name, numbers, at_rows["split"] == split, split, fits)
                    return
                at_group = {"field": name, "group": group or None, "of": k}
                made.append(Fact(CHANGED_UNITS, value, self.evidence("sampled", len(at)), at_group))
            # what happens to several at once is no change of one's unit
            if len(made) > 1 or (group and not is_place(group)):
                made = [fact for fact in made if fact.value["how"] is not None]
            if made:
                yield from made
                return

    def _of_split(self, name: str, numbers: Any, own: Any, split: Any, fits: Any) -> Iterable[Fact]:
        """A whole split that is in another unit, which its own groups do not explain."""
        import numpy as np

        how = conversion(numbers[own], numbers[~own], fits)
        if how is not None and lies_among(numbers[own], numbers[~own], how):
            value = {"of": self.splits.texts.get(int(split), ""), "rows": int(own.sum()), "how": how}
            value |= {"own": float(np.median(numbers[own])), "others": float(np.median(numbers[~own]))}
            yield Fact(OTHER_SPLIT, value, self.evidence("sampled", len(numbers)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(OTHER_SPLIT):
            yield _told(fact, f"of {escaped(fact.value['of'])}", fact.value["own"], {"split": fact.value["of"]})
        for fact in facts.all(MIXED_UNITS):
            where, site = _in_group(fact), is_place(str(fact.at["group"]))
            place = {"file": fact.value["of"]} if fact.at["group"] == FILE else {}
            found = _told(fact, where, fact.value["median"], place)
            # Kinds of things may have sizes of their own, and some conversion fits by chance: one in whose unit the field is measured, met
            # to within the error of precise medians while all other kinds agree, does not.
            thing = self.context.grouped is not None and fact.at["group"] == self.context.grouped.field
            place_or_degrees = site or (thing and fact.value["how"] in DEGREES)  # which are more than another size
            likely = fact.value["sure"] or (place_or_degrees and not fact.value["by_nature"])
            yield found if likely else replace(found, severity="info")
        for fact in facts.all(TURNED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} has the opposite sign in the samples {_in_group(fact)}: it is about {v['median']:.4g} there and {v['others']:.4g} in "
            text += "the others"
            fix = "find out which way the axis points there; if it is reversed, flip the sign of this field, and of other axes that were reversed with it"
            severity: Severity = "warning" if v["alike"] else "info"  # places may lie on both sides of zero
            yield finding("scale-drift", severity, text, fact, fix, [{"field": fact.at["field"]}], v["rows"])
        for fact in facts.all(CHANGED_UNITS):
            v = fact.value
            where = f"{v['first']:,} to {v['last']:,}"
            if "since" in v:
                dated = self.time is not None and self.time.kind != "number"
                where = f"from {moment(v['since'], dated)} to {moment(v['until'], dated)}"
            where += f", {_in_group(fact)}" if fact.at["group"] else ""
            yield _told(fact, where, v["own"], {"sample": v["first"], "file": v["file"]})


def _alone_in_split(numbers: Any, texts: list[str], whose: Any, fact: Fact) -> bool:
    """Whether the other rows of its split are not in the unit of a place within it."""
    import numpy as np

    k, split = int(fact.at["of"]), texts[int(fact.at["of"])].rpartition(" in ")[2]
    same = [i for i, text in enumerate(texts) if i != k and text.rpartition(" in ")[2] == split]
    rest = numbers[np.isin(whose, same)]
    own, others = fact.value["median"], fact.value["others"]
    return len(rest) > 0 and abs(float(np.median(rest)) - others) < abs(float(np.median(rest)) - own)


def split_of_stretch(splits: Any, stretch: Any, among: Any) -> Any:
    """The split of which a stretch of rows has all rows that are ``among`` these, and no others; None if there is none. ``splits``: of each row."""
    import numpy as np

    found, counts = np.unique(splits[stretch], return_counts=True)
    split, own = found[int(counts.argmax())], int(counts.max())
    return split if own >= WHOLE * max(len(stretch), int((splits[among] == split).sum())) else None


def whole_split(numbers: Any, splits: Any, stretch: Any, group: Any) -> Any:
    """The split that a stretch of a group is all of, where the rows of other groups in that split lie as far from the rest, too; None if not.

    ``splits``: of each row; ``stretch``, ``group``: rows.
    """
    import numpy as np

    split = split_of_stretch(splits, stretch, group)
    if split is None:
        return None
    same = splits == split
    own = np.zeros(len(numbers), bool)
    own[group] = True
    if not (others := same & ~own).any() or not (rest := ~same).any():
        return None
    level, here, there = (float(np.median(numbers[of])) for of in (rest, own & same, others))
    return split if (here - level) * (there - level) > 0 and abs(there - level) >= abs(here - level) / 2 else None


def said_of(name: str) -> list[str]:
    """The words of a field's name, without what is compared of its channels."""
    return words(name.removesuffix(MEASURES[0]).removesuffix(MEASURES[1]))


def _middle_of_others(numbers: Any, whose: Any, k: int) -> float:
    return middle(numbers[whose != k])


def _of_channels(channels: Channels, block: Block, rows: Any) -> dict[str, Any]:
    """The mean and the root mean square of each channel of each of these rows; NaN where a sample has no such channels."""
    import numpy as np

    made = np.full((len(MEASURES), channels.width, len(rows)), np.nan)
    column = block.columns.get(channels.name)
    values = [] if column is None else [column.values[row] for row in rows.tolist()]
    for i, value in enumerate(values):
        sample = channels.apart(value[None]) if hasattr(value, "dtype") else None
        if sample is not None and float(np.abs(sample).max()) <= LARGEST:  # NaN is not
            made[0, :, i] = sample[0].mean(1, dtype=np.float64)
            made[1, :, i] = np.sqrt(np.square(sample[0], dtype=np.float64).mean(1))
    known = {channels.called(k): made[:, k] for k in range(channels.width)}
    return {f"number {of}{what}": both[j] for of, both in known.items() for j, what in enumerate(MEASURES)}


def _in_group(fact: Fact) -> str:
    of, group = escaped(fact.value["of"]), str(fact.at["group"]).removesuffix(WITHIN)
    return f"in {of}" if group == FILE else f"where {escaped(group)} is {of}"


def _told(fact: Fact, where: str, own: float, place: dict[str, Json]) -> Finding:
    v, said = fact.value, str(fact.at["field"])
    name, levels = escaped(said), f"its values are about {own:.4g} there and {v['others']:.4g} in the others"
    if v["how"] is None:
        text = f"{name} has another level in the samples {where}: {levels}, with hardly any values between"
        fix = "find out what changed there: a unit, a device or what is measured"
    elif is_money(said_of(said)):
        text = f"{name} seems to be on another scale in the samples {where}: {levels} (a factor of {abs(own / v['others']):.3g}), "
        text += "and after rescaling they are distributed like the others"
        fix = "look for a split of a share, another currency or another unit (cents) there; if it is one, adjust these values"
    elif not tells_unit(v["how"], said_of(said)) or ("[" in said and " to " in v["how"] and "°" not in v["how"]):
        text = f"{name} seems to be on another scale in the samples {where}: {levels} (a factor of {abs(own / v['others']):.3g}), "
        text += "and after rescaling they are distributed like the others"
        fix = "check whether the unit differs there; if so, convert these values"
    else:
        text = f"{name} seems to be in another unit in the samples {where}: {levels}, and after conversion ({v['how']}) they are "
        text += "distributed like the others"
        fix = "check a few; if so, convert these values"
    return finding("scale-drift", "warning", text, fact, fix, [{"field": fact.at["field"], **place}], v["rows"])


CHECK = MixedUnits
