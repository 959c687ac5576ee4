"""Relations between two columns that the data keep to except in one part: the order of two numbers or times, which some rows have
the other way round; two numbers that are the same in one split only; names that another split numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import ORDER, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.ranges import many_values, swapped
from dataloader_expert.checks.common.recorded import FILE
from dataloader_expert.checks.common.rows_kept import (
    Named,
    digest_of,
    files_of,
    moments_of,
    numbers_of,
    places,
    split_of,
)
from dataloader_expert.checks.common.treatments import placeholders
from dataloader_expert.checks.common.units import UNITS
from dataloader_expert.checks.common.wording import FEW
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

SAME = Quantity("same_in_split", "", "the share of rows of each split in which two numbers are the same")
RENUMBERED = Quantity(
    "names_renumbered", "values", "names in both training and a split that have different numbers there"
)
PERMUTED = Quantity(
    "codes_permuted", "", "codes of a split, and the other code in training that their samples look like"
)
GRAINS = Quantity(
    "shares_and_points",
    "samples",
    "samples of groups in which a number is between 0 and 1, while it is a whole number in the others",
)
KEPT, CELLS = 20_000, 2_000_000
"""The most rows, and values of all fields, that are kept."""
MOST, MOST_VALUES = 12, 50
"""The most fields of a kind that are compared, and values of a field that tells groups."""
LEAST, VALUES = 30, 10
"""The fewest rows of a split or group, and the fewest distinct values of numbers that are the same."""
USUAL, WITHIN, OUTSIDE = 0.6, 0.95, 0.005
"""The least share of rows that keep to an order; the least share of a group's rows that have it the other way round, and the most of
the other rows."""
ALWAYS, SELDOM = 0.99, 0.5
COMMON, MOVED = 10, 0.5
"""The fewest names in two splits, and the share that has another number from which they were numbered anew."""
AS_FAR = 0.25
"""The least share of the other rows in which two times lie closer together than they do in the swapped ones, in the median: what
only now and then comes before what it mostly follows is close to it."""
MEANS_APART, MEANS_NEAR = 5.0, 3.5
"""The largest distance of a mean, in standard errors, between two codes, and between one code in two splits."""
FRACTIONS = 0.3
"""The least share of fractions among shares of one: 0 and 1 are among them."""
PAIRED = (
    ("chosen", "rejected"), ("positive", "negative"), ("winner", "loser"), ("accepted", "rejected"), ("better", "worse"),
    ("start", "end"), ("begin", "end"), ("min", "max"), ("low", "high"), ("lower", "upper"),
)  # fmt: skip
"""Words by which two names tell that one number or time is the larger."""
FOLLOWING = (
    ("birth", "death"), ("born", "died"), ("birth", "died"), ("dob", "dod"), ("order", "delivery"), ("ordered", "delivered"),
    ("order", "delivered"), ("ordered", "shipped"), ("order", "shipped"), ("shipped", "delivered"), ("dispatched", "delivered"),
    ("admission", "discharge"), ("admitted", "discharged"), ("admit", "discharge"), ("opened", "closed"), ("created", "closed"),
    ("created", "resolved"), ("opened", "resolved"), ("created", "completed"), ("started", "completed"), ("started", "finished"),
    ("start", "finish"), ("begin", "finish"), ("pickup", "dropoff"), ("hire", "termination"), ("hired", "terminated"), ("onset", "recovery"),
    ("loan", "return"), ("borrowed", "returned"), ("issued", "expires"), ("issue", "expiry"), ("checkin", "checkout"), ("loss", "report"),
    ("started", "ended"), ("began", "ended"), ("start", "stop"), ("departure", "arrival"), ("departed", "arrived"), ("created", "updated"),
)  # fmt: skip
"""Words by which two names tell that one time cannot come before the other, however close they are."""
DAY = 86_400.0


class Relations(DrawnRows):
    ids = ("order-reversed", "preprocessing-differs", "scale-drift")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.numbers = [f.name for f in plain if f.kind == "number"][:MOST]
        self.ordered = [f.name for f in plain if f.kind == "number" or (f.name == context.label and f.dtype != "str")][
            :MOST
        ]
        """Those and the label, if it is a number: points from one to seven are classes too."""
        self.whole = [f.name for f in plain if f.kind == "number" and "int" in f.dtype][:MOST]
        self.all_numbers = list(dict.fromkeys([*self.numbers, *self.ordered, *self.whole]))
        self.times = [f.name for f in plain if f.kind == "time" or f.dtype == "str"][:MOST]
        """Fields that hold times, or texts that may be times."""
        texts = [f.name for f in plain if f.dtype == "str"]
        self.named = texts[:MOST] if self.context.several_splits else []
        self.groups = {name: Named(MOST_VALUES, whole=bool(self.named)) for name in texts[:MOST]}
        self.splits, self.files = Named(MOST_VALUES), Named(MOST_VALUES)
        self.parts = {
            "split": self.splits,
            FILE: self.files,
            **{f"group {name}": n for name, n in self.groups.items()},
        }
        """What the rows of one part may have in common: values by what is kept of them."""
        width = len(self.all_numbers) + len(self.times) + 2 * len(self.groups) + 4
        self.drawn = Drawn(min(KEPT, CELLS // width))
        self.beside = [*self.parts.values()]

    def applies(self) -> bool:
        return len(self.times) > 1 or (bool(self.ordered) and (len(self.ordered) > 1 or bool(self.groups)))

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.all_numbers}
        kept |= {f"number {name}": moments_of(block.columns.get(name), rows, as_others=True) for name in self.times}
        for name, named in self.groups.items():
            kept[f"group {name}"] = named.of(block.columns.get(name), rows)
        kept["split"] = self.splits.coded(split_of(self.context, block, rows))
        kept[FILE] = self.files.coded(files_of(block, rows))
        return kept

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        yield from self._orders(rows | {k: known(v) for k, v in rows.items() if k.startswith("number ")})
        if self.context.several_splits:
            yield from self._same(rows)
            yield from self._renumbered(rows)
            yield from self._codes(rows)
        yield from self._grains(rows)

    def _orders(self, rows: dict[str, Any]) -> Iterable[Fact]:
        import numpy as np

        for a, b in (*combinations(self.ordered, 2), *combinations(self.times, 2)):
            x, y = rows[f"number {a}"], rows[f"number {b}"]
            there = np.isfinite(x) & np.isfinite(y)
            differ = there & (x != y)
            total = int(differ.sum())
            if total < LEAST:
                continue
            less = float((x < y)[differ].mean())
            small, large = (a, b) if less >= 0.5 else (b, a)
            odd = differ & ((x > y) if less >= 0.5 else (x < y))
            n = int(odd.sum())
            if not n or total - n < USUAL * total:
                continue
            causes = a in self.times and _follows(small, large)
            if causes:  # a day begins before what happens on it
                odd &= ~_same_day(x, y)
                n = int(odd.sum())
            as_far = n > 0 and _mirrored(x - y, odd, differ & ~odd)  # two series that cross are close together there
            certain = as_far and swapped(
                x, y, odd, there & ~odd
            )  # equal ones too: two that are often 0 do not lie apart
            meant = causes or named(a, b) or (a in self.times and as_far)
            if not n or (not certain and not meant):
                continue
            told = next((t for name in self.parts if (t := self._part_of(name, rows, odd, differ)) is not None), None)
            if certain or causes or told is not None or n * FEW <= total:
                value = {"count": n, "of": total, "larger": large, "smaller": small, "swapped": certain}
                value["times"] = a in self.times
                value["part"] = told
                at = {"fields": [a, b]}
                yield Fact(ORDER, value | {"where": places(rows, odd, large)}, self.evidence("sampled", total), at)

    def _part_of(self, name: str, rows: dict[str, Any], odd: Any, differ: Any) -> str | None:
        """The one split, file or value of a field whose rows have the odd order, and hardly any others, in words."""
        import numpy as np

        if self.parts[name].many:
            return None
        values, whose = np.unique(rows[name], return_inverse=True)
        n, of = (np.bincount(whose[mask], minlength=len(values)) for mask in (odd, differ))
        if len(values) < 2:
            return None
        k = int(n.argmax())
        outside = int(of.sum() - of[k])
        if n[k] < LEAST / 3 or n[k] < WITHIN * of[k] or outside < LEAST or n.sum() - n[k] > OUTSIDE * outside:
            return None
        value = escaped(self.parts[name].texts.get(int(values[k]), ""))
        if not value:
            return None
        return (
            f"where {escaped(name.removeprefix('group '))} is {value}" if name.startswith("group ") else f"in {value}"
        )

    def _by_split(self, rows: dict[str, Any]) -> list[tuple[str, Any]]:
        """The splits with rows enough, and which rows they have."""
        found = [(name, rows["split"] == digest_of(name)) for name in sorted(self.splits.texts.values()) if name]
        return [(name, mask) for name, mask in found if mask.sum() >= LEAST]

    def _same(self, rows: dict[str, Any]) -> Iterable[Fact]:
        import numpy as np

        splits = self._by_split(rows)
        for a, b in combinations(self.numbers, 2):
            x, y = rows[f"number {a}"], rows[f"number {b}"]
            there = np.isfinite(x) & np.isfinite(y)
            shares = {s: float((x == y)[mask & there].mean()) for s, mask in splits if (mask & there).sum() >= LEAST}
            varied = all(many_values(x[mask & there], VALUES) for s, mask in splits if s in shares)
            if len(shares) > 1 and varied and max(shares.values()) >= ALWAYS and min(shares.values()) <= SELDOM:
                yield Fact(SAME, shares, self.evidence("sampled", int(there.sum())), {"fields": [a, b]})

    def _renumbered(self, rows: dict[str, Any]) -> Iterable[Fact]:
        import numpy as np

        splits = dict(self._by_split(rows))
        train = splits.pop("train", None)
        if train is None:
            return
        for text in self.named:
            for code in self.whole:
                known = _one_to_one(rows[f"group {text}"][train], rows[f"number {code}"][train])
                for split, mask in splits.items() if known else ():
                    other = _one_to_one(rows[f"group {text}"][mask], rows[f"number {code}"][mask])
                    common = known.keys() & other.keys()
                    moved = sum(known[name] != other[name] for name in common)
                    if len(common) >= COMMON and moved > MOVED * len(common):
                        value = {"count": moved, "of": len(common)}
                        seen = self.evidence("sampled", int(np.count_nonzero(mask)))
                        yield Fact(RENUMBERED, value, seen, {"field": code, "name": text, "split": split})

    def _codes(self, rows: dict[str, Any]) -> Iterable[Fact]:
        """Codes that another split permutes."""
        splits = dict(self._by_split(rows))
        train = splits.pop("train", None)
        for code in self.whole if train is not None else ():
            measures = [name for name in self.numbers if name != code]
            for split, mask in splits.items() if measures else ():
                moved = _permuted(rows, code, measures, train, mask)
                if moved:
                    value = {str(c): k for c, k in moved.items()}
                    yield Fact(
                        PERMUTED, value, self.evidence("sampled", int(mask.sum())), {"field": code, "split": split}
                    )

    def _grains(self, rows: dict[str, Any]) -> Iterable[Fact]:
        """Numbers that are shares of one in the rows of one group, and whole numbers beyond one in the others."""
        import numpy as np

        for group, held in self.groups.items():
            if held.many or set(words(group)) & UNITS:
                continue
            values, whose = np.unique(rows[f"group {group}"], return_inverse=True)
            for name in self.numbers if len(values) > 1 else ():
                x = rows[f"number {name}"]
                shares = []
                whole = []
                for k in range(len(values)):
                    own = x[(whose == k) & np.isfinite(x)]
                    if len(own) < LEAST:
                        continue
                    fractions = float((own != np.rint(own)).mean())
                    if fractions >= FRACTIONS and own.min() >= 0 and own.max() <= 1:
                        shares.append(k)
                    elif not fractions and own.max() > 1:
                        whole.append(k)
                if shares and len(whole) > 1 and len(shares) < len(whole):
                    odd = np.isin(whose, shares) & np.isfinite(x)
                    rest = x[np.isin(whose, whole) & np.isfinite(x)]
                    called = [held.texts.get(int(values[k]), "") for k in shares]
                    value = {
                        "groups": called,
                        "low": float(rest.min()),
                        "high": float(rest.max()),
                        "count": int(odd.sum()),
                    }
                    at = {"field": name, "group": group}
                    yield Fact(GRAINS, value | {"where": places(rows, odd, name)}, self.evidence("sampled", len(x)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(PERMUTED):
            code, split = (escaped(str(fact.at[key])) for key in ("field", "split"))
            pairs = [f"{c} looks like train's {k}" for c, k in fact.value.items()]
            text = f"{code} seems to be numbered differently in {split} than in train: judging by the means of the other columns, in {split} "
            text += ", ".join(pairs[:5]) + (", …" if len(pairs) > 5 else "")
            fix = "compare how both splits were encoded; fit the encoder on the training split, and apply it to the others"
            yield finding(
                "preprocessing-differs",
                "warning",
                text,
                fact,
                fix,
                [{"split": fact.at["split"], "field": fact.at["field"]}],
            )
        for fact in facts.all(GRAINS):
            v, name, group = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["group"]))
            text = f"{name} lies between 0 and 1 in the samples where {group} is {', '.join(map(escaped, v['groups'][:3]))}, and is a whole "
            text += f"number from {v['low']:g} to {v['high']:g} in the others"
            fix = "convert all to one scale, such as 1 + share x (highest - 1)"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(ORDER):
            v = fact.value
            large, small = escaped(v["larger"]), escaped(v["smaller"])
            less, more = ("earlier", "later") if v["times"] else ("smaller", "larger")
            text = f"{large} is {less} than {small} in {v['count']:,} of {number(v['of'], 'sample')}, and {more} in all others"
            if v["swapped"]:
                text += ", and each has the other's usual range there"
            if v["part"] is not None:
                text += f": those {v['part']}"
            severity: Severity = "error" if v["swapped"] else "warning"
            fix = "find out whether the two were swapped there; if so, swap them back, with any columns that belong to them"
            yield finding("order-reversed", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(SAME):
            (a, b), shares = (escaped(name) for name in fact.at["fields"]), fact.value
            same = max(shares, key=lambda s: shares[s])
            others = ", ".join(f"{share:.1%} of {escaped(s)}" for s, share in shares.items() if share < ALWAYS)
            text = f"{a} equals {b} in {'all' if shares[same] == 1 else format(shares[same], '.1%') + ' of the'} samples of {escaped(same)}"
            text += f", and in {others}"
            fix = "compute both the same way in every split: if one is the target or derived from it, scores on that split mean nothing"
            yield finding(
                "preprocessing-differs", "error", text, fact, fix, [{"split": same, "field": fact.at["fields"][0]}]
            )
        for fact in facts.all(RENUMBERED):
            v, code, name, split = fact.value, *(escaped(str(fact.at[key])) for key in ("field", "name", "split"))
            n = v["count"]
            text = f"{code} is numbered differently in {split} than in train: of {v['of']:,} values of {name} that are in both, {n:,} "
            text += f"{verb(n, 'have')} another {code}"
            fix = f"use train's numbering in {split} too: otherwise a model looks up the embedding of another {name}"
            yield finding(
                "preprocessing-differs",
                "error",
                text,
                fact,
                fix,
                [{"split": fact.at["split"], "field": fact.at["field"]}],
                n,
            )


def known(values: Any) -> Any:
    """Numbers without those that stand for missing ones, which are NaN."""
    import numpy as np

    marks = placeholders(*np.unique(values[np.isfinite(values)], return_counts=True))
    return np.where(np.isin(values, marks), np.nan, values) if marks else values


def _mirrored(apart: Any, odd: Any, others: Any) -> bool:
    """Whether two numbers lie as far apart in the odd rows as they do in the others."""
    import numpy as np

    return bool(np.median(np.abs(apart[odd])) >= np.quantile(np.abs(apart[others]), AS_FAR))


def _permuted(rows: dict[str, Any], code: str, measures: list[str], train: Any, other: Any) -> dict[int, int]:
    """The codes of another split whose samples have the means of another code in training, and of which; none unless these are a
    permutation. A mean differs by its standard errors."""
    import numpy as np

    def means(mask: Any) -> dict[int, tuple[Any, Any]]:
        found = {}
        for value in np.unique(rows[f"number {code}"][mask]):
            held = np.stack([rows[f"number {m}"][mask & (rows[f"number {code}"] == value)] for m in measures])
            if held.shape[1] >= LEAST / 2 and np.isfinite(held).all():
                found[int(value)] = held.mean(1), held.var(1) / held.shape[1]
        return found

    known, found = means(train), means(other)
    if not 2 < len(known) <= MOST_VALUES or known.keys() != found.keys():
        return {}
    like: dict[int, int] = {}
    sure = 0
    for c, (mean, error) in found.items():
        far = {k: float(np.sqrt((mean - m) ** 2 / np.maximum(error + e, 1e-300)).max()) for k, (m, e) in known.items()}
        like[c] = min(far, key=lambda k: far[k])
        if far[like[c]] > MEANS_NEAR:
            return {}
        sure += like[c] != c and far[c] >= MEANS_APART
    moved = {c: k for c, k in like.items() if c != k}
    return moved if sure > 1 and {*like.values()} == {*known} else {}


def named(one: str, other: str) -> bool:
    """Whether two names tell that one number is always the larger."""
    a, b = ({*words(name)} for name in (one, other))
    return any((x in a and y in b) or (y in a and x in b) for x, y in PAIRED)


def _follows(first: str, later: str) -> bool:
    """Whether the names of two times tell that the one comes first."""
    before, after = ({*words(name)} for name in (first, later))
    return any(x in before and y in after for x, y in FOLLOWING)


def _same_day(x: Any, y: Any) -> Any:
    """Which of two times are on one day, where one of both says no more than the day, bool [n]."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        whole = [bool((v[np.isfinite(v)] % DAY == 0).all()) for v in (x, y)]
        return (x // DAY == y // DAY) & any(whole)


def _one_to_one(names: Any, codes: Any) -> dict[int, float]:
    """The code of each name, if each has one of its own; else none."""
    import numpy as np

    there = np.isfinite(codes)
    pairs = np.unique(np.stack([names[there].view(np.int64), codes[there].view(np.int64)], 1), axis=0)
    if len(pairs) == there.sum() or any(len(np.unique(pairs[:, k])) < len(pairs) for k in (0, 1)):
        return {}
    return dict(zip(pairs[:, 0].tolist(), pairs[:, 1].view(np.float64).tolist(), strict=True))


CHECK = Relations
