"""Where the checks of tokens, and of the tags and spans of words, say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataloader_expert.sources.vocabulary import Vocabulary
from tests.checks import test_shifted_words, test_token_files, test_token_tags
from tests.checks.judgements.common import tagged
from tests.checks.looking import Data, first_rows, one_a_code


def zipfian(ids: Any, seed: int = 0, rows: int = 400, topic: float = 0.0) -> list[Any]:
    """Sequences of tokens, framed by 0 and 1, whose frequencies fall with their rank; ``ids``: the id of each rank."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(3, len(ids) + 3) ** 1.1
    shares = shares * np.exp(topic * rng.normal(0, 1, len(ids)))
    return [np.r_[0, ids[rng.choice(len(ids), 30, p=shares / shares.sum())], 1] for _ in range(rows)]


def few(ids: Any, seed: int) -> list[Any]:
    """Twenty sequences of a thousand tokens."""
    whole = np.concatenate([row[1:-1] for row in zipfian(ids, seed, 667)])
    return list(whole[:20_000].reshape(20, -1))


def tokenized(test: list[Any], train: list[Any] | None = None) -> Data:
    train = zipfian(IDS, 1) if train is None else train
    return Data(
        {"input_ids": [*train, *test]},
        splits=["train"] * len(train) + ["test"] * len(test),
        kinds={"input_ids": "tokens"},
    )


IDS = 10 + np.random.default_rng(9).permutation(900)


def offsets(counted: Callable[[str, int], int]) -> Data:
    """Spans of texts with letters of two bytes and of two UTF-16 units, a third of them counted otherwise."""
    texts = [f"\u00e9t\u00e9 \U0001f989 {i} the owl met a gnu" for i in range(60)]
    ends = [(text.index("owl"), text.index("owl") + 3) for text in texts]
    spans = [
        [[*(counted(text, at) for at in end), "bird"] if i % 3 == 0 else [*end, "bird"]]
        for i, (text, end) in enumerate(zip(texts, ends, strict=True))
    ]
    return Data({"text": texts, "spans": spans}, kinds={"text": "text", "spans": "other"})


def answers(late: Callable[[int], bool]) -> Data:
    """Answers in texts with letters of two bytes, as in SQuAD, some of which begin a character late."""
    texts = ["\u00e9" * (i % 3) + f"the owl {i} met a gnu" for i in range(60)]
    starts = [text.index("owl") + late(i) for i, text in enumerate(texts)]
    values = [{"text": [f"owl {i}"], "answer_start": [start]} for i, start in enumerate(starts)]
    return Data({"text": texts, "answers": values}, kinds={"text": "text", "answers": "other"})


def tokens(*rows: list[int], dtype: Any = np.int64, size: int = 50) -> Data:
    held = [np.array(r, dtype) for r in rows]
    vocabulary = Vocabulary(size, 0, 20)
    return Data({"input_ids": held}, kinds={"input_ids": "tokens"}, context={"vocabulary": vocabulary})


