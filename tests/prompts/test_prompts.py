"""The persona and the workflows say what the tools can do, and agent.md is made from them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert import prompts
from dataloader_expert.errors import RequestError
from dataloader_expert.tools.base import all_tools

ROOT = Path(__file__).parents[2]
TOOLS = all_tools()
TRIGGERS = {
    "analyze_composition": "characterize_dataset",
    "design_batches": "recommend_batch_spec",
    "diagnose_slow_loading": "diagnose_io",
    "validate_quality": "check_quality",
    "choose_sampling": "suggest_sampler",
    "align_with_model": "recommend_batch_spec",
}
"""The persona's six triggers in order, and the tool that each begins with."""

SECTIONS = {
    "## Dataset Analysis: <name>": (),
    "### Composition": (
        "**Type**",
        "**Total Samples**",
        "**Splits**",
        "**Class Distribution**",
        "**Modality**",
    ),
    "### Storage Profile": ("**Format**", "**Location**", "**Size**", "**File Count**"),
    "### Batch Specification": ("batch = {", "**Batch Size**", "**Memory per Batch**"),
    "### Preprocessing": ("**Normalization**", "**Augmentation**", "**Dtype**"),
    "### DataLoader Config": ("num_workers", "pin_memory", "prefetch_factor", "shuffle", "**Throughput**"),
    "### Quality Checks": ("corrupted", "Shapes", "NaN/Inf", "Imbalance", "non-overlapping"),
}
"""The form of an analysis: its headings in order, and what stands under each."""


def test_agent_md_is_what_the_prompts_make() -> None:
    """Our promise: the file at the top is generated; ``make agent`` writes it."""
    assert (ROOT / "agent.md").read_text(encoding="utf-8") == prompts.agent_md()


def test_the_generator_writes_the_same_bytes() -> None:
    """Our promise: ``python -m dataloader_expert.prompts`` is the way to make agent.md anew."""
    done = subprocess.run([sys.executable, "-m", "dataloader_expert.prompts"], cwd=ROOT / "src", capture_output=True)
    assert done.stdout == (ROOT / "agent.md").read_bytes(), done.stderr


def test_frontmatter_holds_what_claude_code_reads() -> None:
    """Provenance: Claude Code's subagent files; a plain YAML value may hold neither ``: `` nor `` #``."""
    _, head, body = prompts.agent_md().split("---\n", 2)
    fields = dict(re.findall(r"^(\w+): ?(.*)$", head, re.MULTILINE))
    assert list(fields) == ["name", "description", "tools", "mcpServers", "model", "color"]
    assert fields["name"] == "dataloader-expert"
    assert fields["tools"] == "Read, Grep, Glob, mcp__dataloader-expert__*, ListMcpResourcesTool, ReadMcpResourceTool"
    assert (fields["model"], fields["color"]) == ("inherit", "yellow")
    assert "command: dataloader-expert\n      args: [serve]\n" in head
    description = fields["description"]
    assert ": " not in description and " #" not in description
    assert all(f"({n})" in description for n in range(1, 7))
    assert description.count("<example>") == description.count("</example>") == 4
    assert prompts.persona() in body
    assert all(w.text.removeprefix("# ").strip() in body for w in prompts.workflows().values())


def test_each_tool_name_fits_with_a_clients_prefix() -> None:
    """Provenance: clients refuse tool names beyond 64 characters, prefix included."""
    assert max(len(f"mcp__dataloader-expert__{tool}") for tool in TOOLS) <= 64


def test_the_persona_sends_work_to_every_tool() -> None:
    """Our promise: no tool that the persona does not know, none that there is not."""
    assert _tools_named(prompts.persona()) == set(TOOLS)


def test_the_analysis_has_its_sections_in_order() -> None:
    """The card: an analysis has this form."""
    form = prompts.persona().split("````")[1]
    at = [form.index(heading) for heading in SECTIONS]
    assert at == sorted(at)
    for (heading, parts), begin, end in zip(SECTIONS.items(), at, [*at[1:], len(form)], strict=True):
        missing = [part for part in parts if part not in form[begin:end]]
        assert not missing, f"{heading} lacks {missing}"
    assert form.count("- [ ]") == 5


@pytest.mark.parametrize(
    ("section", "points"),
    [("Six groups of questions", 6), ("Ten pitfalls", 10), ("How you work", 8)],
)
def test_a_section_has_all_its_points(section: str, points: int) -> None:
    """The card: six groups of questions, ten pitfalls, eight steps of the approach."""
    text = prompts.persona().split(f"## {section}")[1].split("\n## ")[0]
    assert [int(n) for n in re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)] == list(range(1, points + 1))


def test_there_is_a_workflow_for_each_trigger_in_order() -> None:
    """The card: six triggers; a prompt is named once, by its file."""
    assert list(prompts.workflows()) == list(TRIGGERS)


@pytest.mark.parametrize("name", TRIGGERS)
def test_a_workflow_begins_with_its_tool_and_names_only_tools_that_exist(name: str) -> None:
    """Our promise: each workflow says which tools to call, in which order, and how to read the result."""
    workflow = prompts.workflows()[name]
    called = re.findall(r"[Cc]all `(\w+)`", workflow.text)
    assert called[0] == TRIGGERS[name]
    assert _tools_named(workflow.text) <= set(TOOLS)
    assert workflow.title and 20 < len(workflow.description) < 160
    assert "\nAnswer with" in workflow.text


