"""The command line: ``serve``, and every tool as a command that prints the same report."""

from __future__ import annotations

import argparse
import errno
import gc
import json
import os
import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from dataloader_expert import __version__
from dataloader_expert.errors import RequestError
from dataloader_expert.lab.starting import Begun, begin
from dataloader_expert.server import manual, more
from dataloader_expert.server.gating import FAILED, FINE, Gate
from dataloader_expert.server.parsing import Parser, as_json, unknown
from dataloader_expert.server.terminal.options import as_options
from dataloader_expert.server.terminal.progress import STARTING, Bar
from dataloader_expert.server.terminal.showing import shown as for_eyes

if TYPE_CHECKING:
    from dataloader_expert.report import Report
    from dataloader_expert.tools.base import Request, Tool
    from dataloader_expert.tools.execution import Settings

    Commands = argparse._SubParsersAction[Parser]

INTERRUPTED = 130
TOKEN = "DATALOADER_EXPERT_TOKEN"


def main(argv: list[str] | None = None) -> int:
    """Runs a command. Exit status: 0 success, 1 findings of severity error, 2 the request could not be carried out."""
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still to be written cannot be
        print(f"the result cannot be written: {e.strerror}", file=sys.stderr)
        return FAILED
    return status


def _run(arguments: list[str]) -> int:
    parser, commands = _without_tools()
    begun = _begun(arguments, commands.choices)
    try:
        # a server imports the tools' models itself, once
        tools = _with_tools(commands) if arguments[:1] != ["serve"] else {}
        given, more_words = parser.parse_known_args(arguments)
        if more_words:  # told with the usage of the command, not with that of the whole program
            command = commands.choices[given.command]
            command.error(unknown(more_words, command, getattr(given, "source", None)))
        if hasattr(given, "run"):
            status: int = given.run(given)
            return status
        if given.command == "serve":
            return _serve(given)
        if given.command == "demo":
            return _demo(given.folder, given.budget_s, given.json, given.html)
        return _tool(tools[given.command], given, begun)
    finally:
        if begun is not None:
            begun.drop()


def _begun(arguments: list[str], others: Container[str]) -> Begun | None:
    """A measuring process for a tool's command, started while the tool is imported; for the user's code another is needed."""
    if not arguments or arguments[0].startswith("-") or arguments[0] in others:
        return None
    if {"-h", "--help"} & {*arguments} or any(":" in a or a.startswith(("--model", "--transform")) for a in arguments):
        return None
    if not any(os.path.exists(os.path.expanduser(a)) for a in arguments[1:] if "\0" not in a):
        return None  # nothing to measure
    try:
        return begin(sys.executable, False)
    except OSError:  # the door will say so
        return None


def parser_of() -> Parser:
    """The parser of all commands."""
    parser, commands = _without_tools()
    _with_tools(commands)
    return parser


def _without_tools() -> tuple[Parser, Commands]:
    parser = Parser(
        prog="dataloader-expert",
        description="Measures PyTorch data pipelines and proves each fix by a run.",
        allow_abbrev=False,  # an abbreviated flag must not be mistaken for another
    )
    manual.overview(parser)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    speaks = "Speaks MCP: over stdio, as clients start it, or over streamable HTTP."
    serve = commands.add_parser(
        "serve", allow_abbrev=False, help="speak MCP over stdio, or HTTP with --http", description=speaks
    )
    _common(serve)
    serve.add_argument("--http", action="store_true", help="streamable HTTP at /mcp instead of stdio")
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; beyond loopback, --allowed-host and --token are required",
    )
    serve.add_argument("--port", type=int, default=8000, metavar="N", help="port to listen on")
    serve.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="Host header to accept beyond loopback (repeatable)",
    )
    serve.add_argument(
        "--token",
        default=os.environ.get(TOKEN) or None,
        help=f"bearer token that clients must send; safer in the environment as {TOKEN}, since other users can see arguments",
    )
    wrote = "Writes scikit-learn's handwritten digits as PNG files and has a server analyse them, as a client would."
    demo = commands.add_parser(
        "demo",
        allow_abbrev=False,
        help="write handwritten digits as PNG files and analyse them over MCP",
        description=wrote,
    )
    demo.add_argument("folder", nargs="?", type=Path, help="where to write them; default: a temporary folder")
    demo.add_argument("--budget-s", type=float, default=30, help="time budget of the analysis in seconds (30)")
    demo.add_argument("--json", action="store_true", help="print the structured result as JSON")
    demo.add_argument("--html", type=Path, metavar="FILE", help="also write the report as an HTML page")
    more.added(commands, parser_of)
    for name, command in commands.choices.items():
        manual.paged(command, name)
    return parser, commands


