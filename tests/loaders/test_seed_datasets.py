"""Parameters, embeddings and token features in NPZ, and images of Hugging Face: the first generation's layouts."""

from __future__ import annotations

import inspect
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image

from dataloader_expert.loaders import (
    DatasetTokenDataset,
    EpochLoader,
    GenericBalancedDataLoader,
    GenericImageDataset,
    ImageNetBalancedDataLoader,
    ImageNetDataset,
    ModelEmbeddingDataset,
    ModelParameterDataset,
    build_dataset_token_loader,
    build_model_embedding_loader,
    set_epoch,
)
from dataloader_expert.loaders.layouts.archives import read_array, read_strings, section
from tests.making.jasper import Touch


def items_of(dataset: Any) -> list[Any]:
    """All items, by a plain loop, which ends at the first IndexError."""
    return list(dataset)


# ── parameters ─────────────────────────────────────────────────────────────────


def parameters(folder: Path, values: Any, suffix: str = ".npz") -> Path:
    """One archive a row."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, row in enumerate(values):
        np.savez_compressed(folder / f"model{i:03}.npz", parameters=np.asarray(row))
        (folder / f"model{i:03}.npz").rename(folder / f"model{i:03}{suffix}")
    return folder


@pytest.fixture
def values() -> Any:
    return np.random.default_rng(0).normal(5, 3, (12, 6, 1))


def test_parameters_are_normalised_per_feature(tmp_path: Path, values: Any) -> None:
    """Mean 0, population deviation 1, flat float32; numpy's own figures are the statistics."""
    dataset = ModelParameterDataset(parameters(tmp_path / "p", values))
    items = torch.stack([dataset[i] for i in range(len(dataset))])
    flat = values.reshape(12, 6)
    assert items.dtype == torch.float32
    np.testing.assert_allclose(items, (flat - flat.mean(0)) / flat.std(0), rtol=1e-5, atol=1e-6)
    assert dataset.statistics is not None
    np.testing.assert_allclose(dataset.statistics.mean, flat.mean(0))
    np.testing.assert_allclose(dataset.statistics.std, flat.std(0))
    assert [p.name for p in dataset.files] == [f"model{i:03}.npz" for i in range(12)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_parameters_come_as_stored_where_asked(tmp_path: Path, values: Any, dtype: torch.dtype) -> None:
    """Neither flattened nor normalised, in any dtype."""
    dataset = ModelParameterDataset(parameters(tmp_path / "p", values), dtype=dtype, flatten=False, normalize=False)
    assert torch.equal(dataset[3], torch.from_numpy(values[3]).to(dtype))
    assert ModelParameterDataset(tmp_path / "p", flatten=False)[3].shape == (6, 1)


def test_parameters_are_a_sequence(tmp_path: Path, values: Any) -> None:
    """Negative indices count from the end; beyond it is an IndexError, so that loops end."""
    dataset = ModelParameterDataset(parameters(tmp_path / "p", values))
    assert torch.equal(dataset[-1], dataset[11])
    for index in (12, -13):
        with pytest.raises(IndexError):
            dataset[index]
    assert len(items_of(dataset)) == 12


def test_statistics_are_of_the_training_files_only(tmp_path: Path, values: Any) -> None:
    """What a validation file holds changes no statistic; and the same are given to the other split."""
    values[8:] *= 1000
    train = ModelParameterDataset(parameters(tmp_path / "p", values), fit_on=range(8))
    flat = values.reshape(12, 6)[:8]
    assert train.statistics is not None
    assert train.statistics.count == 8
    np.testing.assert_allclose(train.statistics.mean, flat.mean(0))
    np.testing.assert_allclose(train.statistics.std, flat.std(0))
    val = ModelParameterDataset(parameters(tmp_path / "v", values[8:]), statistics=train.statistics)
    assert torch.equal(val[0], train[8])


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
def test_the_variance_survives_a_large_mean(tmp_path: Path, offset: float) -> None:
    """Values of offset … offset + 3 have a deviation of 1.118, however large the offset."""
    rows = offset + np.arange(4.0)[:, None] * np.ones(5)
    dataset = ModelParameterDataset(parameters(tmp_path / "p", rows))
    assert dataset.statistics is not None
    np.testing.assert_allclose(dataset.statistics.std, np.sqrt(1.25), rtol=1e-6)
    np.testing.assert_allclose(dataset[0], -1.5 / np.sqrt(1.25), rtol=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9 / 3])
