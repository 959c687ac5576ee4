"""What is wrong with files goes with a data set to workers that are spawned."""

from __future__ import annotations

import pickle

from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.sources.arrays import Unequal


def test_problems_are_pickled_whole() -> None:
    for problem in (Unreadable("truncated", "is cut", file="a.png"), Aside("table", "another table", file="b.csv")):
        again = pickle.loads(pickle.dumps(problem))  # as torch does when it spawns a worker; of our own objects alone
        assert (type(again), vars(again), str(again)) == (type(problem), vars(problem), str(problem))
    assert Unequal.__reduce__ is Unreadable.__reduce__
