"""Answers in the same words to many prompts, pairs in both orders, and marks that tell the better answer are told; others are not."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged, judged_alone, merged

N = 160
PROMPTS = [f"What is the best way to reach village number {i}?" for i in range(N)]
WAYS = ["bus", "tram", "train", "ferry", "cab", "boat", "bike"]
GOOD = [f"{WAYS[i % 7].title()} {i} goes there, then take the {WAYS[i // 7 % 7]}{'.!'[i % 2]}" for i in range(N)]
BAD = [f"Nobody knows, perhaps {i} taxis would do?" if i % 2 else f"There are {i} ways." for i in range(N)]
BUSY = "I'm sorry, the service is unavailable. Please try again later."


def pairs(better: list[str], worse: list[str], prompts: list[str] = PROMPTS) -> Data:
    columns = {"prompt": prompts, "chosen": better, "rejected": worse}
    return Data(columns, kinds=dict.fromkeys(columns, "text"))


def answered(answer: str, each: int) -> Data:
    columns = {"prompt": PROMPTS, "response": [answer if i % each == 0 else a for i, a in enumerate(GOOD)]}
    return Data(columns, kinds=dict.fromkeys(columns, "text"))


def talks(answer: str, each: int) -> Data:
    made = [
        [{"role": "user", "content": p}, {"role": "assistant", "content": answer if i % each == 0 else a}]
        for i, (p, a) in enumerate(zip(PROMPTS, GOOD, strict=True))
    ]
    return Data({"messages": made}, context={"conversations": frozenset({"messages"})})


def turned(n: int, prompts: list[str] = PROMPTS) -> Data:
    """The first pairs once more with the opposite preference."""
    return pairs(GOOD + BAD[:n], BAD + GOOD[:n], prompts + prompts[:n])


WALL = "We value your privacy. We and our partners store cookies on your device. Accept all."
ARTICLES = [" ".join([p, *GOOD[i % 9 : i % 9 + 20]]) for i, p in enumerate(PROMPTS)]
CANNED_SOUND = {
    "answers of their own": answered("", N + 1),
    "few answers by design": Data(
        {"prompt": PROMPTS, "answer": [f"The answer to this question is {i % 5}." for i in range(N)]},
        kinds={"prompt": "text"},
    ),
    "a refusal, which is only an info": answered("The passage does not answer this question.", 12),
    "an article with several summaries each": Data(
        {"article": [PROMPTS[i // 2] for i in range(N)], "summary": GOOD[:N]},
        kinds={"article": "text", "summary": "text"},
    ),
    "one prompt that was asked again and again": Data(
        {"prompt": [PROMPTS[0]] * 20 + PROMPTS[20:], "response": [BUSY] * 20 + GOOD[20:]},
        kinds={"prompt": "text", "response": "text"},
    ),
}
CANNED_SPEAKS = {
    "an error that was saved": (answered(BUSY, 12), "suspicious-text", "warning"),
    "in conversations": (talks(BUSY, 12), "suspicious-text", "warning"),
    "a docstring that a tool wrote": (
        Data(
            {
                "code": PROMPTS,
                "docstring": ["Generated. See the base class." if i % 9 == 0 else g for i, g in enumerate(GOOD)],
            },
            kinds={"code": "text", "docstring": "text"},
        ),
        "suspicious-text",
        "info",
    ),
    "a document with several summaries": (
        Data(
            {"document": [ARTICLES[0]] * 12 + ARTICLES[12:], "summary": GOOD},
            kinds={"document": "text", "summary": "text"},
        ),
        "suspicious-text",
        "info",
    ),
    "a page far shorter than the articles": (
        Data(
            {"document": ["This page is empty for now."] * 12 + ARTICLES[12:], "summary": GOOD},
            kinds={"document": "text", "summary": "text"},
        ),
        "suspicious-text",
        "warning",
    ),
    "a page in place of articles": (
        Data(
            {"document": [WALL if i % 9 == 0 else p for i, p in enumerate(PROMPTS)], "title": GOOD},
            kinds={"document": "text", "title": "text"},
        ),
        "suspicious-text",
        "warning",
    ),
    "a refusal": (answered("The passage does not answer this question.", 12), "suspicious-text", "info"),
}


def test_every_recurring_answer_is_told() -> None:
    """Seen: two answers that recurred were two facts at one point; the scan was given up."""
    again = ["The remainder of the two is 1.", "The remainder of the two is 2.", *GOOD]
    answers = [again[i % 12] if i % 12 < 2 else again[i] for i in range(N)]
    columns = {"prompt": PROMPTS, "response": answers}
    found = merged("canned_answers", Data(columns, kinds=dict.fromkeys(columns, "text")))
    assert sorted(f.count for f in found) == [answers.count(a) for a in again[1::-1]]


def test_prompts_known_to_two_parts_are_counted_once() -> None:
    """Our promise: how samples are dealt out to processes changes no count."""
    columns = {"prompt": PROMPTS[::12] * 2 + PROMPTS, "response": [BUSY] * 28 + GOOD}
    [found] = judged("canned_answers", Data(columns, kinds=dict.fromkeys(columns, "text"))).values()
    assert found.count == 14


OPPOSITE_SOUND = {
    "pairs of their own": pairs(GOOD, BAD),
    "the same pairs again": pairs(GOOD + GOOD[:9], BAD + BAD[:9], PROMPTS + PROMPTS[:9]),
    "the opposite for another prompt": pairs(
        GOOD + BAD[:9], BAD + GOOD[:9], PROMPTS + [p + " On foot?" for p in PROMPTS[:9]]
    ),
    "equal answers": pairs(GOOD[:9] * 2, GOOD[:9] * 2, PROMPTS[:9] * 2),
}
OPPOSITE_SPEAKS = {"a few of them": (turned(9), "label-conflict", "warning")}


def in_turns(better: list[str], worse: list[str]) -> Data:
    """Pairs of conversations whose turns have their keys in alphabetical order, as writers of Parquet may sort them."""
    made = [
        [
            [{"content": p, "role": "user"}, {"content": a, "role": "assistant"}]
            for p, a in zip(PROMPTS, of, strict=True)
        ]
        for of in (better, worse)
    ]
    told = frozenset({"chosen", "rejected"})
    return Data({"chosen": made[0], "rejected": made[1]}, context={"conversations": told})


MARKS_SOUND = {
    "turns that say who speaks last": in_turns(GOOD, BAD),
    "short answers that both give": pairs(["No"] * 150 + GOOD[150:], ["No"] * 150 + BAD[150:]),
    "answers of their own": pairs(GOOD, BAD),
    "a mark in both": pairs([f"{a} </s>" for a in GOOD], [f"{a} </s>" for a in BAD]),
    "a mark in half of both": pairs(
        *([f"{a} </s>" if i % 2 else a for i, a in enumerate(of)] for of in (GOOD, BAD)),
    ),
    "an opening that a third of the better have, and now and then a worse one": pairs(
        [f"Sure! {a}" if i % 3 == 0 else a for i, a in enumerate(GOOD)],
        [f"Sure! {a}" if i % 40 == 0 else a for i, a in enumerate(BAD)],
    ),
    "questions among the worse": pairs(GOOD, [f"{a} Is that so?" if i % 3 == 0 else a for i, a in enumerate(BAD)]),
}
MARKS_SPEAKS = {
    "what ends the worse": (pairs(GOOD, [f"{a}</s>" for a in BAD]), "label-leaked-by-field", "warning"),
    "what ends half of the worse": (
        pairs(GOOD, [f"{a} (option 2)" if i % 2 else a for i, a in enumerate(BAD)]),
        "label-leaked-by-field",
        "warning",
    ),
    "what ends the worse turns": (in_turns(GOOD, [f"{a}</s>" for a in BAD]), "label-leaked-by-field", "warning"),
    "what begins the better": (pairs([f"Sure! {a}" for a in GOOD], BAD), "label-leaked-by-field", "warning"),
}


def sentences(longest: int = 0) -> Data:
    """Sentences of 5 to 19 words, one of which may be far longer."""
    rng = np.random.default_rng(0)
    made = [[f"w{k}" for k in rng.integers(0, 900, 5 + i % 15)] for i in range(150)]
    made[70] += ["w"] * longest
    return Data({"tokens": made, "tags": [["O"] * len(one) for one in made]})


LONG_SOUND = {"sentences of several lengths": sentences(), "a long one": sentences(40)}
LONG_SPEAKS = {"forty in one": (sentences(400), "suspicious-text", "warning")}


def test_windows_without_tokens_are_no_near_copies_of_each_other() -> None:
    """Seen: all-zero windows at the end of a file were near duplicates besides being unwritten space."""
    rng = np.random.default_rng(0)
    made = rng.integers(1, 5_000, (40, 64)).astype(np.uint16)
    made[30:] = 0
    assert judged_alone("near_texts", Data({"tokens": made}, kinds={"tokens": "tokens"})) == {}


def test_components_that_stay_in_the_same_rows_are_told_once() -> None:
    """Seen: a row that stood in 32 rows of an array made a finding for each of its 64 components."""
    rng = np.random.default_rng(0)
    made = rng.normal(size=(400, 16)).astype(np.float32)
    made[200:240] = made[200]
    found = judged("stuck", Data({"emb": made}))["stuck-values"]
    assert found.message.startswith("16 components of emb each keep one value in 40 consecutive rows")


def test_peaks_of_spectra_are_no_outliers() -> None:
    """Seen: a sixth of the values of spectra, which are their peaks, were called outliers; a few broken values still are."""
    rng = np.random.default_rng(0)
    spectra = rng.normal(0, 0.01, (100, 200))
    assert "outliers" in judged("statistics", Data({"x": np.where(rng.random((100, 200)) < 0.001, 9.0, spectra)}))
    spectra[:, 40:60] += 5
    assert "outliers" not in judged("statistics", Data({"x": spectra}))
