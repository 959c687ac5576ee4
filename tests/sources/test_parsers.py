"""Parsers of our own: what they owe on what they were made for, and on any bytes at all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.dialects import sniff_dialect
from dataloader_expert.sources.json_records import records_of
from dataloader_expert.sources.jsonl import parse_record
from dataloader_expert.sources.magic import kind_of
from dataloader_expert.sources.npy_header import parse_npy
from dataloader_expert.sources.npz import members, open_zip
from dataloader_expert.sources.opened import OpenFile
from dataloader_expert.sources.pictures import decode_image
from dataloader_expert.sources.registry import open_source
from dataloader_expert.sources.safetensors import parse
from dataloader_expert.sources.sounds import decode_audio
from dataloader_expert.sources.tar import walk_tar

TYPED = (Unreadable, RequestError)
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
"""Each example writes its own file over the last one's."""


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def tensors(header: dict[str, Any], payload: int) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(payload)


def wav(frames: int) -> bytes:
    form = b"\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    body = b"WAVEfmt \x10\0\0\0" + form + b"data" + (2 * frames).to_bytes(4, "little") + bytes(2 * frames)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def png() -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(buffer, "PNG")
    return buffer.getvalue()


SOUND = {
    "npy": npy(np.arange(12.0).reshape(3, 4)),
    "npz": npz(x=np.arange(6), y=np.zeros((2, 3))),
    "safetensors": tensors({"x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, 16),
    "json": b'[{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]',
    "jsonl": b'{"a": 1, "b": [1, 2]}',
    "csv": b'a,b\n1,"x"\n2,"y, z"\n',
    "wav": wav(9),
    "png": png(),
}
READERS: dict[str, Callable[[bytes], Any]] = {
    "npy": lambda data: parse_npy(data[:70000], len(data), "f"),
    "npz": lambda data: read_zip(data),
    "safetensors": lambda data: parse(data, len(data), "f"),
    "json": lambda data: records_of(data, "f", []),
    "jsonl": lambda data: parse_record(data, "f", 0, []),
    "csv": lambda data: sniff_dialect(data, ",;\t|", True),
    "wav": lambda data: decode_audio(data, "f.wav"),
    "png": lambda data: decode_image(data, "f.png"),
}


def read_zip(data: bytes) -> None:
    from dataloader_expert.sources.base import Unit
    from dataloader_expert.sources.npz import Npz

    members(open_zip(data, "f"), "f")
    Npz().load(Unit(0, "f", 0, 1, len(data)), data)


def mutated(sound: bytes) -> st.SearchStrategy[bytes]:
    """The sound bytes with a few changed, cut or put in: deeper than noise comes."""

    def change(edits: list[tuple[int, bytes, int]]) -> bytes:
        data = sound
        for at, new, drop in edits:
            at %= len(data) + 1
            data = data[:at] + new + data[at + drop :]
        return data

    return st.lists(
        st.tuples(st.integers(0, len(sound)), st.binary(max_size=4), st.integers(0, 8)), min_size=1, max_size=4
    ).map(change)


@pytest.mark.parametrize("format", READERS)
def test_a_reader_takes_what_is_sound(format: str) -> None:
    """The bytes that the next test damages are read."""
    READERS[format](SOUND[format])


@pytest.mark.parametrize("format", READERS)
@given(data=st.data())
def test_a_reader_raises_nothing_but_its_own_errors(format: str, data: st.DataObject) -> None:
    """Our promise: any bytes give a value or an error that says what is wrong, never another exception."""
    drawn = data.draw(st.one_of(st.binary(max_size=300), mutated(SOUND[format])))
    with contextlib.suppress(*TYPED):
        READERS[format](drawn)


LITERALS = st.recursive(
    st.one_of(st.integers(), st.text(max_size=5), st.booleans(), st.none(), st.floats()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)


@given(
    descr=st.one_of(st.sampled_from(["<f4", "|O", ">i8", "|V8", "<M8[s]"]), LITERALS),
    shape=st.one_of(st.lists(st.integers(-5, 1 << 70), max_size=4).map(tuple), LITERALS),
    order=st.one_of(st.booleans(), LITERALS),
    version=st.integers(0, 4),
)
def test_no_npy_header_is_believed(descr: Any, shape: Any, order: Any, version: int) -> None:
    """Our promise: dtype, shape and order are checked against the bytes; nothing is evaluated."""
    text = repr({"descr": descr, "shape": shape, "fortran_order": order}).encode("latin-1", "replace")
    wide = version >= 2
    head = b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(4 if wide else 2, "little") + text
    try:
        dtype, found, _, at = parse_npy(head, len(head), "f")
    except Unreadable:
        return
    assert at == len(head)
    assert np.dtype(dtype).itemsize * int(np.prod(found, dtype=object)) == 0


@given(
    header=st.dictionaries(
        st.text(max_size=3),
        st.one_of(
            LITERALS,
            st.fixed_dictionaries(
                {
                    "dtype": st.one_of(st.sampled_from(["F32", "BOOL", "Q4"]), LITERALS),
                    "shape": st.one_of(st.lists(st.integers(-3, 9), max_size=3), LITERALS),
                    "data_offsets": st.one_of(st.lists(st.integers(-9, 99), max_size=3), LITERALS),
                }
            ),
        ),
        max_size=3,
    ),
    payload=st.integers(0, 99),
)
def test_no_safetensors_header_is_believed(header: dict[str, Any], payload: int) -> None:
    """Our promise: what is accepted fits the file, tensor by tensor, without gap or overlap."""
    data = tensors(header, payload)
    try:
        found = parse(data, len(data), "f")
    except Unreadable:
        return
    assert sum(t["data_offsets"][1] - t["data_offsets"][0] for t in found.values()) == payload


NAMES = st.text("abcxyz09_-. /", min_size=1, max_size=120).filter(
    lambda n: ".." not in n and not n.startswith("/") and n.strip(" /") == n
)


@one_folder
@given(
    files=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=6),
    format=st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_a_tar_is_walked_as_tarfile_walks_it(tmp_path: Path, files: dict[str, bytes], format: int) -> None:
    """The standard library's own archives: the same names, offsets and sizes, and nothing wrong with them."""
    path = tmp_path / "shard.tar"
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            with contextlib.suppress(ValueError):  # too long a name for ustar
                tar.addfile(info, io.BytesIO(data))
    with tarfile.open(path) as tar:
        expected = [(m.name, m.offset_data, m.size) for m in tar]
    problems: list[Unreadable] = []
    with OpenFile(path, (str(tmp_path),)) as file:
        assert [(m.name, m.start, m.size) for m in walk_tar(file, problems)] == expected
    assert [p.code for p in problems] == ([] if expected else ["empty-file"])


@one_folder
@given(data=st.data())
def test_a_damaged_tar_is_walked_to_an_end(tmp_path: Path, data: st.DataObject) -> None:
    """Our promise: headers that lie are named; members that are given lie inside the file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for i in range(3):
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = 5
            tar.addfile(info, io.BytesIO(b"hello"))
    path = tmp_path / "shard.tar"
    path.write_bytes(data.draw(mutated(buffer.getvalue())))
    with OpenFile(path, (str(tmp_path),)) as file:
        for member in walk_tar(file, []):
            assert 0 <= member.start <= member.start + member.size <= file.size


CELLS = st.text("abc,;|\"' xyz\n", min_size=1, max_size=8).filter(lambda c: c.strip() == c and c.strip('"'))


@one_folder
@given(
    rows=st.lists(st.tuples(st.integers(0, 999), CELLS, st.floats(-9, 9).map(lambda x: round(x, 2))), min_size=3),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    bom=st.booleans(),
)
def test_a_csv_that_was_written_is_read_back(
    tmp_path: Path, rows: list[tuple[int, str, float]], delimiter: str, bom: bool
) -> None:
    """The standard library's writer, any of its usual delimiters, quotes where needed: the same cells come back."""
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as f:
        writer = csv.writer(f, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["number", "words", "part"])
        writer.writerows(rows)
    source = open_source(SourceRef(str(path), (str(tmp_path),), format="csv"), [])
    blocks = [source.decode(u, source.read(u)) for u in source.units]
    assert list(blocks[0].columns) == ["number", "words", "part"]
    got = [
        (int(a), b, float(c))
        for block in blocks
        for a, b, c in zip(*(column.values for column in block.columns.values()), strict=True)
    ]
    assert got == [(a, b, c) for a, b, c in rows]
    assert source.samples == len(rows)


@given(name=st.text(max_size=20), head=st.binary(max_size=512))
def test_any_bytes_have_a_kind_or_none(name: str, head: bytes) -> None:
    """Our promise: sniffing never fails."""
    kind = kind_of(name, head)
    assert kind is None or kind


def test_a_zip_whose_members_overlap_is_refused() -> None:
    """Our promise: one stretch of bytes is inflated once (CVE-2024-0450)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("a.npy", SOUND["npy"])
        z.writestr("b.npy", SOUND["npy"])
        z.filelist[1].header_offset = z.filelist[0].header_offset
        z._didModify = True  # type: ignore[attr-defined]  # the directory is to be written with the lie
    with pytest.raises(Unreadable, match="overlap"):
        members(open_zip(buffer.getvalue(), "f"), "f")
