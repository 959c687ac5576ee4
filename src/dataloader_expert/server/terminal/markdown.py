"""A report's Markdown formatted for a terminal: headings, aligned tables, ticks, wrapped to the width.

Piped output stays Markdown.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from dataloader_expert.server.terminal.colours import Colours, width

ROW = re.compile(r"^\s*\|(.*)\|\s*$")
RULE = re.compile(r"^[\s|:-]+$")
CELL_END = re.compile(r"(?<!\\)\|")
BOLD = re.compile(r"\*\*(.+?)\*\*")
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
BOX = re.compile(r"^- \[( |x|X)\] (.*)$")
BULLET = re.compile(r"^(\s*)([-*]|\d+\.) (.*)$")
NOTHING = ("—", "\u2013", "?")
WIDEST = 120
NARROWEST = 8
SEVERITY = {"error": ("red", "bold"), "warning": ("yellow", "bold"), "info": ("blue", "bold")}
VERDICT = {"pass": ("✔", "green"), "fail": ("✘", "red")}


def rendered(markdown: str, colours: Colours, columns: int) -> str:
    """The text for a terminal with this many columns."""
    columns = max(40, min(columns, WIDEST))
    told = "\n".join(_blocks(markdown.splitlines(), colours, columns))
    return re.sub(r"\n{3,}", "\n\n", told).strip("\n") + "\n"


def _blocks(lines: list[str], colours: Colours, columns: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next((i for i in range(at + 1, len(lines)) if lines[i].startswith("```")), len(lines))
            yield from (colours.paint(f"    {code}", "cyan") if code else "" for code in lines[at + 1 : end])
            at = end + 1
            continue
        if ROW.match(line):
            end = at
            while end < len(lines) and ROW.match(lines[end]):
                end += 1
            yield from table([_cells(row) for row in lines[at:end] if not RULE.match(row)], colours, columns)
            at = end
            continue
        yield _line(line, colours, columns)
        at += 1


def _line(line: str, colours: Colours, columns: int) -> str:
    if line.startswith("#"):
        level = len(line) - len(line.lstrip("#"))
        text = _plain(line[level:].strip())
        return "\n" + (colours.paint(text, "bold", "cyan") if level <= 2 else colours.paint(text, "bold"))
    box = BOX.match(line)
    if box is not None:
        return _box(box[1] != " ", box[2], colours, columns)
    bullet = BULLET.match(line)
    if bullet is not None:
        mark = "•" if bullet[2] in "-*" else bullet[2]
        head = f"{bullet[1]}{mark} "
        return _wrapped(bullet[3], head, " " * len(head), colours, columns)
    return _wrapped(line, "", "", colours, columns)


def _box(ticked: bool, text: str, colours: Colours, columns: int) -> str:
    verdict = "pass" if ticked else "fail" if re.search(r": fail\b", text) else ""
    mark, colour = VERDICT.get(verdict, ("?", "yellow"))
    made = _wrapped(text, "  ", "    ", colours, columns)
    return colours.paint(mark, colour, "bold") + " " + made.lstrip()


def _wrapped(text: str, first: str, then: str, colours: Colours, columns: int) -> str:
    """Wraps the text; emphasis marks take no room, so they are coloured after the lines are broken."""
    lines = textwrap.wrap(
        _unmarked(text),
        columns,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return _coloured("\n".join(lines), colours)


def _unmarked(text: str) -> str:
    """Emphasis as single private-use characters, so that lines are broken by their visible width."""
    text = CODE.sub(lambda m: f"\ue000{m[1]}\ue001", text)
    text = BOLD.sub(lambda m: f"\ue002{m[1]}\ue003", text)
    return ESCAPED.sub(r"\1", text)


def _coloured(text: str, colours: Colours) -> str:
    def bold(found: re.Match[str]) -> str:
        return colours.paint(found[1], *SEVERITY.get(found[1], ("bold",)))

    text = re.sub("\ue002(.+?)\ue003", bold, text, flags=re.DOTALL)
    text = re.sub("\ue000(.+?)\ue001", lambda m: colours.paint(m[1], "cyan"), text, flags=re.DOTALL)
    return re.sub("[\ue000-\ue003]", "", text)


def _plain(text: str) -> str:
    return re.sub("[\ue000-\ue003]", "", _unmarked(text))


def _cells(row: str) -> list[str]:
    found = ROW.match(row)
    return [_plain(cell.strip()) for cell in CELL_END.split(found[1] if found else row)]


def table(rows: list[list[str]], colours: Colours, columns: int) -> Iterator[str]:
    """Aligned columns, numbers right-aligned; cells that are too wide for the terminal are wrapped."""
    if not rows:
        return
    many = max(map(len, rows))
    rows = [row + [""] * (many - len(row)) for row in rows]
    room = columns - 2 * (many - 1)
    widths = [max(width(row[i]) for row in rows) for i in range(many)]
    for i in range(many):  # headings are broken before what stands below them
        below = max([*(width(row[i]) for row in rows[1:]), *map(width, rows[0][i].split()), 1])
        widths[i] = max(below, widths[i] - max(0, sum(widths) - room))
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    right = [all(_number(row[i]) for row in rows[1:]) and len(rows) > 1 for i in range(many)]
    for number, row in enumerate(rows):
        cells = [textwrap.wrap(cell, w, break_on_hyphens=False) or [""] for cell, w in zip(row, widths, strict=True)]
        for i in range(max(map(len, cells))):
            parts = [
                _padded(cell[i] if i < len(cell) else "", w, r) for cell, w, r in zip(cells, widths, right, strict=True)
            ]
            line = "  ".join(parts).rstrip()
            yield colours.paint(line, "bold") if number == 0 else line
        if number == 0:
            yield colours.paint("  ".join("─" * w for w in widths), "dim")


def _padded(text: str, to: int, right: bool) -> str:
    blank = " " * max(0, to - width(text))
    return blank + text if right else text + blank


def _number(text: str) -> bool:
    return not text or text in NOTHING or bool(re.match(r"^[-+]?[\d,.]+(?:e[-+]?\d+)?(?: ?%| \w{1,3})?$", text))