def test_a_constant_feature_does_not_explode(tmp_path: Path, constant: float) -> None:
    """It is centred and no more: a new value that differs by 0.5 is 0.5, not half a million."""
    dataset = ModelParameterDataset(parameters(tmp_path / "p", np.full((7, 3), constant)))
    assert torch.equal(dataset[2], torch.zeros(3))
    new = ModelParameterDataset(parameters(tmp_path / "new", [[constant + 0.5] * 3]), statistics=dataset.statistics)
    np.testing.assert_allclose(new[0], 0.5, atol=1e-6)


def test_a_feature_that_hardly_varies_is_divided_by_epsilon_at_least(tmp_path: Path) -> None:
    """``epsilon`` bounds the deviation of a feature that does vary."""
    rows = [[0.0], [1e-9]]
    dataset = ModelParameterDataset(parameters(tmp_path / "p", rows), epsilon=1e-3)
    assert dataset.statistics is not None
    assert dataset.statistics.std.tolist() == [1e-3]


def spoil(folder: Path) -> list[str]:
    """Junk, a cut archive, an array that is no archive, NaN, Inf: their names."""
    names = ["a_junk.npz", "b_cut.npz", "c_array.npz", "d_nan.npz", "e_inf.npz"]
    (folder / names[0]).write_bytes(b"junk")
    (folder / names[1]).write_bytes((folder / "model001.npz").read_bytes()[:200])
    np.save(folder / "array.npy", np.zeros(6))
    (folder / "array.npy").rename(folder / names[2])
    for name, value in zip(names[3:], (np.nan, np.inf), strict=True):
        np.savez(folder / name, parameters=np.full(6, value))
    return names


def test_every_file_that_cannot_be_used_is_named(tmp_path: Path, values: Any) -> None:
    """In one error, with what is wrong; nothing poisons the statistics in silence."""
    folder = parameters(tmp_path / "p", values)
    names = spoil(folder)
    with pytest.raises(ValueError, match="5 of 17 files cannot be used") as error:
        ModelParameterDataset(folder)
    assert all(name in str(error.value) for name in names)


def test_files_that_cannot_be_used_may_be_left_out(tmp_path: Path, values: Any) -> None:
    """Those that remain are served, the others are listed."""
    folder = parameters(tmp_path / "p", values)
    names = spoil(folder)
    dataset = ModelParameterDataset(folder, on_corrupt="skip")
    assert len(dataset) == 12
    assert [any(name in problem for problem in dataset.problems) for name in names] == [True] * 5
    assert torch.isfinite(torch.stack(items_of(dataset))).all()


@pytest.mark.parametrize(
    ("rows", "options", "kind", "says"),
    [
        pytest.param(None, {}, FileNotFoundError, "directory not found", id="no folder"),
        pytest.param([], {}, ValueError, "no files ending in .npz", id="no archive"),
        pytest.param([[1.0], [1.0, 2.0]], {}, RuntimeError, "2 features, the files before it have 1", id="two shapes"),
        pytest.param(
            [[1.0]], {"on_corrupt": "guess"}, ValueError, "it must be one of 'raise', 'skip'", id="no such choice"
        ),
        pytest.param([[1.0]], {"fit_on": []}, ValueError, "no file .* is left for statistics", id="no statistics"),
    ],
)
def test_what_parameters_need_is_said(
    tmp_path: Path, rows: Any, options: dict[str, Any], kind: type[Exception], says: str
) -> None:
    """Each lack has its own error at construction."""
    if rows is not None:
        parameters(tmp_path / "p", rows)
    with pytest.raises(kind, match=says):
        ModelParameterDataset(tmp_path / "p", **options)


def test_an_archive_without_parameters_is_named(tmp_path: Path) -> None:
    """At construction where statistics are taken, else at access, with the arrays that it has."""
    np.savez(tmp_path / "x.npz", weights=np.zeros(3))
    with pytest.raises(KeyError, match=r"parameters.*it has weights"):
        ModelParameterDataset(tmp_path)
    dataset = ModelParameterDataset(tmp_path, normalize=False)
    with pytest.raises(KeyError, match="it has weights"):
        dataset[0]


