"""The started process: a small warden without torch that forks the host, waits, sweeps and exits.

Run by its path: ``PYTHON boot.py CONTROL_FD PACKAGE_FOLDER``. Whoever dies first - server, warden or host -
nothing stays behind: the host ends at the control socket's end of file and with the warden, the warden sweeps
what the host leaves, the package folder too.
"""

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


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


def remove_request_dir(folder: str) -> None:
    """Removes a request's folder, with the sockets that its processes left there when they were killed."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
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


def main() -> None:
    control, package = int(sys.argv[1]), sys.argv[2]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warden = os.getpid()
    host = os.fork()
    if host == 0:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != warden:
            os._exit(1)
        # instead of this file's folder, whose names would shadow others; first, for the user may have another version
        sys.path[0] = package
        load(os.path.realpath(os.path.join(package, "dataloader_expert")))
        from dataloader_expert.lab.host import serve

        serve(control, package)
        remove_package_dir(package)
        os._exit(0)
    os.close(control)
    signal.signal(signal.SIGTERM, lambda *_: kill([host], signal.SIGTERM))
    while True:
        try:
            pid, _ = os.waitpid(-1, 0)
        except ChildProcessError:
            break
        except InterruptedError:
            continue
        if pid == host:
            break
    sweep()
    remove_package_dir(package)


if __name__ == "__main__":
    main()
