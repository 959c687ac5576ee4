"""A data set from CSV files, a clustering of keywords and an embedding model, in one call."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.artifacts import save_tensor_artifact
from dataloader_expert.loaders.jasper.atomic import staged, write_json
from dataloader_expert.loaders.jasper.clusters import link_sources, parse_clusters
from dataloader_expert.loaders.jasper.config import PLACEHOLDER, BuildConfig
from dataloader_expert.loaders.jasper.embedding import generate_embeddings
from dataloader_expert.loaders.jasper.finalizing import finalize_dataset
from dataloader_expert.loaders.jasper.merging import CSVMerger, with_ids
from dataloader_expert.loaders.jasper.negatives import mine_negatives
from dataloader_expert.loaders.jasper.pairing import paired
from dataloader_expert.loaders.jasper.splitting import split_dataset
from dataloader_expert.loaders.jasper.steering import build_steering
from dataloader_expert.loaders.jasper.stored import SPLITS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build_dataset", "generate_embeddings"]

log = logging.getLogger(__name__)

Paths = Sequence[str | Path]
TAG = "_split_tag"
"""Column that says from which split's files a row came."""


def build_dataset(
    csv_paths: Paths,
    cluster_json_path: str | Path,
    embedding_model: Any,
    output_dir: str | Path,
    config: BuildConfig | Mapping[str, Any] | None = None,
    csv_splits: Mapping[str, Paths] | None = None,
    storage_format: str = "pt",
    include_inspection_file: bool = False,
    column_aliases: Mapping[str, Sequence[str]] | None = None,
    n_neg: int = 12,
    split_ratios: Sequence[float] = (0.8, 0.1, 0.1),
    steering_probabilities: Mapping[str, float] | None = None,
    curriculum: Mapping[str, Any] | None = None,
    link_fallback_strategy: str = "largest",
    parse_validate: bool = True,
    cosine_threshold: float = 0.7,
    embedding_batch_size: int = 32,
    normalize_embeddings: bool = False,
    validate_embeddings: bool = True,
    steering_normalize_residual: bool = False,
    steering_fallback_strategy: str = "centroid",
    tier_proportions: list[int] | None = None,
    adjacent_k: int = 3,
    random_seed: int = 42,
    show_progress: bool = True,
    skip_rows_without_keywords: bool = False,
    on_empty_keywords: str = "none",
) -> BuildConfig:
    """Merges, links, embeds, steers, mines, splits and checks; the directory is only written if all of it succeeds.

    Files of the same names in an existing ``output_dir`` are replaced, others stay; a failed build changes nothing.

    Args:
        csv_paths: tables to merge and split by ratio; see :class:`~dataloader_expert.loaders.jasper.merging.CSVMerger`.
        cluster_json_path: see :func:`~dataloader_expert.loaders.jasper.clusters.parse_clusters`.
        embedding_model: see :func:`~dataloader_expert.loaders.jasper.embedding.generate_embeddings`.
        output_dir: the data set's directory.
        config: completed in place, or a mapping of some of its fields, whose defaults are arguments of the same names.
        csv_splits: instead of ``csv_paths``: tables of ``train``, ``val`` and perhaps ``test``.
        storage_format: ``pt``; what was built can be converted to HDF5.
        include_inspection_file: whether ``inspection.json`` with the first texts is written.
        column_aliases: further names of columns.
        n_neg, split_ratios, steering_probabilities, curriculum, tier_proportions, random_seed: see
            :class:`~dataloader_expert.loaders.jasper.config.BuildConfig`.
        link_fallback_strategy: see :func:`~dataloader_expert.loaders.jasper.clusters.link_sources`.
        parse_validate, cosine_threshold: ``validate`` and ``cosine_threshold`` of the clusters.
        embedding_batch_size, normalize_embeddings, validate_embeddings, on_empty_keywords: of the embeddings.
        steering_normalize_residual, steering_fallback_strategy: see
            :class:`~dataloader_expert.loaders.jasper.steering.SteeringBuilder`.
        adjacent_k: see :class:`~dataloader_expert.loaders.jasper.negatives.NegativeMiner`.
        show_progress: whether steps are logged (INFO).
        skip_rows_without_keywords: whether pairs without keywords are left out.

    Returns:
        The configuration in ``config.json``: ``config`` itself if it is a BuildConfig.

    Raises:
        FileNotFoundError: if a table or the clustering is missing.
        NotImplementedError: for another storage format.
        TypeError, ValueError: if arguments, tables, clusters, embeddings or the result break a rule, which is named.
    """
    defaults = {
        "embedding_dim": PLACEHOLDER,
        "n_neg": n_neg,
        "split_ratios": list(split_ratios),
        "steering_probabilities": steering_probabilities and dict(steering_probabilities),
        "curriculum": curriculum and dict(curriculum),
        "storage_format": storage_format,
        "include_inspection_file": include_inspection_file,
        "random_seed": random_seed,
        "tier_proportions": tier_proportions,
    }
    if not csv_splits:
        said = config.csv_splits if isinstance(config, BuildConfig) else (config or {}).get("csv_splits")
        csv_splits = None if csv_paths else said
    splits = _checked_splits(csv_paths, csv_splits)
    settled = _settled(config, defaults, splits, str(cluster_json_path))
    if settled.storage_format != "pt":
        raise NotImplementedError(
            f"storage_format='pt' only, and {settled.storage_format!r} is asked for: build PT files, then call "
            "JASPERSteeringDataset.convert_pt_to_hdf5(output_dir)"
        )
    merger = CSVMerger(column_aliases)
    with staged(Path(output_dir)) as folder:
        merged = _merged(merger, csv_paths, splits)
        clusters = parse_clusters(cluster_json_path, parse_validate, cosine_threshold)
        linked = link_sources(
            merged,
            clusters,
            fallback_strategy=link_fallback_strategy,
            show_progress=show_progress,
            random_seed=settled.random_seed,
        )
        if skip_rows_without_keywords:
            linked = _with_keywords(linked)
        if settled.include_inspection_file:
            write_json(merger.create_inspection_metadata(linked, cluster_json_path), folder / "inspection.json")
        embeddings = generate_embeddings(
            linked,
            embedding_model,
            clusters,
            folder,
            batch_size=embedding_batch_size,
            normalize_embeddings=normalize_embeddings,
            validate=validate_embeddings,
            on_empty_keywords=on_empty_keywords,
        )
        pairs = paired(linked, *(embeddings[f"{kind}_to_id"] for kind in ("question", "source", "keyword")))
        pairs.save(folder)
        build_steering(
            question_embeddings=embeddings["question_embs"],
            keyword_embeddings=embeddings["keyword_embs"],
            centroid_embeddings=embeddings["centroid_embs"],
            pair_indices=pairs.index,
            pair_cluster_ids=pairs.clusters,
            pair_keyword_ids=pairs.keyword_ids,
            output_dir=folder,
            normalize_residual=steering_normalize_residual,
            fallback_strategy=steering_fallback_strategy,
            show_progress=show_progress,
            random_seed=settled.random_seed,
        )
        mine_negatives(
            source_embeddings=embeddings["source_embs"],
            question_embeddings=embeddings["question_embs"],
            centroid_embeddings=embeddings["centroid_embs"],
            pair_indices=pairs.index,
            pair_cluster_ids=pairs.clusters,
            source_cluster_ids=pairs.source_clusters,
            n_neg=settled.n_neg,
            output_dir=folder,
            tier_proportions=settled.tier_proportions,
            adjacent_k=adjacent_k,
            random_seed=settled.random_seed,
            show_progress=show_progress,
        )
        _split(settled, linked, pairs.index, pairs.clusters, folder, show_progress)
        finalize_dataset(folder, settled)
    if not isinstance(config, BuildConfig):
        return settled
    vars(config).update(vars(settled))  # only now: a failed build leaves the caller's as it was
    return config


