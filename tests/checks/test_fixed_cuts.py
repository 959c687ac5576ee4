"""Texts that were cut at one length, and those that are of one length for another reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(8)
WORDS = [
    "station",
    "morning",
    "yellow",
    "carriage",
    "between",
    "mountain",
    "philosopher",
    "dimension",
    "evening",
    "a",
    "of",
    "the",
    "went",
]


def tale(words: int) -> str:
    return " ".join(RNG.choice(WORDS, words)).capitalize() + "."


TALES = [tale(int(RNG.integers(12, 90))) for _ in range(900)]
LONG = [tale(100) for _ in range(60)]


def finding(texts: list[str], **more: Any) -> Any:
    data = Data({"text": texts, **more}, kinds={"text": "text", **dict.fromkeys(more, "category")})
    return judged("fixed_cuts", data).get("suspicious-text")


@pytest.mark.parametrize("size", [200, 256, 400])
@pytest.mark.parametrize("how", [str, str.rstrip, lambda text: text + "..."])
def test_texts_cut_at_one_length_are_told(size: int, how: Any) -> None:
    found = finding([*TALES, *(how(text[:size]) for text in LONG)])
    assert found is not None and found.count >= 40


def test_most_texts_cut_at_the_largest_length_are_told_and_pieces_are_not() -> None:
    """Our promise: a limit below most texts is no way to write, though lists that end without a stop are cut as well; pieces of documents
    are of one length by design."""
    texts = [*TALES, *(", ".join(RNG.choice(WORDS, int(RNG.integers(3, 60)))) for _ in range(300))]
    found = finding([text[:120] for text in texts])
    assert found is not None and found.count >= 600
    assert "exactly 120 characters" in found.message
    assert finding([text[i : i + 120] for text in TALES for i in range(0, len(text), 120)]) is None
    # Seen: reviews, of which many end without a stop, a third cut at the limit of a column
    found = finding([text.rstrip("." * (i % 2))[:400] for i, text in enumerate(TALES)])
    assert found is not None and found.count >= 200 and "no text is longer" in found.message
    headlines = [text[:-1] for text in TALES]
    assert finding([text if len(text) < 300 else text[: text.rindex(" ", 0, 300)] for text in headlines]) is None
    assert finding([f"{RNG.integers(10**9)} {tale(4)[:-1]}".ljust(60, "x")[:60] for _ in range(900)]) is None


def test_texts_cut_at_one_number_of_words_are_told() -> None:
    found = finding([*TALES, *(" ".join(text.split()[:64]) for text in LONG)])
    assert "64 words" in found.message


def test_texts_that_are_never_longer_are_told() -> None:
    short = [text for text in TALES if len(text) < 300]
    assert finding([*short, *(text[:300] for text in LONG)]) is not None


def test_the_source_that_cut_them_is_told() -> None:
    source = [*(f"s{i % 5}" for i in range(len(TALES))), *["s5"] * len(LONG)]
    assert "source s5" in finding([*TALES, *(text[:300] for text in LONG)], source=source).message
    others = [f"s{i % 5}" for i in range(len(TALES) + len(LONG))]
    assert "source" not in finding([*TALES, *(text[:300] for text in LONG)], source=others).message


def up_to(most: int, stops: float) -> list[str]:
    """What people write up to a limit: many come close to it, and few write a full stop."""
    made = [text.rstrip(".") for text in TALES if len(text) < most]
    close = [tale(60)[: most - int(RNG.exponential(4))] for _ in range(300)]
    return [text + "." * bool(RNG.random() < stops) for text in [*made, *close]]


def pieces(size: int) -> list[str]:
    """Documents, each cut into pieces of one length and a rest."""
    documents = [" ".join(TALES[i : i + 2]) for i in range(0, 900, 2)]
    return [text[k : k + size] for text in documents for k in range(0, len(text), size)]


@pytest.mark.parametrize(
    "texts",
    [
        TALES,
        [text[:-1] for text in TALES],  # without a full stop, as a headline is
        [*TALES, *(text[:299] + "." for text in LONG)],  # of one length, but whole
        [*TALES, *(f"Order {1000 + i} of the station was sent to the river by carriage {10 + i}" for i in range(90))],
        [*TALES, *(f"Case {1000 + i}: {['seen', 'left', 'gone'][i % 3]} at the mountain station in the morn" for i in range(90))],
        [*TALES, *(f"a photo of the {WORDS[i % 9]} in the {WORDS[i % 7]} by a river" for i in range(200))],
        [text.ljust(400) for text in TALES if len(text) <= 400],  # padded to one length
        [text[:300].ljust(300, ".") for text in TALES],
        up_to(140, stops=0.4),
        pieces(300),
        [text[:300] for text in [*TALES, *LONG]][:150],  # too few to tell
        [*TALES, *(text[:300] for text in LONG[:5])],
    ],
    ids=["many lengths", "headlines", "whole", "orders", "cases", "captions", "padded", "filled", "limit", "pieces", "few", "five"],
)  # fmt: skip
def test_texts_of_one_length_may_be_sound(texts: list[str]) -> None:
    assert finding(texts) is None


def test_chance_does_not_make_cuts() -> None:
    """Property: of texts of random lengths, of which some end without a full stop, none were cut."""
    for seed in range(0, 20, 3):
        drawn = np.random.default_rng(seed)
        lengths = drawn.integers(2, 30 + seed * 3, 400)
        texts = [" ".join(drawn.choice(WORDS, n)).capitalize() + "." * bool(drawn.random() < 0.9) for n in lengths]
        assert finding(texts) is None
