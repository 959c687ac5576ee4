"""Data sets that crash, hang, eat memory, leave or hide: the right code, the next answer right, nothing left."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.driving import SHM, http, processes, shared_memory, stdio, until

Row = tuple[str, int, str]
FAULTS: dict[str, dict[int, str | None]] = {
    # in the main process, with nothing measured yet, it is the tool's error; in one of two workers it is a finding;
    # None: a plain answer
    "segfault": {0: "worker-crashed", 2: "worker-died"},
    "segfault later": {0: "sample-crashes"},
    "hang": {0: "timed-out", 2: "sample-hangs"},
    "hang later": {0: "sample-hangs"},
    "hang_in_c": {0: "timed-out", 2: "sample-hangs"},
    "private": {0: "out-of-memory", 2: "memory-limit-reached"},
    "shared": {0: "out-of-memory", 2: "memory-limit-reached"},
    "shm": {0: "out-of-memory", 2: "memory-limit-reached"},
    "exits": {0: "sample-raises", 2: "worker-died"},
    "raises": {0: "sample-raises", 2: "sample-raises"},
    "daemon": {0: None, 2: None},
}
ROWS: list[Row] = [(how, n, wire) for wire in ("stdio", "http") for how, codes in FAULTS.items() for n in codes]
TOOL_ERRORS = {"worker-crashed", "timed-out", "out-of-memory", "dataset-raised"}
GROWING = {"private", "shared", "shm"}


def budget_s(how: str, workers: int) -> float:
    """What hangs is waited for, and where workers fail the rest is measured; all else ends by itself."""
    if how.startswith("hang"):
        return 8
    return 20 if not workers else 8 if how in GROWING else 5


@dataclass
class Seen:
    """What one row showed."""

    is_error: bool
    text: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    unknowns: list[dict[str, Any]] = field(default_factory=list)
    health: dict[str, Any] = field(default_factory=dict)
    next_right: bool = False
    processes: list[str] = field(default_factory=list)
    shared_memory: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def codes(self) -> list[str]:
        return [self.text.split(":")[0]] if self.is_error else [f["code"] for f in self.findings]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Row, Seen]]:
    folder = tmp_path_factory.mktemp("hostile")
    root = folder / "data"
    root.mkdir()
    shutil.copy(Path(__file__).with_name("hostile.py"), root)
    seen = asyncio.run(_drive(folder, root))
    lines = [
        f"{how:14} {n} workers {wire:5} {s.seconds:5.2f} s  {','.join(c for c in s.codes if c != 'collinear-fields')}"
        f"  next {'right' if s.next_right else 'WRONG'}  left {len(s.processes)} processes, {len(s.shared_memory)} in shm"
        for (how, n, wire), s in sorted(seen.items())
    ]
    (folder / "table.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n" + "\n".join(lines) + f"\nwritten to {folder / 'table.txt'}")
    yield seen


async def _drive(folder: Path, root: Path) -> dict[Row, Seen]:
    """Both wires at once; what fills /dev/shm runs alone, since its growth is everybody's."""
    options = ("--root", str(root), "--memory-limit", "0.5")
    marks = {"stdio": folder / "stdio", "http": folder / "http"}
    seen: dict[Row, Seen] = {}
    with http(marks["http"], *options) as (address, _):
        async with Client(stdio(marks["stdio"], *options)) as one, Client(address) as two:
            clients = {"stdio": one, "http": two}

            async def rows(wire: str, shm: bool) -> None:
                for row in ROWS:
                    if row[2] == wire and (row[0] == "shm") == shm:
                        seen[row] = await _row(clients[wire], marks[wire], root, row)

            for wire in clients:
                await _right(clients[wire], root)
            await asyncio.gather(*(rows(wire, shm=False) for wire in clients))
            for wire in clients:
                await rows(wire, shm=True)
    return seen


async def _row(client: Client, mark: Path, root: Path, row: Row) -> Seen:
    how, workers, _ = row
    at_rest, in_shm = set(processes(mark)), {p.name for p in SHM.iterdir()}
    begun = time.monotonic()
    later = how.endswith(" later")
    tool, more = ("diagnose_io", {"num_workers": workers}) if workers or later else ("characterize_dataset", {})
    fault = {"how": how.removesuffix(" later"), "in_worker": workers > 0, "reads": 3 if later else 0}
    result = await client.call_tool(
        tool,
        {
            "source": f"{root}/hostile.py:Hostile",
            "source_args": fault,
            "budget_s": budget_s(how, workers),
            **more,
        },
    )
    structured = result.structured_content or {}
    seen = Seen(bool(result.is_error), _text(result), structured.get("findings", []), structured.get("unknowns", []))
    seen.health = structured.get("health", {})
    seen.seconds = time.monotonic() - begun
    until(lambda: set(processes(mark)) <= at_rest and not shared_memory(mark, in_shm), 1.0)
    late = {pid: command for pid, command in processes(mark).items() if pid not in at_rest}
    seen.processes = list(late.values())
    left = shared_memory(mark, in_shm)  # another program's entry may come and go between two looks: ours would stay
    until(
        lambda: not left & {p.name for p in SHM.iterdir()}, 4.0
    )  # of tests beside this one whose workers are ended too
    seen.shared_memory = sorted(left & {p.name for p in SHM.iterdir()})
    seen.next_right = await _right(client, root)
    return seen


