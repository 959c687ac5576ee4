"""What files say of samples that names of folders, or places of columns, would say wrongly."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recipes.tasks import of_label, unlabelled
from tests.making.scanning import scan
from tests.sources.tables import put

RNG = np.random.default_rng(5)
NOUNS = [
    "violin",
    "engine",
    "algorithm",
    "archive",
    "molecule",
    "harbour",
    "painter",
    "printer",
    "bridge",
    "window",
    "candle",
    "meadow",
]


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (8, 8, 3), np.uint8)).save(path)


def sound(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(RNG.integers(-99, 99, 200, np.int16).tobytes())


def text(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def task(source: Source) -> str:
    fields = [{"name": f.name, "kind": f.kind, "dtype": f.dtype, "shape": [*f.shape]} for f in source.fields]
    told = unlabelled(source.modality, fields) if source.label is None else of_label(fields, source.label)
    return told.name if told is not None else "classification"


def test_a_column_called_label_says_more_than_folders_called_parts(tmp_path: Path) -> None:
    """Seen: patients of two hospitals in ``training_setA`` and ``training_setB``, with ``SepsisLabel`` in each row."""
    for part in "AB":
        for i in range(4):
            rows = [[90 + j, int(j > 3)] for j in range(6)]
            put(tmp_path / f"training_set{part}" / f"p{part}{i}.psv", ["HR", "SepsisLabel"], rows, "|")
    assert opened(tmp_path).label == "SepsisLabel"


@pytest.mark.parametrize("times", [True, False], ids=["with times", "without"])
def test_ratings_between_tabs_are_the_label(tmp_path: Path, times: bool) -> None:
    """Seen: MovieLens's u.data was said to have a class for each user."""
    pairs = RNG.permutation([(u, i) for u in range(1, 31) for i in range(1, 41)])[:400].tolist()
    rows = [[*p, int(RNG.integers(1, 6)), *([880_000_000 + n] if times else [])] for n, p in enumerate(pairs)]
    put(tmp_path / "u1.base", None, rows[:300], "\t")
    put(tmp_path / "u1.test", None, rows[300:], "\t")
    source = opened(tmp_path)
    assert (source.label, source.splits) == ("f2", {"train": 300, "test": 100})


def test_lists_of_small_numbers_in_rising_order_are_labels(tmp_path: Path) -> None:
    """Seen: emotions such as ``0,3`` were read as numbers with a decimal comma."""
    cells = ["0", "1", "2", "3", "4", "0,3", "1,2", "2,4", "0,1", "1,4", "3,4"] * 8
    put(
        tmp_path / "train.tsv",
        None,
        [[f"a long remark about number {i}", c, f"e{i}"] for i, c in enumerate(cells)],
        "\t",
    )
    assert opened(tmp_path).label == "f1"


def test_fractions_with_a_comma_are_no_lists_of_labels(tmp_path: Path) -> None:
    """Our promise: half of Europe writes 4,1 for a number between 4 and 5."""
    cells = ["0", "1", "2", "3", "4", "0,3", "2,1", "2,4", "4,1", "1,4", "3,4"] * 8
    put(
        tmp_path / "train.tsv",
        None,
        [[f"a long remark about number {i}", c, f"e{i}"] for i, c in enumerate(cells)],
        "\t",
    )
    assert opened(tmp_path).label is None


def test_rows_of_words_with_tags_are_for_token_classification(tmp_path: Path) -> None:
    """Seen: most words of a corpus were called copies of another sample, and its sentences missing values."""
    rows = [
        [f"Sentence: {i}" if not j else "", NOUNS[j], "NN", "B-LOC" if j == 2 else "O"]
        for i in range(30)
        for j in range(5)
    ]
    put(tmp_path / "ner.csv", ["Sentence #", "Word", "POS", "Tag"], rows)
    assert task(opened(tmp_path)) == "token classification"
    found = {f.code: f.severity for f in scan(tmp_path, tmp_path).findings}
    assert "duplicate-samples" not in found and found["missing-values"] == "info"


