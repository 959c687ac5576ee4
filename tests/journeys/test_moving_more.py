"""Fields that other planted traits leave at rest: settings, storage, surroundings, and all that a clock gives.

Whatever is timed is planted at least five times as large as in its twin, and compared with that margin.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dataloader_expert.lab.surroundings import surroundings
from dataloader_expert.report import AdviceLine, FindingLine
from dataloader_expert.tools.rendering import in_detail
from tests.journeys.test_moving import at
from tests.journeys.test_planted import longest, plain, stage, written
from tests.lab.test_surroundings import V2, Machine
from tests.making import users
from tests.making.asking import Asker
from tests.making.places import elsewhere, far_away, filesystem, many_tiny, one_large
from tests.making.shared import CHECKOUT

USERS = Path(users.__file__)
MARGIN = 5
Ask = tuple[str, str, dict[str, Any]]
"""Tool, data set among the users', arguments."""
Reports = Callable[[Ask], Any]

NET = {"batch_size": 4, "model": f"{USERS}:Net"}
PLAIN: Ask = ("diagnose_io", "Arrays", {"batch_size": 4, "max_workers": 1, "step_ms": 1000})
IMPATIENT: Ask = ("diagnose_io", "Arrays", {"batch_size": 4, "max_workers": 1, "step_ms": 1e-6})
NAPS: Ask = ("diagnose_io", "Naps", {"batch_size": 4, "max_workers": 4})
SLEEPS: Ask = ("diagnose_io", "Naps", {"batch_size": 4, "max_workers": 0, "source_args": {"seconds": 0.03}})
BURNS: Ask = ("diagnose_io", "Burns", {"batch_size": 4, "max_workers": 0, "source_args": {"seconds": 0.03}})
SLOWLY: Ask = ("suggest_sampler", "Naps", {"batch_size": 4})
QUICKLY: Ask = ("suggest_sampler", "Arrays", {"batch_size": 4})
LATE: Ask = ("diagnose_io", "StartsLate", {"batch_size": 4, "num_workers": 1, "max_workers": 1})


@pytest.fixture(scope="module")
def reports(quickly: Asker) -> Reports:
    """Each report once: several fields are looked at in the same one."""
    known: dict[str, Any] = {}

    def of(ask: Ask) -> Any:
        if repr(ask) not in known:
            tool, name, arguments = ask
            known[repr(ask)] = quickly.ask(tool, f"{USERS}:{name}", str(CHECKOUT), budget_s=30, **arguments)
        return known[repr(ask)]

    return of


def batch_spec(**made: Any) -> Ask:
    return ("recommend_batch_spec", "Arrays", {"batch_size": 4, "source_args": made})


