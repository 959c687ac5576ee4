"""Readers that use little more than the standard library and numpy: their source goes into checks and loaders that run without
this package.

Each takes a file and yields its samples as dictionaries. They are strict only where that takes no code; the other readers in
this folder detect more. Every function imports what it needs, since it is copied without this module; the names in capitals
are defined above it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dataloader_expert.sources.items import items_of

Sample = dict[str, Any]
ROWS = True
"""Whether files contain many samples, one per row, or a single one."""
COLUMNS: list[str] | None = None
"""The columns to read; None: all."""
TEXTS: tuple[str, ...] = ()
"""Columns whose cells stay text even if they look like numbers."""
DELIMITER = ","
DECIMAL = "."
"""What separates the fractions of numbers."""
NAMES: list[str] | None = None
"""Column names of a table without a header."""
SPACED = False
"""Whether a space follows each delimiter."""
CLOSED = False
"""Whether a semicolon that is no part of the last cell ends each line."""
BEFORE = 0
"""Lines before the header, or before the first row where there is none; blank ones are not counted."""
BESIDE: dict[str, dict[str, str]] = {}
"""Files in the same folder that hold columns of a table, by the table's name and the column."""
ANSWERS: dict[str, list[tuple[str, str | None, dict[str, str]]]] = {}
"""Files in the same folder with more columns of a table's rows, by the table's name: each file's name, the column of both (None: rows
belong together by their order), and what its columns are called."""
OFFSETS: tuple[str, ...] = ()
"""Arrays of offsets: each entry says where a row of the longer arrays begins, and the next where it ends."""
PICKLED: tuple[str, ...] = ()
"""Arrays of objects, which are not loaded: that would execute pickled code."""
NULLS = ("", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "Null", "n/a", "null", "None")
"""Cells that mean a missing value. ``nan`` is not among them: it is counted as NaN."""
CLASS_NAMES: tuple[str, ...] = ()
"""What the numbers of Pascal VOC's classes stand for."""
OF_SEVERAL: tuple[str, ...] = ()
"""Keys of JSON members that other members of a sample have as well: they are written after the member's name."""
KEY_POINTS = 0
"""How many numbers of key points follow each box of YOLO."""
IDS, HEADER, WINDOW = "<u2", 0, 1024
"""The dtype of the ids in files of tokens, the bytes before them, and how many make a sample."""
MEMBERS: tuple[str, ...] = ()
"""Fields that hold objects, whose members are values of their own."""
DEPTH = 0
"""How deep in an HDF5 file the groups are that are a sample each; 0: none are."""
PATHS: tuple[str, ...] = ()
MODULE, NAME = "", ""
CALLS: dict[str, dict[str, Any]] = {}
PUT: str | None = None
"""What a reference to a Dataset names, the arguments of each call by split, and the field in which the split is put if there are several;
defined above the functions that read it."""


def read_image(path: Path) -> Iterator[Sample]:
    from PIL import Image

    with Image.open(path) as image:
        image.load()  # an image that was cut off raises here
        yield {"image": image}


def read_audio(path: Path) -> Iterator[Sample]:
    import wave

    import numpy as np

    try:
        with wave.open(str(path)) as sound:
            frames, width, channels = sound.getnframes(), sound.getsampwidth(), sound.getnchannels()
            data, rate = sound.readframes(frames), sound.getframerate()
    except (wave.Error, EOFError):  # another codec, or a WAV of floats
        import soundfile  # pip install soundfile

        companded = soundfile.info(path).subtype in ("ULAW", "ALAW")  # of telephone calls
        values, rate = soundfile.read(path, dtype="int16" if companded else "float32", always_2d=True)
        yield {"audio": values, "sample_rate": rate}
        return
    if len(data) < frames * width * channels:
        raise ValueError(f"cut off: {len(data)} bytes of {frames * width * channels}")
    if width == 3:
        wide = np.zeros((frames * channels, 4), "u1")
        wide[:, 1:] = np.frombuffer(data, "u1").reshape(-1, 3)
        values = wide.view("<i4")[:, 0] >> 8
    else:
        values = np.frombuffer(data, {1: "u1", 2: "<i2", 4: "<i4"}[width])
    yield {"audio": values.reshape(frames, -1), "sample_rate": rate}


def read_text(path: Path) -> Iterator[Sample]:
    yield {"text": path.read_text(encoding="utf-8-sig")}


def read_lines(path: Path) -> Iterator[Sample]:
    with opened(path) as file:
        yield from ({"text": line.rstrip("\r\n")} for line in file if line.strip(" \t\r\n\x0b\x0c"))


