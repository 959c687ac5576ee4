"""Numbers that are rolling statistics of another column of their series, such as the mean of the last seven days: those of the label that
count the row's own in or later ones, those of any column that look ahead, and those whose windows differ from one part of the data to another.

Method: exact arithmetic. Series are tried by each choice of fields, and windows on a few rows, up to the rounding of the number; a window is
one only where it gives nearly all of the number's values, also those that a window without the row itself does not give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.scores import nearness
from dataloader_expert.checks.common.series_rows import FIELDS, Order, SeriesRows
from dataloader_expert.checks.giveaways.windows import Window, around, candidates, over, statistics
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.roles import words

ROLLING = Quantity(
    "rolling_window",
    "",
    "a number that is a rolling statistic of another column: over which rows, and in what share of the rows",
)
DIFFERS = Quantity(
    "rolling_windows_differ", "samples", "rows in which a rolling statistic uses another window than in the others"
)
PAIRS, UNNAMED = 24, 6
"""The most pairs of columns, and of those whose names tell nothing."""
FIRST, SOME, TRIED, MATCHED = 16, 3, 48, 12
"""Rows on which windows are tried first, and the fewest of these that one must give; rows on which they are tried then, and the fewest."""
OPEN = tuple(Window(stat, None, end) for end in (-1, 0) for stat in ("mean", "sum"))
"""Windows from the beginning of a series on."""
PART, NEARLY, LEAST = 0.4, 0.95, 30
"""The least share of these rows; that of all rows which makes a number the statistic; and the fewest rows that tell two windows apart."""
AGAINST = 0.1
"""How many rows only a window without the row itself may give, of those that only the one with it gives."""
REST, OF_REST = 0.02, 0.9
"""The least share of rows that another window explains, and of those that the first one does not give."""
TOGETHER, RELATED = 0.5, 0.1
"""The least correlation of two columns without a name in common, and of those with one."""
COMMON = 0.5
"""A value that a larger share of rows has tells little, such as 0 of rare events."""
STRAIGHT = 0.5
"""The least share of the rows at which a number changes by which it is a counter."""
LUCK = 0.4
"""The largest share of rows in which the number equals that of another row, up to its rounding."""
OF_WINDOWS = {
    "mean", "avg", "average", "ma", "sma", "sum", "total", "max", "min", "std", "roll", "rolling", "lag", "lagged", "prev",
    "previous", "last", "past", "hist", "cum", "cumulative", "running", "window", "trailing", "expanding", "date", "moving",
}  # fmt: skip
FUTURE = {
    "next", "future", "fut", "fwd", "forward", "ahead", "lead", "target", "label", "y", "horizon", "forecast", "tomorrow",
    "upcoming", "remaining", "later", "expected", "predicted", "prediction", "pred",
}  # fmt: skip
"""Words by which a column says itself that it is of later rows: what is to be predicted, or a transition's next state."""
PAST = {"lag", "lagged", "prev", "previous", "last", "past", "hist", "trailing"}


SHOWN, FITTED = 1_000, 5_000
"""Rows of an order that show whether any window gives a number, and those in which windows are looked for."""
TRIED = 20_000
"""Rows that show whether numbers are many."""


class Fit(NamedTuple):
    """The window that gives a number, and where: of each row in an order, whether it can be told, and whether the window gives it."""

    window: Window
    order: Order
    told: Any
    given: Any

    @property
    def share(self) -> float:
        return float(self.given[self.told].mean()) if self.told.any() else 0.0


