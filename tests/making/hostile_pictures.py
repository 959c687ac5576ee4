"""A folder of pictures whose names are an attack on whatever shows them, with defects of several kinds."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin

SCRIPT = "<script>alert(1)<&quot;>"
LINK = "javascript:alert(1)"
RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe.png"
HANDLER = '"><img src=x onerror=alert(1)>.png'
TEMPLATE = "{{ 7*7 }}{% for x in r %}.png"
SECRET = "a secret that is stored beside the pixels"


def hostile_pictures(folder: Path) -> Path:
    """``train`` and ``test`` of two classes with hostile names; a sample in both splits, one cut short, one bomb."""
    rng = np.random.default_rng(0)
    for split, n in (("train", 14), ("test", 6)):
        for name in (SCRIPT, LINK):
            place = folder / split / name
            place.mkdir(parents=True)
            for i in range(n):
                pixels = rng.integers(0, 255, (40 + i % 3, 48, 3), np.uint8)
                note = PngImagePlugin.PngInfo()
                note.add_text("Comment", SECRET)
                Image.fromarray(pixels).save(place / f"{i}.png", pnginfo=note)
    train = folder / "train" / SCRIPT
    (train / "0.png").rename(train / RIGHT_TO_LEFT)
    (train / "1.png").rename(train / HANDLER)
    (train / "2.png").rename(train / TEMPLATE)
    for name in (RIGHT_TO_LEFT, HANDLER, TEMPLATE):  # each is in the other split, too, so that findings name it
        (folder / "test" / SCRIPT / name).write_bytes((train / name).read_bytes())
    cut = train / "5.png"
    cut.write_bytes(cut.read_bytes()[:-200])
    (folder / "train" / LINK / "bomb.png").write_bytes(bomb())
    return folder


def bomb() -> bytes:
    """A PNG whose header claims 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