async def _right(client: Client, root: Path) -> bool:
    result = await client.call_tool("characterize_dataset", {"source": f"{root}/hostile.py:Hostile", "budget_s": 20})
    structured = result.structured_content or {}
    return not result.is_error and structured["samples"] == 64 and structured["classes"]["counts"] == {"0": 32, "1": 32}


def _text(result: Any) -> str:
    return str(result.content[0].text)


every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-workers-{row[2]}")


@every_row
def test_a_fault_is_named_by_its_code(table: dict[Row, Seen], row: Row) -> None:
    """Our promise: what was measured comes with a finding and an unknown; with nothing measured it is an error."""
    how, workers, _ = row
    expected, seen = FAULTS[how][workers], table[row]
    if expected is None:
        assert not seen.is_error
        assert not {f["code"] for f in seen.findings if f["severity"] == "error"}
        return
    assert seen.is_error == (expected in TOOL_ERRORS), seen.text
    assert seen.codes.count(expected) == 1, seen.codes
    if seen.is_error:
        assert "sample 3" in seen.text
    elif workers or how.endswith("later"):
        told = {"throughput at num_workers=2", "throughput at num_workers=2 and more", "the remaining measurements"}
        timed = how == "raises"  # on the other samples
        assert timed != bool(told & {u["what"] for u in seen.unknowns})


@every_row
def test_the_next_answer_is_right(table: dict[Row, Seen], row: Row) -> None:
    """Our promise: a fault ends its own call and nothing else."""
    assert table[row].next_right


@every_row
def test_nothing_is_left_after_a_second(table: dict[Row, Seen], row: Row) -> None:
    """Our promise: no process and no entry of /dev/shm outlives its call."""
    assert not table[row].processes
    assert not table[row].shared_memory


@pytest.mark.parametrize("wire", ["stdio", "http"])
@pytest.mark.parametrize("how", ["hang", "hang_in_c"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_hang_is_known_by_its_line(table: dict[Row, Seen], how: str, workers: int, wire: str) -> None:
    """Our promise: what was ended at its limit is named by function and file, also inside a C call and a worker."""
    seen = table[how, workers, wire]
    told = seen.text if seen.is_error else next(f["message"] for f in seen.findings if f["code"] == "sample-hangs")
    assert f"in {how} (" in told
    assert "hostile.py:" in told


@pytest.mark.parametrize("wire", ["stdio", "http"])
@pytest.mark.parametrize("how", ["segfault", "segfault later"])
def test_a_crash_is_known_by_its_line(table: dict[Row, Seen], how: str, wire: str) -> None:
    """Our promise: a process that a signal kills leaves the function and the line of the user's code that it was in."""
    seen = table[how, 0, wire]
    told = seen.text if seen.is_error else next(f["message"] for f in seen.findings if f["code"] == "sample-crashes")
    assert "killed by SIGSEGV at sample 3 in segfault (" in told
    assert "hostile.py:" in told


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_health_tells_a_hang_from_a_crash_and_both_from_an_error(table: dict[Row, Seen], wire: str) -> None:
    """Our promise: hung and crashed are set where it is so, and only there."""
    rows = {"hang later": (True, False), "segfault later": (False, True), "raises": (False, False)}
    for how, expected in rows.items():
        health = table[how, 2 if how == "raises" else 0, wire].health
        assert (health["hung"], health["crashed"]) == expected, how


def test_everything_ends_with_the_servers(table: dict[Row, Seen], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Our promise: after the last client left and the servers ended, none of their processes lives."""
    assert table
    folders = [p for p in tmp_path_factory.getbasetemp().iterdir() if p.name.startswith("hostile")]
    marks = [folder / wire for folder in folders for wire in ("stdio", "http")]
    assert until(lambda: not any(processes(mark) for mark in marks), 1.0)
    assert not [p for mark in marks for p in mark.iterdir() if p.name.startswith("dataloader-expert-")]
