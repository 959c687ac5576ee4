"""Probes measure and rules judge: where findings are made, and that users can look each of them up."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from dataloader_expert.advice.base import rules
from dataloader_expert.errors import Code

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dataloader_expert"
PROBES = sorted((PACKAGE / "probes").rglob("*.py"))
NOT_OF_LOADERS = {"evaluation_splits", "models", "sampling", "transforms", "worker_content"}
"""Rules on what diagnose_io does not measure: its page says nothing of them."""
CODE = re.compile(r"[a-z]+(-[a-z]+)+")


def made_findings(path: Path) -> list[int]:
    """The lines on which a module makes a finding itself."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    names = [(call.lineno, call.func) for call in calls]
    return [line for line, func in names if isinstance(func, ast.Name) and func.id in ("finding", "Finding")]


@pytest.mark.parametrize("path", PROBES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_probe_makes_no_finding(path: Path) -> None:
    """Our promise: what crosses the door is measured; findings that pass through are the checks'."""
    lines = made_findings(path)
    assert not lines, f"lines {lines} judge: yield a fact, and judge it by a rule in advice/"


def test_every_module_that_judges_is_applied() -> None:
    """Our promise: a rule stands in its module's RULES and nowhere else, and is applied once."""
    judging = {p.stem for p in (PACKAGE / "advice").glob("*.py") if made_findings(p)}
    known = rules()
    assert {rule.__module__.rpartition(".")[2] for rule in known} == judging
    assert len(set(known)) == len(known)


def test_every_code_of_a_rule_about_loaders_is_documented() -> None:
    """Our promise: whoever meets a finding about a loader finds its code in docs/diagnosing.md."""
    page = (ROOT / "docs" / "diagnosing.md").read_text(encoding="utf-8")
    codes: set[str] = set()
    for module in {rule.__module__.rpartition(".")[2] for rule in rules()} - NOT_OF_LOADERS:
        tree = ast.parse((PACKAGE / "advice" / f"{module}.py").read_text(encoding="utf-8"))
        words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        codes |= {word for word in words if isinstance(word, str) and CODE.fullmatch(word)}
    codes -= set(get_args(Code))  # why a request failed: what a rule starts from
    assert "rng-duplicated" in codes
    assert sorted(code for code in codes if f"`{code}`" not in page) == []


def test_every_code_of_a_check_is_documented() -> None:
    """Our promise: whoever meets a finding about data finds its code in docs/quality.md."""
    from dataloader_expert.checks.base import all_checks

    page = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8")
    codes = {code for check in all_checks().values() for code in check.ids}
    assert sorted(code for code in codes if f"`{code}`" not in page) == []
