"""Folders as well-known data sets have them: what names the classes, the splits, and what belongs to a sample."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.groups_in_names import classes_in_names
from dataloader_expert.sources.idx import parse_idx
from dataloader_expert.sources.layout import read_folders
from dataloader_expert.sources.magic import IDX_TYPES
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan
from tests.making.tiny import wav

RNG = np.random.default_rng()


def picture(path: Path, shape: tuple[int, ...] = (24, 32, 3), most: int = 256) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, most, shape, np.uint8)).save(path)


def mask(path: Path) -> None:
    picture(path, (24, 32), 3)


def sound(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    wav(path, RNG.normal(0, 3000, 800))


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def values(source: Source, name: str) -> list[Any]:
    return [source.decode(unit, source.read(unit)).columns[name].values[0] for unit in source.units]


def complaints(folder: Path) -> dict[str, str]:
    return {f.code: f.message for f in scan(folder, folder).findings if f.severity != "info"}


def test_masks_are_found_by_what_follows_the_name(tmp_path: Path) -> None:
    """Cityscapes: three masks and outlines of each image, in other folders under longer names; cities are no classes."""
    for split, city in (("train", "aachen"), ("train", "bonn"), ("val", "ulm")):
        for i in range(6):
            name = f"{city}_{i:06}_000019"
            picture(tmp_path / "leftImg8bit" / split / city / f"{name}_leftImg8bit.png")
            for kind in ("labelIds", "instanceIds"):
                mask(tmp_path / "gtFine" / split / city / f"{name}_gtFine_{kind}.png")
            written(tmp_path / "gtFine" / split / city / f"{name}_gtFine_polygons.json", json.dumps({"objects": []}))
    source = opened(tmp_path)
    assert (source.samples, source.splits, source.label) == (18, {"train": 12, "val": 6}, None)
    assert {f.name for f in source.fields if f.kind == "mask"} == {"mask_labelIds", "mask_instanceIds"}
    assert complaints(tmp_path) == {}


def test_masks_in_a_folder_called_after_the_images_folder(tmp_path: Path) -> None:
    """CamVid: ``train_labels/f1_L.png`` is of ``train/f1.png``."""
    for split in ("train", "val"):
        for i in range(8):
            picture(tmp_path / split / f"f{i}.png")
            mask(tmp_path / f"{split}_labels" / f"f{i}_L.png")
    source = opened(tmp_path)
    assert (source.samples, source.splits) == (16, {"train": 8, "val": 8})
    assert [f.kind for f in source.fields] == ["image", "mask"]
    (tmp_path / "val_labels" / "f3_L.png").unlink()
    assert list(complaints(tmp_path)) == ["missing-pair"]


def test_the_names_of_files_tell_classes(tmp_path: Path) -> None:
    """Dogs vs. Cats: the class stands before a number; what is to be predicted has numbers alone."""
    for i in range(24):
        picture(tmp_path / "train" / f"{('cat', 'dog')[i % 2]}.{i // 2}.jpg")
    for i in range(6):
        picture(tmp_path / "test1" / f"{i}.jpg")
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("label", ("cat", "dog"))
    assert source.label_how.startswith("guessed")
    assert [unit.label for unit in source.units] == [None] * 6 + ["cat"] * 12 + ["dog"] * 12
    assert complaints(tmp_path) == {}


@pytest.mark.parametrize(
    "names",
    [
        [f"{w}_{i}.jpg" for i in range(12) for w in ("IMG", "DSC")],
        [f"frame{i:04}.png" for i in range(24)],
        [f"{w}{i}.png" for i in range(12) for w in ("left", "right")],
        [f"patient{i % 4}_{i}.png" for i in range(24)],
        [f"{chr(97 + i)}word_{i}.png" for i in range(24)],
        [f"{i}.png" for i in range(24)],
        [f"speaker_{i}.wav" for i in range(12)] + [f"subject_{i}.wav" for i in range(12)],
        ["cat_1.png", *(f"dog_{i}.png" for i in range(23))],
    ],
)
def test_other_names_tell_none(names: list[str]) -> None:
    assert classes_in_names(names) == [None] * len(names)


def test_lists_of_what_is_set_aside_leave_the_rest_to_training(tmp_path: Path) -> None:
    """Speech Commands: lists of validation and test files by the folder of their class."""
    names = [f"{word}/{i}_nohash_0.wav" for word in ("no", "yes") for i in range(12)]
    for name in names:
        sound(tmp_path / name)
    written(tmp_path / "validation_list.txt", "\n".join(names[:12:4]))
    written(tmp_path / "testing_list.txt", "\n".join(names[12::4]))
    source = opened(tmp_path)
    assert (source.splits, source.classes) == ({"validation": 3, "train": 18, "test": 3}, ("no", "yes"))


def test_transcripts_without_a_header(tmp_path: Path) -> None:
    """LJ Speech, with commas in its texts, and LibriSpeech, a file in each folder and blanks in its texts."""
    for i in range(12):
        sound(tmp_path / "lj" / "wavs" / f"LJ001-{i:04}.wav")
    rows = [f"LJ001-{i:04}|Printing, in the {i}|Printing, in the {i}th{', again' * (i % 3)}" for i in range(12)]
    written(tmp_path / "lj" / "metadata.csv", "\n".join(rows))
    source = opened(tmp_path / "lj")
    assert values(source, "text") == [f"Printing, in the {i}" for i in range(12)]
    assert source.modality == "multimodal" and complaints(tmp_path / "lj") == {}
    said = {}
    for chapter in ("19/100", "26/200"):
        name = chapter.replace("/", "-")
        for i in range(6):
            sound(tmp_path / "libri" / chapter / f"{name}-{i:04}.wav")
            said[f"{name}-{i:04}"] = " ".join(["SOME", "WORDS"] * (1 + i % 4) + [name])
        own = [f"{key} {text}" for key, text in said.items() if key.startswith(name)]
        written(tmp_path / "libri" / chapter / f"{name}.trans.txt", "\n".join(own))
    assert sorted(values(opened(tmp_path / "libri"), "text")) == sorted(said.values())


def chapters(root: Path, most: int) -> dict[str, str]:
    """A corpus of read speech: folders of speakers and chapters, each with its recordings and one text for all of them."""
    said: dict[str, str] = {}
    for speaker in RNG.choice(9000, 12, replace=False):
        for chapter in RNG.choice(9000, 2, replace=False):
            own = {
                f"{speaker}-{chapter}-{i:04}": " ".join(["SAID"] * RNG.integers(1, 9))
                for i in range(RNG.integers(1, most + 1))
            }
            for key in own:
                sound(root / f"{speaker}" / f"{chapter}" / f"{key}.wav")
            lines = "".join(f"{key} {text}\n" for key, text in own.items())
            written(root / f"{speaker}" / f"{chapter}" / f"{speaker}-{chapter}.trans.txt", lines)
            said |= own
    return said


def test_transcripts_of_chapters_of_a_few_sentences(tmp_path: Path) -> None:
    said = chapters(tmp_path, 4)
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("audio-folder", len(said))
    assert sorted(values(source, "text")) == sorted(said.values()) and complaints(tmp_path) == {}


@pytest.mark.parametrize("at", [0, 1])
def test_a_recording_that_is_lost_costs_no_transcript_of_another(tmp_path: Path, at: int) -> None:
    """The first line is no header, either: its name is written as those below."""
    said = chapters(tmp_path, 4)
    lost = RNG.choice([path.stem for path in tmp_path.rglob(f"*-{at:04}.wav")])
    next(tmp_path.rglob(f"{lost}.wav")).unlink()
    assert sorted(values(opened(tmp_path), "text")) == sorted(text for key, text in said.items() if key != lost)
    told = complaints(tmp_path)
    assert set(told) == {"dangling-reference"} and lost in told["dangling-reference"]


def test_the_first_recording_of_one_list_is_lost(tmp_path: Path) -> None:
    for i in range(1, 30):
        sound(tmp_path / "wavs" / f"LJ001-{i:04}.wav")
    written(tmp_path / "metadata.csv", "\n".join(f"LJ001-{i:04}|Printing, in the {i}|the {i}th" for i in range(30)))
    told = complaints(tmp_path)
    assert "LJ001-0000" in told["dangling-reference"]
    assert values(opened(tmp_path), "text_2") == [f"the {i}th" for i in range(1, 30)]


def test_columns_below_a_count_and_a_header_of_the_others(tmp_path: Path) -> None:
    """CelebA: the number of rows, the names of all columns but the first, and values apart by blanks."""
    for i in range(20):
        picture(tmp_path / "img_align_celeba" / f"{i:06}.jpg")
    rows = [f"{i:06}.jpg {1 if i % 3 else -1}  {1 if i % 2 else -1}" for i in range(20)]
    written(tmp_path / "list_attr_celeba.txt", "\n".join(["20", "Bald Smiling", *rows]))
    source = opened(tmp_path)
    assert values(source, "Smiling") == [1 if i % 2 else -1 for i in range(20)]


@pytest.mark.parametrize("with_identities", [True, False])
def test_of_many_attributes_none_is_the_label_and_identities_are_groups(tmp_path: Path, with_identities: bool) -> None:
    """CelebA: attributes of two values each, a list of persons and one of splits, both without a header."""
    names = [f"{i:06}.jpg" for i in range(40)]
    for name in names:
        picture(tmp_path / "img_align_celeba" / name)
    rows = [" ".join([name, *map(str, RNG.choice([-1, 1], 5))]) for name in names]
    written(tmp_path / "list_attr_celeba.txt", "\n".join(["40", "Bald Bangs Male Smiling Young", *rows]))
    parts = [2 if i > 33 else (i > 27 and 1) or 0 for i in range(40)]
    written(tmp_path / "list_eval_partition.txt", "\n".join(f"{n} {p}" for n, p in zip(names, parts, strict=True)))
    if with_identities:
        written(tmp_path / "identity_CelebA.txt", "\n".join(f"{n} {70 + i // 3}" for i, n in enumerate(names)))
    source = opened(tmp_path)
    assert source.label is None and source.roles is not None
    assert [role["field"] for role in source.roles.listed()] == ["partition", "identity"][: 1 + with_identities]


def birds(root: Path, n: int = 48) -> list[int]:
    """CUB-200-2011: a list that numbers the images, and tables of what is said of each number. Returns the parts, 1 for training."""
    names = [f"{i % 4 + 1:03}.Bird_{i % 4}/Bird_{i:04}_{RNG.integers(90000)}.jpg" for i in range(n)]
    parts = [int(part) for part in RNG.integers(0, 2, n)]
    for name in names:
        picture(root / "images" / name)
    written(root / "images.txt", "".join(f"{i} {name}\n" for i, name in enumerate(names, 1)))
    written(root / "classes.txt", "".join(f"{k} {k:03}.Bird_{k - 1}\n" for k in range(1, 5)))
    written(root / "image_class_labels.txt", "".join(f"{i} {(i - 1) % 4 + 1}\n" for i in range(1, n + 1)))
    written(root / "train_test_split.txt", "".join(f"{i} {part}\n" for i, part in enumerate(parts, 1)))
    written(root / "bounding_boxes.txt", "".join(f"{i} 2.0 {i % 3}.0 9.0 8.0\n" for i in range(1, n + 1)))
    return parts


def test_tables_of_the_numbers_of_images_are_read(tmp_path: Path) -> None:
    parts = birds(tmp_path)
    source = opened(tmp_path)
    assert (source.samples, source.label, source.modality) == (48, "label", "detection")
    assert source.roles is not None and source.roles.split is not None
    assert source.roles.splits == {1: "train", 0: "test"}
    at = {unit.file: i for i, unit in enumerate(source.units)}
    names = [line.split()[1] for line in (tmp_path / "images.txt").read_text().splitlines()]
    found, boxes = values(source, "train_test_split"), values(source, "boxes")
    assert [found[at[f"images/{name}"]] for name in names] == parts
    assert [np.array(boxes[at[f"images/{name}"]]).tolist() for name in names] == [
        [[2, i % 3, 11, i % 3 + 8]] for i in range(1, 49)
    ]
    assert "foreign-file" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_a_number_that_no_image_has_is_told(tmp_path: Path) -> None:
    birds(tmp_path)
    with (tmp_path / "image_class_labels.txt").open("a") as file:
        file.write("999 2\n")
    assert "999" in complaints(tmp_path)["dangling-reference"]


def test_a_label_is_told_with_the_table_that_holds_it(tmp_path: Path) -> None:
    for i in range(30):
        picture(tmp_path / "images" / f"i{i}.jpg")
    written(tmp_path / "ages.csv", "\n".join(["image,age", *(f"i{i}.jpg,{20 + i}" for i in range(30))]))
    written(tmp_path / "kinds.csv", "\n".join(["image,label", *(f"i{i}.jpg,{'ab'[i % 2]}" for i in range(30))]))
    assert (opened(tmp_path).label, opened(tmp_path).label_how.rpartition(" ")[2]) == ("label", "kinds.csv")


def test_a_list_of_names_with_their_class(tmp_path: Path) -> None:
    """As ImageNet's lists are written for Caffe: a path and the number of the class, for each split."""
    for i in range(40):
        picture(tmp_path / "images" / f"{i}.jpg")
    for split, of in (("train", range(30)), ("val", range(30, 40))):
        written(tmp_path / f"{split}.txt", "".join(f"images/{i}.jpg {i % 3}\n" for i in of))
    source = opened(tmp_path)
    assert source.splits == {"train": 30, "val": 10}
    assert source.label == "f1" and source.label_how.startswith("guessed")
    assert values(source, "f1") == [i % 3 for i in sorted(range(40), key=str)]


