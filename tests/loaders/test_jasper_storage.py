"""A JASPER directory on disk: PT files, HDF5, mapping, one copy for all, and negatives that are replaced."""

from __future__ import annotations

import logging
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from dataloader_expert.loaders import JASPERSteeringDataset, create_loader
from dataloader_expert.loaders.building import rebuild
from dataloader_expert.loaders.jasper import hdf5
from dataloader_expert.loaders.jasper.stored import TENSORS
from tests.loaders.looking import Batch, in_child, joined, same
from tests.making import jasper
from tests.making.jasper import Contents

convert = JASPERSteeringDataset.convert_pt_to_hdf5
combined = JASPERSteeringDataset.create_combined_splits


@pytest.fixture
def what() -> Contents:
    return jasper.contents()


@pytest.fixture
def folder(tmp_path: Path, what: Contents) -> Path:
    return jasper.make(tmp_path / "jasper", what)


def all_of(dataset: Any) -> Batch:
    batch: Batch = dataset.__getitems__(range(len(dataset))).batch
    return batch


def only_hdf5(folder: Path) -> Path:
    convert(folder)
    for path in folder.glob("*.pt"):
        path.unlink()
    return folder


def other_negatives(folder: Path) -> torch.Tensor:
    """Negatives that differ from the stored ones in every place."""
    moved: torch.Tensor = (jasper.stored(folder, "hard_negatives") + 7) % jasper.SOURCES
    return moved


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
def test_all_ways_of_reading_give_the_same_samples(tmp_path: Path, dtype: torch.dtype) -> None:
    """PT files, mapped PT files and HDF5 are one data set, in its own precision."""
    folder = jasper.make(tmp_path / "jasper", jasper.contents(dtype=dtype))
    for split in jasper.SIZES:
        read = all_of(JASPERSteeringDataset(folder, split))  # type: ignore[arg-type]  # a name of the loop
        assert read["question_emb"].dtype == dtype
        assert same(all_of(JASPERSteeringDataset(folder, split, use_mmap=True)), read)  # type: ignore[arg-type]  # a split by its name
    before = all_of(JASPERSteeringDataset(folder, "val"))
    only_hdf5(folder)
    assert same(all_of(JASPERSteeringDataset(folder, "val")), before)


@pytest.mark.parametrize("split", jasper.SIZES)
def test_hdf5_is_enough_by_itself(folder: Path, what: Contents, split: Any) -> None:
    """With ``config.json`` alone beside it: splits and keywords too."""
    before = all_of(JASPERSteeringDataset(folder, split))
    dataset = JASPERSteeringDataset(only_hdf5(folder), split)
    assert dataset.storage_format == "hdf5"
    assert same(all_of(dataset), before)
    assert dataset.pair_keyword_ids == what["pair_keyword_ids"]


def test_auto_prefers_hdf5_and_each_format_can_be_asked_for(folder: Path) -> None:
    """Without HDF5 PT files are read; with it, HDF5, unless PT is asked for."""
    assert JASPERSteeringDataset(folder, "train").storage_format == "pt"
    convert(folder)
    assert JASPERSteeringDataset(folder, "train").storage_format == "hdf5"
    for asked in ("pt", "hdf5"):
        assert JASPERSteeringDataset(folder, "train", storage_format=asked).storage_format == asked


def test_conversion_keeps_the_files_and_names_things_as_ever(folder: Path) -> None:
    """PT files stay, nothing half-written does; groups and datasets have the names that others read by."""
    before = {p.name for p in folder.iterdir()}
    convert(folder)
    assert {p.name for p in folder.iterdir()} == before | {"dataset.h5"}
    with h5py.File(folder / "dataset.h5") as file:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        assert len(file["pair_data/index"]) == jasper.PAIRS
    groups = {
        "embeddings": ("questions", "sources", "keywords", "centroids"),
        "pair_data": ("index", "cluster_id", "relevance"),
        "negatives": ("hardnegatives", "tiers"),
        "steering": ("centroid", "keyword_weighted", "residual", "distances"),
        "splits": ("train", "val", "test"),
    }
    assert {f"{group}/{name}" for group, of_it in groups.items() for name in of_it} < set(names)
    assert len(names) < 25, "one dataset a pair takes minutes to read"


