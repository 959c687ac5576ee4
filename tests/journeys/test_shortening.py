"""What a result keeps when it must be shorter: its limit whatever the data, and the verdict before anything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dataloader_expert.report import Report
from dataloader_expert.tools.rendering import MOST, in_detail, written
from tests.making.asking import Asker

TOOLS = (
    "characterize_dataset",
    "check_quality",
    "recommend_batch_spec",
    "suggest_sampler",
    "diagnose_io",
    "analyze_dataset",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Report]]:
    """Each tool's whole result on a table of 120 columns with long names and a missing value in each, as a server keeps it."""
    folder = tmp_path_factory.mktemp("shortening")
    rng = np.random.default_rng(0)
    names = [f"a column whose name is rather long, to take room: number {i}" for i in range(120)]
    rows = [",".join("" if (i + j) % 37 == 0 else f"{rng.normal():.5f}" for j in range(120)) for i in range(90)]
    text = "\n".join([",".join(f'"{n}"' for n in [*names, "label"]), *(f"{r},{i % 2}" for i, r in enumerate(rows))])
    (folder / "wide.csv").write_text(text + "\n", encoding="utf-8")
    asker = Asker()
    quickly = asker.quick()
    reports = {name: quickly.ask(name, str(folder / "wide.csv"), str(folder), budget_s=20) for name in TOOLS}
    yield {name: r.model_copy(update={"report_uri": "report://0123456789"}) for name, r in reports.items()}
    asker.close()


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    asker = Asker()
    asker.close()
    return asker.tools


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("share", [1.0, 0.85])
def test_a_concise_result_keeps_to_its_limit(
    whole: dict[str, Report], tools: dict[str, Any], name: str, share: float
) -> None:
    """The contract: whatever the data, and with room left out of what is asked for by name."""
    tool = replace(tools[name], limit=int(tools[name].limit * share))
    short = in_detail(tool, whole[name], "concise")
    assert written(short) <= tool.limit
    assert short.report_markdown.startswith("##")
    assert short.rest is not None
    assert short.report_uri is not None and short.report_uri in short.rest
    assert short.rest in short.report_markdown


@pytest.mark.parametrize("name", TOOLS)
def test_a_full_result_is_what_a_client_can_show(whole: dict[str, Report], tools: dict[str, Any], name: str) -> None:
    """Our promise: what a server sends stays below what clients put aside; without a server nothing is cut."""
    sent = in_detail(tools[name], whole[name], "full")
    assert written(sent) <= MOST
    alone = in_detail(tools[name], whole[name].model_copy(update={"report_uri": None}), "full")
    assert (alone.shortened, alone.rest) == ({}, None)
    assert len(alone.findings) == len(whole[name].findings)


def test_alike_findings_are_told_as_one_before_any_is_left_out(whole: dict[str, Report], tools: dict[str, Any]) -> None:
    """Our promise: a hundred fields with missing values are one finding, and the other kinds are still there."""
    full = whole["check_quality"]
    assert sum(f.code == "missing-values" for f in full.findings) > 50
    short = in_detail(tools["check_quality"], full, "concise")
    found = [f for f in short.findings if f.code == "missing-values"]
    assert len(found) == 1
    assert "fields" in found[0].message
    assert found[0].count == sum(f.count for f in full.findings if f.code == "missing-values")
    assert {f.code for f in full.findings if f.severity != "info"} <= {f.code for f in short.findings}
    assert short.shortened["findings"].total == len(full.findings)


def test_the_verdict_is_never_cut(whole: dict[str, Report], tools: dict[str, Any]) -> None:
    """Our promise: passed, the checklist with its reasons, what was not checked, and what is not known stand in full."""
    full: Any = whole["check_quality"]
    short: Any = in_detail(tools["check_quality"], full, "concise")
    for name in ("passed", "checklist", "checklist_why", "not_checked", "unknowns", "summary", "coverage"):
        assert getattr(short, name) == getattr(full, name), name


def test_at_a_terminal_the_report_holds_tables_and_code(whole: dict[str, Report], tools: dict[str, Any]) -> None:
    """Our promise: where no fields stand beside it the Markdown has the code; over the wire it points to the field."""
    full = whole["recommend_batch_spec"]
    assert "```python" in in_detail(tools[full.tool], full, "concise", alone=True).report_markdown
    assert "```python" not in in_detail(tools[full.tool], full, "concise").report_markdown


@pytest.mark.parametrize("share", [1.5, 1.0, 0.5])
def test_code_is_told_whole_or_by_where_it_stands(
    whole: dict[str, Report], tools: dict[str, Any], share: float
) -> None:
    """Our promise: never a part of it; in its place one line that names the argument and the resource that hold it."""
    full: Any = whole["recommend_batch_spec"]
    tool = replace(tools[full.tool], limit=int(tools[full.tool].limit * share))
    short: Any = in_detail(tool, full, "concise")
    if short.code != full.code:
        assert 'detail="full"' in short.code and full.report_uri in short.code
        assert len(short.code.splitlines()) == 1
    kept: Any = in_detail(tool, full.model_copy(update={"report_uri": None}), "full")
    assert kept.code == full.code
    assert "".join(full.code.split()) in "".join(kept.report_markdown.split())
