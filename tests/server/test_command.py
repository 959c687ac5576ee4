"""The command line: every tool prints the report that the server gives, and the exit status says what was found."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.lab.door import Door
from dataloader_expert.server.command import main
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings, execute
from tests.driving import processes, until
from tests.making.tiny import TINY

pytestmark = pytest.mark.journey


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory. ``data``: sound pictures; ``bad``: the same with one cut short."""
    folder = tmp_path_factory.mktemp("command")
    for name in ("data", "bad", "mark"):
        (folder / name).mkdir()
    for name in ("data", "bad"):
        TINY["image-folder"](folder / name)
    cut = sorted((folder / "bad").rglob("*.png"))[5]
    cut.write_bytes(cut.read_bytes()[:-40])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("CLAUDE_PROJECT_DIR", raising=False)
        patch.setenv("TMPDIR", str(folder / "mark"))
        patch.setattr("tempfile.tempdir", str(folder / "mark"))
        yield folder


def ran(*arguments: str) -> Done:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = main(list(arguments))
    return Done(status, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def done(folder: Path) -> dict[str, Done]:
    """Each command once; only a search for settings takes the time that it is given."""
    budgets = {"diagnose": "8", "analyze": "8"}
    return {
        **{
            tool.command: ran(tool.command, "data", "--budget-s", budgets.get(tool.command, "20"))
            for tool in all_tools().values()
        },
        "check without budget": ran("check", "bad"),
        "check, never": ran("check", "bad", "--fail-on", "never"),
        "characterize bad": ran("characterize", "bad", "--json", "--detail", "full", "--root", "bad"),
        "not there": ran("characterize", "nowhere"),
        "outside": ran("characterize", "bad", "--root", "data"),
        "no code": ran("characterize", "some.py:Rows", "--no-code"),
        "wrong": ran("characterize", "data", "--budget-s", "-1"),
    }


@pytest.mark.parametrize("command", [tool.command for tool in all_tools().values()])
def test_every_tool_is_a_command(done: dict[str, Done], command: str) -> None:
    """The contract: it prints the same report, and 0 where nothing is wrong."""
    assert done[command].returncode == 0, done[command].stderr
    assert done[command].stdout.startswith("## ")
    assert done[command].stderr == ""


def test_json_is_the_structured_result(done: dict[str, Done]) -> None:
    """The contract: ``--json`` prints what the server's structured channel carries; no report is kept."""
    told: dict[str, Any] = json.loads(done["characterize bad"].stdout)
    assert (told["tool"], told["samples"], told["format"]) == ("characterize_dataset", 42, "image-folder")
    assert told["report_uri"] is None
    assert told["report_markdown"].startswith("## ")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        pytest.param("check without budget", 1, id="check: not passed"),
        pytest.param("check, never", 0, id="check: findings are not to fail it"),
        pytest.param("characterize bad", 1, id="a finding of severity error"),
        pytest.param("not there", 2, id="no such source"),
        pytest.param("outside", 2, id="outside the roots"),
        pytest.param("no code", 2, id="code refused"),
        pytest.param("wrong", 2, id="a wrong argument"),
    ],
)
def test_the_status_says_how_it_went(done: dict[str, Done], name: str, status: int) -> None:
    """The contract: 0 fine, 1 findings, 2 not carried out."""
    assert done[name].returncode == status, done[name].stdout + done[name].stderr


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("not there", "source-not-found"),
        ("outside", "outside-roots"),
        ("no code", "code-refused"),
        ("wrong", "invalid-argument"),
    ],
)
def test_a_refusal_goes_to_stderr_and_begins_with_its_code(done: dict[str, Done], name: str, code: str) -> None:
    """The contract: one line that says what, where and what to do; no traceback of ours."""
    assert done[name].stdout == ""
    assert done[name].stderr.startswith(f"{code}: ")
    assert "Traceback" not in done[name].stderr


def test_check_reads_everything_where_no_budget_is_given(done: dict[str, Done]) -> None:
    """The contract: ``check`` has no budget at the terminal unless one is given."""
    assert "42 samples" in done["check without budget"].stdout or "41" in done["check without budget"].stdout


def test_nothing_stays_after_a_command(done: dict[str, Done], folder: Path) -> None:
    """Our promise: no process, and no folder in the temporary directory."""
    assert done
    assert until(lambda: not processes(folder / "mark"), 6)
    assert not list((folder / "mark").iterdir())


