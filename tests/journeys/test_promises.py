"""What SECURITY.md and the readers promise, a row each: sound files are called sound, foreign names and files harmless."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.errors import RequestError
from dataloader_expert.sources.files import list_files
from dataloader_expert.sources.opened import OpenFile
from tests.driving import SERVE, environment, stdio
from tests.making.asking import Asker
from tests.making.failing import reads_fail
from tests.making.scanning import Scanned, scan
from tests.making.tiny import wav

rng = np.random.default_rng(41)


def serious(scanned: Scanned) -> dict[str, str]:
    return {f.code: f.message for f in scanned.findings if f.severity != "info"}


# --- sound data, nothing above an info


def progressive_jpegs_with_white_margins(folder: Path) -> None:
    for i in range(20):
        pixels = np.full((192, 192, 3), 255, np.uint8)
        pixels[64:128, 64:128] = rng.integers(0, 256, (8, 8, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        Image.fromarray(pixels).save(folder / f"{i:02}.jpg", quality=88, progressive=True)


def months_of_two_years(folder: Path) -> None:
    for split, months in {
        "train": ("10/2023", "11/2023", "12/2023"),
        "test": ("01/2024", "02/2024", "03/2024"),
    }.items():
        rows = [f"{rng.normal():.4f},{rng.normal():.4f},{months[i % 3]}" for i in range(30)]
        (folder / f"{split}.csv").write_text("\n".join(["a,b,date", *rows]) + "\n", encoding="utf-8")


def clips_padded_with_zeros(folder: Path) -> None:
    for i in range(12):
        sound = rng.normal(0, 4000, 2000 + 100 * i)
        wav(folder / f"{i}.wav", np.concatenate([sound, np.zeros(8000 - len(sound))]))


def categories_in_arrow(folder: Path) -> None:
    import pyarrow as pa

    words = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, 300), pa.int32()), ["ab", "cd", "ef"])
    table = pa.table({"word": words, "x": rng.normal(size=300), "y": rng.normal(size=300)})
    with pa.OSFile(str(folder / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


SOUND: list[Callable[[Path], None]] = [
    progressive_jpegs_with_white_margins,
    months_of_two_years,
    clips_padded_with_zeros,
    categories_in_arrow,
]


@pytest.mark.parametrize("made", SOUND, ids=lambda made: made.__name__)
def test_sound_data_raise_no_alarm(made: Callable[[Path], None], tmp_path: Path) -> None:
    """Our promise: nothing above an info where nothing is wrong, and every file is read."""
    (tmp_path / "data").mkdir()
    made(tmp_path / "data")
    scanned = scan(tmp_path / "data", tmp_path)
    assert (serious(scanned), scanned.error, scanned.unknowns) == ({}, None, [])


def test_a_missing_label_contradicts_no_other(tmp_path: Path) -> None:
    """Our promise: a conflict takes two labels."""
    rows = [f"text number {i} is here,{'' if i % 7 == 0 else 'ab'[i % 2]}" for i in range(60)]
    rows += [f"text number {i} is here,{'' if i % 2 else 'ab'[i % 2]}" for i in range(1, 20, 2)]
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    assert "label-conflict" not in serious(scan(tmp_path / "a.csv", tmp_path))


def test_a_file_over_two_gibibytes_is_read_whole(tmp_path: Path) -> None:
    """Our promise: the system gives 2 GiB at once and no more; size alone is no bomb."""
    path, size = tmp_path / "big.bin", (2 << 30) + 12345
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size - 3)
        file.write(b"end")
    with OpenFile(path, (str(tmp_path),)) as opened:
        data = opened.exactly(5, size - 5)
    assert (len(data), data[-3:]) == (size - 5, b"end")


def test_a_tensor_file_over_one_gibibyte_is_no_bomb(tmp_path: Path) -> None:
    """Our promise: what a file really holds may be read, however much it is."""
    size = (1 << 30) + (1 << 20)
    header = json.dumps({"x": {"dtype": "U8", "shape": [size >> 20, 1 << 20], "data_offsets": [0, size]}}).encode()
    with (tmp_path / "a.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)
    listing = list_files(str(tmp_path), (str(tmp_path),))
    assert len(listing.read("a.safetensors")) == 8 + len(header) + size


# --- bombs: told as such, at once


def npy_of(shape: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        (folder / "a.npy").write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode())

    return write


def expanded_tensor(folder: Path) -> None:
    import torch

    torch.save({"x": torch.zeros(1).expand(10**9), "y": torch.zeros(8)}, folder / "a.pt")


def nested_lists(folder: Path) -> None:
    """Each list names the one below ten times."""
    import torch

    value: list[Any] = [1] * 10
    for _ in range(9):
        value = [value] * 10
    torch.save({"x": torch.zeros(8), "y": value}, folder / "a.pt")


def arrow_of(make: Callable[[], Any], **options: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import pyarrow as pa

        table = make()
        kind = pa.ipc.IpcWriteOptions(**options)
        with pa.OSFile(str(folder / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema, options=kind) as to:
            to.write_table(table)

    return write


def parquet_of(make: Callable[[], Any], **options: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(make(), folder / "a.parquet", **options)

    return write


def zeros() -> Any:
    import pyarrow as pa

    return pa.table({"x": np.zeros(10_000_000)})


def nulls() -> Any:
    import pyarrow as pa

    return pa.table([pa.nulls((1 << 31) - 1)], names=["x"])


def one_long_category(rows: int = 90_000) -> Any:
    import pyarrow as pa

    codes = pa.array(np.arange(rows) % 2, pa.int32())
    return pa.table({"x": pa.DictionaryArray.from_arrays(codes, ["a" * 1_000_000, "b"]), "y": np.arange(rows)})


def one_long_nested_text() -> Any:
    import pyarrow as pa

    return pa.table({"x": [{"bytes": b"a" * 1_000_000, "path": "x"}] * 300, "y": np.arange(300)})


def deep_json(folder: Path) -> None:
    (folder / "a.json").write_text('[{"a": ' + "[" * 900 + "]" * 900 + "}]", encoding="utf-8")


BOMBS: dict[str, Callable[[Path], None]] = {
    "an axis of 1e18 beside one without length": npy_of("(1000000000000000000, 0)"),
    "one value expanded to 1e9": expanded_tensor,
    "lists that name each other": nested_lists,
    "arrow: zeros compressed": arrow_of(zeros, compression="zstd"),
    "arrow: a null column of 2^31 rows": arrow_of(nulls),
    "arrow: one long text in every row": arrow_of(one_long_category),
    "parquet: zeros compressed": parquet_of(zeros, compression="zstd", use_dictionary=False),
    "parquet: one long text in every row": parquet_of(lambda: one_long_category(6000), store_schema=False),
    "parquet: one long nested text in every row": parquet_of(one_long_nested_text),
    "json: lists in lists": deep_json,
}


@pytest.mark.parametrize("plant", BOMBS.values(), ids=list(BOMBS))
def test_a_bomb_is_told_and_not_lit(plant: Callable[[Path], None], tmp_path: Path) -> None:
    """Our promise: few bytes that claim much are refused by their claim."""
    (tmp_path / "data").mkdir()
    plant(tmp_path / "data")
    scanned = scan(tmp_path / "data", tmp_path)
    assert "bomb" in (scanned.error or "") or "bomb" in serious(scanned), (scanned.error, serious(scanned))


def test_a_member_of_negative_size_ends_the_walk(tmp_path: Path) -> None:
    """Our promise: a header that would lead back is named, the members before it are read."""
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for i in range(4):
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = 5
            tar.addfile(info, io.BytesIO(f"hell{i}".encode()))
    for field in (b"-0000000777\0", b"\xff" * 11 + b"\0"):
        data = bytearray(buffer.getvalue())
        head = data[2048:2560]
        head[124:136], head[148:156] = field, b" " * 8
        data[2048:2560] = head[:148] + b"%06o\0 " % sum(head) + head[156:]
        (tmp_path / "a.tar").write_bytes(data)
        scanned = scan(tmp_path / "a.tar", tmp_path)
        assert "header-mismatch" in serious(scanned)
        assert next(f["value"] for f in scanned.facts if f["quantity"]["name"] == "samples") == 2


def test_links_that_loop_count_no_file_twice(tmp_path: Path) -> None:
    """Our promise: also where a pattern goes through all folders."""
    inside = tmp_path / "data" / "a" / "b"
    inside.mkdir(parents=True)
    for i in range(10):
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(inside / f"{i}.png")
    (inside / "up").symlink_to(tmp_path / "data")
    listing = list_files(f"{tmp_path}/data/**/*.png", (str(tmp_path),))
    assert len(listing.entries) == 10


# --- names


HOSTILE = (
    "line\nbreak",
    "\x1b[31mred\x1b[0m",
    "right\u202eleft",
    "back\\slash",
    "pipe|`tick`",
    os.fsdecode(b"caf\xe9"),
)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Class folders with names that nobody expects, in a folder whose own is not UTF-8."""
    folder = tmp_path_factory.mktemp("named") / os.fsdecode(b"data\xe9")
    for name in HOSTILE:
        (folder / name).mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 256, (8, 8, 3), np.uint8).repeat(8, 0).repeat(8, 1)
            Image.fromarray(pixels).save(folder / name / f"{i}\n.png")
    (folder / HOSTILE[0] / "cut\x1b[2J.png").write_bytes(b"\x89PNG\r\n\x1a\n cut")
    return folder


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a result with its path, keys too; but the rendered page and code, which have lines."""
    if isinstance(value, str) and path.rsplit(".", 1)[-1] not in ("report_markdown", "code"):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.(key)", key
            yield from strings(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, path)


def unprintable(text: str) -> set[str]:
    """What no terminal or page should be given, line breaks aside."""
    return {unicodedata.category(c) for c in text if c != "\n" and not c.isprintable()}


def test_names_are_printable_wherever_they_come_to_stand(named: Path) -> None:
    """Our promise: over the protocol the server answers and lives; keys, messages, places and the page are clean."""
    from mcp import Client

    async def drive() -> list[Any]:
        root = str(named.parent)
        async with Client(stdio(named.parent / "mark", "--root", root)) as client:
            asked = {"source": f"{root}/*/**", "budget_s": 20}
            return [
                (await client.call_tool(tool, {**asked, "detail": detail})).structured_content
                for tool, detail in (
                    ("characterize_dataset", "full"),
                    ("check_quality", "concise"),
                    ("analyze_dataset", "full"),
                )
            ]

    for result in asyncio.run(drive()):
        assert result is not None
        assert [(p, s) for p, s in strings(result) if not s.isprintable()] == []
        assert unprintable(result["report_markdown"]) == set()
        classes = (result.get("characterization") or result).get("classes")
        if classes is not None:
            assert sorted(classes["counts"].values())[-5:] == [6, 6, 6, 6, 7]  # with the file that cannot be read
            assert len(classes["counts"]) == len(HOSTILE)
            table = [r for r in result["report_markdown"].splitlines() if r.startswith("| ") and "| 6 |" in r]
            assert all(r.replace("\\\\", "").replace("\\|", "").count("|") == 4 for r in table if "%" in r)


def test_the_terminal_gets_no_escape_sequence(named: Path) -> None:
    """Our promise: the command prints the folder whose name is not UTF-8, and its classes, without a traceback."""
    command: list[str | bytes] = [*SERVE[:-1], "check", os.fsencode(named), "--root", os.fsencode(named.parent)]
    done = subprocess.run(command, capture_output=True, env=environment(named.parent / "mark"))
    assert done.returncode == 1, done.stderr
    assert b"Traceback" not in done.stderr
    assert unprintable(done.stdout.decode("utf-8")) == set()


# --- references


CODE = """
from functools import lru_cache, partial, wraps
from os import system
from shutil import rmtree
from torch.utils.data import DataLoader, Dataset, TensorDataset
import shutil, torch