class Rolling(SeriesRows):
    ids = ("label-leaked-by-field", "preprocessing-differs", "time-leakage")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, *roles.keys) if r is not None} | {*self.times}
        plain = [f for f in context.fields if not f.shape and f.name not in aside and f.dtype not in ("str", "bool")]
        measured = [f.name for f in plain if f.kind == "number" or f.name == context.label]
        self.numbers = sorted(measured, key=lambda name: name != context.label)[:FIELDS]

    def applies(self) -> bool:
        return len(self.numbers) > 1

    def reported(self) -> tuple[str, ...]:  # without times, which rows are later is not known
        return tuple(code for code in self.ids if self.times or code != "time-leakage")

    def facts(self) -> Iterable[Fact]:
        if not self.parts:
            return
        kept = self.rows()
        pairs = self._pairs(kept)
        if not pairs:
            return
        told: set[str] = set()
        for whole in self.orders(kept):
            order = whole.head(FITTED)
            for name, of in pairs:
                if name in told or {name, of} & set(order.names):
                    continue
                x, y = (kept[f"number {one}"][order.rows] for one in (name, of))
                few = order.head(SHOWN)
                if len(few.rows) < len(x) and fitted(x[:SHOWN], y[:SHOWN], few) is None:
                    continue
                fit = fitted(x, y, order)
                if fit is None:
                    continue
                found = list(self._told(name, of, fit, x, y, kept))
                if found:
                    told.add(name)
                    yield from found

    def _pairs(self, kept: dict[str, Any]) -> list[tuple[str, str]]:
        """The columns that may be statistics of others, and of which; the likeliest first."""
        found = []
        step = max(1, len(kept["sample"]) // TRIED)
        for name in self.numbers:
            own = {*words(name)}
            x = kept[f"number {name}"]
            if name == self.context.label or not _varied(x[::step]):
                continue
            for of in self.numbers:
                if of == name:
                    continue
                called = bool(own & OF_WINDOWS)
                shared = {word for word in own.intersection(words(of)) if len(word) > 1 and word.isalpha()}
                related = bool(shared) and (called or own > {*words(of)})
                r = _correlation(x[::step], kept[f"number {of}"][::step])
                likely = r >= (RELATED if related else TOGETHER) and (related or called or self.times)
                if likely and not _copies(x, kept[f"number {of}"], tellable(x)):
                    found.append((not related, not called, -r, name, of))
        unnamed = [pair for pair in sorted(found) if pair[0] and pair[1]][:UNNAMED]
        return [(name, of) for *_, name, of in [*(p for p in sorted(found) if not (p[0] and p[1])), *unnamed][:PAIRS]]

    def _told(self, name: str, of: str, fit: Fit, x: Any, y: Any, kept: dict[str, Any]) -> Iterator[Fact]:

        at = {"field": name, "of": of}
        seen = self.evidence(n=int(fit.told.sum()))
        value = {"series": list(fit.order.names), "timed": bool(self.times), "share": round(fit.share, 4)}
        value |= {"label": of == self.context.label}
        if fit.share >= NEARLY:
            if telling(fit, x, y):
                yield Fact(ROLLING, value | {"window": list(fit.window)}, seen, at)
            return
        other = second(fit, x, y)
        if other is None:
            return
        odd, usual = other.told & other.given & ~fit.given, fit.told & fit.given
        places = kept["sample"][fit.order.rows]
        where = self.part_of(kept, *(fit.order.rows[mask] for mask in (odd, usual)))
        if where is None:
            return
        value |= {"window": list(other.window), "usual": list(fit.window), "count": int(odd.sum())}
        value |= {"of": int(odd.sum() + usual.sum()), "sample": int(places[odd].min())}
        yield Fact(DIFFERS, value | where, seen, at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ROLLING):
            told = self._judged(fact)
            if told is not None:
                yield told
        for fact in facts.all(DIFFERS):
            v, name, of = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["of"]))
            there, usual = (Window(*v[key]) for key in ("window", "usual"))
            text = f"{name} is computed differently {self.part_said(v)}: there it is {there.called(of)}, elsewhere "
            text += f"{usual.called(of)}{_within(v)}, exactly, in {v['count']:,} and {v['of'] - v['count']:,} rows"
            if there.own != usual.own or there.later != usual.later:
                text += "; a window that includes the row's own value or later ones is not known at prediction time"
            fix = "compute it the same way for all rows, and from earlier rows only if the column is the target"
            severity: Severity = "error" if v["by"] == "" else "warning"
            where = [{"sample": v["sample"], "file": self.files.of(v["sample"]), "field": fact.at["field"]}]
            yield finding("preprocessing-differs", severity, text, fact, fix, where, v["count"])

    def _judged(self, fact: Fact) -> Finding | None:
        v, window, field = fact.value, Window(*fact.value["window"]), str(fact.at["field"])
        said = set(words(field))
        name, of = escaped(field), escaped(str(fact.at["of"]))
        text = f"{name} is {window.called(of)}{_within(v)}, exactly, in {v['share']:.1%} of the rows"
        fix = f"compute {name} from earlier rows only, such as from {of} shifted by one row, before the window is taken"
        where = [{"field": field}]
        if v["label"] and (window.own or (v["timed"] and window.later and not said & FUTURE)):
            severity: Severity = "info" if self.context.guessed else "warning"
            text += f": it gives {of} away, which is not known at prediction time"
            return finding("label-leaked-by-field", severity, text, fact, fix, where)
        if not v["timed"] or not window.later or said & FUTURE:
            return None
        if window.rows == 1 and not said & PAST:
            return None  # one of both is the other one of an earlier row, whichever
        text += ": it looks ahead to rows that are not known yet at that time"
        fix += "; if it is the target, keep it out of the features"
        smoothed = window.first is not None and window.first < 0
        return finding("time-leakage", "info" if smoothed else "warning", text, fact, fix, where)


