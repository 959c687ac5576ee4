"""Faults to plant in sound data sets, each with the code by which it is to be found."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.making.sound import SPLITS, tensors

HTML = b"<!DOCTYPE html>\n<html><body><h1>403 Forbidden</h1></body></html>\n"


class Canary:
    """Unpickled, it creates a file: whoever does so is found out."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return open, (self.path, "w")


@dataclass(frozen=True)
class Fault:
    """``format`` is a key of ``sound.SOUND``; ``plant`` damages the folder; a canary would lie at ``CANARY``."""

    format: str
    code: str
    plant: Callable[[Path], None]


CANARY = "canary"


def first(folder: Path) -> Path:
    return min(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".json")


def cut(folder: Path) -> None:
    path = first(folder)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def emptied(folder: Path) -> None:
    first(folder).write_bytes(b"")


def page(folder: Path) -> None:
    first(folder).write_bytes(HTML)


def flipped(folder: Path) -> None:
    """One byte of the first array's stored values."""
    path = first(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def across(folder: Path) -> None:
    shutil.copy(next((folder / "train").rglob("*.*")), folder / "test" / "cat" / f"again{first(folder).suffix}")


def twice(folder: Path) -> None:
    path = first(folder)
    shutil.copy(path, path.with_name(f"again{path.suffix}"))


def two_labels(folder: Path) -> None:
    shutil.copy(first(folder / "train" / "cat"), folder / "train" / "dog" / f"again{first(folder).suffix}")


def link_out(folder: Path) -> None:
    (first(folder).parent / "link.jpg").symlink_to("/etc/hostname")


def link_nowhere(folder: Path) -> None:
    (first(folder).parent / "link.jpg").symlink_to("nowhere.jpg")


def pipe(folder: Path) -> None:
    os.mkfifo(first(folder).parent / "pipe.jpg")


def empty_class(folder: Path) -> None:
    (folder / "train" / "yak").mkdir()


def changed(key: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """One array of the first NPZ is changed."""

    def plant(folder: Path) -> None:
        path = first(folder)
        with np.load(path) as held:
            arrays = dict(held)
        arrays[key] = change(arrays[key].copy())
        np.savez(path, **arrays)

    return plant


def put(value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[2, 1, 1] = value
        return array

    return change


def objects(folder: Path) -> None:
    path = first(folder)
    np.save(path, np.array([Canary(folder.parent / CANARY)], object), allow_pickle=True)


def pickled(folder: Path) -> None:
    first(folder).write_bytes(pickle.dumps({"x": Canary(folder.parent / CANARY)}, protocol=2))


def torch_pickled(folder: Path) -> None:
    import torch

    torch.save({"x": Canary(folder.parent / CANARY)}, first(folder))


def line(number: int, change: Callable[[str], str]) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        lines = first(folder).read_text(encoding="utf-8").split("\n")
        lines[number] = change(lines[number])
        first(folder).write_text("\n".join(lines), encoding="utf-8")

    return plant


def key_twice(text: str) -> str:
    return text.replace("{", '{"label": "cat", ', 1)


def key_absent(text: str) -> str:
    record = json.loads(text)
    del record["text"]
    return json.dumps(record)


def overlapping(folder: Path) -> None:
    path = first(folder)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    lo, hi = header["y"]["data_offsets"]
    header["y"]["data_offsets"] = [lo + 8, hi + 8]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def zeroed_header(folder: Path) -> None:
    path = first(folder)
    data = bytearray(path.read_bytes())
    at = data.rfind(b"ustar", 0, len(data) // 2) - 257
    data[at : at + 512] = bytes(512)
    path.write_bytes(data)


def column_gone(folder: Path) -> None:
    import pyarrow.parquet as pq

    last = max(folder.glob("*.parquet"))
    pq.write_table(pq.ParquetFile(last).read().drop_columns(["mass"]), last)


def label_beyond(folder: Path) -> None:
    from safetensors.numpy import save_file

    (folder / "classes.txt").write_text("cat\ndog\nowl\n", encoding="utf-8")
    save_file({**tensors("test"), "y": np.full(SPLITS["test"], 7)}, folder / "test.safetensors")


def in_hdf5(change: Callable[[Any], None]) -> Callable[[Path], None]:
    def plant(folder: Path) -> None:
        import h5py

        with h5py.File(folder / "test.h5", "r+") as file:
            change(file)

    return plant


def link_outside(file: Any) -> None:
    import h5py

    file["more"] = h5py.ExternalLink("/etc/hosts", "/")


def link_to_itself(file: Any) -> None:
    import h5py

    file["again"] = h5py.SoftLink("/")


def stored_elsewhere(file: Any) -> None:
    file.create_dataset("z", (SPLITS["test"], 8), "u1", external=[("/etc/hosts", 0, 8 * SPLITS["test"])])


def assembled(file: Any) -> None:
    import h5py

    layout = h5py.VirtualLayout((SPLITS["test"], 8), "u1")
    layout[:] = h5py.VirtualSource("/etc/hosts", "x", (SPLITS["test"], 8))
    file.create_virtual_dataset("z", layout)


def unstored(file: Any) -> None:
    file.create_dataset("huge", (10**9, 1000), "f8", chunks=(1000, 1000), fillvalue=1.0)


FAULTS: dict[str, Fault] = {
    "jpeg cut": Fault("image_folder", "truncated", cut),
    "jpeg of 0 bytes": Fault("image_folder", "empty-file", emptied),
    "page instead of jpeg": Fault("image_folder", "not-the-format", page),
    "jpeg in two splits": Fault("image_folder", "splits-overlap", across),
    "jpeg twice": Fault("image_folder", "duplicate-files", twice),
    "jpeg in two classes": Fault("image_folder", "label-conflict", two_labels),
    "link out of the root": Fault("image_folder", "outside-root", link_out),
    "link to nowhere": Fault("image_folder", "broken-link", link_nowhere),
    "pipe among images": Fault("image_folder", "special-file", pipe),
    "class without images": Fault("image_folder", "empty-class", empty_class),
    "wav cut": Fault("wav", "truncated", cut),
    "wav in two splits": Fault("wav", "splits-overlap", across),
    "npy cut": Fault("npy", "truncated", cut),
    "npy with objects": Fault("npy", "executable-payload", objects),
    "npz with NaN": Fault("npz", "nan", changed("x", put(np.nan))),
    "npz with infinity": Fault("npz", "inf", changed("x", put(np.inf))),
    "npz with fewer labels": Fault("npz", "length-mismatch", changed("y", lambda y: y[:-2])),
    "npz cut": Fault("npz", "truncated", cut),
    "npz with a flipped byte": Fault("npz", "checksum-mismatch", flipped),
    "jsonl line cut": Fault("jsonl", "parse-error", line(4, lambda text: text[:-9])),
    "jsonl key twice": Fault("jsonl", "duplicate-keys", line(4, key_twice)),
    "jsonl key absent": Fault("jsonl", "missing-values", line(4, key_absent)),
    "csv with a field more": Fault("csv", "parse-error", line(4, lambda text: text + ",more")),
    "csv with text among numbers": Fault("csv", "dtype-drift", line(4, lambda text: "about " + text)),
    "parquet cut": Fault("parquet", "truncated", cut),
    "parquet without a column": Fault("parquet", "missing-key", column_gone),
    "tar cut": Fault("tar", "truncated", cut),
    "tar with a zeroed header": Fault("tar", "truncated", zeroed_header),
    "safetensors overlapping": Fault("safetensors", "header-mismatch", overlapping),
    "safetensors label beyond the classes": Fault("safetensors", "label-out-of-range", label_beyond),
    "hdf5 cut": Fault("h5", "truncated", cut),
    "hdf5 with a link out of the root": Fault("h5", "outside-root", in_hdf5(link_outside)),
    "hdf5 with a group in itself": Fault("h5", "broken-link", in_hdf5(link_to_itself)),
    "hdf5 with values in another file": Fault("h5", "outside-root", in_hdf5(stored_elsewhere)),
    "hdf5 made of another file": Fault("h5", "outside-root", in_hdf5(assembled)),
    "hdf5 of 8 TB": Fault("h5", "bomb", in_hdf5(unstored)),
    "feather cut": Fault("feather", "truncated", cut),
    "pt cut": Fault("pt", "truncated", cut),
    "pt that runs code": Fault("pt", "executable-payload", torch_pickled),
    "pickle instead of pt": Fault("pt", "executable-payload", pickled),
}
