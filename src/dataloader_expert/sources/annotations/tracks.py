"""Boxes of the frames of a video: MOT Challenge's ``gt/gt.txt`` beside ``img1``, and a box in each line of ``groundtruth.txt`` in a folder
of as many frames, as GOT-10k, OTB and LaSOT have it."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.annotations.record import ODD, Annotations, around, folder_of
from dataloader_expert.sources.files import Entry, Listing

MOST_BYTES, FEWEST = 1 << 26, 2
OF_MOT = (9, 10)
"""Columns: frame, track, left, top, width, height, a flag, and the class and visibility, or a place in the world."""
_NUMBER = re.compile(r"\d+")


def join_tracks(found: Annotations, listing: Listing, paths: list[str]) -> None:
    frames: dict[str, list[str]] = {}
    for path in paths:
        frames.setdefault(folder_of(path), []).append(path)
    within: dict[str, list[str]] = {}
    for home in frames:
        within.setdefault(folder_of(home), []).append(home)
    taken = {*found.tables}
    for entry in listing.entries:
        folder, _, name = entry.path.rpartition("/")
        if entry.kind not in ("text", "csv") or not 0 < entry.size <= MOST_BYTES or entry.path in taken:
            continue
        if name == "gt.txt" and folder.rpartition("/")[2] == "gt":
            read, homes = _of_mot, within.get(folder_of(folder), [])
        elif name.startswith("groundtruth") and name.endswith(".txt"):
            read, homes = _of_one, [folder] if folder in frames else within.get(folder, [])
        else:
            continue
        if len(homes) == 1 and len(frames[homes[0]]) >= FEWEST:
            try:
                read(found, listing, entry, sorted(frames[homes[0]]))
            except ODD:
                found.problems.append(Unreadable("parse-error", "is not a list of boxes of frames", file=entry.path))


def _of_mot(found: Annotations, listing: Listing, entry: Entry, frames: list[str]) -> None:
    """Boxes, tracks and classes of each frame; none are objects too."""
    import numpy as np

    rows = np.array([[float(cell) for cell in line.split(",")] for line in _lines(listing, entry)])
    if rows.ndim != 2 or rows.shape[1] not in OF_MOT:
        raise ValueError("not as many columns as MOT Challenge has")
    numbered = {int(_NUMBER.findall(path)[-1]): path for path in frames}
    for number, path in numbered.items():
        own = rows[rows[:, 0] == number]
        row = {
            "boxes": _corners(own[:, 2:6]),
            "tracks": own[:, 1].astype(np.int64),
            "flags": own[:, 6].astype(np.int64),
        }
        if rows.shape[1] == OF_MOT[0]:
            row |= {"classes": own[:, 7].astype(np.int64), "visibility": own[:, 8]}
        found.add(path, row)
        found.by_line[path] = entry.path
    found.tables.append(entry.path)
    if lost := sorted({*rows[:, 0].astype(int).tolist()} - numbered.keys()):
        text = f"has boxes of frame {lost[0]}, which is not there" + (
            f", and of {len(lost) - 1} others" if lost[1:] else ""
        )
        found.problems.append(Unreadable("dangling-reference", text, file=entry.path))


def _of_one(found: Annotations, listing: Listing, entry: Entry, frames: list[str]) -> None:
    """The box of the object that is followed, in each frame."""
    import numpy as np

    lines = _lines(listing, entry)
    if len(lines) != len(frames):
        text = f"has {len(lines):,} lines for {len(frames):,} frames, so it is not read"
        found.problems.append(Unreadable("length-mismatch", text, file=entry.path))
        return
    boxes = [[float(cell) for cell in re.split(r"[\s,]+", line)] for line in lines]
    if {*map(len, boxes)} not in ({4}, {8}):
        raise ValueError("neither boxes nor corners")
    for path, box in zip(frames, boxes, strict=True):
        corners = around(box[::2], box[1::2]) if len(box) == 8 else None
        made = np.array([corners], np.float64) if corners else _corners(np.array([box], np.float64))
        found.add(path, {"boxes": made})
        found.by_line[path] = entry.path
    found.tables.append(entry.path)


def _corners(sides: Any) -> Any:
    """Left, top, right and bottom, float64 [n, 4], from left, top, width and height."""
    import numpy as np

    return np.concatenate([sides[:, :2], sides[:, :2] + sides[:, 2:]], 1)


def _lines(listing: Listing, entry: Entry) -> list[str]:
    return [line.strip() for line in listing.read(entry.path).decode("utf-8-sig").splitlines() if line.strip()]
