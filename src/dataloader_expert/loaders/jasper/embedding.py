"""Texts of a merged table, embedded: questions, sources and keywords, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.artifacts import save_tensor_artifact
from dataloader_expert.loaders.jasper.clusters import Clusters
from dataloader_expert.loaders.jasper.keywords import normalized
from dataloader_expert.loaders.jasper.validation import validate_no_nan_inf

if TYPE_CHECKING:
    import pandas as pd

EMPTY_KEYWORDS = ("none", "raise")


def generate_embeddings(
    df: pd.DataFrame,
    embedding_model: Any,
    cluster_parser: Clusters | None = None,
    output_dir: str | Path | None = None,
    question_col: str = "question",
    source_col: str = "source",
    keywords_col: str = "keywords",
    batch_size: int = 32,
    normalize_embeddings: bool = False,
    validate: bool = True,
    on_empty_keywords: str = "none",
) -> dict[str, Any]:
    """Embeds what a table with a row per pair holds.

    Keywords are those of the clusters, with their own embeddings if the clustering has any; without clusters those of
    the table. Centroids are the clustering's.

    Args:
        embedding_model: has ``embed_documents(texts)``, as in LangChain, or ``encode(texts, batch_size=…,
            show_progress_bar=…, convert_to_numpy=…, normalize_embeddings=…)``, as in sentence-transformers. Both
            return one row per text.
        cluster_parser: of :func:`~dataloader_expert.loaders.jasper.clusters.parse_clusters`.
        output_dir: of ``question_embs.pt``, ``source_embs.pt``, ``keyword_embs.pt``, ``centroid_embs.pt``; None: none.
        question_col, source_col, keywords_col: columns of texts, texts, and lists of keywords.
        batch_size: texts that ``encode`` takes at a time.
        normalize_embeddings: whether what the model returns gets length 1.
        validate: whether NaN, infinity and rows of zeros are refused.
        on_empty_keywords: ``none`` makes embeddings without rows where there are no keywords; ``raise`` refuses that.

    Returns:
        ``question_embs``, ``source_embs``, ``keyword_embs`` and ``centroid_embs``, float32 [rows, width], the last
        None without clusters; ``question_to_id``, ``source_to_id`` and ``keyword_to_id``: row of each text, in order
        of appearance; keywords sorted, in lower case.

    Raises:
        TypeError: if the model has neither method.
        ValueError: if the table has no rows, the model returns another number of rows, or widths or values are refused.
    """
    if on_empty_keywords not in EMPTY_KEYWORDS:
        raise ValueError(f"on_empty_keywords is {on_empty_keywords!r}; it is one of {', '.join(EMPTY_KEYWORDS)}")
    if not len(df):
        raise ValueError("the table has no rows, so there is nothing to embed")
    if cluster_parser is not None:
        words = sorted(cluster_parser.embeddings or cluster_parser.assignments)
    else:
        words = sorted({normalized(word) for cell in df[keywords_col] for word in cell})
    questions, sources, keywords = map(_rows_of, (df[question_col], df[source_col], words))
    if not keywords and on_empty_keywords == "raise":
        raise ValueError("there are no keywords: cluster some, or allow it by on_empty_keywords='none'")

    def embed(texts: Iterable[str]) -> Tensor:
        return embedded(embedding_model, list(texts), batch_size, normalize_embeddings)

    made = {"question_embs": embed(questions), "source_embs": embed(sources)}
    if cluster_parser is not None and cluster_parser.embeddings:
        vectors = [cluster_parser.embeddings[word] for word in keywords]
        made["keyword_embs"] = torch.from_numpy(np.stack(vectors))
    else:
        made["keyword_embs"] = embed(keywords) if keywords else torch.empty(0, made["question_embs"].shape[1])
    if cluster_parser is not None:
        made["centroid_embs"] = torch.from_numpy(cluster_parser.centroids)
    _check(made, validate)
    for name, tensor in made.items() if output_dir is not None else ():
        save_tensor_artifact(tensor, str(output_dir), f"{name}.pt", validate=False)
    rows = {"question_to_id": questions, "source_to_id": sources, "keyword_to_id": keywords}
    return {"centroid_embs": None, **made, **rows}


def embedded(model: Any, texts: Sequence[str], batch_size: int, normalize: bool) -> Tensor:
    """Rows of ``texts``, float32 [texts, width]; errors as of :func:`generate_embeddings`."""
    if hasattr(model, "embed_documents"):
        rows = model.embed_documents(list(texts))
    elif hasattr(model, "encode"):
        rows = model.encode(
            list(texts),
            batch_size=batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
            normalize_embeddings=normalize,
        )
    else:
        raise TypeError(f"embedding_model is {type(model).__name__}; it needs a method embed_documents or encode")
    values = torch.as_tensor(np.asarray(rows, np.float32)).clone()
    if values.ndim != 2 or len(values) != len(texts):
        raise ValueError(
            f"the model returned shape {list(values.shape)} for {len(texts)} texts; one row per text is needed"
        )
    return torch.nn.functional.normalize(values) if normalize else values


def _rows_of(texts: Iterable[str]) -> dict[str, int]:
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}


def _check(tensors: dict[str, Tensor], values: bool) -> None:
    """They have one width; with ``values`` also no NaN, infinity or row of zeros."""
    widths = {name: tensor.shape[1] for name, tensor in tensors.items()}
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{name} {width}" for name, width in widths.items())
        raise ValueError(
            f"embeddings differ in width ({listed}): cluster keywords with the model that embeds the texts"
        )
    for name, tensor in tensors.items() if values else ():
        validate_no_nan_inf(tensor, name)
        zero = (tensor == 0).all(dim=1).nonzero()
        if len(zero):
            raise ValueError(
                f"{name} has {len(zero)} rows of zeros, the first is {int(zero[0])}, which have no direction: remove these texts"
            )
