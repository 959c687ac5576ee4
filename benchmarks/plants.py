# mypy: ignore-errors
"""Small sound data sets of many formats, made from a seed, and defects to plant in them one kind at a time.

This shares no code with the injector beside the shared data sets, nor with the builders that tests use. A kind changes
a sound tree and tells what must be found: any of ``codes``, at least as severe as ``severity``, at each of ``places``.
A place is a file, a file and a sample's number, or nothing where a finding is about the whole.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

ROWS = 240
PER_CLASS = 14
RATE = 8000


@dataclass(frozen=True)
class Expected:
    codes: tuple[str, ...]
    severity: str
    places: tuple[tuple[str, ...], ...] = ((),)
    arguments: dict = field(default_factory=dict)


Plant = Callable[["Tree"], Expected]
PLANTS: dict[tuple[str, str], Plant] = {}
"""By format and name."""


@dataclass
class Tree:
    """A sound data set in ``root``; ``rows``, where it is a table that is written at the end."""

    format: str
    root: Path
    rng: random.Random
    outside: Path
    """A folder that the server may not read."""
    rows: list[dict] = field(default_factory=list)
    written: bool = False

    def files(self, pattern: str = "*") -> list[Path]:
        return sorted(p for p in self.root.rglob(pattern) if p.is_file())

    def some(self, n: int = 3, pattern: str = "*") -> list[Path]:
        return sorted(self.rng.sample(self.files(pattern), n))

    def at(self, *paths: Path) -> tuple[tuple[str, ...], ...]:
        return tuple((str(p.relative_to(self.root)),) for p in paths)

    def picked(self, n: int = 3) -> list[int]:
        """Numbers of rows that are no neighbours."""
        return sorted(self.rng.sample(range(0, len(self.rows), 2), n))

    def rows_at(self, numbers: list[int]) -> tuple[tuple[str, ...], ...]:
        return tuple((self.table.name, str(n)) for n in numbers)

    @property
    def table(self) -> Path:
        return self.root / f"t.{self.format}"


def plant(*formats: str) -> Callable[[Plant], Plant]:
    def keep(function: Plant) -> Plant:
        for one in formats:
            PLANTS[one, function.__name__] = function
        return function

    return keep


# sound trees


def picture(rng: random.Random, side: int = 64, grey: bool = False) -> Image.Image:
    """Smooth random shapes with a little noise: alike to none other."""
    own = np.random.default_rng(rng.getrandbits(64))
    rough = own.integers(20, 236, (7, 7, 3), np.uint8)
    smooth = np.asarray(Image.fromarray(rough).resize((side, side), Image.Resampling.BICUBIC), np.int16)
    made = Image.fromarray(np.clip(smooth + own.integers(-12, 13, smooth.shape), 0, 255).astype(np.uint8))
    return made.convert("L") if grey else made


def sound_pictures(tree: Tree) -> None:
    for split, n in (("train", PER_CLASS), ("val", PER_CLASS // 2)):
        for kind in ("fern", "moss", "reed"):
            folder = tree.root / split / kind
            folder.mkdir(parents=True)
            for i in range(n):
                if tree.format == "jpg":
                    picture(tree.rng).save(folder / f"{i:03}.jpg", quality=92)
                else:
                    picture(tree.rng).save(folder / f"{i:03}.png")


def sound_table(tree: Tree) -> None:
    """Numbers, a category, a text and a class; a column names the split."""
    rng = tree.rng
    words = [
        "amber",
        "basil",
        "cedar",
        "delta",
        "ember",
        "fjord",
        "grove",
        "heath",
        "inlet",
        "jetty",
        "knoll",
        "ledge",
        "mesa",
        "north",
        "olive",
        "pine",
    ]
    for i in range(ROWS):
        tree.rows.append(
            {
                "key": f"r{i:05}",
                "split": "train" if i < ROWS * 3 // 4 else "val",
                "width": round(rng.gauss(4.0, 1.0), 4),
                "height": round(rng.gauss(40.0, 9.0), 4),
                "count": rng.randrange(100),
                "note": " ".join(rng.choices(words, k=9)),
                "label": ("ant", "bee", "fly")[i % 3],
            }
        )


def sound_arrays(tree: Tree) -> None:
    for i in range(60):
        own = np.random.default_rng(tree.rng.getrandbits(64))
        x, y = own.normal(0, 1, (12, 5)).astype(np.float32), np.int64(i % 3)
        if tree.format == "npz":
            np.savez_compressed(tree.root / f"{i:03}.npz", x=x, y=y)
        else:
            np.save(tree.root / f"{i:03}.npy", x)


def wave_bytes(samples: np.ndarray, rate: int = RATE) -> bytes:
    data = samples.astype("<i2").tobytes()
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    head = struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def sound_of(rng: random.Random, n: int = RATE) -> np.ndarray:
    own = np.random.default_rng(rng.getrandbits(64))
    t = np.arange(n) / RATE
    tones = sum(
        own.uniform(0.05, 0.2) * np.sin(2 * np.pi * own.uniform(80, 2000) * t + own.uniform(0, 6)) for _ in range(5)
    )
    return (tones + own.normal(0, 0.01, n)) * 12000


def sound_sounds(tree: Tree) -> None:
    for kind in ("low", "high"):
        (tree.root / kind).mkdir()
        for i in range(16):
            (tree.root / kind / f"{i:03}.wav").write_bytes(wave_bytes(sound_of(tree.rng)))


def members(tree: Tree, shard: int) -> list[tuple[str, bytes]]:
    found = []
    for i in range(20):
        image = io.BytesIO()
        picture(tree.rng).save(image, "JPEG", quality=92)
        key = f"s{shard}_{i:03}"
        found += [(f"{key}.jpg", image.getvalue()), (f"{key}.cls", str(i % 3).encode())]
    return found


def write_tar(path: Path, parts: list[tuple[str, bytes]]) -> None:
    with tarfile.open(path, "w") as out:
        for name, data in parts:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))


def sound_shards(tree: Tree) -> None:
    for shard in range(4):
        write_tar(tree.root / f"part-{shard:04}.tar", members(tree, shard))


def read_tar(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as opened:
        return [(m.name, opened.extractfile(m).read()) for m in opened]


TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "arrow")
SOUND = {
    "jpg": sound_pictures,
    "png": sound_pictures,
    **dict.fromkeys(TABLES, sound_table),
    "npz": sound_arrays,
    "npy": sound_arrays,
    "wav": sound_sounds,
    "tar": sound_shards,
}


def write_table(tree: Tree) -> None:
    """The rows in the tree's format; None is an absent value."""
    if tree.written or tree.format not in TABLES:
        return
    names = list(dict.fromkeys(k for row in tree.rows for k in row))
    if tree.format in ("csv", "tsv"):
        with tree.table.open("w", newline="", encoding="utf-8") as file:
            out = csv.DictWriter(file, names, delimiter="," if tree.format == "csv" else "\t")
            out.writeheader()
            out.writerows(tree.rows)
    elif tree.format == "jsonl":
        tree.table.write_text("".join(json.dumps(row) + "\n" for row in tree.rows), encoding="utf-8")
    elif tree.format == "json":
        tree.table.write_text(json.dumps(tree.rows), encoding="utf-8")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        whole = pa.table({name: [row.get(name) for row in tree.rows] for name in names})
        if tree.format == "parquet":
            pq.write_table(whole, tree.table, row_group_size=64)
        else:
            with pa.ipc.new_file(str(tree.table), whole.schema) as out:
                out.write_table(whole, max_chunksize=64)


