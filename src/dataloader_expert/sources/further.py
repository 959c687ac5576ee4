"""Further files that rows of a table name beside each sample, and which of these are targets: a depth map beside a photograph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.pairing import PARTNERS, Pairing, key_of
from dataloader_expert.sources.roles import words

LOOKED_AT = 4
MAPS = {"1", "L", "P", "I", "F", "I;16", "I;16B", "I;16L"}
"""Modes of images with one value for each pixel."""
TARGET = "target"
"""What a map is called that neither its column nor its path gives a name."""


def with_maps(
    pairing: Pairing, further: Mapping[str, Mapping[str, str]], listing: Listing, paths: Collection[str]
) -> tuple[Pairing, set[str]]:
    """The pairing with the maps of samples, and the columns that name one for most: of one value for each pixel of a sample in colour, as a
    view from another side would be in colour as well."""
    images = {entry.path: entry for entry in listing.entries if entry.kind == "image"} if further else {}
    partners, columns = {path: dict(of) for path, of in pairing.partners.items()}, set()
    for column, of in further.items():
        pairs = [(path, of[path]) for path in paths if path in of]
        whole = 2 * len(pairs) > len(paths) and len({other for _, other in pairs}) == len(pairs)
        if whole and all(other in images for _, other in pairs) and _are_maps(listing, pairs):
            columns.add(column)
            for path, other in pairs:
                partners.setdefault(path, {})[_called(column, pairs)] = images[other]
    return replace(pairing, partners=partners), columns


def _called(column: str, pairs: Iterable[tuple[str, str]]) -> str:
    """The name of the field: as the column or the path of a map says."""
    said = [PARTNERS.get(word) for word in words(column)]
    return next(filter(None, [*said, *(key_of(other)[1] for _, other in pairs)]), TARGET)


def _are_maps(listing: Listing, pairs: list[tuple[str, str]]) -> bool:
    from dataloader_expert.sources.pictures import decode_image

    some = pairs[:: max(1, len(pairs) // LOOKED_AT)][:LOOKED_AT]
    try:
        looks = [[decode_image(listing.read(path), path) for path in pair] for pair in some]
    except Unreadable:
        return False
    return all(one.mode not in MAPS and other.mode in MAPS and one.size == other.size for one, other in looks)
