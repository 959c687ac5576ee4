"""What stands next to samples and says something of them, from every kind of annotation."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.beside import join_beside
from dataloader_expert.sources.annotations.brat import join_brat
from dataloader_expert.sources.annotations.cvat import join_cvat
from dataloader_expert.sources.annotations.divided import join_divided
from dataloader_expert.sources.annotations.keyed import join_keyed
from dataloader_expert.sources.annotations.labelme import join_labelme
from dataloader_expert.sources.annotations.lines import join_lines
from dataloader_expert.sources.annotations.listed import join_lists
from dataloader_expert.sources.annotations.objects import boxed, in_runs
from dataloader_expert.sources.annotations.of_folders import join_of_folders
from dataloader_expert.sources.annotations.points import join_points
from dataloader_expert.sources.annotations.record import MOST_TOLD, Annotations, folder_of
from dataloader_expert.sources.annotations.supervisely import join_supervisely
from dataloader_expert.sources.annotations.tables import join_tables
from dataloader_expert.sources.annotations.tasks import join_tasks
from dataloader_expert.sources.annotations.tracks import join_tracks
from dataloader_expert.sources.annotations.voc import join_voc
from dataloader_expert.sources.annotations.wider import join_wider
from dataloader_expert.sources.annotations.yolo import join_yolo
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.pairing import key_of

_READ: WeakKeyDictionary[Listing, tuple[list[str], Annotations]] = WeakKeyDictionary()
"""What was read to choose the format, until it is used. COCO's file alone takes seconds."""


def annotations_of(listing: Listing, samples: Sequence[Entry], keep: bool = False) -> Annotations:
    """``keep``: for the next call with these samples."""
    paths = _without_partners([entry.path for entry in samples])
    known = _READ.pop(listing, None)
    images = all(entry.kind == "image" for entry in samples)
    found = known[1] if known is not None and known[0] == paths else _read(listing, paths, images)
    if keep:
        _READ[listing] = paths, found
    return found


def _read(listing: Listing, paths: list[str], images: bool) -> Annotations:
    found = Annotations(images=images)
    for join in (
        join_brat,
        join_yolo,
        join_voc,
        join_cvat,
        join_labelme,
        join_supervisely,
        join_tracks,
        join_tasks,
        join_lists,
        join_divided,
        join_lines,
        join_wider,
        join_points,
        join_tables,
        join_keyed,
        join_of_folders,
        join_beside,
    ):
        if images or join not in (join_cvat, join_lines, join_points, join_supervisely, join_tracks, join_wider):
            join(found, listing, paths)
    folders = {folder_of(path) for path in found.rows}
    without = [path for path in paths if path not in found.rows and folder_of(path) in folders]
    # a recording without events has no row in a table of events, and an image without objects none in a table of these
    negatives = found.negatives or any(
        table.lists and (not images or table.sides is not None or boxed(table.lists) or any(map(in_runs, table.lists)))
        for table in found.joined
    )
    if not negatives and 2 * len(without) < len(found.rows):  # of more, they are left unlabelled on purpose
        tables = escaped(found.tables[0]) if len(found.tables) == 1 else "any table of annotations"
        found.problems += [Unreadable("missing-pair", f"has no row in {tables}", file=p) for p in without[:MOST_TOLD]]
    return found


def _without_partners(paths: list[str]) -> list[str]:
    """Without masks and the like, which have the same key as the images that they belong to."""
    keys = {path: key_of(path) for path in paths}
    own = {key for key, word in keys.values() if word is None}
    return [path for path, (key, word) in keys.items() if word is None or key not in own]