def test_steps_behind_the_end_of_a_series_are_neither_missing_nor_targets(tmp_path: Path) -> None:
    """Seen: 107 warnings about one table of series, the longest of which has 107 steps more than a horizon."""
    for split, longest in (("train", 30), ("test", 6)):
        ends = [longest if split == "test" else 8 + i for i in range(23)]
        rows = [[f"H{i}", *RNG.integers(100, 999, end).tolist(), *[""] * (longest - end)] for i, end in enumerate(ends)]
        put(tmp_path / f"Hourly-{split}.csv", [f"V{i + 1}" for i in range(longest + 1)], rows)
    source = opened(tmp_path)
    assert (source.label, source.targets) == (None, ())
    assert "missing-values" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_targets_that_a_test_split_lacks_are_not_missing_there(tmp_path: Path) -> None:
    """Our promise: a value that is missing is counted among the rows that should have it."""
    rows = [[i, *RNG.random(2).round(3).tolist()] for i in range(40)]
    rows[3][1] = ""
    put(tmp_path / "train.csv", ["size", "eye_x", "eye_y"], rows)
    put(tmp_path / "test.csv", ["size"], [[i] for i in range(20)])
    [said] = [f.message for f in scan(tmp_path, tmp_path).findings if f.code == "missing-values"]
    assert "missing in 1 of 40" in said


def test_spans_of_time_beside_recordings_are_events(tmp_path: Path) -> None:
    """Seen: labels as Audacity exports them were taken for what is said."""
    for i in range(6):
        sound(tmp_path / f"site{i}.wav")
        text(tmp_path / f"site{i}.txt", "0.001\t0.004\towl", f"0.01{i}\t0.02\tfrog")
    source = opened(tmp_path)
    assert "events" in {f.name for f in source.fields} and task(source) == "sound event detection"


def test_a_sentence_with_its_span_is_what_is_said(tmp_path: Path) -> None:
    """Our promise: TIMIT's transcripts begin with the first and the last sample of the recording."""
    for i in range(6):
        sound(tmp_path / f"SX{i}.wav")
        text(tmp_path / f"SX{i}.txt", f"0 41000 She had your {NOUNS[i]} in greasy wash water.")
    assert task(opened(tmp_path)) == "speech recognition"


def test_captions_say_more_than_folders_called_by_how_often_images_are_taken(tmp_path: Path) -> None:
    """Seen: folders for the training of image generators, ``10_sks dog`` and ``3_dog``, were classes."""
    for folder in ("10_sks dog", "3_dog"):
        for i in range(4):
            picture(tmp_path / folder / f"{i}.png")
            text(tmp_path / folder / f"{i}.txt", f"a dog beside a {NOUNS[i]} in the rain")
    source = opened(tmp_path)
    assert (source.label, task(source)) == (None, "image to text")


def test_folders_of_captioned_images_that_count_classes_are_classes(tmp_path: Path) -> None:
    """Our promise: ``1_cat`` and ``2_dog`` number classes."""
    for folder in ("1_cat", "2_dog"):
        for i in range(4):
            picture(tmp_path / folder / f"{i}.png")
            text(tmp_path / folder / f"{i}.txt", f"an animal beside a {NOUNS[i]} in the rain")
    assert opened(tmp_path).label == "label"


def test_noisy_and_clean_recordings_in_folders_of_splits_are_no_classes(tmp_path: Path) -> None:
    """Seen: ``clean_testset_wav`` and three others were four classes, and folders of transcripts classes without samples."""
    for split, n in (("trainset_28spk", 6), ("testset", 3)):
        for i in range(n):
            for kind in ("clean", "noisy"):
                sound(tmp_path / f"{kind}_{split}_wav" / f"p{n}{i}_0{i}.wav")
            text(tmp_path / f"{split}_txt" / f"p{n}{i}_0{i}.txt", "please call")
    source = opened(tmp_path)
    assert (source.label, source.splits) == (None, {"train": 12, "test": 6})
    assert "empty-class" not in {f.code for f in scan(tmp_path, tmp_path).findings}


