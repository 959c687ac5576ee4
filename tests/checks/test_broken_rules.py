"""Relations between two columns that hold everywhere except in one part, and those that differ by nature."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, merged
from tests.making.scanning import scan

N = 1800
rng = np.random.default_rng(41)
AT = np.arange(N)
SITE = AT % 6
WIND = np.round(np.exp(rng.normal(1.6, 0.4, N)), 1)
GUST = np.round(WIND * 1.2 + 0.3, 1)
AIR = rng.normal(10, 3, N)
HOME, AWAY = rng.integers(0, 5, N), rng.integers(0, 5, N)
WON = np.array(["A", "D", "H"])[np.sign(HOME - AWAY) + 1]
OTHER_WAY = np.array(["H", "D", "A"])[np.sign(HOME - AWAY) + 1]
GAP = np.where(rng.random(N) < 0.4, 0.0, np.round(rng.gamma(2, 0.8, N), 2))
ITEM = rng.integers(0, 60, N)
KINDS = np.array(["tea", "toys", "tools", "tents"])
SPLIT = ["train"] * 1200 + ["test"] * 600
DAY = AT // 6
AGED = DAY + rng.normal(0, 20, N)
SPELL = (AT > 700) & (AT < 1000)


def table(splits: Any = "", by: str = "site", **columns: Any) -> Data:
    named = {by: [f"{by} {s}" for s in SITE]} | columns
    kinds = {name: "category" for name, values in named.items() if isinstance(values, list)}
    return Data(named, splits=splits, kinds=kinds)


def swapped(odd: Any) -> dict[str, Any]:
    return {"wind": np.where(odd, GUST, WIND), "gust": np.where(odd, WIND, GUST)}


def walks(seed: int) -> Any:
    return np.random.default_rng(seed).normal(0, 1, (N // 6, 6)).cumsum(0).reshape(-1)


CHANGES: dict[str, Any] = {
    "two numbers swapped at one site": (table(**swapped(SITE == 2)), "order-reversed", "where site is site 2"),
    "and from a row on at it": (
        table(**swapped((SITE == 2) & SPELL)),
        "order-reversed",
        "where site is site 2, in samples",
    ),
    "and in one split": (table(SPLIT, **swapped(AT >= 1200)), "order-reversed", "in test"),
    "swapped here and there": (
        table(**swapped(AT % 60 == 7)),
        "order-reversed",
        "gust is smaller than wind in 30 of 1,800 samples, by as much as it is larger in all others",
    ),
    "a class that a number decides": (
        table(gap=GAP, metal=list(np.where((GAP == 0) ^ (SITE == 1), "yes", "no"))),
        "columns-contradict",
        "metal contradicts gap where site is site 1",
    ),
    "one that the difference of two decides, in a stretch": (
        table(home=HOME, away=AWAY, won=list(np.where(SPELL, OTHER_WAY, WON))),
        "columns-contradict",
        "won contradicts home and away in samples",
    ),
    "names that a split maps otherwise": (
        table(SPLIT, item=[f"i{i}" for i in ITEM], kind=list(KINDS[np.where(AT >= 1200, ITEM + 1, ITEM) % 4])),
        "columns-contradict",
        "kind goes with other values of item in test",
    ),
    "a number that counts the other way": (
        table(age=AGED, left=np.where(SITE == 4, AGED, 300 - AGED) + rng.normal(0, 9, N)),
        "columns-contradict",
        "correlate the opposite way where site is site 4",
    ),
    "a number that is the target in half of the groups": (
        table(by="share", change=np.where(SITE < 3, AIR, WIND), target=AIR),
        "label-leaked-by-field",
        "change equals target in all 900 samples where share is",
    ),
}
SPEAKS: dict[str, tuple[Data, str, str]] = {
    name: (data, code, "error" if "target" in name else "warning") for name, (data, code, _) in CHANGES.items()
}
WARM = np.where((SITE == 3) & SPELL, 8.0, 0.0)
GAP_MILES = np.random.default_rng(7).gamma(1.3, 2.2, N)
SOUND: dict[str, Data] = {
    "what keeps to its order": table(**swapped(AT < 0)),
    "more often than not, and now and then not": table(
        cost=np.exp(AIR / 4), income=np.exp(AIR / 4 + rng.normal(0.4, 0.2, N))
    ),
    "a kind of rows that has it the other way": table(by="side", **swapped((SITE == 2) & (AT % 4 == 0))),
    "sides of a trade": table(by="side", **swapped(SITE == 2)),
    "warmer than the water on warm days at one site": table(
        air=AIR - 6 + WARM * np.sin((AT - 700) / 300 * np.pi), water=AIR * 0.2 + 12 + rng.normal(0, 0.3, N)
    ),
    "what a site has of its own": table(
        height=np.array([5, 9, 4, 2900, 7, 12])[SITE] + rng.normal(0, 1, N), pressure=rng.normal(900, 20, N)
    ),
    "no tax in one state": table(by="state", net=WIND, total=np.where(SITE == 1, WIND, np.round(WIND * 1.07, 2))),
    "fares, of which some were paid back": table(
        miles=np.round(GAP_MILES, 2), fare=np.round((3 + 7 * GAP_MILES) * np.where(AT % 40 == 7, -1, 1), 2)
    ),
    "a mark from which one passes": table(mark=GAP, passed=list(np.where(GAP >= 1.5, "yes", "no"))),
    "a class that a number hardly decides": table(
        mark=GAP, passed=list(np.where(GAP + rng.normal(0, 1, N) > 1, "yes", "no"))
    ),
    "prices that wander": table(by="stock", day=DAY.astype(float), price=walks(1), volume=walks(2)),
    "heating in the north, cooling in the south": table(
        by="region", outside=AIR, energy=AIR * np.array([-3.0, -2.2, -1.5, -0.9, -0.2, 1.2])[SITE] + rng.normal(0, 3, N)
    ),
    "things with numbers of their own at each site": table(
        item=[f"i{i}" for i in ITEM], kind=list(KINDS[(ITEM * 7 + SITE * 5) % 4])
    ),
    "another thing of test that shares a number with one of training": table(
        SPLIT,
        plot=[f"p{k}" for k in np.where(AT < 1200, AT % 40, 100 + AT % 20)],
        metres=np.where(AT < 1200, 500 + 13 * (AT % 40), np.where(AT % 20 == 0, 500, 1100 + 13 * (AT % 20))),
    ),
    "a feature beside the target": table(change=AIR + rng.normal(0, 1, N), target=AIR),
}


@pytest.mark.parametrize(("data", "code", "where"), CHANGES.values(), ids=CHANGES)
def test_what_breaks_a_relation_in_one_part_is_told_once_with_its_place(data: Data, code: str, where: str) -> None:
    """Our promise: what holds in all other rows needs no telling names."""
    found = [f for f in merged("broken_rules", data) if f.severity != "info"]
    assert [f.code for f in found] == [code]
    assert where in found[0].message


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_relations_that_differ_by_nature_are_none(data: Data) -> None:
    assert [f.message for f in merged("broken_rules", data)] == []


def test_rows_of_a_season_may_have_another_order(tmp_path: Path) -> None:
    """Seen: nothing of gusts below the wind at one station. Our promise: told of files too; in all rows for a while it is info."""
    for name, odd in ("site", SITE == 2), ("season", SPELL):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            both = swapped(odd)
            csv.writer(file).writerows([["station", *both], *zip(SITE + 41000, *both.values(), strict=True)])
    said = {name: scan(tmp_path / f"{name}.csv", tmp_path).findings for name in ("site", "season")}
    told = {name: [f.severity for f in found if f.code == "order-reversed"] for name, found in said.items()}
    assert told == {"site": ["warning"], "season": ["info"]}
