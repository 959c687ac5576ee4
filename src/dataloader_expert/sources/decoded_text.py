"""Text files as text, whatever their encoding."""

from __future__ import annotations

import codecs

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.magic import of_single_bytes
from dataloader_expert.sources.packed import IN_UTF_16


def decode_text(data: bytes, name: str, problems: list[Unreadable]) -> str:
    """The text; one in an encoding of one byte each is read as Latin-1, other bytes that are not UTF-8 are replaced; both are reported, and so is a text in UTF-16, which is read as such.

    Raises:
        Unreadable: ``not-the-format`` if it is not a text.
    """
    if (wide := _wide(data)) is not None:
        problems.append(Unreadable("encoding-error", IN_UTF_16, file=name))
        return wide
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        at = data[e.start : e.start + 8]
        other = data.decode("utf-8", "ignore").isascii() and of_single_bytes(data)  # else it is damaged
        how = "; the text is read as Latin-1" if other else ""
        problems.append(Unreadable("encoding-error", f"not UTF-8 at byte {e.start}: {at!r}{how}", file=name))
        text = data.decode("latin-1") if other else data.decode("utf-8", "replace")
    if "\0" in text:
        raise Unreadable("not-the-format", "contains NUL bytes, so it is not text", file=name)
    return text


def _wide(data: bytes) -> str | None:
    """The text of bytes in UTF-16, which begin with its mark."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    try:
        text = data.decode("utf-16")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
