"""Labels that stop at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged

N, DAY, START = 6_000, 86_400.0, 1_500_000_000.0


def followed(
    share: Any, days: float = 1_000.0, sites: int = 1, order: bool = False, stopped: Any = None, n: int = N
) -> Data:
    """Samples of so many days, with labels of 0 and, with a probability that a function of the time, from 0 to 1, gives, of 1; of sites, of
    which a function of the time and the site may say that it gives none."""
    rng = np.random.default_rng(41)
    at = rng.random(n)
    at = np.sort(at) if order else at
    site = rng.integers(0, sites, n)
    label = (rng.random(n) < np.array([share(t) for t in at])).astype(int)
    if stopped is not None:
        label[[stopped(t, s) for t, s in zip(at, site, strict=True)]] = 0
    columns = {
        "x": rng.normal(0, 1, n),
        "date": START + at * days * DAY,
        "site": [f"site {s}" for s in site],
        "outcome": label,
    }
    return Data(columns, "outcome", kinds={"outcome": "category", "site": "category", "date": "time"})


def always(t: float) -> float:
    return 0.15


SILENT: dict[str, Data] = {
    "labels at all times": followed(always),
    "labels that grow rarer and rarer": followed(lambda t: max(0.0, 0.3 * (0.8 - t))),
    "a season without any": followed(lambda t: 0.2 if (t * 1000 % 365) < 200 else 0.0, 940.0),
    "a season of less than a year": followed(lambda t: 0.2 if t < 0.75 else 0.0, 300.0),
    "a weekend": followed(lambda t: 0.2 if t < 5 / 7 else 0.0, 7.0),
    "a night": followed(lambda t: 0.2 if t < 2 / 3 else 0.0, 1.0),
    "labels that are given now and then": followed(lambda t: 0.9 if int(t * 30) % 4 == 0 and t < 0.8 else 0.0),
    "a class that is new": followed(lambda t: 0.0 if t > 0.7 else 1.0),
    "labels that begin at a time": followed(lambda t: 0.2 if t > 0.3 else 0.0),
    "few samples after it": followed(lambda t: 0.0 if t > 0.95 else 0.15),
    "sites that all have a season": followed(lambda t: 0.2 if t < 0.75 else 0.0, 300.0, sites=3),
    "sorted by label": followed(lambda t: float(t < 0.4)),
}
SPEAKS: dict[str, Data] = {
    "from a date on": followed(lambda t: 0.0 if t > 0.8 else 0.15),
    "rows in order of time": followed(lambda t: 0.0 if t > 0.75 else 0.3, order=True),
    "half of all": followed(lambda t: 0.5 if t < 0.7 else 0.0, 1500.0),
    "in one site": followed(always, 400.0, 2, stopped=lambda t, s: s == 1 and t > 0.72, n=9_000),
    "for a week": followed(lambda t: 0.2 if t < 0.75 else 0.0, 28.0),
}


def test_what_is_left_and_since_when_is_told() -> None:
    """Our promise: the label that is left, the date, and the share of others before."""
    found = judged("labels_stopped", SPEAKS["from a date on"])["label-odd-one-out"]
    assert found.severity == "warning"
    assert "outcome is 0 in all" in found.message
    assert "2019-09" in found.message
    assert "site is site 1" in judged("labels_stopped", SPEAKS["in one site"])["label-odd-one-out"].message
