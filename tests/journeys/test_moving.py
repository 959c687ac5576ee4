"""Two data sets that differ in one planted trait: every field that should tell them apart does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.journeys.test_planted import pictures, plain, written
from tests.making import tiny
from tests.making.asking import Asker

Maker = Callable[[Path], str]


def table(folder: Path, n: int = 600, **columns: Any) -> str:
    return written({**plain(n), **columns}, folder / "train.parquet")


def small_table(folder: Path) -> str:
    table(folder)
    return str(folder)


def large_table(folder: Path) -> str:
    """Twice the rows in two files of two splits, one column more, float32, an outlier, five classes, some labels absent."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = plain(1200)
    rows["a"][17] = 1e4
    labels = pa.array([None if i < 7 else i % 5 for i in range(1200)])
    made = pa.table({"a": rows["a"].astype(np.float32), "b": rows["b"] * 100, "c": np.arange(1200.0), "label": labels})
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(made.slice(0, 1000), folder / "train.parquet", row_group_size=250)
    pq.write_table(made.slice(1000), folder / "test.parquet")
    return str(folder)


def even_pictures(folder: Path) -> str:
    return str(pictures(folder, 32, "jpg"))


def uneven_pictures(folder: Path) -> str:
    """Half of them larger, and one of the classes three times as frequent."""
    pictures(folder, 32, "jpg")
    larger = pictures(folder.with_name("larger"), 48, "jpg")
    for i, path in enumerate(sorted(larger.rglob("train/c0/*.jpg"))):
        path.rename(folder / "train" / "c0" / f"9{i:02d}.jpg")
    return str(folder)


def even_sequences(folder: Path) -> str:
    return sequences(folder, lambda i: 12)


def ragged_sequences(folder: Path) -> str:
    return sequences(folder, lambda i: 3 + 5 * (i % 9))


def sequences(folder: Path, length: Callable[[int], int]) -> str:
    rng = np.random.default_rng(0)
    for i in range(120):
        target = folder / f"c{i % 3}" / f"{i:03d}.npy"
        target.parent.mkdir(parents=True, exist_ok=True)
        np.save(target, rng.normal(size=(length(i), 4)).astype(np.float32))
    return str(folder)


def texts(folder: Path) -> str:
    folder.mkdir()
    return tiny.TINY["text"](folder).source


def sounds(folder: Path) -> str:
    folder.mkdir()
    return tiny.TINY["audio-folder"](folder).source


PAIRS: dict[str, tuple[Maker, Maker, list[str]]] = {
    "tables": (
        small_table,
        large_table,
        [
            "quality.checks.how",
            "summary",
            "coverage.samples_total",
            "coverage.samples_read",
            "coverage.files_total",
            "coverage.files_read",
            "characterization.samples",
            "characterization.files",
            "characterization.bytes",
            "characterization.sharding",
            "characterization.splits.name",
            "characterization.splits.samples",
            "characterization.splits.fraction",
            "characterization.classes.count",
            "characterization.classes.counts",
            "characterization.classes.imbalance_ratio",
            "characterization.classes.missing",
            "characterization.task.how",
            "characterization.fields.name",
            "characterization.fields.dtype",
            "characterization.fields.bytes",
            "characterization.fields.missing",
            "characterization.statistics.b.n",
            "characterization.statistics.b.mean",
            "characterization.statistics.b.std",
            "characterization.statistics.b.min",
            "characterization.statistics.b.max",
            "characterization.statistics.b.quantiles",
            "characterization.correlation.effective_rank",
            "characterization.correlation.pairs",
            "characterization.normalization.mean",
            "characterization.normalization.std",
            "characterization.diversity.effective_rank.value",
            "batch_spec.structure",
            "batch_spec.fields.name",
            "batch_spec.memory.batch_bytes",
            "batch_spec.batch_size_limit.value",
            "batch_spec.preprocessing.normalization",
            "batch_spec.preprocessing.outliers",
            "sampler.classes.before",
            "sampler.classes.after",
            "sampler.simulation.epoch_samples",
            "quality.checklist.splits_disjoint",
            "quality.checks.id",
            "quality.checks.count",
            "quality.checks.scanned",
        ],
    ),
    "pictures": (
        even_pictures,
        uneven_pictures,
        [
            "characterization.fields.shape",
            "characterization.classes.counts",
            "batch_spec.collate.why",
            "batch_spec.preprocessing.resize",
            "quality.checklist_why.shapes_consistent",
            "characterization.statistics.image.red.mean",
        ],
    ),
    "sequences": (
        even_sequences,
        ragged_sequences,
        [
            "characterization.fields.kind",
            "characterization.fields.shape",
            "batch_spec.collate.name",
            "batch_spec.fields.variable",
            "batch_spec.preprocessing.resize",
            "sampler.strategy",
            "sampler.why",
            "sampler.sampler.arguments",
            "sampler.simulation.padding_before",
            "sampler.simulation.padding_after",
            "sampler.alternatives.strategy",
            "sampler.alternatives.when",
            "sampler.alternatives.simulation",
        ],
    ),
    "texts and a table": (
        small_table,
        texts,
        [
            "format",
            "modality",
            "unknowns.what",
            "unknowns.why",
            "characterization.task.name",
            "characterization.normalization.method",
            "characterization.normalization.computed_on",
            "characterization.normalization.applied",
            "batch_spec.preprocessing.augmentation",
            "batch_spec.preprocessing.dtype",
            "batch_spec.preprocessing.layout",
            "quality.checks.id",
        ],
    ),
    "sounds and pictures": (
        even_pictures,
        sounds,
        [
            "format",
            "modality",
            "characterization.task.name",
            "batch_spec.collate.name",
            "batch_spec.preprocessing.augmentation",
            "batch_spec.preprocessing.dtype",
            "batch_spec.preprocessing.layout",
        ],
    ),
}
SAME = {
    "tables": ["format", "modality", "characterization.location"],
    "pictures": ["format", "modality", "quality.checklist.no_corrupted_files"],
    "sequences": ["characterization.samples", "characterization.classes.counts"],
    "texts and a table": ["characterization.location", "batch_spec.preprocessing.resize"],
    "sounds and pictures": ["characterization.location", "quality.checklist.no_nan_or_inf"],
}


def at(report: Any, path: str) -> Any:
    """What stands at a path; of a list, what stands there in each entry; of nothing, nothing."""
    name, _, rest = path.partition(".")
    if isinstance(report, list):
        return [at(entry, path) for entry in report]
    if report is None or not name:
        return report
    return at(report[name] if isinstance(report, dict) else getattr(report, name), rest)


@pytest.mark.parametrize("name", PAIRS)
def test_every_field_that_a_trait_touches_moves_and_the_others_stay(name: str, quickly: Asker, tmp_path: Path) -> None:
    """Our promise: a field says what is in the data; none is a constant of ours."""
    one, two, moving = PAIRS[name]
    reports = [
        quickly.ask("analyze_dataset", make(tmp_path / side), str(tmp_path), budget_s=30)
        for side, make in (("one", one), ("two", two))
    ]
    assert [p for p in moving if at(reports[0], p) == at(reports[1], p)] == []
    assert [p for p in SAME[name] if at(reports[0], p) != at(reports[1], p)] == []
