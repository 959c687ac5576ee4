"""Data sets for anomaly detection: trained on sound samples alone, tested on sound and faulty ones."""

from __future__ import annotations

from dataloader_expert.checks.base import CLASS_COUNTS
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.roles import words

SOUND_WORDS = {
    "good",
    "normal",
    "ok",
    "okay",
    "healthy",
    "benign",
    "sound",
    "intact",
    "flawless",
    "inlier",
    "inliers",
    "nominal",
    "pass",
}
"""Words of the names by which such data sets call what is not faulty."""

NEGATED = {"not", "non", "no", "un", "ab"}
"""Words that make of such a name its opposite."""


def sound_only(facts: Facts) -> Fact | None:
    """The class counts of a training split that has sound samples alone, where another split has them and others."""
    found = {f.at["split"]: f for f in facts.all(CLASS_COUNTS) if f.at.get("split") is not None and f.value}
    train = found.pop("train", None)
    if train is None or len(train.value) != 1:
        return None
    (name,) = train.value
    tested = any(name in f.value and len(f.value) > 1 for f in found.values())
    said = set(words(str(name)))
    return train if tested and said & SOUND_WORDS and not said & NEGATED else None
