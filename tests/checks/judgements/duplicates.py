"""Where the checks of copies say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from tests.checks import test_multiplied, test_noisy_copies, test_pairs_again, test_renamed_rows, test_shared_steps
from tests.checks.judgements.common import HALVES, LONG, NOISE, PICTURES, TEXTS, picture, sound, sounds
from tests.checks.looking import Data


def annotated(shared: int) -> Data:
    """A hundred and forty comments, each by three annotators; of 40 in the test split, some are in training as well."""
    texts = [f"the comment number {i} on how this was meant to be" for i in range(140)]
    texts[100 : 100 + shared] = texts[:shared]
    rows = [(text, f"ann{(i + k) % 7}") for i, text in enumerate(texts) for k in range(3)]
    columns = {"comment": [text for text, _ in rows], "annotator": [who for _, who in rows]}
    return Data(columns, splits=["train"] * 300 + ["test"] * 120, kinds={"comment": "text"})


def sequences(shared: int, of: int | None = None, length: int = 40, unknown: bool = False, timed: bool = False) -> Data:
    """Sequences, each with a measurement; the last ``shared`` of the test split are some of training. ``of``: there are so many, all of
    which come again and again; ``unknown``: those shared are one letter throughout."""
    draw = np.random.default_rng(4)
    made = ["".join(row) for row in draw.choice([*"ACGT"], (400, length))]
    if timed:
        made = [f"2024-03-{1 + i % 28:02} {i // 28:02}:00:00.000" for i in range(400)]
    if of is not None:
        made = [made[i % of] for i in range(400)]
    if unknown:
        made[:20] = ["N" * length] * 20
    made[400 - shared :] = made[:shared]
    return Data({"sequence": made, "x": draw.normal(0, 1, 400)}, splits=["train"] * 300 + ["test"] * 100)


def prompted(shared: int, of: int = 10_000, answered: bool = True, spelt: Callable[[str], str] = str) -> Data:
    """Prompts and answers, 300 for training and 100 for testing, of which some share a prompt, with another answer or the same, and
    perhaps spelt otherwise."""
    drawn = np.random.default_rng(21).permutation(max(of, 400))[:400] % of
    prompts = [f"please explain number {n} in a few words" for n in drawn]
    answers = [f"it is what comes before {n * 7 + i} or so, they say" for i, n in enumerate(drawn)]
    for i in range(shared):
        prompts[300 + i] = spelt(prompts[i])
        answers[300 + i] = answers[300 + i] if answered else spelt(answers[i])
    return Data(
        {"prompt": prompts, "answer": answers},
        splits=["train"] * 300 + ["test"] * 100,
        kinds={"prompt": "text", "answer": "text"},
    )


def uttered(seed: int) -> Any:
    """Noise whose loudness and colour change."""
    drawn = np.random.default_rng(seed)
    parts = [
        np.convolve(drawn.normal(0, drawn.uniform(500, 4000), 400), np.ones(k) / k, "same")
        for k in drawn.integers(1, 30, 12)
    ]
    return np.concatenate(parts).clip(-32768, 32767).astype(np.int16)[:, None]


MEASURED = {c: np.random.default_rng(i).normal(0, 1, 40) for i, c in enumerate("abcd")}


def streamed(*copies: tuple[int, int, int], into: int = 40) -> Data:
    """Sequences of tokens in two splits; of each copy ``into`` validation: a row of training, where the passage begins, and its length."""
    rows = np.random.default_rng(4).integers(0, 5000, (60, 300))
    for k, (row, begin, n) in enumerate(copies):
        rows[into + k, 20 : 20 + n] = rows[row, begin : begin + n]
    return Data(
        {"input_ids": list(rows)},
        splits=["train"] * 40 + ["val"] * 20,
        kinds={"input_ids": "tokens"},
        context={"near": True},
    )


DOING = ["reading a paper", "reading", "asleep on a train"], ["playing a song", "playing", "silent"]
HYPOTHESES = Data(
    {
        "premise": [
            f"A {who} with long grey hair is {what[0]} in front of the town hall in {town}."
            for who in ("nurse", "farmer", "cyclist", "bride")
            for town in ("Bonn", "Lyon", "Ghent")
            for what in DOING
            for _ in range(2)
        ],
        "hypothesis": [
            f"The {who} is {end}."
            for who in ("nurse", "farmer", "cyclist", "bride")
            for _ in range(3)
            for w in DOING
            for end in w[1:]
        ],
        "label": ["entailment", "contradiction"] * 24,
    },
    "label",
    kinds={"premise": "text", "hypothesis": "text"},
)
"""Two on each premise, which differ in a word or two."""

SILENT: dict[str, dict[str, Any]] = {
    "passages": {
        "sequences of their own": streamed(),
        "a short phrase": streamed((3, 100, 60)),
        "a phrase that training has often": streamed(*[(3, 100, 150)] * 5, into=36),
        "padding": Data(
            {"input_ids": [np.r_[np.arange(i, i + 40), np.zeros(200, int)] for i in range(0, 4000, 100)]},
            splits=["train"] * 20 + ["val"] * 20,
            kinds={"input_ids": "tokens"},
            context={"near": True},
        ),
    },
    "fan_outs": test_multiplied.SALES_SILENT,
    "logged_twice": test_multiplied.TWICE_SILENT,
    "pairs_again": test_pairs_again.SILENT,
    "renamed_rows": test_renamed_rows.SILENT,
    "duplicates": {
        "distinct rows": Data({"x": NOISE}),
        "distinct pictures": Data({"image": PICTURES}),
        "one text with one label": Data({"text": TEXTS, "label": ["a", "b"] * 6}, "label", kinds={"text": "text"}),
    },
    "near_pictures": {
        "distinct pictures": Data({"image": [picture(i) for i in range(40)]}),
        "flat pictures that are not compared": Data(
            {"image": [Image.new("RGB", (48, 48), (i * 20, 0, 0)) for i in range(4)]}, context={"near": True}
        ),
        "exact copies, which are told as such": Data({"image": [*PICTURES, PICTURES[0]]}),
    },
    "near_texts": {
        "texts of few words that differ in one": Data({"text": TEXTS}, kinds={"text": "text"}),
        "texts of the same words in another order": Data(
            {"text": [" ".join(sorted(LONG[0].split())), " ".join(sorted(LONG[0].split(), reverse=True))]},
            kinds={"text": "text"},
        ),
        "token rows": Data({"input_ids": [np.arange(60) + 7 * i for i in range(6)]}, kinds={"input_ids": "tokens"}),
        "hypotheses on one premise": HYPOTHESES,
    },
    "near_rows": {
        "distinct rows": Data(dict(MEASURED)),
        "positions in a city": Data(
            {"lat": 52.5 + NOISE / 50, "lon": 13.4 + NOISE[::-1] / 50, "speed": np.abs(NOISE).round(1)},
            context={"offsets": {"lat": 3, "lon": 3}},
        ),
        "vectors of nothing but zeros": Data(
            {"v": np.where(np.arange(40)[:, None] % 4 > 0, np.random.default_rng(3).normal(0, 1, (40, 6)), 0.0)},
            kinds={"v": "embedding"},
        ),
        "as many steps of noise as agree in three digits by chance": Data(
            dict(zip("xyz", np.random.default_rng(1).uniform(1, 3, (3, 6000)).round(4), strict=True)),
            splits=["train"] * 4000 + ["test"] * 2000,
        ),
        "rows of whole numbers": Data({"a": np.arange(1000, 1012), "b": np.arange(12), "c": np.arange(12)}),
    },
    "noisy_copies": test_noisy_copies.SOUND,
    "reordered": test_noisy_copies.REORDERED,
    "shared_steps": test_shared_steps.SOUND,
    "near_sounds": {
        "recordings of their own": sounds(*(uttered(i) for i in range(12))),
        "equal ones, which are told as copies": sounds(*(uttered(i % 6) for i in range(12))),
        "silence": sounds(*(sound(0.0, n=3000) for _ in range(4))),
    },
    "shared_texts": {
        "prompts of their own": prompted(shared=0),
        "questions that are asked of many texts": prompted(shared=0, of=30),
        "whole samples that are in both": prompted(shared=20, answered=False),
        "whole samples that are in both, in capitals": prompted(shared=20, answered=False, spelt=str.upper),
        "sequences of their own": sequences(shared=0),
        "comments of several annotators, split by comment": annotated(shared=0),
        "comments of which half are in both": annotated(shared=20),
        "sequences that are measured again and again": sequences(shared=20, of=30),
        "sequences of which nothing is known": sequences(shared=20, unknown=True),
        "short codes": sequences(shared=20, length=8),
        "times at which several sensors were read": sequences(shared=20, timed=True),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "pairs_again": test_pairs_again.SPEAKS,
    "renamed_rows": test_renamed_rows.SPEAKS,
    "fan_outs": test_multiplied.SALES_SPEAK,
    "logged_twice": test_multiplied.TWICE_SPEAK,
    "duplicates": {
        "a row twice": (Data({"x": np.append(NOISE, NOISE[3])}), "duplicate-samples", "warning"),
        "single values that recur": (
            Data({"token": np.arange(4000) ** 2 % 97}, splits=["train"] * 3000 + ["val"] * 1000),
            "splits-overlap",
            "info",
        ),
        "a row in two splits": (Data({"x": np.append(NOISE[:11], NOISE[3])}, splits=HALVES), "splits-overlap", "error"),
        "a picture with two labels": (
            Data({"image": [*PICTURES, PICTURES[0]], "label": [*"abcdabcd", "d"]}, "label"),
            "label-conflict",
            "error",
        ),
        "a row with two labels": (
            Data({"x": np.append(NOISE[:11], NOISE[0]), "label": [*"abcdabcdabc", "d"]}, "label"),
            "label-conflict",
            "warning",
        ),
    },
    "near_pictures": {
        "a picture of lesser quality": (
            Data({"image": [*PICTURES, PICTURES[0].resize((40, 40)).resize((48, 48))]}),
            "near-duplicates",
            "warning",
        ),
        "a near picture in another split": (
            Data(
                {"image": [*PICTURES, PICTURES[0].resize((40, 40)).resize((48, 48))]},
                splits=["train"] * 8 + ["test"],
            ),
            "splits-near-overlap",
            "warning",
        ),
        "a mirrored picture": (
            Data({"image": [*PICTURES, PICTURES[0].transpose(Image.Transpose.FLIP_LEFT_RIGHT)]}),
            "near-duplicates",
            "warning",
        ),
        "a cropped picture": (
            Data({"image": [*PICTURES, PICTURES[0].crop((2, 2, 46, 46)).resize((48, 48))]}),
            "near-duplicates",
            "warning",
        ),
        "a near picture with another label": (
            Data({"image": [*PICTURES, PICTURES[0].resize((40, 40))], "label": [*"abcdabcd", "d"]}, "label"),
            "label-conflict",
            "warning",
        ),
    },
    "near_texts": {
        "a text in other case": (
            Data({"text": [*TEXTS, TEXTS[0].upper()]}, kinds={"text": "text"}),
            "near-duplicates",
            "warning",
        ),
        "a text in which a word differs": (
            Data({"text": [*LONG, LONG[0].replace("word7 ", "other ")]}, kinds={"text": "text"}),
            "near-duplicates",
            "warning",
        ),
        "near texts in two splits": (
            Data(
                {"text": [*LONG[:8], LONG[0].replace("word7 ", "other ")]},
                splits=["train"] * 8 + ["test"],
                kinds={"text": "text"},
            ),
            "splits-near-overlap",
            "warning",
        ),
        "near texts with two labels": (
            Data(
                {"text": [*TEXTS[:8], TEXTS[0].upper()], "label": [*"aabbaabb", "b"]}, "label", kinds={"text": "text"}
            ),
            "label-conflict",
            "warning",
        ),
        "token rows in which one differs": (
            Data(
                {"input_ids": [np.arange(60) + 70 * i for i in range(6)] + [np.r_[np.arange(59), 9]]},
                kinds={"input_ids": "tokens"},
            ),
            "near-duplicates",
            "warning",
        ),
    },
    "near_rows": {
        "a row that differs in the fifth digit": (
            Data({c: np.append(v, v[5] * 1.00001) for c, v in MEASURED.items()}),
            "near-duplicates",
            "warning",
        ),
        "a near row in another split": (
            Data({c: np.append(v[:8], v[5] * 1.00001) for c, v in MEASURED.items()}, splits=["train"] * 8 + ["test"]),
            "splits-near-overlap",
            "warning",
        ),
    },
    "noisy_copies": test_noisy_copies.SPEAKS,
    "reordered": test_noisy_copies.REORDERED_SPEAKS,
    "shared_steps": test_shared_steps.SPEAKS,
    "passages": {
        "elsewhere in a sequence": (streamed((3, 100, 150), (7, 0, 200)), "splits-near-overlap", "warning"),
    },
    "near_sounds": {
        "a louder one": (
            sounds(*(uttered(i) for i in range(12)), (uttered(3) // 2).astype(np.int16)),
            "near-duplicates",
            "warning",
        ),
    },
    "shared_texts": {
        "prompts of training that are answered anew": (prompted(shared=20), "splits-near-overlap", "warning"),
        "comments of several annotators in two splits": (annotated(shared=4), "splits-near-overlap", "warning"),
        "sequences of training that are measured anew": (sequences(shared=20), "splits-near-overlap", "warning"),
        "prompts of training in capitals": (prompted(shared=20, spelt=str.upper), "splits-near-overlap", "warning"),
    },
}
