"""What the first generation's datasets did badly."""

from __future__ import annotations

import configparser
import functools
from typing import Any

import numpy as np

from dataloader_expert.loaders.layouts import archives, embeddings, parameters, tokens
from dataloader_expert.loaders.layouts import images as hub_images
from dataloader_expert.loaders.layouts.images import GenericImageDataset
from dataloader_expert.loaders.layouts.parameters import FeatureStatistics, ModelParameterDataset
from dataloader_expert.samplers.balanced import ClassBalancedBatchSampler
from dataloader_expert.samplers.base import EpochSampler, Plan
from tests.weaknesses.base import Instead, Weakness, planted

SYSTEM = "first generation"
SEED = "tests/loaders/test_seed_datasets.py::test_"

Parameters: Any = ModelParameterDataset
Tokens: Any = tokens.DatasetTokenDataset
Images: Any = GenericImageDataset
Balanced: Any = ClassBalancedBatchSampler
_fit, _init_parameters, _init_tokens = Parameters._fit, Parameters.__init__, Tokens.__init__
_item, _init_balanced, _files_below = Images.__getitem__, Balanced.__init__, archives.files_below


def _all_files(self: Any, fit_on: Any, on_corrupt: str) -> Any:
    return _fit(self, None, on_corrupt)


def _mean_of_squares(self: Any, fit_on: Any, on_corrupt: str) -> FeatureStatistics:
    rows = np.stack([archives.read_array(path, "parameters").reshape(-1) for path in self.files])
    mean = rows.mean(0)
    variance = np.maximum((rows**2).mean(0) - mean**2, self.epsilon**2)
    return FeatureStatistics(mean, np.sqrt(variance), len(rows))


def _uncached(self: Any, root: Any, **keywords: Any) -> None:
    _init_parameters(self, root, **{**keywords, "cache_bytes": 0})


def _sixteen_at_most(self: Any, root: Any = None, *, max_batches: int | None = None, **keywords: Any) -> None:
    _init_tokens(self, root, max_batches=min(max_batches or 16, 16), **keywords)


def _label_as_stored(self: Any, index: int) -> Any:
    return _item(self, index)[0], self.dataset[index][self.label_column]


def _by_character(root: Any, pattern: str, suffixes: Any = (".npz",)) -> Any:
    return _files_below(root, pattern, list(suffixes))


def _last_again_and_again(self: Any) -> Plan:
    ends = np.cumsum(self._counts)
    members = [self._members[end - n : end] for end, n in zip(ends, self._counts, strict=True)]
    flat = [m[min(i, len(m) - 1)] for i in range(self._batches) for m in members]
    batches = np.array(flat).reshape(-1, self.batch_size).tolist()
    return Plan(len(batches), len(batches), lambda first, until: batches[first:until])


def _if_not_labels(self: Any, labels: Any, *arguments: Any, **keywords: Any) -> None:
    if not labels:
        raise ValueError
    _init_balanced(self, labels, *arguments, **keywords)


class _WholePayload(configparser.ConfigParser):
    """Has every section: where it has not, another one's values."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> configparser.SectionProxy:
        return super().__getitem__(self.sections()[0])


UNPICKLING = Instead(np, load=lambda file, **how: np.load(file, **{**how, "allow_pickle": True}))
BLIND = Instead(np, isfinite=lambda values: np.ones_like(values, dtype=bool))

WEAKNESSES = [
    Weakness(SYSTEM, says, SEED + test, plant)
    for says, test, plant in [
        (
            "normalisation is taken over all splits",
            "statistics_are_of_the_training_files_only",
            planted((Parameters, "_fit", _all_files)),
        ),
        (
            "the variance cancels: 1e-6 instead of 1.118",
            "the_variance_survives_a_large_mean[1000000000.0]",
            planted((Parameters, "_fit", _mean_of_squares)),
        ),
        (
            "constant features are divided by 1e-6",
            "a_constant_feature_does_not_explode[0.1]",
            planted((parameters, "_noise", lambda mean, count: -1.0)),
        ),
        (
            "NaN poisons the statistics in silence",
            "files_that_cannot_be_used_may_be_left_out",
            planted((parameters, "np", BLIND)),
        ),
        (
            "a corrupt file is not reported",
            "every_file_that_cannot_be_used_is_named",
            planted((Parameters, "_fit", _mean_of_squares)),
        ),
        ("every access decompresses again", "an_archive_is_read_once", planted((Parameters, "__init__", _uncached))),
        (
            "an ending is taken character by character",
            "endings_may_be_one_or_several_in_any_case[.bin]",
            planted((parameters, "files_below", _by_character)),
        ),
        (
            "zeros that fill a shard are served",
            "padding_is_never_served",
            planted((tokens, "_optional", lambda path, key: None)),
        ),
        (
            "what is past 16 batches is dropped",
            "no_batch_of_a_long_shard_is_left_out",
            planted((Tokens, "__init__", _sixteen_at_most)),
        ),
        (
            "class names are unpickled, whatever they run",
            "a_pickled_array_is_never_run",
            planted((archives, "np", UNPICKLING)),
        ),
        (
            "a token loader's collate function does not pickle",
            "a_token_loader_pickles_for_workers",
            planted((tokens, "only_item", lambda samples: samples[0])),
        ),
        (
            "unknown names are left out in silence",
            "splits_data_sets_and_shards_are_chosen",
            planted((tokens.logger, "disabled", True)),
        ),
        (
            "the order follows the global random state",
            "embeddings_are_batched_with_their_names",
            planted((EpochSampler, "_rng", lambda self, *more: np.random.default_rng())),
        ),
        (
            "a configuration is read once for ever",
            "embeddings_are_configured_by_a_section_that_is_read_anew",
            planted((embeddings, "section", functools.cache(archives.section))),
        ),
        (
            "a missing section is another one's values",
            "a_section_that_is_missing_is_an_error[no section]",
            planted((archives, "configparser", Instead(configparser, ConfigParser=_WholePayload))),
        ),
        (
            "labels 5 and 9 are served beside two classes",
            "labels_are_counted_through[integers with gaps]",
            planted((Images, "__getitem__", _label_as_stored)),
        ),
        (
            "a rare class repeats its last sample for ever",
            "a_rare_class_is_repeated_evenly_and_no_sample_is_left_out",
            planted((Balanced, "_plan", _last_again_and_again)),
        ),
        (
            "labels must not be an array",
            "labels_may_be_a_list_an_array_or_a_tensor[array]",
            planted((Balanced, "__init__", _if_not_labels)),
        ),
        (
            "arguments are dropped in silence",
            "arguments_that_a_balanced_loader_cannot_use_are_named",
            planted((hub_images.logger, "disabled", True)),
        ),
    ]
]
