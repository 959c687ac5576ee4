"""Labels that do not fit the content of one part, though those of all others do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N, TRAIN = 600, 450
SPLITS = ["train"] * TRAIN + ["test"] * (N - TRAIN)
WORDS = ["red crimson scarlet ruby", "blue navy azure cobalt", "green olive lime jade"]


def beats(
    told: Any, drift: float = 0.0, blur: float = 1.0, noise: float = 1.0, splits: Any = SPLITS, signal: float = 2.0
) -> Data:
    """Beats, [n, 40], of three shapes, with labels made of these; those of the test split may lie elsewhere or be less clear."""
    rng = np.random.default_rng(21)
    shape = rng.integers(0, 3, N)
    x = rng.normal(0, noise, (N, 40)) + np.where(np.arange(N) < TRAIN, 2, signal)[:, None] * np.eye(3, 40)[shape]
    x[TRAIN:] = x[TRAIN:] * blur + drift
    columns = {"x": x.astype(np.float32), "label": told(rng, shape)}
    return Data(columns, "label", splits=splits, kinds={"x": "embedding", "label": "category"})


def shuffled(rng: Any, shape: Any, rows: slice = slice(TRAIN, N)) -> Any:
    made = shape.copy()
    made[rows] = rng.permutation(made[rows])
    return made


def rolled(rng: Any, shape: Any) -> Any:
    return np.concatenate([np.roll(shape[:TRAIN], 1), shape[TRAIN:]])


def own(rng: Any, shape: Any) -> Any:
    return shape


def customers(invert: bool, weak: bool = False) -> Data:
    """Rows of numbers and a contract that tell together, never well, who leaves."""
    rng = np.random.default_rng(22)
    calls, months = rng.poisson(1.5, 2 * N), rng.integers(1, 60, 2 * N)
    contract = rng.choice(["monthly", "yearly"], 2 * N)
    score = 0.8 * calls - 0.04 * months + 1.5 * (contract == "monthly") + rng.logistic(0, 9.0 if weak else 0.7, 2 * N)
    left = (score > 1.2).astype(int)
    left[900:] = 1 - left[900:] if invert else left[900:]
    columns = {"calls": calls, "months": months, "contract": contract.tolist(), "left": left}
    return Data(columns, "left", splits=["train"] * 900 + ["val"] * 300, kinds={"contract": "category"})


def captions(moved: bool, noise: bool = False) -> Data:
    """Captions of things in three colours, in order, with labels; in one split, the captions are those of the things before."""
    rng = np.random.default_rng(23)
    colour = rng.integers(0, 3, N)
    texts = [f"a {rng.choice(WORDS[c].split())} thing of size {rng.integers(9)}" for c in colour]
    texts = [*texts[:TRAIN], *(texts[TRAIN - 1 : -1] if moved else texts[TRAIN:])]
    columns = {"text": texts, "label": rng.permutation(colour) if noise else colour}
    return Data(columns, "label", splits=SPLITS, kinds={"text": "text", "label": "category"})


def questions(moved: bool) -> Data:
    """Captions beside a question that tells nothing of the label, as the premise of a hypothesis does."""
    data = captions(moved)
    asked = [f"what is {w} number {i % 50}" for i, w in enumerate(np.resize(["this", "that", "it"], N))]
    return replace(data, columns={"question": asked, **data.columns}, kinds={**data.kinds, "question": "text"})


def disputed() -> Data:
    """Texts in which no word tells the label, each labelled by three people; in the second split they agree."""
    rng = np.random.default_rng(24)
    texts = [f"case {' '.join(rng.choice(list('abcdefgh'), 4))} {i // 3}" for i in range(N)]
    truth = np.repeat(rng.integers(0, 2, N // 3), 3)
    label = np.where((np.arange(N) < TRAIN) & (rng.random(N) < 0.4), 1 - truth, truth)
    return Data({"text": texts, "label": label}, "label", splits=SPLITS, kinds={"text": "text", "label": "category"})


def traded(rng: Any, shape: Any) -> Any:
    """In the test split, what looks like the first shape has the label of the second, and the second's is given to all sorts."""
    made = shape.copy()
    rest = np.flatnonzero(shape[TRAIN:] > 0) + TRAIN
    made[TRAIN:][shape[TRAIN:] == 0] = 1
    made[rest] = rng.integers(0, 2, len(rest)) * 2
    return made


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "labels of a split in any order": (beats(shuffled), "label-odd-one-out", "does not fit x in test"),
    "labels of a training split that are the previous ones": (beats(rolled), "rows-shifted", "of the next sample"),
    "labels in any order in a stretch": (
        beats(lambda rng, shape: shuffled(rng, shape, slice(200, 320)), splits=""),
        "label-odd-one-out",
        "samples 2",
    ),
    "labels inverted where they are hardly told": (customers(True), "label-odd-one-out", "inverted in val"),
    "a class that has the label of another one": (beats(traded), "label-odd-one-out", "look like 0 are labelled 1"),
}
ALONE: dict[str, tuple[Data, str, str]] = {
    "captions of the rows before": (captions(True), "rows-shifted", "of the previous sample"),
    "captions of the rows before, beside questions": (questions(True), "rows-shifted", "does not fit text in"),
}
"""What other checks say more exactly, if they are asked too."""
SILENT: dict[str, Data] = {
    "labels of their own": beats(own),
    "a split that lies elsewhere": beats(shuffled, drift=9.0),
    "a split that is blurred": beats(own, blur=0.05),
    "a split in which classes are nearer to each other": beats(own, signal=0.3),
    "texts that several people label, and disagree": disputed(),
    "labels at random": beats(lambda rng, shape: rng.permutation(shape)),
    "content that hardly tells the label": beats(shuffled, noise=9.0),
    "customers": customers(False),
    "labels inverted of which nothing tells": customers(True, weak=True),
    "captions": captions(False),
    "captions beside questions": questions(False),
    "captions of anything": captions(True, noise=True),
    "a split of mostly one class": beats(lambda rng, shape: np.where(rng.random(N) < 0.02, shape, 0)),
}


@pytest.mark.parametrize("name", [*SPEAKS, *ALONE])
def test_labels_that_do_not_fit_a_part_are_told(name: str) -> None:
    """Our promise: where content tells labels everywhere else, a part in which it does not is named."""
    data, code, told = (SPEAKS | ALONE)[name]
    found = judged_alone("unfit_labels", data)[code]
    assert found.severity == "warning" and told in found.message


@pytest.mark.parametrize("name", SILENT)
def test_parts_that_only_look_otherwise_are_not(name: str) -> None:
    assert judged_alone("unfit_labels", SILENT[name]) == {}
