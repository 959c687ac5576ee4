"""Arrays in files: which of them are the fields of the samples, and which files are samples themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.facts import Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source
from tests.making.scanning import scan

Arrays = dict[str, Any]
RNG = np.random.default_rng(77)


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder.parent),)), [])


def npz(folder: Path, arrays: Arrays) -> None:
    np.savez(folder / "a.npz", **arrays)


def pt(folder: Path, arrays: Arrays) -> None:
    import torch

    torch.save({name: torch.from_numpy(values) for name, values in arrays.items()}, folder / "a.pt")


def safetensors(folder: Path, arrays: Arrays) -> None:
    from safetensors.numpy import save_file

    save_file(arrays, folder / "a.safetensors")


def npy(folder: Path, arrays: Arrays) -> None:
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def labelled(rows: int, labels: int, name: str = "x") -> Arrays:
    return {name: RNG.normal(size=(rows, 5)).astype("f4"), "y": RNG.integers(0, 3, labels)}


@pytest.mark.parametrize("write", [npz, pt, safetensors, npy])
@pytest.mark.parametrize(("rows", "labels"), [(81, 80), (77, 80), (90, 40)])
def test_arrays_that_lost_rows_are_told(
    tmp_path: Path, write: Callable[[Path, Arrays], None], rows: int, labels: int
) -> None:
    """Our promise: data and labels of unequal length are an error with both lengths, and nothing is judged without the data."""
    write(tmp_path, labelled(rows, labels))
    said = scan(tmp_path, tmp_path)
    assert [f.code for f in said.findings if f.severity in ("error", "warning")] == ["length-mismatch"]
    [told] = [f for f in said.findings if f.code == "length-mismatch"]
    assert f"x has {rows} rows" in told.message
    assert f"y has {labels} rows" in told.message
    source = opened(tmp_path)
    assert ({f.name for f in source.fields}, source.samples) == ({"x", "y"}, min(rows, labels))


@pytest.mark.parametrize("others", [(22, 64), (64, 64), (21, 21, 64, 64)])
def test_coordinates_of_axes_are_no_samples(tmp_path: Path, others: tuple[int, ...]) -> None:
    """Seen: of solutions over time and place, [60, 21, 64], the 22 points in time were the samples, and nothing was said of the rest."""
    coordinates = {f"at_{i}": np.linspace(0, 1, n) for i, n in enumerate(others)}
    npz(tmp_path, {**coordinates, "tensor": RNG.normal(size=(60, 21, 64)).astype("f4")})
    unknowns: list[Unknown] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path.parent),)), unknowns)
    assert ([f.name for f in source.fields], source.samples) == (["tensor"], 60)
    assert {u.what for u in unknowns} == {f"field {name}" for name in coordinates}


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"weights": RNG.random(79)}, {"x", "y", "weights"}),  # nearly as many
        ({"mean": RNG.random(5), "std": RNG.random(5)}, set()),  # of the columns
        ({"class_names": np.array(["a", "b", "c"])}, set()),
        ({"labels": np.array(["a", "b", "c"])}, set()),  # names, and not the label
        ({"edges": np.linspace(0, 1, 81)}, set()),
        ({"vectors": RNG.normal(size=(5000, 8))}, set()),  # a table to look up
    ],
    ids=lambda v: ",".join(v) if isinstance(v, dict) else "",
)
def test_what_describes_the_data_is_no_field(tmp_path: Path, more: Arrays, fields: set[str]) -> None:
    """Our promise: arrays along other axes are no samples that were lost."""
    npz(tmp_path, labelled(80, 80) | more)
    source = opened(tmp_path)
    assert {f.name for f in source.fields} == (fields or {"x", "y"})
    assert [p.code for p in source.problems] == ["length-mismatch"] * bool(fields)


def test_unnamed_data_beside_labels_are_not_dropped(tmp_path: Path) -> None:
    """Our promise: labels alone are never the data set."""
    npz(tmp_path, labelled(70, 50, "spectra"))
    assert {f.name for f in opened(tmp_path).fields} == {"spectra", "y"}


def test_an_image_beside_its_boxes_is_one_sample(tmp_path: Path) -> None:
    """Our promise: arrays that are as long as each other in no file are those of one sample."""
    for i in range(5):
        boxes = RNG.random((2 + i % 3, 4))
        image = RNG.integers(0, 256, (24, 24, 3), np.uint8)
        np.savez(tmp_path / f"{i}.npz", image=image, boxes=boxes, labels=RNG.integers(0, 3, len(boxes)))
    source = opened(tmp_path)
    assert (source.samples, source.problems) == (5, [])


@pytest.mark.parametrize(
    "name",
    ["scan_{0:03}", "{0}", "subject{1}", "image{0}", "r{0:02}{1}"],
)
@pytest.mark.parametrize("shape", [(12, 9), (6, 5, 4)])
def test_files_of_one_shape_are_samples(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    """Our promise: a folder of scans is a sample a file; what is wrong in one is placed there."""
    for i in range(14):
        values = RNG.normal(50, 9, shape)
        if i == 9:
            values[1, 2] = np.nan
        if i == 4:
            values = values[:, :-1]
        np.save(tmp_path / f"{name.format(i, 'abcdefghijklmnop'[i])}.npy", values)
    source = opened(tmp_path)
    assert (source.samples, source.sharding) == (14, "one file per sample")
    said = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    for code, i in (("nan", 9), ("shape-drift", 4)):
        assert said[code].where[0]["file"] == f"{name.format(i, 'abcdefghijklmnop'[i])}.npy"


@pytest.mark.parametrize("names", [("images", "labels"), ("x", "y"), ("age", "height", "weight"), ("left", "right")])
def test_named_columns_stay_side_by_side(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Our promise: files that are named after what they hold are fields of the same rows."""
    for name in names:
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=40))
    source = opened(tmp_path)
    assert ({f.name for f in source.fields}, source.samples) == (set(names), 40)


