# mypy: ignore-errors
"""A format of known cost, plugged in like a third party's: each file says how long reading and decoding it take.

A file holds four words: the seconds of reading and whether they are spent waiting, and the same for decoding.
"""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.injected import WHOLE_S, Own, spend
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit

FILES = 400


class Timed(Source):
    format = "timed"
    kinds = frozenset({"text"})
    modality = "array"

    @classmethod
    def open(cls, listing, ref):
        source = cls()
        source.listing = listing
        source.fields = (Field("x", "array", "float32", (16,)),)
        source.units = tuple(Unit(i, e.path, i, 1, e.size) for i, e in enumerate(listing.of(cls.kinds)))
        return source

    def read(self, unit):
        raw = self.listing.read(unit.file)
        seconds, waits, *_ = raw.split()
        spend(float(seconds), waits == b"waits")
        return raw

    def decode(self, unit, raw):
        *_, seconds, waits = raw.split()
        spend(float(seconds), waits == b"waits")
        return Block(unit, {"x": Column(np.full((1, 16), unit.id, dtype=np.float32))})


def write(folder: Path, stage: str, share: float, waits: bool) -> Path:
    """Files of ten milliseconds a sample, of which ``share`` goes to ``stage`` and the rest to work in the other."""
    of = {"read": (1 - share, "works"), "decode": (1 - share, "works"), stage: (share, "waits" if waits else "works")}
    data = folder / f"{stage}-{share}-{'waits' if waits else 'works'}"
    data.mkdir(parents=True, exist_ok=True)
    text = " ".join(f"{of[s][0] * WHOLE_S} {of[s][1]}" for s in ("read", "decode"))
    for i in range(FILES):
        (data / f"{i:03}.txt").write_text(text)
    return data


@contextmanager
def installed():
    """This format among the installed ones meanwhile, as an editable installation leaves it: a measuring process takes no
    PYTHONPATH."""
    packages = Path(sysconfig.get_path("purelib"))
    about, path = packages / "timed_format-1.0.dist-info", packages / "timed_format.pth"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: timed-format\nVersion: 1.0\n")
    points = "[dataloader_expert.sources]\ntimed = benchmarks.timed_format:Timed\n"
    (about / "entry_points.txt").write_text(points)
    path.write_text(f"{Path(__file__).parents[1]}\n")
    try:
        yield
    finally:
        shutil.rmtree(about)
        path.unlink()


def truth(data, workers=0):
    """What reading and decoding take of a plain loop over our own dataset, or of one with workers."""
    from torch.utils.data import DataLoader

    from dataloader_expert.loaders import open_dataset

    def loader(**more):
        return DataLoader(open_dataset(data, format="timed"), batch_size=8, shuffle=True, **more)

    delivering = loader(num_workers=workers, persistent_workers=True) if workers else None
    own, (_, reading, _, decoding) = Own(), (Path(data) / "000.txt").read_text().split()
    for name, how in (("read", reading), ("decode", decoding)):
        setattr(Timed, name, own.clocked(name, getattr(Timed, name), how == "waits"))
    return own.shares(loader(), delivering)


if __name__ == "__main__":
    from benchmarks import timed_format  # the module that is plugged in: its class is the one that reads

    print(json.dumps(timed_format.truth(sys.argv[1], int(sys.argv[2]))))
