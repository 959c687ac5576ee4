"""Batches of texts: padding, attention masks, labels, masking."""

from __future__ import annotations

import copy
import zlib
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, as_tensors, labels_of, tokenised
from dataloader_expert.loaders.collators.padding import Side, lengths_of, mask_of, pad_rows, pad_tokens
from dataloader_expert.loaders.plain import stacked
from dataloader_expert.loaders.seeding import last_seed, mixed, shared
from dataloader_expert.samplers.rules import at_least, given, integers, one_of

BY_TOKEN = ("input_ids", "attention_mask", "token_type_ids")
"""Suffixes of fields with one value per token, of other sequences too, such as ``decoder_input_ids``."""
IGNORED = -100
"""The label that torch's cross entropy ignores."""
CLASSIFYING = frozenset({"classification", "text_classification", "token_classification", "vision_classification"})
MASKED_SHARE, RANDOM_SHARE = 0.8, 0.5
"""Of the chosen tokens 80 % become the mask token, and half of the rest a random one (Devlin et al. 2018)."""


@dataclass(eq=False, repr=False)
class LanguageModelingDataCollator(Collator):
    """Pads tokenised samples to the longest of the batch, and adds masks and labels.

    A sample has ``input_ids`` [n] (list, array or tensor), or ``text``, which is tokenised. Other fields with a value
    per token (``attention_mask``, ``labels``, …) are padded too; a class or vector in ``label`` or ``labels`` is kept;
    the rest is stacked.

    Args:
        tokenizer: as in transformers, with ``pad_token_id`` or ``eos_token_id``, which then pads; else with ``pad()``.
        mlm: masked language modelling: some tokens, never special ones, are masked; ``labels`` hold them, and -100
            elsewhere. False: ``labels`` equal ``input_ids``.
        mlm_probability: share of masked tokens, in (0, 1].
        padding_side: ``"right"`` or ``"left"``.
        task_spec: a :class:`TaskSpec`; for a classification, labels are not made from tokens.
        ignore_padding: ``labels`` are -100 at padding, also of samples padded before. False: its id, trained on.
        max_length: longer samples are truncated, on the side that is not padded.
        seed: with the epoch and the batch's tokens it determines the masks; None: that of :func:`set_random_seed`.
        dtype: of floating fields.

    Returns:
        ``input_ids``, ``attention_mask`` (1 at every token, whatever its id) and ``labels``, int64 [B, longest]. A
        ``ValueError`` if ``tokenizer`` is None or lacks a padding or, with ``mlm``, a mask token.
    """

    called = "text collator"
    tokenizer: Any
    mlm: bool = False
    mlm_probability: float = 0.15
    padding_side: Side = "right"
    task_spec: Any = None
    _: KW_ONLY
    ignore_padding: bool = False
    max_length: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.tokenizer is None:
            raise ValueError("tokenizer required for text collator: it says which token pads; pass tokenizer=")
        one_of(("left", "right"), padding_side=self.padding_side)
        integers(1, **given(max_length=self.max_length))
        if not 0 < self.mlm_probability <= 1:
            raise ValueError(f"mlm_probability is {self.mlm_probability}; it must be in (0, 1]")
        if self.mlm and getattr(self.tokenizer, "mask_token_id", None) is None:
            raise ValueError(f"mlm=True needs a mask token: {type(self.tokenizer).__name__} has no mask_token_id")
        self._classifies = getattr(self.task_spec, "task_type", None) in CLASSIFYING
        self._begin()

    def _begin(self) -> None:
        if self.mlm:
            self._epoch, self._came = shared(-1), np.zeros(1 << 16, np.uint32)

    def apart(self) -> LanguageModelingDataCollator:
        """A copy with an epoch of its own."""
        made = copy.copy(self)
        made._begin()
        return made

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that masks depend on, in workers too; an ``EpochLoader`` calls it."""
        if self.mlm:
            self._epoch.fill_(epoch)

    def __getstate__(self) -> dict[str, Any]:
        """With the seed of this process, which a spawned worker does not know."""
        return {**vars(self), "seed": last_seed() if self.seed is None else self.seed}

    def _batch(self, samples: Samples) -> Batch:
        if "input_ids" not in samples[0] and "text" in samples[0]:
            samples = self._tokenised(samples)
        rows = [self._cut(row) for row in self._values(samples, "input_ids")]
        pad = _padding_id(self.tokenizer)
        lengths = lengths_of(rows)
        batch: Batch = {} if pad is not None else self._padded_by_tokenizer(rows)
        longest = batch["input_ids"].shape[1] if batch else max(1, int(lengths.max()))
        present = mask_of(lengths, longest, self.padding_side)
        if pad is not None:
            batch["input_ids"] = pad_tokens(rows, pad, present)
        own = "attention_mask" in samples[0]
        mask = self._padded(samples, "attention_mask", 0, present) if own else present.to(torch.int64)
        batch["attention_mask"] = mask
        label = next((name for name in ("labels", "label") if name in samples[0]), None)
        for name in samples[0]:
            if name == label:
                batch["labels"] = self._labels(samples, name, present)
            elif name not in ("input_ids", "attention_mask"):
                batch[name] = self._other(samples, name, present)
        if self.mlm:
            batch["input_ids"], batch["labels"] = self._hidden(batch["input_ids"], present)
        elif label is None and not self._classifies:
            batch["labels"] = batch["input_ids"].clone()
            if self.ignore_padding:
                batch["labels"][mask == 0] = IGNORED
        return batch

    def _cut(self, row: Any) -> Any:
        if self.max_length is None or len(row) <= self.max_length:
            return row
        return row[: self.max_length] if self.padding_side == "right" else row[-self.max_length :]

    def _tokenised(self, samples: Samples) -> Samples:
        texts = self._values(samples, "text")
        encoded = tokenised(self.tokenizer, self.max_length, texts)
        fields = {name: values for name, values in encoded.items() if len(values) == len(texts)}
        rest = [{name: value for name, value in sample.items() if name != "text"} for sample in samples]
        return [{**own, **{name: values[i] for name, values in fields.items()}} for i, own in enumerate(rest)]

    def _padded(self, samples: Samples, name: str, value: int, present: torch.Tensor) -> torch.Tensor:
        rows = self._values(samples, name)
        for at, (row, sample) in enumerate(zip(rows, samples, strict=True)):
            if len(row) != (tokens := len(sample["input_ids"])):
                raise ValueError(
                    f"sample {at} of the batch has {len(row)} values in {name!r} and {tokens} in 'input_ids'"
                )
        return pad_tokens([self._cut(row) for row in rows], value, present)

    def _labels(self, samples: Samples, name: str, present: torch.Tensor) -> Any:
        values = self._values(samples, name)
        if all(_integral(v) for v in values):
            if _by_token(values, samples):
                return self._padded(samples, name, IGNORED, present)
            if len({len(v) for v in values}) > 1:
                return pad_rows(as_tensors(values), IGNORED)  # of another sequence: seq2seq
        return labels_of(values)

    def _other(self, samples: Samples, name: str, present: torch.Tensor) -> Any:
        values = self._values(samples, name)
        if all(_integral(v) for v in values):
            if _by_token(values, samples):
                value = getattr(self.tokenizer, "pad_token_type_id", 0) if name == "token_type_ids" else 0
                return self._padded(samples, name, value, present)
            if name.endswith(BY_TOKEN):
                pad = _padding_id(self.tokenizer) if name.endswith("input_ids") else 0
                return pad_rows(as_tensors(values), pad or 0, self.padding_side)
        rows = all(hasattr(v, "__len__") and getattr(v, "ndim", 1) for v in values) and not isinstance(values[0], str)
        return values if rows and len({len(v) for v in values}) > 1 else stacked(values)

    def _hidden(self, ids: torch.Tensor, present: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Masked tokens and their labels: a choice of seed, epoch and batch, whatever the workers and also when resuming.

        If nobody sets the epoch, the worker's seed and the number of times that the batch occurred replace it.
        """
        content = zlib.crc32(ids.numpy().tobytes())
        parts = [last_seed() if self.seed is None else self.seed, content]
        if int(self._epoch) >= 0:
            parts.append(int(self._epoch))
        else:
            info, slot = get_worker_info(), content % len(self._came)
            parts += [0 if info is None else info.seed - info.id, int(self._came[slot])]
            self._came[slot] += 1
        draw = torch.Generator().manual_seed(mixed(*parts))
        special = torch.tensor(sorted(set(getattr(self.tokenizer, "all_special_ids", None) or [])), dtype=torch.int64)
        open_to_choice = present & ~torch.isin(ids, special)
        chosen = (torch.rand(ids.shape, generator=draw) < self.mlm_probability) & open_to_choice
        labels = torch.where(chosen, ids, IGNORED)
        masked = chosen & (torch.rand(ids.shape, generator=draw) < MASKED_SHARE)
        replaced = chosen & ~masked & (torch.rand(ids.shape, generator=draw) < RANDOM_SHARE)
        ids = torch.where(masked, self.tokenizer.mask_token_id, ids)
        words = torch.randint(_vocabulary(self.tokenizer), ids.shape, generator=draw)
        return torch.where(replaced, words, ids), labels

    def _padded_by_tokenizer(self, rows: list[Any]) -> Batch:
        """Tokens padded by the ``pad`` method of a tokenizer without a padding token."""
        pad = getattr(self.tokenizer, "pad", None)
        if pad is None:
            raise ValueError(f"{type(self.tokenizer).__name__} has neither pad_token_id nor pad(): set pad_token_id")
        kept = getattr(self.tokenizer, "padding_side", None)
        if kept is not None:
            self.tokenizer.padding_side = self.padding_side
        try:
            padded = pad([{"input_ids": row} for row in rows], return_tensors=None, padding=True)
        finally:
            if kept is not None:
                self.tokenizer.padding_side = kept
        return {name: _whole(name, padded[name]) for name in padded}