@pytest.mark.parametrize("extensions", [".NPZ", ".bin", (".bin", ".npz")], ids=str)
def test_endings_may_be_one_or_several_in_any_case(tmp_path: Path, values: Any, extensions: Any) -> None:
    """A string is one ending, not as many as it has characters."""
    folder = parameters(tmp_path / "p", values[:2], ".bin" if ".bin" in extensions else ".npz")
    assert len(ModelParameterDataset(folder, file_extensions=extensions)) == 2


def test_an_archive_is_read_once(tmp_path: Path, values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decompressed tensors are kept while they fit; what a caller does to one is not kept."""
    dataset = ModelParameterDataset(parameters(tmp_path / "p", values))
    first = [dataset[i].clone() for i in range(12)]
    dataset[0].zero_()
    reads = []

    def noting(path: Path, key: str) -> Any:
        reads.append(path)
        return read_array(path, key)

    monkeypatch.setattr("dataloader_expert.loaders.layouts.parameters.read_array", noting)
    assert all(torch.equal(dataset[i], first[i]) for i in range(12))
    assert not reads
    small = ModelParameterDataset(tmp_path / "p", normalize=False, cache_bytes=0)
    assert torch.equal(small[0], small[0])
    assert len(reads) == 2


def test_parameters_in_a_loader_are_the_same_with_workers(tmp_path: Path, values: Any) -> None:
    """They pickle, and batches do not depend on workers."""
    dataset = pickle.loads(pickle.dumps(ModelParameterDataset(parameters(tmp_path / "p", values))))
    alone, worked = (torch.cat(list(EpochLoader(dataset, batch_size=4, num_workers=n))) for n in (0, 2))
    assert torch.equal(alone, worked)


# ── embeddings ─────────────────────────────────────────────────────────────────


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Five embeddings of 8 numbers, in folders below, with objects beside them."""
    root = tmp_path / "models"
    for i in range(5):
        folder = root / ("b" if i % 2 else "a") / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        source = np.array(f"model{i}", dtype=object)
        np.savez(folder / f"m{i}_embedding.npz", embedding=np.full((1, 8), i, np.float64), source=source)
    return root


def test_embeddings_are_found_below_and_come_flat(models: Path) -> None:
    """In sorted order, float32, with name and position."""
    dataset = ModelEmbeddingDataset(models)
    assert [dataset[i]["model_name"] for i in range(5)] == [f"m{i}_embedding" for i in (0, 2, 4, 1, 3)]
    assert [dataset[i]["model_index"] for i in range(5)] == list(range(5))
    assert dataset[1]["model_token"].dtype == torch.float32
    assert dataset[1]["model_token"].tolist() == [2.0] * 8
    assert dataset[-1]["model_index"] == 4
    dataset[1]["model_token"].zero_()
    assert dataset[1]["model_token"].tolist() == [2.0] * 8
    assert len(ModelEmbeddingDataset(models, max_models=2)) == 2


def test_embeddings_are_batched_with_their_names(models: Path) -> None:
    """``model_tokens`` [B, D], ``model_names``, ``model_indices``; the same order for the same seed and epoch."""
    loader = build_model_embedding_loader(models, batch_size=3)
    batches = list(loader)
    assert [tuple(b["model_tokens"].shape) for b in batches] == [(3, 8), (2, 8)]
    names = [n for b in batches for n in b["model_names"]]
    assert sorted(names) == [f"m{i}_embedding" for i in range(5)]
    set_epoch(loader, 0)
    assert [n for b in loader for n in b["model_names"]] == names
    assert [n for b in build_model_embedding_loader(models, seed=9) for n in b["model_names"]] != names
    (ordered,) = build_model_embedding_loader(models, shuffle=False)
    assert ordered["model_indices"].tolist() == [0, 1, 2, 3, 4]


def test_embeddings_are_configured_by_a_section_that_is_read_anew(models: Path, tmp_path: Path) -> None:
    """What the file says now holds, not what it said when something was first loaded."""
    ini = tmp_path / "config.ini"
    for count in (2, 3):
        ini.write_text(
            f"[model_embedding_loader]\nroot_dir = {models}\nmax_models = {count}\nbatch_size = 1\nshuffle = False\n",
            encoding="utf-8",
        )
        assert len(ModelEmbeddingDataset(config=ini)) == count
        assert len(build_model_embedding_loader(config=ini)) == count


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [(None, FileNotFoundError, "config file not found"), ("[other]\nroot_dir = x\n", KeyError, "no section.*other")],
    ids=["no file", "no section"],
)
def test_a_section_that_is_missing_is_an_error(tmp_path: Path, text: Any, kind: type[Exception], says: str) -> None:
    """Another section's values are never taken for it."""
    if text is not None:
        (tmp_path / "config.ini").write_text(text, encoding="utf-8")
    with pytest.raises(kind, match=says):
        section(tmp_path / "config.ini", "model_embedding_loader")


