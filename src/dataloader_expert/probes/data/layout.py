"""The data's format, fields, splits and files, from names and metadata. No sample is decoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.checks.base import SPLITS
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.sources.base import Source

SOURCE = Quantity(
    "source", "", "the absolute path or the Python reference that was read: code with it runs in any folder"
)
FORMAT = Quantity("format", "", "the storage format")
MODALITY = Quantity("modality", "", "what kind of data the samples are")
FIELDS = Quantity("fields", "", "name, kind, dtype and per-sample shape of each field (null: varies)")
LABEL = Quantity("label", "", "the label field and how it was found")
SAMPLES = Quantity("samples", "samples", "samples in the dataset")
FILES = Quantity("files", "files", "files of the dataset")
BYTES = Quantity("bytes", "bytes", "bytes on disk")
SHARDING = Quantity("sharding", "", "how samples are distributed over files")
SHARDS = Quantity(
    "shards",
    "samples",
    "files of several samples: the fewest and most samples in one, and the number of parts that can be read independently",
)
STREAM = Quantity("stream", "", "whether the data are a stream without indices")
AGAIN = Quantity("made_again", "", "how the user's dataset or DataLoader is made without this package")
PRESENT = Quantity("present_loader", "", "the user's own DataLoader: batch size, workers, sampler, collate function")


@dataclass(frozen=True)
class Layout(Probe):
    name: ClassVar[str] = "layout"
    doing: ClassVar[str] = "reading files and metadata"
    torch: ClassVar[bool] = False

    def measure(self, bench: Bench) -> Iterable[Observation]:
        source = bench.source
        seen = evidence("counted", "layout")
        yield Fact(SOURCE, bench.ref.name, evidence("declared", "layout"))
        yield Fact(FORMAT, source.format, seen)
        if source.fields:
            yield from described(bench)
        if not source.iterable:
            yield Fact(SAMPLES, source.samples, seen)
        if source.format != "reference":
            yield Fact(FILES, source.files, seen)
            yield Fact(BYTES, source.bytes, seen)
        if source.splits:
            yield Fact(SPLITS, source.splits, seen)
        yield Fact(SHARDING, source.sharding, seen)
        shards = shards_of(source)
        if shards is not None:
            yield Fact(SHARDS, shards, seen)
        yield Fact(STREAM, source.iterable, seen)
        again = getattr(source, "again", None)
        if again is not None:
            yield Fact(AGAIN, again._asdict(), evidence("declared", "layout"))
        loader = getattr(source, "loader", None)
        if loader is not None:
            from dataloader_expert.loaders.building import is_plain, sampler_name, shuffles

            value = {
                "batch_size": loader.batch_size or getattr(loader.batch_sampler, "batch_size", None),
                "num_workers": loader.num_workers,
                "prefetch_factor": loader.prefetch_factor,
                "pin_memory": loader.pin_memory,
                "persistent_workers": loader.persistent_workers,
                "drop_last": loader.drop_last,
                "timeout": loader.timeout,
                "sampler": sampler_name(loader),
                "shuffle": shuffles(loader),
                "plain": is_plain(loader),
                "own_batches": loader.batch_size is None and loader.batch_sampler is not None,
                "collate": getattr(loader.collate_fn, "__name__", type(loader.collate_fn).__name__),
            }
            yield Fact(PRESENT, value, evidence("declared", "layout"))


def shards_of(source: Source) -> dict[str, int] | None:
    """Files, the fewest and the most samples of one, and the workers that can each read a part of their own; None where a
    sample is a file, or code is read."""
    if source.format == "reference":
        return None
    sizes: Counter[str] = Counter()
    for unit in source.units:
        sizes[unit.file] += unit.samples
    if not sizes or max(sizes.values()) < 2:
        return None
    # a tar is streamed from its start by one worker, whatever our own readers can do
    apart = len(sizes) if source.format == "webdataset" else len(source.units)
    return {"count": len(sizes), "least": min(sizes.values()), "most": max(sizes.values()), "workers": apart}


def described(bench: Bench) -> Iterable[Observation]:
    """Fields, label and modality; for user code only after samples were read."""
    source = bench.source
    seen = evidence("sampled" if source.format == "reference" else "declared", "layout")
    fields = [{"name": f.name, "kind": f.kind, "dtype": f.dtype, "shape": list(f.shape)} for f in source.fields]
    yield Fact(FIELDS, fields, seen)
    yield Fact(MODALITY, source.modality, seen)
    declared = None if source.classes is None else list(source.classes)
    label = {"name": source.label, "how": source.label_how, "declared": declared}
    together = source.targets if source.label is None else ()
    yield Fact(LABEL, {**label, "targets": list(together)} if together else label, seen)


PROBES = (Layout,)
