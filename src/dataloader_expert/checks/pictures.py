"""Images: modes, sizes, orientation, and pictures that show little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import thumbs
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MODES = Quantity("image_modes", "images", "images of each colour mode, with samples of the rarer ones")
LOOKS = Quantity("image_looks", "images", "images that are dark, light, flat or turned by EXIF, with samples")
SIZES = Quantity("image_sizes", "pixels", "median height and width, and how many distinct sizes there are")


class Pictures(Check):
    ids = ("mode-drift", "rotated-by-exif", "dark", "light", "flat")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.modes: Counter[str] = Counter()
        self.odd: dict[str, list[tuple[int, str]]] = {}
        self.looks: Counter[str] = Counter()
        self.sizes: Counter[tuple[int, int]] = Counter()

    def applies(self) -> bool:
        return any(f.kind == "image" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "image" or field.name not in block.columns:
                continue
            for i, value in enumerate(block.columns[field.name].values):
                place = (block.index(i), block.unit.file)
                if hasattr(value, "getbands"):
                    self.modes[value.mode] += 1
                    self._note(f"mode {value.mode}", place)
                    self.sizes[value.height, value.width] += 1
                    if _orientation(value) not in (0, 1):
                        self._look("rotated-by-exif", place)
                elif hasattr(value, "shape"):
                    h, w = value.shape[:2] if value.shape[-1] in (1, 3, 4) or value.ndim == 2 else value.shape[-2:]
                    self.sizes[int(h), int(w)] += 1
                    if value.max(initial=0) <= 16 or value.ndim == 2:
                        continue  # not on the 0-255 scale: dark and light mean nothing
                else:
                    continue
                small = thumbs(block, field.name)[i]
                low, high, spread = float(small.min()), float(small.max()), float(small.std())
                if high < 60:
                    self._look("dark", place)
                elif low > 200 and spread < 20:
                    self._look("light", place)
                if spread < 2:
                    self._look("flat", place)

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
            }
            yield Fact(SIZES, value, evidence)
        if self.modes:
            common = self.modes.most_common(1)[0][0]
            places = [p for m in self.modes if m != common for p in self.odd.get(f"mode {m}", [])]
            yield Fact(MODES, {"modes": dict(self.modes.most_common()), "where": _where(places)}, evidence)
        for name, n in self.looks.items():
            yield Fact(LOOKS, {"count": n, "where": _where(self.odd[name])}, evidence, {"look": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        modes = facts.find(MODES)
        if modes is not None and len(modes.value["modes"]) > 1:
            listed = ", ".join(f"{n} {m}" for m, n in modes.value["modes"].items())
            rare = sum(list(modes.value["modes"].values())[1:])
            yield finding(
                "mode-drift",
                "warning",
                f"images of several modes: {listed}",
                modes,
                'convert each with image.convert("RGB"), or batches will not stack',
                modes.value["where"],
                rare,
            )
        for fact in facts.all(LOOKS):
            name, n = str(fact.at["look"]), fact.value["count"]
            severity, what, fix = _LOOKS[name]
            yield finding(name, severity, f"{n} images {what}", fact, fix, fact.value["where"], n)  # type: ignore[arg-type]  # severity is one of the three


_LOOKS = {
    "rotated-by-exif": (
        "warning",
        "are turned by their EXIF tag, which decoders ignore",
        "apply PIL.ImageOps.exif_transpose",
    ),
    "dark": ("info", "are dark throughout", "look at them; drop those that show nothing"),
    "light": ("info", "are light throughout", "look at them; drop those that show nothing"),
    "flat": ("warning", "are one flat colour", "drop them: they carry no picture"),
}


def _where(places: list[tuple[int, str]]) -> list[dict[str, object]]:
    return [{"sample": s, **({"file": f} if f else {})} for s, f in sorted(places)[:20]]


def _orientation(image: Any) -> int:
    """The tag that says how to turn the picture; 1, as it is, where the tags cannot be read."""
    try:
        return int(image.getexif().get(274, 1))
    except Exception:  # tags are bytes from outside, and Pillow raises what they lead it to
        return 1


CHECK = Pictures