def fitted(x: Any, y: Any, order: Order) -> Fit | None:
    """The window of ``y`` that gives most values of ``x`` in this order; None if none gives enough of them."""
    return None if straight(y, order) else _searched(x, y, order, tellable(x), PART)


def second(fit: Fit, x: Any, y: Any) -> Fit | None:
    """The window that gives nearly all the rows that the first one does not."""
    import numpy as np

    rest = fit.told & ~fit.given
    if rest.sum() < max(LEAST, REST * fit.told.sum()) or fit.given.sum() < LEAST:
        return None
    other = _searched(x, y, fit.order, rest, OF_REST)
    if other is None or other.window == fit.window or len(np.unique(x[rest])) < MATCHED:
        return None
    enough = (other.told & other.given & ~fit.given).sum() >= LEAST
    return other if other.share >= OF_REST and enough else None


def _searched(x: Any, y: Any, order: Order, told: Any, part: float) -> Fit | None:
    """The window that gives the most of some rows, if at least so large a part of them."""
    import numpy as np

    rows = np.flatnonzero(told)
    likely = _likely(x, y, order, _spread(rows, FIRST)) if len(rows) >= LEAST else None
    best = None if likely is None else _best(x, y, order, _spread(rows, TRIED), part, *likely)
    if best is None:
        return None
    values = over(best, y, order)
    known = told & np.isfinite(values)
    given = known & (np.abs(values - x) <= nearness(x))
    return Fit(best, order, known, given) if given.sum() >= LEAST else None


