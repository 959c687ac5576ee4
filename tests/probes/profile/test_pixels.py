"""Pixels that were decoded and used, from the readings of several processes."""

from __future__ import annotations

from dataclasses import asdict

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from dataloader_expert.probes.profile.instrumentation import Watch, watching
from dataloader_expert.probes.profile.pixels import Pixels
from dataloader_expert.probes.profile.stages import spans


class Shrinks(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(Image.new("L", (80, 60)).resize((20, 15)).getextrema())


def test_workers_count_the_pixels_of_each_sample() -> None:
    """Our promise: what the readings of two workers say of a sample is what each sample does."""
    watch = Watch("unattributed", lambda index: None, len, calls=True)
    with watching(watch):
        assert len([*DataLoader(Shrinks(), batch_size=2, num_workers=2)]) == 12
    parts = spans([*watch.lines()])
    watch.close()
    samples = sum(m for _, _, m in parts)
    pixels = Pixels.between((a["pixels"], b["pixels"]) for a, b, _ in parts)
    assert samples
    assert pixels.each(samples) == {"decoded_pixels": 4_800, "used_pixels": 300, "least_pixels": 300}


def test_readings_of_several_processes_add_up() -> None:
    """Our promise: each worker's first reading is no count of its own, and no count takes another's name."""
    one = (asdict(Pixels(100, 10, 50)), asdict(Pixels(400, 40, 110)))
    two = (asdict(Pixels()), asdict(Pixels(500, 20, 140)))
    counted = Pixels.between([one, two])
    assert counted == Pixels(decoded=800, used=50, least=200)
    assert counted.each(10) == {"decoded_pixels": 80, "used_pixels": 5, "least_pixels": 20}
    assert Pixels.between([]) == Pixels()
