"""When what is found of a label that is only guessed holds by itself: the evidence leaves hardly another reading."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.checks.common.origins import ORIGINS
from dataloader_expert.sources.roles import words

AFTERWARDS = {
    "reason", "reasons", "cause", "causes", "outcome", "result", "results", "decision", "decided", "verdict", "until", "till",
    "to", "before", "after", "since", "remaining", "next", "score", "probability", "prob", "proba", "predicted", "prediction",
    "pred", "date", "explanation", "justification", "comment", "note", "notes", "by",
}  # fmt: skip
"""Words beside the name of an outcome that make a field of what is known after it: ``deferral_reason``, ``days_to_failure``."""
STEM = 4
"""Letters at the beginning that make two words the same: ``deferral`` and ``deferred``."""


def is_outcome(label: str | None) -> bool:
    """Whether a field may be what is predicted, and does not say where samples are from."""
    return label is not None and not {*words(label)} & ORIGINS


def follows(field: str, label: str | None) -> bool:
    """Whether a field is called after a label, as something that is known after it."""
    called, stems = {*words(field)}, {*_stems(field)} & {*_stems(label or "")}
    return bool(stems and called & AFTERWARDS) and is_outcome(label)


def _stems(name: str) -> Iterator[str]:
    for word in words(name):
        if len(word) >= STEM and word not in AFTERWARDS:
            yield word[:STEM]
