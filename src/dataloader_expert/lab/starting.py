"""Starts the process of a host. It imports little, so that a command may start one before anything else: both then import at
once."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataloader_expert.lab.folder import package_folder

PATIENCE_S = 2.0
"""Processes that were told to end are killed after this time."""
SECRET = re.compile(r"TOKEN(?!IZER)|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE|AUTH|COOKIE", re.IGNORECASE)
SECRET_VALUE = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
"""A URL with a password in it."""
PLAIN = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


@dataclass(frozen=True)
class Begun:
    """A warden that starts a host, what talks to them, and the folder in which their interpreter finds our package."""

    process: subprocess.Popen[Any]
    control: socket.socket
    folder: str

    def drop(self) -> None:
        """Ends it at once, and whatever its door left of it."""
        self.control.close()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def begin(python: str, user: bool) -> Begun:
    """Starts it; it ends once ``control`` is closed.

    Raises:
        OSError: if the interpreter cannot be started.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    folder = package_folder()
    boot = Path(__file__).with_name("boot.py")
    try:
        process = subprocess.Popen(
            [python, str(boot), str(theirs.fileno()), folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            env=environment(user),
            cwd="/",
        )
    except OSError:
        ours.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        theirs.close()
    return Begun(process, ours, folder)


def environment(user: bool) -> dict[str, str]:
    """The host's environment without what looks like a secret; for our own readers only the little they need, and one thread."""
    if user:
        kept = {k: v for k, v in os.environ.items() if not SECRET.search(k) and not SECRET_VALUE.search(v)}
        return {**kept, "DATALOADER_EXPERT_HOST": "user"}
    plain = {k: os.environ[k] for k in PLAIN if k in os.environ}
    return {**plain, **ONE_THREAD, "DATALOADER_EXPERT_HOST": "scan", "PYTHONDONTWRITEBYTECODE": "1"}
