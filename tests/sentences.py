"""Every sentence that a user or agent may read, listed from the code: ``python -m tests.sentences [PART OF A PATH]``.

Findings, unknowns, advice, errors, summaries, schemas and help come from the strings of the source, with sample values in
place of what they insert; templates and prompts are listed line by line. For whoever reads all of it at once: each must be
plain English, in the field's terms, and understood the first time.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "dataloader_expert"
LEAST = 3
"""Words from which a string is a sentence, or a part of one."""
_WORD = re.compile(r"[A-Za-z][a-z]+")
_MARKUP = re.compile(r"\{[{%#].*?[}%#]\}")
_CODE = re.compile(r"^\s*(?:[\w.]+\s*=|import |from |def |class |return |[|&?:\\({])|</?\w+|\w+\(\)\s*$")


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module that reads as a sentence, and of each such line of any other file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for number, line in enumerate(text.splitlines(), 1):
            shown = _MARKUP.sub(" … ", line).strip()
            if _reads(shown):
                yield number, shown
        return
    tree = ast.parse(text)
    skipped = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
    inside = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in ast.walk(n) if v is not n}
    for node in ast.walk(tree):
        if id(node) in skipped or id(node) in inside:
            continue
        said = _said(node)
        if said is not None and _reads(said) and not _CODE.search(said):
            yield getattr(node, "lineno", 0), said


def _said(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " ".join(node.value.split())
    if isinstance(node, ast.JoinedStr):
        parts = [str(v.value) if isinstance(v, ast.Constant) else _sample(v) for v in node.values]
        return " ".join("".join(parts).split())
    return None


def _sample(node: ast.AST) -> str:
    """A value in place of what is inserted: a number where it is formatted as one, else the name of what it is."""
    if not isinstance(node, ast.FormattedValue):
        return "…"
    spec = ast.unparse(node.format_spec) if node.format_spec is not None else ""
    if "%" in spec:
        return "12.5%"
    if any(letter in spec for letter in ("f", "g", ",", "d")) and spec:
        return "12"
    names = [n.id for n in ast.walk(node.value) if isinstance(n, ast.Name) and n.id not in ("escaped", "len", "str")]
    keys = [n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return f"[{' '.join((keys or names)[:1]) or 'value'}]"


def _reads(said: str) -> bool:
    return len(_WORD.findall(said)) >= LEAST and " " in said


def main() -> None:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    kinds = {".py", ".jinja", ".md"}
    for path in sorted(p for p in PACKAGE.rglob("*") if p.suffix in kinds and "__pycache__" not in p.parts):
        name = str(path.relative_to(PACKAGE))
        found = sorted(sentences(path)) if part in name else []
        if found:
            print(f"\n## {name}")
            print("\n".join(f"{line}: {said}" for line, said in found))


if __name__ == "__main__":
    main()
