"""Batches of waveforms of different lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, as_tensors, labels_of
from dataloader_expert.loaders.collators.padding import mask_of, pad_rows

WAVE_NAMES = ("waveform", "input_values", "audio", "wave")


@dataclass(eq=False, repr=False)
class AudioCollator(Collator):
    """Pads waveforms with silence to the longest.

    A sample has ``waveform`` (or ``input_values``, ``audio``, ``wave``) [T], [channels, T] or, as :func:`open_dataset` gives it,
    [T, channels], floating, int16 or int32; time is the side that varies, or the longer one. Integers are scaled to [-1, 1).

    A batch has the waveforms [B, longest] or [B, channels, longest], ``lengths`` int64 [B] in frames, ``attention_mask``
    bool [B, longest] (``waveform_lengths`` … if samples have fields of these names), and the other fields stacked;
    ``labels`` are int64. Other integers, or different numbers of channels, are a ``ValueError``.
    """

    called = "audio collator"
    normalize: bool = False
    """Each waveform to mean 0 and standard deviation 1, as for wav2vec 2.0."""
    max_length: int | None = None
    """In frames; longer waveforms are truncated."""

    def _batch(self, samples: Samples) -> Batch:
        name = self._first(WAVE_NAMES, samples)
        held = self._values(samples, name)  # the audio of Hugging Face holds an array
        waves = as_tensors([v["array"] if isinstance(v, Mapping) or hasattr(v, "get_all_samples") else v for v in held])
        waves = [self._scaled(wave.T if _by_frames(waves) else wave) for wave in waves]
        if len({w.shape[:-1] for w in waves}) > 1:
            shapes = sorted({tuple(w.shape) for w in waves})
            raise ValueError(f"waveforms have the shapes {shapes[:4]}: convert all to one number of channels")
        lengths = torch.tensor([w.shape[-1] for w in waves])
        padded = pad_rows([w.movedim(-1, 0) for w in waves])
        batch: Batch = {
            name: padded.movedim(1, -1).contiguous() if padded.ndim > 2 else padded,
            self._free_name("lengths", name, samples): lengths,
            self._free_name("attention_mask", name, samples): mask_of(lengths, padded.shape[1]),
        }
        for other, values in self._others(samples, name).items():
            own = "labels" if other == "label" and "labels" not in samples[0] else other
            batch[own] = labels_of(values)
        return batch

    def _scaled(self, wave: torch.Tensor) -> torch.Tensor:
        wave = wave if self.max_length is None else wave[..., : self.max_length]
        if not wave.is_floating_point():
            if wave.dtype not in (torch.int16, torch.int32):  # int64 may come from plain numbers of any width
                raise ValueError(f"waveforms are {wave.dtype}: convert them to a floating dtype, int16 or int32")
            wave = wave.to(torch.float32) / (torch.iinfo(wave.dtype).max + 1)
        if self.normalize and wave.shape[-1]:
            wave = (wave - wave.mean(-1, keepdim=True)) / (wave.var(-1, keepdim=True, unbiased=False) + 1e-7).sqrt()
        return wave


def _by_frames(waves: list[torch.Tensor]) -> bool:
    """Whether waveforms are [T, channels]: the second side is the same in all, and shorter than the first."""
    if any(wave.ndim != 2 for wave in waves):
        return False
    firsts, seconds = ({wave.shape[side] for wave in waves} for side in (0, 1))
    return len(seconds) == 1 and max(firsts) > max(seconds)
