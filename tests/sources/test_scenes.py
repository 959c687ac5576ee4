"""Images of one scene in folders or under names of several roles: which are one sample, and what stays classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

SIZE = (40, 48)


def opened(folder: Path, unknowns: list[Any] | None = None) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [] if unknowns is None else unknowns)


def scene(number: int, size: tuple[int, int] = SIZE) -> Any:
    """Blocks of colour that only images of this number have, [height, width, 3]."""
    blocks = np.random.default_rng(number).integers(40, 216, (5, 6, 3), np.uint8)
    return np.kron(blocks, np.ones((size[0] // 5, size[1] // 6, 1), np.uint8))


def write(path: Path, number: int, as_what: str = "image", factor: int = 1) -> None:
    """An image of the scene; one that is a ``mask`` of it, ``other``: no image of it, or made ``darker``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = scene(number + 5000 if as_what == "other" else number, (SIZE[0] * factor, SIZE[1] * factor))
    noise = np.random.default_rng(abs(hash(str(path))) % 2**32).integers(0, 16, pixels.shape, np.uint8)
    pixels = (pixels[..., 0] > 128).astype(np.uint8) * 255 if as_what == "mask" else pixels // 2 + noise
    Image.fromarray(pixels // 3 if as_what == "darker" else pixels).save(path)


def laid(root: Path, roles: dict[str, str], numbers: range | list[int] = range(1, 13)) -> None:
    """For each number a file at each of these patterns."""
    for pattern, as_what in roles.items():
        for number in numbers:
            write(root / pattern.format(n=number), number, as_what)


def test_a_second_mask_of_an_image_is_no_sample(tmp_path: Path) -> None:
    """Our promise: the first mask is read, and what is not read is told."""
    for kind in ("benign", "malignant"):
        laid(tmp_path, {f"{kind}/{kind} ({{n}}).png": "image", f"{kind}/{kind} ({{n}})_mask.png": "mask"})
    write(tmp_path / "benign/benign (3)_mask_1.png", 3, "mask")
    unknowns: list[Any] = []
    source = opened(tmp_path, unknowns)
    assert (source.samples, source.classes) == (24, ("benign", "malignant"))
    assert not [p for p in source.problems if p.code == "missing-pair"]
    assert [u.what for u in unknowns] == ["field further mask"]


def test_several_masks_of_each_image_are_no_samples(tmp_path: Path) -> None:
    """Our promise: of several masks of one image none is taken for the one, nor for a sample."""
    laid(tmp_path, {"{n}.png": "image", "{n}_mask_0.png": "mask", "{n}_mask1.png": "mask"})
    unknowns: list[Any] = []
    source = opened(tmp_path, unknowns)
    assert (source.samples, [f.name for f in source.fields]) == (12, ["image"])
    assert [u.why for u in unknowns] == ["24 files named after samples; none is read"]


PAIRS: dict[str, tuple[dict[str, str], list[tuple[str, str]]]] = {
    "as CamVid": (
        {"701_StillsRaw_full/{n}.png": "image", "LabeledApproved_full/{n}_L.png": "mask"},
        [("mask", "mask")],
    ),
    "restored": ({"low/{n}.png": "darker", "high/{n}.png": "image"}, [("high", "image")]),
    "called after their folder": (
        {"rainy/rain-{n:03}.png": "image", "norain/norain-{n:03}.png": "image"},
        [("norain", "image")],
    ),
    "changes": (
        {"A/s_{n}.png": "image", "B/s_{n}.png": "image", "label/s_{n}.png": "mask"},
        [("b", "image"), ("target", "mask")],
    ),
    "input and ground truth": ({"input/{n}.png": "darker", "gt/{n}.png": "image"}, [("target", "image")]),
    "masks by another name": ({"Original/{n}.png": "image", "Ground Truth/{n}.png": "mask"}, [("mask", "mask")]),
    "masks beside one other folder": ({"frames/{n}.png": "image", "labels/{n}.png": "mask"}, [("target", "mask")]),
    "endings of two kinds": (
        {"images/{n}_training.png": "image", "1st_manual/{n}_manual1.png": "mask"},
        [("manual", "mask")],
    ),
    "below a folder called so": (
        {"low_light/set/low/{n}.png": "darker", "low_light/set/high/{n}.png": "image"},
        [("high", "image")],
    ),
    "earlier and later": ({"before/{n}.png": "image", "after/{n}.png": "darker"}, [("after", "image")]),
    "of two degrees": (
        {f"rain{d}/{role}/{{n}}.png": made for d in "LH" for role, made in (("rain", "darker"), ("norain", "image"))},
        [("norain", "image")],
    ),
    "in names of files": ({"{n}_left.png": "image", "{n}_right.png": "image"}, [("right", "image")]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_images_of_one_scene_are_one_sample(name: str, tmp_path: Path) -> None:
    """Our promise: roles are fields; they are neither classes nor samples of their own."""
    roles, fields = PAIRS[name]
    laid(tmp_path, roles)
    source = opened(tmp_path)
    assert [(f.name, f.kind) for f in source.fields] == [("image", "image"), *fields]
    assert source.label is None
    assert source.samples == 12 * len(roles) // (1 + len(fields))
    assert not source.problems
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert {*block.columns} == {"image", *(field for field, _ in fields)}


SCATTERED = [7, 19, 105, 240, 388, 512, 777, 901, 1204, 1555, 1810, 2049]


def test_plain_colours_of_the_same_names_are_masks_whatever_their_folder_is_called(tmp_path: Path) -> None:
    """Seen: photographs and their masks were two classes where no word of the folders was known."""
    laid(tmp_path, {"frames_cam1/{n:06}.png": "image", "painted/{n:06}_p.png": "mask"}, SCATTERED)
    source = opened(tmp_path)
    assert [(f.name, f.kind) for f in source.fields] == [("image", "image"), ("mask", "mask")]
    assert source.samples == len(SCATTERED)


@pytest.mark.parametrize("numbers", [range(1, 13), SCATTERED])
def test_drawings_that_are_numbered_like_photographs_stay_a_class(numbers: Any, tmp_path: Path) -> None:
    """Our promise: classes are told apart by what they show, also where one holds plain colours: files that are counted, and those of
    which the other folder holds few, are no pairs."""
    laid(tmp_path, {"photo/{n}.png": "image"}, numbers)
    laid(tmp_path, {"drawing/{n}.png": "mask"}, numbers if numbers is not SCATTERED else [n + 3 for n in SCATTERED])
    assert opened(tmp_path).classes == ("drawing", "photo")


def test_roles_below_a_folder_for_each_scene(tmp_path: Path) -> None:
    """Our promise: takes that number their frames alike are told apart by their folders."""
    for take in (1, 2):
        for number in range(1, 9):
            for role in ("blur", "sharp"):
                write(tmp_path / f"go{take}/{role}/{number:06}.png", 100 * take + number)
    source = opened(tmp_path)
    assert (source.samples, source.label, [f.name for f in source.fields]) == (16, None, ["image", "sharp"])


@pytest.mark.parametrize(
    "folders",
    [
        ("low", "high"),
        ("clear", "hazy"),
        ("A", "B"),
        ("left", "right"),
        ("masks", "faces"),
        ("cat", "dog"),
        ("clean", "worn"),
    ],
)
def test_classes_called_like_roles_stay_classes(folders: tuple[str, str], tmp_path: Path) -> None:
    """Our promise: files that are only numbered alike are no pairs, whatever their folders are called."""
    for folder, as_what in zip(folders, ("image", "other"), strict=True):
        laid(tmp_path, {f"{folder}/{{n:03}}.png": as_what})
    source = opened(tmp_path)
    assert source.samples == 24
    assert source.classes == tuple(sorted(folders))
    assert [f.name for f in source.fields] == ["image", "label"]


def test_classes_whose_images_are_made_of_each_other_stay_classes(tmp_path: Path) -> None:
    """Our promise: where no folder is called by a role, what resembles each other is not joined."""
    laid(tmp_path, {"real/{n}.png": "image", "fake/{n}.png": "darker"})
    unknowns: list[Any] = []
    assert opened(tmp_path, unknowns).classes == ("fake", "real")
    assert "show the same scenes" in unknowns[0].why
    laid(tmp_path / "other", {"cat/{n}.png": "image", "dog/{n}.png": "other"})
    opened(tmp_path / "other", unknowns)
    assert len(unknowns) == 1


def test_blank_images_of_a_class_are_no_masks(tmp_path: Path) -> None:
    laid(tmp_path, {"clean/{n}.png": "mask", "dirty/{n}.png": "image"})
    assert opened(tmp_path).classes == ("clean", "dirty")


def test_small_images_beside_large_ones(tmp_path: Path) -> None:
    """Our promise: splits in the names of role folders are read, and the images to be enlarged are the samples."""
    for split, numbers in (("train", range(1, 13)), ("valid", range(801, 807))):
        for number in numbers:
            write(tmp_path / f"SET_{split}_HR/{number:04}.png", number, factor=2)
            write(tmp_path / f"SET_{split}_LR_bicubic/X2/{number:04}x2.png", number)
    source = opened(tmp_path)
    assert source.splits == {"train": 12, "valid": 6}
    assert [(f.name, f.shape) for f in source.fields] == [("image", (40, 48, 3)), ("hr", (80, 96, 3))]


def test_several_samples_with_one_partner(tmp_path: Path) -> None:
    """Our promise: each hazy image is a sample with the clear one after which it is called."""
    laid(tmp_path, {"clear/{n}.png": "image"})
    laid(tmp_path, {f"hazy/{{n}}_{i}_0.8.png": "darker" for i in (1, 2, 3)})
    source = opened(tmp_path)
    assert (source.samples, [f.name for f in source.fields]) == (36, ["image", "clear"])
    assert {(Path(u.file).name.partition("_")[0], Path(u.at[0][1]).stem) for u in source.units} == {
        (f"{n}", f"{n}") for n in range(1, 13)
    }


def test_what_only_some_scenes_have_is_told(tmp_path: Path) -> None:
    """Our promise: a partner that many samples lack on purpose is no missing one."""
    laid(tmp_path, {f"image_{i}/{{n:06}}_{k}.png": "image" for i in (2, 3) for k in (10, 11)})
    laid(tmp_path, {"disp_occ_0/{n:06}_10.png": "image"})
    unknowns: list[Any] = []
    source = opened(tmp_path, unknowns)
    assert (source.samples, [f.name for f in source.fields]) == (24, ["image", "image_3"])
    assert [u.why for u in unknowns] == ["12 of 24 samples have one; they are not read"]
    assert not source.problems


def test_a_lost_partner_is_named(tmp_path: Path) -> None:
    """Our promise: of pairs that names and contents tell, every file that lacks its partner is told."""
    laid(tmp_path, {"low/{n}.png": "darker", "high/{n}.png": "image"}, range(1, 31))
    (tmp_path / "high/4.png").unlink()
    (tmp_path / "low/7.png").unlink()
    source = opened(tmp_path)
    assert sorted((p.code, p.where["file"]) for p in source.problems) == [
        ("missing-pair", "high/7.png"),
        ("missing-pair", "low/4.png"),
    ]


def test_one_folder_beside_those_of_held_out_splits_is_trained_on(tmp_path: Path) -> None:
    """Our promise: a folder that holds the same as ``eval15``, and more, is the training split."""
    for folder, numbers in (("our485", range(1, 21)), ("eval15", range(101, 107))):
        laid(tmp_path, {f"{folder}/low/{{n}}.png": "darker", f"{folder}/high/{{n}}.png": "image"}, numbers)
    assert opened(tmp_path).splits == {"eval": 6, "train": 20}
    other = tmp_path / "other"
    laid(other, {"preview/a/{n}.png": "image", "preview/b/{n}.png": "other"}, range(1, 4))
    laid(other, {"test/a/{n}.png": "image", "test/b/{n}.png": "other"}, range(11, 21))
    assert "train" not in opened(other).splits


def test_channels_of_a_microscope_in_files_of_their_own_are_a_sample(tmp_path: Path) -> None:
    """Seen: the channels of each cell were samples side by side; lights called by the same colours stay classes."""
    colours = ("red", "green", "blue", "yellow")
    laid(tmp_path / "cells", {f"train/c{{n}}a_{colour}.png": "image" for colour in colours})
    source = opened(tmp_path / "cells")
    assert (source.samples, source.splits) == (12, {"train": 12})
    assert sorted(f.name for f in source.fields) == ["green", "image", "red", "yellow"]
    for i, colour in enumerate(colours[:3]):
        laid(tmp_path / "lights", {f"{colour}/{{n}}.png": "image"}, [n + 100 * i for n in range(1, 13)])
        for n in range(1, 13):
            (tmp_path / "lights" / colour / f"{n + 100 * i}.png").rename(tmp_path / "lights" / colour / f"0{n}.png")
    assert (opened(tmp_path / "lights").classes, opened(tmp_path / "lights").samples) == (("blue", "green", "red"), 36)
