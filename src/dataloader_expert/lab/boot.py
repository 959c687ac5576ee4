"""The started process: a small warden without torch that forks the host, waits, sweeps and exits.

Run by its path: ``PYTHON boot.py CONTROL_FD PACKAGE_FOLDER``. Whoever dies first - server, warden or host -
nothing stays behind: host and warden both watch the control socket and end when the server has closed it, the host
ends with the warden, and the warden sweeps what the host leaves, its package folder too.
"""

import math
import os
import select
import signal
import sys
import time

GRACE_S = 1.0
"""After the server is gone the host has this long to end what it started; then the warden kills it."""

GONE_S = 0.3
"""How long the host waits for the processes that it killed at its end to be gone."""

ALONE_S = 4.0
"""The same where the warden is gone: nobody sweeps after the host, and on a busy machine the killed take long to go."""


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # instead of this file's folder, whose names would shadow others; first, for the user may have another version
    sys.path[0] = package
    load(os.path.realpath(os.path.join(package, "dataloader_expert")))
    # only now can our package be imported; the host, which imports torch, only after the fork
    from dataloader_expert.lab.folder import remove_package_dir
    from dataloader_expert.lab.processes import (
        PR_SET_CHILD_SUBREAPER,
        PR_SET_PDEATHSIG,
        await_children,
        end_all,
        kill,
        prctl,
        sweep,
    )

    prctl(PR_SET_CHILD_SUBREAPER, 1)
    warden = os.getpid()
    host = os.fork()
    if host == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # a stopped host wakes too; it ends once the warden is gone
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != warden:
            os._exit(1)
        from dataloader_expert.lab.host import serve

        status = 1
        try:
            serve(control, package, warden)
            status = 0
        finally:
            await_children(GONE_S if os.getppid() == warden else ALONE_S)
            remove_package_dir(package)
            os._exit(status)
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # a stopped warden wakes when the server dies, and looks
    signal.signal(signal.SIGTERM, lambda *_: kill([host], signal.SIGTERM))
    watch(control, host)
    end_all(os.getpid())
    sweep()
    remove_package_dir(package)


if __name__ == "__main__":
    main()
