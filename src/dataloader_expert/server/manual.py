"""``--help`` as a manual page: what a command does, its arguments in groups, examples, exit status."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

WIDEST = 100
STATUS = {
    0: "no errors found (warnings and info do not count)",
    1: "findings of severity error; --fail-on changes which count",
    2: "the request could not be carried out: stderr says why, beginning with a code",
}
CHECK_STATUS = {
    0: "passed",
    1: "not passed: a finding of severity error, or a failed box of the checklist (--fail-on, --ignore)",
    2: "undecided (not everything was read), or the request could not be carried out",
}
CHANGE_STATUS = {
    0: "done, or nothing to do",
    1: "you declined the change",
    2: "failed; nothing was changed",
}


@dataclass(frozen=True)
class Page:
    """What a command's help adds to its arguments: examples as (purpose, command line), exit status, more text."""

    examples: tuple[tuple[str, str], ...]
    status: dict[int, str]
    notes: str = ""


PAGES = {
    "analyze": Page(
        (
            ("everything about a folder of images", "analyze photos/"),
            ("your own Dataset, with its arguments", 'analyze train.py:MyDataset --source-args \'{"split": "train"}\''),
            ("as JSON, for a script", "analyze photos/ --json > analysis.json"),
        ),
        STATUS,
    ),
    "characterize": Page(
        (
            ("what a folder holds", "characterize data/"),
            ("one split of a table, with its label", "characterize rows.parquet --split train --label class"),
        ),
        STATUS,
    ),
    "batch-spec": Page(
        (
            ("shapes, dtypes, memory and a batch size", "batch-spec photos/"),
            ("whether a model accepts the batch", "batch-spec photos/ --model model.py:make_model"),
            ("the largest batch on a device of 8 GB", "batch-spec photos/ --memory-limit-gb 8"),
        ),
        STATUS,
    ),
    "diagnose": Page(
        (
            ("why a DataLoader is slow", "diagnose train.py:make_loader"),
            ("whether it keeps up with a step of 40 ms", "diagnose train.py:MyDataset --batch-size 64 --step-ms 40"),
            ("forecast for 16 cores", "diagnose train.py:MyDataset --what-if '{\"cpus\": 16}'"),
            ("in CI: at least 500 samples/s", "diagnose train.py:make_loader --fail-under 500"),
        ),
        STATUS,
    ),
    "check": Page(
        (
            ("check everything, however long it takes", "check data/"),
            ("in CI: fail on warnings too, and keep the result", "check data/ --fail-on warning --json > quality.json"),
            ("a known finding does not fail it", "check data/ --ignore blurry 'truncated:old/*' --junit checks.xml"),
            ("no patient in more than one split", "check scans/ --group patient_id"),
        ),
        CHECK_STATUS,
        notes="Without --budget-s it reads everything. With it, the result is undecided if not everything was read.",
    ),
    "sampler": Page(
        (
            ("let the data decide", "sampler photos/"),
            ("draw each class equally often", "sampler photos/ --objective balanced --batch-size 64"),
            ("batch texts of similar length", "sampler corpus.jsonl --objective throughput"),
        ),
        STATUS,
    ),
    "serve": Page(
        (
            ("the way a client starts it", "serve"),
            ("allow data outside the project too", "serve --root . --root /data/imagenet"),
            ("over HTTP on this machine", "serve --http --port 8000"),
        ),
        {0: "the client disconnected", 2: "this address may not be served; stderr says why"},
        notes="Without --root it reads below CLAUDE_PROJECT_DIR or else the current directory, and never / or your home "
        "folder unless you name them. `dataloader-expert install` writes the client's configuration.",
    ),
    "demo": Page(
        (("in a temporary folder", "demo"), ("keep the images", "demo digits/")),
        {0: "done", 2: "the folder is not empty, or the extra `demo` is not installed"},
    ),
    "doctor": Page(
        (("check everything", "doctor"), ("for a script or a bug report", "doctor --json")),
        {0: "nothing is broken (warnings do not count)", 1: "something is broken; each problem says how to fix it"},
    ),
    "install": Page(
        (
            ("this project, shared with whoever clones it", "install claude-code"),
            ("all your projects", "install vscode --user"),
            ("show the change without making it", "install cursor --dry-run"),
            ("Claude Desktop, which has no project", "install claude-desktop --root ~/data"),
            ("in a script", "install claude-code --yes"),
        ),
        CHANGE_STATUS,
        notes="Your other entries, comments and layout stay. A file that cannot be parsed is refused. Files: "
        ".mcp.json and .claude/agents/dataloader-expert.md (Claude Code; for --user ~/.claude.json and "
        "~/.claude/agents/), .vscode/mcp.json, .cursor/mcp.json, claude_desktop_config.json.",
    ),
    "uninstall": Page(
        (("undo `install claude-code`", "uninstall claude-code"), ("in a script", "uninstall vscode --user --yes")),
        CHANGE_STATUS,
        notes="A file that was not changed since is restored byte for byte; from a changed one, only our entry is removed.",
    ),
    "completion": Page(
        (
            ("bash", "completion bash > ~/.local/share/bash-completion/completions/dataloader-expert"),
            ("zsh, in a folder of $fpath", "completion zsh > ~/.zfunc/_dataloader-expert"),
            ("fish", "completion fish > ~/.config/fish/completions/dataloader-expert.fish"),
        ),
        {0: "printed"},
    ),
}
DATA, LIMITS, QUESTION = "data", "budget and detail", "settings of this command"
OUTPUT, BOUNDS = "output", "access and resources"
GROUPS = {
    **dict.fromkeys(("source_args", "format", "split", "label"), DATA),
    **dict.fromkeys(("budget_s", "seed", "detail"), LIMITS),
}
METAVARS = {str: "TEXT", int: "N", float: "NUMBER"}
HELP = {
    "source": "a folder, a file or a glob; or a Python reference, file.py:name or package.module:name, to a Dataset "
    "class or object, a DataLoader, or a function that returns one",
    "source_args": "keyword arguments of the class or function",
    "format": "the format, if the guess from the files is wrong",
    "split": "one split, or the field that names the splits (default: all splits)",
    "label": "the label field (default: found by name, values or folders)",
    "budget_s": "time budget in seconds; when it runs out, the best answer so far is given",
    "seed": "seed of all random choices",
    "detail": "concise shortens long lists; full gives everything (default: concise, with --json full)",
    "what_if": "other hardware: an object with cpus, devices, loaders, step_ms, storage_mb_s, storage_latency_ms or num_workers",
    "batch_size": "batch size (default: the loader's own, or one that suits)",
    "num_workers": "the present number of workers (default: the loader's own)",
    "max_workers": "the most workers to try (default: as many as the machine suggests)",
    "train_split": "the training split, if it is not called train",
}


