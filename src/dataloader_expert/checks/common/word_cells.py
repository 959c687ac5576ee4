"""Texts as the cells of their words, for classifiers that count words."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.checks.common.rows_kept import digest_of

WORDS, CELLS = 64, 1 << 16
"""Words of a text that are looked at, and the cells that words are counted in."""
_WORD = re.compile(r"\w+")


def cells_of(text: str) -> Any:
    """The cells of a text's first distinct words, int32 [WORDS]; -1 beyond."""
    import numpy as np

    words = list(dict.fromkeys(_WORD.findall(text.casefold())))[:WORDS]
    made = np.full(WORDS, -1, np.int32)
    made[: len(words)] = [digest_of(word) % CELLS for word in words]
    return made


def likelihoods(cells: Any, label: Any, classes: int) -> Any:
    """How likely each text is of each class by its words, each text by the counts of all others (naive Bayes); nats, [n, classes]."""
    import numpy as np

    every = np.ones(len(label), bool)
    return likelihoods_by(cells, label, classes, every, every)


def likelihoods_by(cells: Any, label: Any, classes: int, rows: Any, others: Any) -> Any:
    """How likely texts, ``rows`` of all, are of each class by the words of ``others``, both bool [n]; without themselves where they are
    among these; nats, [rows, classes]; -inf of a class that the others lack."""
    import numpy as np

    scores = np.empty((int(rows.sum()), classes))
    there, within = cells[rows] >= 0, others[rows]
    at, length, whose = np.where(there, cells[rows], 0), there.sum(1), label[rows]
    for c in range(classes):
        texts = cells[others & (label == c)]
        counts = np.bincount(texts[texts >= 0], minlength=CELLS).astype(np.float64)
        own = within & (whose == c)
        total = counts.sum() - own * length + CELLS / 2
        words = np.log(np.maximum(counts[at] - (own[:, None] & there), 0) + 0.5) - np.log(total)[:, None]
        scores[:, c] = np.where(there, words, 0.0).sum(1) + np.log(np.maximum(len(texts) - own, 0.5))
        if not len(texts):
            scores[:, c] = -np.inf
    return scores


def presences_by(cells: Any, label: Any, classes: int, rows: Any, others: Any) -> Any:
    """As :func:`likelihoods_by`, by the share of each class's texts that have a word: of few texts, too, words that all have tell nothing, however
    many texts a class has."""
    import numpy as np

    scores = np.full((int(rows.sum()), classes), -np.inf)
    there, within, whose = cells[rows] >= 0, others[rows], label[rows]
    at = np.where(there, cells[rows], 0)
    for c in range(classes):
        texts = cells[others & (label == c)]
        if len(texts):
            counts = np.bincount(texts[texts >= 0], minlength=CELLS).astype(np.float64)
            own = within & (whose == c)
            n = np.maximum(len(texts) - own, 0.5)
            words = np.log(np.maximum(counts[at] - (own[:, None] & there), 0) + 0.5) - np.log(n + 1)[:, None]
            scores[:, c] = np.where(there, words, 0.0).sum(1) + np.log(n)
    return scores


def told_by(cells: Any, label: Any, others: Any, classes: int) -> Any:
    """The likeliest class of each of the other texts by the words of these, int64 [others]."""
    import numpy as np

    there = others >= 0
    at = np.where(there, others, 0)
    scores = np.full((len(others), classes), -np.inf)
    for c in range(classes):
        own = cells[label == c]
        counts = np.bincount(own[own >= 0], minlength=CELLS).astype(np.float64)
        if len(own):
            words = np.log((counts + 0.5) / (counts.sum() + CELLS / 2))
            scores[:, c] = np.where(there, words[at], 0.0).sum(1) + np.log(len(own))
    return scores.argmax(1)
