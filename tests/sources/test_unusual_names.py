"""Files whose names say nothing of what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.magic import kind_of
from dataloader_expert.sources.registry import open_source

POST = (
    "From: bruno@café.edu\nSubject: Re: nothing\n\nThe export of the river was older than the winter road, he said.\n"
)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_texts_are_told_by_what_they_hold(tmp_path: Path, encoding: str) -> None:
    """Our promise: documents called by numbers alone are read, in an encoding of one byte too, and keep their accents."""
    for split in ("train", "test"):
        for topic in ("sci.space", "rec.autos"):
            (tmp_path / f"bydate-{split}" / topic).mkdir(parents=True)
            for i in range(6):
                (tmp_path / f"bydate-{split}" / topic / str(49960 + i)).write_text(f"{i} {POST}", encoding=encoding)
    source = opened(tmp_path)
    assert (source.format, source.splits) == ("text", {"test": 12, "train": 12})
    assert source.classes == ("rec.autos", "sci.space")
    block = source.decode(source.units[0], source.read(source.units[0]))
    assert "bruno@café.edu" in block.columns["text"].values[0]
    assert [p.code for p in block.problems] == ["encoding-error"] * (encoding == "latin-1")


def test_a_damaged_text_is_not_taken_for_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Où est l'été?\n".encode() + b"\xe9\xff\n")
    source = opened(tmp_path / "a.txt")
    assert "été" in source.decode(source.units[0], source.read(source.units[0])).columns["text"].values[0]


def test_numbers_of_shards_behind_a_suffix_are_no_part_of_it(tmp_path: Path) -> None:
    """Our promise: what is not read is called by its name."""
    assert kind_of("train.tfrecord-00000-of-00002", b"\x10\0\0\0") == "TFRecord"
    assert kind_of("part.csv-1-of-2", b"a,b\n1,2\n") == "csv"
    for i in range(2):
        (tmp_path / f"train.tfrecord-{i:05}-of-00002").write_bytes(bytes(range(64)))
    with pytest.raises(RequestError, match="2 TFRecord files"):
        opened(tmp_path)


def test_bytes_of_no_text_stay_unknown() -> None:
    assert kind_of("49960", bytes(range(200, 256)) * 4) is None
    assert kind_of("49960", b"\x01\x02 caf\xe9 of words\n" * 9) is None
