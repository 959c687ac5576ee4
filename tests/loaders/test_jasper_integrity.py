"""Every fault that can be planted in a JASPER directory is refused when it is opened, with tensor and row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dataloader_expert.loaders import JASPERSteeringDataset
from tests.making import jasper


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return jasper.make(tmp_path / "jasper")


@pytest.mark.parametrize("fault", jasper.FAULTS)
def test_a_fault_is_refused_at_open(folder: Path, fault: str) -> None:
    """The error says what is wrong and where; nothing waits for the first item."""
    says = jasper.plant(folder, fault).says
    with pytest.raises(ValueError, match=str(says)):
        JASPERSteeringDataset(folder, "train")


@pytest.mark.parametrize(
    ("sizes", "file", "place", "value", "says"),
    [
        ((500, 400), "pair_index", (3, 1), 500, "pair_index references source 500, but only 400 sources exist"),
        ((500, 400), "pair_index", (3, 0), 501, "pair_index references question 501, but only 500 questions exist"),
        ((500, 400), "hard_negatives", (3, 1), 400, "hard_negatives references source 400, but only 400 sources exist"),
        ((500, 400), "question_embs", (3, 1), float("nan"), "NaN detected in question_emb"),
        ((500, 400), "train_idx", 3, 999, "Split indices reference pair 999, but only 120 pairs exist"),
    ],
)
def test_messages_name_what_they_have_always_named(
    tmp_path: Path, sizes: tuple[int, int], file: str, place: Any, value: float, says: str
) -> None:
    """Sentences that scripts look for, word by word."""
    what = jasper.contents()
    what["question_embs"] = torch.randn(sizes[0], jasper.DIM)
    what["source_embs"] = torch.randn(sizes[1], jasper.DIM)
    what[file][place] = value
    with pytest.raises(ValueError) as error:
        JASPERSteeringDataset(jasper.make(tmp_path / "jasper", what), "train")
    assert says in str(error.value)


@pytest.mark.parametrize("split", ["val", "test"])
def test_splits_that_overlap_are_refused(folder: Path, split: str) -> None:
    """Train on a pair that is validated on: named from either side."""
    rows = jasper.stored(folder, f"{split}_idx")
    shared = int(jasper.stored(folder, "train_idx")[7])
    rows[2] = shared
    jasper.rewrite(folder, **{f"{split}_idx": rows})
    for opened in ("train", split):
        with pytest.raises(ValueError, match=rf"splits .* overlap in 1 pairs, the first is {shared}"):
            JASPERSteeringDataset(folder, opened)  # type: ignore[arg-type]  # a name of the loop


def test_a_broken_split_is_told_to_those_who_open_it(folder: Path) -> None:
    """``train`` opens though the rows of ``test`` are missing or none."""
    jasper.rewrite(folder, test_idx=torch.rand(3))
    (folder / "val_idx.pt").unlink()
    assert len(JASPERSteeringDataset(folder, "train")) == 80
    for split in ("val", "test"):
        with pytest.raises(ValueError, match=r"val_idx.pt|test_idx.pt"):
            JASPERSteeringDataset(folder, split)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8], ids=str)
@pytest.mark.parametrize("file", ["pair_index", "pair_cluster_id", "hard_negatives", "negative_tiers", "train_idx"])
def test_narrow_integers_are_accepted_as_int64(folder: Path, file: str, dtype: torch.dtype) -> None:
    """A miner that saved int32 is no fault; batches are int64 all the same."""
    before = JASPERSteeringDataset(folder, "train").__getitems__(range(80)).batch
    jasper.rewrite(folder, **{file: jasper.stored(folder, file).to(dtype)})
    after = JASPERSteeringDataset(folder, "train").__getitems__(range(80)).batch
    for name, values in before.items():
        assert after[name].dtype == values.dtype
        assert torch.equal(after[name], values)


def test_a_negative_that_is_the_positive_is_warned_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Legal where there is one source only, so it opens, and the log counts them."""
    negatives = jasper.stored(folder, "hard_negatives")
    negatives[[2, 5], 1] = jasper.stored(folder, "pair_index")[[2, 5], 1]
    jasper.rewrite(folder, hard_negatives=negatives)
    JASPERSteeringDataset(folder, "train")
    assert "2 of 120 pairs have their own source among their hard negatives" in caplog.text


def test_an_empty_split_opens_with_no_samples(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is no crash, and the log says so."""
    jasper.rewrite(folder, test_idx=torch.zeros(0, dtype=torch.int64))
    assert len(JASPERSteeringDataset(folder, "test")) == 0
    assert "split test is empty" in caplog.text


def test_no_keywords_are_no_fault(tmp_path: Path) -> None:
    """A builder without keywords writes [0, D] and empty lists."""
    what = jasper.contents()
    what |= {"keyword_embs": torch.zeros(0, jasper.DIM), "pair_keyword_ids": [[]] * jasper.PAIRS}
    assert len(JASPERSteeringDataset(jasper.make(tmp_path / "jasper", what), "train")) == 80


def test_rounding_is_no_fault(folder: Path) -> None:
    """Cosines come out as 2.0000005 and 1.0000001."""
    distances, relevance = jasper.stored(folder, "centroid_distances"), jasper.stored(folder, "pair_relevance")
    distances[0], relevance[0], relevance[1] = 2.0000005, 1.0000001, -1e-7
    jasper.rewrite(folder, centroid_distances=distances, pair_relevance=relevance)
    assert len(JASPERSteeringDataset(folder, "train")) == 80


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        pytest.param({"embedding_dim": 16}, ValueError, "dimension 8, but embedding_dim is 16", id="another dimension"),
        pytest.param({"n_neg": 5}, ValueError, "has 3 per pair, but n_neg is 5", id="another number of negatives"),
        pytest.param({"embedding_dim": None}, KeyError, "embedding_dim", id="no dimension"),
        pytest.param({"n_neg": None}, KeyError, "n_neg", id="no number of negatives"),
        pytest.param({"steering_probabilities": None}, KeyError, "steering_probabilities", id="no probabilities"),
        pytest.param(
            {"steering_probabilities": {**jasper.UNIFORM, "zero": 0.5}}, ValueError, "sum to 1", id="sum above 1"
        ),
        pytest.param(
            {"steering_probabilities": {**jasper.UNIFORM, "zero": -0.25, "keyword": 0.75}},
            ValueError,
            r"must be in \[0, 1\]",
            id="a negative probability",
        ),
        pytest.param({"steering_probabilities": {"zero": 1.0}}, ValueError, "must have keys zero", id="keys missing"),
        pytest.param({"curriculum": {"mode": "steps"}}, ValueError, "fixed, linear, cosine", id="unknown mode"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_at_open(
    tmp_path: Path, changes: dict[str, Any], kind: type[Exception], says: str
) -> None:
    """Probabilities that do not sum to 1 are told now, not at the first item."""
    folder = jasper.make(tmp_path / "jasper", **changes)
    with pytest.raises(kind, match=says):
        JASPERSteeringDataset(folder, "train")


@pytest.mark.parametrize("text", ["{", "[1]", '"text"'])
def test_a_configuration_that_is_no_object_is_refused(folder: Path, text: str) -> None:
    """Broken JSON, and JSON of another kind."""
    (folder / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError):
        JASPERSteeringDataset(folder, "train")
