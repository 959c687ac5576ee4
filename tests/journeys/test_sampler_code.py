"""The code of suggest_sampler draws the very epoch that was simulated, and keeps what is the user's own."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.utils.data import BatchSampler

from dataloader_expert import samplers
from dataloader_expert.loaders.building import rebuild
from dataloader_expert.probes.experiments.epochs import describe
from dataloader_expert.tools.suggest_sampler import Simulation
from tests.making import users
from tests.making.asking import Asker
from tests.making.scripts import ran
from tests.making.shared import CHECKOUT

USERS = Path(users.__file__)
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "grouped": ({"group_by": "user"}, "GroupBatchSampler"),
    "grouped by a number": ({"group_by": "number"}, "GroupBatchSampler"),
    "by a difficulty": ({"objective": "curriculum", "difficulty": "hard"}, "CurriculumSampler"),
    "weighted": ({"objective": "balanced"}, "WeightedSampler"),
    "balanced batches": ({"objective": "metric"}, "ClassBalancedBatchSampler"),
    "balanced batches, two ranks": ({"objective": "metric", "world_size": 2}, "ClassBalancedBatchSampler"),
    "stratified": ({"objective": "representative"}, "StratifiedBatchSampler"),
    "less padding": ({"objective": "throughput", "length": "text"}, "LengthBucketBatchSampler"),
    "a length that is said": ({"objective": "throughput", "length": "number"}, "LengthBucketBatchSampler"),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 rows whose classes, groups and lengths come in no order."""
    path = tmp_path_factory.mktemp("sampled") / "rows.csv"
    rng = random.Random(0)
    rows = ["text,user,number,hard,label"]
    for _ in range(120):
        text = " ".join(rng.choices(WORDS, k=rng.randint(4, 30)))
        label = rng.choices(["red", "blue", "green"], [6, 3, 1])[0]
        rows.append(f"{text},{rng.choice('zqab')}{rng.randint(0, 9)},{rng.randint(8, 30)},{rng.random():.6f},{label}")
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("asked", ASKED)
def test_the_printed_sampler_draws_the_epoch_that_was_simulated(
    asked: str, quickly: Asker, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract: the simulation is of really drawing an epoch, by the sampler that code and class name, on all ranks."""
    arguments, kind = ASKED[asked]
    asks = {"label": "label", "batch_size": 8, "seed": 3, "budget_s": 20, **arguments}
    report: Any = quickly.ask("suggest_sampler", str(table), str(table.parent), **asks)
    names = ran(report.code)
    sampler = names["sampler"]
    assert type(sampler) is getattr(samplers, kind)
    assert report.sampler.class_ == f"dataloader_expert.samplers.{kind}"
    assert (names["loader"].batch_sampler is sampler) == isinstance(sampler, samplers.base.EpochBatchSampler)
    assert {k: getattr(sampler, k) for k in report.sampler.arguments if hasattr(sampler, k)}.items() <= (
        report.sampler.arguments.items()
    )
    batches: list[list[int]] = []
    for rank in range(asks.get("world_size", 1)):
        monkeypatch.setenv("RANK", str(rank))
        of_rank = ran(report.code)
        of_rank["sampler"].set_epoch(0)
        whole = of_rank["loader"].batch_sampler is of_rank["sampler"]
        batches += of_rank["sampler"] if whole else BatchSampler(of_rank["sampler"], 8, False)
    dataset = names["dataset"]
    labels = np.array([int(dataset[i]["label"]) for i in range(len(dataset))])
    field = arguments.get("length", "text")
    lengths = np.array([len(v) if isinstance(v := dataset[i][field], str) else int(v) for i in range(len(dataset))])
    drawn = describe(iter(batches), labels, lengths, len(dataset)) | {"ranks": asks.get("world_size", 1)}
    assert report.simulation == Simulation(**{k: v for k, v in drawn.items() if k in Simulation.model_fields})


def test_what_is_drawn_does_not_depend_on_the_number_of_ranks(quickly: Asker, table: Path) -> None:
    """Our promise: repeats and coverage are those of the epoch, not of one process."""
    asks = {"label": "label", "batch_size": 5, "objective": "balanced", "budget_s": 20}
    one, four = (
        quickly.ask("suggest_sampler", str(table), str(table.parent), world_size=n, **asks).model_dump() for n in (1, 4)
    )
    for name in ("epoch_samples", "unique_fraction", "max_repeats"):
        assert one["simulation"][name] == four["simulation"][name]
    assert "on all 4 ranks together" in four["summary"]


def test_the_order_of_rows_is_no_difficulty(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: a curriculum begins with easy samples, or is not advised; which they are is asked for."""
    path = tmp_path / "rows.csv"
    path.write_text("x,hard,label\n" + "".join(f"{i * 0.5},{i % 7},{i % 3}\n" for i in range(120)))
    asks = {"label": "label", "objective": "curriculum", "budget_s": 20}
    without: Any = quickly.ask("suggest_sampler", str(path), str(tmp_path), **asks)
    assert without.strategy == "random" and "pass difficulty=" in without.why
    by: Any = quickly.ask("suggest_sampler", str(path), str(tmp_path), difficulty="hard", **asks)
    assert by.strategy == "curriculum" and "Epoch 0 covers 30% of the samples; the share grows" in by.summary


@pytest.mark.parametrize("stored", ["tags", "vectors"])
def test_samples_of_several_labels_are_drawn_by_their_rarest(stored: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: the code counts labels as the report does, and its epoch holds as many of each as the report says."""
    rng, names = random.Random(3), ["sun", "sea", "dog", "owl"]
    held = [[n for n, p in zip(names, (0.7, 0.4, 0.2, 0.02), strict=True) if rng.random() < p] for _ in range(300)]
    if stored == "tags":
        source = tmp_path / "rows.jsonl"
        source.write_text("".join(json.dumps({"x": i, "tags": of}) + "\n" for i, of in enumerate(held)))
    else:
        source = tmp_path / "rows.npz"
        np.savez(source, x=np.arange(300.0), y=np.array([[n in of for n in names] for of in held], np.float32))
        held = [[str(names.index(n)) for n in of] for of in held]
    report: Any = quickly.ask("suggest_sampler", str(source), str(tmp_path), objective="balanced", budget_s=20)
    frequency = Counter(label for of in held for label in of)
    assert report.strategy == "weighted" and report.classes.before == dict(frequency)
    defined = ran(report.code)
    assert defined["labels"].tolist() == [min(of, key=lambda v: (frequency[v], v), default="") for of in held]
    defined["sampler"].set_epoch(0)
    drawn = Counter(label for i in defined["sampler"] for label in held[i])
    assert report.classes.after == {label: drawn[label] for label in report.classes.before}


def test_a_reference_is_read_by_the_names_of_its_samples(quickly: Asker) -> None:
    """Our promise: positions, and names of classes that are no numbers, are read as they are."""
    report: Any = quickly.ask("suggest_sampler", f"{USERS}:Named", str(CHECKOUT), objective="metric", budget_s=20)
    assert "dataset[i][1]" in report.code
    assert sorted(set(ran(report.code)["labels"].tolist())) == ["cat", "dog"]


def test_for_a_stream_nothing_is_drawn_and_nothing_else_is_offered(quickly: Asker) -> None:
    """torch takes no sampler for an IterableDataset: simulation null with its reason, no alternatives."""
    report: Any = quickly.ask("suggest_sampler", f"{USERS}:Stream", str(CHECKOUT), objective="balanced", budget_s=20)
    assert (report.strategy, report.sampler.class_, report.simulation) == ("stream", "none", None)
    assert report.alternatives == [] and report.classes.after is None
    assert [u.why for u in report.unknowns if u.what == "simulation"] == [
        "a stream cannot take a sampler, so no epoch is drawn"
    ]
    assert "drawn epoch" not in report.summary
    ran(report.code)


@pytest.mark.parametrize("tool", ["recommend_batch_spec", "suggest_sampler"])
def test_the_code_for_a_users_loader_makes_what_rebuild_makes(tool: str, quickly: Asker) -> None:
    """Our promise: class, generator, timeout, context and worker initialiser of a user's loader stay in the code."""
    report: Any = quickly.ask(tool, f"{USERS}:with_everything", str(CHECKOUT), budget_s=20)
    names = ran(report.code)
    loader, yours = names["loader"], names["yours"]
    same = rebuild(yours, loader.num_workers, loader.batch_size)
    kept = ["num_workers", "collate_fn", "pin_memory", "worker_init_fn", "generator", "drop_last", "batch_size"]
    kept += ["timeout", "prefetch_factor", "persistent_workers", "multiprocessing_context"]
    kept += [] if "sampler" in names else ["sampler"]
    assert type(loader).__name__ == "OwnLoader" and type(loader) is type(same)
    assert {k: getattr(loader, k) for k in kept} == {k: getattr(same, k) for k in kept}
    assert loader.generator is not None and loader.timeout == (60 if loader.num_workers else 0)
