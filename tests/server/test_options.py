"""Advice at a terminal names options, not the arguments of tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.server.command import main
from dataloader_expert.server.terminal.options import as_options

NAMES = ("source", "budget_s", "label", "format", "group", "what_if", "model", "model_args", "num_workers")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("the budget ran out: raise budget_s", "the budget ran out: raise --budget-s"),
        ("(repeat with a larger budget_s)", "(repeat with a larger --budget-s)"),
        ("pass label= if it is another", "pass --label if it is another"),
        ("pass format=csv", "pass --format csv"),
        ("pass what_if", "pass --what-if"),
        ("pass model_args=, or give group=", "pass --model-args, or give --group"),
        ("pass model, or budget_s, in seconds", "pass --model, or --budget-s, in seconds"),
        (
            "90 samples/s with num_workers=0, 20 with num_workers=2",
            "90 samples/s with num_workers=0, 20 with num_workers=2",
        ),
        ("raise num_workers=2 and num_workers", "raise num_workers=2 and num_workers"),
        ("name the label with label=", "name the label with --label"),
        ("a larger model, or a larger group", "a larger model, or a larger group"),
        ("give source, or input", "give source, or input"),
        ("the label is a group; set num_workers=4", "the label is a group; set num_workers=4"),
        ("raise budget_seconds", "raise budget_seconds"),
    ],
)
def test_arguments_become_options(text: str, told: str) -> None:
    assert as_options(text, NAMES) == told


@pytest.mark.journey
def test_a_report_and_an_error_name_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "odd.unknown").write_bytes(b"\0\1\2")
    assert main(["check", str(tmp_path)]) == 2
    assert "format=" not in capsys.readouterr().err
    (tmp_path / "odd.unknown").unlink()
    (tmp_path / "rows.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}.5\n" for i in range(40)))
    main(["diagnose", str(tmp_path), "--budget-s", "3"])
    told = capsys.readouterr().out
    assert "raise budget_s" not in told and "pass --what-if" in told
