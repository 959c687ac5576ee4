"""What words say of their tags: the tag that a word has nearly always, by its other occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FEWEST, MOSTLY = 3, 0.9
"""The fewest other occurrences of a word that tell its tag, and the least share of them that have it."""
UNKNOWN = -1


@dataclass(frozen=True)
class Words:
    """Occurrences of words in sentences, in the order of the text: numbers of words and of tags, and which sentence each is in, int64 [n]."""

    word: Any
    tag: Any
    sentence: Any
    tags: int

    def told(self, rows: Any, others: Any, mostly: float = MOSTLY) -> Any:
        """The tag that each of these occurrences has by ``others``, both bool [n], of which it is none itself; UNKNOWN where they do not
        tell, as where fewer than ``mostly`` of them have it."""
        import numpy as np

        words, width = int(self.word.max(initial=0)) + 1, self.tags
        counts = np.bincount((self.word * width + self.tag)[others], minlength=words * width).reshape(words, width)
        total, best = counts.sum(1), counts.argmax(1)
        top = counts[np.arange(words), best]
        word, tag, within = self.word[rows], self.tag[rows], others[rows]
        n, own = total[word] - within, within & (tag == best[word])
        # without itself another tag may be the commonest, which then is none that nearly all have
        sure = (n >= FEWEST) & (top[word] - own >= mostly * n)
        return np.where(sure, best[word], UNKNOWN)
