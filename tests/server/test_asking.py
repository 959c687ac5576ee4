"""Questions that decide the answer: asked where they can be, a named guess where they cannot; and what a client may complete."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.types import ElicitResult, PromptReference, ResourceTemplateReference

from dataloader_expert.server.app import build
from dataloader_expert.server.asking import question
from dataloader_expert.server.looking import Look
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.execution import Settings
from tests.making.tiny import TINY

pytestmark = pytest.mark.journey

eras = pytest.mark.parametrize("era", ["auto", "legacy"])
LOADING = """
import torch


class Pairs(torch.utils.data.Dataset):
    pass


class Net(torch.nn.Module):
    pass


def make_loader():
    return None
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with two columns that may be the label, pictures in splits of which none is called train, and a module."""
    root = tmp_path_factory.mktemp("asking")
    rows = "".join(f"{i / 7},{'xy'[i % 2]},{'pqr'[i % 3]}\n" for i in range(300))
    (root / "t.csv").write_text(f"c,a,b\n{rows}", encoding="utf-8")
    (root / "pictures").mkdir()
    TINY["image-folder"](root / "pictures")
    (root / "pictures" / "train").rename(root / "pictures" / "dev")
    (root / "loading.py").write_text(LOADING, encoding="utf-8")
    return root


def asking(root: Path, era: Any, answer: ElicitResult | None, source: str, **arguments: Any) -> tuple[Any, list[Any]]:
    """The result of characterize_dataset, and the questions that were put; ``answer`` None: a client without forms."""
    put: list[Any] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        put.append(params)
        assert answer is not None
        return answer

    async def drive() -> Any:
        more: dict[str, Any] = {"elicitation_callback": elicit} if answer is not None else {}
        async with Client(build(Settings((str(root),))), mode=era, **more) as client:
            given = {"source": str(root / source), "budget_s": 12, **arguments}
            result = await client.call_tool("characterize_dataset", given)
            assert not result.is_error, result.content
            return result.structured_content

    return asyncio.run(drive()), put


@eras
def test_the_label_is_asked_for_and_the_answer_counts(root: Path, era: Literal["auto", "legacy"]) -> None:
    """Our promise: two columns may be the label, the user says which; the guess is what the form proposes."""
    told, (put,) = asking(root, era, ElicitResult(action="accept", content={"label": "a"}), "t.csv")
    assert told["classes"]["label"] == "a"
    label = put.requested_schema["properties"]["label"]
    assert (label["enum"], label["default"]) == (["a", "b"], "b")
    assert "which field is the label" in put.message


@pytest.mark.parametrize(
    "answer",
    [None, ElicitResult(action="decline"), ElicitResult(action="cancel")],
    ids=["no forms", "declined", "closed"],
)
def test_without_an_answer_the_guess_stands(root: Path, answer: ElicitResult | None) -> None:
    """Our promise: a client without forms, or a user who does not answer, gets the result with the guess."""
    told, put = asking(root, "auto", answer, "t.csv")
    assert told["classes"]["label"] == "b"
    assert len(put) == (answer is not None)


def test_the_training_split_is_asked_for(root: Path) -> None:
    """Our promise: where no split is called train, the user says which is, and statistics for normalization are its own."""
    told, (put,) = asking(root, "auto", ElicitResult(action="accept", content={"train_split": "dev"}), "pictures")
    assert put.requested_schema["properties"]["train_split"]["enum"] == ["dev", "test"]
    assert {s["name"] for s in told["splits"]} == {"train", "test"}
    assert "train" in told["normalization"]["computed_on"]
    named, _ = asking(root, "auto", None, "pictures", train_split="dev")
    assert named["splits"] == told["splits"]


def test_what_is_sure_or_said_is_not_asked() -> None:
    """Our promise: one question at the most, and none whose answer is known or decides nothing."""
    tools = all_tools()

    def asked(tool: str, look: Look, **given: Any) -> set[str]:
        found = question(tools[tool], tools[tool].request.model_validate({"source": "x", **given}), look)
        return set() if found is None else set(found.schema.model_fields)

    unsure = Look("csv", ("a", "b"), ("a", "b"), "a", False, {"dev": 3, "test": 2})
    assert asked("check_quality", unsure) == {"label", "train_split"}
    assert asked("check_quality", unsure, label="b") == {"train_split"}
    assert asked("check_quality", unsure, split="dev", label="b") == set()
    assert asked("diagnose_io", unsure, train_split="dev") == set()
    assert asked("check_quality", Look("csv", ("a", "b"), ("a", "b"), "a", True, {"train": 3, "test": 2})) == set()
    assert asked("check_quality", Look("csv", ("a",), ("a",), None, False, {})) == set()


@pytest.mark.parametrize(
    ("argument", "value", "known", "expected"),
    [
        pytest.param("format", "p", {}, ["parquet", "pt"], id="formats"),
        pytest.param("label", "", {"source": "t.csv"}, ["b", "c", "a"], id="fields, the label first"),
        pytest.param("train_split", "", {"source": "pictures"}, ["dev", "test"], id="splits"),
        pytest.param("source", "t", {}, ["t.csv"], id="paths"),
        pytest.param(
            "source", "loading", {}, ["loading.py:Pairs", "loading.py:make_loader", "loading.py"], id="references"
        ),
        pytest.param("model", "", {}, ["loading.py:Net"], id="models"),
        pytest.param("source", "/etc/", {}, [], id="nothing outside the roots"),
        pytest.param("label", "", {"source": "nowhere.csv"}, [], id="no such source"),
        pytest.param("step_ms", "", {}, [], id="a number"),
    ],
)
def test_arguments_of_prompts_are_completed(
    root: Path, argument: str, value: str, known: dict[str, str], expected: list[str]
) -> None:
    """Our promise: formats, splits, labels, paths and references, from what is there; nothing of the user's is run."""

    async def drive() -> list[str]:
        async with Client(build(Settings((str(root),)))) as client:
            ref = PromptReference(name="align_with_model")
            given = {k: str(root / v) if k == "source" else v for k, v in known.items()}
            found = await client.complete(ref, {"name": argument, "value": value}, context_arguments=given)
            return found.completion.values

    assert asyncio.run(drive()) == expected


def test_reports_are_completed_the_newest_first(root: Path) -> None:
    """Our promise: the ids of kept reports, for the resource template."""

    async def drive() -> None:
        async with Client(build(Settings((str(root),)))) as client:
            ids = []
            for _ in range(2):
                result = await client.call_tool("characterize_dataset", {"source": str(root / "t.csv")})
                ids.append((result.structured_content or {})["report_uri"].removeprefix("report://"))
            ref = ResourceTemplateReference(uri="report://{id}")
            found = await client.complete(ref, {"name": "id", "value": ""})
            assert found.completion.values == ids[::-1]

    asyncio.run(drive())
