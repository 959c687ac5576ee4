"""Pascal VOC: an XML file for each image, its boxes as corners in pixels and their classes by name, here numbered."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, Names, folder_of
from dataloader_expert.sources.files import Listing

KIND = "XML (Pascal VOC annotations)"
MOST_BYTES = 1 << 22
FEW = 0.25
"""The largest share of files that may name another image by mistake."""
_DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def join_voc(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Pascal VOC's files: XML, one for each image, its boxes as corners in pixels and their classes by name, here numbered."""
    entries = [entry for entry in listing.entries if entry.kind == KIND and entry.size <= MOST_BYTES]
    files = Names(paths if entries else ())
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    others: dict[str, tuple[str, str]] = {}
    for entry in entries:
        path = files.beside(entry.path)
        if path is None:
            continue
        found.tables.append(entry.path)
        found.each.setdefault("voc", {})[path] = entry.path
        try:
            boxes, names, size, called = _objects(listing.read(entry.path))
            read[path] = boxes, names
            other = files.meant(called, folder_of(entry.path) + "/") if called else None
            if other is not None and not _one_made_of_other(path, other):
                others[entry.path] = path, other
            found.sizes |= {path: size} if size is not None else {}
        except ODD as e:
            text = f"is not a Pascal VOC annotation: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
    if len(others) <= FEW * len(read):  # else the images were renamed, and these are their former names
        for xml, (path, other) in list(others.items())[:MOST_TOLD]:
            text = f"is the annotation of {escaped(path)} by its name, and of {escaped(other)} by the <filename> in it: one of the two is wrong"
            found.problems.append(Unreadable("label-conflict", text, file=xml, field="boxes"))
    found.add_named(read)


def _one_made_of_other(path: str, other: str) -> bool:
    """Whether they are one file, or one is named after the other: copies that augmentation makes keep what the annotation says."""
    names = (name.rsplit("/", 1)[-1].rsplit(".", 1)[0].casefold() for name in (path, other))
    short, long = sorted(names, key=len)
    return re.search(rf"(?<!\d){re.escape(short)}(?!\d)", long) is not None


def _objects(data: bytes) -> tuple[list[list[float]], list[str], tuple[int, int] | None, str]:
    """Boxes, the names of their classes, the width and height of the image, and the name of its file, if they are said."""
    boxes, names = [], []
    root = parsed(data)
    sides = [root.findtext(f"size/{side}") or "" for side in ("width", "height")]
    size = (int(sides[0]), int(sides[1])) if all(side.isdigit() and int(side) for side in sides) else None
    for one in root.iter("object"):
        box = one.find("bndbox")
        corners = [None if box is None else box.findtext(side) for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append([float(side) if side else float("nan") for side in corners])
        names.append((one.findtext("name") or "").strip())
    return boxes, names, size, (root.findtext("filename") or "").strip()


def elements(data: bytes, tag: str) -> Iterator[ElementTree.Element]:
    """Such elements of a file one after another: all of a large one would take many times its size.

    Raises:
        ValueError, ElementTree.ParseError: as of ``parsed``.
    """
    _declares_nothing(data)
    for _, element in ElementTree.iterparse(io.BytesIO(data)):
        if element.tag == tag:
            yield element
            element.clear()


def parsed(data: bytes) -> ElementTree.Element:
    """The root of an XML file that declares nothing.

    Raises:
        ValueError, ElementTree.ParseError: if it does, or is none.
    """
    _declares_nothing(data)
    return ElementTree.fromstring(data)


def _declares_nothing(data: bytes) -> None:
    if b"\0" in data:
        raise ValueError("it is not UTF-8")
    if _DECLARES.search(data):  # entities may expand without end
        raise ValueError("it declares a document type")
