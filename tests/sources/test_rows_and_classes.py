"""Files of many samples: what in them is a row of each sample, and what their names and folders say of the class."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import h5py
import numpy as np

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.handing_over import unread
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source

RNG = np.random.default_rng(5)


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path),)), [])


def column(source: Source, name: str) -> list[object]:
    values: list[object] = []
    for unit in source.units:
        found = source.decode(unit, source.read(unit)).columns[name].values
        values += found.tolist() if hasattr(found, "tolist") else list(found)
    return values


def test_names_of_channels_and_a_rate_beside_labelled_rows_are_no_samples(tmp_path: Path) -> None:
    for subject in range(1, 5):
        rows, labels = RNG.normal(size=(20, 8, 16)).astype("f4"), RNG.integers(0, 2, 20)
        names = np.array([f"C{i}" for i in range(8)])
        np.savez(tmp_path / f"sub-{subject:02d}.npz", X=rows, y=labels, ch_names=names, sfreq=250.0)
    source = opened(tmp_path)
    assert (source.samples, source.label, [f.name for f in source.fields]) == (80, "y", ["X", "y"])


def test_files_with_one_label_each_stay_samples(tmp_path: Path) -> None:
    for i in range(6):
        picture = RNG.integers(0, 255, (16, 16, 3)).astype("u1")
        np.savez(tmp_path / f"{i}.npz", image=picture, mask=picture[..., 0] > 9, label=i % 2)
    source = opened(tmp_path)
    assert (source.samples, source.label) == (6, "label")


def _drawings(folder: Path, **lengths: int) -> None:
    for name, n in lengths.items():
        np.save(folder / f"{name}.npy", RNG.integers(0, 255, (n, 784)).astype("u1"))


def test_pictures_in_a_file_for_each_class(tmp_path: Path) -> None:
    _drawings(tmp_path, cat=30, dog=20, airplane=20)
    source = opened(tmp_path)
    assert (source.samples, source.label, source.classes) == (70, "label", ("airplane", "cat", "dog"))
    assert Counter(column(source, "label")) == {"cat": 30, "dog": 20, "airplane": 20}
    assert column(source, "data")[20] == np.load(tmp_path / "cat.npy")[0].tolist()
    assert unread(source) is not None


def test_several_pictures_of_a_sample_stay_its_fields(tmp_path: Path) -> None:
    _drawings(tmp_path, left=20, right=20, depth=20)
    source = opened(tmp_path)
    assert (source.samples, len(source.fields)) == (20, 3)


def test_of_two_files_of_equal_pictures_it_is_said_that_they_may_be_classes(tmp_path: Path) -> None:
    _drawings(tmp_path, cat=20, dog=20)
    unknowns: list[object] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), unknowns)  # type: ignore[arg-type]  # of unknowns
    assert (source.samples, len(source.fields)) == (20, 2)
    assert "one class each or one field each" in str(unknowns)


def _recordings(folder: Path, *classes: str, called: str = "{kind}_{i:02d}") -> None:
    for kind in classes:
        (folder / kind).mkdir(parents=True)
        for i in range(4):
            rows = "".join(f"{t / 50:.2f},{RNG.normal():.4f}\n" for t in range(30))
            (folder / kind / f"{called.format(kind=kind, i=i)}.csv").write_text("time,acc\n" + rows)


def test_a_recording_each_in_folders_of_classes(tmp_path: Path) -> None:
    _recordings(tmp_path, "running", "sitting")
    source = opened(tmp_path)
    assert (source.samples, source.label, source.label_how) == (240, "label", "from the folder names")
    assert Counter(column(source, "label")) == {"running": 120, "sitting": 120}
    assert source.roles is not None and source.roles.group is not None and source.roles.group.field == "file name"
    source.read_only(["acc"])
    unit = source.units[0]
    assert list(source.decode(unit, source.read(unit)).columns) == ["acc"]


def test_folders_that_are_years_machines_or_kinds_of_tables_are_no_classes(tmp_path: Path) -> None:
    for names in (("2019", "2020"), ("machine_1", "machine_2"), ("year=2019", "year=2020")):
        _recordings(tmp_path / names[0], *names)
        assert opened(tmp_path / names[0]).label is None
    for kind in ("raw", "mapping"):
        (tmp_path / "parts" / kind).mkdir(parents=True)
        for name in ("nodes", "edges"):
            (tmp_path / "parts" / kind / f"{name}.csv").write_text("time,acc\n" + "0.1,0.2\n0.4,0.3\n" * 20)
    assert opened(tmp_path / "parts").label is None


def test_a_column_that_is_the_label_says_more_than_folders(tmp_path: Path) -> None:
    for site in ("north", "south"):
        (tmp_path / site).mkdir()
        for i in range(3):
            rows = "".join(f"{RNG.normal():.4f},{'ab'[t % 2]}\n" for t in range(30))
            (tmp_path / site / f"day{i}.csv").write_text("x,label\n" + rows)
    source = opened(tmp_path)
    assert set(column(source, "label")) == {"a", "b"}


def test_a_sparse_matrix_by_rows_has_its_values_for_each_sample(tmp_path: Path) -> None:
    counts = RNG.integers(0, 5, 40)
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file["X/indptr"] = np.concatenate([[0], np.cumsum(counts)]).astype("i4")
        file["X/indices"] = RNG.integers(0, 12, counts.sum()).astype("i4")
        file["X/data"] = RNG.random(counts.sum()).astype("f4")
        file["obs/n_genes"] = counts
        file["var/length"] = np.arange(12)
    source = opened(tmp_path)
    assert (source.samples, source.modality, source.problems) == (40, "sequence", [])
    assert [len(values) for values in column(source, "X/data")] == counts.tolist()  # type: ignore[arg-type]  # arrays
    assert "var/length" not in {field.name for field in source.fields}


def test_the_first_of_codes_that_are_alike_is_no_header(tmp_path: Path) -> None:
    codes = [f"{''.join(RNG.choice(list('ACGT'), 8))}{i:04d}-1" for i in range(30)]
    (tmp_path / "barcodes.tsv").write_text("\n".join(codes) + "\n")
    assert opened(tmp_path).samples == 30
    (tmp_path / "barcodes.tsv").write_text("\n".join(["barcode", *codes]) + "\n")
    source = opened(tmp_path)
    assert (source.samples, source.fields[0].name) == (30, "barcode")
