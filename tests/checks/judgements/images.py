"""Where the checks of images and what is marked in them say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from dataloader_expert.sources.base import Objects
from tests.checks import (
    test_keypoint_order,
    test_keypoint_sides,
    test_marks_in_arrays,
    test_misfiled,
    test_moved_boxes,
    test_recoloured,
    test_repeated_annotations,
    test_turned,
)
from tests.checks.judgements.common import HALVES, PICTURES, objects, picture
from tests.checks.looking import Data
from tests.checks.test_misplaced_masks import beside, delivered, laid, mirrored, on_one_ground, pairs

rng = np.random.default_rng(29)


def without_blue() -> Any:
    red, green, blue = picture(3).split()
    return Image.merge("RGB", (red, green, blue.point(lambda _: 0)))


def turned() -> Any:
    image = picture(1)
    image.getexif()[274] = 6
    return image


def shaped(order: list[int], larger: float = 1.0) -> Data:
    """Images of a flat, a square and an upright object each; in the test split their classes have these numbers."""
    boxes, classes = [], []
    for i in range(80):
        sizes = np.array([[60, 20], [30, 30], [12, 50]]) * (1 + 0.1 * rng.random((3, 2))) * (larger if i >= 40 else 1)
        corners = rng.random((3, 2)) * 100
        boxes.append(np.hstack([corners, corners + sizes]))
        classes.append(np.array(order if i >= 40 else [0, 1, 2], np.int64))
    held = Objects("classes", {0: "owl", 1: "yak", 2: "gnu"})
    splits = ["train"] * 40 + ["test"] * 40
    return Data({"boxes": boxes, "classes": classes}, splits=splits, context={"objects": held, "corners": True})


MEAN, STD = (np.array(of)[:, None, None] for of in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))


def scaled(how: Callable[[Any], Any]) -> Data:
    """Photographs, [3, 32, 32], whose pixels, from 0 to 255, were treated so."""
    pictures = np.clip(rng.normal(110, 45, (20, 3, 32, 32)) + rng.normal(0, 25, (20, 1, 1, 1)), 0, 255).round()
    return Data({"x": how(pictures).astype(np.float32)}, kinds={"x": "image"})


SHARP = [picture(i, size=48) for i in range(12)]
DOZENS = ["train"] * 12 + ["test"] * 12


def masks(*levels: tuple[int, ...], **more: Any) -> Data:
    """Masks of 8 x 8 pixels, one for each of ``levels``, with stripes of these values."""
    drawn = [np.resize(np.array(values, np.uint8), (8, 8)) for values in levels]
    return Data({"mask": drawn}, kinds={"mask": "mask"}, **more)


def smooth(train: Callable[[Any], Any], test: Callable[[Any], Any] | None = None) -> Data:
    """Smooth pictures of three colours, of which the last forty, for testing, are perhaps laid out otherwise."""
    drawn = np.random.default_rng(12)
    coarse = drawn.normal(0, 1, (100, 6, 6, 3)).repeat(4, 1).repeat(4, 2)
    x = sum(np.roll(coarse, (i, j), (1, 2)) for i in range(4) for j in range(4)) / 16 + drawn.normal(
        0, 0.02, coarse.shape
    )
    made = np.concatenate([train(x[:60]), (test or train)(x[60:])]).astype(np.float32)
    return Data({"x": made}, splits=["train"] * 60 + ["test"] * 40, kinds={"x": "array"})


def detected(train: Iterable[int] = (), val: Iterable[int] = ()) -> Data:
    """The classes of the objects of 60 images for training and 40 others, of which some have none."""
    bare = {*train, *val}
    classes = [np.array([] if i in bare else [i % 3, 1], np.int64) for i in range(100)]
    columns = {"categories": classes, "x": np.arange(100)}
    return Data(columns, splits=["train"] * 60 + ["val"] * 40, context={"objects": Objects("categories", {})})


def mask_stripes(odd: Iterable[int] = (), wide: int = 1) -> Data:
    """Masks of squares of class 3 and 2 on class 0, some of which go there by the numbers between, a pixel or two of each."""
    made = []
    for i in range(60):
        x, y = np.random.default_rng(i).integers(4, 12, 2)
        mask = np.zeros((40, 40), np.uint8)
        if i in odd:
            mask[y - wide : y + 12 + wide, x - wide : x + 12 + wide] = 1
        mask[y : y + 12, x : x + 12] = 3 if i % 2 else 2
        made.append(mask)
    return Data({"mask": made}, kinds={"mask": "mask"})


def halved(by: int, of: Any = None) -> Data:
    """Pairs in two splits, of which the masks of the second are moved on by so many images."""
    images, masks_of = pairs(0) if of is None else of
    half = len(images) // 2
    later = masks_of[half:]
    moved = [*masks_of[:half], *later[by:], *later[:by]]
    return Data(
        {"image": images, "mask": moved},
        splits=["train"] * half + ["val"] * (len(images) - half),
        kinds={"mask": "mask"},
    )


BOXED = test_moved_boxes.boxed(0)


def drawn(blended: bool, seed: int) -> Any:
    """A mask of 96 x 96 pixels with large squares of three classes; their borders blended."""
    at = np.random.default_rng(seed).integers(8, 40, (2, 2))
    made = np.zeros((96, 96), np.uint8)
    for value, (x, y) in zip((90, 180), at, strict=True):
        made[y : y + 40, x : x + 40] = value
    return np.asarray(Image.fromarray(made).filter(ImageFilter.GaussianBlur(1.2))) if blended else made


def some_coloured() -> Data:
    data = masks(*[(0, 1)] * 12)
    data.columns["mask"][5] = np.repeat(data.columns["mask"][5][..., None], 3, 2)
    return data


GROUND = [[300, 900, 500, 2400, 1800, 80], [1200, 700, 200, 300, 90, 1500]]
FALLING = [*[[800, 1000, 1300, 1700, 2100, 2500]] * 9, [2500, 2000, 1400, 900, 700, 400]]


def calm(seed: int) -> Image.Image:
    """A picture of little but one colour."""
    draw = np.random.default_rng(seed)
    return Image.fromarray((np.array([38, 60, 92]) + draw.integers(-1, 2, (48, 48, 1))).astype(np.uint8))


def target(boxes: list[list[float]]) -> Data:
    """Tensors of images of 40 x 40, and a box in each as torchvision's detectors take them."""
    n = len(boxes)
    columns = {
        "1.boxes": [np.array([box]) for box in boxes],
        "1.labels": [np.array([1])] * n,
        "1.image_id": np.arange(n),
    }
    return Data({"0": np.zeros((n, 3, 40, 40), np.float32), **columns}, kinds={"0": "array"})


