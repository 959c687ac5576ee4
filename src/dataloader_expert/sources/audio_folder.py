"""Audio folder: ``[split/]class/name.wav``; WAV is built in, other codecs need the extra ``audio``."""

from __future__ import annotations

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.pairing import READ
from dataloader_expert.sources.samples import FileSamples, spread
from dataloader_expert.sources.sounds import decode_audio, sound_field


class AudioFolder(FileSamples):
    format = "audio-folder"
    kinds = frozenset({"audio"})
    value = "audio"
    modality = "audio"
    partners_read = frozenset({*READ, "audio"})

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        source.fields = (
            sound_field("audio", ((unit.file, listing.read) for unit in spread(source.units, 4))),
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
