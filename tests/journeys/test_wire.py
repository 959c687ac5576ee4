"""What a client meets on the wire: both protocol eras, in memory, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp.types import TextResourceContents

from dataloader_expert.prompts import persona, workflows
from dataloader_expert.server.app import build
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings
from tests.driving import SERVE, free_port, processes, stdio, until
from tests.driving import http as http_server
from tests.making.tiny import TINY

TOOLS = (
    "analyze_dataset",
    "characterize_dataset",
    "recommend_batch_spec",
    "diagnose_io",
    "check_quality",
    "suggest_sampler",
)
Era = Literal["auto", "legacy"]
eras = pytest.mark.parametrize("era", ["auto", "legacy"])
every_tool = pytest.mark.parametrize("name", TOOLS)


@dataclass
class Answers:
    """One session over stdio: each tool called once on the same pictures."""

    listed: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    progress: dict[str, list[float]] = field(default_factory=dict)
    markdown: dict[str, str] = field(default_factory=dict)
    whole: dict[str, dict[str, Any]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wire") / "data"
    root.mkdir()
    TINY["image-folder"](root)
    shutil.copy(Path(__file__).with_name("hostile.py"), root.parent)
    return root


@pytest.fixture(scope="module")
def answers(root: Path) -> Answers:
    async def drive() -> Answers:
        got = Answers()
        async with Client(stdio(root.parent / "mark", "--root", str(root))) as client:
            got.listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            for name in TOOLS:
                steps: list[float] = got.progress.setdefault(name, [])
                arguments = {"source": str(root), "budget_s": 6}
                result = await client.call_tool(name, arguments, progress_callback=keeping(steps))
                got.results[name] = result
                assert not result.is_error, result.content
                uri = (result.structured_content or {})["report_uri"]
                got.markdown[name] = await text(client, uri)
                got.whole[name] = json.loads(await text(client, f"{uri}.json"))
        return got

    return asyncio.run(drive())


def keeping(steps: list[float]) -> ProgressFnT:
    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert message
        steps.append(progress)

    return on_progress


async def text(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


@every_tool
def test_a_tool_says_what_it_does(answers: Answers, name: str) -> None:
    """Our promise: title, description, all four hints, and a description of every argument.

    A reference runs the user's code, which may do anything: read-only and closed-world holds under --no-code alone.
    """
    tool = answers.listed[name]
    assert tool.title
    assert len(tool.description) > 100
    hints = tool.annotations
    assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
    assert (hints.idempotent_hint, hints.open_world_hint) == (False, True)
    assert [a for a, schema in tool.input_schema["properties"].items() if not schema.get("description")] == []
    needs = [] if name == "recommend_batch_spec" else ["source"]  # or input
    assert tool.input_schema.get("required", []) == needs


@every_tool
def test_structured_content_is_what_the_schema_says(answers: Answers, name: str) -> None:
    """Our promise: each tool publishes an output schema and keeps to it."""
    schema = answers.listed[name].output_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(answers.results[name].structured_content, schema)


@every_tool
def test_both_channels_carry_the_report(answers: Answers, name: str) -> None:
    """Our promise: clients that show one channel only lose nothing: the text block is ``report_markdown``."""
    result = answers.results[name]
    (block,) = result.content
    assert block.text == result.structured_content["report_markdown"]
    assert block.text.startswith("#")


@every_tool
def test_a_concise_result_stays_within_its_limit(answers: Answers, name: str) -> None:
    """The contract: 12,000 characters of structured result, 24,000 for the whole analysis."""
    limit = 24_000 if name == "analyze_dataset" else 12_000
    assert len(json.dumps(answers.results[name].structured_content, separators=(",", ":"))) <= limit


@every_tool
def test_the_whole_report_is_a_resource(answers: Answers, name: str) -> None:
    """Our promise: report://ID is the whole as Markdown, report://ID.json as data, with the same findings."""
    structured = answers.results[name].structured_content
    assert answers.markdown[name].startswith("#")
    whole = answers.whole[name]
    assert (whole["tool"], whole["summary"]) == (name, structured["summary"])
    assert [f["code"] for f in whole["findings"]][: len(structured["findings"])] == [
        f["code"] for f in structured["findings"]
    ]


@every_tool
def test_progress_rises(answers: Answers, name: str) -> None:
    """The protocol: each progress value is above the one before."""
    steps = answers.progress[name]
    assert steps
    assert steps == sorted(set(steps))


def test_a_nullable_argument_is_one_type_that_may_be_left_out(answers: Answers) -> None:
    """Our promise: input schemas hold no titles, no lists of types, and nothing to look up elsewhere."""
    text = json.dumps([tool.input_schema["properties"] for tool in answers.listed.values()])
    assert '"title"' not in text
    assert '"$ref"' not in text
    assert '"type": [' not in text
    assert sum(len(json.dumps(t.input_schema, separators=(",", ":"))) for t in answers.listed.values()) < 9_500


@eras
def test_tools_come_in_one_order(root: Path, era: Era) -> None:
    """Our promise: the same six in the same order in both eras, so that prompt caches hold."""

    async def drive() -> None:
        async with Client(build(Settings((str(root),))), mode=era) as client:
            first, second = await client.list_tools(), await client.list_tools()
            assert tuple(tool.name for tool in first.tools) == TOOLS == tuple(all_tools())
            assert first.tools == second.tools

    asyncio.run(drive())


