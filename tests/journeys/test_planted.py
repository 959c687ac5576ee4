"""For each field the opposite is planted: the field must move as planted, and stay where its twin has nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataloader_expert.errors import RequestError
from tests.making import users
from tests.making.asking import Asker
from tests.making.shared import CHECKOUT
from tests.making.tiny import TINY

USERS = Path(users.__file__)


def codes(report: Any) -> set[str]:
    return {f.code for f in report.findings}


def stage(report: Any, name: str) -> float:
    return float(next(s.share.value for s in report.stages if s.name == name))


def longest(report: Any) -> Any:
    """Stages stand in the pipeline's order, and one hit of the sampler makes a stage: not always the planted one first."""
    return max(report.stages, key=lambda s: s.share.value)


Moved = Callable[[Any], bool]
WAITING = {"max_workers": 4, "batch_size": 8}
ALONE = {"max_workers": 0}
"""In the main process: nothing is searched."""
OF_USERS: dict[str, tuple[str, str, dict[str, Any], Moved, str | None]] = {
    # trait: tool, dataset, arguments, whether the field moved, the twin (None: the field has no neutral value)
    "samples that wait: workers": (
        "diagnose_io",
        "Waits",
        WAITING,
        lambda r: r.recommended.num_workers > 0 and r.speedup.low > 1 and r.speedup.value > 1.5,
        "Fine",
    ),
    "samples that wait: stage": (
        "diagnose_io",
        "Waits",
        WAITING,
        lambda r: longest(r).wait_ms > max(1, longest(r).cpu_ms),  # ms: a hundredth of one is noise
        "Fine",
    ),
    "samples that wait: latency": ("diagnose_io", "Waits", WAITING, lambda r: "latency-bound" in codes(r), "Fine"),
    "slow collate: finding": (
        "diagnose_io",
        "with_slow_collate",
        WAITING,
        lambda r: "slow-collate" in codes(r),
        "Waits",
    ),
    "slow collate: bottleneck": (
        "diagnose_io",
        "with_slow_collate",
        WAITING,
        lambda r: r.bottleneck == "collate",
        "Waits",
    ),
    "leaked descriptors": ("diagnose_io", "LeaksFiles", ALONE, lambda r: r.health.open_files_per_1000 > 900, "Fine"),
    "leaked descriptors: finding": (
        "diagnose_io",
        "LeaksFiles",
        ALONE,
        lambda r: "file-descriptors-grow" in codes(r),
        "Fine",
    ),
    "leaked memory": ("diagnose_io", "LeaksMemory", ALONE, lambda r: r.health.memory_mb_per_1000 > 100, "Fine"),
    "a slow sample": (
        "diagnose_io",
        "OneSlow",
        ALONE,
        lambda r: [s["sample"] for s in r.health.slow_samples] == [7] and 0 < r.health.slow_share.value < 0.1,
        "Fine",
    ),
    "a sample that was slow once": (
        "diagnose_io",
        "SlowOnce",
        ALONE,
        lambda r: r.health.slow_samples == [],
        "OneSlow",
    ),
    "transport that is not there": (
        "diagnose_io",
        "Fine",
        ALONE,
        lambda r: stage(r, "worker_transfer") == 0 and r.bottleneck != "worker_transfer",
        "with_own_settings",
    ),
    "a batch that takes seconds": (
        "diagnose_io",
        "Waits",
        {"batch_size": 400, "max_workers": 0},
        lambda r: (
            r.current.throughput_batch_size == r.trials[0].batch_size == r.current.batch_size == 400
            and r.current.throughput.value < 400
        ),
        "Fine",
    ),
    "a worker that hides the loading": (
        "diagnose_io",
        "with_own_settings",
        {"step_ms": 20, "max_workers": 1},
        lambda r: (
            r.recommended.num_workers == 1
            and r.consumer.stall_share_recommended.value <= r.consumer.stall_share_current.value
        ),
        None,
    ),
    "samples worth keeping": (
        "diagnose_io",
        "Burns",
        ALONE,
        lambda r: (
            bool(r.cacheable)
            and r.cacheable[0].gain.value > 2
            and r.cacheable[0].gain.low > 1
            and r.cacheable[0].bytes == 40 * 64
            and r.cacheable[0].stage in ("unattributed", "transform")
            and {a.setting for a in r.advice} >= {"dataset"}
        ),
        "Fine",
    ),
    "samples worth keeping: batches": (
        "recommend_batch_spec",
        "Burns",
        {"batch_size": 8},
        lambda r: (
            (c := r.preprocessing.cache) is not None
            and (c.gain.how, c.throughput.how, c.bytes) == ("timed", "timed", 40 * 64)
            and c.throughput_cached.value > 2 * c.throughput.value
            and c.advised
            and "dataset" in {a.setting for a in r.advice}
            and c.fits == "memory"
            and c.gain.low > 1.05
        ),
        "Fine",
    ),
    "random content": (
        "diagnose_io",
        "Random",
        ALONE,
        lambda r: r.health.nondeterministic is True and r.cacheable is None,
        "Fine",
    ),
    "a consumer that waits": (
        "diagnose_io",
        "Waits",
        {**WAITING, "step_ms": 20},
        lambda r: r.consumer.stall_share_current.value > 0.5 > r.consumer.stall_share_recommended.value,
        None,
    ),
    "a model's step": (
        "diagnose_io",
        "Fine",
        {**ALONE, "model": f"{USERS}:Net"},
        lambda r: 0 < r.consumer.step_ms < 1000,
        None,
    ),
    "the sampler kept": (
        "diagnose_io",
        "with_own_sampler",
        ALONE,
        lambda r: r.current.batch_size == 10 and r.current.made_by == "the user's DataLoader",
        None,
    ),
    "a model that refuses": (
        "recommend_batch_spec",
        "Fine",
        {"model": f"{USERS}:Net", "model_args": {"features": 5}},
        lambda r: not r.model_check.accepted and "shape-mismatch" in codes(r),
        None,
    ),
    "a model that takes it": (
        "recommend_batch_spec",
        "Fine",
        {"model": f"{USERS}:Net"},
        lambda r: r.model_check.accepted and r.model_check.error is None,
        None,
    ),
    "memory of a model without a device": (
        "recommend_batch_spec",
        "Fine",
        {"model": f"{USERS}:Net", "memory_limit_gb": 0.1, "batch_size": 2_000_000},
        lambda r: (
            # Net: weights and biases of two tensors, each in blocks of 512 bytes, four times; 8 floats in, 4 out
            r.memory.device_peak_bytes.how == "derived"
            and r.memory.parts["parameters"] == 2 * 512
            and r.memory.parts["optimizer_states"] >= 4 * 512
            and r.memory.parts["batch"] >= r.batch_size * 8 * 4
            and r.memory.device_peak_bytes.value <= r.memory.device_reserved_bytes <= 0.9 * 0.1e9
            and r.batch_size == r.batch_size_limit.value == 400
            and r.batch_size_limit.limited_by == "the number of training samples"
            and "batch-does-not-fit" in codes(r)
            and "traced on fake tensors" in r.memory.how
            and r.memory.peak_at in r.memory.fit
            and r.memory.fit["straight"]
            and 0 < r.memory.largest_batch["8 GB"] < r.memory.largest_batch["80 GB"]
            and r.model_check.ran == "real"
        ),
        None,
    ),
    "validation needs less memory": (
        "recommend_batch_spec",
        "Fine",
        {"model": f"{USERS}:DeepNet", "batch_size": 16},
        lambda r: r.dataloader.val["batch_size"] == r.dataloader.test["batch_size"] >= 2 * r.batch_size,
        None,
    ),
    "a device that is not there": (
        "recommend_batch_spec",
        "Fine",
        {"model": f"{USERS}:Net", "device": "cuda"},
        lambda r: any("no CUDA device" in u.why for u in r.unknowns if u.what == "device"),
        None,
    ),
    "samples that do not stack": (
        "recommend_batch_spec",
        "Ragged",
        {},
        lambda r: r.collate.name == "pad" and r.fields[1].name == "x_lengths" and r.padding > 0.2,
        "Fine",
    ),
    "a batch size given": ("recommend_batch_spec", "Fine", {"batch_size": 48}, lambda r: r.batch_size == 48, None),
    "a last batch of one": (
        "recommend_batch_spec",
        "Fine",
        {"batch_size": 57},
        lambda r: r.dataloader.train["drop_last"] is True and r.dataloader.val["drop_last"] is False,
        None,
    ),
    "imbalance: sampler": ("suggest_sampler", "Imbalanced", {}, lambda r: r.strategy == "weighted", "Fine"),
    "imbalance: repeats": ("suggest_sampler", "Imbalanced", {}, lambda r: r.simulation.max_repeats > 5, "Fine"),
    "imbalance: classes": (
        "suggest_sampler",
        "Imbalanced",
        {},
        lambda r: min(r.classes.before.values()) == 10 and min(r.classes.after.values()) > 150,
        "Fine",
    ),
    "metric objective": (
        "suggest_sampler",
        "Fine",
        {"objective": "metric"},
        lambda r: r.strategy == "class-balanced-batch" and r.simulation.batches_missing_class == 0,
        None,
    ),
    "the present sampler": (
        "suggest_sampler",
        "with_own_sampler",
        {},
        lambda r: r.alternatives[0].strategy == "present" and r.alternatives[0].simulation.unique_fraction < 0.9,
        None,
    ),
    "imbalance: quality": (
        "check_quality",
        "Imbalanced",
        {},
        lambda r: r.checklist.imbalance_strategy_defined == "fail" and r.passed is False,
        "Fine",
    ),
    "imbalance handled": (
        "check_quality",
        "with_own_sampler",
        {},
        lambda r: r.checklist.imbalance_strategy_defined == "pass",
        "Imbalanced",
    ),
    "a sample that raises": (
        "check_quality",
        "Raises",
        {},
        lambda r: r.checklist.no_corrupted_files == "fail" and "sample-raises" in codes(r),
        "Fine",
    ),
    "NaN": (
        "check_quality",
        "HoldsNan",
        {},
        lambda r: r.checklist.no_nan_or_inf == "fail" and "nan" in codes(r),
        "Fine",
    ),
    "NaN: place": (
        "check_quality",
        "HoldsNan",
        {},
        lambda r: any(f.code == "nan" and f.where[0]["sample"] == 5 for f in r.findings),
        "Fine",
    ),
}


