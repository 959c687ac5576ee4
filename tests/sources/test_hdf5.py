"""HDF5: how its datasets, groups and tables become samples, and what of a file is not read."""

from __future__ import annotations

import os
import pickle
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.hdf5 import RANGE_BYTES, groups_of
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

RNG = np.random.default_rng(3)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def column(source: Source, name: str) -> list[Any]:
    return [v for unit in source.units for v in source.decode(unit, source.read(unit)).columns[name].values]


def test_rows_of_a_large_dataset_are_read_in_ranges_of_whole_chunks(tmp_path: Path) -> None:
    """Our promise: a file of any size is read piece by piece, and no chunk is inflated twice."""
    values = RNG.integers(0, 9, (3000, 4096), dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(70, 4096), compression="lzf")
        file["y"] = np.arange(3000) % 4
    source = opened(tmp_path)
    starts = [unit.start for unit in source.units]
    assert len(starts) > 2
    assert all(start % 70 == 0 for start in starts)
    assert all(unit.samples * 4096 <= RANGE_BYTES for unit in source.units)
    assert (np.stack(column(source, "x")) == values).all()
    assert column(source, "y") == (np.arange(3000) % 4).tolist()


@pytest.mark.parametrize("numbered", [False, True])
def test_rows_with_a_list_of_each_split_are_read_in_ranges_too(tmp_path: Path, numbered: bool) -> None:
    """Seen: a file with ``train_mask`` was one block, of 15 GB where it held 100,000 images."""
    n = 3 * RANGE_BYTES // (8 * 1024)
    at = np.arange(n)
    rows = {"train": at[: n // 2], "test": at[n // 2 + 10 :]}
    masks = {f"{split}_mask": np.isin(at, of) for split, of in rows.items()}
    lists = {f"{split}_idx": of for split, of in rows.items()} if numbered else masks
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, of in ({"x": np.zeros((n, 1024)), "y": at % 3} | lists).items():
            file[name] = of
    source = opened(tmp_path)
    assert len(source.units) > 2
    told = column(source, "split")
    assert told == ["train"] * (n // 2) + [None] * 10 + ["test"] * (n - n // 2 - 10)


def test_texts_rows_of_varying_length_and_tables_are_read(tmp_path: Path) -> None:
    """Our promise: what HDF5 can store beside plain arrays is read as what it is."""
    rows = [np.arange(n, dtype="i4") for n in (2, 5, 3)]
    table = np.array([(1, 0.5, b"a"), (2, 1.5, b"b"), (3, 2.5, b"c")], [("id", "i4"), ("score", "f4"), ("kind", "S1")])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["words"] = ["grüße", "", "second\nline"]
        file["fixed"] = np.array([b"one", b"two", b"six"])
        ragged = file.create_dataset("tokens", (3,), h5py.vlen_dtype("i4"))
        for i, row in enumerate(rows):
            ragged[i] = row
        file["table"] = table
        file["flag"] = np.array([True, False, True])
        file.attrs["note"] = "not a field"
    source = opened(tmp_path)
    kinds = {f.name: (f.dtype, f.shape) for f in source.fields}
    assert kinds == {
        "words": ("str", ()), "fixed": ("str", ()), "tokens": ("int32", (None,)), "flag": ("bool", ()),
        "table.id": ("int32", ()), "table.score": ("float32", ()), "table.kind": ("str", ()),
    }  # fmt: skip
    assert column(source, "words") == ["grüße", "", "second\nline"]
    assert column(source, "fixed") == ["one", "two", "six"]
    assert [v.tolist() for v in column(source, "tokens")] == [r.tolist() for r in rows]
    assert column(source, "table.score") == [0.5, 1.5, 2.5]
    assert column(source, "table.kind") == ["a", "b", "c"]


def test_a_file_per_sample_in_class_folders(tmp_path: Path) -> None:
    """Our promise: files with single values beside arrays are samples, and their folders classes."""
    for i in range(8):
        folder = tmp_path / ("cat", "dog")[i % 2]
        folder.mkdir(exist_ok=True)
        with h5py.File(folder / f"{i}.h5", "w") as file:
            file["image"], file["age"] = RNG.integers(0, 255, (16, 16, 3), np.uint8), i
    source = opened(tmp_path)
    assert (source.samples, source.label, source.modality) == (8, "label", "image")
    assert sorted(column(source, "label")) == ["cat"] * 4 + ["dog"] * 4
    assert sorted(int(np.reshape(v, ())) for v in column(source, "age")) == list(range(8))


def test_a_source_that_is_open_is_read_in_other_processes(tmp_path: Path) -> None:
    """Our promise: workers, forked or spawned, read a file that the main process has open."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=RNG.normal(size=(400, 3)), chunks=(10, 3))
        file["y"] = np.arange(400) % 2
    source = opened(tmp_path)
    expected = np.asarray(column(source, "x"))
    sent = pickle.loads(pickle.dumps(source))  # as a spawned worker gets it: our own object, not a file of data
    assert (np.asarray(column(sent, "x")) == expected).all()
    with get_context("fork").Pool(2) as pool:
        for got in pool.starmap(column, [(source, "x")] * 4):
            assert (np.asarray(got) == expected).all()
    assert (np.asarray(column(source, "x")) == expected).all()


@pytest.mark.parametrize(
    "names",
    [
        ["train/x", "train/y", "val/x", "val/y", "test/x", "test/y"],
        ["a/x", "b/x", "c/x"],
        ["x", "y", "meta/a", "meta/b"],
        [f"layer{i}/{'kernel' if i % 2 else 'bias'}" for i in range(20)],
    ],
)
def test_groups_that_are_no_samples(names: list[str]) -> None:
    """Our promise: splits, a few named groups, and groups with unlike datasets are not taken for samples."""
    assert groups_of(names) is None


@given(n=st.integers(3, 40), leaves=st.sets(st.sampled_from(["x", "y", "obs/image", "obs/state"]), min_size=1))
def test_numbered_groups_are_samples(n: int, leaves: set[str]) -> None:
    """Our promise: each group's datasets are the fields of one sample, however deep they are, and none is lost."""
    names = [f"data/episode_{i}/{leaf}" for i in range(n) for leaf in leaves]
    groups = groups_of(names)
    assert groups is not None and len(groups) == n
    assert all(set(arrays) == leaves for arrays in groups.values())
    assert sorted(key for arrays in groups.values() for key in arrays.values()) == sorted(names)


def test_a_group_per_sample_keeps_its_single_values(tmp_path: Path) -> None:
    """Our promise: a label in each group is read, also where there is one file only."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i in range(10):
            file[f"{i:03}/image"], file[f"{i:03}/label"] = RNG.integers(0, 255, (8, 8, 3), np.uint8), i % 3
    source = opened(tmp_path)
    assert (source.samples, source.label) == (10, "label")
    assert [int(v) for v in column(source, "label")] == [i % 3 for i in range(10)]


def demonstrations(path: Path, n: int = 24) -> list[str]:
    """As of robomimic: a group for each, and lists of their names for each split. Returns those for validation."""
    names = [f"demo_{i}" for i in range(n)]
    held = sorted(RNG.choice(names, n // 4, replace=False).tolist())
    with h5py.File(path, "w") as file:
        for name in names:
            steps = int(RNG.integers(20, 40))
            file[f"data/{name}/actions"] = RNG.normal(size=(steps, 7))
            file[f"data/{name}/obs/robot0_eef_pos"] = RNG.normal(size=(steps, 3))
            file[f"data/{name}/dones"] = np.arange(steps) == steps - 1
        file["mask/train"] = np.array([n for n in names if n not in held], "S8")
        file["mask/valid"] = np.array(held, "S8")
    return held


def test_lists_of_the_names_of_groups_are_splits(tmp_path: Path) -> None:
    held = demonstrations(tmp_path / "low_dim.hdf5")
    source = opened(tmp_path)
    assert source.splits == {"train": 18, "valid": 6} and source.modality == "sequence"
    parts = {unit.at[0].arrays[0][1].split("/")[1]: unit.split for unit in source.units}
    assert sorted(name for name, split in parts.items() if split == "valid") == held
    assert source.problems == []


def test_a_group_in_two_lists_and_a_name_of_none_are_told(tmp_path: Path) -> None:
    held = demonstrations(tmp_path / "low_dim.hdf5")
    with h5py.File(tmp_path / "low_dim.hdf5", "a") as file:
        train = file["mask/train"][:].tolist()
        del file["mask/train"]
        file["mask/train"] = np.array([*train, held[0].encode(), b"demo_99"], "S8")
    told = {(p.code, p.where.get("key")) for p in opened(tmp_path).problems}
    assert told == {("splits-overlap", held[0]), ("dangling-reference", "demo_99")}


def test_splits_beside_the_names_of_classes(tmp_path: Path) -> None:
    """Our promise: what stands outside the splits describes them, and costs no sample."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for split, n in (("train", 80), ("val", 10), ("test", 10)):
            file[f"{split}/images"], file[f"{split}/labels"] = (
                RNG.integers(0, 255, (n, 8, 8), np.uint8),
                np.arange(n) % 2,
            )
        file["class_names"] = ["cat", "dog"]
    source = opened(tmp_path)
    assert source.splits == {"train": 80, "val": 10, "test": 10}
    assert {f.name for f in source.fields} == {"images", "labels"}


def test_groups_of_labelled_rows_are_parts_and_no_samples(tmp_path: Path) -> None:
    """Our promise: five folds of rows are their rows."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i in range(5):
            file[f"fold{i}/x"], file[f"fold{i}/y"] = np.full((20, 3), i), np.arange(20) % 2
    source = opened(tmp_path)
    assert (source.samples, source.label) == (100, "y")
    assert np.stack(column(source, "x"))[:, 0].tolist() == [i for i in range(5) for _ in range(20)]


def test_rows_that_were_never_written_are_no_bomb(tmp_path: Path) -> None:
    """Our promise: masks of which most are empty take next to nothing, and are read."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        masks = file.create_dataset("masks", (20_000, 64, 64), "u1", chunks=(1, 64, 64), compression="gzip")
        masks[5] = 7
        file["y"] = np.arange(20_000) % 2
    source = opened(tmp_path)
    assert not source.problems
    assert {f.name for f in source.fields} == {"masks", "y"}


def test_no_more_is_read_than_may_be_held(tmp_path: Path) -> None:
    """Our promise: a chunk that is larger than the memory allowed is an error with its size, before it is inflated."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.zeros((64, 1000)), chunks=(64, 1000), compression="gzip")
        file["y"] = np.arange(64) % 2
    source = opened(tmp_path)
    source.listing.most_bytes = 100_000  # type: ignore[attr-defined]  # sources of files have one
    with pytest.raises(Unreadable, match="512,000 bytes must be read at once"):
        column(source, "x")


def test_what_cannot_be_read_costs_nothing_else(tmp_path: Path) -> None:
    """Our promise: one object of an odd type is told by its name, and the others are read."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"] = RNG.normal(size=(20, 3)), np.arange(20) % 2
        file.create_dataset("to", (20,), h5py.ref_dtype)
        h5py.h5d.create(file.id, b"when", h5py.h5t.UNIX_D32LE, h5py.h5s.create_simple((20,)))
    unknowns: list[Unknown] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), unknowns)
    assert [p.where["field"] for p in source.problems] == ["when"]
    assert [u.what for u in unknowns] == ["field to"]
    assert {f.name for f in source.fields} == {"x", "y"}


