"""What this process may use: CPUs, memory and shared memory as cgroups and limits leave them, not as the host has."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Surroundings:
    """``cpus`` may be a fraction: a quota of 1.5 cores is 1.5."""

    cpus: float
    memory_bytes: int
    shm_bytes: int
    open_files: int


def surroundings(root: Path = CGROUP, proc: Path = Path("/proc")) -> Surroundings:
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Surroundings(cpu_count(root, proc), memory_bytes(root, proc), shm_bytes(), files)


def cpu_count(root: Path = CGROUP, proc: Path = Path("/proc")) -> float:
    """CPUs by affinity, lowered to the cgroup's quota (v1, v2 or hybrid)."""
    try:
        cpus = float(len(os.sched_getaffinity(0)))
    except AttributeError:  # macOS, Windows
        cpus = float(os.cpu_count() or 1)
    for folder in folders(root, proc, "cpu"):
        quota = _quota(folder)
        if quota is not None:
            cpus = min(cpus, quota)
    return cpus


def throttled(root: Path = CGROUP, proc: Path = Path("/proc")) -> tuple[int, int]:
    """Scheduling periods so far under a CPU quota, and those in which it was used up; (0, 0) without one."""
    for folder in folders(root, proc, "cpu"):
        periods, stopped = _stat(folder / "cpu.stat", "nr_periods"), _stat(folder / "cpu.stat", "nr_throttled")
        if periods:
            return periods, stopped
    return 0, 0


def memory_bytes(root: Path = CGROUP, proc: Path = Path("/proc")) -> int:
    """Memory that is left: the host's available memory, lowered to what the cgroups' limits leave."""
    left = _available(proc)
    for folder in folders(root, proc, "memory"):
        for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            most = _number(folder / limit)
            if most is not None and most < 1 << 60:
                stat = folder / "memory.stat"  # v1 counts children under total_, v2 in the plain name
                reclaimable = _stat(stat, "total_inactive_file") or _stat(stat, "inactive_file")
                left = min(left, max(0, most - max(0, (_number(folder / used) or 0) - reclaimable)))
    return left


def held(root: Path = CGROUP, proc: Path = Path("/proc")) -> tuple[int, int, int]:
    """Bytes of page cache, of anonymous memory, and the limit of the innermost group that has one; zeros without."""
    for folder in folders(root, proc, "memory"):
        limits = (_number(folder / "memory.max"), _number(folder / "memory.limit_in_bytes"))
        limit = next((most for most in limits if most is not None and most < 1 << 60), None)
        if limit is not None:
            stat = folder / "memory.stat"
            cache, anon = (
                _stat(stat, "file") or _stat(stat, "total_cache"),
                _stat(stat, "anon") or _stat(stat, "total_rss"),
            )
            return cache, anon, limit
    return 0, 0, 0


def shm_bytes() -> int:
    try:
        s = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return s.f_bavail * s.f_frsize


def folders(root: Path, proc: Path, controller: str) -> list[Path]:
    """This process's cgroup folders for a controller, from its own up to the root."""
    found: list[Path] = []
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.count(":") < 2:
            continue
        _, names, path = line.split(":", 2)
        if names == "":
            bases = [root, root / "unified"]
        elif controller in names.split(","):
            bases = [root / names, root / controller]
        else:
            continue
        for base in bases:
            folder = base / path.lstrip("/")
            while base in (folder, *folder.parents):
                if folder.is_dir():
                    found.append(folder)
                if folder == base:
                    break
                folder = folder.parent
    return list(dict.fromkeys(found))


def _quota(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    quota_us, period_us = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else None


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
        return None if text == "max" else int(text)
    except (OSError, ValueError):
        return None


def _stat(path: Path, name: str) -> int:
    try:
        for line in path.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    except (OSError, ValueError):
        pass
    return 0


def _available(proc: Path) -> int:
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30
