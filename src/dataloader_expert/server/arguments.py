"""What is wrong with the arguments of a tool, in words: the same for a client and at a terminal."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, get_args

from dataloader_expert.errors import escaped

if TYPE_CHECKING:
    from pydantic import ValidationError

    from dataloader_expert.tools.base import Request


def invalid(model: type[Request], arguments: dict[str, Any]) -> str | None:
    """What is wrong with the arguments; None if they are valid."""
    from pydantic import ValidationError

    known = list(model.model_fields)
    for name in arguments:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            return f"{escaped(name)} is not an argument; {hint}"
    try:
        model.model_validate(arguments)
    except ValidationError as e:
        return in_words(e, model)
    return None


def in_words(error: ValidationError, model: type[Request]) -> str:
    """The first thing that is wrong."""
    first = error.errors()[0]
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # several arguments that do not go together
        return said
    name = ".".join(map(str, first["loc"]))
    field = model.model_fields.get(str(first["loc"][0]))
    if first["type"] == "missing" and field is not None:
        return f"{name} is missing; give a {field.description}"
    if first["type"] == "extra_forbidden" and len(first["loc"]) > 1 and field is not None:
        known = next((list(k.model_fields) for k in get_args(field.annotation) if hasattr(k, "model_fields")), [])
        near = difflib.get_close_matches(str(first["loc"][-1]), known, 1)
        return f"{name} is not known; " + (f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}")
    return f"{name}: {said[:1].lower()}{said[1:]}; given: {escaped(first.get('input'), 60)}"
