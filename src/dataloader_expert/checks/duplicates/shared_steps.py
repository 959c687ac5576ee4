"""Windows of a split that hold steps of training's windows: they were cut with an overlap, and dealt to the splits only then.

Steps in a row, by the numbers of all channels, hardly recur in measurements; where they stand at another place in the other window, the two are no
copies but windows of one recording. Where splits follow one another in time, their first windows reach back into training, and all these steps
are later in the windows of training, or all earlier if the split comes first: that is no leak of windows that were dealt out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.windows import windows_of
from dataloader_expert.conclusions import MAX_PLACES, Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SHARED = Quantity(
    "shared_steps", "samples", "windows of a split that hold steps of a training window at another place, with places"
)
ROW, LEAST_STEPS, VARIED = 8, 16, 0.5
"""Steps that are compared together, those of a window at least, and the least share of them that differ from all others."""
KEPT, MOST = 400_000, 100_000_000
"""The most rows of steps that are kept, those with the smallest digests; and the most numbers that are looked at."""
FEWEST, PART, BOTH = 10, 0.3, 0.05
"""The fewest windows of a split; the least share of them that hold steps of training; and the least share of the shared steps that are later, and
that are earlier, in windows of training, if these were not split by time."""
Rows = dict[str, Any]
"""Digests of rows of steps, their splits, samples, and places in their windows."""


class SharedSteps(Check):
    ids = ("splits-near-overlap",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        fields = {f.name: f for f in context.fields}
        windows = {n: c for n, c in windows_of(context).items() if fields[n].kind != "embedding"}
        self.channels = next(iter(windows.values()), None)
        self.splits: list[str] = list(context.splits)
        self.parts: list[Rows] = []
        self.many = self.longest = 0
        """Rows that are kept, and the most steps of a window."""
        self.pruned = False
        self.files = Files()

    def applies(self) -> bool:
        if self.channels is None or not self.context.several_splits or not self.context.near:
            return False
        size = math.prod(n or LEAST_STEPS for n in self.channels.shape)
        return (self.context.samples or 0) * size <= MOST

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.channels is None or not block.samples or not self.applies():
            return
        names, codes = self.context.splits_of(block)
        self.splits += [s for s in names if s is not None and s not in self.splits]
        known = np.array([-1 if s is None else self.splits.index(s) for s in names], np.int64)[codes]
        indices = block.indices()
        for first, values in self.channels.in_block(block):
            digests, sample, place = rows_of_steps(values)
            self.longest = max(self.longest, values.shape[2])
            keep = known[first + sample] >= 0
            at = first + sample[keep]
            self.parts.append({"row": digests[keep], "split": known[at], "sample": indices[at], "place": place[keep]})
            self.many += int(keep.sum())
        if self.many > 2 * KEPT:
            self._prune()

    def _prune(self) -> None:
        """Keeps the rows with the smallest digests: those of two windows that share them are kept in both or in neither."""
        import numpy as np

        rows = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        if len(rows["row"]) > KEPT:
            self.pruned = True
            limit = np.partition(rows["row"], KEPT)[KEPT]
            rows = {name: values[rows["row"] < limit] for name, values in rows.items()}
        self.parts, self.many = [rows], len(rows["row"])

    def merge(self, other: Check) -> None:
        import numpy as np

        assert isinstance(other, SharedSteps)
        self.seen += other.seen
        self.files.merge(other.files)
        self.splits += [s for s in other.splits if s not in self.splits]
        place = np.array([self.splits.index(s) for s in other.splits] or [0], np.int64)
        self.parts += [{**part, "split": place[part["split"]]} for part in other.parts]
        self.many += other.many
        self.longest = max(self.longest, other.longest)
        self.pruned |= other.pruned
        if self.many > 2 * KEPT:
            self._prune()

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts or "train" not in self.splits or self.channels is None:
            return
        self._prune()
        rows, train = self.parts[0], self.splits.index("train")
        order = np.lexsort((rows["place"], rows["row"]))
        rows = {name: values[order] for name, values in rows.items()}
        of_train = rows["split"] == train
        known, first = np.unique(rows["row"][of_train], return_index=True)
        if not len(known):
            return
        last = np.append(first[1:], of_train.sum()) - 1
        seldom = (
            last - first < self.longest
        )  # a step is in no more windows than these have steps; hours of the day recur in all
        places = rows["place"][of_train]
        at = np.minimum(np.searchsorted(known, rows["row"]), len(known) - 1)
        earlier, later = places[first[at]] < rows["place"], places[last[at]] > rows["place"]
        shared = (known[at] == rows["row"]) & (earlier | later) & seldom[at]
        for k, split in enumerate(self.splits):
            own = rows["split"] == k
            samples, found = np.unique(rows["sample"][own]), np.unique(rows["sample"][own & shared])
            if k != train and len(samples) >= FEWEST and len(found) >= PART * len(samples):
                of_both = min(float(side[own & shared].mean()) for side in (earlier, later))
                where = [{"sample": s, "split": split, "file": self.files.of(s)} for s in found[:MAX_PLACES].tolist()]
                value = {"count": len(found), "of": len(samples), "by_time": of_both < BOTH, "where": where}
                evidence = self.evidence("sampled", len(np.unique(rows["sample"]))) if self.pruned else self.evidence()
                yield Fact(SHARED, value, evidence, {"field": self.channels.name, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHARED):
            v, split, name = fact.value, escaped(str(fact.at["split"])), escaped(str(fact.at["field"]))
            looked = " that were looked at" if fact.evidence.how == "sampled" else ""
            text = f"{v['count']:,} of {v['of']:,} windows of {split}{looked} hold steps of windows of train, at another place in {name}: they seem to "
            severity: Severity = "info" if v["by_time"] else "warning"
            if v["by_time"]:
                text += "have been split by time, without a gap"
                fix = "leave a gap of one window between the splits, unless only inputs overlap and what is predicted comes after them"
            else:
                text += "have been cut with an overlap before they were split"
                fix = "split recordings, or stretches of them, first, and cut each part into windows then"
            yield finding("splits-near-overlap", severity, text, fact, fix, v["where"], v["count"])


def rows_of_steps(values: Any) -> tuple[Any, Any, Any]:
    """Of windows, [samples, channels, steps]: a digest of each row of ``ROW`` steps of which none is like the next, its sample, and its place
    in it; nothing of windows whose steps recur, as those of codes do."""
    import numpy as np

    _, channels, steps = values.shape
    if steps < LEAST_STEPS or values.dtype.kind != "f":
        none = np.zeros(0, np.int64)
        return none.astype(np.uint64), none, none
    factors = mix(np.arange(channels + ROW, dtype=np.uint64) + np.uint64(1)) | np.uint64(1)  # all odd
    bits = mix((values.astype(np.float64) + 0.0).view(np.uint64))
    each = (bits * factors[:channels, None]).sum(1, dtype=np.uint64)
    varied = 1 + (np.diff(np.sort(each, 1), axis=1) != 0).sum(1) >= VARIED * steps
    moves = np.cumsum(np.pad(each[:, 1:] != each[:, :-1], ((0, 0), (1, 0))), 1, dtype=np.int64)
    length = steps - ROW + 1
    rows = sum(each[:, k : k + length] * factors[channels + k] for k in range(ROW))
    whole = (
        (moves[:, ROW - 1 :] - moves[:, :length] == ROW - 1)
        & varied[:, None]
        & np.isfinite(values).all((1, 2))[:, None]
    )
    sample, place = np.nonzero(whole)
    return mix(rows[sample, place]), sample, place


CHECK = SharedSteps
