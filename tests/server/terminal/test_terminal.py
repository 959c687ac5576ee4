"""What people see at a terminal: progress, colours, tables, plots; and that a pipe gets none of it."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.server.terminal.colours import ESCAPES, Colours, width
from dataloader_expert.server.terminal.markdown import rendered
from dataloader_expert.server.terminal.plots import bars, plots
from dataloader_expert.server.terminal.progress import Bar
from tests.making.tiny import TINY

OFF, ON = Colours(False), Colours(True)
REPORT = """## Data of x\\_y

Some **bold** words and `code_with` more, then a line that is longer than eighty columns so that it has to be broken.

| Field | Count | A heading that is far longer than what stands below |
|---|---|---|
| a\\|b | 1,797 | 2.0 % |
| pixels | 12 | 98.0 % |

- [x] No corrupted files: pass. all read
- [ ] Shapes consistent: fail. two shapes
- [ ] Disjoint: unknown. one split

- **error** `nan`: 3 values. Fix: drop them.

```python
x = "**not bold**"
```
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_report_is_laid_out_for_the_width() -> None:
    """Our promise: no marks of Markdown, aligned columns, numbers to the right, nothing beyond the width."""
    told = rendered(REPORT, OFF, 60)
    assert "**" not in told.replace('"**not bold**"', "") and "##" not in told and "|---" not in told
    assert all(width(line) <= 60 for line in told.splitlines())
    assert "Data of x_y" in told and "a|b" in told and '    x = "**not bold**"' in told
    assert "✔ No corrupted" in told and "✘ Shapes" in told and "? Disjoint" in told
    rows = [line for line in told.splitlines() if re.match(r"(a\|b|pixels) ", line)]
    assert rows[0].index("1,797") + 5 == rows[1].index("12") + 2


def test_colours_change_nothing_but_colours() -> None:
    """Our promise: what is coloured reads the same without colours."""
    told = rendered(REPORT, ON, 70)
    assert "\x1b[31;1merror\x1b[0m" in told
    assert ESCAPES.sub("", told) == rendered(REPORT, OFF, 70)


@given(st.text(alphabet=st.sampled_from("ab |*`\\#-[]x\n1.,%漢"), max_size=120), st.integers(40, 120))
def test_any_markdown_is_laid_out(text: str, columns: int) -> None:
    """Our promise: names from data cannot break the layout; words of one line stay in order."""
    told = rendered(text, ON, columns)
    assert re.sub(r"[^ab]", "", ESCAPES.sub("", told)) == re.sub(r"[^ab]", "", text) or "|" in text or "`" in text


