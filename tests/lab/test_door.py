"""The door: every request starts from the same state, is bounded, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.checks.base import STATISTICS
from dataloader_expert.errors import RequestError
from dataloader_expert.lab import door, failures
from dataloader_expert.lab.door import Door, find_python
from dataloader_expert.lab.failures import user_stack
from dataloader_expert.lab.outcome import Limits, Outcome
from dataloader_expert.lab.starting import begin, environment
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.tools.execution import Settings, message_for
from tests.driving import closed, host_of, opened, processes, speak, until
from tests.lab.odd import LIMIT

LIMITS = Limits(30.0, 2 << 30)
Told = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    shutil.copy(Path(__file__).with_name("odd.py"), folder)
    return folder


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What this process starts from now on carries the mark."""
    folder = tmp_path_factory.mktemp("mark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr("tempfile.tempdir", str(folder))
        yield folder


class Home:
    """One loop and one door: hosts start once."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.door = Door()

    def run(self, do: Callable[[Door], Awaitable[None]]) -> None:
        async def run() -> None:
            await do(self.door)

        self.loop.run_until_complete(run())

    def close(self) -> None:
        async def close(door: Door) -> None:
            door.close()

        self.run(close)
        self.loop.close()


@pytest.fixture(scope="module")
def home(mark: Path) -> Iterator[Home]:
    home = Home()
    yield home
    home.close()


@pytest.fixture
def new(mark: Path) -> Iterator[Home]:
    """A door of the test's own."""
    home = Home()
    yield home
    if not home.loop.is_closed():
        home.close()


async def measured(door: Door, root: Path, name: str, on_event: Told | None = None, limits: Limits = LIMITS) -> Outcome:
    """A scan of one of the odd data sets."""
    ref = SourceRef(f"{root}/odd.py:{name}", (str(root),), code=True)
    request = {
        "source": ref.to_json(),
        "probes": [Scan(checks=()).to_json()],
        "seed": 0,
        "cpus": 1.0,
        "memory_bytes": limits.memory_bytes,
        "folder": str(root),
    }
    return await door.run(request, limits, True, (str(root),), on_event)


def means(outcome: Outcome) -> dict[str, float]:
    assert outcome.failure is None, outcome.failure
    return {str(fact.at["field"]): fact.value["mean"] for fact in outcome.facts.all(STATISTICS)}


@pytest.mark.journey
def test_a_request_starts_as_the_first_did(home: Home, root: Path, mark: Path) -> None:
    """Our promise: what a data set patches, enters or plants is gone with its process; cuda is not touched."""

    async def do(door: Door) -> None:
        before = means(await measured(door, root, "Witness"))
        assert before == {"zero": 0.0, "folder": float(len(str(root))), "planted": 0.0, "cuda": 0.0, "grad": 1.0}
        assert means(await measured(door, root, "Patching")) != before
        assert means(await measured(door, root, "Witness")) == before

    home.run(do)


@pytest.mark.journey
def test_the_host_computes_nothing(new: Home, root: Path, mark: Path) -> None:
    """Our promise: no thread of a host's own: a pool started there would hang every child's first parallel operation.

    numpy's import starts idle BLAS threads where the user's environment does not forbid them; they end at a fork.
    """

    async def do(door: Door) -> None:
        await door.host(True, (str(root),))
        await door.host(False, (str(root),))
        user, scan = (host_of(mark, kind)[1] for kind in ("user", "scan"))
        assert threads(scan) == {scan}
        after_imports = threads(user)
        assert len(after_imports) <= (os.cpu_count() or 1)
        await measured(door, root, "Witness")
        assert threads(user) <= after_imports
        assert "libcuda.so" not in Path(f"/proc/{user}/maps").read_text()

    new.run(do)


def test_only_a_patient_door_waits_longer_than_a_request_has(root: Path, mark: Path) -> None:
    """Nobody can call again while the command's host goes on starting: it ends with the command."""
    source = SourceRef(str(root), (str(root),))
    request, _ = message_for(source, (Scan(checks=()),), 0, None, Settings((str(root),)))
    at_once = Limits(0.01 - failures.GRACE_S, LIMITS.memory_bytes)

    async def asked(patient: bool) -> RequestError | None:
        own = Door(patient=patient)
        try:
            return (await own.run(request, at_once, False, (str(root),))).failure
        except RequestError as e:
            return e
        finally:
            own.close()

    hasty, waited = asyncio.run(asked(False)), asyncio.run(asked(True))
    assert hasty is not None and "still starting" in str(hasty)
    assert waited is None or "still starting" not in str(waited)


def threads(pid: int) -> set[int]:
    return {int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()}


@pytest.mark.journey
def test_a_cancelled_request_ends_with_all_it_started(home: Home, root: Path, mark: Path) -> None:
    """Our promise: also what left the session; and the next request is answered by the same host."""

    async def do(door: Door) -> None:
        await door.host(True, (str(root),))
        at_rest = set(processes(mark))
        task = asyncio.ensure_future(measured(door, root, "Waiting"))
        assert await asyncio.to_thread(until, lambda: "sleep 987654" in " ".join(processes(mark).values()), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(until, lambda: set(processes(mark)) == at_rest, 1)
        assert means(await measured(door, root, "Witness"))["zero"] == 0.0
        assert set(processes(mark)) == at_rest

    home.run(do)


@pytest.mark.journey
@pytest.mark.parametrize("deep", ["", "deep" * 20])
def test_a_killed_request_leaves_no_folder(mark: Path, root: Path, deep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: also where the temporary directory's path is too long for a socket's."""
    folder = mark / ("sockets" + deep)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    home = Home()

    async def do(door: Door) -> None:
        host, _ = await door.host(True, (str(root),))
        assert (await measured(door, root, "Killed")).failure is not None
        assert [path.name for path in Path(host.folder).iterdir()] == ["dataloader_expert"]

    home.run(do)
    home.close()
    assert until(lambda: not list(folder.iterdir()), 5)


def test_two_requests_at_once_do_not_meet(home: Home, root: Path, mark: Path) -> None:
    """Our promise: ending one leaves the other's processes alone."""

    async def do(door: Door) -> None:
        waiting = asyncio.ensure_future(measured(door, root, "Waiting"))
        assert await asyncio.to_thread(until, lambda: "sleep 987654" in " ".join(processes(mark).values()), 20)
        assert means(await measured(door, root, "Witness"))["zero"] == 0.0
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    home.run(do)


@pytest.mark.journey
def test_a_request_over_its_memory_limit_may_end_its_own_processes(home: Home, root: Path, mark: Path) -> None:
    """Our promise: they stand still meanwhile; a request that ends them goes on, another is ended."""
    limits = replace(LIMITS, memory_bytes=LIMIT)

    async def do(door: Door) -> None:
        assert means(await measured(door, root, "TooMuchBelow", limits=limits))["zero"] == 0.0
        failure = (await measured(door, root, "TooMuchForGood", limits=limits)).failure
        assert failure is not None
        assert failure.code == "out-of-memory"
        assert failure.message.startswith("2 processes held 1.")

    home.run(do)


def test_a_flood_of_prints_is_kept_short(home: Home, root: Path, mark: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Our promise: prints of every kind are read to the end, shown shortened, and reach neither wire nor terminal."""

    async def do(door: Door) -> None:
        outcome = await measured(door, root, "Flooding")
        assert means(outcome)["zero"] == 0.0
        assert outcome.prints.startswith('{"jsonrpc"')
        assert len(outcome.prints) < 64 << 10
        assert "bytes left out" in outcome.prints

    home.run(do)
    assert capfd.readouterr() == ("", "")


def test_what_is_no_event_is_passed_over(home: Home, root: Path, mark: Path) -> None:
    """Our promise: a data set that writes on descriptors it does not own harms its own answer at the most."""

    async def do(door: Door) -> None:
        outcome = await measured(door, root, "Meddling")
        assert outcome.failure is None
        assert means(await measured(door, root, "Witness"))["zero"] == 0.0

    home.run(do)


@pytest.mark.journey
def test_secrets_stay_outside(new: Home, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a measuring child's environment holds no token, key, password or URL with one."""
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("WANDB_API_KEY", "x")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:word@host/db")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")

    async def do(door: Door) -> None:
        assert means(await measured(door, root, "Secrets")) == {"secrets": 0.0, "kept": 1.0}

    new.run(do)
    assert not set(environment(user=False)) & {"HF_TOKEN", "DATABASE_URL", "TOKENIZERS_PARALLELISM"}


def test_events_come_while_the_request_runs(home: Home, root: Path, mark: Path) -> None:
    """Our promise: facts and progress cross the door as they are found."""
    kinds: list[str] = []

    async def do(door: Door) -> None:
        await measured(door, root, "Witness", lambda event: kinds.append(event["event"]))

    home.run(do)
    assert kinds[0] == "progress"
    assert kinds[-1] == "done"
    assert "fact" in kinds


@pytest.mark.journey
def test_nothing_is_left_when_the_door_closes(new: Home, root: Path, mark: Path) -> None:
    """Our promise: neither processes nor the folder that made our package visible."""
    before, there = set(processes(mark)), set(mark.iterdir())

    async def do(door: Door) -> None:
        await measured(door, root, "Witness")

    new.run(do)
    assert set(processes(mark)) > before
    assert set(mark.iterdir()) > there
    new.close()
    assert set(processes(mark)) == before
    assert set(mark.iterdir()) == there


@pytest.mark.parametrize(
    "python",
    [
        pytest.param("/nowhere/python", id="not there"),
        pytest.param("/bin/sh", id="no Python"),
    ],
)
def test_an_interpreter_that_cannot_measure_is_named(root: Path, mark: Path, python: str) -> None:
    """Our promise: ``import-failed`` says which interpreter, and how to name another."""

    async def run() -> None:
        door = Door(python)
        try:
            with pytest.raises(RequestError, match=f"(?s)import-failed: .*{python}.*--python"):
                await measured(door, root, "Witness")
        finally:
            door.close()

    asyncio.run(run())


def test_the_users_interpreter_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: ``--python``, else VIRTUAL_ENV, else the root's .venv, else ours."""
    pythons = {}
    for name in ("active", "root/.venv"):
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(shutil.which("true") or "/bin/true")
        pythons[name] = str(python)
    roots = (str(tmp_path / "root"),)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    assert find_python("/given", roots) == "/given"
    assert find_python(None, roots) == pythons["active"]
    monkeypatch.delenv("VIRTUAL_ENV")
    assert find_python(None, roots) == pythons["root/.venv"]
    assert find_python(None, (str(tmp_path),)) == sys.executable


def test_a_stack_is_told_by_the_users_own_frame() -> None:
    """Our promise: neither our frames nor a library's stand for the line that hangs."""
    dump = (
        "Current thread 0x1 (most recent call first):\n"
        f'  File "{Path(os.__file__).parent}/selectors.py", line 415 in select\n'
        '  File "/x/lib/site-packages/torch/utils/data/dataloader.py", line 3 in _next_data\n'
        '  File "/home/me/train.py", line 7 in __getitem__\n'
    )
    assert user_stack(dump) == " in __getitem__ (/home/me/train.py:7)"
    assert user_stack("") == ""


WAYS: dict[str, tuple[str, signal.Signals | None]] = {
    "stdin closed": ("server", None),
    "server by SIGTERM": ("server", signal.SIGTERM),
    "server by SIGINT": ("server", signal.SIGINT),
    "server by SIGKILL": ("server", signal.SIGKILL),
    "host": ("host", signal.SIGKILL),
    "warden": ("warden", signal.SIGKILL),
    "host and server": ("host server", signal.SIGKILL),
    "warden and server": ("warden server", signal.SIGKILL),
    "warden, then server": ("warden pause server", signal.SIGKILL),
}
PAUSE_S = 0.005
"""So long after its warden's death the server was ending the host."""


@pytest.fixture(scope="module")
def at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[subprocess.Popen[bytes], Path]]]:
    """A server for each way, started together, each in the middle of a request that leaves a daemon."""
    root = tmp_path_factory.mktemp("ways")
    shutil.copy(Path(__file__).with_name("odd.py"), root)
    call = {"name": "characterize_dataset", "arguments": {"source": f"{root}/odd.py:Waiting", "budget_s": 120}}
    servers = {}
    try:
        for i, way in enumerate(WAYS):
            servers[way] = (opened(root / f"mark{i}", "--root", str(root)), root / f"mark{i}")
            speak(servers[way][0], {"id": 1, "method": "tools/call", "params": call})
        yield servers
    finally:
        for server, _ in servers.values():
            closed(server)


@pytest.mark.journey
@pytest.mark.parametrize("way", WAYS)
def test_whoever_dies_nothing_stays(at_work: dict[str, tuple[subprocess.Popen[bytes], Path]], way: str) -> None:
    """Our promise: no process stays, in whichever order server, warden and host go."""
    server, mark = at_work[way]
    assert until(lambda: "sleep 987654" in " ".join(processes(mark).values()), 60)
    warden, host = host_of(mark, "user")
    pids = {"server": server.pid, "warden": warden, "host": host}
    who, signum = WAYS[way]
    if signum is None:
        closed(server)
    else:
        for name in who.split():
            if name == "pause":
                time.sleep(PAUSE_S)  # the race is between two deaths: nothing can be waited for
            else:
                os.kill(pids[name], signum)
    stays = set() if "server" in who else {server.pid}
    assert until(lambda: set(processes(mark)) <= stays, 6.0), processes(mark)
    closed(server)
    assert until(lambda: not processes(mark), 6.0)
    assert until(lambda: not [p for p in mark.iterdir() if p.name.startswith("dataloader-expert-")], 6.0)


def test_a_host_cleans_up_though_nobody_read_what_it_said(mark: Path) -> None:
    """Our promise: the end of a server that left a message unread is an end like any other, even if the warden cannot sweep."""
    begun = begin(sys.executable, False)
    assert select.select([begun.control], [], [], 60)[0]
    os.kill(begun.process.pid, signal.SIGSTOP)
    try:
        begun.control.close()
        assert until(lambda: not Path(begun.folder).exists(), 6.0)
    finally:
        begun.process.kill()
        begun.process.wait()


@pytest.mark.gpu
def test_a_child_allocates_on_the_device_after_two_requests(new: Home, tmp_path: Path) -> None:
    """Our promise: the host calls nothing under torch.cuda, so a fork of it may still start CUDA."""
    if not Path("/proc/driver/nvidia").exists():
        pytest.skip("no CUDA device")
    (tmp_path / "odd.py").write_text(
        "import torch\n"
        "class OnDevice(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i): return {'sum': float(torch.ones(3, device='cuda').sum())}\n",
        encoding="utf-8",
    )

    async def do(door: Door) -> None:
        for _ in range(3):
            assert means(await measured(door, tmp_path, "OnDevice")) == {"sum": 3.0}

    new.run(do)


OUR_MAIN = '  File "{boot}", line 170 in <module>\n'
THEIR_MAIN = (
    '  File "/home/me/torch_epoch.py", line 40 in step\n  File "/home/me/train.py", line 9 in <module>\n' + OUR_MAIN
)


@pytest.mark.parametrize(
    ("stacks", "code", "said"),
    [
        pytest.param(OUR_MAIN, "timed-out", "opening /data", id="a folder that opens slowly"),
        pytest.param(THEIR_MAIN, "import-failed", "/home/me/train.py:9", id="a script that trains when it is imported"),
    ],
)
def test_slow_opening_is_told_from_a_script_that_trains(stacks: str, code: str, said: str) -> None:
    """Our promise: only the user's own module on the stack makes it their script."""
    boot = Path(door.__file__).with_name("boot.py")
    end: dict[str, Any] = {"reason": "time", "signal": None, "status": None, "figures": {}}
    failure = failures.failure_of(end, stacks.format(boot=boot), "", LIMITS, "opening /data")
    assert failure.code == code
    assert said in failure.message


CRASHED = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    '  File "/home/me/decode.py", line 7 in decode\n\nExtension modules: numpy (total: 1)\n'
)


