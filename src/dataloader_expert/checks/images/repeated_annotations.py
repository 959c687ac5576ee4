"""Masks and boxes that are exactly those of another sample, over another image: a file was saved twice, or labels slipped by one.

Where annotations recur by nature, as a form's fields do, they do so more than twice. Frames of a clip, and copies of an image in other
colours, show one scene. Where a quarter of the samples or more repeat, samples come in pairs, as before and after a flood. A mask or a few boxes of
little detail may be alike by chance, but hardly in neighbours, several times.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digests, digests_of
from dataloader_expert.checks.common.picture_hashes import looks
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.vectors import pooled
from dataloader_expert.checks.images.edge_fits import ONE_SCENE
from dataloader_expert.checks.images.placed_boxes import Placed
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

REPEATED = Quantity(
    "repeated_annotations",
    "samples",
    "samples whose mask or boxes are exactly those of an earlier sample, though their images differ, with places",
)
LEAST, MOST = 40, 200_000
"""The fewest annotations that tell what is usual, and how many samples are looked at."""
SEVERAL, PART, SELDOM = 3, 0.25, 0.25
"""The fewest neighbours whose annotations say little; the share of all samples from which they are pairs by nature; and how many samples, in
parts of those that are told, may have annotations that recur more often."""
MOST_ALIKE = 3
"""The most samples with one annotation."""
MUCH = {"mask": 32, "boxes": 3}
"""Steps of a mask from one class to another along its rows, or boxes, from which chance does not make two alike."""


class RepeatedAnnotations(Check):
    ids = ("rows-shifted",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        placed = Placed(context)
        images = [f.name for f in context.fields if f.kind == "image"]
        self.image = images[0] if len(images) == 1 else ""
        self.kinds = dict.fromkeys(context.masks, "mask") | dict.fromkeys(placed.fields, "boxes")
        self.files = Files()
        self.parts: dict[str, list[tuple[Any, Any, Any, Any, Any]]] = {name: [] for name in self.kinds}
        """By field, of each block: the indices of samples, digests of their annotations, how much these say, the splits, and small copies of
        the images, [n, 64]."""

    def applies(self) -> bool:
        return bool(self.kinds and self.image)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.image not in block.columns or block.index(0) >= MOST:
            return
        names, codes = self.context.splits_of(block)
        splits = digests_of(names)[codes]
        for name, kind in self.kinds.items():
            if name not in block.columns:
                continue
            values = block.columns[name].values[: block.samples]
            much = np.array([_steps(v) if kind == "mask" else _boxes(v) for v in values], np.int64)
            at = np.flatnonzero(much)
            if len(at):
                made = digests(block, [name])[at]
                small = pooled(looks(block, self.image))[at].astype(np.float16)
                self.parts[name].append((block.indices(at), made, much[at], splits[at], small))

    def merge(self, other: Check) -> None:
        assert isinstance(other, RepeatedAnnotations)
        self.seen += other.seen
        self.files.merge(other.files)
        for name, parts in other.parts.items():
            self.parts[name] += parts

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for name, parts in self.parts.items():
            if sum(len(part[0]) for part in parts) < LEAST:
                continue
            index, made, much, splits, small = (np.concatenate(column) for column in zip(*parts, strict=True))
            order = np.argsort(index)
            index, made, much, splits = index[order], made[order], much[order], splits[order]
            earlier, later = repeated(made, small[order])
            beside = (index[later] == index[earlier] + 1) & (splits[later] == splits[earlier])
            clear = np.minimum(much[earlier], much[later]) >= MUCH[self.kinds[name]]
            told = clear | (beside & (beside.sum() >= SEVERAL))
            if told.any():
                samples = index[np.sort(later[told])].tolist()
                value: dict[str, Any] = {"count": len(samples), "of": len(index), "beside": int((beside & told).sum())}
                value["example"] = [int(index[at[told][0]]) for at in (earlier, later)]
                value["where"] = self.files.places(samples, name)
                yield Fact(REPEATED, value, self.evidence(n=len(index)), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(REPEATED):
            v, name, image = fact.value, escaped(str(fact.at["field"])), escaped(self.image)
            n, (a, b) = v["count"], (escaped(self.files.of(at) or f"sample {at:,}") for at in v["example"])
            mask = self.kinds[str(fact.at["field"])] == "mask"
            text = f"{name}: {number(n, 'sample')} of {v['of']:,} {verb(n, 'have')} exactly the same {'mask' if mask else 'boxes'} as an earlier one"
            text += f" ({v['beside']:,} of them as the one right before)" if v["beside"] else ""
            text += f", although their images differ: for example {b} and {a}"
            fix = f"pair each {image} with its own {name} again; check the samples that follow too: where a file was lost or saved twice, all later "
            fix += f"ones may have {'the mask' if mask else 'the boxes'} of a neighbor"
            yield finding("rows-shifted", "warning", text, fact, fix, v["where"], n)


def repeated(made: Any, small: Any) -> tuple[Any, Any]:
    """Pairs of rows, the earlier and the later ones, int64, whose digests are equal and whose images differ; none where more recur.

    Args:
        made: digests, uint64 [n].
        small: copies of the images, [n, pixels].
    """
    import numpy as np

    plain = small.astype(np.float32)
    plain -= plain.mean(1, keepdims=True)
    plain /= np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-6)
    order = np.argsort(made, kind="stable")
    pairs = np.flatnonzero(made[order][1:] == made[order][:-1])
    earlier, later = order[pairs], order[pairs + 1]
    unlike = (plain[earlier] * plain[later]).sum(1) < ONE_SCENE
    _, which, counts = np.unique(made, return_inverse=True, return_counts=True)
    often = int(counts[counts > MOST_ALIKE].sum())
    found = unlike & (counts[which[later]] <= MOST_ALIKE)
    if found.sum() >= PART * len(made) or often > SELDOM * found.sum():
        found[:] = False
    return earlier[found], later[found]


def _steps(mask: Any) -> int:
    """How often a mask goes from one class to another along its rows; 0 of what is no mask."""
    import numpy as np

    if not isinstance(mask, np.ndarray) or mask.ndim != 2 or mask.dtype.kind not in "bui":
        return 0
    return int((mask[:, 1:] != mask[:, :-1]).sum())


def _boxes(value: Any) -> int:
    import numpy as np

    try:
        made = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return 0
    return len(made) if made.ndim == 2 and made.shape[1] == 4 else int(made.shape == (4,))


CHECK = RepeatedAnnotations
