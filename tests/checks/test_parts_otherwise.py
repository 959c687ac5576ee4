"""Windows, recordings and clouds of one part that lie otherwise than all others: a channel that was not recorded, an axis that runs the other way."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged, judged_alone
from tests.checks.test_point_clouds import clouds, of

RNG = np.random.default_rng(41)
SITES = ["a", "b", "c", "d"]
PARTS = ["train"] * 90 + ["test"] * 30
WINDOWS = RNG.normal([1.0, 9.0, 0.0], [1.0, 0.5, 3.0], (120, 30, 3)).astype(np.float32)


def windows(change: Any = None, rows: slice = slice(90, 120), splits: Any = PARTS, x: Any = WINDOWS) -> Data:
    made = x.copy()
    if change is not None:
        made[rows] = change(made[rows])
    return Data({"x": made}, splits=splits, kinds={"x": "array"})


def without(k: int) -> Any:
    return lambda x: np.where(np.arange(3) == k, 0, x)


def spectra(change: Any = None, peaks: Any = (0.1, 0.2, 0.65), odd: str = "c") -> Data:
    """Spectra of four batches with peaks of their own heights, and a quantity that one of them tells."""
    axis, heights = np.linspace(0, 1, 150), RNG.uniform(0.5, 1.5, (120, 3))
    x = heights @ np.exp(-(((axis - np.array(peaks)[:, None]) / 0.02) ** 2)) + RNG.normal(0, 0.02, (120, 150))
    batch = np.array(SITES)[np.arange(120) // 30]
    if change is not None:
        x[batch == odd] = change(x[batch == odd])
    columns = {"spectrum": x.astype(np.float32), "batch": batch.tolist(), "ethanol": heights[:, 1]}
    return Data(columns, "ethanol", kinds={"batch": "category", "spectrum": "embedding", "ethanol": "number"})


def swapped(x: Any) -> Any:
    return x[..., [1, 0, 2]]


def bands(order: Any = (0, 1, 2, 3, 4), fewer: bool = False) -> Data:
    """Images of four kinds of ground in five bands; in the test split in another order, or without the greenest kind."""
    rng = np.random.default_rng(9)
    ground = np.array(
        [
            [420, 640, 520, 900, 3300],
            [520, 760, 800, 1400, 2400],
            [380, 520, 330, 700, 4100],
            [900, 1180, 1450, 1700, 2100],
        ]
    )
    kind = rng.choice(4, 600, p=(0.36, 0.28, 0.22, 0.14))
    kind[400:] = np.where(kind[400:] == 2, 3, kind[400:]) if fewer else kind[400:]
    x = ground[kind][:, :, None, None] * rng.lognormal(0, 0.12, (600, 1, 1, 1)) + rng.normal(0, 25, (600, 5, 8, 8))
    x[400:] = x[400:, list(order)]
    return Data({"x": x.astype(np.uint16)}, splits=["train"] * 400 + ["test"] * 200, kinds={"x": "array"})


SILENT_SWAPS = {
    "bands of images": bands(),
    "bands of other ground": bands(fewer=True),
    "channels in their places": windows(),
    "a split that lies higher": windows(lambda x: x + 4),
    "channels that are alike": windows(swapped, x=RNG.normal(0, 1, (120, 30, 3)).astype(np.float32)),
    "few windows of a split": windows(swapped, slice(110, 120), ["train"] * 110 + ["test"] * 10),
}
SWAPS = {
    "a split with two channels swapped": (windows(swapped), "scale-drift", "warning"),
    "a split with red and blue swapped, of several kinds of ground": (bands((2, 1, 0, 3, 4)), "scale-drift", "warning"),
}


def recordings(change: Any = None, rows: Any = range(90, 120), splits: Any = PARTS) -> Data:
    """Noise in two channels, float32 [samples, 2] each."""
    x = [RNG.normal(0, 0.1, (2000, 2)).astype(np.float32) for _ in range(120)]
    for i in rows if change is not None else ():
        x[i] = change(x[i])
    return Data({"audio": x, "sample_rate": np.full(120, 8000)}, splits=splits, kinds={"audio": "audio"})


def mono(x: Any) -> Any:
    return np.repeat(x[:, :1], 2, 1)


def hole(x: Any) -> Any:
    return np.concatenate([x[:800], np.zeros((400, 2), np.float32), x[1200:]])


def fading(x: Any) -> Any:
    return hole(x) * np.concatenate([np.linspace(1, 0, 800) ** 3, np.ones(1200)])[:, None].astype(np.float32)


TWINS_SILENT = {
    "stereo": recordings(),
    "mono here and there": recordings(mono, range(0, 120, 4)),
    "all of them mono": recordings(mono, range(120)),
}
TWINS = {"a split of mono as stereo": (recordings(mono), "channel-drift", "warning")}
GAPS_SILENT = {
    "sound throughout": recordings(),
    "gaps in a third": recordings(hole, range(0, 120, 3)),
    "silence after a sound that fades": recordings(fading, range(9)),
    "one gap": recordings(hole, range(1)),
}
GAPS = {"gaps in a few": (recordings(hole, range(0, 90, 10)), "silent-audio", "warning")}


def test_a_channel_that_one_split_lacks_is_told() -> None:
    """Seen: the fifth channel of one file of five was 0 throughout, in a fifth of all windows, and nothing was said."""
    found = judged("flat_components", windows(without(1)))["constant-samples"]
    assert (found.count, found.severity) == (30, "warning")
    assert found.message == "x[:, 1] is 0 in all 30 samples in test, while it varies elsewhere"


def test_a_feature_that_one_site_lacks_is_told_and_a_code_is_not() -> None:
    """Our promise: a measurement that is one value at a site is told; a site's own code, or a word it never uses, is not."""
    site = np.array(SITES)[np.arange(200) // 50]
    x = np.c_[RNG.normal(0, 1, (200, 3)), site == "a", RNG.poisson(0.2, 200)].astype(np.float32)
    x[site == "b", 4] = 0

    def told(x: Any) -> Any:
        kinds = {"site": "category", "x": "array"}
        return judged("flat_components", Data({"x": x, "site": site.tolist()}, kinds=kinds)).get("constant-samples")

    assert told(x) is None
    x[site == "c", 2] = 1.5
    found = told(x)
    assert found is not None and found.message.startswith("x[2] is 1.5 in all 50 samples where site is c")


def test_spectra_of_one_batch_that_run_the_other_way_are_told() -> None:
    """Seen: a batch of spectra was stored from the largest shift down, and nothing was said."""
    found = judged("reversed_signs", spectra(lambda x: x[:, ::-1]))["scale-drift"]
    assert found.count == 30
    assert "spectrum seems to be reversed where batch is c" in found.message


def test_other_spectra_are_not_reversed() -> None:
    """Our promise: a batch of another substance, or of peaks that are as far from either end, is not said to be reversed."""
    other = spectra(peaks=(0.3, 0.5, 0.75)).columns["spectrum"][:30]
    assert judged("reversed_signs", spectra(lambda x: other[: len(x)])) == {}
    assert judged("reversed_signs", spectra(lambda x: x[:, ::-1], peaks=(0.2, 0.5, 0.8))) == {}


def test_the_swapped_channels_are_named() -> None:
    found = judged_alone("swapped_channels", windows(swapped))["scale-drift"]
    assert found.message.startswith("x[:, 0] and x[:, 1] seem to be swapped in test")


def test_clouds_that_are_filled_up_with_zeros_are_told() -> None:
    """Seen: twelve clouds of 256 points ended in 120 points at the origin; where all do, it is how clouds are stored."""
    x = clouds()
    x[::6, 120:] = 0
    found = judged_alone("point_clouds", of(x))["constant-samples"]
    assert found.count == 20 and "about 80 of 200" in found.message
    x[:, 150:] = 0
    assert judged_alone("point_clouds", of(x)) == {}


def lost(k: int) -> Any:
    return windows(without(k), slice(20, 52), ["train"] * 120)


FROZEN_SILENT = {
    "windows that change": windows(),
    "windows filled up with zeros": windows(lambda x: x * (np.arange(30) < 12)[:, None], slice(0, 12)),
    "windows filled up with one value": windows(
        lambda x: np.where((np.arange(30) < 12)[:, None], x, -80), slice(0, 12)
    ),
    "a channel that rests at one value": windows(
        lambda x: np.where((np.arange(30) > 12)[:, None] & (np.arange(3) == 1), 9.5, x), slice(0, 12)
    ),
    "windows that are mostly padded with their last value": windows(
        lambda x: np.where((np.arange(30) > 12)[:, None], x[:, 12:13], x), slice(0, 60)
    ),
    "whole windows of one value": windows(lambda x: x[:, :1].repeat(30, 1), slice(0, 12)),
}
FROZEN = {
    "a sensor that hung": (
        windows(lambda x: np.where((np.arange(30) > 12)[:, None], x[:, 12:13], x), slice(0, 12)),
        "stuck-values",
        "warning",
    ),
    "one channel of it": (
        windows(lambda x: np.where((np.arange(30) < 14)[:, None] & (np.arange(3) == 1), x[:, 13:14], x), slice(0, 12)),
        "stuck-values",
        "warning",
    ),
}


LONG = RNG.normal(0, 1, (120, 48, 2)).astype(np.float32)


def echoed(x: Any) -> Any:
    made = x.copy()
    made[:, 30:44, 1] = made[:, 8:22, 1]
    return made


LOOPED_SILENT = {
    "windows of their own": windows(x=LONG),
    "windows that are periodic": windows(x=np.tile(LONG[:, :12], (1, 4, 1))),
    "few levels": windows(x=np.rint(LONG)),
    "rests": windows(lambda x: np.where((np.arange(48) > 20)[:, None], 3.5, x), slice(0, 12), x=LONG),
}
LOOPED = {"a stretch that was sent twice": (windows(echoed, slice(0, 12), x=LONG), "stuck-values", "warning")}


def test_a_channel_that_was_lost_for_a_while_is_told() -> None:
    """Seen: a band was 0 in seventy patches in a row, of three hundred, and nothing was said; here and there it may be nothing."""
    found = judged("flat_components", lost(1))["constant-samples"]
    assert (found.count, found.severity) == (32, "warning")
    assert "x[:, 1] throughout 32 of 120 samples in a row, samples 20 to about 51" in found.message
    scattered = WINDOWS.copy()
    scattered[::4, :, 1] = 0
    assert judged("flat_components", Data({"x": scattered}, kinds={"x": "array"})) == {}


def test_frozen_channels_are_named() -> None:
    assert (
        "x keeps one value for 18 of up to 30 steps"
        in judged("frozen", FROZEN["a sensor that hung"][0])["stuck-values"].message
    )
    assert "x[:, 1] keeps one value for 14" in judged("frozen", FROZEN["one channel of it"][0])["stuck-values"].message


def test_a_repeated_stretch_is_named() -> None:
    found = judged("looped", LOOPED["a stretch that was sent twice"][0])["stuck-values"]
    assert found.message.startswith("x[:, 1]: 12 of 120 samples repeat a stretch of 14 steps")
