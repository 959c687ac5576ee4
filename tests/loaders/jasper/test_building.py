"""A whole data set from CSV files, a clustering and a model; or nothing at all."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from dataloader_expert.loaders.jasper import (
    BuildConfig,
    DatasetFinalizer,
    _csv_origin_split,
    build_dataset,
    generate_embeddings,
    parse_clusters,
)
from tests.loaders.jasper.parts import Embedder, clustering, table

LOGGER = "dataloader_expert.loaders.jasper"
WORDS = ["cat", "dog", "oak", "elm", "sea", "tide"]
FILES = {*DatasetFinalizer.REQUIRED_PT_FILES, "config.json"}


def csv_file(path: Path, questions: range, keywords: bool = True) -> Path:
    """A pair per question, of six sources; keywords of the three clusters in turn."""
    words = [WORDS[q % 6] if keywords else "" for q in questions]
    rows = [
        {"question": f"q{q:02}", "source": f"s{q % 6}", "keywords": w} for q, w in zip(questions, words, strict=True)
    ]
    return table(path, rows)


def built(folder: Path, questions: int = 18, **changes: Any) -> BuildConfig:
    arguments = {"embedding_model": Embedder(), "output_dir": folder / "out", "n_neg": 4, **changes}
    if "csv_paths" not in changes:
        halves = csv_file(folder / "a.csv", range(questions // 2)), csv_file(folder / "b.csv", range(questions))
        arguments["csv_paths"] = list(halves)
    if "cluster_json_path" not in changes:
        arguments["cluster_json_path"] = clustering(folder / "clusters.json")
    return build_dataset(**arguments)


def loaded(folder: Path, name: str) -> Any:
    return torch.load(folder / "out" / f"{name}.pt", weights_only=True)


def left(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()} - {"a.csv", "b.csv", "c.csv", "clusters.json"}


def test_a_build_makes_all_files_and_counts_them(tmp_path: Path) -> None:
    """The original's promise; a config of some fields is completed from the arguments."""
    config = {"split_ratios": [0.6, 0.2, 0.2], "include_inspection_file": True, "random_seed": 123}
    made = built(tmp_path, config=config)
    assert {p.name for p in (tmp_path / "out").iterdir()} == FILES | {"inspection.json"}
    assert left(tmp_path) == {"out"}
    assert (made.n_pairs, made.n_questions, made.n_sources, made.n_keywords, made.n_clusters) == (18, 18, 6, 6, 3)
    assert (made.embedding_dim, made.n_neg, made.random_seed) == (4, 4, 123)
    assert BuildConfig.load(tmp_path / "out" / "config.json") == made
    assert made.clustering_source == str(tmp_path / "clusters.json")
    sizes = [len(loaded(tmp_path, f"{split}_idx")) for split in ("train", "val", "test")]
    assert sorted(sizes) == [3, 4, 11]
    assert json.loads((tmp_path / "out" / "inspection.json").read_text())["metadata"]["n_pairs"] == 18


