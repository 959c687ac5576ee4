"""The same data under names that say nothing: folders, files and, where a format has them, columns."""

from __future__ import annotations

import csv
import json
import random
import shutil
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEXTUAL = {".csv", ".tsv", ".json", ".jsonl", ".txt"}
"""Suffixes of formats without magic bytes: they alone say what the file is."""

Names = dict[str, str]


def renamed(source: Path, target: Path, seed: int, suffixes: tuple[str, ...]) -> Names:
    """Copies the files with these suffixes under random names, folder by folder; gives the columns' new names.

    A suffix is kept where bytes do not say the format; else it is dropped or scrambled.
    """
    rng = random.Random(seed)
    known: Names = {}
    made: list[Path] = []
    files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    for file in files:
        if file.suffix not in suffixes:
            continue
        parts = () if source.is_file() else file.relative_to(source).parent.parts
        folder = target.joinpath(*(known.setdefault(part, word(rng)) for part in parts))
        folder.mkdir(parents=True, exist_ok=True)
        ending = file.suffix if file.suffix in TEXTUAL else rng.choice(["", f".{word(rng)}"])
        made.append(folder / f"{word(rng)}{len(made)}{ending}")
        shutil.copyfile(file, made[-1])
    columns: Names = {}
    for file in made:
        rename = RENAMES.get(suffixes[0])
        if rename is not None:
            rename(file, lambda name: columns.setdefault(name, f"{word(rng)}{len(columns)}"))
    return columns


def word(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_lowercase, k=5)).replace("y", "q")


New = Callable[[str], str]


def csv_columns(file: Path, new: New) -> None:
    with file.open(encoding="utf-8", newline="") as f:
        names, *rows = csv.reader(f)
    with file.open("w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([[new(n) for n in names], *rows])


def jsonl_keys(file: Path, new: New) -> None:
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    lines = [json.dumps({new(k): v for k, v in record.items()}) for record in records]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def json_keys(file: Path, new: New) -> None:
    records = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps([{new(k): v for k, v in r.items()} for r in records]), encoding="utf-8")


def parquet_columns(file: Path, new: New) -> None:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(file).read()
    pq.write_table(table.rename_columns([new(n) for n in table.column_names]), file)


def arrow_columns(file: Path, new: New) -> None:
    import pyarrow as pa

    with pa.ipc.open_stream(file.read_bytes()) as reader:
        table = reader.read_all()
    table = table.rename_columns([new(n) for n in table.column_names]).replace_schema_metadata(None)
    with pa.OSFile(str(file), "wb") as f, pa.ipc.new_stream(f, table.schema) as writer:
        writer.write_table(table)


def npz_keys(file: Path, new: New) -> None:
    import numpy as np

    with np.load(file) as held:
        arrays: dict[str, Any] = {new(name): held[name] for name in held.files}
    with file.open("wb") as f:
        np.savez(f, **arrays)


def pt_keys(file: Path, new: New) -> None:
    import torch

    held = torch.load(file, weights_only=True)
    torch.save({new(k): v for k, v in held.items()}, file)


def safetensors_keys(file: Path, new: New) -> None:
    from safetensors.numpy import load_file, save_file

    save_file({new(k): v for k, v in load_file(file).items()}, file)


def hdf5_keys(file: Path, new: New) -> None:
    import h5py

    with h5py.File(file, "r+") as held:
        for name in list(held):
            held.move(name, new(name))


RENAMES: dict[str, Callable[[Path, New], None]] = {
    ".csv": csv_columns,
    ".jsonl": jsonl_keys,
    ".json": json_keys,
    ".parquet": parquet_columns,
    ".arrow": arrow_columns,
    ".npz": npz_keys,
    ".pt": pt_keys,
    ".safetensors": safetensors_keys,
    ".h5": hdf5_keys,
}