@dataclass(eq=False, repr=False)
class BatchTransform(Collator):
    """Tokenises the texts of a batch in one call; for ``collate_fn``.

    A batch has ``input_ids`` and ``attention_mask`` int64 [B, longest], further fields of the tokenizer, and ``labels``,
    for classes int64 [B]. A sample without text is a ``ValueError``.
    """

    called = "batch transform"
    tokenizer: Any
    """Of transformers, or called like one."""
    max_length: int = 512
    """Texts are truncated to so many tokens, at least 1."""
    _: KW_ONLY
    text: str = "text"
    """The field of the texts."""
    label: str = "label"
    """The field of the labels; samples without it are for prediction."""

    def __post_init__(self) -> None:
        if self.tokenizer is None:
            raise ValueError("tokenizer required: it tokenises the texts of a batch; pass tokenizer=")
        at_least(1, max_length=self.max_length)

    def _batch(self, samples: Samples) -> Batch:
        limit = {"truncation": True, "max_length": self.max_length}
        batch: Batch = dict(
            self.tokenizer(self._values(samples, self.text), padding=True, return_tensors="pt", **limit)
        )
        if self.label in samples[0]:
            batch["labels"] = labels_of(self._values(samples, self.label))
        return batch


def _by_token(values: list[Any], samples: Samples) -> bool:
    """Whether these rows have one value per token."""
    return all(len(v) == len(s["input_ids"]) for v, s in zip(values, samples, strict=True))