@pytest.mark.parametrize(
    ("stacks", "sample", "said"),
    [
        (
            CRASHED,
            3,
            "training: the measuring process was killed by SIGSEGV at sample 3 in decode (/home/me/decode.py:7)",
        ),
        ("", 3, "under python -X faulthandler on that sample alone"),
        ("", None, "run it under python -X faulthandler to find the line"),
    ],
    ids=["the line", "the sample alone", "neither"],
)
def test_a_crash_says_where_as_far_as_it_is_known(stacks: str, sample: int | None, said: str) -> None:
    """Our promise: the line, else the sample, and what was going on; nobody is sent to a sample that is not known."""
    end: dict[str, Any] = {"reason": "", "signal": 11, "status": None, "figures": {}, "sample": sample}
    failure = failures.failure_of(end, stacks, "", LIMITS, "training")
    assert failure.code == "worker-crashed"
    assert said in failure.message


def test_what_something_outside_ended_is_not_blamed_on_a_line() -> None:
    """Our promise: SIGKILL leaves no stack, so one that lies there is of another process, and no debugger finds a line."""
    end: dict[str, Any] = {"reason": "", "signal": 9, "status": None, "figures": {}, "sample": 3}
    said = failures.failure_of(end, CRASHED, "", LIMITS, "").message
    assert "killed by SIGKILL at sample 3; something outside ended it" in said
    assert "decode" not in said
    assert "faulthandler" not in said


def test_a_worker_that_crashed_before_is_not_where_the_request_hangs() -> None:
    """Our promise: the line is that of the stacks asked for at the limit."""
    end: dict[str, Any] = {"reason": "time", "signal": None, "status": None, "figures": {}}
    hangs = CRASHED + 'Thread 0x2 (most recent call first):\n  File "/home/me/read.py", line 9 in read\n'
    assert "in read (/home/me/read.py:9)" in failures.failure_of(end, hangs, "", LIMITS, "").message