def made(format: str, name: str | None, root: Path, outside: Path, seed: int) -> Expected | None:
    """A tree in ``root`` with what ``name`` plants; sound for None."""
    tree = Tree(format, root, random.Random(f"{seed}/{format}/{name}"), outside)
    SOUND[format](tree)
    expected = PLANTS[format, name](tree) if name is not None else None
    write_table(tree)
    return expected


# any file

PICTURES, FILES = ("jpg", "png"), ("jpg", "png", "npz", "npy", "wav")


@plant(*FILES, "tar", "parquet", "arrow", "jsonl", "json")
def cut_short(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    paths = tree.some(1 if tree.format in (*TABLES, "tar") else 3)
    least = 0.8 if tree.format in TABLES else 0.3  # some of the later split stays
    for path in paths:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * tree.rng.uniform(least, 0.9))])
    codes = ("truncated", "unreadable", "parse-error", "not-the-format", "header-mismatch", "missing-key")
    return Expected(codes, "error", tree.at(*paths))


@plant(*FILES, "tar")
def emptied(tree: Tree) -> Expected:
    paths = tree.some(1 if tree.format == "tar" else 2)
    for path in paths:
        path.write_bytes(b"")
    return Expected(("empty-file",), "error", tree.at(*paths))


@plant(*FILES, "tar")
def other_content(tree: Tree) -> Expected:
    """Lines of text under the data's suffix."""
    paths = tree.some(1 if tree.format == "tar" else 2)
    for path in paths:
        path.write_text("Lorem ipsum\n" * tree.rng.randint(20, 200))
    return Expected(("not-the-format", "truncated"), "error", tree.at(*paths))  # a short text is a cut block