@eras
def test_prompts_and_persona_are_there(root: Path, era: Era) -> None:
    """Our promise: the persona is a prompt and a resource, and every workflow is a prompt."""

    async def drive() -> None:
        async with Client(build(Settings((str(root),))), mode=era) as client:
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["dataloader_expert", *workflows()]
            for name in names:
                (message,) = (await client.get_prompt(name)).messages
                assert message.content.type == "text"
                assert len(message.content.text) > 100
            assert await text(client, "persona://dataloader-expert") == persona()

    asyncio.run(drive())


@eras
def test_a_report_that_is_not_kept_says_how_to_get_one(root: Path, era: Era) -> None:
    """Our promise: an unknown id names the rule and the next step."""

    async def drive() -> None:
        async with Client(build(Settings((str(root),))), mode=era) as client:
            with pytest.raises(MCPError, match="call the tool again"):
                await client.read_resource("report://nope")

    asyncio.run(drive())


def test_both_eras_answer_alike(root: Path, answers: Answers) -> None:
    """Our promise: the protocol's revision changes nothing in a result: stdio spoke the newest, this the oldest way."""

    async def drive() -> None:
        async with Client(build(Settings((str(root),))), mode="legacy") as client:
            result = await client.call_tool("characterize_dataset", {"source": str(root), "budget_s": 20})
            told, known = result.structured_content or {}, answers.results["characterize_dataset"].structured_content
            assert list(told) == list(known)
            assert [told[k] for k in ("samples", "classes", "statistics", "splits")] == [
                known[k] for k in ("samples", "classes", "statistics", "splits")
            ]

    asyncio.run(drive())


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_cancelled_call_leaves_no_process(root: Path, tmp_path: Path, wire: str) -> None:
    """Our promise: a client that gives up ends what it started; the next call is answered."""
    mark = tmp_path / "mark"
    hanging = {
        "source": f"{root.parent}/hostile.py:Hostile",
        "source_args": {"how": "hang"},
        "budget_s": 60,
    }
    fine = {"source": hanging["source"], "budget_s": 20}

    async def drive(target: Any) -> None:
        async with Client(target) as client:
            assert not (await client.call_tool("characterize_dataset", fine)).is_error
            at_rest = set(processes(mark))
            call = asyncio.ensure_future(client.call_tool("characterize_dataset", hanging))
            assert await asyncio.to_thread(until, lambda: set(processes(mark)) > at_rest, 5)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            assert await asyncio.to_thread(until, lambda: set(processes(mark)) == at_rest, 1)
            assert not (await client.call_tool("characterize_dataset", fine)).is_error

    options = ("--root", str(root.parent))
    if wire == "stdio":
        asyncio.run(drive(stdio(mark, *options)))
        return
    with http_server(mark, *options) as (address, _):
        asyncio.run(drive(address))


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGINT"])
def test_a_server_over_http_ends_with_a_call_in_flight(root: Path, tmp_path: Path, signal: str) -> None:
    """Our promise: a signal ends the server within a second, the call it was at included."""
    import signal as signals

    mark = tmp_path / "mark"
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "characterize_dataset",
            "arguments": {
                "source": f"{root.parent}/hostile.py:Hostile",
                "source_args": {"how": "hang"},
                "budget_s": 60,
            },
        },
    }
    with http_server(mark, "--root", str(root.parent)) as (address, server), contextlib.ExitStack() as stack:
        port = int(address.split(":")[2].split("/")[0])
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        status, headers = post(port, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about})
        assert status == 200
        session = {"Mcp-Session-Id": headers["mcp-session-id"]}
        post(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        connection = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)))
        connection.request("POST", "/mcp", json.dumps(call), {**HEADERS, **session})
        assert until(lambda: any("boot.py" in c for c in processes(mark).values()), 10)
        assert until(lambda: len([c for c in processes(mark).values() if "boot.py" in c]) == 3, 10)
        server.send_signal(getattr(signals, signal))
        assert until(lambda: not processes(mark), 6), processes(mark)


HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def post(port: int, message: dict[str, Any], **headers: str) -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/mcp", json.dumps(message), {**HEADERS, **headers})
        response = connection.getresponse()
        return response.status, {k.lower(): v for k, v in response.getheaders()}
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 200, id="a client of this machine"),
        pytest.param({"Host": "evil.example"}, 421, id="another host's name"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="another site's page"),
        pytest.param({"Authorization": ""}, 401, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="a wrong token"),
    ],
)
def test_http_answers_only_whom_it_should(guarded: int, headers: dict[str, str], status: int) -> None:
    """Our promise: DNS rebinding, foreign pages and callers without the token are refused."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}
    assert post(guarded, message, **{"Authorization": "Bearer s3same", **headers})[0] == status


@pytest.fixture(scope="module")
def guarded(root: Path) -> Any:
    with http_server(root.parent / "guarded", "--root", str(root), "--token", "s3same") as (address, _):
        yield int(address.split(":")[2].split("/")[0])


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([], id="neither"),
        pytest.param(["--token", "s3same"], id="no allowed host"),
        pytest.param(["--allowed-host", "me.example"], id="no token"),
    ],
)
def test_a_server_beyond_loopback_must_be_guarded(root: Path, more: list[str]) -> None:
    """Our promise: it refuses to start without ``--allowed-host`` and ``--token``, and says so."""
    command = [*SERVE, "--http", "--host", "0.0.0.0", "--port", str(free_port()), "--root", str(root), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert done.stderr.startswith("invalid-argument: --host 0.0.0.0")
