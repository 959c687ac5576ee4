"""What the original JASPER loader and dataset did badly; integrity at open has a table of its own."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from dataloader_expert.loaders import creating, epochs, validating
from dataloader_expert.loaders.jasper import batches, curriculum, dataset, hdf5, opening, stored, tables
from dataloader_expert.loaders.jasper.artifacts import load_tensor_artifact
from dataloader_expert.loaders.jasper.curriculum import Curriculum
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.samplers.base import EpochSampler
from tests.weaknesses.base import Plant, Weakness, planted

SYSTEM = "JASPER"
DATASET = "tests/loaders/test_jasper_dataset.py::test_"
STORAGE = "tests/loaders/test_jasper_storage.py::test_"
INTEGRITY = "tests/loaders/test_jasper_integrity.py::test_"
CURRICULUM = "tests/loaders/test_jasper_curriculum.py::test_"
CREATING = "tests/loaders/test_creating.py::test_"
VALIDATING = "tests/loaders/test_validating.py::test_"
DEVICE = "tests/gpu/test_jasper.py::test_"

Dataset: Any = JASPERSteeringDataset
_init, _read_tensor, _load, _write = Dataset.__init__, load_tensor_artifact, torch.load, hdf5.write
_check_ranges = batches.check_ranges


def _drawing_by_access(self: Any, *arguments: Any, **keywords: Any) -> None:
    _init(self, *arguments, **keywords)
    self.variant_rule, self._followed = "by_access", ()


def _holding_a_file(self: Any, *arguments: Any, **keywords: Any) -> None:
    import h5py

    _init(self, *arguments, **keywords)
    self._file = h5py.File(self.dataset_dir / hdf5.FILE, "r")


def _reload_by_halves(self: Any) -> None:
    for name in ("hard_negatives", "negative_tiers"):
        self._tables = replace(self._tables, **{name: _read_tensor(self.dataset_dir, f"{name}.pt")})


def _reload_on_the_cpu(self: Any) -> None:
    self._tables = replace(self._tables, **tables.read_negatives(self.dataset_dir, self.storage_format))


def _any_epoch(self: Any, epoch: Any) -> None:
    self._orders[0] = epoch
    self._followed = ()


def _linear_from_the_first(self: Any, epoch: int) -> float:
    progress = min(epoch / max(self.epochs_total, 1), 1)
    return float(self.zero_prob_start + (self.zero_prob_end - self.zero_prob_start) * progress)


def _known_keys_only(config: Any) -> Curriculum | None:
    known = Curriculum.__dataclass_fields__
    return Curriculum(**{k: v for k, v in config.items() if k in known}) if config else None


def _unmapped(directory: Any, filename: str, mmap: bool = False, **keywords: Any) -> Any:
    return _read_tensor(directory, filename, **keywords)


def _unpickled(*arguments: Any, **keywords: Any) -> Any:
    return _load(*arguments, **{**keywords, "weights_only": False})


def _write_lists_one_by_one(path: Path, tensors: Any, *arguments: Any) -> None:
    import h5py

    _write(path, tensors, *arguments)
    with h5py.File(path, "a") as file:
        for i in range(len(tensors["pair_index"])):
            file[f"pair_data/keyword_ids/{i}"] = np.zeros(1, np.int32)


def _empty_split_crashes(rows: Any, *others: Any) -> None:
    int(rows.max())


def _tiers_unseen(batch: Any, clusters: int) -> None:
    _check_ranges({**batch, "negative_tiers": torch.ones_like(batch["negative_tiers"])}, clusters)


def _next_of(loader: Any) -> Any:
    return next(iter(loader))


class _Deaf:
    """Takes an epoch, and does nothing."""

    def set_epoch(self, epoch: int) -> None:
        pass


class _Forgetful(dict[Any, Any]):
    """Keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


