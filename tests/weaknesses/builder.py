"""What the original JASPER builder did badly."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dataloader_expert.loaders.jasper import allotting, curriculum, finalizing, negatives
from dataloader_expert.loaders.jasper.config import BuildConfig
from dataloader_expert.loaders.jasper.drawing import draw_untaken
from dataloader_expert.loaders.jasper.finalizing import DatasetFinalizer
from dataloader_expert.loaders.jasper.integrity import check_finished
from dataloader_expert.loaders.jasper.splitting import DatasetSplitter
from tests.weaknesses.base import Weakness, planted

SYSTEM = "JASPER builder"
NEGATIVES = "tests/loaders/jasper/test_negatives.py::test_"
SPLITTING = "tests/loaders/jasper/test_splitting.py::test_"
CONFIG = "tests/loaders/jasper/test_config.py::test_"
FINALIZING = "tests/loaders/jasper/test_finalizing.py::test_"

Splitter: Any = DatasetSplitter
_split = Splitter.split


def _across_tiers(pool: Any, taken: Any, count: int, rng: Any) -> Any:
    return draw_untaken(pool, taken[:, :1], count, rng)


def _by_tier(first: Any, second: Any, rng: Any) -> Any:
    return first, second


def _floors(sizes: Any, val_ratio: float, test_ratio: float, random: Any) -> Any:
    train = np.maximum(1, np.floor(sizes * (1 - val_ratio - test_ratio))).astype(np.int64)
    val = np.minimum(np.maximum(1, np.floor(sizes * val_ratio)).astype(np.int64), sizes - train)
    return np.stack([train, val, sizes - train - val], axis=1)


def _reseeding(self: Any, *arguments: Any, **keywords: Any) -> Any:
    np.random.seed(self.random_state)
    torch.manual_seed(self.random_state)
    return _split(self, *arguments, **keywords)


def _at_least_one_keyword(tables: Any, *others: Any) -> None:
    if not len(tables.keyword_embs):
        raise ValueError("keyword_embs must have at least 1 rows")
    check_finished(tables, *others)


def _always(self: Any) -> bool:
    return True


def _nothing(*arguments: Any, **keywords: Any) -> None:
    """Checks nothing."""


WEAKNESSES = [
    Weakness(SYSTEM, says, test, plant)
    for says, test, plant in [
        (
            "a source is a negative twice in one row",
            NEGATIVES + "negatives_are_other_sources_each_once_while_there_are_enough",
            planted((negatives, "draw_untaken", _across_tiers)),
        ),
        (
            "negatives are sorted by tier, column by column",
            NEGATIVES + "columns_come_in_random_order_unless_asked_otherwise",
            planted((negatives, "shuffled_columns", _by_tier)),
        ),
        (
            "small clusters are split far from the asked ratios",
            SPLITTING + "twenty_questions_in_four_clusters_come_out_80_10_10",
            planted((allotting, "allotted", _floors)),
        ),
        (
            "splitting reseeds the global generators",
            SPLITTING + "a_seed_makes_one_split_and_global_generators_are_left_alone[stratified]",
            planted((Splitter, "split", _reseeding)),
        ),
        (
            "the builder writes a curriculum that nothing reads, in silence",
            CONFIG + "an_old_curriculum_is_accepted_and_said_to_run_as_it_always_did",
            planted((curriculum.logger, "warning", _nothing)),
        ),
        (
            "senseless values are found in training only",
            CONFIG + "values_out_of_range_are_refused_at_once_and_before_they_are_saved[curriculum-probability]",
            planted((BuildConfig, "validate", _nothing)),
        ),
        (
            "a data set without keywords is refused by the finaliser of its own builder",
            FINALIZING + "a_data_set_without_keywords_is_complete",
            planted((finalizing, "check_finished", _at_least_one_keyword)),
        ),
        (
            "a data set without a test split cannot be finished",
            FINALIZING + "a_data_set_without_test_split_is_complete_if_none_was_asked_for[ratio-0-missing]",
            planted((BuildConfig, "wants_test", _always)),
        ),
        (
            "the docs' DatasetFinalizer.generate_report is not there",
            FINALIZING + "a_report_counts_what_is_there",
            planted((DatasetFinalizer, "generate_report", None)),
        ),
        (
            "rows below zero pass the finaliser",
            FINALIZING + "a_broken_directory_is_refused_and_nothing_is_changed[source-below-zero]",
            planted((finalizing, "check_finished", _nothing)),
        ),
    ]
]
