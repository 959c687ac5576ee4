"""Work on images and arrays of which little is kept afterwards: what is resized, cropped or sliced, and the lines before that.

Pillow's images are seen as they are resized and cropped; arrays and tensors where a line of the user's takes a slice of one by name.
"""

from __future__ import annotations

import ast
import functools
import linecache
import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.profile.stage_classifier import is_users

SHRUNK = 4.0
"""How many times as much there is before a part is kept if that is noted."""
LEAST_WORK = 0.3
"""The least share of a sample's time that operations take which a line does before it keeps a part itself."""
WORK = ("filter", "transform")
"""Pillow's operations on all pixels of an image."""
DEEP = 64
"""The most of the user's frames of a call that are looked at."""
Place = tuple[str, int]


@dataclass(frozen=True)
class Kept:
    """What a call kept of an image or array. ``before``: the user's lines that worked on as much; ``by``: the line that kept it."""

    of: tuple[int, ...]
    size: tuple[int, ...]
    kind: str
    before: frozenset[Place]
    by: Place | None

    @property
    def times(self) -> float:
        return math.prod(self.of) / max(1, math.prod(self.size))


@dataclass
class KeptParts:
    """What samples kept of large images and arrays, sample by sample."""

    found: dict[Place, Kept] = field(default_factory=dict)
    seconds: defaultdict[Place, float] = field(default_factory=lambda: defaultdict(float))
    whole_s: defaultdict[bool, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds of samples in which a line worked on too much, of the slow ones and of the others."""
    slow_places: set[Place] = field(default_factory=set)
    _kept: list[Kept] = field(default_factory=list)
    _held: dict[Place, int] = field(default_factory=dict)
    """The largest image or array that a line made of another."""
    _decoding: set[Place] = field(default_factory=set)
    _worked: defaultdict[Place, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds of operations on whole images, by line."""

    def begin(self) -> None:
        for part in (self._kept, self._held, self._decoding, self._worked):
            part.clear()

    def made(self, place: Place, most: int) -> None:
        """A line has made an image or array of so many values of one that it was given."""
        self._held[place] = max(self._held.get(place, 0), most)

    def decoded(self) -> None:
        """An image is decoded by the lines of this call, which is no work on its pixels."""
        self._decoding.update(users_places(sys._getframe(1), DEEP))

    def worked(self, seconds: float) -> None:
        """An operation on all pixels of an image."""
        for place in users_places(sys._getframe(1), DEEP):
            self._worked[place] += seconds

    def keeps(self, of: tuple[int, ...], size: tuple[int, ...], kind: str, within: list[Place]) -> None:
        """A part is kept by the call at these lines, which are no work before it, unless they did some, too."""
        least = SHRUNK * math.prod(size)
        if math.prod(of) > math.prod(size):
            before = {place for place, held in self._held.items() if held >= least} - {*within} - self._decoding
            self._kept.append(Kept(of, size, kind, frozenset(before), within[0] if within else None))

    def end(self, sample: Any, seconds: float, slow: bool) -> None:
        """After a sample: where much of an image was kept by several calls, or the sample has it whole, nothing was in vain."""
        largest = max((elements(value) for _, value in flat(sample)), default=0)
        told: set[Place] = set()
        for one in self._kept:
            used = sum(math.prod(other.size) for other in self._kept if other.of == one.of)
            if largest >= math.prod(one.of) or math.prod(one.of) < SHRUNK * used:
                continue
            within = {place for place, spent in self._worked.items() if spent >= LEAST_WORK * seconds}
            for place in one.before | within:
                told.add(place)
                known = self.found.get(place)
                if known is None or one.times > known.times:
                    self.found[place] = one
        self.whole_s[slow] += seconds
        for place in told:
            self.seconds[place] += seconds if not slow else 0.0
            self.slow_places |= {place} if slow else set()

    def told(self, costly: set[Place], slow_weight: float) -> list[dict[str, Any]]:
        """The costly lines that worked on too much in most of the time: of the samples read at even distances, or of the slow ones, if these
        take most of it."""
        out = []
        for (file, line), one in self.found.items():
            often = self.seconds[file, line] >= 0.5 * self.whole_s[False] > 0
            told = often or (slow_weight >= 0.5 and (file, line) in self.slow_places)
            if told and (file, line) in costly:
                by = None if one.by is None else {"file": one.by[0], "line": one.by[1]}
                value = {
                    "file": file,
                    "line": line,
                    "of": list(one.of),
                    "used": list(one.size),
                    "kind": one.kind,
                    "by": by,
                }
                out.append({**value, "slow": not often})
        return out


@dataclass
class Lines:
    """The statements that a frame of the user's executes: what they make of images and arrays, and what they cut out of them."""

    kept: KeptParts
    costly: set[Place]
    _at: Statement | None = None
    _place: Place = ("", 0)
    _known: frozenset[int] = frozenset()
    """The identities of the variables when the statement began."""
    _given: int = 0

    def event(self, frame: FrameType, event: str, arg: Any) -> None:
        """At a line, a return or an exception."""
        place = frame.f_code.co_filename, frame.f_lineno
        if self._at is not None and (event == "return" or not self._at.first <= place[1] <= self._at.last):
            self._ended(self._at, frame, arg if event == "return" else None)
            self._at = None
        if event == "line" and self._at is None:
            at = _statements(place[0]).get(place[1])
            if at is not None and (
                at.sliced is not None or any((place[0], n) in self.costly for n in range(at.first, at.last + 1))
            ):
                held = [frame.f_locals.get(name) for name in at.names]
                self._at, self._place, self._given = at, place, max(map(elements, held), default=0)
                self._known = frozenset(map(id, frame.f_locals.values()))

    def _ended(self, at: Statement, frame: FrameType, returned: Any) -> None:
        new = [value for value in frame.f_locals.values() if id(value) not in self._known]
        size = max(map(elements, [*new, returned]), default=0)
        if at.sliced is not None and size:
            within = [self._place, *users_places(frame.f_back, DEEP)]
            self.kept.keeps((self._given,), (size,), "slice", within)
        for line in range(at.first, at.last + 1):
            place = self._place[0], line
            if at.sliced is None and place in self.costly:
                self.kept.made(place, min(size, self._given))


@dataclass(frozen=True)
class Statement:
    """A simple statement: its lines, the names that it reads, and the one that it takes a slice of, if it does nothing else."""

    first: int
    last: int
    names: frozenset[str]
    sliced: str | None


@functools.lru_cache(64)
def _statements(file: str) -> dict[int, Statement]:
    """A file's simple statements, by each of their lines."""
    found: dict[int, Statement] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr):
            read = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
            value, sliced = node.value, None
            if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name) and _slicing(value.slice):
                sliced = value.value.id
            last = node.end_lineno or node.lineno
            one = Statement(node.lineno, last, frozenset([sliced] if sliced else read), sliced)
            found.update(dict.fromkeys(range(node.lineno, last + 1), one))
    return found


