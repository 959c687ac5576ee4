"""Files that make one sample together: which are found to, and what is told where one is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.files import Entry
from dataloader_expert.sources.pairing import key_of, pair
from dataloader_expert.sources.registry import open_source

IMAGE = frozenset({"image"})


def opened(folder: Path, **more: Any) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),), **more), [])


def write(path: Path, seed: int = 0, size: tuple[int, int] = (40, 32)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
    Image.fromarray(noise if "mask" not in str(path) else (noise[..., 0] > 99).astype(np.uint8)).save(path)


@pytest.mark.parametrize(
    ("sample", "partner"),
    [
        ("images/{}.jpg", "masks/{}.png"),
        ("images/train/{}.jpg", "masks/train/{}.png"),
        ("train/images/{}.jpg", "train/masks/{}.png"),
        ("train/{}.jpg", "train_masks/{}_mask.png"),
        ("{}.jpg", "{}_mask.png"),
        ("{}_img.jpg", "{}_msk.png"),
        ("JPEGImages/{}.jpg", "SegmentationClass/{}.png"),
        ("img/{}_rgb.png", "gt/{}_gt.png"),
    ],
)
def test_masks_are_found_wherever_they_stand(sample: str, partner: str) -> None:
    """Our promise: a mask is a field of its picture, not a picture of a class called masks."""
    entries = [Entry(p.format(f"{i:03}"), 9, "image") for i in range(8) for p in (sample, partner)]
    found = pair(entries, IMAGE)
    assert [e.path for e in found.samples] == sorted(sample.format(f"{i:03}") for i in range(8))
    assert {k: {n: e.path for n, e in v.items()} for k, v in found.partners.items()} == {
        sample.format(f"{i:03}"): {"mask": partner.format(f"{i:03}")} for i in range(8)
    }
    assert not found.problems


@pytest.mark.parametrize(
    ("sample", "partner"),
    [
        ("Kvasir-SEG/images/{}.jpg", "Kvasir-SEG/masks/{}.png"),
        ("Set_with_GT/ill/{}.png", "Set_with_GT/ill/{}_mask.png"),
        ("labels_v1/images/{}.jpg", "labels_v1/masks/{}.png"),
        ("depth_data/a/rgb/{}.jpg", "depth_data/a/masks/{}.png"),
        ("train/{}_sat.jpg", "train/{}_mask.png"),
    ],
)
def test_folders_around_both_say_nothing(sample: str, partner: str) -> None:
    """Our promise: a word such as SEG in the name of the folder that holds images and masks makes no mask of an image."""
    entries = [Entry(p.format(f"{i:03}"), 9, "image") for i in range(8) for p in (sample, partner)]
    found = pair(entries, IMAGE)
    assert [e.path for e in found.samples] == sorted(sample.format(f"{i:03}") for i in range(8))
    assert {e.path for of in found.partners.values() for e in of.values()} == {
        partner.format(f"{i:03}") for i in range(8)
    }
    assert not found.problems


def test_a_folder_of_masks_of_which_few_are_called_so_again_stays_one() -> None:
    """Our promise: a folder that holds masks alone is one of masks."""
    entries = [Entry(f"{folder}/{i}.png", 9, "image") for folder in ("images", "masks") for i in range(8)]
    found = pair([*entries, Entry("masks/9_mask.png", 9, "image")], IMAGE)
    assert {e.path for of in found.partners.values() for e in of.values()} == {f"masks/{i}.png" for i in range(8)}


@pytest.mark.parametrize(
    "folders",
    [("masks", "faces"), ("with_mask", "without_mask"), ("mask", "no_mask"), ("cat", "dog"), ("label", "text")],
)
def test_classes_called_so_stay_classes(folders: tuple[str, str]) -> None:
    """Our promise: names alone pair nothing, for classes may be called so and number their files alike."""
    entries = [Entry(f"{folder}/{i}.jpg", 9, "image") for folder in folders for i in range(8)]
    found = pair(entries, IMAGE)
    assert len(found.samples) == 16
    assert not found.partners
    assert not found.problems


@given(
    st.sets(st.integers(0, 999), min_size=2, max_size=60),
    st.data(),
    st.sampled_from(("text", "XML (Pascal VOC annotations)", "json", "YOLO label")),
)
def test_whatever_lacks_its_partner_is_told_once(numbers: set[int], data: st.DataObject, kind: str) -> None:
    """Our promise: every file without its partner is named, on either side, and no other."""
    some = sorted(numbers)
    few = st.sets(st.sampled_from(some), max_size=len(some) // 4)
    without, orphans = data.draw(few), data.draw(few)
    orphans = orphans - without
    entries = [Entry(f"images/{i}.jpg", 9, "image") for i in some if i not in orphans]
    entries += [Entry(f"labels/{i}.x", 9, kind) for i in some if i not in without]
    found = pair(entries, IMAGE)
    if len(some) - len(without) - len(orphans) > 1:
        told = sorted(str(p.where["file"]) for p in found.problems)
        assert told == sorted([*(f"images/{i}.jpg" for i in without), *(f"labels/{i}.x" for i in orphans)])
        assert all(p.code == "missing-pair" for p in found.problems)


def test_a_mask_is_read_beside_its_picture(tmp_path: Path) -> None:
    """Our promise: a sample holds its mask; one of another size is told, and one that is missing as well."""
    for i in range(6):
        write(tmp_path / f"images/{i}.png", i)
        if i != 4:
            write(tmp_path / f"masks/{i}.png", i, (40, 31) if i == 2 else (40, 32))
    source = opened(tmp_path)
    assert [(f.name, f.kind) for f in source.fields] == [("image", "image"), ("mask", "mask")]
    assert source.label is None
    assert source.samples == 6
    blocks = [source.decode(u, source.read(u)) for u in source.units]
    assert [b.columns["mask"].values[0].shape for b in blocks if "mask" in b.columns] == [
        (40, 32), (40, 32), (40, 31), (40, 32), (40, 32),
    ]  # fmt: skip
    assert [p.code for b in blocks for p in b.problems] == ["length-mismatch"]
    assert [(p.code, p.where["file"]) for p in source.problems] == [("missing-pair", "images/4.png")]


def test_masks_are_described_by_their_files(tmp_path: Path) -> None:
    """Our promise: a mask's field has the shape of its files, and lossy compression is told once."""
    for i in range(7):
        write(tmp_path / f"images/{i}.png", i)
        write(tmp_path / f"masks/{i}.png", i)
    mask = opened(tmp_path).field("mask")
    assert mask is not None
    assert (mask.shape, mask.dtype) == ((40, 32), "uint8")
    for path in (tmp_path / "masks").iterdir():
        Image.open(path).point(lambda level: 90 * level).save(path.with_suffix(".jpg"), quality=60)
        path.unlink()
    assert [p.code for p in opened(tmp_path).problems] == ["label-out-of-range"]


