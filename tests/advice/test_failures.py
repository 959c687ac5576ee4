"""What is said of a loader that failed."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.avoidable import long_samples
from dataloader_expert.advice.failures import loader, measuring, overfull, stuck
from dataloader_expert.advice.loader_settings import pickling
from dataloader_expert.probes.base import LOADER_FAILED, OVERFULL, PICKLING, loader_failed
from dataloader_expert.probes.data.own_samples import RAISES
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.health.shared_handles import POSITIONS
from dataloader_expert.probes.health.started_first import STARTED_FIRST
from dataloader_expert.probes.health.worker_resources import GROWTH
from dataloader_expert.probes.hung import HANGS, LONG_SAMPLES
from dataloader_expert.probes.model.batch import SPREAD
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.stuck import STUCK
from dataloader_expert.probes.search.trials import THROUGHPUT
from dataloader_expert.probes.system.outside import FAILED
from dataloader_expert.tools.recipes.diagnose_io import health_of
from tests.advice.test_epochs import PLAN, codes_of, facts_of

DIED = {"error": "RuntimeError: …", "died": True, "locked": False, "client": False, "where": ""}


@pytest.mark.parametrize("stopped", [False, True])
def test_workers_that_were_stopped_for_their_memory_did_not_die_by_themselves(stopped: bool) -> None:
    """Our promise: one cause is told once."""
    taken = [(OVERFULL, "4 workers took 1.2 GB", {"workers": 4})] if stopped else []
    facts = facts_of((LOADER_FAILED, DIED, {"workers": 4, "hung": False}), *taken)
    assert codes_of(facts, loader, overfull) == (["memory-limit-reached"] if stopped else ["worker-died"])


@pytest.mark.parametrize(("error", "told"), [("SystemExit at sample 7", []), ("ValueError", ["sample-crashes"])])
def test_a_sample_that_exits_is_told_once(error: str, told: list[str]) -> None:
    """Our promise: the end of the process that a sample ended is no second fault."""
    raised = {"count": 1, "tried": 50, "error": error, "garbled": "", "length": None, "samples": [7]}
    failed = {"code": "worker-crashed", "message": "the measuring process exited with status 70 at sample 7"}
    assert codes_of(facts_of((RAISES, raised, {}), (FAILED, failed, {})), measuring) == told


@pytest.mark.parametrize("first", [False, True])
def test_a_deadlock_that_depends_on_what_was_done_before_is_a_warning(first: bool) -> None:
    """Our promise: a script that starts its workers first is not said to hang."""
    locked = {**DIED, "died": False, "locked": True}
    more: list[Any] = [(STARTED_FIRST, 2, {})] if first else []
    facts = facts_of((LOADER_FAILED, locked, {"workers": 2, "hung": True}), *more)
    assert [(f.code, f.severity) for f in loader(facts)] == [("deadlock", "warning" if first else "error")]


def test_what_cannot_be_pickled_is_told_once() -> None:
    """Our promise: a lambda that spawn cannot send to workers is no sample that raises."""
    raised = {**DIED, "died": False, "error": "AttributeError: Can't pickle local object 'make.<locals>.<lambda>'"}
    failed = (LOADER_FAILED, raised, {"workers": 2, "hung": False})
    pickles = {"why": "transform: AttributeError", "start_method": "spawn", "workers": 2, "seconds": 0.0, "bytes": 0}
    assert codes_of(facts_of(failed, (PICKLING, pickles, {})), loader, pickling) == ["unpicklable"]
    assert codes_of(facts_of(failed), loader, pickling) == ["sample-raises"]


@pytest.mark.parametrize("delivers", [False, True])
def test_samples_that_outlast_the_budget_are_no_hang_of_a_loader_that_delivers(delivers: bool) -> None:
    more: list[Any] = [(CURRENT, PLAN, {})] if delivers else []
    late = {"code": "timed-out", "message": "comparing workers: no result within 29 s"}
    [found] = measuring(facts_of((FAILED, late, {}), *more))
    assert (found.code, found.severity) == ("sample-hangs", "warning" if delivers else "error")


@pytest.mark.parametrize(("present", "severity"), [(0, "warning"), (2, "error")])
def test_what_fails_only_in_workers_is_a_warning_where_there_are_none(present: int, severity: str) -> None:
    """Our promise: a pipeline that runs is not said to fail because another setting was tried."""
    raised = {**DIED, "died": False}
    current = {**PLAN, "num_workers": present}
    [found] = loader(facts_of((LOADER_FAILED, raised, {"workers": 2, "hung": False}), (CURRENT, current, {})))
    assert (found.code, found.severity) == ("sample-raises", severity)
    assert found.message.startswith("with 2 workers, where there are none") is (present == 0)


@pytest.mark.parametrize(
    ("signal", "more", "words", "fix"),
    [
        ("SIGKILL", (KEPT, {"attribute": "cache"}), "killed by SIGKILL, as the system does when memory runs out: the dataset keeps", "bound `cache`"),
        ("SIGKILL", (GROWTH, {"private_per_sample": [9.0, 9.0, 9.0], "steady": True, "private_bytes": 90, "samples_later": 10}), "grows by 9 bytes per sample", "what __getitem__ keeps"),
        ("SIGKILL", None, "memory runs out", "fewer workers"),
        ("SIGSEGV", (KEPT, {"attribute": "cache"}), "code that is not Python crashed", "faulthandler"),
        ("", None, "ended without an error", "os._exit()"),
    ],
    ids=["a cache", "growth", "unknown", "a crash", "an exit"],
)  # fmt: skip
def test_a_worker_that_died_is_told_with_its_signal_and_what_its_memory_did(
    signal: str, more: Any, words: str, fix: str
) -> None:
    """Seen: a worker killed for its memory was told to be found by iterating, beside a cache that was found."""
    died = (LOADER_FAILED, {**DIED, "signal": signal}, {"workers": 2, "hung": False})
    [found] = loader(facts_of(died, *([] if more is None else [(*more, {})])))
    assert (found.code, found.severity) == ("worker-died", "error")
    assert words in found.message and fix in found.fix


def test_the_signal_that_ended_a_worker_is_in_the_error() -> None:
    [fact] = loader_failed(RuntimeError("DataLoader worker (pid(s) 7) exited unexpectedly [SIGKILL]"))
    assert fact.value["died"] and fact.value["signal"] == "SIGKILL"


def test_a_hang_is_told_with_a_cure_of_its_own_and_slow_samples_are_none() -> None:
    """Seen: the cure was to run the tool again."""
    late = {"code": "timed-out", "message": "reading samples: no result at sample 7; raise budget_s, or fix what hangs"}
    [found] = measuring(facts_of((FAILED, late, {})))
    assert (found.code, found.severity) == ("sample-hangs", "error")
    assert (found.message, found.fix) == ("reading samples: no result at sample 7", "raise budget_s, or fix what hangs")
    at = {"seconds": 7.0, "file": "a/lbm.py", "function": "simulate", "line": 14, "share": 0.9}
    slow = facts_of((FAILED, late, {}), (LONG_SAMPLES, at, {}))
    assert codes_of(slow, measuring) == []
    [line] = long_samples(slow)
    assert "a sample takes 7 s, 90% of it at lbm.py:14 in `simulate`" in line.message


def test_workers_that_were_still_starting_are_no_sample_that_hangs() -> None:
    """Seen: a loader that spawned its workers, which took 14 s to their first batch, was an error: a sample hangs."""
    late = {
        "code": "timed-out",
        "message": "watching workers: no result within 29 s, so the process was stopped; raise budget_s",
    }
    pickled = {"why": None, "start_method": "spawn", "workers": 2, "seconds": 0.9, "bytes": 9_000_000}
    [found] = measuring(facts_of((FAILED, late, {}), (PICKLING, pickled, {})))
    assert (found.code, found.severity) == ("slow-worker-start", "warning")
    assert not health_of(facts_of((FAILED, late, {}))).hung
    seen = {
        **late,
        "message": "watching workers: no result within 29 s, so the process was stopped in read (store.py:3); fix",
    }
    [found] = measuring(facts_of((FAILED, seen, {}), (PICKLING, pickled, {})))
    assert found.code == "sample-hangs" and health_of(facts_of((FAILED, seen, {}))).hung


@pytest.mark.parametrize(("method", "severity"), [("fork", "info"), ("spawn", "error")])
def test_what_cannot_be_pickled_matters_only_where_it_is_pickled(method: str, severity: str) -> None:
    """Seen: a warning that workers cannot be spawned, of a loader that forks them."""
    value = {"why": "db: TypeError", "start_method": method, "workers": 2, "seconds": 0.0, "bytes": 0}
    assert [f.severity for f in pickling(facts_of((PICKLING, value, {})))] == [severity]


@pytest.mark.parametrize(
    ("threads", "cpu_s", "queue_s", "told"),
    [
        (18, 0.6, 4.0, ("too-many-threads", "error")),
        (18, 0.6, 0.1, ("sample-hangs", "warning")),
        (1, 0.6, 1.2, ("sample-hangs", "warning")),
        (1, 0.6, 4.0, ("machine-busy", "info")),
        (1, 0.0, 0.0, ("sample-hangs", "error")),
    ],
)
def test_workers_that_deliver_nothing_as_their_threads_wait_for_cores_are_told_so(
    threads: int, cpu_s: float, queue_s: float, told: tuple[str, str]
) -> None:
    """Seen: a worker_init_fn that gave each worker all threads kept them from delivering, and nothing was said. Our promise: workers that
    compute, or wait for a core, do not hang; and none hang that were timed later. Seen: on a busy machine a warning after one second, with
    the cure to look at "that line", where none was named."""
    value = {
        "seconds": 8.0,
        "alone_s": 0.05,
        "threads": threads,
        "cpu_s": cpu_s,
        "queue_s": queue_s,
        "cpus": 2.0,
        "late": True,
    }
    silent = (STUCK, {**value, "where": "f (ecog.py:30)", "init": "use_all_cores"}, {"workers": 2})
    [found] = stuck(facts_of(silent))
    assert (found.code, found.severity) == told
    assert codes_of(facts_of(silent, (THROUGHPUT, 50.0, {"workers": 2})), stuck) == []
    spawned = {"why": None, "start_method": "spawn", "workers": 2, "seconds": 0.9, "bytes": 9_000_000}
    starting = (STUCK, {**value, "threads": 1, "where": "", "init": None}, {"workers": 2})
    told_of = codes_of(facts_of(starting, (PICKLING, spawned, {})), stuck)
    assert told_of == ["slow-worker-start" if cpu_s else "sample-hangs"]
    assert (
        "2 workers delivered nothing in 8 s" in found.message
        and "ecog.py:30" in found.message
        and ("use_all_cores" in found.fix or found.code == "machine-busy")
    )
    assert not [one for one in stuck(facts_of(starting)) if "that line" in one.fix]


@pytest.mark.parametrize(
    ("line", "told"), [("__getitem__ (lidar.py:20)", []), ("__getitem__ (lidar.py:7)", ["sample-hangs"])]
)
def test_a_sample_that_hangs_is_told_once(line: str, told: list[str]) -> None:
    """Seen: the sample that hung, and below it that the process was stopped at that same line, with "raise budget_s"."""
    hung = {"seconds": 5.0, "waits": True, "where": "__getitem__ (lidar.py:20)", "others_come": True}
    message = f"making a batch: no result within 28 s, so the process was stopped in {line}; raise budget_s"
    failed = {"code": "timed-out", "message": message}
    assert codes_of(facts_of((HANGS, hung, {"sample": 231}), (FAILED, failed, {})), measuring) == told


@pytest.mark.parametrize("known", [False, True])
def test_samples_that_do_not_collate_are_told_once(known: bool) -> None:
    """Seen: one None was two errors, of which one did not say where."""
    error = "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>"
    failed: list[Any] = [(SPREAD, {"failed": {"samples": [5], "error": error}}, {})] if known else []
    facts = facts_of((LOADER_FAILED, {**DIED, "died": False, "error": error}, {"workers": 0, "hung": False}), *failed)
    assert codes_of(facts, loader) == ([] if known else ["not-collatable"])


@pytest.mark.parametrize(("at", "told"), [("", []), (" at sample 7", ["sample-hangs"])])
def test_time_that_a_failing_loader_used_up_is_no_hang(at: str, told: list[str]) -> None:
    """Seen: beside BadZipFile from a handle that workers share, a warning that a sample hangs: what was left of the time had run out."""
    failed = {"code": "timed-out", "message": f"observed 32 batches: no result{at} within 14 s; raise budget_s"}
    raised = {**DIED, "died": False, "error": "BadZipFile: Bad CRC-32"}
    facts = facts_of((FAILED, failed, {}), (LOADER_FAILED, raised, {"workers": 2, "hung": False}), (CURRENT, PLAN, {}))
    assert codes_of(facts, measuring) == told


@pytest.mark.parametrize(
    ("count", "first"), [(1, "first stop workers from sharing"), (0, "run the loader with num_workers=0")]
)
def test_what_a_shared_handle_makes_raise_has_no_cure_of_its_own(count: int, first: str) -> None:
    """Seen: "run the loader with num_workers=0 to see where it fails", of BadZipFile that only workers raise who share a handle."""
    raised = {**DIED, "died": False, "error": "BadZipFile: Bad CRC-32"}
    moved: Any = (POSITIONS, {"paths": ["a.zip"], "count": count, "held": None}, {})
    [found] = loader(facts_of((LOADER_FAILED, raised, {"workers": 2, "hung": False}), (CURRENT, PLAN, {}), moved))
    assert found.code == "sample-raises" and found.fix.startswith(first)
