"""The measuring side: the two hosts with their interpreters, torch and CUDA."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.server.doctor.check import Check, ok

ROOM = "measuring"
PROBE = """
import json, torch
said = {"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip, "devices": [], "error": None}
try:
    torch.cuda.init()
    for i in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(i)
        said["devices"].append([torch.cuda.get_device_name(i), free, total])
except Exception as e:
    said["error"] = str(e).splitlines()[0] if str(e) else type(e).__name__
print(json.dumps(said))
"""
WORKERS = """
import time, torch, torch.utils.data as data
begun, rows = time.monotonic(), data.TensorDataset(torch.zeros(64, 1 << 18))
read = sum(len(batch) for (batch,) in data.DataLoader(rows, batch_size=8, num_workers=2, timeout=60))
print(read, time.monotonic() - begun)
"""
"""64 MiB through two workers, about 32 of them in shared memory at once."""
PROBE_S = 120


@dataclass(frozen=True)
class Devices:
    """CUDA as the torch of one interpreter sees it, and what the system has."""

    torch: str
    cuda: str | None
    hip: str | None
    devices: tuple[tuple[str, int, int], ...]
    error: str | None
    driver: str | None
    nodes: bool
    visible: str | None


async def hosts(python: str | None, environ: dict[str, str]) -> AsyncIterator[Check]:
    """Starts each host once; CUDA is queried in a separate process, since a host must never touch it."""
    from dataloader_expert.lab.door import Door
    from dataloader_expert.tools.execution import default_roots

    door, interpreter = Door(python), None
    try:
        for user in (False, True):
            name = "your code" if user else "our readers"
            try:
                _, ready = await door.host(user, default_roots())
            except RequestError as e:
                fix = (
                    "install torch 2.4 or newer there, or name another interpreter with --python or VIRTUAL_ENV"
                    if user
                    else "reinstall the package in this environment: pip install --force-reinstall dataloader-expert"
                )
                yield Check(ROOM, name, "error", str(e), fix)
                continue
            interpreter = ready["executable"]
            found = f"torch {ready['torch']} in {interpreter}, started in {ready['seconds']:.1f} s"
            yield ok(ROOM, name, found)
    finally:
        door.close()
    if interpreter is not None:
        yield workers(interpreter, environ)
        yield cuda(look(interpreter, environ))


def workers(interpreter: str, environ: dict[str, str]) -> Check:
    """Whether two workers of a real DataLoader deliver their batches."""
    try:
        done = subprocess.run(
            [interpreter, "-c", WORKERS], capture_output=True, text=True, timeout=PROBE_S, env=environ, check=False
        )
        read, seconds = done.stdout.split()
        if read == "64":
            return ok(ROOM, "workers", f"two delivered 64 MiB in {float(seconds):.1f} s, including start-up")
        said = done.stdout
    except subprocess.TimeoutExpired:
        said = f"nothing came within {PROBE_S} s"
    except OSError as e:
        said = str(e)
    except ValueError:  # it did not print a result
        said = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "") or (
            f"it ended with status {done.returncode}"
        )
    fix = "fix what is reported above on shared memory, open files and processes; until then use num_workers=0"
    return Check(ROOM, "workers", "error", f"a DataLoader with two workers fails: {escaped(said, 300)}", fix)


def look(interpreter: str, environ: dict[str, str]) -> Devices | str:
    """What torch in that interpreter says about CUDA; a text if it fails."""
    try:
        done = subprocess.run(
            [interpreter, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_S, env=environ, check=False
        )
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return f"torch did not list its devices within {PROBE_S} s"
    except (OSError, ValueError, IndexError):
        return "torch could not list devices"
    return Devices(
        torch=said["torch"],
        cuda=said["cuda"],
        hip=said["hip"],
        devices=tuple((name, free, total) for name, free, total in said["devices"]),
        error=said["error"],
        driver=_driver(),
        nodes=any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists(),
        visible=environ.get("CUDA_VISIBLE_DEVICES"),
    )


def cuda(seen: Devices | str) -> Check:
    """The verdict; pure. A machine without a device is fine."""
    if isinstance(seen, str):
        return Check(ROOM, "CUDA", "warning", seen, "run the interpreter with -c 'import torch; torch.cuda.init()'")
    if seen.devices:
        each = "; ".join(f"{name}, {free / 1e9:.1f} of {total / 1e9:.1f} GB free" for name, free, total in seen.devices)
        return ok(ROOM, "CUDA", f"{seen.cuda or seen.hip}, {escaped(each, 400)}")
    if not seen.nodes and seen.driver is None:
        inside = "" if seen.cuda is None else " (in a container: docker run --gpus all)"
        return ok(ROOM, "CUDA", f"no NVIDIA device, so device memory and training steps on it are not measured{inside}")
    if seen.cuda is None and seen.hip is None:
        found = f"there is an NVIDIA device, but torch {seen.torch} is a build for the CPU"
        return Check(
            ROOM, "CUDA", "warning", found, "install a CUDA build of torch, as the selector on pytorch.org says"
        )
    if seen.visible is not None and seen.visible.strip() in ("", "-1"):
        found = f"CUDA_VISIBLE_DEVICES={seen.visible!r} hides every device"
        return Check(
            ROOM, "CUDA", "warning", found, "unset CUDA_VISIBLE_DEVICES, or name a device: CUDA_VISIBLE_DEVICES=0"
        )
    driver = f"; the driver is {seen.driver}" if seen.driver else ""
    return Check(
        ROOM,
        "CUDA",
        "error",
        f"torch {seen.torch} was built for CUDA {seen.cuda} and finds no device: {escaped(seen.error, 200)}{driver}",
        "check whether nvidia-smi lists it; if so, update the driver or install a torch for an older CUDA",
    )


def _driver() -> str | None:
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.split()
    return next((w for w in words if w[:1].isdigit() and "." in w), "of an unknown version")