def _likely(x: Any, y: Any, order: Order, rows: Any) -> tuple[Any, Any] | None:
    """The first and last rows of the windows that give some of these numbers; None if none gives more of them than the best one gives of the
    same numbers in another order: each of thousands of windows gives some, where numbers are small and whole."""
    import numpy as np

    near = nearness(x)
    numbers = np.stack([x[rows], np.roll(x[rows], len(rows) // 2)])
    openly = [int((np.abs(over(window, y, order)[rows] - numbers) <= near).sum(1)[0]) for window in OPEN]
    first, last = candidates()
    most, kept = [max(openly), 0], np.zeros(len(first), bool)
    for values in statistics(around(y, order, rows), first, last).values():
        own, turned = ((np.abs(values - of[:, None]) <= near).sum(0) for of in numbers)
        most = [max(most[0], int(own.max())), max(most[1], int(turned.max()))]
        kept |= own >= SOME
    return (first[kept], last[kept]) if most[0] >= max(SOME, most[1] + 1) else None


def _best(x: Any, y: Any, order: Order, rows: Any, part: float, first: Any, last: Any) -> Window | None:
    """Of these windows and those of all rows before, the one that gives the most of these rows, if at least so large a part; of earlier rows
    only, if another does no better."""
    import numpy as np

    near = nearness(x)
    best: tuple[int, Window] | None = None
    for window in OPEN:
        matched = int((np.abs(over(window, y, order)[rows] - x[rows]) <= near).sum())
        if matched >= max(MATCHED, part * len(rows)) and (best is None or matched > best[0]):
            best = matched, window
    for stat, values in statistics(around(y, order, rows), first, last).items() if len(first) else ():
        known = np.isfinite(values)
        matches = (np.abs(values - x[rows][:, None]) <= near).sum(0)
        matches[matches < np.maximum(MATCHED, part * known.sum(0))] = 0
        k = int(matches.argmax())
        if matches[k] and (best is None or matches[k] > best[0]):
            best = int(matches[k]), Window(stat, int(first[k]), int(last[k]))
    return best[1] if best is not None else None


def _spread(rows: Any, most: int) -> Any:
    """Some of these rows, spread evenly."""
    import numpy as np

    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)] if len(rows) > most else rows


def telling(fit: Fit, x: Any, y: Any) -> bool:
    """Whether windows of earlier rows only do not give the number as well: values that hardly change are given by any window."""
    import numpy as np

    window = fit.window
    if window.last < 0:
        return True
    others = [Window(window.stat, window.first, -1)] if window.first is None or window.first < 0 else []
    others += [Window(window.stat, -window.rows, -1)] if window.rows is not None else []
    for other in others:
        values = over(other, y, fit.order)
        near = np.abs(values - x) <= nearness(x)
        both = fit.told & np.isfinite(values)
        only = int((both & fit.given & ~near).sum())
        if only < LEAST or (both & near & ~fit.given).sum() > AGAINST * only:
            return False
    return True


def straight(y: Any, order: Order) -> bool:
    """Whether a number mostly goes up or down by equal steps, as a counter does, or never changes: its means are its own values elsewhere."""
    import numpy as np

    inner = (order.begin[1:-1] < np.arange(1, len(y) - 1)) & (order.end[1:-1] > np.arange(2, len(y)))
    before, own, after = y[:-2][inner], y[1:-1][inner], y[2:][inner]
    moves = np.isfinite(before + own + after) & (before != after)
    bend = np.abs(after - 2 * own + before) <= 1e-6 * np.abs(after - before)
    return bool(moves.sum() < LEAST or bend[moves].mean() >= STRAIGHT)


def tellable(x: Any) -> Any:
    """Rows whose number says something: it is there, and no value that very many rows have; bool [n]."""
    import numpy as np

    there = np.isfinite(x)
    values, which, counts = np.unique(x[there], return_inverse=True, return_counts=True)
    made = there.copy()
    if len(values):
        made[there] = (counts <= COMMON * there.sum())[which]
    return made


def _varied(x: Any) -> bool:
    """Whether equal numbers are no chance."""
    import numpy as np

    known = x[tellable(x)]
    if len(known) < LEAST:
        return False
    ordered = np.sort(known)
    near = nearness(x)
    like = np.searchsorted(ordered, known + near, "right") - np.searchsorted(ordered, known - near, "left")
    return float(like.mean()) <= LUCK * len(known)


def _correlation(x: Any, y: Any) -> float:
    """The size of the correlation."""
    import numpy as np

    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < LEAST:
        return 0.0
    a, b = x[both], y[both]
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(abs(np.corrcoef(a, b)[0, 1]))


def _copies(x: Any, y: Any, both: Any) -> bool:
    """Whether very many numbers of these rows are the same: then the largest and the smallest of any rows may be the row's own."""
    return bool((x[both] == y[both]).mean() > PART) if both.any() else False


def _within(v: dict[str, Any]) -> str:
    return f" (among rows with the same {' and '.join(map(escaped, v['series']))})" if v["series"] else ""


CHECK = Rolling
