"""``--help`` and completion: every command has its page, every example parses, every shell its script."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dataloader_expert.server.command import parser_of
from dataloader_expert.server.completion import completion
from dataloader_expert.server.manual import PAGES
from dataloader_expert.tools.base import all_tools

PARSER, TOOLS = parser_of(), {tool.command: tool for tool in all_tools().values()}
(SUB,) = [a for a in PARSER._actions if isinstance(a, argparse._SubParsersAction)]
COMMANDS: dict[str, argparse.ArgumentParser] = SUB.choices


def test_every_command_has_a_page() -> None:
    """Our promise: what it does, examples, exit status; no page without a command."""
    assert set(PAGES) == set(COMMANDS)
    assert set(TOOLS) <= set(PAGES)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_whole_and_fits(name: str) -> None:
    """Our promise: each argument is explained, and nothing is wider than a terminal."""
    parser = COMMANDS[name]
    told = parser.format_help()
    assert parser.description and "examples:" in told and "exit status:" in told
    unexplained = [a.dest for a in parser._actions if not a.help]
    assert unexplained == []
    examples = {line.strip() for line in told.splitlines() if line.strip().startswith("dataloader-expert ")}
    assert [line for line in told.splitlines() if len(line) > 100 and line.strip() not in examples] == []


@pytest.mark.parametrize("line", [pytest.param(line, id=line) for page in PAGES.values() for _, line in page.examples])
def test_an_example_can_be_typed(line: str) -> None:
    """Our promise: an example names flags and values that there are."""
    words = shlex.split(line.split(" > ")[0])
    assert PARSER.parse_args(words).command == words[0]


def test_the_overview_lists_every_command_with_one_line() -> None:
    """Our promise: ``dataloader-expert --help`` is where to begin."""
    told = PARSER.format_help()
    assert all(re.search(rf"^    {name}\b", told, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_knows_commands_flags_and_values(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our promise: made from the parser; the shell itself can read it, where it is here."""
    assert completion(shell, parser_of()) == 0
    script = capsys.readouterr().out
    assert all(word in script for word in (*COMMANDS, "fail-on", "claude-desktop", "concise"))
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(script)
        done = subprocess.run([program, "-n", tmp_path / "script"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_bash_completes_what_was_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Our promise: the script does in bash what it says."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.fail("bash is not here: nothing was tested")
    completion("bash", parser_of())
    (tmp_path / "script").write_text(capsys.readouterr().out)
    asked = (
        "source ./script; COMP_WORDS=(dataloader-expert install c); COMP_CWORD=2; "
        "f=$(complete -p dataloader-expert | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $f; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run([bash, "-c", asked], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["claude-code", "cursor", "claude-desktop"], done.stderr