@pytest.mark.parametrize("name", TRIGGERS)
def test_an_argument_goes_where_its_placeholder_was(name: str) -> None:
    """Our promise: an argument fills its placeholder; template signs in a value stay a value."""
    for argument in prompts.workflows()[name].arguments:
        text = prompts.render(name, **{argument: "data/{{ 7 * 7 }}\nnew line"})
        mark = "" if argument in ("num_workers", "step_ms") else '"'
        assert f"{argument}={mark}data/{{{{ 7 * 7 }}}}\\nnew line{mark}" in text
        assert prompts.render(name, **{argument: None}) == prompts.render(name)


@pytest.mark.parametrize("name", TRIGGERS)
def test_the_arguments_are_those_that_jinja_finds(name: str) -> None:
    """Our promise: listing prompts needs no Jinja, and lists what Jinja would."""
    from jinja2 import Environment, meta

    (path,) = (prompts.HERE / "workflows").glob(f"?_{name}.md")
    found = meta.find_undeclared_variables(Environment().parse(path.read_text(encoding="utf-8")))
    assert found == set(prompts.workflows()[name].arguments)


def test_every_workflow_takes_arguments_and_each_is_described() -> None:
    """Our promise: a person fills a prompt's arguments in from what is said of them, and the source is the first."""
    for workflow in prompts.workflows().values():
        assert len(workflow.arguments) >= 2
        assert set(workflow.arguments) <= set(prompts.ARGUMENTS)
        assert workflow.arguments[0] == "source"
    assert {a for w in prompts.workflows().values() for a in w.arguments} == set(prompts.ARGUMENTS)


def test_listing_the_workflows_loads_no_jinja() -> None:
    """Our promise: a server that lists its prompts stays light."""
    code = "import sys, dataloader_expert.prompts as p; p.workflows(); print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        pytest.param("design_batch", {}, "design_batches", id="an unknown name lists the known"),
        pytest.param("align_with_model", {"modell": "x"}, "source, model", id="an unknown argument too"),
        pytest.param("persona", {"source": "x"}, "none", id="the persona takes none"),
    ],
)
def test_a_wrong_name_is_refused_with_the_right_ones(name: str, arguments: dict[str, str], says: str) -> None:
    """Our promise: an error says what was given, what the rule is, what to do."""
    with pytest.raises(RequestError, match=says) as refused:
        prompts.render(name, **arguments)
    assert refused.value.code == "invalid-argument"


def test_no_template_sign_is_left_anywhere() -> None:
    """Our promise: what a client sees is finished text."""
    assert not re.search(r"{[{%#]|[%#}]}", prompts.agent_md())


def test_generated_code_in_the_persona_parses() -> None:
    """Our promise: what looks like Python is Python."""
    for block in re.findall(r"```python\n(.*?)```", prompts.persona(), re.DOTALL):
        ast.parse(block)


FREE_WORDS = {
    *("pathlib.Path", "model.eval", "print", "forward", "null"),
    *("collate_fn", "drop_last", "timeout", "set_epoch"),
    "distribution",  # the schema leaves the fields of statistics open
}
"""Words of Python and of torch, not of results."""


@pytest.mark.parametrize("name", ["persona", *TRIGGERS])
def test_every_field_and_argument_that_a_prompt_names_is_there(name: str) -> None:
    """Our promise: a renamed field does not live on in the prompts."""
    text = re.sub(r"````.*?````", "", prompts.render(name), flags=re.DOTALL)
    words = {w.replace("[]", "").replace("*.", "") for w in re.findall(r"`([a-z_]+(?:\[\])?(?:\.[a-z_*]+)*)`", text)}
    known = set(TOOLS) | set(TRIGGERS) | FREE_WORDS
    for tool in TOOLS.values():
        known |= _paths(tool.request.model_json_schema()) | _paths(tool.result.model_json_schema())
    missing = {w for w in words if w not in known and not w.startswith("dataloader_expert")}
    assert not missing, f"no result or argument has {sorted(missing)}"


def _paths(schema: dict[str, Any]) -> set[str]:
    """Every field of a result, as a dotted path and by its last word; every closed word of a value."""
    found: set[str] = set()

    def visit(node: Any, path: str) -> None:
        if not isinstance(node, dict):
            return
        if "$ref" in node:
            visit(schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], path)
        found.update(w for w in node.get("enum", ()) if isinstance(w, str))
        for inner in (*node.get("anyOf", ()), node.get("items"), node.get("additionalProperties")):
            visit(inner, path)
        for key, value in node.get("properties", {}).items():
            below = f"{path}.{key}" if path else key
            found.update((below, key))
            visit(value, below)

    visit(schema, "")
    return found


def _tools_named(text: str) -> set[str]:
    verbs = "characterize|recommend|diagnose|check|suggest|analyze|audit|compare"
    return set(re.findall(rf"`((?:{verbs})_\w+)`", text)) - set(TRIGGERS)
