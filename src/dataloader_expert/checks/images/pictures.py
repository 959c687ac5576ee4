"""Images: modes, sizes, orientation, and images that show little."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from dataloader_expert.checks.base import HISTOGRAM, Check, Context
from dataloader_expert.checks.common.binned import binned
from dataloader_expert.checks.common.picture_hashes import looks, sharpness_of
from dataloader_expert.checks.common.sharpness import BLURRED, LESS_SHARP
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.facts import Evidence, Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.pictures import orientation

MODES = Quantity("image_modes", "images", "images of each colour mode, with samples of the rarer ones")
LOOKS = Quantity("image_looks", "images", "images that are dark, light, flat or rotated by EXIF, with samples")
SIZES = Quantity(
    "image_sizes",
    "pixels",
    "median height and width, how many distinct sizes there are, and how many images have the commonest",
)


MOST_SIZES = 100_000
FAR = {"odd-size": 2.0, "odd-aspect": 1.0}
"""The least distance from the median that is odd, in doublings: a quarter of or four times the area, half or twice the aspect ratio."""
ROBUST = 6.0
"""Median deviations beyond which a size is odd: about four standard deviations of a normal distribution."""
RARE = 0.1
"""The largest share that is odd: more are a separate kind of image."""


COLOURS = 8
"""The most values that fill half of a drawing; photographs have more of them in each channel."""


class Pictures(Check):
    ids = (
        "mode-drift",
        "rotated-by-exif",
        "dark",
        "light",
        "flat",
        "blurry",
        "odd-size",
        "odd-aspect",
        "constant-samples",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.modes: Counter[str] = Counter()
        self.odd: dict[str, list[tuple[int, str]]] = {}
        self.looks: Counter[str] = Counter()
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.places: dict[tuple[int, int], list[tuple[int, str]]] = {}
        self.sharpness: list[tuple[float, int, str]] = []

    def applies(self) -> bool:
        return any(f.kind == "image" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "image" or field.name not in block.columns:
                continue
            values = block.columns[field.name].values
            shown = []
            for i, value in enumerate(values):
                place = (block.index(i), block.file(i))
                if hasattr(value, "getbands"):
                    self.modes[value.mode] += 1
                    self._note(f"mode {value.mode}", place)
                    self._size(value.height, value.width, place)
                    if orientation(value) not in (0, 1):
                        self._look("rotated-by-exif", place)
                    if value.mode in ("RGBA", "LA") and len({*value.getchannel("A").getextrema()}) > 1:
                        continue  # what it shows may be its outline alone
                elif hasattr(value, "shape") and value.ndim in (2, 3) and value.size:
                    h, w = value.shape[:2] if value.shape[-1] in (1, 3, 4) or value.ndim == 2 else value.shape[-2:]
                    self._size(int(h), int(w), place)
                    if value.max(initial=0) <= 16 or value.ndim == 2:
                        continue  # not on the 0-255 scale: dark and light mean nothing
                else:
                    continue
                shown.append(i)
            if shown:
                seen = looks(block, field.name)
                self._looks(block, shown, seen.small[shown])
                self._channels(block, [i for i in shown if seen.coloured[i]], values, seen.some)
                self._sharp(block, shown, sharpness_of(block, field.name))

    def _looks(self, block: Block, shown: list[int], small: Any) -> None:
        """Notes what the samples' thumbnails, [n, 32, 32], are throughout."""
        low, high, spread = small.min((1, 2)), small.max((1, 2)), small.std((1, 2))
        flat, dark = spread < 2, high < 60
        even = low == high
        light = ~dark & (low > 200) & (spread < 20)
        cut = ~flat & filled_up(small)
        for name, found in (
            ("dark", dark),
            ("light", light),
            ("flat", even),
            ("faint", flat & ~even),
            ("cut off", cut),
        ):
            for at in found.nonzero()[0].tolist():
                self._look(name, (block.index(shown[at]), block.file(shown[at])))

    def _channels(self, block: Block, at: list[int], values: Any, some: Any) -> None:
        """Notes those of these images in colour that lost a channel; ``some``: pixels of each, which tell it of almost all."""
        still = (some[at] == some[at, :1, :1]).all((1, 2)).any(1)
        for i in (i for i, may_be in zip(at, still.tolist(), strict=True) if may_be):
            if hasattr(values[i], "getbands") and _still(values[i]):
                self._look("still channel", (block.index(i), block.file(i)))

    def _size(self, height: int, width: int, place: tuple[int, str]) -> None:
        self.sizes[height, width] += 1
        kept = self.places.setdefault((height, width), [])
        if len(kept) < 20 and len(self.places) < MOST_SIZES:
            kept.append(place)

    def _sharp(self, block: Block, at: list[int], sharp: list[float | None]) -> None:
        for i in at:
            found = sharp[i]
            if found is not None:
                self.sharpness.append((found, block.index(i), block.file(i)))

    def _look(self, name: str, place: tuple[int, str]) -> None:
        self.looks[name] += 1
        self._note(name, place)

    def _note(self, name: str, place: tuple[int, str]) -> None:
        kept = self.odd.setdefault(name, [])
        if len(kept) < 20:
            kept.append(place)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Pictures)
        self.seen += other.seen
        self.modes += other.modes
        self.looks += other.looks
        self.sizes += other.sizes
        self.sharpness += other.sharpness
        for size, places in other.places.items():
            self.places[size] = sorted(self.places.get(size, []) + places)[:20]
        for name, places in other.odd.items():
            self.odd[name] = sorted(self.odd.get(name, []) + places)[:20]

    def facts(self) -> Iterable[Fact]:
        evidence = self.evidence()
        if self.sizes:
            heights = sorted(h for (h, _), n in self.sizes.items() for _ in range(n))
            widths = sorted(w for (_, w), n in self.sizes.items() for _ in range(n))
            value = {
                "height": heights[len(heights) // 2],
                "width": widths[len(widths) // 2],
                "distinct": len(self.sizes),
                "commonest": max(self.sizes.values()),
            }
            yield Fact(SIZES, value, evidence)
            name = next(f.name for f in self.context.fields if f.kind == "image")
            for axis, measure in enumerate(("height", "width")):
                pixels: Counter[int] = Counter()
                for size, n in self.sizes.items():
                    pixels[size[axis]] += n
                levels = sorted(pixels)
                histogram = binned(levels, [pixels[p] for p in levels])
                yield Fact(HISTOGRAM, histogram, evidence, {"field": name, "measure": measure})
        if self.modes:
            common = self.modes.most_common(1)[0][0]
            places = [p for m in self.modes if m != common for p in self.odd.get(f"mode {m}", [])]
            yield Fact(MODES, {"modes": dict(self.modes.most_common()), "where": _where(places)}, evidence)
        yield from self._odd_sizes(evidence)
        yield from self._blurry(evidence)
        for name, n in self.looks.items():
            look = USUAL.get(name, name) if n > RARE * self.seen else name
            if look:
                yield Fact(LOOKS, {"count": n, "where": _where(self.odd[name])}, evidence, {"look": look})

    def _odd_sizes(self, evidence: Evidence) -> Iterable[Fact]:
        """Sizes and aspect ratios far from the usual ones: the median of the logarithms, and their median deviation from it."""
        measures: dict[str, Callable[[int, int], float]] = {
            "odd-size": lambda h, w: math.log2(max(1, h * w)),
            "odd-aspect": lambda h, w: math.log2(max(1, w) / max(1, h)),
        }
        for name, measure in measures.items():
            counts = sorted((measure(h, w), n, (h, w)) for (h, w), n in self.sizes.items())
            middle = _median([(x, n) for x, n, _ in counts])
            spread = _median(sorted((abs(x - middle), n) for x, n, _ in counts))
            limit = max(FAR[name], ROBUST * spread)
            odd = [(n, size) for x, n, size in counts if abs(x - middle) > limit]
            total = sum(n for n, _ in odd)
            if total and total <= RARE * sum(self.sizes.values()):
                places = [p for _, size in odd for p in self.places.get(size, [])]
                yield Fact(LOOKS, {"count": total, "where": _where(places)}, evidence, {"look": name})

    def _blurry(self, evidence: Evidence) -> Iterable[Fact]:
        """Images with far less detail than the typical one."""
        if not self.sharpness:
            return
        usual = _median(sorted((s, 1) for s, _, _ in self.sharpness))
        odd = [(sample, file) for s, sample, file in self.sharpness if s < min(BLURRED, usual / LESS_SHARP)]
        if odd:
            yield Fact(LOOKS, {"count": len(odd), "where": _where(odd)}, evidence, {"look": "blurry"})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        modes = facts.find(MODES)
        if modes is not None and len(modes.value["modes"]) > 1:
            listed = ", ".join(f"{n} {m}" for m, n in modes.value["modes"].items())
            rare = sum(list(modes.value["modes"].values())[1:])
            sizes = facts.find(SIZES)
            # images that are seldom of one size are brought to one form by the code that loads them
            loaded = sizes is not None and 2 * sizes.value["commonest"] < sum(modes.value["modes"].values())
            yield finding(
                "mode-drift",
                "info" if loaded else "warning",
                f"images of several modes: {listed}",
                modes,
                'convert each with image.convert("RGB"), or batches will not stack',
                modes.value["where"],
                rare,
            )
        for fact in facts.all(LOOKS):
            name, n = str(fact.at["look"]), fact.value["count"]
            severity, what, fix = _LOOKS[name]
            yield finding(
                _CODES.get(name, name),
                severity,
                f"{number(n, 'image')} {verb(n, what)}",
                fact,
                fix,
                fact.value["where"],
                n,
            )


USUAL = {"still channel": "", "faint": "often faint"}
"""What looks that many images may have by nature are then: none of drawings of few colours; tiles of the sea, or of the ground of a slide, may
be a covered lens."""
_CODES = {"faint": "flat", "often faint": "flat", "cut off": "flat", "still channel": "constant-samples"}
"""Codes of looks that are not codes themselves."""
_LOOKS: dict[str, tuple[Severity, str, str]] = {
    "rotated-by-exif": (
        "warning",
        "are rotated by an EXIF tag that decoders ignore",
        "apply PIL.ImageOps.exif_transpose",
    ),
    "dark": ("info", "are dark throughout", "inspect them; drop those that show nothing"),
    "light": ("info", "are light throughout", "inspect them; drop those that show nothing"),
    "blurry": ("info", "are blurred", "inspect them; drop those that show nothing"),
    "odd-size": ("info", "are far larger or smaller than the others", "inspect them before resizing"),
    "odd-aspect": (
        "info",
        "are far wider or narrower than the others",
        "pad or crop them before resizing: resizing alone would distort them",
    ),
    "still channel": (
        "warning",
        "have one constant colour channel, while the others vary",
        "fetch them again from their source, or drop them: a channel was lost",
    ),
    "flat": ("warning", "are one flat colour", "drop them: they show nothing"),
    "faint": ("warning", "are nearly one flat colour", "inspect them; drop those that show nothing"),
    "often faint": ("info", "are nearly one flat colour", "inspect some; drop those that show nothing"),
    "cut off": (
        "warning",
        "are plain mid-grey in their lower part: truncated files that a decoder padded before they were saved again",
        "fetch them again from their source",
    ),
}


PLAIN = 0.5
"""The share of neighbouring pixels that are equal, from which a picture is made of plain areas."""


def filled_up(small: Any) -> Any:
    """Whether the bottom three tenths or more are mid-grey, as JPEG decoders fill missing parts, and the rest is not; bool [n].

    Args:
        small: grey images, [n, 32, 32], 0 to 255.
    """
    import numpy as np

    grey = (np.abs(small - 128) <= 2).all(2)
    found = grey[:, -math.ceil(0.3 * grey.shape[1]) :].all(1) & ~grey.all(1)
    for i in found.nonzero()[0].tolist():
        rows = int(np.argmin(grey[i, ::-1]))
        rest = small[i, : grey.shape[1] - rows]
        # in a photograph neighbours differ, in a mask or a drawing most do not
        found[i] = float(rest.std()) > 4 and float((np.diff(rest, axis=1) == 0).mean()) < PLAIN
    return found


def _still(image: Any) -> bool:
    """Whether some of the colour channels are the same throughout, and the others hold many values: a drawing in one colour has lost
    none."""
    width, height = image.size
    # an image of one colour with a coloured margin has lost no channel
    middle = image.crop((width // 4, height // 4, width - width // 4, height - height // 4))
    if not all(len({low == high for low, high in part.getextrema()}) == 2 for part in (middle, image)):
        return False
    levels = image.histogram()
    channels = [levels[k : k + 256] for k in range(0, len(levels), 256)]
    return all(2 * sum(sorted(one)[-COLOURS:]) < sum(one) for one in channels if max(one) < sum(one))


def _median(weighted: list[tuple[float, int]]) -> float:
    """The median of sorted values with their counts."""
    half, passed = sum(n for _, n in weighted) / 2, 0
    for value, n in weighted:
        passed += n
        if passed >= half:
            return value
    return 0.0


def _where(places: list[tuple[int, str]]) -> list[dict[str, object]]:
    return [{"sample": s, **({"file": f} if f else {})} for s, f in sorted(places)[:20]]


CHECK = Pictures
