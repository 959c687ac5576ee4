"""Names of files and folders that differ only in case, or that scripts, terminals, archives or other file systems reject."""

from __future__ import annotations

import re
import unicodedata

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.files import Listing


def collisions(listing: Listing) -> list[Unreadable]:
    """Files and folders whose names differ only in case; each is reported once."""
    paths = {p for e in listing.entries for p in (e.path, *_folders(e.path))}
    first: dict[str, str] = {}
    problems = []
    for path in sorted(paths):
        other = first.setdefault(path.casefold(), path)
        if other != path and not (_folders(path) and _folders(path)[-1] != _folders(other)[-1]):
            text = f"differs from {escaped(other)} only in case: a case-insensitive file system keeps one of them"
            problems.append(Unreadable("case-collision", text, file=path))
    return problems


def odd_names(listing: Listing) -> list[Unreadable]:
    """Files and folders whose names break scripts, terminals, archives or other file systems."""
    problems = []
    told: set[str] = set()
    forms: set[str] = set()
    for entry in listing.entries:
        for path in (*_folders(entry.path), entry.path):
            name = path.rsplit("/", 1)[-1]
            why = None if path in told else _odd(name)
            if (
                why is not None and name.startswith("-") and name[1:2].isdigit()
            ):  # a number below 0, if others have such
                forms = forms or {_with_any_number(one.path.rsplit("/", 1)[-1]) for one in listing.entries}
                why = None if _with_any_number(name[1:]) in forms else why
            if why is not None:
                told.add(path)
                problems.append(Unreadable("odd-name", f"the name {why}", file=path))
    return problems


def _with_any_number(name: str) -> str:
    return re.sub(r"\d+", "0", name)


_USUAL = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


def _odd(name: str) -> str | None:
    """What is odd about a file's or folder's name; None if nothing is."""
    if _USUAL.fullmatch(name):
        return None
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        return "contains unprintable characters or bytes that are not text"
    if name != unicodedata.normalize("NFC", name):
        return "has decomposed accents (NFD): systems that compose them (NFC) do not find it"
    if name.startswith("-"):
        return "begins with a dash: commands read it as an option"
    if name != name.strip() or any(part != part.strip() for part in name.rsplit(".", 1)):
        return "begins or ends with a space"
    if set(name) & set("\\:*?\"<>|'`"):
        return "contains a character that shells or other file systems reject"
    if len(name.encode("utf-8", "surrogateescape")) > 200:
        return "is over 200 bytes long, which leaves no room for a suffix"
    return None


def _folders(path: str) -> list[str]:
    """The folders of a path, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]