class Rows(Dataset):
    def __init__(self, n=8): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        if i >= self.n: raise IndexError(i)
        return {"x": float(i)}

class Plain(Rows): pass

def make(n=8): return Rows(n)

def wrapped(f):
    @wraps(f)
    def inner(*a, **k): return f(*a, **k)
    return inner

decorated = wrapped(make)
cached = lru_cache(make)
part = partial(make, n=12)
loader = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4)
tensors = TensorDataset(torch.arange(8.0))
removing = partial(shutil.rmtree, ignore_errors=True)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "clean.py").write_text(CODE, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["Rows", "Plain", "make", "decorated", "cached", "part", "loader", "tensors"])
def test_what_is_defined_below_a_root_is_measured(asker: Asker, project: Path, name: str) -> None:
    """Our promise: classes, functions, wrappers of them and objects."""
    assert asker.ask("characterize_dataset", f"{project}/clean.py:{name}", str(project)).coverage.samples_read >= 8


@pytest.mark.parametrize("name", ["rmtree", "system", "removing", "shutil", "TensorDataset"])
def test_what_is_only_imported_is_refused(asker: Asker, project: Path, tmp_path: Path, name: str) -> None:
    """Our promise: a request cannot call with its own arguments what a module happens to have imported."""
    (tmp_path / "kept").mkdir()
    arguments = {"path": str(tmp_path / "kept")}
    with pytest.raises(RequestError, match=r"code-refused: .* is only imported"):
        asker.ask("characterize_dataset", f"{project}/clean.py:{name}", str(project), source_args=arguments)
    assert (tmp_path / "kept").is_dir()


