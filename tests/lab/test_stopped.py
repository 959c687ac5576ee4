"""Every process of the door stopped or killed, in each phase: the call ends in time, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.lab import shm
from dataloader_expert.lab.door import Door, HostClient
from dataloader_expert.lab.outcome import Limits, Outcome
from dataloader_expert.lab.processes import children_of
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.data.scan import Scan
from tests.driving import closed, host_of, opened, processes, speak, until

pytestmark = pytest.mark.journey

BUDGET_S = 5.0
LATE_S = 10.0
AT_ONCE = 5
"""Rows that run side by side: each waits for most of its time."""
PHASES = ("starting", "measuring", "between")
WHO = ("warden", "host", "child")
SIGNALS = (signal.SIGSTOP, signal.SIGKILL)
ROWS = [(w, p, s) for p in PHASES for w in WHO for s in SIGNALS if not (w == "child" and p != "measuring")]


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What the test starts carries the mark; nothing of it is left."""
    folder = tmp_path / "mark"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("odd.py"), tmp_path)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert until(lambda: not processes(folder), 5), processes(folder)
    assert not [p for p in folder.iterdir() if p.name.startswith("dataloader-expert-")]


async def asked(door: Door, root: Path, name: str) -> Outcome | RequestError:
    ref = SourceRef(f"{root}/odd.py:{name}", (str(root),), code=True)
    request = {
        "source": ref.to_json(),
        "probes": [Scan(checks=()).to_json()],
        "seed": 0,
        "cpus": 1.0,
        "memory_bytes": 2 << 30,
        "folder": str(root),
    }
    try:
        return await door.run(request, Limits(BUDGET_S, 2 << 30), True, (str(root),))
    except RequestError as e:
        return e


def pids_of(client: HostClient) -> dict[str, int]:
    """The door's processes as they are now."""
    warden = client.process.pid
    hosts = client.hosts or children_of(warden)
    children = children_of(hosts[0]) if hosts else []
    return {"warden": warden, **({"host": hosts[0]} if hosts else {}), **({"child": children[0]} if children else {})}


async def shot(door: Door, phase: str, who: str, signum: signal.Signals) -> None:
    """Waits for the phase, then signals."""
    due = time.monotonic() + 20
    while time.monotonic() < due:
        for client in door.hosts.values():
            pids = pids_of(client)
            at_work = "child" in pids and phase == "measuring"
            if who in pids and (at_work or (phase == "starting" and not client.ready.done())):
                os.kill(pids[who], signum)
                return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{who} was never {phase}")


async def row(root: Path, who: str, phase: str, signum: signal.Signals) -> tuple[float, str]:
    """Seconds that the call took, and what is wrong."""
    door = Door()
    try:
        if phase != "starting":
            await door.host(True, (str(root),))
        begun = time.monotonic()
        if phase == "between":
            first = await asked(door, root, "Witness")
            if not answered(first):
                return 0.0, f"the first call: {first}"
            os.kill(pids_of(next(iter(door.hosts.values())))[who], signum)
            begun = time.monotonic()
            await asked(door, root, "Witness")
        else:
            call = asyncio.ensure_future(asked(door, root, "Waiting"))
            await shot(door, phase, who, signum)
            if answered(await call):
                return 0.0, "an answer from a data set that gives none"
        seconds = time.monotonic() - begun
        for _ in range(3):  # a warden that is stopped is noticed by the call that it hinders
            again = await asked(door, root, "Witness")
            if answered(again):
                return seconds, ""
        return seconds, f"the next calls: {again}"
    finally:
        door.end()
        await asyncio.to_thread(door.join)


def answered(answer: Outcome | RequestError) -> bool:
    return isinstance(answer, Outcome) and answer.failure is None


def test_the_call_ends_and_the_next_is_answered(tmp_path: Path, mark: Path) -> None:
    """Our promise: within its budget and ten seconds, whoever is stopped or killed; then a fresh host answers."""

    async def run() -> dict[str, tuple[float, str]]:
        few = asyncio.Semaphore(AT_ONCE)

        async def one(who: str, phase: str, signum: signal.Signals) -> tuple[float, str]:
            async with few:
                return await row(tmp_path, who, phase, signum)

        done = await asyncio.gather(*(one(*r) for r in ROWS))
        return {f"{w} {p} {s.name}": d for (w, p, s), d in zip(ROWS, done, strict=True)}

    table = asyncio.run(run())
    print("\n".join(f"{name:28} {seconds:5.1f} s  {wrong}" for name, (seconds, wrong) in table.items()))
    assert {name: wrong for name, (_, wrong) in table.items() if wrong} == {}
    assert {name: s for name, (s, _) in table.items() if s > BUDGET_S + LATE_S} == {}


@pytest.mark.parametrize("who", ["warden", "host", "child"])
def test_a_server_that_dies_takes_what_was_stopped_along(tmp_path: Path, mark: Path, who: str) -> None:
    """Our promise: a stopped process does not outlive the server, however the server ends."""
    server = opened(mark, "--root", str(tmp_path))
    call = {"name": "characterize_dataset", "arguments": {"source": f"{tmp_path}/odd.py:Waiting", "budget_s": 120}}
    speak(server, {"id": 1, "method": "tools/call", "params": call})
    assert until(lambda: "sleep 987654" in " ".join(processes(mark).values()), 60)
    warden, host = host_of(mark, "user")
    os.kill({"warden": warden, "host": host, "child": children_of(host)[0]}[who], signal.SIGSTOP)
    server.kill()
    assert until(lambda: not processes(mark), 4), processes(mark)
    closed(server)


def test_a_users_own_file_in_shared_memory_stays(tmp_path: Path, mark: Path) -> None:
    """Our promise: only what the request made, under torch's or multiprocessing's names, is removed after it."""
    theirs = [Path(shm.FOLDER) / name for name in (f"mine_{os.getpid()}", f"psm_{os.getpid():08x}")]
    for path in theirs:
        path.write_bytes(b"kept")
    (tmp_path / "held.py").write_text(
        "import mmap, os, signal, torch\n"
        "class Held(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i):\n"
        f"        self.open = [open(p, 'r+b') for p in {[str(p) for p in theirs]!r}]\n"
        "        self.maps = [mmap.mmap(f.fileno(), 4) for f in self.open]\n"
        "        own = f'/dev/shm/torch_{os.getpid()}_1_1'\n"
        "        self.own = open(own, 'w+b'); self.own.write(b'x' * (2 << 20)); self.own.flush()\n"
        "        self.named = open(f'/dev/shm/named_{os.getpid()}', 'wb')\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n",
        encoding="utf-8",
    )
    before = shm.listed()

    async def run() -> None:
        door = Door()
        ref = SourceRef(f"{tmp_path}/held.py:Held", (str(tmp_path),), code=True)
        request = {"source": ref.to_json(), "probes": [Scan(checks=()).to_json()], "seed": 0, "cpus": 1.0}
        request.update(memory_bytes=2 << 30, folder=str(tmp_path))
        outcome = await door.run(request, Limits(20, 2 << 30), True, (str(tmp_path),))
        assert outcome.failure is not None
        door.close()

    try:
        asyncio.run(run())

        def left() -> set[str]:
            return {name for name in shm.listed() - before if not name.startswith("named_")}

        assert until(lambda: not left(), 20), left()  # what tests beside this one make goes with them
        assert all(path.read_bytes() == b"kept" for path in theirs)
        assert any(name.startswith("named_") for name in shm.listed() - before)
    finally:
        for path in (*theirs, *Path(shm.FOLDER).glob("named_*")):
            path.unlink(missing_ok=True)