SILENT: dict[str, dict[str, Any]] = {
    "token_files": test_token_files.SILENT,
    "shifted_words": first_rows(test_shifted_words.SILENT),
    "token_tags": first_rows(test_token_tags.SILENT),
    "tokens": {
        "ids within the vocabulary": tokens([1, 2, 3], [4, 49]),
        "padding at the end": tokens([1, 2, 0, 0], [4, 5, 6, 0]),
        "a dtype that holds all ids": tokens([1, 2, 3], [4], dtype=np.uint16, size=65_536),
        "padding at the front": tokens([0, 0, 1, 2], [0, 4, 5, 6]),
        "padding to the longest": tokens([1, 2, *[0] * 30], [4, 5, *[0] * 30]),
    },
    "token_maps": {
        "the same tokens": tokenized(zipfian(IDS, 2)),
        "another topic": tokenized(zipfian(IDS, 2, topic=0.7)),
        "a small test split": tokenized(zipfian(IDS, 2, 40)),
        "few long sequences": tokenized(few(IDS, 2), few(IDS, 1)),
    },
    "spans": {
        "two that cut words, as parts of compounds": tagged((4, 5), (18, 20)),
        "seconds of a recording": Data(
            {
                "text": [f"so {'well ' * (i % 7)}that is {i}" for i in range(60)],
                "parts": [[{"start": 3 * i % 17, "end": 3 * i % 17 + 4 + i % 9}] for i in range(60)],
            },
            kinds={"text": "text", "parts": "other"},
        ),
        "triples of numbers and a name": Data(
            {
                "text": [f"the {i} gnus" for i in range(60)],
                "parts": [[[i, 2 * i, "ml"], [7, i, "kg"]] for i in range(60)],
            },
            kinds={"text": "text", "parts": "other"},
        ),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "token_tags": one_a_code(
        {name: (data, code, "warning") for name, (data, code, _) in test_token_tags.SPEAKS.items()}
    ),
    "shifted_words": one_a_code(test_shifted_words.SPEAKS),
    "token_files": test_token_files.SPEAKS,
    "tokens": {
        "an id beyond the vocabulary": (tokens([1, 2, 3], [4, 99]), "out-of-range-ids", "error"),
        "an id beyond it in one stream": (
            Data(
                {"data": np.append(np.arange(60) % 9, 99)},
                context={"vocabulary": Vocabulary(10, None, None, "as asked")},
            ),
            "out-of-range-ids",
            "error",
        ),
        "a negative id": (tokens([1, 2, 3], [4, -5]), "out-of-range-ids", "error"),
        "a sequence beyond the model": (tokens([1, 2, 3], [4] * 30), "too-long", "warning"),
        "no token": (tokens([1, 2, 3], []), "empty-sequence", "warning"),
        "nothing but padding": (tokens([1, 2, 3], [0, 0]), "empty-sequence", "warning"),
        "padding inside": (tokens([1, 2, 3], [4, 0, 5]), "padding-inside", "warning"),
        "a dtype that is too small": (
            tokens([1, 2, 3], [4], dtype=np.uint16, size=100_277),
            "out-of-range-ids",
            "error",
        ),
    },
    "token_maps": {
        "another tokenizer": (
            tokenized(zipfian(10 + np.random.default_rng(3).permutation(900), 2)),
            "preprocessing-differs",
            "warning",
        ),
        "another tokenizer, of few long sequences": (
            tokenized(few(10 + np.random.default_rng(3).permutation(900), 2), few(IDS, 1)),
            "preprocessing-differs",
            "warning",
        ),
        "ids that are one larger": (
            tokenized([np.where(row > 9, row + 1, row) for row in zipfian(IDS, 2)]),
            "preprocessing-differs",
            "error",
        ),
        "padded at the other side": (
            tokenized([np.r_[np.zeros(4, int), row[1:]] for row in zipfian(IDS + 1, 2)]),
            "preprocessing-differs",
            "error",
        ),
        "without the token at the end": (
            tokenized([row[:-1] for row in zipfian(IDS, 2)]),
            "preprocessing-differs",
            "warning",
        ),
    },
    "spans": {
        "offsets in bytes, all": (
            Data(
                {
                    "text": [f"\u00e9t\u00e9 {i} the owl met a gnu" for i in range(60)],
                    "answer_start": [len(f"\u00e9t\u00e9 {i} the ".encode()) for i in range(60)],
                    "answer_text": ["owl"] * 60,
                },
                kinds={"text": "text"},
            ),
            "span-mismatch",
            "error",
        ),
        "answers beyond texts that were cut": (
            Data(
                {
                    "text": [f"the owl {i} met a gnu"[: 21 if i % 3 else 12] for i in range(90)],
                    "answer_start": [f"the owl {i} met a gnu".index("gnu") for i in range(90)],
                    "answer_text": ["gnu"] * 90,
                },
                kinds={"text": "text"},
            ),
            "span-mismatch",
            "error",
        ),
        "offsets in bytes, of a third": (
            offsets(lambda text, at: len(text[:at].encode())),
            "span-mismatch",
            "error",
        ),
        "offsets in UTF-16, of a third": (
            offsets(lambda text, at: len(text[:at].encode("utf-16-le")) // 2),
            "span-mismatch",
            "error",
        ),
        "starts one too far, of a third": (answers(lambda i: i % 3 == 0), "span-mismatch", "error"),
        "all starts one too far": (answers(lambda i: True), "span-mismatch", "error"),
        "one that ends after its text": (tagged((3, 6), (40, 400)), "span-mismatch", "error"),
        "one that ends before it begins": (tagged((6, 3)), "span-mismatch", "error"),
        "one with a blank": (tagged((9, 13)), "span-mismatch", "warning"),
        "one outside a Chinese text": (
            Data(
                {
                    "text": ["\u5c0f\u732b\u5728\u6cb3\u8fb9\u559d\u6c34" * (1 + i % 3) for i in range(40)],
                    "label": [[[0, 2, "animal"], [3, 5 if i != 7 else 99, "place"]] for i in range(40)],
                },
                kinds={"text": "text", "label": "other"},
            ),
            "span-mismatch",
            "error",
        ),
        "one of Label Studio": (
            Data(
                {
                    "text": [f"the owl met {i} gnus" for i in range(40)],
                    "result": [[{"value": {"start": 4, "end": 7 if i != 9 else 70, "text": "owl"}}] for i in range(40)],
                },
                kinds={"text": "text", "result": "other"},
            ),
            "span-mismatch",
            "error",
        ),
        "one of other words": (tagged({"start": 4, "end": 7, "text": "owl"}, quoted=True), "span-mismatch", "error"),
        "an answer elsewhere": (
            Data(
                {
                    "context": [f"{i} owls and {i + 1} gnus" for i in range(40)],
                    "answers": [{"text": ["owls"], "answer_start": [len(str(i)) + 1 + (i == 7)]} for i in range(40)],
                },
                kinds={"context": "text", "answers": "other"},
            ),
            "span-mismatch",
            "error",
        ),
    },
}
