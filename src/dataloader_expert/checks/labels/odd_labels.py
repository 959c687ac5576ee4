"""Samples whose neighbours are all of one other class: probably mislabelled.

Method: the ten nearest neighbours in a sample of rows, by standardised short vectors. Reported only if nearest neighbours
separate the classes well, since only then a lone dissenter is odd (Wilson, "Asymptotic properties of nearest neighbor rules
using edited data", 1972).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.fingerprint import content_fields, digest64
from dataloader_expert.checks.common.vectors import most_of, vectors
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

ODD = Quantity(
    "labels_unlike_neighbours",
    "samples",
    "samples whose nearest neighbours are of one other class, and how well neighbours predict classes",
)
KEPT = 4_000
"""The most rows that are compared with each other."""
NEIGHBOURS, OTHERS = 10, 9
"""Neighbours, and how many of them must be of the same other class while none is of the sample's own."""
TELLING = 0.9
"""The least share of rows whose class is the commonest among their neighbours."""
GAIN = 0.5
"""The least share of the rows outside the largest class that this saves: guessing that class alone is right often, too."""
LEAST, CLASSES, WIDEST = 200, 100, 256


class OddLabels(DrawnRows):
    ids = ("label-odd-one-out",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        kinds = {f.name: f for f in context.fields}
        names = content_fields(context)
        rich = [n for n in names if kinds[n].kind in ("image", "embedding", "array", "audio")]
        plain = [n for n in names if kinds[n].kind == "number" and not kinds[n].shape]
        self.names = (rich or plain)[:WIDEST]
        fixed = len(rich) == 1 and kinds[rich[0]].kind in ("embedding", "array") and None not in kinds[rich[0]].shape
        self.whole = fixed
        """Whether an array's own components are used, not a summary."""
        self.drawn = Drawn(KEPT)
        self.needs = [context.label or ""]

    def applies(self) -> bool:
        return self.context.label is not None and bool(self.names) and not self.context.guessed

    def rows(self, block: Block) -> Any:
        rows, absent = super().rows(block), block.columns[self.context.label or ""].nulls
        return rows if absent is None else rows[~absent[rows]]

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        label = block.columns[self.context.label or ""]
        part, here = most_of(block, rows)
        x = vectors(part, self.names, self.whole)[here, :WIDEST]
        values = label.values.tolist() if hasattr(label.values, "tolist") else label.values
        codes = [digest64(str(values[i]).encode("utf-8", "surrogatepass")) for i in rows.tolist()]
        return {"x": x.astype(np.float32), "label": np.array(codes, np.uint64)}

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        rows = {name: values[np.isfinite(rows["x"]).all(1)] for name, values in rows.items()}
        x, codes = rows["x"], rows["label"]
        names, label = np.unique(codes, return_inverse=True)
        if len(x) < LEAST or not 2 <= len(names) <= CLASSES:
            return
        near = label[_nearest(x)]
        votes = np.stack([(near == c).sum(1) for c in range(len(names))], 1)
        telling = float((votes.argmax(1) == label).mean())
        own = votes[np.arange(len(label)), label]
        odd = np.flatnonzero((own == 0) & (votes.max(1) >= OTHERS))
        shown = odd[np.argsort(rows["sample"][odd])][:MAX_PLACES].tolist()
        usual = float(np.bincount(label).max()) / len(label)
        gain = (telling - usual) / (1 - usual)
        value = {
            "odd": len(odd),
            "telling": round(telling, 4),
            "gain": round(gain, 4),
            "where": [{"sample": int(rows["sample"][i]), "file": rows["file"][i] or None} for i in shown],
        }
        yield Fact(ODD, value, self.evidence("sampled", len(x)))

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(ODD)
        if fact is None or not fact.value["odd"] or fact.value["telling"] < TELLING or fact.value["gain"] < GAIN:
            return
        v = fact.value
        yield finding(
            "label-odd-one-out",
            "info",
            f"{v['odd']} of {fact.evidence.seen} samples may be mislabelled: of the {NEIGHBOURS} nearest neighbours, at least "
            f"{OTHERS} are of one other class and none of their own (field {escaped(self.context.label)}, which neighbours "
            f"predict for {v['telling']:.0%} of the samples)",
            fact,
            "check their labels",
            v["where"],
            v["odd"],
        )


def _nearest(x: Any) -> Any:
    """The indices of each row's nearest neighbours by standardised components, [n, NEIGHBOURS]."""
    import numpy as np

    spread = x.std(0)
    z = ((x - x.mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)
    squares = (z * z).sum(1)
    found = []
    for i in range(0, len(z), 512):
        distance = squares[None] - 2 * z[i : i + 512] @ z.T
        distance[np.arange(len(distance)), i + np.arange(len(distance))] = np.inf
        found.append(np.argpartition(distance, NEIGHBOURS, 1)[:, :NEIGHBOURS])
    return np.concatenate(found)


CHECK = OddLabels
