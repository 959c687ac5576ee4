"""A verdict that does not say "passed" without a word of a leak."""

from __future__ import annotations

import pytest

from dataloader_expert.conclusions import Finding, Severity
from dataloader_expert.tools.recipes.check_quality import leaked


def found(code: str, severity: Severity = "warning") -> Finding:
    return Finding(code, severity, f"{code} was found.", ({"fact": "pairs", "how": "counted"},), "split anew", (), 3)


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ((), ""),
        ((found("missing-values"), found("splits-overlap", "info")), ""),
        (
            (found("missing-values"), found("splits-near-overlap")),
            ", but with a leak that may make scores too good: splits-near-overlap was found",
        ),
        (
            (found("label-leaked-by-field"), found("group-leakage")),
            ", but with a leak that may make scores too good (and 1 more): group-leakage was found",
        ),
    ],
)
def test_a_warning_of_a_leak_stands_beside_the_verdict(findings: tuple[Finding, ...], said: str) -> None:
    """Seen: passed was true, and whoever read no further took data for sound whose test split training had seen."""
    assert leaked(findings, 1000) == said


def test_a_copy_among_thousands_changes_no_score() -> None:
    """Seen: of two near duplicates among 2,400 sentences it was said that they make scores too good."""
    assert leaked((found("splits-near-overlap"),), 3000) == ""
    assert leaked((found("label-leaked-by-field"),), 3000) != ""
    assert (
        leaked((found("splits-near-overlap"),), 300) != ""
    )  # of a small split they are many, however large the others
    assert leaked((found("splits-overlap", "error"),), 3000) != ""
