"""What a tokenizer's or model's files next to the data say about token ids: vocabulary, padding, longest input."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.files import Listing

FILES = ("tokenizer.json", "tokenizer_config.json", "config.json", "meta.json")
LARGEST = 64 << 20
UNSET = 1_000_000
"""Tokenizers without a limit write 1e30 as the longest input."""


@dataclass(frozen=True)
class Vocabulary:
    """``size``: ids are 0 … size - 1; ``pad``: the padding id; ``longest``: the most tokens that the model accepts. None: unknown.

    ``how`` says where they come from.
    """

    size: int | None = None
    pad: int | None = None
    longest: int | None = None
    how: str = "as asked"
    end: int | None = None
    """The token after each document."""

    def known(self) -> bool:
        return (self.size, self.pad, self.longest) != (None, None, None)

    def over(self, other: Vocabulary) -> Vocabulary:
        """This one, completed from ``other``."""

        def either(mine: int | None, theirs: int | None) -> int | None:
            return theirs if mine is None else mine

        size, pad = either(self.size, other.size), either(self.pad, other.pad)
        return Vocabulary(size, pad, either(self.longest, other.longest), self.how, either(self.end, other.end))


def beside(listing: Listing | None) -> Vocabulary:
    """From the files that Hugging Face's libraries save with tokenizers and models, and ``meta.json`` of files of tokens."""
    if listing is None:
        return Vocabulary()
    found = {}
    for name in FILES:
        entry = listing.find(name)
        if entry is not None:
            with contextlib.suppress(Unreadable, ValueError, RecursionError):
                found[name] = json.loads(listing.read(name, LARGEST))
    tokenizer, settings, model, meta = (found[n] if isinstance(found.get(n), dict) else {} for n in FILES)
    inner = tokenizer.get("model") if isinstance(tokenizer.get("model"), dict) else {}
    vocab, added = inner.get("vocab"), tokenizer.get("added_tokens")
    ids = dict(vocab) if isinstance(vocab, dict) else {}
    if isinstance(vocab, list):
        ids = {str(v[0]): i for i, v in enumerate(vocab) if isinstance(v, list) and v}
    for token in added if isinstance(added, list) else ():
        if isinstance(token, dict) and isinstance(token.get("id"), int):
            ids[str(token.get("content"))] = token["id"]
    whole = [i for i in ids.values() if isinstance(i, int)]
    size = max(whole) + 1 if whole else _whole(model.get("vocab_size")) or _whole(settings.get("vocab_size"))
    size = _whole(meta.get("vocab_size")) if size is None else size
    padding = settings.get("pad_token")
    padding = padding.get("content") if isinstance(padding, dict) else padding
    pad = _whole(ids.get(padding)) if isinstance(padding, str) else _whole(model.get("pad_token_id"))
    pad = _whole(meta.get("pad_id", meta.get("pad_token_id"))) if pad is None else pad
    longest = _whole(settings.get("model_max_length")) or _whole(model.get("max_position_embeddings"))
    longest = longest if longest is not None and 0 < longest < UNSET else None
    ends = [meta.get(name) for name in ("eot_token", "eot_id", "eos_token", "eos_token_id", "eos_id")]
    ends += [model.get("eos_token_id"), ids.get(str(settings.get("eos_token")))]
    end = next((_whole(value) for value in ends if _whole(value) is not None), None)
    return Vocabulary(size, pad, longest, f"by {', '.join(found)} next to the data", end)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
