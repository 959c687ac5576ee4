"""Data sets that misbehave without failing; copied into a folder of its own and measured from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset


class Witness(Dataset[Any]):
    """Eight samples that say what the process around them looks like."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, i: int) -> dict[str, float]:
        return {
            "zero": float(torch.zeros(1)[0]),
            "folder": float(len(os.getcwd())),  # noqa: PTH109  # as a user's code would
            "planted": float("PLANTED" in os.environ),
            "cuda": float(torch.cuda.is_initialized()),  # type: ignore[no-untyped-call]  # torch's own gap
            "grad": float(torch.is_grad_enabled()),
        }


class Patching(Witness):
    """Leaves nothing of its process as it was."""

    def __getitem__(self, i: int) -> dict[str, float]:
        seen = super().__getitem__(i)
        torch.zeros = torch.ones
        torch.set_grad_enabled(False)
        os.chdir("/proc")
        os.environ["PLANTED"] = "1"
        return seen


class Flooding(Witness):
    """Prints on every descriptor it finds, by every way there is."""

    def __getitem__(self, i: int) -> dict[str, float]:
        print('{"jsonrpc": "2.0", "id": 1, "result": {}}')
        print("x" * (1 << 20))
        os.write(1, b"y" * (1 << 20))
        os.write(2, b"z" * (1 << 20))
        sys.stderr.write("e" * (1 << 20))
        subprocess.run([sys.executable, "-c", "print('from a process of its own')"], check=True)
        return super().__getitem__(i)


class Meddling(Witness):
    """Writes what is no event on every descriptor of its process."""

    def __getitem__(self, i: int) -> dict[str, float]:
        for fd in range(3, 64):
            try:
                if os.path.realpath(f"/proc/self/fd/{fd}").startswith("/proc/"):  # sockets and pipes
                    os.write(fd, b'\n{"event": "fact"}\n[]\nno json\n')
            except OSError:
                continue
        return super().__getitem__(i)


class Secrets(Witness):
    """Whether the process's environment holds what a user would not want measured."""

    def __getitem__(self, i: int) -> dict[str, float]:
        names = ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY", "DATABASE_URL")
        return {
            "secrets": float(sum(name in os.environ for name in names)),
            "kept": float(os.environ.get("TOKENIZERS_PARALLELISM") == "false"),
        }


class Killed(Witness):
    """Is killed once its process has a folder for multiprocessing's sockets."""

    def __getitem__(self, i: int) -> dict[str, float]:
        from multiprocessing.util import get_temp_dir

        get_temp_dir()
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


class Waiting(Witness):
    """Leaves a process of another session behind and waits for longer than anyone."""

    def __getitem__(self, i: int) -> dict[str, float]:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", ["sleep", "987654"])
            os._exit(0)
        while True:
            time.sleep(1)


LIMIT = 1 << 30
"""Bytes that a request may hold. To fill more takes seconds on a busy machine, and a sample that takes these is given up as one that hangs."""


class TooMuchBelow(Witness):
    """Starts a process that takes more than ``LIMIT`` together with this one; ends it once it stands still, or never."""

    ends_it = True

    def __getitem__(self, i: int) -> dict[str, float]:
        if i == 3:
            held = Path("/proc/self/smaps_rollup").read_text()
            own = int(held.partition("Pss_Anon:")[2].split()[0]) << 10  # as is counted: what forks share, in parts
            more = int(1.1 * LIMIT) - own  # not so much as would end the request at once
            took = subprocess.Popen([sys.executable, "-c", f"x = b'x' * {more}; import time; time.sleep(600)"])
            until = time.monotonic() + 20
            while not (self.ends_it and stands_still(took.pid)) and time.monotonic() < until:
                time.sleep(0.02)
            took.kill()
            took.wait()
        return super().__getitem__(i)


class TooMuchForGood(TooMuchBelow):
    ends_it = False


def stands_still(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
