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
    count: Annotated[int, Field(ge=2)] | None = Field(None, description="how many")
    seconds: float | None = 30
    kind: Literal["a", "b"] | None = None
    more: dict[str, Any] = Field(default_factory=dict)
    either: int | str | None = None


class Sayings(BaseModel):
    workers: int = Field(1, ge=0)
    kind: Literal["a", "b"] = "a"
    other: Literal["a", "b"] = "b"
    on: bool = True
    share: float = Field(0.1, ge=0, lt=1)


class Told(BaseModel):
    first: Inner
    second: Inner | None


class Pair(BaseModel):
    one: int | None = None
    two: float | None = None


class Numbers(BaseModel):
    inner: Pair | None = Field(None, description="some")


def test_an_argument_that_may_be_null_is_one_that_may_be_left_out() -> None:
    """Our promise: one type, its bounds and description; null and the default null are gone."""
    properties = schemas.arguments(Given.model_json_schema())["properties"]
    assert properties["count"] == {"type": "integer", "minimum": 2, "description": "how many"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["more"] == {"type": "object"}


def test_null_is_not_listed_where_there_is_one_other_type() -> None:
    """Our promise: clients see one type and the default; null is accepted all the same."""
    properties = schemas.arguments(Given.model_json_schema())["properties"]
    assert properties["seconds"] == {"type": "number", "default": 30}
    assert {"type": "null"} in properties["either"]["anyOf"]
    assert all_tools()["diagnose_io"].request.model_validate({"source": "x", "budget_s": None}).budget_s is None


def test_a_mapping_to_numbers_is_told_in_words() -> None:
    """Our promise: the names of optional numbers are listed once, and others are still refused."""
    diagnose = all_tools()["diagnose_io"].request
    what_if = schemas.arguments(diagnose.model_json_schema())["properties"]["what_if"]
    assert what_if.keys() == {"type", "description"}  # one of them may be a list
    listed = "cpus, devices, loaders, step_ms, storage_mb_s, storage_latency_ms, num_workers (or a list)"
    assert what_if["description"].endswith(listed)
    assert schemas.arguments(Numbers.model_json_schema())["properties"]["inner"] == {
        "type": "object",
        "additionalProperties": {"type": "number"},
        "description": "some: one, two",
    }
    with pytest.raises(ValueError, match="Extra inputs"):
        diagnose.model_validate({"source": "x", "what_if": {"cpu": 2}})
    for given in ({"num_workers": -1}, {"num_workers": [300]}, {"num_workers": list(range(20))}):
        with pytest.raises(ValueError, match="num_workers"):
            diagnose.model_validate({"source": "x", "what_if": given})


def test_a_definition_used_once_stands_in_its_place() -> None:
    """Our promise: nothing to look up where nothing is shared; a field named title is no title."""
    slim = schemas.arguments(Given.model_json_schema())
    assert "$defs" not in slim
    once = slim["properties"]["once"]
    assert once["description"] == "a nested one"
    assert set(once["properties"]) == {"title", "n"}
    assert once["properties"]["n"] == {"type": "integer"}


def test_what_goes_without_saying_is_left_out() -> None:
    """Our promise: a default of 0, 1 or an enumeration's first, and a lower bound of 0 or 1; others are said."""
    properties = schemas.arguments(Sayings.model_json_schema())["properties"]
    assert properties["workers"] == {"type": "integer"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert properties["other"] == {"type": "string", "enum": ["a", "b"], "default": "b"}
    assert properties["on"] == {"type": "boolean", "default": True}
    assert properties["share"] == {"type": "number", "default": 0.1, "exclusiveMaximum": 1}


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
    assert slim.get("required", []) == ([] if name == "recommend_batch_spec" else ["source"])  # or input


def test_the_shipped_output_schemas_are_those_of_the_result_models() -> None:
    """Our promise: ``python -m dataloader_expert.server.schemas`` makes them anew where a result model changes."""
    assert schemas.results() == schemas.made()