def test_a_link_to_code_outside_the_roots_is_no_way_in(asker: Asker, project: Path, tmp_path: Path) -> None:
    """Our promise: links are resolved."""
    (tmp_path / "link.py").symlink_to(project / "clean.py")
    with pytest.raises(RequestError, match="outside-roots"):
        asker.ask("characterize_dataset", f"{tmp_path}/link.py:Rows", str(tmp_path))


# --- errors that name their cause


def giant_field(folder: Path) -> Path:
    (folder / "a.csv").write_text('a,b\n1,"' + "x" * 400_000 + '"\n', encoding="utf-8")
    return folder / "a.csv"


def number_for_a_name(folder: Path) -> Path:
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / "x.png")
    (folder / "state.json").write_text('{"_data_files": [{"filename": 5}]}', encoding="utf-8")
    categories_in_arrow(folder)
    return folder


def named_like_a_reference(folder: Path) -> Path:
    data = folder / "exp:run1"
    data.mkdir()
    months_of_two_years(data)
    return data


REQUESTS: dict[str, tuple[Callable[[Path], Any], str | None]] = {
    "300 characters": (lambda folder: f"{folder}/{'x' * 300}", "source-not-found"),
    "a NUL": (lambda folder: f"{folder}/a\0b", "source-not-found"),
    "half a character": (lambda folder: f"{folder}/\ud800", "source-not-found"),
    "the home of nobody": (lambda folder: "~nosuchuser/data", "source-not-found"),
    "the home of nobody's code": (lambda folder: "~nosuchuser/data.py:Rows", "source-not-found"),
    "a folder like a reference": (named_like_a_reference, None),
    "a cell of 400,000 characters": (giant_field, None),
    "a file name that is a number": (number_for_a_name, "format-unknown"),
    "a pattern outside the roots": (lambda folder: "/etc/*.conf", "outside-roots"),
}


