"""The last step of a build: checks and counts what is in the directory."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.config import PLACEHOLDER, BuildConfig
from dataloader_expert.loaders.jasper.integrity import check_finished
from dataloader_expert.loaders.jasper.reporting import report
from dataloader_expert.loaders.jasper.stored import KEYWORDS, SPLITS, TENSORS
from dataloader_expert.loaders.jasper.tables import Tables, read_split, read_tables

log = logging.getLogger(__name__)

CONFIG = "config.json"


class DatasetFinalizer:
    """Checks a directory of PT files, and completes it to a data set.

    Args:
        output_dir: the directory.

    Raises:
        FileNotFoundError: if it is missing.
    """

    REQUIRED_PT_FILES: ClassVar[tuple[str, ...]] = tuple(
        f"{name}.pt" for name in (*TENSORS, KEYWORDS, *(f"{split}_idx" for split in SPLITS))
    )
    """The last one may be missing where the configuration wants no test split."""

    def __init__(self, output_dir: str | Path) -> None:
        self.output_dir = Path(output_dir)
        if not self.output_dir.is_dir():
            raise FileNotFoundError(f"Output directory not found: {self.output_dir}. Build the data set there first")

    def finalize(
        self, config: BuildConfig | None = None, clustering_source: str | Path | None = None, save: bool = True
    ) -> BuildConfig:
        """Checks the files, and completes the configuration from them.

        Args:
            config: what the data set was built with; None: ``config.json`` of the directory, or without one a new
                configuration.
            clustering_source: where the clusters came from; None: as the configuration says.
            save: whether ``config.json`` is written.

        Returns:
            ``config`` itself, with ``embedding_dim``, ``n_neg`` and all counts set; unchanged if a check fails.

        Raises:
            FileNotFoundError: if files are missing.
            NotImplementedError: if the configuration's storage format is not ``pt``.
            TypeError, ValueError: naming the first rule that the files or the configuration break.
        """
        chosen = self._config(config, clustering_source)
        tables, _ = self._checked(chosen)
        _match(chosen, tables)
        chosen.embedding_dim, chosen.n_neg = tables.question_embs.shape[1], tables.hard_negatives.shape[1]
        if clustering_source is not None:
            chosen.clustering_source = str(clustering_source)
        counted = (
            tables.pair_index,
            tables.question_embs,
            tables.source_embs,
            tables.keyword_embs,
            tables.centroid_embs,
        )
        chosen.update_post_build(*map(len, counted))
        if save:
            self.write_config(chosen)
        return chosen

    def validate(self, config: BuildConfig | None = None) -> None:
        """All checks of :meth:`finalize`, with the same errors; nothing is changed or written."""
        chosen = self._config(config, "unknown")
        _match(chosen, self._checked(chosen)[0])

    def write_config(self, config: BuildConfig) -> Path:
        """Writes ``config.json``, replacing an older one in one step.

        Returns:
            Its path.

        Raises:
            ValueError: if a field is out of range.
        """
        path = self.output_dir / CONFIG
        config.save(path)
        log.info("%s written: %s pairs", path, config.n_pairs)
        return path

    def generate_report(self, config: BuildConfig | None = None) -> dict[str, Any]:
        """The data set in numbers, after all checks of :meth:`finalize`, with the same errors.

        Returns:
            Plain values, ready for JSON: ``n_pairs``, ``n_questions``, ``n_sources``, ``n_keywords``, ``n_clusters``,
            ``embedding_dim``, ``n_neg``; ``splits`` (pairs and share of each), ``steering`` (length of each kind's
            vectors, zero vectors; cosine distance to the centroid), ``negatives`` (per tier, pairs with repeats),
            ``keywords`` (per pair), ``pairs_per_cluster`` and ``relevance``, spreads as ``min``, ``mean``, ``max``.
        """
        return report(*self._checked(self._config(config, "unknown")))

    def _config(self, config: BuildConfig | None, clustering_source: str | Path | None) -> BuildConfig:
        if config is None and (self.output_dir / CONFIG).exists():
            config = BuildConfig.load(self.output_dir / CONFIG)
        if config is None:
            if clustering_source is None:
                raise ValueError(f"{self.output_dir} has no {CONFIG}: pass config or clustering_source")
            config = BuildConfig(PLACEHOLDER, PLACEHOLDER, str(clustering_source))
        if config.storage_format != "pt":
            raise NotImplementedError(f"storage_format='pt' only, but the configuration says {config.storage_format!r}")
        return config

    def _checked(self, config: BuildConfig) -> tuple[Tables, dict[str, Tensor]]:
        """The tensors and the splits' pair rows, in which every rule holds."""
        needs_test = config.wants_test()
        missing = [name for name in self.REQUIRED_PT_FILES if not (self.output_dir / name).exists()]
        without_test = not needs_test and "test_idx.pt" in missing
        if without_test:
            missing.remove("test_idx.pt")
        if missing:
            raise FileNotFoundError(
                f"Missing required dataset files in {self.output_dir}: {', '.join(missing)}. Build it again"
            )
        tables = read_tables(self.output_dir, "pt", mapped=False)
        there = [split for split in SPLITS if split != "test" or not without_test]
        splits: dict[str, Tensor] = {split: torch.empty(0, dtype=torch.long) for split in SPLITS}
        splits |= {split: read_split(self.output_dir, split, "pt") for split in there}
        check_finished(tables, splits, needs_test)
        return tables, splits


def finalize_dataset(
    output_dir: str | Path,
    config: BuildConfig | None = None,
    clustering_source: str | Path | None = None,
    save: bool = True,
) -> BuildConfig:
    """:meth:`DatasetFinalizer.finalize` of ``output_dir``."""
    return DatasetFinalizer(output_dir).finalize(config, clustering_source, save)


def _match(config: BuildConfig, tables: Tables) -> None:
    found = {"embedding_dim": tables.question_embs.shape[1], "n_neg": tables.hard_negatives.shape[1]}
    for name, value in found.items():
        said = getattr(config, name)
        if said not in (PLACEHOLDER, value):
            raise ValueError(f"Config {name} is {said}, and the files have {value}: correct the one that is wrong")
