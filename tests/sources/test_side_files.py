"""Side files that accompany the data, which were a reason to refuse it."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

rng = np.random.default_rng(0)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (12, 12, 3), np.uint8)).save(path)


def written(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def sound(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes(rng.integers(-9, 9, 800, np.int16).tobytes())


def test_files_that_are_never_read_do_not_compete_with_images(tmp_path: Path) -> None:
    """Seen: Caltech-101, with a .mat of an outline for most images, was refused."""
    for name in ("ant", "bee", "cat"):
        for i in range(5):
            picture(tmp_path / "objects" / name / f"image_{i}.png")
            written(tmp_path / "Annotations" / name / f"annotation_{i}.mat", b"MATLAB 5.0 MAT-file" + bytes(20))
    picture(tmp_path / "objects" / "ant" / "image_9.png")
    source = opened(tmp_path)
    assert (source.samples, source.classes) == (16, ("ant", "bee", "cat"))


def test_files_that_are_never_read_may_be_the_data(tmp_path: Path) -> None:
    """Our promise: a few previews beside more bytes of volumes are not taken for the data."""
    for name in ("a", "b"):
        for i in range(5):
            picture(tmp_path / "previews" / name / f"{i}.png")
            written(tmp_path / "volumes" / name / f"v{i}.mat", b"MATLAB 5.0 MAT-file" + bytes(4000))
    with pytest.raises(RequestError, match="several kinds"):
        opened(tmp_path)


def test_notes_of_the_same_names_in_each_clip_leave_no_doubt(tmp_path: Path) -> None:
    """Seen: GOT-10k, with four texts in each folder of frames, was refused; its boxes stand in one of them."""
    for split, clips in (("train", 3), ("val", 2)):
        for c in range(clips):
            clip = tmp_path / split / f"GOT_{split}_{c:06}"
            for i in range(8):
                picture(clip / f"{i:08}.png")
            written(clip / "groundtruth.txt", "1,2,4,5\n" * 8)
            written(clip / "absence.label", "0\n" * 8)
            written(clip / "meta.ini", "[M]\nclass: cat\n")
    source = opened(tmp_path)
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert (source.splits, source.label) == ({"train": 24, "val": 16}, None)
    assert block.columns["boxes"].values[0].tolist() == [[1, 2, 5, 7]]


def test_notes_of_each_scene_leave_no_doubt(tmp_path: Path) -> None:
    """Seen: pictures of the cameras of a rig, with a file of intrinsics for each scene, were refused."""
    for scene in range(6):
        for camera in range(4):
            picture(tmp_path / f"scene_{scene:04}" / f"cam{camera}.png")
        written(tmp_path / f"scene_{scene:04}" / "intrinsics.json", json.dumps({"fx": 91.2 + scene}))
    source = opened(tmp_path)
    assert (source.format, source.samples, source.label) == ("image-folder", 24, None)


def test_recordings_come_before_what_shows_them(tmp_path: Path) -> None:
    """Seen: GTZAN of Kaggle, recordings with spectrograms and two tables, was refused."""
    for name in ("blues", "disco"):
        for i in range(8):
            sound(tmp_path / "genres" / name / f"{name}.0000{i}.wav")
            picture(tmp_path / "images" / name / f"{name}0000{i}.png")
    names = [f"{name}.0000{i}" for name in ("blues", "disco") for i in range(8)]
    written(tmp_path / "30_sec.csv", "filename,tempo\n" + "".join(f"{n}.wav,{i}.5\n" for i, n in enumerate(names)))
    written(
        tmp_path / "3_sec.csv", "filename,tempo\n" + "".join(f"{n}.{k}.wav,{k}.5\n" for n in names for k in range(3))
    )
    source = opened(tmp_path)
    assert (source.format, source.samples, source.classes) == ("audio-folder", 16, ("blues", "disco"))
    assert source.field("tempo") is not None


def test_rows_written_in_two_formats_are_read_once(tmp_path: Path) -> None:
    """Seen: SNLI, as JSON lines and as tables, was refused."""
    for split, n in (("train", 30), ("dev", 12)):
        rows = [{"gold": "yes" if i % 2 else "no", "text": f"a sentence of number {i}"} for i in range(n)]
        written(tmp_path / f"s_{split}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        written(tmp_path / f"s_{split}.txt", "gold\ttext\n" + "".join(f"{r['gold']}\t{r['text']}\n" for r in rows))
    source = opened(tmp_path)
    assert (source.format, source.splits) == ("jsonl", {"train": 30, "dev": 12})


def test_tables_of_the_same_names_with_other_rows_stay_in_doubt(tmp_path: Path) -> None:
    """Our promise: two files called alike are the same rows only if they hold as many."""
    for split, n in (("train", 30), ("dev", 12)):
        written(tmp_path / f"s_{split}.jsonl", "".join(json.dumps({"text": f"text {i}"}) + "\n" for i in range(n)))
        written(tmp_path / f"s_{split}.csv", "word,count\n" + "".join(f"w{i},{i}\n" for i in range(2 * n)))
    with pytest.raises(RequestError, match="pass format=csv or format=jsonl"):
        opened(tmp_path)
