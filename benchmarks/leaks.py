"""Leaks and drift planted into real tables: what ``check_quality`` finds at which strength, and what it reports for sound tables.

``python -m benchmarks.leaks [--seed N]`` takes three real tables, gives each a random split column, and plants one defect at a
time at three strengths (none, weak, strong). The installed command runs on each file with default arguments. It prints the
defects found by code, those missed, and codes that were not planted (warnings and errors beyond those of the sound table).
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import command, keep, real_data, seed_asked

NAME = "leaks"
Table = dict[str, np.ndarray[Any, Any]]
MOST = 8_000
STRENGTHS = ("none", "weak", "strong")
TABLES = {
    "penguins": ("tabular/penguins/penguins.csv", "species"),
    "diamonds": ("tabular/diamonds/diamonds.parquet", "cut"),
    "digits": ("arrays/digits/csv", "label"),
}


def table(path: Path, label: str, rng: np.random.Generator) -> Table:
    """A real table without gaps or rows that repeat, its label as ``label``, with a split column."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    whole = pa.concat_tables([parquet.read_table(f) if f.suffix == ".parquet" else csv.read_csv(f) for f in files])
    names = ["label" if n == label else n for n in whole.column_names]
    features = [i for i, n in enumerate(names) if n != "label"]
    distinct = {
        tuple(row[i] for i in features): row
        for row in zip(*(c.to_pylist() for c in whole.columns), strict=True)
        if None not in row and "NA" not in row
    }
    held = list(distinct.values())
    drawn = rng.choice(len(held), min(len(held), MOST), replace=False)
    rows = {n: np.array([held[k][i] for k in drawn]) for i, n in enumerate(names)}
    rows["part"] = np.where(rng.random(len(drawn)) < 0.8, "train", "val")
    return rows


def number(rows: Table) -> str:
    """A field of numbers that vary."""
    names = [n for n, v in rows.items() if v.dtype.kind == "f" and n not in ("label", "score")]
    names = names or [n for n, v in rows.items() if v.dtype.kind in "iu" and n != "label"]
    return max(names, key=lambda n: len(np.unique(rows[n])))


def val(rows: Table) -> np.ndarray[Any, Any]:
    return np.flatnonzero(rows["part"] == "val")


def train(rows: Table) -> np.ndarray[Any, Any]:
    return np.flatnonzero(rows["part"] == "train")