@pytest.mark.parametrize("compression", ["gzip", "lzf", None])
def test_conversion_compresses_as_told(folder: Path, compression: str | None) -> None:
    """What is asked for is what the file says."""
    convert(folder, compression)
    with h5py.File(folder / "dataset.h5") as file:
        assert file["embeddings/questions"].compression == compression


def test_hdf5_of_before_is_read(folder: Path, what: Contents) -> None:
    """Older files hold one small dataset a pair for keywords, and int32 where we have int64."""
    convert(folder)
    with h5py.File(folder / "dataset.h5", "a") as file:
        del file["pair_data/keywords"]
        for i, row in enumerate(what["pair_keyword_ids"]):
            file[f"pair_data/keyword_ids/{i}"] = np.array(row, np.int32)
        tiers = file["negatives/tiers"][:].astype(np.uint8)
        del file["negatives/tiers"]
        file["negatives/tiers"] = tiers
    dataset = JASPERSteeringDataset(folder, "train", storage_format="hdf5")
    assert dataset.pair_keyword_ids == what["pair_keyword_ids"]
    assert dataset[0]["negative_tiers"].dtype == torch.int64


def test_an_hdf5_dataset_pickles(folder: Path) -> None:
    """No file stays open, so spawned workers get it."""
    dataset = JASPERSteeringDataset(only_hdf5(folder), "train")
    assert same(all_of(pickle.loads(pickle.dumps(dataset))), all_of(dataset))


