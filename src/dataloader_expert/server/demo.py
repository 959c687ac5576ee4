"""The demo: a small data set of real JPEG files with planted faults, analysed whole."""

from __future__ import annotations

import shutil
from pathlib import Path

CLASSES = {"circle": 120, "square": 90, "stripes": 9}
SIZE = (160, 120)


def make_demo(folder: Path) -> Path:
    """Writes about 290 pictures in ``train`` and ``test`` class folders below ``folder`` and gives that folder.

    Planted: one truncated file, one error page named .jpg, one training picture copied into the test split, and
    classes over 10 to 1.
    """
    import numpy as np
    from PIL import Image, ImageDraw

    rng = np.random.default_rng(0)
    for split, share in (("train", 1.0), ("test", 0.3)):
        for name, count in CLASSES.items():
            target = folder / split / name
            target.mkdir(parents=True)
            for i in range(max(2, int(count * share))):
                noise = rng.normal(rng.uniform(60, 190), 25, (SIZE[1], SIZE[0], 3)).clip(0, 255).astype(np.uint8)
                image = Image.fromarray(noise)
                draw = ImageDraw.Draw(image)
                x, y, r = (int(v) for v in rng.integers((30, 30, 12), (130, 90, 28)))
                colour = tuple(int(v) for v in rng.integers(0, 256, 3))
                if name == "circle":
                    draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)
                elif name == "square":
                    draw.rectangle((x - r, y - r, x + r, y + r), fill=colour)
                else:
                    for at in range(0, SIZE[0], r):
                        draw.line((at, 0, at + r, SIZE[1]), fill=colour, width=4)
                image.save(target / f"{i:04d}.jpg", quality=88)
    cut = folder / "train" / "circle" / "0003.jpg"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    (folder / "train" / "square" / "0005.jpg").write_text("<html><body>404 Not Found</body></html>")
    shutil.copy(folder / "train" / "circle" / "0010.jpg", folder / "test" / "circle" / "9999.jpg")
    return folder
