"""Text files of records: byte ranges that end at record boundaries, found without parsing values."""

from __future__ import annotations

import itertools
import re
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.magic import REMARKS

RANGE_BYTES = 4 << 20
MAX_LINE = 64 << 20
MAX_DEPTH = 200
END_BYTES = 1 << 16
"""So much of the end of a table is looked at for rows without values, and more where it holds nothing else."""
CLOSING_BYTES = 256
"""The most of a line that says that a table ends."""
MOST_ODD = 1000
"""The most odd rows of a range that are located: in a file with another encoding, every row may be odd."""
BLANKS = " \t\n\r\x0b\x0c"
"""What a blank line consists of: what ``bytes.strip`` takes away."""
OPENING, CLOSING = list(b"[{"), list(b"]}")
_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
Range = tuple[int, int, int]
"""First byte, end, number of records."""


class BlankEnd(Unreadable):
    """Rows below a table that hold nothing."""

    what = "rows"

    def __init__(self, message: str, **where: object) -> None:
        super().__init__("trailing-bytes", message, **where)


def record_ranges(listing: Listing, path: str, quoted: bool, skip: int = 0) -> list[Range]:
    """Ranges of about 4 MiB that end at record boundaries, with the number of non-blank records in each.

    Args:
        quoted: a newline inside double quotes does not end a record.
        skip: bytes to skip at the start (a byte-order mark, a header).

    Raises:
        Unreadable: ``bomb`` for a record over 64 MiB.
    """
    import numpy as np

    spaces = np.zeros(256, bool)
    spaces[list(BLANKS.encode())] = True
    ranges: list[Range] = []
    with listing.open(path) as file:
        size = file.size
        start, at, records, odd, last = skip, skip, 0, False, skip - 1
        while at < size:
            chunk = file.upto(at, RANGE_BYTES)
            if not chunk:
                break
            bytes_ = np.frombuffer(chunk, np.uint8)
            ends = np.flatnonzero(bytes_ == 10)
            if quoted:
                quotes = np.flatnonzero(bytes_ == 34)
                before = np.searchsorted(quotes, ends)
                ends = ends[(before + odd) % 2 == 0]
                odd = bool((len(quotes) + odd) % 2)
            if len(ends):
                ends = ends + at
                gaps = np.diff(ends, prepend=last)
                blank = gaps == 1
                first = np.concatenate([[last + 1], ends[:-1] + 1]) - at  # of each line
                before = np.where(first < 0, b" "[0], bytes_[np.clip(first, 0, None)])
                for i in np.flatnonzero(~blank & spaces[before] & ((gaps == 2) | (not quoted))):
                    lo, hi = int(first[i]), int(ends[i]) - at
                    line = chunk[lo:hi] if lo >= 0 else file.upto(at + lo, hi - lo)
                    blank[i] = not line.strip(b"\r" if quoted else None)  # an empty one with CRLF, or spaces
                records += int((~blank).sum())
                last = int(ends[-1])
                ranges.append((start, last + 1, records))
                start, records = last + 1, 0
            elif at + len(chunk) - start > MAX_LINE:
                raise Unreadable("bomb", f"a record of over {MAX_LINE >> 20} MiB", file=path)
            at += len(chunk)
        if start < size:
            tail = file.upto(start, size - start).strip()
            if tail:
                ranges.append((start, size, 1))
        return [r for r in ranges if r[2]]


def without_closing_remark(listing: Listing, path: str, ranges: list[Range], mark: str) -> list[Range]:
    """The ranges without the last record where it is a remark without the delimiter, such as ``!series_matrix_table_end``."""
    if not ranges:
        return ranges
    lo, hi, records = ranges[-1]
    start = max(lo, hi - CLOSING_BYTES)
    end = listing.span(path, start, hi).rstrip()
    at = end.rfind(b"\n") + 1
    last = end[at:]
    if records < 2 or not last.startswith(tuple(remark.encode() for remark in REMARKS)) or mark.encode() in last:
        return ranges
    return [*ranges[:-1], (lo, start + at, records - 1)]


def without_blank_end(listing: Listing, path: str, ranges: list[Range], mark: str) -> tuple[list[Range], int]:
    """The ranges without the last records where these hold nothing but delimiters, as spreadsheets write the rows below a table; and how
    many such records there are."""
    kept, dropped = [*ranges], 0
    while kept:
        lo, hi, records = kept.pop()
        start = max(lo, hi - END_BYTES)
        text = listing.span(path, start, hi)
        whole = 0 if start == lo else text.find(b"\n") + 1  # before it lies the end of a line
        lines = text[whole:].splitlines(keepends=True) if start == lo or whole else []
        blank = 0
        while lines and not lines[-1].strip(mark.encode() + b" \t\r\n"):
            line = lines.pop()
            hi -= len(line)
            blank += bool(line.strip())
        dropped += blank
        if records > blank:
            kept.append((lo, hi, records - blank))
            if lines or not blank:
                break
    return kept, dropped


def byte_order_mark(listing: Listing, path: str) -> int:
    """The length of the mark before the first record; 0 if there is none."""
    return 3 if listing.head(path, 3) == b"\xef\xbb\xbf" else 0


def too_deep(data: bytes) -> bool:
    """Whether lists and objects in JSON are nested deeper than ``MAX_DEPTH``; brackets inside texts do not count."""
    import numpy as np

    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    marks = np.frombuffer(_TEXTS.sub(b"", data), np.uint8)
    steps = np.isin(marks, OPENING).astype(np.int8) - np.isin(marks, CLOSING).astype(np.int8)
    return bool(len(steps)) and int(np.cumsum(steps[steps != 0], dtype=np.int64).max(initial=0)) > MAX_DEPTH


def line_of(listing: Listing, path: str, offset: int) -> int:
    """The number (from 1) of the line that contains byte ``offset``."""
    return listing.span(path, 0, offset).count(b"\n") + 1


def utf8(data: bytes, file: str, problems: list[Any], first: int | None = None) -> bytes:
    """The bytes if they are UTF-8; otherwise lines that are not are read as Latin-1, each with a problem and its location.

    ``first``: the index of the sample on the first line, where each line is one.
    """
    try:
        data.decode("utf-8")
        return data
    except UnicodeDecodeError:
        lines = data.split(b"\n")
    at = odd = 0
    for n, line in enumerate(lines):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as e:
            odd += 1
            if odd <= MOST_ODD:
                text = f"not UTF-8 at byte {at + e.start}: {line[e.start : e.start + 8]!r}; the line is read as Latin-1"
                where = {} if first is None else {"sample": first + n}
                problems.append(Unreadable("encoding-error", text, file=file, **where))
            lines[n] = line.decode("latin-1").encode("utf-8")
        at += len(line) + 1
    return b"\n".join(lines)


def without_nul(data: bytes, file: str, problems: list[Any], first: int) -> bytes:
    """The bytes without NUL, which no table reader accepts; lines that contain NUL are problems, as in :func:`utf8`."""
    if b"\0" not in data:
        return data
    odd = ((n, line.count(0)) for n, line in enumerate(data.split(b"\n")) if b"\0" in line)
    for n, count in itertools.islice(odd, MOST_ODD):
        text = f"{count} NUL byte{'s' * (count != 1)} in the row: left out"
        problems.append(Unreadable("encoding-error", text, file=file, sample=first + n))
    return data.replace(b"\0", b"")
