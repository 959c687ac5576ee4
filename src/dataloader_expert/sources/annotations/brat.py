"""Files of brat beside documents: a line for each span of the text, ``T1<tab>Drug 21 30<tab>warfarin`` (Stenetorp et al., 2012)."""

from __future__ import annotations

import re

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, Names
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.magic import BRAT

MOST_BYTES = 1 << 24
_SPAN = re.compile(r"T\d+\t(\S+) (\d+(?: \d+;\d+)* \d+)\t.*")
"""Of one in several pieces, the first beginning and the last end."""


def join_brat(found: Annotations, listing: Listing, paths: list[str]) -> None:
    import numpy as np

    entries = [entry for entry in listing.entries if entry.kind == BRAT]
    files = Names(paths if entries else ())
    alone: list[str] = []
    for entry in entries:
        found.tables.append(entry.path)
        found.may_be_empty.add(entry.path)
        path = files.beside(entry.path)
        if path is None:
            alone.append(entry.path)
            continue
        try:
            lines = listing.read(entry.path, MOST_BYTES).decode("utf-8-sig").splitlines() if entry.size else []
        except ODD as e:
            found.problems.append(
                Unreadable("parse-error", f"is not a brat annotation file: {escaped(e, 80)}", file=entry.path)
            )
            continue
        told = [(line, _SPAN.fullmatch(line)) for line in lines if line.startswith("T")]
        odd = [line for line, span in told if span is None]
        if odd:
            more = f", and {len(odd) - 1} more" if len(odd) > 1 else ""
            text = f"a line is not a span with its class: {escaped(odd[0], 60)}{more}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
        spans = [(span[1], [int(number) for number in re.split("[ ;]", span[2])]) for _, span in told if span]
        ends = np.array([(of[0], of[-1]) for _, of in spans], np.int64).reshape(-1, 2)
        found.by_line[path] = entry.path
        found.add(path, {"spans": ends, "entities": [name for name, _ in spans]})
    if found.by_line:
        found.problems += [Unreadable("missing-pair", "has no document", file=path) for path in alone[:MOST_TOLD]]