def _slicing(index: ast.expr) -> bool:
    parts: Iterable[ast.expr] = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(part, ast.Slice) and part.step is None for part in parts)


def elements(value: Any) -> int:
    """The numbers of an array or a tensor, or the pixels of an image; 0 of anything else."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return math.prod(shape) if all(isinstance(n, int) for n in shape) else 0
    size = getattr(value, "size", None)
    return math.prod(size) if isinstance(size, tuple) and all(isinstance(n, int) for n in size) else 0


def users_places(frame: FrameType | None, most: int = 2) -> list[Place]:
    """The user's innermost line, and the one that called it, and further ones if more are asked for."""
    found: list[Place] = []
    while frame is not None and len(found) < most:
        if is_users(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def watch_images(kept: KeptParts) -> None:
    """Notes what Pillow does with images, in this process."""
    image, file = sys.modules.get("PIL.Image"), sys.modules.get("PIL.ImageFile")
    if image is None:
        return
    kind: Any = image.Image
    resize, crop = kind.resize, kind.crop

    def resized(picture: Any, size: Any, *more: Any, **named: Any) -> Any:
        within = users_places(sys._getframe(1), DEEP)
        kept.keeps(picture.size, tuple(size), "resize", within)  # thumbnails are made by it, too
        return resize(picture, size, *more, **named)

    def cropped(picture: Any, box: Any = None) -> Any:
        if box is not None:
            part = round(box[2] - box[0]), round(box[3] - box[1])
            kept.keeps(picture.size, part, "crop", users_places(sys._getframe(1), DEEP))
        return crop(picture, box)

    def working(plain: Any) -> Any:
        def done(*given: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            made = plain(*given, **named)
            kept.worked(time.perf_counter() - begun)
            return made

        return done

    kind.resize, kind.crop = resized, cropped
    for name in WORK:
        setattr(kind, name, working(getattr(kind, name)))
    image.blend = working(image.blend)  # type: ignore[attr-defined]  # brightness, contrast and colour are changed by it
    if file is not None:
        decode = file.ImageFile.load

        def load(picture: Any) -> Any:
            kept.decoded()
            return decode(picture)

        file.ImageFile.load = load