def test_rows_of_all_files_mean_the_same_text(tmp_path: Path) -> None:
    """The original's promise: embeddings in order of appearance, pairs by row, keywords by sorted vocabulary."""
    model = Embedder()
    built(tmp_path, embedding_model=model)
    index = loaded(tmp_path, "pair_index")
    assert model.asked == [*(f"q{q:02}" for q in range(18)), *(f"s{s}" for s in range(6))]
    assert index.tolist() == [[q, q % 6] for q in range(18)]
    expected = torch.from_numpy(Embedder().encode(["q07"])[0]).float()
    assert torch.equal(loaded(tmp_path, "question_embs")[7], expected)
    vocabulary = sorted(WORDS)
    assert loaded(tmp_path, "pair_keyword_ids") == [[vocabulary.index(WORDS[q % 6])] for q in range(18)]
    assert loaded(tmp_path, "pair_cluster_id").tolist() == [q % 6 // 2 for q in range(18)]
    assert loaded(tmp_path, "centroid_embs").tolist() == np.eye(3, 4).tolist()


def test_a_configuration_that_is_given_is_completed_and_returned(tmp_path: Path) -> None:
    """The original's promise: the same object, its own values before those of the arguments."""
    given = BuildConfig(1, 3, "other", split_ratios=[0.7, 0.2, 0.1], random_seed=7, tier_proportions=[0, 1, 1, 1])
    assert built(tmp_path, config=given, n_neg=5, random_seed=1) is given
    assert (given.embedding_dim, given.n_neg, given.random_seed) == (4, 3, 7)
    assert given.clustering_source == str(tmp_path / "clusters.json")
    assert BuildConfig.load(tmp_path / "out" / "config.json") == given
    assert not (loaded(tmp_path, "negative_tiers") == 1).any()


def test_the_same_arguments_build_the_same_files(tmp_path: Path) -> None:
    """Our promise: byte for byte, whatever the global generators are at."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        built(tmp_path / name, cluster_json_path=clustering(tmp_path / "clusters.json"))
        torch.rand(3)
    for name in FILES:
        assert (tmp_path / "one" / "out" / name).read_bytes() == (tmp_path / "two" / "out" / name).read_bytes()


@pytest.mark.parametrize("tested", [False, True])
def test_splits_may_come_from_files(tmp_path: Path, tested: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The original's promise; ours that ids are those of one table, and that test files may be missing."""
    ranges = {"train": range(12), "val": range(12, 18), **({"test": range(16, 20)} if tested else {})}
    splits = {split: [csv_file(tmp_path / f"{split}.csv", own)] for split, own in ranges.items()}
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        made = built(tmp_path, csv_paths=[], csv_splits=splits)
    assert made.csv_splits == {split: [str(path) for path in paths] for split, paths in splits.items()}
    assert (made.n_pairs, made.n_questions, made.n_sources) == ((22, 20, 6) if tested else (18, 18, 6))
    index = loaded(tmp_path, "pair_index").tolist()
    for split, own in ranges.items():
        assert [index[row] for row in loaded(tmp_path, f"{split}_idx").tolist()] == [[q, q % 6] for q in own]
    assert tested or loaded(tmp_path, "test_idx").tolist() == []
    # source 4 has its pairs of clusters 2, all of one source's pairs count, whichever file they are from
    own = loaded(tmp_path, "negative_tiers") == 1
    negatives = loaded(tmp_path, "hard_negatives")
    clusters = loaded(tmp_path, "pair_cluster_id")[:, None].expand_as(negatives)
    assert (negatives[own] // 2 == clusters[own]).all()
    assert not caplog.records


def test_questions_shared_by_training_and_validation_files_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Our promise: splits by files may leak, and then the log says so."""
    splits = {"train": [csv_file(tmp_path / "a.csv", range(12))], "val": [csv_file(tmp_path / "b.csv", range(10, 14))]}
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        built(tmp_path, csv_paths=[], csv_splits=splits)
    assert "2 questions of train are in val or test" in caplog.text


def test_files_of_splits_win_over_other_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The original's promise: a warning, and on with the splits."""
    splits = {"train": [csv_file(tmp_path / "c.csv", range(6))], "val": [csv_file(tmp_path / "d.csv", range(6, 9))]}
    with caplog.at_level(logging.WARNING, logger=LOGGER):
        made = built(tmp_path, csv_splits=splits)
    assert "csv_paths will be ignored" in caplog.text
    assert made.n_pairs == 9


def test_a_data_set_without_test_split_has_an_empty_one(tmp_path: Path) -> None:
    """Our promise: the original's build failed at its last step."""
    built(tmp_path, split_ratios=(0.8, 0.2, 0.0))
    assert loaded(tmp_path, "test_idx").tolist() == []
    assert len(loaded(tmp_path, "train_idx")) + len(loaded(tmp_path, "val_idx")) == 18


def test_tables_and_clusterings_without_embedded_keywords_build(tmp_path: Path) -> None:
    """The original's promise: the model embeds the vocabulary; rows may have no keywords, or be left out for that."""
    bare = clustering(tmp_path / "clusters.json", embeddings={})
    model = Embedder()
    paths = [csv_file(tmp_path / "a.csv", range(12)), csv_file(tmp_path / "b.csv", range(12, 18), keywords=False)]
    made = built(tmp_path, csv_paths=paths, cluster_json_path=bare, embedding_model=model)
    assert (made.n_pairs, made.n_keywords) == (18, 6)
    assert set(WORDS) <= set(model.asked)
    assert loaded(tmp_path, "pair_keyword_ids")[12:] == [[]] * 6
    fewer = built(tmp_path, csv_paths=paths, cluster_json_path=bare, skip_rows_without_keywords=True)
    assert (fewer.n_pairs, fewer.n_questions) == (12, 12)


class Fails:
    """A model that is not there after all."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no model")


def test_a_failed_build_leaves_no_directory_and_an_older_one_as_it_was(tmp_path: Path) -> None:
    """Our promise: the original left half a data set; the caller's configuration is as it was, too."""
    given = BuildConfig(1, 4, "c")
    with pytest.raises(ConnectionError):
        built(tmp_path, embedding_model=Fails(), config=given)
    assert left(tmp_path) == set()
    assert given == BuildConfig(1, 4, "c")
    built(tmp_path, config={"include_inspection_file": True})
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    with pytest.raises(ValueError, match="cannot fill 3 splits"):
        built(tmp_path, csv_paths=[csv_file(tmp_path / "c.csv", range(2))])
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before
    assert left(tmp_path) == {"out"}


def test_a_new_build_replaces_the_older_and_leaves_other_files(tmp_path: Path) -> None:
    """Our promise: of the older build nothing is mixed in, notes beside it stay."""
    built(tmp_path, config={"include_inspection_file": True})
    (tmp_path / "out" / "notes").mkdir()
    (tmp_path / "out" / "notes" / "a.txt").write_text("kept")
    made = built(tmp_path, questions=12)
    assert made.n_pairs == len(loaded(tmp_path, "pair_index")) == 12
    assert {p.name for p in (tmp_path / "out").iterdir()} == FILES | {"notes"}
    assert (tmp_path / "out" / "notes" / "a.txt").read_text() == "kept"


Case = Callable[[Path], Any]
REFUSES: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no-files": ({"csv_paths": []}, ValueError, "Either csv_paths or csv_splits"),
    "no-val": ({"csv_paths": [], "csv_splits": {"train": ["a.csv"]}}, ValueError, "csv_splits is missing files of val"),
    "odd-split": (
        {"csv_paths": [], "csv_splits": {"train": ["a"], "val": ["b"], "dev": ["c"]}},
        ValueError,
        "csv_splits has dev",
    ),
    "hdf5": ({"storage_format": "hdf5"}, NotImplementedError, "storage_format='pt' only.*convert_pt_to_hdf5"),
    "hdf5-in-config": ({"config": {"storage_format": "hdf5"}}, NotImplementedError, "storage_format='pt' only"),
    "tiers": ({"tier_proportions": [1, 1, 1, 1]}, ValueError, "must sum to n_neg"),
    "ratios": ({"split_ratios": (0.5, 0.5, 0.5)}, ValueError, "split_ratios must sum to 1.0"),
    "aliases": ({"column_aliases": {"title": ["x"]}}, ValueError, "column_aliases has title"),
}


@pytest.mark.parametrize(("changes", "error", "says"), REFUSES.values(), ids=REFUSES.keys())
def test_arguments_are_refused_before_anything_is_read_or_made(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], says: str
) -> None:
    """The original's promise; ours that no directory is left."""
    arguments: dict[str, Any] = {"csv_paths": ["none.csv"], "cluster_json_path": "none.json", "embedding_model": None}
    with pytest.raises(error, match=says):
        build_dataset(**{**arguments, "output_dir": tmp_path / "out", **changes})
    assert left(tmp_path) == set()


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    """Our promise: it is not replaced by a folder."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(NotADirectoryError, match="out is a file"):
        built(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        built(tmp_path, csv_paths=[tmp_path / "none.csv"], output_dir=tmp_path / "other")
    with pytest.raises(ValueError, match="no row has keywords"):
        bare = csv_file(tmp_path / "c.csv", range(9), keywords=False)
        built(tmp_path, csv_paths=[bare], output_dir=tmp_path / "other", skip_rows_without_keywords=True)
    assert left(tmp_path) == {"out"}


def tagged(tags: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"question": [f"q{i}" for i in range(len(tags))], "_split_tag": tags})


def test_rows_are_split_by_their_tags(tmp_path: Path) -> None:
    """The original's promise: ascending positions, saved and returned, all of them, none twice."""
    split = _csv_origin_split(linked_df=tagged(["train", "val", "train", "test", "val"]), output_dir=tmp_path)
    assert {name: rows.tolist() for name, rows in split.items()} == {
        "train_idx": [0, 2],
        "val_idx": [1, 4],
        "test_idx": [3],
    }
    for name, rows in split.items():
        assert rows.dtype == torch.int64
        assert torch.equal(torch.load(tmp_path / f"{name}.pt"), rows)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.DataFrame({"question": ["q"]}), "no column _split_tag"),
        (tagged([]), "table is empty"),
        (tagged(["train", "../val"]), r"'\.\./val'"),
    ],
    ids=["no-tags", "empty", "path"],
)
def test_rows_that_cannot_be_split_by_tags_are_refused(tmp_path: Path, frame: pd.DataFrame, says: str) -> None:
    """The original's promise; ours that a tag is no path."""
    with pytest.raises(ValueError, match=says):
        _csv_origin_split(linked_df=frame, output_dir=tmp_path)
    assert left(tmp_path) == set()


