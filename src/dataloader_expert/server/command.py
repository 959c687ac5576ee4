"""The command line: ``serve``, and every tool as a command that prints the same report."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from dataloader_expert import __version__
from dataloader_expert.server.progress import Bar

if TYPE_CHECKING:
    from dataloader_expert.report import Report
    from dataloader_expert.tools.base import Tool
    from dataloader_expert.tools.execution import Settings

FINE, FOUND, FAILED = 0, 1, 2
TOKEN = "DATALOADER_EXPERT_TOKEN"


def main(argv: list[str] | None = None) -> int:
    """Runs a command. Exit status: 0 fine, 1 findings of severity error, 2 the request could not be carried out."""
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` say, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FINE
    return status


def _run(arguments: list[str]) -> int:
    parser, tools = _parser(arguments)
    given = parser.parse_args(arguments)
    if given.command == "serve":
        return _serve(given)
    if given.command == "demo":
        return _demo(given.folder, given.budget_s, given.json)
    if given.command == "doctor":
        return _doctor()
    return _tool(tools[given.command], given)


def _parser(arguments: list[str]) -> tuple[argparse.ArgumentParser, dict[str, Tool]]:
    parser = argparse.ArgumentParser(
        prog="dataloader-expert",
        description="Measures PyTorch data pipelines and proves each cure by a run.",
        allow_abbrev=False,  # an abbreviated flag must not be taken for another
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", allow_abbrev=False, help="speak MCP over stdio, or HTTP with --http")
    _common(serve)
    serve.add_argument("--http", action="store_true", help="streamable HTTP at /mcp instead of stdio")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--allowed-host", action="append", default=[], help="Host header to accept beyond loopback")
    serve.add_argument(
        "--token",
        default=os.environ.get(TOKEN) or None,
        help=f"bearer token that clients must send; safer in the environment as {TOKEN}, since all users can see arguments",
    )
    demo = commands.add_parser(
        "demo", allow_abbrev=False, help="write handwritten digits as PNG files and analyse them over MCP"
    )
    demo.add_argument("folder", nargs="?", type=Path, help="where to write them; default: a temporary folder")
    demo.add_argument("--budget-s", type=float, default=30, help="seconds that the analysis may take (30)")
    demo.add_argument("--json", action="store_true", help="print the structured result")
    commands.add_parser("doctor", allow_abbrev=False, help="start the measuring processes and report what they find")
    if arguments[:1] == ["serve"]:
        return parser, {}  # the tools' models are imported once, by the server
    from dataloader_expert.tools.base import all_tools

    tools = {tool.command: tool for tool in all_tools().values()}
    for name, tool in tools.items():
        command = commands.add_parser(
            name,
            allow_abbrev=False,
            help=tool.title.lower(),
            description=tool.description,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        _common(command)
        command.add_argument("--json", action="store_true", help="print the structured result")
        command.add_argument(
            "--fail-on",
            choices=("error", "warning", "never"),
            default="error",
            help="findings that make the exit status 1",
        )
        for field, info in tool.request.model_fields.items():
            _flag(command, field, info)
        if tool.name == "check_quality":  # a CI gate checks everything unless it is told otherwise
            command.set_defaults(budget_s=None)
    return parser, tools


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="folder below which data may be read"
    )
    parser.add_argument("--no-code", action="store_true", help="refuse Python references")
    parser.add_argument("--python", metavar="PATH", help="interpreter that runs Python references")
    parser.add_argument("--memory-limit", type=float, metavar="GB", help="memory limit for measuring")


def _flag(parser: argparse.ArgumentParser, name: str, info: Any) -> None:
    """A request's field as an argument: ``source`` by place, the others as flags with hyphens."""
    if name == "source":
        left_out: dict[str, Any] = {} if info.is_required() else {"nargs": "?", "default": info.default}
        parser.add_argument("source", help=info.description, **left_out)
        return
    kind = info.annotation
    if get_origin(kind) is dict:
        parser.add_argument(
            "--" + name.replace("_", "-"), type=json.loads, default={}, metavar="JSON", help=info.description
        )
        return
    options = [k for k in get_args(kind) if k is not type(None)] if get_origin(kind) is not Literal else [kind]
    kind = options[0] if options else kind
    flag = "--" + name.replace("_", "-")
    default = None if info.default is ... else info.default
    if get_origin(kind) is Literal:
        parser.add_argument(flag, choices=get_args(kind), default=default, help=info.description)
    elif kind is bool:
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=info.description)
    elif kind in (int, float, str):
        parser.add_argument(flag, type=kind, default=default, metavar=kind.__name__.upper(), help=info.description)
    elif get_origin(kind) is list:
        parser.add_argument(flag, nargs="+", default=None, help=info.description)
    else:
        parser.add_argument(flag, type=json.loads, default=None, metavar="JSON", help=info.description)


