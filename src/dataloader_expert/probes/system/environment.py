"""The interpreter and devices seen by the measuring process."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence

ENVIRONMENT = Quantity("environment", "", "Python, torch and devices of the measuring process")


@dataclass(frozen=True)
class Environment(Probe):
    name: ClassVar[str] = "environment"
    doing: ClassVar[str] = "inspecting the machine"

    def measure(self, bench: Bench) -> Iterable[Observation]:
        import torch

        devices = []
        if torch.cuda.is_available():
            for i in range(torch.cuda.device_count()):
                properties = torch.cuda.get_device_properties(i)
                devices.append({"name": properties.name, "total_bytes": properties.total_memory})
        value = {
            "python": sys.version.split()[0],
            "torch": torch.__version__,
            "executable": sys.executable,
            "devices": devices,
        }
        yield Fact(ENVIRONMENT, value, evidence("declared", "environment"))


PROBES = (Environment,)
