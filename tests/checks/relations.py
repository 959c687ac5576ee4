"""Rows of the two tables of judgements for checks of what belongs together: fields of a sample, a field and its split, boxes and
their image."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from tests.checks.looking import Data
from tests.checks.scenes import chest, street

rng = np.random.default_rng(41)
N = 240
UP, DOWN = np.sort(rng.random((N, 2)), 1).T
SITES = [f"site {i % 6}" for i in range(N)]
LATER = ["train"] * (N // 2) + ["test"] * (N // 2)
NAMES = [f"film {i % 30}" for i in range(N)]
CODES = np.array([7 * (i % 30) + 3 for i in range(N)])
HERE = [
    f"the {a} {b} sees the {c}" for a, b, c in rng.choice(["red", "old", "dog", "cow", "man", "sea"], (N, 3)).tolist()
]
THERE = [
    f"der {a} {b} sieht das {c}"
    for a, b, c in rng.choice(["rote", "alte", "hund", "kuh", "mann", "meer"], (N, 3)).tolist()
]
SHORT = [[text.split()[1] for text in texts] for texts in (HERE, THERE)]
TOKENS = [rng.integers(0, 500, 20) for _ in range(60)]


def two(one: Any, other: Any, names: tuple[str, str] = ("x", "y"), **more: Any) -> Data:
    return Data({names[0]: one, names[1]: other, "site": SITES}, **more)


def swapped(rows: Any, one: list[str], other: list[str]) -> Data:
    """The two texts of each sample, swapped in these rows."""
    a = [o if i in rows else t for i, (t, o) in enumerate(zip(one, other, strict=True))]
    b = [t if i in rows else o for i, (t, o) in enumerate(zip(one, other, strict=True))]
    return Data({"src": a, "tgt": b}, kinds={"src": "text", "tgt": "text"})


def named(rows: Any, among: int = 8, n: int = 4 * N, things: int = 8, label: str | None = None) -> Data:
    """A number and a name of one of some things; in these rows the name of another, of as many things as are among the odd ones."""
    numbers = np.array([i % things for i in range(n)])
    odd = {i for i in rows if i % things < among}
    names = [f"thing {(k + 3) % things if i in odd else k}" for i, k in enumerate(numbers.tolist())]
    return Data(
        {"number": numbers, "name": names, "x": np.tile(UP, 4)[:n]},
        label,
        kinds={"number": "category", "name": "category"},
    )


def opinions(rows: Any) -> Data:
    """A label and a prediction that differ in these rows."""
    labels = [f"thing {i % 8}" for i in range(4 * N)]
    guesses = [f"thing {(i + 3) % 8}" if i in rows else label for i, label in enumerate(labels)]
    return Data({"label": labels, "prediction": guesses}, kinds={"label": "category", "prediction": "category"})


def preferred(rows: Any, as_text: bool = False, splits: str | list[str] = "") -> Data:
    """A good and a bad answer to the same question, in these rows to two."""
    columns: dict[str, list[Any]] = {"chosen": [], "rejected": []}
    for i, (question, answer) in enumerate(zip(HERE, THERE, strict=True)):
        for name, asked in (("chosen", question), ("rejected", HERE[i - 1] + " again" if i in rows else question)):
            said = f"{answer} {i} {name}"
            turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
            columns[name].append(f"\n\nHuman: {asked}\n\nAssistant: {said}" if as_text else turns)
    kind = "text" if as_text else "other"
    context = {} if as_text else {"conversations": frozenset(columns)}
    return Data(columns, splits=splits, kinds=dict.fromkeys(columns, kind), context=context)


def solved(rows: Any) -> Data:
    """Texts that end with a mark and a number, in these rows without the mark."""
    texts = [f"{text}.\nSo it is.\n{'' if i in rows else '#### '}{i % 7}" for i, text in enumerate(HERE)]
    return Data({"answer": texts}, kinds={"answer": "text"})


def labels_in(order: Any) -> Data:
    labels = [f"class {(i // N if max(order) >= N else i % 3)}" for i in order]
    return Data({"x": UP, "label": labels}, "label")


def labelled(shifts: list[int]) -> Data:
    labels = [np.roll(ids, -shift) for ids, shift in zip(TOKENS, shifts, strict=True)]
    return Data({"input_ids": TOKENS, "labels": labels}, kinds={"input_ids": "tokens", "labels": "tokens"})


def recorded(seconds: list[float], unit: float = 1.0) -> Data:
    """Recordings of 1 to 2 seconds at 8 kHz, and what a field gives as their lengths."""
    sounds = [np.zeros((8000 + 130 * i, 1), np.int16) for i in range(len(seconds))]
    given = [unit * s * len(sound) / 8000 for s, sound in zip(seconds, sounds, strict=True)]
    columns = {"audio": sounds, "sample_rate": np.full(len(sounds), 8000), "duration": np.array(given)}
    return Data(columns, kinds={"audio": "audio"})


def posed(kinds: list[str]) -> Data:
    """A person an image, with key points in the box, with x and y swapped, or far away."""
    boxes, points = [], []
    for i, kind in enumerate(kinds):
        at = np.random.default_rng(i).random((5, 2)) * [20, 60] + [100 + i, 20]
        boxes.append(np.array([[100.0 + i, 20, 120 + i, 80]]))
        moved = {"in": at, "swapped": at[:, ::-1], "away": 3 * at}[kind]
        points.append(np.concatenate([moved, np.full((5, 1), 2.0)], 1).astype(np.float32)[None])
    kept = {"boxes": "sequence", "keypoints": "sequence"}
    return Data({"boxes": boxes, "keypoints": points}, kinds=kept, context={"corners": True})


def filmed(scale: float, cameras: int = 2) -> Data:
    """Images of several splits with boxes all over them; in the second split they are scaled."""
    drawn = np.random.default_rng(7).random((80, 4))
    low, size = drawn[:, :2] * 60, 5 + drawn[:, 2:] * 35
    boxes = [
        np.concatenate([a, a + b])[None] * (scale if i >= 50 else 1)
        for i, (a, b) in enumerate(zip(low, size, strict=True))
    ]
    pictures = [Image.new("L", (100, 100)) for _ in boxes]
    return Data({"image": pictures, "boxes": boxes}, splits=["train"] * 50 + ["val"] * 30, context={"corners": True})


def resized(with_boxes: bool) -> Data:
    """Images with boxes all over them, some of which were resized to twice the size, with their boxes or without."""
    whole = filmed(1.0)
    large = [i % 3 == 0 for i in range(80)]
    sizes = [(200, 200) if twice else (100, 100) for twice in large]
    boxes = [box * (2 if twice and with_boxes else 1) for box, twice in zip(whole.columns["boxes"], large, strict=True)]
    return Data({"image": [Image.new("L", size) for size in sizes], "boxes": boxes}, context={"corners": True})


def counted(milliseconds: int, name: str = "event_time") -> Data:
    seconds = 1_700_000_000 + np.arange(60) * 977
    return Data({name: np.where(np.arange(60) < milliseconds, seconds * 1000, seconds)})


def vectors(lengths: list[float]) -> Data:
    rows = rng.normal(0, 1, (len(lengths), 8))
    return Data({"embedding": rows / np.linalg.norm(rows, axis=1, keepdims=True) * np.array(lengths)[:, None]})


def framed(rows: list[tuple[int, int, bool]]) -> Data:
    """Sequences of 12 tokens with this first and last token, the last three padding, and whether the mask counts that."""
    ids = [np.array([first, *rng.integers(10, 99, 7), last, 0, 0, 0]) for first, last, _ in rows]
    masks = [np.array([1] * 9 + [int(counted)] * 3) for *_, counted in rows]
    return Data({"input_ids": ids, "attention_mask": masks}, kinds={"input_ids": "tokens", "attention_mask": "tokens"})


def chosen(answers: list[int]) -> Data:
    return Data(
        {"answer": np.array(answers), "choices": [["a", "b", "c", "d"]] * len(answers)}, kinds={"choices": "other"}
    )


def tagged(*rows: str) -> Data:
    return Data({"ner_tags": [row.split() for row in rows]}, kinds={"ner_tags": "other"})


def spoken(shifted: range, by: int = 1) -> Data:
    """Recordings and their transcripts, in these rows that of the next or the previous recording."""
    lengths = rng.integers(10, 200, 160)
    texts = ["x" * int(lengths[i + by if i in shifted else i]) for i in range(160)]
    sounds = [np.zeros((int(40 * n + rng.integers(0, 300)), 1), np.int16) for n in lengths]
    return Data({"audio": sounds, "text": texts}, kinds={"audio": "audio", "text": "text"})


def written(shifted: range, spread: float = 1.0) -> Data:
    """Images of a line and the few words that they show, in these rows those of the next; widths are that uncertain, in letters."""
    rng = np.random.default_rng(43)
    words = ["sum", "total", "amount", "number", "quantities", "date", "received by", "no", "net amount payable"]
    texts = [words[i] for i in rng.integers(0, len(words), 160)]
    images = [Image.new("L", (max(8, int(8 * (len(t) + rng.normal(0, spread)))), 22)) for t in texts]
    shown = [texts[i + 1 if i in shifted else i] for i in range(160)]
    return Data({"image": images, "text": shown}, kinds={"text": "category"})


def of_two_sizes(alternating: bool) -> Data:
    """Pictures whose source tells how wide they are, one source after the other or by turns, and the last ones of any width."""
    rng = np.random.default_rng(47)
    sources = [("lake" if (i % 2 if alternating else i > 60) else "mountains") for i in range(160)]
    wide = [int(rng.integers(20, 90)) if i > 100 else 20 * len(s) for i, s in enumerate(sources)]
    return Data({"image": [Image.new("L", (w, 22)) for w in wide], "source": sources}, kinds={"source": "category"})


def annotated(wrong: float) -> Data:
    """Reviews whose words tell their label, labelled by six annotators, one of whom is so often wrong."""
    good, bad = (
        ["fine lovely great warm", "superb kind bright happy"],
        ["awful dull broken cold", "grim rude stale sour"],
    )
    label = rng.integers(0, 2, 600)
    texts = [f"{(good if y else bad)[i % 2]} {(good if y else bad)[(i + 1) % 2]} {i}" for i, y in enumerate(label)]
    by = [f"annotator {i % 6}" for i in range(600)]
    told = [int(y) ^ int(i % 6 == 2 and rng.random() < wrong) for i, y in enumerate(label)]
    columns = {"text": texts, "annotator": by, "label": ["good" if y else "bad" for y in told]}
    return Data(columns, "label", kinds={"text": "text"})


def rated(own: bool) -> Data:
    """Rows of shops with the mean of their label, with or without the row itself."""
    shop = rng.integers(0, 90, N)
    label = rng.integers(0, 2, N)
    sums, counts = np.bincount(shop, label, minlength=90), np.bincount(shop, minlength=90)
    out = (sums[shop] - label) / np.maximum(1, counts[shop] - 1)
    rate = np.round(sums[shop] / counts[shop] if own else out, 3)
    return Data({"shop": [f"S{s}" for s in shop], "rate": rate, "label": label}, "label")


REGION = np.arange(N) % 5
PRICE = 100.0 * REGION + rng.normal(0, 10, N)

SILENT: dict[str, dict[str, Data]] = {
    "sample_scales": {
        "unit vectors": vectors([1.0] * 60),
        "vectors of any length": vectors(list(1 + rng.random(60))),
        "two scales, each of half of the samples": vectors([1.5] * 30 + [1500.0] * 30),
    },
    "token_frames": {
        "framed and masked": framed([(1, 2, False)] * 60),
        "first tokens that vary": framed([(int(k), 2, False) for k in rng.integers(10, 99, 60)]),
        "two kinds of texts": framed([(1, 2, False), (5, 2, False)] * 30),
        "masks that always count padding": framed([(1, 2, True)] * 60),
    },
    "answer_index": {
        "from zero": chosen([i % 4 for i in range(60)]),
        "from one": chosen([1 + i % 4 for i in range(60)]),
    },
    "dependencies": {
        "what mostly goes together, in four of a hundred rows": named([7, 22, 37, 61], n=198),
        "a number and a name that agree": named(range(0)),
        "columns of their own": named(range(0, 4 * N, 2)),
        "towns of one name": named(range(0, 60), among=3),
        "names of other numbers in one row of ten": named(range(0, 198, 10), n=198),
        "two opinions": opinions(range(0, 960, 240)),
        "numbers of a byte": Data({"a": np.arange(-100, 100, dtype=np.int8), "b": np.arange(200) % 7}),
    },
    "preference_pairs": {
        "one question each": preferred(range(0)),
        "texts with one question each": preferred(range(0), as_text=True),
        "pairs that are of different questions on purpose": preferred(range(0, 240, 2)),
    },
    "answer_marks": {
        "answers of two lines": Data(
            {"text": [f"Question: {t}\nAnswer: {t}{'.' * (i % 40 > 0) or chr(10) + t}" for i, t in enumerate(HERE)]},
            kinds={"text": "text"},
        ),
        "texts without a mark": Data({"answer": HERE}, kinds={"answer": "text"}),
        "all with a mark": solved(range(0)),
        "a half with a mark": solved(range(0, 240, 2)),
    },
    "label_order": {
        "in random order": labels_in(rng.permutation(N)),
        "in turn": labels_in(range(N)),
        "in the course of time": Data(
            {"time": 1.6e9 + 60.0 * np.arange(N), "label": ["walks" if i < N // 2 else "sits" for i in range(N)]},
            "label",
            kinds={"time": "time"},
        ),
    },
    "tag_schemes": {
        "one scheme": tagged(*["B-PER I-PER O B-LOC", "O B-LOC O"] * 20),
        "the other one": tagged(*["B-PER L-PER O U-LOC", "O U-LOC O"] * 20),
        "words": tagged(*["a B c", "U S A"] * 20),
        "I- at every beginning": tagged(*["I-PER I-PER O I-LOC", "O I-LOC B-LOC"] * 20),
    },
    "shifted_rows": {
        "each with its own": spoken(range(0)),
        "a few rows": spoken(range(60, 66)),
        "lines of writing with their words": written(range(0)),
        "words that tell little of the width": written(range(50, 110), 8.0),
        "sources one after the other, each of one width": of_two_sizes(False),
        "sources by turns, each of one width": of_two_sizes(True),
    },
    "noisy_groups": {
        "all alike": annotated(0.0),
        "one a little worse": annotated(0.05),
    },
    "target_means": {
        "without the row itself": rated(False),
        "a number of its own": Data(
            {"shop": [f"S{i % 30}" for i in range(N)], "x": UP, "label": np.arange(N) % 2}, "label"
        ),
    },
    "relations": {
        "numbers in no order": two(UP, rng.random(N)),
        "an order that one site has the other way round, of numbers whose names say nothing": two(
            np.where(np.arange(N) % 6 == 2, DOWN, UP), np.where(np.arange(N) % 6 == 2, UP, DOWN)
        ),
        "an order that a few break by chance": two(np.r_[DOWN[:2], UP[2:]], np.r_[UP[:2], DOWN[2:]]),
        "a start that is no time": two(rng.random(N), rng.random(N), ("start_lat", "end_lat")),
        "counts that are often both 0": two(
            np.where(np.arange(N) % 15 == 0, 6, 0), np.where(np.arange(N) % 3 > 0, 5 + np.arange(N) % 4, 0)
        ),
        "parts that are in use, far from those that are not": two(
            np.where(np.arange(N) % 20 == 3, 0, 5 + 5 * UP), np.where(np.arange(N) % 20 == 3, 0, 500 + 100 * DOWN)
        ),
        "numbers that are the same in both splits": two(UP, UP, splits=LATER),
        "numbers that are never the same": two(UP, DOWN, splits=LATER),
        "places in ranges of their own": two(40 + 20 * UP, 5 + 10 * UP, ("lat", "lon")),
        "the same codes in both splits": Data({"region": REGION, "price": PRICE}, splits=LATER),
        "shares at one site by a field of units": Data(
            {
                "x": np.where(np.arange(N) % 3 == 0, UP, 1 + np.arange(N) % 5),
                "unit": [f"u{i % 3}" for i in range(N)],
                "y": DOWN,
            }
        ),
        "one code a name": Data({"film": NAMES, "code": CODES}, splits=LATER),
        "a number of each row": Data({"film": NAMES, "code": np.arange(N)}, splits=LATER),
    },
    "swapped_texts": {
        "a text and its translation": swapped((), HERE, THERE),
        "two texts of one language": swapped(range(40), HERE, HERE[::-1]),
        "few": Data({"a": HERE[:20], "b": THERE[:20]}, kinds={"a": "text", "b": "text"}),
    },
    "shifted_labels": {
        "labels that are the tokens": labelled([0] * 60),
        "labels that are all shifted": labelled([1] * 60),
        "labels of something else": Data(
            {"input_ids": TOKENS, "labels": TOKENS[::-1]}, kinds={"input_ids": "tokens", "labels": "tokens"}
        ),
    },
    "durations": {
        "as long as is said": recorded([1.0] * 30),
        "in milliseconds": recorded([1.0] * 30, 1000.0),
        "a field of other lengths": recorded([0.1 + 0.1 * i for i in range(30)]),
        "recordings that are all alike": recorded([1.0, 1.004, 0.996] * 10),
    },
    "keypoints": {
        "within their boxes": posed(["in"] * 40),
        "boxes of something else": posed(["away"] * 40),
    },
    "box_scales": {
        "boxes all over the images of both splits": filmed(1.0),
        "slightly smaller ones": filmed(0.9),
        "images resized with their boxes": resized(True),
    },
    "negatives": {
        "streets of which some are seen at night": Data({"image": [street(i, night=i % 9 == 0) for i in range(60)]}),
    },
    "epoch_units": {
        "all in seconds": counted(0),
        "all in milliseconds": counted(60),
        "a mistake of one": counted(1),
        "numbers that are no times": counted(20, "population"),
    },
}
"""Nothing is found."""
SPEAKS: dict[str, dict[str, tuple[Data, str, str]]] = {
    "sample_scales": {
        "a shard of vectors that were not normalised": (vectors([1.0] * 50 + [7.0] * 10), "scale-drift", "warning"),
        "shares of one among whole numbers": (
            Data(
                {
                    "x": [
                        x / 9000 if i % 9 == 4 else x.astype(np.uint16)
                        for i, x in enumerate(rng.uniform(200, 9000, (60, 6, 5)))
                    ]
                },
                kinds={"x": "array"},
            ),
            "scale-drift",
            "warning",
        ),
        "a few in millimetres": (vectors([1.5] * 50 + [1500.0] * 8), "scale-drift", "warning"),
    },
    "token_frames": {
        "a mask over padding": (framed([(1, 2, False)] * 50 + [(1, 2, True)] * 8), "mask-mismatch", "error"),
        "a first token that a few lack": (
            framed([(1, 2, False)] * 50 + [(40 + k, 2, False) for k in range(8)]),
            "missing-token",
            "warning",
        ),
        "a last token that a few lack": (
            framed([(1, 2, False)] * 50 + [(1, 40 + k, False) for k in range(8)]),
            "missing-token",
            "warning",
        ),
    },
    "answer_index": {
        "some from one": (chosen([i % 4 for i in range(60)] + [4] * 5), "out-of-range-ids", "error"),
        "far beyond": (chosen([i % 4 for i in range(60)] + [9]), "out-of-range-ids", "error"),
    },
    "dependencies": {
        "names of other classes in one row of twenty": (
            named(range(7, 198, 21), n=198, label="number"),
            "columns-contradict",
            "warning",
        ),
        "names of other numbers in three rows": (named([7, 300, 801]), "columns-contradict", "warning"),
        "in three rows of few": (named([7, 30, 81], n=240, things=12), "columns-contradict", "warning"),
        "one name for three other numbers": (named([7, 30, 65], n=240, things=12), "columns-contradict", "warning"),
    },
    "preference_pairs": {
        "two of other questions": (preferred([7, 90]), "prompts-differ", "warning"),
        "many in one split": (
            preferred(range(180, 240, 2), splits=["train"] * 180 + ["test"] * 60),
            "prompts-differ",
            "warning",
        ),
        "texts of other questions": (preferred([7, 90], as_text=True), "prompts-differ", "warning"),
    },
    "answer_marks": {"two without the mark": (solved([7, 90]), "suspicious-text", "warning")},
    "label_order": {"one class after another": (labels_in(range(0, 3 * N, 3)), "sorted-by-label", "info")},
    "tag_schemes": {
        "two of them": (
            tagged(*["B-PER I-PER O B-LOC", "O B-LOC O"] * 20, *["B-PER L-PER O U-LOC"] * 6),
            "label-twins",
            "warning",
        ),
        "two that begin with I-": (
            tagged(*["B-PER I-PER O B-LOC", "O B-LOC O"] * 30, "O I-PER", "B-PER I-LOC"),
            "tag-order",
            "warning",
        ),
    },
    "shifted_rows": {
        "the transcripts of the next": (spoken(range(50, 110)), "rows-shifted", "warning"),
        "those of the one before": (spoken(range(50, 110), -1), "rows-shifted", "warning"),
        "the words of the next line of writing": (written(range(50, 110)), "rows-shifted", "warning"),
    },
    "noisy_groups": {"one who guesses": (annotated(0.5), "label-odd-one-out", "warning")},
    "target_means": {"with the row itself": (rated(True), "label-leaked-by-field", "warning")},
    "relations": {
        "an order that one site has the other way round": (
            two(
                np.where(np.arange(N) % 6 == 2, DOWN, UP),
                np.where(np.arange(N) % 6 == 2, UP, DOWN),
                ("score_rejected", "score_chosen"),
            ),
            "order-reversed",
            "warning",
        ),
        "numbers swapped in a few rows": (
            two(
                np.where(np.arange(N) % 20 == 2, 5 + 10 * UP, 40 + 20 * UP),
                np.where(np.arange(N) % 20 == 2, 40 + 20 * UP, 5 + 10 * UP),
                ("lat", "lon"),
            ),
            "order-reversed",
            "error",
        ),
        "numbers swapped in a few rows, beside rows without either": (
            two(
                np.where(np.arange(N) % 30 == 7, 0, np.where(np.arange(N) % 20 == 2, 15 + 10 * UP, 47 + 5 * UP)),
                np.where(np.arange(N) % 30 == 7, 0, np.where(np.arange(N) % 20 == 2, 47 + 5 * UP, 15 + 10 * UP)),
                ("lat", "lon"),
            ),
            "order-reversed",
            "error",
        ),
        "points of one annotator the other way round, of which one is the label": (
            Data(
                {
                    "annotator": SITES,
                    "score_chosen": np.where(np.arange(N) % 6 == 2, 1 + np.arange(N) % 3, 4 + np.arange(N) % 4),
                    "score_rejected": np.where(np.arange(N) % 6 == 2, 4 + np.arange(N) % 4, 1 + np.arange(N) % 3),
                },
                "score_rejected",
            ),
            "order-reversed",
            "warning",
        ),
        "codes permuted in one split": (
            Data(
                {"region": np.where(np.arange(N) < N // 2, REGION, np.array([2, 4, 0, 1, 3])[REGION]), "price": PRICE},
                splits=LATER,
            ),
            "preprocessing-differs",
            "warning",
        ),
        "shares of one among points": (
            Data({"rating": np.where(np.arange(N) % 6 == 0, np.round(UP, 1), 1 + np.arange(N) % 5), "site": SITES}),
            "scale-drift",
            "warning",
        ),
        "a few that end before they start": (
            two(np.r_[DOWN[:3], UP[3:]], np.r_[UP[:3], DOWN[3:]], ("start", "end")),
            "order-reversed",
            "warning",
        ),
        "the target itself in one split": (
            two(np.r_[UP[: N // 2], DOWN[N // 2 :]], DOWN, ("lag_1", "demand"), splits=LATER),
            "preprocessing-differs",
            "error",
        ),
        "names numbered anew in one split": (
            Data({"film": NAMES, "code": np.r_[CODES[: N // 2], (CODES * 11)[N // 2 :]]}, splits=LATER),
            "preprocessing-differs",
            "error",
        ),
    },
    "swapped_texts": {
        "a few": (swapped(range(0, 30, 7), HERE, THERE), "fields-swapped", "warning"),
        "a third": (swapped(range(0, N, 3), HERE, THERE), "fields-swapped", "warning"),
        "short ones of a split": (
            replace(swapped(range(190, N), *SHORT), splits=["train"] * 190 + ["test"] * (N - 190)),
            "fields-swapped",
            "warning",
        ),
    },
    "shifted_labels": {
        "shifted in a few": (labelled([0] * 50 + [1] * 10), "shifted-labels", "error"),
        "not shifted in a few": (labelled([1] * 50 + [0] * 10), "shifted-labels", "error"),
    },
    "durations": {
        "half as long as is said": (recorded([1.0] * 25 + [2.0] * 5), "length-mismatch", "error"),
        "those of the rows before": (
            recorded([0.93] + [(7870 + 130 * i) / (8000 + 130 * i) for i in range(1, 40)]),
            "rows-shifted",
            "error",
        ),
        "cut": (recorded([1.0] * 25 + [1.3, 1.9, 4.0]), "length-mismatch", "error"),
    },
    "keypoints": {
        "x and y swapped": (posed(["in"] * 30 + ["swapped"] * 8), "keypoints-outside", "error"),
        "of a larger image": (posed(["in"] * 30 + ["away"] * 8), "keypoints-outside", "warning"),
    },
    "negatives": {
        "a few radiographs stored inverted": (
            Data({"image": [ImageOps.invert(chest(i)) if i % 9 == 0 else chest(i) for i in range(60)]}),
            "scale-drift",
            "warning",
        ),
    },
    "box_scales": {
        "a split of half the size": (filmed(0.5), "box-scale", "warning"),
        "images resized without their boxes": (resized(False), "box-scale", "warning"),
    },
    "epoch_units": {"a third in milliseconds": (counted(20), "scale-drift", "error")},
}
"""What is found: its code and severity."""
