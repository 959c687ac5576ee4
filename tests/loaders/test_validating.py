"""validate_first_batch: what it refuses, of which loaders, and that it leaves no trace."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset, WeightedRandomSampler

from dataloader_expert.loaders import (
    EpochLoader,
    GenericBalancedDataLoader,
    GenericImageDataset,
    JASPERSteeringDataset,
    create_loader,
    open_dataset,
    pad_collate,
    set_epoch,
    validate_first_batch,
    validating,
)
from dataloader_expert.loaders.collate import collate_gathered
from dataloader_expert.loaders.jasper import batches
from tests.loaders.looking import joined, same
from tests.making import jasper
from tests.making.tiny import TINY, Made

Change = Callable[[dict[str, Any]], Any]
VECTORS = ("question_emb", "target_source_emb", "steering", "negative_embs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return jasper.make(tmp_path / "jasper")


class Changed:
    """A collate function that does something to each batch."""

    def __init__(self, change: Change, collate: Callable[[Any], Any] = collate_gathered) -> None:
        self.change, self.collate = change, collate

    def __call__(self, samples: Any) -> Any:
        batch = self.collate(samples)
        return self.change(batch) or batch


def put(name: str, value: float) -> Change:
    """Sets the first value of a field, without a word."""

    def change(batch: dict[str, Any]) -> None:
        batch[name].view(-1)[0] = value

    return change


BAD: dict[str, tuple[Change, str]] = {
    "a key missing": (
        lambda b: {n: v for n, v in b.items() if n != "relevance"},
        r"the batch has \['centroid_distance'",
    ),
    "a key too many": (lambda b: b.update(more=torch.zeros(8)), "'more'"),
    "no mapping": (lambda b: list(b.values()), "the batch has list"),
    "a shorter field": (lambda b: b.update(cluster_id=b["cluster_id"][1:]), r"cluster_id has shape \[7\], expected"),
    "a wider vector": (lambda b: b.update(steering=b["steering"].repeat(1, 2)), r"steering has shape \[8, 16\]"),
    "tiers of other negatives": (
        lambda b: b.update(negative_tiers=b["negative_tiers"][:, 1:]),
        r"negative_tiers has shape \[8, 2\], expected \[8, 3\]",
    ),
    **{f"NaN in {name}": (put(name, float("nan")), f"NaN detected in {name}") for name in VECTORS},
    **{f"Inf in {name}": (put(name, float("-inf")), f"Inf detected in {name}") for name in VECTORS},
    "NaN in relevance": (put("relevance", float("nan")), "NaN detected in relevance"),
    "a cluster too large": (put("cluster_id", 4), r"cluster_id is from \d to 4, expected \[0, 3\]"),
    "a cluster below 0": (put("cluster_id", -1), r"cluster_id is from -1"),
    "relevance above 1": (put("relevance", 1.5), r"relevance is from .* to 1.5, expected \[0.0, 1.0\]"),
    "distance above 2": (put("centroid_distance", 2.01), "centroid_distance is from"),
    "distance below 0": (put("centroid_distance", -0.01), "centroid_distance is from"),
    "variant 4": (put("steering_variant", 4), "steering_variant is from"),
    "tier 9": (put("negative_tiers", 9), r"negative_tiers is from . to 9, expected \[1, 4\]"),
    "tier 0": (put("negative_tiers", 0), "negative_tiers is from 0"),
}


@pytest.mark.parametrize("split", jasper.SIZES)
@pytest.mark.parametrize("options", [{}, {"variant_rule": "by_access"}, {"use_mmap": True}], ids=str)
def test_a_sound_batch_is_true(folder: Path, split: str, options: dict[str, Any]) -> None:
    """Of each split, however it is read."""
    assert validate_first_batch(create_loader(folder, split, 8, **options)) is True


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_batch_is_refused_by_key(folder: Path, fault: str) -> None:
    """The message names the key and what is wrong with it."""
    change, says = BAD[fault]
    with pytest.raises(AssertionError, match=says):
        validate_first_batch(create_loader(folder, "train", 8, collate_fn=Changed(change)))


@pytest.mark.parametrize("fault", ["a cluster too large", "tier 9", "NaN in steering"])
def test_a_subset_is_checked_as_what_it_is_of(folder: Path, fault: str) -> None:
    """Clusters are those of the dataset within."""
    change, says = BAD[fault]
    subset = Subset(JASPERSteeringDataset(folder, "train"), range(20))
    assert validate_first_batch(DataLoader(subset, 4, collate_fn=collate_gathered))
    with pytest.raises(AssertionError, match=says):
        validate_first_batch(DataLoader(subset, 4, collate_fn=Changed(change)))


@pytest.mark.parametrize(("name", "value"), [("centroid_distance", 2.0000005), ("relevance", 1.0000001)])
def test_rounding_is_no_fault(folder: Path, name: str, value: float) -> None:
    """A cosine that came out as 1.0000001 is one."""
    assert validate_first_batch(create_loader(folder, "train", 8, collate_fn=Changed(put(name, value))))


def test_a_loader_without_batches_is_refused(folder: Path) -> None:
    """Not with an exception that ends loops."""
    for loader in (create_loader(folder, "train", 100), DataLoader(TensorDataset(torch.zeros(0)))):
        with pytest.raises(AssertionError, match="the loader gives no batch"):
            validate_first_batch(loader)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_checks_are_there_under_python_o(folder: Path, level: int) -> None:
    """Optimised away, a check would check nothing: the modules compiled as ``python -OO`` does still refuse."""
    names: dict[str, Any] = {"__name__": "optimised"}
    for module in (
        validating,
        batches,
    ):  # in this order: the functions of the second replace those that the first imports
        path = Path(str(module.__file__))
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", optimize=level), names)
    for case, says in (("tier 9", "negative_tiers"), ("NaN in steering", "NaN detected in steering")):
        with pytest.raises(AssertionError, match=says):
            names["validate_first_batch"](create_loader(folder, "train", 8, collate_fn=Changed(BAD[case][0])))


LOADERS: dict[str, Callable[[Path], Any]] = {
    "by_pair": lambda f: create_loader(f, "train", 8, epoch=3),
    "by_access": lambda f: create_loader(f, "train", 8, epoch=3, variant_rule="by_access"),
    "workers": lambda f: create_loader(f, "train", 8, 2, epoch=3),
    "a Subset": lambda f: EpochLoader(
        Subset(JASPERSteeringDataset(f, "train", variant_rule="by_access"), range(40)), batch_size=4
    ),
    "torch's order": lambda f: DataLoader(
        JASPERSteeringDataset(f, "train"), 8, shuffle=True, generator=torch.Generator().manual_seed(3)
    ),
    "a sampler's generator": lambda f: DataLoader(
        JASPERSteeringDataset(f, "train"),
        8,
        sampler=RandomSampler(range(80), generator=torch.Generator().manual_seed(3)),
    ),
    "a weighted sampler's generator": lambda f: DataLoader(
        JASPERSteeringDataset(f, "train"),
        8,
        sampler=WeightedRandomSampler([1.0] * 80, 40, generator=torch.Generator().manual_seed(3)),
    ),
}


def random_states() -> bytes:
    """All global ones."""
    return pickle.dumps((random.getstate(), np.random.get_state(), torch.get_rng_state().tolist()))


@pytest.mark.parametrize("kind", LOADERS)
def test_nothing_changes_by_validating(folder: Path, kind: str) -> None:
    """The batches that come are those that would have come; global random states stay as well."""
    expected = joined(LOADERS[kind](folder))
    loader = LOADERS[kind](folder)
    before = random_states()
    assert validate_first_batch(loader)
    assert validate_first_batch(loader)
    assert random_states() == before
    assert same(joined(loader), expected)


def test_nothing_changes_in_the_middle_of_a_pass(folder: Path) -> None:
    """Neither the batches to come nor the place that a state tells."""

    def pass_(look: bool) -> tuple[Any, Any]:
        loader = create_loader(folder, "train", 8, variant_rule="by_access")
        batches = iter(loader)
        next(batches)
        if look:
            validate_first_batch(loader)
        return loader.state_dict(), joined(batches)

    (state, batches), (expected_state, expected) = pass_(True), pass_(False)
    assert state == expected_state
    assert same(batches, expected)


def test_nothing_changes_between_resuming_and_going_on(folder: Path) -> None:
    """A loader that was put back in its midst still stands there, and counts from there."""
    loader = create_loader(folder, "train", 8)
    batches = iter(loader)
    next(batches)
    state, rest = loader.state_dict(), joined(batches)
    other = create_loader(folder, "train", 8)
    other.load_state_dict(state)
    validate_first_batch(other)
    going_on = iter(other)
    first = next(going_on)
    assert other.state_dict()["batches"] == 2
    assert torch.equal(first["relevance"], rest["relevance"][:8])


def test_no_worker_is_started(folder: Path, tmp_path: Path) -> None:
    """The batch is made in this process, persistent workers or not, and the loader's own are not touched."""
    started = tmp_path / "started"
    loader = create_loader(
        folder, "train", 8, 2, persistent_workers=True, timeout=5, worker_init_fn=lambda _: started.touch()
    )
    assert validate_first_batch(loader)
    assert not started.exists()
    assert loader.num_workers == 2
    assert loader.timeout == 5