def _csv_origin_split(linked_df: pd.DataFrame, output_dir: Path, show_progress: bool = True) -> dict[str, Tensor]:
    """Splits rows by the files that they came from, and writes ``{tag}_idx.pt`` of each tag.

    ``linked_df`` has a row per pair, and a column ``_split_tag``; ``show_progress``: whether sizes are logged (INFO).
    Returns ascending row numbers, int64, by ``{tag}_idx``. A ``ValueError`` if the column is missing, the table empty,
    or a tag could not be part of a file's name.
    """
    if TAG not in linked_df.columns:
        raise ValueError(f"the table has no column {TAG}: merge the files of each split with their split's name in it")
    tags = [str(tag) for tag in linked_df[TAG]]
    if not tags:
        raise ValueError("the table is empty: there is nothing to split")
    wrong = sorted({tag for tag in tags if not tag.isidentifier()})
    if wrong:
        raise ValueError(f"{TAG} has {', '.join(map(repr, wrong))}; a split's name is one word, such as train")
    result = {}
    for tag in dict.fromkeys(tags):
        result[f"{tag}_idx"] = torch.tensor([row for row, own in enumerate(tags) if own == tag])
        save_tensor_artifact(result[f"{tag}_idx"], output_dir, f"{tag}_idx.pt")
    if show_progress:
        log.info("split by files: %s", ", ".join(f"{name} {len(rows)}" for name, rows in result.items()))
    return result


