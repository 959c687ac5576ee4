"""The doctor: what is wrong is named, with the cure; what is right is not complained of."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert import __version__
from dataloader_expert.prompts import agent_md
from dataloader_expert.server.clients.known import CLIENTS, Place
from dataloader_expert.server.command import main
from dataloader_expert.server.doctor import configured, machine, measuring
from dataloader_expert.server.doctor.asking import Answer, asked
from dataloader_expert.server.doctor.check import Check
from dataloader_expert.server.doctor.measuring import Devices

SERVE = [sys.executable, "-m", "dataloader_expert.server.command", "serve"]
SOUND = machine.Machine(
    python="3.11.9",
    executable="/usr/bin/python3",
    command=None,
    own=None,
    cpus=4.0,
    memory=16_000_000_000,
    shm=8_000_000_000,
    shm_writable=True,
    files=65536,
    processes=None,
    address_space=None,
    temporary="/tmp",
    temporary_free=50_000_000_000,
    ptrace=1,
    roots=("/work",),
    system="linux",
)
NO_GPU = Devices("2.13.0+cpu", None, None, (), "no driver", None, False, None)
CUDA = Devices("2.13.0", "13.0", None, (("H100", 70_000_000_000, 80_000_000_000),), None, "580.1", True, None)


def of(checks: Any) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_a_sound_machine_is_not_complained_of() -> None:
    """Our promise: no warning without a cause, and no cure where nothing is wrong."""
    checks = of(machine.judged(SOUND))
    assert {c.status for c in checks.values()} == {"ok"} and not any(c.fix for c in checks.values())
    assert len(checks) == 9


@pytest.mark.parametrize(
    ("changed", "name", "status", "cure"),
    [
        pytest.param({"shm": 64_000_000}, "shared memory", "warning", "--shm-size", id="the 64 MB of a container"),
        pytest.param({"shm": None}, "shared memory", "error", "--shm-size", id="no /dev/shm"),
        pytest.param({"shm_writable": False}, "shared memory", "error", "chmod 1777", id="/dev/shm not writable"),
        pytest.param({"files": 256}, "open files", "warning", "ulimit -n", id="few descriptors"),
        pytest.param({"processes": 100}, "processes", "warning", "pids-limit", id="few processes"),
        pytest.param({"address_space": 4_000_000_000}, "address space", "warning", "ulimit -v", id="ulimit -v"),
        pytest.param({"memory": 500_000_000}, "memory left", "warning", "--memory", id="little memory"),
        pytest.param({"cpus": 0.5}, "CPUs", "warning", "--cpus", id="half a core"),
        pytest.param(
            {"temporary_free": None}, "temporary folder", "error", "TMPDIR", id="no place for temporary files"
        ),
        pytest.param({"ptrace": 3}, "reading stacks", "warning", "ptrace_scope", id="no process may look at another"),
        pytest.param({"roots": ()}, "default root", "warning", "--root", id="started in the home folder"),
    ],
)
def test_what_is_wrong_with_a_machine_is_named_with_its_cure(
    changed: dict[str, Any], name: str, status: str, cure: str
) -> None:
    """Our promise: one check complains, and says what to do."""
    checks = of(machine.judged(replace(SOUND, **changed)))
    assert checks[name].status == status and cure in checks[name].fix
    assert [c.name for c in checks.values() if c.status != "ok"] == [name]


def test_another_installation_first_on_the_path_is_told(tmp_path: Path) -> None:
    """Our promise: a client that starts another version than the user means is found."""
    for name in ("a", "b"):
        (tmp_path / name).touch()
    seen = replace(SOUND, command=str(tmp_path / "a"), own=str(tmp_path / "b"))
    assert of(machine.judged(seen))["command"].status == "warning"
    assert of(machine.judged(replace(seen, own=seen.command)))["command"].status == "ok"


def test_this_machine_can_be_looked_at() -> None:
    """Our promise: what is read here is what the system says."""
    seen = machine.look()
    assert seen.cpus > 0 and seen.memory > 0 and seen.executable == sys.executable
    assert of(machine.judged(seen))["Python"].status == "ok"


@pytest.mark.parametrize(
    ("seen", "status", "said"),
    [
        pytest.param(NO_GPU, "ok", "no NVIDIA device", id="no device is no fault"),
        pytest.param(CUDA, "ok", "70.0 of 80.0 GB free", id="a device"),
        pytest.param(
            replace(NO_GPU, nodes=True, driver="580.1"), "warning", "build for the CPU", id="a CPU build beside a GPU"
        ),
        pytest.param(
            replace(CUDA, devices=(), error="driver too old"),
            "error",
            "driver too old; the driver is 580.1",
            id="old driver",
        ),
        pytest.param(replace(CUDA, devices=(), visible=""), "warning", "hides every device", id="hidden devices"),
        pytest.param("torch did not answer", "warning", "did not answer", id="torch hangs"),
    ],
)
def test_cuda_is_judged_by_what_the_system_has(seen: Devices | str, status: str, said: str) -> None:
    """Our promise: a machine without a device is sound; a device that torch does not see is told, with the cure."""
    check = measuring.cuda(seen)
    assert check.status == status and said in check.found
    assert bool(check.fix) == (status != "ok")


@pytest.mark.journey
def test_torch_here_is_asked_in_a_process_of_its_own() -> None:
    """Our promise: the answer comes from the interpreter that would measure."""
    seen = measuring.look(sys.executable, {})
    assert isinstance(seen, Devices) and seen.torch
    assert isinstance(measuring.look("/nowhere/python", {}), str)


@pytest.mark.journey
def test_two_workers_hand_their_batches_over(tmp_path: Path) -> None:
    """Our promise: a real DataLoader is run; where it fails, its own last words are told."""
    assert measuring.workers(sys.executable, dict(os.environ)).status == "ok"
    (tmp_path / "torch.py").write_text("raise OSError('libcudart is missing')\n")
    broken = measuring.workers(sys.executable, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert broken.status == "error" and "libcudart is missing" in broken.found and broken.fix


@pytest.mark.journey
@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param(["/nowhere/dataloader-expert"], "does not exist", id="no such command"),
        pytest.param([sys.executable, "-c", "raise SystemExit('no module torch')"], "no module torch", id="it ends"),
        pytest.param([sys.executable, "-c", "print('hello'); input()"], "its answer is not MCP", id="no MCP"),
        pytest.param([sys.executable, "-c", "import time; time.sleep(60)"], "did not answer within 1 s", id="it hangs"),
    ],
)
def test_a_command_that_does_not_serve_is_told_with_what_it_said(command: list[str], said: str, tmp_path: Path) -> None:
    """Our promise: the reason is the process's own last words, and nothing is left running."""
    answer = asyncio.run(asked(command, {}, str(tmp_path), 1.0 if "sleep" in command[-1] else 20.0))
    assert answer.error is not None and said in answer.error


