"""Labels that stop at a time: all samples after it have the one label that stands for none, though others had a steady share before.

Outcomes are entered late, exports end, and what was not labelled keeps the default. A trend fades and a season comes back: the others must
have had their share in each part of the time before, without as long a gap, also at this time of the day, the week and the year before; or
other groups, such as sites, still have them.
"""

from __future__ import annotations

import math
import time as clock
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.origins import SPLIT, Origins
from dataloader_expert.checks.common.rows_kept import Named, digest_of, moments_of, places
from dataloader_expert.checks.labels.label_facts import STOPPED
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

KEPT, MOST_CLASSES = 20_000, 50
LEAST, DRAWN = 1_000, 200
"""The fewest samples after the time, and of those that are looked at."""
PARTS, STEADY, GAP = 8, 0.5, 0.2
"""Parts of the time before, in each of which others have at least this part of their share, and the longest run without them in parts of the
samples after it."""
BEFORE, USUAL = 2.0, 0.2
"""How many times as long and as many the samples before it are, and the least share among them of the label that is left."""
CHANCE = 1e-12
"""How unlikely it must be that no other label is drawn after it."""
DAY = 86_400.0
PERIODS, SHORT = (DAY, 7 * DAY, 365.25 * DAY), 0.03
"""Seconds after which things come back by nature, and the part of these that is too short for a season."""
SINCE, UNTIL = 1e8, 5e9
"""Seconds since 1970 between which numbers may be times of the calendar."""


@dataclass(frozen=True)
class Stop:
    """The last time at which another label was given, which one is left, how many rows come after, and the share of others before."""

    at: float
    left: Any
    rows: Any
    share: float


class LabelsStopped(DrawnRows):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.time = None if context.timed is None else context.timed.field
        self.origins = Origins(context)
        self.labels = Named(MOST_CLASSES)
        self.drawn = Drawn(KEPT)
        self.beside = [self.labels, self.origins]

    def applies(self) -> bool:
        label = next((f for f in self.context.fields if f.name == self.context.label), None)
        return label is not None and not label.shape and self.time is not None and self.time != label.name

    def rows(self, block: Block) -> Any:
        return () if self.labels.many else super().rows(block)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = self.origins.of(block, rows)
        kept["label"] = self.labels.of(block.columns.get(self.context.label or ""), rows)
        kept["time"] = moments_of(block.columns.get(self.time or ""), rows)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts or self.labels.many:
            return
        _, rows = self.drawn.all()
        blank = np.array([digest_of(text) for text in ("", "None", "nan")], np.uint64)
        known = np.isfinite(rows["time"]) & ~np.isin(rows["label"], blank)
        rows = {name: values[known] for name, values in rows.items()}
        order = np.lexsort((rows["sample"], rows["time"]))
        rows = {name: values[order] for name, values in rows.items()}
        if not len(order):
            return
        of = max(1.0, self.seen / len(known))  # rows that were looked at stand for others
        every = np.arange(len(order))
        found = stopped(rows["time"], rows["label"], every, of)
        if found is not None:
            if seasons_excluded(found, rows["time"], rows["label"]) and not self._by_split(rows, found):
                yield self._fact(rows, found, None, "", of)
            return
        for name in self.origins.named:
            values, whose = self.origins.groups(name, rows) if name != SPLIT else ([], None)
            for k in range(len(values)):
                own = np.flatnonzero(whose == k)
                found = stopped(rows["time"], rows["label"], own, of)
                if (
                    found is not None
                    and goes_on(found, rows["time"], rows["label"], whose != k)
                    and not self._by_split(rows, found)
                ):
                    yield self._fact(rows, found, name, values[k], of)

    def _by_split(self, rows: dict[str, Any], found: Stop) -> bool:
        """Whether the samples after it are in splits of their own: what these lack is told of them."""
        import numpy as np

        if f"group {SPLIT}" not in rows:
            return False
        own = rows[f"group {SPLIT}"]
        after = np.zeros(len(own), bool)
        after[found.rows] = True
        return not np.isin(own[after], np.unique(own[~after])).any()

    def _fact(self, rows: dict[str, Any], found: Stop, name: str | None, of: str, times: float) -> Fact:
        import numpy as np

        after = np.zeros(len(rows["time"]), bool)
        after[found.rows] = True
        value = {
            "of": of,
            "left": self.labels.texts.get(int(found.left), ""),
            "since": float(rows["time"][found.rows[0]]),
            "rows": round(times * len(found.rows)),
            "share": found.share,
            "where": places(rows, after, self.context.label or ""),
        }
        return Fact(STOPPED, value, self.evidence("sampled", len(after)), {"field": name, "group": of})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        label = escaped(self.context.label)
        for fact in facts.all(STOPPED):
            v = fact.value
            within = (
                "" if fact.at["field"] is None else f" where {escaped(str(fact.at['field']))} is {escaped(v['of'])}"
            )
            left = self.context.class_name(int(v["left"]) if v["left"].isdecimal() else v["left"])
            text = f"{label} is {escaped(left)} in all {v['rows']:,} samples{within} from {escaped(self.time)} {_called(v['since'])} on, while "
            text += f"a steady {v['share']:.1%} of the earlier ones have another label"
            fix = "find out whether these samples were labelled at all; if not, leave them out until they are"
            severity: Severity = "info" if self.context.guessed else "warning"
            yield finding("label-odd-one-out", severity, text, fact, fix, v["where"], v["rows"])


