"""The line of the user's that made what workers share, or copies of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dataloader_expert.advice.descriptors import shared as told_shared
from dataloader_expert.advice.worker_semantics import twins
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.health.attribute_lines import uses_of
from dataloader_expert.probes.health.shared_handles import shared, used
from dataloader_expert.probes.health.worker_semantics import TWINS, _generator
from tests.probes.health.test_shared_handles import in_a_fork

SAID = Evidence("counted", "a test")


class Noisy:
    def __init__(self, path: Path | None = None) -> None:
        self.unused = np.random.default_rng(1)
        self.rng = np.random.default_rng(0)
        self.file = None if path is None else path.open("rb", buffering=0)

    def __getitem__(self, index: int) -> Any:
        return self.rng.normal()


def line_of(text: str) -> int:
    return 1 + Path(__file__).read_text(encoding="utf-8").splitlines().index(text)


def test_the_generator_that_workers_copy_is_named() -> None:
    """Seen: workers drew the same numbers, and the author was to find the generator; one that is not drawn from is not it."""
    value = {
        "random": True,
        "same_in_both": True,
        "own_init": False,
        "same_next_epoch": True,
        "same_again": True,
        "by_worker": False,
    }
    [found] = twins(Facts((Fact(TWINS, {**value, "held": _generator(Noisy(), 0)}, SAID),)))
    line = line_of("        self.rng = np.random.default_rng(0)")
    assert f"(`self.rng`, test_attribute_lines.py:{line})" in found.message
    assert [place["line"] for place in found.where] == [line]


def test_the_file_that_workers_share_is_named_with_the_line_that_opens_it(tmp_path: Path) -> None:
    """Seen: the path of the data was told, and not where it is opened."""
    path = tmp_path / "all.bin"
    path.write_bytes(bytes(100))
    dataset = Noisy(path)
    assert dataset.file is not None
    with dataset.file as file:
        before = used()
        in_a_fork(lambda: file.read(10))
        [found] = told_shared(Facts(tuple(shared(before, "x", dataset))))
    line = line_of('        self.file = None if path is None else path.open("rb", buffering=0)')
    assert f"(`self.file`, test_attribute_lines.py:{line})" in found.message
    assert found.where[0]["line"] == line


def test_an_attribute_of_no_source_has_no_lines() -> None:
    """Our promise: what the source does not show is not guessed."""
    made = Noisy()
    made.__dict__["late"] = []
    assert uses_of(made, "late") is None
    assert uses_of(object(), "rng") is None