def test_classes_in_folders_here_and_in_a_table_there(tmp_path: Path) -> None:
    """Tiny ImageNet: ``train/n01/images/n01_1.JPEG``, and ``val/val_annotations.txt``; boxes beside each class."""
    for name in ("n01", "n02"):
        for i in range(8):
            picture(tmp_path / "train" / name / "images" / f"{name}_{i}.JPEG")
        written(
            tmp_path / "train" / name / f"{name}_boxes.txt", "".join(f"{name}_{i}.JPEG\t0\t0\t9\t9\n" for i in range(8))
        )
    for i in range(6):
        picture(tmp_path / "val" / "images" / f"val_{i}.JPEG")
    rows = [f"val_{i}.JPEG\tn0{1 + i % 2}\t0\t0\t9\t9\n" for i in range(6)]
    written(tmp_path / "val" / "val_annotations.txt", "".join(rows))
    source = opened(tmp_path)
    assert (source.splits, source.classes) == ({"train": 16, "val": 6}, ("n01", "n02"))
    assert [u.label for u in source.units if u.split == "val"] == ["n01", "n02"] * 3
    assert complaints(tmp_path) == {}


def test_texts_beside_the_folders_of_classes_are_notes(tmp_path: Path) -> None:
    """As of the Large Movie Review Dataset: lists of addresses beside ``pos`` and ``neg``."""
    for split in ("train", "test"):
        for kind in ("pos", "neg"):
            for i in range(10):
                written(tmp_path / split / kind / f"{i}_{i % 5}.txt", f"words of {split} {RNG.random()} {i}")
        written(tmp_path / split / "urls.txt", "somewhere\n" * 9)
    source = opened(tmp_path)
    assert (source.samples, source.classes) == (40, ("neg", "pos"))
    assert complaints(tmp_path) == {}
    assert len([f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]) == 1
    for i in range(20):
        written(tmp_path / "train" / "unsup" / f"{i}_0.txt", f"words without a class {RNG.random()} {i}")
    source = opened(tmp_path)
    assert (source.samples, source.classes) == (40, ("neg", "pos")) and complaints(tmp_path) == {}


