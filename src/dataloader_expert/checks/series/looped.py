"""Windows in which a channel repeats one stretch of its own exactly, as a buffer that was sent twice.

Measurements come again by chance, but not so many in a row; where most windows repeat themselves, they are periodic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.token_runs import runs
from dataloader_expert.checks.common.windows import windows_of
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

LOOPED = Quantity("looped_windows", "samples", "samples in which a channel repeats a stretch of its own, with places")
STEPS, LONGEST, LOOKED = 32, 256, 4_000
"""The fewest and most steps of a window, and the most windows that are looked at."""
LEAST, PART, VARIED = 12, 8, 0.9
"""The fewest steps that are repeated: so many, and one part of so many of the window; and the least share of different values among them."""
SEVERAL, FEW = 3, 0.2
"""The fewest such windows, and the largest share of them."""


class Looped(Check):
    ids = ("stuck-values",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.channels = windows_of(context, context.identifiers)
        self.found: dict[tuple[str, int], list[tuple[int, int]]] = {}
        """By field and channel, windows and how many steps are repeated."""
        self.of: dict[str, int] = {}
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.channels)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        self.files.note(block)
        for name, channels in self.channels.items():
            for first, values in channels.in_block(block):
                values = values[: max(0, LOOKED - block.index(first))]
                if STEPS <= values.shape[2] <= LONGEST and len(values):
                    self.of[name] = self.of.get(name, 0) + len(values)
                    for k in range(values.shape[1]):
                        self._look(block, (name, k), first, values[:, k])

    def _look(self, block: Block, key: tuple[str, int], first: int, values: Any) -> None:
        """``values``: samples, steps."""
        import numpy as np

        least = max(LEAST, values.shape[1] // PART)
        for i, window in enumerate(values):
            hashes = runs((window.astype(np.float64) + 0.0).view(np.int64), least)
            length = repeated(window) if len(np.unique(hashes)) < len(hashes) else 0
            if length:
                self.found.setdefault(key, []).append((block.index(first + i), length))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Looped)
        self.seen += other.seen
        self.files.merge(other.files)
        for key, found in other.found.items():
            self.found.setdefault(key, []).extend(found)
        for name, n in other.of.items():
            self.of[name] = self.of.get(name, 0) + n

    def facts(self) -> Iterable[Fact]:
        for (name, k), found in sorted(self.found.items()):
            if SEVERAL <= len(found) <= FEW * self.of[name]:
                lengths = sorted(length for _, length in found)
                value: dict[str, Json] = {"count": len(found), "of": self.of[name], "steps": lengths[len(lengths) // 2]}
                value |= {"where": self.files.places(sorted(sample for sample, _ in found), name)}
                yield Fact(LOOPED, value, self.evidence("sampled", self.of[name]), {"field": name, "component": k})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for name in dict.fromkeys(str(fact.at["field"]) for fact in facts.all(LOOPED)):
            of = sorted(facts.all(LOOPED, field=name), key=lambda fact: -fact.value["count"])
            v, channels = of[0].value, self.channels[name]
            called = [channels.called(int(str(fact.at["component"]))) for fact in of[:3]]
            what = escaped(name) if channels.width == 1 else ", ".join(called) + (", …" if len(of) > 3 else "")
            text = f"{what}: {v['count']:,} of {v['of']:,} samples repeat a stretch of {v['steps']:,} steps (median) exactly, as if a buffer was sent twice"
            fix = "check a few; unless the signal really repeats, drop these samples or mask the repeated steps"
            yield finding("stuck-values", "warning", text, of, fix, v["where"], v["count"])


def repeated(values: Any) -> int:
    """How many values in a row, [steps], are those of an earlier stretch, if these vary; 0 if too few are."""
    import numpy as np

    least = max(LEAST, len(values) // PART)
    best = 0
    for by in range(2, len(values) - least + 1):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], (values[by:] == values[:-by]).astype(np.int8), [0]])))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            stretch = values[start : min(end, start + by)]
            if (
                end - start >= max(least, best + 1)
                and len(stretch) >= least // 2
                and len(np.unique(stretch)) >= VARIED * len(stretch)
            ):
                best = end - start
    return best


CHECK = Looped