def test_rows_of_varying_length_in_a_file_per_sample(tmp_path: Path) -> None:
    """Our promise: they are told as not read, and the rest is."""
    for i in range(4):
        with h5py.File(tmp_path / f"{i}.h5", "w") as file:
            ragged = file.create_dataset("tracks", (2,), h5py.vlen_dtype("f4"))
            ragged[0], ragged[1] = np.ones(3, "f4"), np.zeros(5 + i, "f4")
            file["age"] = i
    said = scan(tmp_path, tmp_path)
    assert said.error is None
    assert [u for u in said.unknowns if not u.startswith("classes")] == [
        "field tracks: rows of varying length are read where a file has many samples, not here"
    ]


def test_a_file_unlike_the_others_costs_no_other(tmp_path: Path) -> None:
    """Our promise: rows of varying length in one file, which was not looked into on opening, do not end the reading."""
    for i in range(20):
        with h5py.File(tmp_path / f"{i:02}.h5", "w") as file:
            file["age"] = i
            if i == 1:
                file.create_dataset("track", (2,), h5py.vlen_dtype("f4"))[0] = np.ones(3, "f4")
            else:
                file["track"] = np.ones((2, 3), "f4")
    source = opened(tmp_path)
    assert source.samples == 20
    missing = [u.file for u in source.units if "track" not in source.decode(u, source.read(u)).columns]
    assert missing == ["01.h5"]


