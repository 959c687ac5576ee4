"""Images of one split, camera or site that lie otherwise than all others: with rows and columns swapped, upside down, mirrored, or moved
round so that what leaves at one edge comes back at the other.

Only images that show the same thing at the same place tell it: their mean then has a shape. That of a cohort is told whose shape is the
others' once it is turned so, and not as it is. Light that comes from the other side turns a gradient round: therefore what is left
of the shape without its rows' and columns' means must say the same, in the part that the turn keeps and in the part that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.checks.common.cohorts import SPLIT, DrawnImages, told_of
from dataloader_expert.checks.common.picture_hashes import looks, small_of, visible
from dataloader_expert.checks.common.rows_kept import places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

TURNED = Quantity(
    "turned_images", "images", "images of cohorts whose mean matches the others only after turning or rolling them"
)
KEPT, LEAST = 3_000, 30
"""The most images whose small copies are kept, and the fewest of a cohort."""
SHAPED, SAME = 0.8, 0.9
"""The least correlation of the means of a cohort's two halves, from which they have a shape; and of two means that are the same."""
STRUCTURED = 0.5
"""The least spread of what came back at the other edge, as a share of that of the whole: an even border tells nothing."""
PART = 0.1
"""The least share of what is left that a turn must keep, and that it must change, to be told from chance."""
STEPS = 4
"""Pixels of 32 by which images must be moved round to be told."""
LEFT = 0.25
"""The largest share of what tells two means apart that remains once one is turned or moved round."""
FLAT = 1e-3
WHITE = 255

Turn = Callable[[Any], Any]


def _turns() -> dict[str, Turn]:
    """What may have been done to images [..., h, w], by what is said of it."""
    return {
        "transposed": lambda a: a.swapaxes(-1, -2),
        "turned by 90 degrees to the left": lambda a: a.swapaxes(-1, -2)[..., ::-1, :],
        "turned by 90 degrees to the right": lambda a: a.swapaxes(-1, -2)[..., ::-1],
        "transposed and turned by 180 degrees": lambda a: a.swapaxes(-1, -2)[..., ::-1, ::-1],
        "turned by 180 degrees": lambda a: a[..., ::-1, ::-1],
        "mirrored top to bottom": lambda a: a[..., ::-1, :],
        MIRRORED: lambda a: a[..., ::-1],
    }


MIRRORED = "mirrored left to right"
"""Left and right eyes and hands are so by nature: only splits should hold as many of both."""


class Turned(DrawnImages):
    ids = ("preprocessing-differs",)
    most = KEPT

    def rows(self, block: Block) -> Any:
        return visible(block, self.name, super().rows(block))

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        small = looks(block, self.name).small[rows]
        of_bytes = small.min() >= 0 and small.max() <= WHITE and small.std((1, 2)).min() >= 1  # which float16 resolves
        shown = (
            small_of(block, self.name, rows) if of_bytes else _evened(small).reshape(len(rows), -1).astype(np.float16)
        )
        return {"small": shown} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        small = _evened(rows["small"].reshape(-1, 32, 32).astype(np.float32))
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            found: dict[str, list[int]] = {}
            for k in range(len(names)):
                rest = _others(whose, k, names, kind)
                how = turn_of(small[whose == k], small[rest], kind == SPLIT) if rest is not None else None
                if how is not None:
                    found.setdefault(how, []).append(k)
            for how, odd in sorted(found.items()):
                marked = np.isin(whose, odd)
                value = {"of": [names[k] for k in odd], "how": how, "count": int(marked.sum())}
                value["where"] = places(rows, marked, self.name)
                at = {"field": self.name, "kind": kind, "how": how}
                yield Fact(TURNED, value, self.evidence("sampled", len(small)), at)
            if found:
                return

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(TURNED):
            v, name = fact.value, escaped(self.name)
            where = told_of(str(fact.at["kind"]), v["of"])
            text = f"the images of {name} seem to be {v['how']} {where}: their mean image matches that of the others only after undoing this"
            fix = "compare a few with the others; if so, load all images with the same code and axis order"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])


def _evened(small: Any) -> Any:
    """Images, [n, 32, 32], each with a mean of 0 and a standard deviation of 1; zeros of those that have none."""
    import numpy as np

    flat = small.reshape(len(small), -1).astype(np.float64)
    with np.errstate(all="ignore"):
        flat -= flat.mean(1, keepdims=True)
        flat /= flat.std(1, keepdims=True)
    return np.nan_to_num(flat, posinf=0, neginf=0).astype(np.float32).reshape(small.shape)


