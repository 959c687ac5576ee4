"""The rules for a JASPER directory. Errors say which tensor, which row, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from dataloader_expert.loaders.jasper.stored import KEYWORDS, PER_PAIR, SPLITS, VECTORS

if TYPE_CHECKING:
    from dataloader_expert.loaders.jasper.tables import Tables

logger = logging.getLogger(__name__)

REBUILD = "rebuild the data set, or correct the file"
ROUNDING = 1e-5
"""By how much a relevance or a distance may be out of its range: cosines come out as 2.0000005."""


def check(tables: Tables) -> None:
    """Every rule that needs no configuration and no split; a ``ValueError`` names the first that is broken."""
    pairs = len(tables.pair_index)
    rows_in(tables.pair_index[:, 0], len(tables.question_embs), "pair_index", "question")
    rows_in(tables.pair_index[:, 1], len(tables.source_embs), "pair_index", "source")
    check_negatives(tables.hard_negatives, tables.negative_tiers, len(tables.source_embs))
    rows_in(tables.pair_cluster_id, len(tables.centroid_embs), "pair_cluster_id", "cluster")
    rows_in(tables.pair_keyword_ids.flat, len(tables.keyword_embs), "pair_keyword_ids", "keyword")
    for name in (*PER_PAIR, KEYWORDS):
        count = len(getattr(tables, name))
        if count != pairs:
            raise ValueError(f"{name} has {count} rows, but pair_index has {pairs} pairs: {REBUILD}")
    widths = {name: getattr(tables, name).shape[1] for name in VECTORS}
    if len(set(widths.values())) > 1:
        raise ValueError(f"embedding dimensions differ: {_listed(widths)}: {REBUILD}")
    dtypes = {name: str(getattr(tables, name).dtype) for name in VECTORS}
    if len(set(dtypes.values())) > 1 or not tables.question_embs.is_floating_point():
        raise ValueError(f"embeddings must share one floating dtype, got {_listed(dtypes)}: {REBUILD}")
    for name in VECTORS:
        finite(getattr(tables, name), name)
    within(tables.pair_relevance, 0.0, 1.0, "pair_relevance")
    within(tables.centroid_distances, 0.0, 2.0, "centroid_distances")
    own = _own_sources(tables)
    if len(own):
        logger.warning(
            "%d of %d pairs have their own source among their hard negatives: mine them again", len(own), pairs
        )


def check_finished(tables: Tables, splits: Mapping[str, torch.Tensor], needs_test: bool) -> None:
    """All rules of :func:`check`, and those of a built data set, whose test split has pairs if it ``needs_test``.

    ``splits`` are pair rows of train, val and test.
    """
    check(tables)
    pairs, own = len(tables.pair_index), _own_sources(tables)
    if not tables.hard_negatives.shape[1]:
        raise ValueError("hard_negatives has no column: mine at least one negative per pair")
    if len(own):
        raise ValueError(
            f"hard_negatives contains true source of {len(own)} pairs, the first is {int(own[0])}: mine again"
        )
    for split in SPLITS:
        if len(splits[split]):
            check_split(splits[split], pairs, split, {s: rows for s, rows in splits.items() if s != split})
        elif split != "test" or needs_test:
            raise ValueError(f"{split}_idx is empty: split again, with more pairs or another ratio")
    covered = sum(map(len, splits.values()))
    if covered != pairs:
        raise ValueError(f"the splits have {covered} of {pairs} pairs: split again, so that each pair is in one split")


def check_negatives(negatives: torch.Tensor, tiers: torch.Tensor, sources: int) -> None:
    """Rows of sources, and tiers 1 to 4 of the same shape; else a ``ValueError``."""
    rows_in(negatives, sources, "hard_negatives", "source")
    if tiers.shape != negatives.shape:
        raise ValueError(
            f"negative_tiers is {list(tiers.shape)}, hard_negatives is {list(negatives.shape)}: write both together"
        )
    if tiers.numel() and (int(tiers.min()) < 1 or int(tiers.max()) > 4):
        bad = int(tiers.min()) if int(tiers.min()) < 1 else int(tiers.max())
        raise ValueError(f"negative_tiers holds {bad}; tiers are 1 to 4: {REBUILD}")


def check_split(rows: torch.Tensor, pairs: int, split: str, others: Mapping[str, torch.Tensor]) -> None:
    """Rows of pairs that exist, none twice, and none that is in another split; else a ``ValueError``."""
    if not len(rows):
        logger.warning("split %s is empty", split)
        return
    if int(rows.max()) >= pairs or int(rows.min()) < 0:
        bad = int(rows.max()) if int(rows.max()) >= pairs else int(rows.min())
        raise ValueError(
            f"Split indices reference pair {bad}, but only {pairs} pairs exist: write {split}_idx.pt again"
        )
    if len(torch.unique(rows)) != len(rows):
        raise ValueError(
            f"split {split} names {len(rows) - len(torch.unique(rows))} pairs twice: write {split}_idx.pt again"
        )
    for other, its in others.items():
        shared = torch.isin(rows, its)
        if shared.any():
            first = int(rows[shared][0])
            raise ValueError(
                f"splits {split} and {other} overlap in {int(shared.sum())} pairs, the first is {first}: split again"
            )


def rows_in(rows: torch.Tensor, count: int, name: str, of: str) -> None:
    """Every value is a row of ``count`` rows; else a ``ValueError`` names the largest or smallest."""
    if not rows.numel():
        return
    low, high = (int(v) for v in torch.aminmax(rows))
    if high >= count or low < 0:
        bad = high if high >= count else low
        raise ValueError(f"{name} references {of} {bad}, but only {count} {of}s exist: {REBUILD}")


def finite(values: torch.Tensor, name: str) -> None:
    """No NaN, no infinity; else a ``ValueError`` names the first row that has one."""
    if not values.numel():
        return
    low, high = torch.aminmax(values)  # both are NaN where a value is
    if torch.isfinite(low) and torch.isfinite(high):
        return
    what = "NaN" if torch.isnan(low) else "Inf"
    row = int(torch.nonzero(~torch.isfinite(values))[0][0])
    raise ValueError(f"{what} detected in {name}, row {row}: {REBUILD}")


def within(values: torch.Tensor, low: float, high: float, name: str) -> None:
    """Finite and between ``low`` and ``high``, but for rounding; else a ``ValueError``."""
    finite(values, name)
    if values.numel():
        least, most = (float(v) for v in torch.aminmax(values))
        if least < low - ROUNDING or most > high + ROUNDING:
            raise ValueError(f"{name} holds values from {least} to {most}; they are in [{low}, {high}]: {REBUILD}")


def _own_sources(tables: Tables) -> torch.Tensor:
    """Pairs whose own source is among their hard negatives."""
    return (tables.hard_negatives == tables.pair_index[:, 1:]).any(dim=1).nonzero().view(-1)


def _listed(named: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in named.items())