OF_EXPERIMENTS = {"samples worth keeping", "samples worth keeping: batches", "random content"}


@pytest.fixture(scope="module")
def reported(quickly: Asker, thoroughly: Asker) -> Callable[..., Any]:
    """Each report once: several fields are looked at in the same one."""
    known: dict[str, Any] = {}

    def of(experiments: bool, tool: str, name: str, arguments: dict[str, Any]) -> Any:
        asker = thoroughly if experiments else quickly
        key = f"{experiments} {tool} {name} {arguments}"
        if key not in known:
            known[key] = asker.ask(tool, f"{USERS}:{name}", str(CHECKOUT), budget_s=20, **arguments)
        return known[key]

    return of


@pytest.mark.parametrize("trait", OF_USERS)
def test_a_trait_of_the_users_code_moves_its_field(trait: str, reported: Callable[..., Any]) -> None:
    """Our promise: the field says what was planted, and does not say it of the twin."""
    tool, name, arguments, moved, twin = OF_USERS[trait]
    experiments = trait in OF_EXPERIMENTS
    report = reported(experiments, tool, name, arguments)
    assert moved(report), report.model_dump_json(indent=1)
    if twin is not None:
        other = reported(experiments, tool, twin, arguments)
        assert not moved(other), other.summary


Rows = dict[str, np.ndarray[Any, np.dtype[Any]]]