@pytest.mark.parametrize(
    ("lengths", "name"),
    [((9, 9, 9), "{0}_{1}"), ((9, 4), "{0}{1}"), ((5, 5), "{0}-{1:02}"), ((7, 3, 2), "{0}_train_{1:05}")],
    ids=["three", "of other lengths", "zeros before", "of a split"],
)
def test_numbered_arrays_of_several_fields_are_shards(tmp_path: Path, lengths: tuple[int, ...], name: str) -> None:
    """Our promise: the rows of ``emb_00.npy`` follow on those of no other field, and what is wrong is placed in its own file."""
    vectors = [RNG.normal(size=(n, 6)).astype("f4") for n in lengths]
    labels = [RNG.integers(0, 3, n) for n in lengths]
    vectors[-1][1, 2] = np.nan
    for i, (x, y) in enumerate(zip(vectors, labels, strict=True)):
        np.save(tmp_path / f"{name.format('emb', i)}.npy", x)
        np.save(tmp_path / f"{name.format('labels', i)}.npy", y)
    source = opened(tmp_path)
    assert (source.samples, source.label) == (sum(lengths), "labels")
    assert {f.name for f in source.fields} == {"emb", "labels"}
    blocks = [source.decode(unit, source.read(unit)) for unit in source.units]
    for field, parts in (("emb", vectors), ("labels", labels)):
        read = np.concatenate([block.columns[field].values for block in blocks])
        np.testing.assert_array_equal(read, np.concatenate(parts))
    found = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert found["nan"].where[0]["file"] == f"{name.format('emb', len(lengths) - 1)}.npy"
    assert found["nan"].where[0]["sample"] == sum(lengths[:-1]) + 1


def test_two_numbers_of_one_length_are_fields(tmp_path: Path) -> None:
    """Our promise: two views with their labels are not two shards."""
    for name in ("x1", "x2", "y1", "y2"):
        np.save(tmp_path / f"{name}.npy", RNG.normal(size=(20, 4)) if name[0] == "x" else np.arange(20) % 3)
    source = opened(tmp_path)
    assert (source.samples, len(source.fields)) == (20, 4)


@pytest.mark.parametrize(("write", "rows"), [(npz, 40), (pt, 40)])
def test_one_file_of_molecules_holds_a_sample_a_row(
    write: Callable[[Path, Arrays], None], rows: int, tmp_path: Path
) -> None:
    """Seen: a file of 100,000 positions, forces and energies beside one list of atoms and the molecule's name was one sample."""
    arrays: Arrays = {
        "E": RNG.normal(size=(rows, 1)),
        "R": RNG.normal(size=(rows, 9, 3)),
        "F": RNG.normal(size=(rows, 9, 3)),
    }
    write(tmp_path, arrays | {"z": np.arange(9), "mass": np.array(46.1)})
    source = opened(tmp_path)
    assert source.samples == rows
    assert {f.name: f.shape for f in source.fields} == {"E": (1,), "R": (9, 3), "F": (9, 3)}


def test_one_volume_and_its_mask_stay_one_sample(tmp_path: Path) -> None:
    """Our promise: arrays that have all axes in common say nothing of rows."""
    npz(
        tmp_path,
        {"scan": RNG.normal(size=(12, 16, 20)), "organ": np.ones((12, 16, 20), np.uint8), "spacing": np.array(1.5)},
    )
    assert opened(tmp_path).samples == 1


