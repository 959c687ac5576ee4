"""Persona and workflows: text files, read here. They tell a client's model what to measure and how to say it.

Listing them needs no Jinja; rendering imports it. Workflows are the files of a folder, numbered in the order of the
persona's triggers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dataloader_expert.errors import RequestError, escaped

HERE = Path(__file__).parent


ARGUMENTS = {
    "source": "folder, file, glob, or file.py:name of a Dataset, DataLoader or function",
    "format": "format of the files, if the guess is wrong",
    "label": "field that holds the label",
    "split": "split to look at",
    "group": "field whose values must not be in two splits, such as patient",
    "model": "reference to a torch.nn.Module, file.py:name",
    "num_workers": "num_workers of the present loader",
    "step_ms": "milliseconds per training step",
}
"""Descriptions of the workflows' arguments, all of which are optional."""


@dataclass(frozen=True)
class Workflow:
    """The workflow for one trigger; its file begins with title and description."""

    name: str
    title: str
    description: str
    arguments: tuple[str, ...]

    @property
    def text(self) -> str:
        return render(self.name)


def persona(context: Sequence[str] = ()) -> str:
    """The persona; ``context``: lines about the user's project, which have their own slot."""
    return _filled("persona", {"context": tuple(context)})


def workflows() -> dict[str, Workflow]:
    found = {}
    for name, path in _files().items():
        if path.parent != HERE:
            title, description, body = path.read_text(encoding="utf-8").split("\n\n", 2)
            arguments = tuple(dict.fromkeys(re.findall(r"{{ (\w+)", body)))
            found[name] = Workflow(name, title.removeprefix("# "), " ".join(description.split()), arguments)
    return found


def render(name: str, **args: object) -> str:
    """The persona, a workflow, or the agent file, as a client sees it; omitted arguments get a placeholder.

    Raises:
        RequestError: ``invalid-argument`` for an unknown name or argument.
    """
    files, known = _files(), workflows()
    if name not in files:
        there = ", ".join(files)
        raise RequestError("invalid-argument", f"prompt {escaped(name)} is unknown; prompts are: {there}")
    taken = known[name].arguments if name in known else ()
    for wrong in set(args) - set(taken):
        there = ", ".join(taken) or "none"
        raise RequestError("invalid-argument", f"prompt {name} does not take {escaped(wrong)}; it takes {there}")
    return _filled(name, {a: escaped(v, 400) for a, v in args.items() if v not in (None, "")})


def _filled(name: str, given: dict[str, object]) -> str:
    from jinja2 import Environment, StrictUndefined

    env = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    template = env.from_string(_files()[name].read_text(encoding="utf-8"))
    agent = {"prefix": TOOL_PREFIX["file"], "brings_server": True}
    return template.render({"context": (), **agent, **given}, persona=persona, workflows=workflows())


AgentForm = Literal["file", "installed", "plugin"]
TOOL_PREFIX: dict[AgentForm, str] = {
    "file": "mcp__dataloader-expert__",
    "installed": "mcp__dataloader-expert__",
    "plugin": "mcp__plugin_dataloader-expert_dle__",  # the server's short name: a tool name has at most 64 characters
}
"""Claude Code's prefix of a tool's name."""


def agent_md(form: AgentForm = "file") -> str:
    """The Claude Code subagent: frontmatter, persona, workflows.

    Args:
        form: ``file`` includes its server; ``installed`` uses the one in the client's configuration, ``plugin`` that of the
            plugin, whose tools have other names.
    """
    return _filled("agent", {"prefix": TOOL_PREFIX[form], "brings_server": form == "file"})


def _files() -> dict[str, Path]:
    found = {name: HERE / f"{name}.md" for name in ("persona", "agent")}
    found.update({p.stem.split("_", 1)[1]: p for p in sorted((HERE / "workflows").glob("*.md"))})
    return found