class Named(DataLoader[Any]):
    """A user's class, whose constructor takes something else."""

    def __init__(self, folder: Path) -> None:
        super().__init__(JASPERSteeringDataset(folder, "train"), 8, collate_fn=Changed(BAD["tier 9"][0]), num_workers=1)


def test_a_class_of_its_own_is_checked_as_well(folder: Path) -> None:
    """It is not made anew, so its constructor may be anything."""
    with pytest.raises(AssertionError, match="negative_tiers"):
        validate_first_batch(Named(folder))


def photos(labels: list[int], names: list[str] | None = None) -> GenericImageDataset:
    """Images of Hugging Face with these labels."""
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=names or ["cat", "dog", "owl"])}
    )
    image = Image.fromarray(np.zeros((4, 5, 3), np.uint8))
    made = datasets.Dataset.from_dict({"image": [image] * len(labels), "label": labels}, features=features)
    return GenericImageDataset(made)


def test_balanced_loaders_are_checked_with_workers_too() -> None:
    """Their class takes no sampler, so nothing may be lost on the way."""
    assert validate_first_batch(GenericBalancedDataLoader(photos([0, 1, 2, 1]), seed=7, num_workers=1))


def test_a_hidden_label_of_images_is_refused() -> None:
    """-1 is no class to train on."""
    with pytest.raises(AssertionError, match="label holds -1"):
        validate_first_batch(EpochLoader(photos([0, -1, 2]), batch_size=3))


