"""The interpreter and devices seen by the measuring process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence

ENVIRONMENT = Quantity("environment", "", "Python, torch and devices of the measuring process")

DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/nvmap", "/dev/kfd", "/dev/dxg")
"""Of NVIDIA's driver, on its boards too, of AMD's, and of Windows below Linux."""


@dataclass(frozen=True)
class Environment(Probe):
    name: ClassVar[str] = "environment"
    doing: ClassVar[str] = "inspecting the machine"
    torch: ClassVar[bool] = False

    def measure(self, bench: Bench) -> Iterable[Observation]:
        devices = []
        if "torch" in sys.modules or may_have_devices():
            import torch

            if torch.cuda.is_available():
                for i in range(torch.cuda.device_count()):
                    properties = torch.cuda.get_device_properties(i)
                    devices.append(
                        {
                            "name": properties.name,
                            "total_bytes": properties.total_memory,
                            "major": properties.major,
                            "multiprocessors": properties.multi_processor_count,
                        }
                    )
        value = {
            "python": sys.version.split()[0],
            "torch": torch_version(),
            "executable": sys.executable,
            "devices": devices,
        }
        yield Fact(ENVIRONMENT, value, evidence("declared", "environment"))


def may_have_devices() -> bool:
    """Whether torch may find a device: on Linux its driver has made a file, and without one torch need not be asked."""
    return sys.platform != "linux" or any(map(os.path.exists, DRIVERS))


def torch_version() -> str:
    """torch's version, without importing it where it is an installed package and nothing has."""
    if "torch" not in sys.modules:
        from importlib.metadata import PackageNotFoundError, version

        with contextlib.suppress(PackageNotFoundError):
            return version("torch")
    import torch

    return str(torch.__version__)


PROBES = (Environment,)