def bands(reversed_: int = 0, last: bool = False, mirrored: bool = False, kinds: Any = GROUND) -> Data:
    """Pictures of six bands of some kinds of ground, the first of which have their bands in reversed order."""
    draw = np.random.default_rng(12)
    ground = np.array(kinds, float)
    ground = np.maximum(ground, ground[:, ::-1]) if mirrored else ground
    which = np.arange(120) % len(ground)
    x = ground[which, :, None, None] * draw.uniform(0.8, 1.2, (120, 1, 1, 1)) + draw.normal(0, 30, (120, 6, 8, 8))
    x[:reversed_] = x[:reversed_, ::-1]
    return Data({"x": np.moveaxis(x, 1, 3).copy() if last else x}, kinds={"x": "array"})


SILENT: dict[str, dict[str, Any]] = {
    "turned": {name: test_turned.SOUND[name] for name in ("nothing was done", "another framing")},
    "recoloured": {name: test_recoloured.SOUND[name] for name in ("cameras alike", "colder light")},
    "channel_order": {
        "bands of two kinds": bands(),
        "one in reversed order, which may be of a third kind": bands(reversed_=1),
        "as many in either order": bands(reversed_=60),
        "channels without a profile": Data({"x": rng.normal(size=(60, 6, 8, 8))}, kinds={"x": "array"}),
        "ground whose bands rise beside water whose bands fall": bands(kinds=FALLING),
        "bands that are the same from either end": bands(mirrored=True, reversed_=5),
    },
    "unmarked_run": test_misfiled.RUNS_SILENT,
    "keypoint_order": test_keypoint_order.ORDER_SILENT,
    "keypoint_sides": test_keypoint_sides.SILENT,
    "depth_forms": test_marks_in_arrays.FORMS_SILENT,
    "part_colours": test_recoloured.IN_PART_SILENT,
    "doubled_boxes": test_keypoint_order.BOXES_SILENT,
    "marked_parts": test_keypoint_order.MARKS_SILENT,
    "moved_boxes": {
        "in their places": test_moved_boxes.laid(*BOXED),
        "in their places, as a Dataset delivers them": test_moved_boxes.delivered(*BOXED),
    },
    "repeated_annotations": test_repeated_annotations.SOUND,
    "misplaced_masks": {
        "where they should be": laid(pairs(0)),
        "where they should be, on images that all look alike": laid(on_one_ground()),
        "where they should be, as a Dataset delivers them": delivered(pairs(0)),
        "where they should be in both splits": halved(0),
        "where they should be in both splits, of images that all look alike": halved(0, on_one_ground()),
    },
    "pixel_scale": {
        "values up to 1": scaled(lambda x: x / 255),
        "normalized": scaled(lambda x: (x / 255 - MEAN) / STD),
        "as they are, less their mean": scaled(lambda x: x - 255 * MEAN),
        "measured in steps": scaled(lambda x: 4 * (x - 20)),
        "other measurements": scaled(lambda x: x * rng.normal(3, 1, x.shape) - 2),
        "small numbers": scaled(lambda x: x / 60_000),
        "rates of rain, which are small": scaled(lambda x: 0.0038 * (x / 255) ** 2.2),
    },
    "reshaped": {
        "channels last": smooth(lambda x: x),
        "channels first": smooth(lambda x: np.moveaxis(x, 3, 1)),
        "axes that were moved in one split": smooth(lambda x: x[:, ::-1].transpose(0, 2, 1, 3)),
        "noise": smooth(lambda x: np.random.default_rng(2).normal(0, 1, x.shape)),
    },
    "unannotated": {
        "some empty masks in both splits": masks(*[(0, 1), (0, 2), (0,)] * 30, splits=["train"] * 60 + ["val"] * 30),
        "masks of one class each": masks(*[(1,), (2,)] * 45, splits=["train"] * 60 + ["val"] * 30),
        "some images of nothing in both splits": detected(range(0, 60, 6), range(60, 100, 6)),
        "all with objects": detected(),
        "a few": detected(range(3)),
        "a split without answers": detected((), range(60, 100)),
    },
    "blended_ids": {
        "classes that touch": mask_stripes(),
        "all resized so": mask_stripes(range(60)),
        "a border around all things": mask_stripes(range(60), wide=2),
        "classes in the order of their places": masks(*[(0, 1, 2, 3)] * 40),
    },
    "masks": {
        "what is to be ignored, in a few masks of nothing else": masks(
            *[(0, 1, 2)] * 80, *[(0, 1, 255), (0, 2, 255)] * 3, *[(0, 255)] * 4
        ),
        "what is to be ignored in place of nothing": masks(*[(0, 1, 2, 3)] * 40, *[(0, 1, 2, 3, 255)] * 20),
        "what is to be ignored, in masks that lack a rare class": masks(
            *[(0, 1, 2, 3)] * 4, *[(0, 1, 2)] * 36, *[(0, 1, 2, 255)] * 20
        ),
        "what is to be ignored in masks of another kind": masks(*[(0, 1, 2)] * 40, *[(0, 255)] * 20),
        "all resized with interpolation": Data({"mask": [drawn(True, i) for i in range(40)]}, kinds={"mask": "mask"}),
        "borders to be ignored in most, and a class of many": masks(
            *[(0, 1 + k % 7, 255) for k in range(16)], *[(0, 1 + k % 7) for k in range(10)]
        ),
        "a class that few masks have": masks(*[(0, 1, 2)] * 9, (0, 1, 5), (0, 3)),
        "nothing but pixels to be ignored": masks(*[(0, 1, 255)] * 9, (255,), (0,)),
        "as declared, the background left out": masks(*[(0, 1, 2, 255)] * 9, classes=("road", "car")),
        "two ways of writing, both usual": masks(*[(0, 1)] * 9, *[(0, 255)] * 8),
        "two ways of writing in both splits": masks(*[(0, 1), (0, 255)] * 12, splits=DOZENS),
        "a split with nothing but what is to be ignored": masks(*[(0, 1, 255)] * 12, *[(0, 255)] * 12, splits=DOZENS),
        "a split whose masks are withheld": masks(*[(0, 1)] * 12, *[(255,)] * 12, splits=DOZENS),
        "a split without a class of a third": masks(*[(0, 1, 20), (0, 1), (0, 1)] * 4, *[(0, 1)] * 12, splits=DOZENS),
        "volumes": Data({"mask": [np.resize([0, 1, 2], (6, 7, 8 + i % 3)) for i in range(24)]}, kinds={"mask": "mask"}),
        "a few masks of other classes": masks(*[(0, 1)] * 6, *[(0, 21)] * 6, splits=HALVES),
    },
    "boxes": {
        "corners": Data(
            {"bbox": [np.array([[5.0, 5, 20, 20], [1, 1, 9, 9]])] * 4, "width": [40] * 4, "height": [40] * 4}
        ),
        "corner and size": Data({"bbox": [np.array([30.0, 30, 9, 9])] * 4, "width": [40] * 4, "height": [40] * 4}),
        "shares": Data({"boxes": [np.array([[0.1, 0.1, 0.9, 0.9]])] * 4, "width": [40] * 4, "height": [40] * 4}),
        "no boxes in a sample": Data({"bbox": [np.array([1.0, 1, 9, 9]), np.zeros((0, 4))] * 4}),
        "sizes of an unknown unit": Data(
            {"bbox": [np.array([30.0, 30, 50, 50])] * 9, "width": [40] * 9, "height": [40] * 9}
        ),
    },
    "objects": {
        "two classes": objects([[0, 1]] * 12),
        "none in some": objects([[0, 1], []] * 6),
        "boxes that differ by a pixel": objects([[0, 0, 0]] * 12),
        "a rare class that validation lacks": objects([[0, 2]] + [[0, 1]] * 11, splits=HALVES),
        "classes of the same shapes in both splits": shaped([0, 1, 2]),
        "a split with larger objects of all classes": shaped([0, 1, 2], larger=1.3),
        "classes that nobody declared": objects([[0, 7]] * 12, names={}),
    },
    "pictures": {
        "gray ones among pictures of several sizes": Data(
            {"image": [*PICTURES[:3], *(picture(i, size=54 + 6 * i) for i in range(5)), picture(9, mode="L")]}
        ),
        "one mode": Data({"image": PICTURES}),
        "only gray pictures": Data({"image": [picture(i, mode="L") for i in range(4)]}),
        "arrays that are not on the scale of pixels": Data(
            {"x": rng.integers(0, 17, (6, 8, 8), np.uint8)}, kinds={"x": "image"}
        ),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "unmarked_run": test_misfiled.RUNS,
    "keypoint_order": test_keypoint_order.ORDER,
    "keypoint_sides": test_keypoint_sides.SPOILT,
    "depth_forms": test_marks_in_arrays.FORMS,
    "part_colours": test_recoloured.IN_PART,
    "doubled_boxes": test_keypoint_order.BOXES,
    "marked_parts": test_keypoint_order.MARKS,
    "moved_boxes": {
        "of the image beside": (
            test_moved_boxes.laid(BOXED[0], test_moved_boxes.shifted(BOXED[1], 60, 85, 1)),
            "rows-shifted",
            "warning",
        ),
        "mirrored with a Dataset's images alone": (
            test_moved_boxes.delivered(BOXED[0], test_moved_boxes.mirrored(BOXED[1], 50, 90, 0)),
            "box-mirrored",
            "warning",
        ),
    },
    "repeated_annotations": {
        "masks of the image before": (
            test_repeated_annotations.masked(test_repeated_annotations.EARLIER),
            "rows-shifted",
            "warning",
        ),
    },
    "misplaced_masks": {
        "a few that lie mirrored": (laid(mirrored(pairs(0), range(0, 40, 4), 1)), "mask-mirrored", "warning"),
        "half of them as a Dataset delivers them": (
            delivered(mirrored(pairs(0), range(60), 1)),
            "mask-mirrored",
            "warning",
        ),
        "half of them": (laid(mirrored(pairs(0), range(60), 1)), "mask-mirrored", "warning"),
        "a split in which each belongs to another image": (halved(7), "rows-shifted", "warning"),
        "such a split of images that all look alike": (halved(7, on_one_ground()), "rows-shifted", "warning"),
        "a few that lie beside their things": (laid(beside(pairs(0), range(0, 40, 4), 9)), "mask-shifted", "warning"),
        "some of images that all look alike": (
            laid(mirrored(on_one_ground(), range(30, 60), 1)),
            "mask-mirrored",
            "warning",
        ),
    },
    "pixel_scale": {
        "divided twice": (scaled(lambda x: x / 255 / 255), "value-range-mismatch", "warning"),
        "divided twice, in two bytes": (
            Data({"x": scaled(lambda x: x / 255 / 255).columns["x"].astype(np.float16)}, kinds={"x": "image"}),
            "value-range-mismatch",
            "warning",
        ),
        "normalized without being divided": (scaled(lambda x: (x - MEAN) / STD), "value-range-mismatch", "warning"),
        "the same with one mean": (scaled(lambda x: (x - 0.5) / 0.5), "value-range-mismatch", "warning"),
    },
    "reshaped": {
        "a split that was reshaped": (
            smooth(lambda x: x, lambda x: np.moveaxis(x, 3, 1).reshape(x.shape)),
            "layout-mismatch",
            "error",
        ),
        "all to channels first": (smooth(lambda x: x.reshape(len(x), 3, *x.shape[1:3])), "layout-mismatch", "error"),
    },
    "unannotated": {
        "a quarter of training": (detected(range(0, 60, 3)), "empty-sequence", "warning"),
        "a third of the masks for validation": (
            masks(*[(0, 1)] * 80, *[(0,)] * 10, splits=["train"] * 60 + ["val"] * 30),
            "empty-sequence",
            "warning",
        ),
    },
    "blended_ids": {
        "a quarter resized with interpolation": (mask_stripes(range(0, 60, 4)), "label-out-of-range", "warning"),
    },
    "masks": {
        "a class written as what is to be ignored": (
            masks(*[(0, 1, 2, 3)] * 30, *[(0, 1, 2)] * 10, *[(0, 1, 2, 255)] * 20),
            "label-out-of-range",
            "warning",
        ),
        "a few resized with interpolation": (
            Data({"mask": [drawn(i % 4 == 0, i) for i in range(40)]}, kinds={"mask": "mask"}),
            "label-out-of-range",
            "warning",
        ),
        "a split resized with interpolation": (
            Data({"mask": [drawn(i < 12, i) for i in range(24)]}, splits=DOZENS, kinds={"mask": "mask"}),
            "preprocessing-differs",
            "error",
        ),
        "a split whose classes are numbered from one": (
            masks(*[(0, 1, 2), (0, 1, 255)] * 12, *[(1, 2, 3), (1, 2, 255)] * 6, splits=["train"] * 24 + ["val"] * 12),
            "preprocessing-differs",
            "error",
        ),
        "a split in which a class of all others was merged": (
            masks(*[(0, 1, 2)] * 12, *[(0, 1)] * 12, splits=DOZENS),
            "class-missing-in-split",
            "warning",
        ),
        "stretched to be seen": (masks(*[(0, 1, 2)] * 9, (0, 127, 254)), "scale-drift", "warning"),
        "a split that is stretched": (
            masks(*[(0, 1)] * 12, *[(0, 255)] * 12, splits=DOZENS),
            "preprocessing-differs",
            "error",
        ),
        "indices among masks of 255": (masks(*[(0, 255)] * 9, (0, 1), (0,)), "scale-drift", "warning"),
        "a third written as indices": (masks(*[(0, 255)] * 8, *[(0, 1)] * 4), "scale-drift", "warning"),
        "beyond the classes": (
            masks(*[(0, 1, 2)] * 9, (0, 1, 9), classes=("sky", "road", "car")),
            "label-out-of-range",
            "error",
        ),
        "all beyond the classes": (masks(*[(0, 7, 26)] * 9, classes=("sky", "road")), "label-out-of-range", "warning"),
        "one in colour": (some_coloured(), "shape-drift", "error"),
    },
    "turned": {
        name: (test_turned.SPOILT[name], "preprocessing-differs", "warning")
        for name in ("transposed", "one device upside down")
    },
    "recoloured": {"one camera": (test_recoloured.SPOILT["one camera"], "preprocessing-differs", "warning")},
    "channel_order": {
        "five in reversed order": (bands(reversed_=5), "order-reversed", "warning"),
        "five in reversed order, channels last": (bands(reversed_=5, last=True), "order-reversed", "warning"),
    },
    "objects": {
        "a class that is not declared": (objects([[0, 1]] * 11 + [[0, 9]]), "label-out-of-range", "error"),
        "classes numbered otherwise in a split": (shaped([1, 2, 0]), "label-drift", "warning"),
        "a box twice": (objects([[0, 1]] * 11 + [[0, 0]], step=0), "duplicate-boxes", "warning"),
        "a class that training never sees": (
            objects([[0]] * 6 + [[0, 1]] * 6, splits=HALVES),
            "class-missing-in-split",
            "warning",
        ),
        "a common class that validation lacks": (
            objects([[0, 1, 1, 1]] * 6 + [[0]] * 6, splits=HALVES, step=3),
            "class-missing-in-split",
            "info",
        ),
        "a rare class": (objects([[0] * 12] * 11 + [[1]]), "severe-imbalance", "info"),
    },
    "boxes": {
        "large ones that reach beyond, in corners": (
            Data(
                {
                    "bbox": [np.array([5.0, 5, 20, 20])] * 60 + [np.array([5.0, 5, 60, 60])] * 10,
                    "width": [40] * 70,
                    "height": [40] * 70,
                }
            ),
            "box-outside",
            "warning",
        ),
        "no width": (
            Data({"bbox": [np.array([5.0, 5, 20, 20])] * 30 + [np.array([5.0, 5, 5, 20])]}),
            "box-degenerate",
            "error",
        ),
        "corners in the wrong order, as flipped images leave them, in targets of detectors": (
            target([[5.0, 5, 20, 30]] * 20 + [[20.0, 5, 5, 30]] * 9),
            "box-degenerate",
            "error",
        ),
        "of larger copies, in targets of detectors": (
            target([[5.0 + i, 5, 70 + i, 66] for i in range(40)]),
            "box-outside",
            "warning",
        ),
        "not a number": (
            Data({"bbox": [np.array([5.0, 5, 20, 20])] * 9 + [np.array([np.nan, 5, 5, 20])]}),
            "box-degenerate",
            "error",
        ),
        "outside": (
            Data(
                {
                    "bbox": [np.array([5.0, 5, 20, 20])] * 9 + [np.array([5.0, 5, 60, 20])],
                    "width": [40] * 10,
                    "height": [40] * 10,
                }
            ),
            "box-outside",
            "warning",
        ),
        "a third written as two corners": (
            Data(
                {
                    "bbox": [np.array([25.0, 25, 9, 9])] * 24 + [np.array([25.0, 25, 34, 34])] * 12,
                    "width": [40] * 36,
                    "height": [40] * 36,
                }
            ),
            "box-outside",
            "error",
        ),
    },
    "pictures": {
        "a gray one among coloured": (Data({"image": [*PICTURES, picture(9, mode="L")]}), "mode-drift", "warning"),
        "a gray one among coloured, and one of another size": (
            Data({"image": [*PICTURES, picture(8, size=60), picture(9, mode="L")]}),
            "mode-drift",
            "warning",
        ),
        "one turned by its tag": (Data({"image": [turned(), picture(2)]}), "rotated-by-exif", "warning"),
        "one without blue": (Data({"image": [*PICTURES * 2, without_blue()]}), "constant-samples", "warning"),
        "a dark one": (Data({"image": [*PICTURES, picture(9, 0, 40)]}), "dark", "info"),
        "a light one": (Data({"image": [*PICTURES, picture(9, 230, 256)]}), "light", "info"),
        "a blurred one": (
            Data({"image": [*SHARP, SHARP[0].filter(ImageFilter.GaussianBlur(3))]}),
            "blurry",
            "info",
        ),
        "one of another size": (Data({"image": [*SHARP, *SHARP[:3], picture(9, size=12)]}), "odd-size", "info"),
        "a strip": (Data({"image": [*SHARP, *SHARP[:3], picture(9).resize((160, 20))]}), "odd-aspect", "info"),
        "tiles of the sea among others": (Data({"image": [*PICTURES, *map(calm, range(9))]}), "flat", "info"),
        "a nearly flat one": (Data({"image": [*PICTURES * 3, calm(0)]}), "flat", "warning"),
        "a flat one": (Data({"image": [*PICTURES, Image.new("RGB", (48, 48), (99, 9, 9))]}), "flat", "warning"),
    },
}
