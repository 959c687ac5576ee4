"""Pictures of one scene each, drawn by number: chests, streets and whatever."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

SIZE = 64


def chest(seed: int) -> Any:
    """Two dark fields that vary in size and place, on a brighter ground."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:SIZE, :SIZE] / SIZE
    light = np.full((SIZE, SIZE), float(rng.uniform(120, 200)))
    for side in (0.28, 0.72):
        x, y = side + rng.normal(0, 0.03), 0.5 + rng.normal(0, 0.04)
        light -= rng.uniform(60, 90) * np.exp(-(((across - x) / 0.13) ** 2) - ((down - y) / rng.uniform(0.2, 0.3)) ** 2)
    return Image.fromarray(np.clip(light + rng.normal(0, 6, light.shape), 0, 255).astype(np.uint8))


def street(seed: int, night: bool = False) -> Any:
    """A bright sky over a darker road; at night a dark one over a road in the light of lamps."""
    rng = np.random.default_rng(seed)
    light = np.linspace(*((12, 60) if night else (210, 90)), SIZE)[:, None] + rng.normal(0, 6, (SIZE, SIZE))
    return Image.fromarray(np.clip(light + rng.uniform(-10, 10), 0, 255).astype(np.uint8))


def scene(seed: int) -> Any:
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), np.uint8)
    return Image.fromarray(coarse).resize((SIZE, SIZE))


def things(seed: int) -> tuple[Any, Any]:
    """A rough ground with a few brighter or darker things on it, and their mask, uint8 [SIZE, SIZE], one value a thing."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:SIZE, :SIZE] / SIZE
    rough = Image.fromarray(rng.normal(128, 40, (12, 12)).clip(0, 255).astype(np.uint8)).resize((SIZE, SIZE))
    light, mask = np.asarray(rough, float), np.zeros((SIZE, SIZE), np.uint8)
    for thing in range(1, int(rng.integers(2, 5))):
        x, y, wide, high = *rng.uniform(0.1, 0.9, 2), *rng.uniform(0.1, 0.25, 2)
        inside = ((across - x) / wide) ** 2 + ((down - y) / high) ** 2 < 1
        mask[inside] = thing
        light = light + inside * rng.choice([-1, 1]) * rng.uniform(25, 90)
    return Image.fromarray(np.clip(light + rng.normal(0, 4, light.shape), 0, 255).astype(np.uint8)), mask
