"""The ``config.json`` of a JASPER data set: what it was built with and what came of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from dataloader_expert.loaders.jasper.atomic import write_json
from dataloader_expert.loaders.jasper.curriculum import MODES, VARIANTS, Curriculum, base_probabilities, is_old
from dataloader_expert.loaders.jasper.tiers import checked_tiers

log = logging.getLogger(__name__)

PLACEHOLDER = 1
"""``embedding_dim`` and ``n_neg`` of a configuration that is written before they are known."""


@dataclass
class BuildConfig:
    """How a data set is built, and after the build what is in it.

    Args:
        embedding_dim: width of the embeddings; 1 until it is known.
        n_neg: negatives per pair.
        clustering_source: where the clusters came from.
        split_ratios: shares of train, val and test; the last may be 0. Not used, nor checked, with ``csv_splits``.
        steering_probabilities: of ``zero``, ``centroid``, ``keyword`` and ``residual``.
        curriculum: how the probability of ``zero`` moves; see
            :class:`~dataloader_expert.loaders.jasper.curriculum.Curriculum`. ``mode`` must be there.
        n_pairs, n_questions, n_sources, n_keywords, n_clusters: counts; None before the build.
        storage_format: ``pt`` or ``hdf5``.
        include_inspection_file: whether texts to look at are written beside the tensors.
        random_seed: of mining and splitting.
        csv_splits: CSV files of each split, instead of ratios.
        tier_proportions: negatives of each of the four tiers; None: even.

    Errors are those of :meth:`validate`.
    """

    embedding_dim: int
    n_neg: int
    clustering_source: str
    split_ratios: list[float] = field(default_factory=lambda: [0.8, 0.1, 0.1])
    steering_probabilities: dict[str, float] = field(default_factory=lambda: dict.fromkeys(VARIANTS, 0.25))
    curriculum: dict[str, Any] = field(default_factory=lambda: asdict(Curriculum()))
    n_pairs: int | None = None
    n_questions: int | None = None
    n_sources: int | None = None
    n_keywords: int | None = None
    n_clusters: int | None = None
    storage_format: str = "pt"
    include_inspection_file: bool = False
    random_seed: int = 42
    csv_splits: dict[str, list[str]] | None = None
    tier_proportions: list[int] | None = None

    def __post_init__(self) -> None:
        self.validate()
        if is_old(self.curriculum):
            Curriculum.of(self.curriculum)  # says in the log how it runs

    def validate(self) -> None:
        """Checks all fields: one out of range is a ``ValueError``, ``tier_proportions`` in no list a ``TypeError``."""
        if self.csv_splits is None:
            _check_ratios(self.split_ratios)
        base_probabilities(vars(self))
        if self.storage_format not in ("pt", "hdf5"):
            raise ValueError(f"storage_format must be 'pt' or 'hdf5', got {self.storage_format!r}")
        _check_curriculum(self.curriculum)
        for name in ("embedding_dim", "n_neg"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.tier_proportions is not None:
            checked_tiers(self.tier_proportions, self.n_neg)

    def wants_test(self) -> bool:
        """Whether the data set has a test split that must not be empty."""
        return self.split_ratios[2] > 0 if self.csv_splits is None else "test" in self.csv_splits

    def update_post_build(
        self, n_pairs: int, n_questions: int, n_sources: int, n_keywords: int, n_clusters: int
    ) -> None:
        """Sets what was counted."""
        self.n_pairs, self.n_questions, self.n_sources = n_pairs, n_questions, n_sources
        self.n_keywords, self.n_clusters = n_keywords, n_clusters

    def to_dict(self) -> dict[str, Any]:
        """A copy of all fields, ready for JSON."""
        return asdict(self)

    def save(self, path: str | Path) -> None:
        """Writes all fields as JSON after :meth:`validate`; makes folders, replaces an older file in one step."""
        self.validate()
        write_json(self.to_dict(), Path(path))

    @classmethod
    def load(cls, path: str | Path) -> BuildConfig:
        """Reads what :meth:`save` or an older builder wrote; keys that are not fields are named in the log and left out.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is not a JSON object, lacks a field without default, or a field is out of range.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"Config file not found: {path}")
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not JSON ({error}): build the dataset again, or fix the file") from error
        if not isinstance(given, dict):
            raise ValueError(f"{path} holds {type(given).__name__}; an object with the fields of BuildConfig is needed")
        return cls.of(given, str(path))

    from_file = load

    @classmethod
    def of(cls, given: Mapping[str, Any], where: str) -> BuildConfig:
        """From a mapping, which messages call ``where``; keys that are not fields are named in the log and left out.

        A ``ValueError`` if a field without default is missing, or one is out of range.
        """
        known = {f.name: f for f in fields(cls)}
        unknown = sorted(given.keys() - known.keys())
        if unknown:
            log.warning("%s: unknown keys %s are ignored", where, ", ".join(unknown))
        missing = [n for n, f in known.items() if n not in given and f.default is f.default_factory is MISSING]
        if missing:
            raise ValueError(f"{where} lacks {', '.join(missing)}: add what the data set was built with")
        return cls(**{name: given[name] for name in known if name in given})


def _check_ratios(ratios: list[float]) -> None:
    if not abs(sum(ratios) - 1) <= 1e-6:
        raise ValueError(f"split_ratios must sum to 1.0, and {ratios} sum to {sum(ratios)}")
    if len(ratios) != 3:
        raise ValueError(f"split_ratios must have exactly 3 values (train, val, test), got {len(ratios)}")
    if not all(0 <= ratio <= 1 for ratio in ratios):
        raise ValueError(f"split_ratios must be in [0, 1], got {ratios}")


def _check_curriculum(curriculum: Mapping[str, Any]) -> None:
    if "mode" not in curriculum:
        raise ValueError(f"curriculum must have 'mode' key, one of {', '.join(MODES)}")
    schedule = Curriculum(mode=curriculum["mode"]) if is_old(curriculum) else Curriculum.of(curriculum)
    if schedule and not 0 <= schedule.warmup_epochs < schedule.epochs_total:
        raise ValueError(
            f"curriculum has warmup_epochs {schedule.warmup_epochs} of epochs_total {schedule.epochs_total}: "
            "the total must be at least 1, and the warm-up shorter"
        )
