# mypy: ignore-errors
"""Defects of rows and columns."""

from __future__ import annotations

import math

from benchmarks.plants.sound import ROWS, write_table
from benchmarks.plants.tree import TABLES, Expected, Tree, plant


@plant(*TABLES)
def infinite(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["width"] = tree.rng.choice([math.inf, -math.inf])
    return Expected(("inf",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def absent(tree: Tree) -> Expected:
    numbers = tree.picked(12)
    for n in numbers:
        tree.rows[n]["height"] = None
    return Expected(("missing-values",), "warning", ((tree.table.name,),))


@plant("jsonl", "json", "parquet", "arrow")
def not_a_number(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["width"] = math.nan
    return Expected(("nan",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def placeholder(tree: Tree) -> Expected:
    numbers = tree.picked(10)
    for n in numbers:
        tree.rows[n]["height"] = -999.0
    return Expected(("missing-values", "outliers"), "info", ((tree.table.name,),))


@plant(*TABLES)
def all_the_same(tree: Tree) -> Expected:
    for row in tree.rows:
        row["batch"] = 7
    return Expected(("constant-field",), "warning")


@plant(*TABLES)
def twice_the_other(tree: Tree) -> Expected:
    for row in tree.rows:
        row["width_mm"] = round(row["width"] * 10, 4)
    return Expected(("collinear-fields",), "info")


@plant(*TABLES)
def gives_the_label_away(tree: Tree) -> Expected:
    for row in tree.rows:
        row["grade"] = 10 * ("ant", "bee", "fly").index(row["label"]) + 3
    return Expected(("label-leaked-by-field",), "warning")


@plant(*TABLES)
def rows_again(tree: Tree) -> Expected:
    """Rows repeated under keys of their own, within the training split."""
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 4))):
        tree.rows.insert(ROWS // 2, {**tree.rows[n], "key": f"x{i}"})
    return Expected(("duplicate-samples",), "warning", ((tree.table.name,),))


@plant(*TABLES)
def rows_in_both(tree: Tree) -> Expected:
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 4))):
        tree.rows.append({**tree.rows[n], "key": f"x{i}", "split": "val"})
    return Expected(("splits-overlap",), "error", tree.rows_at(list(range(ROWS, ROWS + 4))))


@plant(*TABLES)
def same_row_other_label(tree: Tree) -> Expected:
    for i, n in enumerate(sorted(tree.rng.sample(range(ROWS // 2), 3))):
        other = {"ant": "bee", "bee": "fly", "fly": "ant"}[tree.rows[n]["label"]]
        tree.rows.insert(ROWS // 2, {**tree.rows[n], "key": f"x{i}", "label": other})
    return Expected(("label-conflict",), "error", ((tree.table.name,),))


@plant(*TABLES)
def label_left_blank(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["label"] = ""
    return Expected(("label-blank",), "error", tree.rows_at(numbers))


@plant(*TABLES)
def label_in_capitals(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        tree.rows[n]["label"] = tree.rows[n]["label"].upper()
    return Expected(("label-twins",), "warning", tree.rows_at(numbers))


@plant(*TABLES)
def patients_in_both(tree: Tree) -> Expected:
    for row in tree.rows:
        row["patient_id"] = f"p{tree.rng.randrange(40):02}"
    return Expected(("group-leakage",), "warning")


@plant(*TABLES)
def later_rows_trained_on(tree: Tree) -> Expected:
    for row in tree.rows:
        row["taken_at"] = f"2024-{tree.rng.randint(1, 12):02}-{tree.rng.randint(1, 28):02}"
    return Expected(("time-leakage",), "warning")


@plant(*TABLES)
def other_unit_in_validation(tree: Tree) -> Expected:
    for row in tree.rows:
        if row["split"] == "val":
            row["height"] = round(row["height"] / 1000, 7)
    return Expected(("preprocessing-differs", "scale-drift", "feature-drift"), "warning")


@plant(*TABLES)
def classes_drift(tree: Tree) -> Expected:
    for row in tree.rows:
        if row["split"] == "val":
            row["label"] = tree.rng.choices(("ant", "bee", "fly"), (8, 1, 1))[0]
    return Expected(("label-drift",), "warning")


@plant(*TABLES)
def far_out(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["height"] = round(4e6 * tree.rng.uniform(1, 2), 2)
    return Expected(("outliers",), "info", tree.rows_at(numbers))


@plant(*TABLES)
def garbled_text(tree: Tree) -> Expected:
    """UTF-8 that was read as Latin-1 and written again."""
    numbers = tree.picked(3)
    for n in numbers:
        tree.rows[n]["note"] = "Größe für Müller … schön".encode().decode("cp1252") + f" {n}"
    return Expected(("suspicious-text", "encoding-error"), "warning", tree.rows_at(numbers))


@plant("jsonl", "json")
def key_left_out(tree: Tree) -> Expected:
    numbers = tree.picked()
    for n in numbers:
        del tree.rows[n]["width"]
    return Expected(("missing-key", "missing-values"), "warning", tree.rows_at(numbers))


@plant("jsonl", "json")
def key_too_many(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["_tmp"] = 1
    return Expected(("extra-key",), "info")


@plant("csv", "tsv", "jsonl", "json")
def word_among_numbers(tree: Tree) -> Expected:
    numbers = tree.picked(2)
    for n in numbers:
        tree.rows[n]["width"] = "wide"
    return Expected(("dtype-drift",), "warning", tree.rows_at(numbers))


@plant("csv", "tsv", "jsonl")
def line_broken(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_text(encoding="utf-8").splitlines()
    n = tree.rng.randrange(50, 150)
    lines[n] = lines[n][: len(lines[n]) // 2]
    tree.table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    codes = ("parse-error",) if tree.format == "jsonl" else ("ragged", "parse-error", "truncated")
    return Expected(codes, "warning", ((tree.table.name, str(n if tree.format == "jsonl" else n - 1)),))


@plant("csv", "tsv", "jsonl")
def not_utf8(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    n = tree.rng.randrange(50, 150)
    at = lines[n].rindex(b" ")
    lines[n] = lines[n][:at] + b" \xe9\xff" + lines[n][at + 2 :]
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    return Expected(("encoding-error",), "warning", ((tree.table.name, str(n if tree.format == "jsonl" else n - 1)),))


@plant("csv", "tsv")
def nul_in_a_row(tree: Tree) -> Expected:
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    numbers = sorted(tree.rng.sample(range(20, 200), 2))
    for n in numbers:
        lines[n] = lines[n].replace(b" ", b"\0", 2)
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    return Expected(("encoding-error", "parse-error"), "warning", tree.rows_at([n - 1 for n in numbers]))


@plant("csv", "tsv", "jsonl")
def latin_in_two_rows(tree: Tree) -> Expected:
    """Two lines in Latin-1 among others in UTF-8."""
    write_table(tree)
    tree.written = True
    lines = tree.table.read_bytes().splitlines()
    numbers = sorted(tree.rng.sample(range(20, 200), 2))
    for n in numbers:
        lines[n] = lines[n].replace(b" ", b" \xe9t\xe9 ", 1)
    tree.table.write_bytes(b"\n".join(lines) + b"\n")
    header = tree.format != "jsonl"
    return Expected(("encoding-error",), "warning", tree.rows_at([n - header for n in numbers]))
