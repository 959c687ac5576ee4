"""Audio folder: ``[split/]class/name.wav``; WAV is built in, other codecs need the extra ``audio``."""

from __future__ import annotations

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.samples import FileSamples, spread
from dataloader_expert.sources.sounds import decode_audio


class AudioFolder(FileSamples):
    format = "audio-folder"
    kinds = frozenset({"audio"})
    value = "audio"
    modality = "audio"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        dtypes: set[str] = set()
        channels = {1}
        for i, unit in enumerate(spread(source.units, 4)):
            try:
                samples, _ = decode_audio(listing.read(unit.file), unit.file)
            except Unreadable:
                continue  # the scan reports it, with its location
            dtypes.add(str(samples.dtype))
            channels = channels | {samples.shape[1]} if i else {samples.shape[1]}
        dtype = dtypes.pop() if len(dtypes) == 1 else "float32" if dtypes else "int16"
        shape = (None, *(channels if len(channels) == 1 else (None,)))
        source.fields = (
            Field("audio", "audio", dtype, shape),
            Field("sample_rate", "number", "int64"),
            *source.other_fields(),
        )
        return source

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        import numpy as np

        problems: list[Unreadable] = []
        samples, rate = decode_audio(raw, unit.file, problems)
        columns = self.with_label(unit, samples)
        columns["sample_rate"] = Column(np.array([rate], np.int64))
        return Block(unit, columns, (raw,), problems)


SOURCE = AudioFolder
