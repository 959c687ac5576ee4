"""COCO (Lin et al., "Microsoft COCO: Common Objects in Context", 2014): one JSON file for many images."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sized
from typing import Any

from dataloader_expert.sources.annotations.outlines import contradicted
from dataloader_expert.sources.annotations.record import NEARLY_ALL, Row

MOSTLY = 0.8
"""The most objects whose count of key points is that of all, though some are not labelled: beyond, it is what the count means there."""


class Images(list[Row]):
    """Rows of a file in this format, and the names of its categories by number."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[int, str] = {}
        self.sizes: dict[str, tuple[int, int]] = {}
        """Width and height of each image, as the file says."""
        self.lost = 0
        """Annotations of images that the file does not list."""
        self.odd: list[tuple[str, str]] = []
        """Images, and what is odd about the key points of an object in each."""
        self.unlike: list[tuple[str, str]] = []
        """Images, and how the box of an object in each contradicts its polygon."""


def images_of(found: dict[str, Any]) -> list[Row]:
    """An image a row: its boxes, [n, 4], the numbers of their categories and their key points, [n, points, 3], or its captions."""
    import numpy as np

    of: dict[Any, list[dict[str, Any]]] = {}
    for one in _objects(found["annotations"]):
        if isinstance(one.get("image_id"), int | str):
            of.setdefault(one["image_id"], []).append(one)
    rows = Images()
    rows.names = _names(found.get("categories"))
    captions = any("caption" in one for own in of.values() for one in own[:1])
    boxes = any("bbox" in one for own in of.values() for one in own)
    single = all(len(own) == 1 for own in of.values())
    every = [one for own in of.values() for one in own]
    number_of, odd = _key_points(every)
    unlike = contradicted(every)
    for image in found["images"]:
        name = _name_of(image)
        if not name:
            continue
        own = of.get(image.get("id"), []) if isinstance(image.get("id"), int | str) else []
        row: Row = {"file_name": name}
        if all(isinstance(image.get(side), int) for side in ("width", "height")):
            rows.sizes[name] = (image["width"], image["height"])
        if captions:
            texts = [str(one.get("caption")) for one in own]
            row["caption"] = texts[0] if single and texts else texts
        elif not boxes and single:  # of classes alone, as iNaturalist's
            number = _number(own[0].get("category_id")) if own else -1
            row["category"] = None if number < 0 else rows.names.get(number, str(number))
        elif not boxes:
            row["categories"] = np.array([_number(one.get("category_id")) for one in own], np.int64)
        else:
            row["boxes"] = np.array([_box(one.get("bbox")) for one in own], np.float64).reshape(-1, 4)
            row["categories"] = np.array([_number(one.get("category_id")) for one in own], np.int64)
            rows.unlike += [(name, unlike[id(one)]) for one in own if id(one) in unlike]
            if number_of:  # x, y and whether it is labelled and visible
                held = [_points(one.get("keypoints")) for one in own]
                whole = [np.zeros((number_of, 3)) if at is None or len(at) != number_of else at for at in held]
                row["keypoints"] = np.array(whole, np.float32).reshape(-1, number_of, 3)
                rows.odd += [(name, odd[id(one)]) for one in own if id(one) in odd]
        rows.append(row)
    listed = {image.get("id") for image in found["images"] if isinstance(image, dict)}
    rows.lost = sum(len(own) for image, own in of.items() if image not in listed)
    return rows


def _objects(annotations: list[Any]) -> Iterator[dict[str, Any]]:
    """The annotations; of panoptic ones, which are one for each image, their segments."""
    for one in annotations:
        if isinstance(one, dict):
            segments = one.get("segments_info")
            own = [s for s in segments if isinstance(s, dict)] if isinstance(segments, list) else None
            yield from [one] if own is None else ({**segment, "image_id": one.get("image_id")} for segment in own)


def _key_points(objects: list[dict[str, Any]]) -> tuple[int, dict[int, str]]:
    """How many key points nearly all objects have that have any, 0 if they differ; and what is odd about others, by their id."""
    held = {id(one): (one, _points(of)) for one in objects if isinstance(of := one.get("keypoints"), Sized) and len(of)}
    counts = Counter(0 if at is None else len(at) for _, at in held.values())
    [(usual, most)] = counts.most_common(1) or [(0, 0)]
    if not usual or most < NEARLY_ALL * len(held):
        return 0, {}
    odd = {
        key: f"the keypoints of an object are {len(one['keypoints']) if at is None else at.size} numbers, those of others {3 * usual}: not read"
        for key, (one, at) in held.items()
        if at is None or len(at) != usual
    }
    labelled = {key: int((at[:, 2] > 0).sum()) for key, (_, at) in held.items() if key not in odd}
    apart = {key for key, n in labelled.items() if held[key][0].get("num_keypoints", n) != n}
    every = {key for key in apart if held[key][0]["num_keypoints"] == usual}
    # what most objects contradict may count something else, such as the visible ones, but not all points of some
    bare = not any(labelled.values())  # of the whole file, though some are counted
    if (
        bare
        or len(apart) <= (1 - NEARLY_ALL) * len(labelled)
        or (apart == every and len(apart) <= MOSTLY * len(labelled))
    ):
        odd |= {
            key: f"num_keypoints of an object is {held[key][0]['num_keypoints']!r}, and {labelled[key]} of its keypoints are labelled"
            for key in apart
        }
    return usual, odd


def _name_of(image: Any) -> str:
    """The image's file; LVIS gives its address alone. Empty if neither is said."""
    name = image.get("file_name") or image.get("coco_url") if isinstance(image, dict) else None
    if not isinstance(name, str):
        return ""
    return name if image.get("file_name") else name.rpartition("/")[2]


def _box(box: Any) -> list[float]:
    """Left, top, right and bottom of a box that is given by its left, top, width and height; NaN if it is none."""
    try:
        x, y, width, height = map(float, box)
    except (TypeError, ValueError, OverflowError):
        return [float("nan")] * 4
    return [x, y, x + width, y + height]


def _number(value: Any) -> int:
    """A category's number, also where it is written as a text or with a point; -1 if it is none."""
    try:
        number = int(value)
        return number if number == float(value) and abs(number) < 1 << 31 else -1
    except (TypeError, ValueError, OverflowError):
        return -1


def _names(categories: Any) -> dict[int, str]:
    some = categories if isinstance(categories, list) else []
    return {n: str(c.get("name") or n) for c in some if isinstance(c, dict) and (n := _number(c.get("id"))) >= 0}


def _points(value: Any) -> Any:
    """Key points as [points, 3]: x, y and whether each is labelled and visible; None if they are none."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if isinstance(value, list) and value and len(value) % 3 == 0:
            return np.array(value, np.float32).reshape(-1, 3)
    return None


def slim(made: dict[str, Any]) -> dict[str, Any]:
    """An object of JSON without outlines, which take most of a large file and are not read, and with its key points as an array."""
    if "image_id" in made:
        made.pop("segmentation", None)
        if (points := _points(made.get("keypoints"))) is not None:
            made["keypoints"] = points
    return made
