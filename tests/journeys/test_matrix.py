"""Every field of every tool on every data set: filled from what was read, or null for a reason that is allowed.

Prints the matrix of data set by field. The measuring is the tools' own recipe with shorter blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dataloader_expert.report import Report
from tests.journeys.test_manifest import FOLDER, PARTS, REAL
from tests.making.asking import Asker
from tests.making.tiny import TINY

NO_DEVICE = {
    "batch_spec.memory.device_peak_bytes",
    "batch_spec.memory.device_total_bytes",
    "batch_spec.memory.device_reserved_bytes",
    "io.storage.to_device_gb_s",
}
OF_A_MODEL = {"batch_spec.memory.peak_at", "batch_spec.memory.fit"}
NOT_WEIGHED = {"batch_spec.memory.host_total_bytes"}
"""The whole analysis weighs no loader."""
NO_ARGUMENT = {"batch_spec.model_check", "io.consumer", "io.forecast"} | OF_A_MODEL | NOT_WEIGHED
LATER = {"io.cacheable", "batch_spec.preprocessing.cache", "quality.code", "sampler.alternatives.simulation"}
LACKING = {
    "characterization.splits",
    "characterization.classes",
    "characterization.correlation",
    "characterization.diversity.near_duplicate_fraction",
    "quality.checklist.imbalance_strategy_defined",
    "quality.checklist.splits_disjoint",
    "sampler.classes.before",
    "sampler.classes.after",
}
COLD = {"io.storage.cold_mb_s"}
ALLOWED = NO_DEVICE | NO_ARGUMENT | LATER | LACKING | COLD
SKIPPED = {"low", "high", "instead_of", "gain", "made_by"}
"""Interval ends, and what a conclusion need not have."""
ONLY_WHERE_IT_IS = {
    # a moment that does not exist, a shape that varies, a setting that torch refuses without workers, a rule not applied
    "groups",
    "one.split",
    "other.split",
    "one.file",
    "other.file",
    "shards",
    "early",
    "skewness",
    "kurtosis",
    "shape",
    "range",
    "fields.length",
    "fields.boxes",
    "fields.distinct",
    "fields.common",
    "prefetch_factor",
    "outliers.low",
    "outliers.high",
    "resize",
    "arguments",
    "rarest_mean_repeats",
    "classes_per_batch",
    "batches_missing_class",
    "padding_before",
    "padding_after",
    "normalization.applied",
    "normalization.mean",
    "normalization.std",
    "mean",
    "std",
    "min",
    "max",
    "quantiles",
    "hotspots.called_from",  # the line itself is the user's
    "class_counts_by_split",  # of data without splits or classes
    "histograms.channel",
    "treatments.field",
    "by_batch_size.device_bytes",  # of a model
    "by_batch_size.throughput",  # of sizes that were timed
    "best single field's score",  # where no other field is left
    "quality.checks.field",  # of checks that are about one field
}


def nothings(value: Any, path: str = "") -> Iterator[str]:
    """The paths of what is null or unknown."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            if name not in SKIPPED:
                yield from nothings(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nothings(inner, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from nothings(inner, path)
    elif value is None or value == "unknown":
        yield path


def analysed(report: Report) -> dict[str, Any]:
    return {n: getattr(report, n) for n in ("characterization", "batch_spec", "io", "quality", "sampler")}


def missing(report: Report) -> set[str]:
    found = {path for name, part in analysed(report).items() for path in nothings(part, name)}
    return {
        p for p in found if not any(p == o or p.endswith(f".{o}") for o in ONLY_WHERE_IT_IS) and "statistics" not in p
    }


def says_why(report: Report, path: str) -> bool:
    """Whether the unknowns name the field, by its last words."""
    words = path.split(".")
    told = " ".join(u.what for u in report.unknowns)
    return any(word in told for word in words[1:]) or words[-1] in ("before", "after")


SETS: dict[str, tuple[str, str, str | None]] = {name: ("", "", None) for name in TINY if "reference" not in name}
"""Source, root and label; of the tiny ones they are known once they are made."""
if FOLDER is not None:
    SETS |= {name: (str(FOLDER / REAL[p.name]["path"] / p.below), str(FOLDER), p.label) for name, p in PARTS.items()}


def test_no_field_is_null_but_for_what_the_data_or_the_machine_lack(thoroughly: Asker, tmp_path: Path) -> None:
    """Our promise: from data really read; null only with a reason, and the reason is among the unknowns."""
    holes: dict[str, set[str]] = {}
    silent: dict[str, list[str]] = {}
    for name, (source, root, label) in SETS.items():
        if not source:
            folder = tmp_path / name.replace("/", "-")  # each in its own: some are a whole folder
            folder.mkdir()
            made = TINY[name](folder)
            source, root, label = made.source, str(made.root), made.label
        report = thoroughly.ask("analyze_dataset", source, root, **({"label": label} if label else {}))
        holes[name] = missing(report)
        silent[name] = sorted(p for p in holes[name] if not says_why(report, p))
    print(matrix(holes))
    assert {name: sorted(found - ALLOWED) for name, found in holes.items() if found - ALLOWED} == {}
    assert {name: found for name, found in silent.items() if found} == {}


def matrix(holes: dict[str, set[str]]) -> str:
    """One line a data set, one column a field that is null somewhere; the others are filled everywhere."""
    fields = sorted(set().union(*holes.values()))
    legend = "\n".join(f"{chr(97 + i)} = {f}" for i, f in enumerate(fields))
    rows = [
        f"{name:24} {''.join(chr(97 + i) if f in found else '.' for i, f in enumerate(fields))}"
        for name, found in holes.items()
    ]
    return "\n".join(["", legend, *rows])