class Manual(argparse.RawDescriptionHelpFormatter):
    """Wraps arguments to the terminal, at most 100 columns, and shows defaults that are worth showing."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=columns())

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = action.help
        plain = action.default in (None, "", [], {}, argparse.SUPPRESS) or action.default is False
        return told if not told or plain or "default" in told else f"{told} (default: %(default)s)"


def columns() -> int:
    return min(WIDEST, shutil.get_terminal_size((80, 24)).columns) - 2


def group(parser: argparse.ArgumentParser, field: str) -> argparse._ArgumentGroup:
    """The group of a request's field in the help."""
    return titled(parser, GROUPS.get(field, QUESTION))


def titled(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The parser's group with this title, created if missing."""
    found = next((g for g in parser._action_groups if g.title == title), None)
    return found or parser.add_argument_group(title)


def paged(parser: argparse.ArgumentParser, name: str, description: str | None = None) -> None:
    """Adds the manual page to a command's parser."""
    page = PAGES.get(name)
    parser.formatter_class = Manual
    placed = [action for action in parser._actions if not action.option_strings]
    parser.usage = " ".join(["%(prog)s [options]", *(f"[{a.dest}]" if a.nargs == "?" else a.dest for a in placed)])
    text = description or parser.description or ""
    parser.description = _wrapped(text)
    if page is not None:
        parser.epilog = "\n\n".join(_sections(page))
    order = [None, "positional arguments", QUESTION, DATA, LIMITS, OUTPUT, BOUNDS, "options"]
    parser._action_groups.sort(key=lambda g: order.index(g.title) if g.title in order else 2)


def overview(parser: argparse.ArgumentParser) -> None:
    """The manual page of ``dataloader-expert`` itself."""
    parser.formatter_class = Manual
    parser.epilog = "\n\n".join(
        _sections(
            Page(
                (
                    ("see it work", "demo"),
                    ("add it to Claude Code", "install claude-code"),
                    ("your own data, everything at once", "analyze path/to/data"),
                    ("find out what is wrong with a set-up", "doctor"),
                    ("more on a command", "diagnose --help"),
                ),
                {0: "fine", 1: "findings", 2: "undecided, or the request could not be carried out"},
                notes="NO_COLOR=1 turns colours off. --json prints the structured result, which never changes with the "
                "terminal.",
            )
        )
    )


def _sections(page: Page) -> Iterable[str]:
    yield "examples:\n" + "\n".join(f"  # {what}\n  dataloader-expert {line}" for what, line in page.examples)
    if page.notes:
        yield "notes:\n" + _wrapped(page.notes, "  ")
    yield "exit status:\n" + "\n".join(
        textwrap.fill(text, columns(), initial_indent=f"  {status}  ", subsequent_indent="     ")
        for status, text in page.status.items()
    )


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), columns(), initial_indent=indent, subsequent_indent=indent)