def plain(n: int = 600) -> Rows:
    """Normal features of two scales, four balanced classes, no row twice."""
    rng = np.random.default_rng(0)
    return {"a": rng.normal(10, 2, n), "b": rng.normal(-3, 1, n), "label": np.arange(n) % 4}


def with_nan(rows: Rows) -> Rows:
    rows["a"][3] = np.nan
    return rows


def with_inf(rows: Rows) -> Rows:
    rows["b"][9] = np.inf
    return rows


def with_copies(rows: Rows) -> Rows:
    return {k: np.concatenate([v, v[:60]]) for k, v in rows.items()}


def with_twin_column(rows: Rows) -> Rows:
    return {**rows, "c": rows["a"] * 2 + 1}


def with_constant(rows: Rows) -> Rows:
    return {**rows, "c": np.ones(len(rows["a"]))}


def with_outlier(rows: Rows) -> Rows:
    rows["a"][17] = 1e4
    return rows


def with_zeros(rows: Rows) -> Rows:
    rows["b"][::20] = 0
    return rows


def with_scale(rows: Rows) -> Rows:
    return {k: v if k == "label" else (v - v.mean()) / v.std() for k, v in rows.items()}


def with_imbalance(rows: Rows) -> Rows:
    return {**rows, "label": (np.arange(len(rows["a"])) % 50 == 0).astype(int)}


