"""Where the time goes, as the whole tool tells it: functions, lines, bytes read, settings tried, other hardware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.advice.forecast import LEAST_SLOWDOWN
from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.health.start_up import StartUp
from dataloader_expert.probes.health.static_checks import StaticChecks
from dataloader_expert.probes.profile.stages import Stages
from dataloader_expert.probes.search.loading import Loading
from dataloader_expert.tools.rendering import in_detail
from tests.making.asking import Asker
from tests.making.pipelines import write_pictures

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "benchmarks" / "faults.py"
USERS = ROOT / "tests" / "making" / "users.py"
PIPELINES = ROOT / "tests" / "making" / "pipelines.py"


def report_on(quickly: Asker, *left_out: type[Probe]) -> Any:
    """Asks ``diagnose_io``, without these probes, about a loader of the file of faults."""
    other = quickly.but("diagnose_io", lambda probe: not isinstance(probe, left_out))
    return lambda name, **more: other.ask("diagnose_io", f"{FAULTS}:{name}", str(ROOT), budget_s=8, **more)


@pytest.fixture(scope="module")
def parted(asker: Asker) -> Any:
    """Stacks for long enough to know a share by: a quarter of a second is three bursts, and they may miss the costliest."""
    return report_on(asker.quick(stacks_s=1.5), Loading)


@pytest.fixture(scope="module")
def searched(quickly: Asker) -> Any:
    return report_on(quickly, Stages)


def line_of(text: str) -> int:
    return next(i + 1 for i, line in enumerate(FAULTS.read_text().splitlines()) if text in line)


def test_the_costly_line_is_named_with_its_stage(parted: Any) -> None:
    """Our promise: function, file, line and share, also of what holds the interpreter's lock or hides in a library."""
    report = parted("inflates")
    top = report.hotspots[0]
    assert (top.function, Path(top.file).name, top.stage) == ("__getitem__", "faults.py", "decode")
    assert top.line == line_of("zlib.decompress(blob)")
    assert top.share.value > 0.4
    assert report.bottleneck == "decode"
    assert "inflate-per-sample" in {f.code for f in report.findings}
    other = parted("stored")
    assert other.bottleneck == "transform"
    assert "inflate-per-sample" not in {f.code for f in other.findings}


def test_a_line_in_a_library_comes_with_the_users_that_led_there(parted: Any) -> None:
    """Our promise: a cost inside an installed package names the user's call too."""
    spots = parted("pictures_whole", batch_size=2).hotspots
    inside = next(h for h in spots if "PIL" in h.file)
    assert inside.called_from is not None
    assert inside.called_from.rpartition(":")[0].endswith("faults.py")


def test_a_helper_of_the_users_shows_what_it_costs_with_what_it_calls(asker: Asker, tmp_path: Path) -> None:
    """Our promise: a cost hidden two calls below a function named decode is named, and its callers have it too."""
    folder = write_pictures(tmp_path / "pictures")
    quick = asker.quick(stacks_s=2.5).but("diagnose_io", lambda probe: not isinstance(probe, Loading))
    report: Any = quick.ask(
        "diagnose_io", f"{PIPELINES}:Hashes", str(ROOT), source_args={"folder": str(folder)}, budget_s=12, num_workers=0
    )
    names = [h.function for h in report.hotspots]
    assert set(names[:3]) == {"__getitem__", "decode", "digest_of"}
    found = {h.function: h for h in report.hotspots[:4]}
    assert found["__getitem__"].inclusive.value > 0.95
    assert found["decode"].inclusive.value > 0.95
    assert 0.65 < found["digest_of"].inclusive.value < 0.92
    assert found["pixels_of"].inclusive.value < 0.35
    assert found["decode"].share.value < 0.1
    mine = [Path(h.file) == PIPELINES for h in report.hotspots]
    assert mine == sorted(mine, reverse=True)  # the user's first, then libraries'
    assert all(h.inclusive.value >= h.share.value for h in report.hotspots)
    short: Any = in_detail(replace(quick.tools["diagnose_io"], limit=6000), report, "concise")
    assert [h.function for h in short.hotspots] == names[: max(5, len(short.hotspots))]  # five, whatever else is cut
    assert short.shortened