FRAME = pd.DataFrame(
    {"question": ["a", "b", "a"], "source": ["x", "y", "y"], "keywords": [["Cat"], [], ["cat ", "dog"]]}
)


class LangChain:
    """A model as in LangChain, which is asked before one as in sentence-transformers."""

    def __init__(self, rows: list[float] | None = None) -> None:
        self.row = rows or [3.0, 0.0, 4.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.row for _ in texts]

    def encode(self, texts: list[str]) -> None:
        raise AssertionError("asked second")


def test_every_text_is_embedded_once_and_without_clusters_keywords_are_the_tables(tmp_path: Path) -> None:
    """The original's promise."""
    made = generate_embeddings(FRAME, LangChain(), output_dir=tmp_path, normalize_embeddings=True)
    assert (made["question_to_id"], made["source_to_id"]) == ({"a": 0, "b": 1}, {"x": 0, "y": 1})
    assert made["keyword_to_id"] == {"cat": 0, "dog": 1}
    assert made["centroid_embs"] is None
    assert made["question_embs"].tolist() == [[pytest.approx(0.6), 0, pytest.approx(0.8), 0]] * 2
    assert {p.name for p in tmp_path.iterdir()} == {"question_embs.pt", "source_embs.pt", "keyword_embs.pt"}


def test_without_keywords_their_embeddings_have_no_rows(tmp_path: Path) -> None:
    """Our promise: or an error, if that is asked for."""
    bare = FRAME.assign(keywords=[[], [], []])
    assert generate_embeddings(bare, LangChain())["keyword_embs"].shape == (0, 4)
    with pytest.raises(ValueError, match="there are no keywords"):
        generate_embeddings(bare, LangChain(), on_empty_keywords="raise")