@plant("jpg", "png", "npz", "npy")  # a sound may well end in silence
def zeroed_tail(tree: Tree) -> Expected:
    """What a crash leaves: the right size, and noughts from some page on."""
    paths = tree.some(2)
    for path in paths:
        data = path.read_bytes()
        keep = len(data) // 3 if tree.format != "npy" else 40  # values of nought are values; the header's are not
        path.write_bytes(data[:keep] + bytes(len(data) - keep))
    return Expected(
        (
            "truncated",
            "unreadable",
            "checksum-mismatch",
            "not-the-format",
            "header-mismatch",
            "parse-error",
            "shape-drift",
        ),
        "error",
        tree.at(*paths),
    )


@plant(*FILES)
def copied_files(tree: Tree) -> Expected:
    """Files again under another name, in the same folder."""
    paths = []
    for path in tree.some(3):
        copy = path.with_name(f"{path.stem}b{path.suffix}")
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("duplicate-files", "duplicate-samples", "label-conflict"), "warning", tree.at(*paths))


@plant(*FILES)
def dangling_link(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    link = path.with_name(f"{path.stem}x{path.suffix}")
    link.symlink_to("nowhere" + path.suffix)
    return Expected(("broken-link",), "warning", tree.at(link))


@plant(*FILES)
def link_out(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    outside = tree.outside / f"outside{path.suffix}"
    outside.parent.mkdir(parents=True, exist_ok=True)
    outside.write_bytes(path.read_bytes())
    link = path.with_name(f"{path.stem}x{path.suffix}")
    link.symlink_to(outside)
    return Expected(("outside-root",), "error", tree.at(link))


@plant(*FILES)
def pipe_among_files(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    pipe = path.with_name(f"{path.stem}p{path.suffix}")
    os.mkfifo(pipe)
    return Expected(("special-file",), "warning", tree.at(pipe))


@plant("jpg", "png", "wav")
def foreign_among_files(tree: Tree) -> Expected:
    path = tree.some(1)[0].with_name("minutes.pdf")
    path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(2000))
    return Expected(("foreign-file", "junk-file"), "info", tree.at(path))


# pictures


@plant(*PICTURES)
def cell_flipped(tree: Tree) -> Expected:
    """Bytes in the midst of the compressed pixels."""
    paths = tree.some(3)
    for path in paths:
        data = bytearray(path.read_bytes())
        for _ in range(40):
            data[tree.rng.randrange(len(data) // 2, len(data) - 16)] ^= 0xA5
        path.write_bytes(data)
    if tree.format == "jpg":  # a JPEG has no checksum: what it decodes to may be anything
        return Expected(("truncated", "unreadable", "trailing-bytes", "flat"), "warning", ())
    return Expected(("truncated", "unreadable", "checksum-mismatch"), "error", tree.at(*paths))


@plant("jpg")
def png_called_jpg(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        picture(tree.rng).save(path, "PNG")
    return Expected(("wrong-extension",), "warning", tree.at(*paths))


@plant(*PICTURES)
def archive_behind_pixels(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        hidden = io.BytesIO()
        with zipfile.ZipFile(hidden, "w") as out:
            out.writestr("a.txt", "x" * 500)
        path.write_bytes(path.read_bytes() + hidden.getvalue())
    return Expected(("trailing-bytes", "executable-payload"), "warning", tree.at(*paths))


@plant(*PICTURES)
def grey_among_colours(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        picture(tree.rng, grey=True).save(path)
    return Expected(("mode-drift", "shape-drift"), "warning", tree.at(*paths))


@plant(*PICTURES)
def one_colour(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        Image.new("RGB", (64, 64), tuple(tree.rng.randrange(60, 200) for _ in range(3))).save(path)
    return Expected(("flat",), "warning", tree.at(*paths))


@plant(*PICTURES)
def black(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    dimmed = np.asarray(picture(tree.rng), np.uint8) // 40
    Image.fromarray(dimmed).save(path)
    return Expected(("dark", "flat"), "info", tree.at(path))


@plant("jpg")
def turned_by_exif(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        exif = Image.Exif()
        exif[0x0112] = tree.rng.choice([3, 6, 8])
        picture(tree.rng).save(path, quality=92, exif=exif)
    return Expected(("rotated-by-exif",), "warning", tree.at(*paths))


@plant(*PICTURES)
def huge_beside_small(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    picture(tree.rng, 640).save(path)
    return Expected(("odd-size",), "info", tree.at(path))


@plant(*PICTURES)
def across_splits(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(3, "train/*/*"):
        copy = tree.root / "val" / path.parent.name / f"c{path.name}"
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("splits-overlap",), "error", tree.at(*paths))


@plant(*PICTURES)
def saved_anew_across_splits(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(3, "train/*/*"):
        copy = tree.root / "val" / path.parent.name / f"c{path.stem}.jpg"
        Image.open(path).convert("RGB").save(copy, quality=tree.rng.randint(60, 85))
        paths.append(copy)
    return Expected(("splits-near-overlap",), "warning", tree.at(*paths))


@plant(*PICTURES)
def one_picture_two_classes(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(2, "train/fern/*"):
        copy = tree.root / "train" / "reed" / f"c{path.name}"
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("label-conflict",), "error", tree.at(*paths))


@plant(*PICTURES)
def class_spelt_twice(tree: Tree) -> Expected:
    twin = tree.root / "train" / "Fern"
    twin.mkdir()
    for i in range(4):
        picture(tree.rng).save(twin / f"t{i}.{tree.format}")
    return Expected(("label-twins",), "warning")


@plant(*PICTURES)
def folder_without_pictures(tree: Tree) -> Expected:
    (tree.root / "train" / "birch").mkdir()
    return Expected(("empty-class",), "warning")


@plant(*PICTURES)
def class_only_in_training(tree: Tree) -> Expected:
    for path in tree.files("val/moss/*"):
        path.unlink()
    (tree.root / "val" / "moss").rmdir()
    return Expected(("class-missing-in-split",), "warning")


@plant(*PICTURES)
def few_of_one_class(tree: Tree) -> Expected:
    for i in range(300):
        picture(tree.rng, 24).resize((64, 64)).save(tree.root / "train" / "fern" / f"n{i}.{tree.format}")
    for path in tree.files("train/reed/*")[4:]:
        path.unlink()
    return Expected(("severe-imbalance",), "warning")


# tables


@plant(*TABLES)
def infinite(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["width"] = tree.rng.choice([math.inf, -math.inf])
    return Expected(("inf",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def absent(tree: Tree) -> Expected:
    numbers = tree.picked(12)
    for n in numbers:
        tree.rows[n]["height"] = None
    return Expected(("missing-values",), "warning", ((tree.table.name,),))


@plant("jsonl", "json", "parquet", "arrow")
def not_a_number(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["width"] = math.nan
    return Expected(("nan",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def placeholder(tree: Tree) -> Expected:
    numbers = tree.picked(10)
    for n in numbers:
        tree.rows[n]["height"] = -999.0
    return Expected(("missing-values", "outliers"), "info", ((tree.table.name,),))


@plant(*TABLES)
def all_the_same(tree: Tree) -> Expected:
    for row in tree.rows:
        row["batch"] = 7
    return Expected(("constant-field",), "warning")


@plant(*TABLES)
def twice_the_other(tree: Tree) -> Expected:
    for row in tree.rows:
        row["width_mm"] = round(row["width"] * 10, 4)
    return Expected(("collinear-fields",), "info")


@plant(*TABLES)
def gives_the_label_away(tree: Tree) -> Expected:
    for row in tree.rows:
        row["grade"] = 10 * ("ant", "bee", "fly").index(row["label"]) + 3
    return Expected(("label-leaked-by-field",), "warning")


@plant(*TABLES)
def rows_again(tree: Tree) -> Expected:
    """Rows repeated under keys of their own, within the training split."""
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 4))):
        tree.rows.insert(ROWS // 2, {**tree.rows[n], "key": f"x{i}"})
    return Expected(("duplicate-samples",), "warning", ((tree.table.name,),))


@plant(*TABLES)
def rows_in_both(tree: Tree) -> Expected:
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 4))):
        tree.rows.append({**tree.rows[n], "key": f"x{i}", "split": "val"})
    return Expected(("splits-overlap",), "error", tree.rows_at(list(range(ROWS, ROWS + 4))))


@plant(*TABLES)
def same_row_other_label(tree: Tree) -> Expected:
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 3))):
        other = {"ant": "bee", "bee": "fly", "fly": "ant"}[tree.rows[n]["label"]]
        tree.rows.insert(ROWS // 2, {**tree.rows[n], "key": f"x{i}", "label": other})
    return Expected(("label-conflict",), "error", ((tree.table.name,),))


@plant(*TABLES)
def label_left_blank(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["label"] = ""
    return Expected(("label-blank",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def label_in_capitals(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["label"] = tree.rows[n]["label"].upper()
    return Expected(("label-twins",), "warning", tree.rows_at(numbers))


@plant(*TABLES)
def patients_in_both(tree: Tree) -> Expected:
    for row in tree.rows:
        row["patient_id"] = f"p{tree.rng.randrange(40):02}"
    return Expected(("group-leakage",), "warning")


@plant(*TABLES)
def later_rows_trained_on(tree: Tree) -> Expected:
    for row in tree.rows:
        row["taken_at"] = f"2024-{tree.rng.randint(1, 12):02}-{tree.rng.randint(1, 28):02}"
    return Expected(("time-leakage",), "warning")


@plant(*TABLES)
def other_unit_in_validation(tree: Tree) -> Expected:
    for row in tree.rows:
        if row["split"] == "val":
            row["height"] = round(row["height"] / 1000, 7)
    return Expected(("preprocessing-differs", "scale-drift", "feature-drift"), "warning")


@plant(*TABLES)
def classes_drift(tree: Tree) -> Expected:
    for row in tree.rows:
        if row["split"] == "val":
            row["label"] = tree.rng.choices(("ant", "bee", "fly"), (8, 1, 1))[0]
    return Expected(("label-drift",), "warning")


@plant(*TABLES)
def far_out(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["height"] = round(4e6 * tree.rng.uniform(1, 2), 2)
    return Expected(("outliers",), "info", tree.rows_at(numbers))


@plant(*TABLES)
def garbled_text(tree: Tree) -> Expected:
    """UTF-8 that was read as Latin-1 and written again."""
    numbers = tree.picked(3)
    for n in numbers:
        tree.rows[n]["note"] = "Größe für Müller … schön".encode().decode("cp1252") + f" {n}"
    return Expected(("suspicious-text", "encoding-error"), "warning", tree.rows_at(numbers))


@plant("jsonl", "json")
def key_left_out(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        del tree.rows[n]["width"]
    return Expected(("missing-key", "missing-values"), "warning", tree.rows_at(numbers))


@plant("jsonl", "json")
def key_too_many(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["_tmp"] = 1
    return Expected(("extra-key",), "info")


@plant("csv", "tsv", "jsonl", "json")
def word_among_numbers(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["width"] = "wide"
    return Expected(("dtype-drift",), "warning", tree.rows_at(numbers))


@plant("csv", "tsv", "jsonl")
def line_broken(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_text(encoding="utf-8").splitlines()
    n = tree.rng.randrange(50, 150)
    lines[n] = lines[n][: len(lines[n]) // 2]
    tree.table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    codes = ("parse-error",) if tree.format == "jsonl" else ("ragged", "parse-error", "truncated")
    return Expected(codes, "warning", ((tree.table.name, str(n if tree.format == "jsonl" else n - 1)),))


@plant("csv", "tsv", "jsonl")
def not_utf8(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    n = tree.rng.randrange(50, 150)
    at = lines[n].rindex(b" ")
    lines[n] = lines[n][:at] + b" \xe9\xff" + lines[n][at + 2 :]
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    return Expected(("encoding-error",), "warning", ((tree.table.name, str(n if tree.format == "jsonl" else n - 1)),))


@plant("csv", "tsv")
def nul_in_a_row(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    numbers = sorted(tree.rng.sample(range(20, 200), 2))
    for n in numbers:
        lines[n] = lines[n].replace(b" ", b"\0", 2)
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    return Expected(("encoding-error", "parse-error"), "warning", tree.rows_at([n - 1 for n in numbers]))


@plant("csv", "tsv", "jsonl")
def latin_in_two_rows(tree: Tree) -> Expected:
    """Two lines in Latin-1 among others in UTF-8."""
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    numbers = sorted(tree.rng.sample(range(20, 200), 2))
    for n in numbers:
        lines[n] = lines[n].replace(b" ", b" \xe9t\xe9 ", 1)
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    header = tree.format != "jsonl"
    return Expected(("encoding-error",), "warning", tree.rows_at([n - header for n in numbers]))


# arrays


def rewrite(tree: Tree, path: Path, **changed: np.ndarray) -> None:
    if tree.format == "npz":
        with np.load(path) as opened:
            held = {name: opened[name] for name in opened.files}
        np.savez_compressed(path, **{k: v for k, v in {**held, **changed}.items() if v is not None})
    else:
        np.save(path, changed["x"])


def values(tree: Tree, path: Path) -> np.ndarray:
    loaded = np.load(path)
    return loaded["x"] if tree.format == "npz" else loaded


@plant("npz", "npy")
def one_nan(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        x = values(tree, path).copy()
        x.flat[tree.rng.randrange(x.size)] = np.nan
        rewrite(tree, path, x=x)
    return Expected(("nan",), "error", tree.at(*paths))


@plant("npz", "npy")
def one_infinity(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        x = values(tree, path).copy()
        x.flat[tree.rng.randrange(x.size)] = -np.inf
        rewrite(tree, path, x=x)
    return Expected(("inf",), "error", tree.at(*paths))


@plant("npz", "npy")
def one_dimension_more(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path)[None])
    return Expected(("shape-drift",), "error", tree.at(path))


@plant("npz", "npy")
def columns_lost(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path)[:, :4])
    return Expected(("shape-drift",), "error", tree.at(path))


@plant("npz", "npy")
def doubles_among_floats(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=values(tree, path).astype(np.float64))
    return Expected(("dtype-drift",), "warning", tree.at(path))


@plant("npz", "npy")
def all_noughts(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=np.zeros_like(values(tree, path)))
    return Expected(("constant-samples",), "warning", tree.at(path))


@plant("npz", "npy")
def times_255(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        rewrite(tree, path, x=values(tree, path) * np.float32(255))
    return Expected(("scale-drift", "outliers"), "info", tree.at(*paths))


@plant("npz", "npy")
def pickled(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, x=np.array([{"a": 1}, None], object))
    return Expected(("executable-payload",), "error", tree.at(path))


@plant("npz")
def label_missing(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, y=None)
    return Expected(("missing-key",), "error", tree.at(path))


@plant("npz")
def array_too_many(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    rewrite(tree, path, debug=np.zeros(3))
    return Expected(("extra-key",), "info")


@plant("npz")
def member_flipped(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as opened:
        info = opened.getinfo("x.npy")
    data[info.header_offset + 60 + info.compress_size // 2] ^= 0xFF
    path.write_bytes(data)
    return Expected(("checksum-mismatch", "unreadable", "truncated"), "error", tree.at(path))


# sounds


@plant("wav")
def nothing_heard(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.zeros(RATE)))
    return Expected(("silent-audio",), "warning", tree.at(path))


@plant("wav")
def too_loud(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.clip(sound_of(tree.rng) * 12, -32768, 32767)))
    return Expected(("clipped-audio",), "warning", tree.at(path))


@plant("wav")
def off_centre(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(sound_of(tree.rng) * 0.5 + 9000))
    return Expected(("dc-offset",), "warning", tree.at(path))


@plant("wav")
def another_rate(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        path.write_bytes(wave_bytes(sound_of(tree.rng), 16000))
    return Expected(("rate-drift",), "warning", tree.at(*paths))


@plant("wav")
def two_channels(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    path.write_bytes(wave_bytes(np.stack([sound_of(tree.rng), sound_of(tree.rng)], 1)))
    return Expected(("channel-drift", "shape-drift"), "warning", tree.at(path))


# shards


@plant("tar")
def member_lost(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    key = parts[2 * tree.rng.randrange(20)][0].partition(".")[0]
    write_tar(path, [p for p in parts if p[0] != f"{key}.cls"])
    return Expected(("missing-key",), "error", ((path.name, key),))


@plant("tar")
def key_twice(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    first = 2 * tree.rng.randrange(5)
    write_tar(path, parts + parts[first : first + 2])
    key = parts[first][0].partition(".")[0]
    return Expected(("duplicate-keys", "duplicate-samples"), "warning", ((path.name, key),))


@plant("tar")
def picture_cut(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    parts = read_tar(path)
    n = 2 * tree.rng.randrange(20)
    parts[n] = (parts[n][0], parts[n][1][: len(parts[n][1]) // 2])
    write_tar(path, parts)
    return Expected(("truncated", "unreadable"), "error", ((path.name, parts[n][0].partition(".")[0]),))


@plant("tar")
def shard_lost(tree: Tree) -> Expected:
    (tree.root / "part-0002.tar").unlink()
    return Expected(("missing-shard",), "warning")


@plant("tar")
def shard_again(tree: Tree) -> Expected:
    (tree.root / "part-0004.tar").write_bytes((tree.root / "part-0001.tar").read_bytes())
    return Expected(("duplicate-files", "duplicate-samples", "duplicate-keys"), "warning", (("part-0004.tar",),))
