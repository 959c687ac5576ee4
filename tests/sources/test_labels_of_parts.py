"""Labels that fit everywhere but in one part, in files as they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checks.test_token_tags import TRAIN, Sentence, sentences, without
from tests.making.asking import Asker


def checked(asker: Asker, path: Path) -> Any:
    return asker.ask("check_quality", str(path), str(path))


def conll(path: Path, rows: list[Sentence]) -> None:
    path.write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in one) for one in rows))


@pytest.mark.parametrize("lacking", [False, True])
def test_tags_of_conll_files_are_labels(asker: Asker, tmp_path: Path, lacking: bool) -> None:
    """Seen: a split in which no place is tagged passed, and no field was said to hold any labels."""
    rows = [without(i, one) if lacking else one for i, one in enumerate(sentences())]
    conll(tmp_path / "train.conll", rows[:TRAIN])
    conll(tmp_path / "dev.conll", rows[TRAIN:])
    report = checked(asker, tmp_path)
    assert not any("class labels" in what for what in report.not_checked)
    told = [f.message for f in report.findings if f.code == "class-missing-in-split"]
    assert [message for message in told if "LOC is not tagged in dev" in message] == told
    assert bool(told) == lacking


@pytest.mark.parametrize("shuffled", [False, True])
def test_labels_of_an_array_file_in_any_order_are_told(asker: Asker, tmp_path: Path, shuffled: bool) -> None:
    """Seen: a test file whose rows were shuffled without their labels passed."""
    rng = np.random.default_rng(41)
    for split, n in (("train", 400), ("test", 150)):
        y = rng.integers(0, 3, n)
        x = (rng.normal(0, 1, (n, 60)) + 3 * np.eye(3, 60)[y]).astype(np.float32)
        np.savez(tmp_path / f"{split}.npz", X=rng.permutation(x) if shuffled and split == "test" else x, y=y)
    told = [f.message for f in checked(asker, tmp_path).findings if f.code == "label-odd-one-out"]
    assert any("y does not fit X in test" in message for message in told) == shuffled