def test_what_embeddings_need_is_said(models: Path, tmp_path: Path) -> None:
    """Folder, archives, the array's name."""
    with pytest.raises(FileNotFoundError, match="directory not found"):
        ModelEmbeddingDataset(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"no files ending in \.npz"):
        ModelEmbeddingDataset(tmp_path / "empty")
    dataset = ModelEmbeddingDataset(models, embedding_key="vector")
    with pytest.raises(KeyError, match="'vector'; it has embedding, source"):
        dataset[0]


# ── token features ─────────────────────────────────────────────────────────────


def shard(path: Path, real: int, padded: int = 4, classes: int = 3, dim: int = 2, start: int = 1, **more: Any) -> None:
    """A shard of ``padded`` batches of which ``real`` are so; real features are positive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    features = np.zeros((padded, classes, dim))
    features[:real] = np.arange(start, start + real)[:, None, None]
    ids = np.full((padded, classes), -1)
    ids[:real] = np.arange(classes)
    names = np.empty(classes, object)
    names[:] = [f"class {i % 2}" for i in range(classes)]
    counts = {"actual_batches": np.array([real], np.int32), "target_batches": np.array([padded], np.int32)}
    given = {"features": features, "class_ids": ids, "class_names": names, **counts, **more}
    np.savez(path, **{name: value for name, value in given.items() if value is not None})


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """Two data sets; one has train of two shards and val of one, the other train alone."""
    root = tmp_path / "tokens"
    shard(root / "birds" / "train" / "train_clip_00000.npz", 4)
    shard(root / "birds" / "train" / "train_clip_00001.npz", 1, start=5)
    shard(root / "birds" / "validation" / "validation_clip_00000.npz", 2)
    shard(root / "cars" / "train" / "train_clip_00000.npz", 3)
    return root


def test_padding_is_never_served(tokens: Path) -> None:
    """A shard has the batches that it says are real, and no zeros behind them."""
    dataset = DatasetTokenDataset(tokens)
    assert [(d["dataset_name"], d["split"], len(d["dataset_tokens"])) for d in items_of(dataset)] == [
        ("birds", "train", 4),
        ("birds", "train", 1),
        ("birds", "validation", 2),
        ("cars", "train", 3),
    ]
    for item in items_of(dataset):
        assert item["dataset_tokens"].dtype == torch.float32
        assert (item["dataset_tokens"] > 0).all()
        assert item["class_ids"].tolist() == [[0, 1, 2]] * len(item["dataset_tokens"])
        assert item["class_names"] == ["class 0", "class 1", "class 0"]


def test_no_batch_of_a_long_shard_is_left_out(tmp_path: Path) -> None:
    """20 batches are 20, unless fewer are asked for."""
    shard(tmp_path / "birds" / "train" / "a.npz", 20, padded=24)
    assert len(DatasetTokenDataset(tmp_path)[0]["dataset_tokens"]) == 20
    assert len(DatasetTokenDataset(tmp_path, max_batches=16)[0]["dataset_tokens"]) == 16


def test_splits_data_sets_and_shards_are_chosen(tokens: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In the order asked for; a name that is not there is left out and named in the log."""

    def found(**asked: Any) -> list[str]:
        return ["/".join(p.relative_to(tokens).parts[:2]) for _, _, p in DatasetTokenDataset(tokens, **asked).shards]

    assert found(splits=["validation", "train"], dataset_names=["birds"]) == ["birds/validation", *["birds/train"] * 2]
    assert found(max_shards=1) == ["birds/train", "birds/validation", "cars/train"]
    assert found(shard_glob="*1.npz") == ["birds/train"]
    assert not caplog.records
    assert found(dataset_names=["cars", "planes"]) == ["cars/train"]
    assert "the data sets planes are not in" in caplog.text


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"splits": ["test"]}, r"splits \['test'\]; there are birds, cars"), ({"dataset_names": ["planes"]}, "planes")],
    ids=["split", "name"],
)
def test_no_shard_is_an_error_that_says_what_there_is(tokens: Path, asked: dict[str, Any], says: str) -> None:
    """And a folder that is missing is another."""
    with pytest.raises(ValueError, match=says):
        DatasetTokenDataset(tokens, **asked)
    with pytest.raises(FileNotFoundError, match="directory not found"):
        DatasetTokenDataset(tokens / "none")