def with_uniform(rows: Rows) -> Rows:
    return {**rows, "a": np.linspace(0, 1, len(rows["a"]))}


def with_names(rows: Rows) -> Rows:
    """A column of texts: 40 of 3 characters, the others of 5."""
    n = len(rows["a"])
    return {**rows, "name": np.array([f"k{i % 7:02}" if i < 40 else f"key{i % 7:02}" for i in range(n)])}


def with_lists(rows: Rows) -> Rows:
    """A column of lists of one to five numbers."""
    lists = np.empty(len(rows["a"]), object)
    lists[:] = [[0.5] * (1 + i % 5) for i in range(len(lists))]
    return {**rows, "steps": lists}


def with_boxes(rows: Rows) -> Rows:
    """A column of one to three boxes, each with its left, top, width and height."""
    boxes = np.empty(len(rows["a"]), object)
    boxes[:] = [[[40.0 + k, 30.0, 9.0, 7.0] for k in range(1 + i % 3)] for i in range(len(boxes))]
    return {**rows, "boxes": boxes}


def length(report: Any, name: str) -> Any:
    return next((f.length for f in report.fields if f.name == name), None)


def common(report: Any, name: str) -> list[Any]:
    return next((f.common for f in report.fields if f.name == name), None) or []


def near(report: Any) -> float:
    return float(report.diversity.near_duplicate_fraction.value)


def with_near_copies(rows: Rows) -> Rows:
    return {k: np.concatenate([v, v[:60] if k == "label" else v[:60] * (1 + 1e-7)]) for k, v in rows.items()}


TABLES: dict[str, tuple[str, Callable[[Rows], Rows], Moved]] = {
    "NaN": ("characterize_dataset", with_nan, lambda r: r.statistics["a"].nan == 1),
    "infinity": ("characterize_dataset", with_inf, lambda r: r.statistics["b"].inf == 1),
    "copies": ("characterize_dataset", with_copies, lambda r: r.diversity.distinct_fraction.value < 0.92),
    "near copies": ("characterize_dataset", with_near_copies, lambda r: near(r) > 0.08),
    "a twin column": (
        "characterize_dataset",
        with_twin_column,
        lambda r: abs(r.correlation.pairs[0].r) > 0.999 and r.correlation.effective_rank < 2.1,
    ),
    "a constant": (
        "characterize_dataset",
        with_constant,
        lambda r: "c" in r.statistics and r.statistics["c"].distribution == "constant" and "constant-field" in codes(r),
    ),
    "an outlier": (
        "characterize_dataset",
        with_outlier,
        lambda r: [w["sample"] for w in r.statistics["a"].outliers.where] == [17],
    ),
    "an outlier: moments": (
        "characterize_dataset",
        with_outlier,
        lambda r: r.statistics["a"].skewness > 20 and r.statistics["a"].kurtosis > 400,
    ),
    "zeros": ("characterize_dataset", with_zeros, lambda r: r.statistics["b"].zeros == 30),
    "unit scale": ("characterize_dataset", with_scale, lambda r: r.normalization.applied is True),
    "a uniform column": ("characterize_dataset", with_uniform, lambda r: r.statistics["a"].distribution == "uniform"),
    "texts": (
        "characterize_dataset",
        with_names,
        lambda r: (
            "name" in r.statistics and r.statistics["name"].measure == "characters" and r.statistics["name"].max == 5
        ),
    ),
    "distinct values": (
        "characterize_dataset",
        with_names,
        lambda r: [f.distinct for f in r.fields if f.name == "name"] == [14] and common(r, "name")[0].count > 6,
    ),
    "lists": (
        "characterize_dataset",
        with_lists,
        lambda r: length(r, "steps") is not None and (length(r, "steps").median, length(r, "steps").max) == (3, 5),
    ),
    "boxes": (
        "characterize_dataset",
        with_boxes,
        lambda r: [f.boxes for f in r.fields if f.boxes] == ["left, top, width, height in pixels"],
    ),
    "imbalance": ("characterize_dataset", with_imbalance, lambda r: r.classes.severe_imbalance),
    "imbalance: ratio": ("characterize_dataset", with_imbalance, lambda r: r.classes.imbalance_ratio == 49.0),
    "NaN: box": ("check_quality", with_nan, lambda r: r.checklist.no_nan_or_inf == "fail"),
    "copies: finding": ("check_quality", with_copies, lambda r: "duplicate-samples" in codes(r)),
}


