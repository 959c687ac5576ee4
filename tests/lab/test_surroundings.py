"""What control groups leave: version 1, version 2 and both at once, with limits at several levels."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Facts
from dataloader_expert.lab.surroundings import cpu_count, held, memory_bytes, surroundings, throttled
from dataloader_expert.probes.system.outside import cache_growth, throttling

GB = 1 << 30
UNLIMITED_V1 = "9223372036854771712"
HOST_KB = 64 * (1 << 20)


class Machine:
    """A made-up /sys/fs/cgroup and /proc. The host has 64 GiB available."""

    def __init__(self, folder: Path, groups: str, files: Mapping[str, str] | None = None) -> None:
        self.root, self.proc = folder / "cgroup", folder / "proc"
        self.root.mkdir()
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self" / "cgroup").write_text(groups, encoding="utf-8")
        (self.proc / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable:   {HOST_KB} kB\n", encoding="utf-8")
        for name, text in (files or {}).items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")

    @property
    def cpus(self) -> float:
        return cpu_count(self.root, self.proc)

    @property
    def memory(self) -> int:
        return memory_bytes(self.root, self.proc)


HOST_CPUS = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
V1 = "5:cpu,cpuacct:/jobs/mine\n4:memory:/jobs/mine\n1:name=systemd:/jobs/mine\n"
V2 = "0::/jobs/mine\n"
HYBRID = V1 + "0::/jobs/mine\n"

CPU_CASES = {
    "version 2, no limit": (V2, {"jobs/mine/cpu.max": "max 100000"}, HOST_CPUS),
    "version 2, own quota": (V2, {"jobs/mine/cpu.max": "50000 100000"}, 0.5),
    "version 2, a parent's quota": (
        V2,
        {"jobs/cpu.max": "25000 100000", "jobs/mine/cpu.max": "max 100000"},
        0.25,
    ),
    "version 2, the parent is tighter": (
        V2,
        {"jobs/cpu.max": "20000 100000", "jobs/mine/cpu.max": "80000 100000"},
        0.2,
    ),
    "version 2, the child is tighter": (
        V2,
        {"jobs/cpu.max": "80000 100000", "jobs/mine/cpu.max": "10000 50000"},
        0.2,
    ),
    "version 2, a sibling's quota": (V2, {"jobs/mine/x": "", "jobs/yours/cpu.max": "1000 100000"}, HOST_CPUS),
    "version 2, own name space": ("0::/\n", {"cpu.max": "75000 100000"}, 0.75),
    "version 2, controller not enabled": (V2, {"jobs/mine/cgroup.procs": "1"}, HOST_CPUS),
    "version 2, more than there is": (V2, {"jobs/mine/cpu.max": "99900000 100000"}, HOST_CPUS),
    "version 1, no limit": (
        V1,
        {"cpu,cpuacct/jobs/mine/cpu.cfs_quota_us": "-1", "cpu,cpuacct/jobs/mine/cpu.cfs_period_us": "100000"},
        HOST_CPUS,
    ),
    "version 1, own quota": (
        V1,
        {
            "cpu,cpuacct/jobs/mine/cpu.cfs_quota_us": "50000",
            "cpu,cpuacct/jobs/mine/cpu.cfs_period_us": "100000",
        },
        0.5,
    ),
    "version 1, a parent's quota": (
        V1,
        {
            "cpu,cpuacct/jobs/cpu.cfs_quota_us": "10000",
            "cpu,cpuacct/jobs/cpu.cfs_period_us": "40000",
            "cpu,cpuacct/jobs/mine/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/jobs/mine/cpu.cfs_period_us": "100000",
        },
        0.25,
    ),
    "version 1, mounted as cpu": (
        V1,
        {"cpu/jobs/mine/cpu.cfs_quota_us": "50000", "cpu/jobs/mine/cpu.cfs_period_us": "100000"},
        0.5,
    ),
    "version 1, seen from inside a container": (
        "5:cpu,cpuacct:/docker/0123abcd\n",
        {"cpu,cpuacct/cpu.cfs_quota_us": "50000", "cpu,cpuacct/cpu.cfs_period_us": "100000"},
        0.5,
    ),
    "hybrid, quota in version 1": (
        HYBRID,
        {
            "cpu,cpuacct/jobs/mine/cpu.cfs_quota_us": "30000",
            "cpu,cpuacct/jobs/mine/cpu.cfs_period_us": "100000",
            "unified/jobs/mine/cgroup.procs": "1",
        },
        0.3,
    ),
    "hybrid, quota in version 2": (HYBRID, {"unified/jobs/mine/cpu.max": "40000 100000"}, 0.4),
    "hybrid, quotas in both": (
        HYBRID,
        {
            "cpu,cpuacct/jobs/cpu.cfs_quota_us": "60000",
            "cpu,cpuacct/jobs/cpu.cfs_period_us": "100000",
            "unified/jobs/mine/cpu.max": "90000 100000",
        },
        0.6,
    ),
    "no control groups": ("", {}, HOST_CPUS),
    "what is there makes no sense": (V2, {"jobs/mine/cpu.max": "many"}, HOST_CPUS),
}

MEMORY_CASES = {
    "version 2, no limit": (
        V2,
        {"jobs/mine/memory.max": "max", "jobs/mine/memory.current": f"{GB}"},
        HOST_KB * 1024,
    ),
    "version 2, limit less use": (
        V2,
        {"jobs/mine/memory.max": f"{8 * GB}", "jobs/mine/memory.current": f"{3 * GB}"},
        5 * GB,
    ),
    "version 2, cache that can go is not use": (
        V2,
        {
            "jobs/mine/memory.max": f"{8 * GB}",
            "jobs/mine/memory.current": f"{7 * GB}",
            "jobs/mine/memory.stat": f"anon {2 * GB}\ninactive_file {5 * GB}\nactive_file 0",
        },
        6 * GB,
    ),
    "version 2, the parent's siblings use it up": (
        V2,
        {
            "jobs/memory.max": f"{10 * GB}",
            "jobs/memory.current": f"{9 * GB}",
            "jobs/mine/memory.max": f"{8 * GB}",
            "jobs/mine/memory.current": f"{2 * GB}",
        },
        GB,
    ),
    "version 2, the child is tighter": (
        V2,
        {
            "jobs/memory.max": f"{10 * GB}",
            "jobs/memory.current": f"{2 * GB}",
            "jobs/mine/memory.max": f"{4 * GB}",
            "jobs/mine/memory.current": f"{GB}",
        },
        3 * GB,
    ),
    "version 2, three levels": (
        "0::/a/b/c\n",
        {
            "a/memory.max": f"{6 * GB}",
            "a/memory.current": f"{4 * GB}",
            "a/b/memory.max": "max",
            "a/b/memory.current": f"{4 * GB}",
            "a/b/c/memory.max": f"{5 * GB}",
            "a/b/c/memory.current": f"{GB}",
        },
        2 * GB,
    ),
    "version 2, own name space": ("0::/\n", {"memory.max": f"{2 * GB}", "memory.current": "0"}, 2 * GB),
    "version 2, over the limit": (
        V2,
        {"jobs/mine/memory.max": f"{GB}", "jobs/mine/memory.current": f"{2 * GB}"},
        0,
    ),
    "version 1, no limit": (
        V1,
        {
            "memory/jobs/mine/memory.limit_in_bytes": UNLIMITED_V1,
            "memory/jobs/mine/memory.usage_in_bytes": "5",
        },
        HOST_KB * 1024,
    ),
    "version 1, limit less use": (
        V1,
        {
            "memory/jobs/mine/memory.limit_in_bytes": f"{4 * GB}",
            "memory/jobs/mine/memory.usage_in_bytes": f"{GB}",
        },
        3 * GB,
    ),
    "version 1, seen from inside a container": (
        "4:memory:/docker/0123abcd\n",
        {"memory/memory.limit_in_bytes": f"{4 * GB}", "memory/memory.usage_in_bytes": f"{GB}"},
        3 * GB,
    ),
    "version 1, a parent's limit": (
        V1,
        {
            "memory/jobs/memory.limit_in_bytes": f"{2 * GB}",
            "memory/jobs/memory.usage_in_bytes": f"{GB}",
            "memory/jobs/mine/memory.limit_in_bytes": UNLIMITED_V1,
            "memory/jobs/mine/memory.usage_in_bytes": f"{GB}",
        },
        GB,
    ),
    "version 1, a parent's use holds its children's cache": (
        V1,
        {
            "memory/jobs/memory.limit_in_bytes": f"{8 * GB}",
            "memory/jobs/memory.usage_in_bytes": f"{7 * GB}",
            "memory/jobs/memory.stat": f"cache 0\ninactive_file 0\ntotal_inactive_file {5 * GB}",
        },
        6 * GB,
    ),
    "hybrid, limit in version 1": (
        HYBRID,
        {
            "memory/jobs/mine/memory.limit_in_bytes": f"{4 * GB}",
            "memory/jobs/mine/memory.usage_in_bytes": f"{GB}",
            "unified/jobs/mine/cgroup.procs": "1",
        },
        3 * GB,
    ),
    "hybrid, limit in version 2": (
        HYBRID,
        {"unified/jobs/mine/memory.max": f"{4 * GB}", "unified/jobs/mine/memory.current": f"{GB}"},
        3 * GB,
    ),
    "no control groups": ("", {}, HOST_KB * 1024),
    "use is not told": (V2, {"jobs/mine/memory.max": f"{GB}"}, GB),
}


@pytest.mark.parametrize(("groups", "files", "expected"), CPU_CASES.values(), ids=CPU_CASES)
def test_cpus_are_the_tightest_quota_on_the_way_up(
    tmp_path: Path, groups: str, files: dict[str, str], expected: float
) -> None:
    """Our promise: workers are counted from what this process may use, not from what the host has."""
    assert Machine(tmp_path, groups, files).cpus == expected


@pytest.mark.parametrize(("groups", "files", "expected"), MEMORY_CASES.values(), ids=MEMORY_CASES)
def test_memory_is_what_the_tightest_level_leaves(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int
) -> None:
    """Our promise: the bound of a measurement fits into what the groups leave, cache that can go aside."""
    assert Machine(tmp_path, groups, files).memory == expected


def test_the_hosts_own_memory_bounds_a_generous_group(tmp_path: Path) -> None:
    """Our promise: a limit above what the host has left is no memory."""
    machine = Machine(tmp_path, V2, {"jobs/mine/memory.max": f"{999 * GB}", "jobs/mine/memory.current": "0"})
    assert machine.memory == HOST_KB * 1024


def test_nothing_at_all_still_gives_a_figure(tmp_path: Path) -> None:
    """Our promise: without /proc and control groups the system itself is asked."""
    nowhere = tmp_path / "nowhere"
    assert cpu_count(nowhere, nowhere) == HOST_CPUS
    assert memory_bytes(nowhere, nowhere) > 0


def test_this_machine_has_surroundings() -> None:
    """Our promise: what is read here is within what the system says."""
    here = surroundings()
    assert 0 < here.cpus <= HOST_CPUS
    assert here.memory_bytes > 0
    assert here.shm_bytes >= 0
    assert here.open_files > 0


quotas = st.lists(st.none() | st.integers(1000, 99_000), min_size=1, max_size=5)
levels = st.lists(st.none() | st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=5)


@given(quotas)
def test_any_depth_of_quotas_gives_the_least(given_quotas: list[int | None]) -> None:
    """Our promise: every level between this process and the root counts."""
    names = [f"g{i}" for i in range(len(given_quotas))]
    files = {
        "/".join([*names[: i + 1], "cpu.max"]): f"{'max' if quota is None else quota} 100000"
        for i, quota in enumerate(given_quotas)
    }
    expected = min([q / 100_000 for q in given_quotas if q is not None], default=HOST_CPUS)
    with tempfile.TemporaryDirectory() as folder:
        assert Machine(Path(folder), f"0::/{'/'.join(names)}\n", files).cpus == expected


@given(levels, st.sampled_from(["version 1", "version 2"]))
def test_any_depth_of_limits_leaves_the_least(given_levels: list[tuple[int, int] | None], version: str) -> None:
    """Our promise: a limit leaves what its own level has not used, and never less than nothing."""
    names = [f"g{i}" for i in range(len(given_levels))]
    first = version == "version 1"
    limit, used = ("memory.limit_in_bytes", "memory.usage_in_bytes") if first else ("memory.max", "memory.current")
    files = {}
    for i, level in enumerate(given_levels):
        folder = "/".join((["memory"] if first else []) + names[: i + 1])
        most, taken = level or (None, 1)
        files[f"{folder}/{limit}"] = (UNLIMITED_V1 if first else "max") if most is None else str(most * GB)
        files[f"{folder}/{used}"] = str(taken * GB)
    left = [max(0, level[0] - level[1]) * GB for level in given_levels if level is not None]
    group = f"{'4:memory' if first else '0:'}:/{'/'.join(names)}\n"
    with tempfile.TemporaryDirectory() as folder:
        assert Machine(Path(folder), group, files).memory == min([HOST_KB * 1024, *left])


STAT = "nr_periods 400\nnr_throttled 60\nthrottled_usec 123"
STAT_CASES = {
    "version 2": (V2, {"jobs/mine/cpu.stat": f"usage_usec 5\n{STAT}"}, (400, 60)),
    "version 1": (V1, {"cpu,cpuacct/jobs/mine/cpu.stat": STAT}, (400, 60)),
    "both at once": (HYBRID, {"unified/jobs/mine/cpu.stat": STAT}, (400, 60)),
    "a parent's": (V2, {"jobs/mine/cpu.stat": "nr_periods 0\nnr_throttled 0", "jobs/cpu.stat": STAT}, (400, 60)),
    "no quota": (V2, {"jobs/mine/cpu.stat": "usage_usec 5"}, (0, 0)),
}


@pytest.mark.parametrize("name", STAT_CASES)
def test_periods_in_which_a_quota_was_used_up_are_counted(name: str, tmp_path: Path) -> None:
    """Our promise: a container that is stopped is told from a machine that is slow."""
    groups, files, expected = STAT_CASES[name]
    machine = Machine(tmp_path, groups, files)
    assert throttled(machine.root, machine.proc) == expected


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param((0, 0), (0, 0), False, id="no quota"),
        pytest.param((100, 50), (400, 51), False, id="hardly ever"),
        pytest.param((100, 50), (400, 90), True, id="often"),
        pytest.param((100, 50), (105, 55), False, id="too few periods"),
    ],
)
def test_throttling_is_a_finding_where_it_was_frequent(
    before: tuple[int, int], after: tuple[int, int], says: bool
) -> None:
    """A twentieth of the periods, of at least ten."""
    facts = Facts(tuple(throttling(before, after)))
    assert [f.code for f in findings_of(facts)] == (["cpu-throttled"] if says else [])


@pytest.mark.parametrize(
    ("groups", "files", "told"),
    [
        (
            V2,
            {"jobs/mine/memory.max": str(4 * GB), "jobs/mine/memory.stat": f"anon {GB}\nfile {2 * GB}"},
            (2 * GB, GB, 4 * GB),
        ),
        (
            V1,
            {
                "memory/jobs/mine/memory.limit_in_bytes": str(4 * GB),
                "memory/jobs/mine/memory.stat": f"total_cache {GB}\ntotal_rss {2 * GB}",
            },
            (GB, 2 * GB, 4 * GB),
        ),
        (V2, {"jobs/memory.max": str(8 * GB), "jobs/memory.stat": "anon 5\nfile 7"}, (7, 5, 8 * GB)),
        (V2, {"jobs/mine/memory.stat": "anon 5\nfile 7"}, (0, 0, 0)),
    ],
)
def test_what_a_group_holds_is_read_where_it_has_a_limit(
    tmp_path: Path, groups: str, files: dict[str, str], told: tuple[int, int, int]
) -> None:
    machine = Machine(tmp_path, groups, files)
    assert held(machine.root, machine.proc) == told


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param((GB, GB, 4 * GB), (2 * GB, GB, 4 * GB), True, id="files were read"),
        pytest.param((GB, GB, 4 * GB), (2 * GB, 3 * GB // 2, 4 * GB), False, id="anonymous memory grew too"),
        pytest.param((GB, GB, 4 * GB), (GB + 1, GB, 4 * GB), False, id="hardly"),
        pytest.param((0, GB, 40 * GB), (3 * GB, GB, 40 * GB), False, id="there is room"),
        pytest.param((0, 0, 0), (0, 0, 0), False, id="no limit"),
    ],
)
def test_page_cache_is_told_from_a_leak(before: tuple[int, int, int], after: tuple[int, int, int], says: bool) -> None:
    """Harmless, and what a container's total shows as memory that grows."""
    facts = Facts(tuple(cache_growth(before, after)))
    assert [(f.code, f.severity) for f in findings_of(facts)] == ([("page-cache-growth", "info")] if says else [])
