"""Equal rows of tables: copies are told from what chance explains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.duplicates.duplicates import Duplicates
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of
from tests.making.scanning import scan

SEEDS = st.integers(0, (1 << 32) - 1)


def judged(data: Data) -> dict[str, Finding]:
    """By the check alone: others have tests of their own."""
    parts = []
    for block in blocks_of(data):
        parts.append(Duplicates(context_of(data)))
        parts[-1].see(block)
    for part in parts[1:]:
        parts[0].merge(part)
    return {f.code: f for f in parts[0].judge(Facts(tuple(parts[0].facts())))}


def drawn(rng: Any, rows: int, values: list[int]) -> dict[str, Any]:
    """Independent columns; the first values are the more frequent ones."""
    columns = {}
    for i, n in enumerate(values):
        p = 1 / np.arange(1, n + 1) ** rng.uniform(0, 1)
        columns[f"c{i}"] = rng.choice(n, rows, p=p / p.sum())
    columns["label"] = rng.choice(2, rows)
    return columns


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_equal_rows_of_few_distinct_values_are_no_defect(seed: int) -> None:
    """Our promise: what chance explains is told, and nothing more is made of it."""
    rng = np.random.default_rng(seed)
    rows, values = int(rng.integers(300, 3000)), rng.integers(2, 7, int(rng.integers(2, 5))).tolist()
    cut = rows // int(rng.integers(2, 6))
    splits = ["train"] * (rows - cut) + ["test"] * cut
    found = judged(Data(drawn(rng, rows, values), label="label", splits=splits))
    assert {"duplicate-samples", "splits-overlap"} <= found.keys()
    assert {f.severity for f in found.values()} == {"info"}


@settings(max_examples=10, deadline=None)
@given(SEEDS)
def test_copies_are_found_where_chance_does_not_explain_them(seed: int) -> None:
    """Our promise: copied rows are a defect, in a table of one column too."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(100, 2000))
    columns = drawn(rng, rows, rng.integers(40, 5000, int(rng.integers(1, 5))).tolist())
    columns["c0"] = rng.normal(size=rows)
    copies = max(2, rows // int(rng.integers(20, 60)))
    at = rng.choice(rows, copies, replace=False)
    columns = {name: np.concatenate([column, column[at]]) for name, column in columns.items()}
    splits = ["train"] * rows + ["test"] * copies
    found = judged(Data(columns, label="label", splits=splits))
    assert (found["duplicate-samples"].severity, found["splits-overlap"].severity) == ("warning", "error")
    assert found["duplicate-samples"].count == copies


@settings(max_examples=8, deadline=None)
@given(SEEDS)
def test_a_copied_split_is_a_leak_in_a_table_of_few_values_too(seed: int) -> None:
    """Our promise: what chance makes within the data excuses no copies between splits."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(500, 2000))
    columns: dict[str, Any] = {f"c{i}": rng.integers(0, 6, rows) for i in range(4)} | {
        "label": rng.integers(0, 2, rows)
    }
    splits = ["train"] * rows + ["test"] * (rows // 4)
    columns = {name: np.concatenate([column, column[: rows // 4]]) for name, column in columns.items()}
    found = judged(Data(columns, label="label", splits=splits))
    assert (found["duplicate-samples"].severity, found["splits-overlap"].severity) == ("warning", "error")


def test_columns_that_exclude_each_other_excuse_nothing() -> None:
    """One-hot columns are equal far more often one by one than together."""
    rng = np.random.default_rng(3)
    rows = np.concatenate([np.eye(50, dtype=np.int64)[rng.integers(0, 50, 1600)] for _ in range(3)], axis=1)
    rows = np.concatenate([rows, rows[:400]])
    columns: dict[str, Any] = {f"c{i}": column for i, column in enumerate(rows.T)}
    found = judged(Data(columns, splits=["train"] * 1600 + ["test"] * 400))
    assert found["splits-overlap"].severity == "error"


def test_rows_in_which_nothing_but_keys_varies(tmp_path: Path) -> None:
    """Seen: which document answers which question, told as one sample that is in several splits."""
    for split, n in (("train", 60), ("dev", 30)):
        rows = [f"{n * 100 + i}\t0\t{n * 7 + i * 2}\t1" for i in range(n)]
        (tmp_path / f"qrels.{split}.tsv").write_text("\n".join(rows) + "\n")
    assert not {"duplicate-samples", "splits-overlap"} & {f.code for f in scan(tmp_path, tmp_path).findings}


def test_readings_at_the_same_time_are_equal_by_chance() -> None:
    """Seen: patients of a study each had a sensor, whose readings of whole numbers now and then agreed at the same minute, with no dose given
    to either: ten equal rows in two splits were an error."""
    rng = np.random.default_rng(4)
    n = 6000
    columns = {
        "time": [
            f"2023-03-{d:02} {h:02}:00" for d, h in zip(rng.integers(1, 29, n), rng.integers(0, 24, n), strict=True)
        ],
        "level": rng.normal(140, 30, n).round(),
        "dose": np.where(rng.random(n) < 0.03, rng.gamma(4, 1, n).round(1), 0.0),
    }
    found = judged(Data(columns, splits=["train"] * 4000 + ["test"] * 2000))
    assert {code: f.severity for code, f in found.items()} == {"duplicate-samples": "info", "splits-overlap": "info"}


def people(rows: int = 3000) -> dict[str, Any]:
    """Answers of a survey that depend on one another: schooling on age, income on both, and a group that has two names."""
    rng = np.random.default_rng(11)
    age = rng.normal(44, 12, rows).round()
    school = np.clip(np.round(12 + (50 - age) / 15 + rng.normal(0, 2, rows)), 6, 20)
    income = np.round(school / 2 + age / 20 + rng.normal(0, 1, rows))
    member = rng.random(rows) < 0.3
    names = {"member": member.astype(int), "status": ["member" if m else "guest" for m in member]}
    return {"age": age, "school": school, "income": income} | names


def test_rows_of_fields_that_depend_on_one_another_are_equal_by_chance() -> None:
    """Seen: answers to surveys, of which as many are equal as pairs that differ in one or two answers lead to expect, were copies."""
    found = judged(Data(people()))
    assert {code: f.severity for code, f in found.items()} == {"duplicate-samples": "info"}
    copied = {
        name: np.concatenate([np.asarray(values), np.asarray(values)[:1500]]) for name, values in people().items()
    }
    assert judged(Data(copied))["duplicate-samples"].severity == "warning"


def test_copied_rows_of_a_panel_are_copies() -> None:
    """A day and a shop make a key: many rows differ in one of them alone, and none should be equal."""
    day, shop = np.arange(4800) // 40, np.arange(4800) % 40
    sold = np.random.default_rng(7).poisson(1, 4800)
    columns = {"day": day, "shop": shop, "sold": sold}
    copied = {name: np.concatenate([values, values[1000:1040]]) for name, values in columns.items()}
    assert judged(Data(copied))["duplicate-samples"].severity == "warning"


def test_edited_copies_of_records_do_not_make_copies_chance() -> None:
    """A name tells records apart: rows that are equal but for a price or a day are copies that were edited, and no measure of chance."""
    rng = np.random.default_rng(12)
    name, price, day = rng.permutation(10**5)[:3000], rng.integers(1, 400, 3000), rng.integers(0, 200, 3000)
    again = {"price": price[:245].copy(), "day": day[:245].copy()}
    for field, rows in {"price": np.r_[100:160, 220:245], "day": np.r_[160:245]}.items():
        again[field][rows] = rng.permutation(again[field][rows])
    columns = {"name": np.r_[name, name[:245]], "price": np.r_[price, again["price"]], "day": np.r_[day, again["day"]]}
    status = np.resize(rng.integers(0, 5, 3000), 3245)
    assert judged(Data(columns | {"status": status}))["duplicate-samples"].severity == "warning"


def test_rows_in_which_nothing_was_measured_are_no_copies() -> None:
    """Seen: the meters of flats that stood empty, each with a number of its own, were copies of each other. A row with one number is."""
    rng = np.random.default_rng(6)
    used = rng.gamma(2, 1, (200, 5)).round(3)
    used[:20] = 0
    columns = {f"kwh_{k}": used[:, k] for k in range(5)} | {"tariff": ["day", "night"] * 100}
    found = judged(Data(columns))
    assert {code: f.severity for code, f in found.items()} == {"duplicate-samples": "info"}
    assert found["duplicate-samples"].message.startswith("20 of 200 rows hold nothing but 0")
    used[:20, 2] = 0.5
    assert judged(Data(columns))["duplicate-samples"].severity == "warning"


def test_a_long_line_that_comes_again_is_a_phrase_too() -> None:
    """Seen: one line of 3,000 in training as well failed a corpus of prose. Ten are told."""
    lines = [f"line {i} of a long story that goes on" for i in range(3000)]
    for again, severity in ((1, "info"), (10, "error")):
        splits = ["train"] * 2000 + ["valid"] * (1000 + again)
        data = Data({"text": lines + lines[:again]}, splits=splits, kinds={"text": "text"}, context={"phrase": 12})
        assert judged(data)["splits-overlap"].severity == severity


def test_rows_of_a_dead_sensor_agree_more_often() -> None:
    """Seen: of a site whose sensor gave nothing but zeros, nine rows were copies, as the other number agreed by chance. Copied rows are."""
    rng = np.random.default_rng(3)
    site = np.arange(1200) % 6
    first = np.where(site == 4, 0.0, rng.gamma(3, 2, 1200).round(3))
    columns = {"site": [f"place {s}" for s in site], "x": first, "y": rng.normal(0, 1, 1200).round(3)}
    assert judged(Data(columns))["duplicate-samples"].severity == "info"
    copied = {name: np.concatenate([np.asarray(values), np.asarray(values)[:60]]) for name, values in columns.items()}
    assert judged(Data(copied))["duplicate-samples"].severity == "warning"


def test_withheld_labels_contradict_none() -> None:
    """Seen: in the layout of GLUE, whose test split has -1 for each label, pairs of training that are in the test as well were said to have
    two labels. Where -1 is a class, they have."""
    texts = [f"what does question {i} mean" for i in range(90)]
    label = np.array([*(np.arange(60) % 2), *[-1] * 30])
    text = [*texts[:60], *texts[60:80], *texts[:10]]
    data = Data({"text": text, "label": label}, "label", ["train"] * 60 + ["test"] * 30, kinds={"text": "text"})
    assert judged(data).keys() == {"duplicate-samples", "splits-overlap"}
    gaps = Data({"text": text, "label": label.astype(float)}, "label", data.splits, kinds=data.kinds)
    assert judged(gaps).keys() == {"duplicate-samples", "splits-overlap"}
    anomalies = Data({"text": text, "label": np.where(label < 0, -1, 1)}, "label", data.splits, kinds=data.kinds)
    assert "label-conflict" in judged(anomalies)
    label[40] = -1
    assert "label-conflict" in judged(data)