def test_a_shard_without_classes_is_served(tmp_path: Path) -> None:
    """Ids, names and counts are None or whole where the shard has none; flat features are refused."""
    shard(tmp_path / "a" / "train" / "0.npz", 4, class_ids=None, class_names=None, actual_batches=None)
    shard(tmp_path / "a" / "train" / "1.npz", 4, features=np.zeros((4, 3)))
    dataset = DatasetTokenDataset(tmp_path)
    assert (dataset[0]["class_ids"], dataset[0]["class_names"]) == (None, None)
    assert len(dataset[0]["dataset_tokens"]) == 4
    with pytest.raises(ValueError, match="2 dimensions, expected batches, classes, D"):
        dataset[1]


def test_a_token_loader_gives_a_shard_at_a_time(tokens: Path, tmp_path: Path) -> None:
    """Without a leading batch axis; shuffled by seed and epoch; as a section says."""
    loader = build_dataset_token_loader(tokens, shuffle=False)
    assert [tuple(i["dataset_tokens"].shape) for i in loader] == [(4, 3, 2), (1, 3, 2), (2, 3, 2), (3, 3, 2)]
    orders = [[len(i["dataset_tokens"]) for i in build_dataset_token_loader(tokens, seed=s)] for s in (1, 1, 2, 3, 4)]
    assert orders[0] == orders[1]
    assert len({tuple(o) for o in orders}) > 1
    (tmp_path / "config.ini").write_text(
        f"[dataset_token_loader]\nroot_dir = {tokens}\nsplits = ['train']\nmax_shards = 1\nbatch_size = 1\n",
        encoding="utf-8",
    )
    assert len(build_dataset_token_loader(config=tmp_path / "config.ini")) == 2


def test_a_token_loader_pickles_for_workers(tokens: Path) -> None:
    """Dataset and collate function are found by name, whatever the start method."""
    loader = build_dataset_token_loader(tokens, shuffle=False, num_workers=2)
    assert pickle.loads(pickle.dumps(loader.collate_fn)) is loader.collate_fn
    assert len(pickle.loads(pickle.dumps(loader.dataset))) == 4
    assert [len(i["dataset_tokens"]) for i in loader] == [4, 1, 2, 3]


@pytest.mark.parametrize("strings", [["a", "b", "a"], ["x"], [], ["same"] * 5, ["é", "", "日本"]], ids=str)
def test_strings_are_read_from_pickled_arrays_without_unpickling(tmp_path: Path, strings: list[str]) -> None:
    """Whether an archive holds them as text or as Python objects."""
    objects = np.empty(len(strings), object)
    objects[:] = strings
    np.savez(tmp_path / "s.npz", objects=objects, text=np.array(strings, str), numbers=np.zeros(2))
    assert read_strings(tmp_path / "s.npz", "objects") == strings
    assert read_strings(tmp_path / "s.npz", "text") == strings
    assert read_strings(tmp_path / "s.npz", "none") is None


def test_a_pickled_array_is_never_run(tmp_path: Path) -> None:
    """An archive from elsewhere may hold code: nothing in it is called, and no strings come of it."""
    touched = tmp_path / "touched"
    objects = np.empty(2, object)
    objects[:] = [Touch(touched), "name"]
    np.savez(tmp_path / "s.npz", class_names=objects, parameters=objects)
    assert read_strings(tmp_path / "s.npz", "class_names") in (None, [])
    with pytest.raises(ValueError, match="could not be read"):
        read_array(tmp_path / "s.npz", "parameters")
    assert not touched.exists()