def test_the_plain_reader_follows_no_link(tmp_path: Path) -> None:
    """Our promise: code that we write and run reads nothing outside the file."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = np.full(4, 42)
    (tmp_path / "data").mkdir()
    with h5py.File(tmp_path / "data" / "a.h5", "w") as file:
        for i in range(4):
            file[f"{i}/x"] = np.arange(4)
        file["9"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/")
        file.create_dataset("4/x", (4,), "u1", external=[(str(tmp_path / "secret.h5"), 0, 4)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain, "DEPTH", 1)
        patch.setattr(plain, "COLUMNS", ["x"])
        assert [s["x"].tolist() for s in plain.read_hdf5(tmp_path / "data" / "a.h5")] == [[0, 1, 2, 3]] * 4


def test_bytes_after_the_end_and_damaged_chunks_are_told(tmp_path: Path) -> None:
    """Our promise: what h5py passes over in silence is told, and a chunk that does not inflate has its dataset named."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=RNG.normal(size=(64, 32)), chunks=(16, 32), compression="gzip")
        file["y"] = np.arange(64) % 2
        place = file["x"].id.get_chunk_info(2)
    whole = (tmp_path / "a.h5").read_bytes()
    (tmp_path / "a.h5").write_bytes(whole + b"more")
    assert "trailing-bytes" in {f.code for f in scan(tmp_path, tmp_path).findings}
    at = place.byte_offset + place.size // 2
    (tmp_path / "a.h5").write_bytes(whole[:at] + bytes([whole[at] ^ 255, whole[at + 1] ^ 255]) + whole[at + 2 :])
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.severity == "error"]
    assert (found.code, found.where[0]["file"]) == ("checksum-mismatch", "a.h5")
    assert "dataset x" in found.message