def test_serve_refuses_what_it_cannot_guard(capsys: pytest.CaptureFixture[str]) -> None:
    """The contract: an address beyond loopback needs ``--allowed-host`` and ``--token``."""
    assert main(["serve", "--http", "--host", "0.0.0.0", "--port", "1"]) == 2
    assert capsys.readouterr().err.startswith("invalid-argument: --host 0.0.0.0")


def test_the_installed_command_is_the_same(done: dict[str, Done], folder: Path) -> None:
    """Our promise: ``dataloader-expert`` is on the path of an environment that has the package."""
    command = shutil.which("dataloader-expert", path=str(Path(sys.executable).parent))
    assert command is not None
    told = subprocess.run([command, "characterize", "nowhere"], capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stdout, told.stderr) == (2, "", done["not there"].stderr)


@pytest.mark.parametrize("source", ["nowhere", "nofile.py:Rows"])
def test_a_path_that_is_not_there_starts_no_process(folder: Path, source: str) -> None:
    """Our promise: it is refused at once, and no measuring process is started to say so."""
    request = all_tools()["characterize_dataset"].request.model_validate({"source": source})
    door = Door()
    with pytest.raises(RequestError) as refused:
        asyncio.run(execute(all_tools()["characterize_dataset"], request, door, Settings((str(folder),))))
    assert refused.value.code == "source-not-found"
    assert door.hosts == {}


def test_an_unknown_command_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """argparse's own behaviour: usage on stderr, status 2; the measuring process that was begun for it is gone."""
    with pytest.raises(SystemExit) as left:
        main(["characterise", "data"])
    assert left.value.code == 2
    assert "characterize" in capsys.readouterr().err
    assert until(lambda: not processes(folder / "mark"), 6)
    assert not list((folder / "mark").iterdir())


def test_the_demo_analyses_real_digits_through_a_server(folder: Path) -> None:
    """Our promise: real pictures are written where asked, and a client's answer about them is right."""
    told = ran("demo", str(folder / "digits"), "--budget-s", "40", "--json")
    assert told.returncode == 0, told.stderr
    report = json.loads(told.stdout)
    found = report["characterization"]
    assert found["samples"] == 1797 == sum(1 for _ in (folder / "digits").rglob("*.png"))
    assert {s["name"] for s in found["splits"]} == {"train", "test"}
    assert sorted(found["classes"]["counts"].values())[0] == 174
    assert report["coverage"]["complete"]
    again = ran("demo", str(folder / "digits"))
    assert again.returncode == 2
    assert again.stderr.startswith("invalid-argument: ")


def test_the_doctor_tells_what_measures(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: which interpreters measure, with which torch, and what they may use."""
    monkeypatch.setenv("HOME", str(folder))  # no client of the user's own is started
    told = ran("doctor")
    assert told.returncode == 0, told.stdout
    assert told.stdout.count("started in") == 2
    assert "CPUs" in told.stdout


LIGHT = """
import asyncio, sys
from mcp import Client
from dataloader_expert.server.app import build
from dataloader_expert.tools.execution import Settings

async def drive():
    async with Client(build(Settings((sys.argv[1],))), mode=sys.argv[2]) as client:
        await client.list_tools()
        refused = await client.call_tool("characterize_dataset", {"source": "/etc"})
        assert refused.is_error and refused.content[0].text.startswith("outside-roots"), refused
        wrong = await client.call_tool("characterize_dataset", {"sorce": "/etc"})
        assert "did you mean source?" in wrong.content[0].text, wrong

asyncio.run(drive())
print(*sorted({"torch", "numpy", "pyarrow", "PIL", "jinja2", "datasets"} & set(sys.modules)))
"""


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_server_is_light_until_it_measures(folder: Path, era: str) -> None:
    """Our promise: after initialize, tools/list and refused calls nothing heavy is loaded: it starts in a second."""
    command = [sys.executable, "-c", LIGHT, str(folder / "data"), era]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() == ""


LOGS = """
import logging, sys
from dataloader_expert.server.app import build
from dataloader_expert.server.logs import plain_logs
from dataloader_expert.tools.execution import Settings

with plain_logs():
    build(Settings((".",)))
logging.getLogger("x").warning("a line that is longer than a terminal is wide, " * 4)
assert "rich.logging" not in sys.modules
import rich.console
"""


def test_a_log_message_is_one_plain_line(folder: Path) -> None:
    """Our promise: clients' logs are read by line; rich, which folds them, is not loaded, and can still be."""
    told = subprocess.run([sys.executable, "-c", LOGS], capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    assert told.stderr.strip() == ("a line that is longer than a terminal is wide, " * 4).strip()