def test_bytes_read_stand_beside_bytes_delivered(parted: Any) -> None:
    """Our promise: what is read for a row and thrown away shows, and what is not does not."""
    whole, row = parted("groups_for_a_row"), parted("rows_for_a_row")
    assert whole.reading.bytes_read_per_sample == pytest.approx(204_800, rel=0.3)
    assert whole.reading.bytes_delivered_per_sample == row.reading.bytes_delivered_per_sample == 2048
    assert whole.reading.amplification > 20 * row.reading.amplification
    assert row.reading.from_disk_per_sample >= 0
    assert {"read-amplification"} <= {f.code for f in whole.findings}
    assert "read-amplification" not in {f.code for f in row.findings}
    many = parted("many_tensors")
    assert many.reading.fields_used == 40
    assert many.reading.fields_read is None
    assert many.bottleneck != "decode"


def test_the_search_tells_what_it_tried_and_when_it_was_done(searched: Any) -> None:
    """Our promise: every setting, in its order and depth, with what the main process did for it."""
    report = searched("stragglers", max_workers=2)
    assert {t.prefetch_factor for t in report.trials} >= {None, 2}
    assert report.current.in_order is True
    assert 0 < report.found_after_s < report.elapsed_s
    assert report.search_ended in ("converged", "out of time")
    assert {t.persistent_workers for t in report.trials} >= {False}
    loose = searched("stragglers_out_of_order", num_workers=4)
    assert loose.current.in_order is False
    assert loose.recommended.in_order is False
    assert {t.in_order for t in loose.trials if t.num_workers} == {False}
    busy = max(t.main_ms for t in searched("nested", max_workers=1).trials if t.num_workers)
    assert busy > max(t.main_ms for t in searched("flat", max_workers=1).trials if t.num_workers)


def test_start_methods_are_timed_once(asker: Asker) -> None:
    """Our promise: seconds to the first batch by each method; what does not travel says why."""
    other = asker.but("diagnose_io", lambda probe: isinstance(probe, Layout | StaticChecks | StartUp))
    late: Any = other.ask("diagnose_io", f"{USERS}:StartsLate", str(ROOT), budget_s=30)
    seconds = {line.method: line.first_batch_s for line in late.start_methods}
    assert seconds.keys() == {"fork", "forkserver", "spawn"}, late.unknowns
    assert 1 < seconds["fork"] < min(seconds["forkserver"], seconds["spawn"])  # these import torch anew
    stuck: Any = other.ask("diagnose_io", f"{FAULTS}:unpicklable", str(ROOT), budget_s=30)
    assert {line.method for line in stuck.start_methods} == {"fork"}
    assert {u.what for u in stuck.unknowns} >= {"start_methods: forkserver", "start_methods: spawn"}


def test_a_forecast_follows_the_hardware(quickly: Asker) -> None:
    """Our promise: more cores bring more of what computes, faster storage more of what waits."""
    told = report_on(quickly)
    report = told("crowded", max_workers=2, what_if={"cpus": 8, "num_workers": [3, 5]})
    eight, here = report.forecast, max(t.throughput.value for t in report.trials)
    assert eight.throughput.value > 2 * here
    assert eight.limit == "cpu"
    assert eight.workers_for_limit >= eight.at_workers > 2
    assert eight.stall_share is None
    assert (eight.asked["cpus"], eight.per_process) == (8, False)
    assert eight.note is None or "made samples wait" in eight.note  # beside other processes
    rows = {row.num_workers: row for row in eight.by_workers}
    assert list(rows) == sorted(rows)
    assert {0, 1, 2, 3, 4, 5, eight.at_workers} <= rows.keys()
    assert rows[eight.at_workers].throughput == eight.throughput.value
    assert rows[eight.at_workers].by_law == eight.by_law.value
    assert rows[1].throughput < rows[2].throughput < rows[4].throughput
    most = 1.05 / LEAST_SLOWDOWN  # the law is a bound, but for what busy cores were found to gain
    assert all(row.throughput < most * row.by_law for row in rows.values())
    assert rows[5].limit == "cpu"
    stepped = told("crowded", max_workers=2, what_if={"cpus": 8, "step_ms": 1000, "num_workers": 3}).forecast
    assert 3 in [row.num_workers for row in stepped.by_workers]
    assert stepped.limit == "step"
    assert stepped.throughput.value == pytest.approx(16 / 1.0, rel=0.05)
    assert stepped.by_law.value == pytest.approx(16 / 1.0, rel=0.05)
    assert stepped.stall_share.value < 0.2
