"""Questions whose answer decides the result, asked if the client can show them: which label, which training split.

Nothing depends on an answer: if the client cannot ask, or the user does not answer, the label is the guess, which the result
marks as one, and the largest split is not taken for the training split.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel, Field, create_model

from dataloader_expert.errors import escaped
from dataloader_expert.server.looking import Look
from dataloader_expert.tools.base import Request, Tool

MOST_CHOICES = 30
NO_LABEL_NEEDED = ("diagnose_io", "recommend_batch_spec")


class Answers(BaseModel):
    """Nothing was asked; the form of a question is its own model."""


def can_ask(ctx: Context[Any]) -> bool:
    """Whether the client shows forms: it declares that, or declares elicitation without a mode, which means forms."""
    capabilities = ctx.client_capabilities
    asked = capabilities.elicitation if capabilities is not None else None
    return asked is not None and (asked.form is not None or asked.url is None)


def question(tool: Tool, request: Request, look: Look) -> Elicit[Any] | None:
    """One form with every open question; None if there is none."""
    fields: dict[str, Any] = {}
    told: list[str] = []
    if request.label is None and not look.sure and tool.name not in NO_LABEL_NEEDED:
        choices = look.candidates[:MOST_CHOICES]
        if len(choices) > 1:
            fields["label"] = _choice("Label", "The field that holds the label", choices, look.label)
            guess = escaped(look.label) if look.label else "none"
            told.append(f"which field is the label (default: {guess})")
    named = list(look.splits)
    if request.split is None and request.train_split is None and len(named) > 1 and "train" not in named:
        fields["train_split"] = _choice("Training split", "The split used for training", named[:MOST_CHOICES], None)
        told.append("which split is for training (default: none)")
    if not fields:
        return None
    form = create_model("Answers", **fields)
    return Elicit(f"About {escaped(request.source)}: {', and '.join(told)}?", form)


def _choice(title: str, description: str, choices: Any, default: str | None) -> Any:
    """An optional choice among texts."""
    return (Literal[tuple(choices)] | None, Field(default=default, title=title, description=description))


Look_ = Callable[[Request, Context[Any]], Awaitable[Look | None]]


def asked(tool: Tool, look: Look_) -> Any:
    """The type of a parameter for the user's answers: the SDK asks before it calls the tool."""

    async def ask(
        ctx: Context[Any],
        source: str,
        source_args: dict[str, Any],
        format: str | None,
        split: str | None,
        train_split: str | None,
        label: str | None,
    ) -> Answers | Elicit[Any]:
        if not can_ask(ctx):
            return Answers()
        request = Request.model_validate(
            {
                "source": source,
                "source_args": source_args,
                "format": format,
                "split": split,
                "train_split": train_split,
                "label": label,
            }
        )
        found = await look(request, ctx)
        return (None if found is None else question(tool, request, found)) or Answers()

    return Annotated[ElicitationResult[Any], Resolve(ask)]


def with_answers(arguments: dict[str, Any], answers: ElicitationResult[Any]) -> dict[str, Any]:
    """The arguments with the user's answers; unchanged if the user declined."""
    if not isinstance(answers, AcceptedElicitation):
        return arguments
    given = answers.data.model_dump(exclude_none=True)
    return {**arguments, **given}
