"""Names of classes that a small file beside the samples lists, for a label that holds their numbers."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import NAMELESS
from dataloader_expert.sources.base import Source, Unit
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.samples import FileSamples

MOST_BYTES, MOST_FILES, LONGEST, FEWEST, LOOKED_AT = 1 << 18, 20, 100, 2, 8
"""Of a file; files; letters of a name; names; blocks whose labels are looked at."""
SAYS = {
    "class",
    "classes",
    "label",
    "labels",
    "category",
    "categories",
    "shape",
    "synset",
    "synsets",
    "intent",
    "activity",
    "species",
}
LISTS = {"names", "name", "map", "mapping", "labels", "classes", "categories", "list", "index", "ind"}
OTHERS = {
    "feature", "features", "column", "columns", "attribute", "attributes", "field", "fields", "file", "files", "image", "images",
    "keypoint", "keypoints", "joint", "joints", "channel", "channels", "sensor", "sensors", "train", "test", "val", "slot", "tag",
}  # fmt: skip
"""Words in the name of a file that lists names of something else."""
_NUMBERED = re.compile(r"(\d{1,6})[\s,;:\t]+(\S.*)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_CARD = re.compile(
    r"- name: *['\"]?(?P<field>[^\n'\"]+)['\"]?\n(?:(?! *- name:) +[^\n]*\n)*? +names: *\n(?P<names>(?: +['\"]?\d+['\"]?: *[^\n]+\n)+)"
)
_CARD_NAME = re.compile(r" +['\"]?(\d+)['\"]?: *['\"]?([^\n'\"]+)['\"]?\n")


def with_class_names(source: Source, listing: Listing, label: str | None) -> None:
    """Takes the names that as many numbers of the label have; if these count from 1, it is told where the names are."""
    if label is None and isinstance(source, FileSamples) and not listing.single:
        _label_with_names(source, listing)
        return
    field = None if label is None else source.field(label)
    if field is None or source.classes is not None or field.shape or "int" not in field.dtype or listing.single:
        return
    lists = list(_lists(listing, field.name))
    numbers = _numbers(source, field.name) if lists else set()
    for path, names in lists if numbers else ():
        first = min(numbers)
        names = {n + first: name for n, name in enumerate(names.values())} if min(names) == 0 and first == 1 else names
        if [*names] != [*range(first, max(numbers) + 1)] or first not in (0, 1):
            continue
        if first == 0:
            source.classes = tuple(names.values())
        else:
            told = f"{escaped(path, 60)} names each number from 1, such as {escaped(names[1], 40)}"
            source.label_how = f"{source.label_how}; {told}"
        return


def _label_with_names(source: FileSamples, listing: Listing) -> None:
    """Takes for the label the one column without a name whose numbers are as many as a file of names has: one of several beside a box."""
    able = [f.name for f in source.annotated if NAMELESS.fullmatch(f.name) and not f.shape and "int" in f.dtype]
    lists = [*_lists(listing, "")] if able else []
    numbers = {name: _numbers(source, name) for name in able} if lists else {}
    fitting = {
        name: (path, min(of))
        for path, names in lists
        for name, of in numbers.items()
        if of and min(of) in (0, 1) and len(of) == len(names) == max(of) - min(of) + 1
    }
    if len(fitting) != 1 or source.label_columns is not None:
        return
    [(name, (path, first))] = fitting.items()
    source.label, source.label_how = name, f"guessed: it has as many numbers as {escaped(path, 60)} has names"
    source.annotated = tuple(replace(f, kind="category") if f.name == name else f for f in source.annotated)
    source.fields = tuple(replace(f, kind="category") if f.name == name else f for f in source.fields)
    source.roles = None if source.roles is None else source.roles.without(name)
    if first == 0:
        source.classes = next(tuple(names.values()) for other, names in lists if other == path)


def _lists(listing: Listing, label: str) -> Iterator[tuple[str, dict[int, str]]]:
    """The files that may name classes, and their names by number."""
    some = [entry for entry in listing.entries if 0 < entry.size <= MOST_BYTES]
    card = next((entry for entry in some if entry.path == "README.md"), None)
    if card is not None:
        for match in _CARD.finditer(_text(listing, card).split("\n---", 1)[0] + "\n"):
            if match["field"].strip() == label:
                yield card.path, {int(n): said.strip() for n, said in _CARD_NAME.findall(match["names"])}
    able = [e for e in some if e.kind in ("text", "csv", "json") and _may_name(e.path.rpartition("/")[2], label)]
    for entry in able if len(able) <= MOST_FILES else ():  # more are of a sample each
        if found := names_in(_text(listing, entry), str(entry.kind)):
            yield entry.path, found


def _may_name(name: str, label: str) -> bool:
    """Whether a file is called as a list of the classes of a label. What an object in JSON is called besides says of what its numbers are, as
    ``label_num_to_disease_map.json``: that they are all numbers of the label and no others is known later."""
    stem, _, suffix = name.rpartition(".") if "." in name else (name, "", "")
    said = [word.lower() for word in _WORD.findall(stem)]
    own = SAYS | {word.lower() for word in _WORD.findall(label)}
    only = {*said} <= own | LISTS | {"to", "id", "idx", "dataset"}
    mapped = (
        suffix.lower() == "json" and bool({*said} & {"map", "mapping", "names", "name", "to"}) and not {*said} & OTHERS
    )
    return bool(said) and (said in (["names"], ["mapping"]) or (bool({*said} & own) and (only or mapped)))


def names_in(text: str, kind: str) -> dict[int, str]:
    """The names by their numbers: those that the text gives, else those of the lines, from 0 on; empty of another text."""
    if kind == "json":
        return _of_json(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if len(numbered) > FEWEST and numbered[0] is None and all(numbered[1:]):  # below a header
        numbered, lines = numbered[1:], lines[1:]
    if all(numbered):
        pairs = [(int(match[1]), match[2]) for match in numbered if match is not None]
    else:
        pairs = [
            *enumerate(
                next(csv.reader([line]), [""])[0] if kind == "csv" and line[0] == '"' else line for line in lines
            )
        ]
    return _checked(pairs, len(lines))


def _of_json(text: str) -> dict[int, str]:
    try:
        held: Any = json.loads(text)
    except ValueError:
        return {}
    if isinstance(held, list):
        return _checked([*enumerate(held)], len(held))
    if not isinstance(held, dict):
        return {}
    if all(isinstance(v, int) for v in held.values()):
        held = {str(v): k for k, v in held.items()}
    pairs = [(int(k), v[-1] if isinstance(v, list) and v else v) for k, v in held.items() if k.isdecimal()]
    return _checked(pairs, len(held))


def _checked(pairs: Sequence[tuple[int, Any]], n: int) -> dict[int, str]:
    """The names in the order of their numbers, if all are distinct short texts and no numbers."""
    found = dict(sorted(pairs))
    sound = all(
        isinstance(v, str) and 0 < len(v) <= LONGEST and not re.fullmatch(r"[-+.\d]+", v) for v in found.values()
    )
    return found if sound and FEWEST <= n == len(found) == len({*found.values()}) else {}


def _text(listing: Listing, entry: Entry) -> str:
    try:
        return listing.read(entry.path, MOST_BYTES).decode("utf-8-sig")
    except (Unreadable, UnicodeDecodeError):
        return ""


def _numbers(source: Source, label: str) -> set[int]:
    """The numbers of the label, of large data in a few blocks; empty if others are among them."""
    units: Sequence[Unit] = source.units
    known = isinstance(source, FileSamples)  # they stand in a table that was read
    some = units if known else [*units[:: max(1, len(units) // LOOKED_AT)], units[-1]]
    found: set[int] = set()
    for unit in some:
        try:
            column = source.column(unit, label)
        except Unreadable:
            return set()
        values = [] if column is None else column.values
        found |= {*(values.tolist() if hasattr(values, "tolist") else values)} - {None}
        if not all(type(value) is int for value in found):
            return set()
    return found
