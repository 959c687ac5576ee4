"""Training, validation and test splits of samples, or of pairs without shared questions."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.allotting import Ints, Parts, share_left, split_by_position, split_by_question
from dataloader_expert.loaders.jasper.artifacts import save_tensor_artifact
from dataloader_expert.loaders.jasper.atomic import write_json
from dataloader_expert.loaders.jasper.validation import (
    validate_cluster_ids_bounds,
    validate_length_consistency,
    validate_pair_indices_bounds,
    validate_tensor_1d,
    validate_tensor_2d,
)

log = logging.getLogger(__name__)

MODES = ("simple", "stratified")
NEEDED = ("train_indices", "val_indices", "dataset_size")


class DatasetSplitter:
    """Splits by ratio; the result depends on ``random_state`` only, and global random states are unchanged.

    Args:
        mode: ``simple`` splits samples; ``stratified`` splits pairs so that all pairs of a question stay together, and
            each cluster's questions in the asked ratios; None: ``stratified`` if there are pairs.
        val_ratio, test_ratio: shares of samples or of questions; with a ``test_ratio`` of 0 there is no test split.
        random_state: of every choice.
        pair_indices: integers [pairs, 2], row of the question and of the source; for ``stratified``.
        pair_cluster_ids: integers [pairs]; for ``stratified``.
        train_ratio: None, or what the other two leave.
        show_progress: whether sizes are logged (INFO).
        shuffle: whether choices are random; False takes them in order.

    Attributes:
        train_indices, val_indices, test_indices: int64 arrays of samples or pairs; None before :meth:`split`, and the
            last one where no test split is asked for.
        dataset_size: samples or pairs that were split.

    Raises:
        TypeError: if pairs or clusters are not tensors of integers.
        ValueError: if a ratio is negative, nothing is left for training, the three do not sum to 1, the mode is
            unknown, or pairs and clusters are missing or do not fit together.
    """

    def __init__(
        self,
        mode: str | None = None,
        val_ratio: float = 0.1,
        test_ratio: float = 0.0,
        random_state: int = 42,
        pair_indices: Tensor | None = None,
        pair_cluster_ids: Tensor | None = None,
        train_ratio: float | None = None,
        show_progress: bool = True,
        shuffle: bool = True,
    ) -> None:
        self.mode = mode or ("simple" if pair_indices is None else "stratified")
        if self.mode not in MODES:
            raise ValueError(f"mode is {mode!r}; it is one of {', '.join(MODES)}, or None")
        self.train_ratio = share_left(val_ratio, test_ratio, train_ratio)
        self.val_ratio, self.test_ratio = val_ratio, test_ratio
        self.random_state, self.show_progress, self.shuffle = random_state, show_progress, shuffle
        self.pair_indices, self.pair_cluster_ids = pair_indices, pair_cluster_ids
        if self.mode == "stratified":
            questions, clusters = _checked_pairs(pair_indices, pair_cluster_ids)
            self._questions, self._clusters = questions.numpy(), clusters.numpy()
            self.question_ids = torch.from_numpy(np.unique(self._questions))
            self.n_pairs, self.n_questions = len(questions), len(self.question_ids)
        self.dataset_size: int | None = None
        self.train_indices: Ints | None = None
        self.val_indices: Ints | None = None
        self.test_indices: Ints | None = None

    def split(
        self, dataset_size: int | None = None, val_ratio: float | None = None, shuffle: bool | None = None
    ) -> tuple[Ints, Ints] | dict[str, Tensor]:
        """Splits, and keeps the result; a ``ValueError`` if there is too little for a split that was asked for.

        Args:
            dataset_size: samples to split; for ``simple`` only.
            val_ratio, shuffle: instead of those given before; training takes or leaves the difference.

        Returns:
            ``simple``: samples for training and validation, int64 arrays in random order. ``stratified``:
            ``train_idx``, ``val_idx`` and, if asked for, ``test_idx``, int64 tensors of pairs, ascending.
        """
        if val_ratio is not None:
            self.train_ratio, self.val_ratio = share_left(val_ratio, self.test_ratio, None), val_ratio
        how = self.val_ratio, self.test_ratio, self.random_state, self.shuffle if shuffle is None else shuffle
        if self.mode == "stratified":
            self.dataset_size = self.n_pairs
            parts = split_by_question(self._questions, self._clusters, *how)
        elif dataset_size is None or dataset_size <= 0:
            raise ValueError(f"dataset_size is {dataset_size}; it must be at least 1")
        else:
            self.dataset_size = dataset_size
            parts = split_by_position(dataset_size, *how)
        self.train_indices, self.val_indices, self.test_indices = parts.train, parts.val, parts.test
        if self.show_progress:
            tested = 0 if parts.test is None else len(parts.test)
            log.info("split into %d train, %d val, %d test", len(parts.train), len(parts.val), tested)
        return (parts.train, parts.val) if self.mode == "simple" else _tensors(parts)

    def save(self, path: str | Path, format: str = "auto", metadata: Mapping[str, Any] | None = None) -> None:
        """Writes the split as JSON, with ``metadata`` for readers; ``format`` is ``json`` or ``auto``. Makes folders.

        Raises:
            ValueError: if there is no split yet, or the format is unknown.
            NotImplementedError: for a stratified split, which :func:`split_dataset` writes as tensors.
        """
        train, val = self.get_split()
        if format not in ("auto", "json", "pt"):
            raise ValueError(f"format is {format!r}; it is auto or json")
        if self.mode == "stratified" or format == "pt":
            raise NotImplementedError(
                "only a simple split is saved, as JSON: split_dataset(output_dir=…) writes tensors"
            )
        saved = {
            "mode": self.mode,
            "train_indices": train.tolist(),
            "val_indices": val.tolist(),
            "test_indices": None if self.test_indices is None else self.test_indices.tolist(),
            "dataset_size": self.dataset_size,
            "val_ratio": self.val_ratio,
            "test_ratio": self.test_ratio,
            "random_state": self.random_state,
            "metadata": dict(metadata or {}),
        }
        write_json(saved, Path(path))

    @classmethod
    def from_file(cls, path: str | Path) -> DatasetSplitter:
        """A splitter with the split that :meth:`save` wrote.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if it is not a JSON object with indices and ``dataset_size``.
        """
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(f"Split file not found: {path}")
        saved = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in NEEDED if not isinstance(saved, dict) or key not in saved]
        if missing:
            raise ValueError(f"{path} lacks {', '.join(missing)}: it was not written by DatasetSplitter.save")
        splitter = cls(
            "simple", saved.get("val_ratio", 0.1), saved.get("test_ratio", 0.0), saved.get("random_state", 42)
        )
        splitter.dataset_size = saved["dataset_size"]
        for name in ("train_indices", "val_indices", "test_indices"):
            setattr(splitter, name, None if saved.get(name) is None else np.array(saved[name], np.int64))
        return splitter

    def save_split(self, output_path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
        """:meth:`save`, by its older name."""
        self.save(output_path, metadata=metadata)

    @classmethod
    def load_split(cls, input_path: str | Path) -> DatasetSplitter:
        """:meth:`from_file`, by its older name."""
        return cls.from_file(input_path)

    def get_split(self) -> tuple[Ints, Ints]:
        """Training and validation samples, int64 arrays; a ``ValueError`` if there is no split yet."""
        if self.train_indices is None or self.val_indices is None:
            raise ValueError("No split generated: call split() first")
        return self.train_indices, self.val_indices

    def validate_split(self, dataset_size: int) -> bool:
        """True if every index is of one sample out of ``dataset_size``; another size than was split is logged.

        A ``ValueError`` if there is no split, or an index is out of range or occurs twice.
        """
        parts = self.parts()
        indices = np.concatenate([parts.train, parts.val, *([] if parts.test is None else [parts.test])])
        if len(indices) and not 0 <= indices.min() <= indices.max() < dataset_size:
            raise ValueError(f"indices {indices.min()} to {indices.max()} are not all within [0, {dataset_size})")
        if len(np.unique(indices)) != len(indices):
            raise ValueError("an index occurs twice: splits must not overlap")
        if self.dataset_size != dataset_size:
            log.warning("the split is of %s samples, and there are %d: split again", self.dataset_size, dataset_size)
        return True

    def parts(self) -> Parts:
        """The parts of the split as arrays; a ``ValueError`` if there is no split yet."""
        return Parts(*self.get_split(), self.test_indices)


def create_train_val_split(
    dataset_size: int,
    val_ratio: float = 0.2,
    random_state: int | None = None,
    shuffle: bool = True,
    save_path: str | Path | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[Ints, Ints]:
    """Samples for training and validation, int64 arrays; arguments and errors as of :class:`DatasetSplitter`.

    A ``random_state`` of None stands for 42; ``save_path`` is a JSON file to write, if any.
    """
    splitter = DatasetSplitter("simple", val_ratio, 0.0, 42 if random_state is None else random_state, shuffle=shuffle)
    splitter.split(dataset_size)
    if save_path is not None:
        splitter.save(save_path, metadata=metadata)
    return splitter.get_split()


def split_dataset(
    pair_indices: Tensor,
    pair_cluster_ids: Tensor,
    output_dir: str | Path | None = None,
    train_ratio: float | None = None,
    val_ratio: float = 0.1,
    test_ratio: float = 0.0,
    random_state: int = 42,
    random_seed: int | None = None,
    show_progress: bool = True,
) -> dict[str, Tensor]:
    """Splits pairs by question and cluster; arguments and errors as of :class:`DatasetSplitter`.

    Args:
        output_dir: where ``train_idx.pt``, ``val_idx.pt`` and, if asked for, ``test_idx.pt`` are written; None: nowhere.
        random_seed: another name of ``random_state``, which it overrides.

    Returns:
        ``train_idx``, ``val_idx`` and, if asked for, ``test_idx``: int64 tensors of pairs, ascending.
    """
    seed = random_state if random_seed is None else random_seed
    splitter = DatasetSplitter(
        "stratified", val_ratio, test_ratio, seed, pair_indices, pair_cluster_ids, train_ratio, show_progress
    )
    splitter.split()
    tensors = _tensors(splitter.parts())
    if output_dir is not None:
        for name, indices in tensors.items():
            save_tensor_artifact(indices, output_dir, f"{name}.pt")
    return tensors


def _tensors(parts: Parts) -> dict[str, Tensor]:
    arrays = {"train_idx": parts.train, "val_idx": parts.val, "test_idx": parts.test}
    return {name: torch.from_numpy(array) for name, array in arrays.items() if array is not None}


def _checked_pairs(pair_indices: Tensor | None, pair_cluster_ids: Tensor | None) -> tuple[Tensor, Tensor]:
    """Question and cluster of each pair, int64 [pairs] both, on the CPU."""
    if pair_indices is None or pair_cluster_ids is None:
        raise ValueError("mode 'stratified' needs pair_indices and pair_cluster_ids")
    validate_tensor_2d(pair_indices, "pair_indices", expected_cols=2)
    validate_tensor_1d(pair_cluster_ids, "pair_cluster_ids")
    validate_length_consistency((pair_cluster_ids, "pair_cluster_ids", len(pair_indices)))
    above = int(pair_indices.max()) + 1
    validate_pair_indices_bounds(pair_indices, above, above, allow_negative=False)
    validate_cluster_ids_bounds(
        pair_cluster_ids, int(pair_cluster_ids.max()) + 1, "pair_cluster_ids", allow_negative=False
    )
    return pair_indices[:, 0].long().cpu(), pair_cluster_ids.long().cpu()
