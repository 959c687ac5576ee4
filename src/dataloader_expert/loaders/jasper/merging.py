"""Merges tables of questions and sources from several CSV files: one row per pair."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataloader_expert.loaders.jasper.keywords import KeywordRules, number

if TYPE_CHECKING:
    import pandas as pd

ALIASES: dict[str, list[str]] = {
    "question": ["question", "question_text", "query"],
    "source": ["source_text", "source", "context", "passage"],
    "answer": ["answer", "answer_text", "response"],
    "keywords": ["extract_suggestions", "topic_relevance_prob_topic_scores", "keywords", "topics", "tags"],
    "relevance_score": ["relevance_score", "score", "relevance", "label"],
}
"""Names under which columns are found, the preferred ones first."""
REQUIRED = ("question", "source")
SHOWN = 100
"""Texts of each kind in an inspection file."""


@dataclass
class _Pair:
    """The merged rows of one question and source."""

    answer: str = ""
    keywords: set[str] = field(default_factory=set)
    relevance: float = 0.0


class CSVMerger:
    """Reads CSV files with differing column names, and merges rows of the same question and source.

    Args:
        column_aliases: further names of ``question``, ``source``, ``answer``, ``keywords`` or ``relevance_score``,
            tried before those of :data:`ALIASES`. Case does not count.
        suggestion_min_confidence, suggestion_types: which suggestions (``{"term", "confidence", "type"}``) count as
            keywords; None: any type.
        topic_min_probability: which topics (``{"topic_descriptor", "probability"}``) count as keywords.

    Raises:
        ValueError: if an alias is of no such column.
    """

    def __init__(
        self,
        column_aliases: Mapping[str, Sequence[str]] | None = None,
        suggestion_min_confidence: float = 0.0,
        suggestion_types: Sequence[str] | None = None,
        topic_min_probability: float = 0.5,
    ) -> None:
        given = column_aliases or {}
        unknown = sorted(given.keys() - ALIASES.keys())
        if unknown:
            raise ValueError(f"column_aliases has {', '.join(unknown)}; columns are {', '.join(ALIASES)}")
        self.column_aliases = {column: [*given.get(column, ()), *names] for column, names in ALIASES.items()}
        self.rules = KeywordRules(suggestion_min_confidence, suggestion_types, topic_min_probability)

    def merge_csv_files(self, csv_paths: Sequence[str | Path], output_path: str | Path | None = None) -> pd.DataFrame:
        """One row per question and source, in the order of their texts, from UTF-8 files with a header.

        Rows without question or source are dropped. Of rows of one pair the highest relevance, all keywords and the
        longest answer are kept. Relevance that is missing or not a number is taken as 1; it is cut to [0, 1].

        Columns are ``question``, ``source``, ``answer``, ``keywords`` (sorted list), ``relevance_score``, and the ids
        of :func:`with_ids`; ``output_path`` is a CSV file to write them to, keywords as JSON.

        Raises:
            ValueError: if there are no files, one has no column for question or source or is not CSV.
            FileNotFoundError: if one is missing.
        """
        if not csv_paths:
            raise ValueError("csv_paths is empty: name at least one CSV file")
        import pandas as pd

        pairs: dict[tuple[str, str], _Pair] = {}
        for path in csv_paths:
            for question, source, row in self._rows(Path(path)):
                pair = pairs.setdefault((question, source), _Pair())
                pair.answer = max(pair.answer, row.answer, key=len)
                pair.keywords |= row.keywords
                pair.relevance = max(pair.relevance, row.relevance)
        rows = [(*texts, pair.answer, sorted(pair.keywords), pair.relevance) for texts, pair in sorted(pairs.items())]
        frame = with_ids(pd.DataFrame(rows, columns=list(ALIASES)))
        if output_path is not None:
            path = Path(output_path)
            path.parent.mkdir(parents=True, exist_ok=True)
            listed = [json.dumps(words, ensure_ascii=False) for words in frame["keywords"]]
            frame.assign(keywords=listed).to_csv(path, index=False)
        return frame

    def create_inspection_metadata(self, df: pd.DataFrame, clustering_source: str | Path) -> dict[str, Any]:
        """Counts, and the first texts of each kind, of a merged table; ready for JSON."""
        questions, sources = (_texts(df, column) for column in REQUIRED)
        return {
            "metadata": {
                "created_at": datetime.now(UTC).isoformat(),
                "n_pairs": len(df),
                "n_questions": len(questions),
                "n_sources": len(sources),
                "clustering_source": str(clustering_source),
                "keywords_present": any(len(words) > 0 for words in df["keywords"]),
            },
            "questions": questions[:SHOWN],
            "sources": sources[:SHOWN],
            "pair_samples": [],
        }

    def _rows(self, path: Path) -> Iterator[tuple[str, str, _Pair]]:
        """Question, source, and what the row says of them, of all complete rows."""
        frame = _read(path)
        columns = {column: self._column(frame, column) for column in ALIASES}
        missing = [column for column in REQUIRED if columns[column] is None]
        if missing:
            names = "; ".join(f"{c}: {', '.join(self.column_aliases[c])}" for c in missing)
            raise ValueError(
                f"Required column not found in {path}, which has {', '.join(frame.columns)}. Name it {names}"
            )
        cells = [[""] * len(frame) if columns[c] is None else frame[columns[c]].tolist() for c in ALIASES]
        for question, source, answer, keywords, relevance in zip(*cells, strict=True):
            question, source = question.strip(), source.strip()
            if question and source:
                yield question, source, _Pair(answer, set(self.rules.parse(keywords)), _relevance(relevance))

    def _column(self, frame: pd.DataFrame, column: str) -> str | None:
        names = {str(name).strip().lower(): str(name) for name in reversed(list(frame.columns))}
        return next((names[alias.lower()] for alias in self.column_aliases[column] if alias.lower() in names), None)


def merge_csv_files(
    csv_paths: Sequence[str | Path],
    output_path: str | Path | None = None,
    column_aliases: Mapping[str, Sequence[str]] | None = None,
    suggestion_min_confidence: float = 0.0,
    suggestion_types: Sequence[str] | None = None,
    topic_min_probability: float = 0.5,
) -> pd.DataFrame:
    """:meth:`CSVMerger.merge_csv_files`, with the arguments of :class:`CSVMerger`."""
    merger = CSVMerger(column_aliases, suggestion_min_confidence, suggestion_types, topic_min_probability)
    return merger.merge_csv_files(csv_paths, output_path)


def with_ids(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy with ``question_id`` and ``source_id``, numbered by first appearance, and ``pair_id``, by row: all from 0."""
    ids = {f"{column}_id": frame[column].factorize()[0] for column in REQUIRED}
    return frame.assign(**ids, pair_id=range(len(frame))).reset_index(drop=True)


def _read(path: Path) -> pd.DataFrame:
    """All cells as text: a question "NA" or "1e5" is unchanged."""
    import pandas as pd

    if not path.is_file():
        raise FileNotFoundError(f"CSV file not found: {path}")
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").fillna("")
    except ValueError as error:  # pandas' own errors, and text that is no UTF-8
        raise ValueError(f"{path} could not be read as CSV in UTF-8: {error}") from error


def _relevance(cell: str) -> float:
    value = number(cell, 1.0)
    return 1.0 if math.isnan(value) else min(max(value, 0.0), 1.0)


def _texts(df: pd.DataFrame, column: str) -> list[dict[str, Any]]:
    """Id and text of each, once."""
    texts = dict(zip(df[f"{column}_id"].tolist(), df[column].tolist(), strict=True))
    return [{"id": number, "text": text} for number, text in sorted(texts.items())]
