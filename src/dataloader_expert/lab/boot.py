"""The started process: a small warden without torch that forks the host, waits, sweeps and exits.

Run by its path: ``PYTHON boot.py CONTROL_FD PACKAGE_FOLDER``. Whoever dies first - server, warden or host -
nothing stays behind: host and warden both watch the control socket and end when the server has closed it, the host
ends with the warden, and the warden sweeps what the host leaves, its package folder too.
"""

import contextlib
import ctypes
import math
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_S = 1.0
"""After the server is gone the host has this long to end what it started; then the warden kills it."""

GONE_S = 0.3
"""How long the host waits for the processes that it killed at its end to be gone."""


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere there is nothing like it and the end of file must do."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def descendants_of(pid: int) -> list[int]:
    """Children, their children and so on, of every thread's."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children") as f:
                    new = [int(p) for p in f.read().split()]
            except OSError:
                continue
            found += new
            queue += new
    return found


def kill(pids: list[int], signum: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def end_all(pid: int) -> None:
    """Stops a process's descendants until none is new, then kills them: none can fork on while others are killed."""
    known: set[int] = set()
    while new := [p for p in descendants_of(pid) if p not in known]:
        kill(new, signal.SIGSTOP)
        known.update(new)
    kill(sorted(known), signal.SIGKILL)


def sweep() -> None:
    """Ends every descendant; as a subreaper this process inherits all that lost their parent."""
    while True:
        left = descendants_of(os.getpid())
        kill(left, signal.SIGKILL)
        try:
            while os.waitpid(-1, 0 if left else os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if not left:
                return


def await_children(seconds: float) -> None:
    """Waits until the killed are gone, for so long at the most: one in the midst of a system call may still make a file."""
    until = time.monotonic() + seconds
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.005)


def remove_request_dir(folder: str) -> None:
    """Removes a request's folder, with the sockets that its processes left there when they were killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # host and warden may both be at it
                os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def remove_package_dir(package: str) -> None:
    """Removes the folder that made our package visible: by host and warden, for either may be killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(package):
            if name.isdigit():
                remove_request_dir(os.path.join(package, name))
        os.unlink(os.path.join(package, "dataloader_expert"))  # a link, or this fails and nothing is lost
        os.rmdir(package)


def load(folder: str) -> None:
    """Our package from where it really lies, so that its files go by their own names; the link is for new interpreters."""
    import importlib.util

    file = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location("dataloader_expert", file, submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])


def watch(control: int, host: int) -> None:
    """Returns when the host has ended, or had its grace after the server closed the control socket."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(control, 0)  # the host reads it; here only its end is heard
    poll.register(woken, select.POLLIN)
    until = math.inf
    while time.monotonic() < until:
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:  # first: it may have ended before its end could wake us
                if pid == host:
                    return
        except ChildProcessError:
            return
        events = dict(poll.poll(None if math.isinf(until) else 100))
        if events.get(woken):
            os.read(woken, 4096)
        if events.get(control):
            poll.unregister(control)
            until = time.monotonic() + GRACE_S


def main() -> None:
    control, package = int(sys.argv[1]), sys.argv[2]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warden = os.getpid()
    host = os.fork()
    if host == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # a stopped host wakes too; it ends once the warden is gone
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != warden:
            os._exit(1)
        # instead of this file's folder, whose names would shadow others; first, for the user may have another version
        sys.path[0] = package
        load(os.path.realpath(os.path.join(package, "dataloader_expert")))
        from dataloader_expert.lab.host import serve

        serve(control, package, warden)
        await_children(GONE_S)
        remove_package_dir(package)
        os._exit(0)
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # a stopped warden wakes when the server dies, and looks
    signal.signal(signal.SIGTERM, lambda *_: kill([host], signal.SIGTERM))
    watch(control, host)
    end_all(os.getpid())
    sweep()
    remove_package_dir(package)


if __name__ == "__main__":
    main()
