"""Recordings whose two channels are the same in one split, by one recorder or in one folder, where those of the others differ: mono that was stored
as stereo. A model that uses both channels hears no direction there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import Cohorts, confined, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

TWINS = Quantity(
    "twin_channels", "samples", "recordings of a part whose channels are the same, while those of the others differ"
)
KEPT, LEAST, STILL = 10_000, 8, 1e-4
"""The most recordings that are looked at, the fewest of a part and of all others, and how far channels may differ, of their size, which lossy
formats leave."""


class TwinChannels(DrawnRows):
    ids = ("channel-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.name = next((f.name for f in context.fields if f.kind == "audio"), "")
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(KEPT)
        self.beside, self.needs = [self.cohorts], [self.name]

    def applies(self) -> bool:
        return bool(self.name)

    def looked(self) -> bool:
        return bool(self.drawn.parts)

    def rows(self, block: Block) -> Any:
        rows, values = super().rows(block), block.columns[self.name].values
        return rows[[stereo(values[i]) for i in rows.tolist()]]

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.name].values
        return {"twins": np.array([twins(values[i]) for i in rows.tolist()], bool)} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        found = confined(self.cohorts, rows, rows["twins"], LEAST)
        if found is not None:
            value: dict[str, Any] = {"of": found[1], "count": int(rows["twins"].sum()), "seen": len(rows["twins"])}
            value["where"] = places(rows, rows["twins"], self.name)
            evidence = self.evidence("sampled", len(rows["twins"]))
            yield Fact(TWINS, value, evidence, {"field": self.name, "kind": found[0]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TWINS):
            v = fact.value
            text = f"the channels of {escaped(self.name)} are the same in {v['count']:,} of {number(v['seen'], 'recording')}, all "
            text += f"{told_of(str(fact.at['kind']), v['of'])}; those of the others differ"
            fix = "mix all recordings down to mono, or fetch these in stereo: they were probably mono and stored as stereo"
            yield finding("channel-drift", "warning", text, fact, fix, v["where"], v["count"])


def stereo(value: Any) -> bool:
    """Whether there are two channels, and they are not silent."""
    return hasattr(value, "dtype") and value.ndim == 2 and value.shape[1] == 2 and bool(value.any())


def twins(value: Any) -> bool:
    """Whether the two channels are the same."""
    import numpy as np

    left, right = value.astype(np.float64).T
    size = float(np.sqrt((left**2).mean() + (right**2).mean()))
    return bool(np.sqrt(((left - right) ** 2).mean()) <= STILL * size)


CHECK = TwinChannels
