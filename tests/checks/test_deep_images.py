"""Images whose pixels are not bytes: 16 bits, or floats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.advice.normalization import normalization
from dataloader_expert.facts import Fact, Facts
from tests.making.scanning import Scanned, scan

Change = Callable[[Any], Any]


def write(
    folder: Path, dtype: str, middle: float, spread: float, changed: dict[int, Change] | None = None
) -> list[Any]:
    """Twenty-four images of 40 x 30 pixels in two classes; what they hold."""
    rng = np.random.default_rng([round(abs(middle)), len(dtype)])
    held = []
    for i in range(24):
        pixels = rng.normal(middle, spread, (40, 30)).astype(dtype)
        pixels = (changed or {}).get(i, lambda p: p)(pixels)
        path = folder / "ab"[i % 2] / f"{i:02}.{'tif' if dtype == 'f4' else 'png'}"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(path)
        held.append(pixels)
    return held


def facts(said: Scanned, name: str) -> list[dict[str, Any]]:
    return [f for f in said.facts if f["quantity"]["name"] == name]


def told(said: Scanned) -> set[str]:
    return {f.code for f in said.findings if f.severity in ("error", "warning")}


@pytest.mark.parametrize(("dtype", "middle", "spread"), [("u2", 31000, 5000), ("u2", 900, 60), ("f4", -3.5, 2)])
def test_statistics_are_in_stored_units(tmp_path: Path, dtype: str, middle: float, spread: float) -> None:
    """Our promise: one channel, with the moments of the pixels as they are stored."""
    held = np.stack(write(tmp_path, dtype, middle, spread)).astype(np.float64)
    said = scan(tmp_path, tmp_path)
    assert said.error is None
    [statistics] = [f for f in facts(said, "statistics") if f["at"]["field"] == "image"]
    assert statistics["at"]["channel"] == "gray"
    found = [statistics["value"][k] for k in ("mean", "std", "min", "max", "n")]
    expected = [held.mean(), held.std(), held.min(), held.max(), held.size]
    assert found == pytest.approx(expected, rel=1e-6)
    [fields] = facts(said, "fields")
    assert fields["value"][0]["dtype"] == {"u2": "uint16", "f4": "float32"}[dtype]
    assert "scale-drift" not in told(said)
    advised = normalization(Facts(tuple(map(Fact.from_json, said.facts))))
    assert advised is not None
    assert advised["mean"] == pytest.approx([held.mean() / (65535 if dtype == "u2" else 1)], abs=1e-6)


@pytest.mark.parametrize(("code", "value"), [("nan", np.nan), ("inf", np.inf)])
def test_pixels_that_are_no_numbers_are_placed(tmp_path: Path, code: str, value: float) -> None:
    """Our promise: a NaN in a float image is found, and its file named."""

    def spoilt(pixels: Any) -> Any:
        pixels[7, 3] = value
        return pixels

    write(tmp_path, "f4", 70, 8, {13: spoilt})
    said = scan(tmp_path, tmp_path)
    [found] = [f for f in said.findings if f.code == code]
    assert (found.count, [w["file"] for w in found.where]) == (1, ["b/13.tif"])


def test_a_float_image_among_others_is_told_once(tmp_path: Path) -> None:
    """Our promise: NaN in one float image is found among images of bytes too."""
    rng = np.random.default_rng(5)
    for i in range(20):
        Image.fromarray(rng.integers(0, 256, (30, 30, 3), np.uint8)).save(tmp_path / f"{i}.png")
    pixels = rng.random((30, 30)).astype("f4")
    pixels[2, 2] = np.nan
    Image.fromarray(pixels).save(tmp_path / "odd.tif")
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "nan"]
    assert (found.count, found.where[0]["file"]) == (1, "odd.tif")


@pytest.mark.parametrize("factor", [1 / 256, 1 / 16])
def test_an_image_at_another_scale_is_placed(tmp_path: Path, factor: float) -> None:
    """Our promise: an image that was divided on its way among those that were not is told."""
    write(tmp_path, "u2", 30000, 4000, {6: lambda p: (p * factor).astype(p.dtype)})
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "scale-drift"]
    assert [w["file"] for w in found.where] == ["a/06.png"]


def test_missing_pixels_are_no_other_scale(tmp_path: Path) -> None:
    """Our promise: a placeholder in a part of an image is told as values far off, not as another scale."""

    def holed(pixels: Any) -> Any:
        pixels[:9] = -9999
        return pixels

    write(tmp_path, "f4", 120, 9, {4: holed})
    codes = {f.code for f in scan(tmp_path, tmp_path).findings}
    assert "outliers" in codes
    assert "scale-drift" not in codes
