"""Sequences of feature vectors, values or tokens, padded to the longest."""

from __future__ import annotations

from dataclasses import dataclass

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, as_tensors, labels_of
from dataloader_expert.loaders.collators.padding import Side, lengths_of, mask_of, pad_rows


@dataclass(eq=False, repr=False)
class SequenceCollator(Collator):
    """Pads fields that vary in their first dimension; stacks the others.

    A batch has every field stacked or padded, [B, longest, …], or as a list if it can be neither; ``lengths`` int64 [B] and
    ``mask`` bool [B, longest] of ``field`` (``field_lengths``, ``field_mask`` if samples have such fields).
    """

    called = "sequence collator"
    field: str | None = None
    """The sequence whose lengths are returned; None: the first that is one. A ``ValueError`` if it is none."""
    padding_value: float = 0
    padding_side: Side = "right"

    def _batch(self, samples: Samples) -> Batch:
        name = self.field or next((n for n, v in samples[0].items() if is_sequence(v)), None)
        if name is None:
            raise ValueError(f"no field of {', '.join(map(str, samples[0]))} is a sequence: pass its name as field=")
        rows = as_tensors(self._values(samples, name))
        if not all(row.ndim for row in rows):
            raise ValueError(f"field {name!r} is not a sequence, its samples are single numbers: pass another field=")
        lengths = lengths_of(rows)
        batch: Batch = {name: pad_rows(rows, self.padding_value, self.padding_side)}
        for other, values in self._others(samples, name).items():
            if not all(is_sequence(v) for v in values):
                batch[other] = labels_of(values)
                continue
            try:
                batch[other] = pad_rows(values, self.padding_value, self.padding_side)
            except (ValueError, TypeError):
                batch[other] = values
        batch[self._free_name("lengths", name, samples)] = lengths
        batch[self._free_name("mask", name, samples)] = mask_of(lengths, batch[name].shape[1], self.padding_side)
        return batch


def is_sequence(value: object) -> bool:
    """Whether ``value`` has a first dimension of numbers that may vary."""
    if isinstance(value, list | tuple):
        return not value or not isinstance(value[0], str)
    return getattr(value, "ndim", 0) >= 1
