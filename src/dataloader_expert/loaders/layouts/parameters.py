"""Parameter vectors of models, one NPZ archive each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.layouts.archives import files_below, read_array
from dataloader_expert.samplers.rules import one_of, position

KEPT = 256 << 20
"""Bytes of tensors that are kept in memory once read."""


@dataclass(frozen=True)
class FeatureStatistics:
    """Mean and population standard deviation per feature, float64, over ``count`` samples.

    Constant features have ``std`` 1, so that they stay small on new data.
    """

    mean: Any
    std: Any
    count: int


class ModelParameterDataset(Dataset[torch.Tensor]):
    """The ``parameters`` of every archive in a folder, flattened and normalised by default.

    Statistics are those of the files ``fit_on``, in one numerically stable pass (Welford 1962); pass those of the
    training files to the datasets of other splits as ``statistics``.

    Args:
        root_dir: folder of archives, not searched recursively, in sorted order.
        dtype: of the tensors.
        flatten: to [features]; else the stored shape.
        file_extensions: suffixes of the archives, one or several.
        normalize: subtract the mean and divide by the standard deviation of each feature.
        epsilon: the minimum standard deviation of a feature that varies.
        fit_on: indices of the files for statistics; None: all.
        statistics: of another dataset, instead of ``fit_on``.
        on_corrupt: ``raise`` names all files that cannot be read; ``skip`` lists them in ``problems``.
        cache_bytes: tensors are kept in memory up to this size.

    A missing folder is a ``FileNotFoundError``; one without archives, or with some that cannot be read or hold NaN or
    infinity, a ``ValueError``; an archive without ``parameters`` a ``KeyError``; other numbers of features with
    ``normalize`` a ``RuntimeError``.
    """

    def __init__(
        self,
        root_dir: str | Path,
        *,
        dtype: torch.dtype = torch.float32,
        flatten: bool = True,
        file_extensions: Iterable[str] | str | None = None,
        normalize: bool = True,
        epsilon: float = 1e-6,
        fit_on: Sequence[int] | None = None,
        statistics: FeatureStatistics | None = None,
        on_corrupt: str = "raise",
        cache_bytes: int = KEPT,
    ) -> None:
        one_of(("raise", "skip"), on_corrupt=on_corrupt)
        self.root_dir, self.dtype, self.flatten = Path(root_dir), dtype, flatten
        self.normalize, self.epsilon, self._cache_bytes = normalize, epsilon, cache_bytes
        self.files = files_below(self.root_dir, "*", file_extensions or (".npz",))
        self.problems: list[str] = []
        self._kept: dict[int, torch.Tensor] = {}
        self._held = 0
        self.statistics = self._fit(fit_on, on_corrupt) if normalize and statistics is None else statistics

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> torch.Tensor:
        """The tensor at ``index``, else an ``IndexError``: [features], or as stored without ``flatten``."""
        at = position(index, len(self))
        if at in self._kept:
            return self._kept[at].clone()  # what a caller does to it stays with them
        values = torch.from_numpy(np.asarray(read_array(self.files[at], "parameters"), dtype=np.float64))
        if self.normalize and self.statistics is not None:
            mean, std = torch.as_tensor(self.statistics.mean), torch.as_tensor(self.statistics.std)
            if values.numel() != mean.numel():
                raise RuntimeError(
                    f"{self.files[at]} has {values.numel()} features, the statistics have {mean.numel()}"
                )
            values = ((values.reshape(-1) - mean) / std).reshape(values.shape)
        tensor = (values.reshape(-1) if self.flatten else values).to(self.dtype)
        if self._held + tensor.nbytes <= self._cache_bytes:
            self._kept[at] = tensor.clone()
            self._held += tensor.nbytes
        return tensor

    def _fit(self, fit_on: Sequence[int] | None, on_corrupt: str) -> FeatureStatistics:
        wanted = set(range(len(self.files)) if fit_on is None else (range(len(self.files))[i] for i in fit_on))
        mean: Any = None
        squares: Any = None
        count, bad = 0, []
        for at, path in enumerate(self.files):
            try:
                values = np.asarray(read_array(path, "parameters"), dtype=np.float64).reshape(-1)
                if not np.isfinite(values).all():
                    raise ValueError(f"{path} holds NaN or infinity")
            except ValueError as error:
                bad.append(at)
                self.problems.append(str(error))
                continue
            if mean is not None and len(values) != len(mean):
                raise RuntimeError(f"{path} has {len(values)} features, the files before it have {len(mean)}")
            if mean is None:
                mean, squares = np.zeros(len(values)), np.zeros(len(values))
            if at in wanted:
                count += 1
                away = values - mean
                mean += away / count
                squares += away * (values - mean)
        if bad and on_corrupt == "raise":
            raise ValueError(
                f"{len(bad)} of {len(self.files)} files cannot be used: {'; '.join(self.problems[:5])}; remove them, "
                "or pass on_corrupt='skip'"
            )
        self.files = [path for at, path in enumerate(self.files) if at not in set(bad)]
        if not count:
            raise ValueError(f"no file in {self.root_dir} is left for statistics: pass other indices as fit_on")
        std = np.where(squares <= _noise(mean, count), 1.0, np.maximum(np.sqrt(squares / count), self.epsilon))
        return FeatureStatistics(mean, std, count)


def _noise(mean: Any, count: int) -> Any:
    """Sums of squares that a constant feature may have by rounding."""
    return count * (np.finfo(np.float64).eps * np.maximum(1.0, np.abs(mean)) * 8) ** 2