def opened(path: Path) -> Any:
    """A text file, compressed or not; line ends stay as they are."""
    import bz2
    import gzip
    import lzma

    how: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    with how(path, "rb") as file:
        encoding = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return how(path, "rt", encoding=encoding, newline="")


def read_csv(path: Path) -> Iterator[Sample]:
    import csv
    import itertools

    def value(name: str, text: str | None) -> Any:
        if text is None or text in NULLS:
            return None
        for number in (int, float) if name not in TEXTS else ():
            try:
                return number(text.replace(DECIMAL, "."))
            except ValueError:
                continue
        if name not in TEXTS and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return text

    with opened(path) as file:
        mark = DELIMITER if len(DELIMITER) == 1 else "\x1f"
        said = (line.rstrip().removesuffix(";") for line in file) if CLOSED else file
        texts = (" ".join(line.split()) if mark == " " else line.replace(DELIMITER, mark) for line in said)
        lines = (row for row in csv.reader(texts, delimiter=mark, strict=True, skipinitialspace=SPACED) if row)
        rows = itertools.islice(lines, BEFORE, None)
        header = [] if NAMES else next(rows, [])
        # a column without a name is called after its place, the first is the index
        names = NAMES or [name.strip() or (f"f{i}" if i else "index") for i, name in enumerate(header)]
        blank: list[list[str]] = []
        for row in rows:
            if len(row) > len(names):
                raise ValueError(f"a row has more cells than the header: {row[len(names) :]}")
            if not any(row):
                blank.append(row)  # rows below the table hold nothing; within it they count
                continue
            for own in [*blank, row]:
                yield {name: value(name, text) for name, text in itertools.zip_longest(names, own)}
            blank = []


def read_answered(path: Path) -> Iterator[Sample]:
    found: list[tuple[dict[Any, Sample], str | None, dict[str, str]]] = []
    for name, key, called in ANSWERS.get(path.name, ()):
        rows = {i if key is None else row[key]: row for i, row in enumerate(read_csv(path.parent / name))}
        found.append((rows, key, called))
    for i, row in enumerate(read_csv(path)):
        for rows, key, called in found:
            answer = rows.get(i if key is None else row[key], {})
            row.update({own: answer.get(name) for name, own in called.items()})
        yield row


def read_delimited(path: Path) -> Iterator[Sample]:
    import itertools

    def number(text: str) -> Any:
        try:
            return int(text)
        except ValueError:
            return float(text)

    columns: dict[str, list[Any]] = {}
    for name, beside in BESIDE.get(path.name, {}).items():
        with opened(path.parent / beside) as file:
            texts = [line.strip() for line in file if line.strip() and not line.startswith(("#", "%", "|", "//", "!"))]
        try:
            number(texts[0])
        except ValueError:
            del texts[0]  # the column's name
        columns[name] = [number(text) for text in texts]
    for row, *values in itertools.zip_longest(read_csv(path), *columns.values()):
        yield {**row, **dict(zip(columns, values, strict=True))}


def read_jsonl(path: Path) -> Iterator[Sample]:
    import json

    with opened(path) as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def read_json(path: Path) -> Iterator[Sample]:
    import json

    with opened(path) as file:
        held = json.load(file)
    if isinstance(held, dict):
        lists = [v for v in held.values() if isinstance(v, list)]
        held = lists[0] if lists else [{"id": key, **one} for key, one in held.items()]
    yield from flat(held)


def flat(records: list[Sample]) -> list[Sample]:
    """The records; of question answering as in SQuAD the questions within them, each with what is said around it; of Label Studio the
    tasks with what was said of them."""
    if records and all({"data", "annotations"} <= record.keys() for record in records):
        return exported(records)

    def lists(record: Sample) -> set[str]:
        """The keys of lists of objects."""
        return {k for k, v in record.items() if isinstance(v, list) and v and all(isinstance(one, dict) for one in v)}

    inner, level = records, "outer"
    while inner and not any("question" in record for record in inner):
        keys = set().union(*map(lists, inner))
        if len(keys) != 1 or not all(lists(record) or record.get(*keys) == [] for record in inner):
            return records
        [key] = keys
        within = {k for record in inner for one in record[key] for k in one}  # an id of each level
        around = [{f"{level}_{k}" if k in within else k: v for k, v in record.items()} for record in inner]
        inner = [
            {k: v for k, v in outer.items() if k != key} | one
            for outer, record in zip(around, inner, strict=True)
            for one in record[key]
        ]
        level = key
    return inner if inner and all({"id", "question"} <= record.keys() for record in inner) else records


