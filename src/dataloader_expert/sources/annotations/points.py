"""Points on what images show: a text file called after each image with a point in each line, as 300-W has them, or a table with the parts
of a body in the lines above its rows, as DeepLabCut writes it."""

from __future__ import annotations

import csv
import io
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, NEARLY_ALL, ODD, Annotations, Names, folder_of
from dataloader_expert.sources.files import Entry, Listing, is_beside

POINTS, MOST_BYTES, FEWEST, LOOKED_AT = "keypoints", 1 << 20, 3, 20
SEEN = 2
"""What COCO says of a point that is seen."""
ABOVE = ("scorer", "individuals", "bodyparts", "coords")
"""What DeepLabCut's lines above the rows begin with."""
SCORER = b"scorer,"


def join_points(found: Annotations, listing: Listing, paths: list[str]) -> None:
    _join_files(found, listing, paths)
    tables = [e for e in listing.entries if e.kind in ("csv", "text") and e.path.endswith(".csv")]
    named = Names(paths if tables else ())
    for entry in tables:
        try:
            if listing.head(entry.path, len(SCORER)) == SCORER:
                _join_table(found, listing, entry, named)
        except (*ODD, csv.Error) as e:
            text = f"is not a table of points: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))


def _join_files(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """The files called after images, if all that are looked at first have equally many points."""
    texts = [e for e in listing.entries if e.kind in ("text", None) and e.path.endswith((".pts", ".txt"))]
    read = {*found.tables}
    texts = [e for e in texts if 0 < e.size <= MOST_BYTES and not is_beside(e.path) and e.path not in read]
    files = Names(paths if texts else ())
    of = {path: entry for entry in texts if (path := files.beside(entry.path)) is not None}
    if len(of) < FEWEST or 2 * len(of) < len(paths):
        return
    first = [_points(listing, entry) for entry in [*of.values()][:LOOKED_AT]]
    counts = {len(points) for points in first if points is not None}
    if len(counts) != 1 or min(counts) < FEWEST or sum(p is not None for p in first) < NEARLY_ALL * len(first):
        return
    for path, entry in of.items():
        points = _points(listing, entry)
        found.tables.append(entry.path)
        if points is not None:
            found.add(path, {POINTS: points})
        else:
            text = "does not have one point per line, unlike the others"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))


def _points(listing: Listing, entry: Entry) -> Any:
    """The points of a file, [points, 2], which may say how many they are and stand in braces; None if it holds something else."""
    import numpy as np

    try:
        lines = listing.read(entry.path, MOST_BYTES).decode("utf-8").split("\n")
        rows = [line.split() for line in lines if line.strip(" \t\r{}") and ":" not in line]
        points = np.array(rows, np.float64)
    except ODD:
        return None
    return points if points.ndim == 2 and points.shape[1] == 2 else None


def _join_table(found: Annotations, listing: Listing, entry: Entry, files: Names) -> None:
    """Each row has the path of a frame, perhaps in several cells, and then two numbers for each part; a video is a folder. The points have a
    third number as COCO's have, 0 for a part that is not seen."""
    import numpy as np

    rows = list(csv.reader(io.StringIO(listing.read(entry.path).decode("utf-8-sig"), newline="")))
    above = next((i for i, row in enumerate(rows) if not row or row[0] not in ABOVE), len(rows))
    if "likelihood" in rows[above - 1]:
        return  # predictions for the frames of a video, which are no files
    first = rows[above - 1].index("x")
    found.tables.append(entry.path)
    lost: list[Unreadable] = []
    for row in filter(None, rows[above:]):
        path = files.find("/".join(filter(None, row[:first])), False)
        if path is None:
            text = f"names {escaped('/'.join(row[:first]), 80)}, which is not there"
            lost.append(Unreadable("dangling-reference", text, file=entry.path))
            continue
        numbers = [float(cell) if cell.strip() else np.nan for cell in row[first:]]
        places = np.array(numbers, np.float64).reshape(-1, 2)
        seen = ~np.isnan(places).any(axis=1, keepdims=True)
        points = np.hstack([np.where(seen, places, 0), SEEN * seen])
        video = folder_of(path).rpartition("/")[2]
        found.add(path, {POINTS: points} | ({"video": video} if video else {}))
    found.problems += lost[:MOST_TOLD]
