"""The shares of functions: all of a sample's time is on some stack."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from dataloader_expert.probes.profile.hotspots import Weighed, asleep, inclusive, told, weighed
from dataloader_expert.probes.profile.sampling_profiler import Tick
from dataloader_expert.probes.profile.stage_classifier import Namer

USERS = (("/data/mine.py", 3, "__getitem__"),)
OTHERS = (("/data/mine.py", 9, "decode"),)


@pytest.mark.parametrize(
    ("ticks", "shares"),
    [
        ([Tick(USERS, 8, 2)], [1.0]),
        ([Tick(USERS, 8, 0)], [1.0]),  # waits were measured, but no stack was seen waiting
        ([Tick(USERS, 6, 0), Tick(OTHERS, 2, 0)], [0.75, 0.25]),
        ([Tick(USERS, 8, 0), Tick(OTHERS, 0, 4)], [0.75, 0.25]),
    ],
)
def test_shares_cover_what_was_spent_in_fetching(ticks: list[Tick], shares: list[float]) -> None:
    seconds = {(False, True): 0.75, (False, False): 0.25, (True, True): 0.0, (True, False): 0.0}
    found = weighed(Namer(), ticks, seconds, 1.0)
    assert [share for _, share in found] == pytest.approx(shares)


def test_waits_that_no_stack_shows_are_not_told_of_what_computes() -> None:
    """Seen: one sample in twenty waited for the store, and 97 % of the time was said to be spent waiting in a transform."""
    seconds = {(False, True): 0.05, (False, False): 0.95, (True, True): 0.0, (True, False): 0.0}
    [(_, share)] = weighed(Namer(), [Tick(USERS, 8, 0)], seconds, 1.0)
    assert share == pytest.approx(0.05)


def test_pauses_are_told_from_what_a_store_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: time in time.sleep is known as such, with its line; what an error led to is told apart."""
    file = tmp_path / "pausing.py"
    lines = ["import time", "def paced(x):", "    time.sleep(0.1)", "def again(x):", "    try: return x[0]"]
    file.write_text("\n".join([*lines, "    except OSError: time.sleep(0.1)", "def reads(x):", "    return x.read()"]))
    module = ModuleType("pausing")
    module.__file__ = str(file)
    module.__dict__["time"] = time
    monkeypatch.setitem(sys.modules, "pausing", module)
    stacks: Weighed = [
        (((str(file), n, name),), share) for n, name, share in ((3, "paced", 0.4), (6, "again", 0.3), (8, "reads", 0.3))
    ]
    assert asleep(stacks, ()) == {"share": 0.4, "at": {"file": str(file), "line": 3}}


def test_the_lines_of_one_statement_count_together(tmp_path: Path) -> None:
    """Seen: half of a query's time fell on each of its two lines, so that neither was a costly one."""
    file = tmp_path / "asking.py"
    file.write_text("def rows(db):\n    found = db.execute(\n        'select 1').fetchone()\n    return found\n")
    stacks: Weighed = [(((str(file), n, "rows"),), share) for n, share in ((2, 0.4), (3, 0.45), (4, 0.15))]
    [(function, spent)] = inclusive(Namer(), stacks).items()
    assert (told(function, spent)["line"], told(function, spent)["line_share"]) == (3, pytest.approx(0.85))
