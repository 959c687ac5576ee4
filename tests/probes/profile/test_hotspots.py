"""The shares of functions: all of a sample's time is on some stack."""

from __future__ import annotations

import pytest

from dataloader_expert.probes.profile.hotspots import weighed
from dataloader_expert.probes.profile.sampling_profiler import Tick
from dataloader_expert.probes.profile.stage_classifier import Namer

USERS = (("/data/mine.py", 3, "__getitem__"),)
OTHERS = (("/data/mine.py", 9, "decode"),)


@pytest.mark.parametrize(
    ("ticks", "shares"),
    [
        ([Tick(USERS, 8, 2)], [1.0]),
        ([Tick(USERS, 8, 0)], [1.0]),  # waits were measured, but no stack was seen waiting
        ([Tick(USERS, 6, 0), Tick(OTHERS, 2, 0)], [0.75, 0.25]),
        ([Tick(USERS, 8, 0), Tick(OTHERS, 0, 4)], [0.75, 0.25]),
    ],
)
def test_shares_cover_what_was_spent_in_fetching(ticks: list[Tick], shares: list[float]) -> None:
    seconds = {(False, True): 0.75, (False, False): 0.25, (True, True): 0.0, (True, False): 0.0}
    found = weighed(Namer(), ticks, seconds, 1.0)
    assert [share for _, share in found] == pytest.approx(shares)