def test_numbers_of_a_section_are_numbers(tmp_path: Path) -> None:
    """Python literals where they are some, text where not."""
    (tmp_path / "c.ini").write_text("[s]\na = 3\nb = ['x', 'y']\nc = plain text\nd = None\n", encoding="utf-8")
    assert section(tmp_path / "c.ini", "s") == {"a": 3, "b": ["x", "y"], "c": "plain text", "d": None}


# ── images of Hugging Face ─────────────────────────────────────────────────────


def photos(labels: list[Any], feature: Any = None, column: str = "label", mode: str = "RGB") -> datasets.Dataset:
    """Images, each of one brightness, with these labels."""
    kind = feature or datasets.ClassLabel(names=["cat", "dog", "owl"])
    images = [Image.new(mode, (5, 4), 10 * i) for i in range(len(labels))]
    features = datasets.Features({"id": datasets.Value("string"), "picture": datasets.Image(), column: kind})
    rows = {"id": [f"i{i}" for i in range(len(labels))], "picture": images, column: labels}
    return datasets.Dataset.from_dict(rows, features=features)


def test_images_come_as_tensors_with_class_indices() -> None:
    """RGB float32 [3, h, w] in [0, 1], whatever the stored mode; the columns are found."""
    dataset = GenericImageDataset(photos([2, 0, 1, 0], mode="L"))
    image, label = dataset[1]
    assert image.shape == (3, 4, 5)
    assert image.dtype == torch.float32
    assert image.unique().tolist() == [pytest.approx(10 / 255)]
    assert (label, dataset.labels) == (0, [2, 0, 1, 0])
    assert dataset.class_names == dataset.label_names == ["cat", "dog", "owl"]
    assert dataset[-1][1] == 0
    with pytest.raises(IndexError):
        dataset[4]


def test_a_transform_gets_an_rgb_image() -> None:
    """Of Pillow, and what it returns is what comes."""
    dataset = GenericImageDataset(photos([0, 1], mode="L"), transform=lambda image: (image.mode, image.size))
    assert dataset[0][0] == ("RGB", (5, 4))


@pytest.mark.parametrize(
    ("labels", "kind", "names", "codes"),
    [
        pytest.param([5, 9, 5], "int64", ["5", "9"], [0, 1, 0], id="integers with gaps"),
        pytest.param(["owl", "ant", "owl"], "string", ["ant", "owl"], [1, 0, 1], id="strings"),
        pytest.param([True, False, True], "bool", ["False", "True"], [1, 0, 1], id="booleans"),
    ],
)
def test_labels_are_counted_through(labels: list[Any], kind: str, names: list[str], codes: list[int]) -> None:
    """``num_classes`` classes, labels below it, in the list as in the items."""
    dataset = GenericImageDataset(photos(labels, datasets.Value(kind)))
    assert (dataset.class_names, dataset.labels) == (names, codes)
    assert [dataset[i][1] for i in range(3)] == codes
    assert max(codes) < dataset.num_classes == 2


def test_hidden_labels_stay_hidden() -> None:
    """Test splits hold -1, or nothing, where the class is not told."""
    dataset = GenericImageDataset(photos([-1, 2, None]))
    assert dataset.labels == [-1, 2, -1]
    assert dataset[0][1] == -1
    assert dataset.num_classes == 3


def test_columns_are_found_by_kind_or_named() -> None:
    """The first class labels, else the first integers, else ``label``; what is not there is said."""
    assert GenericImageDataset(photos([1], column="species")).label_column == "species"
    assert GenericImageDataset(photos([1], datasets.Value("int32"), "number")).label_column == "number"
    assert GenericImageDataset(photos(["a"], datasets.Value("string"), "label")).label_column == "label"
    chosen = GenericImageDataset(photos([1]), image_column="picture", label_column="id")
    assert chosen.class_names == ["i0"]
    wrong: list[dict[str, Any]] = [{"image_column": "photo"}, {"label_column": "kind"}]
    for missing in wrong:
        with pytest.raises(KeyError, match="the columns are id, picture, label"):
            GenericImageDataset(photos([1]), **missing)
    with pytest.raises(KeyError, match="no label column"):
        GenericImageDataset(photos(["a"], datasets.Value("string"), "name"))