def _whole(name: str, value: Any) -> torch.Tensor:
    """A field that a tokenizer padded, as one tensor."""
    made = value if isinstance(value, torch.Tensor) else labels_of(list(value))
    if not isinstance(made, torch.Tensor):
        lengths = [len(row) for row in value]
        raise ValueError(f"Cannot convert ragged list to tensor for key '{name}'. Sequence lengths: {lengths}")
    return made


def _padding_id(tokenizer: Any) -> int | None:
    """The id of the padding token, else of the end token; None without both."""
    known = (getattr(tokenizer, name, None) for name in ("pad_token_id", "eos_token_id"))
    return next((value for value in known if isinstance(value, int)), None)


def _vocabulary(tokenizer: Any) -> int:
    try:
        return len(tokenizer)
    except TypeError:
        return int(tokenizer.vocab_size)


def _integral(value: Any) -> bool:
    """Whether a value is a row of integers; for a list, its first value decides."""
    if isinstance(value, torch.Tensor):
        return value.ndim == 1 and not value.is_floating_point()
    if hasattr(value, "dtype"):
        return value.ndim == 1 and value.dtype.kind in "iub"
    return isinstance(value, list | tuple) and (not value or isinstance(value[0], int))


def make(task_spec: Any = None, tokenizer: Any = None, **keywords: Any) -> LanguageModelingDataCollator:
    """The text collator of a task: masked if its type is, padding excluded from the loss, unless ``keywords`` differ."""
    keywords = {"ignore_padding": True, **keywords}
    if keywords.get("mlm") is None:
        keywords["mlm"] = getattr(task_spec, "task_type", None) in ("mlm", "masked_lm")
    return LanguageModelingDataCollator(tokenizer, task_spec=task_spec, **keywords)
