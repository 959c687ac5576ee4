"""One user with a large share of all events, many times that of the next, who does not act as the others do: a program, or a test account.

Users differ by orders of magnitude, and rows without a user may share a name such as "guest". Told is who also gives one and the same
value always, where others hardly do, or acts many times as often as the next ones do while they are active.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import (
    NAME,
    digests_by_name,
    distinct,
    in_order,
    moments_of,
    numbers_of,
)
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column
from dataloader_expert.sources.roles import WHO, words

ACTIVE = Quantity("overactive", "samples", "rows of one user who has far more than any other, and behaves differently")
USERS = WHO | {
    "visitor",
    "account",
    "author",
    "player",
    "ip",
    "session",
    "rater",
    "worker",
    "caller",
    "sender",
    "poster",
}
"""Words in the names of fields of who does something."""
ROWS, FIELDS = 10_000, 4
SHARE, TIMES, LEAST, NEXT = 0.02, 5, 20, 20
"""The least share of one user, how many times as much as the next one has, and the fewest others and rows of one that are compared."""
CONSTANT, VARIED = 0.99, 0.7
"""The least share of one value of who always gives it, and the largest share of their most frequent one of most others."""
RATE, BRIEF = 10, 0.2
"""How many times as many events, for the time in which they come; and the largest part of that of the others that this time is."""


class Overactive(DrawnRows):
    ids = ("outliers",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        self.time = None if context.timed is None else context.timed.field
        plain = [f for f in context.fields if not f.shape]
        aside = {self.time, *(r.field for r in (roles.split, *roles.keys) if r is not None)}
        group = None if context.grouped is None else context.grouped.field
        self.user = next((f.name for f in plain if f.name == group and {*words(f.name)} & USERS), None)
        self.fields = [f.name for f in plain if f.kind in ("number", "category") and f.name not in {*aside, self.user}]
        self.fields = self.fields[:FIELDS]
        self.drawn = Drawn(ROWS)

    def applies(self) -> bool:
        return self.user is not None

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept = {f"value {name}": _values(block.columns.get(name), rows) for name in self.fields}
        if self.time is not None:
            kept["time"] = moments_of(block.columns.get(self.time), rows)
        user = block.columns.get(self.user or "")
        texts, codes = distinct(user, rows, NAME)
        kept["name"] = np.array(texts, object)[codes]
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        kept = in_order(self.drawn.all()[1])
        _, whose, counts = np.unique(kept["name"].astype(str), return_inverse=True, return_counts=True)
        top = int(counts.argmax())
        n, rest = len(whose), np.delete(counts, top)
        mine = whose == top
        if len(rest) < LEAST or counts[top] < max(SHARE * n, TIMES * rest.max()) or not kept["name"][mine][0].strip():
            return
        others = [k for k in np.argsort(-counts, kind="stable").tolist() if k != top and counts[k] >= LEAST][:NEXT]
        constant = [
            name for name in self.fields if len(others) >= 3 and _constant(kept[f"value {name}"], whose, top, others)
        ]
        faster = _faster(kept["time"], whose, top, others) if "time" in kept and others else None
        if constant or (faster is not None and faster >= RATE):
            value = {"user": str(kept["name"][mine][0]), "share": float(mine.mean()), "next": float(rest.max() / n)}
            value |= {"rows": round(float(mine.mean()) * self.seen), "constant": constant[:3], "faster": faster}
            yield Fact(ACTIVE, value, self.evidence("sampled", n), {"field": self.user})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ACTIVE):
            v, name = fact.value, escaped(str(fact.at["field"]))
            signs = [f"always has the same value of {escaped(field)}" for field in v["constant"]]
            if v["faster"] is not None and v["faster"] >= RATE:
                signs.append(f"acts {v['faster']:,.0f} times as often as the next while active")
            text = f"{name} {escaped(v['user'])} has {v['share']:.0%} of all rows, the next one {v['next']:.2%}, and {' and '.join(signs)}: "
            text += "this looks like a bot or a test account"
            fix = "leave its rows out, or cap the rows per user: they dominate what a model or a popularity baseline learns"
            yield finding(
                "outliers", "warning", text, fact, fix, [{"field": fact.at["field"], "value": v["user"]}], v["rows"]
            )


def _values(column: Column | None, rows: Any) -> Any:
    """What tells values apart: numbers, or digests."""
    import numpy as np

    plain = column is not None and isinstance(column.values, np.ndarray)
    return numbers_of(column, rows) if plain else digests_by_name(column, rows)


def _constant(values: Any, whose: Any, top: int, others: list[int]) -> bool:
    """Whether one user has a single value, where most of the others have several."""
    import numpy as np

    shares = [
        float(np.unique(values[whose == k], return_counts=True)[1].max() / (whose == k).sum()) for k in (top, *others)
    ]
    return shares[0] >= CONSTANT and float(np.median(shares[1:])) <= VARIED


def _faster(times: Any, whose: Any, top: int, others: list[int]) -> float | None:
    """How many times as many events one user has for the time in which nearly all come, as the fastest of most others; None if that time is
    about as long as theirs: it is then many users."""
    import numpy as np

    own = [times[(whose == k) & np.isfinite(times)] for k in (top, *others)]
    spans = [float(np.diff(np.quantile(part, [0.05, 0.95]))[0]) if len(part) else 0.0 for part in own]
    if min(spans) <= 0 or spans[0] > BRIEF * float(np.median(spans[1:])):
        return None
    rates = [len(part) / span for part, span in zip(own, spans, strict=True)]
    return float(rates[0] / np.quantile(rates[1:], 0.75))


CHECK = Overactive
