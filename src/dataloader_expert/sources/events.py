"""Texts beside recordings that say when something is heard: ``0.52<tab>1.30<tab>dog`` in each line, as Audacity exports its labels."""

from __future__ import annotations

import re
from dataclasses import replace

from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.pairing import Pairing

TEXT, EVENTS = "text", "events"
"""What a text beside a recording is called: what is said in it, and what is heard when."""
LOOKED_AT, HEAD = 16, 4096
_SPAN = re.compile(r"(?P<begin>\d+(?:\.\d+)?)[\t ,;]+(?P<end>\d+(?:\.\d+)?)(?:[\t ,;]+(?P<name>\S.*))?")
_FREQUENCIES = re.compile(r"\\\t")
"""How Audacity's second line of a label begins, with the frequencies that it spans."""


def with_events(pairing: Pairing, listing: Listing) -> Pairing:
    """The pairing with ``events`` for the texts of recordings where each line of some is a span of time, and the names of what is heard
    recur: a sentence of its own is what is said then."""
    texts = [found[TEXT].path for found in pairing.partners.values() if TEXT in found]
    some = [names_of(listing.head(path, HEAD)) for path in texts[:: max(1, len(texts) // LOOKED_AT)][:LOOKED_AT]]
    names = [name for of in some if of is not None for name in of]
    if not names or None in some or 2 * len({*names}) > len(names):
        return pairing
    partners = {
        path: {EVENTS if name == TEXT else name: entry for name, entry in found.items()}
        for path, found in pairing.partners.items()
    }
    return replace(pairing, partners=partners)


def names_of(head: bytes) -> list[str] | None:
    """What is heard in each span of time that the whole lines of a text name; None where one is no such span."""
    lines = head.decode("utf-8-sig", "replace").splitlines()
    lines = lines[:-1] if len(head) >= HEAD else lines
    found = [_SPAN.fullmatch(line.strip()) for line in lines if line.strip() and not _FREQUENCIES.match(line)]
    if not all(m is not None and float(m["begin"]) <= float(m["end"]) for m in found):
        return None
    return [m["name"] or "" for m in found if m is not None]