def test_fields_of_a_split_in_a_file_each(tmp_path: Path) -> None:
    """As PCam's images and labels; rows that one of the files lacks are told."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "big"))
    images, labels = {}, {}
    for split, n in (("train", 40), ("valid", 12)):
        images[split] = rng.integers(0, 256, (n, 16, 16, 3), np.uint8)
        labels[split] = rng.integers(0, 2, (n, 1, 1, 1), np.uint8)
        with h5py.File(tmp_path / f"cells_{split}_x.h5", "w") as file:
            file["x"] = images[split]
        with h5py.File(tmp_path / f"cells_{split}_y.h5", "w") as file:
            file["y"] = labels[split]
    source = opened(tmp_path)
    assert (source.samples, source.label, source.problems) == (52, "y", [])
    for unit in source.units:
        columns = source.decode(unit, source.read(unit)).columns
        lo = unit.start - (0 if unit.split == "train" else 40)
        assert np.array_equal(columns["x"].values, images[str(unit.split)][lo : lo + unit.samples])
        assert columns["y"].values.tolist() == labels[str(unit.split)][lo : lo + unit.samples].reshape(-1).tolist()
    with h5py.File(tmp_path / "cells_train_y.h5", "w") as file:
        file["y"] = labels["train"][:-2]
    source = opened(tmp_path)
    assert [p.code for p in source.problems] == ["length-mismatch"]


def test_a_test_split_without_its_labels(tmp_path: Path) -> None:
    for name, n in (("train_x", 40), ("train_y", 40), ("test_x", 12)):
        with h5py.File(tmp_path / f"cells_{name}.h5", "w") as file:
            file[name[-1]] = RNG.integers(0, 2, (n, 1)) if name.endswith("y") else RNG.random((n, 8))
    source = opened(tmp_path)
    assert (source.samples, source.label, source.withheld) == (52, "y", frozenset({"y"}))
    assert source.problems == []


def test_values_along_an_axis_are_no_label(tmp_path: Path) -> None:
    """Seen: the times of a netCDF file of weather were told as the target of a regression."""
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["t2m"] = np.random.default_rng(1).random((40, 5, 6), np.float32)
        file["time"] = np.arange(40, dtype=np.int32)
        file["time"].make_scale("time")
        file["t2m"].dims[0].attach_scale(file["time"])
    source = opened(tmp_path)
    assert (source.samples, source.label) == (40, None)
    assert {f.name for f in source.fields} == {"t2m", "time"}
