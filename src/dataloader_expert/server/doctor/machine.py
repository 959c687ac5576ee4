"""What this process may use of the machine: interpreter, memory, shared memory, limits."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dataloader_expert.server.clients.known import SERVER
from dataloader_expert.server.doctor.check import Check, ok

ROOM = "machine"
GB, MB = 1e9, 1e6
LEAST_SHM = 1e9
"""A batch of 256 float images of 224 x 224 takes 154 MB, and each worker has several in flight."""
LEAST_FILES = 1024
LEAST_PROCESSES = 256
LEAST_MEMORY = 2e9
LEAST_TEMPORARY = 1e9


@dataclass(frozen=True)
class Machine:
    """What was read from the machine; None if the system does not report it or sets no limit."""

    python: str
    executable: str
    command: str | None
    own: str | None
    cpus: float
    memory: int
    shm: int | None
    shm_writable: bool
    files: int | None
    processes: int | None
    address_space: int | None
    temporary: str
    temporary_free: int | None
    ptrace: int | None
    roots: tuple[str, ...]
    system: str = sys.platform


def look() -> Machine:
    from dataloader_expert.lab.surroundings import cpu_count, memory_bytes
    from dataloader_expert.tools.execution import default_roots

    return Machine(
        python=sys.version.split()[0],
        executable=sys.executable,
        command=shutil.which(SERVER),
        own=shutil.which(SERVER, path=str(Path(sys.executable).parent)),
        cpus=cpu_count(),
        memory=memory_bytes(),
        shm=_size("/dev/shm"),
        shm_writable=os.access("/dev/shm", os.W_OK),
        files=_limit("RLIMIT_NOFILE"),
        processes=_processes(),
        address_space=_limit("RLIMIT_AS"),
        temporary=tempfile.gettempdir(),
        temporary_free=_free(tempfile.gettempdir()),
        ptrace=_number("/proc/sys/kernel/yama/ptrace_scope"),
        roots=default_roots(),
    )


def judged(m: Machine) -> Iterator[Check]:
    """A check for each of these; pure."""
    yield ok(ROOM, "Python", f"{m.python} at {m.executable}")
    yield _command(m)
    yield (
        ok(ROOM, "CPUs", f"{m.cpus:g}")
        if m.cpus >= 1
        else Check(
            ROOM,
            "CPUs",
            "warning",
            f"{m.cpus:g}: less than one",
            "give the container at least one core (docker run --cpus=4)",
        )
    )
    yield _at_least(
        m.memory,
        LEAST_MEMORY,
        "memory left",
        "stop other programs, or raise the container's limit (docker run --memory=8g): importing torch alone takes 0.5 GB",
    )
    yield from _shared(m)
    yield _limited(
        m.files, LEAST_FILES, "open files", "ulimit -n 65536 in the shell that starts it: workers pass descriptors"
    )
    yield _limited(
        m.processes,
        LEAST_PROCESSES,
        "processes",
        "ulimit -u 4096, or docker run --pids-limit=4096: each worker is a process with several threads",
    )
    if m.address_space is not None:
        yield Check(
            ROOM,
            "address space",
            "warning",
            f"limited to {m.address_space / GB:.1f} GB",
            "ulimit -v unlimited: torch reserves far more addresses than it uses; bound memory by --memory-limit",
        )
    if m.temporary_free is None:
        yield Check(
            ROOM, "temporary folder", "error", f"{m.temporary} cannot be written to", "set TMPDIR to a writable folder"
        )
    else:
        yield _at_least(m.temporary_free, LEAST_TEMPORARY, "temporary folder", "free space, or set TMPDIR", m.temporary)
    if m.ptrace is not None and m.ptrace >= 2:
        yield Check(
            ROOM,
            "reading stacks",
            "warning",
            f"kernel.yama.ptrace_scope is {m.ptrace}: no process may inspect another, so diagnose_io names no hotspots",
            "sysctl kernel.yama.ptrace_scope=1, or docker run --cap-add=SYS_PTRACE",
        )
    yield (
        ok(ROOM, "default root", ", ".join(m.roots))
        if m.roots
        else Check(
            ROOM,
            "default root",
            "warning",
            "none here: / and your home folder are read only if you name them",
            "start in your project's folder, or pass --root DIR",
        )
    )


def _command(m: Machine) -> Check:
    if m.command is None:
        where = m.own or f"{m.executable} -m dataloader_expert.server.command"
        return ok(ROOM, "command", f"not on the PATH; `install` writes the full path, {where}")
    if m.own is not None and not os.path.samefile(m.command, m.own):
        return Check(
            ROOM,
            "command",
            "warning",
            f"{m.command} is first on the PATH and is not this installation ({m.own})",
            "remove one of them, or put this one's folder first on the PATH",
        )
    return ok(ROOM, "command", m.command)


def _shared(m: Machine) -> Iterator[Check]:
    fix = (
        "docker run --shm-size=8g or --ipc=host; in Kubernetes mount an emptyDir with medium: Memory at /dev/shm. "
        "Until then use num_workers=0 or smaller batches"
    )
    if m.shm is None:
        if m.system.startswith("linux"):
            yield Check(ROOM, "shared memory", "error", "there is no /dev/shm: workers cannot pass batches", fix)
    elif not m.shm_writable:
        yield Check(
            ROOM, "shared memory", "error", "/dev/shm cannot be written to", "mount it writable: chmod 1777 /dev/shm"
        )
    elif m.shm < LEAST_SHM:
        found = f"{m.shm / MB:.0f} MB free in /dev/shm; a worker whose batch does not fit dies with a bus error"
        yield Check(ROOM, "shared memory", "warning", found, fix)
    else:
        yield ok(ROOM, "shared memory", f"{m.shm / GB:.1f} GB free in /dev/shm")


def _at_least(value: float, least: float, name: str, fix: str, where: str = "") -> Check:
    found = f"{where + ', ' if where else ''}{value / GB:.1f} GB" + (" free" if where else "")
    return ok(ROOM, name, found) if value >= least else Check(ROOM, name, "warning", f"only {found}", fix)


def _limited(value: int | None, least: int, name: str, fix: str) -> Check:
    if value is None:
        return ok(ROOM, name, "no limit")
    return (
        ok(ROOM, name, f"at most {value:,}")
        if value >= least
        else Check(ROOM, name, "warning", f"at most {value:,}", fix)
    )


def _size(folder: str) -> int | None:
    try:
        s = os.statvfs(folder)
    except (OSError, AttributeError):
        return None
    return s.f_bavail * s.f_frsize


def _free(folder: str) -> int | None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return shutil.disk_usage(folder).free
    except OSError:
        return None


def _limit(name: str) -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(getattr(resource, name))
    return None if soft == resource.RLIM_INFINITY else soft


def _processes() -> int | None:
    """The lowest of the user's limit and those of the cgroups that the process is in."""
    from dataloader_expert.lab.surroundings import CGROUP, folders

    found = [_limit("RLIMIT_NPROC")]
    found += [_number(str(folder / "pids.max")) for folder in folders(CGROUP, Path("/proc"), "pids")]
    known = [n for n in found if n is not None]
    return min(known) if known else None


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):  # missing, or the word max
        return None
