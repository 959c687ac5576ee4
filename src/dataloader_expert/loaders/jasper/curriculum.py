"""Probabilities of the steering variants in an epoch, in one schema for builder and dataset."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

logger = logging.getLogger(__name__)

VARIANTS = ("zero", "centroid", "keyword", "residual")
"""Steering variants in the order of their codes, 0 to 3."""
MODES = ("fixed", "linear", "cosine")
OLD_KEYS = frozenset({"start_distance", "end_distance"})
NEW_KEYS = frozenset({"zero_prob_start", "zero_prob_end", "epochs_total"})


@dataclass(frozen=True)
class Curriculum:
    """The probability of variant ``zero`` goes from ``zero_prob_start`` to ``zero_prob_end``.

    It stays at its start for ``warmup_epochs``, then moves until ``epochs_total``, in a line or half a cosine;
    in mode ``fixed`` it never moves.

    Raises:
        ValueError: if a probability is outside [0, 1], the mode unknown, or epochs make no sense.
    """

    zero_prob_start: float = 0.5
    zero_prob_end: float = 0.1
    epochs_total: int = 100
    mode: str = "linear"
    warmup_epochs: int = 0

    def __post_init__(self) -> None:
        for name in ("zero_prob_start", "zero_prob_end"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"curriculum {name} is {value}; it must be in [0, 1]")
        if self.mode not in MODES:
            raise ValueError(f"curriculum mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.epochs_total < 0 or self.warmup_epochs < 0:
            raise ValueError(
                f"curriculum has epochs_total {self.epochs_total} and warmup_epochs {self.warmup_epochs}; "
                "both must be at least 0"
            )

    @staticmethod
    def of(config: Mapping[str, Any] | None) -> Curriculum | None:
        """From a configuration's ``curriculum``; None where it has none, which keeps its base probabilities.

        A configuration of the old builder (``start_distance``, ``end_distance``: keys that no dataset ever read) runs
        as it always did, from 0.5 to 0.1 over 100 epochs, with a warning. A value out of range or an unknown key is a
        ``ValueError``.
        """
        if not config:
            return None
        if is_old(config):
            logger.warning(
                "curriculum %s comes from an old builder, and its keys are ignored: it runs as zero_prob_start 0.5, "
                "zero_prob_end 0.1, epochs_total 100; write these three into config.json to choose them",
                dict(config),
            )
            return Curriculum()
        given = {name: value for name, value in config.items() if name not in OLD_KEYS}
        unknown = given.keys() - asdict(Curriculum()).keys()
        if unknown:
            raise ValueError(
                f"curriculum has unknown keys {sorted(unknown)}; it takes {', '.join(asdict(Curriculum()))}"
            )
        return Curriculum(**given)

    def zero_probability(self, epoch: int) -> float:
        """Of variant ``zero`` in ``epoch``."""
        span = max(self.epochs_total - self.warmup_epochs, 1)
        progress = min(max(epoch - self.warmup_epochs, 0) / span, 1.0)
        if self.mode == "fixed":
            progress = 0.0
        elif self.mode == "cosine":
            progress = (1 - math.cos(math.pi * progress)) / 2
        return self.zero_prob_start + (self.zero_prob_end - self.zero_prob_start) * progress


def is_old(curriculum: Mapping[str, Any]) -> bool:
    """Whether it has keys of the old builder only."""
    return bool(OLD_KEYS & curriculum.keys()) and not curriculum.keys() & NEW_KEYS


def base_probabilities(config: Mapping[str, Any]) -> dict[str, float]:
    """The four ``steering_probabilities``; a ``ValueError`` if they are not in [0, 1] or do not sum to 1."""
    given = {name: float(value) for name, value in dict(config["steering_probabilities"]).items()}
    if given.keys() != set(VARIANTS):
        raise ValueError(f"steering_probabilities must have keys {', '.join(VARIANTS)}, got {sorted(given)}")
    if not abs(sum(given.values()) - 1) <= 1e-6:
        raise ValueError(f"steering_probabilities must sum to 1.0, got {sum(given.values())}")
    if not all(0 <= value <= 1 for value in given.values()):
        raise ValueError(f"steering_probabilities must be in [0, 1], got {given}")
    return {variant: given[variant] for variant in VARIANTS}


def probabilities(base: Mapping[str, float], curriculum: Curriculum | None, epoch: int) -> dict[str, float]:
    """Of each variant in ``epoch``: ``zero`` by the curriculum, the others share the rest as their base values do."""
    if curriculum is None:
        return dict(base)
    zero = curriculum.zero_probability(epoch)
    others = sum(base[v] for v in VARIANTS[1:])  # not 1 - zero, which is nothing but rounding where zero is nearly 1
    if others <= 0:
        return {"zero": zero, "centroid": 1 - zero, "keyword": 0.0, "residual": 0.0}
    return {"zero": zero, **{v: base[v] / others * (1 - zero) for v in VARIANTS[1:]}}
