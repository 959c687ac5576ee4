"""Thumbnails of a batch as a loader delivers it, and of samples that checks have found odd: images, sounds and sequences.

Whatever is shown is decoded strictly, within bounds, in this measuring process, scaled down and encoded anew: no byte of a
user's file reaches a page. What cannot be decoded is named, not shown.
"""

from __future__ import annotations

import base64
import bisect
import io
import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.checks.files.fixes import BROKEN
from dataloader_expert.facts import Fact, Json, Quantity
from dataloader_expert.probes.base import FIRST, Bench, Observation, Probe, evidence
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.reference import Raised, Reference, columns_of_sample

PICTURES = Quantity("pictures", "", "thumbnails of a batch's samples, or of samples named by findings")
SIDE, TALL, MOST_SHOWN, MOST_ENCODED = 96, 48, 16, 96_000
"""Pixels of a thumbnail's longer side, height of a sequence's, thumbnails of a kind, and their characters together."""
MOST_STORED, MOST_SHARED, MOST_VALUES = 32 << 20, 4 << 20, 64 << 20
"""Bytes of a unit that is read again, of one that holds other samples too, and values of a sample that is scaled down."""
EACH = 3
"""Samples shown of one finding at the most: other findings are shown too."""


@dataclass(frozen=True)
class OddPictures(Probe):
    """Thumbnails of the samples that findings name; nothing where samples hold nothing to be seen."""

    name: ClassVar[str] = "pictures"
    doing: ClassVar[str] = "making thumbnails"
    torch: ClassVar[bool] = False
    share: float = 0.3
    most_s: float = 1.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        source = bench.source
        seen = sorted((f for f in source.fields if f.kind in LOOKS), key=lambda f: f.kind != "image")
        if not seen or source.iterable or bench.left() < 0.2:
            return
        look, name = LOOKS[seen[0].kind], seen[0].name
        first_s = bench.facts.value(FIRST, 0.0)
        if first_s > self.share * min(self.most_s, bench.left()):
            return  # a look is not worth that
        until = bench.until(self.share, self.most_s)
        shown: list[dict[str, Json]] = []
        room = MOST_ENCODED
        for code, where in odd_places(bench):
            if len(shown) >= MOST_SHOWN or (until is not None and time.monotonic() > until):
                break
            index = int(where["sample"])
            bench.at(index)
            sample = None if code in BROKEN else read_again(source, index)
            picture = None if sample is None else look(sample.get(name), None)
            label = (
                None if sample is None or source.label is None else plain(source.class_name(sample.get(source.label)))
            )
            if picture is not None and len(picture["data"]) > room:
                break
            room -= len(picture["data"]) if picture is not None else 0
            shown.append(
                {"sample": index, "file": where.get("file"), "label": label, "why": code} | (picture or NOTHING)
            )
        bench.at(-1)
        if shown:
            yield Fact(PICTURES, shown, evidence("sampled", "pictures", seen=len(shown)), {"of": "findings"})


NOTHING: dict[str, Json] = {"data": None, "width": None, "height": None}


def odd_places(bench: Bench) -> Iterator[tuple[str, dict[str, Json]]]:
    """Samples that findings name, the worst findings first, a few of each, none twice; one that cannot be read is named
    by the finding that says so."""
    rank = {"error": 0, "warning": 1, "info": 2}
    placed = [(f, [w for w in f.where if isinstance(w.get("sample"), int)]) for f in bench.findings]
    broken = {w["sample"] for f, places in placed if f.code in BROKEN for w in places}
    seen: set[int] = set()
    for one, places in sorted(placed, key=lambda p: rank[p[0].severity]):
        for where in places[:EACH]:
            if where["sample"] not in seen and (one.code in BROKEN or where["sample"] not in broken):
                seen.add(where["sample"])
                yield one.code, where