def test_lists_that_name_files_last_are_read(tmp_path: Path) -> None:
    """Seen: ``image_id class_id super_class_id path`` were lists of nothing, and the folders classes."""
    number = 0
    for split in ("train", "test"):
        rows = []
        for i in range(8):
            number += 1
            path = f"{'chair' if i % 2 else 'lamp'}_final/{split}{i}.jpg"
            picture(tmp_path / path)
            rows.append(f"{number} {(split == 'test') * 4 + i // 2} {i % 2} {path}")
        text(tmp_path / f"Ebay_{split}.txt", "image_id class_id super_class_id path", *rows)
    source = opened(tmp_path)
    assert (source.label, source.splits) == ("class_id", {"train": 8, "test": 8})


def test_words_behind_flags_and_boxes_are_what_images_say(tmp_path: Path) -> None:
    """Seen: ``a01-000u-00 ok 154 408 AT the`` made two classes, ok and err."""
    lines = []
    for i in range(48):
        picture(tmp_path / "words" / f"a0{i // 10}-00{i % 10}.png")
        lines.append(f"a0{i // 10}-00{i % 10} {'err' if i % 9 == 0 else 'ok'} {154 + i} {408 - i} NN {NOUNS[i % 12]}")
    text(tmp_path / "words.txt", *lines)
    source = opened(tmp_path)
    assert (source.label, task(source)) == (None, "image to text")


def test_a_column_of_splits_divides_the_folder_of_one(tmp_path: Path) -> None:
    """Seen: the validation that a table cuts from a folder for development was not there."""
    for split, n in (("dev", 12), ("eval", 6)):
        for i in range(n):
            sound(tmp_path / f"{split}_audio" / f"{split}{i}.wav")
        rows = [[f"{split}{i}.wav", "Bark" if i % 2 else "Rain"] for i in range(n)]
        rows = [[*row, "val" if i % 4 == 0 else "train"] for i, row in enumerate(rows)] if split == "dev" else rows
        put(tmp_path / "truth" / f"{split}.csv", ["fname", "label", "split"][: len(rows[0])], rows)
    assert opened(tmp_path).splits == {"train": 9, "val": 3, "eval": 6}


def test_a_text_with_a_line_for_each_image_is_said_to_have_as_many(tmp_path: Path) -> None:
    """Our promise: what may hold the labels by order alone is told as such."""
    for i in range(24):
        picture(tmp_path / "val" / f"ILSVRC2012_val_{i:08}.png")
    text(tmp_path / "ground_truth.txt", *map(str, RNG.integers(1, 900, 24)))
    [told] = [f.message for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert "24 lines, as many as there are samples" in told


def test_people_searched_for_are_among_those_they_are_searched_in(tmp_path: Path) -> None:
    """Our promise: a person in query and gallery is no leak; one in training and gallery is."""
    for split, people in (
        ("bounding_box_train", range(1, 11)),
        ("query", range(21, 31)),
        ("bounding_box_test", range(21, 31)),
    ):
        for person in people:
            for i in range(4):
                picture(tmp_path / split / f"{person:04}_c{i + 1}s1_{person * 7 + i:06}_00.png")
    assert "group-leakage" not in {f.code for f in scan(tmp_path, tmp_path).findings}


@pytest.mark.parametrize(("first", "leak"), [(0, False), (6, True)], ids=["numbered anew", "one clip divided"])
def test_clips_that_each_split_numbers_anew_are_not_the_same(tmp_path: Path, first: int, leak: bool) -> None:
    """Our promise: ``clip_000`` of training and of validation are two clips, unless the frames of one were divided."""
    for split, n, begin in (("train", 6, 0), ("val", 3, first)):
        for name in ("fall", "rest"):
            for clip in range(n):
                for i in range(begin, begin + 5):
                    picture(tmp_path / split / name / f"clip_{clip:03}" / f"{i:04}.png")
    assert ("group-leakage" in {f.code for f in scan(tmp_path, tmp_path).findings}) is leak