def stopped(times: Any, label: Any, own: Any, of: float) -> Stop | None:
    """Where all labels but one stop in some rows, ``own``, in order of time; None where they do not, or fade, or have longer gaps before.

    ``of``: how many samples each row stands for.
    """
    import numpy as np

    if len(own) < DRAWN * (1 + BEFORE):
        return None
    left = label[own[-1]]
    others = label[own] != left
    known = np.flatnonzero(others)
    if not len(known):
        return None
    last = int(known[-1])
    after, before = own[last + 1 :], others[: last + 1]
    n, share = len(after), float(before.mean())
    if n * of < LEAST or n < DRAWN or len(before) < BEFORE * n or share > 1 - USUAL:
        return None
    parts = [float(part.mean()) for part in np.array_split(before, PARTS)]
    if min(parts) < STEADY * share or n * math.log1p(-min(share, min(parts))) > math.log(CHANCE):
        return None
    starts = np.concatenate([[0], known])
    begin, stop, end = times[own[0]], times[own[last]], times[own[-1]]
    length = end - stop
    if (
        np.diff(starts).max() > GAP * n
        or stop - begin < BEFORE * length
        or np.diff(times[own][starts]).max() > GAP * length
    ):
        return None
    return Stop(float(stop), left, after, share)


def seasons_excluded(found: Stop, times: Any, label: Any) -> bool:
    """Whether others were given a day, a week and a year before the time after it, where that is so long a part of these that night, the
    weekend or a season may be why there are none."""
    end = float(times[found.rows[-1]])
    for period in PERIODS if SINCE < found.at < UNTIL else ():
        then = (times > found.at - period) & (times <= end - period)
        if SHORT * period < end - found.at < period and not _given(found, label[then]):
            return False
    return True


def goes_on(found: Stop, times: Any, label: Any, others: Any) -> bool:
    """Whether other groups have labels besides that one after the time, as they had before."""
    end = times[found.rows[-1]]
    then = others & (times > found.at) & (times <= end)
    earlier = others & (times <= found.at)
    usual = float((label[earlier] != found.left).mean()) if earlier.any() else 0.0
    return _given(found, label[then]) and bool((label[then] != found.left).mean() >= STEADY * usual)


def _given(found: Stop, label: Any) -> bool:
    return len(label) >= DRAWN / 2 and bool((label != found.left).mean() >= STEADY * found.share)


def _called(time: float) -> str:
    """A time as a date, if it is one of the calendar."""
    if not SINCE < time < UNTIL:
        return f"{time:.12g}"
    return clock.strftime("%Y-%m-%d", clock.gmtime(time))


CHECK = LabelsStopped
