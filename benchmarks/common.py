"""What the benchmarks share: a real client over stdio, stored results, medians of the last three runs."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CACHE = Path(os.environ.get("DATALOADER_EXPERT_CACHE", HERE / ".cache"))


def command() -> str:
    """The installed command, beside this interpreter."""
    found = shutil.which("dataloader-expert", path=str(Path(sys.executable).parent)) or shutil.which(
        "dataloader-expert"
    )
    if found is None:
        raise SystemExit("dataloader-expert is not installed: pip install -e .")
    return found


def shared_data() -> Path | None:
    """The shared data sets, if they are there: DATALOADER_EXPERT_DATA, else ../shared/data beside the checkout."""
    folder = Path(os.environ.get("DATALOADER_EXPERT_DATA", HERE.parent.parent / "shared" / "data"))
    return folder if (folder / "MANIFEST.json").exists() else None


def real_data() -> Path:
    """The shared data sets; ends the program where they are not there."""
    folder = shared_data()
    if folder is None:
        raise SystemExit("the shared data sets are not there: set DATALOADER_EXPERT_DATA")
    return folder


def seed_asked(description: str | None) -> int:
    """The seed given by ``--seed``, else one by the clock."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None)
    seed = parser.parse_args().seed
    return time.time_ns() % (1 << 31) if seed is None else int(seed)


@asynccontextmanager
async def client(*roots: Path) -> AsyncIterator[Any]:
    """A client of a freshly started server with default arguments but its roots."""
    from mcp import Client, StdioServerParameters

    arguments = ["serve", *(a for root in roots for a in ("--root", str(root)))]
    async with Client(StdioServerParameters(command=command(), args=arguments)) as opened:
        yield opened


async def timed_call(opened: Any, tool: str, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Wall seconds and structured result of one call."""
    begun = time.perf_counter()
    result = await opened.call_tool(tool, arguments, read_timeout_seconds=300)
    spent = time.perf_counter() - begun
    if result.is_error:
        raise RuntimeError(f"{tool} {arguments}: {result.content[0].text}")
    return spent, result.structured_content


async def whole(opened: Any, result: dict[str, Any]) -> dict[str, Any]:
    """The whole report, of which a call's result shortens long lists."""
    held = await opened.read_resource(f"{result['report_uri']}.json")
    return dict(json.loads(held.contents[0].text))


def keep(name: str, run: dict[str, Any]) -> None:
    """Appends a run to ``results/NAME.jsonl``; nothing is ever taken out."""
    RESULTS.mkdir(exist_ok=True)
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 2)}
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine, **run}
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")


def last(name: str, n: int = 3) -> list[dict[str, Any]]:
    """The last complete runs kept under this name."""
    path = RESULTS / f"{name}.jsonl"
    if not path.exists():
        return []
    runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [r for r in runs if r.get("complete")][-n:]


def median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")
