"""What files beside others and tables say of a file, with little more than the standard library and numpy: this source too goes
into loaders that run without this package (:mod:`dataloader_expert.sources.plain`), where the names in capitals are defined above it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = ""
SUFFIXES: set[str] = set()
PARTNERS: dict[str, tuple[Any, dict[str, str], str, str]] = {}
TABLES: dict[str, tuple[Any, str, str, bool, int, set[str]]] = {}
"""Of each table of annotations its reader, the folder of the files that it names, its column that does, whether it does so without
suffix, how many folders come before the names there and not here, and its fields of which a file has several values."""
SIDES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...], str | None, tuple[str, ...], bool]] = {}
"""Of each table with a column for each side of a box how these say it, these columns, those of the image's size, the one of the
class, the names of the classes unless they are numbers, and whether each file has one row."""


def files(places: list[str]) -> list[Path]:
    """The files named, and of a folder all below it with one of SUFFIXES."""
    found: list[Path] = []
    for path in (Path(ROOT, place) for place in places):
        below = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and not p.name.startswith("."))
        found += below if path.is_dir() else [path]
    return found


def partners(path: Path) -> dict[str, Path]:
    """The files that make a sample together with this one, by field or by kind of annotations."""
    found = {}
    for name, (_, folders, end, other) in PARTNERS.items():
        parts = [folders.get(part, part) for part in ("", *path.relative_to(ROOT).parts[:-1])]
        found[name] = Path(ROOT, *parts, path.stem.removesuffix(end) + other)
    return found


def annotated(paths: list[Path]) -> list[dict[str, Any]]:
    """What the files beside these and the tables say of each; what is said first stays."""
    found = [dict[str, Any]() for _ in paths]
    for path, row in zip(paths, found, strict=True):
        for name, other in partners(path).items():
            row |= next(PARTNERS[name][0](other)) | row
    for place, (reader, folder, naming, by_stem, above, lists) in TABLES.items():
        of: dict[str, list[dict[str, Any]]] = {}
        for line in reader(Path(ROOT, place)):
            line = with_box(line, *SIDES[place]) if place in SIDES else line
            of.setdefault(as_named(line.pop(naming, None), above), []).append(line)
        for path, row in zip(paths, found, strict=True):
            names = names_of(path, Path(ROOT, folder), by_stem)
            lines = next((of[name] for name in names if name in of), [])
            values = {name: [one[name] for one in lines if name in one] for line in lines for name in line}
            row |= {name: v if name in lists else v[0] for name, v in values.items()} | row
    return found


def with_box(
    line: dict[str, Any],
    how: str,
    sides: tuple[str, ...],
    size: tuple[str, ...],
    kind: str | None,
    names: Any,
    one: bool,
) -> dict[str, Any]:
    """The row with its box, [left, top, right, bottom], and the number of its class; without the columns that hold them."""
    told = [line.get(side) for side in sides]
    made = {name: value for name, value in line.items() if name not in (*sides, *size, kind)}
    if any(value is not None for value in told):
        x, y, a, b = (float(value) if isinstance(value, int | float) else float("nan") for value in told)
        box = [x, y, a, b] if how == "corners" else [x, y, x + a, y + b]
        made["boxes"] = [box] if one else box
        if kind is not None:
            told_kind = line.get(kind)
            made["classes"] = -1 if told_kind is None else names.index(str(told_kind)) if names else told_kind
    return made


def as_named(value: Any, above: int) -> str:
    """What a table calls a file, without so many folders."""
    return "/".join(str(value).replace("\\", "/").removeprefix("./").strip("/").split("/")[above:])


def names_of(path: Path, folder: Path, by_stem: bool) -> list[str]:
    """What a table may call the file, if it lies in the folder."""
    if folder not in path.parents:
        return []
    parts = path.relative_to(folder).parts
    return [path.stem] if by_stem else ["/".join(parts[i:]) for i in range(len(parts))]


def as_text(value: Any) -> str:
    """Lists and objects, such as the turns of a conversation, as JSON."""
    import json

    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, list | tuple | dict):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v))


def nearest(pixels: Any, size: tuple[int, int]) -> Any:
    """A mask of that height and width: each pixel is the nearest one, as no class lies between two."""
    import numpy as np

    rows, columns = (((np.arange(n) + 0.5) * m / n).astype(int) for n, m in zip(size, pixels.shape, strict=False))
    return pixels[rows][:, columns]