def overlap(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """Rows of training occur in validation as well."""
    n = round(share * len(val(rows)))
    drawn = rng.choice(train(rows), n, replace=False)
    more = {k: v[drawn].copy() for k, v in rows.items()}
    more["part"] = np.full(n, "val")
    return {k: np.concatenate([v, more[k]]) for k, v in rows.items()}


def near(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """The same, one number changed in its sixth digit."""
    made = overlap(rows, share, rng)
    name, n = number(rows), len(next(iter(rows.values())))
    made[name] = made[name].astype(np.float64)
    made[name][n:] = made[name][n:] * (1 + 1e-6) + 1e-9
    return made


def groups(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """Patients, of whom a share has rows in both splits."""
    who = np.empty(len(rows["part"]), object)
    for split in ("train", "val"):
        at = np.flatnonzero(rows["part"] == split)
        who[at] = [f"{split[0]}{k:04d}" for k in rng.integers(0, max(2, len(at) // 5), len(at))]
    moved = rng.choice(val(rows), round(share * len(val(rows))), replace=False)
    who[moved] = rng.choice(who[train(rows)], len(moved))
    return {**rows, "patient": who}


def times(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """Validation follows training but for a share of its rows."""
    seconds = np.where(
        rows["part"] == "train",
        rng.integers(0, 10**7, len(rows["part"])),
        10**7 + rng.integers(1, 10**6, len(rows["part"])),
    )
    early = rng.choice(val(rows), round(share * len(val(rows))), replace=False)
    seconds[early] = rng.integers(0, 10**7 - 1, len(early))
    stamps = np.datetime64("2021-01-01T00:00:00") + seconds.astype("timedelta64[s]")
    return {**rows, "recorded_at": np.array([str(s).replace("T", " ") for s in stamps], object)}


def giveaway(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """A score that tells the class of a share of the rows."""
    _, codes = np.unique(rows["label"].astype(str), return_inverse=True)
    told = rng.random(len(codes)) < share
    score = np.where(told, 10.0 * codes + 3, rng.choice(10.0 * codes + 3, len(codes))) + rng.normal(0, 0.5, len(codes))
    return {**rows, "score": score}


def labels(rows: Table, share: float, rng: np.random.Generator) -> Table:
    """Of the commonest class a share is missing in validation."""
    names, counts = np.unique(rows["label"].astype(str), return_counts=True)
    of = val(rows)[rows["label"][val(rows)].astype(str) == names[counts.argmax()]]
    gone = rng.choice(of, round(share * len(of)), replace=False)
    return {k: np.delete(v, gone) for k, v in rows.items()}


def shift(rows: Table, deviations: float, rng: np.random.Generator) -> Table:
    """A number of validation is shifted by so many standard deviations."""
    name = number(rows)
    values = rows[name].astype(np.float64).copy()
    values[val(rows)] += deviations * values.std()
    return {**rows, name: values}


def scale(rows: Table, factor: float, rng: np.random.Generator) -> Table:
    """A number of validation is on another scale."""
    name = number(rows)
    values = rows[name].astype(np.float64).copy()
    values[val(rows)] *= 1 + factor
    return {**rows, name: values}


Plant = Callable[[Table, float, np.random.Generator], Table]
PLANTS: dict[str, tuple[str, Plant, float, float]] = {
    # code, plant, weak, strong
    "rows in two splits": ("splits-overlap", overlap, 0.01, 0.2),
    "near rows in two splits": ("splits-near-overlap", near, 0.02, 0.2),
    "groups in two splits": ("group-leakage", groups, 0.02, 0.3),
    "times before the end of training": ("time-leakage", times, 0.02, 0.5),
    "a field that knows the label": ("label-leaked-by-field", giveaway, 0.5, 1.0),
    "classes in other shares": ("label-drift", labels, 0.2, 0.8),
    "a shifted field": ("feature-drift", shift, 0.1, 1.0),
    "another scale": ("preprocessing-differs", scale, 0.3, 254.0),
}


def asked(rows: Table, folder: Path) -> dict[str, Any]:
    """The command's result on the table as Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "table.parquet"
    parquet.write_table(pa.table({k: pa.array(v.tolist()) for k, v in rows.items()}), path)
    argv = [command(), "check", str(path), "--root", str(folder), "--label", "label", "--json", "--detail", "full"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    if not done.stdout.strip():
        raise SystemExit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> None:
    seed, data = seed_asked(__doc__), real_data()
    print(f"seed {seed}")
    rows: list[dict[str, Any]] = []
    for name, (path, label) in TABLES.items():
        for plant, (code, make, weak, strong) in PLANTS.items():
            for strength, size in zip(STRENGTHS, (0.0, weak, strong), strict=True):
                rng = np.random.default_rng([seed, len(rows)])
                with tempfile.TemporaryDirectory() as folder:
                    told = asked(make(table(data / path, label, rng), size, rng), Path(folder))
                found = {f["code"]: f["severity"] for f in told["findings"]}
                serious = sorted(c for c, s in found.items() if s != "info")
                rows.append(
                    {
                        "table": name,
                        "plant": plant,
                        "strength": strength,
                        "code": code,
                        "found": code in found,
                        "codes": serious,
                    }
                )
                print(f"{name:9} {plant:34} {strength:7} {'found' if code in found else '-':6} {', '.join(serious)}")
    report(rows, seed)


def report(rows: list[dict[str, Any]], seed: int) -> None:
    share = {s: [r["found"] for r in rows if r["strength"] == s] for s in STRENGTHS}
    for s in STRENGTHS:
        print(f"{s}: {sum(share[s])} of {len(share[s])} found")
    usual = {
        t: set.intersection(*(set(r["codes"]) for r in rows if r["table"] == t and r["strength"] == "none"))
        for t in TABLES
    }
    strays = [r for r in rows if r["strength"] == "none" and set(r["codes"]) - usual[r["table"]]]
    print(
        f"told of sound tables: {json.dumps({t: sorted(c) for t, c in usual.items()})}; more in {len(strays)} of {len(share['none'])}"
    )
    keep(NAME, {"complete": True, "seed": seed, "rows": rows})


if __name__ == "__main__":
    main()
