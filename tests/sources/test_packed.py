"""Compressed files of known formats are read as what they hold, at any place, and damage in them is told."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataloader_expert.errors import Unreadable
from dataloader_expert.loaders import create_loader
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources import packed
from dataloader_expert.sources.opened import OpenFile
from dataloader_expert.sources.packed import unpacked_name
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan


def by_zstd(data: bytes) -> bytes:
    held = pa.BufferOutputStream()
    with pa.CompressedOutputStream(held, "zstd") as out:
        out.write(data)
    return bytes(held.getvalue())


PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": by_zstd,
}
ROWS = "x,y,label\n" + "".join(f"{i},{i * i % 97}.5,{'ab'[i % 2]}\n" for i in range(500))


@pytest.mark.parametrize("suffix", PACK)
def test_a_compressed_table_is_the_table(tmp_path: Path, suffix: str) -> None:
    """Our promise: the same samples, and the bytes on disk are those of the compressed file."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "t.csv").write_text(ROWS, encoding="utf-8")
    file = tmp_path / f"t.csv{suffix}"
    file.write_bytes(PACK[suffix](ROWS.encode()))
    source = open_source(SourceRef(str(file), (str(tmp_path),)), [])
    assert (source.format, source.samples, source.label) == ("csv", 500, "label")
    assert source.bytes == file.stat().st_size
    workers = 2 if suffix == ".zst" else 0  # to which any of these goes alike
    one, other = (
        [batch["y"].tolist() for batch in create_loader(str(p), None, batch_size=50, num_workers=n, shuffle=False)]
        for p, n in ((file, workers), (tmp_path / "plain", 0))
    )
    assert one == other


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=5000), suffix=st.sampled_from(sorted(PACK)), at=st.integers(0, 5000), n=st.integers(0, 99)
)
def test_any_part_of_the_content_is_read(data: bytes, suffix: str, at: int, n: int, tmp_path: Path) -> None:
    file = tmp_path / f"some.txt{suffix}"
    file.write_bytes(PACK[suffix](data))
    with OpenFile(file, (str(tmp_path),), unpack=True) as opened:
        assert (opened.size, opened.whole(), opened.upto(at, n)) == (len(data), data, data[at : at + n])
    with OpenFile(file, (str(tmp_path),)) as opened:
        assert opened.whole() == file.read_bytes()


def damaged(data: bytes, how: str) -> bytes:
    held = bytearray(gzip.compress(data))
    if how == "cut":
        return bytes(held[: len(held) // 2])
    held[-6] ^= 1  # of the check sum
    return bytes(held)


@pytest.mark.parametrize(("how", "code"), [("cut", "truncated"), ("flipped", "checksum-mismatch")])
def test_damage_is_told_and_the_others_are_read(tmp_path: Path, how: str, code: str) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    (tmp_path / "b.csv.gz").write_bytes(damaged(ROWS.encode(), how))
    found = {f.code: f.where for f in scan(tmp_path, tmp_path).findings if f.severity == "error"}
    assert found == {code: ({"file": "b.csv.gz"},)}


def test_what_swells_beyond_reason_or_room_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"0" * 10_000_000))
    monkeypatch.setattr(packed, "FREELY", 1_000_000)  # a real bomb takes seconds and a gibibyte
    monkeypatch.setattr(packed, "_SPOOLS", [])  # what other tests read would allow more
    with pytest.raises(Unreadable, match=r"over .* bytes from") as error:
        OpenFile(file, (str(tmp_path),), unpack=True)
    assert error.value.code == "bomb"
    monkeypatch.setattr(packed, "FREELY", 1 << 40)
    # a disk that is nearly full, which no test can make
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=9))
    with pytest.raises(Unreadable, match="leave no room"):
        OpenFile(file, (str(tmp_path),), unpack=True)


def test_only_formats_that_are_not_compressed_themselves() -> None:
    names = {"a.jsonl.gz": "a.jsonl", "a.TAR.GZ": "a.TAR", "a.tgz": "a.tar", "brain.nii.gz": None, "a.parquet.gz": None}
    assert {name: unpacked_name(name) for name in names} == {name: inner or name for name, inner in names.items()}


def test_a_shuffled_pass_decompresses_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: the temporary file serves all reads of a process, and those of the workers that it forks."""
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(ROWS.encode()))
    told = tmp_path / "calls"

    class Counted(gzip.GzipFile):
        """Workers are other processes: each opening is written down, with its process."""

        def __init__(self, **how: Any) -> None:
            with told.open("a", encoding="utf-8") as calls:
                calls.write(f"{os.getpid()} ")
            super().__init__(**how)

    monkeypatch.setattr(gzip, "GzipFile", Counted)
    for _ in create_loader(str(file), None, batch_size=20, num_workers=2):
        pass
    assert told.read_text(encoding="utf-8").split() == [str(os.getpid())]


def test_damaged_files_leave_no_descriptor_open(tmp_path: Path) -> None:
    for i in range(40):
        (tmp_path / f"{i}.csv.gz").write_bytes(damaged(ROWS.encode(), "cut"))
    (tmp_path / "ok.csv").write_text(ROWS, encoding="utf-8")
    before = len([*Path("/proc/self/fd").iterdir()])
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert len(source.problems) == 40
    assert len([*Path("/proc/self/fd").iterdir()]) - before < 5


def test_what_is_there_decompressed_too_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert (source.samples, source.files) == (500, 1)


def test_threads_get_what_they_ask_for(tmp_path: Path) -> None:
    texts = [f"{i} " * 200_000 for i in range(8)]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt.gz").write_bytes(gzip.compress(text.encode()))

    def whole(i: int) -> str:
        with OpenFile(tmp_path / f"{i}.txt.gz", (str(tmp_path),), unpack=True) as opened:
            return opened.whole().decode()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(whole, range(8))) == texts


@pytest.mark.parametrize("name", ["c4-train.00000-of-00002.json.gz", "c4-train.json"])
def test_long_lines_of_json_are_lines_whatever_their_file_is_called(tmp_path: Path, name: str) -> None:
    """Seen: shards of documents whose first line is longer than what told their kind were refused."""
    lines = [json.dumps({"text": f"{i} " + "word " * (200 if name.endswith(".gz") else 20_000)}) for i in range(4)]
    data = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert (source.format, source.samples) == ("jsonl", 4)
