"""Texts of recordings and images in tables without a header: what is said, what is shown, and what is neither."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.annotations.transcripts import is_prose, is_text
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recipes.tasks import unlabelled

RNG = np.random.default_rng(23)
WORDS = (
    "the",
    "of",
    "and",
    "a",
    "to",
    "in",
    "is",
    "was",
    "he",
    "for",
    "it",
    "with",
    "as",
    "his",
    "on",
    "be",
    "at",
    "by",
)


def sentence(words: int) -> str:
    return " ".join(RNG.choice(WORDS, words))


def recording(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(RNG.integers(-9000, 9000, 400, np.int16).tobytes())


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (16, 48, 3), np.uint8)).save(path)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def task(source: Source) -> str:
    fields = [{"name": f.name, "kind": f.kind, "dtype": f.dtype, "shape": f.shape} for f in source.fields]
    return unlabelled(source.modality, fields).name


def value(source: Source, name: str, at: int = 0) -> object:
    column = source.column(source.units[at], name)
    assert column is not None
    return column.values[0]


def test_what_is_said_stands_behind_the_name_of_a_recording(tmp_path: Path) -> None:
    """As LJ Speech, which has it as written and as read."""
    rows = [f"LJ001-{i:04}|{sentence(6)}, {i}|{sentence(7)}" for i in range(20)]
    (tmp_path / "metadata.csv").write_text("\n".join(rows) + "\n")
    for i in range(20):
        recording(tmp_path / "wavs" / f"LJ001-{i:04}.wav")
    source = opened(tmp_path)
    assert (value(source, "text"), value(source, "text_2")) == tuple(rows[0].split("|")[1:])
    assert (source.label, task(source)) == (None, "speech recognition")


def test_transcripts_of_equally_many_words_are_no_columns(tmp_path: Path) -> None:
    """As LibriSpeech, whose folders are readers and chapters."""
    said = {}
    for reader, chapter in ((19, 198), (26, 495), (26, 496)):
        home = tmp_path / "train-clean-100" / str(reader) / str(chapter)
        names = [f"{reader}-{chapter}-{i:04}" for i in range(6)]
        for name in names:
            recording(home / f"{name}.wav")
            said[name] = sentence(8).upper()
        lines = [f"{name} {said[name]}" for name in names]
        (home / f"{reader}-{chapter}.trans.txt").write_text("\n".join(lines) + "\n")
    source = opened(tmp_path)
    assert [f.name for f in source.fields] == ["audio", "sample_rate", "text"]
    assert value(source, "text") == said["19-198-0000"]
    assert (source.label, task(source)) == (None, "speech recognition")


def test_columns_of_classes_between_blanks_stay_columns(tmp_path: Path) -> None:
    rows = [
        f"{i}.jpg {('cat', 'dog', 'owl')[i % 3]} {('day', 'night')[i % 2]} {('left', 'right')[i // 2 % 2]}"
        for i in range(40)
    ]
    (tmp_path / "list.txt").write_text("\n".join(rows) + "\n")
    for i in range(40):
        picture(tmp_path / "images" / f"{i}.jpg")
    assert [f.name for f in opened(tmp_path).fields] == ["image", "f1", "f2", "f3"]


def test_what_is_written_in_an_image_has_no_quotes(tmp_path: Path) -> None:
    """As ICDAR's words; classes behind the names of images stay classes."""
    words = ["".join(RNG.choice(list("abcdefghik"), 3 + i % 5)) for i in range(40)]
    for i in range(40):
        picture(tmp_path / "words" / "train" / f"word_{i}.png")
        picture(tmp_path / "signs" / f"{i}.png")
    rows = [f'word_{i}.png, "{word}"' for i, word in enumerate(words)]
    rows[3] = 'word_3.png, "say \\"no\\", please"'
    (tmp_path / "words" / "train" / "gt.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "signs" / "list.txt").write_text("".join(f"{i}.png,{('stop', 'go')[i % 2]}\n" for i in range(40)))
    source = opened(tmp_path / "words")
    assert {value(source, "text", i) for i in range(40)} == {*words[:3], *words[4:], 'say "no", please'}
    assert task(source) == "image to text"
    assert (opened(tmp_path / "signs").label, opened(tmp_path / "signs").classes) == ("f1", ("go", "stop"))


def test_quotes_of_csv_are_no_part_of_a_caption(tmp_path: Path) -> None:
    """Seen: of captions in a text with commas, those that hold a comma kept the quotes around them and doubled ones within."""
    said = ["A dog runs .", 'A girl says "no", twice .', "Two men , one old , wait .", '"Stop" is on a sign .']
    written = [f'"{text.replace(chr(34), chr(34) * 2)}"' if {",", '"'} & {*text} else text for text in said]
    for i in range(4):
        picture(tmp_path / "images" / f"{i}a.png")
    (tmp_path / "captions.txt").write_text(
        "image,caption\n" + "".join(f"{i}a.png,{text}\n" for i, text in enumerate(written))
    )
    source = opened(tmp_path)
    assert [value(source, "caption", i) for i in range(4)] == said


def test_a_caption_longer_than_csv_reads_is_a_text(tmp_path: Path) -> None:
    """Seen: one long caption between quotes ended opening with csv.Error."""
    for i in range(6):
        picture(tmp_path / f"{i}.png")
    long = "word, " * 22_000
    (tmp_path / "captions.txt").write_text("".join(f'{i}.png,"word, {long * (i == 2)}{i}"\n' for i in range(6)))
    source = opened(tmp_path)
    assert [str(value(source, "text", i)).strip('"')[-1] for i in range(6)] == [*"012345"]


def test_remarks_above_rows_are_no_rows(tmp_path: Path) -> None:
    """As the lines of IAM, whose folders are forms."""
    rows = []
    for form in ("a01-000u", "a01-007x", "b02-013"):
        for i in range(6):
            picture(tmp_path / "lines" / form[:3] / form / f"{form}-{i:02}.png")
            rows.append(f"{form}-{i:02} ok {150 + i} 19 {sentence(5).replace(' ', '|')}")
    above = [
        "#--- lines.txt ---#",
        "#",
        "# iam database line information",
        "#",
        "# format: a01-000u-00 ok 154 19 A|MOVE",
        "#",
    ]
    (tmp_path / "ascii").mkdir()
    (tmp_path / "ascii" / "lines.txt").write_text("\n".join([*above, *rows]) + "\n")
    source = opened(tmp_path)
    assert (source.samples, source.label, task(source)) == (18, None, "image to text")
    assert value(source, "text") == rows[0].split(" ", 4)[4]


@pytest.mark.parametrize("how", ["numbered", "with a header", "with a number each"])
def test_several_texts_of_an_image_are_captions(tmp_path: Path, how: str) -> None:
    """As of Flickr8k, in its two forms, and of Flickr30k."""
    rows, name = [], "comment" if "each" in how else "caption"
    for i in range(20):
        picture(tmp_path / "Images" / f"{1000 + 7 * i}.jpg")
        said = [(f"{1000 + 7 * i}.jpg", k, sentence(6)) for k in range(5)]
        form = {"numbered": "{0}#{1}\t{2}", "with a header": "{0},{2}", "with a number each": "{0}| {1}| {2}"}[how]
        rows += [form.format(*one) for one in said]
    header = {"numbered": [], "with a header": ["image,caption"]}.get(how, ["image_name| comment_number| comment"])
    (tmp_path / f"captions.{'csv' if 'each' in how else 'txt'}").write_text("\n".join([*header, *rows]) + "\n")
    source = opened(tmp_path)
    told = value(source, name)
    assert isinstance(told, list) and len(told) == 5
    fields = [{"name": f.name, "kind": f.kind, "dtype": f.dtype, "shape": f.shape} for f in source.fields]
    found = unlabelled(source.modality, fields)
    assert (found.name, found.how) == ("image captioning", f"each image has several texts in field '{name}'")


def test_conversations_about_images(tmp_path: Path) -> None:
    """As of LLaVA, whose rows name an image by its number and by its path."""
    rows = []
    for i in range(12):
        picture(tmp_path / "images" / "coco" / f"{i:012}.jpg")
        turns = [{"from": "human", "value": "<image>\nWhat?"}, {"from": "gpt", "value": sentence(4)}]
        rows.append({"id": f"{i:012}", "image": f"coco/{i:012}.jpg", "conversations": turns})
    (tmp_path / "instruct.json").write_text(json.dumps(rows))
    source = opened(tmp_path)
    assert [f.name for f in source.fields] == ["image", "conversations"]
    assert task(source) == "visual instruction tuning"


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["cat", "dog"] * 20, id="classes"),
        pytest.param([f"patient_{i}" for i in range(40)], id="numbered identifiers"),
        pytest.param([f"{i * 7919:08x}" for i in range(1, 41)], id="hashes"),
        pytest.param([f"crops/{'abcdefgh'[i % 8] * (i + 1)}.png" for i in range(40)], id="paths"),
        pytest.param(list(range(40)), id="numbers"),
        pytest.param(["african elephant", "snow leopard"] * 20, id="classes of two words"),
    ],
)
def test_what_is_no_text(values: list[object]) -> None:
    assert not is_text(values)


def test_words_of_texts_come_again_in_other_columns() -> None:
    assert is_prose([sentence(6).split() for _ in range(30)])
    assert not is_prose([[("cat", "dog")[i % 2], ("day", "night")[i % 2], ("left", "right")[i % 2]] for i in range(30)])
    assert not is_prose([["the", "7", "of"]] * 9)