@pytest.mark.parametrize("name", [n for n in TINY if "missing" not in n and "reference" not in n])
def test_a_first_batch_of_every_format_is_checked(tmp_path: Path, name: str) -> None:
    """Sound ones are True; a table with empty numbers says where the NaN is."""
    made = TINY[name](tmp_path)
    size = (24, 32) if "several sizes" in name else None
    loader = create_loader(made.source, None, 8, label=made.label, size=size)
    if made.missing:
        with pytest.raises(AssertionError, match=f"NaN detected in {next(iter(made.missing))}"):
            validate_first_batch(loader)
    else:
        assert validate_first_batch(loader) is True


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return TINY["npy, side by side"](tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(put("x", float("nan")), "NaN detected in x", id="NaN"),
        pytest.param(put("x", float("inf")), "Inf detected in x", id="Inf"),
        pytest.param(put("y", 3), r"y holds 3, expected a class in \[0, 2\]", id="a class too many"),
        pytest.param(put("y", -1), "y holds -1, .* -1 is a missing label", id="a label missing"),
        pytest.param(lambda b: b.update(x=b["x"][1:]), "differ in their batch dimension", id="a shorter field"),
        pytest.param(lambda b: {}, "", id="no change"),
        pytest.param(lambda b: b.clear() or [], "the batch is empty", id="no field"),
    ],
)
def test_any_loader_of_ours_is_checked(made: Made, change: Change, says: str) -> None:
    """NaN, infinity, batch dimensions, classes that do not exist."""
    loader = create_loader(made.source, "train", 8, collate_fn=Changed(change, pad_collate))
    if not says:
        assert validate_first_batch(loader)
        return
    with pytest.raises(AssertionError, match=says):
        validate_first_batch(loader)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda s: s.pop("x"), r"the batch has \['y'\], without the fields \['x'\]", id="gone"),
        pytest.param(
            lambda s: s.update(x=s["x"].repeat(2)), r"x has shape \[8, 8\], expected \[batch, \[4\]\]", id="wide"
        ),
    ],
)
def test_fields_and_shapes_are_those_of_the_data_set(made: Made, change: Any, says: str) -> None:
    """A field that a sample lost, or that became something else, is named."""

    def changed(sample: dict[str, Any]) -> dict[str, Any]:
        change(sample)
        return sample

    dataset = open_dataset(made.source, split="train", transform=changed)
    with pytest.raises(AssertionError, match=says):
        validate_first_batch(EpochLoader(dataset, batch_size=8, collate_fn=pad_collate))


def test_a_batch_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    """Samples that do not stack are a finding, not a trace of torch."""
    made = TINY["image-folder, jpeg of several sizes, no class, no split"](tmp_path)
    with pytest.raises(AssertionError, match="the first batch could not be made: image has the shapes"):
        validate_first_batch(create_loader(made.source, None, 8))


def test_validating_after_set_epoch_looks_at_that_epoch(folder: Path) -> None:
    """What is checked is the batch that comes next."""
    seen = []
    loader = create_loader(folder, "train", 8, collate_fn=Changed(lambda b: seen.append(b["relevance"])))
    set_epoch(loader, 5)
    validate_first_batch(loader)
    assert torch.equal(seen[0], next(iter(create_loader(folder, "train", 8, epoch=5)))["relevance"])