def _with_tools(commands: Commands) -> dict[str, Tool]:
    """Adds the tools' commands; the tools by command."""
    from dataloader_expert.tools.base import all_tools

    tools = {tool.command: tool for tool in all_tools().values()}
    for name, tool in tools.items():
        command = commands.add_parser(
            name,
            allow_abbrev=False,
            help=tool.title.lower(),
        )
        output = manual.titled(command, manual.OUTPUT)
        output.add_argument("--json", action="store_true", help="print the structured result as JSON")
        output.add_argument("--html", type=Path, metavar="FILE", help="also write the report as an HTML page")
        output.add_argument(
            "--fail-on",
            choices=("error", "warning", "never"),
            default="error",
            help="lowest severity of findings that makes the exit status 1",
        )
        _gate(output, tool)
        for field, info in tool.request.model_fields.items():
            _flag(command if field == "source" else manual.group(command, field), field, info)
        _common(command)
        manual.paged(command, name, tool.description)
        command.set_defaults(detail=None)  # a script wants everything, a reader what matters
        if tool.name == "check_quality":  # a CI check looks at everything unless told otherwise
            command.set_defaults(budget_s=None)
    return tools


def _gate(output: argparse._ArgumentGroup, tool: Tool) -> None:
    """What decides on the exit status, besides the severity of findings."""
    output.add_argument(
        "--ignore",
        nargs="+",
        action="extend",
        default=[],
        metavar="CODE[:GLOB]",
        help="known findings: printed, but not counted; with GLOB, only in matching files",
    )
    if tool.name == "check_quality":
        output.add_argument("--junit", type=Path, metavar="FILE", help="also write the checks as JUnit XML")
    if tool.name == "diagnose_io":
        output.add_argument(
            "--fail-under",
            type=float,
            metavar="N",
            help="exit status 1 if the present settings deliver fewer samples/s",
        )


def _common(command: argparse.ArgumentParser) -> None:
    parser = manual.titled(command, manual.BOUNDS)
    parser.add_argument(
        "--root", action="append", default=[], metavar="DIR", help="folder below which data may be read (repeatable)"
    )
    parser.add_argument("--no-code", action="store_true", help="refuse Python references")
    parser.add_argument("--python", metavar="PATH", help="interpreter that runs Python references")
    parser.add_argument("--memory-limit", type=float, metavar="GB", help="memory limit of the measuring processes")


def _flag(parser: argparse._ActionsContainer, name: str, info: Any) -> None:
    """A request's field as an argument: ``source`` is positional, the others are flags with hyphens."""
    said = manual.HELP.get(name, info.description)
    if name == "source":
        left_out: dict[str, Any] = {} if info.is_required() else {"nargs": "?", "default": info.default}
        parser.add_argument("source", help=said, **left_out)
        return
    kind = info.annotation
    if get_origin(kind) is dict:
        parser.add_argument("--" + name.replace("_", "-"), type=as_json, default={}, metavar="JSON", help=said)
        return
    options = [k for k in get_args(kind) if k is not type(None)] if get_origin(kind) is not Literal else [kind]
    kind = options[0] if options else kind
    flag = "--" + name.replace("_", "-")
    default = None if info.default is ... else info.default
    if get_origin(kind) is Literal:
        parser.add_argument(flag, choices=get_args(kind), default=default, help=said)
    elif kind is bool:
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=said)
    elif kind in (int, float, str):
        parser.add_argument(flag, type=kind, default=default, metavar=manual.METAVARS[kind], help=said)
    elif get_origin(kind) is list:
        parser.add_argument(flag, nargs="+", default=None, help=said)
    else:
        parser.add_argument(flag, type=as_json, default=None, metavar="JSON", help=said)


