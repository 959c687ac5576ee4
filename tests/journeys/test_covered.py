"""Every field of the five tools' results has a planted trait that moves it, or an excuse that is written here."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dataloader_expert.report import AdviceLine, Figure, FindingLine, Picture
from dataloader_expert.tools.characterize_dataset import Histogram, Statistics
from dataloader_expert.tools.check_quality import Treatment
from dataloader_expert.tools.diagnose_io import ForecastLine, Predicted, Reading, StartMethod
from tests.checks import test_treatments
from tests.journeys import (
    test_attribution,
    test_hostile,
    test_moving,
    test_moving_more,
    test_planted,
    test_repeated_checks,
    test_users_ways,
)

SCHEMAS = Path(__file__).parents[1] / "harness" / "schemas.json"
SECTIONS = {
    "characterization": "characterize_dataset",
    "batch_spec": "recommend_batch_spec",
    "io": "diagnose_io",
    "quality": "check_quality",
    "sampler": "suggest_sampler",
}
"""The five tools, by their section of the whole analysis."""
ALL = "every tool"
SPOT = ("function", "file", "line", "share", "stage")
TRIED = ("prefetch_factor", "in_order", "persistent_workers", "main_ms")

COVERED: dict[str, str] = {
    # field: the trait (of OF_USERS or TABLES) or the test that moves it; the pairs' own lists come on top
    f"{ALL}.tool": "test_what_a_trait_touches_moves_and_the_rest_stays",
    f"{ALL}.source": "test_what_a_trait_touches_moves_and_the_rest_stays",
    **{f"{ALL}.findings.{n}": "test_every_part_of_a_finding_is_of_its_own_fault" for n in FindingLine.model_fields},
    **{f"{ALL}.advice.{n}": "test_every_part_of_an_advice_is_of_its_own_setting" for n in AdviceLine.model_fields},
    f"{ALL}.coverage.complete": "test_a_budget_too_small_leaves_the_answer_open",
    f"{ALL}.environment.python": "test_one_cpu_another_interpreter_and_a_core_to_wait_for",
    f"{ALL}.environment.torch": "test_one_cpu_another_interpreter_and_a_core_to_wait_for",
    f"{ALL}.environment.cpus": "test_one_cpu_another_interpreter_and_a_core_to_wait_for",
    f"{ALL}.environment.memory_bytes": "test_memory_and_cpus_are_what_the_group_leaves",
    f"{ALL}.environment.shm_bytes": "test_memory_and_cpus_are_what_the_group_leaves",
    f"{ALL}.shortened": "test_what_is_cut_is_said_and_what_fits_is_not_cut",
    f"{ALL}.rest": "test_what_is_cut_is_said_and_what_fits_is_not_cut",
    "characterize_dataset.classes.label": "test_a_label_by_another_name_and_none_at_all",
    "characterize_dataset.classes.severe_imbalance": "imbalance",
    "characterize_dataset.statistics.skewness": "an outlier: moments",
    "characterize_dataset.statistics.kurtosis": "an outlier: moments",
    "characterize_dataset.statistics.distribution": "a uniform column",
    "characterize_dataset.statistics.measure": "texts",
    "characterize_dataset.fields.length": "lists",
    "characterize_dataset.fields.distinct": "distinct values",
    "characterize_dataset.fields.common": "distinct values",
    "characterize_dataset.fields.boxes": "boxes",
    "characterize_dataset.statistics.zeros": "zeros",
    "characterize_dataset.statistics.nan": "NaN",
    "characterize_dataset.statistics.inf": "infinity",
    "characterize_dataset.statistics.outliers": "an outlier",
    "characterize_dataset.diversity.distinct_fraction": "copies",
    "characterize_dataset.diversity.near_duplicate_fraction": "near copies",
    "recommend_batch_spec.memory.device_peak_bytes": "memory of a model without a device",
    "recommend_batch_spec.memory.how": "memory of a model without a device",
    **{
        f"recommend_batch_spec.memory.{n}": "memory of a model without a device"
        for n in ("parts", "peak_at", "fit", "device_reserved_bytes", "largest_batch")
    },
    "recommend_batch_spec.model_check.ran": "memory of a model without a device",
    "recommend_batch_spec.model_check.declared": "test_what_a_model_declares_is_told",
    **{
        f"recommend_batch_spec.{n}": "test_rows_of_several_lengths_have_a_range_padding_and_a_worst_batch"
        for n in ("fields.range", "fields.host", "memory.batch_bytes_worst", "padding", "last_batch")
    },
    "recommend_batch_spec.memory.host_parts": "test_a_loader_is_weighed_as_it_is_advised",
    "recommend_batch_spec.memory.host_total_bytes": "test_a_loader_is_weighed_as_it_is_advised",
    "recommend_batch_spec.preprocessing.cache": "samples worth keeping: batches",
    "diagnose_io.current.throughput_batch_size": "a batch that takes seconds",
    "diagnose_io.stages.name": "test_our_reading_has_stages_and_what_no_stack_tells_stays_open",
    "diagnose_io.overhead": "test_our_reading_has_stages_and_what_no_stack_tells_stays_open",
    "diagnose_io.bottleneck": "test_the_costly_line_is_named_with_its_stage",
    **{f"diagnose_io.hotspots.{n}": "test_the_costly_line_is_named_with_its_stage" for n in SPOT},
    **{f"diagnose_io.cacheable.{n}": "samples worth keeping" for n in ("stage", "bytes", "gain")},
    **{f"diagnose_io.start_methods.{n}": "test_start_methods_are_timed_once" for n in StartMethod.model_fields},
    "diagnose_io.hotspots.inclusive": "test_a_helper_of_the_users_shows_what_it_costs_with_what_it_calls",
    "diagnose_io.hotspots.called_from": "test_a_line_in_a_library_comes_with_the_users_that_led_there",
    **{f"diagnose_io.reading.{n}": "test_bytes_read_stand_beside_bytes_delivered" for n in Reading.model_fields},
    "diagnose_io.found_after_s": "test_the_search_tells_what_it_tried_and_when_it_was_done",
    "diagnose_io.search_ended": "test_the_search_tells_what_it_tried_and_when_it_was_done",
    "diagnose_io.current.in_order": "test_the_search_tells_what_it_tried_and_when_it_was_done",
    "diagnose_io.recommended.in_order": "test_the_search_tells_what_it_tried_and_when_it_was_done",
    **{f"diagnose_io.trials.{n}": "test_the_search_tells_what_it_tried_and_when_it_was_done" for n in TRIED},
    **{f"diagnose_io.forecast.{n}": "test_a_forecast_follows_the_hardware" for n in ForecastLine.model_fields},
    "diagnose_io.stages.queue_ms": "test_one_cpu_another_interpreter_and_a_core_to_wait_for",
    "diagnose_io.speedup": "samples that wait: workers",
    "diagnose_io.consumer.stall_share_current": "a consumer that waits",
    "diagnose_io.consumer.stall_share_recommended": "a consumer that waits",
    "diagnose_io.storage.cold_mb_s": "test_cold_is_of_the_disk_and_unknown_of_memory",
    "diagnose_io.storage.warm_mb_s": "test_tiny_files_come_slower_than_a_large_one",
    "diagnose_io.storage.open_ms": "test_a_path_of_many_links_takes_longer_to_open",
    "diagnose_io.health.open_files_per_1000": "leaked descriptors",
    "diagnose_io.health.memory_mb_per_1000": "leaked memory",
    "diagnose_io.health.hung": "test_health_tells_a_hang_from_a_crash_and_both_from_an_error",
    "diagnose_io.health.crashed": "test_health_tells_a_hang_from_a_crash_and_both_from_an_error",
    "diagnose_io.health.slow_samples": "a slow sample",
    "diagnose_io.health.slow_share": "a slow sample",
    "diagnose_io.health.nondeterministic": "random content",
    "check_quality.checklist.no_corrupted_files": "a sample that raises",
    "check_quality.checklist.no_nan_or_inf": "NaN: box",
    "check_quality.checklist.shapes_consistent": "test_a_cut_picture_fails_and_one_odd_size_drifts",
    "check_quality.checks.field": "test_what_was_taken_for_a_group_and_a_time_is_said_and_what_was_not",
    "check_quality.roles.role": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.roles.field": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.roles.how": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.splits.name": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.splits.samples": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.splits.early": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.groups.field": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.groups.total": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.groups.in_several_splits": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    "check_quality.passed_checks": "test_columns_that_name_split_patient_and_time_are_used_as_such",
    **{
        f"characterize_dataset.shards.{n}": "test_shards_are_counted_with_the_workers_that_they_feed"
        for n in ("count", "least", "most", "workers")
    },
    **{
        f"check_quality.pairs.{n}": "test_rows_across_the_splits_of_a_column_are_counted_by_pair"
        for n in ("kind", "one", "other")
    },
    "check_quality.overlaps.splits": "test_rows_across_the_splits_of_a_column_are_counted_by_pair",
    "check_quality.overlaps.exact": "test_rows_across_the_splits_of_a_column_are_counted_by_pair",
    "check_quality.overlaps.near": "test_rows_across_the_splits_of_a_column_are_counted_by_pair",
    "check_quality.not_checked": "test_rows_across_the_splits_of_a_column_are_counted_by_pair",
    "characterize_dataset.statistics.treatment": "test_statistics_hold_the_treatment",
    **{
        f"check_quality.treatments.{n}": "test_cures_of_splits_say_what_they_would_change"
        for n in Treatment.model_fields
    },
    "check_quality.code": "test_what_is_planted_fails_its_test",
    "suggest_sampler.simulation.batches_missing_class": "metric objective",
    "suggest_sampler.simulation.ranks": "test_the_code_for_several_processes_runs_and_deals_by_rank",
}

EXCUSED: dict[str, str] = {
    f"{ALL}.environment.devices": "no device",
    "recommend_batch_spec.memory.device_total_bytes": "no device",
    f"{ALL}.elapsed_s": "of the call",
    f"{ALL}.report_uri": "of the server",
    f"{ALL}.report_markdown": "all fields once more",
    f"{ALL}.next.tool": "a hint",
    f"{ALL}.next.arguments": "a hint",
    f"{ALL}.next.why": "a hint",
    "characterize_dataset.location": "remote sources are refused by this version: always local",
    "diagnose_io.storage.to_device_gb_s": "no device",
    "diagnose_io.recommended.throughput_batch_size": "said of current; recommended shares its model",
    "diagnose_io.recommended.made_by": "said of current; recommended shares its model",
    **dict.fromkeys(
        (
            "characterize_dataset.class_counts_by_split",
            *(f"characterize_dataset.histograms.{n}" for n in Histogram.model_fields),
            "characterize_dataset.correlation.matrix",
            "recommend_batch_spec.memory.by_batch_size",
            *(f"diagnose_io.predicted.{n}" for n in Predicted.model_fields),
            *(f"{ALL}.pictures.{n}" for n in Picture.model_fields),
        ),
        "of charts alone: tests/page compares what is drawn with it",
    ),
}

MODULES = (
    test_attribution,
    test_planted,
    test_moving,
    test_moving_more,
    test_hostile,
    test_users_ways,
    test_treatments,
    test_repeated_checks,
)


def fields() -> set[str]:
    """``tool.field`` and ``tool.field.field`` of every result, and of ``statistics`` the fields that it always has."""
    found = {}
    for told in json.loads(SCHEMAS.read_text(encoding="utf-8")):
        if told["name"] in SECTIONS.values():
            found[told["name"]] = set(paths(told["outputSchema"]))
    shared = set.intersection(*found.values())
    found = {name: own - shared for name, own in found.items()} | {ALL: shared}
    statistics = {f"characterize_dataset.statistics.{n}" for n in Statistics.model_fields}
    every = {f"{name}.{path}" for name, own in found.items() for path in own}
    return (every - {"characterize_dataset.statistics"}) | statistics


def paths(schema: dict[str, Any]) -> Iterator[str]:
    def plain(node: dict[str, Any]) -> dict[str, Any]:
        """The schema behind a reference, a null that may stand instead, and a list."""
        if "$ref" in node:
            return plain(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
        if "anyOf" in node:
            others = [n for n in node["anyOf"] if n.get("type") != "null"]
            return plain(others[0]) if len(others) == 1 else node
        return plain(node["items"]) if node.get("type") == "array" else node

    for name, node in schema["properties"].items():
        inner = set(plain(node).get("properties", ()))
        if not inner or inner == set(Figure.model_fields):
            yield name
        else:
            yield from (f"{name}.{field}" for field in inner)


def listed() -> dict[str, str]:
    """What the pairs and the timed traits say that they move, each by its field."""
    known = fields()

    def field(tool: str, path: str) -> str:
        parts = path.replace("class_", "class").split(".")
        if parts[0] == "statistics":
            del parts[1:-1]
        whole, outer = (".".join(parts[:n]) for n in (len(parts), len(parts) - 1))
        written = (f"{who}.{what}" for what in (whole, outer) for who in (tool, ALL))
        return next((w for w in written if w in known), f"{tool}.{path}")

    found = {}
    for name, (_, _, moving) in test_moving.PAIRS.items():
        for path in moving:
            section, _, rest = path.partition(".")
            found[field(SECTIONS[section], rest) if section in SECTIONS else field(ALL, path)] = name
    for name, ((tool, _, _), _, moving, _) in test_moving_more.PAIRS.items():
        found |= {field(tool, path): name for path in moving}
    return found | {field(tool, path): path for path, ((tool, _, _), _, _) in test_moving_more.TIMED.items()}


def words(name: str) -> set[str]:
    """The names that a trait's or a test's own code mentions.

    Raises:
        LookupError: if there is no such trait or test.
    """
    moved = [row[-2] for k, row in test_planted.OF_USERS.items() if k == name]
    moved += [row[-1] for k, row in test_planted.TABLES.items() if k == name]
    if moved:
        return set().union(*(mentioned(m.__code__, test_planted) for m in moved))
    test = next((t for m in MODULES if (t := vars(m).get(name)) is not None), None)
    if test is None:
        raise LookupError(f"{name} is no trait and no test")
    found = mentioned(test.__code__, inspect.getmodule(test))
    for model in (AdviceLine, FindingLine):
        if {model.__name__, "model_fields"} <= found:
            found |= set(model.model_fields)
    return found


def mentioned(code: CodeType, module: ModuleType | None) -> set[str]:
    """Names and keys in the code, in what it defines inside, and in the functions of ``module`` that it calls."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, str):
            found |= {constant, *constant.split(".")}
        elif isinstance(constant, CodeType):
            found |= mentioned(constant, module)
    called = [vars(module).get(name) for name in code.co_names] if module is not None else []
    for helper in filter(inspect.isfunction, called):
        found |= mentioned(helper.__code__, None)
    return found


def test_every_field_has_a_trait_that_moves_it() -> None:
    """Our promise: a new field comes with a planted opposite, or with an excuse that one can read."""
    assert fields() - COVERED.keys() - EXCUSED.keys() - listed().keys() == set()


def test_nothing_is_covered_or_excused_that_is_not_there() -> None:
    """Our promise: the tables are of the fields that are told to clients, and no field is in two minds."""
    assert (COVERED.keys() | EXCUSED.keys() | listed().keys()) - fields() == set()
    assert EXCUSED.keys() & (COVERED.keys() | listed().keys()) == set()


def test_what_covers_a_field_looks_at_it() -> None:
    """Our promise: every trait and test that is named exists, and its code mentions the field."""
    assert [f"{f}: {name}" for f, name in COVERED.items() if f.rsplit(".", 1)[-1] not in words(name)] == []
