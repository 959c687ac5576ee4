"""``--html FILE``: the page is there whole or not at all, and what prevents it is said before anything is measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.page.file import keep
from dataloader_expert.server.command import main
from dataloader_expert.tools.base import all_tools
from tests.page.reading import read

pytestmark = pytest.mark.journey


@pytest.mark.parametrize("command", [tool.command for tool in all_tools().values()])
def test_every_command_writes_its_page(
    place: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The contract: --html FILE on every command; the report is printed all the same."""
    target = tmp_path / "report.html"
    target.write_text("what was there", encoding="utf-8")
    main([command, str(place / "table.parquet"), "--budget-s", "8", "--html", str(target)])
    assert read(target.read_text(encoding="utf-8")).all("h1")[0].whole() == "table.parquet"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert capsys.readouterr().out.startswith("## ")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("pipe", "is not a regular file"),
        ("nowhere/report.html", "its folder does not exist"),
        (".", "is a folder"),
        ("table.parquet/r.html", "does not exist"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_at_once(
    place: Path, capsys: pytest.CaptureFixture[str], target: str, why: str
) -> None:
    """Our promise: no half a minute is spent on a page that cannot be kept."""
    if not (place / "pipe").exists():
        os.mkfifo(place / "pipe")
    assert main(["check", str(place / "table.parquet"), "--html", str(place / target)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("invalid-argument: --html ")
    assert why in told.err


def test_what_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: a full disk leaves what was there, and nothing beside it."""
    target = tmp_path / "report.html"
    target.write_text("what was there", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(RequestError, match=r"invalid-argument: --html .* cannot be written: No space left"):
            keep("<!doctype html>", target)
    assert target.read_text(encoding="utf-8") == "what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