def test_newer_pt_files_win_over_hdf5(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """``auto`` reads the PT files and says so; HDF5 that was asked for is refused with what to do."""
    convert(folder)
    jasper.rewrite(folder, hard_negatives=other_negatives(folder))
    dataset = JASPERSteeringDataset(folder, "train")
    assert dataset.storage_format == "pt"
    assert torch.equal(dataset.hard_negatives, jasper.stored(folder, "hard_negatives"))
    assert "older than hard_negatives.pt: the PT files are read" in caplog.text
    with pytest.raises(ValueError, match=r"older than hard_negatives.pt: run convert_pt_to_hdf5"):
        JASPERSteeringDataset(folder, "train", storage_format="hdf5")
    convert(folder)
    again = JASPERSteeringDataset(folder, "train", storage_format="hdf5")
    assert torch.equal(again.hard_negatives, dataset.hard_negatives)


def test_a_newer_pt_file_beside_hdf5_alone_is_not_passed_over(folder: Path) -> None:
    """Where the other PT files are gone, stale HDF5 is refused rather than served."""
    other = other_negatives(folder)
    only_hdf5(folder)
    jasper.rewrite(folder, hard_negatives=other)
    with pytest.raises(ValueError, match=r"older than hard_negatives.pt, and question_embs.pt is missing"):
        JASPERSteeringDataset(folder, "train")


def test_what_is_written_during_conversion_is_newer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negatives that a miner writes while HDF5 is being made are not lost behind it."""
    other = other_negatives(folder)
    write = hdf5.write

    def slow(*arguments: Any) -> None:
        jasper.rewrite(folder, hard_negatives=other)
        write(*arguments)

    monkeypatch.setattr(hdf5, "write", slow)
    convert(folder)
    assert torch.equal(JASPERSteeringDataset(folder, "train").hard_negatives, other)


def test_conversion_refuses_what_opening_would_refuse(folder: Path) -> None:
    """A broken directory leaves no HDF5 file, and an older one stays as it was."""
    convert(folder)
    before = (folder / "dataset.h5").read_bytes()
    jasper.plant(folder, "cluster too large")
    with pytest.raises(ValueError, match="pair_cluster_id references cluster 4"):
        convert(folder)
    assert (folder / "dataset.h5").read_bytes() == before
    jasper.rewrite(folder, pair_cluster_id=jasper.contents()["pair_cluster_id"], val_idx=torch.tensor([120]))
    with pytest.raises(ValueError, match="Split indices reference pair 120"):
        convert(folder)
    assert {p.suffix for p in folder.iterdir()} == {".pt", ".json", ".h5"}


def test_conversion_needs_pt_files_and_h5py(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lack is an error of its own."""
    (folder / "question_embs.pt").unlink()
    with pytest.raises(ValueError, match=r"question_embs.pt is missing"):
        convert(folder)
    monkeypatch.setattr(hdf5, "available", lambda: False)
    with pytest.raises(ImportError, match="h5py is required"):
        convert(folder)


def test_without_h5py_pt_files_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``auto`` does without; HDF5 that was asked for says what to install."""
    convert(folder)
    monkeypatch.setattr(hdf5, "available", lambda: False)
    assert JASPERSteeringDataset(folder, "train").storage_format == "pt"
    with pytest.raises(ValueError, match=r"h5py is not installed: pip install 'dataloader-expert\[hdf5\]'"):
        JASPERSteeringDataset(folder, "train", storage_format="hdf5")


def _without(*names: str) -> Callable[[Path], None]:
    def take(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return take


@pytest.mark.parametrize(
    ("take", "options", "kind", "says"),
    [
        pytest.param(shutil.rmtree, {}, ValueError, "Dataset directory not found", id="no directory"),
        pytest.param(_without("config.json"), {}, ValueError, "Config file not found", id="no configuration"),
        pytest.param(_without("question_embs.pt"), {}, ValueError, "No dataset files found", id="no tensors"),
        pytest.param(
            _without("source_embs.pt"), {}, FileNotFoundError, "Required tensor file not found.*source_embs", id="one"
        ),
        pytest.param(
            _without("train_idx.pt"), {}, ValueError, "Split file not found.*train, val, test", id="no split file"
        ),
        pytest.param(lambda f: None, {"storage_format": "zip"}, ValueError, "Invalid storage_format", id="no format"),
        pytest.param(lambda f: None, {"storage_format": "hdf5"}, ValueError, "HDF5 file not found", id="no HDF5"),
        pytest.param(
            _without("question_embs.pt"), {"storage_format": "pt"}, ValueError, "No dataset files found", id="no PT"
        ),
    ],
)
def test_what_is_missing_is_named(folder: Path, take: Any, options: dict[str, Any], kind: Any, says: str) -> None:
    """Each missing part has its own message."""
    take(folder)
    with pytest.raises(kind, match=says):
        JASPERSteeringDataset(folder, "train", **options)


def test_a_split_that_hdf5_lacks_is_named(folder: Path) -> None:
    """The valid names are said there too."""
    with pytest.raises(ValueError, match=r"Split file not found.*train, val, test"):
        JASPERSteeringDataset(only_hdf5(folder), "holdout")  # type: ignore[arg-type]  # refused


@pytest.mark.parametrize("fault", [n for n, f in jasper.FAULTS.items() if "idx" not in f.file and "keyword" not in n])
def test_hdf5_is_checked_as_pt_files_are(folder: Path, what: Contents, fault: str) -> None:
    """Whoever wrote the file: a fault in it is refused with the same words."""
    planted = jasper.FAULTS[fault]
    convert(folder)
    place = hdf5.PATHS[planted.file]
    with h5py.File(folder / "dataset.h5", "a") as file:
        del file[place]
        file[place] = planted.change(what[planted.file]).numpy()
    with pytest.raises(ValueError, match=str(planted.says)):
        JASPERSteeringDataset(folder, "train", storage_format="hdf5")


def test_a_pickle_is_never_run(folder: Path) -> None:
    """Keyword lists that hold more than numbers are refused, and nothing in them is called."""
    touched = folder / "touched"
    jasper.rewrite(folder, pair_keyword_ids=[[jasper.Touch(touched)]])
    with pytest.raises(ValueError, match="would run code"):
        JASPERSteeringDataset(folder, "train")
    assert not touched.exists()


@pytest.mark.parametrize("split", jasper.SIZES)
def test_all_splits_hold_one_copy_of_the_tensors(folder: Path, split: str) -> None:
    """The three of ``create_combined_splits`` share their memory; their samples are those of each alone."""
    alone = all_of(JASPERSteeringDataset(folder, split))  # type: ignore[arg-type]  # a name of the parameters
    splits = combined(folder, epoch=3)
    assert {s: len(d) for s, d in splits.items()} == jasper.SIZES
    assert all(d.current_epoch == 3 for d in splits.values())
    for name in TENSORS:
        assert len({getattr(d, name).data_ptr() for d in splits.values()}) == 1
    splits[split].set_epoch(0)
    assert same(all_of(splits[split]), alone)


@pytest.mark.parametrize("options", [{"storage_format": "pt"}, {"storage_format": "hdf5"}, {"use_mmap": True}], ids=str)
def test_every_way_of_reading_is_shared(folder: Path, options: dict[str, Any]) -> None:
    """Formats and mapping: still one copy."""
    if options.get("storage_format") == "hdf5":
        convert(folder)
    splits = combined(folder, **options)
    assert len({d.source_embs.data_ptr() for d in splits.values()}) == 1
    assert {d.storage_format for d in splits.values()} == {options.get("storage_format", "pt")}


def test_a_directory_is_shared_however_its_path_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path and an absolute one are the same directory."""
    monkeypatch.chdir(folder.parent)
    first, second = JASPERSteeringDataset(folder, "train"), JASPERSteeringDataset(folder.name, "val")
    assert first.source_embs.data_ptr() == second.source_embs.data_ptr()


def test_files_that_were_replaced_are_read_anew(folder: Path) -> None:
    """Sharing never serves what is no longer there, though time and size be the same."""
    old = JASPERSteeringDataset(folder, "train")
    path = folder / "source_embs.pt"
    stamp = path.stat().st_mtime_ns
    other = torch.randn(jasper.SOURCES, jasper.DIM)
    torch.save(other, folder / "new.pt")
    (folder / "new.pt").replace(path)
    os.utime(path, ns=(stamp, stamp))
    assert torch.equal(JASPERSteeringDataset(folder, "train").source_embs, other)
    assert not torch.equal(old.source_embs, other)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that ``torch.load`` opens from here on."""
    names: list[str] = []
    load = torch.load

    def noting(path: Any, *arguments: Any, **keywords: Any) -> Any:
        names.append(Path(path).name)
        return load(path, *arguments, **keywords)

    monkeypatch.setattr(torch, "load", noting)
    return names


def test_another_batch_size_reads_no_tensor_and_keeps_order_and_curriculum(folder: Path, reads: list[str]) -> None:
    """A loader made anew with another batch size goes through the same samples with the same variants."""
    first = create_loader(folder, "train", 8, epoch=4, drop_last=False)
    expected = joined(first)
    reads.clear()
    second = create_loader(folder, "train", 32, epoch=4, drop_last=False)
    assert not [n for n in reads if not n.endswith("_idx.pt")]
    assert second.dataset_obj.question_embs.data_ptr() == first.dataset_obj.question_embs.data_ptr()
    assert same(joined(second), expected)
    first.set_epoch(4)
    reads.clear()
    assert same(joined(rebuild(first, 0, batch_size=20)), expected)
    assert not reads


def test_another_batch_size_after_a_reload_reads_no_tensor(folder: Path, reads: list[str]) -> None:
    """New negatives are no reason to read everything else again."""
    first = create_loader(folder, "train", 8)
    jasper.rewrite(folder, hard_negatives=other_negatives(folder))
    first.dataset_obj.reload_negatives()
    reads.clear()
    second = create_loader(folder, "train", 16)
    assert not [n for n in reads if not n.endswith("_idx.pt")]
    assert torch.equal(second.dataset_obj.hard_negatives, jasper.stored(folder, "hard_negatives"))


def test_reload_does_not_hide_other_files_that_were_written(folder: Path) -> None:
    """Who opens the directory next gets all of what is there, negatives or not."""
    first = JASPERSteeringDataset(folder, "train")
    sources = torch.randn(jasper.SOURCES, jasper.DIM)
    jasper.rewrite(folder, hard_negatives=other_negatives(folder), source_embs=sources)
    first.reload_negatives()
    assert torch.equal(JASPERSteeringDataset(folder, "train").source_embs, sources)


def test_reload_takes_up_both_files(folder: Path) -> None:
    """Negatives and tiers are those on disk, here; a dataset that was not asked keeps its own."""
    dataset, other = JASPERSteeringDataset(folder, "train"), JASPERSteeringDataset(folder, "val")
    before = all_of(other)
    negatives, tiers = other_negatives(folder), torch.full((jasper.PAIRS, jasper.NEGATIVES), 2)
    jasper.rewrite(folder, hard_negatives=negatives, negative_tiers=tiers)
    dataset.reload_negatives()
    batch = all_of(dataset)
    rows = jasper.stored(folder, "train_idx")
    assert torch.equal(batch["negative_embs"], dataset.source_embs[negatives[rows]])
    assert torch.equal(batch["negative_tiers"], tiers[rows])
    assert same(all_of(other), before)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({"hard_negatives": 10**6}, "references source 1000000, but only 40", id="too large"),
        pytest.param({"hard_negatives": -1}, "references source -1", id="negative"),
        pytest.param({"negative_tiers": 7}, "negative_tiers holds 7", id="no tier"),
        pytest.param({"hard_negatives": "short"}, "hard_negatives is|negative_tiers is", id="too short"),
        pytest.param(
            {"hard_negatives": "narrow", "negative_tiers": "narrow"}, "open the data set again", id="narrower"
        ),
        pytest.param({"hard_negatives": "gone"}, "Required tensor file not found", id="no negatives"),
        pytest.param({"negative_tiers": "gone"}, "Required tensor file not found", id="no tiers"),
        pytest.param({"hard_negatives": "cut"}, "could not be read", id="cut off"),
    ],
)
def test_reload_takes_both_or_neither(folder: Path, files: dict[str, Any], says: str) -> None:
    """Negatives that break a rule are refused, and those in place stay in place."""
    dataset = JASPERSteeringDataset(folder, "train")
    before = all_of(dataset)
    for name in ("hard_negatives", "negative_tiers"):
        tensor = other_negatives(folder) if name == "hard_negatives" else jasper.stored(folder, name) % 4 + 1
        fault = files.get(name)
        if isinstance(fault, int):
            tensor[3, 1] = fault
        changed = {"short": tensor[:-1], "narrow": tensor[:, :-1]}.get(str(fault), tensor)
        jasper.rewrite(folder, **{name: changed.clone()})
        if fault == "gone":
            (folder / f"{name}.pt").unlink()
        if fault == "cut":
            (folder / f"{name}.pt").write_bytes((folder / f"{name}.pt").read_bytes()[:700])
    with pytest.raises((ValueError, FileNotFoundError), match=says):
        dataset.reload_negatives()
    assert same(all_of(dataset), before)


def test_reload_reads_the_newer_of_both_formats(folder: Path) -> None:
    """With HDF5 open, negatives that were mined since come from their PT files; older PT files do not count."""
    convert(folder)
    dataset = JASPERSteeringDataset(folder, "train", storage_format="hdf5")
    kept = dataset.hard_negatives.clone()
    dataset.reload_negatives()
    assert torch.equal(dataset.hard_negatives, kept)
    jasper.rewrite(folder, hard_negatives=other_negatives(folder))
    dataset.reload_negatives()
    assert torch.equal(dataset.hard_negatives, jasper.stored(folder, "hard_negatives"))


def growth(folder: Path, mapped: bool) -> int:
    """Bytes in memory that opening takes and keeps: of the process's own, and of the folder's files. Code of libraries, which
    comes into memory when it first runs in a forked process, does not count."""
    small = jasper.make(folder.parent / f"small, {mapped}")
    JASPERSteeringDataset(small, "train", use_mmap=mapped).close()
    before = held(folder)
    dataset = JASPERSteeringDataset(folder, "train", use_mmap=mapped)
    after = held(folder)
    assert len(dataset[0]["question_emb"]) == dataset.embedding_dim
    return after - before


def held(folder: Path) -> int:
    """Bytes of this process in memory that are its own, or map files of the folder."""
    own, of_files, counts = 0, 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(" ")
        if not name.endswith(":"):  # "7f00-7f10 r--p 00000000 08:01 123  /a/file" begins a mapping
            counts = str(folder) in rest
        elif name == "Anonymous:":
            own += int(rest.split()[0])
        elif name == "Rss:" and counts:
            of_files += int(rest.split()[0])
    return 1024 * (own + of_files)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """About 200 MB, nearly all of it steering vectors."""
    dim = 2048
    what = jasper.contents(pairs=8_000, dim=1)
    rows = torch.randn(250, dim)
    for name in what:
        if name.endswith("_embs"):
            what[name] = rows[: len(what[name])].clone()
        elif name.startswith("steering"):
            what[name] = rows.repeat(32, 1)
    folder = jasper.make(tmp_path_factory.mktemp("large") / "jasper", what, embedding_dim=dim)
    yield folder
    shutil.rmtree(folder.parent)


def test_mapped_tensors_are_not_in_memory(large: Path) -> None:
    """Opened mapped, a set of 200 MB takes a small part of that, though its integrity was checked."""
    size = sum(p.stat().st_size for p in large.iterdir())
    assert size > 190e6
    assert in_child(growth, large, True) < size / 20


def test_read_tensors_are_in_memory(large: Path) -> None:
    """The measure can tell: opened without mapping, all of the set is in memory."""
    size = sum(p.stat().st_size for p in large.iterdir())
    assert in_child(growth, large, False) > size * 0.9


@pytest.mark.parametrize(
    ("changes", "expected"), [({}, False), ({"n_pairs": 10**6, "embedding_dim": 768}, True)], ids=["small", "large"]
)
def test_mapping_is_chosen_by_the_estimated_size(tmp_path: Path, changes: dict[str, Any], expected: bool) -> None:
    """Above an estimate of 10 GiB files are mapped unless told otherwise."""
    dim = changes.get("embedding_dim", jasper.DIM)
    folder = jasper.make(tmp_path / "jasper", jasper.contents(dim=dim), **changes)
    assert JASPERSteeringDataset(folder, "train").use_mmap is expected
    assert JASPERSteeringDataset(folder, "train", use_mmap=False).use_mmap is False


@pytest.mark.parametrize("fault", ["one dimension", "NaN in questions", "source too large", "another width"])
def test_mapped_files_are_checked_as_well(folder: Path, fault: str) -> None:
    """Shapes, values and rows."""
    says = jasper.plant(folder, fault).says
    with pytest.raises(ValueError, match=str(says)):
        JASPERSteeringDataset(folder, "train", use_mmap=True)


def test_opening_says_what_was_read_and_what_is_shared(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log tells a first opening from one that found the tensors in memory."""
    with caplog.at_level(logging.INFO, "dataloader_expert"):
        splits = combined(folder)
    told = [r.getMessage() for r in caplog.records if "memory=" in r.getMessage()]
    assert len(told) == len(splits)
    assert told[0].endswith("read")
    assert all("shared" in t for t in told[1:])
