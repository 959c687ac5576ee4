"""The last step of a build: checks and counts what is in the directory, and reports it in numbers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.config import PLACEHOLDER, BuildConfig
from dataloader_expert.loaders.jasper.integrity import check_finished
from dataloader_expert.loaders.jasper.stored import KEYWORDS, SPLITS, STEERING, TENSORS
from dataloader_expert.loaders.jasper.tables import Tables, read_split, read_tables
from dataloader_expert.loaders.jasper.tiers import TIERS

log = logging.getLogger(__name__)

CONFIG = "config.json"
COUNTED = {
    "n_pairs": "pair_index",
    "n_questions": "question_embs",
    "n_sources": "source_embs",
    "n_keywords": "keyword_embs",
    "n_clusters": "centroid_embs",
}
"""What a configuration counts, and whose rows they are."""


class DatasetFinalizer:
    """Checks a directory of PT files, and completes it to a data set; a ``FileNotFoundError`` if it is missing."""

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
            config: what the data set was built with; None: ``config.json`` of the directory, or a new one.
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
        sizes = _matching(chosen, self._checked(chosen)[0])
        chosen.embedding_dim, chosen.n_neg = sizes.pop("embedding_dim"), sizes.pop("n_neg")
        if clustering_source is not None:
            chosen.clustering_source = str(clustering_source)
        chosen.update_post_build(**sizes)
        if save:
            self.write_config(chosen)
        return chosen

    def validate(self, config: BuildConfig | None = None) -> None:
        """All checks of :meth:`finalize`, with the same errors; nothing is changed or written."""
        chosen = self._config(config, "unknown")
        _matching(chosen, self._checked(chosen)[0])

    def write_config(self, config: BuildConfig) -> Path:
        """Writes ``config.json`` in one step and returns its path; a field out of range is a ``ValueError``."""
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
        tables, splits = self._checked(self._config(config, "unknown"))
        sizes, steering = _sizes(tables), {n.removeprefix("steering_"): _lengths(getattr(tables, n)) for n in STEERING}
        keywords = tables.pair_keyword_ids.ends.diff(prepend=torch.zeros(1, dtype=torch.int64))
        return {
            **sizes,
            "splits": {s: {"n_pairs": len(rows), "share": len(rows) / sizes["n_pairs"]} for s, rows in splits.items()},
            "steering": {**steering, "centroid_distance": _spread(tables.centroid_distances)},
            "negatives": _negatives(tables.hard_negatives, tables.negative_tiers),
            "keywords": {
                "mean_per_pair": keywords.double().mean().item(),
                "pairs_without": int((keywords == 0).sum()),
            },
            "pairs_per_cluster": _spread(torch.bincount(tables.pair_cluster_id, minlength=sizes["n_clusters"])),
            "relevance": _spread(tables.pair_relevance),
        }

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
        splits: dict[str, Tensor] = {split: torch.empty(0, dtype=torch.long) for split in SPLITS}
        splits |= {
            split: read_split(self.output_dir, split, "pt") for split in (SPLITS[:-1] if without_test else SPLITS)
        }
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


def _sizes(tables: Tables) -> dict[str, int]:
    """Counts, width, and negatives per pair."""
    counts = {name: len(getattr(tables, rows)) for name, rows in COUNTED.items()}
    return counts | {"embedding_dim": tables.question_embs.shape[1], "n_neg": tables.hard_negatives.shape[1]}


def _matching(config: BuildConfig, tables: Tables) -> dict[str, int]:
    """The sizes, which must not differ from the configuration's."""
    sizes = _sizes(tables)
    for name in ("embedding_dim", "n_neg"):
        if getattr(config, name) not in (PLACEHOLDER, sizes[name]):
            said = f"Config {name} is {getattr(config, name)}, and the files have {sizes[name]}"
            raise ValueError(f"{said}: correct the one that is wrong")
    return sizes


def _lengths(vectors: Tensor) -> dict[str, Any]:
    lengths = vectors.float().norm(dim=1)
    return {**_spread(lengths), "zero_vectors": int((lengths == 0).sum())}


def _spread(values: Tensor) -> dict[str, float]:
    real = values.double()
    return {"min": real.min().item(), "mean": real.mean().item(), "max": real.max().item()}


def _negatives(negatives: Tensor, tiers: Tensor) -> dict[str, Any]:
    counts = torch.bincount(tiers.long().flatten(), minlength=TIERS + 1).tolist()
    ordered = negatives.sort(dim=1).values
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(dim=1)
    per_tier = {str(tier): counts[tier] for tier in range(1, TIERS + 1)}
    return {"per_tier": per_tier, "pairs_with_repeats": int(repeated.sum())}