def _settings(given: argparse.Namespace, source: str | None) -> Settings:
    """The given roots; at the terminal also the folder of the source that the user typed."""
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
    except SystemExit:  # uvicorn has said why, such as a port that is taken
        return FAILED
    return FINE


def _tool(tool: Tool, given: argparse.Namespace, begun: Begun | None) -> int:
    gate = Gate(given.fail_on, tuple(given.ignore), getattr(given, "fail_under", None))
    try:
        request = _request(tool, given)
        full = _measured(tool, request, given, begun)
        if given.html is not None:
            from dataloader_expert.page.file import write

            write(full, given.html)
        if getattr(given, "junit", None) is not None:
            from dataloader_expert.server import junit

            junit.write(full, given.junit, gate)
        print(_in_detail(tool, full, request, given.json))
    except RequestError as e:
        print(as_options(str(e), tool.request.model_fields), file=sys.stderr)
        if given.json:
            print(json.dumps({"error": e.to_json()}, indent=1))
        return FAILED
    return gate.status(full)


def _request(tool: Tool, given: argparse.Namespace) -> Request:
    """The tool's request; with ``--json`` in full, unless asked otherwise.

    Raises:
        RequestError: ``invalid-argument``.
    """
    from pydantic import ValidationError

    from dataloader_expert.server.arguments import in_words

    values = {name: getattr(given, name) for name in tool.request.model_fields}
    defaulted = {k: v for k, v in values.items() if v is not None}
    if given.detail is None:
        defaulted["detail"] = "full" if given.json else "concise"
    if tool.name == "check_quality" and given.budget_s is None:
        defaulted["budget_s"] = None
    try:
        return tool.request.model_validate(defaulted)
    except ValidationError as e:
        raise RequestError("invalid-argument", in_words(e, tool.request, defaulted)) from None


def _measured(tool: Tool, request: Request, given: argparse.Namespace, begun: Begun | None) -> Report:
    """The whole result.

    Raises:
        RequestError: if the request cannot be carried out.
    """
    import asyncio

    from dataloader_expert.lab.door import Door
    from dataloader_expert.tools.execution import execute
    from dataloader_expert.tools.rendering import prepare

    settings = _settings(given, request.source)
    bar = Bar(request.budget_s) if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else None
    if bar is not None:
        bar.draw(STARTING)  # torch's import takes seconds

    async def run() -> Report:
        door = Door(settings.python, begun, patient=True)
        asyncio.get_running_loop().run_in_executor(None, prepare, tool)  # the measuring process is busy meanwhile
        try:
            printed = not given.json and given.html is None
            return await execute(tool, request, door, settings, bar.say if bar is not None else None, printed)
        finally:
            door.close()
            if bar is not None:
                bar.clear()

    for option in ("html", "junit"):
        if getattr(given, option, None) is not None:
            from dataloader_expert.page.file import may_write

            may_write(getattr(given, option), f"--{option}")
    return asyncio.run(run())


def _in_detail(tool: Tool, full: Report, request: Request, as_json: bool) -> str:
    """What is printed."""
    from dataloader_expert.tools.rendering import in_detail

    shown = in_detail(tool, full, request.detail, alone=not as_json)
    if as_json:
        return str(shown.model_dump_json(by_alias=True, indent=1))
    return for_eyes(
        as_options(shown.report_markdown, tool.request.model_fields), full.model_dump(mode="json", by_alias=True)
    )


def _demo(folder: Path | None, budget_s: float, as_json: bool, html: Path | None) -> int:
    """Writes the digits and has them analysed by a server started for it, as a client would."""
    import asyncio
    import tempfile

    from dataloader_expert.page.file import may_write
    from dataloader_expert.server.demo import ask, make_demo

    with tempfile.TemporaryDirectory() as spare:
        try:
            if html is not None:
                may_write(html)
            made = make_demo(folder or Path(spare) / "digits")
            asked = {"source": str(made.resolve()), "budget_s": budget_s}
            bar = Bar(budget_s) if sys.stderr.isatty() else None
            result = asyncio.run(ask("analyze_dataset", asked, bar, html))
        except RequestError as e:
            print(e, file=sys.stderr)
            return FAILED
    print(json.dumps(result, indent=1) if as_json else for_eyes(result["report_markdown"], result))
    return FINE


if __name__ == "__main__":
    sys.exit(main())
