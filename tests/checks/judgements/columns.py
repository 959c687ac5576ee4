"""Where the checks of columns say nothing, and where they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.checks import (
    test_broken_rules,
    test_coarser,
    test_codes_of_part,
    test_dates_of_part,
    test_default_values,
    test_derived,
    test_ends_of_scales,
    test_group_records,
    test_joined,
    test_marks_in_arrays,
    test_misjoined,
    test_multiplied,
    test_other_scales,
    test_rescaled,
    test_short_files,
    test_swapped_days,
    test_swapped_numbers,
    test_totals,
    test_within_groups,
)
from tests.checks.judgements.common import MORE, NOISE, NUMBERS, PICTURES, TEXTS, WINDOWS, sound, sounds, tabled
from tests.checks.looking import Data, first_rows, one_a_code

rng = np.random.default_rng(29)


def stretched(convert: Any, values: Any = None, first: int = 250, last: int = 350, label: Any = None) -> Data:
    """Rows of which some that follow each other are converted."""
    x = (NOISE + 9 if values is None else values).copy()
    x[first:last] = convert(x[first:last])
    return Data({"x": x} | ({} if label is None else {"label": label}), None if label is None else "label")


def devices() -> Data:
    """Hourly rows of three devices, one of which counts in thousandths later on."""
    n = np.arange(1200)
    x = 5 + np.random.default_rng(12).normal(0, 0.5, 1200)
    x[(n % 3 == 1) & (n >= 800)] *= 1000
    return Data({"device": [f"d{i % 3}" for i in n], "x": x}, kinds={"device": "category"})


def priced(lost: int = 0, blank: bool = False) -> Data:
    """Visits and purchases, of which all but some have a price; or rows of which some are blank."""
    kinds: list[Any] = ["visit", "purchase", "visit", "search"] * 100
    absent = [kind != "purchase" or i < 4 * lost for i, kind in enumerate(kinds)]
    if blank:
        absent = [i % 10 == 0 for i in range(400)]
        kinds = [None if gone else kind for kind, gone in zip(kinds, absent, strict=True)]
    return Data(
        {"event": kinds, "price": NOISE + 9},
        kinds={"event": "category"},
        nulls={"price": absent} | ({"event": absent} if blank else {}),
    )


def sited(code: Callable[[str, str], str]) -> Data:
    """Diagnoses at three sites, each a code made of the usual one and the site."""
    drawn = np.random.default_rng(34).integers(0, 24, 300).tolist()
    codes = [code(f"{'EIJ'[k % 3]}{10 + k}.{k % 9}", "ABC"[i % 3]) for i, k in enumerate(drawn)]
    return Data({"site": ["A", "B", "C"] * 100, "code": codes}, kinds={"site": "category", "code": "category"})


CATEGORY = {"day": "category"}


def moving(sitting: float) -> Any:
    """Movements of a subject, who sits for this share of the time."""
    return np.where(np.arange(400) < 400 * sitting, 0.01, 1.0) * (1 + 0.2 * np.abs(NOISE[:400]))


def sites(fahrenheit: bool = False, shift: float = 0.0, n: int = 100) -> Data:
    """Temperatures of patients at four sites, of which the last may measure them in another unit or be warmer."""
    celsius = 37 + NOISE[: 4 * n] / 3
    last = np.arange(4 * n) >= 3 * n
    value = np.where(last & fahrenheit, celsius * 1.8 + 32, celsius + shift * last)
    return Data({"temperature": value, "site": np.repeat(["A", "B", "C", "D"], n)}, kinds={"site": "category"})


def observed(change: Callable[[Any], Any], odd: Any, values: Any = None, times: Any = None) -> Data:
    """Measurements of six stations in no order of time, changed at those that ``odd`` marks, bool [stations, days]."""
    n = np.arange(1800)
    station, day = n % 6, np.random.default_rng(41).permutation(1800) // 6
    x = 37 + np.random.default_rng(42).normal(0, 0.5, 1800) if values is None else values.copy()
    rows = np.asarray(odd)[station, day]
    x[rows] = change(x[rows])
    at = 1.6e9 + 86_400.0 * (day if times is None else times[day])
    kinds = {"station": "category", "at": "time"}
    return Data({"station": [f"w{k}" for k in station], "at": at, "x": x}, kinds=kinds)


def some(stations: list[int], first: int = 0, last: int = 300) -> Any:
    made = np.zeros((6, 300), bool)
    made[stations, first:last] = True
    return made


LIGHT = np.random.default_rng(12)
CONTRAST = LIGHT.uniform(0.1, 0.4, (600, 1, 1, 1))
PIXELS = (0.48 + 0.14 * LIGHT.normal(size=(600, 1, 1, 1)) + CONTRAST * LIGHT.normal(size=(600, 3, 8, 8))).clip(0, 1)
SILENT: dict[str, dict[str, Any]] = {
    "coarser": {name: test_coarser.SOUND[name] for name in ("quiet ones", "at another scale")},
    "marks_in_arrays": test_marks_in_arrays.SILENT,
    "default_values": first_rows(test_default_values.SILENT),
    "swapped_numbers": first_rows(test_swapped_numbers.SILENT),
    "overactive": test_multiplied.ACTIVE_SILENT,
    "wrapped": test_other_scales.WRAPPED_SILENT,
    "group_constants": test_within_groups.CONSTANT_SILENT,
    "padded_codes": test_within_groups.CODES_SILENT,
    "group_records": test_group_records.SILENT,
    "joined": test_joined.SILENT,
    "short_files": test_short_files.SILENT,
    "broken_rules": first_rows(test_broken_rules.SOUND),
    "codes_of_part": first_rows(test_codes_of_part.SILENT),
    "dates_of_part": first_rows(test_dates_of_part.SILENT),
    "derived": first_rows(test_derived.SILENT),
    "totals": first_rows(test_totals.SILENT),
    "ends_of_scales": first_rows(test_ends_of_scales.SILENT),
    "misjoined": first_rows(test_misjoined.SILENT),
    "swapped_days": first_rows(test_swapped_days.SILENT),
    "mixed_units": {
        **test_rescaled.SILENT,
        "pictures of which only training was normalised, which is told of the split": Data(
            {"x": np.r_[(PIXELS[:300] - 0.45) / 0.23, 255 * PIXELS[300:]]}, splits=["train"] * 300 + ["test"] * 300
        ),
        "a trend": stretched(lambda x: x, NOISE / 9 + np.linspace(1, 90, 400)),
        "a stretch that no conversion explains": stretched(lambda x: 1.3 * x + 3),
        "a class of large things, of which the rows are sorted": stretched(
            lambda x: x * 1000, label=["small"] * 250 + ["large"] * 100 + ["small"] * 50
        ),
        "a flag that is set from one row on": Data({"x": (np.arange(400) > 300).astype(float)}),
        "a price that rose": Data({"x": np.where(np.arange(400) > 250, 59.0, 49.0)}),
        "a few rows of a stretch": stretched(lambda x: x * 1000, first=330, last=350),
        "one unit at each site": sites(),
        "kinds with sizes of their own": Data(
            {
                "x": np.concatenate([10.0**k * (5 + NOISE[:100] / 4) for k in range(4)]),
                "kind": np.repeat(list("abcd"), 100),
            },
            kinds=CATEGORY,
        ),
        "a hot site": sites(shift=12.0),
        "two hot stations": observed(lambda x: x + 12, some([1, 4])),
        "stations of two kinds": observed(lambda x: x * 1.8 + 32, some([1, 3, 5])),
        "a warm season, in no order": observed(lambda x: x + 9 * np.sin(np.arange(len(x))), some([2], 100, 200)),
        "gains at some, and losses at others": observed(lambda x: -x, some([4]), MORE[:1800].repeat(2) + 1),
        "deficits, small ones, at one": observed(lambda x: -x / 9, some([4]), 30 + MORE.repeat(2)),
        "places west and east": observed(lambda x: x * -1.5, some([1, 4]), 40 + MORE.repeat(2)),
        "few rows": sites(fahrenheit=True, n=20),
    },
    "sample_lengths": {"a recording and none": sounds(sound(n=900), sound(n=0))},
    "statistics": {
        "what a tokenizer gives of single texts of one length": (
            Data({"attention_mask": np.ones((30, 8), int), "token_type_ids": np.zeros((30, 8), int)})
        ),
        "numbers without holes": Data({"x": NOISE}),
        "nines of a long tail": Data({"x": np.r_[np.exp(2 * NOISE + 3), np.full(5, 999.0), np.full(5, 99.0)]}),
        "debts and gains among which -999 is one": Data({"x": np.r_[NOISE**3 * 400, np.full(4, -999.0)]}),
        "amounts, many of them nothing": Data({"rain": np.maximum(0, NOISE)}),
        "amounts from nothing on": Data({"pressure": np.abs(NOISE) * (np.arange(len(NOISE)) % 9 > 0)}),
        "counts up to 99": Data({"x": np.r_[np.arange(400) % 90, np.full(9, 99)].astype(float)}),
        "a label that is constant in one class": tabled(["a"] * 12),
        "texts of one length that differ": Data({"x": ["aa", "bb"] * 6}),
        "a rate that all sounds share": sounds(sound(), sound()),
    },
    "absent_by_kind": {"prices of purchases alone, which statistics tell": priced()},
    "scales": {
        "one scale": Data({"x": NOISE}),
        "a subject who mostly sat": Data(
            {"x": np.concatenate([moving(0.5 if i else 0.95) for i in range(6)])},
            splits=[f"s{i // 400}" for i in range(2400)],
        ),
        "pictures of one range": Data({"x": rng.random((12, 8, 8))}, kinds={"x": "image"}),
    },
    "structure": {
        "when something begins and ends": Data(
            {"started_at": 1.6e9 + 1e5 * NOISE, "ended_at": 1.6e9 + 1e5 * NOISE + 60}
        ),
        "independent columns": Data({"a": NOISE[:200], "b": NOISE[200:]}),
        "equal columns of few rows": Data({"a": NUMBERS, "b": NUMBERS}),
        "a constant beside a column": Data({"a": NOISE, "b": np.ones(400)}),
    },
    "forms": {
        "dates of one format": Data({"day": [f"{1 + i:02}/{1 + i % 12:02}/2024" for i in range(28)]}, kinds=CATEGORY),
        "codes, of which some have a letter": Data(
            {
                "icd": [f"{400 + i}.0{i % 9}" if i % 3 else f"{400 + i}" for i in range(60)]
                + [f"V{i}7" for i in range(5)]
                + ["?"]
            },
            kinds={"icd": "text"},
        ),
        "answers beyond the last number, and limits of detection": Data(
            {
                "years": [*map(str, range(1, 50)), "Less than 1 year", "50+", "More than 50 years"],
                "lead": [*(f"{i / 4}" for i in range(1, 50)), "<0.25", "< 0.25", ">= 12"],
            },
            kinds={"years": "text", "lead": "text"},
        ),
        "families, of which some were divided": Data(
            {"family": [f"{100 + i // 4}{'A' if 60 <= i < 64 else ''}" for i in range(120)], "x": NOISE[:120]},
            kinds={"family": "category"},
        ),
        "offsets of summer and winter": Data(
            {"day": [f"2024-{1 + i % 12:02}-02T10:00:00{'Z' if i % 3 else '+02:00'}" for i in range(36)]},
            kinds=CATEGORY,
        ),
        "the clock in some with fractions": Data(
            {"day": [f"2024-01-02T10:00:{i:02}{'.5' * (i % 2)}" for i in range(20)]}, kinds=CATEGORY
        ),
        "numbers": Data({"x": NOISE[:40], "day": [f"{i}" for i in range(40)]}, kinds=CATEGORY),
        "names and codes with digits": Data({"day": [f"{'ABCDEFG'[i % 7]}{i}" for i in range(40)]}, kinds=CATEGORY),
        "house numbers with many endings": Data({"day": [f"{i}{'abcdefg'[i % 7]}" for i in range(40)]}, kinds=CATEGORY),
        "all with a unit, which is told": Data({"day": [f"{i}.5 kg" for i in range(40)]}, kinds=CATEGORY),
        "names, one of which is a date": Data({"day": ["Ann", "Bob"] * 9 + ["2024-01-02"]}, kinds=CATEGORY),
    },
    "notations": {
        "codes in one way": sited(lambda code, site: code),
        "codes in both ways at each site": sited(
            lambda code, site: code.replace(".", "") if code[-1] in "135" else code
        ),
        "other codes of another site": sited(lambda code, site: f"X{code[1:]}" if site == "B" else code),
    },
    "spelling": {
        "truth by single letters, which may be codes": Data({"odor": ["n", "y", "f"] * 30}, kinds={"odor": "category"}),
        "grades": Data({"grade": ["B", "B-", "B+", "1-2", "1 2"] * 30}, kinds={"grade": "category"}),
        "one spelling": Data({"town": ["York", "Bath"] * 40, "x": NOISE[:80]}),
        "codes that differ by case, each of a few": Data(
            {"code": ["aX", "ax", "Bb", "bB"] * 9}, kinds={"code": "category"}
        ),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "swapped_days": one_a_code(
        {name: (data, "dtype-drift", "warning") for name, data in test_swapped_days.SPEAKS.items()}
    ),
    "group_constants": test_within_groups.CONSTANT_SPEAKS,
    "padded_codes": test_within_groups.CODES_SPEAKS,
    "broken_rules": one_a_code(test_broken_rules.SPEAKS),
    "codes_of_part": one_a_code(test_codes_of_part.SPEAKS),
    "dates_of_part": one_a_code(test_dates_of_part.SPEAKS),
    "derived": one_a_code(test_derived.SPEAKS),
    "totals": one_a_code(test_totals.CASES),
    "ends_of_scales": one_a_code(test_ends_of_scales.CASES),
    "misjoined": one_a_code(test_misjoined.SPEAKS),
    "swapped_numbers": one_a_code(
        {name: (data, code, "warning") for name, (data, code) in test_swapped_numbers.SPEAKS.items()}
    ),
    "marks_in_arrays": test_marks_in_arrays.SPOILT,
    "default_values": one_a_code(
        {name: (data, "missing-values", "warning") for name, data in test_default_values.SPEAKS.items()}
    ),
    "overactive": test_multiplied.ACTIVE_SPEAK,
    "wrapped": test_other_scales.WRAPPED_SPEAK,
    "joined": test_joined.SPEAKS,
    "short_files": test_short_files.SPEAKS,
    "group_records": {name: (data, code, "warning") for name, (data, code) in test_group_records.SPEAKS.items()},
    "mixed_units": {
        **{name: (data, "scale-drift", "warning") for name, data in test_rescaled.SPEAKS.items()},
        "metres from one row on": (stretched(lambda x: x * 1000, last=400), "scale-drift", "warning"),
        "degrees Fahrenheit for some days": (stretched(lambda x: x * 1.8 + 32, NOISE + 10), "scale-drift", "warning"),
        "numbers of both signs": (stretched(lambda x: x * 1000, NOISE.copy()), "scale-drift", "warning"),
        "a level of their own": (stretched(lambda x: 7 * x + 55), "scale-drift", "warning"),
        "degrees Celsius for some months of seasons": (
            stretched(lambda x: x - 273.15, NOISE + 280 + 9 * np.sin(np.arange(400) / 60)),
            "scale-drift",
            "warning",
        ),
        "one channel of windows": (
            Data({"x": np.r_[WINDOWS, WINDOWS, WINDOWS * [1, 1000, 1]]}),
            "scale-drift",
            "warning",
        ),
        "one of three devices from a day on": (devices(), "scale-drift", "warning"),
        "a feature of a matrix": (
            Data({"x": np.c_[NOISE, stretched(lambda x: x * 1000).columns["x"]]}, kinds={"x": "array"}),
            "scale-drift",
            "warning",
        ),
        "degrees Fahrenheit at two of six stations": (
            observed(lambda x: x * 1.8 + 32, some([1, 4])),
            "scale-drift",
            "warning",
        ),
        "degrees Fahrenheit until a day, in no order": (
            observed(lambda x: x * 1.8 + 32, some([2], 0, 100)),
            "scale-drift",
            "warning",
        ),
        "an axis turned round at one": (observed(lambda x: -x, some([4])), "scale-drift", "warning"),
        "an axis turned round at two": (observed(lambda x: -x, some([0, 4])), "scale-drift", "warning"),
        "degrees Fahrenheit at one site": (sites(fahrenheit=True), "scale-drift", "warning"),
    },
    "statistics": {
        "a number beside pictures": (
            Data({"0": np.zeros((20, 3, 16, 16), np.float32), "1": np.full(20, 8000)}),
            "constant-field",
            "info",
        ),
        "a target beside pictures": (
            Data({"0": np.zeros((20, 3, 16, 16), np.float32), "angle": np.full(20, 0.5)}, "angle"),
            "constant-field",
            "warning",
        ),
        "a temperature beside windows": (
            Data({"x": NOISE.reshape(20, 2, 10), "temperature": np.full(20, 21.5)}),
            "constant-field",
            "warning",
        ),
        "the border of small images, pixel by pixel": (
            Data({f"pixel{k}": np.zeros(400) if k < 5 else NOISE + k for k in range(20)}),
            "constant-field",
            "info",
        ),
        "a blood pressure of 0": (
            Data({"pressure": np.r_[120 + 12 * NOISE, np.zeros(9)]}),
            "missing-values",
            "warning",
        ),
        "nothing sold on some days": (
            Data({"sold": np.r_[np.rint(120 + 12 * NOISE), np.zeros(9)]}),
            "missing-values",
            "info",
        ),
        "the size of images that are all alike": (
            Data({"image": PICTURES, "width": np.full(len(PICTURES), 64.0)}),
            "constant-field",
            "info",
        ),
        "prices of purchases alone": (priced(), "missing-values", "info"),
        "blank rows": (priced(blank=True), "missing-values", "warning"),
        "times of what is still going on": (
            Data({"closed_at": NUMBERS}, nulls={"closed_at": [i == 2 for i in range(12)]}),
            "missing-values",
            "info",
        ),
        "whether it was in time": (
            Data({"paid_on_time": NUMBERS}, nulls={"paid_on_time": [i == 2 for i in range(12)]}),
            "missing-values",
            "warning",
        ),
        "a price that some purchases lack": (priced(lost=9), "missing-values", "warning"),
        "a number that stands for none": (
            Data({"x": np.r_[np.abs(NOISE), np.full(20, -999.0)]}),
            "missing-values",
            "warning",
        ),
        "a placeholder among measured targets": (
            Data({"x": NOISE, "y": np.r_[np.abs(NOISE[:-13]), np.full(13, 999.0)]}, "y", kinds={"y": "category"}),
            "missing-values",
            "warning",
        ),
        "two numbers that stand for none, beside a wrong unit": (
            Data({"x": np.r_[np.abs(NOISE) + 20, np.full(9, -999.0), np.full(8, 9999.0), 101325.0]}),
            "missing-values",
            "warning",
        ),
        "a constant that says where samples are from": (
            Data({"hospital_id": np.full(12, 4), "y": NUMBERS}),
            "constant-field",
            "info",
        ),
        "a NaN": (Data({"x": np.array([1, np.nan, 3.0])}), "nan", "error"),
        "an infinity": (Data({"x": np.array([1, -np.inf, 3.0])}), "inf", "error"),
        "an absent number": (
            Data({"x": NUMBERS}, nulls={"x": [i == 2 for i in range(12)]}),
            "missing-values",
            "warning",
        ),
        "a constant": (Data({"x": np.full(12, 4.0), "y": NUMBERS}), "constant-field", "warning"),
        "values that pile up at the largest": (
            Data({"x": np.minimum(np.arange(200.0), 150)}),
            "outliers",
            "info",
        ),
        "texts that end at one length": (
            Data({"text": [("a few words " * 60)[: min(40 + 3 * i, 400)] for i in range(200)]}, kinds={"text": "text"}),
            "suspicious-text",
            "warning",
        ),
        "a far value": (Data({"x": np.append(NOISE, 1e6)}), "outliers", "info"),
        "numbers that are standard already": (
            Data({"x": np.tile((NOISE - NOISE.mean()) / NOISE.std(), 3)}),
            "already-normalized",
            "info",
        ),
    },
    "coarser": {
        name: (*test_coarser.SPOILT[name][:2], "warning") for name in ("8 bits", "held for two steps", "eight levels")
    },
    "scales": {
        "a part in thousands": (
            Data({"x": np.r_[np.tile(NOISE + 5, 5), (NOISE + 5) * 1000]}, splits=[f"s{i // 400}" for i in range(2400)]),
            "scale-drift",
            "warning",
        ),
        "pictures of two ranges": (
            Data({"x": [rng.random((8, 8)) * 255] * 9 + [rng.random((8, 8))]}, kinds={"x": "image"}),
            "scale-drift",
            "warning",
        ),
    },
    "structure": {
        "one column twice": (Data({"a": NOISE, "b": 3 * NOISE + 1}), "collinear-fields", "info"),
        "one column twice beside a text": (
            Data({"a": NOISE[:48], "b": 3 * NOISE[:48], "note": TEXTS * 4}),
            "collinear-fields",
            "info",
        ),
        "one column mirrored": (Data({"a": NOISE, "b": -NOISE}), "collinear-fields", "info"),
    },
    "forms": {
        "sentences and marks among numbers": (
            Data({"age": [*map(str, range(18, 90)), "under 18 not admitted", "<3>"]}, kinds={"age": "text"}),
            "dtype-drift",
            "warning",
        ),
        "a date of another format": (
            Data({"day": [*(f"2024-01-{1 + i:02}" for i in range(28)), "30.01.2024"]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "times without an offset among those with one": (
            Data({"day": [f"2024-01-02T10:{i:02}:00{'+00:00' * (i < 30)}" for i in range(40)]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "the day first and the month first": (
            Data({"day": [f"{1 + i:02}/02/2024" for i in range(28)] + ["02/28/2024"]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "a few codes among numbers": (
            Data({"x": [*(f"{i}" for i in range(60)), "V57"]}, kinds={"x": "text"}),
            "dtype-drift",
            "warning",
        ),
        "a mark for what is missing among numbers": (
            Data({"volts": [*(f"{i}.5" for i in range(20)), "?"]}, kinds={"volts": "text"}),
            "missing-values",
            "warning",
        ),
        "a holiday's letter beside 0": (
            Data({"holiday": ["0"] * 60 + ["a", "b"]}, kinds=dict.fromkeys(["holiday"], "category")),
            "dtype-drift",
            "info",
        ),
        "a text among texts of numbers": (
            Data({"day": [*(f"{i}.5" for i in range(20)), "unknown"]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "a text among dates": (
            Data({"day": [*(f"2024-01-{1 + i:02}" for i in range(28)), "soon"]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "decimal commas and points": (
            Data({"day": [f"{i}{'.,'[i % 2]}5" for i in range(20)]}, kinds=CATEGORY),
            "dtype-drift",
            "warning",
        ),
        "thousands in some": (
            Data({"day": [f"{980.5 + i:,}" for i in range(40)] + ["7.5"] * 40}, kinds=CATEGORY),
            "numbers-as-text",
            "warning",
        ),
        "thousands": (
            Data({"day": [f"{1000 + i:,}" for i in range(20)]}, kinds=CATEGORY),
            "numbers-as-text",
            "info",
        ),
    },
    "notations": {
        "a site that writes codes without their dots": (
            sited(lambda code, site: code.replace(".", "") if site == "B" else code),
            "label-twins",
            "warning",
        ),
    },
    "spelling": {
        "texts for missing values": (
            Data({"town": [*["York"] * 40, *["Bath"] * 38, "nan", "-"]}, kinds={"town": "category"}),
            "missing-values",
            "info",
        ),
        "true in several words": (
            Data({"on": ["True", "yes", "False"] * 30}, kinds={"on": "category"}),
            "label-twins",
            "warning",
        ),
        "a hyphen": (
            Data({"town": [*["New York"] * 40, *["Bath"] * 39, "new-york"]}, kinds={"town": "category"}),
            "label-twins",
            "warning",
        ),
        "another case": (
            Data({"town": ["York"] * 40 + ["Bath"] * 39 + ["BATH "]}, kinds={"town": "category"}),
            "label-twins",
            "warning",
        ),
        "two names in another case": (
            Data(
                {"town": [*["York"] * 60, *["Bath"] * 57, "BATH", "bath", "YORK"]},
                kinds={"town": "category"},
            ),
            "label-twins",
            "warning",
        ),
    },
}
