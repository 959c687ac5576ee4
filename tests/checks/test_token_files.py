"""Files of token ids: where nothing is said, and where something is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dataloader_expert.sources.vocabulary import Vocabulary
from tests.checks.looking import Data, judged

WIDTH, WINDOWS, END = 256, 240, 50_256
draw = np.random.default_rng(41)


def documents(n: int, separated: bool = True, framed: int = 0, length: int = 300) -> Any:
    """So many tokens of documents, whose ids are the smaller the more frequent; perhaps all of them begin with the same tokens."""
    head = np.minimum(draw.zipf(1.3, framed), 40_000) if framed else np.zeros(0, np.int64)
    made: list[Any] = []
    while sum(map(len, made)) < n:
        made.append(
            np.r_[head, np.minimum(draw.zipf(1.3, int(draw.integers(length // 2, length))), 40_000), [END] * separated]
        )
    return np.concatenate(made)[:n]


TRAIN, VAL = documents(WINDOWS * WIDTH), documents(WINDOWS * WIDTH // 2)


def files(train: Any = TRAIN, val: Any = VAL, end: int | None = END) -> Data:
    ids = np.concatenate([train, val]).reshape(-1, WIDTH).astype(np.uint16)
    splits = ["train"] * (len(train) // WIDTH) + ["val"] * (len(val) // WIDTH)
    return Data({"tokens": ids}, splits=splits, kinds={"tokens": "tokens"}, context={"vocabulary": Vocabulary(end=end)})


def again(times: int) -> Any:
    """Training with one document written so many times."""
    one = np.r_[np.minimum(draw.zipf(1.3, 299), 40_000), END]
    return np.concatenate([TRAIN, np.tile(one, times)])[: (len(TRAIN) + 300 * times) // WIDTH * WIDTH]


ZEROS = np.where(np.arange(len(TRAIN)) < 0.8 * len(TRAIN), TRAIN, 0)
SILENT = {
    "documents": files(),
    "files of one document each": files(
        documents(WINDOWS * WIDTH, False), documents(WINDOWS * WIDTH // 2, False), None
    ),
    "other documents, three times as long": files(val=documents(WINDOWS * WIDTH // 2, length=900)),
    "documents that all begin alike": files(
        documents(WINDOWS * WIDTH, framed=80), documents(WINDOWS * WIDTH // 2, framed=80)
    ),
    "a document that stands twice": files(again(2)),
    "two files of the same licence": files(np.concatenate([TRAIN[:3_000], TRAIN])[: len(TRAIN)]),
}
SPEAKS = {
    "a file of 32-bit tokens": (
        files(np.stack([TRAIN, np.zeros_like(TRAIN)], 1).reshape(-1)[: len(TRAIN)]),
        "header-mismatch",
        "error",
    ),
    "a stretch that was written again": (
        files(np.concatenate([TRAIN, TRAIN[10_000:30_000]])[: (len(TRAIN) + 20_000) // WIDTH * WIDTH]),
        "near-duplicates",
        "warning",
    ),
    "a file without separators": (
        files(val=documents(WINDOWS * WIDTH // 2, False)),
        "preprocessing-differs",
        "warning",
    ),
    "a tail of zeros": (files(ZEROS), "truncated", "warning"),
    "a file in the other byte order": (files(val=VAL.astype(np.uint16).byteswap()), "header-mismatch", "error"),
    "a document again and again": (files(again(60)), "near-duplicates", "warning"),
}


def test_separators_are_known_without_a_file_that_names_them() -> None:
    """Seen: validation without a single end-of-text token beside training with one every 370, and nothing was said."""
    found = judged("token_files", files(val=documents(WINDOWS * WIDTH // 2, False), end=None))["preprocessing-differs"]
    assert "token 50256" in found.message


def test_what_is_read_in_the_other_byte_order_is_not_the_tokenizers_fault() -> None:
    vocabulary = Vocabulary(size=END + 1)
    data = files(val=VAL.astype(np.uint16).byteswap())
    found = judged(
        "tokens", Data(data.columns, splits=data.splits, kinds=data.kinds, context={"vocabulary": vocabulary})
    )
    assert "byte order" in found["out-of-range-ids"].fix


def test_a_stretch_that_stands_twice_is_told_with_its_length_and_places() -> None:
    """Our promise: to a hundred tokens or so, though the copy begins within a window."""
    found = judged("token_files", SPEAKS["a stretch that was written again"][0])["near-duplicates"]
    told = [
        int(n.replace(",", ""))
        for n in re.findall(r"about ([\d,]+) tokens|from token ([\d,]+)", found.message)
        for n in n
        if n
    ]
    length, first, _ = told
    assert abs(length - 20_000) <= 200
    assert abs(first - 10_000) <= 150


def test_another_tokenizer_is_told_as_such() -> None:
    """Seen: a token that is merely frequent in training, told as one that ends documents and is missing in validation."""
    numbered = np.random.default_rng(4).permutation(40_001)
    renumbered = np.where(VAL == END, END, numbered[np.minimum(VAL, 40_000)])
    told = judged("token_files", files(val=renumbered))
    assert [*told] == ["preprocessing-differs"]
    assert "another tokenizer" in told["preprocessing-differs"].message
    assert "ends a document" not in told["preprocessing-differs"].message
