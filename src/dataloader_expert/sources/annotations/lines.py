"""Text files called after images with an object in each line, as data sets have them that follow neither COCO, VOC nor YOLO."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Names, around
from dataloader_expert.sources.files import Entry, Listing, is_beside

Line = tuple[list[float], str]
"""Left, top, right and bottom in pixels, and the class, or what a text says."""
MOST_BYTES, LOOKED_AT = 1 << 20, 50
"""The largest file, and the files that tell the style."""
MOST_CLASSES = 11
"""The last class of VisDrone."""
SCRIPTS = {"Arabic", "Latin", "Chinese", "Japanese", "Korean", "Bangla", "Hindi", "Symbols", "Mixed", "None"}
"""What ICDAR's lines of several scripts have before the text."""
ABOUT = ("imagesource:", "gsd:", "acquisition dates:")
"""What lines of DOTA begin with that tell of the image."""


def join_lines(found: Annotations, listing: Listing, paths: list[str]) -> None:
    aside = {*found.tables}
    texts = [
        entry
        for entry in listing.entries
        if entry.kind in ("text", None) and entry.path.endswith(".txt") and entry.path not in aside
    ]
    files = Names(paths if texts else ())
    alone: list[Entry] = []
    groups: dict[tuple[str, ...], dict[str, Entry]] = {}
    """By what the folders of texts have that those of their images do not."""
    for entry in texts:
        if entry.size <= MOST_BYTES and not is_beside(entry.path):
            path = files.beside(entry.path)
            if path is None:
                alone.append(entry)
            else:
                own = set(path.split("/"))
                folders = tuple(part for part in entry.path.split("/")[:-1] if part not in own)
                groups.setdefault(folders, {}).setdefault(path, entry)
    styles = [_style(listing, [entry for entry in of.values() if entry.size][:LOOKED_AT]) for of in groups.values()]
    style = next(filter(None, styles), None)
    if style is not None:
        read: dict[str, Entry] = {}
        for of, one in zip(groups.values(), styles, strict=True):
            if one is style and not read.keys() & of.keys():  # else they say the same again
                read |= of
        _join(found, listing, read, style, [entry for entry in alone if not files.several(entry.path)])


def _join(
    found: Annotations, listing: Listing, of: dict[str, Entry], style: Callable[[str], Line], alone: list[Entry]
) -> None:
    """Takes over the files in this style; of those without an image, the ones in the same folders are told."""
    import numpy as np

    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    for path, entry in of.items():
        boxes, names, wrong = [], [], []
        try:
            for at, line in _lines(listing.read(entry.path, MOST_BYTES)):
                try:
                    box, name = style(line)
                except ODD:
                    wrong.append(f"line {at} is not an object like those in the other files: {escaped(line, 60)}")
                    continue
                boxes.append(box)
                names.append(name)
        except ODD as e:
            wrong.append(f"is not a label file: {escaped(e, 80)}")
        if wrong:
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            found.problems.append(Unreadable("parse-error", wrong[0] + more, file=entry.path))
        found.tables.append(entry.path)
        found.by_line[path] = entry.path
        found.may_be_empty.add(entry.path)  # an image without objects
        read[path] = boxes, names
    if style is icdar:
        for path, (boxes, names) in read.items():
            found.add(path, {"boxes": np.array(boxes, np.float64).reshape(-1, 4), "texts": names})
    else:
        found.add_named(read)
    found.outlines = found.outlines or style in (dota, icdar)
    homes = {entry.path.rpartition("/")[0] for entry in of.values()}
    alone = [e for e in alone if e.size and e.path.rpartition("/")[0] in homes and _style(listing, [e]) is style]
    found.tables += [entry.path for entry in alone]
    found.problems += [Unreadable("missing-pair", "has no image", file=e.path) for e in alone[:MOST_TOLD]]


def _style(listing: Listing, some: list[Entry]) -> Callable[[str], Line] | None:
    """The style in which nearly all lines of these files are written."""
    lines: list[str] = []
    for entry in some:
        try:
            lines += [line for _, line in _lines(listing.read(entry.path, MOST_BYTES))]
        except ODD:
            continue
    return next((style for style in STYLES if lines and _fits(style, lines)), None)


def _fits(style: Callable[[str], Line], lines: list[str]) -> bool:
    wrong = 0
    for line in lines:
        try:
            style(line)
        except ODD:
            wrong += 1
            if wrong > (1 - NEARLY_ALL) * len(lines):
                return False
    return True


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines that may tell of an object, with their numbers."""
    for at, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
        if line.strip() and not line.lower().startswith(ABOUT):
            yield at, line.strip()


def kitti(line: str) -> Line:
    """The class, then 14 numbers, of which the fourth to the seventh are the box, and perhaps a confidence (Geiger et al., 2012)."""
    name, *values = line.split()
    numbers = [float(value) for value in values]
    if len(numbers) not in (14, 15):
        raise ValueError("not as many columns as KITTI's labels have")
    return numbers[3:7], _word(name)


def dota(line: str) -> Line:
    """Four corners, the class, and perhaps how difficult it is (Xia et al., "DOTA", 2018)."""
    cells = line.split()
    if len(cells) not in (9, 10):
        raise ValueError("not as many columns as DOTA's labels have")
    return _corners(cells[:8]), _word(cells[8])


def visdrone(line: str) -> Line:
    """Left, top, width and height, a score, the class's number, how truncated and how occluded (Zhu et al., "VisDrone", 2018)."""
    cells = line.removesuffix(",").split(",")
    left, top, width, height, score, number, truncated, occluded = map(int, cells)
    if (
        score not in (0, 1)
        or not 0 <= number <= MOST_CLASSES
        or truncated not in (0, 1, 2)
        or occluded not in (0, 1, 2)
    ):
        raise ValueError("not what VisDrone's labels say")
    return [float(left), float(top), float(left + width), float(top + height)], str(number)


def icdar(line: str) -> Line:
    """Four corners and what is written there, with commas between (Karatzas et al., "ICDAR 2015")."""
    *corners, text = line.split(",", 8)
    if len(corners) != 8:
        raise ValueError("not as many columns as ICDAR's labels have")
    script, mark, rest = text.partition(",")
    return _corners(corners), rest if mark and script in SCRIPTS else text


def sided(line: str) -> Line:
    """The class and the four sides in pixels, and perhaps that it is difficult."""
    name, *values = line.split()
    if values and values[-1] == "difficult":
        values.pop()
    left, top, right, bottom = map(float, values)
    if not (left <= right and top <= bottom) or max(right, bottom) <= 1:
        raise ValueError("the sides are not in order, or shares of the image, which may be a centre and a size")
    return [left, top, right, bottom], _word(name)


STYLES: tuple[Callable[[str], Line], ...] = (kitti, dota, visdrone, icdar, sided)


def _corners(cells: list[str]) -> list[float]:
    """The box around points, of which each has its x and its y."""
    numbers = [float(cell) for cell in cells]
    return around(numbers[::2], numbers[1::2])


def _word(text: str) -> str:
    """A class's name.

    Raises:
        ValueError: if it is a number, so that the line may be anything.
    """
    try:
        float(text)
    except ValueError:
        return text
    raise ValueError("a number where the class should be")
