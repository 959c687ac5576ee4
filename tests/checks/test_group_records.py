"""Numbers that a few groups record otherwise: where nothing is said, and where something is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.columns import group_records
from tests.checks.looking import Data, judged

N, SITES = 1200, 6
SITE = np.arange(N) % SITES
WAVE = np.random.default_rng(6).normal(0, 0.3, N)


def drawn(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def at_sites(
    change: Callable[[Any], Any],
    odd: tuple[int, ...] = (4,),
    values: Any = None,
    named: str = "site",
    sites: int = SITES,
    n: int = N,
) -> Data:
    """Measurements of several sites, changed at some of them."""
    x = (drawn().gamma(3.0, 2.0, n) if values is None else values[:n].copy()).round(3)
    site = np.arange(n) % sites
    x[np.isin(site, odd)] = change(x[np.isin(site, odd)])
    return Data({named: [f"place {s}" for s in site], "x": x}, kinds={named: "category"})


def pressures(
    odd: tuple[int, ...] = (4,), names: tuple[str, str] = ("sbp", "dbp"), low: Any = None, share: float = 1.0
) -> Data:
    """Two pressures of several sites, the lower of which depends on the higher one, swapped at some sites."""
    high = 122 + drawn().normal(0, 17, N)
    low = 0.6 * high + drawn(4).normal(0, 6, N) if low is None else low(high)
    turned = np.isin(SITE, odd) & (drawn(5).random(N) < share)
    x, y = np.where(turned, low, high).round(), np.where(turned, high, low).round()
    return Data({"site": [f"site {s}" for s in SITE], names[0]: x, names[1]: y}, kinds={"site": "category"})


def rounded(x: Any) -> Any:
    return x.round()


SILENT = {
    "steps of all sites": at_sites(lambda x: x),
    "whole numbers at half of the sites": at_sites(rounded, (0, 2, 4)),
    "whole numbers of another level": at_sites(lambda x: (150 * x).round()),
    "one of two sites": at_sites(rounded, (1,), sites=2),
    "few rows of a site": at_sites(rounded, n=120),
    "kinds that are counted and weighed": at_sites(rounded, named="species"),
    "prices that end in nine": at_sites(lambda x: x.round() + 1, values=drawn().integers(1, 30, N) + 0.99),
    "whole numbers now and then": at_sites(lambda x: np.where(drawn().random(len(x)) < 0.8, x.round(), x)),
    "the age of each person, of two a multiple of ten": Data(
        {"person": [f"p{k}" for k in np.arange(N) % 30], "age": 21 + np.arange(N) % 30}, kinds={"person": "category"}
    ),
    "a tenth of what does not matter": at_sites(lambda x: x.round(1), values=drawn().normal(50, 20, N)),
    "pressures as they are": pressures(()),
    "sides of what is turned": pressures(names=("width", "height")),
    "pressures that some rows have swapped": pressures(share=0.6),
    "what comes and goes about as often": pressures(low=lambda high: high - np.abs(drawn(4).normal(0, 4, N))),
    "half of the sites otherwise": pressures((0, 2, 4)),
    "more out than in at one site, of another size": Data(
        {
            "site": [f"site {s}" for s in SITE],
            "inward": np.where(SITE == 4, 90, 300) + drawn().normal(0, 9, N),
            "outward": np.where(SITE == 4, 200, 100) + drawn(4).normal(0, 9, N),
        },
        kinds={"site": "category"},
    ),
}
SILENT |= {
    "one value at half of the sites": at_sites(lambda x: 0 * x, (0, 2, 4)),
    "nothing at one site of what is seldom there": at_sites(
        lambda x: 0 * x, values=np.where(drawn().random(N) < 0.2, drawn(2).gamma(3, 1, N), 0)
    ),
    "one level at a site, of few levels": at_sites(lambda x: 0 * x + 2, values=drawn().integers(0, 4, N).astype(float)),
    "a height of each site": at_sites(lambda x: x, values=40.0 + SITE),
}
SPEAKS: dict[str, tuple[Data, str]] = {
    "whole numbers at one site": (at_sites(rounded), "scale-drift"),
    "whole numbers at two of six": (at_sites(rounded, (1, 4)), "scale-drift"),
    "halves at one of three meters": (
        at_sites(lambda x: (2 * x).round() / 2, (1,), named="meter_id", sites=3),
        "scale-drift",
    ),
    "tens at one site": (
        at_sites(lambda x: x.round(-1), values=drawn().normal(40, 15, N)),
        "scale-drift",
    ),
    "tenths among numbers of full precision": (
        Data(
            {"site": [f"site {s}" for s in SITE], "x": np.where(SITE == 1, WAVE.round(1), WAVE)},
            kinds={"site": "category"},
        ),
        "scale-drift",
    ),
    "a dead sensor at one site": (at_sites(lambda x: 0 * x + 4), "stuck-values"),
    "pressures swapped at one site": (pressures(), "fields-swapped"),
    "pressures swapped at two of six": (pressures((0, 4)), "fields-swapped"),
}


def test_zeros_of_one_site_are_an_info_with_places() -> None:
    """Seen: the slope of one run on a treadmill, and the torque of an idle machine, were to be marked as missing."""
    found = judged("group_records", at_sites(lambda x: 0 * x))["stuck-values"]
    assert found.severity == "info" and [w["sample"] for w in found.where][:2] == [4, 10]


@pytest.mark.parametrize("stuck", [1, 100])
def test_a_number_at_the_end_of_its_scale_is_stuck(stuck: int) -> None:
    data = at_sites(lambda x: 0 * x + stuck, values=drawn().normal(60, 9, N))
    assert judged("group_records", data)["stuck-values"].severity == "warning"


def test_what_is_said_of_all_samples_is_said_of_those_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_records, "KEPT", 600)
    message = judged("group_records", at_sites(lambda x: 0 * x + 4))["stuck-values"].message
    assert "samples looked at where site is place 4" in message and "all 200 " not in message
