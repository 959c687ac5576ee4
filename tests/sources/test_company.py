"""What stands beside a data set and is none of its samples: previews, code, configuration, documentation, other tables."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.magic import guess_text, kind_of
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.recipes.check_quality import other_tables
from tests.making.scanning import scan

RNG = np.random.default_rng(17)


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (16, 16, 3), np.uint8)).save(path)


def foldered(root: Path, *folders: str, each: int = 8) -> None:
    for folder in folders:
        for i in range(each):
            picture(root / folder / f"{i:03}.png")


def opened(folder: Path) -> Source:
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def foreign(folder: Path) -> list[Finding]:
    return [f for f in scan(folder, folder).findings if f.code == "foreign-file"]


FOLDERS = {
    "splits and classes": ["train/cat", "train/dog", "test/cat", "test/dog"],
    "classes": ["cat", "dog"],
    "splits": ["train", "test"],
}


@pytest.mark.parametrize("folders", FOLDERS.values(), ids=FOLDERS)
def test_a_picture_beside_the_folders_of_all_others_is_no_sample(tmp_path: Path, folders: list[str]) -> None:
    foldered(tmp_path, *folders)
    picture(tmp_path / "preview.png")
    source = opened(tmp_path)
    assert (source.samples, source.files) == (8 * len(folders), 8 * len(folders))
    assert [(f.severity, f.where) for f in foreign(tmp_path)] == [("info", ({"file": "preview.png"},))]
    assert not [f for f in scan(tmp_path, tmp_path).findings if f.severity == "error"]


def test_pictures_without_folders_are_samples(tmp_path: Path) -> None:
    foldered(tmp_path, ".")
    assert opened(tmp_path).samples == 8
    assert foreign(tmp_path) == []


def test_a_picture_beside_folders_of_other_things_is_a_sample(tmp_path: Path) -> None:
    """Our promise: only folders that name splits or classes set what is beside them apart."""
    foldered(tmp_path, "pictures")
    picture(tmp_path / "one.png")
    assert opened(tmp_path).samples == 9


def test_as_many_pictures_as_a_folder_holds_are_samples(tmp_path: Path) -> None:
    """Our promise: an unlabelled part of the data is not left out."""
    foldered(tmp_path, "cat", "dog", ".")
    assert opened(tmp_path).samples == 24


def test_a_picture_that_a_table_names_is_a_sample(tmp_path: Path) -> None:
    foldered(tmp_path, "cat", "dog")
    picture(tmp_path / "seventeen.png")
    names = [f"{kind}/{i:03}.png" for kind in ("cat", "dog") for i in range(8)]
    rows = [f"{name},{i}" for i, name in enumerate([*names, "seventeen.png"])]
    (tmp_path / "weights.csv").write_text("\n".join(["file,weight", *rows]) + "\n")
    assert opened(tmp_path).samples == 17


PROJECT = {
    "requirements.txt": "torch\nnumpy\n",
    "dataset_card.json": '{"name": "rust"}\n',
    "train.py": "import torch\n",
    "config.yaml": "lr: 0.1\n",
    "Makefile": "all:\n\techo\n",
    "CHANGELOG.md": "# 1.0\n",
    "run.sh": "python train.py\n",
    "pyproject.toml": "[project]\n",
}


def project(root: Path) -> None:
    for name, text in PROJECT.items():
        (root / name).write_text(text)


def test_a_project_around_pictures_makes_no_doubt_and_no_noise(tmp_path: Path) -> None:
    """Our promise: code, configuration and documentation never make it unclear what the data are."""
    foldered(tmp_path, *FOLDERS["splits and classes"])
    project(tmp_path)
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("image-folder", 32)
    assert foreign(tmp_path) == []


def test_a_project_around_a_table_makes_no_doubt(tmp_path: Path) -> None:
    project(tmp_path)
    rows = [f"{x:.4f},{i % 2}" for i, x in enumerate(RNG.normal(0, 1, 60))]
    (tmp_path / "train.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    source = opened(tmp_path)
    assert (source.format, source.samples) == ("csv", 60)


def test_programs_that_are_the_samples_are_read(tmp_path: Path) -> None:
    """Our promise: code is left out beside other data, not where it is the data."""
    for i in range(40):
        path = tmp_path / ("loops", "sorts")[i % 2] / f"{i}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def f(x):\n    return x + {i}\n")
    assert (opened(tmp_path).format, opened(tmp_path).samples) == ("text", 40)


def test_two_kinds_of_data_are_asked_about(tmp_path: Path) -> None:
    foldered(tmp_path, "cat", "dog")
    for i in range(9):
        np.save(tmp_path / f"x{i}.npy", RNG.normal(0, 1, (4, 4)))
    assert "several kinds" in (scan(tmp_path, tmp_path).error or "")


def graph(root: Path) -> None:
    nodes = [f"{i},{('a', 'b')[i % 2]},{x:.3f}" for i, x in enumerate(RNG.normal(0, 1, 40))]
    (root / "nodes.csv").write_text("\n".join(["node_id,label,size", *nodes]) + "\n")
    edges = [f"{i % 40},{(7 * i) % 39},{x:.3f}" for i, x in enumerate(RNG.random(200))]
    (root / "edges.csv").write_text("\n".join(["src,dst,weight", *edges]) + "\n")


def test_a_second_table_is_told_with_what_is_read(tmp_path: Path) -> None:
    """Our promise: it is named, with its columns, and no fault of the data set."""
    graph(tmp_path)
    [said] = foreign(tmp_path)
    assert said.severity == "info" and said.where == ({"file": "nodes.csv"},)
    assert "another table" in said.message and "edges.csv" in said.message and "node_id" in said.message
    assert "as the source" in said.fix
    assert open_source(SourceRef(str(tmp_path / "nodes.csv"), (str(tmp_path),)), []).label == "label"
    facts = Facts(tuple(map(Fact.from_json, scan(tmp_path, tmp_path).facts)))
    assert other_tables(facts) == ["1 other table (nodes.csv)"]


def test_files_of_one_table_are_no_second_table(tmp_path: Path) -> None:
    for part in range(3):
        rows = [f"{x:.4f},{i % 2}" for i, x in enumerate(RNG.normal(0, 1, 30))]
        (tmp_path / f"part-{part}.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    assert foreign(tmp_path) == []
    assert opened(tmp_path).samples == 90


def test_what_a_folder_for_metadata_holds_is_no_second_kind_of_data(tmp_path: Path) -> None:
    """As of LeRobot: an episode a file, and lists of episodes and tasks in a folder of their own."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    (tmp_path / "meta").mkdir()
    for i in range(6):
        table = pa.table({"frame_index": range(9), "reward": RNG.normal(size=9), "episode_index": [i] * 9})
        pq.write_table(table, tmp_path / "data" / "chunk-000" / f"episode_{i:06}.parquet")
    (tmp_path / "meta" / "info.json").write_text('{"fps": 30}')
    for name in ("episodes", "tasks"):
        (tmp_path / "meta" / f"{name}.jsonl").write_text('{"index": 0, "length": 9}\n' * 6)
    assert (opened(tmp_path).format, opened(tmp_path).samples) == ("parquet", 54)
    [said] = foreign(tmp_path)
    assert said.severity == "info" and {w["file"] for w in said.where} == {"meta/episodes.jsonl", "meta/tasks.jsonl"}