def exported(tasks: list[Sample]) -> list[Sample]:
    """The data of tasks, and by control what the first annotation of each says: a choice, several, or the spans of a text."""
    rows = []
    for task in tasks:
        if not isinstance(task["data"], dict) or not isinstance(task["annotations"], list):
            return tasks
        row = {"id": task.get("id"), **task["data"]}
        for said in [one for first in task["annotations"][:1] for one in first.get("result") or []]:
            name, value = said.get("from_name"), said.get("value") or {}
            kind = said.get("type")
            if kind == "labels":
                span = {
                    "start": value.get("start"),
                    "end": value.get("end"),
                    "label": (value.get("labels") or [None])[0],
                }
                row.setdefault("spans", []).append(span)
            elif kind in value:
                told = value[kind]
                row[name] = told[0] if isinstance(told, list) and len(told) == 1 else told
        rows.append(row)
    return rows


def apart(rows: Iterator[Sample]) -> Iterator[Sample]:
    """The rows, with the members of the objects in MEMBERS as values of their own, such as ``meta.source``."""

    def within(held: Sample, name: str) -> Iterator[tuple[str, Any]]:
        for key, value in held.items():
            if isinstance(value, dict) and value:
                yield from within(value, f"{name}.{key}")
            else:
                yield f"{name}.{key}", value

    for row in rows:
        objects = {name: row.pop(name, None) for name in MEMBERS}
        yield row | dict(pair for name, held in objects.items() if held for pair in within(held, name))


def read_coco(path: Path) -> Iterator[Sample]:
    """An image of COCO: its boxes as left, top, right and bottom, [n, 4], and their categories, or its captions."""
    import json

    import numpy as np

    held = json.loads(path.read_text(encoding="utf-8-sig"))
    of: dict[Any, list[Sample]] = {}
    for one in held["annotations"]:
        of.setdefault(one["image_id"], []).append(one)
    captions = any("caption" in own[0] for own in of.values())
    for image in held["images"]:
        own, row = of.get(image["id"], []), {"file_name": image["file_name"]}
        if captions:
            texts = [str(one.get("caption")) for one in own]
            row["caption"] = texts[0] if texts and all(len(o) == 1 for o in of.values()) else texts
        else:
            boxes = np.array([one["bbox"] for one in own], float).reshape(-1, 4)
            row["boxes"] = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
            row["categories"] = np.array([one["category_id"] for one in own], int)
        yield row


def read_yolo(path: Path) -> Iterator[Sample]:
    """Boxes as left, top, right and bottom in shares of the image, [n, 4], and their classes; none without a file."""
    import numpy as np

    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [np.array(line.split(), float) for line in lines if line.strip()]
    boxes = []
    for row in rows:
        if len(row) > 6 and len(row) % 2 and len(row) != 5 + KEY_POINTS:  # the corners of an outline
            points = row[1:].reshape(-1, 2)
            boxes.append(np.concatenate([points.min(0), points.max(0)]))
        else:
            centre, half = row[1:3], row[3:5] / 2
            boxes.append(np.concatenate([centre - half, centre + half]))
    yield {"boxes": np.array(boxes, float).reshape(-1, 4), "classes": np.array([row[0] for row in rows], int)}


