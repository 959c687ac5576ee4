"""Empty masks or images without objects in a row, though the images look like those that show something: this stretch was not annotated.

Images that show nothing are wanted, and come in rows too, as frames of open water do. But then they look like the other empty ones. Where there are
hardly any others, a long row is only told as odd.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.class_tellers import by_means, numbers_of_content
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.rows_kept import Named, at_of, in_order, places, split_of
from dataloader_expert.checks.common.swapped_classes import divergence
from dataloader_expert.checks.common.vectors import distances
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

UNMARKED = Quantity(
    "unmarked_run",
    "samples",
    "samples in a row whose annotations are empty, though their images look like annotated ones",
)
KEPT, SPLITS, NEAR = 5_000, 20, 1_000
"""The most samples and splits, and samples whose distances are compared."""
LEAST, RUN, KNOWN = 40, 5, 5
"""The fewest samples, those of a run, and the fewest other empty ones that tell what these look like."""
UNLIKE, USUAL, CHANCE = 0.6, 0.35, 1e-4
"""The least share of a run that looks annotated, the most of the other empty ones that do, and how unlikely the run must be by these."""
FIRM = 0.75
"""The least share of annotated samples that look so."""
LONG, SELDOM, FAR = 8, 0.05, 0.9
"""Where too few others are empty: the fewest samples of a row, the largest share of all others that is empty, and the quantile of distances of
annotated samples to the nearest one within which those of the row lie."""


class UnmarkedRun(Check):
    ids = ("empty-sequence",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        images = [f.name for f in context.fields if f.kind == "image"]
        self.image = images[0] if len(images) == 1 else ""
        objects = [context.classes_of_objects] if context.classes_of_objects is not None else []
        self.names = context.masks or objects
        self.splits, self.files = Named(SPLITS), Files()
        self.drawn = {name: Drawn(KEPT) for name in self.names}

    def applies(self) -> bool:
        return bool(self.image and self.names)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.image not in block.columns or not block.samples:
            return
        for name, drawn in self.drawn.items():
            rows = drawn.rows(block) if name in block.columns else np.zeros(0, np.int64)
            if not len(rows):
                continue
            kept = {"x": numbers_of_content(self.context, block, [self.image], rows)}
            kept["empty"] = np.array([_is_empty(block.columns[name], i) for i in rows.tolist()], np.int8)
            kept["split"] = self.splits.coded(split_of(self.context, block, rows))
            drawn.keep(block, rows, kept | at_of(block, rows))

    def merge(self, other: Check) -> None:
        assert isinstance(other, UnmarkedRun)
        self.seen += other.seen
        self.splits.merge(other.splits)
        self.files.merge(other.files)
        for name, drawn in self.drawn.items():
            drawn.merge(other.drawn[name])

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, drawn in self.drawn.items():
            if not drawn.parts:
                continue
            rows = in_order(drawn.all()[1])
            known = np.isfinite(rows["x"]).all(1) & (rows["empty"] >= 0)
            rows = {key: values[known] for key, values in rows.items()}
            empty = rows["empty"].astype(np.int64)
            if len(empty) < LEAST or not empty.any():
                continue
            for own in runs(empty == 1, rows["split"]):
                sure = unlike(rows["x"], empty, own)
                if not sure and not (own.sum() >= LONG and amid(rows["x"], empty, own)):
                    continue
                value: dict[str, Any] = {"sure": sure} | {
                    "count": int(own.sum()),
                    "others": int(empty.sum() - own.sum()),
                    "of": len(empty),
                }
                value |= {"first": int(rows["sample"][own].min()), "last": int(rows["sample"][own].max())}
                value["where"] = places(rows, own, name)
                at = {"field": name, "first": value["first"]}
                yield Fact(UNMARKED, value, self.evidence("sampled", len(empty)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(UNMARKED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            first, last = (escaped(self.files.of(v[at]) or f"sample {v[at]:,}") for at in ("first", "last"))
            text = f"{name} is empty in {number(v['count'], 'sample')} in a row, {first} to {last}, although their {escaped(self.image)} looks like that of "
            text += "annotated samples"
            others = f"only {v['others']:,}" if v["others"] else "none"
            text += (
                ": these were probably not annotated"
                if v["sure"]
                else f", and {others} of the other {v['of'] - v['count']:,} {verb(v['others'], 'are')} empty"
            )
            fix = "check a few: if they show something, annotate or drop them, as a model would learn it as background"
            severity: Severity = "warning" if v["sure"] else "info"
            yield finding("empty-sequence", severity, text, fact, fix, v["where"], v["count"])


def runs(empty: Any, split: Any) -> Iterable[Any]:
    """Runs of empty rows in one split, of ``RUN`` or more, bool [n] each."""
    import numpy as np

    starts = np.flatnonzero(np.concatenate([[True], (empty[1:] != empty[:-1]) | (split[1:] != split[:-1])]))
    for first, end in zip(starts, [*starts[1:], len(empty)], strict=True):
        if empty[first] and end - first >= RUN:
            own = np.zeros(len(empty), bool)
            own[first:end] = True
            yield own


def unlike(x: Any, empty: Any, own: Any) -> bool:
    """Whether the images of a run of empty rows look like those that are not empty, and other empty ones do not."""
    teller, rest = by_means(x, empty, 2), ~own
    if (rest & (empty == 1)).sum() < KNOWN:
        return False
    here, there = teller(own, rest) == 0, teller(rest, rest) == 0
    others, marked = there[empty[rest] == 1], there[empty[rest] == 0]
    usual = (float(others.sum()) + 1) / (len(others) + 2)
    if here.mean() < UNLIKE or others.mean() > USUAL or marked.mean() < FIRM:
        return False
    return bool(len(here) * divergence(float(here.mean()), usual) >= -math.log(CHANCE))


def amid(x: Any, empty: Any, own: Any) -> bool:
    """Whether hardly any others are empty, and the images of a run of empty rows lie among those of rows that are not."""
    import numpy as np

    if empty[~own].mean() > SELDOM:
        return False
    spread = x.std(0)
    z = ((x - x.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float64)
    marked, run = z[empty == 0][:NEAR], z[own][:NEAR]
    each = distances(marked, marked)
    np.fill_diagonal(each, np.inf)
    return bool(np.median(distances(run, marked).min(1)) <= np.quantile(each.min(1), FAR))


def _is_empty(column: Column, i: int) -> int:
    """1 of a mask of one value or of no objects, 0 of others, -1 where there is none."""
    import numpy as np

    value = column.values[i] if i < len(column.values) and (column.nulls is None or not column.nulls[i]) else None
    if value is None:
        return -1
    if isinstance(value, np.ndarray) and value.ndim >= 2:
        return int(not value.size or bool((value == 0).all()))
    return int(not len(value)) if hasattr(value, "__len__") else -1


CHECK = UnmarkedRun