def _others(whose: Any, k: int, names: list[str], kind: str) -> Any:
    """Which images a cohort's are compared with, bool: those of the training split, if there is one, else all others if they are more."""
    if kind == SPLIT and "train" in names:
        return whose == names.index("train") if names[k] != "train" else None
    rest, own = (whose != k) & (whose >= 0), whose == k
    # of two that are as many, the later one is told
    return rest if (own.sum(), k) <= (rest.sum(), 1) else None


def turn_of(own: Any, others: Any, as_split: bool) -> str | None:
    """What was done to all of a cohort's images, [n, h, w], that makes their mean that of the others; None if nothing is known to."""
    means = [_halves(part) for part in (own, others)]
    if _agree(*means[0]) < SHAPED or _agree(*means[1]) < SHAPED:
        return None
    one, two = (sum(halves) / 2 for halves in means)
    fits = {}
    for how, turn in _turns().items():
        if (as_split or how != MIRRORED) and _is_turned(means[0], means[1], turn):
            fits[how] = _agree(turn(one), two)
    if fits:
        return max(fits, key=lambda how: fits[how])
    return _moved_round(one, two) if as_split else None


def _is_turned(own: tuple[Any, Any], others: tuple[Any, Any], turn: Turn) -> bool:
    """Whether a turn makes the halves' means of one cohort those of the other: the whole means, and the parts of what is left without
    rows' and columns' means that it keeps and that it changes."""
    one, two = sum(own) / 2, sum(others) / 2
    if _agree(turn(one), two) < SAME:
        return False
    rough_own, rough = ([_centred(half) for half in halves] for halves in (own, others))
    left, right = sum(rough_own) / 2, sum(rough) / 2
    if 1 - _agree(turn(left), right) > min(1 - SHAPED, LEFT * (1 - _agree(left, right))):
        return False
    turned = [turn(half) for half in rough_own]
    for sign in (1, -1):
        a, b = ([(half + sign * turn(half)) / 2 for half in halves] for halves in (turned, rough))
        share = float((sum(b) ** 2).mean()) / max(FLAT, 4 * float((right**2).mean()))
        if share < PART or min(_agree(*a), _agree(*b), _agree(sum(a), sum(b))) < SHAPED:
            return False
    return True


def _moved_round(one: Any, two: Any) -> str | None:
    """By how much the one mean must be moved round, so that what leaves at an edge comes back at the other, to be the other one."""
    import numpy as np

    size = one.shape[0]
    product = np.fft.ifft2(np.fft.fft2(_unit(two)) * np.conj(np.fft.fft2(_unit(one)))).real
    down, across = (int(n) for n in np.unravel_index(int(product.argmax()), product.shape))
    moved = np.roll(one, (down, across), (0, 1))
    steps = [min(n, size - n) for n in (down, across)]
    if max(steps) < STEPS or 1 - _agree(moved, two) > min(1 - SAME, LEFT * (1 - _agree(one, two))):
        return None
    came = np.zeros_like(one, bool)
    for axis, n in enumerate((down, across)):
        index = [slice(None), slice(None)]
        index[axis] = slice(0, n) if n <= size // 2 else slice(n, None)
        came[tuple(index)] |= n > 0
    told = _agree(moved[came], two[came]) >= SAME and two[came].std() >= STRUCTURED * two.std()
    shares = [f"{100 * min(n, size - n) // size} % of the {of}" for n, of in ((down, "height"), (across, "width")) if n]
    return f"rolled by about {' and '.join(shares)}, wrapping around at the edges" if told else None


def _halves(images: Any) -> tuple[Any, Any]:
    """The means of every second image and of the others: drawn ones come in no order."""
    return images[::2].mean(0), images[1::2].mean(0)


def _unit(mean: Any) -> Any:
    off = mean - mean.mean()
    return off / max(float((off**2).sum() ** 0.5), 1e-12)


def _agree(one: Any, two: Any) -> float:
    """Their correlation; 0 if one is even."""
    spread = min(float(one.std()), float(two.std()))
    return float((_unit(one) * _unit(two)).sum()) if spread > FLAT else 0.0


def _centred(mean: Any) -> Any:
    """A mean image without the means of its rows and its columns."""
    return mean - mean.mean(0, keepdims=True) - mean.mean(1, keepdims=True) + mean.mean()


CHECK = Turned
