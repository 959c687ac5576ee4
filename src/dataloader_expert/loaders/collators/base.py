"""What collators share: their base class, and conversions of fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import default_collate

Batch: TypeAlias = dict[str, Any]
"""A batch: field name to tensor, or to a list where a field does not stack."""
Samples: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class CollatorInfo:
    """A registered collator."""

    name: str
    """Unique in a registry."""
    factory: Callable[..., Any]
    """Returns the collate function; called with the keyword arguments that it takes."""
    modality: str
    """Of the tasks that select it."""
    description: str


@dataclass(eq=False, repr=False)
class Collator(ABC):
    """A collate function for samples that are mappings; a ``ValueError`` if there are none, or their fields differ."""

    called: ClassVar[str]
    """Its name in messages."""
    dtype: torch.dtype | None = field(default=None, kw_only=True)
    """Of floating fields; integers and masks keep theirs. None: unchanged."""

    def __call__(self, samples: Samples) -> Batch:
        if not len(samples):
            raise ValueError(f"the {self.called} got an empty batch: there is nothing to collate")
        if not isinstance(samples[0], Mapping):
            raise ValueError(
                f"the {self.called} takes samples that are mappings, such as {{'x': …}}; the first is a {type(samples[0]).__name__}"
            )
        batch = dict(cast(self._batch(samples), self.dtype))
        for at, sample in enumerate(samples):
            if others := sample.keys() - samples[0].keys():
                raise ValueError(f"sample {at} of the batch has {', '.join(map(repr, others))}, which sample 0 has not")
        return batch

    @abstractmethod
    def _batch(self, samples: Samples) -> Batch:
        """The batch of at least one sample."""

    def _first(self, names: Sequence[str], samples: Samples) -> str:
        """The first of ``names`` that the first sample has; without one ``names[0]``, which is then reported missing."""
        return next((name for name in names if name in samples[0]), names[0])

    def _values(self, samples: Samples, name: str) -> list[Any]:
        """The field ``name`` of every sample; a ``ValueError`` names a sample that lacks it."""
        try:
            return [sample[name] for sample in samples]
        except KeyError:
            at = next(i for i, sample in enumerate(samples) if name not in sample)
            has = ", ".join(map(str, samples[at])) or "nothing"
            raise ValueError(f"sample {at} of the batch has no {name!r}; it has {has}") from None

    def _others(self, samples: Samples, *names: str) -> dict[str, list[Any]]:
        """The values of every field of the first sample, without ``names``."""
        return {name: self._values(samples, name) for name in samples[0] if name not in names}

    def _free_name(self, name: str, field: str, samples: Samples) -> str:
        """``name`` for what is added about ``field``, or ``field_name`` if samples have a field of that name."""
        names = name, f"{field}_{name}"
        found = next((n for n in names if n not in samples[0]), None)
        if found is None:
            raise ValueError(f"samples have the fields {' and '.join(names)}, one of which is added here: rename one")
        return found


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """``value`` with ``change`` applied to every tensor in it."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(v, change) for name, v in value.items()}
    if isinstance(value, PackedSequence):
        return value._replace(data=change(value.data))  # its lengths must stay on the host
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, change) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(v, change) for v in value)
    return value


def cast(value: Any, dtype: torch.dtype | None) -> Any:
    """``value`` with every floating tensor in it converted to ``dtype``."""
    return value if dtype is None else mapped(value, lambda t: t.to(dtype) if t.is_floating_point() else t)


def as_tensors(values: list[Any]) -> list[torch.Tensor]:
    """``values`` as tensors, which share the memory of arrays."""
    if set(map(type, values)) == {torch.Tensor}:
        return values
    return [v if isinstance(v, torch.Tensor) else torch.as_tensor(v) for v in values]


def labels_of(values: list[Any]) -> Any:
    """Labels of a batch: classes as int64 [B], vectors (multi-label, soft) stacked, strings as a list."""
    kinds = set(map(type, values))
    if kinds <= {int, bool}:
        return torch.from_numpy(np.array(values, dtype=np.int64))
    if kinds & {str, type(None)}:
        return list(values)
    try:
        tensors = as_tensors(values)
    except (TypeError, ValueError, RuntimeError):  # lists of words, say
        return list(values)
    if len({t.shape for t in tensors}) > 1:
        return tensors
    stacked = torch.stack(tensors)
    integral = not stacked.is_floating_point() and not stacked.is_complex()
    return stacked.to(torch.int64) if stacked.ndim == 1 and integral else stacked


@dataclass(eq=False, repr=False, kw_only=True)
class DefaultCollator:
    """Stacks samples of any nesting as torch's ``default_collate`` does; a field ``label`` becomes ``labels``."""

    dtype: torch.dtype | None = None
    """Of floating fields."""

    def __call__(self, samples: Any) -> Any:
        batch = default_collate(samples)
        if isinstance(batch, dict) and "label" in batch and "labels" not in batch:
            batch["labels"] = batch.pop("label")
        return cast(batch, self.dtype)


def tokenised(tokenizer: Any, max_length: int | None, *texts: Any) -> dict[str, Any]:
    """The fields of a tokenizer for a text, two read together, or lists of these, of at most ``max_length`` tokens."""
    if any(of is None or (isinstance(of, list) and None in of) for of in texts):
        raise ValueError("a row has no text: filter such rows out; check_quality counts them")
    limit = {"truncation": True, "max_length": max_length} if max_length else {}
    return dict(tokenizer(*(list(map(str, of)) if isinstance(of, list) else str(of) for of in texts), **limit))
