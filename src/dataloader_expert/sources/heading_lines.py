"""The heading that files of lines share, such as what the corpus is and under which licence: no sample of any of them."""

from __future__ import annotations

from collections.abc import Sequence

from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.lines import byte_order_mark
from dataloader_expert.sources.magic import REMARKS

HEAD = 1 << 16
"""The first bytes of a file, in which other shared lines are looked for."""


def past_heading(listing: Listing, entries: Sequence[Entry]) -> dict[str, int]:
    """Where the samples of each file begin, behind a first line that all have in common; the start of the text where there is none.

    That line is a sample that leaked where the files share another one too, or where there are two files and no mark says that it is
    a remark.
    """
    starts = {entry.path: byte_order_mark(listing, entry.path) for entry in entries}
    heads = [listing.head(entry.path, HEAD)[starts[entry.path] :].split(b"\n")[:-1] for entry in entries]
    first = heads[0][0].strip() if heads and heads[0] else b""
    if len(heads) < 2 or not first or any(not lines or lines[0].strip() != first for lines in heads):
        return starts
    below = [{line.strip() for line in lines[1:]} - {b""} for lines in heads]
    several = sum(map(len, below)) > len(set().union(*below))
    if several or any(first in lines for lines in below):
        return starts
    if len(heads) == 2 and not first.startswith(tuple(mark.encode() for mark in REMARKS)):
        return starts
    return {path: start + len(lines[0]) + 1 for (path, start), lines in zip(starts.items(), heads, strict=True)}
