"""Values that are keys of another table of the folder, told by the whole scan."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dataloader_expert.sources.links import names_fit
from tests.making.scanning import scan

Rows = list[dict[str, Any]]
RNG = np.random.default_rng(5)


def written(path: Path, rows: Rows) -> None:
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)


def told(folder: Path, tables: dict[str, Rows]) -> list[tuple[int, set[Any]]]:
    """The counts of values without a row, and the samples that they are in."""
    for name, rows in tables.items():
        written(folder / name, rows)
    findings = [f for f in scan(folder, folder).findings if f.code == "dangling-reference"]
    assert all(f.severity == "warning" for f in findings)
    return [(f.count or 0, {place["sample"] for place in f.where}) for f in findings]


def trips(n: int = 600, **more: Any) -> Rows:
    zones = RNG.integers(1, 51, (n, 2)).tolist()
    fares = RNG.gamma(2, 9, n).round(2).tolist()
    return [{"pickup_zone": a, "dropoff_zone": b, "fare": x, **more} for (a, b), x in zip(zones, fares, strict=True)]


ZONES: Rows = [{"zone_id": i, "borough": "NESW"[i % 4], "lat": 40 + i / 100} for i in range(1, 51)]
PASSAGES: Rows = [{"pid": f"p{i:04}", "title": f"on {i}", "text": f"much of {i}"} for i in range(300)]


def asked(n: int, first: int = 0) -> Rows:
    return [
        {
            "qid": f"q{first + i}",
            "query": f"what of {first + i} and {i * 7}?",
            "positive_pids": [f"p{(i * 7) % 300:04}"],
        }
        for i in range(n)
    ]


def test_whole_numbers_without_a_row(tmp_path: Path) -> None:
    """Our promise: a few values that a table of the folder does not have are counted and placed."""
    rows = trips()
    for i in (7, 8, 300):
        rows[i]["dropoff_zone"] = 71
    assert told(tmp_path, {"trips.csv": rows, "zones.csv": ZONES}) == [(3, {7, 8, 300})]


def test_keys_of_a_catalogue_of_another_format(tmp_path: Path) -> None:
    """Seen: ratings as tab-separated values beside a table of games, of which a part of the test split had other numbers."""
    (tmp_path / "ratings").mkdir()
    games: Rows = [{"game_id": 1000 + 37 * i, "title": f"game {i}"} for i in range(60)]
    rows: Rows = [
        {"user_id": i % 90, "game_id": games[i * 7 % 60]["game_id"], "stars": i % 5, "at": 10**9 + i}
        for i in range(900)
    ]
    for row in rows[700:860]:
        row["game_id"] += 50_000
    written(tmp_path / "ratings" / "train.tsv", rows[:600])
    written(tmp_path / "ratings" / "test.tsv", rows[600:])
    written(tmp_path / "games.csv", games)
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "dangling-reference"]
    assert found.count == 160
    assert "are not in the column game_id of games.csv" in found.message


@pytest.mark.parametrize("twice", [False, True])
def test_ids_in_lists_without_a_row(twice: bool, tmp_path: Path) -> None:
    """Our promise: the same of lists, of JSON lines, and where a row of the table is there twice."""
    train = asked(400, 100)
    train[20]["positive_pids"] = ["p9150"]
    tables = {"passages.jsonl": PASSAGES + PASSAGES[:2] * twice, "train.jsonl": train, "test.jsonl": asked(100)}
    assert told(tmp_path, tables) == [(1, {120})]


def test_codes_under_another_name(tmp_path: Path) -> None:
    """Our promise: codes need no name that fits."""
    facts = [{"head": f"city_{i % 90}", "relation": "in", "tail": f"land_{i % 30}"} for i in range(700)]
    facts[50]["head"] = "city_900"
    entities = [{"entity": f"city_{i}", "type": "city"} for i in range(90)]
    entities += [{"entity": f"land_{i}", "type": "land"} for i in range(30)]
    assert told(tmp_path, {"train.tsv": facts[:600], "test.tsv": facts[600:], "entities.tsv": entities}) == [(1, {150})]


def qrels(n: int, first: int = 0) -> Rows:
    return [{"query-id": f"q{first + i // 2}", "corpus-id": f"doc{i * 7 % 149}", "score": i % 3 % 2} for i in range(n)]


def retrieval(folder: Path, train: Rows, test: Rows, docs: Rows) -> dict[str, Any]:
    """The findings by code on judgements beside what is searched and what is asked."""
    (folder / "qrels").mkdir()
    written(folder / "corpus.jsonl", docs)
    written(folder / "queries.jsonl", [{"_id": f"q{i}", "text": f"what of {i}?"} for i in range(400)])
    written(folder / "qrels" / "train.tsv", train)
    written(folder / "qrels" / "test.tsv", test)
    return {
        f.code: f
        for f in scan(folder, folder).findings
        if f.code in ("dangling-reference", "fields-swapped", "duplicate-keys")
    }


DOCS: Rows = [{"_id": f"doc{i}", "title": f"on {i}", "text": f"much of {i}"} for i in range(150)]


def test_columns_that_are_swapped_in_one_split(tmp_path: Path) -> None:
    """Seen: relevance judgements whose test split had queries in the column of documents, unnoticed."""
    swapped = [{"query-id": r["corpus-id"], "corpus-id": r["query-id"], "score": 1} for r in qrels(80, 300)]
    found = retrieval(tmp_path, qrels(300), swapped, DOCS)
    assert found.keys() == {"fields-swapped"}
    assert found["fields-swapped"].count == 80
    assert "swapped in 80 samples in test" in found["fields-swapped"].message


def test_a_catalogue_with_keys_lost_at_random_and_keys_that_stand_twice(tmp_path: Path) -> None:
    """Seen: one in nine of the judged documents was not in the collection, and two dumps gave others the same key: nothing was said."""
    twice = [{**doc, "text": "another one"} for doc in DOCS[1:5]]
    found = retrieval(tmp_path, qrels(300), qrels(80, 300), [d for i, d in enumerate(DOCS) if i % 6] + twice)
    assert {code: f.severity for code, f in found.items()} == {
        "dangling-reference": "warning",
        "duplicate-keys": "warning",
    }
    assert found["duplicate-keys"].count == 4


def test_a_split_that_is_numbered_by_another_list(tmp_path: Path) -> None:
    """Seen: a test split whose items were numbered anew, so that none was in the catalogue: nothing was said, as none was found."""
    items: Rows = [{"item_id": 1000 + 7 * i, "title": f"on {i}"} for i in range(200)]
    rows: Rows = [{"user": f"u{i % 90}", "item_id": 1000 + 7 * (i * 11 % 200), "stars": i % 5} for i in range(900)]
    for row in rows[700:]:
        row["item_id"] = (row["item_id"] - 1000) // 7
    for name, part in (("train.csv", rows[:700]), ("test.csv", rows[700:]), ("items.csv", items)):
        written(tmp_path / name, part)
    [found] = [f for f in scan(tmp_path, tmp_path).findings if f.code == "dangling-reference"]
    assert found.count is not None
    assert found.count > 180
    assert "most in test" in found.message


SOUND: dict[str, dict[str, Rows]] = {
    "all there": {"trips.csv": trips(), "zones.csv": ZONES},
    "counts that happen to be ids": {
        "trips.csv": [{**r, "passengers": int(RNG.integers(1, 52)), "zone_count": 1 + i % 52} for i, r in enumerate(trips())],
        "zones.csv": ZONES,
    },
    "missing values": {
        "trips.csv": [{**r, "dropoff_zone": "" if i % 50 == 0 else r["dropoff_zone"]} for i, r in enumerate(trips())],
        "zones.csv": ZONES,
    },
    "numbers for none": {
        "trips.csv": [{**r, "dropoff_zone": -1 if i % 80 == 0 else r["dropoff_zone"]} for i, r in enumerate(trips())],
        "zones.csv": ZONES,
    },
    "a table for half of the ids": {"trips.csv": trips(), "zones.csv": ZONES[:30]},
    "codes of which a catalogue has the frequent ones": {
        "train.csv": [{"item": f"i{i % 40 if i % 3 else 40 + i}x", "price": i * 7 % 90} for i in range(900)],
        "items.csv": [{"item_id": f"i{i}x", "title": f"on {i}", "by": f"me {i}"} for i in range(40)],
    },
    "words of which a list has the frequent ones": {
        "train.jsonl": [{"text": f"a {i}", "word": f"w{min(i % 97, i % 53)}x"} for i in range(900)],
        "words.jsonl": [{"token": f"w{i}x", "n": 9} for i in range(30)],
    },
    "lists all of whose ids are there": {
        "passages.jsonl": PASSAGES, "train.jsonl": asked(400, 100), "test.jsonl": asked(100),
    },
    "names of classes": {
        "train.jsonl": [{"text": f"b {i}", "label": i % 25} for i in range(500)],
        "classes.jsonl": [{"id": i, "name": f"class {i}"} for i in range(24)],
    },
    "ids of the samples themselves": {
        "train.csv": [{"id": f"s{i:04}", "x": x, "y": x + 1} for i, x in enumerate(RNG.normal(0, 1, 500).tolist())],
        "scores.csv": [{"id": f"s{i:04}", "score": i % 7, "rated_by": "me", "on": "Monday"} for i in range(495)],
    },
}  # fmt: skip


@pytest.mark.parametrize("tables", SOUND.values(), ids=SOUND)
def test_nothing_is_said_of_sound_tables(tables: dict[str, Rows], tmp_path: Path) -> None:
    """Our promise: no false alarm."""
    assert told(tmp_path, tables) == []


def test_names_that_fit() -> None:
    """Our promise: a field fits a column if both end in the same thing, and never if it is an amount."""
    for field, column, path in (
        ("pickup_zone", "zone_id", "zones.csv"),
        ("positive_pids", "pid", "passages.jsonl"),
        ("PULocationID", "LocationID", "lookup.csv"),
        ("category_id", "id", "categories.csv"),
        ("user", "user_id", "users.csv"),
    ):
        assert names_fit(field, column, path), field
    for field, column, path in (
        ("zone_count", "zone_id", "zones.csv"),
        ("n_zones", "zone_id", "zones.csv"),
        ("passengers", "zone_id", "zones.csv"),
        ("id", "id", "zones.csv"),
        ("trip_length", "trip_id", "trips.csv"),
    ):
        assert not names_fit(field, column, path), field


def test_a_table_without_rows_beside_others_is_no_mistake_of_ours(tmp_path: Path) -> None:
    """Seen: a Parquet file without rows ended in an error of numpy."""
    for i, rows in enumerate((60, 0, 60)):
        table = pa.table({"user_id": np.arange(rows), "x": np.arange(rows) / 3})
        pq.write_table(table, tmp_path / f"part-{i}.parquet")
    said = scan(tmp_path, tmp_path.parent)
    assert (said.error, said.unknowns) == (None, [])