@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_are_arrays_side_by_side(tmp_path: Path, packed: bool) -> None:
    """MNIST, as it is offered and as torchvision stores it: both, compressed and not."""
    made = {}
    for split, n in (("train", 40), ("t10k", 20)):
        pixels, labels = RNG.integers(0, 256, (n, 8, 6), np.uint8), np.arange(n, dtype=np.uint8) % 4
        made[split] = pixels, labels
        for name, array in (("images-idx3-ubyte", pixels), ("labels-idx1-ubyte", labels)):
            data = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
            (tmp_path / f"{split}-{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    source = opened(tmp_path)
    assert (source.format, source.splits, source.label) == ("idx", {"test": 20, "train": 40}, "labels")
    unit = next(u for u in source.units if u.split == "train")
    block = source.decode(unit, source.read(unit))
    assert np.array_equal(block.columns["images"].values, made["train"][0])
    assert np.array_equal(block.columns["labels"].values, made["train"][1])
    assert complaints(tmp_path) == {}


@given(st.sampled_from(sorted(IDX_TYPES)), st.lists(st.integers(0, 5), max_size=4), st.integers(-3, 3))
def test_an_idx_header_is_held_against_the_bytes(kind: int, shape: list[int], off: int) -> None:
    dtype, width = IDX_TYPES[kind]
    head = bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    size = len(head) + int(np.prod(shape, dtype=int)) * width + off
    if not off:
        assert parse_idx(head, size, "x") == (dtype, tuple(shape), False, len(head))
        assert np.dtype(dtype).itemsize == width
    else:
        with pytest.raises(Unreadable) as error:
            parse_idx(head, size, "x")
        assert error.value.code == ("truncated" if off < 0 else "trailing-bytes")


def test_a_folder_of_its_own_for_each_sample_is_no_class() -> None:
    """As of the Data Science Bowl 2018: ``train/ID/images/ID.png``."""
    paths = [f"train/{i:08x}/images/{i:08x}.png" for i in range(20)]
    assert read_folders(paths) == (["train"] * 20, [None] * 20, [])


def test_a_list_is_no_sample_and_takes_no_text_with_it(tmp_path: Path) -> None:
    """Documents beside the lists of their splits, and captions beside their images: each is still there."""
    for i in range(20):
        written(tmp_path / "texts" / f"doc{i:02}.txt", f"words {RNG.random()}")
        picture(tmp_path / "images" / f"{i:02}.png")
        written(tmp_path / "images" / f"{i:02}.txt", f"a caption {RNG.random()}")
    for folder, name in (("texts", "doc{:02}.txt"), ("images", "{:02}.png")):
        for split, of in (("train", range(15)), ("test", range(15, 20))):
            written(tmp_path / folder / f"{split}.txt", "\n".join(name.format(i) for i in of))
        source = opened(tmp_path / folder)
        assert (source.samples, source.splits) == (20, {"train": 15, "test": 5})
        assert "text" in {f.name for f in source.fields}


def test_texts_called_after_splits_are_samples(tmp_path: Path) -> None:
    for split in ("train", "val", "test"):
        written(tmp_path / f"{split}.txt", "".join(f"{split} and words {i}\n" for i in range(9)))
    assert opened(tmp_path).samples == 27 and set(opened(tmp_path).splits) == {"train", "val", "test"}


def test_numbers_that_come_again_are_no_list(tmp_path: Path) -> None:
    for i in range(40):
        picture(tmp_path / "images" / f"{i}.png")
    written(tmp_path / "train.txt", "\n".join(str(i % 4) for i in range(40)))
    assert opened(tmp_path).splits == {}


def test_a_list_that_cannot_be_used_leaves_nothing_to_training(tmp_path: Path) -> None:
    for i in range(20):
        picture(tmp_path / "images" / f"{i}.png")
    written(tmp_path / "train.txt", "\n".join(f"elsewhere{i}.png" for i in range(5)))
    written(tmp_path / "test.txt", "\n".join(f"images/{i}.png" for i in range(5)))
    assert opened(tmp_path).splits == {"test": 5}


def test_a_split_without_classes_stays(tmp_path: Path) -> None:
    for kind in ("pos", "neg"):
        for i in range(40):
            written(tmp_path / "train" / kind / f"{i}.txt", f"{kind} {RNG.random()}")
    for i in range(6):
        written(tmp_path / "test" / f"{i}.txt", f"unknown {RNG.random()}")
    assert opened(tmp_path).splits == {"test": 6, "train": 80}


@pytest.mark.parametrize(
    ("folders", "splits", "classes"),
    [
        (["image", "table", "chart"], [None] * 3, ["chart", "image", "table"]),
        (["test1", "test2", "test3"], [None] * 3, ["test1", "test2", "test3"]),
        (["train0", "val0", "train1", "val1"], [None] * 4, ["train0", "train1", "val0", "val1"]),
        (["WIDER_train", "WIDER_val"], ["train", "val"], []),
        (["train-clean-100", "train-other-500", "dev-clean"], ["train", "train", "dev"], []),
        (["20news-bydate-train", "20news-bydate-test"], ["train", "test"], []),
        (["steam train", "test tube"], [None] * 2, ["steam train", "test tube"]),
        (["stage1_train", "stage1_test"], ["train", "test"], []),
        (["set/Train/Images/a", "set/Train/Images/b", "set/Test/Images"], ["train", "train", "test"], ["a", "b"]),
        (["pets/cat", "pets/dog", "pets"], [None] * 3, ["cat", "dog"]),
    ],
)
def test_what_folders_hold(folders: list[str], splits: list[str | None], classes: list[str]) -> None:
    found = read_folders([f"{folder}/{i}.png" for folder in folders for i in range(8)])
    assert found[0][::8] == splits
    assert found[2] == classes


def test_a_table_says_more_than_folders(tmp_path: Path) -> None:
    """HAM10000: images in two parts of a download, and their diagnosis in a table; folders that say the same stay."""
    names = [f"part_{1 + i % 2}/ISIC_{i:04}.jpg" for i in range(40)]
    for name in names:
        picture(tmp_path / "ham" / name)
    rows = [f"{Path(name).stem},{('nv', 'mel')[i % 2 ^ i // 2 % 2]}" for i, name in enumerate(names)]
    written(tmp_path / "ham" / "metadata.csv", "\n".join(["image_id,dx", *rows]))
    source = opened(tmp_path / "ham")
    assert source.label == "dx"
    assert complaints(tmp_path / "ham") == {}
    for i in range(40):
        picture(tmp_path / "same" / ("cat", "dog")[i % 2] / f"{i}.jpg")
    rows = [f"{('cat', 'dog')[i % 2]}/{i}.jpg,{('Cat', 'Dog')[i % 2]}" for i in range(40)]
    written(tmp_path / "same" / "labels.csv", "\n".join(["file,label", *rows]))
    assert opened(tmp_path / "same").classes == ("cat", "dog")
    written(
        tmp_path / "same" / "labels.csv", "\n".join(["file,label", *rows[:7], rows[7].replace("Dog", "Cat"), *rows[8:]])
    )
    assert opened(tmp_path / "same").classes == ("cat", "dog")
    found = scan(tmp_path / "same", tmp_path).findings
    assert [f.where[0]["file"] for f in found if f.code == "label-conflict"] == ["dog/7.jpg"]
    changed = [row.replace("Dog", "Cat") if i in (1, 9, 15, 23) else row for i, row in enumerate(rows)]
    written(tmp_path / "same" / "labels.csv", "\n".join(["file,label", *changed]))
    assert [f.count for f in scan(tmp_path / "same", tmp_path).findings if f.code == "label-conflict"] == [4]


def test_what_is_withheld_from_a_split_is_no_fault(tmp_path: Path) -> None:
    """Masks, and labels in a table, that test lacks on purpose; one that training lacks is missing."""
    for split in ("training", "testing"):
        for i in range(12):
            picture(tmp_path / "masks" / split / "images" / f"{i}.jpg")
            if split == "training":
                mask(tmp_path / "masks" / split / "labels" / f"{i}.png")
    assert complaints(tmp_path / "masks") == {}
    (tmp_path / "masks" / "training" / "labels" / "3.png").unlink()
    assert list(complaints(tmp_path / "masks")) == ["missing-pair"]
    for i in range(40):
        picture(tmp_path / "eyes" / ("train_images" if i < 30 else "test_images") / f"{i}.png")
    for split, of in (("train", range(30)), ("test", range(30, 40))):
        rows = [f"{i},{i % 3}" if split == "train" else f"{i}" for i in of]
        written(
            tmp_path / "eyes" / f"{split}.csv",
            "\n".join(["id_code,diagnosis" if split == "train" else "id_code", *rows]),
        )
    form = "\n".join(["id_code,diagnosis", *(f"{i},0" for i in range(30, 40))])
    written(tmp_path / "eyes" / "sample_submission.csv", form)
    assert complaints(tmp_path / "eyes") == {}
    assert opened(tmp_path / "eyes").label == "diagnosis"


def test_classes_numbered_from_one_are_not_those_of_a_list(tmp_path: Path) -> None:
    """AG News: ``classes.txt`` names four classes, which the table calls 1 to 4."""
    written(tmp_path / "classes.txt", "World\nSports\nBusiness\nScience\n")
    written(
        tmp_path / "train.csv", "".join(f'{1 + i % 4},"title {i}","about the news of day {i}"\n' for i in range(80))
    )
    assert opened(tmp_path).classes is None
    written(tmp_path / "train.csv", "".join(f'{i % 4},"title {i}","about the news of day {i}"\n' for i in range(80)))
    assert opened(tmp_path).classes == ("World", "Sports", "Business", "Science")


def test_blanks_behind_commas_hide_no_first_row(tmp_path: Path) -> None:
    """Adult, as UCI offers it: no header, and a blank before each value."""
    rows = [
        f"{20 + i}, {('Private', 'State-gov')[i % 2]}, {70000 + 37 * i}, {i % 16}, {('<=50K', '>50K')[i % 3 == 0]}"
        for i in range(60)
    ]
    written(tmp_path / "adult.csv", "\n".join(rows))
    assert opened(tmp_path).samples == 60


def test_several_labels_in_one_text_are_no_class(tmp_path: Path) -> None:
    """ChestX-ray14: findings joined by a bar."""
    kinds = ["Mass", "Edema", "Nodule", "Mass|Edema", "Edema|Nodule", "Mass|Nodule"]
    rows = "".join(f"{RNG.random():.4f},{kinds[i % 6]}\n" for i in range(120))
    written(tmp_path / "t.csv", "x,Finding Labels\n" + rows)
    assert "severe-imbalance" not in complaints(tmp_path)
    assert any("several labels" in why for why in scan(tmp_path, tmp_path).unknowns)


def test_notes_beside_data_do_not_stop_the_reading(tmp_path: Path) -> None:
    for i in range(12):
        sound(tmp_path / f"{i}.wav")
    written(tmp_path / "meta.csv", "speaker,sex\n1,f\n2,m\n")
    assert opened(tmp_path).samples == 12
    assert set(complaints(tmp_path)) == {"foreign-file"}


def test_what_is_called_after_shards_is_no_data_of_its_own(tmp_path: Path) -> None:
    """img2dataset writes the rows of each shard again as Parquet, and what became of them as JSON."""
    for shard in range(2):
        with tarfile.open(tmp_path / f"{shard:05}.tar", "w") as tar:
            for i in range(12):
                data = io.BytesIO()
                Image.fromarray(RNG.integers(0, 256, (24, 32, 3), np.uint8)).save(data, "PNG")
                member = tarfile.TarInfo(f"{shard:05}{i:04}.png")
                member.size = data.tell()
                data.seek(0)
                tar.addfile(member, data)
        (tmp_path / f"{shard:05}.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
        written(tmp_path / f"{shard:05}_stats.json", '{"count": 12}')
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("webdataset", 24)
    assert [f.code for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"] == []
    (tmp_path / "00000_stats.json").rename(tmp_path / "other.json")
    assert [f.where for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"] == [
        ({"file": "other.json"},)
    ]


@pytest.mark.parametrize(
    ("folders", "classes"),
    [
        ([f"{c}/v_{c}_g{k:02}" for c in ("run", "walk", "jump") for k in range(4)], ["jump", "run", "walk"]),
        ([f"audi/a{k}" for k in range(3)] + [f"bmw/{k}" for k in ("m3", "x5")], ["a0", "a1", "a2", "m3", "x5"]),
        ([f"{c}/terrier {c}" for c in ("york", "norfolk")], ["terrier norfolk", "terrier york"]),
        ([f"{site}/patient{k}" for k, site in enumerate("aabbcc")], []),
    ],
)
def test_numbered_takes_are_of_the_class_above(folders: list[str], classes: list[str]) -> None:
    assert read_folders([f"{folder}/{i}.png" for folder in folders for i in range(8)])[2] == classes
