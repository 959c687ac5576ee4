"""Where a module of the user's lies: its file, the project's root, and the name by which it is imported.

Runs in the user's interpreter: standard library only.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dataloader_expert.errors import RequestError, escaped

MARKS = ("pyproject.toml", ".git", "setup.py", "config.ini")


class Place(NamedTuple):
    """``dotted``: the name to import, no such name where parts of it are no identifiers; ``folders``: for ``sys.path``, in their order."""

    path: Path
    root: Path
    dotted: str
    folders: list[str]


def place_of(where: str, roots: tuple[str, ...]) -> Place:
    """The place of ``file.py`` or ``package.module``.

    Raises:
        RequestError: ``source-not-found`` or ``import-failed`` if there is no such file.
    """
    base: Path | None = None
    if where.endswith(".py"):
        path = Path(where).absolute()
        if not path.is_file():
            raise RequestError("source-not-found", f"{escaped(where)} does not exist; give file.py:name below a root")
    else:
        path, base = _find(where, roots)
    root = base or project_root(path)
    folders = [str(path.parent), str(root)]
    parts = list(path.relative_to(root).with_suffix("").parts)
    if parts and parts[0] == "src" and not (root / "src" / "__init__.py").exists():
        parts = parts[1:]
        folders.insert(0, str(root / "src"))
    named = all(part.isidentifier() for part in parts)
    dotted = ".".join(part for part in parts if part != "__init__") if named else path.stem
    return Place(path, root, dotted, list(dict.fromkeys(folders)))


def project_root(path: Path) -> Path:
    """The nearest folder above with a project file, else the one that contains the file's outermost package."""
    for folder in (path.parent, *path.parent.parents):
        if any((folder / mark).exists() for mark in MARKS):
            return folder
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _find(dotted: str, roots: tuple[str, ...]) -> tuple[Path, Path]:
    """The module's file, and the folder from which its dotted name leads to it."""
    for root in roots:
        for base in (Path(root), Path(root) / "src"):
            stem = base.joinpath(*dotted.split("."))
            for path in (stem.with_suffix(".py"), stem / "__init__.py"):
                if path.is_file():
                    return path.absolute(), base.absolute()
    raise RequestError(
        "import-failed",
        f"no module {escaped(dotted)} below the roots ({', '.join(map(escaped, roots))}); give file.py:name or add --root",
    )