def written(rows: Rows, path: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(rows)), path)
    return str(path)


@pytest.mark.parametrize("trait", TABLES)
def test_a_trait_of_a_table_moves_its_field(trait: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: the field says what was planted, and does not say it of the plain table."""
    tool, plant, moved = TABLES[trait]
    assert moved(quickly.ask(tool, written(plant(plain()), tmp_path / "planted.parquet"), str(tmp_path)))
    assert not moved(quickly.ask(tool, written(plain(), tmp_path / "plain.parquet"), str(tmp_path)))


def test_rows_in_two_splits_fail_the_box_and_disjoint_ones_pass(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: overlap of splits is a fact, not a guess."""
    rows = plain()
    for name, test in (("overlapping", slice(380, 600)), ("disjoint", slice(400, 600))):
        written({k: v[:400] for k, v in rows.items()}, tmp_path / name / "train.parquet")
        written({k: v[test] for k, v in rows.items()}, tmp_path / name / "test.parquet")
    overlapping = quickly.ask("check_quality", str(tmp_path / "overlapping"), str(tmp_path))
    disjoint = quickly.ask("check_quality", str(tmp_path / "disjoint"), str(tmp_path))
    assert (overlapping.checklist.splits_disjoint, overlapping.passed) == ("fail", False)  # type: ignore[attr-defined]  # of that tool
    assert (disjoint.checklist.splits_disjoint, disjoint.passed) == ("pass", True)  # type: ignore[attr-defined]  # of that tool
    assert next(f.count for f in overlapping.findings if f.code == "splits-overlap") == 20


def test_groups_and_times_across_splits_are_found_where_they_are_named(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: group and time leakage are errors where the field was named."""
    rows = plain() | {"who": np.arange(600) // 100, "when": np.arange(600)[::-1].copy()}
    written({k: v[:350] for k, v in rows.items()}, tmp_path / "leaky" / "train.parquet")
    written({k: v[350:] for k, v in rows.items()}, tmp_path / "leaky" / "test.parquet")
    report = quickly.ask("check_quality", str(tmp_path / "leaky"), str(tmp_path), group="who", time="when")
    found = {f.code: f.severity for f in report.findings}
    assert found["group-leakage"] == found["time-leakage"] == "error"
    unnamed = quickly.ask("check_quality", str(tmp_path / "leaky"), str(tmp_path))
    assert "group-leakage" not in codes(unnamed)


def visits(n: int = 800) -> list[dict[str, Any]]:
    """Rows with a running key, patients in both splits, times without order, a score that gives the label away; the
    last ten repeat others in all but the key."""
    rng = np.random.default_rng()
    label, day = rng.integers(0, 2, n), rng.integers(0, 900, n)
    rows = [
        {
            "patient": f"P{rng.integers(60):03d}",
            "taken": f"{2021 + day[i] // 300}-{1 + day[i] % 300 // 25:02d}-{1 + day[i] % 25:02d}",
            "part": "val" if i % 4 == 0 else "train",
            "label": int(label[i]),
            "score": float(round(5 * label[i] + rng.random(), 3)),
            "weight": float(rng.normal()),
        }
        for i in range(n)
    ]
    return [{"visit": 3000 + i, **row} for i, row in enumerate([*rows, *rows[:10]])]


def saved_as(kind: str, rows: list[dict[str, Any]], folder: Path) -> Path:
    import csv
    import json

    import pyarrow as pa
    from pyarrow import feather, parquet

    path = folder / f"visits.{kind}"
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    if kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="uncompressed")
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_columns_that_name_split_patient_and_time_are_used_as_such(kind: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: one file with a split column is judged as split files are, and what is in it is counted."""
    rows = visits()
    report: Any = quickly.ask("check_quality", str(saved_as(kind, rows, tmp_path)), str(tmp_path))
    assert {(r.role, r.field) for r in report.roles} == {
        ("split", "part"),
        ("group", "patient"),
        ("time", "taken"),
        ("key", "visit"),
    }
    assert all(r.how for r in report.roles)
    last = max(r["taken"] for r in rows if r["part"] == "train")
    early = sum(r["taken"] < last for r in rows if r["part"] == "val")
    sizes = {s: sum(r["part"] == s for r in rows) for s in ("train", "val")}
    assert {s.name: (s.samples, s.early) for s in report.splits} == {
        "train": (sizes["train"], None),
        "val": (sizes["val"], early),
    }
    both = [{r["patient"] for r in rows if r["part"] == s} for s in ("train", "val")]
    groups = report.groups
    assert (groups.field, groups.total) == ("patient", len(both[0] | both[1]))
    assert groups.in_several_splits == len(both[0] & both[1])
    found = {f.code: f.count for f in report.findings}
    assert found["duplicate-samples"] == 10
    assert {"label-leaked-by-field", "group-leakage", "time-leakage"} <= found.keys()
    assert report.passed is False
    assert report.checklist.splits_disjoint == "fail"
    assert "nan" in report.passed_checks
    assert "label-leaked-by-field" not in report.passed_checks


def test_rows_across_the_splits_of_a_column_are_counted_by_pair(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: exact and near copies are counted by pair of splits, and a verdict says what was not looked at."""
    rng = np.random.default_rng()
    rows = [
        {"part": ["train", "val", "test"][i % 3], "a": x, "b": y, "c": z}
        for i, (x, y, z) in enumerate(rng.normal(0, 1, (300, 3)).tolist())
    ]
    for k in range(0, 60, 3):  # of training, into the two others
        rows.append({**rows[k], "part": "val" if k < 30 else "test"})
    for k in range(90, 99, 3):
        rows.append({**rows[k], "a": rows[k]["a"] * (1 + 1e-9), "part": "test"})
    report: Any = quickly.ask("check_quality", str(saved_as("parquet", rows, tmp_path)), str(tmp_path))
    assert {tuple(o.splits): (o.exact, o.near) for o in report.overlaps} == {
        ("train", "val"): (10, 0),
        ("train", "test"): (10, 3),
    }
    assert {(p.kind, p.one.split, p.other.split) for p in report.pairs if p.one.split != p.other.split} >= {
        ("exact", "train", "val"),
        ("exact", "train", "test"),
        ("near", "train", "test"),
    }
    assert all(p.one.file == "visits.parquet" and p.one.sample < p.other.sample for p in report.pairs)
    assert any("groups" in what for what in report.not_checked)
    assert report.not_checked[0] in report.summary.partition(". ")[0]


def test_one_split_of_a_column_is_kept_and_another_column_is_taken_where_asked(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: ``split`` names a split, or the column that does; a group that cannot be applied is an unknown among the rest."""
    rows = [{**row, "fold": ["x", "y"][i % 2]} for i, row in enumerate(visits(200))]
    path = str(saved_as("csv", rows, tmp_path))
    one: Any = quickly.ask("characterize_dataset", path, str(tmp_path), split="val")
    assert one.samples == sum(r["part"] == "val" for r in rows)
    other: Any = quickly.ask("check_quality", path, str(tmp_path), split="fold")
    assert {s.name for s in other.splits} == {"x", "y"}
    alone: Any = quickly.ask("check_quality", path, str(tmp_path), split="val", group="patient")
    assert "across splits" in next(u.why for u in alone.unknowns if u.what == "group patient")
    assert len(alone.passed_checks) > 10
    with pytest.raises(RequestError, match="splits are: train, val; or name the field"):
        quickly.ask("check_quality", path, str(tmp_path), split="nowhere")


TRANSFORMS = """
import torch


def numbers(row):
    return torch.tensor([float(row["a"]), float(row["b"])])


def by_nothing(row):
    return numbers(row) / 0


class Refuses:
    def __call__(self, row):
        if row["label"] == 3:
            raise ValueError("no class 3")
        return numbers(row)
"""


def test_what_a_transform_returns_is_checked_as_well(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: sound data that a transform spoils do not pass, and one that does not resolve is refused."""
    (tmp_path / "changes.py").write_text(TRANSFORMS)
    path = written(plain(), tmp_path / "plain.parquet")
    found = {}
    for name in ("numbers", "by_nothing", "Refuses"):
        reference = f"{tmp_path}/changes.py:{name}"
        report: Any = quickly.ask("check_quality", path, str(tmp_path), transform=reference)
        found[name] = (report.passed, {f.code for f in report.findings if f.severity == "error"})
    assert found == {
        "numbers": (True, set()),
        "by_nothing": (False, {"inf"}),
        "Refuses": (False, {"transform-raises"}),
    }
    with pytest.raises(RequestError, match="has no nothing"):
        quickly.ask("check_quality", path, str(tmp_path), transform=f"{tmp_path}/changes.py:nothing")


SHARED = """
import torch
from torch.utils.data import Dataset


class OneHandle(Dataset):
    def __init__(self, path):
        self.file = open(path, "rb")

    def __len__(self):
        return 400

    def __getitem__(self, index):
        self.file.seek(index * 64)
        return torch.frombuffer(bytearray(self.file.read(64)), dtype=torch.uint8).float()


class Each(OneHandle):
    def __getitem__(self, index):
        with open(self.file.name, "rb") as file:
            file.seek(index * 64)
            return torch.frombuffer(bytearray(file.read(64)), dtype=torch.uint8).float()
"""


def test_a_handle_that_workers_share_does_not_pass(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: what only workers read wrongly is found by reading in workers."""
    rng = np.random.default_rng()
    (tmp_path / "data.bin").write_bytes(rng.integers(0, 256, 400 * 64, np.uint8).tobytes())
    (tmp_path / "own.py").write_text(SHARED)
    for name, passed in (("OneHandle", False), ("Each", True)):
        report: Any = quickly.ask(
            "check_quality",
            f"{tmp_path}/own.py:{name}",
            str(tmp_path),
            budget_s=20,
            source_args={"path": str(tmp_path / "data.bin")},
        )
        assert report.passed is passed, report.summary
        assert ("handle-shared-across-fork" in codes(report)) is not passed


def test_shards_are_counted_with_the_workers_that_they_feed(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: how samples lie in files is numbers, not only words."""
    rows = plain(60)
    for k, part in enumerate((slice(0, 10), slice(10, 45), slice(45, 60))):
        written({name: v[part] for name, v in rows.items()}, tmp_path / f"{k}.parquet")
    sharded: Any = quickly.ask("characterize_dataset", str(tmp_path), str(tmp_path))
    shards = sharded.shards
    assert (shards.count, shards.least, shards.most, shards.workers) == (3, 10, 35, 3)
    single: Any = quickly.ask("characterize_dataset", str(pictures(tmp_path / "pictures", 16, "png")), str(tmp_path))
    assert single.shards is None


def pictures(folder: Path, size: int, format: str, **how: Any) -> Path:
    from PIL import Image

    rng = np.random.default_rng(0)
    for split, n in (("train", 24), ("test", 8)):
        for i in range(n):
            target = folder / split / f"c{i % 2}" / f"{i:03d}.{format}"
            target.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8)).save(target, **how)
    return folder


def test_dear_decoding_shows_as_decode_and_cheap_reading_does_not(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: the stage that costs most is named."""
    dear = quickly.ask("diagnose_io", str(pictures(tmp_path / "dear", 256, "png")), str(tmp_path), budget_s=15)
    assert dear.bottleneck == "decode"  # type: ignore[attr-defined]  # of that tool
    rows = {"x": np.random.default_rng(0).random((64, 200_000), dtype=np.float32)}
    np.save(tmp_path / "wide.npy", rows["x"])
    cheap = quickly.ask("diagnose_io", str(tmp_path / "wide.npy"), str(tmp_path), budget_s=15)
    assert stage(cheap, "decode") < stage(dear, "decode")


def test_a_cut_picture_fails_and_one_odd_size_drifts(quickly: Asker, tmp_path: Path) -> None:
    """Our promise: damage is found by strict decoding, and named with its file."""
    folder = pictures(tmp_path / "pictures", 32, "jpg", quality=90)
    clean = quickly.ask("check_quality", str(folder), str(tmp_path))
    assert clean.checklist.no_corrupted_files == clean.checklist.shapes_consistent == "pass"  # type: ignore[attr-defined]  # of that tool
    cut = folder / "train" / "c0" / "004.jpg"
    cut.write_bytes(cut.read_bytes()[:-200])
    odd = pictures(tmp_path / "odd", 40, "jpg") / "train" / "c1" / "001.jpg"
    (folder / "train" / "c1" / "099.jpg").write_bytes(odd.read_bytes())
    report = quickly.ask("check_quality", str(folder), str(tmp_path))
    assert report.checklist.no_corrupted_files == report.checklist.shapes_consistent == "fail"  # type: ignore[attr-defined]  # of that tool
    assert next(f.where[0]["file"] for f in report.findings if f.code == "truncated") == "train/c0/004.jpg"


def test_a_batch_that_only_the_margin_holds_is_tight_and_a_larger_one_does_not_fit(quickly: Asker) -> None:
    """Our promise: what fits but leaves nothing free is a warning, what does not fit an error, and what fits neither."""

    def told(size: int) -> tuple[set[str], int]:
        asked: dict[str, Any] = {
            "model": f"{USERS}:Net",
            "memory_limit_gb": 0.3,
            "batch_size": size,
            "safety_margin": 0.2,
        }
        asked["input"] = {"x": {"shape": ["B", 8], "dtype": "float32"}}  # no data, whose number would be the limit
        report: Any = quickly.ask("recommend_batch_spec", "", str(CHECKOUT), **asked)
        return codes(report) & {"batch-tight", "batch-does-not-fit"}, report.batch_size_limit.value

    _, most = told(64)
    assert [told(size)[0] for size in (most // 2, most * 108 // 100, 2 * most)] == [
        set(),
        {"batch-tight"},
        {"batch-does-not-fit"},
    ]


def test_constants_of_all_splits_are_warned_of_until_the_training_split_is_named(
    quickly: Asker, tmp_path: Path
) -> None:
    """Our promise: normalisation constants come from the training split, or the result says that they do not."""
    TINY["image-folder"](tmp_path)
    (tmp_path / "train").rename(tmp_path / "dev")
    told = quickly.ask("recommend_batch_spec", str(tmp_path), str(tmp_path), budget_s=20)
    named = quickly.ask("recommend_batch_spec", str(tmp_path), str(tmp_path), train_split="dev", budget_s=20)
    assert ("stats-from-all-splits" in codes(told), "stats-from-all-splits" in codes(named)) == (True, False)


def test_a_budget_too_small_leaves_the_answer_open(asker: Asker, tmp_path: Path) -> None:
    """Our promise: passed is null, not true, where not all was read."""
    source = f"{USERS}:Waits"
    report = asker.ask("check_quality", source, str(CHECKOUT), budget_s=6, source_args={"n": 5000})
    assert report.coverage.complete is False
    assert report.passed is None  # type: ignore[attr-defined]  # of that tool
    assert 0 < report.coverage.samples_read < 5000


def test_a_users_loader_is_rebuilt_with_all_that_is_its_own() -> None:
    """Our promise: only the tried setting changes."""
    from dataloader_expert.loaders.building import rebuild

    own = users.with_own_sampler()
    made = rebuild(own, workers=2)
    assert (made.num_workers, made.batch_size, made.sampler) == (2, 10, own.sampler)
    assert (made.collate_fn, made.generator, type(made)) == (own.collate_fn, own.generator, type(own))
    assert made.worker_init_fn is own.worker_init_fn
