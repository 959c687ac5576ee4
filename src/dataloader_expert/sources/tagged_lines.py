"""Lines of tagged tokens, with blank lines between sentences (CoNLL)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.lines import BLANKS

HEAD, EARLY = 1 << 16, 16
"""The first bytes of a file, which tell how its lines are written."""
_NO_WORD = re.compile(r"\d+-\d+|\d+\.\d+")
"""The ids of CoNLL-U's lines that are no words: a range is written as one token, and its words follow; an empty node is not written."""
CONLLU = ("id", "tokens", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FEW_COLUMNS, MANY_COLUMNS, LONGEST = 2, 12, 200
"""Columns of tagged tokens, and the most tokens that sentences have on average."""
ALIKE = 0.95
"""The share of lines that have as many columns as the others from which these are tagged tokens."""
FEW_TAGS = 0.5
"""There are fewer tags than this share of the tokens."""


def tagged_columns(listing: Listing, entries: Sequence[Entry]) -> int | None:
    """How many columns the lines have if they are tagged tokens with blank lines between sentences; else None. A file may have lost its
    blank lines, if its tags are those of the others."""
    width, known, others = None, set[str](), set[str]()
    early: list[str] = []
    """Texts before the first that is surely tagged; few, as folders of documents are large."""
    for entry in entries:
        head = listing.head(entry.path, HEAD).decode("utf-8", "replace")
        found = _columns_in(head)
        if found is None and re.search(r"\n[ \t]*\n", head.strip()):
            return None
        if found is None and width is None:
            early.append(head)
            if len(early) > EARLY:
                return None
            continue
        if width is not None and found not in (None, width):
            return None
        width = width or found
        tags = _tags_in(head, width)
        if not tags and found is None:
            return None
        (others if found is None else known).update(tags)
    for head in early:
        tags = _tags_in(head, width) if width is not None else set()
        if not tags:
            return None
        others |= tags
    return None if others - known else width


def _tags_in(head: str, width: int | None) -> set[str]:
    """The tags of lines that all have so many columns; none of others."""
    tabbed = is_tabbed(head)
    rows = [_cells(line) for line in head.replace("\r\n", "\n").split("\n")[:-1] if line.strip(BLANKS)]
    rows = [row for row in rows if row[0] != "-DOCSTART-" and not _is_comment("\t".join(row), tabbed)]
    return {row[-1] for row in rows} if rows and all(len(row) == width for row in rows) else set()


def _columns_in(head: str) -> int | None:
    lines = head.replace("\r\n", "\n").split("\n")[:-1]
    told = [line for line in lines if line.strip(BLANKS) and not line.startswith("-DOCSTART-")]
    tabbed = is_tabbed(head)
    rows = [_cells(line) for line in told if not _is_comment(line, tabbed)]
    if not rows:
        return None
    widths = [len(row) for row in rows]
    n = max(set(widths), key=widths.count)
    blocks = len(re.split(r"\n[ \t]*\n", "\n".join(lines).strip(BLANKS)))
    tags = {row[-1] for row in rows}
    if not FEW_COLUMNS <= n <= MANY_COLUMNS or blocks < 2 or len(rows) > LONGEST * blocks or len(rows) < 2 * blocks:
        return None
    if sum(" " in row[0] for row in rows) > (1 - ALIKE) * len(rows):
        return None  # texts, and no tokens
    return n if widths.count(n) >= ALIKE * len(rows) and len(tags) <= max(2, FEW_TAGS * len(rows)) else None


def is_tabbed(head: str) -> bool:
    lines = [line for line in head.split("\n") if line.strip(BLANKS)]
    return 2 * sum("\t" in line for line in lines) > len(lines)


def _is_comment(line: str, tabbed: bool) -> bool:
    if not line.startswith("#"):
        return False
    cells = _cells(line)
    said = tabbed and len(cells) == 2 and cells[0] == "#" and " " in cells[1]  # no tag has a blank
    return said or len(cells) == 1 or (tabbed and "\t" not in line)


def sentences(text: str, tabbed: bool) -> list[list[list[str]]]:
    """The cells of each line of each sentence, without comments and marks of documents. ``tabbed``: tabs separate columns."""
    found: list[list[list[str]]] = [[]]
    for line in text.split("\n"):
        if not line.strip(BLANKS):
            if found[-1]:
                found.append([])
        elif not line.startswith("-DOCSTART-") and not _is_comment(line, tabbed):
            cells = _cells(line)
            if len(cells) != len(CONLLU) or not _NO_WORD.fullmatch(cells[0]):
                found[-1].append(cells)
    return found if found[-1] else found[:-1]


def _cells(line: str) -> list[str]:
    line = line.rstrip("\r")
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def columns_called(columns: int | None, numbered: bool) -> tuple[str, ...]:
    if columns is None:
        return ("text",)
    if columns == len(CONLLU):
        return CONLLU
    first = ("id", "tokens") if numbered and columns > FEW_COLUMNS else ("tokens",)
    return (*first, *(f"column_{i + 1}" for i in range(len(first), columns - 1)), "tags")
