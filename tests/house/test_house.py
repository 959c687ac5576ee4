"""The house keeps its shape: links, layers, the tops of modules, what a family knows, what is shipped.

Ground files, which any member of a family may import:

- sources: base (the contract), files (opening below the roots), magic (kinds of files), layout (splits and
  classes by folder), arrays, bundle, tables, samples (what several formats share), decoded_text, lines (text in ranges),
  pictures and sounds (decoding), npy_header, hub (features that Hugging Face declares), plain (readers handed over).
- checks: base (the contract), features (of a matrix), and what stands in ``common``; a room's other files may know what is no
  member in their own room.

A variant may know the one member that it narrows: TSV is CSV with tabs, ``save_to_disk`` Arrow with a list.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dataloader_expert"
NAME = "dataloader_expert"
LINKS = ("server", "tools", "prompts", "templates")
GROUND = {
    "sources": {
        *("base", "files", "magic", "layout", "arrays", "bundle", "tables", "samples", "decoded_text", "lines"),
        *(
            "pictures",
            "sounds",
            "npy_header",
            "hub",
            "opened",
            "tar",
            "bombs",
            "arrow_message",
            "times",
            "roles",
            "subset",
            "vocabulary",
            "plain",
            "chosen",
        ),
    },
    "checks": {"base", "features", "fingerprint", "numbers", "drawn", "places", "stretches", "units"},
}
MEMBER = {"sources": "SOURCE", "checks": "CHECK"}
VARIANTS = {("tsv", "csv"), ("delimited", "csv"), ("hf_disk", "arrow"), ("idx", "npy"), ("token_bin", "npy")}
ALSO_AT_TOP = {
    "checks/common/fingerprint.py": {"xxhash"},  # small, and tried: a user's interpreter may lack it
    "loaders/": {"torch", "numpy"},
    "loaders/trainers/stateful.py": {"torchdata"},  # an extra, of which its class is a kind: imported when asked for
    "samplers/": {"torch", "numpy"},
    "report.py": {"pydantic"},
    "tools/": {"pydantic"},
    "server/": {"pydantic", "mcp"},
}
LATER = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("name", LINKS)
def test_a_link_at_the_top_is_relative_and_leads_to_its_folder(name: str) -> None:
    """Our promise: the four folders stand at the top of the repository under their names."""
    link = ROOT / name
    if not link.is_symlink() and link.is_file():
        pytest.skip("git made a text file of the link: this system or checkout has no symbolic links")
    assert link.readlink() == Path("src", NAME, name)
    assert link.resolve() == (PACKAGE / name).resolve()
    assert link.is_dir()


def test_imports_run_down_the_stairs_and_in_no_circle() -> None:
    """Our promise: the contracts of pyproject.toml hold."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    done = subprocess.run([*command, "--no-cache", "--no-logo"], cwd=ROOT, env=_env(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_light_modules_stand_at_the_top() -> None:
    """Our promise: importing a room loads the standard library and our rooms, pydantic where it must."""
    heavy = {}
    for path in MODULES:
        relative = path.relative_to(PACKAGE).as_posix()
        allowed = {NAME, *sys.stdlib_module_names}
        allowed |= {m for room, more in ALSO_AT_TOP.items() if relative.startswith(room) for m in more}
        heavy[relative] = {m for m in _read(path).imports_at_top if m.split(".")[0] not in allowed}
    assert _offenders(heavy) == {}, "import these inside the functions that need them"


def test_no_import_is_relative() -> None:
    """Our promise: each import says which room it reaches."""
    lines = {path.relative_to(PACKAGE).as_posix(): {*_read(path).relative_imports} for path in MODULES}
    assert _offenders(lines) == {}, "these lines import relatively, which hides the room that they reach"


def test_rooms_that_load_torch_are_imported_late() -> None:
    """Our promise: loaders and samplers import torch at their top, so nobody else imports them at theirs."""
    rooms = ("loaders", "samplers")
    torch = tuple(f"{NAME}.{room}." for room in rooms)
    eager = {
        path.relative_to(PACKAGE).as_posix(): {m for m in _read(path).imports_at_top if f"{m}.".startswith(torch)}
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] not in rooms
    }
    assert _offenders(eager) == {}, "import these inside the functions that need them"