def test_a_file_of_a_kind_that_is_not_read_beside_each_sample_is_a_note(tmp_path: Path) -> None:
    """As KITTI's calibrations, in both splits, and a text beside the folders of classes; one among the samples is foreign."""
    foldered(tmp_path, "training/image_2", "testing/image_2")
    for split in ("training", "testing"):
        (tmp_path / split / "calib").mkdir()
        for i in range(8):
            (tmp_path / split / "calib" / f"{i:03}.txt").write_text(
                "P0: 1.8e+02 0.0 1.5e+02\nP1: 1.8e+02 0.0 1.5e+02\n"
            )
    assert {(f.severity, f.count) for f in foreign(tmp_path)} == {("info", 16)}
    (tmp_path / "training" / "image_2" / "left behind.txt").write_text("copied from the old disk\n")
    assert {f.severity for f in foreign(tmp_path)} == {"info", "warning"}


def test_what_is_no_table_and_no_project_is_still_foreign(tmp_path: Path) -> None:
    foldered(tmp_path, "cat", "dog")
    (tmp_path / "left.db").write_bytes(b"SQLite format 3\0" + bytes(90))
    assert [(f.severity, f.where) for f in foreign(tmp_path)] == [("warning", ({"file": "left.db"},))]


def test_a_document_among_the_samples_of_a_class_is_foreign(tmp_path: Path) -> None:
    """Our promise: what keeps company with the data lies beside it, and not in a folder of samples."""
    for label in ("moss", "reed"):
        (tmp_path / label).mkdir()
        for i in range(12):
            Image.new("RGB", (32, 32), (i * 20, 9, 9)).save(tmp_path / label / f"{i}.png")
    for place in ("paper.pdf", "moss/minutes.pdf"):
        (tmp_path / place).write_bytes(b"%PDF-1.7\n" + bytes(2000))
    told = [f for f in scan(tmp_path, tmp_path).findings if f.code == "foreign-file"]
    assert [[place["file"] for place in f.where] for f in told] == [["moss/minutes.pdf"]]


