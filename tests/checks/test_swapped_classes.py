"""Groups and splits in which classes have each other's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

GOOD = "fine lovely great warm superb kind bright happy"
BAD = "awful dull broken cold grim rude stale sour"
N = 600


def reviews(sources: list[str], inverted: list[str], field: str = "source", texts: list[str] | None = None) -> Data:
    """Reviews whose words tell their label, by turns of these sources, of which some have the labels inverted."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, N)
    words = [rng.choice((GOOD if y else BAD).split(), 3) for y in label]
    made = [" ".join([*some, f"visit {i}"]) for i, some in enumerate(words)]
    of = rng.choice(sources, N).tolist()
    told = [
        ("good" if y else "bad") if s not in inverted else ("bad" if y else "good")
        for y, s in zip(label, of, strict=True)
    ]
    return Data({"text": texts or made, field: of, "label": told}, "label", kinds={"text": "text", field: "category"})


def asked(same: bool) -> Data:
    """Texts of each of which three sources say whether it is something, one the opposite; or of texts of their own."""
    rng = np.random.default_rng(4)
    label = np.repeat(rng.integers(0, 2, N // 3), 3) if same else rng.integers(0, 2, N)
    texts = [
        f"{' '.join((GOOD if y else BAD).split()[i % 5 : i % 5 + 3])} {i // 3 if same else i}"
        for i, y in enumerate(label)
    ]
    texts = [texts[i - i % 3] for i in range(N)] if same else texts
    told = [int(y) ^ (i % 3 == 2) for i, y in enumerate(label)]
    columns = {"text": texts, "source": [f"s{i % 3}" for i in range(N)], "label": told}
    return Data(columns, "label", kinds={"text": "text", "source": "category"})


def windows(of: list[int], drift: float = 0.0, classes: int = 4, noise: float = 1.0, field: str = "subject") -> Data:
    """Windows, [n, 50, 3], whose spread tells their class, of six subjects; the classes of the last one have these labels, and its sensor
    drifts."""
    rng = np.random.default_rng(5)
    y, subject = rng.integers(0, classes, N), np.arange(N) % 6
    x = rng.normal(0, 1, (N, 50, 3)) * (1 + y[:, None, None]) * np.exp(rng.normal(0, 0.15 * noise, (N, 1, 1)))
    x[subject == 5] += drift
    told = np.where(subject == 5, np.array(of)[y], y)
    columns = {"x": x.astype(np.float32), field: subject, "label": told}
    return Data(columns, "label", kinds={"x": "array", "label": "category"})


def in_splits(of: list[int], mixed: bool = False) -> Data:
    """Vectors of five classes in two splits, of which the second has other labels, or other shares of them."""
    rng = np.random.default_rng(6)
    y = rng.integers(0, 5, N)
    y[450:] = rng.choice(5, 150, p=[0.6, 0.1, 0.1, 0.1, 0.1]) if mixed else y[450:]
    x = rng.normal(0, 1, (N, 12)) + 4 * np.eye(5, 12)[y]
    told = np.where(np.arange(N) < 450, y, np.array(of)[y])
    columns = {"x": x.astype(np.float32), "label": told}
    return Data(columns, "label", splits=["train"] * 450 + ["val"] * 150, kinds={"x": "embedding", "label": "category"})


def traded(name: str) -> Data:
    """Trades that gain where the price rises if bought, and where it falls if sold."""
    rng = np.random.default_rng(7)
    moves, side = rng.normal(0, 1, N), rng.integers(0, 2, N)
    columns = {
        "move": moves,
        name: [("long", "short")[s] for s in side],
        "label": ((moves > 0) ^ (side == 1)).astype(int),
    }
    return Data(columns, "label", kinds={name: "category"})


SPEAKS: dict[str, tuple[Data, str]] = {
    "one source of three": (reviews(["a1", "b1", "c1"], ["b1"]), "source is b1"),
    "two sources of five": (reviews(["a1", "b1", "c1", "d1", "e1"], ["b1", "e1"]), "source is"),
    "one of two": (reviews(["a1", "a1", "b1"], ["b1"]), "source is b1"),
    "two of four classes of a subject": (windows([0, 2, 1, 3], noise=0.5), "subject is 5: 1 labelled 2, 2 labelled 1"),
    "all classes of a split": (in_splits([1, 2, 3, 4, 0]), "in val: 0 labelled 1"),
    "three classes of a split": (in_splits([0, 1, 3, 4, 2]), "in val: 2 labelled 3"),
    "a source that asks of other texts": (asked(same=False), "source is s2"),
}
SILENT: dict[str, Data] = {
    "sources that agree": reviews(["a1", "b1", "c1"], []),
    "half of all sources": reviews(["yes", "no"], ["no"], "negated"),
    "several questions about each text": asked(same=True),
    "classes that one subject does alike": windows([0, 1, 1, 3]),
    "a sensor that drifts": windows([0, 1, 2, 3], drift=3.0),
    "classes that numbers hardly tell": windows([0, 2, 1, 3], noise=12.0),
    "other shares of classes in a split": in_splits([0, 1, 2, 3, 4], mixed=True),
    "a side that a trade takes": traded("side"),
    "what a column says of each trade": traded("position"),
}


@pytest.mark.parametrize("name", SPEAKS)
def test_classes_that_are_swapped_in_a_group_are_told(name: str) -> None:
    data, told = SPEAKS[name]
    found = judged("noisy_groups", data)["label-odd-one-out"]
    assert found.severity == "warning"
    assert told in found.message


@pytest.mark.parametrize("name", SILENT)
def test_groups_that_only_differ_are_not(name: str) -> None:
    assert judged("noisy_groups", SILENT[name]) == {}


def test_labels_at_random_are_not_swapped() -> None:
    """Our promise: nor is one group of many in which content tells nothing."""
    rng = np.random.default_rng(8)
    for _ in range(8):
        columns: dict[str, Any] = {
            "x": rng.normal(0, 1, (300, 4)).astype(np.float32),
            "site": [f"s{i % 5}" for i in range(300)],
        }
        columns["label"] = rng.integers(0, 2, 300)
        assert judged("noisy_groups", Data(columns, "label", kinds={"x": "embedding", "site": "category"})) == {}