@contextmanager
def _by_assert() -> Iterator[None]:
    """The validator as if it were written with ``assert``."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (validating, batches):
            source = Path(str(module.__file__))
            changed = re.sub(
                r"raise AssertionError\((.*)\)( from error)?\n",
                r"assert False, (\1)\n",
                source.read_text(encoding="utf-8"),
            )
            assert changed.count("assert False") > 2
            path = Path(folder) / source.name
            path.write_text(changed, encoding="utf-8")
            patch.setattr(module, "__file__", str(path))
        yield


@contextmanager
def _without(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(Dataset, name)
        yield


def lacking(name: str) -> Plant:
    return lambda: _without(name)


BY_ACCESS = planted((Dataset, "__init__", _drawing_by_access))
UNSEEDED = planted((EpochSampler, "_rng", lambda self, *more: np.random.default_rng()))
NOT_SHARED = planted((torch.Tensor, "share_memory_", lambda self: self))
OUTERMOST: Any = lambda found: [found]  # noqa: E731  # a value of tables below

WEAKNESSES = [
    Weakness(SYSTEM, says, test, plant)
    for says, test, plant in [
        (
            "the steering draw depends on the order of access",
            DATASET + "variants_do_not_depend_on_the_order_of_access",
            BY_ACCESS,
        ),
        ("workers repeat each other's draws", DATASET + "workers_deliver_what_the_process_itself_delivers", BY_ACCESS),
        ("all ranks draw the same sequence", CREATING + "ranks_differ_and_together_have_all[0]", BY_ACCESS),
        ("train and val get the same sequence", DATASET + "splits_do_not_repeat_each_others_variants", BY_ACCESS),
        (
            "the order of training follows the global random state",
            CREATING + "seed_and_epoch_give_the_same_batches[0]",
            UNSEEDED,
        ),
        (
            "the validator consumes the random stream",
            VALIDATING + "nothing_changes_by_validating[by_access]",
            planted((validating, "_undisturbed", lambda loader: contextlib.nullcontext())),
        ),
        (
            "the validator starts workers and throws them away",
            VALIDATING + "no_worker_is_started",
            planted((validating, "_first", _next_of)),
        ),
        ("persistent workers never see a new epoch", DATASET + "persistent_workers_follow[set_epoch]", NOT_SHARED),
        ("persistent workers never see a forced variant", DATASET + "persistent_workers_follow[force]", NOT_SHARED),
        ("persistent workers never see new negatives", DATASET + "persistent_workers_follow[reload]", NOT_SHARED),
        (
            "the curriculum of its own builder is replaced in silence",
            CURRICULUM + "an_old_builders_curriculum_is_warned_of",
            planted((curriculum.logger, "disabled", True)),
        ),
        (
            "the curriculum's mode is never read",
            CURRICULUM + "every_key_of_a_curriculum_is_read[fixed never moves]",
            planted((Curriculum, "zero_probability", _linear_from_the_first)),
        ),
        (
            "the curriculum's warm-up is never read",
            CURRICULUM + "every_key_of_a_curriculum_is_read[a start that waits]",
            planted((Curriculum, "zero_probability", _linear_from_the_first)),
        ),
        (
            "unknown keys of a curriculum do nothing in silence",
            CURRICULUM + "a_senseless_curriculum_is_refused[a misspelt key]",
            planted((Curriculum, "of", staticmethod(_known_keys_only))),
        ),
        (
            "probabilities are checked at the first item",
            INTEGRITY + "a_configuration_that_does_not_fit_is_refused_at_open[sum above 1]",
            planted((dataset, "base_probabilities", lambda config: dict(config["steering_probabilities"]))),
        ),
        (
            "any number is an epoch",
            DATASET + "an_epoch_is_an_integer_from_0[-1]",
            planted((Dataset, "set_epoch", _any_epoch)),
        ),
        (
            "a reload takes negatives of no source",
            STORAGE + "reload_takes_both_or_neither[too large]",
            planted((dataset, "check_negatives", lambda *tensors: None)),
        ),
        (
            "a reload that fails has replaced half",
            STORAGE + "reload_takes_both_or_neither[no tiers]",
            planted((Dataset, "_reload", _reload_by_halves)),
        ),
        (
            "a reload reads stale HDF5",
            STORAGE + "reload_reads_the_newer_of_both_formats",
            planted((dataset, "read_negatives", lambda folder, _: hdf5.read(folder / hdf5.FILE, stored.NEGATIVES))),
        ),
        (
            "a reload leaves tensors off the device",
            DEVICE + "new_negatives_are_moved",
            planted((Dataset, "_reload", _reload_on_the_cpu)),
        ),
        (
            "stale HDF5 wins over newer PT files",
            STORAGE + "newer_pt_files_win_over_hdf5",
            planted((opening, "newer_than", lambda *paths: [])),
        ),
        (
            "HDF5 needs the PT files of the splits",
            STORAGE + "hdf5_is_enough_by_itself[train]",
            planted((hdf5, "splits", lambda path: [])),
        ),
        (
            "an HDF5 dataset does not pickle",
            STORAGE + "an_hdf5_dataset_pickles",
            planted((Dataset, "__init__", _holding_a_file)),
        ),
        (
            "HDF5 has no shape checks",
            STORAGE + "hdf5_is_checked_as_pt_files_are[one dimension]",
            planted((tables, "_shaped", lambda tensor, name: tensor)),
        ),
        (
            "HDF5 has a dataset for every pair's keywords",
            STORAGE + "conversion_keeps_the_files_and_names_things_as_ever",
            planted((hdf5, "write", _write_lists_one_by_one)),
        ),
        (
            "memory mapping is a stub",
            STORAGE + "mapped_tensors_are_not_in_memory",
            planted((tables, "load_tensor_artifact", _unmapped)),
        ),
        (
            "memory mapping skips the shape checks",
            STORAGE + "mapped_files_are_checked_as_well[one dimension]",
            planted((tables, "require_shape", lambda *what: None)),
        ),
        (
            "three splits hold three copies",
            STORAGE + "all_splits_hold_one_copy_of_the_tensors[train]",
            planted((opening, "_opened", _Forgetful())),
        ),
        (
            "keyword lists are unpickled, whatever they run",
            STORAGE + "a_pickle_is_never_run",
            planted((torch, "load", _unpickled)),
        ),
        (
            "batches are gathered sample by sample",
            DATASET + "a_loader_gathers_batches_rather_than_samples",
            planted((Dataset, "__getitems__", None)),
        ),
        (
            "zero vectors are on the CPU, the rest on the device",
            DEVICE + "batches_are_on_the_device[zero]",
            planted((torch, "zeros_like", lambda tensor: torch.zeros(tensor.shape, dtype=tensor.dtype))),
        ),
        ("the validator is gone under python -O", VALIDATING + "the_checks_are_there_under_python_o[1]", _by_assert),
        (
            "the validator misses tiers",
            VALIDATING + "a_bad_batch_is_refused_by_key[tier 9]",
            planted((validating, "check_ranges", _tiers_unseen)),
        ),
        (
            "the validator raises StopIteration on an empty loader",
            VALIDATING + "a_loader_without_batches_is_refused",
            planted((validating, "_first", _next_of)),
        ),
        (
            "the validator knows no rounding",
            VALIDATING + "rounding_is_no_fault[centroid_distance-2.0000005]",
            planted((batches, "ROUNDING", 0.0)),
        ),
        (
            "the validator does not look into a Subset",
            VALIDATING + "a_subset_is_checked_as_what_it_is_of[a cluster too large]",
            planted((validating, "wrapped", OUTERMOST)),
        ),
        (
            "set_epoch ignores a Subset in silence",
            CREATING + "set_epoch_reaches_a_wrapped_dataset[a Subset-DataLoader]",
            planted((creating, "with_epoch", lambda loader: [_Deaf()])),
        ),
        (
            "a loader without batches is made in silence",
            CREATING + "a_batch_larger_than_the_split_is_warned_of",
            planted((creating.logger, "disabled", True)),
        ),
        (
            "pinning without a device warns at every pass",
            CREATING + "no_accelerator_is_no_warning",
            planted((epochs.EpochLoader, "__iter__", DataLoader.__iter__)),
        ),
        (
            "get_steering_stats is documented and missing",
            DATASET + "steering_statistics_count_what_is_served",
            lacking("get_steering_stats"),
        ),
        (
            "subset_by_cluster is documented and missing",
            DATASET + "a_cluster_is_a_subset",
            lacking("subset_by_cluster"),
        ),
        (
            "memory_usage_mb is documented and missing",
            DATASET + "memory_is_counted_and_logged",
            lacking("memory_usage_mb"),
        ),
        (
            "an empty split is a crash",
            INTEGRITY + "an_empty_split_opens_with_no_samples",
            planted((dataset, "check_split", _empty_split_crashes)),
        ),
    ]
]