def test_a_shard_whose_arrays_have_no_length_in_common_is_told_with_their_lengths(tmp_path: Path) -> None:
    """Seen: a shard with four inputs and one label "contains no sample"."""
    for i in range(4):
        np.savez(
            tmp_path / f"train-{i:04d}.npz",
            x=np.random.default_rng(i).normal(size=(4, 8, 5)),
            y=np.arange(1 if i == 2 else 4),
        )
    said = scan(tmp_path, tmp_path.parent)
    [told] = [f for f in said.findings if f.severity == "error"]
    assert (told.code, told.where[0]["file"]) == ("length-mismatch", "train-0002.npz")
    assert "x has 4, y has 1" in told.message


def test_a_pickled_array_where_other_files_have_numbers_is_named_as_such(tmp_path: Path) -> None:
    """Seen: of a file whose data were objects, only that the field is missing was said."""
    for i in range(12):
        x = np.array([{"a": 1}, None], object) if i == 7 else np.full((4, 4), float(i))
        np.savez(tmp_path / f"{i:03d}.npz", x=x, y=np.int64(i % 3))
    said = scan(tmp_path, tmp_path.parent)
    [told] = [f for f in said.findings if f.severity == "error"]
    assert (told.code, told.where[0]["file"]) == ("executable-payload", "007.npz")


@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("write", [npz, pt])
def test_arrays_that_say_which_rows_a_split_has_are_no_samples(
    tmp_path: Path, write: Callable[[Path, Arrays], None], numbered: bool
) -> None:
    """Seen: of a graph with ``train_mask`` and the like, the masks were three splits of truth values, and the nodes were not read."""
    x, y = RNG.normal(size=(60, 8)), RNG.integers(0, 3, 60)
    rows = {"train": np.arange(20), "val": np.arange(20, 35), "test": np.arange(40, 60)}
    mask = {f"{split}_mask": np.isin(np.arange(60), of) for split, of in rows.items()}
    write(tmp_path, {"x": x, "y": y} | ({f"{split}_idx": of for split, of in rows.items()} if numbered else mask))
    source = opened(tmp_path)
    assert source.samples == 60
    assert {f.name for f in source.fields} == {"x", "y", "split"}
    [unit] = source.units
    split = source.decode(unit, source.read(unit)).columns["split"].values
    assert [split.index("val"), split.count("val"), split.count(None)] == [20, 15, 5]


def divided(folder: Path, **arrays: Any) -> Source:
    rng = np.random.default_rng(5)
    npz(folder, {"x": rng.normal(size=(200, 6)), "y": rng.integers(0, 3, 200), **arrays})
    return opened(folder)


def test_rows_in_no_split_are_in_none_that_is_called_so(tmp_path: Path) -> None:
    """Seen: of a citation graph whose masks name few nodes, the others were a split without a name, which lacked a class."""
    at = np.arange(200)
    divided(tmp_path, train_mask=at < 40, test_mask=(at >= 100) & (at < 140))
    told = {f.code: f for f in scan(tmp_path, tmp_path).findings}
    assert told.keys() <= {"missing-values"}
    assert (told["missing-values"].severity, told["missing-values"].count) == ("info", 120)


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (range(120), range(100, 180), "splits-overlap: 20 rows are in train and in test, the first is row 100"),
        (range(1, 121), range(121, 201), "out-of-range-ids: 1 row number lies outside 0 … 199"),
        (range(120), range(120, 180), None),
    ],
)
def test_rows_that_two_splits_have_or_that_are_not_there_are_told(
    tmp_path: Path, first: range, second: range, told: str | None
) -> None:
    """Seen: rows of two splits were in the second, and those beyond the end were in none, without a word."""
    source = divided(tmp_path, train_idx=np.array(first), test_idx=np.array(second))
    assert [f"{p.code}: {p.message}" for p in source.problems] == ([told] if told else [])


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_masks_of_whole_numbers_are_masks(tmp_path: Path, dtype: Any) -> None:
    train = (np.arange(200) % 4 > 0).astype(dtype)
    assert divided(tmp_path, train_mask=train, test_mask=1 - train).samples == 200


def test_ids_of_users_are_no_row_numbers(tmp_path: Path) -> None:
    source = divided(tmp_path, train_ids=np.arange(10_000, 10_100), test_ids=np.arange(10_100, 10_150))
    assert source.field("split") is None
    assert source.splits == {"train": 100, "test": 50}
