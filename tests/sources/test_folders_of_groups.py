"""Folders that say when, by whom or of what samples were taken, beside better evidence of their classes."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

rng = np.random.default_rng(0)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (12, 12, 3), np.uint8)).save(path)


def test_months_are_no_classes(tmp_path: Path) -> None:
    """Seen: the folders 2024-03 and 2024-04 were classes, though a table names the defect of each file."""
    for customer in ("acme", "boreal"):
        said = ["file,defect,inspector"]
        for month in ("2024-03", "2024-04"):
            for i in range(6):
                picture(tmp_path / customer / month / f"img_{i}.png")
                said.append(f"{month}/img_{i}.png,{('ok', 'dent', 'scratch')[i % 3]},{('anna', 'bo')[i % 2]}")
        (tmp_path / customer / "labels.csv").write_text("\n".join(said) + "\n")
    source = opened(tmp_path)
    assert (source.label, source.classes) == ("defect", ("dent", "ok", "scratch"))


def test_years_may_be_classes(tmp_path: Path) -> None:
    """Our promise: folders called by years are read as classes."""
    for year in ("1965", "1970"):
        for i in range(6):
            picture(tmp_path / year / f"{i}.png")
    assert opened(tmp_path).classes == ("1965", "1970")


def test_numbers_within_numbers_are_no_classes(tmp_path: Path) -> None:
    """Seen: the pages of IAM, a01-000u in a01, were classes of the words cut from them."""
    for page in ("a01-000u", "a01-003x", "b02-105"):
        for i in range(5):
            picture(tmp_path / page[:3] / page / f"{page}-{i:02}.png")
    assert opened(tmp_path).label is None


def test_wordnet_folders_stay_classes(tmp_path: Path) -> None:
    """Our promise: files that are called after the folder of their class keep it."""
    for name in ("n01440764", "n01443537"):
        for i in range(5):
            picture(tmp_path / "train" / name / f"{name}_{i}.png")
    assert opened(tmp_path).classes == ("n01440764", "n01443537")


def test_kaldi_says_what_is_spoken_and_by_whom(tmp_path: Path) -> None:
    """Seen: of a Kaldi folder, the speakers were classes, and the texts called foreign."""
    for split, speakers in (("train", ("spk1", "spk2")), ("test", ("spk3",))):
        (tmp_path / "data" / split).mkdir(parents=True)
        said: dict[str, list[str]] = {"wav.scp": [], "text": [], "utt2spk": []}
        for speaker in speakers:
            for i in range(5):
                path = tmp_path / "audio" / speaker / f"{i:03}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                with wave.open(str(path), "wb") as out:
                    out.setparams((1, 2, 8000, 0, "NONE", ""))
                    out.writeframes(rng.integers(-9, 9, 400, np.int16).tobytes())
                said["wav.scp"].append(f"{speaker}-{i:03} audio/{speaker}/{i:03}.wav")
                said["text"].append(
                    f"{speaker}-{i:03} {' '.join(['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE'][i:])} SAID {speaker}"
                )
                said["utt2spk"].append(f"{speaker}-{i:03} {speaker}")
        for name, of in said.items():
            (tmp_path / "data" / split / name).write_text("".join(f"{line}\n" for line in of))
    source = opened(tmp_path)
    text = source.field("text")
    assert (source.label, source.splits) == (None, {"train": 10, "test": 5})
    assert text is not None
    assert text.kind == "text"


def test_an_export_of_label_studio_is_joined(tmp_path: Path) -> None:
    """Seen: its choices were not read, as it names files by where they were uploaded."""
    tasks = []
    for i in range(8):
        picture(tmp_path / "images" / f"scan_{i}.png")
        choice = {"value": {"choices": [("Invoice", "Letter")[i % 2]]}, "from_name": "choice", "type": "choices"}
        box = {"x": 50, "y": 25, "width": 25, "height": 50, "rectanglelabels": ["Stamp"]}
        boxes = {"value": box, "type": "rectanglelabels", "original_width": 12, "original_height": 12}
        said = [{"was_cancelled": False, "result": [choice, boxes]}]
        tasks.append({"id": i, "data": {"image": f"/data/upload/1/85b717c{i}-scan_{i}.png"}, "annotations": said})
    (tmp_path / "project-1.json").write_text(json.dumps(tasks))
    source = opened(tmp_path)
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert block.columns["choice"].values[0] == "Invoice"
    assert block.columns["boxes"].values[0].tolist() == [[6, 3, 9, 9]]


def test_boxes_of_tracks_are_joined_to_frames(tmp_path: Path) -> None:
    """Seen: MOT Challenge's gt.txt was not read."""
    clip = tmp_path / "train" / "MOT-02"
    for i in range(1, 6):
        picture(clip / "img1" / f"{i:06}.png")
    (clip / "gt").mkdir()
    (clip / "gt" / "gt.txt").write_text("1,1,2,3,4,5,1,1,0.9\n1,2,0,0,3,3,0,7,1.0\n3,1,2,3,4,5,1,1,0.8\n")
    source = opened(tmp_path)
    blocks = [source.decode(unit, source.read(unit)).columns for unit in source.units]
    assert blocks[0]["boxes"].values[0].tolist() == [[2, 3, 6, 8], [0, 0, 3, 3]]
    assert [len(columns["tracks"].values[0]) for columns in blocks] == [2, 0, 1, 0, 0]