def test_only_a_split_with_images_will_do() -> None:
    """A dictionary of splits, a list, or nothing at all is refused."""
    for given in (datasets.DatasetDict({"train": photos([0])}), [1, 2]):
        with pytest.raises(TypeError, match=r"a datasets\.Dataset is needed"):
            GenericImageDataset(given)
    with pytest.raises(ValueError, match="empty"):
        GenericImageDataset(photos([0]).select([]))


def test_balanced_batches_hold_every_class() -> None:
    """One sample a class, in sorted order; by default an epoch ends with the rarest class."""
    labels = [0] * 6 + [1] * 3 + [2] * 4
    loader = GenericBalancedDataLoader(GenericImageDataset(photos(labels)), seed=1)
    batches = [labels.tolist() for _, labels in loader]
    assert batches == [[0, 1, 2]] * 3
    assert (loader.num_classes, loader.class_names) == (3, ["cat", "dog", "owl"])
    assert loader.balanced_sampler is loader.batch_sampler is loader.sampler_obj
    assert (ImageNetDataset, ImageNetBalancedDataLoader) == (GenericImageDataset, GenericBalancedDataLoader)


def test_the_balanced_loader_shows_its_arguments() -> None:
    """Our promise: what is checked or changed before torch sees it stands in the signature."""
    named = {"num_workers", "pin_memory", "persistent_workers", "prefetch_factor"}
    assert named <= inspect.signature(GenericBalancedDataLoader).parameters.keys()


def brightness(loader: Any) -> list[int]:
    """Which samples a pass brought, by their brightness."""
    return [round(float(image[0, 0, 0]) * 25.5) for images, _ in loader for image in images]


def test_a_rare_class_is_repeated_evenly_and_no_sample_is_left_out() -> None:
    """``drop_last=False``: all samples come, and none of a class comes twice more than another of it."""
    labels = [0] * 11 + [1] * 4
    dataset = GenericImageDataset(photos(labels, datasets.ClassLabel(names=["cat", "dog"])))
    seen = Counter(brightness(GenericBalancedDataLoader(dataset, drop_last=False, seed=3)))
    assert sorted(seen) == list(range(15))
    assert {seen[i] for i in range(11)} == {1}
    assert sorted(seen[i] for i in range(11, 15)) == [2, 3, 3, 3]


def test_a_balanced_order_follows_from_seed_and_epoch() -> None:
    """With workers too, and another epoch is another order."""
    dataset = GenericImageDataset(photos([0, 1, 2] * 5))
    loader = GenericBalancedDataLoader(dataset, seed=3)
    first = brightness(loader)
    set_epoch(loader, 0)
    assert brightness(loader) == first
    assert brightness(GenericBalancedDataLoader(dataset, seed=3, num_workers=2, persistent_workers=True)) == first
    set_epoch(loader, 1)
    assert brightness(loader) != first


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor], ids=["list", "array", "tensor"])
def test_labels_may_be_a_list_an_array_or_a_tensor(kind: Any) -> None:
    """Anything with ``labels``, ``num_classes`` and ``class_names`` can be balanced."""

    class Own(torch.utils.data.TensorDataset):
        labels = kind([0, 1, 1, 0])
        num_classes, class_names = 2, ("a", "b")

    loader = GenericBalancedDataLoader(Own(torch.arange(4)), seed=0)
    assert [sorted((b[0] % 3 != 0).tolist()) for b in loader] == [[False, True]] * 2


def test_arguments_that_a_balanced_loader_cannot_use_are_named(caplog: pytest.LogCaptureFixture) -> None:
    """A batch size is not dropped in silence; what ``DataLoader`` takes otherwise is passed on."""
    dataset = GenericImageDataset(photos([0, 1, 2]))
    GenericBalancedDataLoader(dataset)
    assert not caplog.records
    loader = GenericBalancedDataLoader(dataset, batch_size=32, collate_fn=len)
    assert "batch_size ignored" in caplog.text
    assert list(loader) == [3]