@pytest.mark.parametrize(
    ("model", "error", "says"),
    [
        (object(), TypeError, "needs a method embed_documents or encode"),
        (LangChain([0.0] * 4), ValueError, "question_embs has 2 rows of zeros"),
        (LangChain([float("nan")] * 4), ValueError, "question_embs contains NaN"),
        (LangChain([1.0] * 5), ValueError, "embeddings differ in width"),
    ],
    ids=["no-model", "zeros", "nan", "width"],
)
def test_embeddings_that_are_of_no_use_are_refused(
    tmp_path: Path, model: object, error: type[Exception], says: str
) -> None:
    """The original's promise."""
    with pytest.raises(error, match=says):
        generate_embeddings(FRAME, model, parse_clusters(clustering(tmp_path / "c.json")), tmp_path / "out")
    assert {p.name for p in tmp_path.rglob("*.pt")} == set()


def test_odd_requests_for_embeddings_are_refused() -> None:
    """Our promise: an empty table, an unknown choice, a model that loses a text."""
    with pytest.raises(ValueError, match="has no rows"):
        generate_embeddings(FRAME[:0], LangChain())
    with pytest.raises(ValueError, match="on_empty_keywords is 'skip'"):
        generate_embeddings(FRAME, LangChain(), on_empty_keywords="skip")

    class Loses(LangChain):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[1:]

    with pytest.raises(ValueError, match="one row per text is needed"):
        generate_embeddings(FRAME, Loses())