def read_again(source: Source, index: int) -> dict[str, Any] | None:
    """The sample's values by field; None where it cannot be read, or is too large to be read for a look."""
    try:
        if isinstance(source, Reference):
            return {name: column.values[0] for name, column in columns_of_sample(source.sample(index)).items()}
        at = bisect.bisect_right(source.units, index, key=lambda u: u.start) - 1
        unit = source.units[at]
        if at < 0 or not unit.start <= index < unit.start + unit.samples:
            return None
        if unit.bytes > (MOST_STORED if unit.samples == 1 else MOST_SHARED):
            return None
        block = source.decode(unit, source.read(unit))
        return {name: column.values[index - unit.start] for name, column in block.columns.items()}
    except (Raised, Exception):  # what is odd may be that it raises; the scan has told why
        return None


@dataclass(frozen=True)
class BatchPictures(Probe):
    """Thumbnails of a batch that was made, once a scan knows what its labels are called."""

    name: ClassVar[str] = "batch_pictures"
    doing: ClassVar[str] = "making thumbnails"

    def measure(self, bench: Bench) -> Iterable[Observation]:
        yield from of_batch(bench.shown, bench)


def first_of(leaves: dict[str, Any]) -> dict[str, Any]:
    """The first samples of a batch's leaves, apart from the memory of the others."""
    first = {
        name: values[:MOST_SHOWN]
        for name, values in leaves.items()
        if getattr(values, "ndim", 0) or isinstance(values, list)
    }
    return {name: values.clone() if hasattr(values, "clone") else values for name, values in first.items()}


def of_batch(leaves: dict[str, Any], bench: Bench) -> Iterator[Fact]:
    """Thumbnails of the images among a batch's leaves, as a model gets them, with their labels."""
    label = leaves.get(bench.source.label or "")
    for name, values in leaves.items():
        field = bench.source.field(name)
        kind = None if field is None else field.kind
        look = thumbnail if looks_like_images(values, kind) else trace if kind in TRACED and len(values) else None
        if look is None or not hasattr(values, "dtype"):  # a list of samples that do not stack
            continue
        low, high, floats = range_of(values[:MOST_SHOWN])
        shown: list[dict[str, Json]] = []
        room = MOST_ENCODED
        for i in range(min(len(values), MOST_SHOWN)):
            picture = look(values[i], (low, high) if floats else None)
            if picture is None or len(picture["data"]) > room:
                break
            room -= len(picture["data"])
            shown.append({"sample": None, "file": None, "label": _label(label, i, bench), "why": None} | picture)
        if shown:
            scaled = floats and look is thumbnail
            at = {"of": "batch", "field": name, "low": low if scaled else None, "high": high if scaled else None}
            yield Fact(PICTURES, shown, evidence("sampled", "batch", seen=len(shown)), at)
        return


def looks_like_images(values: Any, kind: str | None) -> bool:
    """Whether a batch's leaf is ``[B, C, H, W]``, ``[B, H, W, C]`` or, of a field of images, ``[B, H, W]``."""
    shape = tuple(getattr(values, "shape", ()))
    if len(shape) == 3:
        return kind == "image" and min(shape[1:]) > 1
    return len(shape) == 4 and (shape[1] in (1, 3, 4) or shape[3] in (1, 3, 4)) and 0 not in shape


def range_of(values: Any) -> tuple[float, float, bool]:
    """The least and largest value, and whether they are on another scale than 0 to 255 in whole numbers."""
    if "float" not in str(values.dtype):
        return 0.0, 255.0, False
    return float(values.min()), float(values.max()), True


def _label(labels: Any, i: int, bench: Bench) -> str | None:
    if labels is None or i >= len(labels):
        return None
    value = labels[i]
    if getattr(value, "ndim", 0):
        return None  # one-hot or several: no name of one class
    value = value.item() if hasattr(value, "item") else value
    names = bench.classes
    if names is not None and isinstance(value, int) and 0 <= value < len(names):
        return plain(names[value])
    return plain(bench.source.class_name(value))


def plain(text: Any) -> str:
    return str(text)[:80]


