"""Reports of every tool on real small data, made once: pictures with hostile names, a table, a loader that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.lab.door import Door
from dataloader_expert.report import Report
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings, execute
from tests.making.hostile_pictures import hostile_pictures

FIELD = "<img src=x onerror=alert(1)>"
WAITS = """
import time
import torch

class Waits(torch.utils.data.Dataset):
    classes = ["<b>", "javascript:alert(1)"]
    def __len__(self): return 400
    def __getitem__(self, i):
        time.sleep(0.002)
        return {"image": torch.rand(3, 8, 8) - 0.5, "label": i % 2}

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(192, 2)
    def forward(self, x): return self.layer(x.flatten(1))
"""
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "characterize": ("characterize_dataset", "pictures", {}),
    "check": ("check_quality", "pictures", {}),
    "sampler": ("suggest_sampler", "pictures", {"objective": "balanced"}),
    "batch": ("recommend_batch_spec", "waits.py:Waits", {"model": "waits.py:Net", "batch_size": 16, "budget_s": 12}),
    "diagnose": ("diagnose_io", "waits.py:Waits", {"step_ms": 5, "budget_s": 12, "max_workers": 2}),
    "table": ("characterize_dataset", "table.parquet", {}),
    "analyze": ("analyze_dataset", "pictures", {"budget_s": 12}),
}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page")
    hostile_pictures(place / "pictures")
    (place / "waits.py").write_text(WAITS, encoding="utf-8")
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    columns = {
        FIELD: x,
        "b": 2 * x + rng.normal(size=400),
        "c": rng.integers(0, 9, 400),
        "label": rng.integers(0, 2, 400),
    }
    pq.write_table(pa.table(columns), place / "table.parquet")
    return place


@pytest.fixture(scope="session")
def reports(place: Path) -> Iterator[dict[str, Report]]:
    """The full result of each of ``ASKED``."""
    tools = all_tools()

    async def run() -> dict[str, Report]:
        door = Door()
        made = {}
        try:
            for key, (name, source, more) in ASKED.items():
                given = {k: str(place / v) if k == "model" else v for k, v in more.items()}
                request = tools[name].request.model_validate({"source": str(place / source), **given})
                made[key] = await execute(tools[name], request, door, Settings((str(place),)))
        finally:
            door.close()
        return made

    yield asyncio.run(run())
