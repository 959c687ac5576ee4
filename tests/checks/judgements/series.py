"""Where the checks of series say nothing, and where they speak."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks import (
    test_group_clocks,
    test_odd_series,
    test_other_scales,
    test_parts_otherwise,
    test_pasted,
    test_point_clouds,
    test_row_order,
    test_shifted_numbers,
    test_within_groups,
)
from tests.checks.judgements.common import MORE, NOISE, PIXELS, WINDOWS
from tests.checks.looking import Data, first_rows, one_a_code

rng = np.random.default_rng(29)


def with_channel(k: int, values: Any) -> Any:
    """Windows, 100 of 40 steps, in which one of three channels has these values."""
    made = WINDOWS.copy()
    made[..., k] = values
    return made


def held(values: Any, n: int) -> Any:
    """The same, at one value for so many rows."""
    made = values.copy()
    made[200 : 200 + n] = made[200]
    return made


def hung(value: float, mark: float | None = None) -> Data:
    """A pressure, which stays at one value for 120 rows; ``mark``: before, it stands for missing ones in 200 rows."""
    x = 1005 + 15 * np.random.default_rng(5).normal(0, 1, 1200).round(3)
    x[700:820] = value
    if mark is not None:
        x[200:400] = mark
    return Data({"x": x})


SKEWED = np.exp(3 * np.random.default_rng(34).normal(size=(100, 40, 3)))
"""Windows of a sensor that is mostly near 0, and never at it."""
ONE = np.random.default_rng(33).normal(0, 1, (100, 120))
CLIPPED = np.where(np.arange(100)[:, None] < 12, np.clip(4 * ONE, -3, 3), ONE)
MANY = np.random.default_rng(9).normal(0, 1, (100, 20, 64))
BANDS = np.random.default_rng(8).normal(1, 0.1, (16, 16))
HOURS = 1.6e9 + 3600.0 * np.arange(100)


def hourly(
    rows: list[int] | None = None, splits: str | list[str] = "", again: bool = False, at: dict[int, float] | None = None
) -> Data:
    """A row an hour of each of four sensors, interleaved; some of these rows. ``again``: the hours of the second half are those of
    the first; ``at``: rows at other times."""
    hours = np.tile(np.repeat(HOURS[:50], 4), 2) if again else np.repeat(HOURS, 4)
    for row, other in (at or {}).items():
        hours[row] = other
    kept = np.arange(400) if rows is None else np.array(rows)
    columns = {"at": hours[kept], "sensor": [["a", "b", "c", "d"][i % 4] for i in kept], "x": NOISE[kept]}
    return Data(columns, splits=splits, kinds={"at": "time"})


def twice(first: int, last: int, sensors: str = "abcd", named: bool = True) -> Data:
    """A row an hour of each of four sensors, of which those of some hours, and sensors, stand twice."""
    at, sensor = np.repeat(HOURS, 4), np.array([*"abcd"] * 100)
    again = np.flatnonzero(np.isin(sensor, [*sensors]) & (at >= HOURS[first]) & (at < HOURS[last]))
    rows = np.sort(np.r_[np.arange(400), again])
    columns = {"at": at[rows], "x": MORE[: len(rows)]} | ({"sensor": sensor[rows].tolist()} if named else {})
    return Data(columns, kinds={"at": "time"})


def happened(days: Any, splits: str | list[str] = "", seed: int = 35) -> Data:
    """Two thousand events, at any time of these days."""
    draw = np.random.default_rng(seed)
    at = np.sort(HOURS[0] + 86_400.0 * (draw.choice(days, 2000) + draw.random(2000)))
    return Data({"at": at, "x": draw.normal(0, 1, 2000)}, splits=splits, kinds={"at": "time"})


DAYS = np.arange(300)


def padded_spectra() -> Any:
    """Forty bands over time, the highest of which are often too soft to be told from nothing."""
    loud = np.random.default_rng(8).normal(-50, 9, (100, 40, 64)) - np.linspace(0, 22, 40)[:, None]
    loud[::3, :, 50:] = -80
    return loud.clip(-80, 0).astype(np.float32)


SILENT: dict[str, dict[str, Any]] = {
    "shifted_numbers": first_rows(test_shifted_numbers.SILENT),
    "group_clocks": test_group_clocks.SILENT,
    "reversed_signs": test_other_scales.BEATS_SILENT,
    "swapped_channels": test_parts_otherwise.SILENT_SWAPS,
    "before_parent": test_row_order.BEFORE_SILENT,
    "frozen": test_parts_otherwise.FROZEN_SILENT,
    "looped": test_parts_otherwise.LOOPED_SILENT,
    "out_of_order": test_within_groups.ORDER_SILENT,
    "pasted": test_pasted.SILENT,
    "odd_series": test_odd_series.SILENT,
    "point_clouds": test_point_clouds.SOUND,
    "saturated": {
        "spectra of clips that are padded with their least value": Data({"x": padded_spectra()}, kinds={"x": "array"}),
        "a channel rounded to three levels in a few": Data(
            {
                "x": with_channel(
                    1,
                    np.where(
                        np.arange(100)[:, None] < 20,
                        np.random.default_rng(2).integers(13, 16, (100, 40)),
                        WINDOWS[..., 1],
                    ),
                )
            }
        ),
        "channels that swing freely": Data({"x": WINDOWS}, kinds={"x": "array"}),
        "rows of a table with a code in each": Data(
            {"x": with_channel(0, np.random.default_rng(5).choice(np.arange(6, 22), (100, 40)).astype(float))},
            kinds={"x": "array"},
        ),
        "one largest value": Data({"x": with_channel(0, np.clip(WINDOWS[..., 0], -9, 2.6))}, kinds={"x": "array"}),
        "a channel of marks": Data({"x": with_channel(0, (WINDOWS[..., 0] > 0).astype(float))}, kinds={"x": "array"}),
        "padding": Data({"x": np.where(np.arange(40)[None, :, None] > 30, 0, np.abs(WINDOWS))}, kinds={"x": "array"}),
        "padding with another number": Data(
            {
                "x": np.where(
                    np.arange(40)[None, :, None] > 20 + np.arange(100)[:, None, None] % 20, -1, np.abs(WINDOWS)
                )
            },
            kinds={"x": "array"},
        ),
        "decibels that end at a floor": Data({"mel": np.maximum(WINDOWS * 30 - 50, -50)}, kinds={"mel": "array"}),
        "one channel that swings freely": Data({"x": ONE}, kinds={"x": "embedding"}),
        "one channel with padding": Data(
            {"x": np.where(np.arange(120) > 60 + np.arange(100)[:, None] % 40, -1, np.abs(ONE))},
            kinds={"x": "embedding"},
        ),
        "each window up to the same": Data({"x": np.clip(2 * ONE, -1, 1)}, kinds={"x": "embedding"}),
        "flat pictures": Data({"x": np.clip(ONE * 9, 0, 1)}, kinds={"x": "embedding"}),
        "actions that go as far as they may": Data({"actions": np.clip(WINDOWS, -1, 1)}, kinds={"actions": "array"}),
    },
    "still_since": {
        "counts that are often zero": Data({"n": np.maximum(0, np.rint(NOISE * 2)).astype(int)}),
        "a season of zeros that comes back": Data({"snow": np.maximum(0, np.sin(np.arange(400) / 20) - 0.2)}),
        "one of two classes, by which rows are sorted": Data(
            {"n": np.r_[np.rint(NOISE[:200] * 9).astype(int), np.zeros(200, int)], "label": ["a"] * 200 + ["b"] * 200},
            "label",
        ),
        "a rare event": Data({"n": (np.arange(400) == 7).astype(int)}),
        "a flag that is set from one row on": Data({"n": (np.arange(400) > 300).astype(int)}),
        "two of four classes, by which rows are sorted": Data(
            {
                "n": np.where((np.arange(400) // 100) % 3 == 0, np.rint(NOISE * 9), 0),
                "label": np.repeat(list("abcd"), 100),
            },
            "label",
        ),
        "sorted counts": Data({"n": np.sort(np.rint(NOISE * 2)).astype(int)}),
    },
    "flat_components": {
        "features that vary": Data({"x": NOISE.reshape(-1, 4)}),
        "every sample the same": Data({"x": np.ones((12, 20))}),
        "all but one sample the same": Data({"x": np.r_[np.ones((100, 20)), np.zeros((1, 20))]}),
        "a whole sample of one value": Data({"x": np.r_[WINDOWS, np.zeros((1, 40, 3))]}),
        "a channel that often rests": Data({"x": with_channel(2, np.repeat(NOISE, 10).reshape(100, 40))}),
        "a channel of steps": Data({"x": with_channel(2, (WINDOWS[..., 0] > 2.2).astype(float))}),
        "sequences of vectors, padded at their ends": Data(
            {"x": np.where(np.arange(20)[None, :, None] > 12 + np.arange(100)[:, None, None] % 9, 0.0, MANY)}
        ),
        "channels of images of bytes": Data(
            {"x": np.stack(PIXELS) * np.array([1, 1, 0], np.uint8)}, kinds={"x": "image"}
        ),
        "marks of tokens": Data({"mask": np.arange(9) < 2 + np.arange(100)[:, None] % 7}),
        "ids of tokens": Data({"x": np.c_[np.full(400, 101), NOISE.argsort(), NOISE[::-1].argsort()]}),
        "boxes": Data({"boxes": [np.c_[NOISE[:9], NOISE[9:18], NOISE[:9] + 9, np.full(9, 11.0)]] * 20}),
        "labels never given": Data({"label": np.c_[NOISE.reshape(-1, 4) > 0, NOISE[:100] > 9].astype(int)}, "label"),
    },
    "stuck": {
        "infinite ones": Data({"x": np.where(np.arange(400) < 30, np.inf, np.nan)}),
        "measurements": Data({"x": NOISE.copy()}),
        "marks of missing values, which are told as such": Data(
            {"x": np.where(np.arange(400) < 30, -999.0, NOISE[:400])}
        ),
        "one value throughout": Data({"x": np.full(400, 0.5)}),
        "dry days": Data({"x": np.where(np.arange(400) % 40 < 30, 0.0, NOISE[:400])}),
        "rounded ones": Data({"x": np.round(NOISE[:400])}),
        "sorted ones with few levels": Data({"x": np.repeat(NOISE[:10], 40)}),
        "rows of sensors that do not follow one another in time": Data(
            {
                "at": np.random.default_rng(5).permutation(np.repeat(HOURS, 4)),
                "sensor": ["a", "b", "c", "d"] * 100,
                "n": np.where(
                    (np.arange(400) % 4 == 1) & (np.arange(400) > 200) & (np.arange(400) < 320),
                    7,
                    np.random.default_rng(6).integers(1, 10**6, 400),
                ),
            },
            kinds={"at": "time"},
        ),
    },
    "series": {
        "a row an hour of each sensor": hourly(),
        "a row an hour": Data({"at": HOURS, "x": NOISE[:100]}, kinds={"at": "time"}),
        "the same hours in both splits": hourly(splits=["train"] * 200 + ["test"] * 200, again=True),
        "every fifth hour in the other split": Data(
            {"at": HOURS, "x": NOISE[:100]},
            splits=["train"] * 80 + ["test"] * 20,
            kinds={"at": "time"},
        ),
        "sensors that begin and end when they like": hourly([i for i in range(400) if i % 4 != 1 or 120 < i < 280]),
        "events as they come": Data(
            {"at": HOURS[0] + np.sort(rng.integers(0, 900, 400)) * 60.0, "user": ["a", "b", "c", "d"] * 100},
            kinds={"at": "time"},
        ),
        "several rows an hour of some sensor": twice(0, 99, "ab"),
        "a second sensor for some hours": twice(60, 85, named=False),
        "a second one beside one of the sensors for some hours": twice(60, 85, "a"),
        "events at any time": happened(DAYS),
        "events of working days": happened(DAYS[DAYS % 7 < 5]),
        "two recordings": happened(np.r_[0:7, 60:67]),
        "a pause between the splits": happened(np.r_[0:150, 180:300], ["train"] * 1120 + ["test"] * 880),
        "holidays": happened(np.delete(DAYS, np.r_[60:70, 200:214])),
        "days that are planned": Data({"at": HOURS + 86_400.0 * 365 * np.linspace(0, 60, 100)}, kinds={"at": "time"}),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "before_parent": test_row_order.BEFORE_SPEAKS,
    "out_of_order": test_within_groups.ORDER_SPEAKS,
    "pasted": test_pasted.SPEAKS,
    "shifted_numbers": one_a_code(
        {name: (data, "rows-shifted", "warning") for name, data in test_shifted_numbers.SPEAKS.items()}
    ),
    "odd_series": {name: (data, code, "warning") for name, (data, code) in test_odd_series.SPEAKS.items()},
    "reversed_signs": test_other_scales.BEATS_SPEAK,
    "swapped_channels": test_parts_otherwise.SWAPS,
    "frozen": test_parts_otherwise.FROZEN,
    "looped": test_parts_otherwise.LOOPED,
    "group_clocks": {name: (data, "scale-drift", "warning") for name, data in test_group_clocks.SPEAKS.items()},
    "point_clouds": {
        "few points, each again and again": (test_point_clouds.FEW, "constant-samples", "warning"),
        "two axes swapped in a split": (test_point_clouds.SWAPPED, "preprocessing-differs", "warning"),
    },
    "saturated": {
        **{
            f"windows of one channel, {'x'.join(map(str, shape))}": (
                Data({"x": CLIPPED.reshape(100, *shape)}, kinds={"x": "embedding" if len(shape) == 1 else "array"}),
                "stuck-values",
                "warning",
            )
            for shape in ((120,), (1, 120), (120, 1))
        },
        "one channel in some windows": (
            Data(
                {
                    "x": with_channel(
                        0, np.where(np.arange(100)[:, None] < 9, np.clip(9 * WINDOWS[..., 0], -5, 5), WINDOWS[..., 0])
                    )
                },
                kinds={"x": "array"},
            ),
            "stuck-values",
            "warning",
        ),
    },
    "still_since": {
        "a count that was no longer filled in": (
            Data({"n": np.where(np.arange(400) < 300, np.maximum(0, np.rint(NOISE * 2)), 0).astype(int)}),
            "stuck-values",
            "warning",
        ),
        "what sticks for most of the rows": (
            Data({"n": np.where(np.arange(400) < 150, 1 + np.rint(np.abs(NOISE) * 4), 0).astype(int)}),
            "stuck-values",
            "warning",
        ),
        "a meter of a client who came later": (
            Data({"load": np.where(np.arange(400) < 90, 0, 40 + 9 * NOISE)}),
            "stuck-values",
            "info",
        ),
    },
    "flat_components": {
        "a dead channel of a sensor that is mostly near 0": (
            Data({"x": np.where((np.arange(100) % 25 == 0)[:, None, None] & (np.arange(3) == 1), 0, SKEWED)}),
            "constant-samples",
            "warning",
        ),
        "the background of pictures that were standardised": (
            Data({"x": np.insert(np.maximum(NOISE.reshape(-1, 4), -0.4242), 2, -0.4242, axis=1)}),
            "constant-field",
            "info",
        ),
        "a feature that is always one value": (
            Data({"x": np.insert(NOISE.reshape(-1, 4), 2, 1.5, axis=1)}),
            "constant-field",
            "warning",
        ),
        "a word that never occurs": (
            Data({"x": np.insert((NOISE.reshape(-1, 4) > 1).astype(float), 2, 0, axis=1)}),
            "constant-field",
            "info",
        ),
        "a band of images that was never recorded": (
            Data({"x": np.stack([BANDS, 0 * BANDS, BANDS + 1])[None].repeat(9, 0)}, kinds={"x": "array"}),
            "constant-field",
            "warning",
        ),
        "a channel of windows that came off in some": (
            Data({"x": with_channel(1, np.where(np.arange(100)[:, None] < 5, 7.0, WINDOWS[..., 1]))}),
            "constant-samples",
            "warning",
        ),
        "clouds of one point": (
            Data({"x": np.where(np.arange(100)[:, None, None] < 5, WINDOWS[:, :1], WINDOWS)}),
            "constant-samples",
            "warning",
        ),
        "of clips of many lengths": (
            Data({"x": [w[: 20 + i % 9] for i, w in enumerate(with_channel(0, np.zeros((100, 40))))]}),
            "constant-field",
            "warning",
        ),
    },
    "series": {
        "an hour twice of one sensor": (hourly(at={201: HOURS[49]}), "duplicate-keys", "warning"),
        "an hour twice": (
            Data({"at": np.sort(np.r_[HOURS, HOURS[[7, 50]]]), "x": NOISE[:102]}, kinds={"at": "time"}),
            "duplicate-keys",
            "warning",
        ),
        "a day of all sensors that was read in again": (twice(60, 72), "duplicate-keys", "warning"),
        "a month without events": (happened(np.delete(DAYS, np.r_[120:150])), "time-gap", "warning"),
        "the hour at which the clock is set back": (
            hourly(at={200 + i: HOURS[49] for i in range(4)}),
            "duplicate-keys",
            "info",
        ),
        "a day without one sensor": (
            hourly([i for i in range(400) if i % 4 != 2 or not 100 < i < 200]),
            "time-gap",
            "info",
        ),
        "a day without rows": (
            Data({"at": np.delete(HOURS, range(40, 65)), "x": NOISE[:75]}, kinds={"at": "time"}),
            "time-gap",
            "info",
        ),
        "in the next century": (hourly(at={17: 4.2e9}), "future-times", "warning"),
        "in the next century, as texts": (
            Data({"day": [f"{2120 if i == 5 else 2020}-01-{i % 28 + 1:02}" for i in range(60)]}),
            "future-times",
            "warning",
        ),
    },
    "stuck": {
        "a feature of a matrix": (
            Data({"x": np.c_[held(NOISE, 101), NOISE, NOISE[::-1]]}, kinds={"x": "array"}),
            "stuck-values",
            "warning",
        ),
        "a sensor for all of a recording": (
            Data({"x": np.r_[NOISE[:160], np.full(40, 0.05)]}, splits=["train"] * 160 + ["test"] * 40),
            "stuck-values",
            "warning",
        ),
        "a pressure of 999": (
            hung(999.0),
            "stuck-values",
            "warning",
        ),
        "a sensor beside a longer run of what stands for missing": (hung(1007.337, -999.0), "stuck-values", "warning"),
        "a sensor for thirty rows": (Data({"x": held(NOISE[:400], 31)}), "stuck-values", "info"),
        "a sensor for a hundred rows": (Data({"x": held(NOISE, 101)}), "stuck-values", "warning"),
        "a saturated one": (Data({"x": np.minimum(held(NOISE, 101), NOISE[200])}), "stuck-values", "info"),
        "one of several sensors, a count": (
            Data(
                {
                    "at": np.repeat(HOURS, 4),
                    "sensor": ["a", "b", "c", "d"] * 100,
                    "n": np.where(
                        (np.arange(400) % 4 == 1) & (np.arange(400) > 200) & (np.arange(400) < 320),
                        7,
                        rng.integers(1, 10**6, 400),
                    ),
                },
                kinds={"at": "time"},
            ),
            "stuck-values",
            "info",
        ),
    },
}