def _settings(given: argparse.Namespace, source: str | None) -> Settings:
    """The roots as given; at the terminal also the folder of the source that the user typed."""
    from dataloader_expert.tools.execution import Settings, default_roots

    roots = tuple(os.path.realpath(r) for r in given.root)
    if not roots:
        roots = default_roots()
        if source is not None and "://" not in source:
            path = os.path.expanduser(source)
            path = path if os.path.exists(path) or ".py:" not in path else path.rsplit(":", 1)[0]
            folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
            real = os.path.realpath(folder)
            if os.path.isdir(folder) and real not in roots:
                roots = (*roots, real)
            if not roots:
                roots = (os.path.realpath(Path.cwd()),)
    return Settings(roots, given.no_code, given.python, given.memory_limit)


def _serve(given: argparse.Namespace) -> int:
    gc.disable()  # nothing imported is garbage: looking for it takes a tenth of the start
    from dataloader_expert.server.transports import serve_http, serve_stdio

    gc.freeze()
    gc.enable()
    settings = _settings(given, None)
    if not given.http:
        serve_stdio(settings)
        return FINE
    try:
        serve_http(settings, given.host, given.port, given.allowed_host, given.token)
    except ValueError as e:
        print(f"invalid-argument: {e}", file=sys.stderr)
        return FAILED
    return FINE


def _tool(tool: Tool, given: argparse.Namespace) -> int:
    from pydantic import ValidationError

    from dataloader_expert.errors import RequestError
    from dataloader_expert.lab.door import Door
    from dataloader_expert.tools.execution import execute
    from dataloader_expert.tools.rendering import in_detail

    values = {name: getattr(given, name) for name in tool.request.model_fields}
    defaulted = {k: v for k, v in values.items() if v is not None}
    if tool.name == "check_quality" and given.budget_s is None:
        defaulted["budget_s"] = None
    try:
        request = tool.request.model_validate(defaulted)
    except ValidationError as e:
        first = e.errors()[0]
        print(f"invalid-argument: {'.'.join(map(str, first['loc']))}: {first['msg']}", file=sys.stderr)
        return FAILED
    settings = _settings(given, request.source)
    bar = Bar(request.budget_s)

    async def run() -> Report:
        door = Door(settings.python)
        try:
            return await execute(tool, request, door, settings, bar.say if sys.stderr.isatty() else None)
        finally:
            door.close()

    try:
        full = asyncio.run(run())
    except RequestError as e:
        print(e, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return 130
    shown = in_detail(tool, full, request.detail)
    print(shown.model_dump_json(by_alias=True, indent=1) if given.json else shown.report_markdown)
    return _status(tool, full, given.fail_on)


def _status(tool: Tool, full: Report, fail_on: str) -> int:
    if tool.name == "check_quality" and fail_on == "error":
        passed = full.passed  # type: ignore[attr-defined]  # check_quality's report has it
        return FAILED if passed is None else FINE if passed else FOUND
    severities = {"error": {"error"}, "warning": {"error", "warning"}, "never": set()}[fail_on]
    return FOUND if any(f.severity in severities for f in full.findings) else FINE


def _demo(folder: Path | None, budget_s: float, as_json: bool) -> int:
    """Writes the digits, and asks a server of its own for their analysis, as any client does."""
    import tempfile

    from dataloader_expert.errors import RequestError
    from dataloader_expert.server.demo import ask, make_demo

    with tempfile.TemporaryDirectory() as spare:
        try:
            made = make_demo(folder or Path(spare) / "digits")
            asked = {"source": str(made.resolve()), "budget_s": budget_s}
            bar = Bar(budget_s) if sys.stderr.isatty() else None
            result = asyncio.run(ask("analyze_dataset", asked, bar))
        except RequestError as e:
            print(e, file=sys.stderr)
            return FAILED
    print(json.dumps(result, indent=1) if as_json else result["report_markdown"])
    return FINE


def _doctor() -> int:
    from dataloader_expert.errors import RequestError
    from dataloader_expert.lab.door import Door
    from dataloader_expert.lab.surroundings import surroundings
    from dataloader_expert.tools.execution import default_roots

    around = surroundings()
    print(f"dataloader-expert {__version__}, Python {sys.version.split()[0]} at {sys.executable}")
    print(
        f"CPUs {around.cpus:g}, memory left {around.memory_bytes / 1e9:.1f} GB, /dev/shm {around.shm_bytes / 1e9:.1f} GB"
    )
    print(f"default root: {', '.join(default_roots()) or 'none here: pass --root'}")

    async def look() -> int:
        door = Door()
        status = FINE
        for user in (False, True):
            name = "Python references" if user else "our own readers"
            try:
                _, ready = await door.host(user, default_roots())
                print(
                    f"host for {name}: {ready['executable']}, torch {ready['torch']}, started in {ready['seconds']:.1f} s"
                )
            except RequestError as e:
                print(f"host for {name}: {e}")
                status = FAILED
        door.close()
        return status

    return asyncio.run(look())


if __name__ == "__main__":
    sys.exit(main())
