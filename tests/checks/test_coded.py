"""Texts that a file stores once each: every check says of them what it says of plain texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.base import Context
from dataloader_expert.sources.base import Block, Column
from tests.checks.looking import Data, blocks_of, context_of, looked

TEXTS = ["red", "Red", "green", "blue ", "", "a longer text, of several words"]


def coded(column: Column) -> Column:
    """The column with codes of its texts, and one text that does not occur."""
    texts = ["not used", *dict.fromkeys(column.values)]
    codes = np.array([texts.index(v) for v in column.values], np.int32)
    return replace(column, coded=(codes, texts))


def said(context: Context, blocks: list[Block]) -> dict[str, Any]:
    return {n: [fact.to_json() for fact in c.facts()] for n, c in looked(context, blocks).items()}


@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from([*TEXTS, None]), st.integers(0, 2)), min_size=2, max_size=80), st.booleans())
def test_the_checks_say_the_same(rows: list[tuple[str | None, int]], split: bool) -> None:
    """Our promise: how texts are stored changes nothing that is said of them."""
    words = [text for text, _ in rows]
    nulls = {"word": [text is None for text in words]} if None in words else {}
    splits: Any = ["train" if i % 3 else "val" for i in range(len(rows))] if split else ""
    numbers = np.array([n for _, n in rows])
    data = Data({"word": words, "n": numbers}, None, splits, kinds={"word": "category"}, nulls=nulls)
    plain, shared = blocks_of(data), blocks_of(data)
    for block in shared:
        block.columns["word"] = coded(block.columns["word"])
    assert said(context_of(data), shared) == said(context_of(data), plain)