def read_voc(path: Path) -> Iterator[Sample]:
    """Boxes as left, top, right and bottom in pixels, [n, 4], and their classes, as places in CLASS_NAMES."""
    import xml.etree.ElementTree as ElementTree

    import numpy as np

    if not path.exists():
        yield {}
        return
    boxes, classes = [], []
    for one in ElementTree.parse(path).iter("object"):
        sides = [one.findtext(f"bndbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append([float(side or "nan") for side in sides])
        classes.append(CLASS_NAMES.index((one.findtext("name") or "").strip()))
    yield {"boxes": np.array(boxes, float).reshape(-1, 4), "classes": np.array(classes, int)}


def read_labelme(path: Path) -> Iterator[Sample]:
    """The boxes around objects as left, top, right and bottom in pixels, [n, 4], and their classes, as places in CLASS_NAMES."""
    import json

    import numpy as np

    if not path.exists():
        yield {}
        return
    boxes, classes = [], []
    for shape in json.loads(path.read_text(encoding="utf-8"))["shapes"]:
        points = np.array(shape["points"], float)
        if shape.get("shape_type") == "circle" and len(points) == 2:
            radius = np.hypot(*(points[1] - points[0]))
            points = np.array([points[0] - radius, points[0] + radius])
        boxes.append([*points.min(0), *points.max(0)])
        classes.append(CLASS_NAMES.index(shape["label"].strip()))
    yield {"boxes": np.array(boxes, float).reshape(-1, 4), "classes": np.array(classes, int)}


def read_supervisely(path: Path) -> Iterator[Sample]:
    """The boxes around objects as left, top, right and bottom in pixels, [n, 4], and their classes, as places in CLASS_NAMES."""
    import json

    import numpy as np

    if not path.exists():
        yield {}
        return
    boxes, classes = [], []
    for one in json.loads(path.read_text(encoding="utf-8"))["objects"]:
        points = np.array((one.get("points") or {}).get("exterior") or [], float).reshape(-1, 2)
        if len(points):
            boxes.append([*points.min(0), *points.max(0)])
            classes.append(CLASS_NAMES.index(one["classTitle"].strip()))
    yield {"boxes": np.array(boxes, float).reshape(-1, 4), "classes": np.array(classes, int)}


def read_parquet(path: Path) -> Iterator[Sample]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(path).iter_batches(columns=COLUMNS):
        yield from batch.to_pylist()


def read_arrow(path: Path) -> Iterator[Sample]:
    import pyarrow as pa

    try:
        opened = pa.ipc.open_file(str(path))
    except pa.ArrowInvalid:
        opened = pa.ipc.open_stream(str(path))
    table = opened.read_all()
    yield from (table if COLUMNS is None else table.select(COLUMNS)).to_pylist()


def read_npz(path: Path) -> Iterator[Sample]:
    import numpy as np

    with np.load(path, allow_pickle=False) as held:
        names = COLUMNS or [name for name in held.files if name not in PICKLED]
        arrays = {name: held[name] for name in (*names, *OFFSETS)}
    yield from rows_of(arrays)


def read_npy(path: Path) -> Iterator[Sample]:
    import numpy as np

    yield {"data": np.load(path, allow_pickle=False)}


def read_idx(path: Path) -> Iterator[Sample]:
    """Two zeros, the type, the number of axes, their lengths, the values."""
    import gzip

    import numpy as np

    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    shape = np.frombuffer(data, ">u4", data[3], 4)
    dtype = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}[data[2]]
    values = np.frombuffer(data, dtype, offset=4 + shape.nbytes).reshape(shape.astype(int))
    yield {"data": values.astype(values.dtype.newbyteorder("="))}


def read_token_bin(path: Path) -> Iterator[Sample]:
    """Windows of token ids."""
    import numpy as np

    ids = np.memmap(path, IDS, "r", HEADER)
    for start in range(0, len(ids) - WINDOW + 1, WINDOW):
        yield {"tokens": np.array(ids[start : start + WINDOW])}


def read_pt(path: Path) -> Iterator[Sample]:
    import torch

    held = torch.load(path, weights_only=True, map_location="cpu")
    yield from rows_of({name: value.numpy() for name, value in held.items()})


def read_safetensors(path: Path) -> Iterator[Sample]:
    from safetensors.numpy import load_file  # pip install safetensors

    yield from rows_of(load_file(path))


def read_hdf5(path: Path) -> Iterator[Sample]:
    import h5py  # pip install h5py

    def value(held: Any) -> Any:
        return held.asstr()[()] if h5py.check_string_dtype(held.dtype) is not None else held[()]

    with h5py.File(path) as file:
        groups: list[Any] = [file]
        for _ in range(DEPTH):  # links, which may lead out of the file, are not followed
            inner = [(g, name) for g in groups for name in g if isinstance(g.get(name, getlink=True), h5py.HardLink)]
            groups = [g[name] for g, name in inner if isinstance(g[name], h5py.Group)]
        for group in groups:
            held: dict[str, Any] = {}
            group.visititems(lambda name, one, held=held: held.update({name: one} if hasattr(one, "shape") else {}))
            held = {name: one for name, one in held.items() if not (one.is_virtual or one.external)}
            if DEPTH and set(COLUMNS or held) <= set(held):
                yield {name: value(held[name]) for name in COLUMNS or held}
            elif not DEPTH:
                yield from rows_of({name: value(held[name]) for name in COLUMNS or held})


def rows_of(arrays: Sample) -> Iterator[Sample]:
    """One sample per row if files contain many and all arrays are equally long; otherwise the file is one sample."""
    from itertools import pairwise

    for ends in [arrays.pop(name) for name in OFFSETS]:
        rows = {name: array for name, array in arrays.items() if len(array) == len(ends) - 1}
        cut = {name: [a[i:j] for i, j in pairwise(ends)] for name, a in arrays.items() if name not in rows}
        arrays = rows | cut
    long = [array for array in arrays.values() if isinstance(array, list) or getattr(array, "ndim", False)]
    lengths = set(map(len, long))
    if not ROWS or len(lengths) != 1 or len(long) < len(arrays):
        yield arrays
        return
    for i in range(lengths.pop()):
        yield {name: array[i] for name, array in arrays.items()}


def read_webdataset(path: Path) -> Iterator[Sample]:
    for members in members_of(path):
        yield sample_at(path, members)


def members_of(path: Path) -> Iterator[dict[str, tuple[int, int]]]:
    """Offset and size of the members of each sample in a tar file, by what follows the first dot of their names."""
    import tarfile

    with tarfile.open(path, "r:") as archive:
        key, members = None, dict[str, tuple[int, int]]()
        for member in archive:
            folder, _, name = member.name.rpartition("/")
            stem, dot, suffix = name.partition(".")
            if not member.isfile() or not stem or not dot:
                continue
            if (folder, stem) != key and members:
                yield members
                members = {}
            key = (folder, stem)
            members[suffix.lower()] = (member.offset_data, member.size)
        if members:
            yield members


def sample_at(path: Path, members: dict[str, tuple[int, int]]) -> Sample:
    """The sample with these members."""
    sample: Sample = {}
    with path.open("rb") as file:
        for suffix, (start, size) in members.items():
            stem = suffix.rpartition(".")[0]
            twofold = stem and sum(other.rpartition(".")[0] == stem for other in members) > 1  # left.png and left.npy
            name = suffix if twofold else stem or suffix
            file.seek(start)
            value = value_of(suffix.rpartition(".")[2], file.read(size))
            if isinstance(value, dict):
                sample |= {f"{suffix}.{k}" if k in OF_SEVERAL or k in sample else k: v for k, v in value.items()}
            else:
                sample[name] = value
    return sample


def value_of(suffix: str, data: bytes) -> Any:
    """The value of a tar member, by its suffix."""
    import io
    import json

    import numpy as np
    from PIL import Image

    if suffix in ("jpg", "jpeg", "png", "webp", "bmp", "gif", "tif", "tiff"):
        image = Image.open(io.BytesIO(data))
        image.load()
        return image
    if suffix == "npy":
        return np.load(io.BytesIO(data), allow_pickle=False)
    if suffix == "json":
        return json.loads(data)
    if suffix in ("cls", "cls2", "index", "inx", "id"):
        text = data.decode().strip()
        return int(text) if text.lstrip("+-").isdigit() else text
    return data.decode() if suffix in ("txt", "text", "caption", "transcript") else data


def read_dataset(path: Path) -> Iterator[Sample]:
    import importlib
    import sys

    sys.path[:0] = [p for p in PATHS if p not in sys.path]
    named = getattr(importlib.import_module(MODULE), NAME)
    plain_object = not isinstance(named, type) and hasattr(
        named, "__getitem__" if hasattr(named, "__len__") else "__iter__"
    )
    for split, arguments in CALLS.items():
        made = named if plain_object else named(**arguments)
        for key, part in (made if isinstance(made, dict) else {split: made}).items():
            dataset = part.dataset if hasattr(part, "batch_sampler") else part
            for i in range(len(dataset)):
                sample = {n: value.numpy() if hasattr(value, "numpy") else value for n, value in items_of(dataset[i])}
                yield sample if PUT is None else sample | {PUT: key}


READERS: dict[str, tuple[Callable[[Path], Iterator[Sample]], str]] = {
    "image-folder": (read_image, "image"),
    "audio-folder": (read_audio, "audio"),
    "text": (read_text, "text"),
    "lines": (read_lines, "text"),
    "csv": (read_csv, "csv"),
    "tsv": (read_csv, "tsv"),
    "delimited": (read_delimited, "text"),
    "jsonl": (read_jsonl, "jsonl"),
    "json": (read_json, "json"),
    "parquet": (read_parquet, "parquet"),
    "arrow": (read_arrow, "arrow"),
    "hf-disk": (read_arrow, "arrow"),
    "npz": (read_npz, "npz"),
    "npy": (read_npy, "npy"),
    "idx": (read_idx, "idx"),
    "token-bin": (read_token_bin, "token-bin"),
    "pt": (read_pt, "pt"),
    "safetensors": (read_safetensors, "safetensors"),
    "hdf5": (read_hdf5, "HDF5"),
    "webdataset": (read_webdataset, "tar"),
}
"""Readers by format, and the kind of files they read."""
ANNOTATIONS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "csv": read_csv,
    "tsv": read_csv,
    "jsonl": read_jsonl,
    "json": read_json,
    "coco": read_coco,
    "yolo": read_yolo,
    "voc": read_voc,
    "labelme": read_labelme,
    "supervisely": read_supervisely,
}
"""Readers of what tables next to samples, or a file beside each, say of them, by kind."""
