"""What a few samples show of the user's costly lines: run on code that has each cause, and on code that has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.line_causes import LineCauses
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.sources.registry import open_source

CODE = """
import io
import numpy as np
import torch
from PIL import Image, ImageFilter
from torch.utils.data import Dataset

FRAMES = np.random.default_rng(0).integers(0, 256, (16, 64, 64, 3), dtype=np.uint8)

def augmented(image, turned):
    image = image.rotate(5, Image.BICUBIC) if turned else image
    return image.crop((9, 9, 25, 25))

class Samples(Dataset):
    def __len__(self):
        return 16

    def blurred(self, first):
        image = Image.fromarray(FRAMES[0])
        image = image if first else image.resize((16, 16))
        image = image.filter(ImageFilter.GaussianBlur(2))  # the costly line
        return np.array(image.resize((16, 16)))

    def cropped(self):
        image = Image.fromarray(FRAMES[0])
        image = image.filter(ImageFilter.GaussianBlur(2)).resize((80, 80))
        image = image.rotate(5)
        return np.array(image.crop((9, 9, 25, 25)))

    def tiles(self):
        image = Image.fromarray(FRAMES[0])
        image = image.filter(ImageFilter.GaussianBlur(2))
        return [np.array(image.crop((k, k, k + 32, k + 32))) for k in range(0, 64, 4)]

    def with_whole(self):
        image = Image.fromarray(FRAMES[0])
        image = image.filter(ImageFilter.GaussianBlur(2))
        return np.array(image), np.array(image.crop((9, 9, 25, 25)))

    def window(self, early):
        x = np.zeros(40_000, np.float32)
        if early:
            x = x[400:900]
        x = np.sort(
            x
        )
        x = x[:500]
        return torch.from_numpy(x)

    def decoded(self):
        image = Image.open(self.stored())
        return np.array(image.convert("RGB").resize((16, 16)))

    def composed(self, turned):
        image = Image.open(self.stored())
        return np.array(augmented(image, turned))

    def stored(self):
        file = io.BytesIO()
        Image.fromarray(np.tile(FRAMES[0], (4, 4, 1))).save(file, "JPEG")
        return file

    def of_one_recording(self):
        x, k = FRAMES.reshape(-1), 3
        k = sum(n * k for n in range(999))
        part = x[k % 999 : k % 999 + 500]
        return torch.from_numpy(part)

    def __getitem__(self, index):
        return {work}
"""


def line_of(text: str, after: str = "") -> int:
    lines = CODE.splitlines()
    first = next((n for n, line in enumerate(lines) if f"def {after}(" in line), 0)
    return next(n for n, line in enumerate(lines, 1) if n > first and text in line)


COSTLY = line_of("the costly line")


def causes(folder: Path, work: str, costly: int = COSTLY) -> dict[str, Any]:
    file = folder / "samples.py"
    file.write_text(CODE.format(work=work))
    ref = SourceRef(f"{file}:Samples", (str(folder),), code=True)
    spot = {"file": str(file), "line": costly, "line_share": 0.6}
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    bench.facts = Facts((Fact(USER_FUNCTIONS, [spot], Evidence("sampled", "a test")),))
    [found] = [fact for fact in LineCauses(most_s=20).measure(bench) if isinstance(fact, Fact)]
    value: dict[str, Any] = found.value
    return value


@pytest.mark.parametrize("first", [True, False])
def test_work_before_an_image_is_shrunk_is_told_from_work_after(tmp_path: Path, first: bool) -> None:
    """Our promise: a line that runs before the image is shrunk works on all its pixels; one that runs after does not."""
    before = causes(tmp_path, f"self.blurred({first})")["before"]
    assert [(b["line"], b["of"], b["used"]) for b in before] == ([(COSTLY, [64, 64], [16, 16])] if first else [])


@pytest.mark.parametrize(
    ("work", "text", "told"),
    [
        ("cropped()", "image.rotate(5)", ([80, 80], [16, 16], "crop")),
        ("window(False)", "np.sort(", ([40_000], [500], "slice")),
        ("window(True)", "np.sort(", None),
        ("tiles()", "image.filter(", None),
        ("with_whole()", "image.filter(", None),
        ("of_one_recording()", "sum(n * k", None),
        ("decoded()", "np.array(image", None),
        ("composed(False)", "augmented(", None),
        ("composed(True)", "augmented(", ([256, 256], [16, 16], "crop")),
    ],
)
def test_work_before_a_part_is_cut_out_is_told_and_no_other(tmp_path: Path, work: str, text: str, told: Any) -> None:
    """Our promise: what is cropped or sliced away was worked on in vain, unless other parts or the whole are used, too; the line that
    resizes or crops itself is no work before that. Seen: a line that decoded and resized was told to resize first."""
    lines = causes(tmp_path, f"self.{work}", line_of(text, work[: work.index("(")]))["before"]
    assert [(b["of"], b["used"], b["kind"]) for b in lines if b["line"] == line_of(text, work[: work.index("(")])] == (
        [told] if told else []
    )
