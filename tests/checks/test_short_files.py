"""Files that end after a fraction of the rows that the others have, and those that are as long as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dataloader_expert.checks.files.short_files import short_files
from tests.checks.looking import Data
from tests.making.scanning import scan

DAYS = 40


def parts(*rows: int) -> Data:
    """A table in files of so many rows, and as many once more in the reverse order."""
    splits = [["train", "test"][k % 2] for k, n in enumerate((*rows, *rows[::-1])) for _ in range(n)]
    return Data({"level": [i * 37 % 211 / 7 for i in range(len(splits))]}, splits=splits)


SILENT = {"parts that are alike": parts(*[24] * 16), "parts of their own": parts(*range(16, 32))}
SPEAKS = {"two parts that end early": (parts(*[24] * 9, 5, *[24] * 6), "truncated", "warning")}


def written(folder: Path, rows: list[int]) -> list[str]:
    """Files of so many rows; what is said of those that seem to be cut off."""
    for k, n in enumerate(rows):
        lines = ["minute,level", *(f"{15 * i},{(i * 37 + k * 11) % 211 / 7:.3f}" for i in range(n))]
        (folder / f"day{k // 2:02}_{'ab'[k % 2]}.csv").write_text("\n".join(lines) + "\n")
    return [f.message for f in scan(folder, folder).findings if f.code == "truncated"]


def test_files_that_were_cut_off_are_told(tmp_path: Path) -> None:
    """Seen: 16 of 135 trips had 2 to 6 rows where all others had 96, and nothing was said."""
    said = written(tmp_path, [5 if k in (7, 20, 31) else 24 for k in range(DAYS)])
    assert said == ["3 of 40 files seem to be cut off, such as day03_b.csv: they have 5 rows each, while 37 have 24"]


@pytest.mark.parametrize(
    "rows",
    [
        [24] * DAYS,
        [20 + k % 9 for k in range(DAYS)],
        [min(24, 3 + k * 7 % 90) for k in range(DAYS)],
        [24] * (DAYS - 1) + [4],
    ],
    ids=["all alike", "lengths of their own", "cut at a length", "the last is shorter"],
)
def test_series_as_long_as_they_are(rows: list[int], tmp_path: Path) -> None:
    assert written(tmp_path, rows) == []


def test_the_last_part_of_each_writer_is_shorter() -> None:
    """Our promise: workers that write parts of a table end wherever their rows end."""
    parts = Counter({f"w{w}-{k:05}.csv": 100 if k < 9 else 7 * w + 3 for w in range(4) for k in range(10)})
    assert short_files(parts, 100) == []


def test_a_recording_begins_and_ends_within_a_file() -> None:
    """Our promise: the first and the last day of a sensor are no cut files, also where their names begin with other months."""
    days = [*(f"2024-01-{d}.csv" for d in range(15, 32)), *(f"2024-02-{d:02}.csv" for d in range(1, 14))]
    rows = Counter(dict.fromkeys(days, 1440) | {days[0]: 600, days[-1]: 540})
    assert short_files(rows, 1440) == []
