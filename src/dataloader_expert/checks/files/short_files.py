"""Tables of a file each, such as trips or days, nearly all of which have as many rows: a few that end after a fraction of them.

Series that are as long as they are have lengths of their own, and those that are cut at a length have all shorter ones as well; the last part
of a table that was written in parts is shorter by nature.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

SHORT_FILES = Quantity("short_files", "files", "files with a fraction of the rows that nearly all others have")
FILES, ROWS, MOST = 20, 10, 100_000
"""The fewest files, rows of the usual ones, and the most files that are counted."""
USUAL, FEWEST, FRACTION, BETWEEN = 0.75, 2, 0.5, 0.25
"""The least share of files that have the usual number of rows; the fewest short ones, the largest part of the usual rows that these have, and
how many files, by their number, may have more rows than they and fewer than usual."""
_NUMBER = re.compile(r"\d+")


class ShortFiles(Check):
    ids = ("truncated",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.rows: Counter[str] = Counter()
        self.first: dict[str, int] = {}

    def applies(self) -> bool:
        return not self.context.failed

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if block.unit.members or not block.unit.file or len(self.rows) > MOST:
            return  # a sample each
        file, begin = block.unit.file, block.index(0) if block.samples else 0
        self.rows[file] += block.samples
        self.first[file] = min(begin, self.first.get(file, begin))

    def merge(self, other: Check) -> None:
        assert isinstance(other, ShortFiles)
        self.seen += other.seen
        self.rows += other.rows
        for file, begin in other.first.items():
            self.first[file] = min(begin, self.first.get(file, begin))

    def facts(self) -> Iterable[Fact]:
        if self.seen != self.context.samples or not FILES <= len(self.rows) <= MOST:
            return  # of a part of the rows nothing is known of a file
        [(usual, n)] = Counter(self.rows.values()).most_common(1)
        if usual < ROWS or n < USUAL * len(self.rows):
            return
        short = short_files(self.rows, usual)
        between = sum(FRACTION * usual < rows < usual for rows in self.rows.values())
        if len(short) >= FEWEST and between <= BETWEEN * len(short):
            sizes = [self.rows[file] for file in short]
            value: dict[str, Json] = {"count": len(short), "of": len(self.rows), "usual": usual, "usually": n}
            value |= {"least": min(sizes), "most": max(sizes)}
            value |= {"where": [{"file": file, "sample": self.first[file]} for file in short[:MAX_PLACES]]}
            yield Fact(SHORT_FILES, value, self.evidence())

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHORT_FILES):
            v = fact.value
            rows = f"{v['least']:,}" if v["least"] == v["most"] else f"{v['least']:,} to {v['most']:,}"
            first = escaped(v["where"][0]["file"])
            text = f"{v['count']:,} of {number(v['of'], 'file')} {verb(v['count'], 'seem')} to be cut off, "
            text += f"such as {first}: they have {rows} rows each, while {v['usually']:,} have {v['usual']:,}"
            fix = "write them again from their source, or drop them: a series that ends early is padded, or shortens its batch"
            yield finding("truncated", "warning", text, fact, fix, v["where"], v["count"])


def short_files(rows: Counter[str], usual: int) -> list[str]:
    """The files with a fraction of the usual rows; without the last ones of those that are numbered alike, if most of these are so short."""
    last: dict[str, tuple[int, str]] = {}
    for file in rows:
        numbers = [*_NUMBER.finditer(file)]
        if numbers:
            found = numbers[-1]
            stem = file[: found.start()] + file[found.end() :]
            last[stem] = max(last.get(stem, (-1, "")), (int(found[0]), file))
    series: dict[str, list[str]] = {}
    for file in rows:
        series.setdefault(_NUMBER.sub("", file), []).append(file)
    # a recording begins and ends within a file
    ends = {end(of, key=_numbers) for of in series.values() if len(of) > 2 for end in (min, max)}
    short = {file for file, n in rows.items() if 0 < n <= FRACTION * usual} - ends
    rest = {file for _, file in last.values()}
    return sorted(short - rest if 2 * len(short & rest) > len(rest) else short)


def _numbers(file: str) -> list[int]:
    return [*map(int, _NUMBER.findall(file))]


CHECK = ShortFiles
