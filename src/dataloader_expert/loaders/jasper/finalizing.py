"""The last step of a build: what is in the directory is checked, counted and written down."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar

from dataloader_expert.loaders.jasper.checking import Artifacts, check_artifacts, read_artifacts
from dataloader_expert.loaders.jasper.config import PLACEHOLDER, BuildConfig
from dataloader_expert.loaders.jasper.reporting import report

log = logging.getLogger(__name__)

CONFIG = "config.json"


class DatasetFinalizer:
    """Declares a directory of PT files a data set, or says why it is none.

    Args:
        output_dir: the directory.

    Raises:
        FileNotFoundError: if it is missing.
    """

    REQUIRED_PT_FILES: ClassVar[tuple[str, ...]] = (
        "question_embs.pt",
        "source_embs.pt",
        "keyword_embs.pt",
        "centroid_embs.pt",
        "pair_index.pt",
        "pair_cluster_id.pt",
        "pair_relevance.pt",
        "pair_keyword_ids.pt",
        "steering_centroid.pt",
        "steering_keyword_weighted.pt",
        "steering_residual.pt",
        "centroid_distances.pt",
        "hard_negatives.pt",
        "negative_tiers.pt",
        "train_idx.pt",
        "val_idx.pt",
        "test_idx.pt",
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
        artifacts = self._checked(chosen)
        _match(chosen, artifacts)
        chosen.embedding_dim, chosen.n_neg = artifacts.embedding_dim, artifacts.n_neg
        if clustering_source is not None:
            chosen.clustering_source = str(clustering_source)
        names = ("question_embs", "source_embs", "keyword_embs", "centroid_embs")
        chosen.update_post_build(artifacts.n_pairs, *(artifacts.rows(name) for name in names))
        if save:
            self.write_config(chosen)
        return chosen

    def validate(self, config: BuildConfig | None = None) -> None:
        """All checks of :meth:`finalize`, with the same errors; nothing is changed or written."""
        chosen = self._config(config, "unknown")
        _match(chosen, self._checked(chosen))

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
        return report(self._checked(self._config(config, "unknown")))

    def _config(self, config: BuildConfig | None, clustering_source: str | Path | None) -> BuildConfig:
        if config is None and (self.output_dir / CONFIG).exists():
            config = BuildConfig.load(self.output_dir / CONFIG)
        if config is None:
            if clustering_source is None:
                raise ValueError(f"{self.output_dir} has no {CONFIG}: pass config or clustering_source")
            config = BuildConfig(PLACEHOLDER, PLACEHOLDER, str(clustering_source))
        if config.storage_format != "pt":
            raise NotImplementedError(f"storage_format='pt' only, and the configuration says {config.storage_format!r}")
        return config

    def _checked(self, config: BuildConfig) -> Artifacts:
        artifacts = read_artifacts(self.output_dir, self.REQUIRED_PT_FILES, config.wants_test())
        check_artifacts(artifacts, config.wants_test())
        return artifacts


def finalize_dataset(
    output_dir: str | Path,
    config: BuildConfig | None = None,
    clustering_source: str | Path | None = None,
    save: bool = True,
) -> BuildConfig:
    """:meth:`DatasetFinalizer.finalize` of ``output_dir``."""
    return DatasetFinalizer(output_dir).finalize(config, clustering_source, save)


def _match(config: BuildConfig, artifacts: Artifacts) -> None:
    for name, found in (("embedding_dim", artifacts.embedding_dim), ("n_neg", artifacts.n_neg)):
        said = getattr(config, name)
        if said not in (PLACEHOLDER, found):
            raise ValueError(f"Config {name} is {said}, and the files have {found}: correct the one that is wrong")