def test_captions_beside_pictures_are_a_field(tmp_path: Path) -> None:
    """Our promise: a folder of pictures and their texts opens without a word, as pairs of both."""
    for i in range(6):
        write(tmp_path / f"{i}.jpg", i)
        (tmp_path / f"{i}.txt").write_text(f"caption {i}", encoding="utf-8")
    source = opened(tmp_path)
    assert (source.format, source.modality, source.samples) == ("image-folder", "multimodal", 6)
    assert not source.problems
    block = source.decode(source.units[3], source.read(source.units[3]))
    assert block.columns["text"].values == ["caption 3"]


def belonging(paths: dict[str, str], kind: str) -> tuple[dict[str, str], int]:
    """The name of the text of each sample, and how many files lack a partner, of files with these kinds by their path."""
    found = pair([Entry(path, 9, of) for path, of in paths.items()], frozenset({kind}))
    return {path.rpartition("/")[2]: of["text"].path for path, of in found.partners.items()}, len(found.problems)


def test_what_a_recording_says_is_the_text_beside_it_whatever_else_is_called_so() -> None:
    """As TIMIT's phones and words; alone, a text of another suffix is what it says."""
    suffixes = {"PHN": "text", "TXT": "text", "WAV": "audio", "WRD": "text"}
    timit = {f"TRAIN/SA{i}.{suffix}": kind for i in range(4) for suffix, kind in suffixes.items()}
    assert belonging(timit, "audio") == ({f"SA{i}.WAV": f"TRAIN/SA{i}.TXT" for i in range(4)}, 0)
    labs = {f"a/{i}.{suffix}": kind for i in range(4) for suffix, kind in {"wav": "audio", "lab": "text"}.items()}
    assert belonging(labs, "audio") == ({f"{i}.wav": f"a/{i}.lab" for i in range(4)}, 0)


@pytest.mark.parametrize("microphones", [["mic1"], ["mic1", "mic2"]])
def test_texts_in_folders_like_those_of_recordings(microphones: list[str]) -> None:
    """As VCTK's, whose recordings are called after the microphone too, and lie in a folder with more than one word."""
    said = [f"p{p}/p{p}_{i:03}" for p in (225, 226) for i in range(3)]
    sounds = {f"V/wav48_silence_trimmed/{name}_{mic}.flac": "audio" for name in said for mic in microphones}
    texts = {"V/speaker-info.txt": "text", **{f"V/txt/{name}.txt": "text" for name in said}}
    found, lost = belonging({**sounds, **texts}, "audio")
    assert lost == 0 and len(found) == len(sounds)
    assert all(name.startswith(text.rpartition("/")[2].removesuffix(".txt")) for name, text in found.items())


def test_calibrations_are_no_texts_of_pictures_in_another_folder() -> None:
    paths = {path: kind for i in range(4) for path, kind in ((f"image_2/{i}.png", "image"), (f"calib/{i}.txt", "text"))}
    assert belonging(paths, "image") == ({}, 0)


def test_a_partner_called_after_the_whole_name_of_its_sample() -> None:
    assert key_of("ann/7.jpeg.json") == ("7", "target") and key_of("img/7.jpeg") == ("7", None)
    assert key_of("a/1.5 volts.png") == ("a/1_5_volts", None)
