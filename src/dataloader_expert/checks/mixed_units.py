"""Numbers in another unit in the rows of one site, device or file: degrees Fahrenheit among degrees Celsius.

The rows in which a field has one value, or those of one file, are such a group if hardly any of their numbers lies where those of the
other rows do, and nearly all would after a usual conversion. The other rows must agree among themselves: where each kind of thing
has a size of its own, these are no units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import mul
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.drawn import Drawn
from dataloader_expert.checks.fingerprint import digest64
from dataloader_expert.checks.rows_kept import numbers_of, texts_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

UNITS = Quantity("mixed_units", "samples", "rows of one group whose numbers fit those of the others after a conversion")
LEAST, GROUPS, MOST_GROUPS = 30, 3, 50
"""The fewest rows of a group, and the fewest and most groups of a field."""
KEPT, CELLS = 20_000, 2_000_000
"""The most rows, and numbers of all fields, that are kept."""
INSIDE = 0.02
"""The share of rows at either end that is left out where two groups are compared."""
CLOSE = 0.25
"""Interquartile ranges by which quantiles may differ after the conversion, for about the same distribution."""
FILE = "the file"
"""Stands for the field whose values are the names of files."""
FACTORS: dict[str, float] = {
    "inches to centimetres": 2.54, "pounds to kilograms": 0.45359, "miles to kilometres": 1.60934, "feet to metres": 0.3048,
    "m/s to km/h": 3.6, "mmol/l to mg/dl (glucose)": 18.016, "a thousandth to one": 1000.0, "a hundredth to one": 100.0,
    "minutes to seconds": 60.0, "hours to seconds": 3600.0, "square feet to square metres": 0.092903, "gallons to litres": 3.78541,
    "ounces to grams": 28.3495, "kcal to kJ": 4.184, "mmHg to kPa": 0.133322, "mg/dl to µmol/l (creatinine)": 88.42,
}  # fmt: skip


def _conversions() -> dict[str, Callable[[Any], Any]]:
    """By what they do: functions of arrays of numbers."""
    found: dict[str, Callable[[Any], Any]] = {
        "°F to °C": lambda x: (x - 32) / 1.8,
        "°C to °F": lambda x: x * 1.8 + 32,
        "K to °C": lambda x: x - 273.15,
        "°C to K": lambda x: x + 273.15,
    }
    for name, factor in FACTORS.items():
        source, target = name.split(" to ", 1)
        found[name], found[f"{target} to {source}"] = partial(mul, factor), partial(mul, 1 / factor)
    return found


class MixedUnits(Check):
    ids = ("scale-drift",)
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.numbers = [f.name for f in plain if f.kind == "number"]
        self.groups = [f.name for f in plain if f.kind in ("category", "text", "boolean") and f.name != context.label]
        self.called: dict[str, dict[int, str]] = {name: {} for name in (*self.groups, FILE)}
        """By field the values by their digests; without those of a field that has too many to be one of groups."""
        width = len(self.numbers) + len(self.groups) + 1
        self.drawn = Drawn(min(KEPT, CELLS // max(1, width)))

    def applies(self) -> bool:
        return bool(self.numbers)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        rows = self.drawn.rows(block) if block.samples else ()
        if not len(rows):
            return
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.numbers}
        for name in self.groups:
            kept[f"group {name}"] = self._named(name, texts_of(block.columns.get(name), rows, 80))
        kept[f"group {FILE}"] = self._named(FILE, [block.file(int(i)) for i in rows])
        self.drawn.keep(block, rows, kept)

    def _named(self, group: str, texts: list[str]) -> Any:
        import numpy as np

        known: dict[str, int] = {text: digest64(text.encode("utf-8", "surrogatepass")) for text in set(texts)}
        self._note(group, {digest: text for text, digest in known.items()})
        return np.array([known[text] for text in texts], np.uint64)

    def _note(self, group: str, names: dict[int, str]) -> None:
        if group in self.called:
            self.called[group].update(names)
            if len(self.called[group]) > MOST_GROUPS:
                del self.called[group]

    def merge(self, other: Check) -> None:
        assert isinstance(other, MixedUnits)
        self.seen += other.seen
        self.drawn.merge(other.drawn)
        for group in [g for g in self.called if g not in other.called]:
            del self.called[group]
        for group, names in other.called.items():
            self._note(group, names)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        for group in self.called:
            values, whose = np.unique(rows[f"group {group}"], return_inverse=True)
            if not GROUPS <= len(values) <= MOST_GROUPS:
                continue
            for name in self.numbers:
                numbers = rows[f"number {name}"]
                there = np.isfinite(numbers)
                for k, how, own, others in odd_groups(numbers[there], whose[there], len(values)):
                    value = {
                        "of": self.called[group].get(int(values[k]), ""),
                        "rows": int((whose[there] == k).sum()),
                        "how": how,
                        "median": own,
                        "others": others,
                    }
                    yield Fact(
                        UNITS,
                        value,
                        self.evidence("sampled", int(there.sum())),
                        {"field": name, "group": group, "of": k},
                    )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        told: dict[str, str] = {}
        for fact in facts.all(UNITS):
            v, name, group = fact.value, str(fact.at["field"]), str(fact.at["group"])
            if told.setdefault(name, group) != group:
                continue  # by the first field that tells the rows
            where = f"in {escaped(v['of'])}" if group == FILE else f"in which {escaped(group)} is {escaped(v['of'])}"
            yield finding(
                "scale-drift",
                "warning",
                f"{escaped(name)} seems to be in another unit in the samples {where}: its median is {v['median']:.4g} there and "
                f"{v['others']:.4g} in the others, and converted ({v['how']}) the values are distributed like those",
                fact,
                "convert these values, if that is so",
                [{"field": name}] if group != FILE else [{"field": name, "file": v["of"]}],
                v["rows"],
            )


def odd_groups(numbers: Any, whose: Any, n: int) -> Iterator[tuple[int, str, float, float]]:
    """The groups whose numbers lie apart from all others and among them once converted, how, and the medians of both."""
    import numpy as np

    sizes = np.bincount(whose, minlength=n)
    large = [k for k in range(n) if sizes[k] >= LEAST]
    if len(large) < GROUPS:
        return
    reach = {k: np.quantile(numbers[whose == k], [INSIDE, 0.5, 1 - INSIDE]) for k in large}
    for k in large:
        low, _, high = reach[k]
        lows, middles, highs = np.array([reach[j] for j in large if j != k]).T
        apart = bool(((high < lows) | (low > highs)).all())
        alike = (
            lows.max() <= middles.min() and middles.max() <= highs.min()
        )  # each has its middle within the reach of all
        if not apart or not alike or 2 * sizes[k] > len(numbers):
            continue
        own, rest = numbers[whose == k], numbers[whose != k]
        fits = sorted((_distance(convert(own), rest), how) for how, convert in _conversions().items())
        if fits[0][0] <= CLOSE:
            yield k, fits[0][1], float(np.median(own)), float(np.median(rest))


def _distance(one: Any, two: Any) -> float:
    """The largest difference of five quantiles, in interquartile ranges of the narrower."""
    import numpy as np

    a, b = (np.quantile(x, [0.1, 0.25, 0.5, 0.75, 0.9]) for x in (one, two))
    spread = min(a[3] - a[1], b[3] - b[1])
    return float(np.abs(a - b).max() / spread) if spread > 0 else math.inf


CHECK = MixedUnits