def records(path: Path, rows: list[dict[str, object]]) -> None:
    """As JSON lines, or as a JSON document."""
    path.write_text("\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(rows), encoding="utf-8")


PASSAGES: list[dict[str, object]] = [{"pid": f"p{i}", "title": f"t{i}", "text": f"some {i}"} for i in range(300)]
QUERIES: list[dict[str, object]] = [{"qid": f"q{i}", "query": f"what of {i}", "pids": [f"p{i}"]} for i in range(100)]
TEXTS: list[dict[str, object]] = [{"text": f"no {i}", "label": i % 2} for i in range(100)]
ASIDE: dict[str, tuple[dict[str, list[dict[str, object]]], set[str]]] = {
    "passages beside splits": ({"passages": PASSAGES, "train": QUERIES, "test": QUERIES[:20]}, {"passages"}),
    "a collection and what is asked of it": (
        {
            "corpus": [{"_id": p["pid"], "title": p["title"], "text": p["text"]} for p in PASSAGES],
            "queries": [{"_id": q["qid"], "text": q["query"]} for q in QUERIES],
        },
        {"queries"},
    ),
    "names of classes": ({"data": TEXTS, "names": [{"label": i, "name": f"n{i}"} for i in range(2)]}, {"names"}),
    "several lists beside one large file": (
        {"data": PASSAGES, **{n: [{"id": i, "name": f"{n}{i}"} for i in range(9)] for n in ("kinds", "places")}},
        {"kinds", "places"},
    ),
    "what most files hold": ({"a": TEXTS, "b": TEXTS, "c": PASSAGES}, {"c"}),
    "optional keys": (
        {"a": TEXTS, "b": [{**t, "source": "web", "url": "u", "lang": "en"} for t in TEXTS], "c": [{"text": "no"}] * 9},
        set(),
    ),
    "optional keys that differ": (
        {f"part{k}": [{"text": f"{k} {i}", f"only{k}{i % 9}": i} for i in range(90)] for k in range(3)},
        set(),
    ),
    "a split without labels": ({"train": TEXTS, "test": [{"text": t["text"], "id": 0} for t in TEXTS]}, set()),
    "shards": ({f"shard-{k:05}": TEXTS for k in range(4)}, set()),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
@pytest.mark.parametrize(("files", "others"), ASIDE.values(), ids=ASIDE)
def test_records_with_other_keys_are_another_table(
    files: dict[str, list[dict[str, object]]], others: set[str], suffix: str, tmp_path: Path
) -> None:
    """Our promise: samples are the files of splits, else of the kind that most files are; optional keys do not matter."""
    for name, rows in files.items():
        records(tmp_path / f"{name}.{suffix}", rows)
    source = opened(tmp_path)
    assert source.samples == sum(len(rows) for name, rows in files.items() if name not in others)
    told = [p for p in source.problems if p.code == "foreign-file"]
    assert {Path(str(p.where["file"])).stem for p in told} == others and all(p.what == "table" for p in told)


def recording(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(8000)
        out.writeframes(RNG.integers(-9000, 9000, 800, np.int16).tobytes())


def test_images_in_folders_of_splits_are_the_samples_beside_a_table_of_a_split(tmp_path: Path) -> None:
    """As the Data Science Bowl of 2018, whose masks, several of an image, are told with their number."""
    for i in range(10):
        picture(tmp_path / "stage1_train" / f"a{i}" / "images" / f"a{i}.png")
        picture(tmp_path / "stage1_test" / f"b{i}" / "images" / f"b{i}.png")
        for j in range(3):
            picture(tmp_path / "stage1_train" / f"a{i}" / "masks" / f"m{i}{j}.png")
    (tmp_path / "stage1_train_labels.csv").write_text("ImageId,EncodedPixels\n" + "zz,1 2 3\n" * 5)
    unknowns: list[Unknown] = []
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), unknowns)
    assert (source.format, source.splits) == ("image-folder", {"test": 10, "train": 10})
    assert [f.severity for f in foreign(tmp_path)] == ["info"]
    assert any("10 of 20 samples have 30 such files, several each" in unknown.why for unknown in unknowns)


def test_figures_beside_a_table_of_a_split_leave_a_doubt(tmp_path: Path) -> None:
    foldered(tmp_path, "figures/first look", "figures/results")
    (tmp_path / "train.csv").write_text("x,label\n" + "1.5,0\n2.5,1\n" * 30)
    assert "several kinds" in (scan(tmp_path, tmp_path).error or "")


def test_scans_called_after_images_accompany_them(tmp_path: Path) -> None:
    """As KITTI's clouds of points, of a kind that is not known."""
    foldered(tmp_path, "training/image_2", "testing/image_2")
    for i in range(8):
        path = tmp_path / "training" / "velodyne" / f"{i:03}.bin"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(RNG.normal(0, 1, 40).astype(np.float32).tobytes())
    source = opened(tmp_path)
    assert (source.format, source.splits) == ("image-folder", {"test": 8, "train": 8})
    assert [(f.severity, f.count) for f in foreign(tmp_path)] == [("info", 8)]


def test_pictures_called_after_recordings_show_them(tmp_path: Path) -> None:
    """As GTZAN's spectrograms, of which no class folder is empty; pictures called otherwise leave a doubt."""
    for label in ("blues", "jazz"):
        for i in range(8):
            recording(tmp_path / "genres_original" / label / f"{label}.{i:05}.wav")
            picture(tmp_path / "images_original" / label / f"{label}{i:05}.png")
    source = opened(tmp_path)
    assert (source.format, source.classes, source.samples) == ("audio-folder", ("blues", "jazz"), 16)
    assert [
        (f.code, f.severity) for f in scan(tmp_path, tmp_path).findings if f.code.startswith(("foreign", "empty"))
    ] == [("foreign-file", "info")]
    for path in tmp_path.glob("images_original/*/*.png"):
        path.rename(path.with_name(f"photo of {path.stem[::-1]}.png"))
    assert "several kinds" in (scan(tmp_path, tmp_path).error or "")


def test_settings_in_sections_are_no_json(tmp_path: Path) -> None:
    """As MOT17's ``seqinfo.ini`` beside the frames of each sequence."""
    for folder in ("train/MOT17-02", "test/MOT17-01"):
        foldered(tmp_path, f"{folder}/img1", each=12)
        (tmp_path / folder / "seqinfo.ini").write_text("[Sequence]\nname=MOT17\nimDir=img1\n")
        (tmp_path / folder / "det").mkdir()
        (tmp_path / folder / "det" / "det.txt").write_text("1,-1,9.1,8.2,30,40,0.9\n" * 9)
    assert (opened(tmp_path).format, opened(tmp_path).splits) == ("image-folder", {"test": 12, "train": 12})
    assert guess_text(b"[Sequence]\nname=MOT17\n") == "text"
    assert guess_text(b'["Sequence"]\n') == guess_text(b"[1, 2]\n") == "json"


def test_lists_of_files_are_no_samples(tmp_path: Path) -> None:
    """As those of ModelNet40; a text that names none of them leaves a doubt."""
    h5py = pytest.importorskip("h5py")
    for split in ("train0", "train1", "test0"):
        with h5py.File(tmp_path / f"ply_data_{split}.h5", "w") as out:
            out["data"], out["label"] = RNG.normal(0, 1, (12, 16, 3)), RNG.integers(0, 3, 12)
    (tmp_path / "train_files.txt").write_text("data/x/ply_data_train0.h5\ndata/x/ply_data_train1.h5\n")
    (tmp_path / "test_files.txt").write_text("data/x/ply_data_test0.h5\n")
    (tmp_path / "shape_names.txt").write_text("chair\ntable\nlamp\n")
    assert (opened(tmp_path).format, opened(tmp_path).splits) == ("hdf5", {"test": 12, "train": 24})
    assert [(f.severity, f.count) for f in foreign(tmp_path)] == [("info", 3)]
    (tmp_path / "train_files.txt").write_text("It was a bright cold day in April.\n" * 30)
    (tmp_path / "test_files.txt").write_text("And the clocks were striking thirteen.\n" * 30)
    assert "several kinds" in (scan(tmp_path, tmp_path).error or "")


def test_a_picture_and_its_mask_in_a_file_are_one_sample(tmp_path: Path) -> None:
    """As the slices of Synapse beside the volumes of its test; rows with as many columns stay rows."""
    (tmp_path / "train_npz").mkdir()
    for i in range(16):
        np.savez(tmp_path / "train_npz" / f"case{i:03}.npz", image=RNG.random((24, 24)), label=np.zeros((24, 24)))
    (tmp_path / "test_vol.npy.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    source = opened(tmp_path)
    assert (source.format, source.samples, {f.name: f.shape for f in source.fields}) == (
        "npz",
        16,
        {"image": (24, 24), "label": (24, 24)},
    )
    np.savez(tmp_path / "rows.npz", images=RNG.random((24, 24)), label=np.zeros((24, 24)))
    assert opened(tmp_path / "rows.npz").samples == 24


@pytest.mark.parametrize("suffix", ["ppm", "pgm"])
def test_netpbm_images_are_read(tmp_path: Path, suffix: str) -> None:
    """As those of the German signs, whose tests a table numbers as the folders of training are called."""
    for label in ("00000", "00001"):
        for i in range(8):
            path = tmp_path / "Final_Training" / "Images" / label / f"{label}_{i:05}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = RNG.integers(0, 256, (16, 16, 3), np.uint8)
            Image.fromarray(pixels if suffix == "ppm" else pixels[..., 0]).save(path)
    tests = tmp_path / "Final_Test" / "Images"
    tests.mkdir(parents=True)
    rows = []
    for i in range(8):
        Image.fromarray(RNG.integers(0, 256, (16, 16, 3), np.uint8)).save(tests / f"{i:05}.{suffix}")
        rows.append(f"{i:05}.{suffix};{i % 2}")
    (tests / "GT-final_test.csv").write_text("\n".join(["Filename;ClassId", *rows]) + "\n")
    source = opened(tmp_path)
    assert (source.splits, source.classes) == ({"test": 8, "train": 16}, ("00000", "00001"))
    assert [unit.label for unit in source.units if unit.split == "test"] == ["00000", "00001"] * 4
    assert not {f.code for f in scan(tmp_path, tmp_path).findings} & {"unreadable", "not-the-format", "foreign-file"}


def test_a_text_that_begins_like_a_netpbm_image_is_none() -> None:
    assert kind_of("trial.tsv", b"P5\t12\t30\t255\n") == "tsv"
    assert kind_of("trial.txt", b"P6 12 30 255\n") == "text"
    assert kind_of("9.ppm", b"P6\n12 30\n255\n" + bytes(99)) == kind_of("9.ppm", b"P6\n# GIMP\n12 30\n255\n") == "image"
