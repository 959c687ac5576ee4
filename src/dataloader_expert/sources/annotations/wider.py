"""WIDER FACE (Yang et al., 2016): a text file for many images; of each its path, the number of faces, and a line for each face."""

from __future__ import annotations

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, Names
from dataloader_expert.sources.files import Listing, is_about

MOST_BYTES, LOOKED_AT = 1 << 26, 10


def join_wider(found: Annotations, listing: Listing, paths: list[str]) -> None:
    import numpy as np

    aside = {*found.tables}
    texts = [e for e in listing.entries if e.kind == "text" and e.path not in aside and not is_about(e.path)]
    files = Names(paths if texts else ())
    for entry in texts:
        try:
            head = listing.head(entry.path).decode("utf-8", "replace").splitlines()
            if entry.size > MOST_BYTES or len(head) < 3 or not head[1].strip().isdigit() or not _path(head[0]):
                continue
            if not any(_face(line) for line in head[2:LOOKED_AT]):
                continue
            if files.find(head[0].strip(), False) is None and files.find(head[0].strip(), False, "images/") is None:
                continue
            made = images_of(listing.read(entry.path).decode("utf-8", "replace").splitlines())
        except ODD as e:
            text = f"is not as WIDER FACE's list: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
            made = {}
        found.tables.append(entry.path)
        lost = []
        for name, boxes in made.items():
            path = files.find(name, False)
            if path is None:
                lost.append(name)
                continue
            found.add(path, {"boxes": np.array(boxes, np.float64).reshape(-1, 4)})
            found.by_line[path] = entry.path
        found.problems += [
            Unreadable("dangling-reference", f"names {escaped(name, 80)}, which is not there", file=entry.path)
            for name in lost[:MOST_TOLD]
        ]


def images_of(lines: list[str]) -> dict[str, list[list[float]]]:
    """The boxes of each image: left, top, right and bottom in pixels.

    Raises:
        ValueError: if a line is not what should stand there.
    """
    found: dict[str, list[list[float]]] = {}
    at = 0
    while at < len(lines):
        name = lines[at].strip()
        if not name:
            at += 1
            continue
        if not _path(name) or at + 1 >= len(lines):
            raise ValueError(f"line {at + 1} should name an image: {name[:60]}")
        n = int(lines[at + 1])
        rows = [row for line in lines[at + 2 : at + 2 + n] if (row := _face(line)) is not None]
        if len(rows) < n:
            raise ValueError(f"line {at + 2} says {n} faces, but fewer follow")
        found[name] = [[x, y, x + width, y + height] for x, y, width, height in rows]
        at += 2 + n
        at += n == 0 and at < len(lines) and _face(lines[at]) is not None  # a line of zeros where there is none
    return found


def _face(line: str) -> list[float] | None:
    """Left, top, width and height; None if these are not what the line begins with."""
    try:
        x, y, width, height, *_ = map(float, line.split())
    except ValueError:
        return None
    return [x, y, width, height]


def _path(line: str) -> bool:
    return "." in line.strip().rsplit("/", 1)[-1] and not line.strip().replace(".", "").isdigit()