@pytest.mark.parametrize(("given", "code"), REQUESTS.values(), ids=list(REQUESTS))
def test_a_request_ends_with_the_contracts_code(
    asker: Asker, tmp_path: Path, given: Callable[[Path], Any], code: str | None
) -> None:
    """The contract: whatever is named, an answer or one of its codes with a cause, never a status or a traceback."""
    try:
        report = asker.ask("check_quality", str(given(tmp_path)), str(tmp_path))
    except RequestError as e:
        assert (e.code, "no message" in e.message, "status" in e.message) == (code, False, False), e
    else:
        assert code is None
        assert report.coverage.samples_read > 0


def test_a_python_file_outside_the_roots_is_not_looked_into(asker: Asker, tmp_path: Path) -> None:
    """Our promise: neither parsed nor listed; and a pipe called so is not waited for."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.py").write_text("class Secret: pass\n", encoding="utf-8")
    os.mkfifo(tmp_path / "in" / "pipe.py")
    (tmp_path / "in" / "deep.py").write_text("class Rows: pass\nx = " + "(" * 5000 + ")" * 5000, encoding="utf-8")
    for name, pattern in (
        ("secret.py", "outside-roots(?!.*Secret)"),
        ("in/pipe.py", "invalid-argument"),
        ("in/deep.py", "invalid-argument.*Rows"),
    ):
        with pytest.raises(RequestError, match=pattern):
            asker.ask("characterize_dataset", str(tmp_path / name), str(tmp_path / "in"))


@pytest.mark.parametrize("why", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
def test_a_file_that_the_drive_fails_to_read_is_that_files_finding(tmp_path: Path, why: int) -> None:
    """Our promise: the others are read, and the file is named with the system's word."""
    data = tmp_path / "data"
    data.mkdir()
    for i in range(6):
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(data / f"{i}.png")
    size = (data / "3.png").stat().st_size
    assert [p.name for p in data.iterdir() if p.stat().st_size == size] == ["3.png"] or size
    for i in (0, 1, 2, 4, 5):  # no other file is as long
        with (data / f"{i}.png").open("ab") as file:
            file.write(bytes(1 + i))
    command = [*SERVE[:-1], "check", str(data), "--root", str(tmp_path), "--json", "--detail", "full"]
    done = subprocess.run(
        command, capture_output=True, env=environment(tmp_path / "mark"), preexec_fn=reads_fail(size, why)
    )
    told = json.loads(done.stdout)
    found = next(f for f in told["findings"] if f["code"] == "unreadable")
    assert (found["count"], found["where"][0]["file"]) == (1, "3.png")
    assert os.strerror(why) in found["message"]
    assert told["coverage"]["samples_read"] == 5


def test_a_flag_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    """Our promise: ``--budget 1`` is not an unbounded run."""
    done = subprocess.run([*SERVE[:-1], "check", str(tmp_path), "--budget", "1"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--budget" in done.stderr


def test_a_relative_interpreter_is_found_from_where_the_user_stands(tmp_path: Path, project: Path) -> None:
    """Our promise: hosts start in another folder, and find it."""
    (tmp_path / "there").symlink_to(sys.prefix)
    for python, status in (("there/bin/python", 0), ("there/bin/nothing", 2)):
        command = [*SERVE[:-1], "characterize", f"{project}/clean.py:Rows", "--python", python, "--budget-s", "10"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(tmp_path / "mark"))
        assert done.returncode == status, done.stderr
    assert done.stderr.startswith("import-failed")
