"""Schemas lose what says nothing and keep what they mean."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from dataloader_expert.server import schemas
from dataloader_expert.tools.base import all_tools


class Inner(BaseModel):
    """Stays."""

    title: str | None = None
    n: int = Field(0, title="N")


class Given(BaseModel):
    once: Inner | None = Field(None, description="a nested one")
    count: Annotated[int, Field(ge=1)] | None = Field(None, description="how many")
    seconds: float | None = 30
    kind: Literal["a", "b"] | None = None
    more: dict[str, Any] = Field(default_factory=dict)
    either: int | str | None = None


class Told(BaseModel):
    first: Inner
    second: Inner | None


def test_an_argument_that_may_be_null_is_one_that_may_be_left_out() -> None:
    """Our promise: one type, its bounds and description; null and the default null are gone."""
    properties = schemas.arguments(Given.model_json_schema())["properties"]
    assert properties["count"] == {"type": "integer", "minimum": 1, "description": "how many"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["more"] == {"type": "object"}


def test_a_null_that_means_something_stays() -> None:
    """Our promise: where null is not the default a client may still say it."""
    properties = schemas.arguments(Given.model_json_schema())["properties"]
    assert properties["seconds"] == {"anyOf": [{"type": "number"}, {"type": "null"}], "default": 30}
    assert {"type": "null"} in properties["either"]["anyOf"]


def test_a_definition_used_once_stands_in_its_place() -> None:
    """Our promise: nothing to look up where nothing is shared; a field named title is no title."""
    slim = schemas.arguments(Given.model_json_schema())
    assert "$defs" not in slim
    once = slim["properties"]["once"]
    assert once["description"] == "a nested one"
    assert set(once["properties"]) == {"title", "n"}
    assert once["properties"]["n"] == {"type": "integer", "default": 0}


def test_a_definition_used_twice_is_shared() -> None:
    """Our promise: results say what may be null, and shared parts are said once."""
    slim = schemas.result(Told.model_json_schema())
    assert set(slim["$defs"]) == {"Inner"}
    assert slim["properties"]["first"] == {"$ref": "#/$defs/Inner"}
    assert slim["properties"]["second"] == {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}]}
    assert slim["required"] == ["first", "second"]


@pytest.mark.parametrize("name", all_tools())
def test_no_argument_and_no_requirement_is_lost(name: str) -> None:
    """Our promise: every argument of the request is in the schema, none more."""
    model = all_tools()[name].request
    slim = schemas.arguments(model.model_json_schema())
    assert list(slim["properties"]) == list(model.model_fields)
    assert slim["required"] == ["source"]