def test_only_the_loaders_make_a_dataloader() -> None:
    """Our promise: one room calls ``DataLoader(``; others describe it as data or write it in users' code."""
    made = {
        path.relative_to(PACKAGE).as_posix(): {*_read(path).makes_loaders}
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] != "loaders"
    }
    assert _offenders(made) == {}, "these lines call DataLoader: build it in loaders/"


@pytest.mark.parametrize("family", sorted(GROUND))
def test_ground_files_are_there_and_are_no_members(family: str) -> None:
    """Our promise: the list of ground files in this module's docstring is true."""
    members = {p.stem for p in _members(family)}
    assert members
    assert not members & GROUND[family]
    assert {p.stem for p in (PACKAGE / family).rglob("*.py")} >= GROUND[family]


@pytest.mark.parametrize("family", sorted(GROUND))
def test_a_member_of_a_family_is_known_to_no_sibling(family: str) -> None:
    """Our promise: a format or check can be taken out by deleting its file."""
    prefix = f"{NAME}.{family}."
    members = {p.stem for p in _members(family)}
    rooms = {p.name for p in (PACKAGE / family).iterdir() if p.is_dir()}
    siblings = {}
    for path in sorted((PACKAGE / family).rglob("*.py")):
        named = [m.removeprefix(prefix).split(".") for m in _read(path).imports if m.startswith(prefix)]
        known = {part for first, *more in named for part in more[:1] if first in rooms}
        known |= {first for first, *_ in named if first not in rooms}
        relative = path.relative_to(PACKAGE).as_posix()
        siblings[relative] = {s for s in known & members if (path.stem, s) not in VARIANTS}
    assert _offenders(siblings) == {}, "share these through a ground file"


def test_a_room_of_checks_knows_no_other_but_what_they_share() -> None:
    """Our promise: a room of checks is read on its own."""
    prefix = f"{NAME}.checks."
    rooms = {p.name for p in (PACKAGE / "checks").iterdir() if (p / "__init__.py").exists()} - {"common"}
    for path in (PACKAGE / "checks").rglob("*.py"):
        known = {m.removeprefix(prefix).split(".")[0] for m in _read(path).imports if m.startswith(prefix)}
        others = known & rooms - {path.parent.name}
        assert not others, f"{path.relative_to(PACKAGE)} imports from {', '.join(sorted(others))}; share it in common/"


def test_a_wheel_holds_every_file_of_the_package(tmp_path: Path) -> None:
    """Our promise: what is in the tree is what is installed; text files and templates are not forgotten."""
    build = "import sys, uv_build; print(uv_build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, env=_env(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    shipped = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith(f"{NAME}/") and not n.endswith("/")}
    files = {p.relative_to(PACKAGE.parent).as_posix() for p in PACKAGE.rglob("*") if p.is_file()}
    assert shipped == {f for f in files if "__pycache__" not in f}


def _env() -> dict[str, str]:
    """The interpreter's own commands are found even where its environment is not activated."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PATH": path}


@dataclass(frozen=True)
class Module:
    """What the tests ask of a module; its tree is not kept, for every collection of garbage would walk through all of them."""

    imports: tuple[str, ...]
    imports_at_top: tuple[str, ...]
    relative_imports: tuple[int, ...]
    assigned: frozenset[str]
    makes_loaders: tuple[int, ...]


@functools.cache
def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text, str(path))
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if "DataLoader" in text else []
    return Module(
        tuple(_imported(tree, later=True)),
        tuple(_imported(tree, later=False)),
        tuple(node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level),
        frozenset(t.id for t in targets if isinstance(t, ast.Name)),
        tuple(call.lineno for call in calls if _last_name(call.func) == "DataLoader"),
    )


def _members(family: str) -> Iterator[Path]:
    """Modules that define the family's constant at their top."""
    return (path for path in (PACKAGE / family).rglob("*.py") if MEMBER[family] in _read(path).assigned)


def _imported(tree: ast.AST, later: bool) -> Iterator[str]:
    """Dotted names that a module imports; ``later``: also those that only run once a function is called."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not later and isinstance(node, LATER):
            continue
        elif not later and isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            continue  # for type checkers only
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):  # no expression imports
            yield from _imported(node, later)


def _offenders(found: Mapping[str, set[str] | set[int]]) -> dict[str, list[str | int]]:
    """What was found of each file that has any, in order."""
    return {name: sorted(some) for name, some in found.items() if some}


def _last_name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
