"""Image folder: ``[split/]class/name.jpg``, with or without splits or classes."""

from __future__ import annotations

from collections import Counter

from dataloader_expert.errors import Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Field, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.pictures import channels_of, decode_image, dtype_of, orientation, type_named
from dataloader_expert.sources.samples import FileSamples, spread


class ImageFolder(FileSamples):
    format = "image-folder"
    kinds = frozenset({"image"})
    value = "image"
    modality = "image"

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls(listing, ref, listing.of(cls.kinds))
        sizes: Counter[tuple[int | None, ...]] = Counter()
        dtypes: Counter[str] = Counter()
        for unit in spread(source.units, 16):
            try:
                image = decode_image(listing.read(unit.file), unit.file)
            except Unreadable:
                continue  # the scan reports it, with its location
            sizes[(image.height, image.width, channels_of(image))] += 1
            dtypes[dtype_of(image)] += 1
        shapes = list(sizes)
        shape: tuple[int | None, ...] = (None, None, None)
        if shapes:
            shape = tuple(x[0] if len(set(x)) == 1 else None for x in zip(*shapes, strict=True))
        dtype = dtypes.most_common(1)[0][0] if dtypes else "uint8"
        source.fields = (Field("image", "image", dtype, shape), *source.other_fields())
        if source.label is None and any(f.kind == "mask" for f in source.partners):
            source.classes = declared_classes(listing)  # what the values of masks mean
        return source

    def decode_file(self, unit: Unit, raw: bytes) -> Block:
        problems: list[Unreadable] = []
        block = Block(unit, self.with_label(unit, decode_image(raw, unit.file, problems)), (raw,), problems)
        said, image = self.sizes.get(unit.file), block.columns[self.value].values[0]
        size = (image.width, image.height)
        if said not in (None, size) and not (said == size[::-1] and orientation(image) > 4):  # lying on its side
            text = f"its annotation is of {said[0]} x {said[1]} pixels, the image has {image.width} x {image.height}"
            block.problems.append(Unreadable("length-mismatch", text, file=unit.file, field=self.value))
        other = type_named(raw, unit.file)
        if other:
            block.problems.append(Unreadable("wrong-extension", f"contains {other}", file=unit.file))
        return block


SOURCE = ImageFolder
