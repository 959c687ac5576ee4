"""How many small errors, planted in the samplers, the loaders and the search, make a test fail.

``python -m benchmarks.mutants [--each N] [--seed N] [--only ROOM …] [--table]`` draws N places for each room from a seed (taken
from the clock, and printed, if none is given), plants one of cosmic-ray's mutations in a copy of the checkout, and runs the room's
tests: first those that run the line, then, if none fails, all quick ones, and then the journeys. A mutation that changes only
annotations or docstrings is none. Up to some minutes per mutant, where no quick test notices it; needs ``pip install cosmic-ray coverage``.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import keep, last

NAME = "mutants"
ROOMS = {
    "samplers": ("src/dataloader_expert/samplers", "tests/samplers"),
    "loaders": ("src/dataloader_expert/loaders", "tests/loaders"),
    "search": ("src/dataloader_expert/probes/search", "tests/probes/search"),
}
LIMIT_S = 600.0
"""The longest that a room's tests may take; a mutant may loop forever, and counts as noticed."""
MOST_TESTS = 60
"""The most tests that are run first: a line that everything runs is soon missed by any."""
CONTEXTS = "[run]\ndynamic_context = test_function\nsource = src/dataloader_expert\n"


@dataclass(frozen=True)
class Mutant:
    """One changed place: its file, line, cosmic-ray's operator, and the file's new text."""

    file: str
    line: int
    operator: str
    text: str


class _Bare(ast.NodeTransformer):
    """Leaves out what running code does not see: annotations (the modules postpone them) and docstrings."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def bare(text: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(text)))


def drawn(draw: random.Random, root: Path, folder: str) -> Mutant:
    """A mutant of a room: a file by its length, then a place, then one of the operators that apply there."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    files = sorted((root / folder).rglob("*.py"))
    sizes = [f.stat().st_size for f in files]
    while True:
        [file] = draw.choices(files, sizes)
        text = file.read_text(encoding="utf-8")
        tree = get_ast(text)
        places: defaultdict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)  # by position: some have many
        for name in sorted(operator_names()):
            kind = get_operator(name)
            if kind.arguments() or name.endswith("no-op"):
                continue
            found = (pos for node in ast_nodes(tree) for pos in kind().mutation_positions(node))
            for k, (start, _) in enumerate(found):
                places[start].append((name, k))
        if not places:
            continue
        at = draw.choice(sorted(places))
        name, occurrence = draw.choice(places[at])
        mutated = mutate_code(text, get_operator(name)(), occurrence)
        if mutated is not None and bare(mutated) != bare(text):
            return Mutant(str(file.relative_to(root)), at[0], name, mutated)


def pytest(root: Path, *arguments: str) -> bool:
    """Whether all these tests pass."""
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", *arguments]
    try:
        done = subprocess.run(argv, cwd=root, env=env, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, 5)  # 5: there were none


def covering(root: Path, tests: str) -> dict[tuple[str, int], list[str]]:
    """The quick tests that run a line, by file and line, from one run under coverage."""
    import coverage

    rc = root / ".contexts"
    rc.write_text(CONTEXTS, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "COVERAGE_FILE": str(root / ".covered")}
    argv = [sys.executable, "-m", "coverage", "run", f"--rcfile={rc}", "-m", "pytest", "-q", "-n0"]
    argv += ["-p", "no:cacheprovider", "-m", "not journey", tests]
    subprocess.run(argv, cwd=root, env=env, capture_output=True, check=True)
    data = coverage.CoverageData(str(root / ".covered"))
    data.read()
    found: dict[tuple[str, int], list[str]] = {}
    for file in data.measured_files():
        name = str(Path(file).relative_to(root))
        for line, contexts in data.contexts_by_lineno(file).items():
            found[name, line] = sorted({t for c in contexts if (t := _test(root, c))})
    return found


def _test(root: Path, context: str) -> str | None:
    """A test's id from coverage's name of it, such as ``tests.samplers.test_weighted.test_draws``."""
    parts = context.split(".")
    for k in range(len(parts) - 1, 0, -1):
        file = Path(*parts[:k]).with_suffix(".py")
        if (root / file).is_file():
            return "::".join([str(file), *parts[k:]])
    return None


def tried(root: Path, mutant: Mutant, tests: str, by_line: dict[tuple[str, int], list[str]]) -> str:
    """What notices the mutant: ``quick`` tests, ``journey`` tests, or ``none``."""
    file = root / mutant.file
    text = file.read_text(encoding="utf-8")
    file.write_text(mutant.text, encoding="utf-8")
    try:
        near = by_line.get((mutant.file, mutant.line), [])[:MOST_TESTS]
        if near and not pytest(root, "-m", "not journey", *near):
            return "quick"
        if not pytest(root, "-m", "not journey", tests):
            return "quick"
        return "none" if pytest(root, "-m", "journey", tests) else "journey"
    finally:
        file.write_text(text, encoding="utf-8")


def table(run: dict[str, Any]) -> str:
    lines = ["| | mutants | noticed by quick tests | by all |", "|---|---|---|---|"]
    for room, rows in run["rooms"].items():
        quick = sum(r["by"] == "quick" for r in rows)
        every = sum(r["by"] != "none" for r in rows)
        lines.append(f"| {room} | {len(rows)} | {quick / len(rows):.0%} | {every / len(rows):.0%} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=30)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", nargs="+", choices=ROOMS, default=list(ROOMS))
    parser.add_argument("--table", action="store_true", help="of the last run; nothing is run")
    args = parser.parse_args()
    if args.table:
        print(table(last(NAME)[-1]))
        return
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", flush=True)
    draw, rooms = random.Random(seed), {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", ".", str(root)], check=True)
        for room in args.only:
            source, tests = ROOMS[room]
            by_line, rows = covering(root, tests), []
            for _ in range(args.each):
                mutant = drawn(draw, root, source)
                by = tried(root, mutant, tests, by_line)
                rows.append({"file": mutant.file, "line": mutant.line, "operator": mutant.operator, "by": by})
                print(by, mutant.file, mutant.line, mutant.operator, flush=True)
            rooms[room] = rows
    keep(NAME, {"seed": seed, "complete": len(args.only) == len(ROOMS), "rooms": rooms})
    print(table({"rooms": rooms}))


if __name__ == "__main__":
    main()