def _settled(
    config: BuildConfig | Mapping[str, Any] | None,
    defaults: Mapping[str, Any],
    splits: dict[str, list[str]] | None,
    clustering_source: str,
) -> BuildConfig:
    """A copy of ``config``, completed and checked."""
    if isinstance(config, BuildConfig):
        settled = copy.copy(config)
        settled.clustering_source, settled.csv_splits = clustering_source, splits
        settled.tier_proportions = defaults["tier_proportions"] or config.tier_proportions
        settled.validate()
        return settled
    said = {name: value for name, value in defaults.items() if value is not None}
    fixed = {"clustering_source": clustering_source, "csv_splits": splits}
    return BuildConfig.of({**said, **(config or {}), **fixed}, "config")


def _checked_splits(csv_paths: Paths, csv_splits: Mapping[str, Paths] | None) -> dict[str, list[str]] | None:
    if csv_splits is None:
        if not csv_paths:
            raise ValueError("Either csv_paths or csv_splits is needed, and both are empty")
        return None
    if csv_paths:
        log.warning("csv_splits are given, so csv_paths will be ignored")
    missing = [split for split in ("train", "val") if not csv_splits.get(split)]
    if missing:
        raise ValueError(f"csv_splits is missing files of {' and '.join(missing)}")
    unknown = sorted(csv_splits.keys() - set(SPLITS))
    if unknown:
        raise ValueError(f"csv_splits has {', '.join(unknown)}; splits are {', '.join(SPLITS)}")
    return {split: [str(path) for path in paths] for split, paths in csv_splits.items() if paths}


def _merged(merger: CSVMerger, csv_paths: Paths, splits: Mapping[str, Paths] | None) -> pd.DataFrame:
    """A row per pair; with splits, a row per pair and split, whose ids are those of one table."""
    import pandas as pd

    if splits is None:
        return merger.merge_csv_files(csv_paths)
    frames = {split: merger.merge_csv_files(paths) for split, paths in splits.items()}
    seen = {split: set(frame["question"]) for split, frame in frames.items()}
    shared = seen["train"] & set().union(*(questions for split, questions in seen.items() if split != "train"))
    if shared:
        log.warning("%d questions of train are in val or test, too: results there will be too good", len(shared))
    return with_ids(pd.concat([frame.assign(**{TAG: split}) for split, frame in frames.items()], ignore_index=True))


def _with_keywords(linked: pd.DataFrame) -> pd.DataFrame:
    kept = linked[[len(words) > 0 for words in linked["keywords"]]]
    if not len(kept):
        raise ValueError("no row has keywords, so skip_rows_without_keywords would leave none")
    if len(kept) < len(linked):
        log.info("%d rows without keywords are left out", len(linked) - len(kept))
    return with_ids(kept)


def _split(
    config: BuildConfig, linked: pd.DataFrame, pairs: Tensor, clusters: Tensor, folder: Path, show_progress: bool
) -> None:
    if config.csv_splits is not None:
        written = _csv_origin_split(linked, folder, show_progress)
    else:
        _, val, test = config.split_ratios
        written = split_dataset(
            pairs,
            clusters,
            folder,
            val_ratio=val,
            test_ratio=test,
            random_state=config.random_seed,
            show_progress=show_progress,
        )
    if "test_idx" not in written:  # readers of all three splits find an empty one
        save_tensor_artifact(torch.empty(0, dtype=torch.long), folder, "test_idx.pt")
