"""Labels that go the other way in one group, though content tells them badly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.labels.ranked import auc, by_line, odd_groups
from tests.checks.looking import Data, judged_alone

SITES, N = 5, 300


def donors(fault: str = "", strong: float = 1.0, context: Any = None) -> Data:
    """Donations at five sites, of which the fourth has a fault; few are deferred, and how many differs by site."""
    rng = np.random.default_rng(31)
    site = np.repeat(np.arange(SITES), N)
    x = rng.normal(0, 1, (SITES * N, 4))
    odds = strong * (x[:, 0] - 0.7 * x[:, 1]) - 1.5 + 0.4 * site
    label = (rng.random(SITES * N) < 1 / (1 + np.exp(-odds))).astype(int)
    own = site == 3
    if fault == "turned":
        label[own] = 1 - label[own]
    elif fault == "shuffled":
        label[own] = rng.permutation(label[own])
    elif fault == "other reasons":
        label[own] = (x[own, 2] + rng.normal(0, 0.3, N) > 0.5).astype(int)
    order = rng.permutation(SITES * N)
    columns: dict[str, Any] = {f"x{k}": x[order, k] for k in range(4)}
    columns |= {"site": [f"Site {'ABCDE'[k]}" for k in site[order]], "deferral": label[order]}
    kinds = {"site": "category", "deferral": "category"}
    return Data(columns, "deferral", kinds=kinds, context=context or {})


def said(data: Data) -> str:
    found = judged_alone("unfit_labels", data)
    return found["label-odd-one-out"].message if found else ""


@pytest.mark.parametrize("strong", [1.0, 2.0])
def test_a_site_that_codes_the_label_the_other_way_is_told(strong: float) -> None:
    """Seen: one site of several wrote 1 for accepted; a classifier tells too little of such a label to compare it."""
    message = said(donors("turned", strong))
    assert message.startswith(
        "deferral seems to be inverted in the samples in which site is Site D (300 samples checked)"
    )
    assert "(AUC 0." in message


def test_a_site_with_labels_at_random_is_told() -> None:
    """Our promise: only where the site's own content tells them no better."""
    assert "does not fit the rest of a row in the samples in which site is Site D" in said(donors("shuffled", 2.0))
    assert said(donors("other reasons", 2.0)) == ""


@pytest.mark.parametrize("strong", [0.0, 1.0, 2.0])
def test_sites_that_agree_say_nothing(strong: float) -> None:
    """Our promise: neither do sites with more or fewer of a class."""
    assert said(donors(strong=strong)) == ""


def test_a_turned_label_is_a_warning_whether_or_not_it_is_only_guessed() -> None:
    """Our promise: a field that goes the other way at one site is wrong there, whatever it is for."""
    found = judged_alone("unfit_labels", donors("turned", context={"guessed": True}))
    assert found["label-odd-one-out"].severity == "warning"


def test_two_of_five_sites_tell_nothing() -> None:
    """Our promise: which of them are odd only a clear majority tells."""
    rng = np.random.default_rng(32)
    x, site = rng.normal(0, 1, (1500, 1)), np.repeat(np.arange(5), 300)
    label = (x[:, 0] + rng.normal(0, 0.5, 1500) > 0).astype(int)
    one = np.where(site == 4, 1 - label, label)
    assert [(odd.group, odd.turned) for odd in odd_groups(by_line(x, one), one, site, 5)] == [(4, True)]
    two = np.where(site >= 3, 1 - label, label)
    assert odd_groups(by_line(x, two), two, site, 5) == []


def test_equal_scores_count_half() -> None:
    assert auc(np.zeros(10), np.arange(10) % 2) == 0.5
    assert auc(np.arange(4.0), np.array([0, 0, 1, 1])) == 1.0


@pytest.mark.parametrize(("turned", "told"), [(True, [(6, True)]), (False, [])])
def test_a_rare_class_that_is_the_frequent_one_at_one_of_many_sites_is_turned(turned: bool, told: list[Any]) -> None:
    """Seen: nineteen in twenty donations of one site were deferred, and one in ten at seven others; few rows tell more. A site that
    has only the rare class, and the same reasons for it, is sound."""
    rng = np.random.default_rng(34)
    x, site = rng.normal(0, 1, (1600, 2)), np.repeat(np.arange(8), 200)
    rare = x[:, 0] + rng.normal(0, 1.2, 1600) > 2.0
    often = x[:, 0] + rng.normal(0, 1.2, 1600) > -2.0
    label = np.where(site == 6, ~rare if turned else often, rare).astype(int)
    assert [(odd.group, odd.turned) for odd in odd_groups(by_line(x, label), label, site, 8)] == told