def thumbnail(value: Any, scale: tuple[float, float] | None = None) -> dict[str, Json] | None:
    """A small picture as a data URI's content, with the size of the original in pixels; None where it is none."""
    try:
        from PIL import Image
    except ImportError:  # a user's interpreter may lack it
        return None
    try:
        image = value if hasattr(value, "getbands") else as_image(value, scale)
        if image is None or image.width * image.height * len(image.getbands()) > MOST_VALUES:
            return None
        from dataloader_expert.sources.pictures import GREY, as_grey, as_rgb

        size = {"width": image.width, "height": image.height}
        image = as_grey(image) if image.mode in GREY else as_rgb(image)
        if max(image.size) > SIDE:
            image = image.reduce(max(1, max(image.size) // (2 * SIDE)))
            image.thumbnail((SIDE, SIDE), Image.Resampling.BILINEAR)
        clean = Image.new(image.mode, image.size)  # nothing that a file said beside its pixels
        clean.paste(image)
        out = io.BytesIO()
        small = max(size["width"], size["height"]) <= SIDE // 2
        kind = "PNG" if small else "JPEG"
        clean.save(out, kind, **({} if small else {"quality": 80}))
    except Exception:  # an array of any dtype and content; a picture is a convenience
        return None
    return {"data": f"data:image/{kind.lower()};base64,{base64.b64encode(out.getvalue()).decode()}", **size}


def trace(value: Any, scale: tuple[float, float] | None = None) -> dict[str, Json] | None:
    """A sound or sequence ``[T]`` or ``[T, channels]`` as a small picture: the range of its first channel at each moment.

    ``scale``: what is at the foot and at the top; None: its own least and largest value.
    """
    try:
        import numpy as np
        from PIL import Image
    except ImportError:
        return None
    try:
        value = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
        if value.dtype.kind not in "biuf" or value.ndim not in (1, 2) or not value.size or value.size > MOST_VALUES:
            return None
        x = np.nan_to_num(value.reshape(len(value), -1)[:, 0].astype(np.float32), posinf=0, neginf=0)
        low, high = scale or (float(x.min()), float(x.max()))
        foot = ((x - low) * ((TALL - 1) / max(high - low, 1e-12))).clip(0, TALL - 1).astype(int)
        ends = np.linspace(0, len(x), min(SIDE, len(x)) + 1).astype(int)
        drawn = np.full((TALL, len(ends) - 1), 255, np.uint8)
        for column, (a, b) in enumerate(itertools.pairwise(ends.tolist())):
            part = foot[a : max(b, a + 1)]
            drawn[TALL - 1 - part.max() : TALL - part.min(), column] = 40
        out = io.BytesIO()
        Image.fromarray(drawn).resize((SIDE, TALL)).save(out, "PNG", optimize=True)
    except Exception:  # an array of any content; a picture is a convenience
        return None
    return {
        "data": f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}",
        "width": len(x),
        "height": None,
    }


TRACED = ("audio", "sequence")
LOOKS = {"image": thumbnail, "audio": trace, "sequence": trace}
"""How a field of each kind is shown."""


def as_image(value: Any, scale: tuple[float, float] | None) -> Any:
    """A Pillow image of an array ``[H, W]``, ``[C, H, W]`` or ``[H, W, C]``; ``scale``: what becomes black and white."""
    import numpy as np
    from PIL import Image

    tensor = hasattr(value, "detach")  # torch puts channels first
    value = value.detach().cpu().numpy() if tensor else value
    if not isinstance(value, np.ndarray) or value.ndim not in (2, 3) or not value.size or value.size > MOST_VALUES:
        return None
    if value.dtype.kind not in "biuf":
        return None
    if value.ndim == 3:
        if value.shape[0] in (1, 3, 4) and (tensor or value.shape[2] not in (1, 3, 4)):
            value = value.transpose(1, 2, 0)
        if value.shape[2] > 4:
            return None
        value = value[..., 0] if value.shape[2] in (1, 2) else value[..., :3]
    if value.dtype != np.uint8:
        wide = np.nan_to_num(value.astype(np.float32), posinf=0, neginf=0)
        low, high = scale or (float(wide.min()), float(wide.max()))
        value = ((wide - low) * (255 / max(high - low, 1e-12))).clip(0, 255).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(value))


PROBES = (OddPictures, BatchPictures)