@pytest.mark.parametrize(
    ("environ", "tty", "on"),
    [
        pytest.param({"TERM": "xterm"}, True, True, id="a terminal"),
        pytest.param({"TERM": "xterm"}, False, False, id="a pipe"),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, True, False, id="NO_COLOR"),
        pytest.param({"TERM": "xterm", "NO_COLOR": ""}, True, True, id="NO_COLOR empty is not set"),
        pytest.param({"TERM": "dumb"}, True, False, id="a terminal without colours"),
        pytest.param({"FORCE_COLOR": "1"}, False, True, id="FORCE_COLOR"),
        pytest.param({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False, id="NO_COLOR wins"),
    ],
)
def test_colours_are_for_terminals(
    environ: dict[str, str], tty: bool, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Provenance: no-color.org."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert Colours.of(Terminal() if tty else io.StringIO()).on is on


def test_bars_are_in_proportion() -> None:
    """Our promise: a value half as large has a bar half as long, to an eighth of a column."""
    one, half, none = bars([("a", 2.0, "2"), ("long name", 1.0, "1"), ("c", 0.0, "0")], OFF, 60)
    assert one.count("█") == 2 * half.count("█") > 10
    assert none.endswith("▏ 0") and len({line.index("█") for line in (one, half)}) == 1


def test_a_result_is_plotted_where_it_has_figures() -> None:
    """Our promise: classes, stages and throughput with its interval; nothing of nothing."""
    figure = {"value": 100.0, "low": 50.0, "high": 200.0, "unit": "samples/s"}
    result = {
        "characterization": {"classes": {"counts": {str(i): i + 1 for i in range(30)}}},
        "io": {
            "stages": [{"name": "read", "share": {"value": 0.25}}, {"name": "decode", "share": {"value": 0.75}}],
            "trials": [
                {"num_workers": 0, "batch_size": 8, "throughput": figure},
                {
                    "num_workers": 2,
                    "batch_size": 8,
                    "throughput": {**figure, "value": 180.0, "low": None, "high": None},
                },
            ],
        },
    }
    told = plots(result, OFF, 80)
    assert "and 10 smaller classes" in told and "75 %" in told
    line = next(line for line in told.splitlines() if "num_workers=0" in line)
    assert line.index("├") < line.index("●") < line.index("┤")
    assert all(len(line) <= 80 for line in told.splitlines())
    assert plots({"classes": None, "stages": [], "trials": []}, OFF, 80) == ""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_tells_rate_and_time_left() -> None:
    """Our promise: of what is counted, how many a second and how long it may still take."""
    clock, stream = Clock(), Terminal()
    bar = Bar(None, stream, clock, ticking=False)
    bar.say({"event": "progress", "message": "read 100 of 1,100 units", "share": 0.1})
    clock.now += 4
    bar.say({"event": "progress", "message": "read 500 of 1,100 units", "share": 0.45})
    line = ESCAPES.sub("", bar.line())
    assert line.endswith("4 s  read 500 of 1,100 units, 100 units/s, 6 s left")
    bar.say({"event": "done"})
    bar.draw("late")
    assert stream.getvalue().endswith("\r\x1b[2K") and "late" not in stream.getvalue()


def test_progress_with_a_budget_never_promises_more_than_it() -> None:
    """Our promise: the time left is at most what is left of the budget; what is not counted has no rate."""
    clock, stream = Clock(), Terminal()
    bar = Bar(10, stream, clock, ticking=False)
    bar.draw("read 10 of 100000 samples")
    clock.now += 2
    bar.draw("read 30 of 100000 samples")
    assert ESCAPES.sub("", bar.line()).endswith("8 s left")
    bar.draw("trying num_workers=2")
    assert "left" not in bar.line() and "2 of 10 s" in bar.line()


def test_progress_is_drawn_as_time_passes() -> None:
    """Our promise: a measurement that says nothing for a while does not look like one that hangs."""
    stream = Terminal()
    bar = Bar(60, stream)
    bar.draw("importing torch")
    from tests.driving import until

    assert until(lambda: stream.getvalue().count("importing torch") > 1, 10)
    bar.clear()


def at_a_terminal(*words: str, **environ: str) -> str:
    """What the command shows with stdout and stderr at a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dataloader_expert.server.command", *words]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environ}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, close_fds=True)
    os.close(theirs)
    told = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # Linux says so where others say end of file
            break
        if not piece:
            break
        told += piece
    os.close(ours)
    assert process.wait(60) == 0
    return told.decode()


@pytest.mark.journey
def test_a_terminal_gets_colours_and_progress_and_a_pipe_gets_markdown(tmp_path: Path) -> None:
    """Our promise: the same command, for eyes and for programs."""
    TINY["image-folder"](tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        os.environ.pop(name, None)
    words = ("characterize", str(tmp_path), "--budget-s", "12")
    told = at_a_terminal(*words)
    assert "\x1b[1;36m" in told and "━" in told and "Samples by class" in told and "\n## " not in told
    plain = at_a_terminal(*words, NO_COLOR="1")
    assert "\x1b[1" not in plain and "\x1b[3" not in plain and "Samples by class" in plain
    command = [sys.executable, "-m", "dataloader_expert.server.command", *words]
    piped = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert piped.stdout.startswith("## ") and "\x1b" not in piped.stdout and piped.stderr == ""