PAIRS: dict[str, tuple[Ask, Ask, list[str], list[str]]] = {
    # name: one, the other, what moves, what stays
    "dtype and shape": (
        batch_spec(),
        ("recommend_batch_spec", "Arrays", {"batch_size": 8, "source_args": {"dtype": "float64", "shape": [16, 16]}}),
        [
            "structure",
            "fields.dtype",
            "fields.shape",
            "fields.bytes_per_sample",
            "batch_size",
            "memory.batch_bytes",
            "memory.host_bytes",
            "preprocessing.dtype",
            "preprocessing.layout",
            "dataloader.train",
            "dataloader.val",
            "dataloader.test",
            "code",
        ],
        ["fields.name", "preprocessing.augmentation"],
    ),
    "bytes of a sample": (
        batch_spec(),
        batch_spec(shape=[80]),
        ["memory.batch_bytes", "memory.host_bytes", "preprocessing.layout"],
        ["preprocessing.dtype", "dataloader.train"],
    ),
    "whole numbers": (
        batch_spec(),
        batch_spec(dtype="uint8"),
        ["preprocessing.dtype"],
        ["preprocessing.augmentation", "structure.label"],
    ),
    "pictures": (
        batch_spec(dtype="uint8"),
        batch_spec(dtype="uint8", shape=[3, 16, 16]),
        ["modality", "preprocessing.augmentation", "preprocessing.layout"],
        ["preprocessing.dtype"],
    ),
    "channels last": (
        batch_spec(dtype="uint8", shape=[3, 16, 16]),
        batch_spec(dtype="uint8", shape=[16, 16, 3]),
        ["preprocessing.layout"],
        ["modality", "preprocessing.augmentation", "preprocessing.dtype"],
    ),
    "a model of another input": (
        ("recommend_batch_spec", "Arrays", NET),
        ("recommend_batch_spec", "Arrays", {**NET, "model_args": {"features": 5}}),
        ["model_check.accepted", "model_check.expected", "model_check.error"],
        ["model_check.got"],
    ),
    "a batch of another dtype": (
        ("recommend_batch_spec", "Arrays", NET),
        ("recommend_batch_spec", "Arrays", {**NET, "source_args": {"dtype": "uint8"}}),
        ["model_check.got", "model_check.fed", "model_check.accepted", "model_check.misfits", "model_check.cure"],
        ["model_check.expected"],
    ),
    "hardly any memory": (
        batch_spec(),
        ("recommend_batch_spec", "Arrays", {"batch_size": 4, "safety_margin": 1 - 1e-12}),
        ["batch_size_limit.value", "batch_size_limit.limited_by", "batch_size"],
        ["fields.bytes_per_sample", "preprocessing.dtype"],
    ),
    "a loader's own settings": (
        PLAIN,
        ("diagnose_io", "with_own_settings", {"max_workers": 1}),
        [
            "current.batch_size",
            "current.num_workers",
            "current.prefetch_factor",
            "current.pin_memory",
            "current.persistent_workers",
            "current.made_by",
            "recommended.batch_size",
            "recommended.pin_memory",
            "trials.batch_size",
        ],
        ["modality", "coverage.samples_total"],
    ),
    "samples that wait": (
        PLAIN,
        NAPS,
        [
            "recommended.num_workers",
            "recommended.prefetch_factor",
            "recommended.persistent_workers",
            "trials.num_workers",
            "code",
        ],
        ["current.num_workers", "coverage.samples_total"],
    ),
    "a step of another length": (
        PLAIN,
        IMPATIENT,
        ["consumer.step_ms", "consumer.workers_needed"],
        ["current.batch_size", "current.num_workers"],
    ),
    "imbalance": (
        ("suggest_sampler", "Fine", {}),
        ("suggest_sampler", "Imbalanced", {}),
        [
            "strategy",
            "why",
            "code",
            "sampler.class_",
            "sampler.arguments",
            "classes.before",
            "classes.after",
            "simulation.unique_fraction",
            "simulation.max_repeats",
            "simulation.rarest_mean_repeats",
            "simulation.classes_per_batch",
            "alternatives.strategy",
            "alternatives.when",
            "alternatives.simulation",
        ],
        ["simulation.epoch_samples"],
    ),
    "imbalance: quality": (
        ("check_quality", "Fine", {}),
        ("check_quality", "Imbalanced", {}),
        ["passed", "checklist.imbalance_strategy_defined", "checklist_why", "checks.status", "checks.count"],
        ["checklist.no_nan_or_inf", "checklist.splits_disjoint"],
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_a_trait_touches_moves_and_the_rest_stays(pair: str, reports: Reports) -> None:
    """Our promise: a field says what is in the data or the settings; none is a constant of ours."""
    one, other, moving, staying = PAIRS[pair]
    before, after = reports(one), reports(other)
    asked = [(tool, f"{USERS}:{name}") for tool, name, _ in (one, other)]
    assert [(r.tool, r.source) for r in (before, after)] == asked
    assert [p for p in moving if at(before, p) == at(after, p)] == []
    assert [p for p in staying if at(before, p) != at(after, p)] == []


TIMED: dict[str, tuple[Ask, Ask, Callable[[Any], float]]] = {
    # field: where it is small, where it is planted large, how it is read
    "stages.ms_per_sample": (PLAIN, NAPS, lambda r: float(longest(r).ms_per_sample.value)),
    "stages.share": (NAPS, PLAIN, lambda r: stage(r, "collate")),
    "stages.cpu_ms": (NAPS, BURNS, lambda r: sum(s.cpu_ms for s in r.stages if s.name != "worker_transfer")),
    "stages.wait_ms": (BURNS, SLEEPS, lambda r: sum(s.wait_ms for s in r.stages if s.name != "worker_transfer")),
    "current.throughput": (NAPS, PLAIN, lambda r: float(r.current.throughput.value)),
    "recommended.throughput": (NAPS, PLAIN, lambda r: float(r.recommended.throughput.value)),
    "trials.throughput": (NAPS, PLAIN, lambda r: float(r.trials[0].throughput.value)),
    "trials.blocks": (NAPS, PLAIN, lambda r: min(r.trials[0].blocks)),
    "trials.startup_s": (PLAIN, LATE, lambda r: float(r.trials[-1].startup_s)),
    "throughput": (SLOWLY, QUICKLY, lambda r: float(r.throughput.value)),
    "throughput_shuffled": (SLOWLY, QUICKLY, lambda r: float(r.throughput_shuffled.value)),
}


@pytest.mark.parametrize("field", TIMED)
def test_what_takes_longer_is_said_to(field: str, reports: Reports) -> None:
    """Our promise: a timed figure is of this data set, by a margin that no busy machine hides."""
    small, large, read = TIMED[field]
    assert read(reports(large)) > MARGIN * read(reports(small))


def test_more_workers_hold_more_batches_in_memory(reports: Reports) -> None:
    """Our promise: host memory counts every batch in flight, not one."""
    alone = reports(batch_spec())
    helped = reports(("recommend_batch_spec", "Naps", {"batch_size": 4}))
    workers = helped.dataloader.train["num_workers"]
    assert alone.dataloader.train["num_workers"] == 0
    assert alone.memory.host_bytes == alone.memory.batch_bytes == helped.memory.batch_bytes
    assert workers > 1
    assert helped.memory.host_bytes == alone.memory.host_bytes * (2 * workers + 1)


def test_every_part_of_an_advice_is_of_its_own_setting(reports: Reports) -> None:
    """Our promise: no part of an advice is a phrase that fits all."""
    slept = reports(NAPS)
    workers = next(a for a in slept.advice if a.setting == "num_workers")
    sampler = next(a for a in reports(("suggest_sampler", "Imbalanced", {})).advice if a.setting == "sampler")
    same = [n for n in AdviceLine.model_fields if getattr(workers, n) == getattr(sampler, n)]
    assert [n for n in same if getattr(workers, n) is not None] == []
    assert workers.value == slept.recommended.num_workers > 0  # beside other tests 2 may be all that short blocks prove
    assert workers.instead_of == 0
    assert workers.gain.value > 1.3
    assert not [a for a in reports(PLAIN).advice if a.setting == "num_workers"]


def test_every_part_of_a_finding_is_of_its_own_fault(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: code, severity, words, cure, places and count say which fault it is, and how often."""
    rows = plain()
    rows["a"][[3, 30, 300]] = np.nan
    source = written({**rows, "c": np.ones(600)}, tmp_path / "faulty.parquet")
    found = {f.code: f for f in quickly.ask("check_quality", source, str(tmp_path)).findings}
    nan, constant = found["nan"], found["constant-field"]
    alike = [n for n in FindingLine.model_fields if n != "cost" and getattr(nan, n) == getattr(constant, n)]
    assert alike == []  # what a cure saves is known of neither
    assert nan.count == 3
    assert [w["sample"] for w in nan.where] == [3, 30, 300]
    whole = written(plain(), tmp_path / "whole.parquet")
    clean = quickly.ask("check_quality", whole, str(tmp_path))
    assert not {"nan", "constant-field"} & {f.code for f in clean.findings}


def test_a_label_by_another_name_and_none_at_all(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: the label is named; without one its classes are unknown, with the reason."""
    rows = plain()
    label = rows.pop("label")
    named = {name: {**rows, name: label} for name in ("label", "target")} | {"neither": rows}
    labelled, target, neither = (
        quickly.ask("characterize_dataset", written(made, tmp_path / f"{name}.parquet"), str(tmp_path))
        for name, made in named.items()
    )
    assert (at(labelled, "classes.label"), at(target, "classes.label")) == ("label", "target")
    assert "classes" not in {u.what for u in labelled.unknowns}
    why = {u.what: u.why for u in neither.unknowns}
    assert why["classes"] != why["splits"]
    assert (at(labelled, "task.name"), at(neither, "classes")) == ("tabular classification", None)
    assert at(neither, "task.name") != at(labelled, "task.name")


def test_what_is_cut_is_said_and_what_fits_is_not_cut(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: a shortened list says how much of it is shown."""
    tool = quickly.tools["characterize_dataset"]
    rng = np.random.default_rng(0)
    wide = {f"column {i}": rng.normal(size=50) for i in range(80)}
    narrow, many = (
        in_detail(
            tool, quickly.ask(tool.name, written(rows, tmp_path / f"{len(rows)}.parquet"), str(tmp_path)), "concise"
        )
        for rows in (plain(50), wide)
    )
    assert narrow.shortened == {}
    assert narrow.rest is None
    assert many.rest is not None and 'detail="full"' in many.rest
    cut = many.shortened["fields"]
    assert (cut.shown, cut.total) == (len(at(many, "fields")), 80)
    assert cut.shown < 80


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("disk")


@pytest.fixture
def in_memory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="planted_") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def stored(quickly: Asker, on_disk: Path) -> dict[str, Any]:
    """One large file, many tiny ones, and the tiny ones by way of many links."""
    return {
        make.__name__: quickly.ask("diagnose_io", make(on_disk / make.__name__), str(on_disk), max_workers=0)
        for make in (one_large, many_tiny, far_away)
    }


def test_tiny_files_come_slower_than_a_large_one(stored: dict[str, Any]) -> None:
    """Our promise: the rate is that of these files, each with what it costs to begin."""
    large, tiny = stored["one_large"].storage, stored["many_tiny"].storage
    assert large.warm_mb_s.value > MARGIN * tiny.warm_mb_s.value


def test_a_path_of_many_links_takes_longer_to_open(stored: dict[str, Any]) -> None:
    """Our promise: opening is timed apart from reading, name by name."""
    far, tiny = stored["far_away"].storage, stored["many_tiny"].storage
    assert far.open_ms.value > MARGIN * tiny.open_ms.value


def test_cold_is_of_the_disk_and_unknown_of_memory(
    stored: dict[str, Any], on_disk: Path, quickly: Asker, in_memory: Path
) -> None:
    """Our promise: a cold rate is given only where the cache let the file go, else null with the reason."""
    if filesystem(on_disk) in ("tmpfs", "ramfs"):
        pytest.skip("pytest's own folder lies in memory: name one on a disk by --basetemp")
    disk = stored["one_large"]
    assert disk.storage.cold_mb_s.value > 0
    assert "storage.cold_mb_s" not in {u.what for u in disk.unknowns}
    memory: Any = quickly.ask("diagnose_io", one_large(in_memory), str(in_memory), max_workers=0)
    assert memory.storage.cold_mb_s is None
    assert "page cache" in next(u.why for u in memory.unknowns if u.what == "storage.cold_mb_s")


def test_our_reading_has_stages_and_what_no_stack_tells_stays_open(stored: dict[str, Any], reports: Reports) -> None:
    """Our promise: a source of ours says itself where it reads; of the user's code what no stack tells stays open."""
    assert {"read", "decode", "transform", "collate"} <= {s.name for s in stored["one_large"].stages}
    naps = {s.name: s.share.value for s in reports(NAPS).stages}
    assert naps["unattributed"] > 0.5  # the rest is of a busy machine
    assert 0 < reports(NAPS).overhead < 0.2


def test_one_cpu_another_interpreter_and_a_core_to_wait_for(reports: Reports, tmp_path: Path) -> None:
    """Our promise: the environment is that of what measured, and waiting for a core is nobody's blocking."""
    import torch

    naps = reports(NAPS)
    assert naps.environment.cpus <= len(os.sched_getaffinity(0))
    assert (naps.environment.python, naps.environment.torch) == (sys.version.split()[0], str(torch.__version__))
    tool, name, arguments = BURNS
    with elsewhere(tmp_path, str(CHECKOUT)) as asker:
        planted: Any = asker.ask(tool, f"{USERS}:{name}", str(CHECKOUT), budget_s=30, **arguments)
    assert 0 < planted.environment.cpus <= 1
    assert (planted.environment.python, planted.environment.torch) == ("3.10.99", "2.98.7+planted")
    crowded = longest(planted)
    assert crowded.queue_ms > 0.1 * crowded.ms_per_sample.value  # six batches: how much varies
    assert crowded.queue_ms > crowded.wait_ms
    waiting = longest(naps)
    assert crowded.queue_ms / crowded.ms_per_sample.value > waiting.queue_ms / waiting.ms_per_sample.value


def test_memory_and_cpus_are_what_the_group_leaves(
    quickly: Asker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: a limit of the group and a small /dev/shm stand in the report."""
    limits = {"jobs/mine/memory.max": "3000000000", "jobs/mine/memory.current": "1000000000"}
    machine = Machine(tmp_path, V2, {**limits, "jobs/mine/cpu.max": "50000 100000"})
    source, folder = written(plain(), tmp_path / "rows.parquet"), str(tmp_path)
    free: Any = quickly.ask("characterize_dataset", source, folder).environment
    shm = os.statvfs("/dev/shm")
    available = int(Path("/proc/meminfo").read_text().split("MemAvailable:")[1].split()[0]) * 1024
    assert 0 < free.memory_bytes < 2 * available
    assert 0 <= free.shm_bytes <= shm.f_blocks * shm.f_frsize
    monkeypatch.setattr(
        "dataloader_expert.lab.surroundings.os.statvfs", lambda _: SimpleNamespace(f_bavail=9, f_frsize=7)
    )
    monkeypatch.setattr(
        "dataloader_expert.tools.execution.surroundings", lambda: surroundings(machine.root, machine.proc)
    )
    planted = quickly.ask("characterize_dataset", source, folder).environment
    assert (planted.cpus, planted.memory_bytes, planted.shm_bytes) == (0.5, 2_000_000_000, 63)
