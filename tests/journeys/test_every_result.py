"""Every tool over stdio on real data of many kinds: each result is what the listed schema says, within its size."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pytest
from mcp import Client

from dataloader_expert.advice.causes import ALIKE_FROM
from dataloader_expert.tools.base import all_tools
from dataloader_expert.tools.rendering import MOST
from tests.driving import stdio
from tests.making.shared import shared
from tests.making.tiny import TINY

KINDS = ("image-folder", "npz, ragged by offsets", "csv", "jsonl, texts", "parquet, images inside", "audio-folder")
REAL = ("images/clothing_cc0", "tabular/titanic/titanic.csv", "arrays/digits/csv")
"""Of the shared data sets, where they are: pictures, a table with missing values and one with many columns."""


def wide(folder: Path) -> None:
    """A table of 150 columns with long names and values missing in each: every list of a result is long."""
    rng = np.random.default_rng(0)
    names = [f"a column with quite a long name, number {i}" for i in range(150)]
    rows = [",".join("" if rng.random() < 0.1 else f"{v:.6f}" for v in rng.normal(size=150)) for _ in range(120)]
    header = ",".join(f'"{name}"' for name in names)
    (folder / "wide.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], tuple[Any, Any]]:
    """By data, tool and detail: the result and the tool's listed schema."""
    root = tmp_path_factory.mktemp("every")
    places = {kind: root / str(i) for i, kind in enumerate((*KINDS, "wide"))}
    for kind, place in places.items():
        place.mkdir()
        (wide if kind == "wide" else TINY[kind])(place)
    roots = ["--root", str(root)]
    data = shared()
    if data is not None:
        places |= {name: data / name for name in REAL}
        roots += ["--root", str(data)]
    got: dict[tuple[str, str, str], tuple[Any, Any]] = {}

    async def drive() -> None:
        async with Client(stdio(root / "mark", *roots)) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            for kind, place in places.items():
                for name, tool in listed.items():
                    for detail in ("concise", "full") if kind == "wide" else ("concise",):
                        arguments = {"source": str(place), "budget_s": 8 if kind in REAL else 4, "detail": detail}
                        result = await client.call_tool(name, arguments, read_timeout_seconds=60)
                        got[kind, name, detail] = result, tool.output_schema

    asyncio.run(drive())
    return got


def structured(results: dict[tuple[str, str, str], tuple[Any, Any]]) -> Iterator[tuple[tuple[str, str, str], Any, Any]]:
    for key, (result, schema) in results.items():
        assert not result.is_error, (key, result.content)
        yield key, result, schema


def test_every_result_is_what_the_schema_says(results: dict[tuple[str, str, str], tuple[Any, Any]]) -> None:
    """Our promise: each tool's result on each kind of data validates against the schema that it lists."""
    assert {name for _, name, _ in results} == set(all_tools())
    for key, result, schema in structured(results):
        errors = [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(result.structured_content)]
        assert not errors, (key, errors[:3])
        (block,) = (b for b in result.content if b.type == "text")
        assert block.text == result.structured_content["report_markdown"], key


def test_every_result_keeps_to_its_size(results: dict[tuple[str, str, str], tuple[Any, Any]]) -> None:
    """The contract: 12,000 characters, 24,000 for the whole analysis; and nothing that a client would put aside."""
    for key, result, _ in structured(results):
        _, name, detail = key
        size = len(json.dumps(result.structured_content, ensure_ascii=False))
        limit = MOST if detail == "full" else 24_000 if name == "analyze_dataset" else 12_000
        assert size <= limit, (key, size)


def test_what_is_shortened_is_of_the_least_worth(results: dict[tuple[str, str, str], tuple[Any, Any]]) -> None:
    """Our promise: the verdict, its findings and cures, where the time goes and what is not known are kept before the
    rest, the Markdown is whole, and what was cut says how to get it."""
    for key, result, _ in structured(results):
        told = result.structured_content
        cut = told["shortened"]
        assert bool(cut) == (told["rest"] is not None), key
        if cut and key[2] == "concise":
            assert 'detail="full"' in told["rest"] and told["report_uri"] in told["rest"], key
            assert told["rest"] in told["report_markdown"], key
        assert told["report_markdown"].startswith("##") and "\n…\n" not in told["report_markdown"], key
        if "unknowns" in cut:
            assert "findings" in cut or len(told["findings"]) <= 2, (key, cut)
        loading = told.get("io", told)
        if "stages" in loading:
            prefix = "io." if "io" in told else ""
            assert f"{prefix}stages" not in cut, (key, cut)
            assert cut.get(f"{prefix}hotspots", {"shown": 5})["shown"] >= 5, (key, cut)
        if "findings" in cut:  # those that differ by field are told as one before any is left out
            assert max(Counter(f["code"] for f in told["findings"]).values()) < ALIKE_FROM, key