def checks_of(project: Path, **environ: str) -> dict[str, Check]:
    place = Place(project, project / "home", environ)

    async def all_() -> list[Check]:
        return [check async for check in configured.clients(place)]

    return of(asyncio.run(all_()))


def write(path: Path, key: str, entry: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({key: {"dataloader-expert": entry}}))


@pytest.mark.journey
def test_each_configured_client_is_started_as_it_would_start_it(tmp_path: Path) -> None:
    """Our promise: ``initialize`` and ``tools/list`` are answered by the very command that is configured."""
    sound = {"command": SERVE[0], "args": SERVE[1:], "alwaysLoad": True}
    write(tmp_path / ".mcp.json", "mcpServers", sound)
    write(tmp_path / ".cursor/mcp.json", "mcpServers", {"command": "${workspaceFolder}/gone", "args": ["serve"]})
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/mcp.json").write_text('{"servers": ')
    write(tmp_path / "home/.cursor/mcp.json", "mcpServers", {"url": "http://127.0.0.1:8000/mcp"})
    checks = checks_of(tmp_path)
    assert checks["Claude Code, project"].status == "ok"
    assert f"version {__version__}, " in checks["Claude Code, project"].found
    assert checks["Claude Code, project, subagent"].status == "warning"
    assert checks["Cursor, project"].status == "error"
    assert f"{tmp_path}/gone does not exist" in checks["Cursor, project"].found
    assert "install cursor --project" in checks["Cursor, project"].fix
    assert checks["VS Code, project"].status == "error" and "line 1" in checks["VS Code, project"].found
    assert checks["Cursor, user"].status == "ok" and "over HTTP" in checks["Cursor, user"].found


@pytest.mark.journey
def test_what_claude_mcp_add_wrote_for_one_project_is_found(tmp_path: Path) -> None:
    """Provenance: Claude Code keeps its local scope below ``projects`` of its own file."""
    entry = {"command": SERVE[0], "args": SERVE[1:]}
    home = tmp_path / "home"
    home.mkdir()
    kept = {"projects": {str(tmp_path): {"mcpServers": {"dataloader-expert": entry}}}}
    (home / ".claude.json").write_text(json.dumps(kept))
    (home / ".claude/agents").mkdir(parents=True)
    (home / ".claude/agents/dataloader-expert.md").write_text(agent_md("installed"))
    checks = checks_of(tmp_path)
    assert checks["Claude Code, user"].status == "warning" and "alwaysLoad" in checks["Claude Code, user"].found
    assert checks["Claude Code, user, subagent"].status == "ok"


def test_without_a_client_it_says_how_to_set_one_up(tmp_path: Path) -> None:
    """Our promise: no client is no fault."""
    (check,) = checks_of(tmp_path).values()
    assert check.status == "ok" and "install claude-code" in check.found


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param({"name": "dataloader-expert", "version": "0.0.1"}, "warning", id="another version"),
        pytest.param({"name": "other", "version": __version__}, "error", id="another server"),
        pytest.param({"name": "dataloader-expert", "version": __version__, "seconds": 30.0}, "warning", id="slow"),
    ],
)
def test_an_answer_is_judged(answer: dict[str, Any], status: str) -> None:
    """Our promise: each fault of a server that answers has its cure."""
    spot = configured.Spot(CLIENTS["cursor"], "project", Path("mcp.json"), {"command": "x"})
    check = configured.judged(spot, Answer(**{"seconds": 1.0, **answer}), "dataloader-expert install cursor")
    assert check.status == status and check.fix


@pytest.mark.journey
def test_the_doctor_prints_the_same_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The contract: exit status 1 where something is broken, and 0 where nothing is; ``--json`` holds every check."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".mcp.json", "mcpServers", {"command": "/nowhere/x", "args": []})
    assert main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["version"] == __version__ and told["sound"] is False
    assert {c["room"] for c in told["checks"]} == {"machine", "measuring", "clients"}
    assert sum(c["found"].count("started in") for c in told["checks"]) == 2
    assert all(c["fix"] for c in told["checks"] if c["status"] != "ok")
